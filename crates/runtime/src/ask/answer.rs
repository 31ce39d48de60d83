//! The answer to a question, and how it is composed from the results of the steps.

use super::carry::Ended;
use super::plan::{SURE, Work};
use super::record::Record;
use super::suggest;
use super::words::tell;
use chrono::Datelike as _;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::time::Duration;
use steward_analysis::chart::Spec;
use steward_analysis::findings::{Finding, Roles, findings};
use steward_analysis::frame::{Frame, Value};
use steward_analysis::planner::{Choice, Reading};
use steward_analysis::query::Grain;
use steward_analysis::shape::{self, UnfinishedPeriod};
use steward_analysis::source::SourceLocation;
use steward_analysis::tools::Workbench;
use steward_domain::{
    AnalysisResponse, CallId, Certainty, Coded as _, ConversationId, ErrorClass, PlanId, ResponseMetrics,
    ResponseStatus, Summary, TaskId,
};

/// A clarifying question to the user.
#[derive(Debug, Clone, Serialize)]
pub struct Clarification {
    /// The question.
    pub question: String,
    /// The options; each is a complete question that can be asked instead.
    pub options: Vec<Choice>,
}

/// A source that the answer uses.
#[derive(Debug, Clone, Serialize)]
pub struct SourceUsed {
    /// The file or database.
    pub name: String,
    /// The tables that were read.
    pub tables: Vec<String>,
    /// Where it is.
    pub location: String,
}

/// A statement that ran.
#[derive(Debug, Clone, Serialize)]
pub struct SqlRun {
    /// The purpose.
    pub title: String,
    /// The statement as admitted by policy.
    pub sql: String,
    /// The id of the call in the journal.
    pub call_id: CallId,
}

/// The origin of a number in the text.
#[derive(Debug, Clone, Serialize)]
pub struct Evidence {
    /// The number as the text shows it.
    pub text: String,
    /// The call that returned the rows.
    pub call_id: CallId,
    /// The table of the answer.
    pub table: String,
    /// The column.
    pub column: String,
    /// The rows, from 0.
    pub rows: Vec<usize>,
    /// The operation on the cells: `value`, `sum`, `change`.
    pub operation: String,
}

/// A table of the answer.
#[derive(Debug, Clone)]
pub struct Shown {
    /// What it shows.
    pub title: String,
    /// The rows.
    pub frame: Frame,
    /// Whether more rows exist.
    pub cut: bool,
}

/// A chart of the answer.
#[derive(Debug, Clone)]
pub struct AnswerChart {
    /// The specification of the chart.
    pub spec: Spec,
    /// The table that it is drawn from.
    pub input: String,
    /// The rendered images.
    pub drawn: steward_analysis::chart::Drawn,
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The response of the analysis API.
    pub response: AnalysisResponse,
    /// The conversation for follow-up questions.
    pub conversation_id: Option<ConversationId>,
    /// The answer as text.
    pub answer: String,
    /// High, medium or low.
    pub confidence: Certainty,
    /// The confidence as a number.
    pub score: f64,
    /// A clarifying question, with or instead of an answer.
    pub clarification: Option<Clarification>,
    /// The sources that it uses.
    pub sources: Vec<SourceUsed>,
    /// Suggested follow-up questions.
    pub suggestions: Vec<String>,
    /// Who verified the statement.
    pub verified: Option<super::VerifiedMark>,
    /// The planner: `verified`, `metric`, `recipe`, `local`, `model`, `sql`.
    pub planner: &'static str,
    /// The statements that ran.
    pub sql: Vec<SqlRun>,
    /// The tables; the first is the answer.
    pub tables: Vec<Shown>,
    /// The charts.
    pub charts: Vec<AnswerChart>,
    /// The origin of each number.
    pub evidence: Vec<Evidence>,
    /// How the question was interpreted.
    pub reasoning: Vec<String>,
    /// Assumptions and defaults.
    pub assumptions: Vec<String>,
    /// The error code of a failure.
    pub error_code: Option<&'static str>,
    /// The error class, which decides the exit code.
    pub error_class: Option<ErrorClass>,
    pub(crate) reading: Option<Reading>,
    /// The last period of the answer, if the data ends before it does.
    pub(crate) unfinished: Option<UnfinishedPeriod>,
}

/// The results of all steps.
pub(super) struct Done {
    pub(super) steps: Vec<Ended>,
    pub(super) plan: PlanId,
    pub(super) elapsed: Duration,
}

impl Answer {
    fn bare(task: TaskId, answer: String, bench: &Workbench) -> Self {
        Self {
            response: AnalysisResponse {
                request_id: task,
                status: ResponseStatus::Completed,
                artifacts: Vec::new(),
                summary: Summary::default(),
                metrics: ResponseMetrics::default(),
                audit_log_ref: format!("steward audit export {task}"),
                plan_ref: None,
                error: None,
            },
            conversation_id: None,
            answer,
            confidence: Certainty::Low,
            score: 0.0,
            clarification: None,
            sources: sources(bench, &[]),
            suggestions: Vec::new(),
            verified: None,
            planner: "local",
            sql: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            evidence: Vec::new(),
            reasoning: Vec::new(),
            assumptions: Vec::new(),
            error_code: None,
            error_class: None,
            reading: None,
            unfinished: None,
        }
    }

    /// A clarifying question instead of an answer.
    pub(super) fn question(task: TaskId, question: String, options: Vec<Choice>, bench: &Workbench) -> Self {
        let mut answer = Self::bare(task, question.clone(), bench);
        answer.suggestions = options.iter().take(3).map(|option| option.question.clone()).collect();
        answer.clarification = Some(Clarification { question, options });
        answer
    }

    /// The data cannot answer the question.
    pub(super) fn unanswerable(
        task: TaskId,
        why: String,
        can_answer: Vec<String>,
        bench: &Workbench,
    ) -> Self {
        let mut answer = Self::bare(task, why.clone(), bench);
        answer.response.status = ResponseStatus::Failed;
        answer.response.error = Some(why);
        (answer.error_code, answer.error_class) = (Some("ASK001"), Some(ErrorClass::User));
        answer.suggestions = can_answer.into_iter().take(3).collect();
        answer
    }

    /// A denied or failed question.
    pub(super) fn failed(
        task: TaskId,
        work: &Work,
        error: &steward_analysis::Error,
        bench: &Workbench,
    ) -> Self {
        let (code, message) = (error.code(), error.to_string());
        let mut answer = Self::bare(task, message.clone(), bench);
        answer.response.status = ResponseStatus::Failed;
        answer.response.error = Some(format!("{code} {message}"));
        (answer.error_code, answer.error_class) = (Some(code), Some(error.class()));
        answer.planner = work.planner;
        answer.reasoning.clone_from(&work.reasoning);
        answer
    }

    /// A summary for later questions and alerts: the number of rows, and the first number.
    #[must_use]
    pub(crate) fn headline(&self) -> Json {
        let frame = self.tables.first().map(|table| &table.frame);
        let first = frame.and_then(|frame| frame.rows.first());
        json!({
            "rows": frame.map_or(0, |frame| frame.rows.len()),
            "columns": frame.map(|frame| frame.fields.iter().map(|field| &field.name).collect::<Vec<_>>()),
            "number": first.and_then(|row| row.iter().find_map(Value::number)),
        })
    }

    /// The answer as one JSON document: the response, with everything else added.
    #[must_use]
    pub fn json(&self) -> Json {
        let tables: Vec<Json> = (self.tables.iter())
            .map(|table| {
                json!({
                    "name": table.frame.name,
                    "title": table.title,
                    "columns": table.frame.fields.iter().map(|field| &field.name).collect::<Vec<_>>(),
                    "rows": table.frame.rows.iter().map(|row| row.iter().map(Value::json).collect::<Vec<_>>()).collect::<Vec<_>>(),
                    "truncated": table.cut,
                })
            })
            .collect();
        let charts: Vec<Json> = (self.charts.iter())
            .map(|chart| {
                json!({
                    "title": chart.spec.title, "kind": chart.spec.kind, "input": chart.input,
                    "vega_lite": chart.drawn.vega_lite,
                })
            })
            .collect();
        let mut document = json!(self.response);
        let more = json!({
            "conversation_id": self.conversation_id,
            "answer": self.answer,
            "confidence": self.confidence,
            "confidence_score": (self.score * 1000.0).round() / 1000.0,
            "clarification": self.clarification,
            "unexplained": self.reading.as_ref().map(|reading| reading.unexplained.as_slice()).unwrap_or_default(),
            "sources": self.sources,
            "suggestions": self.suggestions,
            "planner": self.planner,
            "verified": self.verified,
            "sql": self.sql,
            "tables": tables,
            "charts": charts,
            "evidence": self.evidence,
            "reasoning": self.reasoning,
            "assumptions": self.assumptions,
            "error_code": self.error_code,
        });
        if let (Some(document), Json::Object(more)) = (document.as_object_mut(), more) {
            document.extend(more);
        }
        document
    }
}

/// The sources, each with the tables that were read.
fn sources(bench: &Workbench, read: &[String]) -> Vec<SourceUsed> {
    let catalogue = bench.session.catalogue();
    (bench.session.places().iter().enumerate())
        .filter_map(|(index, place)| {
            let tables: Vec<String> = (catalogue.tables.iter())
                .filter(|table| {
                    table.source == index && read.iter().any(|name| name.eq_ignore_ascii_case(&table.name))
                })
                .map(|table| table.name.clone())
                .collect();
            let described = place.describe();
            let location = described.file_path.or(described.connection_string).unwrap_or_default();
            (!tables.is_empty()).then(|| SourceUsed { name: place.label(), tables, location })
        })
        .collect()
}

/// A note about the data fetched from remote sources, if any.
fn fetched(bench: &Workbench) -> Option<String> {
    let bytes = bench.session.bytes_fetched();
    let sources: Vec<String> = (bench.session.places().iter())
        .filter(|place| matches!(place, SourceLocation::Remote(_)))
        .map(SourceLocation::label)
        .collect();
    let size = match bytes {
        0..=99_999 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    };
    (bytes > 0).then(|| format!("Fetched {size} from {}.", sources.join(", ")))
}

/// The sources that an admitted statement reads.
pub(crate) fn sources_of_statement(bench: &Workbench, sql: &str) -> Vec<SourceUsed> {
    let read: Vec<String> = bench.tables_read(sql).into_iter().collect();
    sources(bench, &read)
}

pub(super) fn compose(bench: &Workbench, work: &Work, done: Done, record: &Record) -> Answer {
    let mut answer = Answer::bare(record.task, String::new(), bench);
    answer.planner = work.planner;
    answer.verified.clone_from(&work.verified);
    answer.score = work.confidence;
    answer.confidence = certainty(work.confidence);
    answer.reasoning.clone_from(&work.reasoning);
    answer.reasoning.extend(fetched(bench));
    answer.assumptions = bench.session.assumptions().iter().chain(&work.assumptions).cloned().collect();
    answer.reading.clone_from(&work.reading);
    answer.response.plan_ref = Some(done.plan);
    let metrics = &mut answer.response.metrics;
    metrics.tool_calls = done.steps.iter().map(|ended| u32::from(ended.attempts)).sum();
    metrics.retries = done.steps.iter().map(|ended| u32::from(ended.attempts.saturating_sub(1))).sum();
    metrics.recipe_used = work.recipe.is_some();
    metrics.execution_time_ms = u64::try_from(done.elapsed.as_millis()).unwrap_or(u64::MAX);
    let mut warnings: Vec<String> = bench.session.warnings().to_vec();
    let mut failures = Vec::new();
    let mut cut_down = false;
    let mut found: Vec<(CallId, Vec<Finding>)> = Vec::new();
    let mut values = Vec::new();
    let mut spoken = Vec::new();
    for ended in done.steps {
        cut_down |= ended.partial;
        warnings.extend(ended.repairs.iter().map(|what| format!("{}: {what}", ended.step.title)));
        let output = match ended.result {
            Ok(output) => output,
            Err(error) => {
                failures.push((ended.step, error));
                continue;
            }
        };
        if let Some(sql) = output.sql {
            answer.sql.push(SqlRun { title: ended.step.title.clone(), sql, call_id: ended.call });
        }
        if let Some(drawn) = output.drawn
            && let Ok(plot) =
                serde_json::from_value::<steward_analysis::tools::PlotRender>(ended.step.arguments.clone())
        {
            answer.charts.push(AnswerChart { input: plot.input.clone(), spec: plot.spec(), drawn });
            continue;
        }
        if let Some(text) = output.text {
            spoken.push(text);
        }
        values.extend(output.values);
        warnings.extend(output.warnings);
        let Some(frame) = output.frame else { continue };
        if !ended.step.shown {
            continue;
        }
        if output.cut {
            warnings.push(format!("{} was cut at {} rows.", ended.step.title, frame.rows.len()));
        }
        // The tool of a forecast or a change explanation writes its own text.
        let is_told = work.reading.as_ref().is_some_and(|reading| reading.then.is_some());
        let query = (work.reading.iter().flat_map(|reading| &reading.queries))
            .find(|named| named.name == ended.step.name)
            .map(|named| &named.query);
        let mut roles = Roles::guess(&frame);
        if let Some(query) = query {
            roles.not_additive = shape::not_additive(query);
            let period = shape::unfinished(query, bench.session.catalogue());
            let period = period.filter(|period| frame.rows.len() > 1 && reaches(&frame, period));
            roles.unfinished = period.map(|period| period.from);
            if let Some(period) = period.filter(|_| answer.unfinished.is_none()) {
                warnings.push(format!(
                    "{} is not complete: the data ends on {}. It is not compared with other periods.",
                    period.words(),
                    period.last_day
                ));
                answer.unfinished = Some(period);
            }
        }
        // Listed rows are no groups that could be compared.
        let is_list = frame.fields.len() > 4 && query.is_some_and(shape::lists_rows);
        let list = if is_told || is_list { Vec::new() } else { findings(&frame, &roles) };
        found.push((ended.call, list));
        answer.tables.push(Shown { title: ended.step.title, frame, cut: output.cut });
    }
    let read: Vec<String> = answer.sql.iter().flat_map(|run| bench.tables_read(&run.sql)).collect();
    answer.sources = sources(bench, &read);
    answer.response.metrics.rows_processed = rows_of(bench, &read);
    tell(&mut answer, found, &spoken, &values);
    let unexplained = work.reading.as_ref().map(|reading| reading.unexplained.as_slice());
    if let Some(words) = unexplained.filter(|words| !words.is_empty()) {
        let words = words.join("”, “");
        answer.answer =
            format!("Nothing in the data was found for “{words}”. Without that: {}", answer.answer);
    }
    // An empty result may mean that a word was misinterpreted, so its confidence is never high.
    let nothing = answer.tables.first().is_some_and(|table| {
        table.frame.rows.iter().all(|row| row.iter().all(steward_analysis::frame::Value::is_null))
    });
    if nothing {
        answer.score = answer.score.min(SURE - 0.01);
        answer.confidence = certainty(answer.score);
    }
    let main = work.steps.iter().find(|step| step.shown).map(|step| step.name.as_str());
    fail(&mut answer, &failures, main, &mut warnings);
    if cut_down && answer.response.status == ResponseStatus::Completed {
        answer.response.status = ResponseStatus::PartialSuccess;
        (answer.score, answer.confidence) = (answer.score.min(0.4), Certainty::Low);
    }
    answer.response.summary.warnings = warnings;
    answer.suggestions = work
        .reading
        .as_ref()
        .map(|reading| suggest::next(reading, bench.session.catalogue()))
        .unwrap_or_default();
    answer
}

/// Whether a result has a row of a period.
fn reaches(frame: &Frame, period: &UnfinishedPeriod) -> bool {
    frame.rows.iter().flatten().any(|value| match value {
        Value::Date(day) => *day >= period.from,
        Value::Time(moment) => moment.date() >= period.from,
        Value::Int(year) => period.grain == Grain::Year && *year == i64::from(period.from.year()),
        _ => false,
    })
}

/// High, medium or low.
fn certainty(score: f64) -> Certainty {
    match score {
        score if score >= SURE => Certainty::High,
        score if score >= 0.5 => Certainty::Medium,
        _ => Certainty::Low,
    }
}

/// The row count of the tables that were read, as far as known.
fn rows_of(bench: &Workbench, read: &[String]) -> u64 {
    let names: BTreeSet<&String> = read.iter().collect();
    names.into_iter().filter_map(|name| bench.session.catalogue().table(name)?.rows).sum()
}

/// Reports the failures and sets the overall status.
fn fail(
    answer: &mut Answer,
    failures: &[(super::plan::Step, steward_analysis::Error)],
    main: Option<&str>,
    warnings: &mut Vec<String>,
) {
    let Some((_, first)) = failures.first() else { return };
    if answer.tables.is_empty() {
        answer.response.status = ResponseStatus::Failed;
        answer.response.error = Some(format!("{} {first}", first.code()));
        (answer.error_code, answer.error_class) = (Some(first.code()), Some(first.class()));
        answer.answer = first.to_string();
        (answer.score, answer.confidence) = (0.0, Certainty::Low);
        return;
    }
    answer.response.status = ResponseStatus::PartialSuccess;
    for (step, error) in failures {
        warnings.push(format!("{} is missing: {error}", step.title));
    }
    // The received part may be right, but the answer is incomplete.
    let whole = answer.tables.first().map(|table| table.frame.name.as_str()) == main;
    answer.score = answer.score.min(if whole { 0.7 } else { 0.4 });
    answer.confidence = certainty(answer.score);
}
