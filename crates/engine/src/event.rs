//! Events: the inputs of the engine, sent by the runtime. The runtime journals each event. Nothing
//! else about the execution of a task is stored.

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
    /// The task starts. It is always the first event.
    Started {
        task: TaskId,
        input: Value,
        /// The number of agents above this one.
        #[serde(default)]
        depth: u8,
        /// Whether the input comes from data, or from a model that has read data.
        #[serde(default)]
        untrusted: bool,
        /// Earlier messages of the conversation; they are shown to the first agent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier: Vec<EarlierMessage>,
        at: Timestamp,
    },
    /// A model replied.
    ModelReplied { effect: EffectId, reply: Reply, at: Timestamp },
    /// A model call failed.
    ModelFailed {
        effect: EffectId,
        class: Class,
        message: String,
        /// The `Retry-After` of the server.
        #[serde(default)]
        retry_after_seconds: Option<u32>,
        at: Timestamp,
    },
    /// A call of a tool ended, with any outcome.
    ToolEnded { effect: EffectId, outcome: ToolOutcome, at: Timestamp },
    /// A timer expired.
    TimerFired { timer: EffectId, at: Timestamp },
    /// A person decided.
    HumanDecided {
        request: EffectId,
        action: HumanAction,
        #[serde(default)]
        message: String,
        #[serde(default)]
        state_updates: JsonObject,
        /// The user who decided.
        by: String,
        /// The channel: `cli`, `slack`, an address.
        #[serde(default)]
        from: String,
        /// The digest of what the user was shown.
        digest: Sha256Hex,
        at: Timestamp,
    },
    /// A sub-agent's task ended.
    SubEnded {
        effect: EffectId,
        /// Its summary, or the reason of its failure.
        summary: Result<String, String>,
        /// The output of a sub-workflow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        #[serde(default)]
        usage: Usage,
        at: Timestamp,
    },
    /// A signal from outside arrived.
    Signalled {
        /// The name of the signal.
        name: NodeName,
        /// The payload.
        data: Value,
        /// The sender's idempotency key: signals with the same key count once.
        key: String,
        /// The sender.
        by: String,
        at: Timestamp,
    },
    /// A user asked to cancel the task.
    CancelRequested { by: String, at: Timestamp },
    /// The user of the task lost a right that the task needs. The task fails with this reason.
    Refused { reason: String, at: Timestamp },
    /// The process that executed the effects has stopped, and another one takes over.
    Recovered {
        /// Effects that were started and have no receipt. A pending effect that is not listed was
        /// not started.
        in_flight: Vec<InFlight>,
        at: Timestamp,
    },
}

impl Event {
    /// The time of the event.
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

    /// The effect that the event answers.
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
    /// The author: the person or the agent. An agent's text may come from data.
    pub role: Role,
    /// The text.
    pub text: String,
    /// The calls that the agent requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AskedCall>,
    /// The id of the call that it answers, for the role `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Whether it follows the task message: a call that the agent requested, and its result. Such
    /// messages are last in the list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

impl EarlierMessage {
    /// A message with text only.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), calls: Vec::new(), answers: None, follows: false }
    }
}

/// An effect that was in flight when its process stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The id of the effect.
    pub effect: EffectId,
    /// Whether repeating it is safe.
    pub safety: Idempotency,
}

/// The reply of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// The calls that it requests; they may run in parallel.
    pub tool_calls: Vec<AskedCall>,
    /// The tokens and the cost.
    pub usage: Usage,
}

/// A call as a model requests it. It is untrusted: the tool may not exist, and the arguments may
/// not be an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The model's own id of the call.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// An object when it could be parsed, otherwise the raw text.
    pub arguments: Value,
}

/// Tokens and cost of a model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// The cost in millionths of a US dollar.
    pub cost_micros: u64,
}

/// The class of a failure. The class alone decides about retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Wrong arguments or an unknown name: a retry fails again.
    User,
    /// Policy denied the call.
    Denied,
    /// A temporary failure; a retry may succeed.
    Transient,
    /// A defect.
    Bug,
}

/// How a call of a tool ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say themselves what they are; the variants are documented")]
pub enum ToolOutcome {
    /// The tool returned a result. The result is data, never an instruction.
    Success {
        output: Value,
        /// The artifact with the whole result, where the result was too large for the event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
    },
    /// The tool found other tools; the agent that called it may call them from now on.
    Found { output: Value, tools: Vec<ToolSpec> },
    /// The tool reported a failure, or could not be reached.
    Failed {
        class: Class,
        message: String,
        /// Whether the call was sent: a call that was not sent cannot have had an effect.
        #[serde(default)]
        sent: bool,
    },
    /// The call timed out.
    TimedOut,
    /// The call was sent, but its outcome is unknown.
    Unknown,
    /// Policy denied the call; nothing was sent.
    Denied { message: String },
    /// Policy requires an approval of exactly this digest; nothing was sent.
    ApprovalNeeded {
        digest: Sha256Hex,
        reason: String,
        /// The tool as it was resolved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<ToolName>,
    },
}
