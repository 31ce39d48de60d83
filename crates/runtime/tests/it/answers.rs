//! How answers read: units, sentences, findings, tables and charts, in every output.

use crate::{Fixture, local, retail, write};
use std::fmt::Write as _;
use steward_domain::ResponseStatus;
use steward_runtime::ask::Answer;

/// The text of the first artifact whose name ends so.
fn file(answer: &Answer, ending: &str) -> String {
    let found = answer.response.artifacts.iter().find(|artifact| artifact.content_ref.ends_with(ending));
    std::fs::read_to_string(&found.expect(ending).content_ref).unwrap()
}

async fn answered(fixture: &Fixture, question: &str, data: &str) -> Answer {
    let answer = fixture.ask(local(question, &[data.to_owned()])).await;
    assert_eq!(answer.response.status, ResponseStatus::Completed, "{question}: {}", answer.answer);
    answer
}

#[tokio::test]
async fn shares_are_shown_once_as_percentages_in_every_output() {
    let fixture = Fixture::new();
    let answer = answered(&fixture, "share of sales by category", &retail("sales.csv")).await;
    for report in ["report.md", "report.html"] {
        let text = file(&answer, report);
        assert!(text.contains("38.4 %") && !text.contains("3,837"), "{report}: {text}");
    }
    assert!(answer.answer.contains("38.4 %"), "{}", answer.answer);
    assert!(file(&answer, ".csv").contains("38.3"), "the table keeps the number");
    let frame = &answer.tables[0].frame;
    let share = frame.fields.last().unwrap();
    assert_eq!(share.unit, steward_analysis::frame::Unit::Percent);
    assert_eq!(answer.charts[0].spec.y, std::slice::from_ref(&share.name), "the shares are drawn");
}

/// Orders of every day from January 2025 to 15 November 2026, with a total line at the end.
fn orders() -> String {
    let mut text = "order_no,order_date,region,unit_price,quantity\n".to_owned();
    let start = chrono::NaiveDate::from_ymd_opt(2025, 1, 1).unwrap();
    let end = chrono::NaiveDate::from_ymd_opt(2026, 11, 15).unwrap();
    let mut sum = 0;
    for (number, day) in start.iter_days().take_while(|day| *day <= end).enumerate() {
        let region = ["North", "South", "West"][number % 3];
        let quantity = 1 + number % 4;
        sum += quantity;
        writeln!(text, "{},{day},{region},{},{quantity}", 1000 + number, 10 + number % 5).unwrap();
    }
    writeln!(text, "Total,,,,{sum}").unwrap();
    text
}

#[tokio::test]
async fn an_unfinished_month_is_marked_and_not_compared() {
    let fixture = Fixture::new();
    let data = write(fixture.folder.path(), "orders.csv", &orders());
    let answer = answered(&fixture, "total quantity by month", &data).await;
    let told = format!("{}\n{}", answer.answer, answer.response.summary.key_findings.join("\n"));
    assert!(!told.contains("Nov 2026") && !told.contains("November 2026"), "{told}");
    assert!(told.contains("Oct 2026"), "{told}");
    assert!(!told.contains("-01)") && !told.contains("2026-"), "months are words: {told}");
    let warnings = answer.response.summary.warnings.join("\n");
    assert!(warnings.contains("November 2026 is not complete: the data ends on 2026-11-15"), "{warnings}");
    assert!(warnings.contains("1 total was left out"), "{warnings}");
    assert_eq!(answer.tables[0].frame.rows.len(), 23, "it is still in the table");
    let regions = answered(&fixture, "total quantity by region", &data).await;
    assert_eq!(regions.tables[0].frame.rows.len(), 3, "the total line is no group");
}

#[tokio::test]
async fn price_times_quantity_is_called_revenue() {
    let fixture = Fixture::new();
    let data = write(fixture.folder.path(), "orders.csv", &orders());
    let answer = answered(&fixture, "revenue by region", &data).await;
    let names: Vec<&str> = answer.tables[0].frame.fields.iter().map(|field| field.name.as_str()).collect();
    assert!(names.iter().any(|name| name.contains("revenue")), "{names:?}");
    assert!(!answer.answer.contains(" x "), "{}", answer.answer);
}

#[tokio::test]
async fn averages_are_never_added_up() {
    let fixture = Fixture::new();
    let answer = answered(&fixture, "average quantity by category", &retail("sales.csv")).await;
    let told = answer.response.summary.key_findings.join("\n");
    assert!(!told.contains("add up to") && !told.contains("make up"), "{told}");
}

#[tokio::test]
async fn a_correlation_has_a_verdict_and_a_scatter_chart() {
    let fixture = Fixture::new();
    let question = "is there a correlation between discount and quantity?";
    let answer = answered(&fixture, question, &retail("sales.csv")).await;
    assert!(answer.answer.contains("practically not correlated"), "{}", answer.answer);
    assert!(answer.answer.contains("-0.0227") && !answer.answer.contains("-0.02274"), "{}", answer.answer);
    assert_eq!(answer.charts[0].spec.kind, steward_analysis::chart::ChartKind::Scatter);
}

#[tokio::test]
async fn missing_values_are_a_table() {
    let fixture = Fixture::new();
    let answer = answered(&fixture, "missing values", &retail("sales.csv")).await;
    assert!(answer.answer.contains("in 1 of 14 columns of 6,542 rows: amount (36)."), "{}", answer.answer);
    assert_eq!(answer.tables[0].frame.rows.len(), 14);
    assert!(!file(&answer, "report.md").contains("{'"));
}

#[tokio::test]
async fn listed_outliers_are_not_described_as_a_series() {
    let fixture = Fixture::new();
    let answer = answered(&fixture, "outliers in amount", &retail("sales.csv")).await;
    assert!(answer.answer.contains("ordered by amount, from 2,751.76 to"), "{}", answer.answer);
    assert!(answer.response.summary.key_findings.is_empty(), "{:?}", answer.response.summary.key_findings);
    assert_eq!(answer.tables.len(), 1, "what is only drawn is not listed");
}

#[tokio::test]
async fn items_of_lists_are_counted_and_grouped() {
    let fixture = Fixture::new();
    let mut rows = Vec::new();
    for id in 1..=40 {
        let tags: &[&str] = match id % 4 {
            0 => &["login", "billing"],
            1 => &["billing"],
            2 => &["shipping", "login"],
            _ => &[],
        };
        rows.push(serde_json::json!({ "ticket_id": id, "priority": "low", "tags": tags }));
    }
    let data = write(fixture.folder.path(), "tickets.json", &serde_json::Value::from(rows).to_string());
    let tagged = answered(&fixture, "how many tickets are tagged billing?", &data).await;
    assert_eq!(
        tagged.tables[0].frame.rows[0].iter().find_map(|value| value.number()),
        Some(20.0),
        "{}",
        tagged.answer
    );
    let by_tag = answered(&fixture, "tickets by tag", &data).await;
    let frame = &by_tag.tables[0].frame;
    let mut counts: Vec<f64> = frame.rows.iter().filter_map(|row| row.last()?.number()).collect();
    counts.sort_by(f64::total_cmp);
    assert_eq!(counts, [10.0, 20.0, 20.0], "{}", by_tag.answer);
}
