//! Table-driven tests of the comparison of rows.

use super::*;
use serde_json::json;
use steward_analysis::frame::{Field, Kind, Unit};

fn frame(rows: &[&[Value]]) -> Frame {
    let wide = rows.first().map_or(0, |row| row.len());
    let field = |at: usize| Field { name: format!("c{at}"), kind: Kind::Text, unit: Unit::Plain };
    Frame {
        name: "answer".into(),
        fields: (0..wide).map(field).collect(),
        rows: rows.iter().map(|row| row.to_vec()).collect(),
    }
}

fn run(outcome: EvalOutcome) -> EvalRun {
    let error = crate::error::Error::NoData;
    EvalRun {
        outcome,
        failures: Vec::new(),
        answer: "Arizona leads with 12".into(),
        ..super::super::failed_run("auto", &error)
    }
}

fn check(expect: &Json, rows: &[&[Value]], holds: bool) {
    let expectation: Expectation = serde_json::from_value(expect.clone()).unwrap();
    let failures = failures(&expectation, None, Some(&frame(rows)), true, &run(EvalOutcome::Answered));
    assert_eq!(failures.is_empty(), holds, "{expect}: {failures:?}");
}

#[test]
fn rows_are_compared_by_their_values() {
    let text = |word: &str| Value::Text(word.to_owned());
    let (ohio, utah) = ([text("Ohio"), Value::Float(2.5)], [text("Utah"), Value::Int(3)]);
    let rows: [&[Value]; 2] = [&ohio, &utah];
    check(&json!({ "rows": [["Ohio", 2.5], ["Utah", 3]] }), &rows, true);
    check(&json!({ "rows": [[3, "Utah"], [2.5, "Ohio"]] }), &rows, true);
    check(&json!({ "rows": [["Utah"], ["Ohio"]] }), &rows, true);
    check(&json!({ "rows": [["Utah", 3], ["Ohio", 2.5]], "ordered": true }), &rows, false);
    check(&json!({ "rows": [["Ohio", 2.5], ["Utah", 3]], "ordered": true }), &rows, true);
    check(&json!({ "rows": [["Ohio", 2.5]] }), &rows, false);
    check(&json!({ "rows": [["Ohio", 2.5], ["Ohio", 2.5]] }), &rows, false);
    check(&json!({ "rows": [["Ohio", 2.6], ["Utah", 3]] }), &rows, false);
    check(&json!({ "rows": [["Ohio", 2.6], ["Utah", 3]], "tolerance": 0.2 }), &rows, true);
    check(&json!({ "rows": [[2.5, 2.5], ["Utah", 3]] }), &rows, false);
    check(&json!({ "number": 2.5 }), &rows, true);
    check(&json!({ "number": 3 }), &rows, false);
    check(&json!({ "contains": ["arizona", "Utah"] }), &rows, true);
    check(&json!({ "contains": ["Texas"] }), &rows, false);
    check(&json!({ "outcome": "declined" }), &rows, false);
    check(&json!({ "sure": true }), &rows, true);
    check(&json!({ "sure": false }), &rows, false);
    let day = [Value::Date(chrono::NaiveDate::from_ymd_opt(2021, 3, 1).unwrap())];
    check(&json!({ "rows": [["2021-03-01"]] }), &[&day], true);
    check(&json!({ "rows": [["2021-03-02"]] }), &[&day], false);
}

#[test]
fn rows_are_expected_of_an_answer_only() {
    let expectation: Expectation = serde_json::from_value(json!({ "rows": [] })).unwrap();
    let told = failures(&expectation, None, None, false, &run(EvalOutcome::AskedBack));
    assert_eq!(told, ["expected it to be answered, it was asked back"]);
}

#[test]
fn tools_and_budgets_hold() {
    let case: EvalCase = serde_json::from_value(json!({
        "name": "a", "question": "b", "expect": { "outcome": "answered" }, "tools": ["sql.*"],
    }))
    .unwrap();
    let mut run = run(EvalOutcome::Answered);
    (run.tools, run.milliseconds, run.calls, run.tokens) =
        (vec!["sql.run".into(), "plot.render".into()], 2000, 3, 10);
    let budget = EvalBudget { seconds: Some(1.0), calls: Some(3), tokens: Some(9) };
    let told = beyond(&case, budget, &run);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains("plot.render") && told[1].contains("2.0 s") && told[2].contains("10 tokens"));
}
