//! Measures the cost of the two commits of a call: an intent and then its receipt, each awaited.
//! `commit_pairs synced` syncs both; `commit_pairs with_next` syncs the intent together with its
//! receipt. The second argument is the folder to write to.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a measurement may fail loudly"
)]

use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steward_domain::{EventType, TaskId};
use steward_journal::clock::SystemClock;
use steward_journal::note::NoteSigner;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_store::conformance::samples::{draft, scope, user, uuid};
use steward_store::sqlite::SqliteStore;
use steward_store::{Commit, Store, StoreOptions};

const PAIRS: usize = 1500;
const WARM: usize = 150;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let with_next = match arguments.next().as_deref() {
        Some("with_next") => true,
        Some("synced") => false,
        _ => panic!("commit_pairs synced|with_next [FOLDER]"),
    };
    let folder = match arguments.next() {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let folder = folder.expect("a folder");
    let options = StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: Arc::new(NoteSigner::new("steward.log/bench", &[1; 32]).expect("a key")),
    };
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&folder.path().join("state.db"), options).expect("a store"));
    for callers in [1, 8] {
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..callers {
            running.spawn(pairs(store.clone(), with_next));
        }
        let began = Instant::now();
        let (intents, receipts): (Vec<_>, Vec<_>) = running.join_all().await.into_iter().flatten().unzip();
        let rate = (callers * (PAIRS + WARM)) as f64 / began.elapsed().as_secs_f64();
        let whole = intents.iter().zip(&receipts).map(|(intent, receipt)| *intent + *receipt).collect();
        println!("callers: {callers}, {rate:.0} pairs a second");
        for (what, times) in [("intent", intents), ("receipt", receipts), ("both", whole)] {
            println!("  {what:8} {}", figures(times));
        }
    }
}

async fn pairs(store: Arc<dyn Store>, with_next: bool) -> Vec<(Duration, Duration)> {
    let (user, chain) = (user(), TaskId(uuid()));
    let mut times = Vec::new();
    for n in 0..PAIRS + WARM {
        let mut called = draft(EventType::ToolCalled, json!({ "call_id": n, "tool_name": "peer.add" }));
        called.personal.insert("arguments".into(), json!({ "a": n, "b": 2 }));
        let mut observed =
            draft(EventType::ObservationRecorded, json!({ "call_id": n, "status": "success" }));
        observed.personal.insert("data".into(), json!({ "sum": n + 2 }));
        let intent = Commit::new(user.clone(), chain).entry(called);
        let intent = if with_next { intent.with_next() } else { intent };
        let receipt = Commit::new(user.clone(), chain).entry(observed);
        let began = Instant::now();
        store.commit(&scope(&user), intent).await.expect("a commit");
        let intended = began.elapsed();
        store.commit(&scope(&user), receipt).await.expect("a commit");
        times.push((intended, began.elapsed() - intended));
    }
    times.split_off(WARM)
}

fn figures(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    format!("p50 {:6.0} µs, p90 {:6.0} µs, p99 {:6.0} µs", at(50), at(90), at(99))
}
