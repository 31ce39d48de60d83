//! The shared state of a run, its checkpoints, and the sessions of sub-agents.

use crate::valid::require;
use crate::{
    AgentName, Check, CheckpointId, Description, JsonObject, Label, Message, NodeName, Problem, Role,
    SessionId, States, TaskId, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a run. `messages` are only appended; the other fields are replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The next action.
    #[serde(default)]
    pub next_action: Option<Label>,
    /// The agent that is running.
    pub current_agent: AgentName,
    /// Chooses among an edge's routes.
    #[serde(default)]
    pub routing_key: Option<Label>,
    /// Any other values.
    #[serde(default)]
    pub metadata: JsonObject,
}

impl State {
    /// Applies an update: messages are appended, fields that are present replace the old values.
    pub fn reduce(mut self, messages: Vec<Message>, updates: StateUpdate) -> Self {
        self.messages.extend(messages);
        self.next_action = updates.next_action.or(self.next_action);
        self.current_agent = updates.current_agent.unwrap_or(self.current_agent);
        self.routing_key = updates.routing_key.or(self.routing_key);
        self.metadata = updates.metadata.unwrap_or(self.metadata);
        self
    }
}

/// The replaceable part of a [`State`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StateUpdate {
    /// Replaces `next_action`.
    pub next_action: Option<Label>,
    /// Replaces `current_agent`.
    pub current_agent: Option<AgentName>,
    /// Replaces `routing_key`.
    pub routing_key: Option<Label>,
    /// Replaces `metadata` as a whole.
    pub metadata: Option<JsonObject>,
}

/// A saved state at a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The checkpoint's id.
    pub checkpoint_id: CheckpointId,
    /// Whose state it is.
    pub task_id: TaskId,
    /// The state as it was.
    pub state: State,
    /// The node at which it was taken.
    pub position: NodeName,
    /// Its number among the task's checkpoints, from 0; monotonically increasing.
    pub sequence: u64,
    /// When it was taken.
    pub created_at: Timestamp,
    /// Whether it waits for a decision of a person.
    #[serde(default)]
    pub awaiting_human: bool,
    /// When the person answered.
    #[serde(default)]
    pub resumed_at: Option<Timestamp>,
}

/// The states of a checkpoint, derived from the two fields above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointStatus {
    /// Taken; no decision is pending.
    Created,
    /// A decision of a person is pending.
    AwaitingHuman,
    /// The person has decided.
    Resumed,
}

impl States for CheckpointStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Created => &[Self::AwaitingHuman],
            Self::AwaitingHuman => &[Self::Resumed],
            Self::Resumed => &[],
        }
    }
}

impl Checkpoint {
    /// The current status.
    pub fn status(&self) -> CheckpointStatus {
        match (self.resumed_at, self.awaiting_human) {
            (Some(_), _) => CheckpointStatus::Resumed,
            (None, true) => CheckpointStatus::AwaitingHuman,
            (None, false) => CheckpointStatus::Created,
        }
    }
}

impl Check for Checkpoint {
    const ENTITY: &'static str = "Checkpoint";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(
            problems,
            !(self.awaiting_human && self.resumed_at.is_some()),
            "awaiting_human",
            "must be false once resumed",
            true,
        );
        let ordered = self.resumed_at.is_none_or(|t| t >= self.created_at);
        require(problems, ordered, "resumed_at", "must not be before created_at", self.created_at);
    }
}

/// The decision of a person at a pause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanFeedback {
    /// The decision.
    pub action: HumanAction,
    /// A message for the agent.
    #[serde(default)]
    pub message: String,
    /// Changes to the state; only with `modify`.
    #[serde(default)]
    pub state_updates: JsonObject,
}

/// The three decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HumanAction {
    /// Continue as shown.
    Approve,
    /// Do not continue.
    Reject,
    /// Continue with changes.
    Modify,
}

impl Check for HumanFeedback {
    const ENTITY: &'static str = "HumanFeedback";
    fn check(&self, problems: &mut Vec<Problem>) {
        let modifies = self.action == HumanAction::Modify;
        require(
            problems,
            modifies || self.state_updates.is_empty(),
            "state_updates",
            "are only allowed with modify",
            self.state_updates.len(),
        );
        let says = !self.state_updates.is_empty() || !self.message.is_empty();
        require(
            problems,
            !modifies || says,
            "state_updates",
            "or a message must say what to modify",
            "nothing",
        );
    }
}

/// The conversation of a sub-agent. Only its summary reaches the parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubAgentSession {
    /// The session's id.
    pub session_id: SessionId,
    /// The task that called it.
    pub parent_task_id: TaskId,
    /// The agent.
    pub agent_name: AgentName,
    /// Its instructions.
    pub task_description: Description,
    /// Its own messages.
    pub message_history: Vec<Message>,
    /// The summary that it returned.
    #[serde(default)]
    pub summary: Option<String>,
    /// The current status.
    pub status: SubAgentStatus,
    /// When it began.
    pub created_at: Timestamp,
}

/// The states of a sub-agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubAgentStatus {
    /// Running.
    Running,
    /// Returned its summary.
    Completed,
    /// Failed.
    Failed,
}

impl States for SubAgentStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Running => &[Self::Completed, Self::Failed],
            Self::Completed | Self::Failed => &[],
        }
    }
}

impl Check for SubAgentSession {
    const ENTITY: &'static str = "SubAgentSession";
    fn check(&self, problems: &mut Vec<Problem>) {
        let done = self.status == SubAgentStatus::Completed;
        require(
            problems,
            done == self.summary.is_some(),
            "summary",
            "is present exactly when completed",
            self.summary.is_some(),
        );
        let system = self.message_history.iter().skip(1).any(|m| m.role == Role::System);
        require(problems, !system, "message_history", "has a system message only at its start", "system");
    }
}
