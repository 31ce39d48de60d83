//! Validates the targets of steps by tool calls.

use super::call::{Call, value_of};
use super::carry::{Ended, Found, StepOutcome, Work, failed};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{Confidence, DomainName, ToolName};
use steward_language::understand::{Choice, Lookup, Noticed, Pick, Question, Settled, Step, Target};
use steward_tools::Error;

/// The result of a lookup.
pub(super) enum LookupOutcome {
    /// The lookup is settled.
    Settled(Settled),
    /// The lookup failed.
    Failed(Error),
}

/// One validation of a target, for the record.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    /// The searched target.
    pub(super) wanted: Json,
    /// The tools that were used.
    pub(super) tools: Vec<ToolName>,
    /// The result.
    pub(super) came: Json,
    /// The confidence of the step; the default when no tool was called.
    pub(super) confidence: Confidence,
    /// Whether the target was found.
    pub(super) well: bool,
}

impl Work {
    /// The records that a step acts on, or why they are not known.
    pub(super) async fn settle(
        &self,
        step: &Step,
        given: &BTreeMap<usize, Found>,
        ended: &mut Ended,
    ) -> std::result::Result<Vec<Noticed>, StepOutcome> {
        let mut seen = Vec::new();
        let looked = match &step.target {
            None => return Ok(Vec::new()),
            Some(Target::Known { things }) => {
                if let Settled::Missing { text, .. } = self.reader.settle(step, &[]) {
                    return Err(StepOutcome::NotFound(text));
                }
                let found: Vec<Noticed> = things
                    .iter()
                    .map(|thing| match self.shown(thing) {
                        Some(seen) => seen.thing.clone(),
                        None => Noticed {
                            entity_type: thing.entity_type.clone(),
                            id: thing.id.clone().into(),
                            name: thing.name.clone(),
                            attributes: BTreeMap::new(),
                        },
                    })
                    .collect();
                // A record that was returned before the message was read counts as validated.
                let shown = things.iter().filter_map(|thing| self.shown(thing));
                let tools: Vec<ToolName> = shown.filter_map(|seen| seen.by.parse().ok()).collect();
                if !tools.is_empty() {
                    let came = LookupOutcome::Settled(Settled::Found { things: found.clone() });
                    ended.checks.push(checked(step, tools, &came));
                }
                return Ok(found);
            }
            Some(Target::OfStep { step: before, pick, .. }) => {
                let seen = given.get(before).map(|found| found.noticed.as_slice()).unwrap_or_default();
                // A tool with free text gets everything that the previous step found.
                if step.target_field.is_none() {
                    return Ok(picked(seen, *pick));
                }
                LookupOutcome::Settled(self.reader.settle(step, seen))
            }
            // A read-only tool may find nothing and reports that itself.
            Some(Target::Id { .. } | Target::Named { .. }) => {
                self.find(step, &mut ended.calls, &mut ended.checks, &mut seen).await
            }
        };
        match looked {
            LookupOutcome::Settled(Settled::Found { things }) => Ok(things),
            LookupOutcome::Settled(Settled::Unclear { question }) => {
                // Offered records count as mentioned: "the second one" may refer to them.
                let domain = step.domain.as_ref();
                let question = of_domain(question, domain);
                let offered = |seen: &Noticed| {
                    let record = seen.record(domain);
                    let is_it =
                        |option: &Choice| option.record.as_ref().is_some_and(|one| one.is_same(&record));
                    question.options.iter().any(is_it)
                };
                ended.targets = seen.into_iter().filter(offered).collect();
                Err(StepOutcome::Ask(question))
            }
            LookupOutcome::Settled(Settled::Missing { text, .. }) => Err(StepOutcome::NotFound(text)),
            LookupOutcome::Failed(error) => Err(failed(&error, step)),
        }
    }

    /// Looks up the target of a step, with one tool after the other until one finds it.
    pub(super) async fn find(
        &self,
        step: &Step,
        calls: &mut Vec<Call>,
        checks: &mut Vec<Checked>,
        known: &mut Vec<Noticed>,
    ) -> LookupOutcome {
        let mut last = None;
        let mut tools = Vec::new();
        for lookup in self.reader.lookups(step) {
            let seen = match self.look(&lookup, calls).await {
                Ok(seen) => seen,
                Err(error) => {
                    last = Some(LookupOutcome::Failed(error));
                    continue;
                }
            };
            tools.extend(lookup.tool.parse::<ToolName>().ok());
            let settled = self.reader.settle_by(step, &lookup, &seen);
            *known = seen;
            let missing = matches!(settled, Settled::Missing { .. });
            last = Some(LookupOutcome::Settled(settled));
            if !missing {
                break;
            }
        }
        let looked = last.unwrap_or_else(|| LookupOutcome::Settled(unchecked(step)));
        checks.push(checked(step, tools, &looked));
        looked
    }

    /// The result of a lookup. A missing record is a result, not a failure.
    async fn look(&self, lookup: &Lookup, calls: &mut Vec<Call>) -> std::result::Result<Vec<Noticed>, Error> {
        let call = self.call(&lookup.tool, lookup.arguments.clone(), None, None).await;
        let seen = match &call.result {
            Ok(receipt) => {
                let value = value_of(&receipt.output);
                Ok(self.reader.notice(&lookup.tool, &lookup.arguments, &value))
            }
            Err(Error::Failed { message, transient: false, .. }) if is_not_found_error(message) => {
                Ok(Vec::new())
            }
            Err(error) => Err(error.clone()),
        };
        calls.push(call);
        seen
    }
}

/// Sets the domain of the options of a lookup.
fn of_domain(mut question: Question, domain: Option<&DomainName>) -> Question {
    for record in question.options.iter_mut().filter_map(|option| option.record.as_mut()) {
        record.domain = record.domain.take().or_else(|| domain.cloned());
    }
    question
}

fn is_not_found_error(message: &str) -> bool {
    steward_language::skill::humanise(message, None).trouble == steward_language::skill::ErrorKind::NotFound
}

/// Without a lookup tool an id is used unchecked; the called tool validates it.
fn unchecked(step: &Step) -> Settled {
    match &step.target {
        Some(Target::Id { id, entity_type }) => Settled::Found {
            things: vec![Noticed {
                entity_type: entity_type.clone(),
                id: id.clone(),
                name: None,
                attributes: Default::default(),
            }],
        },
        Some(Target::Named { words, entity_type }) => Settled::Missing {
            text: format!("I cannot look up the {entity_type} “{words}”: no tool here finds one by name."),
            words: words.clone(),
        },
        _ => Settled::Found { things: Vec::new() },
    }
}

fn checked(step: &Step, tools: Vec<ToolName>, looked: &LookupOutcome) -> Checked {
    let (came, well) = match looked {
        LookupOutcome::Settled(settled) => (json!(settled), matches!(settled, Settled::Found { .. })),
        LookupOutcome::Failed(error) => (json!({ "kind": "failed", "error": error.to_string() }), false),
    };
    let confidence = if tools.is_empty() { Confidence::default() } else { step.confidence };
    let wanted = step.target.as_ref().map_or(Json::Object(Map::new()), |target| json!(target));
    Checked { wanted, tools, came, confidence, well }
}

fn picked(seen: &[Noticed], pick: Pick) -> Vec<Noticed> {
    match pick {
        Pick::First => seen.first().cloned().into_iter().collect(),
        Pick::Last => seen.last().cloned().into_iter().collect(),
        Pick::Nth(place) => place.checked_sub(1).and_then(|at| seen.get(at)).cloned().into_iter().collect(),
        Pick::All | Pick::It => seen.to_vec(),
    }
}
