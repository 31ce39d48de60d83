//! Answers that are returned to the user.

use crate::valid::require;
use crate::{Artifact, Check, Label, PlanId, Problem, TaskId, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of a conversation turn, with its sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentResponse {
    /// The answer text.
    pub answer: String,
    /// Names of the sources it is based on.
    pub sources: Vec<Label>,
    /// The tool calls it is based on.
    pub tool_calls_made: Vec<ToolCall>,
    /// Follow-up questions, at most three.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// How complete the data was.
    pub confidence: Certainty,
    /// Elapsed time.
    pub total_execution_time_ms: u64,
    /// Whether part of the data is missing.
    #[serde(default)]
    pub partial_results: bool,
}

/// How complete the data behind an answer was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// All of it.
    High,
    /// Most of it.
    Medium,
    /// Little of it.
    Low,
}

impl Check for AgentResponse {
    const ENTITY: &'static str = "AgentResponse";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(problems, !self.answer.trim().is_empty(), "answer", "must not be empty", "");
        let sourced = self.tool_calls_made.is_empty() || self.partial_results || !self.sources.is_empty();
        require(problems, sourced, "sources", "must name at least one when the answer rests on data", "[]");
        require(
            problems,
            self.suggestions.len() <= 3,
            "suggestions",
            "must be at most 3",
            self.suggestions.len(),
        );
        require(
            problems,
            self.total_execution_time_ms < 60_000 || self.partial_results,
            "total_execution_time_ms",
            "must be under 60000 unless the results are partial",
            self.total_execution_time_ms,
        );
    }
}

/// The result of an analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalysisResponse {
    /// The request it answers.
    pub request_id: TaskId,
    /// The status of the analysis.
    pub status: ResponseStatus,
    /// The files that were produced.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// The findings.
    #[serde(default)]
    pub summary: Summary,
    /// Timing and counters.
    #[serde(default)]
    pub metrics: ResponseMetrics,
    /// Reference to its journal chain.
    pub audit_log_ref: String,
    /// The plan that was executed.
    #[serde(default)]
    pub plan_ref: Option<PlanId>,
    /// The error, if it failed.
    #[serde(default)]
    pub error: Option<String>,
}

/// The final status of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// Every part succeeded.
    Completed,
    /// Every part failed.
    Failed,
    /// Some parts succeeded.
    PartialSuccess,
}

/// Findings in words, each computed from the data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Summary {
    /// Facts computed from the data.
    pub key_findings: Vec<String>,
    /// Possible interpretations.
    pub insights: Vec<String>,
    /// Caveats.
    pub warnings: Vec<String>,
}

/// Timing and counters of an analysis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResponseMetrics {
    /// Time from question to answer.
    pub execution_time_ms: u64,
    /// Rows that were read.
    pub rows_processed: u64,
    /// Calls that were made.
    pub tool_calls: u32,
    /// Calls that were repeated.
    pub retries: u32,
    /// Whether a recipe was used.
    pub recipe_used: bool,
}

impl Check for AnalysisResponse {
    const ENTITY: &'static str = "AnalysisResponse";
    fn check(&self, problems: &mut Vec<Problem>) {
        let failed = self.status == ResponseStatus::Failed;
        require(
            problems,
            !failed || self.error.is_some(),
            "error",
            "is required when the status is failed",
            "nothing",
        );
    }
}
