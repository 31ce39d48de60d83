//! Gates: each is decided once, and an approval releases one call, even with concurrent requests.

use super::samples::*;
use crate::{Change, Commit, Error, GateDecision, Scope, Store, Verdict};
use serde_json::json;
use std::sync::Arc;
use steward_domain::*;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// Number of concurrent decisions.
const DECIDERS: usize = 16;

/// Number of rounds: fifty, or the value of `STEWARD_APPROVAL_ROUNDS` for the long test.
fn rounds() -> u64 {
    std::env::var("STEWARD_APPROVAL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(50)
}

fn decision(gate: Gate, verdict: Verdict, call: Option<CallId>) -> GateDecision {
    let (digest, by) = (fingerprint(), Label::new("bob").unwrap());
    GateDecision { gate, digest, verdict, by, at: at(1), call }
}

fn call() -> Option<CallId> {
    Some(CallId(uuid()))
}

/// The decision with the entry of the call that it releases, in one commit.
fn released(user: &UserId, decided: GateDecision) -> Commit {
    Commit::new(user.clone(), decided.gate.task)
        .entry(draft(EventType::ToolCalled, json!({ "call_id": decided.call })))
        .change(Change::Decide(decided))
}

async fn decide(store: &dyn Store, user: &UserId, decided: GateDecision) -> bool {
    match store.commit(&scope(user), released(user, decided)).await {
        Ok(_) => true,
        Err(Error::Decided { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

async fn calls(store: &dyn Store, user: &UserId, task: TaskId) -> usize {
    store.entries(&scope(user), task.into(), 0, 100).await.unwrap().len()
}

pub(super) async fn one_of_many_decisions_counts(store: Arc<dyn Store>) {
    let user = user();
    for number in 0..rounds() {
        let gate = Gate { task: TaskId(uuid()), number };
        let start = Arc::new(Barrier::new(DECIDERS));
        let mut deciders = JoinSet::new();
        for decider in 0..DECIDERS {
            let (store, user, start) = (store.clone(), user.clone(), start.clone());
            let verdict = if decider % 4 == 3 { Verdict::Rejected } else { Verdict::Approved };
            let call = if verdict == Verdict::Approved { call() } else { None };
            deciders.spawn(async move {
                start.wait().await;
                decide(&*store, &user, decision(gate, verdict, call)).await
            });
        }
        let counted = deciders.join_all().await.into_iter().filter(|counted| *counted).count();
        assert_eq!(counted, 1, "round {number}");
        assert_eq!(calls(&*store, &user, gate.task).await, 1, "round {number}: the others left no entry");
    }
}

pub(super) async fn an_approval_releases_one_call(store: Arc<dyn Store>) {
    let user = user();
    let gate = Gate { task: TaskId(uuid()), number: 1 };
    assert!(decide(&*store, &user, decision(gate, Verdict::Approved, None)).await);
    assert!(!decide(&*store, &user, decision(gate, Verdict::Approved, None)).await, "decided twice");
    let first = call();
    assert!(decide(&*store, &user, decision(gate, Verdict::Approved, first)).await);
    assert!(
        decide(&*store, &user, decision(gate, Verdict::Approved, first)).await,
        "the same call, tried again"
    );
    assert!(!decide(&*store, &user, decision(gate, Verdict::Approved, call())).await, "another call");
    assert!(!decide(&*store, &user, decision(gate, Verdict::Rejected, None)).await, "too late");
    // Another gate of the same task, and the same gate of another user, are independent.
    assert!(decide(&*store, &user, decision(Gate { number: 2, ..gate }, Verdict::Rejected, None)).await);
    assert!(!decide(&*store, &user, decision(Gate { number: 2, ..gate }, Verdict::Approved, call())).await);
    let other = super::samples::user();
    let elsewhere = decision(gate, Verdict::Approved, call());
    let commit = Commit::new(other.clone(), TaskId(uuid())).change(Change::Decide(elsewhere));
    store.commit(&scope(&other), commit).await.unwrap();
}

pub(super) async fn a_refused_decision_writes_nothing(store: Arc<dyn Store>) {
    let user = user();
    let task = task(&user, 1);
    let gate = Gate { task: task.id, number: 0 };
    let put = Commit::new(user.clone(), task.id).change(Change::PutTask(task.clone()));
    store.commit(&scope(&user), put).await.unwrap();
    assert!(decide(&*store, &user, decision(gate, Verdict::Rejected, None)).await);
    let started = task.clone().start(at(2)).unwrap();
    let late = released(&user, decision(gate, Verdict::Approved, call())).change(Change::PutTask(started));
    assert!(matches!(store.commit(&scope(&user), late).await, Err(Error::Decided { .. })));
    let found = store.task(&Scope::User(user.clone()), task.id).await.unwrap().unwrap();
    assert_eq!(found.status, task.status);
    // The entry that seals the task's row, and the decision that was taken.
    assert_eq!(calls(&*store, &user, task.id).await, 2);
}
