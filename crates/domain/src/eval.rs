//! Test cases for answers, written by users for their own questions (`steward eval`).

use crate::valid::require;
use crate::{Check, Problem, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One file of cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalSuite {
    /// The data of cases that name none. Paths are relative to this file.
    #[serde(default)]
    pub data: Vec<String>,
    /// The budget of an answer, unless a case sets its own.
    #[serde(default)]
    pub budget: EvalBudget,
    /// The cases in order.
    #[serde(default)]
    pub cases: Vec<EvalCase>,
}

/// A question with the expected answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalCase {
    /// The name of the case, unique in its file.
    pub name: String,
    /// The question.
    pub question: Question,
    /// The data, instead of the file's default.
    #[serde(default)]
    pub data: Vec<String>,
    /// The expected answer.
    pub expect: Expectation,
    /// The only tools that may be called; all when empty.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The budget of the answer.
    #[serde(default)]
    pub budget: EvalBudget,
}

/// The expected answer. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The rows. An expected row matches when each of its values occurs in a row of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Vec<serde_json::Value>>>,
    /// A SELECT statement; the answer must have the same rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Whether the order of the rows counts.
    #[serde(default)]
    pub ordered: bool,
    /// The first number of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// The tolerance for numbers; one millionth of the number by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Words that the answer must contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// The expected ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<EvalOutcome>,
    /// Whether the answer must be marked as certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sure: Option<bool>,
}

/// How the processing of a question ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvalOutcome {
    /// With rows.
    Answered,
    /// With a clarifying question.
    AskedBack,
    /// With the reason why the data does not answer it.
    Declined,
    /// Policy refuses it.
    Refused,
    /// With an error.
    Failed,
}

/// The budget of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalBudget {
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Model tokens, input and output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl EvalBudget {
    /// This budget, with missing limits taken from another.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.or(other.seconds),
            calls: self.calls.or(other.calls),
            tokens: self.tokens.or(other.tokens),
        }
    }
}

impl Check for EvalSuite {
    const ENTITY: &'static str = "EvalSuite";
    fn check(&self, problems: &mut Vec<Problem>) {
        let names: BTreeSet<&str> = self.cases.iter().map(|case| case.name.trim()).collect();
        let own = names.len() == self.cases.len() && !names.contains("");
        require(problems, own, "cases.name", "must be given, once each", "twice the same, or nothing");
        for case in &self.cases {
            let expect = &case.expect;
            let some = expect.rows.is_some()
                || expect.sql.is_some()
                || expect.number.is_some()
                || !expect.contains.is_empty()
                || expect.outcome.is_some()
                || expect.sure.is_some();
            let rule = "must expect rows, sql, number, contains, outcome or sure";
            require(problems, some, &format!("cases.{}.expect", case.name), rule, "nothing");
        }
    }
}
