//! Carries out the steps of a turn: those that do not depend on each other at the same time, all of them before the deadline.

use super::confirm::{Confirming, Exact};
use super::find::{Checked, Looked};
use super::memory::Memory;
use super::{Heard, Talker, Turn, Watch};
use crate::ask::{Answer, Ask, Reading};
use crate::error::Result;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::time::Duration;
use steward_domain::{Coded as _, DomainName, Label, TaskId, Timestamp};
use steward_language::answer::{Table, Told, tell};
use steward_language::skill::{Humane, humanise};
use steward_language::understand::{
    Act, Noticed, Pending, Pick, Question, Reader, Settled, Step, Target, Understood,
};
use steward_language::words::name_words;
use steward_policy::{Approval, Provenance};
use steward_tools::call::{Receipt, Request};
use steward_tools::{Context, Error, Output, Registered};

/// What the calls leave for the answer: they end before the whole does.
const GRACE: Duration = Duration::from_millis(300);
/// The most things that one step is carried out for.
const MOST: usize = 50;

/// A turn that is being carried out.
pub(super) struct Work<'a> {
    pub(super) talker: &'a Talker,
    pub(super) reader: &'a Reader,
    pub(super) turn: &'a Turn,
    pub(super) memory: &'a Memory,
    pub(super) data: &'a [String],
    /// Everything that is to be done in this turn.
    pub(super) steps: &'a [Step],
    /// Whether a model put the message into other words.
    pub(super) reworded: bool,
    pub(super) task: TaskId,
    /// When it began, on the monotonic clock.
    pub(super) began: Duration,
    pub(super) watch: Watch<'a>,
}

/// A call that was made.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Json>,
    pub(super) at: Timestamp,
    pub(super) result: std::result::Result<Receipt, Error>,
}

/// How a step ended.
pub(super) enum Came {
    /// As it should.
    Done,
    /// There is no such thing; the sentence says which.
    NotFound(String),
    /// A question must be answered first.
    Ask(Question),
    /// A decision is needed first, over exactly these calls.
    Confirm(Vec<Exact>),
    /// It went wrong.
    Failed { humane: Humane, code: String, raw: String },
    /// What it builds on did not work.
    Skipped(usize),
    /// The time was up.
    Late,
}

/// A step that ended, with what it gave.
pub(super) struct Ended {
    pub(super) step: Step,
    pub(super) came: Came,
    pub(super) calls: Vec<Call>,
    pub(super) checks: Vec<Checked>,
    /// What it acted on.
    pub(super) targets: Vec<Noticed>,
    /// What its results speak of.
    pub(super) noticed: Vec<Noticed>,
    pub(super) told: Vec<Told>,
    pub(super) analysis: Option<Box<Answer>>,
    pub(super) took: Duration,
}

/// What a step gives to those that build on it.
struct Found {
    noticed: Vec<Noticed>,
    /// The names in its rows, when its things have no ids.
    named: Vec<String>,
}

impl Found {
    fn of(ended: &Ended) -> Self {
        let tables = ended.told.iter().filter_map(|told| told.table.as_ref());
        Self { noticed: ended.noticed.clone(), named: tables.flat_map(Table::names).collect() }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.noticed.iter().filter_map(|noticed| noticed.name.as_deref());
        own.chain(self.named.iter().map(String::as_str).filter(|_| self.noticed.is_empty()))
    }
}

/// Everything that a turn came to.
#[derive(Default)]
pub(super) struct Done {
    pub(super) ended: Vec<Ended>,
    /// What is asked back, with what of the steps is still to be done.
    pub(super) question: Option<Pending>,
    /// What waits for a yes.
    pub(super) confirming: Option<Confirming>,
    /// The person did not want it.
    pub(super) declined: bool,
    /// Calls that somebody else must approve.
    pub(super) waiting: Vec<TaskId>,
    pub(super) reading: Option<Reading>,
    pub(super) threads: BTreeMap<String, String>,
}

impl Done {
    pub(super) fn declined() -> Self {
        Self { declined: true, ..Self::default() }
    }
}

impl Work<'_> {
    /// How long the turn may still take.
    pub(super) fn left(&self) -> Duration {
        let spent = self.talker.house().clock.monotonic().saturating_sub(self.began);
        self.talker.limits.answer.saturating_sub(spent)
    }

    /// All steps, each as soon as what it builds on is there.
    pub(super) async fn carry(&self, steps: &[Step]) -> Result<Done> {
        (self.watch)(Heard::Understood { steps: steps.iter().map(what).collect() });
        let mut ended: BTreeMap<usize, Ended> = BTreeMap::new();
        let mut started = vec![false; steps.len()];
        let mut running = FuturesUnordered::new();
        loop {
            for (place, step) in steps.iter().enumerate() {
                let begun = started.get(place).copied().unwrap_or(true);
                let waits = step.after.iter().any(|before| !ended.contains_key(before));
                if begun || waits {
                    continue;
                }
                if let Some(mark) = started.get_mut(place) {
                    *mark = true;
                }
                let broken = step
                    .after
                    .iter()
                    .find(|before| !ended.get(before).is_some_and(|ended| matches!(ended.came, Came::Done)));
                if let Some(broken) = broken {
                    ended.insert(place, bare(step, Came::Skipped(*broken)));
                    continue;
                }
                let given: BTreeMap<usize, Found> =
                    ended.iter().map(|(at, ended)| (*at, Found::of(ended))).collect();
                (self.watch)(Heard::Began { step: place, what: what(step) });
                running.push(async move { (place, self.one(step, &given).await) });
            }
            if running.is_empty() {
                // What was skipped may let others be skipped too.
                if started.iter().all(|started| *started) {
                    break;
                }
                if steps.iter().enumerate().all(|(at, step)| {
                    started.get(at) == Some(&true)
                        || step.after.iter().any(|before| !ended.contains_key(before))
                }) {
                    break;
                }
                continue;
            }
            match tokio::time::timeout(self.left(), running.next()).await {
                Ok(Some((place, done))) => {
                    (self.watch)(Heard::Ended {
                        step: place,
                        well: matches!(done.came, Came::Done),
                        took: done.took,
                    });
                    ended.insert(place, done);
                }
                Ok(None) => {}
                Err(_) => break,
            }
        }
        drop(running);
        let mut done = Done::default();
        for (place, step) in steps.iter().enumerate() {
            done.ended.push(
                ended
                    .remove(&place)
                    .unwrap_or_else(|| Ended { took: self.talker.limits.answer, ..bare(step, Came::Late) }),
            );
        }
        done.threads = threads(&done.ended);
        done.reading = done.ended.iter().find_map(|ended| ended.analysis.as_ref()?.reading.clone());
        done.question = self.first_question(&done.ended);
        Ok(done)
    }

    /// The first question that came up, with the steps that are still to be done once it is answered.
    fn first_question(&self, ended: &[Ended]) -> Option<Pending> {
        let place = ended.iter().position(|ended| matches!(ended.came, Came::Ask(_)))?;
        let asks = ended.get(place)?;
        let Came::Ask(question) = &asks.came else { return None };
        let mut step = asks.step.clone();
        step.after.clear();
        let understood = Understood {
            intent: step.intent,
            confidence: step.confidence,
            domains: step.domain.iter().map(|domain| (domain.clone(), step.confidence)).collect(),
            steps: vec![step],
            ..Understood::plain(
                steward_language::understand::Kind::Act,
                "the step that the question is about",
            )
        };
        Some(Pending { understood, question: Question { step: 0, ..question.clone() } })
    }

    /// One step from its target to its result.
    async fn one(&self, step: &Step, given: &BTreeMap<usize, Found>) -> Ended {
        let began = self.talker.house().clock.monotonic();
        let mut ended = match &step.act {
            Act::Ask => self.analyse(step).await,
            Act::Call { tool } => self.act(step, tool, given).await,
        };
        ended.took = self.talker.house().clock.monotonic().saturating_sub(began);
        ended
    }

    async fn act(&self, step: &Step, tool: &str, given: &BTreeMap<usize, Found>) -> Ended {
        let mut ended = bare(step, Came::Done);
        for need in &step.also {
            if let Some(came) = self.settle(&step.about(need), given, &mut ended).await.err() {
                // The answer to a question about it is a value of its own field.
                ended.came = match came {
                    Came::Ask(question) => {
                        Came::Ask(Question { field: Some(need.field.clone()), ..question })
                    }
                    other => other,
                };
                return ended;
            }
        }
        match self.settle(step, given, &mut ended).await {
            Ok(found) => ended.targets = found,
            Err(came) => {
                ended.came = came;
                return ended;
            }
        }
        // "Delete Reed" deletes a contact or a deal: what was found says which tool it is.
        let step = &self.reader.fit(step, &ended.targets);
        ended.step.clone_from(step);
        let tool = step.tool().unwrap_or(tool);
        // What is known from the conversation is in the step already.
        let found: &[Noticed] =
            if matches!(step.target, Some(Target::Known { .. })) { &[] } else { &ended.targets };
        let mut calls = self.reader.calls(step, found);
        calls.truncate(MOST);
        for arguments in &mut calls {
            self.carry_over(tool, step, given, arguments);
        }
        if step.destructive {
            ended.came = Came::Confirm(self.exact(step, tool, calls, &ended.targets));
            return ended;
        }
        for arguments in calls {
            let call = self.call(tool, arguments, Some((step, ended.targets.as_slice())), None).await;
            let came = self.learn(step, call, &mut ended);
            if !matches!(came, Came::Done) {
                ended.came = came;
                return ended;
            }
        }
        ended
    }

    /// What a call gave, taken into the step.
    pub(super) fn learn(&self, step: &Step, call: Call, ended: &mut Ended) -> Came {
        let came = match &call.result {
            Ok(receipt) => {
                let value = value_of(&receipt.output);
                ended.noticed.extend(self.reader.notice(&call.tool, &call.arguments, &value));
                ended.told.push(tell(
                    step.intent,
                    receipt.output.structured.as_ref(),
                    &receipt.output.words(),
                ));
                Came::Done
            }
            Err(Error::ApprovalNeeded { digest, .. }) => {
                let exact = Exact::new(&call, digest.clone(), step, &ended.targets);
                Came::Confirm(vec![exact])
            }
            Err(error) => failed(error, step),
        };
        ended.calls.push(call);
        came
    }

    /// The things that a step acts on, or why they are not known.
    async fn settle(
        &self,
        step: &Step,
        given: &BTreeMap<usize, Found>,
        ended: &mut Ended,
    ) -> std::result::Result<Vec<Noticed>, Came> {
        let mut seen = Vec::new();
        let looked = match &step.target {
            None => return Ok(Vec::new()),
            Some(Target::Known { things }) => {
                if let Settled::Missing { text, .. } = self.reader.settle(step, &[]) {
                    return Err(Came::NotFound(text));
                }
                return Ok(things
                    .iter()
                    .map(|thing| Noticed {
                        entity_type: thing.entity_type.clone(),
                        id: thing.id.clone().into(),
                        name: thing.name.clone(),
                        attributes: BTreeMap::new(),
                    })
                    .collect());
            }
            Some(Target::OfStep { step: before, pick, .. }) => {
                let seen = given.get(before).map(|found| found.noticed.as_slice()).unwrap_or_default();
                // Words for a tool that takes free text stand for all that the step before found.
                if step.target_field.is_none() {
                    return Ok(picked(seen, *pick));
                }
                Looked::Settled(self.reader.settle(step, seen))
            }
            // What only reads may find nothing; the tool says so itself.
            Some(Target::Id { .. } | Target::Named { .. }) => {
                self.find(step, &mut ended.calls, &mut ended.checks, &mut seen).await
            }
        };
        match looked {
            Looked::Settled(Settled::Found { things }) => Ok(things),
            Looked::Settled(Settled::Unclear { question }) => {
                // What is offered was spoken of: "the second one" may choose it.
                let offered = |seen: &Noticed| question.options.iter().any(|option| option.value == seen.id);
                ended.targets = seen.into_iter().filter(offered).collect();
                Err(Came::Ask(question))
            }
            Looked::Settled(Settled::Missing { text, .. }) => Err(Came::NotFound(text)),
            Looked::Failed(error) => Err(failed(&error, step)),
        }
    }

    /// Words that stand for what an earlier step found are said in full, and a talk that the tool keeps goes on.
    fn carry_over(
        &self,
        tool: &str,
        step: &Step,
        given: &BTreeMap<usize, Found>,
        arguments: &mut Map<String, Json>,
    ) {
        let names: Vec<&str> = step
            .after
            .iter()
            .filter_map(|before| given.get(before))
            .flat_map(Found::names)
            .take(NAMED)
            .collect();
        let free = step.target_field.is_none() && points_back(&step.said);
        if let (Some(words), true, false) = (free_text(arguments), free, names.is_empty()) {
            *words = format!("{} ({})", step.said.trim(), names.join(", ")).into();
        }
        let Some(registered) = self.registered(tool) else { return };
        let fields = registered.definition.parameter_schema.get("properties");
        let takes = fields.is_some_and(|fields| fields.get(THREAD).is_some());
        if let (Some(thread), true) = (self.memory.threads.get(tool), takes) {
            // Whoever keeps the talk knows best what "their" means: it hears the person's own words.
            if let (Some(words), [_]) = (free_text(arguments), self.steps) {
                *words = self.turn.said.clone().into();
            }
            arguments.entry(THREAD).or_insert_with(|| thread.clone().into());
        }
    }

    /// The tool of another step of this turn.
    fn tool_of(&self, place: usize) -> Option<String> {
        self.steps.get(place)?.tool().map(str::to_owned)
    }

    pub(super) fn registered(&self, tool: &str) -> Option<Registered> {
        self.talker.toolbox.registry().get(&tool.parse().ok()?, None)
    }

    /// One call through the desk, on the chain of this turn.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Json>,
        of: Option<(&Step, &[Noticed])>,
        approval: Option<Approval>,
    ) -> Call {
        let house = self.talker.house();
        let mut request = Request::new(self.turn.caller.clone(), tool, arguments.clone());
        request.chain = Some(self.task.into());
        request.approval = approval;
        if let Some((step, targets)) = of {
            request.provenance = provenance(self, tool, step, targets, &arguments);
        }
        request.context = Context::within(self.talker.limits.call.min(self.left().saturating_sub(GRACE)));
        let at = house.clock.now();
        let result = match self.talker.toolbox.call(&request).await {
            Ok(receipt) => Ok(receipt),
            Err(crate::Error::Tools(error)) => Err(error),
            Err(other) => {
                Err(Error::Failed { tool: tool.to_owned(), message: other.to_string(), transient: false })
            }
        };
        Call { tool: tool.to_owned(), arguments, at, result }
    }

    /// A domain of data: the words go to analysis.
    async fn analyse(&self, step: &Step) -> Ended {
        let mut ended = bare(step, Came::Done);
        let data = self.sources(step.domain.as_ref());
        let rules = self.talker.toolbox.rules();
        let ask = Ask {
            question: step.said.clone(),
            data,
            conversation: None,
            user: self.turn.caller.user.clone(),
            deliver: Vec::new(),
            out: None,
            planner: None,
            policy: rules.policy.clone(),
            constraints: rules.constraints,
        };
        let answered = self.talker.house().answer_within(&ask, self.memory.reading.clone(), self.memory.id);
        match tokio::time::timeout(self.left().saturating_sub(GRACE), answered).await {
            Ok(Ok(answer)) => ended.analysis = Some(Box::new(answer)),
            Ok(Err(error)) => {
                let humane = humanise(&error.to_string(), Some(&what(step)));
                ended.came = Came::Failed { humane, code: error.code().to_owned(), raw: error.to_string() };
            }
            Err(_) => ended.came = Came::Late,
        }
        ended
    }

    fn sources(&self, domain: Option<&DomainName>) -> Vec<String> {
        let snapshot = self.talker.toolbox.registry().snapshot();
        let named = domain
            .and_then(|domain| snapshot.domains.get(domain))
            .map(|field| field.domain.data_sources.iter().map(Label::to_string).collect::<Vec<_>>());
        named.filter(|sources| !sources.is_empty()).unwrap_or_else(|| self.data.to_vec())
    }
}

/// Names of earlier results that are said to the next tool.
const NAMED: usize = 5;

/// The one text of a call that is plain words.
fn free_text(arguments: &mut Map<String, Json>) -> Option<&mut Json> {
    let mut texts = arguments.iter_mut().filter(|(name, value)| *name != THREAD && value.is_string());
    match (texts.next(), texts.next()) {
        (Some((_, only)), None) => Some(only),
        _ => None,
    }
}

/// Whether words stand for something that was said before.
fn points_back(said: &str) -> bool {
    let back = ["their", "them", "they", "these", "those", "it", "its", "that"];
    said.split(|letter: char| !letter.is_alphabetic())
        .any(|word| back.contains(&word.to_lowercase().as_str()))
}

/// The field by which a tool keeps a talk of its own (S0's spaces).
const THREAD: &str = "conversation_id";

fn threads(ended: &[Ended]) -> BTreeMap<String, String> {
    let calls = ended.iter().flat_map(|ended| &ended.calls);
    calls
        .filter_map(|call| {
            let thread = call.result.as_ref().ok()?.output.structured.as_ref()?.get(THREAD)?.as_str()?;
            Some((call.tool.clone(), thread.to_owned()))
        })
        .collect()
}

/// Where each argument comes from. What a person named and its own server looked up goes back to where it came from: that is the
/// person's word. What one server said and another is told is that server's, and nobody's wish.
fn provenance(
    work: &Work<'_>,
    tool: &str,
    step: &Step,
    targets: &[Noticed],
    arguments: &Map<String, Json>,
) -> BTreeMap<String, Provenance> {
    let home = server_of(tool);
    let foreign = match &step.target {
        Some(Target::Known { things }) => {
            things.iter().any(|thing| work.memory.server(&thing.entity_type, &thing.id) != Some(home))
        }
        Some(Target::OfStep { step: before, .. }) => {
            work.tool_of(*before).is_none_or(|tool| server_of(&tool) != home)
        }
        None => {
            step.after.iter().any(|before| work.tool_of(*before).is_none_or(|tool| server_of(&tool) != home))
        }
        _ => false,
    };
    let named = |value: &Json| {
        targets.iter().any(|target| {
            target.id == *value
                || target
                    .name
                    .as_deref()
                    .is_some_and(|name| value.as_str().is_some_and(|text| text.contains(name)))
        })
    };
    let origin = |name: &String, value: &Json| {
        // Words that an earlier result was put into are that result's as well.
        let filled = step.target.is_none()
            && value.as_str().is_some_and(|text| text != step.said && text.starts_with(step.said.trim()));
        let target = step.target_field.as_ref() == Some(name) || named(value) || filled;
        // What a model added to the person's words is not theirs. An id that a lookup found stands for words that were.
        let added =
            work.reworded && step.target_field.as_ref() != Some(name) && !spoken(&work.turn.said, value);
        if (foreign && target) || added { Provenance::Untrusted } else { Provenance::User }
    };
    arguments.iter().map(|(name, value)| (name.clone(), origin(name, value))).collect()
}

/// Whether somebody said this value.
fn spoken(said: &str, value: &Json) -> bool {
    said.to_lowercase().contains(&steward_language::answer::plain(value).to_lowercase())
}

/// The server that a tool belongs to.
pub(super) fn server_of(tool: &str) -> &str {
    tool.split('.').next().unwrap_or(tool)
}

fn picked(seen: &[Noticed], pick: Pick) -> Vec<Noticed> {
    match pick {
        Pick::First => seen.first().cloned().into_iter().collect(),
        Pick::Last => seen.last().cloned().into_iter().collect(),
        Pick::Nth(place) => place.checked_sub(1).and_then(|at| seen.get(at)).cloned().into_iter().collect(),
        Pick::All | Pick::It => seen.to_vec(),
    }
}

pub(super) fn bare(step: &Step, came: Came) -> Ended {
    Ended {
        step: step.clone(),
        came,
        calls: Vec::new(),
        checks: Vec::new(),
        targets: Vec::new(),
        noticed: Vec::new(),
        told: Vec::new(),
        analysis: None,
        took: Duration::ZERO,
    }
}

pub(super) fn failed(error: &Error, step: &Step) -> Came {
    let raw = match error {
        // The server's own words say more than ours around them.
        Error::Failed { message, .. } => message.clone(),
        other => other.to_string(),
    };
    Came::Failed {
        humane: humanise(&raw, Some(&what(step))),
        code: error.code().to_owned(),
        raw: error.to_string(),
    }
}

/// What a step does, in a few words: "delete task", "ask sales".
pub(super) fn what(step: &Step) -> String {
    match &step.act {
        Act::Call { tool } => {
            let bare = name_words(tool.rsplit('.').next().unwrap_or(tool)).join(" ");
            let named = match &step.target {
                Some(Target::Named { words, .. }) => format!(" “{words}”"),
                Some(Target::Id { id, .. }) => format!(" {}", steward_language::answer::plain(id)),
                Some(Target::Known { things }) => match things.as_slice() {
                    [one] => format!(" “{}”", one.name.as_deref().unwrap_or(&one.id)),
                    _ => String::new(),
                },
                _ => String::new(),
            };
            format!("{bare}{named}")
        }
        Act::Ask => format!(
            "ask {}",
            step.domain
                .as_ref()
                .map_or_else(|| "the data".to_owned(), |domain| name_words(domain.as_str()).join(" "))
        ),
    }
}

/// A result as a value, also where a server sends JSON as text.
pub(super) fn value_of(output: &Output) -> Json {
    output.structured.clone().or_else(|| serde_json::from_str(output.words().trim()).ok()).unwrap_or_default()
}
