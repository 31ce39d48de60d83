//! Workers over a real store and a real MCP server: turns, two of them, a task that is taken away,
//! a sub-agent that asks, a worker that is stopped; looking back at runs; models that do not
//! behave.

use crate::runs::task_listener;
use crate::toolbox::{NEVER, Shop};
use crate::user;
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{HumanAction, JsonObject, Label, TaskId, TaskStatus, UserId};
use steward_models::{
    Answer, Arguments, Chat, Listener, Model, ModelError, Models, Reply, Request, ToolCall, Turn,
};
use steward_runtime::run::{
    Decided, LeaseHolder, RunStatus, Runner, Service, ServiceOptions, TaskObserver, at,
};
use steward_store::Scope;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A model whose replies are written down: for each agent, by its system prompt, one after the
/// other; the last one for ever.
pub(crate) struct Scripted(pub(crate) Vec<(&'static str, Vec<Answer>)>);

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }
    async fn complete(&self, _: &Request) -> Result<Reply, ModelError> {
        panic!("only conversations are scripted")
    }
    async fn talk(&self, chat: &Chat, _: Option<&Listener>) -> Result<Answer, ModelError> {
        let system = chat.turns.iter().find_map(|turn| match turn {
            Turn::System { text } => Some(text.clone()),
            _ => None,
        });
        // Asked what a request foresees, it says: nothing.
        if system.as_deref().is_some_and(|system| system.starts_with("You read the request of one person.")) {
            return Ok(says("{}"));
        }
        let said = chat.turns.iter().filter(|turn| matches!(turn, Turn::Assistant { .. })).count();
        let (_, replies) = self.0.iter().find(|(who, _)| system.as_deref() == Some(who)).expect("a script");
        Ok(replies.get(said).or(replies.last()).expect("a reply").clone())
    }
}

pub(crate) fn says(text: &str) -> Answer {
    Answer { text: text.into(), ..Answer::default() }
}

pub(crate) fn calls(name: &str, arguments: Json) -> Answer {
    let Json::Object(arguments) = arguments else { panic!("an object") };
    let arguments = Arguments::Json(arguments);
    let call = ToolCall { id: "1".into(), name: name.into(), arguments, signature: None };
    Answer { calls: vec![call], ..Answer::default() }
}

fn nonsense() -> Answer {
    let arguments = Arguments::Nonsense { raw: "{name: ".into(), problem: "no JSON".into() };
    let call = ToolCall { id: "1".into(), name: "shop_find".into(), arguments, signature: None };
    Answer { calls: vec![call], ..Answer::default() }
}

fn scope() -> Scope {
    Scope::User(user())
}

/// A decision over what waits now.
pub(crate) async fn decided(shop: &Shop, task: TaskId, action: HumanAction) -> Decided {
    let waiting = shop.toolbox.approvals().list(&Scope::System).await.unwrap();
    let shown = waiting.iter().find(|one| one.task == task).map(|one| one.digest.parse().unwrap());
    let shown = shown.unwrap_or_else(|| "0".repeat(64).parse().unwrap());
    let by = Label::new("bob").unwrap();
    Decided { action, message: String::new(), updates: JsonObject::new(), by, from: "test".into(), shown }
}

/// A runner as another process would have one: a toolbox and a name of its own.
pub(crate) async fn runner(shop: &Shop, name: &str, models: Models) -> Runner {
    let toolbox = Arc::new(Shop::toolbox(&shop.fixture).await);
    let holder = LeaseHolder { name: Label::new(name).unwrap(), lease: Duration::from_secs(2) };
    let home = shop.fixture.folder.path().to_owned();
    Runner::new(toolbox, Arc::new(models), home).unwrap().held_by(holder)
}

pub(crate) fn quiet() -> TaskObserver {
    Arc::new(|_, _| {})
}

pub(crate) fn once() -> ServiceOptions {
    ServiceOptions { until_empty: true, ..ServiceOptions::default() }
}

fn define_look(shop: &Shop, name: &str, tool: &str) {
    let nodes = json!({ "look": { "type": "tool", "tool": tool, "arguments": { "name": "${input.name}" } } });
    let look = json!({
        "name": name, "patterns": ["react"], "entry_point": "look", "nodes": nodes,
        "edges": [{ "from": "look", "to": "__end__" }],
    });
    shop.define("workflows", name, &look);
}

pub(crate) fn define_agent(shop: &Shop, name: &str, tools: &[&str], below: &[&str]) {
    let agent = json!({
        "name": name, "role": name, "system_prompt": name, "tools": tools, "sub_agents": below, "max_iterations": 6,
        "llm_config": { "model": "scripted" },
    });
    shop.define("agents", name, &agent);
}

pub(crate) async fn status(shop: &Shop, task: TaskId) -> TaskStatus {
    shop.fixture.app.store.task(&Scope::System, task).await.unwrap().unwrap().status
}

#[tokio::test]
async fn two_workers_run_each_queued_task_once() {
    let shop = Shop::open(NEVER).await;
    define_look(&shop, "look", "shop.delete");
    let submitter = runner(&shop, "submitter", Models::default()).await;
    let mut tasks = Vec::new();
    for n in 0..12 {
        let user = UserId::new(format!("user{}", n % 2)).unwrap();
        tasks.push(submitter.submit(&user, "look", &json!({ "name": format!("pen{n}") })).await.unwrap());
    }
    assert_eq!(status(&shop, tasks[0]).await, TaskStatus::Pending);
    let (one, two) = (
        Service::new(runner(&shop, "one", Models::default()).await, once()),
        Service::new(runner(&shop, "two", Models::default()).await, once()),
    );
    let (a, b) =
        tokio::join!(one.run(CancellationToken::new(), quiet()), two.run(CancellationToken::new(), quiet()));
    a.unwrap();
    b.unwrap();
    for task in tasks {
        assert_eq!(status(&shop, task).await, TaskStatus::Completed);
    }
    assert_eq!(shop.ledger().len(), 12, "each once");
}

#[tokio::test]
async fn task_cancelled_elsewhere_gets_no_writes() {
    let shop = Shop::open(NEVER).await;
    define_look(&shop, "slow", "shop.delete");
    shop.toolbox.look_at("shop").await.unwrap();
    shop.write("hang", "");
    let (watch, mut began) = task_listener();
    let first = runner(&shop, "first", Models::default()).await;
    let mut running = JoinSet::new();
    running.spawn(async move { first.start(&user(), "slow", json!({ "name": "pen" }), Some(watch)).await });
    let task = began.recv().await.unwrap();
    shop.was_called().await;
    let other = runner(&shop, "other", Models::default()).await;
    let busy = other.resume(&scope(), task, None).await.unwrap_err();
    assert!(busy.to_string().contains("worked on by first"), "{busy}");
    // A decision over a task that waits for nobody does not take it away either.
    let approved = decided(&shop, task, HumanAction::Approve).await;
    let refused = other.decide(&scope(), task, approved, None).await.unwrap_err();
    assert!(matches!(refused, steward_runtime::Error::NotWaiting(_)), "{refused}");
    let ran = other.cancel(&scope(), task, &Label::new("bob").unwrap()).await.unwrap();
    assert!(matches!(ran.standing, RunStatus::Cancelled(_)), "{ran:?}");
    let entries = shop.fixture.app.store.entries(&scope(), task.into(), 0, 100).await.unwrap().len();
    // The first finds at its next sign of life that the task is another's, and lets go.
    let lost = running.join_next().await.unwrap().unwrap().unwrap_err();
    assert!(lost.to_string().contains("lease") || lost.to_string().contains("STO017"), "{lost}");
    assert_eq!(status(&shop, task).await, TaskStatus::Cancelled);
    let after = shop.fixture.app.store.entries(&scope(), task.into(), 0, 100).await.unwrap().len();
    assert_eq!(entries, after, "nothing was written after");
}

#[tokio::test]
async fn long_run_keeps_its_lease() {
    let shop = Shop::open("").await;
    // Many short waits in a row, for longer than the lease of two seconds.
    let wait = |n: usize, next: &str| {
        let node = json!({ "type": "tool", "tool": "shop.find", "arguments": { "name": format!("pen{n}") } });
        (node, json!({ "from": format!("n{n}"), "to": next }))
    };
    let (mut nodes, mut edges) = (serde_json::Map::new(), Vec::new());
    for n in 0..40 {
        let next = if n == 39 { "__end__".to_owned() } else { format!("n{}", n + 1) };
        let (node, edge) = wait(n, &next);
        nodes.insert(format!("n{n}"), node);
        edges.push(edge);
    }
    let long =
        json!({ "name": "long", "patterns": ["react"], "entry_point": "n0", "nodes": nodes, "edges": edges });
    shop.define("workflows", "long", &long);
    shop.write("delay", "0.1");
    let one = runner(&shop, "one", Models::default()).await;
    let (watch, mut began) = task_listener();
    let mut running = JoinSet::new();
    running.spawn(async move { one.start(&user(), "long", json!({}), Some(watch)).await });
    let task = began.recv().await.unwrap();
    let store = shop.fixture.app.store.clone();
    // Somebody who looks for work all the while finds none.
    let other = Label::new("other").unwrap();
    while running.try_join_next().is_none_or(|ran| {
        assert!(matches!(ran.unwrap().unwrap().standing, RunStatus::Completed(_)));
        false
    }) {
        let now = shop.fixture.app.clock.now();
        let found = store.claim(&other, now, Duration::from_secs(2), 9, 9).await.unwrap();
        assert!(found.is_empty(), "{found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(status(&shop, task).await, TaskStatus::Completed);
}

#[tokio::test]
async fn supervisor_sleeps_while_sub_agent_waits() {
    let shop = Shop::open("tools: { shop.delete: { approval: always } }").await;
    define_agent(&shop, "boss", &[], &["clerk"]);
    define_agent(&shop, "clerk", &["shop.delete"], &[]);
    let script = || {
        let script = Scripted(vec![
            ("boss", vec![calls("clerk", json!({ "task": "delete the pen" })), says("it is done")]),
            ("clerk", vec![calls("shop_delete", json!({ "name": "pen" })), says("deleted the pen")]),
        ]);
        Models::default().with("scripted", Arc::new(script))
    };
    let ran = runner(&shop, "one", script()).await.start(&user(), "boss", json!("go"), None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Waiting);
    assert!(shop.ledger().is_empty());
    let waiting = shop.toolbox.approvals().list(&scope()).await.unwrap();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    let clerk = waiting[0].task;
    assert_ne!(clerk, ran.task, "the agent's own task is asked about");
    // Another process: the decision carries the agent on, and then the supervisor.
    let other = runner(&shop, "two", script()).await;
    let done =
        other.decide(&scope(), clerk, decided(&shop, clerk, HumanAction::Approve).await, None).await.unwrap();
    assert_eq!(done.standing, RunStatus::Completed(json!("deleted the pen")));
    assert_eq!(status(&shop, ran.task).await, TaskStatus::Completed);
    let boss = shop.fixture.app.store.task(&scope(), ran.task).await.unwrap().unwrap();
    assert_eq!(boss.result.as_deref(), Some("it is done"));
    assert_eq!(shop.ledger(), ["delete"]);
    // What one agent was told never reaches the other: each has a history of its own.
    let (_, events) =
        steward_runtime::run::history(&*shop.fixture.app.store, &scope(), ran.task).await.unwrap();
    assert!(!serde_json::to_string(&events).unwrap().contains("shop_delete"));
}

#[tokio::test]
async fn stopped_worker_drains_and_hands_over() {
    let shop = Shop::open("").await;
    define_look(&shop, "look", "shop.find");
    let submitter = runner(&shop, "submitter", Models::default()).await;
    let mut tasks = Vec::new();
    for n in 0..30 {
        tasks.push(submitter.submit(&user(), "look", &json!({ "name": format!("pen{n}") })).await.unwrap());
    }
    let stop = CancellationToken::new();
    let options = ServiceOptions { at_once: 2, per_user: 2, ..ServiceOptions::default() };
    let service = Service::new(runner(&shop, "one", Models::default()).await, options);
    let first = stop.clone();
    let told: TaskObserver = Arc::new(move |_, _| first.cancel());
    service.run(stop, told).await.unwrap();
    let mut states = Vec::new();
    for task in &tasks {
        states.push(status(&shop, *task).await);
    }
    assert!(states.contains(&TaskStatus::Pending), "the rest still waits");
    assert!(
        states.iter().all(|state| matches!(state, TaskStatus::Pending | TaskStatus::Completed)),
        "{states:?}"
    );
    Service::new(runner(&shop, "two", Models::default()).await, once())
        .run(CancellationToken::new(), quiet())
        .await
        .unwrap();
    for task in tasks {
        assert_eq!(status(&shop, task).await, TaskStatus::Completed);
    }
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "somebody who touches the file does not come through the store")]
async fn run_is_inspected_and_replayed_without_calls() {
    let shop = Shop::open(NEVER).await;
    define_look(&shop, "look", "shop.find");
    let runner = runner(&shop, "one", Models::default()).await;
    let ran = runner.start(&user(), "look", json!({ "name": "pen" }), None).await.unwrap();
    let store = &*shop.fixture.app.store;
    let begun = at(store, &scope(), ran.task, 1).await.unwrap();
    assert_eq!((begun.step, !begun.effects.is_empty()), (1, true));
    assert!(at(store, &scope(), ran.task, 99).await.unwrap_err().to_string().contains("no step 99"));
    let replayed = runner.replay(&scope(), ran.task, None).await.unwrap();
    assert_eq!((replayed.parted.clone(), replayed.calls), (None, 1));
    assert_eq!(replayed.standing, ran.standing);
    // Another definition goes another way, and the step is told.
    define_look(&shop, "look", "shop.delete");
    let other = runner.program("look").await.unwrap();
    let replayed = runner.replay(&scope(), ran.task, Some(other)).await.unwrap();
    assert_eq!(replayed.parted.map(|parted| parted.step), Some(1));
    assert_eq!(shop.ledger(), ["find"], "nothing was called again");
    // What was stored of a step cannot be changed unseen.
    let file = rusqlite::Connection::open(shop.fixture.folder.path().join("state.db")).unwrap();
    let touched = "UPDATE checkpoint SET body = replace(body, 'pen', 'gun') WHERE sequence = 2";
    assert_eq!(file.execute(touched, []).unwrap(), 1);
    let told = runner.replay(&scope(), ran.task, None).await.unwrap_err().to_string();
    assert!(told.contains("is not the one in the journal"), "{told}");
}

#[tokio::test]
async fn a_model_that_does_not_behave_ends_in_a_failed_task() {
    let shop = Shop::open("tools: { shop.find: { approval: never } }").await;
    define_agent(&shop, "agent", &["shop.find"], &[]);
    let rows = [
        ("arguments that are no JSON", nonsense()),
        ("the same call for ever", calls("shop_find", json!({ "name": "pen" }))),
        ("a tool that nobody has", calls("launch_rocket", json!({}))),
        ("nothing at all", says("")),
    ];
    for (what, reply) in rows {
        let models = Models::default().with("scripted", Arc::new(Scripted(vec![("agent", vec![reply])])));
        let runner = runner(&shop, "one", models).await;
        let ran = runner.start(&user(), "agent", json!("go"), None).await.unwrap();
        let RunStatus::Failed(why) = &ran.standing else { panic!("{what}: {ran:?}") };
        assert!(!why.is_empty(), "{what}");
        assert_eq!(status(&shop, ran.task).await, TaskStatus::Failed, "{what}");
    }
    assert!(shop.ledger().len() <= 6, "a loop is noticed: {:?}", shop.ledger());
}
