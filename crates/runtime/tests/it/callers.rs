//! A task is carried out with what its owner holds now, wherever it runs.

use crate::runs::task_listener;
use crate::toolbox::{NEVER, Shop};
use crate::user;
use crate::workers::{Scripted, calls, decided, define_agent, once, quiet, runner, says, status};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_domain::{HumanAction, Label, TaskId, TaskStatus};
use steward_models::Models;
use steward_policy::Caller;
use steward_runtime::Error;
use steward_runtime::run::{RunStatus, Service};
use steward_store::Scope;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const ALWAYS: &str = "tools: { shop.delete: { approval: always } }";

fn scope() -> Scope {
    Scope::User(user())
}

/// A person who holds these tools and nothing else.
fn holds(tools: &[&str]) -> Caller {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    Caller { tools: Some(tools), administrator: false, ..Caller::owner(user()) }
}

fn one_call(name: &str) -> Json {
    let nodes = json!({ "drop": { "type": "tool", "tool": "shop.delete", "arguments": { "name": "pen" } } });
    json!({ "name": name, "patterns": ["react"], "entry_point": "drop", "nodes": nodes,
        "edges": [{ "from": "drop", "to": "__end__" }] })
}

/// First a person is asked, then something is deleted.
fn asks_first(name: &str) -> Json {
    let nodes = json!({
        "ask": { "type": "human", "input": "Go on?", "expires_seconds": 3600 },
        "drop": { "type": "tool", "tool": "shop.delete", "arguments": { "name": "pen" } },
    });
    json!({ "name": name, "patterns": ["react"], "entry_point": "ask", "nodes": nodes,
        "edges": [{ "from": "ask", "to": "drop" }, { "from": "drop", "to": "__end__" }] })
}

async fn error_of(shop: &Shop, task: TaskId) -> String {
    let found = shop.fixture.app.store.task(&Scope::System, task).await.unwrap().unwrap();
    found.error.clone().unwrap_or_default()
}

fn grants(shop: &Shop) -> &crate::People {
    &shop.fixture.grants
}

#[tokio::test]
async fn a_run_may_call_what_its_owner_may() {
    let shop = Shop::open(NEVER).await;
    shop.define("workflows", "drop", &one_call("drop"));
    let runner = runner(&shop, "one", Models::default()).await;
    grants(&shop).set(user(), Ok(holds(&["math.*"])));
    let ran = runner.start(&user(), "drop", json!({}), None).await.unwrap();
    assert!(matches!(ran.standing, RunStatus::Failed(_)), "{ran:?}");
    assert!(shop.ledger().is_empty());
    grants(&shop).set(user(), Ok(holds(&["shop.delete"])));
    let ran = runner.start(&user(), "drop", json!({}), None).await.unwrap();
    assert!(matches!(ran.standing, RunStatus::Completed(_)), "{ran:?}");
    assert_eq!(shop.ledger(), ["delete"]);
}

#[tokio::test]
async fn grants_revoked_during_wait_are_not_used() {
    let shop = Shop::open(NEVER).await;
    shop.define("workflows", "asks", &asks_first("asks"));
    let runner = runner(&shop, "one", Models::default()).await;
    let ran = runner.start(&user(), "asks", json!({}), None).await.unwrap();
    grants(&shop).set(user(), Ok(holds(&["math.*"])));
    let approved = decided(&shop, ran.task, HumanAction::Approve).await;
    let ran = runner.decide(&scope(), ran.task, approved, None).await.unwrap();
    assert!(matches!(ran.standing, RunStatus::Failed(_)), "{ran:?}");
    assert!(shop.ledger().is_empty());
}

#[tokio::test]
async fn paused_run_of_disabled_user_is_not_executed() {
    let shop = Shop::open(NEVER).await;
    shop.define("workflows", "asks", &asks_first("asks"));
    let runner = runner(&shop, "one", Models::default()).await;
    let ran = runner.start(&user(), "asks", json!({}), None).await.unwrap();
    grants(&shop).set(user(), Err("they are disabled"));
    let approved = decided(&shop, ran.task, HumanAction::Approve).await;
    let refused = runner.decide(&scope(), ran.task, approved, None).await.unwrap_err();
    assert!(matches!(refused, Error::NotAdmitted { .. }), "{refused}");
    assert_eq!(status(&shop, ran.task).await, TaskStatus::Paused, "the decision was not used up");
    assert!(shop.ledger().is_empty());
    // To end it is allowed.
    let rejected = decided(&shop, ran.task, HumanAction::Reject).await;
    runner.decide(&scope(), ran.task, rejected, None).await.unwrap();
    assert_eq!(status(&shop, ran.task).await, TaskStatus::Rejected);
    let new = runner.start(&user(), "asks", json!({}), None).await;
    assert!(matches!(new, Err(Error::NotAdmitted { .. })), "{new:?}");
}

#[tokio::test]
async fn waiting_call_of_disabled_user_is_not_made() {
    let shop = Shop::open(ALWAYS).await;
    shop.toolbox.look_at("shop").await.unwrap();
    let Json::Object(arguments) = json!({ "name": "pen" }) else { panic!() };
    let wanted = steward_tools::call::Request::new(Caller::owner(user()), "shop.delete", arguments);
    let Err(Error::Tools(steward_tools::Error::ApprovalNeeded(needed))) = shop.toolbox.call(&wanted).await
    else {
        panic!("it asks")
    };
    let (approvals, by) = (shop.toolbox.approvals(), Label::new("bob").unwrap());
    let shown = approvals.wait(&wanted, &needed).await.unwrap().shown().unwrap();
    grants(&shop).set(user(), Err("they are disabled"));
    let refused = approvals.approve(shop.toolbox.gateway(), &scope(), &shown, &by).await;
    assert!(matches!(refused, Err(Error::NotAdmitted { .. })), "{refused:?}");
    assert!(shop.ledger().is_empty());
    assert_eq!(approvals.list(&scope()).await.unwrap().len(), 1, "it still waits");
    // Not let in, or let in without the tool: the approver's own grants do not count.
    grants(&shop).set(user(), Ok(holds(&["math.*"])));
    assert!(approvals.approve(shop.toolbox.gateway(), &scope(), &shown, &by).await.is_err());
    assert!(shop.ledger().is_empty());
    shop.toolbox.close().await;
}

#[tokio::test]
async fn runs_of_disabled_user_stop() {
    let shop = Shop::open(NEVER).await;
    shop.define("workflows", "drop", &one_call("drop"));
    shop.toolbox.look_at("shop").await.unwrap();
    shop.write("hang", "");
    let (watch, mut began) = task_listener();
    let runner = runner(&shop, "one", Models::default()).await;
    let mut running = JoinSet::new();
    running.spawn(async move { runner.start(&user(), "drop", json!({}), Some(watch)).await });
    let task = began.recv().await.unwrap();
    shop.was_called().await;
    grants(&shop).set(user(), Err("they are disabled"));
    let ran = running.join_next().await.unwrap().unwrap().unwrap();
    let RunStatus::Failed(why) = &ran.standing else { panic!("{ran:?}") };
    assert!(why.contains("they are disabled"), "{why}");
    assert!(error_of(&shop, task).await.contains("they are disabled"));
}

#[tokio::test]
async fn worker_runs_nothing_for_disabled_user() {
    let shop = Shop::open(NEVER).await;
    shop.define("workflows", "drop", &one_call("drop"));
    let submitter = runner(&shop, "submitter", Models::default()).await;
    let task = submitter.submit(&user(), "drop", &json!({})).await.unwrap();
    grants(&shop).set(user(), Err("they are disabled"));
    let worker = runner(&shop, "worker", Models::default()).await;
    Service::new(worker, once()).run(CancellationToken::new(), quiet()).await.unwrap();
    assert_eq!(status(&shop, task).await, TaskStatus::Failed);
    assert!(error_of(&shop, task).await.contains("they are disabled"));
    assert!(shop.ledger().is_empty());
}

#[tokio::test]
async fn sub_agent_has_the_grants_of_the_user() {
    let shop = Shop::open(NEVER).await;
    define_agent(&shop, "boss", &[], &["clerk"]);
    define_agent(&shop, "clerk", &["shop.delete"], &[]);
    let script = Scripted(vec![
        ("boss", vec![calls("clerk", json!({ "task": "delete the pen" })), says("it is done")]),
        ("clerk", vec![calls("shop_delete", json!({ "name": "pen" })), says("I could not")]),
    ]);
    let models = Models::default().with("scripted", Arc::new(script));
    grants(&shop).set(user(), Ok(holds(&["math.*"])));
    let ran = runner(&shop, "one", models).await.start(&user(), "boss", json!("go"), None).await.unwrap();
    assert!(ran.standing.is_final(), "{ran:?}");
    assert!(shop.ledger().is_empty(), "the agent's tool is not among the person's");
}
