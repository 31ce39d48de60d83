//! Compares an answer with the expectations of a case.

use super::EvalRun;
use serde_json::Value as Json;
use steward_analysis::frame::{Frame, Value};
use steward_domain::{EvalBudget, EvalCase, EvalOutcome, Expectation};

/// The expectations that an answer does not meet.
pub(super) fn failures(
    expect: &Expectation,
    expected_by_sql: Option<&Frame>,
    found: Option<&Frame>,
    sure: bool,
    run: &EvalRun,
) -> Vec<String> {
    let mut failures = Vec::new();
    let wanted = expect.outcome.or_else(|| needs_rows(expect).then_some(EvalOutcome::Answered));
    if let Some(wanted) = wanted.filter(|wanted| *wanted != run.outcome) {
        failures.push(format!("expected it to be {}, it was {}", word(wanted), word(run.outcome)));
    }
    let by_hand =
        expect.rows.as_ref().map(|rows| rows.iter().map(|row| row.iter().map(cell).collect()).collect());
    let by_sql = expected_by_sql.map(|frame| frame.rows.clone());
    let empty = Frame::default();
    for expected in [by_hand, by_sql].into_iter().flatten() {
        let expected: Vec<Vec<Value>> = expected;
        failures.extend(row_failure(&expected, found.unwrap_or(&empty), expect));
    }
    if let Some(number) = expect.number {
        let first = found.and_then(|frame| frame.rows.first()?.iter().find_map(Value::number));
        if !first.is_some_and(|first| near(first, number, expect.tolerance)) {
            let first = first.map_or_else(|| "none".to_owned(), |first| first.to_string());
            failures.push(format!("expected the number {number}, found {first}"));
        }
    }
    let said = run.answer.to_lowercase();
    for words in &expect.contains {
        let in_rows = found.is_some_and(|frame| {
            frame.rows.iter().flatten().any(|value| value.plain().eq_ignore_ascii_case(words))
        });
        if !said.contains(&words.to_lowercase()) && !in_rows {
            failures.push(format!("expected the answer to say {words:?}"));
        }
    }
    if let Some(wanted) = expect.sure.filter(|wanted| *wanted != sure) {
        let (wanted, is) = if wanted { ("sure", "not") } else { ("not sure", "sure") };
        failures.push(format!("expected the answer to be {wanted}, it was {is}"));
    }
    failures
}

fn needs_rows(expect: &Expectation) -> bool {
    expect.rows.is_some() || expect.sql.is_some() || expect.number.is_some()
}

/// The limits that an answer exceeds.
pub(super) fn beyond(case: &EvalCase, budget: EvalBudget, run: &EvalRun) -> Vec<String> {
    let mut failures = Vec::new();
    let allowed = |tool: &String| {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => tool.starts_with(prefix),
            None => pattern == tool,
        };
        case.tools.is_empty() || case.tools.iter().any(fits)
    };
    failures.extend(
        run.tools
            .iter()
            .filter(|tool| !allowed(tool))
            .map(|tool| format!("{tool} was called, which is not allowed")),
    );
    let seconds = run.milliseconds as f64 / 1000.0;
    if let Some(most) = budget.seconds.filter(|most| seconds > *most) {
        failures.push(format!("it took {seconds:.1} s, at most {most} s are allowed"));
    }
    if let Some(most) = budget.calls.filter(|most| run.calls > *most) {
        failures.push(format!("it made {} calls, at most {most} are allowed", run.calls));
    }
    if let Some(most) = budget.tokens.filter(|most| run.tokens > *most) {
        failures.push(format!("it took {} tokens, at most {most} are allowed", run.tokens));
    }
    failures
}

fn word(outcome: EvalOutcome) -> &'static str {
    match outcome {
        EvalOutcome::Answered => "answered",
        EvalOutcome::AskedBack => "asked back",
        EvalOutcome::Declined => "declined",
        EvalOutcome::Refused => "refused",
        EvalOutcome::Failed => "failed",
    }
}

/// A value of a case file as a cell.
fn cell(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap_or(f64::NAN)), Value::Int)
        }
        Json::String(text) => Value::Text(text.clone()),
        other => Value::Text(other.to_string()),
    }
}

/// Why the rows differ from the expected ones. Columns may have any order, and the answer may have
/// more of them; it must not have more rows.
fn row_failure(expected: &[Vec<Value>], found: &Frame, expect: &Expectation) -> Option<String> {
    if expected.len() != found.rows.len() {
        return Some(format!("expected {} rows, found {}", expected.len(), found.rows.len()));
    }
    let fits = |wanted: &[Value], row: &[Value]| has_all(wanted, row, expect.tolerance);
    if expect.ordered {
        let wrong = expected.iter().zip(&found.rows).position(|(wanted, row)| !fits(wanted, row))?;
        return Some(format!("row {} is not {}", wrong + 1, told(expected.get(wrong)?)));
    }
    let mut left: Vec<&Vec<Value>> = found.rows.iter().collect();
    for wanted in expected {
        match left.iter().position(|row| fits(wanted, row)) {
            Some(place) => {
                left.swap_remove(place);
            }
            None => return Some(format!("no row has {}", told(wanted))),
        }
    }
    None
}

/// Whether a row contains all wanted values, each in a different cell.
fn has_all(wanted: &[Value], row: &[Value], tolerance: Option<f64>) -> bool {
    let mut left: Vec<&Value> = row.iter().collect();
    wanted.iter().all(|value| match left.iter().position(|cell| same(value, cell, tolerance)) {
        Some(place) => {
            left.swap_remove(place);
            true
        }
        None => false,
    })
}

fn same(wanted: &Value, found: &Value, tolerance: Option<f64>) -> bool {
    match (wanted, found) {
        (Value::Null, other) | (other, Value::Null) => other.is_null(),
        // Dates and times are written as text in a file.
        (Value::Text(text), other) => {
            let plain = other.plain();
            text.trim() == plain || plain.strip_prefix(text.trim()).is_some_and(is_midnight)
        }
        _ => match (wanted.number(), found.number()) {
            (Some(wanted), Some(found)) => near(found, wanted, tolerance),
            _ => wanted.plain() == found.plain(),
        },
    }
}

fn is_midnight(rest: &str) -> bool {
    !rest.is_empty()
        && rest.trim_start_matches(['T', ' ']).chars().all(|letter| matches!(letter, '0' | ':' | '.' | 'Z'))
}

fn near(found: f64, wanted: f64, tolerance: Option<f64>) -> bool {
    let within = tolerance.unwrap_or_else(|| wanted.abs().max(1.0) * 1e-6);
    (found - wanted).abs() <= within
}

fn told(row: &[Value]) -> String {
    row.iter().map(Value::plain).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
