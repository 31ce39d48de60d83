//! Metrics of the home's semantics, from end to end over the retail example.

use crate::{Fixture, ask, retail};
use std::collections::BTreeMap;
use steward_analysis::frame::Value;

const MODEL: &str = r#"
metrics:
  revenue:
    synonyms: [turnover]
    table: sales
    expression: sum(amount)
    filters:
      - { column: returned, is: ["no"] }
  gross profit:
    table: sales
    expression: sum(amount - cost)
  margin:
    ratio: { numerator: gross profit, denominator: revenue }
"#;

fn with_model(text: &str) -> Fixture {
    let fixture = Fixture::new();
    let folder = fixture.folder.path().join("semantics");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sales.yaml"), text).unwrap();
    fixture
}

/// Revenue, gross profit and margin by state, worked out from the file itself.
fn by_hand(keep: impl Fn(&str) -> bool) -> BTreeMap<String, (f64, f64)> {
    let text = std::fs::read_to_string(retail("sales.csv")).unwrap();
    let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let place = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let mut totals: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        if !keep(cells[place("order_date")]) {
            continue;
        }
        let number = |name: &str| cells[place(name)].parse::<f64>().ok();
        let total = totals.entry(cells[place("state")].to_owned()).or_default();
        total.0 += number("amount").filter(|_| cells[place("returned")] == "no").unwrap_or(0.0);
        // As in SQL, a row without one of the two has no difference.
        total.1 += number("amount").zip(number("cost")).map_or(0.0, |(amount, cost)| amount - cost);
    }
    totals
}

fn found(answer: &steward_runtime::ask::Answer) -> BTreeMap<String, f64> {
    let frame = &answer.tables[0].frame;
    let rows =
        frame.rows.iter().map(|row| (row[0].plain(), row.iter().rev().find_map(Value::number).unwrap()));
    rows.collect()
}

#[tokio::test]
async fn a_metric_is_computed_from_its_definition() {
    let fixture = with_model(MODEL);
    let data = [retail("sales.csv")];
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
    for (question, value) in [
        ("turnover by state in 2021", (|parts: &(f64, f64)| parts.0) as fn(&(f64, f64)) -> f64),
        ("margin by state in 2021", |parts| parts.1 / parts.0),
    ] {
        let answer = fixture.ask(ask(question, &data)).await;
        assert_eq!(answer.planner, "metric", "{question}: {}", answer.answer);
        assert!(answer.assumptions.iter().any(|line| line.contains("The definition used is")));
        let expected = by_hand(|day| day.starts_with("2021"));
        let found = found(&answer);
        assert_eq!(found.len(), expected.len(), "{question}");
        for (state, parts) in &expected {
            assert!(
                close(found[state], value(parts)),
                "{question}, {state}: {} and {}",
                found[state],
                value(parts)
            );
        }
    }
    let other = fixture.ask(ask("average amount by state", &data)).await;
    assert_ne!(other.planner, "metric");
}

#[tokio::test]
async fn a_broken_file_is_said_and_nothing_is_guessed() {
    let fixture = with_model("metrics:\n  revenue:\n    table: sales\n    expresion: sum(amount)\n");
    let answer = fixture.ask(ask("revenue by state", &[retail("sales.csv")])).await;
    let why = answer.response.error.unwrap_or_default();
    assert!(why.contains("sales.yaml:4") && why.contains("expresion"), "{why}");
    let fixture = with_model("metrics:\n  revenue:\n    table: sales\n    expression: sum(price_paid)\n");
    let answer = fixture.ask(ask("revenue by state", &[retail("sales.csv")])).await;
    assert!(answer.response.error.is_some_and(|why| why.contains("cannot be computed")));
}
