//! A model as a proposer of queries: repaired by its errors, compared with the reader, and never a
//! way to what is blocked.

use crate::fake_model::{FakeModel, Says};
use crate::{Fixture, ask, retail};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_domain::ResponseStatus;
use steward_models::{ModelBudget, Spending};
use steward_runtime::ModelLedger;
use steward_runtime::ask::{Ask, Planner};
use steward_store::Scope;

fn plan(sql: &str) -> Says {
    let query = json!({ "name": "result", "title": "Result", "sql": sql });
    let plan =
        json!({ "queries": [query], "charts": [], "confidence": 1.0, "assumptions": [], "reasoning": [] });
    Says::Text(plan.to_string())
}

fn with(model: &FakeModel) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.app.model = model.models().get("big");
    fixture
}

/// What was sent, without what the model itself had written.
fn told(prompts: &[Json]) -> String {
    let messages = prompts.iter().flat_map(|prompt| prompt["messages"].as_array().unwrap());
    messages
        .filter(|message| message["role"] != "assistant")
        .map(|message| message["content"].to_string())
        .collect()
}

#[tokio::test]
async fn a_wrong_name_is_repaired_by_its_error() {
    let model = FakeModel::start(|messages| match messages.len() {
        2 => plan("SELECT stat, sum(amount) AS total FROM sales GROUP BY stat"),
        _ => plan("SELECT state, sum(amount) AS total FROM sales GROUP BY state"),
    })
    .await;
    let fixture = with(&model);
    let asked =
        Ask { planner: Some(Planner::Model), ..ask("what is in it for the states", &[retail("sales.csv")]) };
    let answer = fixture.ask(asked).await;
    assert_eq!(answer.response.status, ResponseStatus::Completed, "{:?}", answer.response);
    assert_eq!(answer.planner, "model");
    let prompts = model.prompts();
    assert_eq!(prompts.len(), 2, "one repair was enough");
    assert!(told(&prompts).contains("This did not work"));
    // It called itself certain; nothing else says so.
    assert_ne!(answer.confidence, steward_domain::Certainty::High, "{}", answer.score);
}

/// A star means the columns that may be read.
#[tokio::test]
async fn a_star_leaves_out_what_is_blocked() {
    let model = FakeModel::start(|_| Says::Text("```sql\nSELECT * FROM Customers;\n```".to_owned())).await;
    let fixture = with(&model);
    let asked = Ask { planner: Some(Planner::Model), ..ask("who are they", &[retail("customers.csv")]) };
    let answer = fixture.ask(asked).await;
    assert_eq!(answer.response.status, ResponseStatus::Completed, "{}", answer.answer);
    assert_eq!(model.prompts().len(), 1);
    assert!(!answer.sql[0].sql.to_lowercase().contains("email"), "{:?}", answer.sql);
}

#[tokio::test]
async fn a_refusal_does_not_name_what_is_blocked() {
    let model = FakeModel::start(|_| plan("SELECT c.* FROM customers AS c")).await;
    let fixture = with(&model);
    let asked = Ask { planner: Some(Planner::Model), ..ask("who are they", &[retail("customers.csv")]) };
    let answer = fixture.ask(asked).await;
    assert_eq!(answer.response.status, ResponseStatus::Failed, "{}", answer.answer);
    assert_eq!(model.prompts().len(), 3, "three attempts and no more");
    let told = told(&model.prompts()).to_lowercase();
    assert!(!told.contains("email") && !told.contains('@'), "{told}");
}

#[tokio::test]
async fn failing_model_proposals_add_a_note() {
    let model = FakeModel::start(|_| plan("SELECT nothing FROM nowhere")).await;
    let fixture = with(&model);
    let question = "amount per state please, more or less, as you see fit";
    let alone = Fixture::new().ask(ask(question, &[retail("sales.csv")])).await;
    let answer = fixture.ask(ask(question, &[retail("sales.csv")])).await;
    assert_ne!(answer.planner, "model", "{}", answer.answer);
    assert_eq!(answer.tables.len(), alone.tables.len());
    assert_eq!(answer.answer, alone.answer);
}

/// The same rows from both make the reader's answer more likely; other rows do not.
#[tokio::test]
async fn agreement_raises_the_probability() {
    let question = "amount per state please, more or less, as you see fit";
    let data = [retail("sales.csv")];
    let alone = Fixture::new().ask(ask(question, &data)).await;
    assert!(
        !alone.sql.is_empty() && alone.score < 0.85,
        "the reader must be unsure of it: {} {:?}",
        alone.score,
        alone.sql
    );
    let sql = alone.sql[0].sql.clone();
    let model = FakeModel::start(move |_| plan(&sql)).await;
    let both = with(&model).ask(ask(question, &data)).await;
    assert!(both.score > alone.score + 0.05, "{} and {}", alone.score, both.score);
    assert!(both.reasoning.iter().any(|line| line.contains("same result")), "{:?}", both.reasoning);
    let model = FakeModel::start(move |_| plan("SELECT count(*) AS n FROM sales")).await;
    let against = with(&model).ask(ask(question, &data)).await;
    assert!(against.score < alone.score, "{} and {}", alone.score, against.score);
    // The reading is no help to a model that is to find its own way.
    assert!(!told(&model.prompts()).contains("simple parser"));
}

/// What an answer used is in the store. A person who used up their day is answered without the
/// model, and told why.
#[tokio::test]
async fn exhausted_budget_adds_a_note() {
    let question = "amount per state please, more or less, as you see fit";
    let data = [retail("sales.csv")];
    let model = FakeModel::start(|_| plan("SELECT count(*) AS n FROM sales")).await;
    let mut fixture = with(&model);
    let user_day = Spending { tokens: Some(100), money: None };
    fixture.app.ledger = Arc::new(ModelLedger::new(ModelBudget { user_day, ..ModelBudget::default() }));
    let day = fixture.app.clock.now().day();
    fixture.ask(ask(question, &data)).await;
    let used = fixture.app.store.model_usage(&Scope::User(crate::user()), &day, &day).await.unwrap();
    assert_eq!(used.len(), 1, "{used:?}");
    assert_eq!((used[0].calls, used[0].tokens(), used[0].cost_micros), (1, 110, 120));

    let second = fixture.ask(ask(&format!("{question} again"), &data)).await;
    assert_eq!(model.prompts().len(), 1, "the model is not asked");
    assert!(second.assumptions.iter().any(|line| line.contains("budget")), "{:?}", second.assumptions);
    // Another process on the same store knows, too.
    fixture.app.ledger = Arc::new(ModelLedger::new(ModelBudget { user_day, ..ModelBudget::default() }));
    fixture.ask(ask(&format!("{question} once more"), &data)).await;
    assert_eq!(model.prompts().len(), 1);
}
