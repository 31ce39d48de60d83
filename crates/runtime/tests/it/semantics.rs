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

/// The first letters of a text.
fn first(text: &str, letters: usize) -> String {
    text.chars().take(letters).collect()
}

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
async fn invalid_semantics_file_is_reported() {
    let fixture = with_model("metrics:\n  revenue:\n    table: sales\n    expresion: sum(amount)\n");
    let answer = fixture.ask(ask("revenue by state", &[retail("sales.csv")])).await;
    let why = answer.response.error.unwrap_or_default();
    assert!(why.contains("sales.yaml:4") && why.contains("expresion"), "{why}");
    let fixture = with_model("metrics:\n  revenue:\n    table: sales\n    expression: sum(price_paid)\n");
    let answer = fixture.ask(ask("revenue by state", &[retail("sales.csv")])).await;
    assert!(answer.response.error.is_some_and(|why| why.contains("cannot be computed")));
}

/// Sums of the amounts in sales.csv by month, of the lines that are kept.
fn by_month(keep: impl Fn(&str, f64) -> bool) -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(retail("sales.csv")).unwrap();
    let mut months: BTreeMap<String, f64> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let amount = cells[10].parse::<f64>().unwrap_or(0.0);
        if keep(cells[1], amount) {
            *months.entry(first(cells[1], 7)).or_default() += amount;
        }
    }
    months
}

fn months(answer: &steward_runtime::ask::Answer) -> BTreeMap<String, f64> {
    found(answer).into_iter().map(|(month, value)| (first(&month, 7), value)).collect()
}

fn close(found: &BTreeMap<String, f64>, expected: &BTreeMap<String, f64>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (month, value) in expected {
        assert!((found[month] - value).abs() < 0.01, "{month}: {} for {value}", found[month]);
    }
}

#[tokio::test]
async fn cumulative_metrics_segments_and_fiscal_years() {
    let fixture = with_model(
        "metrics:\n  turnover: { table: sales, expression: sum(amount) }\n  turnover so far: { cumulative: { \
            of: turnover } }\n  turnover to date: { cumulative: { of: turnover, since: year } }\n\
         segments:\n  large orders: { table: sales, filters: [{ column: amount, above: 300 }] }\n\
         calendar: { fiscal_year_starts: 4 }\n",
    );
    let data = [retail("sales.csv")];
    let answered = async |question: &str| {
        let answer = fixture.ask(ask(question, &data)).await;
        assert_eq!(answer.planner, "metric", "{question}: {}", answer.answer);
        answer
    };
    let all = by_month(|_, _| true);
    let mut sum = 0.0;
    let so_far: BTreeMap<String, f64> = all
        .iter()
        .map(|(month, amount)| {
            sum += amount;
            (month.clone(), sum)
        })
        .collect();
    close(&months(&answered("turnover so far by month").await), &so_far);
    // A period says what is shown, not where the sum begins.
    let of_2021 = so_far.iter().filter(|(month, _)| month.starts_with("2021"));
    let of_2021: BTreeMap<String, f64> = of_2021.map(|(month, sum)| (month.clone(), *sum)).collect();
    close(&months(&answered("turnover so far by month in 2021").await), &of_2021);
    let mut year = (String::new(), 0.0);
    let to_date: BTreeMap<String, f64> = all
        .iter()
        .map(|(month, amount)| {
            if year.0 != first(month, 4) {
                year = (first(month, 4), 0.0);
            }
            year.1 += amount;
            (month.clone(), year.1)
        })
        .collect();
    close(&months(&answered("turnover to date by month").await), &to_date);
    let large = by_month(|_, amount| amount > 300.0);
    close(&months(&answered("turnover of large orders by month").await), &large);
    let fiscal: f64 = by_month(|day, _| ("2020-04-01".."2021-04-01").contains(&day)).values().sum();
    let answer = answered("turnover in fiscal year 2021").await;
    let found = answer.tables[0].frame.rows[0].iter().find_map(Value::number).unwrap();
    assert!((found - fiscal).abs() < 0.01, "{found} for {fiscal}");
    let by_year = answered("turnover by fiscal year").await;
    let row = |year: f64| {
        let rows = &by_year.tables[0].frame.rows;
        rows.iter().find(|row| row[0].number() == Some(year)).and_then(|row| row[1].number()).unwrap()
    };
    assert!((row(2021.0) - fiscal).abs() < 0.01);
}

#[tokio::test]
async fn changed_definitions_report_changed_answers() {
    use steward_runtime::{CheckOutcome, NewVerified, StoredAnswer, read_semantics};
    let define = |turnover: &str| {
        format!(
            "metrics:\n  turnover: {{ table: sales, expression: {turnover} }}\n  pieces: {{ table: sales, \
                expression: sum(quantity) }}\n"
        )
    };
    let fixture = with_model(&define("sum(amount)"));
    let (app, data) = (&fixture.app, [retail("sales.csv")]);
    let by_sql = |sql: &str| NewVerified { sql: Some(sql.to_owned()), ..NewVerified::default() };
    let sql = "SELECT state, sum(amount) FROM sales GROUP BY state";
    app.verify(&ask("turnover by state", &data), by_sql(sql), "test").await.unwrap();
    let sql = "SELECT state, avg(cost) FROM sales GROUP BY state";
    app.verify(&ask("average cost by state", &data), by_sql(sql), "test").await.unwrap();
    let board = app.add_board(&crate::user(), "Sales".parse().unwrap(), "test").await.unwrap();
    for question in ["turnover", "pieces by state"] {
        app.pin(&ask(question, &data), board.id, Default::default(), "test").await.unwrap();
    }
    let file = fixture.folder.path().join("new.yaml");
    std::fs::write(&file, define("sum(amount - cost)")).unwrap();
    let changes = app.semantics_diff(&ask("", &[]), &read_semantics(&file).unwrap()).await.unwrap();
    assert_eq!(changes.len(), 3, "what names no metric is not listed: {changes:?}");
    for change in &changes {
        let moves = matches!(change.outcome, CheckOutcome::Moved { .. });
        assert_eq!(moves, change.question.starts_with("turnover"), "{change:?}");
    }
    assert!(matches!(&changes[0].kept, StoredAnswer::VerifiedAnswer { .. }));
    std::fs::write(&file, define("sum(nothing)")).unwrap();
    let changes = app.semantics_diff(&ask("", &[]), &read_semantics(&file).unwrap()).await.unwrap();
    assert_eq!(changes.iter().filter(|one| matches!(one.outcome, CheckOutcome::Broken { .. })).count(), 2);
    std::fs::write(&file, define("sum(amount)")).unwrap();
    let changes = app.semantics_diff(&ask("", &[]), &read_semantics(&file).unwrap()).await.unwrap();
    assert!(changes.iter().all(|change| change.outcome == CheckOutcome::Same));
}

#[tokio::test]
async fn synonyms_of_columns_and_values_are_read_as_what_they_stand_for() {
    let model = r#"
tables:
  sales:
    columns:
      amount: { synonyms: [takings, money earned] }
      state: { synonyms: [region], values: { Arizona: [the grand canyon state] } }
"#;
    let fixture = with_model(model);
    let data = [retail("sales.csv")];
    for (question, plain) in [
        ("total takings by region", "total amount by state"),
        ("total money earned in the grand canyon state", "total amount in Arizona"),
    ] {
        let (told, known) = (fixture.ask(ask(question, &data)).await, fixture.ask(ask(plain, &data)).await);
        assert_eq!(found(&told), found(&known), "{question}");
        assert!(told.assumptions.iter().any(|note| note.contains("was read as")), "{:?}", told.assumptions);
        assert!(known.assumptions.iter().all(|note| !note.contains("was read as")));
    }
    // A blocked column is refused by its synonym, too.
    let policy = steward_domain::RequestPolicy {
        blocked_patterns: vec!["amount".to_owned()],
        ..steward_domain::RequestPolicy::default()
    };
    let refused = fixture.ask(crate::Ask { policy, ..ask("total takings by region", &data) }).await;
    assert!(refused.error_code.is_some(), "{}", refused.answer);
}
