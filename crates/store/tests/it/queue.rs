//! The work queue between processes, simulated by separate stores on one database.

use crate::options;
use crate::postgres::database;
use sqlx::{Connection, PgConnection};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{EventType, Label, TaskId, UserId};
use steward_store::conformance::samples::*;
use steward_store::postgres::PostgresStore;
use steward_store::sqlite::SqliteStore;
use steward_store::{Change, Commit, Error, Lease, Store};

const LEASE: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

async fn queued(store: &dyn Store, user: &UserId) -> TaskId {
    let task = task(user, 1);
    let id = task.id;
    let submit = Commit::new(user.clone(), id)
        .change(Change::PutTask(task))
        .change(Change::Enqueue { task: id, ready_at: at(0) });
    store.commit(&scope(user), submit).await.unwrap();
    id
}

async fn claim(store: &dyn Store, limit: u32) -> Vec<Lease> {
    store.claim(&Label::new("w").unwrap(), at(10), LEASE, limit, 99).await.unwrap()
}

async fn wait(store: Arc<dyn Store>, at_most: Duration) -> Duration {
    let begun = tokio::time::Instant::now();
    store.wait_for_work(at_most).await.unwrap();
    begun.elapsed()
}

async fn two(address: &str) -> [Arc<PostgresStore>; 2] {
    let first = PostgresStore::open(address, options()).await.unwrap();
    [Arc::new(first), Arc::new(PostgresStore::open(address, options()).await.unwrap())]
}

#[tokio::test(flavor = "multi_thread")]
async fn work_from_another_process_wakes_at_once() {
    let Some(address) = database().await else { return };
    let [here, there] = two(&address).await;
    // Notifications from before listening started may be work.
    let first = wait(here.clone(), LONG).await;
    assert!(first < LONG / 10, "{first:?}");
    while wait(here.clone(), SHORT).await < SHORT {}
    let mut waiting = tokio::task::JoinSet::new();
    waiting.spawn(wait(here.clone(), LONG));
    let id = queued(&*there, &user()).await;
    let waited = waiting.join_next().await.unwrap().unwrap();
    assert!(waited < LONG / 10, "{waited:?}");
    assert_eq!(claim(&*here, 9).await[0].task, id);
}

/// The server closes the listening connection; work that arrives meanwhile is still found.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_made_anew() {
    let Some(address) = database().await else { return };
    let [here, there] = two(&address).await;
    while wait(here.clone(), SHORT).await < SHORT {}
    let mut raw = PgConnection::connect(&address).await.unwrap();
    let ended: i64 = sqlx::query_scalar(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    )
    .fetch_one(&mut raw)
    .await
    .unwrap();
    assert_eq!(ended, 1, "one connection of the store listens");
    queued(&*there, &user()).await;
    let waited = wait(here.clone(), LONG).await;
    assert!(waited < LONG / 3, "{waited:?}");
    while wait(here.clone(), SHORT * 10).await < SHORT * 10 {}
    queued(&*there, &user()).await;
    let waited = wait(here, LONG).await;
    assert!(waited < LONG / 3, "{waited:?}");
}

/// The lease passes on while a commit under the old one is in progress: the commit waits for the
/// row, then is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_waits_for_the_claim_that_outruns_it() {
    let Some(address) = database().await else { return };
    let [store, _] = two(&address).await;
    let user = user();
    let id = queued(&*store, &user).await;
    let before = store.entries(&scope(&user), id.into(), 0, 9).await.unwrap().len();
    let lease = claim(&*store, 1).await.remove(0);
    let mut raw = PgConnection::connect(&address).await.unwrap();
    let mut outrun = raw.begin().await.unwrap();
    sqlx::query("UPDATE task_queue SET token = nextval('task_queue_token') WHERE task_id = $1")
        .bind(id.0)
        .execute(&mut *outrun)
        .await
        .unwrap();
    // A row that is locked by a writer is skipped, not waited for.
    assert!(store.claim(&lease.worker, at(99), LEASE, 9, 99).await.unwrap().is_empty());
    let mut late = tokio::task::JoinSet::new();
    let (writer, mine) = (store.clone(), scope(&user));
    let step = Commit::new(user.clone(), id)
        .entry(draft(EventType::StepRecorded, serde_json::json!({ "n": 1 })))
        .fenced(lease.fence());
    late.spawn(async move { writer.commit(&mine, step).await });
    let waits = tokio::time::timeout(SHORT, late.join_next()).await;
    assert!(waits.is_err(), "the commit must wait for the row: {waits:?}");
    outrun.commit().await.unwrap();
    let refused = late.join_next().await.unwrap().unwrap();
    assert!(matches!(refused, Err(Error::LeaseLost)), "{refused:?}");
    let after = store.entries(&scope(&user), id.into(), 0, 9).await.unwrap().len();
    assert_eq!(after, before, "nothing of the refused commit is written");
}

/// A process that stalls in the middle of a claim blocks only the tasks of that user, and only for
/// a short time.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_claimer_holds_up_nobody_for_long() {
    let Some(address) = database().await else { return };
    let [store, _] = two(&address).await;
    let (stuck, free) = (user(), user());
    let (first, second) = (queued(&*store, &stuck).await, queued(&*store, &free).await);
    let mut raw = PgConnection::connect(&address).await.unwrap();
    let mut paused = raw.begin().await.unwrap();
    sqlx::query("SELECT pg_advisory_xact_lock(x'73746577'::int, hashtext($1))")
        .bind(stuck.as_str())
        .execute(&mut *paused)
        .await
        .unwrap();
    let got = claim(&*store, 2).await;
    assert_eq!(got.iter().map(|lease| lease.task).collect::<Vec<_>>(), [second]);
    let in_time = tokio::time::timeout(LONG / 3, claim(&*store, 2)).await;
    assert!(in_time.is_ok_and(|got| got.is_empty()));
    paused.rollback().await.unwrap();
    assert_eq!(claim(&*store, 2).await[0].task, first);
}

/// Ten thousand tasks of fifty users wait; no step of the search touches more than two rows of a
/// user.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_serves_the_claim() {
    fn most_rows(plan: &serde_json::Value) -> f64 {
        let number = |name: &str| plan[name].as_f64().unwrap_or(0.0);
        let own = (number("Actual Rows") + number("Rows Removed by Filter")) * number("Actual Loops");
        plan["Plans"].as_array().into_iter().flatten().map(most_rows).fold(own, f64::max)
    }
    let Some(address) = database().await else { return };
    let [store, _] = two(&address).await;
    let mut raw = PgConnection::connect(&address).await.unwrap();
    let fill = "INSERT INTO task SELECT gen_random_uuid(), 'user-' || n % 50, 'pending', now(), NULL, '{}' \
        FROM generate_series(1, 10000) n;
        INSERT INTO task_queue (task_id, user_id, ready_at) SELECT id, user_id, '2026-01-01' FROM task";
    sqlx::raw_sql(fill).execute(&mut raw).await.unwrap();
    for analyzed in [false, true] {
        if analyzed {
            sqlx::raw_sql("ANALYZE task_queue").execute(&mut raw).await.unwrap();
        }
        let plan = store.explain_claim_for_test(at(10), 10).await.unwrap();
        let rows = most_rows(&plan[0]["Plan"]);
        assert!((10.0..=100.0).contains(&rows), "{rows}: {plan:#}");
    }
}

/// A second process on the same file claims what the first queued, and is fenced off by it. It gets
/// no notifications and looks at its timeout.
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let [here, there] = [0, 1].map(|_| Arc::new(SqliteStore::open(&path, options()).unwrap()));
    let user = user();
    let id = queued(&*here, &user).await;
    assert!(wait(there.clone(), SHORT).await >= SHORT);
    let lease = claim(&*there, 9).await.remove(0);
    assert_eq!(lease.task, id);
    assert!(claim(&*here, 9).await.is_empty());
    let other = here.claim(&lease.worker, at(99), LEASE, 9, 99).await.unwrap().remove(0);
    assert!(other.token > lease.token);
    let step = |lease: &Lease| {
        Commit::new(user.clone(), id)
            .entry(draft(EventType::StepRecorded, serde_json::json!({})))
            .fenced(lease.fence())
    };
    let refused = there.commit(&scope(&user), step(&lease)).await;
    assert!(matches!(refused, Err(Error::LeaseLost)), "{refused:?}");
    there.commit(&scope(&user), step(&other)).await.unwrap();
    // The entry that seals the task's row, and the step.
    assert_eq!(here.entries(&scope(&user), id.into(), 0, 9).await.unwrap().len(), 2);
}
