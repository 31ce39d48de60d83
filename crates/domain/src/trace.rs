//! The execution history of a task, read out of its journal (S2).

use crate::valid::require;
use crate::{
    AgentName, Check, JsonObject, Label, Problem, ServerName, SessionId, SubAgentStatus, TaskId, Timestamp,
    ToolName,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a task did, step by step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceLog {
    /// Whose trace it is.
    pub task_id: TaskId,
    /// The steps in order.
    pub steps: Vec<StepRecord>,
    /// The sub-agents it called, by session.
    pub sub_agent_sessions: BTreeMap<SessionId, SubAgentSessionInfo>,
    /// The first step's time.
    pub created_at: Timestamp,
    /// The last step's time.
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
    /// What kind of step.
    pub step_name: Label,
    /// In words.
    pub message: String,
    /// When.
    pub timestamp: Timestamp,
    /// How grave.
    pub status: StepLevel,
    /// By whom.
    pub agent: Label,
    /// The tools it called.
    #[serde(default)]
    pub tool_calls: Vec<ToolCallRecord>,
    /// How long it took.
    #[serde(default)]
    pub duration_ms: u64,
}

/// How grave a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepLevel {
    /// As it should be.
    Info,
    /// Worth a look.
    Warning,
    /// Went wrong.
    Error,
}

/// One call as a trace shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallRecord {
    /// Where the tool lives; nothing for built-in ones.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// Which tool.
    pub tool: ToolName,
    /// With what.
    pub arguments: JsonObject,
    /// What came back.
    #[serde(default)]
    pub result: Option<serde_json::Value>,
    /// What went wrong.
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
    /// Which agent.
    pub agent: AgentName,
    /// How many messages it holds.
    pub message_count: u64,
    /// Where it is in its life.
    pub status: SubAgentStatus,
}
