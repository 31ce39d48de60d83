//! Which wordings a verified answer is recognised in, and which it must not be.

use super::*;
use crate::catalogue::{Column, Table};
use crate::frame::{Kind, Unit, Value};

/// Everything is near: what remains must be decided by words and queries.
struct Near;

impl Meaning for Near {
    fn similarity(&self, _: &str, _: &str) -> f32 {
        1.0
    }
}

fn column(name: &str, kind: Kind, values: &[&str], distinct: u64) -> Column {
    let day = |month, day| Value::Date(NaiveDate::from_ymd_opt(2021, month, day).unwrap());
    let (min, max) = match kind {
        Kind::Date => (day(1, 1), day(12, 31)),
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
        column("state", Kind::Text, &["Arizona", "Texas", "New York"], 3),
        column("category", Kind::Text, &["Chairs", "Desks", "Lamps"], 3),
        column("sales", Kind::Number, &[], 4_000),
        column("profit", Kind::Number, &[], 4_000),
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

fn today() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 18).unwrap()
}

/// The SQL that a question is answered with by an answer that was verified for `first`.
fn sql_for(first: &str, statement: &str, question: &str) -> Option<String> {
    let catalogue = catalogue();
    let matcher = Matcher { catalogue: &catalogue, today: today(), meaning: &Near };
    let statement = Statement::Sql(statement.to_owned());
    match fit(question, &Verified { phrases: vec![first], statement: &statement }, &matcher) {
        Some(Statement::Sql(sql)) => Some(sql),
        _ => None,
    }
}

const NET: &str = "SELECT sum(sales - profit) AS net FROM orders WHERE state = 'Arizona' AND order_date >= \
    '2021-01-01' AND order_date < '2021-04-01'";
const ASKED: &str = "total sales in Arizona in Q1 2021";

#[test]
fn other_particulars_are_put_in() {
    let expected = "SELECT sum(sales - profit) AS net FROM orders WHERE state = 'New York' AND order_date >= \
        '2021-07-01' AND order_date < '2021-10-01'";
    for question in [
        "total sales in New York in Q3 2021",
        "What were the total sales in new york in Q3 2021?",
        "please show me the total sales in New York in Q3 2021",
    ] {
        assert_eq!(sql_for(ASKED, NET, question).as_deref(), Some(expected), "{question}");
    }
}

#[test]
fn what_asks_for_something_else_does_not_fit() {
    for question in [
        "average sales in Arizona in Q1 2021",
        "total profit in Arizona in Q1 2021",
        "total sales in Arizona",
        "total sales in Q1 2021",
        "total sales outside Arizona in Q1 2021",
        "total sales not in Arizona in Q1 2021",
        "total sales of Chairs in Arizona in Q1 2021",
        "total sales in Arizona by category in Q1 2021",
        "total sales in Arizona in Q1 2021 per month",
        "total sales in Arizona since Q1 2021",
        "total sales in Ohio in Q1 2021",
        "total returned sales in Arizona in Q1 2021",
        "number of sales in Arizona in Q1 2021",
        "top 5 total sales in Arizona in Q1 2021",
        "total sales in Arizona or Texas in Q1 2021",
        "total sales in Arizona between Q1 2021 and Q2 2021",
    ] {
        assert_eq!(sql_for(ASKED, NET, question), None, "{question}");
    }
}

#[test]
fn a_number_in_the_words_is_no_particular() {
    let top = "SELECT category, sum(sales) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 2";
    assert!(sql_for("top 2 categories by total sales", top, "the top 2 categories by total sales").is_some());
    assert_eq!(sql_for("top 2 categories by total sales", top, "top 3 categories by total sales"), None);
}

#[test]
fn a_time_that_the_statement_cannot_move_must_be_the_same() {
    let year = "SELECT sum(sales) FROM orders WHERE extract(year FROM order_date) = 2021";
    assert!(sql_for("total sales in 2021", year, "the total sales in 2021").is_some());
    assert_eq!(sql_for("total sales in 2021", year, "total sales in 2020"), None);
}

#[test]
fn relative_times_are_no_fixed_days() {
    let catalogue = catalogue();
    let matcher = Matcher { catalogue: &catalogue, today: today(), meaning: &Near };
    let fixed = Statement::Sql("SELECT sum(sales) FROM orders WHERE order_date >= '2026-10-01'".to_owned());
    assert!(obstacle("total sales last month", &fixed, &matcher).is_some());
    let verified = Verified { phrases: vec!["total sales last month"], statement: &fixed };
    assert_eq!(fit("total sales last month", &verified, &matcher), None);
}

#[test]
fn readings_are_recognised_in_other_words() {
    let catalogue = catalogue();
    let matcher = Matcher { catalogue: &catalogue, today: today(), meaning: &Near };
    let first = "total sales by category in Arizona";
    let Outcome::Read(reading) = propose::read(first, &catalogue, None, today(), &Near) else {
        panic!("not read")
    };
    let statement = Statement::Reading(Box::new(reading));
    let fits = |question: &str| match fit(
        question,
        &Verified { phrases: vec![first], statement: &statement },
        &matcher,
    ) {
        Some(Statement::Reading(reading)) => Some(serde_json::to_string(&reading.queries).unwrap()),
        _ => None,
    };
    let texas = fits("total sales by category in Texas").unwrap();
    assert!(texas.contains("Texas") && !texas.contains("Arizona"), "{texas}");
    let other = fits("in Texas, what is the sum of sales for each category?");
    assert!(other.is_none_or(|other| other.contains("Texas")));
    for question in
        ["average sales by category in Texas", "total sales by state", "total profit by category in Texas"]
    {
        assert_eq!(fits(question), None, "{question}");
    }
}

/// Verified questions and other words for each; `{s}` is a state, `{t}` a period.
const KIN: &[(&str, &[&str])] = &[
    (
        "total sales in {s} in {t}",
        &[
            "What were the total sales in {s} in {t}?",
            "show me total sales for {s} in {t}",
            "sum of sales in {s} in {t}",
            "in {t}, what were total sales in {s}",
            "total {s} sales in {t}",
            "please give me the total sales in {s} during {t}",
        ],
    ),
    (
        "average sales in {s} in {t}",
        &[
            "what is the average sales in {s} in {t}",
            "mean sales in {s} in {t}",
            "in {t} the average sales for {s}",
        ],
    ),
    (
        "total profit by category in {s}",
        &[
            "total profit for each category in {s}",
            "what is the total profit per category in {s}",
            "in {s}, total profit by category",
            "show the sum of profit by category for {s}",
        ],
    ),
    (
        "number of orders in {s} in {t}",
        &[
            "how many orders in {s} in {t}",
            "how many orders were there in {s} in {t}?",
            "count of orders in {s} in {t}",
        ],
    ),
    (
        "total sales by state in {t}",
        &[
            "total sales per state in {t}",
            "what were total sales for each state in {t}",
            "in {t}, total sales by state",
        ],
    ),
    (
        "category with the highest total sales in {s}",
        &[
            "which category has the highest total sales in {s}",
            "the category with the most total sales in {s}",
        ],
    ),
    (
        "total sales by month in {s}",
        &["monthly total sales in {s}", "total sales per month in {s}", "total sales for each month in {s}"],
    ),
    ("total profit in {s} not in the category Chairs", &["total profit in {s} without the category Chairs"]),
];

#[test]
fn paraphrases_are_recognised_and_no_other_question_is() {
    let catalogue = catalogue();
    let matcher = Matcher { catalogue: &catalogue, today: today(), meaning: &Near };
    let fill = |text: &str, state: &str, time: &str| text.replace("{s}", state).replace("{t}", time);
    let particulars = [
        ("Texas", "Q2 2021"),
        ("New York", "2021"),
        ("Arizona", "March 2021"),
        ("Texas", "Q4 2021"),
        ("Arizona", "Q3 2021"),
    ];
    let (mut asked, mut hit, mut foreign, mut falsely) = (0, 0, 0, Vec::new());
    let first = |text: &str| fill(text, "Arizona", "Q1 2021");
    let read = |text: &str| match propose::read(text, &catalogue, None, today(), &Near) {
        Outcome::Read(reading) => Some(Statement::Reading(Box::new(reading))),
        _ => None,
    };
    for (place, (verified, _)) in KIN.iter().enumerate() {
        let question = first(verified);
        let Some(statement) = read(&question) else { continue };
        let known = Verified { phrases: vec![question.as_str()], statement: &statement };
        for (other, (own, kin)) in KIN.iter().enumerate() {
            for (text, (state, time)) in
                kin.iter().chain([own]).flat_map(|text| particulars.iter().map(move |one| (text, one)))
            {
                let said = fill(text, state, time);
                let fits = fit(&said, &known, &matcher);
                if other == place {
                    asked += 1;
                    let Some(Statement::Reading(reading)) = fits else { continue };
                    hit += 1;
                    let query = serde_json::to_string(&reading.queries[0].query).unwrap();
                    let right = !verified.contains("{s}") || query.contains(state);
                    if !right {
                        falsely.push(format!("{said} with other values: {query}"));
                    }
                } else {
                    foreign += 1;
                    if fits.is_some() {
                        falsely.push(format!("{said} as {verified}"));
                    }
                }
            }
        }
    }
    println!("{hit} of {asked} paraphrases recognised, {} of {foreign} others falsely", falsely.len());
    assert_eq!(falsely, Vec::<String>::new());
    assert!(hit * 2 > asked, "{hit} of {asked}");
}
