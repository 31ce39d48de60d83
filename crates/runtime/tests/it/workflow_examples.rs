//! The example workflows that fan out, wait, start children, escalate and take signals, with the
//! real server of the examples, a store and a clock that is moved. Each runs over restarts.

use crate::stories::Ahead;
use crate::toolbox::Shop;
use crate::user;
use crate::workers::{decided, once, quiet, runner, status};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steward_domain::{HumanAction, Label, TaskId, TaskStatus};
use steward_journal::clock::{Clock as _, SystemClock};
use steward_models::Models;
use steward_runtime::run::{Awaited, NewSignal, Ran, RunStatus, Runner, Service};
use steward_store::{Scope, Verdict};
use tokio_util::sync::CancellationToken;

struct Office {
    shop: Shop,
    clock: Arc<Ahead>,
    outbox: PathBuf,
}

impl Office {
    async fn open() -> Self {
        let mut shop = Shop::open("").await;
        let clock = Arc::new(Ahead(SystemClock::default(), AtomicU64::new(0)));
        shop.fixture.app.clock = clock.clone();
        let outbox = shop.fixture.folder.path().join("outbox.jsonl");
        let script = examples().join("office.py");
        let servers = json!({ "servers": [{ "name": "office", "transport": "stdio", "config": {
            "command": "python3", "args": [script, "--outbox", outbox] } }] });
        shop.write("config/mcp_servers.yaml", &servers.to_string());
        let free = ["send_mail", "save_text", "refund_order"]
            .map(|tool| format!("office.{tool}: {{ approval: never }}"))
            .join(", ");
        shop.write("config/tools.yaml", &format!("tools: {{ {free} }}"));
        Self { shop, clock, outbox }
    }

    async fn runner(&self, name: &str) -> Runner {
        runner(&self.shop, name, Models::default()).await
    }

    async fn start(&self, name: &str, input: Json) -> Ran {
        let file = examples().join(format!("{name}.yaml"));
        self.runner("starter").await.start(&user(), file.to_str().unwrap(), input, None).await.unwrap()
    }

    /// Another process works off what is ready.
    async fn work(&self) {
        let service = Service::new(self.runner("worker").await, once());
        service.run(CancellationToken::new(), quiet()).await.unwrap();
    }

    fn pass(&self, seconds: u64) {
        self.clock.1.fetch_add(seconds, Ordering::SeqCst);
    }

    fn sent(&self) -> Vec<Json> {
        let text = std::fs::read_to_string(&self.outbox).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    async fn status(&self, task: TaskId) -> TaskStatus {
        status(&self.shop, task).await
    }
}

fn examples() -> PathBuf {
    PathBuf::from(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime")).join("../../examples/workflows")
}

#[tokio::test]
async fn fan_out_over_a_list_with_a_join() {
    let office = Office::open().await;
    let ran = office.start("fan_out_join", json!({ "cities": ["Oslo", "Atlantis", "Rome"] })).await;
    assert!(matches!(ran.standing, RunStatus::Completed(_)), "{:?}", ran.standing);
    let text = office.sent()[0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("3 cities: [{"), "{text}");
    let places = ["Oslo", "Atlantis", "Rome"].map(|city| text.find(city).unwrap());
    assert!(places.is_sorted(), "the results are in the order of the list: {text}");
    assert!(text.contains("TOOL_FAILED"), "the city that failed is there with its error: {text}");
    // What does not fit the declared inputs is not started.
    let runner = office.runner("starter").await;
    let file = examples().join("fan_out_join.yaml");
    let refused = runner.start(&user(), file.to_str().unwrap(), json!({ "cities": "Oslo" }), None).await;
    assert!(refused.unwrap_err().to_string().contains("/cities"));
}

#[tokio::test]
async fn long_wait_resumes_in_another_process() {
    let office = Office::open().await;
    let ran = office.start("nightly_report", json!({ "about": "Oslo" })).await;
    assert_eq!(ran.standing, RunStatus::Waiting);
    let Some(Awaited::Until(at)) = ran.awaited else { panic!("{:?}", ran.awaited) };
    office.work().await;
    assert_eq!(office.status(ran.task).await, TaskStatus::Paused, "it is not its time yet");
    let left = (at.micros() - office.clock.now().micros()) / 1_000_000 + 1;
    office.pass(u64::try_from(left).unwrap());
    office.work().await;
    assert_eq!(office.status(ran.task).await, TaskStatus::Completed);
    assert_eq!(office.sent().len(), 1);
}

#[tokio::test]
async fn children_are_tasks_of_their_own_and_are_tried_again() {
    let office = Office::open().await;
    let ran = office.start("child_retry", json!({ "cities": ["Oslo", "Atlantis"] })).await;
    assert_eq!(ran.standing, RunStatus::Completed(json!(["Oslo"])), "the city that fails is left out");
    let store = &*office.shop.fixture.app.store;
    let lineage = steward_runtime::run::lineage(store, &Scope::System, ran.task).await.unwrap();
    assert_eq!(lineage.children.len(), 3, "one for Oslo, two attempts for Atlantis");
    let mut failed = 0;
    for child in &lineage.children {
        let child = store.task(&Scope::System, *child).await.unwrap().unwrap();
        assert_eq!(child.parent_task_id, Some(ran.task));
        failed += usize::from(child.status == TaskStatus::Failed);
    }
    assert_eq!(failed, 2);
    let replayed = office.runner("r").await.replay(&Scope::User(user()), ran.task, None).await.unwrap();
    assert!(replayed.parted.is_none(), "{:?}", replayed.parted);
}

#[tokio::test]
async fn approval_escalates_to_next_role_and_expires() {
    let office = Office::open().await;
    let approvers = async || {
        let waiting = office.shop.toolbox.approvals().list(&Scope::System).await.unwrap();
        waiting.into_iter().map(|one| (one.approvers, one.description, one.digest)).next()
    };
    let input = json!({ "order": "A-17", "amount": 20 });
    let ran = office.start("refund_escalation", input.clone()).await;
    let (first, description, shown) = approvers().await.unwrap();
    assert_eq!((first, description.as_str()), (vec!["clerks".to_owned()], "workflow refund_escalation"));
    let mut late = decided(&office.shop, ran.task, HumanAction::Approve).await;
    office.pass(3601);
    office.work().await;
    let (second, _, digest) = approvers().await.unwrap();
    assert_eq!(second, ["managers"]);
    // What the clerk was shown does not count any more.
    late.shown = shown.parse().unwrap();
    let runner = office.runner("late").await;
    assert!(runner.decide(&Scope::System, ran.task, late, None).await.is_err());
    let mut agreed = decided(&office.shop, ran.task, HumanAction::Approve).await;
    agreed.shown = digest.parse().unwrap();
    let done = runner.decide(&Scope::System, ran.task, agreed, None).await.unwrap();
    assert!(matches!(done.standing, RunStatus::Completed(_)), "{:?}", done.standing);
    assert_eq!(office.sent().len(), 1, "paid once");
    // There is no answer: the run goes the way of its on_error.
    let ran = office.start("refund_escalation", input.clone()).await;
    office.pass(3601);
    office.work().await;
    office.pass(86_401);
    office.work().await;
    assert_eq!(office.status(ran.task).await, TaskStatus::Completed);
    assert_eq!(office.sent().len(), 1);
    // A no is an end of its own.
    let ran = office.start("refund_escalation", input).await;
    let no = decided(&office.shop, ran.task, HumanAction::Reject).await;
    let done = runner.decide(&Scope::System, ran.task, no, None).await.unwrap();
    assert!(matches!(done.standing, RunStatus::Rejected(_)), "{:?}", done.standing);
    assert_eq!(office.status(ran.task).await, TaskStatus::Rejected);
    assert_eq!(done.page, Some("ENG016"));
    let history =
        office.shop.fixture.app.store.decisions(&Scope::System, steward_store::Page::first(10)).await;
    let verdicts: Vec<Verdict> =
        history.unwrap().into_iter().rev().map(|(_, decision)| decision.verdict).collect();
    let expected =
        [Verdict::Expired, Verdict::Approved, Verdict::Expired, Verdict::Expired, Verdict::Rejected];
    assert_eq!(verdicts, expected, "decisions and time-outs are in the history");
}

#[tokio::test]
async fn signal_counts_once_and_resumes_the_run() {
    let office = Office::open().await;
    let input = json!({ "order": "A-17", "to": "ada@example.com" });
    let ran = office.start("payment_signal", input.clone()).await;
    assert!(matches!(ran.awaited, Some(Awaited::Signal(_))), "{:?}", ran.awaited);
    let runner = office.runner("door").await;
    let send = async |task: TaskId, name: &str, data: Json| {
        let (name, key, by) = (name.to_owned(), Some("ORDER-17".to_owned()), Label::new("shop").unwrap());
        runner.signal(&Scope::System, NewSignal { task, name, data, key, by }).await
    };
    for (name, data, words) in [
        ("payment", json!({ "amount": -1 }), "do not fit"),
        ("delivery", json!({}), "The signals of this run: payment"),
    ] {
        let why = send(ran.task, name, data).await.unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
    assert!(send(ran.task, "payment", json!({ "amount": 12.5 })).await.unwrap());
    assert!(!send(ran.task, "payment", json!({ "amount": 12.5 })).await.unwrap(), "the same key again");
    office.work().await;
    assert_eq!(office.status(ran.task).await, TaskStatus::Completed);
    assert!(!send(ran.task, "payment", json!({ "amount": 12.5 })).await.unwrap(), "and after the end");
    assert_eq!(office.sent().len(), 1);
    assert_eq!(office.sent()[0]["text"], "Order A-17: 12.5 received.");
    // No signal: the reminder.
    let ran = office.start("payment_signal", input).await;
    office.pass(604_801);
    office.work().await;
    assert_eq!(office.status(ran.task).await, TaskStatus::Completed);
    assert_eq!(office.sent()[1]["text"], "Order A-17 is not paid yet.");
}
