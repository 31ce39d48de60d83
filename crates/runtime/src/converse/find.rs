//! Whether what is meant exists, seen through tools only: S4's validation.

use super::carry::{Call, Work};
use serde_json::{Map, Value as Json, json};
use steward_domain::{Confidence, ToolName};
use steward_language::understand::{Lookup, Noticed, Settled, Step, Target};
use steward_tools::Error;

/// What a look came to.
pub(super) enum Looked {
    /// These.
    Settled(Settled),
    /// It could not be looked at all.
    Failed(Error),
}

/// One check of a target, for the record.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    /// What was looked for.
    pub(super) wanted: Json,
    /// By which tools.
    pub(super) tools: Vec<ToolName>,
    /// What it came to.
    pub(super) came: Json,
    /// Whether it is settled.
    pub(super) confidence: Confidence,
    /// Whether the thing is there and is one.
    pub(super) well: bool,
}

impl Work<'_> {
    /// Looks up what a step acts on, by one tool after the other until one knows it.
    pub(super) async fn find(
        &self,
        step: &Step,
        calls: &mut Vec<Call>,
        checks: &mut Vec<Checked>,
        known: &mut Vec<Noticed>,
    ) -> Looked {
        let mut last = None;
        let mut tools = Vec::new();
        for lookup in self.reader.lookups(step) {
            let seen = match self.look(&lookup, calls).await {
                Ok(seen) => seen,
                Err(error) => {
                    last = Some(Looked::Failed(error));
                    continue;
                }
            };
            tools.extend(lookup.tool.parse::<ToolName>().ok());
            let settled = self.reader.settle(step, &seen);
            *known = seen;
            let missing = matches!(settled, Settled::Missing { .. });
            last = Some(Looked::Settled(settled));
            if !missing {
                break;
            }
        }
        let looked = last.unwrap_or_else(|| Looked::Settled(unchecked(step)));
        checks.push(checked(step, tools, &looked));
        looked
    }

    /// What a lookup gives. That a thing is not there is an answer and no failure.
    async fn look(&self, lookup: &Lookup, calls: &mut Vec<Call>) -> std::result::Result<Vec<Noticed>, Error> {
        let call = self.call(&lookup.tool, lookup.arguments.clone(), None, None).await;
        let seen = match &call.result {
            Ok(receipt) => {
                let value = super::carry::value_of(&receipt.output);
                Ok(self.reader.notice(&lookup.tool, &lookup.arguments, &value))
            }
            Err(Error::Failed { message, transient: false, .. }) if says_not_found(message) => Ok(Vec::new()),
            Err(error) => Err(error.clone()),
        };
        calls.push(call);
        seen
    }
}

fn says_not_found(message: &str) -> bool {
    steward_language::skill::humanise(message, None).trouble == steward_language::skill::Trouble::NotFound
}

/// With nothing to look it up by, an id is taken as it was said; the tool itself will know.
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

fn checked(step: &Step, tools: Vec<ToolName>, looked: &Looked) -> Checked {
    let (came, well) = match looked {
        Looked::Settled(settled) => (json!(settled), matches!(settled, Settled::Found { .. })),
        Looked::Failed(error) => (json!({ "kind": "failed", "error": error.to_string() }), false),
    };
    let confidence = if tools.is_empty() { Confidence::default() } else { step.confidence };
    let wanted = step.target.as_ref().map_or(Json::Object(Map::new()), |target| json!(target));
    Checked { wanted, tools, came, confidence, well }
}
