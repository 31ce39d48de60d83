//! Questions over a small catalogue: which query is chosen, and when an answer may be sure.

use super::*;
use crate::catalogue::{Column, Table};
use crate::frame::{Kind, Unit, Value};
use crate::planner::NoMeaning;
use crate::query::Dialect;

fn column(name: &str, kind: Kind, values: &[&str], distinct: u64) -> Column {
    let (min, max) = match kind {
        Kind::Date => (
            Value::Date(NaiveDate::from_ymd_opt(2024, 1, 1).unwrap()),
            Value::Date(NaiveDate::from_ymd_opt(2024, 12, 31).unwrap()),
        ),
        Kind::Number | Kind::Integer => (Value::Float(1.0), Value::Float(900.0)),
        _ => (Value::Null, Value::Null),
    };
    Column {
        name: name.to_owned(),
        label: name.to_owned(),
        kind,
        unit: Unit::Plain,
        nulls: 0,
        seen: 5_000,
        distinct,
        min,
        max,
        values: values.iter().map(|value| ((*value).to_owned(), 1_000)).collect(),
        complete: !values.is_empty(),
        looks_like: None,
    }
}

fn catalogue() -> Catalogue {
    let columns = vec![
        column("order_id", Kind::Text, &[], 5_000),
        column("order_date", Kind::Date, &[], 366),
        column("region", Kind::Text, &["East", "West", "North"], 3),
        column("category", Kind::Text, &["Chairs", "Desks", "Lamps"], 3),
        column("sales", Kind::Number, &[], 4_000),
        column("profit", Kind::Number, &[], 4_000),
        column("unit_price", Kind::Number, &[], 400),
    ];
    let table = Table {
        name: "orders".to_owned(),
        label: "orders".to_owned(),
        source: 0,
        columns,
        rows: Some(5_000),
        primary_key: Vec::new(),
    };
    Catalogue { tables: vec![table], joins: Vec::new() }
}

fn outcome(question: &str, earlier: Option<&Reading>) -> Outcome {
    let today = NaiveDate::from_ymd_opt(2025, 1, 10).unwrap();
    read(question, &catalogue(), earlier, today, &NoMeaning)
}

fn reading_of(question: &str, earlier: Option<&Reading>) -> Reading {
    match outcome(question, earlier) {
        Outcome::Read(reading) => reading,
        other => panic!("{question}: {other:?}"),
    }
}

fn sql_of(reading: &Reading) -> String {
    let query = reading.queries.first().map(|named| crate::sql::write(&named.query, Dialect::Postgres));
    query.unwrap_or_default().replace("\"orders\".", "").replace(" AS \"orders\"", "").replace('"', "")
}

#[test]
fn questions_and_their_queries() {
    let rows: &[(&str, &[&str])] = &[
        ("total sales by region", &["sum(sales)", "GROUP BY region"]),
        ("average unit price by category", &["avg(unit_price)", "GROUP BY category"]),
        ("unit price by category", &["avg(unit_price)", "GROUP BY category"]),
        ("sales by region excluding West", &["sum(sales)", "lower(region) <> lower('West')"]),
        ("top 2 categories by profit", &["sum(profit)", "GROUP BY category", "DESC", "LIMIT 2"]),
        ("monthly profit trend", &["date_trunc('month', order_date)", "sum(profit)"]),
        ("categories with sales above 2.3 million", &["HAVING sum(sales) > 2300000"]),
        ("profit margin by category", &["sum(profit)", "sum(sales)", "* 100"]),
        ("sales in March 2024", &["sum(sales)", "DATE '2024-03-01'", "DATE '2024-04-01'"]),
        ("top product line per region by sales", &["sales"]),
        ("how many orders", &["count("]),
        (
            "compare East vs West sales",
            &["sum(sales)", "IN (lower('East'), lower('West'))", "GROUP BY region"],
        ),
    ];
    for (question, parts) in rows {
        let sql = sql_of(&reading_of(question, None));
        for part in *parts {
            assert!(sql.contains(part), "{question}\n  wants {part}\n  got   {sql}");
        }
    }
}

#[test]
fn follow_ups_are_edits() {
    let mut reading = reading_of("total sales by region", None);
    let turns: &[(&str, &[&str])] = &[
        ("by category", &["sum(sales)", "GROUP BY category"]),
        ("without Lamps", &["<> lower('Lamps')", "GROUP BY category"]),
        ("top 2 only", &["LIMIT 2", "<> lower('Lamps')"]),
        ("now profit instead of sales", &["sum(profit)", "LIMIT 2"]),
    ];
    for (question, parts) in turns {
        reading = reading_of(question, Some(&reading));
        let sql = sql_of(&reading);
        for part in *parts {
            assert!(sql.contains(part), "{question}\n  wants {part}\n  got   {sql}");
        }
    }
}

#[test]
fn a_word_that_was_not_used_keeps_an_answer_from_being_sure() {
    for question in ["total sales of refurbished goods by region", "cancelled sales by region"] {
        if let Outcome::Read(reading) = outcome(question, None) {
            assert!(reading.confidence < SURE, "{question}: {}", reading.confidence);
            assert!(
                reading.assumptions.iter().any(|text| text.contains("Nothing in the data")),
                "{question}"
            );
        }
    }
}

#[test]
fn rates_are_not_added_up_unasked() {
    for question in
        ["unit price by region", "unit price per month", "which region has the highest unit price"]
    {
        let sql = sql_of(&reading_of(question, None));
        assert!(!sql.contains("sum(unit_price)"), "{question}: {sql}");
    }
}
