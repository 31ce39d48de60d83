//! The shared state of a run, its checkpoints, and sub-agents' sessions (S2).

use crate::valid::require;
use crate::{
    AgentName, Check, CheckpointId, Description, JsonObject, Label, Message, NodeName, Problem, Role,
    SessionId, States, TaskId, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run knows. `messages` only grow; the other fields are replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// What comes next.
    #[serde(default)]
    pub next_action: Option<Label>,
    /// Who is at work.
    pub current_agent: AgentName,
    /// Chooses among an edge's routes.
    #[serde(default)]
    pub routing_key: Option<Label>,
    /// Anything else.
    #[serde(default)]
    pub metadata: JsonObject,
}

impl State {
    /// Applies an update by S2's reducer: messages are appended, what is present replaces what was
    /// there.
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
    /// The node it stands at.
    pub position: NodeName,
    /// Its place among the task's checkpoints, from 0; monotonically increasing.
    pub sequence: u64,
    /// When it was taken.
    pub created_at: Timestamp,
    /// Whether a person's word is awaited.
    #[serde(default)]
    pub awaiting_human: bool,
    /// When the person answered.
    #[serde(default)]
    pub resumed_at: Option<Timestamp>,
}

/// S2's checkpoint states, derived from the two fields that carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointStatus {
    /// Taken; nobody is awaited.
    Created,
    /// A person is awaited.
    AwaitingHuman,
    /// The person has answered.
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
    /// Where it is in its life.
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

/// What a person said at a pause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanFeedback {
    /// The decision.
    pub action: HumanAction,
    /// Words for the agent.
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
    /// Go on as shown.
    Approve,
    /// Do not.
    Reject,
    /// Go on with changes.
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

/// A sub-agent's own conversation; nothing of it reaches the parent but the summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubAgentSession {
    /// The session's id.
    pub session_id: SessionId,
    /// The task that called it.
    pub parent_task_id: TaskId,
    /// Which agent.
    pub agent_name: AgentName,
    /// What it was asked.
    pub task_description: Description,
    /// Its own messages.
    pub message_history: Vec<Message>,
    /// What it hands back.
    #[serde(default)]
    pub summary: Option<String>,
    /// Where it is in its life.
    pub status: SubAgentStatus,
    /// When it began.
    pub created_at: Timestamp,
}

/// The life of a sub-agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubAgentStatus {
    /// At work.
    Running,
    /// Handed back its summary.
    Completed,
    /// Gave up.
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
