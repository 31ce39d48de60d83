//! Answers that a person verified, what they gave, and what people said of answers.

use crate::valid::require;
use crate::{
    Check, FeedbackId, JsonObject, Problem, Question, Sha256Hex, TaskId, Timestamp, UserId, VerifiedId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question with the statement that a person vouches for. It answers that question and its
/// paraphrases, with other particulars put in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifiedAnswer {
    /// Its id.
    pub id: VerifiedId,
    /// Who verified it.
    pub user_id: UserId,
    /// The question in the words it was verified with.
    pub question: Question,
    /// Other words for the same question, with the same particulars.
    #[serde(default)]
    pub paraphrases: Vec<Question>,
    /// Where the data is: files, folders, addresses without passwords.
    pub data: Vec<String>,
    /// The tables that the statement reads.
    pub tables: Vec<String>,
    /// Hash over the columns of these tables: another schema is not answered by it.
    pub schema_fingerprint: Sha256Hex,
    /// What is run.
    pub statement: VerifiedStatement,
    /// The question's task, when an answer was verified after it was given.
    #[serde(default)]
    pub origin: Option<TaskId>,
    /// What the verifier wrote beside it.
    #[serde(default)]
    pub note: String,
    /// When it was verified.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What a verified answer runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum VerifiedStatement {
    /// One SELECT statement.
    Sql(String),
    /// A reading of the built-in reader, as the query crate writes it.
    Reading(JsonObject),
}

/// The rows that a verified answer gave when it was verified. They are its verifier's alone:
/// whoever uses the answer runs it with their own grants.
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
    /// When they were last read anew.
    pub updated_at: Timestamp,
}

/// What a person said of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Its id.
    pub id: FeedbackId,
    /// Who said it.
    pub user_id: UserId,
    /// The task of the answer.
    pub task_id: TaskId,
    /// What had been asked.
    pub question: Question,
    /// Good or bad.
    pub rating: Rating,
    /// In their words.
    #[serde(default)]
    pub comment: String,
    /// The SQL that would have been right.
    #[serde(default)]
    pub corrected_sql: Option<String>,
    /// What became of it.
    #[serde(default)]
    pub status: FeedbackStatus,
    /// When it was said.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Good or bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rating {
    /// The answer was right.
    Up,
    /// The answer was wrong.
    Down,
}

/// What became of a person's feedback.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackStatus {
    /// Nobody looked at it yet.
    #[default]
    Open,
    /// It became a verified answer.
    Verified,
    /// It was put aside.
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
