//! The process that `cargo xtask crash` kills: a worker, whoever hands it tasks, and whoever looks
//! at what is left.
//!
//! `crash_runs points` lists the places where it can be let die. `crash_runs submit HOME STORE
//! FIRST COUNT`, `crash_runs work HOME STORE NAME LEASE_SECONDS [--until-empty]`, `crash_runs ask
//! HOME STORE 0 [--end-cut-off]` (one question after the other), `crash_runs chat HOME STORE FIRST
//! [--end-cut-off]` (one note after the other), `crash_runs check_questions HOME STORE`,
//! `crash_runs settle HOME STORE` (a person says of every call with an unknown outcome that it
//! failed), `crash_runs check HOME STORE LEDGER`, `crash_runs submit_waits HOME STORE FIRST COUNT`
//! (runs with a map, a timer, a sub-workflow and a signal, which is sent twice), `crash_runs
//! check_waits HOME STORE LEDGER`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test's own program may fail loudly"
)]

mod app;

use app::{store_options, toolbox};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steward_domain::{
    Constraints, Deliverable, EventType, HumanAction, JsonObject, Label, RequestPolicy, TaskStatus, UserId,
};
use steward_models::Models;
use steward_policy::Caller;
use steward_runtime::ProgressEvent;
use steward_runtime::ask::{Ask, Planner};
use steward_runtime::converse::{ChatService, Limits, Outcome, Turn};
use steward_runtime::crash::CrashPoint;
use steward_runtime::run::{
    Decided, LeaseHolder, NewSignal, RunStatus, Runner, Service, ServiceOptions, end_interrupted,
};
use steward_store::postgres::PostgresStore;
use steward_store::sqlite::SqliteStore;
use steward_store::{ConversationFilter, Page, Scope, Store, TaskFilter};
use tokio_util::sync::CancellationToken;

async fn store(home: &Path, address: &str) -> Arc<dyn Store> {
    match address.strip_prefix("sqlite:") {
        Some(path) => Arc::new(SqliteStore::open(Path::new(path), store_options(home)).expect("a store")),
        None => Arc::new(PostgresStore::open(address, store_options(home)).await.expect("a store")),
    }
}

fn user(n: usize) -> UserId {
    UserId::new(format!("user{}", n % 3)).expect("a name")
}

async fn tasks(store: &dyn Store) -> Vec<steward_domain::Task> {
    let mut all = Vec::new();
    loop {
        let page = Page { limit: 500, offset: u32::try_from(all.len()).expect("not so many") };
        let found = store.tasks(&Scope::System, TaskFilter { status: None }, page).await.expect("tasks");
        if found.is_empty() {
            return all;
        }
        all.extend(found.into_iter().map(|task| task.into_inner()));
    }
}

async fn work(home: &Path, address: &str, name: &str, lease: f64, until_empty: bool) {
    let began = Instant::now();
    let toolbox = Arc::new(toolbox(home, store(home, address).await).await);
    let holder =
        LeaseHolder { name: Label::new(name).expect("a name"), lease: Duration::from_secs_f64(lease) };
    let runner = Runner::new(toolbox.clone(), Arc::new(Models::default()), home.to_owned())
        .expect("a runner")
        .held_by(holder);
    let options = ServiceOptions { at_once: 8, per_user: 4, until_empty, ..ServiceOptions::default() };
    let told = Arc::new(move |task, ran: &Result<steward_runtime::run::Ran, String>| {
        let word = match ran {
            Ok(ran) => format!("{:?}", ran.standing).replace('\n', " "),
            Err(why) => format!("left {why}"),
        };
        // One write of one line: it reaches the pipe whole or not at all.
        let line = format!("{} {task} {word}\n", began.elapsed().as_millis());
        let _receiver_closed_in_example = std::io::stdout().write_all(line.as_bytes());
    });
    Service::new(runner, options).run(CancellationToken::new(), told).await.expect("the worker ends well");
    toolbox.close().await;
}

/// A person says that what nobody knows did not happen, so that every task ends.
async fn settle(home: &Path, address: &str) -> usize {
    let store = store(home, address).await;
    let toolbox = Arc::new(toolbox(home, store.clone()).await);
    let runner =
        Runner::new(toolbox.clone(), Arc::new(Models::default()), home.to_owned()).expect("a runner");
    let mut settled = 0;
    let waiting = toolbox.approvals().list(&Scope::System).await.expect("what waits");
    for task in tasks(&*store).await.into_iter().filter(|task| task.status == TaskStatus::Paused) {
        let shown = waiting.iter().find(|one| one.task == task.id).expect("a question");
        let decided = Decided {
            action: HumanAction::Reject,
            message: "nobody knows".into(),
            updates: JsonObject::new(),
            by: Label::new("harness").expect("a name"),
            from: "crash".into(),
            shown: shown.shown().expect("a digest").digest,
        };
        let ran = runner
            .decide(&Scope::User(task.user_id.clone()), task.id, decided, None)
            .await
            .expect("a decision");
        assert!(
            matches!(ran.standing, RunStatus::Failed(_) | RunStatus::Completed(_) | RunStatus::Waiting),
            "{ran:?}"
        );
        settled += 1;
    }
    toolbox.close().await;
    settled
}

/// What is left must fit together: the tasks, their journals, and what the tools wrote down
/// themselves.
async fn check(home: &Path, address: &str, ledger: &Path) -> serde_json::Value {
    let store = store(home, address).await;
    let all = tasks(&*store).await;
    let mut by_status: BTreeMap<String, usize> = BTreeMap::new();
    for task in &all {
        *by_status.entry(format!("{:?}", task.status)).or_default() += 1;
        let scope = Scope::System;
        let rows = store.checkpoints(&scope, task.id).await.expect("rows");
        for (place, row) in rows.iter().enumerate() {
            assert_eq!(row.sequence, place as u64, "task {}: the rows have a gap or a double", task.id);
        }
        // Each piece of work has one answer: two workers would have left two.
        let mut answered: BTreeMap<u64, usize> = BTreeMap::new();
        let mut after = 0;
        loop {
            let entries = store.entries(&scope, task.id.into(), after, 1000).await.expect("entries");
            let Some(last) = entries.last() else { break };
            after = last.entry.sequence;
            for entry in entries.iter().filter(|entry| entry.entry.event_type == EventType::StepRecorded) {
                let data: serde_json::Value = serde_json::from_str(&entry.entry.event_data).expect("JSON");
                if let Some(effect) = data["effect"].as_u64() {
                    *answered.entry(effect).or_default() += 1;
                }
            }
        }
        assert!(
            answered.values().all(|times| *times == 1),
            "task {}: a step was taken twice: {answered:?}",
            task.id
        );
    }
    let mut lines: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(ledger).unwrap_or_default().lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        lines.entry((parts[0].into(), parts[1].into())).or_default().push(parts[2].into());
    }
    let doubles: Vec<_> = lines.iter().filter(|(_, keys)| keys.len() > 1).collect();
    assert!(doubles.is_empty(), "effects that happened twice: {doubles:?}");
    for task in all.iter().filter(|task| task.status == TaskStatus::Completed) {
        let n =
            task.result.as_deref().and_then(|result| serde_json::from_str::<serde_json::Value>(result).ok());
        let n = n.and_then(|result| result["n"].as_i64()).expect("a number");
        for (what, place) in [("keyed", 1), ("put", 2), ("keyed", 3)] {
            let there = lines.contains_key(&(what.to_owned(), format!("{n}.{place}")));
            assert!(there, "task {} is completed, and {what} {n}.{place} never happened", task.id);
        }
    }
    steward_store::audit::verify(&*store, store_options(home).signer.verifier(), None)
        .await
        .expect("the log verifies");
    json!({ "tasks": all.len(), "by_status": by_status, "effects": lines.len() })
}

/// Submits runs that wait, and sends each its signal twice under one key.
async fn submit_waits(home: &Path, address: &str, first: usize, count: usize) {
    let toolbox = Arc::new(toolbox(home, store(home, address).await).await);
    let runner =
        Runner::new(toolbox.clone(), Arc::new(Models::default()), home.to_owned()).expect("a runner");
    for n in first..first + count {
        let task = runner.submit(&user(n), "waits", &json!({ "n": n })).await.expect("a task");
        for _ in 0..2 {
            let (name, key) = ("go".to_owned(), Some(format!("key-{n}")));
            let by = Label::new("harness").expect("a name");
            let new = NewSignal { task, name, data: json!({ "n": n }), key, by };
            runner.signal(&Scope::System, new).await.expect("a signal");
        }
    }
    toolbox.close().await;
}

/// Every run has completed with each effect once, has taken its signal once, and its sub-workflow
/// is one task that names it.
async fn check_waits(home: &Path, address: &str, ledger: &Path) -> serde_json::Value {
    let store = store(home, address).await;
    let (mut open, mut signals, mut parents) = (Vec::new(), 0, 0);
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(ledger).unwrap_or_default().lines() {
        *done.entry(line.split(' ').nth(1).unwrap_or_default().to_owned()).or_default() += 1;
    }
    let doubles: Vec<_> = done.iter().filter(|(_, times)| **times > 1).collect();
    assert!(doubles.is_empty(), "effects that happened twice: {doubles:?}");
    let all = tasks(&*store).await;
    for task in &all {
        if task.status != TaskStatus::Completed {
            open.push(format!("{} {:?} {:?}", task.id, task.status, task.error));
            continue;
        }
        if task.parent_task_id.is_some() {
            continue;
        }
        parents += 1;
        let result: serde_json::Value =
            serde_json::from_str(task.result.as_deref().unwrap_or_default()).expect("a result");
        let n = result["n"].as_i64().expect("a number");
        for place in [0, 1, 2, 3, 9] {
            assert!(done.contains_key(&format!("{n}.{place}")), "{n}.{place} never happened");
        }
        let (_, events) =
            steward_runtime::run::history(&*store, &Scope::System, task.id).await.expect("events");
        let taken =
            events.iter().filter(|event| matches!(event, steward_engine::Event::Signalled { .. })).count();
        assert_eq!(taken, 1, "task {}: its signal counts once", task.id);
        signals += taken;
        let lineage =
            steward_runtime::run::lineage(&*store, &Scope::System, task.id).await.expect("a lineage");
        assert_eq!(lineage.children.len(), 1, "task {}: one sub-workflow", task.id);
        assert!(
            all.iter().any(|child| child.parent_task_id == Some(task.id) && child.id == lineage.children[0])
        );
    }
    steward_store::audit::verify(&*store, store_options(home).signer.verifier(), None)
        .await
        .expect("the log verifies");
    json!({ "runs": parents, "open": open, "signals": signals, "effects": done.len() })
}

/// Asks one question after the other, and says which task each of them is. With a sweep it first
/// ends what an earlier process left behind.
async fn ask(home: &Path, address: &str, sweep: bool) {
    let toolbox = toolbox(home, store(home, address).await).await;
    let app = toolbox.app();
    if sweep {
        end_interrupted(app, &Scope::System).await.expect("a sweep");
    }
    let told = |event: ProgressEvent| {
        if let ProgressEvent::Started(task) = event {
            // One write of one line: it reaches the pipe whole or not at all.
            let _receiver_closed_in_example = std::io::stdout().write_all(format!("{task}\n").as_bytes());
        }
    };
    for n in 0.. {
        let question = Ask {
            question: ["total amount by state", "average amount by month; chart"][n % 2].to_owned(),
            data: vec![home.join("sales.csv").display().to_string()],
            conversation: None,
            user: user(n),
            deliver: vec![Deliverable::Summary],
            out: None,
            planner: Some(Planner::Local),
            policy: RequestPolicy::default(),
            tables: BTreeMap::new(),
            rows: Default::default(),
            constraints: Constraints::default(),
        };
        app.ask(&question, &told).await.expect("an answer");
    }
}

/// Writes one note after the other by saying so, from this number on, and says which task each turn
/// is.
async fn chat(home: &Path, address: &str, first: usize, sweep: bool) {
    let toolbox = Arc::new(toolbox(home, store(home, address).await).await);
    if sweep {
        end_interrupted(toolbox.app(), &Scope::System).await.expect("a sweep");
    }
    let chat = ChatService::new(toolbox, Limits::default());
    let told = |event: ProgressEvent| {
        if let ProgressEvent::Started(task) = event {
            let _receiver_closed_in_example = std::io::stdout().write_all(format!("{task}\n").as_bytes());
        }
    };
    for n in first.. {
        let turn = Turn {
            said: format!("create a note called Chore{n}"),
            conversation: None,
            caller: Caller::owner(user(n)),
            data: Vec::new(),
            choice: None,
        };
        let reply = chat.say(&turn, &told).await.expect("a reply");
        assert_eq!(reply.outcome, Outcome::Answered, "{}", reply.response.answer);
    }
}

/// The notes that were written, with how often each was.
fn notes(home: &Path) -> BTreeMap<String, usize> {
    let mut notes = BTreeMap::new();
    let Ok(file) = rusqlite::Connection::open(home.join("notes.db")) else { return notes };
    let mut rows = file.prepare("SELECT title FROM notes WHERE title LIKE 'Chore%'").expect("notes");
    let titles = rows.query_map([], |row| row.get::<_, String>(0)).expect("titles");
    titles.for_each(|title| *notes.entry(title.expect("a title")).or_default() += 1);
    notes
}

/// Every question has ended, with one answer in its journal and in its conversation, or with a
/// reason.
async fn check_questions(home: &Path, address: &str) -> serde_json::Value {
    let store = store(home, address).await;
    let all = tasks(&*store).await;
    let mut messages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for n in 0..3 {
        let scope = Scope::User(user(n));
        let mut page = Page::first(200);
        loop {
            let found = store.conversations(&scope, ConversationFilter::default(), page).await.expect("all");
            for conversation in &found {
                let said = store.history(&scope, conversation.id, Page::first(50)).await.expect("messages");
                for message in &said {
                    let Some(task) = message.metadata.get("request_id") else { continue };
                    let of = messages.entry(task.as_str().unwrap_or("").to_owned()).or_default();
                    of.push(message.content.to_string());
                }
            }
            if found.len() < 200 {
                break;
            }
            page.offset += 200;
        }
    }
    let (mut open, mut answered, mut ended) = (0, 0, 0);
    let mut unexplained: Vec<String> = Vec::new();
    let notes = notes(home);
    let mut twice = notes.values().filter(|times| **times > 1).count();
    for task in &all {
        let said = messages.get(&task.id.to_string()).map(Vec::as_slice).unwrap_or_default();
        twice += usize::from(said.len() > 1);
        match task.status {
            TaskStatus::Completed if let [answer] = said => {
                let note = task.description.as_str().strip_prefix("create a note called ");
                let is_missing = note.is_some_and(|note| !notes.contains_key(note));
                // On a busy machine the server of the notes may be late. A turn that says so has a
                // reason; one that claims a note that is not there has none.
                match answer.as_str() {
                    text if is_missing && text.starts_with("Created") => {
                        unexplained.push(format!("{}: {text}", task.description.as_str()));
                    }
                    _ if is_missing => ended += 1,
                    _ => answered += 1,
                }
            }
            TaskStatus::Failed if task.error.as_deref().is_some_and(|why| !why.is_empty()) => ended += 1,
            TaskStatus::Completed | TaskStatus::Failed => {
                unexplained.push(format!("{}: {:?}", task.description.as_str(), task.error));
            }
            _ => open += 1,
        }
    }
    steward_store::audit::verify(&*store, store_options(home).signer.verifier(), None)
        .await
        .expect("the log verifies");
    let ids: Vec<String> = all.iter().map(|task| task.id.to_string()).collect();
    json!({
        "notes": notes.len(), "tasks": ids, "open": open, "answered": answered, "ended": ended, "twice": twice,
        "unexplained": unexplained,
    })
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args[0] == "points" {
        CrashPoint::ALL.iter().for_each(|point| println!("{}", point.name()));
        return;
    }
    if args[0] == "workflow_points" {
        CrashPoint::OF_WORKFLOWS.iter().for_each(|point| println!("{}", point.name()));
        return;
    }
    if args[0] == "question_points" {
        CrashPoint::OF_QUESTIONS.iter().for_each(|point| println!("{}", point.name()));
        return;
    }
    if args[0] == "turn_points" {
        CrashPoint::OF_TURNS.iter().for_each(|point| println!("{}", point.name()));
        return;
    }
    let (home, address) = (Path::new(&args[1]), args[2].as_str());
    match args[0].as_str() {
        "ask" => ask(home, address, args.iter().any(|arg| arg == "--end-cut-off")).await,
        "chat" => {
            let first = args[3].parse().expect("a number");
            chat(home, address, first, args.iter().any(|arg| arg == "--end-cut-off")).await;
        }
        "check_questions" => println!("{}", check_questions(home, address).await),
        "submit" => {
            let (first, count): (usize, usize) =
                (args[3].parse().expect("a number"), args[4].parse().expect("a number"));
            let toolbox = Arc::new(toolbox(home, store(home, address).await).await);
            let runner =
                Runner::new(toolbox.clone(), Arc::new(Models::default()), home.to_owned()).expect("a runner");
            for n in first..first + count {
                runner.submit(&user(n), "chain", &json!({ "n": n })).await.expect("a task");
            }
            toolbox.close().await;
        }
        "submit_waits" => {
            let (first, count): (usize, usize) =
                (args[3].parse().expect("a number"), args[4].parse().expect("a number"));
            submit_waits(home, address, first, count).await;
        }
        "check_waits" => println!("{}", check_waits(home, address, Path::new(&args[3])).await),
        "work" => {
            let until_empty = args.iter().any(|arg| arg == "--until-empty");
            work(home, address, &args[3], args[4].parse().expect("seconds"), until_empty).await;
        }
        "settle" => println!("{}", settle(home, address).await),
        "check" => println!("{}", check(home, address, Path::new(&args[3])).await),
        other => panic!("{other} is not known"),
    }
}
