//! Workflows and agents over a real store and a real MCP server: in order, side by side, across a
//! restart, after a crash.

use crate::toolbox::{NEVER, Shop};
use crate::user;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{EventType, HumanAction, Label, TaskId, TaskStatus};
use steward_models::Models;
use steward_runtime::run::{Decided, LeaseHolder, ProgressEvent, RunStatus, Runner, Watch};
use steward_store::Scope;

impl Shop {
    pub(crate) fn define(&self, folder: &str, name: &str, definition: &Json) {
        let folder = self.fixture.folder.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), definition.to_string()).unwrap();
    }

    /// Until the server has heard of a call.
    pub(crate) async fn was_called(&self) {
        for _ in 0..600 {
            if !self.ledger().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("nothing was called within half a minute");
    }

    async fn runner(&self) -> Runner {
        let toolbox = Arc::new(Self::toolbox(&self.fixture).await);
        // Always under the same name: one that begins anew takes what it held before.
        let holder = LeaseHolder { name: Label::new("test").unwrap(), lease: Duration::from_secs(30) };
        let home = self.fixture.folder.path().to_owned();
        Runner::new(toolbox, Arc::new(Models::default()), home).unwrap().held_by(holder)
    }
}

/// Somebody who watches, and the tasks that they hear of.
pub(crate) fn task_listener() -> (Watch, tokio::sync::mpsc::UnboundedReceiver<TaskId>) {
    let (sender, began) = tokio::sync::mpsc::unbounded_channel();
    let watch: Watch = Arc::new(move |seen| {
        if let ProgressEvent::Started(task) = seen {
            let _ = sender.send(task);
        }
    });
    (watch, began)
}

fn scope() -> Scope {
    Scope::User(user())
}

async fn decided(shop: &Shop, task: TaskId, action: HumanAction, updates: Json) -> Decided {
    let Json::Object(updates) = updates else { panic!("an object") };
    Decided { updates, ..crate::workers::decided(shop, task, action).await }
}

pub(crate) fn tool(name: &str, arguments: Json) -> Json {
    json!({ "type": "tool", "tool": name, "arguments": arguments })
}

pub(crate) fn workflow(name: &str, entry: &str, nodes: Json, edges: Json) -> Json {
    json!({ "name": name, "patterns": ["react"], "entry_point": entry, "nodes": nodes, "edges": edges })
}

#[tokio::test]
async fn steps_run_in_order_and_pass_results() {
    // What a tool found is untrusted; without the operator's word the second search would wait for
    // a person.
    let shop = Shop::open("tools: { shop.find: { approval: never } }").await;
    let nodes = json!({
        "find": tool("shop.find", json!({ "name": "${input.name}" })),
        "sum": tool("math.eval", json!({ "expression": "6*7" })),
        "again": tool("shop.find", json!({ "name": "${nodes.find.output.found}" })),
    });
    let edges = json!([{ "from": "find", "to": "sum" }, { "from": "sum", "to": "again" }, { "from": "again", "to": "__end__" }]);
    shop.define("workflows", "look", &workflow("look", "find", nodes, edges));
    let ran = shop.runner().await.start(&user(), "look", json!({ "name": "pen" }), None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Completed(json!({ "found": "pen" })));
    assert_eq!(shop.ledger(), ["find", "find"]);
    let store = &shop.fixture.app.store;
    assert_eq!(store.task(&scope(), ran.task).await.unwrap().unwrap().status, TaskStatus::Completed);
    let entries = store.entries(&scope(), ran.task.into(), 0, 100).await.unwrap();
    let called = entries.iter().filter(|entry| entry.entry.event_type == EventType::ToolCalled).count();
    assert_eq!(called, 3, "every call is in the task's own chain");
}

#[tokio::test]
async fn a_pause_survives_a_restart_and_a_decision_goes_on_from_there() {
    let shop = Shop::open(NEVER).await;
    let nodes = json!({
        "find": tool("shop.find", json!({ "name": "pen" })),
        "ask": { "type": "human", "input": "Delete ${nodes.find.output.found}?", "expires_seconds": 3600, "on_timeout": "reject" },
        "delete": tool("shop.delete", json!({ "name": "${input.name}" })),
    });
    let edges = json!([
        { "from": "find", "to": "ask" },
        { "from": "ask", "to": { "approve": "delete", "reject": "__end__", "modify": "__end__" } },
        { "from": "delete", "to": "__end__" },
    ]);
    shop.define("workflows", "clean", &workflow("clean", "find", nodes, edges));
    let ran = shop.runner().await.start(&user(), "clean", json!({ "name": "pen" }), None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Waiting);
    let store = shop.fixture.app.store.clone();
    assert_eq!(store.task(&scope(), ran.task).await.unwrap().unwrap().status, TaskStatus::Paused);
    let waiting = shop.toolbox.approvals().list(&scope()).await.unwrap();
    assert_eq!((waiting[0].task, waiting[0].reason.as_str()), (ran.task, "Delete pen?"));

    // Another process takes over; what was done is not done again.
    let again = shop.runner().await;
    let still = again.resume(&scope(), ran.task, None).await.unwrap();
    assert_eq!(still.standing, RunStatus::Waiting);
    let approved = decided(&shop, ran.task, HumanAction::Approve, json!({})).await;
    let done = again.decide(&scope(), ran.task, approved.clone(), None).await.unwrap();
    assert_eq!(done.standing, RunStatus::Completed(json!({ "found": "pen" })));
    assert_eq!(shop.ledger(), ["find", "delete"]);
    assert_eq!(store.task(&scope(), ran.task).await.unwrap().unwrap().status, TaskStatus::Completed);
    let twice = again.decide(&scope(), ran.task, approved, None).await;
    assert!(matches!(twice, Err(steward_runtime::Error::NotWaiting(_))), "{twice:?}");
    assert_eq!(shop.ledger(), ["find", "delete"]);
}

/// Starts a workflow whose one call hangs, and lets its process die in the middle of the call: the
/// future is dropped once the server has begun.
async fn dies_while_calling(shop: &Shop, name: &str, tool: &str) -> TaskId {
    let nodes = json!({ "call": self::tool(tool, json!({ "name": "pen" })) });
    shop.define(
        "workflows",
        name,
        &workflow(name, "call", nodes, json!([{ "from": "call", "to": "__end__" }])),
    );
    shop.toolbox.look_at("shop").await.unwrap();
    shop.write("hang", "");
    let (watch, mut began) = task_listener();
    let (runner, name) = (shop.runner().await, name.to_owned());
    let mut dies = tokio::task::JoinSet::new();
    dies.spawn(async move { runner.start(&user(), &name, json!(null), Some(watch)).await });
    let task = began.recv().await.unwrap();
    shop.was_called().await;
    dies.abort_all();
    std::fs::remove_file(shop.fixture.folder.path().join("hang")).unwrap();
    task
}

#[tokio::test]
async fn an_effect_without_a_receipt_is_not_repeated_but_asked_about() {
    let shop = Shop::open(NEVER).await;
    let task = dies_while_calling(&shop, "drop", "shop.delete").await;
    assert_eq!(shop.ledger(), ["delete"]);
    let again = shop.runner().await;
    let ran = again.resume(&scope(), task, None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Waiting, "a person says what came of it");
    assert_eq!(shop.ledger(), ["delete"], "and it was not made again");
    // A decision that does not fit is told, and what waits still waits.
    let unfit = decided(&shop, task, HumanAction::Modify, json!({ "x": 1 })).await;
    let unfit = again.decide(&scope(), task, unfit, None).await;
    assert!(matches!(unfit, Err(steward_runtime::Error::Decision(_))), "{unfit:?}");
    let happened = decided(&shop, task, HumanAction::Modify, json!({ "output": { "found": "pen" } })).await;
    let done = again.decide(&scope(), task, happened, None).await.unwrap();
    assert_eq!(done.standing, RunStatus::Completed(json!({ "found": "pen" })));
    assert_eq!(shop.ledger(), ["delete"]);
}

#[tokio::test]
async fn read_without_receipt_is_repeated() {
    let shop = Shop::open("").await;
    let task = dies_while_calling(&shop, "look", "shop.find").await;
    let ran = shop.runner().await.resume(&scope(), task, None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Completed(json!({ "found": "pen" })));
    assert_eq!(shop.ledger(), ["find", "find"]);
}

#[tokio::test]
async fn an_agent_with_the_built_in_model_uses_its_tool() {
    let shop = Shop::open("").await;
    let agent = json!({
        "name": "helper", "role": "helper", "system_prompt": "You calculate.", "tools": ["math.eval"],
        "llm_config": { "model": "local" },
    });
    shop.define("agents", "helper", &agent);
    let runner = shop.runner().await;
    let ran = runner.start(&user(), "helper", json!("calculate the expression \"6*7\""), None).await.unwrap();
    let RunStatus::Completed(Json::String(said)) = &ran.standing else { panic!("{ran:?}") };
    assert!(said.contains("42"), "{said}");
    let (program, events) =
        steward_runtime::run::history(&*shop.fixture.app.store, &scope(), ran.task).await.unwrap();
    let trace = steward_engine::trace(&program, &events).unwrap();
    assert!(!trace.steps.is_empty());
    // The first two steps again, as another task.
    let fork = runner.fork(&scope(), ran.task, 2, None).await.unwrap();
    assert_ne!(fork.task, ran.task);
    assert_eq!(fork.standing, ran.standing);
}

#[tokio::test]
async fn invalid_definition_reports_reason() {
    let shop = Shop::open("").await;
    let runner = shop.runner().await;
    let told = |error: steward_runtime::Error| error.to_string();
    assert!(told(runner.start(&user(), "nobody", Json::Null, None).await.unwrap_err()).contains("nobody"));
    let cycle = workflow(
        "circle",
        "a",
        json!({ "a": tool("math.eval", json!({ "expression": "1" })), "b": tool("math.eval", json!({ "expression": "1" })) }),
        json!([{ "from": "a", "to": "b" }, { "from": "b", "to": "a" }]),
    );
    shop.define("workflows", "circle", &cycle);
    let error = told(runner.start(&user(), "circle", Json::Null, None).await.unwrap_err());
    assert!(error.contains("a -> b -> a"), "{error}");
    std::fs::write(shop.fixture.folder.path().join("workflows/bad.yaml"), "name: bad\nnodes: 7\n").unwrap();
    let error = told(runner.start(&user(), "bad", Json::Null, None).await.unwrap_err());
    assert!(error.contains("bad.yaml:2"), "{error}");
}
