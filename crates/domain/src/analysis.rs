//! Requests for analysis: a question, its data and its limits.

use crate::valid::require;
use crate::{
    AnalysisTimeout, Check, Problem, Question, RowLimit, Sha256Hex, States, TaskId, Timestamp, UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question about data. It is a task: its id is the task's id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalysisRequest {
    /// The request's id.
    pub request_id: TaskId,
    /// The user who asks.
    pub user_id: UserId,
    /// The question.
    pub intent: Question,
    /// The data it is about.
    pub data_sources: Vec<DataSource>,
    /// The limits of the request.
    #[serde(default)]
    pub constraints: Constraints,
    /// The requested outputs.
    #[serde(default)]
    pub deliverables: Vec<Deliverable>,
    /// The access restrictions.
    #[serde(default)]
    pub policy: RequestPolicy,
    /// When the request was submitted.
    pub timestamp: Timestamp,
    /// The current status.
    #[serde(default)]
    pub status: RequestStatus,
}

/// One source of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataSource {
    /// The kind of source.
    #[serde(rename = "type")]
    pub kind: SourceKind,
    /// Connection string, for databases. Its secrets are redacted before anything is written.
    #[serde(default)]
    pub connection_string: Option<String>,
    /// Path, for files.
    #[serde(default)]
    pub file_path: Option<String>,
    /// Hash of its schema, once discovered.
    #[serde(default)]
    pub schema_fingerprint: Option<Sha256Hex>,
}

/// Kinds of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A database.
    Sql,
    /// Delimited text.
    Csv,
    /// JSON or NDJSON.
    Json,
    /// Parquet.
    Parquet,
    /// Arrow IPC or Feather.
    Arrow,
    /// Avro.
    Avro,
    /// A spreadsheet workbook: Excel or OpenDocument.
    Workbook,
    /// A zip or tar archive of files.
    Archive,
}

/// Limits of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Constraints {
    /// Rows a query may return.
    pub row_limit: RowLimit,
    /// Time the analysis may take.
    pub timeout_seconds: AnalysisTimeout,
}

/// The kinds of output that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deliverable {
    /// CSV tables.
    Tables,
    /// Charts.
    Charts,
    /// Written reports.
    Reports,
    /// Key findings.
    Summary,
    /// One workbook with the tables, the charts and the origin of each number. Only on request.
    Workbook,
    /// The tables as Parquet files. Only on request.
    Parquet,
}

/// The access restrictions of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestPolicy {
    /// The only columns that may be read; all columns when empty.
    pub allowed_columns: Vec<String>,
    /// Columns whose name or values match one of these patterns are not read.
    pub blocked_patterns: Vec<String>,
}

impl Default for RequestPolicy {
    fn default() -> Self {
        let blocked = ["ssn", "social_security", "email", "phone", "credit_card"];
        Self { allowed_columns: Vec::new(), blocked_patterns: blocked.map(str::to_owned).to_vec() }
    }
}

/// The states of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Accepted.
    #[default]
    Submitted,
    /// The question is being interpreted.
    Planning,
    /// The plan is being executed.
    Executing,
    /// Completed.
    Completed,
    /// Failed.
    Failed,
    /// Completed in part.
    PartialSuccess,
}

impl States for RequestStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Submitted => &[Self::Planning, Self::Failed],
            Self::Planning => &[Self::Executing, Self::Failed],
            Self::Executing => &[Self::Completed, Self::Failed, Self::PartialSuccess],
            Self::Completed | Self::Failed | Self::PartialSuccess => &[],
        }
    }
}

impl Check for AnalysisRequest {
    const ENTITY: &'static str = "AnalysisRequest";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(problems, !self.data_sources.is_empty(), "data_sources", "must have at least 1 entry", "[]");
        for (index, source) in self.data_sources.iter().enumerate() {
            let sql = source.kind == SourceKind::Sql;
            let field = |name| format!("data_sources[{index}].{name}");
            require(
                problems,
                sql == source.connection_string.is_some(),
                &field("connection_string"),
                "is present exactly when the type is sql",
                "(hidden)",
            );
            require(
                problems,
                sql != source.file_path.is_some(),
                &field("file_path"),
                "is present exactly when the type is a file",
                source.file_path.as_deref().unwrap_or_default(),
            );
        }
    }
}
