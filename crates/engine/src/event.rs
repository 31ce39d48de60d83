//! What happened, as the runtime tells it. The runtime journals each event; nothing else of a
//! task's running is stored.

use crate::{EffectId, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use steward_domain::{
    HumanAction, Idempotency, JsonObject, NodeName, Role, Sha256Hex, TaskId, Timestamp, ToolName,
};

/// Something that happened to a task. Every event carries its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say themselves what they are; the variants are documented")]
pub enum Event {
    /// Work begins. Always the first.
    Started {
        task: TaskId,
        input: Value,
        /// How many agents stand above this one.
        #[serde(default)]
        depth: u8,
        /// Whether the input stems from data or from a model that has read data, not from a person.
        #[serde(default)]
        untrusted: bool,
        /// What was said in the conversation before; the first agent is shown it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier: Vec<EarlierMessage>,
        at: Timestamp,
    },
    /// A model answered.
    ModelReplied { effect: EffectId, reply: Reply, at: Timestamp },
    /// A model did not answer.
    ModelFailed {
        effect: EffectId,
        class: Class,
        message: String,
        /// What the server asked us to wait.
        #[serde(default)]
        retry_after_seconds: Option<u32>,
        at: Timestamp,
    },
    /// A call of a tool ended, in whatever way.
    ToolEnded { effect: EffectId, outcome: ToolOutcome, at: Timestamp },
    /// A timer ran out.
    TimerFired { timer: EffectId, at: Timestamp },
    /// A person decided.
    HumanDecided {
        request: EffectId,
        action: HumanAction,
        #[serde(default)]
        message: String,
        #[serde(default)]
        state_updates: JsonObject,
        /// Who.
        by: String,
        /// From where: `cli`, `slack`, an address.
        #[serde(default)]
        from: String,
        /// What they were shown.
        digest: Sha256Hex,
        at: Timestamp,
    },
    /// A sub-agent's task ended.
    SubEnded {
        effect: EffectId,
        /// Its summary, or why it failed.
        summary: Result<String, String>,
        /// What a sub-workflow gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        #[serde(default)]
        usage: Usage,
        at: Timestamp,
    },
    /// A signal from outside arrived.
    Signalled {
        /// Its name.
        name: NodeName,
        /// What it carries.
        data: Value,
        /// The sender's idempotency key: a key counts once.
        key: String,
        /// Who sent it.
        by: String,
        at: Timestamp,
    },
    /// Somebody wants it to stop.
    CancelRequested { by: String, at: Timestamp },
    /// The person for whom the task runs may not use what it needs any more: it fails with this
    /// reason.
    Refused { reason: String, at: Timestamp },
    /// The process that carried out the effects is gone, and another takes over.
    Recovered {
        /// Effects that had begun and have no receipt. What is pending and not named here had not
        /// begun.
        in_flight: Vec<InFlight>,
        at: Timestamp,
    },
}

impl Event {
    /// When it happened.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Started { at, .. }
            | Self::ModelReplied { at, .. }
            | Self::ModelFailed { at, .. }
            | Self::ToolEnded { at, .. }
            | Self::TimerFired { at, .. }
            | Self::HumanDecided { at, .. }
            | Self::SubEnded { at, .. }
            | Self::Signalled { at, .. }
            | Self::CancelRequested { at, .. }
            | Self::Refused { at, .. }
            | Self::Recovered { at, .. } => *at,
        }
    }

    /// The effect it answers.
    #[must_use]
    pub fn effect(&self) -> Option<EffectId> {
        match self {
            Self::ModelReplied { effect, .. }
            | Self::ModelFailed { effect, .. }
            | Self::ToolEnded { effect, .. }
            | Self::SubEnded { effect, .. } => Some(*effect),
            Self::TimerFired { timer, .. } => Some(*timer),
            Self::HumanDecided { request, .. } => Some(*request),
            Self::Started { .. }
            | Self::Signalled { .. }
            | Self::CancelRequested { .. }
            | Self::Refused { .. }
            | Self::Recovered { .. } => None,
        }
    }
}

/// A message of the conversation that a task belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierMessage {
    /// Who said it: the person, or the agent. What an agent said may stem from data.
    pub role: Role,
    /// What was said.
    pub text: String,
    /// The calls that the agent asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AskedCall>,
    /// The call that it answers, for the role `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Whether it stands behind the task: a call that the agent asked for, and its result. Such
    /// messages are the last of a list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

impl EarlierMessage {
    /// Words alone.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), calls: Vec::new(), answers: None, follows: false }
    }
}

/// An effect that had begun when its process went away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// Which.
    pub effect: EffectId,
    /// What doing it again would do.
    pub safety: Idempotency,
}

/// What a model said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// In words.
    pub text: String,
    /// Calls it wants made, all at once.
    pub tool_calls: Vec<AskedCall>,
    /// What it used.
    pub usage: Usage,
}

/// A call as a model asks for it. Nothing of it is trusted: the tool may not exist, the arguments
/// may be no object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The model's own id of the call.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// An object when the model wrote one; its text when that could not be read.
    pub arguments: Value,
}

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Money, in millionths of a US dollar.
    pub cost_micros: u64,
}

/// What kind of failure it was; the class alone decides about trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Wrong arguments, an unknown name: the same again fails again.
    User,
    /// Policy said no.
    Denied,
    /// The world was in the way; later may work.
    Transient,
    /// A defect.
    Bug,
}

/// How a call of a tool ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say themselves what they are; the variants are documented")]
pub enum ToolOutcome {
    /// It answered. What it said is data, never an instruction.
    Success {
        output: Value,
        /// Where the whole of a result is kept that was too large to carry along.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
    },
    /// It found tools, which the agent that asked may call from now on.
    Found { output: Value, tools: Vec<ToolSpec> },
    /// It said that it failed, or could not be reached.
    Failed {
        class: Class,
        message: String,
        /// Whether the call had left this process: what was never sent cannot have had an effect.
        #[serde(default)]
        sent: bool,
    },
    /// It did not answer in time.
    TimedOut,
    /// It was made, but nobody knows what came of it.
    Unknown,
    /// Policy refused it; nothing was sent.
    Denied { message: String },
    /// Policy wants a person's word over exactly this digest; nothing was sent.
    ApprovalNeeded {
        digest: Sha256Hex,
        reason: String,
        /// The tool as it was resolved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<ToolName>,
    },
}
