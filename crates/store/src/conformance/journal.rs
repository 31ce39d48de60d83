//! The journal in the store.

use super::samples::*;
use crate::audit::{prove, verify};
use crate::{Change, Commit, Error, Page, Scope, Store, TaskFilter};
use serde_json::json;
use std::sync::Arc;
use steward_domain::*;
use steward_journal::merkle::{is_consistent, leaf, root_from_inclusion};
use steward_journal::note::NoteVerifier;
use steward_journal::{ChainTip, Hash};

async fn key(store: &dyn Store) -> NoteVerifier {
    NoteVerifier::parse(&store.head().await.unwrap().unwrap().vkey).unwrap()
}

pub(super) async fn entries_and_state_are_one(store: Arc<dyn Store>) {
    let user = user();
    let task = task(&user, 1);
    let good = Commit::new(user.clone(), task.id)
        .entry(draft(EventType::TaskChanged, json!({ "status": "pending" })))
        .change(Change::PutTask(task.clone()));
    store.commit(&scope(&user), good).await.unwrap();
    // The last change fails, so the entry and the first change must not be there either.
    let bad = Commit::new(user.clone(), task.id)
        .entry(draft(EventType::TaskChanged, json!({ "status": "running" })))
        .change(Change::PutTask(task.clone().start(at(2)).unwrap()))
        .change(Change::AppendMessage(message(uuid().into(), "to nowhere", 3)));
    assert!(matches!(store.commit(&scope(&user), bad).await, Err(Error::NotFound { .. })));
    assert_eq!(store.task(&scope(&user), task.id).await.unwrap(), Some(task.clone()));
    assert_eq!(store.entries(&scope(&user), task.id.into(), 0, 9).await.unwrap().len(), 1);
    assert_eq!(store.chain(&scope(&user), task.id.into()).await.unwrap().unwrap().entries, 1);
}

pub(super) async fn chains_grow_without_gaps(store: Arc<dyn Store>) {
    let (user, chain) = (user(), ChainId(uuid()));
    for round in 0..5 {
        let all = (0..3).fold(Commit::new(user.clone(), TaskId(chain.0)), |all, i| {
            all.entry(draft(EventType::StepRecorded, json!({ "round": round, "i": i, "x": 0.1 })))
        });
        let sealed = store.commit(&scope(&user), all).await.unwrap().entries;
        assert_eq!(
            sealed.iter().map(|entry| entry.sequence).collect::<Vec<_>>(),
            [round * 3 + 1, round * 3 + 2, round * 3 + 3]
        );
    }
    let mut tip = ChainTip::empty(chain);
    for found in store.entries(&scope(&user), chain, 0, 99).await.unwrap() {
        found.entry.verify(&mut tip).unwrap();
    }
    assert_eq!(store.chain(&scope(&user), chain).await.unwrap(), Some(tip));
    assert_eq!(tip.entries, 15);
    assert_eq!(store.entries(&scope(&user), chain, 13, 1).await.unwrap()[0].entry.sequence, 14);
}

pub(super) async fn any_range_of_a_long_chain_is_read(store: Arc<dyn Store>) {
    let (user, chain) = (user(), ChainId(uuid()));
    let all = (0..300).fold(Commit::new(user.clone(), TaskId(chain.0)), |all, i| {
        all.entry(draft(EventType::StepRecorded, json!({ "i": i })))
    });
    store.commit(&scope(&user), all).await.unwrap();
    for (after, limit) in [
        (0, 1),
        (0, 64),
        (0, 300),
        (0, 1000),
        (63, 1),
        (64, 1),
        (64, 64),
        (100, 150),
        (299, 5),
        (300, 5),
        (255, 1),
    ] {
        let found = store.entries(&scope(&user), chain, after, limit).await.unwrap();
        let sequences: Vec<u64> = found.iter().map(|found| found.entry.sequence).collect();
        let expected: Vec<u64> = (after + 1..=300.min(after + u64::from(limit))).collect();
        assert_eq!(sequences, expected, "after {after}, at most {limit}");
    }
}

pub(super) async fn the_log_verifies_and_proves(store: Arc<dyn Store>) {
    let (user, task) = (user(), TaskId(uuid()));
    let one = |n: u64| Commit::new(user.clone(), task).entry(draft(EventType::Answered, json!({ "n": n })));
    store.commit(&scope(&user), one(1)).await.unwrap();
    let earlier = store.head().await.unwrap().unwrap();
    store.commit(&scope(&user), one(2)).await.unwrap();
    let verified = verify(&*store, &key(&*store).await, Some(&earlier.note)).await.unwrap();
    assert!(verified.signed > earlier.size, "{verified:?}");

    let proof = prove(&*store, &scope(&user), task.into(), 2, Some(earlier.size)).await.unwrap();
    let head = key(&*store).await.open(&proof.head).unwrap();
    let path =
        |hashes: &[String]| hashes.iter().map(|hash| Hash::from_base64(hash).unwrap()).collect::<Vec<_>>();
    let digest = Hash::from_hex(proof.digest.as_bytes()).unwrap();
    assert_eq!(
        root_from_inclusion(leaf(digest), proof.index, proof.size, &path(&proof.inclusion)),
        Some(head.root)
    );
    let consistency = proof.consistency.unwrap();
    assert!(is_consistent((earlier.size, earlier.root), (head.size, head.root), &path(&consistency.path)));
    assert!(prove(&*store, &scope(&user), task.into(), 3, None).await.is_err(), "there is no third entry");
}

pub(super) async fn payloads_erase_and_say_so(store: Arc<dyn Store>) {
    let (user, task) = (user(), TaskId(uuid()));
    let mut personal = draft(EventType::RequestSubmitted, json!({ "sources": 1 }));
    personal.personal.insert("intent".into(), json!("What does Jane earn?"));
    store.commit(&scope(&user), Commit::new(user.clone(), task).entry(personal)).await.unwrap();
    let payload = store.payloads(&scope(&user), task.into()).await.unwrap().remove(0);
    assert_eq!(payload.body.as_deref(), Some("\"What does Jane earn?\""));
    let before = verify(&*store, &key(&*store).await, None).await.unwrap();

    let erasure = Commit::new(user.clone(), task)
        .entry(draft(EventType::PayloadErased, json!({ "erased": payload.id.to_string() })))
        .change(Change::ErasePayload { id: payload.id, at: at(5) });
    store.commit(&scope(&user), erasure.clone()).await.unwrap();
    let left = store.payloads(&scope(&user), task.into()).await.unwrap().remove(0);
    assert_eq!((left.body, left.salt, left.erased_at), (None, None, Some(at(5))));
    let after = verify(&*store, &key(&*store).await, None).await.unwrap();
    assert!(after.erased > before.erased, "{before:?} {after:?}");
    assert!(
        matches!(store.commit(&scope(&user), erasure).await, Err(Error::NotFound { .. })),
        "what is erased cannot be erased again"
    );
}

/// Data from outside may look like one of our references; it must not make the log look damaged.
pub(super) async fn foreign_references_do_no_harm(store: Arc<dyn Store>) {
    let (user, task) = (user(), TaskId(uuid()));
    let posing = json!({ "result": { "payload_id": uuid(), "sha256": "a".repeat(64), "bytes": 3 } });
    store
        .commit(
            &scope(&user),
            Commit::new(user.clone(), task).entry(draft(EventType::ObservationRecorded, posing)),
        )
        .await
        .unwrap();
    verify(&*store, &key(&*store).await, None).await.unwrap();
    let mut twice = draft(EventType::Answered, json!({ "x": 1 }));
    twice.personal.insert("x".into(), json!(2));
    assert!(store.commit(&scope(&user), Commit::new(user.clone(), task).entry(twice)).await.is_err());
}

/// The first writer of a chain owns it, so only the system may start the system chain.
pub(super) async fn the_houses_chain_is_the_houses(store: Arc<dyn Store>) {
    let user = user();
    let grab =
        Commit { chain: ChainId::SYSTEM, ..commit(&user) }.entry(draft(EventType::Answered, json!({})));
    for scope in [scope(&user), Scope::System] {
        let refused = store.commit(&scope, grab.clone()).await;
        assert!(matches!(refused, Err(Error::OtherOwner)), "{refused:?}");
    }
}

pub(super) async fn secrets_never_reach_the_disk(store: Arc<dyn Store>) {
    let (user, task) = (user(), TaskId(uuid()));
    let mut leaky = draft(
        EventType::ToolCalled,
        json!({ "arguments": { "url": "postgres://bob:hunter2@db/x", "api_key": "swordfish", "text": "mail \
            jane@example.com" } }),
    );
    leaky.personal.insert("question".into(), json!("my card is 4111 1111 1111 1111"));
    store.commit(&scope(&user), Commit::new(user.clone(), task).entry(leaky)).await.unwrap();
    let entry = store.entries(&scope(&user), task.into(), 0, 1).await.unwrap().remove(0).entry;
    let payload = store.payloads(&scope(&user), task.into()).await.unwrap().remove(0);
    let tool = tool("leaky", "todo", None).validate().unwrap();
    store.commit(&Scope::System, commit(&user).change(Change::PutTool(tool.clone()))).await.unwrap();
    let call = invocation(&user, None, tool.id, 1, 1, Outcome::Success)
        .with(|call| {
            call.input_parameters = object(json!({ "api_key": "swordfish", "to": "jane@example.com" }));
        })
        .unwrap();
    store.commit(&scope(&user), commit(&user).change(Change::PutInvocation(call))).await.unwrap();
    let recorded =
        store.invocations(&scope(&user), crate::InvocationFilter::default(), Page::first(1)).await.unwrap();
    let parameters = serde_json::to_string(&recorded[0].input_parameters).unwrap();
    for written in [parameters.as_str(), entry.event_data.as_str(), payload.body.as_deref().unwrap()] {
        for secret in ["hunter2", "swordfish", "jane@example.com", "4111 1111"] {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
    }
}

pub(super) async fn many_tasks_at_once(store: Arc<dyn Store>) {
    let user = user();
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (store, user) = (store.clone(), user.clone());
        writers.spawn(async move {
            let task = task(&user, 1);
            for i in 0..10 {
                let step = Commit::new(user.clone(), task.id)
                    .entry(draft(EventType::StepRecorded, json!({ "i": i })))
                    .change(Change::PutTask(task.clone()));
                store.commit(&scope(&user), step).await.unwrap();
            }
            assert_eq!(store.chain(&scope(&user), task.id.into()).await.unwrap().unwrap().entries, 10);
        });
    }
    writers.join_all().await;
    assert_eq!(store.tasks(&scope(&user), TaskFilter::default(), Page::first(99)).await.unwrap().len(), 20);
    verify(&*store, &key(&*store).await, None).await.unwrap();
    assert!(store.chains(&Scope::System, None, 5).await.unwrap().is_sorted_by_key(|tip| tip.chain));
}

/// An unsynced commit is visible to all readers and in order, before and after it reaches the disk.
pub(super) async fn unsynced_commits_are_seen_at_once_and_in_order(store: Arc<dyn Store>) {
    let (user, chain) = (user(), ChainId(uuid()));
    let entry = |n: u64| {
        Commit::new(user.clone(), TaskId(chain.0)).entry(draft(EventType::ToolCalled, json!({ "n": n })))
    };
    for n in 1..=3 {
        let sealed = store.commit(&scope(&user), entry(n).with_next()).await.unwrap().entries;
        assert_eq!(sealed.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [n]);
        let seen = store.entries(&scope(&user), chain, 0, 9).await.unwrap();
        assert_eq!(seen.last().unwrap().entry, sealed[0]);
    }
    // An empty commit also guarantees that everything before it is on disk.
    let nothing = Commit::new(user.clone(), TaskId(chain.0));
    assert!(store.commit(&scope(&user), nothing.clone()).await.unwrap().entries.is_empty());
    assert!(store.commit(&scope(&user), nothing.with_next()).await.unwrap().entries.is_empty());
    store.commit(&scope(&user), entry(4)).await.unwrap();
    let mut tip = ChainTip::empty(chain);
    for found in store.entries(&scope(&user), chain, 0, 9).await.unwrap() {
        found.entry.verify(&mut tip).unwrap();
    }
    assert_eq!(tip.entries, 4);
    verify(&*store, &key(&*store).await, None).await.unwrap();
}

pub(super) async fn an_unsynced_commit_is_refused_like_any_other(store: Arc<dyn Store>) {
    let (user, task) = (user(), TaskId(uuid()));
    let bad = Commit::new(user.clone(), task)
        .entry(draft(EventType::ToolCalled, json!({})))
        .change(Change::AppendMessage(message(uuid().into(), "to nowhere", 3)))
        .with_next();
    assert!(matches!(store.commit(&scope(&user), bad).await, Err(Error::NotFound { .. })));
    let fence = crate::Fence { task, token: 1 };
    let fenced = Commit::new(user.clone(), task).entry(draft(EventType::ToolCalled, json!({}))).fenced(fence);
    assert!(matches!(store.commit(&scope(&user), fenced.with_next()).await, Err(Error::LeaseLost)));
    assert!(store.entries(&scope(&user), task.into(), 0, 9).await.unwrap().is_empty());
}

pub(super) async fn many_callers_mix_synced_and_unsynced(store: Arc<dyn Store>) {
    let user = user();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let (store, user) = (store.clone(), user.clone());
        callers.spawn(async move {
            let chain = TaskId(uuid());
            for n in 0..10 {
                let entry =
                    Commit::new(user.clone(), chain).entry(draft(EventType::ToolCalled, json!({ "n": n })));
                let entry = if n % 2 == 0 { entry.with_next() } else { entry };
                let sealed = store.commit(&scope(&user), entry).await.unwrap().entries;
                assert_eq!(sealed[0].sequence, n + 1);
            }
        });
    }
    callers.join_all().await;
    verify(&*store, &key(&*store).await, None).await.unwrap();
}

pub(super) async fn a_foreign_chain_is_refused(store: Arc<dyn Store>) {
    let (mine, theirs, chain) = (user(), user(), TaskId(uuid()));
    let write = |who: &UserId| Commit::new(who.clone(), chain).entry(draft(EventType::Answered, json!({})));
    store.commit(&scope(&theirs), write(&theirs)).await.unwrap();
    let refused = store.commit(&scope(&mine), write(&mine)).await;
    assert!(matches!(refused, Err(Error::OtherOwner)), "{refused:?}");
    let forged = store.commit(&scope(&mine), write(&theirs)).await;
    assert!(matches!(forged, Err(Error::OtherOwner)), "{forged:?}");
}
