//! The data types of an understanding. Plain data: shown in traces, stored with a clarifying
//! question, compared in tests.

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
    /// Its domain.
    pub domain: Option<DomainName>,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input: Value,
    /// The JSON Schema of its result.
    pub output: Option<Value>,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Whether it deletes something permanently.
    pub destructive: bool,
    /// Whether it declares that a repeated call has no further effect: it sets something rather
    /// than creating it.
    pub idempotent: bool,
    /// Example requests.
    pub examples: Vec<String>,
}

/// The context of an utterance.
#[derive(Debug, Clone, Copy)]
pub struct TurnContext<'a> {
    /// The current date.
    pub today: NaiveDate,
    /// The entities of the conversation, in the order in which they were shown.
    pub recent: &'a [Recent],
    /// The last clarifying question, if it is still pending.
    pub pending: Option<&'a Pending>,
    /// The steps of the previous turn, for "what about Texas?" and "and the open ones?".
    pub before: &'a [Step],
    /// Known records, so that their names can be recognised. Empty if none were looked up.
    pub world: &'a [SeenRecord],
    /// The lists that were shown, newest first. A position ("the second one") is a row of one of
    /// these.
    pub shown: &'a [ShownList],
    /// When the last record was removed, on the scale of [`Recent::last`]. "It" after that refers
    /// to no remaining record.
    pub removed: Option<u64>,
    /// The option of the pending question that was chosen by index, from 0: a button, or a number
    /// in a list.
    pub choice: Option<usize>,
}

impl TurnContext<'_> {
    /// A context with only the date.
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

/// A list as it was shown to the user.
///
/// Invariant: `rows` has one element for each row that was shown, in display order. A row that is
/// not a record of an application is `None`, so that positions do not shift.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownList {
    /// The number of the answer that showed it; lists of one answer have the same number.
    pub turn: u64,
    /// The rows.
    pub rows: Vec<Option<RecordRef>>,
}

/// A known record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenRecord {
    /// The domain of the tool that returned it.
    pub domain: Option<DomainName>,
    /// That tool, by its name in the registry.
    pub by: String,
    /// The record.
    pub thing: Noticed,
}

/// A pending clarifying question, with the understanding that it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The understanding so far.
    pub understood: Understood,
    /// The question. The runtime puts the question of [`Settled::Unclear`] here; otherwise it is
    /// the understanding's own.
    pub question: Question,
}

/// The kind of an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A request; see the steps.
    Act,
    /// Small talk, or unintelligible.
    Chat,
    /// A question about what can be done here.
    Help,
    /// Out of scope.
    OutOfScope,
}

/// The understanding of an utterance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Understood {
    /// The kind of utterance.
    pub kind: Kind,
    /// The intent: that of the first step that changes something, otherwise of the first.
    pub intent: Option<IntentKind>,
    /// The confidence: that of the least certain step.
    pub confidence: Confidence,
    /// Possible domains, most likely first.
    pub domains: Vec<(DomainName, Confidence)>,
    /// The steps, in order. With a question, the steps as far as they are clear.
    pub steps: Vec<Step>,
    /// The clarifying question to ask before anything is executed.
    pub question: Option<Question>,
    /// The reasons, as text.
    pub reasons: Vec<String>,
    /// Whether the domain differs from that of the previous turn.
    pub changed_topic: bool,
    /// What happened to the pending question.
    pub answered: Answered,
}

/// What an utterance did with the pending question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// No question was pending.
    #[default]
    Nothing,
    /// It was answered: this is the earlier understanding, completed. It may ask for the next
    /// missing value.
    Completed,
    /// It was declined: nothing is executed.
    Declined,
    /// A new request; the pending one is dropped.
    Unrelated,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its domain.
    pub domain: Option<DomainName>,
    /// The action.
    pub act: Act,
    /// The part of the utterance that asks for it.
    pub said: String,
    /// The intent.
    pub intent: Option<IntentKind>,
    /// The confidence.
    pub confidence: Confidence,
    /// The arguments of the tool, beside the target.
    pub arguments: BTreeMap<String, Argument>,
    /// The target.
    pub target: Option<Target>,
    /// The field of the schema that takes the target.
    pub target_field: Option<String>,
    /// Other records that must exist before the call, each also a value of `arguments`.
    pub also: Vec<Need>,
    /// Required fields without a value.
    pub missing: Vec<String>,
    /// The steps that must be executed before, by index from 0.
    pub after: Vec<usize>,
    /// Whether it deletes something permanently.
    pub destructive: bool,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Other possible tools, most likely first.
    pub alternatives: Vec<(String, Confidence)>,
    /// Fallbacks if this returns nothing: the same question to another domain. Only for read-only
    /// steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Step>,
    /// The reasons, as text.
    pub reasons: Vec<String>,
}

/// The action of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Act {
    /// Calls a tool.
    Call {
        /// Its name in the registry.
        tool: String,
    },
    /// Queries a domain without tools: [`Step::said`] goes to analysis.
    Ask,
}

/// A value for a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// In the type of the schema.
    pub value: Value,
    /// Its span in the utterance, in bytes; none if it was inferred.
    pub span: Option<(usize, usize)>,
    /// The reason.
    pub reason: String,
}

/// The target of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Target {
    /// Entities of the conversation.
    Known {
        /// In the order in which they were shown.
        things: Vec<RecordRef>,
    },
    /// An explicit id. Whether it exists is not yet known.
    Id {
        /// In the type of the schema.
        id: Value,
        /// Such as `task`.
        entity_type: String,
    },
    /// A name. A lookup resolves it.
    Named {
        /// The text.
        words: String,
        /// Such as `task`.
        entity_type: String,
    },
    /// The result of an earlier step.
    OfStep {
        /// Its index from 0.
        step: usize,
        /// Which of them.
        pick: Pick,
        /// The text.
        words: String,
    },
}

/// An entity of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRef {
    /// Such as `task`.
    pub entity_type: String,
    /// The application's id of the record.
    pub id: String,
    /// Its title.
    pub name: Option<String>,
    /// Its domain: `task` 1 of one application is not `task` 1 of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainName>,
    /// Whether it was removed after it was shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The tool that returned it while this utterance was interpreted; none for earlier mentions.
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
    /// The only one: if there are several, ask which.
    It,
}

/// A record that must exist before a step is executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// The field that refers to it.
    pub field: String,
    /// The record.
    pub target: Target,
}

/// A clarifying question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its subject.
    pub why: QuestionKind,
    /// The text.
    pub text: String,
    /// The options; empty for an open question.
    pub options: Vec<Choice>,
    /// The step that it is about, from 0.
    pub step: usize,
    /// The field that it is about.
    pub field: Option<String>,
    /// The words that it is about.
    #[serde(default)]
    pub words: String,
}

/// The subject of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Which record is meant.
    Entity,
    /// A missing value.
    Field,
    /// Which action is meant.
    Meaning,
    /// Which domain is meant.
    Domain,
}

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The label.
    pub label: String,
    /// The id of an entity, the value or the name of a field, the name of a tool or of a domain.
    pub value: Value,
    /// The record of this option. Choosing it acts on exactly this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordRef>,
}

impl Choice {
    /// An option with a value, a field, a tool or a domain.
    pub(super) fn value(label: impl Into<String>, value: Value) -> Self {
        Self { label: label.into(), value, record: None }
    }
}

/// A read-only call that looks something up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lookup {
    /// The tool's name in the registry.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// A record in a tool's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noticed {
    /// Such as `task`.
    pub entity_type: String,
    /// The application's id, as returned.
    pub id: Value,
    /// Its title or name.
    pub name: Option<String>,
    /// Its other plain values.
    pub attributes: BTreeMap<String, Value>,
}

/// The resolution of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Settled {
    /// One record, or all requested ones.
    Found {
        /// In order.
        things: Vec<Noticed>,
    },
    /// Ambiguous: ask.
    Unclear {
        /// The question, with the candidates as options.
        question: Question,
    },
    /// There is no such record.
    Missing {
        /// A message for the user.
        text: String,
        /// The words that were looked up.
        words: String,
    },
}

impl Understood {
    /// An understanding of this kind, without steps.
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
    /// Whether an utterance was rejected because nothing in it was recognised, and not because it
    /// is small talk.
    #[must_use]
    pub fn found_nothing(&self) -> bool {
        self.steps.is_empty() && self.reasons.iter().any(|reason| reason.starts_with(NOTHING))
    }
}

impl Question {
    /// A question with only its text.
    #[must_use]
    pub fn open(why: QuestionKind, text: impl Into<String>, step: usize) -> Self {
        Self { why, text: text.into(), options: Vec::new(), step, field: None, words: String::new() }
    }
}

impl RecordRef {
    /// Whether both are the same record. An unknown domain matches any.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let domains = self.domain.as_ref().zip(other.domain.as_ref());
        self.entity_type == other.entity_type
            && self.id == other.id
            && domains.is_none_or(|(one, other)| one == other)
    }

    /// The id as a schema value: a numeric text is a number.
    #[must_use]
    pub fn id_value(&self) -> Value {
        self.id.parse::<i64>().map_or_else(|_| Value::from(self.id.clone()), Value::from)
    }
}

impl Noticed {
    /// The record as it is stored and offered.
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

    /// The same step with another target, so that it can be looked up and settled in the same way.
    #[must_use]
    pub fn about(&self, need: &Need) -> Self {
        Self { target: Some(need.target.clone()), target_field: Some(need.field.clone()), ..self.clone() }
    }
}
