//! The stories of S2 from end to end: several agents, tools that fail, people who are late, results
//! that are too large.

use crate::runs::{tool, workflow};
use crate::toolbox::Shop;
use crate::user;
use crate::workers::{Scripted, calls, decided, define_agent, once, quiet, runner, says, status};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use steward_domain::{HumanAction, TaskStatus, Timestamp};
use steward_journal::clock::{Clock, SystemClock};
use steward_models::Models;
use steward_runtime::run::{RunStatus, Service};
use steward_store::{Page, Scope, TaskFilter};
use tokio_util::sync::CancellationToken;

/// The machine's clock, so many seconds ahead.
pub(crate) struct Ahead(pub(crate) SystemClock, pub(crate) AtomicU64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        let seconds = i64::try_from(self.1.load(Ordering::SeqCst)).unwrap();
        Timestamp::from_micros(self.0.now().micros() + seconds * 1_000_000)
    }
    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

const DAY: u64 = 24 * 3600;

async fn with_clock(tools: &str) -> (Shop, Arc<Ahead>) {
    let mut shop = Shop::open(tools).await;
    let clock = Arc::new(Ahead(SystemClock::default(), AtomicU64::new(0)));
    shop.fixture.app.clock = clock.clone();
    (shop, clock)
}

fn scope() -> Scope {
    Scope::User(user())
}

#[tokio::test]
async fn supervisor_with_isolated_researcher_and_writer() {
    let shop = Shop::open("tools: { shop.find: { approval: never } }").await;
    define_agent(&shop, "lead", &[], &["researcher", "writer"]);
    define_agent(&shop, "researcher", &["shop.find"], &[]);
    define_agent(&shop, "writer", &[], &[]);
    let script = Scripted(vec![
        (
            "lead",
            vec![
                calls("researcher", json!({ "task": "look for the pen" })),
                calls("writer", json!({ "task": "write about what was found" })),
                says("the report is there"),
            ],
        ),
        ("researcher", vec![calls("shop_find", json!({ "name": "pen" })), says("there is a pen")]),
        // A tool that belongs to somebody else is not its own, whatever the model asks for.
        ("writer", vec![calls("shop_find", json!({ "name": "secret" })), says("a fine pen")]),
    ]);
    let models = Models::default().with("scripted", Arc::new(script));
    let ran = runner(&shop, "one", models).await.start(&user(), "lead", json!("go"), None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Completed(json!("the report is there")));
    assert_eq!(shop.ledger(), ["find"], "only the researcher's call was made");
    let store = &*shop.fixture.app.store;
    let (_, lead) = steward_runtime::run::history(store, &scope(), ran.task).await.unwrap();
    let lead = serde_json::to_string(&lead).unwrap();
    assert!(lead.contains("there is a pen") && !lead.contains("shop_find"), "the lead hears summaries only");
    let tasks = store.tasks(&scope(), TaskFilter::default(), Page::first(10)).await.unwrap();
    assert_eq!(tasks.len(), 3, "each has a task and a history of its own");
}

#[tokio::test]
async fn the_primary_tool_times_out_and_the_fallback_finishes() {
    let shop = Shop::open("").await;
    // A second shop of the same kind, in a folder where nothing hangs.
    let spare = shop.fixture.folder.path().join("spare");
    std::fs::create_dir_all(&spare).unwrap();
    let script = PathBuf::from(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime"))
        .join("tests/it/fixtures/shop_server.py");
    let server = |name: &str, folder: &std::path::Path| json!({ "name": name, "transport": "stdio", "config": { "command": "python3", "args": [script, folder] } });
    let servers = json!({ "servers": [server("shop", shop.fixture.folder.path()), server("spare", &spare)] });
    shop.write("config/mcp_servers.yaml", &servers.to_string());
    shop.write(
        "config/tools.yaml",
        "tools: { shop.find: { timeout_seconds: 1, retries: 0, fallback_tools: [spare.find] } }",
    );
    shop.write("hang", "");
    let look = tool("shop.find", json!({ "name": "pen" }));
    let edges = json!([{ "from": "look", "to": "__end__" }]);
    shop.define("workflows", "look", &workflow("look", "look", json!({ "look": look }), edges));
    let ran =
        runner(&shop, "one", Models::default()).await.start(&user(), "look", json!({}), None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Completed(json!({ "found": "pen" })));
    assert!(shop.ledger().iter().all(|line| line == "find"));
    assert_eq!(std::fs::read_to_string(spare.join("ledger")).unwrap(), "find\n");
    // Both are in the trace: the one that was late, and the one that stood in.
    let journal = shop.fixture.journal(ran.task).await;
    let text = serde_json::to_string(&journal).unwrap();
    assert!(text.contains("shop.find") && text.contains("spare.find"), "{text}");
}

fn asks(expires: u64) -> Json {
    let nodes = json!({
        "find": tool("shop.find", json!({ "name": "${input.name}" })),
        "ask": { "type": "human", "input": "Go on?", "expires_seconds": expires, "on_timeout": "fail" },
        "again": tool("shop.find", json!({ "name": "${input.name}" })),
    });
    let edges = json!([
        { "from": "find", "to": "ask" },
        { "from": "ask", "to": { "approve": "again", "reject": "__end__", "modify": "__end__" } },
        { "from": "again", "to": "__end__" },
    ]);
    workflow("asks", "find", nodes, edges)
}

#[tokio::test]
async fn another_process_resumes_a_paused_run() {
    let (shop, clock) = with_clock("tools: { shop.find: { approval: never } }").await;
    shop.define("workflows", "asks", &asks(10 * DAY));
    let first = runner(&shop, "one", Models::default()).await;
    let ran = first.start(&user(), "asks", json!({ "name": "pen" }), None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Waiting);
    drop(first);
    clock.1.store(5 * DAY, Ordering::SeqCst);
    let later = runner(&shop, "two", Models::default()).await;
    let done = later
        .decide(&scope(), ran.task, decided(&shop, ran.task, HumanAction::Approve).await, None)
        .await
        .unwrap();
    assert_eq!(done.standing, RunStatus::Completed(json!({ "found": "pen" })));
    assert_eq!(shop.ledger(), ["find", "find"], "what was done before is not done again");
}

#[tokio::test]
async fn expired_approval_ends_the_task() {
    let (shop, clock) = with_clock("tools: { shop.find: { approval: never } }").await;
    shop.define("workflows", "asks", &asks(DAY));
    let first = runner(&shop, "one", Models::default()).await;
    let ran = first.start(&user(), "asks", json!({ "name": "pen" }), None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Waiting);
    clock.1.store(DAY + 60, Ordering::SeqCst);
    let worker = runner(&shop, "worker", Models::default()).await;
    Service::new(worker, once()).run(CancellationToken::new(), quiet()).await.unwrap();
    assert_eq!(status(&shop, ran.task).await, TaskStatus::Failed);
    assert_eq!(shop.ledger(), ["find"], "nothing happened after the pause");
    // A decision that comes after that is told so, and changes nothing.
    let late = runner(&shop, "late", Models::default()).await;
    let late =
        late.decide(&scope(), ran.task, decided(&shop, ran.task, HumanAction::Approve).await, None).await;
    assert!(matches!(late, Err(steward_runtime::Error::NotWaiting(_))), "{late:?}");
    assert_eq!(shop.ledger(), ["find"]);
}

#[tokio::test]
async fn a_result_of_a_hundred_megabytes_fails_the_task_clearly() {
    let shop = Shop::open("").await;
    shop.write("large", "100000000");
    let look = tool("shop.find", json!({ "name": "pen" }));
    let edges = json!([{ "from": "look", "to": "__end__" }]);
    shop.define("workflows", "look", &workflow("look", "look", json!({ "look": look }), edges));
    let ran =
        runner(&shop, "one", Models::default()).await.start(&user(), "look", json!({}), None).await.unwrap();
    let task = shop.fixture.app.store.task(&scope(), ran.task).await.unwrap().unwrap();
    assert_eq!(task.status, TaskStatus::Failed, "{:?}", ran.standing);
    assert!(task.error.as_deref().unwrap().contains("larger than"), "{:?}", task.error);
}
