//! Which questions ask for a forecast or for the parts of a change, and over which periods.

use super::*;
use crate::catalogue::{Column, Table};
use crate::frame::{Unit, Value};
use crate::propose;

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn column(name: &str, kind: Kind, distinct: u64, ends: (Value, Value)) -> Column {
    Column {
        name: name.into(),
        label: name.replace('_', " "),
        kind,
        unit: Unit::Plain,
        nulls: 0,
        seen: 5000,
        distinct,
        min: ends.0,
        max: ends.1,
        values: match name {
            "region" => vec![("North".into(), 2500), ("South".into(), 2500)],
            _ => Vec::new(),
        },
        complete: name == "region",
        looks_like: None,
    }
}

fn sales() -> Catalogue {
    let numbers = (Value::Float(1.0), Value::Float(900.0));
    let days = (Value::Date(day("2021-01-01")), Value::Date(day("2024-03-31")));
    Catalogue {
        tables: vec![Table {
            name: "sales".into(),
            label: "sales".into(),
            source: 0,
            columns: vec![
                column("order_date", Kind::Date, 1000, days),
                column("region", Kind::Text, 2, (Value::Null, Value::Null)),
                column("revenue", Kind::Number, 4000, numbers.clone()),
                column("price", Kind::Number, 300, numbers),
            ],
            rows: Some(5000),
            primary_key: Vec::new(),
        }],
        ..Catalogue::default()
    }
}

fn read(question: &str) -> Option<Reading> {
    let catalogue = sales();
    let today = day("2026-01-01");
    let outlook = outlook(question, &catalogue, today, false)?;
    let considered =
        propose::consider(&outlook.question, &catalogue, None, today, &crate::planner::NoMeaning);
    match outlook.apply(considered.readings(&[]), question, &catalogue) {
        Outcome::Read(reading) => Some(reading),
        other => panic!("{question}: {} {other:?}", outlook.question),
    }
}

fn course(question: &str) -> Course {
    match read(question).and_then(|reading| reading.then) {
        Some(Afterwards::Forecast(course)) => course,
        other => panic!("{question}: {other:?}"),
    }
}

fn split(question: &str) -> Split {
    match read(question).and_then(|reading| reading.then) {
        Some(Afterwards::Change(split)) => split,
        other => panic!("{question}: {other:?}"),
    }
}

#[test]
fn how_far_a_forecast_reaches() {
    let quarter = Horizon::Span(Span { from: day("2024-04-01"), to: day("2024-07-01") });
    let year = Horizon::Span(Span { from: day("2025-01-01"), to: day("2026-01-01") });
    for (question, grain, horizon) in [
        ("Forecast revenue for the next quarter", Grain::Month, quarter),
        ("what will revenue be next quarter?", Grain::Month, quarter),
        ("predict the revenue of the next 3 months", Grain::Month, Horizon::Periods(3)),
        ("weekly revenue forecast for the next two months", Grain::Week, Horizon::Periods(9)),
        ("revenue projection for 2025", Grain::Month, year),
        ("forecast monthly revenue", Grain::Month, Horizon::Periods(6)),
    ] {
        let course = course(question);
        assert_eq!((course.grain, course.horizon), (grain, horizon), "{question}");
        assert!(course.adds_up, "{question}");
        assert_eq!(course.last_day, day("2024-03-31"));
    }
    assert!(!course("forecast the average price by month").adds_up);
    assert_eq!(course("forecast revenue by region for the next 6 months").series.as_deref(), Some("region"));
}

#[test]
fn which_periods_a_change_lies_between() {
    let span = |from: &str, to: &str| Span { from: day(from), to: day(to) };
    let march = span("2024-03-01", "2024-04-01");
    for (question, before, after, rises) in [
        ("Why did revenue drop in March 2024?", span("2024-02-01", "2024-03-01"), march, Some(false)),
        (
            "why did revenue grow from 2022 to 2023",
            span("2022-01-01", "2023-01-01"),
            span("2023-01-01", "2024-01-01"),
            Some(true),
        ),
        (
            "what caused the drop in revenue in March 2024 compared to last year?",
            span("2023-03-01", "2023-04-01"),
            march,
            Some(false),
        ),
        ("why has revenue changed?", span("2024-02-01", "2024-03-01"), march, None),
    ] {
        let split = split(question);
        assert_eq!((split.before, split.after, split.rises), (before, after, rises), "{question}");
        assert_eq!(split.columns, ["region"], "{question}");
    }
    assert!(split("why did the average price rise in 2023?").is_average);
    // Where the only column is held fast, the totals are all there is.
    assert!(split("why did revenue drop in the South in March 2024?").columns.is_empty());
}

#[test]
fn other_questions_are_left_alone() {
    for question in
        ["revenue by month", "which region grew most?", "what will happen", "why?", "total revenue in 2023"]
    {
        assert_eq!(outlook(question, &sales(), day("2026-01-01"), false), None, "{question}");
    }
    // A column of that name is meant by its name.
    let mut catalogue = sales();
    catalogue.tables[0].columns.push(column("forecast", Kind::Number, 900, (Value::Int(1), Value::Int(9))));
    assert_eq!(outlook("total forecast by region", &catalogue, day("2026-01-01"), false), None);
}

#[test]
fn a_follow_up_keeps_to_the_period_of_the_conversation() {
    let (catalogue, today) = (sales(), day("2026-01-01"));
    let meaning = &crate::planner::NoMeaning;
    let first = propose::consider("total revenue by month in 2022", &catalogue, None, today, meaning);
    let earlier = first.readings(&[]).into_iter().find(|reading| reading.form.is_some()).unwrap();
    let follow = |question: &str| {
        let outlook = outlook(question, &catalogue, today, true).unwrap();
        let considered = propose::consider(&outlook.question, &catalogue, Some(&earlier), today, meaning);
        match outlook.apply(considered.readings(&[]), question, &catalogue) {
            Outcome::Read(reading) => reading.then.unwrap(),
            other => panic!("{question}: {other:?}"),
        }
    };
    let Afterwards::Change(split) = follow("why did it drop in May?") else { panic!("a change") };
    assert_eq!((split.before.from, split.after.from), (day("2022-04-01"), day("2022-05-01")));
    let Afterwards::Change(split) = follow("why did it drop?") else { panic!("a change") };
    assert_eq!((split.before.from, split.after.from), (day("2022-11-01"), day("2022-12-01")));
    let Afterwards::Forecast(course) = follow("forecast next quarter") else { panic!("a forecast") };
    let quarter = Horizon::Span(Span { from: day("2023-01-01"), to: day("2023-04-01") });
    assert_eq!((course.horizon, course.last_day), (quarter, day("2022-12-31")));
}
