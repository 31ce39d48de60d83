//! Calls of tools and what came of them (S0, S1, S2, S3 `ToolCall`/`Observation`, S4
//! `ToolInvocation`).

use crate::valid::{require, require_span};
use crate::{
    Attempt, CallId, Check, DomainName, ExecutionId, InvocationId, JsonObject, NodeName, ObservationId,
    Problem, Seconds, ServerName, States, TaskId, Timestamp, ToolId, ToolName, UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A call that is to be made. What comes back is its [`Observation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The call's id, also its idempotency key (S2 `id`, S0 `tool_id`).
    #[serde(alias = "id", alias = "tool_id")]
    pub call_id: CallId,
    /// The plan's subtask or the workflow's node that asks for it.
    #[serde(default)]
    pub task_id: Option<NodeName>,
    /// The MCP server; nothing for built-in tools.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// Which tool (S2 `tool`).
    #[serde(alias = "tool")]
    pub tool_name: ToolName,
    /// The data domain it serves.
    #[serde(default)]
    pub domain: Option<DomainName>,
    /// With what (S0 `input_params`).
    #[serde(alias = "input_params")]
    pub arguments: JsonObject,
    /// Where it is in its life.
    #[serde(default)]
    pub status: CallStatus,
    /// When it was made (S0 `started_at`).
    #[serde(alias = "started_at")]
    pub timestamp: Timestamp,
    /// Which attempt it is.
    #[serde(default)]
    pub attempt_number: Attempt,
}

/// One place at which a task waits for a person: a call, a node, a checkpoint. It is decided once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The task that waits.
    pub task: TaskId,
    /// Which of its gates: the number of the effect that asked, or the place in a list of calls.
    pub number: u64,
}

/// The life of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Written down, not yet made.
    #[default]
    Pending,
    /// Under way; a polling tool stays here until it answers.
    #[serde(alias = "executing", alias = "running")]
    InProgress,
    /// Answered.
    #[serde(alias = "succeeded")]
    Completed,
    /// Went wrong; may be tried again while attempts are left.
    Failed,
    /// Took too long.
    Timeout,
    /// Called off.
    Cancelled,
    /// Made, but nobody knows what came of it.
    Unknown,
}

impl States for CallStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Pending => &[Self::InProgress, Self::Cancelled],
            Self::InProgress => {
                &[Self::Completed, Self::Failed, Self::Timeout, Self::Cancelled, Self::Unknown]
            }
            Self::Failed | Self::Timeout => &[Self::Pending],
            Self::Completed | Self::Cancelled | Self::Unknown => &[],
        }
    }
}

impl Check for ToolCall {
    const ENTITY: &'static str = "ToolCall";
    fn check(&self, _: &mut Vec<Problem>) {}
}

/// How a call ended. One set for S1, S3 and S4, which name the same things differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered.
    Success,
    /// Went wrong (S4 `failure`).
    #[serde(alias = "failure")]
    Error,
    /// Took too long.
    Timeout,
    /// Asked for more memory or rows than it may.
    ResourceLimit,
    /// Called off.
    Cancelled,
    /// Made, but nobody knows what came of it: the process died between effect and receipt.
    Unknown,
}

impl Outcome {
    /// The outcome in the words of JSON and SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::ResourceLimit => "resource_limit",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

/// What kind of mistake it was, which decides how it is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// Not valid SQL.
    SqlSyntax,
    /// A type does not fit the operation.
    TypeMismatch,
    /// No such column.
    MissingColumn,
    /// Too long, too large.
    ResourceExhausted,
    /// Arguments break the tool's schema.
    InvalidArguments,
    /// Policy said no.
    Denied,
    /// The tool or its server failed.
    ToolFailure,
}

/// What came back from a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The observation's id.
    pub observation_id: ObservationId,
    /// The call it answers.
    pub call_id: CallId,
    /// How it ended.
    pub status: Outcome,
    /// The result (S0 `result`, S1 `result_data`).
    #[serde(default)]
    pub data: Option<serde_json::Value>,
    /// What went wrong (S0 `error`).
    #[serde(default)]
    pub error_message: Option<String>,
    /// What kind of mistake it was.
    #[serde(default)]
    pub error_category: Option<ErrorCategory>,
    /// How long it took.
    pub execution_time_seconds: Seconds,
    /// Rows, for data.
    #[serde(default)]
    pub row_count: Option<u64>,
    /// When it came (S0 `completed_at`).
    pub timestamp: Timestamp,
}

impl Check for Observation {
    const ENTITY: &'static str = "Observation";
    fn check(&self, problems: &mut Vec<Problem>) {
        let success = self.status == Outcome::Success;
        require(
            problems,
            success == self.data.is_some(),
            "data",
            "is present exactly when the status is success",
            self.status.name(),
        );
        require(
            problems,
            success != self.error_message.is_some(),
            "error_message",
            "is present exactly when the status is not success",
            self.status.name(),
        );
        require(
            problems,
            success != self.error_category.is_some(),
            "error_category",
            "is present exactly when the status is not success",
            self.status.name(),
        );
        require(
            problems,
            self.execution_time_seconds.get() > 0.0,
            "execution_time_seconds",
            "must be above 0",
            self.execution_time_seconds,
        );
    }
}

/// The lasting record of one call for analytics (S4 `ToolInvocation`, S1 `ToolExecutionResult`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolInvocation {
    /// The record's id.
    pub id: InvocationId,
    /// For whom the call was made.
    pub user_id: UserId,
    /// The agent's run it belongs to; nothing for direct calls.
    #[serde(default)]
    pub agent_execution_id: Option<ExecutionId>,
    /// The tool in its version.
    pub tool_definition_id: ToolId,
    /// With what.
    pub input_parameters: JsonObject,
    /// What came back; nothing on error.
    #[serde(default)]
    pub output_result: Option<serde_json::Value>,
    /// When it began.
    pub invocation_start: Timestamp,
    /// When it ended.
    pub invocation_end: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// How it ended.
    pub status: Outcome,
    /// What went wrong.
    #[serde(default)]
    pub error_details: Option<serde_json::Value>,
    /// Attempts after the first.
    #[serde(default)]
    pub retry_count: u32,
}

impl Check for ToolInvocation {
    const ENTITY: &'static str = "ToolInvocation";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_span(problems, "invocation", self.invocation_start, self.invocation_end, self.duration_ms);
        let success = self.status == Outcome::Success;
        require(
            problems,
            success != self.error_details.is_some(),
            "error_details",
            "is present exactly when the status is not success",
            self.status.name(),
        );
        require(
            problems,
            success || self.output_result.is_none(),
            "output_result",
            "is only present on success",
            self.status.name(),
        );
    }
}
