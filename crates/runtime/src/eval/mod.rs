//! User-defined test cases for questions: execution, comparison and reports.
//!
//! Invariants
//! - A case passes only if all of its expectations hold, within its tools and its budget.
//! - Cases run in a separate store: what one case learns does not answer another, and the journal
//!   of the home is not changed.

mod judge;
mod page;
mod suite;

pub use page::eval_page;
pub use suite::{append_case, read_suite};

use crate::ask::{Answer, AppContext, Ask, Workspace};
use crate::error::{Error, Result};
use crate::verified::stored;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use steward_analysis::frame::{Frame, Value};
use steward_domain::{
    Certainty, ChainId, Coded as _, ErrorClass, EvalBudget, EvalCase, EvalOutcome, EventType, Expectation,
    Question, ResponseStatus, TaskId, VerifiedStatement,
};
use steward_store::Scope;

/// The maximum number of rows in a case made from an answer; above it the case holds the statement.
const MOST_ROWS: usize = 40;
/// The maximum number of rows in a report.
const SHOWN_ROWS: usize = 5;

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalRun {
    /// The variant that answered: `auto`, `local`, `model:NAME`, or an earlier report.
    pub variant: String,
    /// Whether all expectations hold.
    pub passed: bool,
    /// The failed expectations, one sentence each.
    pub failures: Vec<String>,
    /// The outcome of the question.
    pub outcome: EvalOutcome,
    /// The answer as text.
    pub answer: String,
    /// The planner.
    pub planner: String,
    /// The confidence.
    pub confidence: f64,
    /// The first rows.
    pub rows: Vec<Vec<Json>>,
    /// The statements that ran.
    pub sql: Vec<String>,
    /// The called tools.
    pub tools: Vec<String>,
    /// The duration.
    pub milliseconds: u64,
    /// The model tokens.
    pub tokens: u64,
    /// The number of tool calls.
    pub calls: u32,
}

/// A case with its result in each variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// The file and the name of the case.
    pub name: String,
    /// The question.
    pub question: String,
    /// One for each variant.
    pub runs: Vec<EvalRun>,
}

/// A report of all cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalReport {
    /// The version of Steward.
    pub version: String,
    /// The time of the report.
    pub made_at: String,
    /// The variants in order; the first one decides.
    pub variants: Vec<String>,
    /// The cases in order.
    pub cases: Vec<CaseReport>,
}

impl EvalReport {
    /// Cases that pass in a variant.
    #[must_use]
    pub fn passed(&self, variant: usize) -> usize {
        self.cases.iter().filter(|case| case.runs.get(variant).is_some_and(|run| run.passed)).count()
    }

    /// Cases that passed in one variant and fail in the first.
    #[must_use]
    pub fn regressions_against(&self, variant: usize) -> Vec<&str> {
        let passes = |case: &CaseReport, place: usize| case.runs.get(place).is_some_and(|run| run.passed);
        let worse = |case: &&CaseReport| !passes(case, 0) && passes(case, variant);
        self.cases.iter().filter(worse).map(|case| case.name.as_str()).collect()
    }

    /// Adds an earlier report as another variant. Cases that it does not have get no result.
    pub fn add_earlier_report(&mut self, earlier: &EvalReport) {
        let name = format!("before ({})", earlier.version);
        for case in &mut self.cases {
            let known = earlier.cases.iter().find(|one| one.name == case.name);
            if let Some(run) = known.and_then(|known| known.runs.first()) {
                case.runs.push(EvalRun { variant: name.clone(), ..run.clone() });
            }
        }
        self.variants.push(name);
    }
}

impl AppContext {
    /// Runs a case and judges the answer.
    pub async fn run_case(
        &self,
        ask: &Ask,
        case: &EvalCase,
        budget: EvalBudget,
        variant: &str,
    ) -> Result<EvalRun> {
        let scope = Scope::User(ask.user.clone());
        let before = self.tokens(&scope).await?;
        let answer = self.ask(&Ask { question: case.question.to_string(), ..ask.clone() }, &|_| {}).await?;
        let mut run = EvalRun {
            variant: variant.to_owned(),
            passed: false,
            failures: Vec::new(),
            outcome: outcome_of(&answer),
            answer: answer.answer.clone(),
            planner: answer.planner.to_owned(),
            confidence: (answer.score * 1000.0).round() / 1000.0,
            rows: answer.tables.first().map(|table| rows_of(&table.frame, SHOWN_ROWS)).unwrap_or_default(),
            sql: answer.sql.iter().map(|run| run.sql.clone()).collect(),
            tools: self.tools_called(&scope, answer.response.request_id).await?,
            milliseconds: answer.response.metrics.execution_time_ms,
            tokens: self.tokens(&scope).await?.saturating_sub(before),
            calls: answer.response.metrics.tool_calls,
        };
        let expected = match &case.expect.sql {
            Some(sql) => Some(self.expected_rows(ask, sql).await?),
            None => None,
        };
        let sure = answer.confidence == Certainty::High;
        let found = answer.tables.first().map(|table| &table.frame);
        run.failures = judge::failures(&case.expect, expected.as_ref(), found, sure, &run);
        run.failures.extend(judge::beyond(case, budget.or(EvalBudget::default()), &run));
        run.passed = run.failures.is_empty();
        Ok(run)
    }

    /// The rows of the statement that a case expects.
    async fn expected_rows(&self, ask: &Ask, sql: &str) -> Result<Frame> {
        let bench = self.open_data(ask).await?;
        let arguments = serde_json::json!({ "sql": sql.trim().trim_end_matches(';') });
        let output = bench.call("sql.run", &arguments, "expected_rows").await?;
        output.frame.ok_or_else(|| Error::Stored("the expected statement gives no rows".to_owned()))
    }

    async fn tokens(&self, scope: &Scope) -> Result<u64> {
        let used = self.store.model_usage(scope, "0000-01-01", "9999-12-31").await?;
        Ok(used.iter().map(steward_domain::ModelUsage::tokens).sum())
    }

    /// The tools that a task called, each once.
    async fn tools_called(&self, scope: &Scope, task: TaskId) -> Result<Vec<String>> {
        let entries = self.store.entries(scope, ChainId::from(task), 0, 1000).await?;
        let called = entries.iter().filter(|entry| entry.entry.event_type == EventType::ToolCalled);
        let name = |entry: &steward_store::LogEntry| {
            let data: Json = serde_json::from_str(&entry.entry.event_data).ok()?;
            Some(data.get("tool_name")?.as_str()?.to_owned())
        };
        let names: BTreeSet<String> = called.filter_map(name).collect();
        Ok(names.into_iter().collect())
    }

    /// A case from an earlier answer: its question, its data, and the current rows of its
    /// statement. `ask` holds the access rights.
    pub async fn case_of(&self, ask: &Ask, task: TaskId, name: Option<String>) -> Result<EvalCase> {
        let scope = Scope::User(ask.user.clone());
        let (asked, data) = self.earlier_question(&scope, task).await?;
        let ask = Ask { question: asked.clone(), data: data.clone(), ..ask.clone() };
        let bench = self.open_data(&ask).await?;
        let visible = bench.session.visible(&bench.access);
        let statement = self.statement_of(&ask, Some(task), &bench).await?;
        let arguments = Workspace { bench: &bench, visible: &visible }.arguments(&statement)?;
        let output = bench.call("sql.run", &arguments, "case_rows").await?;
        let frame = output.frame.unwrap_or_default();
        let mut expect = Expectation::default();
        if output.cut || frame.rows.len() > MOST_ROWS {
            expect.sql = match stored(&statement)? {
                VerifiedStatement::Sql(sql) => Some(sql),
                VerifiedStatement::Reading(_) => output.sql,
            };
        } else {
            expect.rows = Some(rows_of(&frame, MOST_ROWS));
        }
        Ok(EvalCase {
            name: name.unwrap_or_else(|| asked.chars().take(60).collect()),
            question: Question::new(asked)?,
            data,
            expect,
            tools: Vec::new(),
            budget: EvalBudget::default(),
        })
    }
}

/// Rows as JSON.
fn rows_of(frame: &Frame, most: usize) -> Vec<Vec<Json>> {
    frame.rows.iter().take(most).map(|row| row.iter().map(Value::json).collect()).collect()
}

/// The outcome of a question.
fn outcome_of(answer: &Answer) -> EvalOutcome {
    match (answer.response.status, answer.error_class) {
        (ResponseStatus::Failed, _) if answer.error_code == Some("ASK001") => EvalOutcome::Declined,
        (ResponseStatus::Failed, Some(ErrorClass::Denied)) => EvalOutcome::Refused,
        (ResponseStatus::Failed, _) => EvalOutcome::Failed,
        _ if answer.clarification.is_some() && answer.tables.is_empty() => EvalOutcome::AskedBack,
        _ => EvalOutcome::Answered,
    }
}

/// The result of a question that could not be accepted.
#[must_use]
pub fn failed_run(variant: &str, error: &Error) -> EvalRun {
    let denied = error.class() == ErrorClass::Denied;
    EvalRun {
        variant: variant.to_owned(),
        passed: false,
        failures: vec![format!("{} {error}", error.code())],
        outcome: if denied { EvalOutcome::Refused } else { EvalOutcome::Failed },
        answer: error.to_string(),
        planner: String::new(),
        confidence: 0.0,
        rows: Vec::new(),
        sql: Vec::new(),
        tools: Vec::new(),
        milliseconds: 0,
        tokens: 0,
        calls: 0,
    }
}
