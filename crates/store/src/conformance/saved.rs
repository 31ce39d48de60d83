//! Saved items, and the ticks of schedules.

use super::samples::*;
use crate::{Change, Page, Scope, Store};
use serde_json::{Value, json};
use std::sync::Arc;
use steward_domain::*;

/// A board; shared or not.
pub(super) fn board(user: &UserId, shared: bool, seconds: i64) -> Valid<SavedItem> {
    let board = json!({ "kind": "board", "id": uuid(), "user_id": user, "name": "north", "is_shared": shared,
        "created_at": at(seconds), "updated_at": at(seconds) });
    parse(&board.to_string()).unwrap()
}

/// A schedule with its next tick.
fn schedule(user: &UserId, next: Option<i64>) -> Value {
    let status = if next.is_some() { "active" } else { "paused" };
    json!({ "kind": "schedule", "id": uuid(), "user_id": user, "name": "monday", "cadence": "every Monday 8:00",
        "cron": "0 8 * * 1", "zone": "Europe/Berlin", "status": status, "next_at": next.map(at),
        "subject": { "question": { "question": "total sales", "data": ["sales.csv"] } },
        "created_at": at(0), "updated_at": at(0) })
}

fn item(value: &Value) -> Valid<SavedItem> {
    parse(&value.to_string()).unwrap()
}

fn put(item: &Valid<SavedItem>, replaces: Option<Timestamp>) -> Change {
    Change::PutSaved { item: item.clone(), replaces }
}

pub(super) async fn shared_items_are_seen_by_all_and_changed_by_their_owner(store: Arc<dyn Store>) {
    let (me, they) = (user(), user());
    let (open, own) = (board(&they, true, 1), board(&they, false, 2));
    store
        .commit(&scope(&they), commit(&they).change(put(&open, None)).change(put(&own, None)))
        .await
        .unwrap();
    let see = async |user: &UserId, one: &Valid<SavedItem>| {
        store.saved(&scope(user), SavedKind::Board, one.id()).await.unwrap().is_some()
    };
    assert!(see(&me, &open).await && see(&they, &own).await && !see(&me, &own).await);
    let mine: Vec<_> = store.saved_items(&scope(&me), SavedKind::Board, Page::first(1000)).await.unwrap();
    assert!(mine.contains(&open) && !mine.contains(&own));
    assert!(
        store.saved_items(&Scope::System, SavedKind::Board, Page::first(1000)).await.unwrap().contains(&own)
    );
    for attempt in [
        put(&open, None),
        put(
            &item(&{
                let mut forged = serde_json::to_value(&*open).unwrap();
                forged["user_id"] = json!(me);
                forged
            }),
            None,
        ),
        Change::DeleteSaved { kind: SavedKind::Board, id: open.id() },
        Change::DeleteSaved { kind: SavedKind::Board, id: own.id() },
    ] {
        let label = format!("{attempt:.60?}");
        assert!(
            store.commit(&scope(&me), commit(&me).change(attempt)).await.is_err(),
            "{label} must be refused"
        );
    }
    assert!(see(&me, &open).await, "it is still there");
    let gone = || commit(&they).change(Change::DeleteSaved { kind: SavedKind::Board, id: own.id() });
    store.commit(&scope(&they), gone()).await.unwrap();
    assert!(!see(&they, &own).await);
    assert!(store.commit(&scope(&they), gone()).await.is_err(), "it is removed once");
}

pub(super) async fn of_two_changes_of_what_was_read_one_counts(store: Arc<dyn Store>) {
    let user = user();
    let first = board(&user, false, 1);
    store.commit(&scope(&user), commit(&user).change(put(&first, None))).await.unwrap();
    let changed = |name: &str, seconds: i64| {
        let mut value = serde_json::to_value(&*first).unwrap();
        value["name"] = json!(name);
        value["updated_at"] = json!(at(seconds));
        item(&value)
    };
    let (left, right) = (changed("left", 2), changed("right", 3));
    let write = async |one: &Valid<SavedItem>| {
        store.commit(&scope(&user), commit(&user).change(put(one, Some(first.updated_at())))).await
    };
    let (a, b) = tokio::join!(write(&left), write(&right));
    assert!(a.is_ok() != b.is_ok(), "one of them is refused");
    let stays = if a.is_ok() { &left } else { &right };
    assert_eq!(store.saved(&scope(&user), SavedKind::Board, first.id()).await.unwrap().as_ref(), Some(stays));
    let missing = board(&user, false, 5);
    let never = commit(&user).change(put(&missing, Some(at(5))));
    assert!(store.commit(&scope(&user), never).await.is_err(), "what is not there cannot be replaced");
}

pub(super) async fn what_is_due_is_found_by_its_time(store: Arc<dyn Store>) {
    let user = user();
    let items: Vec<_> =
        [Some(30), Some(-10), None].into_iter().map(|next| item(&schedule(&user, next))).collect();
    let all = items.iter().fold(commit(&user), |all, one| all.change(put(one, None)));
    store.commit(&scope(&user), all).await.unwrap();
    let due = async |seconds: i64| -> Vec<uuid::Uuid> {
        let found = store.due_items(SavedKind::Schedule, at(seconds), 10_000).await.unwrap();
        found.iter().filter(|one| *one.user_id() == user).map(|one| one.id()).collect()
    };
    assert_eq!(due(0).await, [items[1].id()]);
    assert_eq!(due(30).await, [items[1].id(), items[0].id()], "longest due first");
}

pub(super) async fn a_tick_is_taken_once(store: Arc<dyn Store>) {
    let user = user();
    let first = item(&schedule(&user, Some(0)));
    store.commit(&scope(&user), commit(&user).change(put(&first, None))).await.unwrap();
    let id = ScheduleId(first.id());
    let mut attempts = tokio::task::JoinSet::new();
    for replica in 0..8 {
        let task = task(&user, replica);
        let tick = ScheduleTick {
            schedule_id: id,
            due_at: at(0),
            user_id: user.clone(),
            task_id: task.id,
            settled_at: None,
        };
        let mut next = serde_json::to_value(&*first).unwrap();
        next["next_at"] = json!(at(60));
        next["updated_at"] = json!(at(1));
        let taken = commit(&user)
            .change(put(&item(&next), Some(first.updated_at())))
            .change(Change::TakeTick(tick))
            .change(Change::PutTask(task.clone()))
            .change(Change::Enqueue { task: task.id, ready_at: at(9_999_999) });
        let (store, user) = (store.clone(), user.clone());
        attempts.spawn(async move { (task.id, store.commit(&scope(&user), taken).await.is_ok()) });
    }
    let mut taken = Vec::new();
    while let Some(attempt) = attempts.join_next().await {
        let (task, done) = attempt.unwrap();
        assert_eq!(
            store.task(&scope(&user), task).await.unwrap().is_some(),
            done,
            "a refused tick leaves no task"
        );
        taken.extend(done.then_some(task));
    }
    assert_eq!(taken.len(), 1, "one replica takes it");
    let ticks = store.ticks(&scope(&user), id, Page::first(9)).await.unwrap();
    assert_eq!(ticks.iter().map(|tick| (tick.task_id, tick.due_at)).collect::<Vec<_>>(), [(taken[0], at(0))]);
    // Even if the schedule itself is reset, the same tick does not run twice.
    let again = ScheduleTick { task_id: uuid().into(), ..ticks[0].clone() };
    assert!(store.commit(&scope(&user), commit(&user).change(Change::TakeTick(again))).await.is_err());
    let open =
        async || store.open_ticks(10_000).await.unwrap().iter().filter(|tick| tick.user_id == user).count();
    assert_eq!(open().await, 1);
    let settled = || commit(&user).change(Change::SettleTick { schedule: id, due_at: at(0), at: at(2) });
    store.commit(&scope(&user), settled()).await.unwrap();
    assert_eq!(open().await, 0);
    assert!(store.commit(&scope(&user), settled()).await.is_err(), "it is settled once");
    let other = super::samples::user();
    assert!(store.ticks(&scope(&other), id, Page::first(9)).await.unwrap().is_empty());
}
