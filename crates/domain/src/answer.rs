//! Answers: what a person gets back (S0 `AgentResponse`, S3 `AnalysisResponse`).

use crate::valid::require;
use crate::{Artifact, Check, Label, PlanId, Problem, TaskId, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer in one voice, with its sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentResponse {
    /// The answer in words.
    pub answer: String,
    /// Where it comes from.
    pub sources: Vec<Label>,
    /// The calls it rests on.
    pub tool_calls_made: Vec<ToolCall>,
    /// What to ask next, at most three.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// How complete the data was.
    pub confidence: Certainty,
    /// How long it took.
    pub total_execution_time_ms: u64,
    /// Whether something is missing.
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

/// What an analysis hands back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalysisResponse {
    /// The request it answers.
    pub request_id: TaskId,
    /// How it went.
    pub status: ResponseStatus,
    /// The files.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// The findings.
    #[serde(default)]
    pub summary: Summary,
    /// The effort.
    #[serde(default)]
    pub metrics: ResponseMetrics,
    /// Where its journal is.
    pub audit_log_ref: String,
    /// The plan that was carried out.
    #[serde(default)]
    pub plan_ref: Option<PlanId>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<String>,
}

/// How an analysis went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// All of it worked.
    Completed,
    /// None of it worked.
    Failed,
    /// Some of it worked.
    PartialSuccess,
}

/// Findings in words, each computed from the data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Summary {
    /// What the data says.
    pub key_findings: Vec<String>,
    /// What it may mean.
    pub insights: Vec<String>,
    /// What to be careful about.
    pub warnings: Vec<String>,
}

/// What an analysis took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResponseMetrics {
    /// Time from question to answer.
    pub execution_time_ms: u64,
    /// Rows that were read.
    pub rows_processed: u64,
    /// Calls that were made.
    pub tool_calls: u32,
    /// Calls that were made again.
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
