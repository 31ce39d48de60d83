//! Tool calls and their outcomes.

use crate::valid::{require, require_span};
use crate::{
    Attempt, CallId, Check, DomainName, ExecutionId, InvocationId, JsonObject, NodeName, ObservationId,
    Problem, Seconds, ServerName, States, TaskId, Timestamp, ToolId, ToolName, UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool call before it is made. Its result is an [`Observation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The call's id, also its idempotency key.
    #[serde(alias = "id", alias = "tool_id")]
    pub call_id: CallId,
    /// The subtask of the plan or the node of the workflow that requests it.
    #[serde(default)]
    pub task_id: Option<NodeName>,
    /// The MCP server; none for built-in tools.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// The tool.
    #[serde(alias = "tool")]
    pub tool_name: ToolName,
    /// The data domain it serves.
    #[serde(default)]
    pub domain: Option<DomainName>,
    /// The arguments.
    #[serde(alias = "input_params")]
    pub arguments: JsonObject,
    /// The current status.
    #[serde(default)]
    pub status: CallStatus,
    /// When it was made.
    #[serde(alias = "started_at")]
    pub timestamp: Timestamp,
    /// The number of the attempt.
    #[serde(default)]
    pub attempt_number: Attempt,
}

/// One point at which a task waits for a person: a call, a node or a checkpoint. It is decided
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The task that waits.
    pub task: TaskId,
    /// The number of the gate in its task: that of the effect that asked, or an index in a list of
    /// calls.
    pub number: u64,
}

/// The states of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Recorded, not yet made.
    #[default]
    Pending,
    /// In progress; a polling tool stays in this state until it answers.
    #[serde(alias = "executing", alias = "running")]
    InProgress,
    /// Succeeded.
    #[serde(alias = "succeeded")]
    Completed,
    /// Failed; may be retried while attempts are left.
    Failed,
    /// Exceeded its time limit.
    Timeout,
    /// Cancelled.
    Cancelled,
    /// Made, but its outcome is unknown.
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

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Succeeded.
    Success,
    /// Failed.
    #[serde(alias = "failure")]
    Error,
    /// Exceeded its time limit.
    Timeout,
    /// Exceeded its limit of memory or rows.
    ResourceLimit,
    /// Cancelled.
    Cancelled,
    /// Made, but its outcome is unknown: the process died between effect and receipt.
    Unknown,
}

impl Outcome {
    /// The outcome as it is written in JSON and SQL.
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

/// The kind of error, which decides how it is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// Not valid SQL.
    SqlSyntax,
    /// A type does not fit the operation.
    TypeMismatch,
    /// No such column.
    MissingColumn,
    /// Exceeded a limit of time or size.
    ResourceExhausted,
    /// Arguments break the tool's schema.
    InvalidArguments,
    /// Denied by policy.
    Denied,
    /// The tool or its server failed.
    ToolFailure,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The observation's id.
    pub observation_id: ObservationId,
    /// The call it answers.
    pub call_id: CallId,
    /// The outcome.
    pub status: Outcome,
    /// The result data.
    #[serde(default)]
    pub data: Option<serde_json::Value>,
    /// The error message.
    #[serde(default)]
    pub error_message: Option<String>,
    /// The kind of error.
    #[serde(default)]
    pub error_category: Option<ErrorCategory>,
    /// How long it took.
    pub execution_time_seconds: Seconds,
    /// Number of rows, for data.
    #[serde(default)]
    pub row_count: Option<u64>,
    /// When the result arrived.
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

/// The permanent record of one call, used for analytics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolInvocation {
    /// The record's id.
    pub id: InvocationId,
    /// The user on whose behalf the call was made.
    pub user_id: UserId,
    /// The agent run it belongs to; none for direct calls.
    #[serde(default)]
    pub agent_execution_id: Option<ExecutionId>,
    /// The version of the tool that was called.
    pub tool_definition_id: ToolId,
    /// The arguments.
    pub input_parameters: JsonObject,
    /// The result; none on error.
    #[serde(default)]
    pub output_result: Option<serde_json::Value>,
    /// When it began.
    pub invocation_start: Timestamp,
    /// When it ended.
    pub invocation_end: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// The outcome.
    pub status: Outcome,
    /// The error message.
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
