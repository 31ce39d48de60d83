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

/// Stations and programs, tied together by a table of pairs.
fn stations() -> Catalogue {
    let table = |name: &str, columns: Vec<Column>, key: &str| Table {
        name: name.to_owned(),
        label: name.to_owned(),
        source: 0,
        columns,
        rows: Some(5_000),
        primary_key: vec![key.to_owned()],
    };
    let key = |name: &str| column(name, Kind::Integer, &[], 5_000);
    let text = |name: &str| column(name, Kind::Text, &[], 4_000);
    let join = |column: &str, to: &str| crate::catalogue::Join {
        from: ("stations_programs".to_owned(), vec![column.to_owned()]),
        to: (to.to_owned(), vec!["id".to_owned()]),
        evidence: crate::catalogue::Evidence::Constraint,
    };
    Catalogue {
        tables: vec![
            table("stations", vec![key("id"), text("name")], "id"),
            table("programs", vec![key("id"), text("title")], "id"),
            table("stations_programs", vec![key("station_id"), key("program_id")], "station_id"),
        ],
        joins: vec![join("station_id", "stations"), join("program_id", "programs")],
    }
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
            assert!(!reading.unexplained.is_empty(), "{question}");
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

#[test]
fn a_quantifier_that_can_be_read_in_two_ways_is_asked_about() {
    let today = NaiveDate::from_ymd_opt(2025, 1, 10).unwrap();
    let catalogue = stations();
    let open = read("Show me the programs every station has.", &catalogue, None, today, &NoMeaning);
    let Outcome::Ask { options, .. } = open else { panic!("{open:?}") };
    let [common, each] = options.as_slice() else { panic!("{options:?}") };
    assert!(common.label.contains("in common"), "{options:?}");
    assert!(each.label.contains("for each"), "{options:?}");
    // What an option asks instead is not asked back about again.
    for question in [&common.question, &each.question, &"For each station, list its programs.".to_owned()] {
        let settled = read(question, &catalogue, None, today, &NoMeaning);
        assert!(matches!(settled, Outcome::Read(_)), "{question}: {settled:?}");
    }
}

#[test]
fn what_the_data_does_not_hold_is_said() {
    let rows = [
        ("sales in March 1998", "order_date runs from 2024-01-01 to 2024-12-31"),
        ("who is the chief executive?", "chief"),
        ("which violins need tuning?", "violins"),
    ];
    for (question, part) in rows {
        match outcome(question, None) {
            Outcome::Unanswerable { why, can_answer } => {
                assert!(why.contains(part), "{question}: {why}");
                assert!(can_answer.iter().any(|text| text.contains("orders")), "{can_answer:?}");
            }
            Outcome::Read(reading) => {
                assert!(reading.confidence < SURE, "{question}: {}", reading.confidence);
                assert!(
                    reading.unexplained.join(" ").contains(part),
                    "{question}: {:?}",
                    reading.unexplained
                );
            }
            other @ Outcome::Ask { .. } => panic!("{question}: {other:?}"),
        }
    }
}

#[test]
fn results_decide_between_proposals_and_how_sure_one_is() {
    let today = NaiveDate::from_ymd_opt(2025, 1, 10).unwrap();
    let catalogue = catalogue();
    let considered = || consider("total sales by region", &catalogue, None, today, &NoMeaning);
    let count = considered().proposals().len();
    let rows = |sales: f64| vec![vec![Value::Text("East".to_owned()), Value::Float(sales)]];
    let agree = vec![Some(ResultShape::of(&rows(1.0))); count];
    let empty = vec![Some(ResultShape::of(&[])); count];
    let best = |results: &[Option<ResultShape>]| {
        let judged = considered().judge(results);
        judged.into_iter().max_by(|a, b| a.score.total_cmp(&b.score)).map(|best| best.probability)
    };
    assert!(best(&agree) > best(&empty), "{:?} {:?}", best(&agree), best(&empty));
}

#[test]
fn results_agree_when_one_shows_more_columns() {
    let text = |text: &str| Value::Text(text.to_owned());
    let names = ResultShape::of(&[vec![text("East")], vec![text("West")]]);
    let measured = [vec![text("west"), Value::Float(2.0)], vec![text("East"), Value::Int(3)]];
    assert!(names.agrees_with(&ResultShape::of(&measured)));
    assert!(!names.agrees_with(&ResultShape::of(&[vec![text("East")], vec![text("North")]])));
    assert!(ResultShape::of(&[vec![Value::Null]]).is_empty);
    assert!(ResultShape::of(&[vec![Value::Int(3)]]).is_number);
}
