//! S3's walk-throughs.

use crate::{Fixture, ask, local, retail, write};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use steward_domain::{ArtifactKind, Certainty, ResponseStatus};
use steward_runtime::ask::{Ask, Planner};

#[tokio::test]
async fn the_first_quarter_in_arizona() {
    let fixture = Fixture::new();
    let answer =
        fixture.ask(ask("Analyze Q1 2021 Arizona sales; trends + charts", &[retail("sales.csv")])).await;
    assert_eq!(answer.response.status, ResponseStatus::Completed, "{:?}", answer.response);
    let months = &answer.tables[0].frame;
    assert_eq!(months.rows.len(), 3, "{months:?}");
    // Computed from the file by hand: the months of Arizona in the first quarter of 2021.
    let expected = by_hand("Arizona", "2021-01", "2021-03");
    let amounts = months.numbers(
        months
            .position("amount")
            .or_else(|| months.fields.iter().position(|f| f.name.contains("amount")))
            .unwrap(),
    );
    for (got, expected) in amounts.iter().zip(expected) {
        assert!((got - expected).abs() < 0.005, "{got} is not {expected}");
    }
    assert!(!answer.response.summary.key_findings.is_empty());
    assert_eq!(answer.sources[0].name, "sales.csv");
    let kinds: Vec<ArtifactKind> =
        answer.response.artifacts.iter().map(|artifact| artifact.artifact_type).collect();
    for kind in [ArtifactKind::Table, ArtifactKind::Chart, ArtifactKind::Report] {
        assert!(kinds.contains(&kind), "{kind:?} is missing");
    }
    for artifact in &answer.response.artifacts {
        let content = std::fs::read(&artifact.content_ref).unwrap();
        let hash: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(artifact.content_hash.as_str(), hash, "{}", artifact.content_ref);
    }
    let journal = fixture.journal(answer.response.request_id).await;
    let first = |event: &str| {
        journal.iter().position(|(name, _)| name == event).unwrap_or_else(|| panic!("{event} is missing"))
    };
    let order = [
        "request_submitted",
        "understood",
        "plan_created",
        "policy_decision",
        "tool_called",
        "observation_recorded",
        "artifact_generated",
        "answered",
    ];
    assert!(
        order.is_sorted_by_key(|event| first(event)),
        "{:?}",
        journal.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
}

/// Sums of a state by month, without any of our own code.
fn by_hand(state: &str, from: &str, to: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(retail("sales.csv")).unwrap();
    let mut months = std::collections::BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let month = cells[1].get(..7).unwrap();
        if cells[2] == state && month >= from && month <= to {
            *months.entry(month.to_owned()).or_insert(0.0) += cells[10].parse::<f64>().unwrap_or(0.0);
        }
    }
    months.into_values().collect()
}

#[tokio::test]
async fn every_number_in_the_text_has_its_cells() {
    let fixture = Fixture::new();
    let answer = fixture.ask(ask("total amount by state", &[retail("sales.csv")])).await;
    assert!(!answer.evidence.is_empty());
    let journal = fixture.journal(answer.response.request_id).await;
    for evidence in &answer.evidence {
        let table = answer.tables.iter().find(|table| table.frame.name == evidence.table).unwrap();
        assert!(table.frame.position(&evidence.column).is_some(), "{evidence:?}");
        assert!(evidence.rows.iter().all(|row| *row < table.frame.rows.len()), "{evidence:?}");
        let call = evidence.call_id.to_string();
        assert!(
            journal.iter().any(|(name, data)| name == "tool_called" && data["call_id"] == call.as_str()),
            "{evidence:?}"
        );
    }
}

#[tokio::test]
async fn a_broken_query_is_repaired_and_every_attempt_is_in_the_audit() {
    let fixture = Fixture::new();
    let answer = fixture
        .ask(ask("SELECT stat, sum(amont) AS total FROM sales GROUP BY stat", &[retail("sales.csv")]))
        .await;
    assert_eq!(answer.response.status, ResponseStatus::Completed, "{:?}", answer.response.error);
    assert_eq!(answer.response.metrics.retries, 2);
    let task = answer.response.request_id;
    assert_eq!(fixture.count(task, "tool_called").await, 3);
    assert_eq!(fixture.count(task, "observation_recorded").await, 3);
    let journal = fixture.journal(task).await;
    let failed: Vec<_> = journal
        .iter()
        .filter(|(name, data)| name == "observation_recorded" && data["status"] == "error")
        .collect();
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|(_, data)| data["error_category"] == "missing_column"), "{failed:?}");
    assert!(
        answer.response.summary.warnings.iter().any(|warning| warning.contains("amount")),
        "{:?}",
        answer.response.summary.warnings
    );
}

#[tokio::test]
async fn unrepairable_query_fails_after_three_attempts() {
    let fixture = Fixture::new();
    let answer = fixture.ask(ask("SELECT zzzzqqqq FROM sales", &[retail("sales.csv")])).await;
    assert_eq!(answer.response.status, ResponseStatus::Failed);
    assert!(answer.response.error.as_deref().unwrap().contains("zzzzqqqq"), "{:?}", answer.response.error);
    assert!(fixture.count(answer.response.request_id, "tool_called").await <= 3);
}

#[tokio::test]
async fn personal_data_is_blocked_before_anything_runs() {
    let fixture = Fixture::new();
    for question in ["SELECT name, email FROM customers", "list the email of every customer"] {
        let answer = fixture.ask(local(question, &[retail("customers.csv")])).await;
        assert_eq!(answer.response.status, ResponseStatus::Failed, "{question}: {}", answer.answer);
        assert_eq!(answer.error_code, Some("SQL006"), "{question}: {}", answer.answer);
        let task = answer.response.request_id;
        assert_eq!(fixture.count(task, "tool_called").await, 0, "{question}");
        let journal = fixture.journal(task).await;
        let decision =
            journal.iter().find(|(name, data)| name == "policy_decision" && data["decision"] == "deny");
        assert_eq!(decision.unwrap().1["rule"], "SQL006");
        assert!(answer.response.artifacts.is_empty());
    }
}

#[tokio::test]
async fn a_similar_question_runs_through_its_recipe() {
    let fixture = Fixture::new();
    let data = [retail("sales.csv")];
    let first = fixture.ask(ask("total amount by state in 2021", &data)).await;
    assert!(!first.response.metrics.recipe_used);
    assert_eq!(first.confidence, Certainty::High, "{:?}", first.reasoning);
    let second = fixture.ask(ask("total amount by state in 2022", &data)).await;
    assert!(second.response.metrics.recipe_used, "planned by {}", second.planner);
    assert_eq!(second.planner, "recipe");
    let planned = fixture.ask(local("total amount by state in 2022", &data)).await;
    assert_eq!(second.tables[0].frame.rows, planned.tables[0].frame.rows);
    assert_ne!(first.tables[0].frame.rows, second.tables[0].frame.rows);
    // Near in words, another question: no recipe may answer it.
    let other = fixture.ask(ask("average amount by state in 2022", &data)).await;
    assert!(!other.response.metrics.recipe_used);
    assert_ne!(other.tables[0].frame.rows, second.tables[0].frame.rows);
}

#[tokio::test]
async fn a_database_and_a_file_are_joined() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("shop.sqlite");
    #[allow(clippy::disallowed_methods, reason = "a test makes a database to ask")]
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE teams (team_id INTEGER PRIMARY KEY, team_name TEXT); INSERT INTO \
        teams VALUES (1, 'Red'), (2, 'Blue');",
        )
        .unwrap();
    drop(database);
    let points = write(fixture.folder.path(), "points.csv", "team_id,points\n1,10\n1,5\n2,7\n");
    let answer = fixture.ask(local("total points by team name", &[path.display().to_string(), points])).await;
    assert_eq!(answer.response.status, ResponseStatus::Completed, "{:?}", answer.response.error);
    let mut rows: Vec<(String, f64)> =
        answer.tables[0].frame.rows.iter().map(|row| (row[0].plain(), row[1].number().unwrap())).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(rows, [("Blue".to_owned(), 7.0), ("Red".to_owned(), 15.0)]);
    assert_eq!(answer.sources.len(), 2);
}

/// SQLite has no median, percentile, correlation or deviation: the engine computes those over its
/// rows, and policy is asked about the engine's SQL.
#[tokio::test]
async fn statistics_that_a_database_lacks_are_computed_in_the_engine() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("clinic.sqlite");
    #[allow(clippy::disallowed_methods, reason = "a test makes a database to ask")]
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, ward TEXT, cost REAL, minutes \
        REAL); INSERT INTO visits VALUES (1, 'North', 10, 1), (2, 'North', 20, 2), (3, 'North', 60, 6), (4, \
        'South', 5, 1), (5, 'South', 7, 1);",
        )
        .unwrap();
    drop(database);
    let data = [path.display().to_string()];
    for (question, expected) in [
        ("median cost by ward", vec![("North", 20.0), ("South", 6.0)]),
        ("standard deviation of cost by ward", vec![("North", 26.457_513), ("South", 2_f64.sqrt())]),
        ("90th percentile of cost by ward", vec![("North", 52.0), ("South", 6.8)]),
    ] {
        let answer = fixture.ask(local(question, &data)).await;
        assert_eq!(
            answer.response.status,
            ResponseStatus::Completed,
            "{question}: {:?}",
            answer.response.error
        );
        let mut rows: Vec<(String, f64)> = (answer.tables[0].frame.rows.iter())
            .map(|row| (row[0].plain(), row[1].number().unwrap()))
            .collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(rows.len(), expected.len(), "{question}: {rows:?}");
        for (row, (ward, number)) in rows.iter().zip(&expected) {
            assert!(row.0 == *ward && (row.1 - number).abs() < 1e-4, "{question}: {rows:?}");
        }
        assert_eq!(answer.sources.len(), 1, "{question}");
        assert_eq!(answer.response.metrics.rows_processed, 5, "{question}");
    }
}

#[tokio::test]
async fn statistics_of_some_rows_are_not_taken_of_all() {
    let fixture = Fixture::new();
    let mut text = "ListingID,PropertyType,AskingPrice\n".to_owned();
    for at in 0..40 {
        let (kind, price) = if at % 2 == 0 { ("Apartment", 100 + at) } else { ("House", 9_000 + 10 * at) };
        text.push_str(&format!("L{at},{kind},{price}\n"));
    }
    let data = [write(fixture.folder.path(), "listings.csv", &text)];
    let answer = fixture.ask(local("standard deviation of the asking price, apartments only", &data)).await;
    let row = &answer.tables[0].frame.rows[0];
    let number = row.iter().find_map(steward_analysis::frame::Value::number).unwrap();
    assert!((number - 11.832_16).abs() < 0.4, "{row:?}");
}

#[tokio::test]
async fn a_chart_that_fails_leaves_the_rest() {
    let plan = json!({
        "queries": [{ "name": "by_state", "title": "By state", "sql": "SELECT state, sum(amount) AS total \
            FROM sales GROUP BY state" }],
        "charts": [{ "input": "by_state", "kind": "bar", "title": "No such column", "x": "region", "y": ["total"], "series": null }],
        "confidence": 0.9, "assumptions": [], "reasoning": []
    });
    let fixture = Fixture::new().with_model(plan);
    let answer = fixture
        .ask(Ask { planner: Some(Planner::Model), ..ask("sales by region", &[retail("sales.csv")]) })
        .await;
    assert_eq!(answer.response.status, ResponseStatus::PartialSuccess, "{:?}", answer.response);
    assert_eq!(answer.planner, "model");
    assert!(!answer.tables.is_empty());
    assert!(
        answer.response.summary.warnings.iter().any(|warning| warning.contains("region")),
        "{:?}",
        answer.response.summary.warnings
    );
}

#[tokio::test]
async fn a_models_success_becomes_a_recipe() {
    let sql = "SELECT city, sum(amount) AS total FROM sales WHERE state = 'Arizona' GROUP BY city ORDER BY \
        total DESC";
    let plan = json!({ "queries": [{ "name": "cities", "title": "Cities of Arizona", "sql": sql }], "charts": [], "confidence": 0.9, "assumptions": [], "reasoning": [] });
    let mut fixture = Fixture::new().with_model(plan);
    let data = [retail("sales.csv")];
    let first = fixture
        .ask(Ask { planner: Some(Planner::Model), ..ask("how do the towns of Arizona fare", &data) })
        .await;
    assert_eq!(
        (first.planner, first.response.status),
        ("model", ResponseStatus::Completed),
        "{:?}",
        first.response.error
    );
    // From now on there is no model to ask.
    fixture.app.model = None;
    let second = fixture.ask(ask("how do the towns of Texas fare", &data)).await;
    assert_eq!(second.planner, "recipe");
    assert!(second.response.metrics.recipe_used);
    assert!(second.sql[0].sql.contains("'Texas'"), "{}", second.sql[0].sql);
    assert_eq!(second.tables[0].title, "Cities of Texas");
    assert_ne!(first.tables[0].frame.rows, second.tables[0].frame.rows);
}

#[tokio::test]
async fn a_model_does_not_get_past_policy() {
    for sql in [
        "SELECT email FROM customers",
        "DELETE FROM customers",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT 1; DROP TABLE customers",
    ] {
        let plan = json!({ "queries": [{ "name": "q", "title": "Q", "sql": sql }], "charts": [], "confidence": 1.0, "assumptions": [], "reasoning": [] });
        let fixture = Fixture::new().with_model(plan);
        let before = std::fs::read(retail("customers.csv")).unwrap();
        let answer = fixture
            .ask(Ask { planner: Some(Planner::Model), ..ask("who are they", &[retail("customers.csv")]) })
            .await;
        assert_eq!(answer.response.status, ResponseStatus::Failed, "{sql}");
        assert!(answer.error_code.unwrap().starts_with("SQL"), "{sql}: {:?}", answer.error_code);
        assert_eq!(before, std::fs::read(retail("customers.csv")).unwrap());
    }
}

#[tokio::test]
async fn unanswerable_question_is_reported() {
    let fixture = Fixture::new();
    let answer = fixture.ask(local("what is the weather in Paris tomorrow?", &[retail("sales.csv")])).await;
    assert!(answer.tables.is_empty() || answer.confidence == Certainty::Low, "{}", answer.answer);
}

#[tokio::test]
async fn two_readings_that_are_equally_near_become_a_question() {
    let fixture = Fixture::new();
    let data = [retail("sales.csv"), retail("products.csv")];
    let answer = fixture.ask(local("average price by category", &data)).await;
    let asked = answer.clarification.unwrap_or_else(|| panic!("it guessed: {}", answer.answer));
    let labels: Vec<&str> = asked.options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["unit_price", "list_price"]);
    assert!(answer.tables.is_empty());
    let chosen = fixture.ask(local(&asked.options[1].question, &data)).await;
    assert!(
        chosen.tables[0].frame.position("average list_price").is_some(),
        "{:?}",
        chosen.tables[0].frame.fields
    );
}

#[tokio::test]
async fn empty_results_are_answers() {
    let fixture = Fixture::new();
    let answer =
        fixture.ask(ask("SELECT state FROM sales WHERE amount > 1000000000", &[retail("sales.csv")])).await;
    assert_eq!(answer.response.status, ResponseStatus::Completed);
    assert!(answer.tables[0].frame.rows.is_empty());
    assert!(answer.answer.contains("nothing"), "{}", answer.answer);
}
