//! Effects: the actions that the engine requests from the runtime. An effect is journalled as
//! intent before it is executed.

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

/// The approval of a person for exactly one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The digest of what the person was shown.
    pub digest: Sha256Hex,
    /// The person who approved.
    pub by: String,
    /// The approval request that was decided; the call consumes it.
    pub gate: EffectId,
}

/// The subject of an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A `human` node of the workflow.
    Node,
    /// A checkpoint before a node.
    Checkpoint,
    /// A call of a tool that needs approval. Approve executes it; modify changes `arguments`, and
    /// the new arguments need a new approval.
    Call,
    /// Several calls of an agent that need approval, in order. Approve executes all of them, reject
    /// none.
    Calls,
    /// A call whose outcome is unknown. Approve repeats it; modify with `output` reports the
    /// outcome; reject fails it.
    UnknownOutcome,
}

/// Everything that a person is shown before the decision. The digest covers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The kind of request.
    pub subject: Subject,
    /// The node that requests the decision.
    pub node: NodeName,
    /// The text: the node's own, or the reason why policy requires approval.
    pub text: String,
    /// The tool, for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// All tools, where several calls are decided together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolName>,
    /// The exact arguments of a call; keyed by number and tool where there are several.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub arguments: JsonObject,
    /// The provenance of each argument.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, Provenance>,
    /// Whether repeating the call is safe: `read_only`, `keyed`, `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety: Option<Idempotency>,
    /// The roles that may decide; when empty, every user with the right to approve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Label>,
    /// How often the request was escalated after a timeout.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub escalation: u32,
}

/// One action to execute. An effect with an id stays pending until an event names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say themselves what they are; the variants are documented")]
pub enum Effect {
    /// Call a model. The prompt is [`crate::State::prompt`] with this id: messages are not copied
    /// into effects.
    CallModel { id: EffectId, agent: AgentName, attempt: u32 },
    /// Call a tool.
    CallTool {
        id: EffectId,
        /// The idempotency key: the same for every attempt of a call.
        key: CallId,
        tool: ToolName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<ServerName>,
        node: NodeName,
        arguments: JsonObject,
        provenance: BTreeMap<String, Provenance>,
        /// The origin of the decision to make the call. For a call without arguments, policy judges
        /// only this.
        #[serde(default = "untrusted")]
        origin: Provenance,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<Approval>,
        timeout_seconds: u32,
        /// The engine's classification of a repeated call.
        safety: Idempotency,
        attempt: u32,
    },
    /// Send [`crate::Event::TimerFired`] at this time.
    StartTimer { id: EffectId, at: Timestamp },
    /// Ask a person for a decision.
    AskHuman { id: EffectId, digest: Sha256Hex, question: Question, expires_at: Timestamp },
    /// Run an agent as a sub-task with its own message history.
    StartSub {
        id: EffectId,
        task_id: TaskId,
        agent: AgentName,
        task: String,
        /// Whether the text may come from data; copied into the sub-task's `started`.
        untrusted: bool,
        depth: u8,
        /// The remaining budget of this task.
        limits: Limits,
    },
    /// Run a workflow as a sub-task.
    StartWorkflow {
        id: EffectId,
        task_id: TaskId,
        workflow: AgentName,
        input: Value,
        /// Whether the input may come from data; copied into the sub-task's `started`.
        untrusted: bool,
        depth: u8,
        /// The remaining budget of this task.
        limits: Limits,
        attempt: u32,
    },
    /// Wait for a signal of this name.
    AwaitSignal { id: EffectId, name: NodeName, node: NodeName },
    /// Cancel this effect; its result is ignored.
    Cancel { id: EffectId },
    /// A named position in the history.
    Checkpoint { position: NodeName, awaiting_human: bool },
    /// The task is done.
    Finish { result: Value },
    /// The task has failed.
    Fail { code: String, message: String },
    /// A person rejected the task.
    Rejected { message: String },
    /// The task was cancelled.
    Cancelled { by: String },
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The default for an effect without an origin: it is judged as untrusted.
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
