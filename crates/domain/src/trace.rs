//! The execution history of a task, derived from its journal.

use crate::valid::require;
use crate::{
    AgentName, Check, JsonObject, Label, Problem, ServerName, SessionId, SubAgentStatus, TaskId, Timestamp,
    ToolName,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The steps of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceLog {
    /// The task.
    pub task_id: TaskId,
    /// The steps in order.
    pub steps: Vec<StepRecord>,
    /// The sub-agents it called, by session.
    pub sub_agent_sessions: BTreeMap<SessionId, SubAgentSessionInfo>,
    /// The time of the first step.
    pub created_at: Timestamp,
    /// The time of the last step.
    pub updated_at: Timestamp,
}

impl Check for TraceLog {
    const ENTITY: &'static str = "TraceLog";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(
            problems,
            self.created_at <= self.updated_at,
            "updated_at",
            "must not be before created_at",
            self.updated_at,
        );
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// The kind of step.
    pub step_name: Label,
    /// A message for people.
    pub message: String,
    /// When.
    pub timestamp: Timestamp,
    /// The severity.
    pub status: StepLevel,
    /// The agent that took the step.
    pub agent: Label,
    /// The tools it called.
    #[serde(default)]
    pub tool_calls: Vec<ToolCallRecord>,
    /// How long it took.
    #[serde(default)]
    pub duration_ms: u64,
}

/// The severity of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepLevel {
    /// Normal.
    Info,
    /// Needs attention.
    Warning,
    /// Failed.
    Error,
}

/// A tool call as a trace shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallRecord {
    /// The server of the tool; none for built-in tools.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// The tool.
    pub tool: ToolName,
    /// The arguments.
    pub arguments: JsonObject,
    /// The result.
    #[serde(default)]
    pub result: Option<serde_json::Value>,
    /// The error message.
    #[serde(default)]
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// A sub-agent's session as a trace shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubAgentSessionInfo {
    /// The session.
    pub session_id: SessionId,
    /// The agent.
    pub agent: AgentName,
    /// How many messages it holds.
    pub message_count: u64,
    /// The current status.
    pub status: SubAgentStatus,
}
