//! Verified answers, their rows, and feedback on answers.

use crate::valid::require;
use crate::{
    Check, FeedbackId, JsonObject, Problem, Question, Sha256Hex, TaskId, Timestamp, UserId, VerifiedId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question with a statement that a person verified. It answers that question and its
/// paraphrases, with other values substituted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifiedAnswer {
    /// Its id.
    pub id: VerifiedId,
    /// Who verified it.
    pub user_id: UserId,
    /// The question in the words it was verified with.
    pub question: Question,
    /// Paraphrases of the question, with the same values.
    #[serde(default)]
    pub paraphrases: Vec<Question>,
    /// Sources: files, folders, addresses without passwords.
    pub data: Vec<String>,
    /// The tables that the statement reads.
    pub tables: Vec<String>,
    /// Hash over the columns of these tables. The verified answer is not used for another schema.
    pub schema_fingerprint: Sha256Hex,
    /// The statement that is run.
    pub statement: VerifiedStatement,
    /// The question's task, when an answer was verified after it was given.
    #[serde(default)]
    pub origin: Option<TaskId>,
    /// A note of the verifier.
    #[serde(default)]
    pub note: String,
    /// When it was verified.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The statement of a verified answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum VerifiedStatement {
    /// One SELECT statement.
    Sql(String),
    /// A typed query, as the query crate serializes it.
    Reading(JsonObject),
}

/// The rows that a verified answer returned when it was verified. Only its verifier sees them:
/// other users run the answer with their own grants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifiedResult {
    /// The verified answer.
    pub id: VerifiedId,
    /// Who verified it.
    pub user_id: UserId,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The first rows, as JSON.
    pub rows: Vec<Vec<serde_json::Value>>,
    /// How many rows there were.
    pub row_count: u64,
    /// Whether the order of the rows is part of the answer.
    pub ordered: bool,
    /// Hash over all rows.
    pub digest: Sha256Hex,
    /// When they were read.
    pub created_at: Timestamp,
    /// When they were last read again.
    pub updated_at: Timestamp,
}

/// A user's feedback on an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Its id.
    pub id: FeedbackId,
    /// The user who gave it.
    pub user_id: UserId,
    /// The task of the answer.
    pub task_id: TaskId,
    /// The question.
    pub question: Question,
    /// The rating.
    pub rating: Rating,
    /// A comment.
    #[serde(default)]
    pub comment: String,
    /// The correct SQL.
    #[serde(default)]
    pub corrected_sql: Option<String>,
    /// The current status.
    #[serde(default)]
    pub status: FeedbackStatus,
    /// When it was given.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The rating of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rating {
    /// The answer was right.
    Up,
    /// The answer was wrong.
    Down,
}

/// The states of feedback.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackStatus {
    /// Not reviewed yet.
    #[default]
    Open,
    /// It became a verified answer.
    Verified,
    /// Dismissed.
    Dismissed,
}

impl Check for VerifiedAnswer {
    const ENTITY: &'static str = "VerifiedAnswer";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(problems, !self.data.is_empty(), "data", "must name at least 1 source", "[]");
        require(problems, !self.tables.is_empty(), "tables", "must name at least 1 table", "[]");
        require_order(problems, self.created_at, self.updated_at);
        if let VerifiedStatement::Sql(sql) = &self.statement {
            require(problems, !sql.trim().is_empty(), "statement.sql", "must not be empty", sql);
        }
    }
}

impl Check for VerifiedResult {
    const ENTITY: &'static str = "VerifiedResult";
    fn check(&self, problems: &mut Vec<Problem>) {
        let fits = self.rows.iter().all(|row| row.len() == self.columns.len());
        require(problems, fits, "rows", "must have a cell for each column", self.rows.len());
        let within = self.rows.len() as u64 <= self.row_count;
        require(problems, within, "row_count", "must not be smaller than the rows kept", self.row_count);
    }
}

impl Check for Feedback {
    const ENTITY: &'static str = "Feedback";
    fn check(&self, problems: &mut Vec<Problem>) {
        let short = self.comment.chars().count() <= 10_000;
        require(problems, short, "comment", "must have at most 10000 characters", self.comment.len());
        require_order(problems, self.created_at, self.updated_at);
    }
}

/// Adds a problem unless the last change is not before the first.
pub(crate) fn require_order(problems: &mut Vec<Problem>, created: Timestamp, updated: Timestamp) {
    require(problems, created <= updated, "updated_at", "must not be before created_at", updated);
}
