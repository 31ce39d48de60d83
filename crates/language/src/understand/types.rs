//! What an understanding is made of. Plain data: shown in traces, kept with a question that was
//! asked back, compared in tests.

use crate::skill::Recent;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use steward_domain::{Confidence, DomainName, IntentKind};

/// A tool as plain data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name in the registry, like `todo.create_task`.
    pub name: String,
    /// The domain that it acts for.
    pub domain: Option<DomainName>,
    /// What it does.
    pub description: String,
    /// The JSON Schema of what it takes.
    pub input: Value,
    /// The JSON Schema of what it gives.
    pub output: Option<Value>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether it takes something away for good.
    pub destructive: bool,
    /// Whether it says that a second call like the first changes nothing more: it sets something
    /// rather than making it.
    pub idempotent: bool,
    /// Requests in people's words that mean it.
    pub examples: Vec<String>,
}

/// What is known when something is said.
#[derive(Debug, Clone, Copy)]
pub struct TurnContext<'a> {
    /// The day on which it is said.
    pub today: NaiveDate,
    /// The entities of the conversation, in the order in which they were shown.
    pub recent: &'a [Recent],
    /// The question that was asked back last, when it still waits for an answer.
    pub pending: Option<&'a Pending>,
    /// The steps of the turn before, for "what about Texas?" and "and the open ones?".
    pub before: &'a [Step],
    /// What tools have shown to be there, so that names are known when they are said. Nothing when
    /// nobody looked.
    pub world: &'a [SeenRecord],
    /// The lists that were shown, the newest first. A place in a list ("the second one") is a row
    /// of one of these.
    pub shown: &'a [ShownList],
    /// When the last record was removed, on the scale of [`Recent::last`]. "It" after that is
    /// nothing that is left.
    pub removed: Option<u64>,
    /// The option of the pending question that was chosen by its place, from 0: a button, or a
    /// number in a list.
    pub choice: Option<usize>,
}

impl TurnContext<'_> {
    /// Nothing is known but the day.
    #[must_use]
    pub fn on(today: NaiveDate) -> Self {
        Self {
            today,
            recent: &[],
            pending: None,
            before: &[],
            world: &[],
            shown: &[],
            removed: None,
            choice: None,
        }
    }
}

/// A list as it was shown to the person.
///
/// Invariant: `rows` has one element for each row that was shown, in the order of display. A row
/// that is no record of an application is `None`, so that a place never moves on to the next
/// record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownList {
    /// The answer that showed it: lists of one answer have the same number, later ones a higher
    /// one.
    pub turn: u64,
    /// The rows.
    pub rows: Vec<Option<RecordRef>>,
}

/// Something that is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenRecord {
    /// The domain whose tool has shown it.
    pub domain: Option<DomainName>,
    /// That tool, by its name in the registry.
    pub by: String,
    /// What it is.
    pub thing: Noticed,
}

/// A question that waits for an answer, with the understanding that it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// What was understood so far.
    pub understood: Understood,
    /// What was asked. The runtime puts the question of [`Settled::Unclear`] here; otherwise it is
    /// the understanding's own.
    pub question: Question,
}

/// What sort of thing was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Something is to be done or found out; see the steps.
    Act,
    /// Small talk, or nothing that can be made sense of.
    Chat,
    /// What can be done here is asked.
    Help,
    /// Something that nothing here can do.
    OutOfScope,
}

/// What an utterance was understood to ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Understood {
    /// The sort of thing that was said.
    pub kind: Kind,
    /// What kind of wish it is; that of the first step that changes something, else of the first.
    pub intent: Option<IntentKind>,
    /// How sure the whole is: as sure as its least sure step.
    pub confidence: Confidence,
    /// The domains it may belong to, the likeliest first.
    pub domains: Vec<(DomainName, Confidence)>,
    /// What is to be done, in order. With a question, these are the steps as far as they are clear.
    pub steps: Vec<Step>,
    /// What must be asked back before anything is done.
    pub question: Option<Question>,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// Whether it leaves the domain of the turn before.
    pub changed_topic: bool,
    /// What became of the question that was pending.
    pub answered: Answered,
}

/// What an utterance did with the question that was pending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// No question was pending.
    #[default]
    Nothing,
    /// It was answered: this understanding is the old one, completed (it may ask for the next thing
    /// that is missing).
    Completed,
    /// It was turned down: nothing is to be done.
    Declined,
    /// It is something new; the old one is dropped.
    Unrelated,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Where it belongs.
    pub domain: Option<DomainName>,
    /// What is done.
    pub act: Act,
    /// The part of the utterance that asks for it.
    pub said: String,
    /// What kind of wish it is.
    pub intent: Option<IntentKind>,
    /// How sure.
    pub confidence: Confidence,
    /// What the tool is called with, beside the target.
    pub arguments: BTreeMap<String, Argument>,
    /// What it acts on.
    pub target: Option<Target>,
    /// The field of the schema that takes the target.
    pub target_field: Option<String>,
    /// Other things that must exist before the call is made, each a value of `arguments` as well.
    pub also: Vec<Need>,
    /// Required fields for which nothing was said.
    pub missing: Vec<String>,
    /// The steps that must be done before, by their places from 0.
    pub after: Vec<usize>,
    /// Whether it takes something away for good.
    pub destructive: bool,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Other tools that may be meant, the likeliest first.
    pub alternatives: Vec<(String, Confidence)>,
    /// What is asked instead when this gives nothing: the same question to another domain. Only for
    /// what changes nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Step>,
    /// Why, in words.
    pub reasons: Vec<String>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Act {
    /// Calls a tool.
    Call {
        /// Its name in the registry.
        tool: String,
    },
    /// Asks a domain that has no tools: [`Step::said`] goes to analysis.
    Ask,
}

/// A value for a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// As the schema wants it.
    pub value: Value,
    /// Where it stands in the utterance, in bytes; nothing when it was inferred.
    pub span: Option<(usize, usize)>,
    /// Why.
    pub reason: String,
}

/// What a step acts on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Target {
    /// Entities of the conversation.
    Known {
        /// In the order in which they were shown.
        things: Vec<RecordRef>,
    },
    /// By an id that was said. Whether it exists is yet to be seen.
    Id {
        /// As the schema wants it.
        id: Value,
        /// Such as `task`.
        entity_type: String,
    },
    /// By words. What they mean is settled by what a finder gives.
    Named {
        /// As they were said.
        words: String,
        /// Such as `task`.
        entity_type: String,
    },
    /// What an earlier step gives.
    OfStep {
        /// Its place from 0.
        step: usize,
        /// Which of them.
        pick: Pick,
        /// As it was said.
        words: String,
    },
}

/// An entity of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRef {
    /// Such as `task`.
    pub entity_type: String,
    /// The application's own id.
    pub id: String,
    /// Its title.
    pub name: Option<String>,
    /// The domain that it belongs to: `task` 1 of one application is not `task` 1 of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainName>,
    /// Whether it was removed since it was shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The tool that has shown it when these words were read; nothing for what was spoken of
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Which of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "which", content = "number")]
pub enum Pick {
    /// The first.
    First,
    /// The last.
    Last,
    /// This one, from 1.
    Nth(usize),
    /// All of them.
    All,
    /// The one that there is: with several, it is asked which.
    It,
}

/// Something that must exist before a step is carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// The field that it is for.
    pub field: String,
    /// What it is.
    pub target: Target,
}

/// What is asked back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What it is about.
    pub why: QuestionKind,
    /// In words.
    pub text: String,
    /// What there is to choose from; empty when the question is open.
    pub options: Vec<Choice>,
    /// The step that it is about, from 0.
    pub step: usize,
    /// The field that it is about.
    pub field: Option<String>,
    /// The words that it is about, as they were said.
    #[serde(default)]
    pub words: String,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Which thing is meant.
    Entity,
    /// A value that is missing.
    Field,
    /// What is to be done.
    Meaning,
    /// Which domain is meant.
    Domain,
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// For people.
    pub label: String,
    /// The id of an entity, the value or the name of a field, the name of a tool or of a domain.
    pub value: Value,
    /// The record that it stands for. Choosing it acts on exactly this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordRef>,
}

impl Choice {
    /// A value, a field, a tool or a domain.
    pub(super) fn value(label: impl Into<String>, value: Value) -> Self {
        Self { label: label.into(), value, record: None }
    }
}

/// A call that looks something up and changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lookup {
    /// The tool's name in the registry.
    pub tool: String,
    /// What it is called with.
    pub arguments: Map<String, Value>,
}

/// Something that a tool's result speaks of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noticed {
    /// Such as `task`.
    pub entity_type: String,
    /// The application's own id, as it was given.
    pub id: Value,
    /// Its title or name.
    pub name: Option<String>,
    /// Its other plain values.
    pub attributes: BTreeMap<String, Value>,
}

/// What a target turned out to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Settled {
    /// These: one, or all that were asked for.
    Found {
        /// In order.
        things: Vec<Noticed>,
    },
    /// One of several: ask.
    Unclear {
        /// With the several as options.
        question: Question,
    },
    /// There is no such thing.
    Missing {
        /// A sentence for the person.
        text: String,
        /// What was looked for, as it was said.
        words: String,
    },
}

impl Understood {
    /// Of this kind, with no steps.
    #[must_use]
    pub fn plain(kind: Kind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            intent: None,
            confidence: Confidence::default(),
            domains: Vec::new(),
            steps: Vec::new(),
            question: None,
            reasons: vec![reason.into()],
            changed_topic: false,
            answered: Answered::Nothing,
        }
    }
}

/// The reason of a request that takes over parts of the one before.
pub const FOLLOWS: &str = "it goes on from the request before";

/// How the reason begins when nothing speaks for any tool.
pub(super) const NOTHING: &str = "nothing here does what";

impl Understood {
    /// Whether words were turned away because nothing in them was recognised, and not because they
    /// are small talk.
    #[must_use]
    pub fn found_nothing(&self) -> bool {
        self.steps.is_empty() && self.reasons.iter().any(|reason| reason.starts_with(NOTHING))
    }
}

impl Question {
    /// A question with nothing but its text.
    #[must_use]
    pub fn open(why: QuestionKind, text: impl Into<String>, step: usize) -> Self {
        Self { why, text: text.into(), options: Vec::new(), step, field: None, words: String::new() }
    }
}

impl RecordRef {
    /// Whether both are the same record. A domain that is not known says nothing.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let domains = self.domain.as_ref().zip(other.domain.as_ref());
        self.entity_type == other.entity_type
            && self.id == other.id
            && domains.is_none_or(|(one, other)| one == other)
    }

    /// The id as a schema takes it: what reads as a number is one.
    #[must_use]
    pub fn id_value(&self) -> Value {
        self.id.parse::<i64>().map_or_else(|_| Value::from(self.id.clone()), Value::from)
    }
}

impl Noticed {
    /// The record, as it is remembered and offered.
    #[must_use]
    pub fn record(&self, domain: Option<&DomainName>) -> RecordRef {
        RecordRef {
            entity_type: self.entity_type.clone(),
            id: self.id_text(),
            name: self.name.clone(),
            domain: domain.cloned(),
            ..RecordRef::default()
        }
    }

    /// The id as text: a number without quotes, a text as it is.
    #[must_use]
    pub fn id_text(&self) -> String {
        match &self.id {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl Step {
    /// The tool that it calls.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match &self.act {
            Act::Call { tool } => Some(tool),
            Act::Ask => None,
        }
    }

    /// The same step with another thing as its target, so that it can be looked up and settled in
    /// the same way.
    #[must_use]
    pub fn about(&self, need: &Need) -> Self {
        Self { target: Some(need.target.clone()), target_field: Some(need.field.clone()), ..self.clone() }
    }
}
