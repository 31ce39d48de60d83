//! Requests for analysis: a question, the data, the limits (S3).

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
    /// Who asks.
    pub user_id: UserId,
    /// What is asked.
    pub intent: Question,
    /// Of which data.
    pub data_sources: Vec<DataSource>,
    /// Within which limits.
    #[serde(default)]
    pub constraints: Constraints,
    /// What is to come out.
    #[serde(default)]
    pub deliverables: Vec<Deliverable>,
    /// What is allowed.
    #[serde(default)]
    pub policy: RequestPolicy,
    /// When it was asked.
    pub timestamp: Timestamp,
    /// Where it is in its life.
    #[serde(default)]
    pub status: RequestStatus,
}

/// One source of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataSource {
    /// What kind it is.
    #[serde(rename = "type")]
    pub kind: SourceKind,
    /// For databases. Secrets in it are redacted before anything is written.
    #[serde(default)]
    pub connection_string: Option<String>,
    /// For files.
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

/// What can be asked for.
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
    /// One workbook with the tables, the charts and where each number comes from. Only when it is
    /// asked for.
    Workbook,
    /// The tables as Parquet files. Only when it is asked for.
    Parquet,
}

/// What one request may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestPolicy {
    /// The only columns that may be read; every one when empty.
    pub allowed_columns: Vec<String>,
    /// Columns whose name or values look like this are not read.
    pub blocked_patterns: Vec<String>,
}

impl Default for RequestPolicy {
    fn default() -> Self {
        let blocked = ["ssn", "social_security", "email", "phone", "credit_card"];
        Self { allowed_columns: Vec::new(), blocked_patterns: blocked.map(str::to_owned).to_vec() }
    }
}

/// The life of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Taken.
    #[default]
    Submitted,
    /// Being understood.
    Planning,
    /// Being worked out.
    Executing,
    /// Done.
    Completed,
    /// Could not be done.
    Failed,
    /// Done in part.
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
