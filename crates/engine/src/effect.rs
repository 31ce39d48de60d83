//! What is to be done, as the runtime is told. An effect is journalled as intent before it is
//! carried out.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use steward_domain::{
    AgentName, CallId, Idempotency, JsonObject, Label, Limits, NodeName, Provenance, ServerName, Sha256Hex,
    TaskId, Timestamp, ToolName,
};

/// The number of an effect within its task, from 1. It is never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u64);

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// That a person agreed to exactly one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What was shown to them.
    pub digest: Sha256Hex,
    /// Who agreed.
    pub by: String,
    /// The question that they answered: the call uses it up.
    pub gate: EffectId,
}

/// What a person is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A `human` node of the workflow.
    Node,
    /// A checkpoint before a node.
    Checkpoint,
    /// A call of a tool that asks first. Approve makes it; modify changes `arguments`, which are
    /// then asked about anew.
    Call,
    /// Several calls of an agent that ask first, in their order. Approve makes all of them, reject
    /// none.
    Calls,
    /// A call whose outcome is not known. Approve makes it again; modify with `output` says what
    /// came of it; reject fails it.
    UnknownOutcome,
}

/// Everything a person sees before they decide. The digest covers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What kind of question.
    pub subject: Subject,
    /// The node it stands at.
    pub node: NodeName,
    /// In words: the node's text, or why policy asks.
    pub text: String,
    /// The tool, for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// All tools, where several calls are decided on together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolName>,
    /// The exact arguments, for calls; by number and tool, where there are several.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub arguments: JsonObject,
    /// Where each came from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, Provenance>,
    /// What making the call does: `read_only`, `keyed`, `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety: Option<Idempotency>,
    /// The roles that may decide; everybody who may approve when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Label>,
    /// How often it was passed on because nobody answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub escalation: u32,
}

/// One thing to do. Those with an id stay pending until an event names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say themselves what they are; the variants are documented")]
pub enum Effect {
    /// Ask a model. What it is shown is [`crate::State::prompt`] with this id: messages are not
    /// copied into effects.
    CallModel { id: EffectId, agent: AgentName, attempt: u32 },
    /// Call a tool.
    CallTool {
        id: EffectId,
        /// The same for every attempt at the same call.
        key: CallId,
        tool: ToolName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<ServerName>,
        node: NodeName,
        arguments: JsonObject,
        provenance: BTreeMap<String, Provenance>,
        /// Who decided that it is made at all; this is all there is to judge of a call without
        /// arguments.
        #[serde(default = "untrusted")]
        origin: Provenance,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<Approval>,
        timeout_seconds: u32,
        /// What the engine takes a repetition to do.
        safety: Idempotency,
        attempt: u32,
    },
    /// Send [`crate::Event::TimerFired`] then.
    StartTimer { id: EffectId, at: Timestamp },
    /// Ask a person.
    AskHuman { id: EffectId, digest: Sha256Hex, question: Question, expires_at: Timestamp },
    /// Run an agent as a task of its own, with a history of its own.
    StartSub {
        id: EffectId,
        task_id: TaskId,
        agent: AgentName,
        task: String,
        /// Whether the text may stem from data; goes into the sub-task's `started`.
        untrusted: bool,
        depth: u8,
        /// What is left of this task's budget.
        limits: Limits,
    },
    /// Run a workflow as a task of its own.
    StartWorkflow {
        id: EffectId,
        task_id: TaskId,
        workflow: AgentName,
        input: Value,
        /// Whether the input may stem from data; goes into the sub-task's `started`.
        untrusted: bool,
        depth: u8,
        /// What is left of this task's budget.
        limits: Limits,
        attempt: u32,
    },
    /// Wait for a signal of this name.
    AwaitSignal { id: EffectId, name: NodeName, node: NodeName },
    /// Stop carrying out this effect; whatever comes of it is no longer awaited.
    Cancel { id: EffectId },
    /// A place worth naming in the history.
    Checkpoint { position: NodeName, awaiting_human: bool },
    /// The task is done.
    Finish { result: Value },
    /// The task has failed.
    Fail { code: String, message: String },
    /// The task ended with the no of a person.
    Rejected { message: String },
    /// The task was called off.
    Cancelled { by: String },
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// An effect that does not say who decided on it is judged as if data had.
pub(crate) fn untrusted() -> Provenance {
    Provenance::Untrusted
}

impl Effect {
    /// The id, for effects that are answered by an event.
    #[must_use]
    pub fn id(&self) -> Option<EffectId> {
        match self {
            Self::CallModel { id, .. }
            | Self::CallTool { id, .. }
            | Self::StartTimer { id, .. }
            | Self::AskHuman { id, .. }
            | Self::StartWorkflow { id, .. }
            | Self::AwaitSignal { id, .. }
            | Self::StartSub { id, .. } => Some(*id),
            _ => None,
        }
    }
}
