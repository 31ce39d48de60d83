//! The work queue, shared by any number of processes.
//!
//! Workers that claim tasks of the same user are serialised by an advisory lock per user. This
//! enforces the limit per user, and workers that claim tasks of different users never wait for each
//! other. Rows are taken with SKIP LOCKED: a task whose holder is writing at that moment is left
//! for the next claim.

use super::connection::{Database, Tx};
use crate::error::{Error, Result};
use crate::query::Scope;
use crate::queue::{Depth, Fence, Lease, Wake};
use crate::words::uint;
use sqlx::Row;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Label, TaskId, Timestamp, UserId};

/// The first half of the advisory lock key; the second is the hash of the user.
const CLAIM_LOCK: i32 = 0x7374_6577;

/// The channel that notifies workers. The name is also in the statements below.
const CHANNEL: &str = "steward_work";

/// How often a claim is retried when other workers took its tasks.
const TRIES: u32 = 3;

/// How long to wait before listening again after an error.
const AGAIN: Duration = Duration::from_secs(1);

/// The users whose tasks come next at $1, each with whether their lock is free. Users and their
/// first tasks are found by walking the index, so the cost grows with the users, not with the
/// waiting tasks. $2 is the maximum number of tasks, and so of users; users with the fewest tasks
/// in progress come first; users with $3 in progress are skipped.
macro_rules! turns {
    () => {
        "WITH RECURSIVE person AS (
             (SELECT user_id, place FROM task_queue WHERE ready_at <= $1 AND coalesce(lease_until, $1) <= $1 \
             ORDER BY user_id, place LIMIT 1)
             UNION ALL
             SELECT next.user_id, next.place FROM person CROSS JOIN LATERAL (
                 SELECT q.user_id, q.place FROM task_queue q
                 WHERE q.user_id > person.user_id AND q.ready_at <= $1 AND coalesce(q.lease_until, $1) <= $1
                 ORDER BY q.user_id, q.place LIMIT 1
             ) AS next
         ), soonest AS MATERIALIZED (
             SELECT person.user_id, person.place, held.n FROM person CROSS JOIN LATERAL (
                 SELECT count(*) AS n FROM task_queue h WHERE h.user_id = person.user_id AND h.token IS NOT \
                 NULL AND h.lease_until > $1
             ) AS held WHERE held.n < $3 ORDER BY held.n, person.place LIMIT $2
         ) SELECT user_id, pg_try_advisory_xact_lock($4, hashtext(user_id)) FROM soonest ORDER BY n, place"
    };
}

/// Takes the next $2 tasks of the users in $4. `turn` is the number of the user's tasks in progress
/// including this one. It runs after the locks are taken, so it sees earlier claims under those
/// locks.
const TAKE: &str = "WITH ranked AS MATERIALIZED (
         SELECT soon.task_id, soon.place, held.n + soon.nth AS turn
         FROM unnest($4::text[]) AS person (user_id) CROSS JOIN LATERAL (
             SELECT count(*) AS n FROM task_queue h WHERE h.user_id = person.user_id AND h.token IS NOT NULL \
             AND h.lease_until > $1
         ) AS held CROSS JOIN LATERAL (
             SELECT task_id, place, row_number() OVER (ORDER BY place) AS nth FROM (
                 SELECT q.task_id, q.place FROM task_queue q
                 WHERE q.user_id = person.user_id AND q.ready_at <= $1 AND coalesce(q.lease_until, $1) <= $1
                 ORDER BY q.place LIMIT greatest(0, least($2, $3 - held.n))
             ) AS own
         ) AS soon ORDER BY turn, place LIMIT $2
     ), taken AS (
         SELECT q.task_id, ranked.turn, ranked.place FROM task_queue q JOIN ranked ON ranked.task_id = q.task_id
         WHERE q.ready_at <= $1 AND coalesce(q.lease_until, $1) <= $1 FOR UPDATE OF q SKIP LOCKED
     )
     UPDATE task_queue q SET worker = $5, token = nextval('task_queue_token'), lease_until = $6
     FROM taken WHERE q.task_id = taken.task_id RETURNING q.task_id, q.user_id, q.token, taken.turn, taken.place";

/// The query plan of choosing the next users, with the rows that each step touched.
#[cfg(feature = "conformance")]
pub(super) async fn explain(db: &Database, now: Timestamp, limit: u32) -> Result<serde_json::Value> {
    const EXPLAIN: &str = concat!("EXPLAIN (ANALYZE, FORMAT JSON) ", turns!());
    Ok(sqlx::query_scalar(EXPLAIN)
        .bind(now.to_chrono())
        .bind(i64::from(limit))
        .bind(i64::from(limit))
        .bind(CLAIM_LOCK)
        .fetch_one(&mut *db.begin(&Scope::System).await?)
        .await?)
}

/// A worker's claim.
pub(super) struct Claim<'a> {
    pub(super) worker: &'a Label,
    pub(super) now: Timestamp,
    pub(super) until: Timestamp,
    pub(super) limit: u32,
    pub(super) per_user: u32,
}

impl Claim<'_> {
    /// Retries when other workers were faster: the remaining tasks may belong to other users.
    pub(super) async fn run(&self, db: &Database) -> Result<Vec<Lease>> {
        for _ in 0..TRIES {
            if let Some(leases) = self.attempt(db).await? {
                return Ok(leases);
            }
        }
        Ok(Vec::new())
    }

    /// `None` if other workers took the tasks it waited for.
    async fn attempt(&self, db: &Database) -> Result<Option<Vec<Lease>>> {
        let mut tx = self.begin(db).await?;
        let turns = sqlx::query(turns!())
            .bind(self.now.to_chrono())
            .bind(i64::from(self.limit))
            .bind(i64::from(self.per_user))
            .bind(CLAIM_LOCK)
            .fetch_all(&mut *tx)
            .await?;
        let Some(first) = turns.first() else { return Ok(Some(Vec::new())) };
        let mut ours = Vec::new();
        for turn in &turns {
            if turn.try_get(1)? {
                ours.push(turn.try_get::<&str, _>(0)?);
            }
        }
        if ours.is_empty() {
            // Other workers hold the locks of all of them. We hold no lock here, so waiting cannot
            // cause a deadlock.
            ours.push(first.try_get(0)?);
            let locked = sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))")
                .bind(CLAIM_LOCK)
                .bind(first.try_get::<&str, _>(0)?)
                .execute(&mut *tx)
                .await;
            if let Err(refused) = locked.map_err(Error::from) {
                let busy = matches!(refused, Error::Busy { .. });
                return if busy { Ok(Some(Vec::new())) } else { Err(refused) };
            }
        }
        let leases = self.take(&mut tx, &ours).await?;
        tx.commit().await?;
        Ok(if leases.is_empty() { None } else { Some(leases) })
    }

    /// A claim that stalls between two statements blocks others only until the server ends its
    /// session; waits for a lock are bounded too.
    async fn begin(&self, db: &Database) -> Result<Tx> {
        let mut tx = db.begin(&Scope::System).await?;
        sqlx::query(
            "SELECT set_config('idle_in_transaction_session_timeout', '5s', true), set_config('lock_timeout', '2s', true)",
        )
        .execute(&mut *tx)
        .await?;
        Ok(tx)
    }

    async fn take(&self, tx: &mut Tx, users: &[&str]) -> Result<Vec<Lease>> {
        let rows = sqlx::query(TAKE)
            .bind(self.now.to_chrono())
            .bind(i64::from(self.limit))
            .bind(i64::from(self.per_user))
            .bind(users)
            .bind(self.worker.as_str())
            .bind(self.until.to_chrono())
            .fetch_all(&mut **tx)
            .await?;
        let mut leases = Vec::with_capacity(rows.len());
        for row in &rows {
            let order: (i64, i64) = (row.try_get(3)?, row.try_get(4)?);
            let lease = Lease {
                task: TaskId(row.try_get(0)?),
                user: UserId::new(row.try_get::<String, _>(1)?)?,
                worker: self.worker.clone(),
                token: row.try_get(2)?,
                until: self.until,
            };
            leases.push((order, lease));
        }
        leases.sort_unstable_by_key(|(order, _)| *order);
        Ok(leases.into_iter().map(|(_, lease)| lease).collect())
    }
}

fn ours(rows: u64) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(Error::LeaseLost) }
}

pub(super) async fn renew(db: &Database, lease: &Lease, until: Timestamp) -> Result<Lease> {
    let mut tx = db.begin(&Scope::System).await?;
    let done = sqlx::query("UPDATE task_queue SET lease_until = $3 WHERE task_id = $1 AND token = $2")
        .bind(lease.task.0)
        .bind(lease.token)
        .bind(until.to_chrono())
        .execute(&mut *tx)
        .await?;
    ours(done.rows_affected())?;
    tx.commit().await?;
    Ok(Lease { until, ..lease.clone() })
}

pub(super) async fn release(db: &Database, lease: &Lease, ready_at: Timestamp) -> Result<()> {
    let mut tx = db.begin(&Scope::System).await?;
    let freed = sqlx::query(
        "WITH freed AS (
             UPDATE task_queue SET ready_at = $3, worker = NULL, token = NULL, lease_until = NULL
             WHERE task_id = $1 AND token = $2 RETURNING task_id
         ) SELECT pg_notify('steward_work', '') FROM freed",
    )
    .bind(lease.task.0)
    .bind(lease.token)
    .bind(ready_at.to_chrono())
    .fetch_all(&mut *tx)
    .await?;
    ours(freed.len() as u64)?;
    Ok(tx.commit().await?)
}

pub(super) async fn release_all(db: &Database, worker: &Label, ready_at: Timestamp) -> Result<()> {
    let mut tx = db.begin(&Scope::System).await?;
    sqlx::query(
        "WITH freed AS (
             UPDATE task_queue SET ready_at = $2, worker = NULL, token = NULL, lease_until = NULL WHERE \
             worker = $1 RETURNING task_id
         ) SELECT pg_notify('steward_work', '') FROM freed LIMIT 1",
    )
    .bind(worker.as_str())
    .bind(ready_at.to_chrono())
    .fetch_all(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

/// Gives the lease to the worker, unless another worker's lease is valid at that time.
pub(super) async fn give(
    tx: &mut Tx,
    owner: &UserId,
    task: TaskId,
    worker: &Label,
    until: Timestamp,
    unless_held: Option<Timestamp>,
) -> Result<Lease> {
    let token: Option<i64> = sqlx::query_scalar(
        "INSERT INTO task_queue (task_id, user_id, ready_at, worker, token, lease_until)
         SELECT id, user_id, 'epoch', $3, nextval('task_queue_token'), $4 FROM task WHERE id = $1 AND user_id = $2
         ON CONFLICT (task_id) DO UPDATE SET worker = excluded.worker, token = excluded.token, lease_until = \
         excluded.lease_until
         WHERE $5::timestamptz IS NULL OR task_queue.worker IS NULL OR task_queue.worker = excluded.worker \
         OR task_queue.lease_until <= $5
         RETURNING token",
    )
    .bind(task.0)
    .bind(owner.as_str())
    .bind(worker.as_str())
    .bind(until.to_chrono())
    .bind(unless_held.map(Timestamp::to_chrono))
    .fetch_optional(&mut **tx)
    .await?;
    let Some(token) = token else {
        let held = lease(tx, task).await?.is_some();
        return Err(if held {
            Error::LeaseLost
        } else {
            Error::NotFound { what: "task", id: task.to_string() }
        });
    };
    Ok(Lease { task, user: owner.clone(), worker: worker.clone(), token, until })
}

/// The lease on a task.
pub(super) async fn lease(tx: &mut Tx, task: TaskId) -> Result<Option<Lease>> {
    let row = sqlx::query(
        "SELECT user_id, worker, token, lease_until FROM task_queue WHERE task_id = $1 AND token IS NOT NULL",
    )
    .bind(task.0)
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Lease {
        task,
        user: UserId::new(row.try_get::<String, _>(0)?)?,
        worker: Label::new(row.try_get::<String, _>(1)?)?,
        token: row.try_get(2)?,
        until: super::conversations::time(&row, 3)?,
    }))
}

/// Refuses a commit whose lease has passed to another worker. The row stays locked until the
/// commit, so that the lease cannot change in between.
pub(super) async fn check_fence(tx: &mut Tx, fence: Fence) -> Result<()> {
    let stands = sqlx::query("SELECT FROM task_queue WHERE task_id = $1 AND token = $2 FOR UPDATE")
        .bind(fence.task.0)
        .bind(fence.token)
        .fetch_optional(&mut **tx)
        .await?;
    ours(u64::from(stands.is_some()))
}

pub(super) async fn enqueue(tx: &mut Tx, owner: &UserId, task: TaskId, ready_at: Timestamp) -> Result<()> {
    let put = sqlx::query(
        "WITH put AS (
             INSERT INTO task_queue (task_id, user_id, ready_at) SELECT id, user_id, $3 FROM task WHERE id = \
             $1 AND user_id = $2
             ON CONFLICT (task_id) DO UPDATE SET ready_at = excluded.ready_at, worker = NULL, token = NULL, \
             lease_until = NULL,
                 place = CASE WHEN task_queue.token IS NULL THEN task_queue.place ELSE excluded.place END
             RETURNING task_id
         ) SELECT pg_notify('steward_work', '') FROM put",
    )
    .bind(task.0)
    .bind(owner.as_str())
    .bind(ready_at.to_chrono())
    .fetch_all(&mut **tx)
    .await?;
    known(!put.is_empty(), task)
}

pub(super) async fn dequeue(tx: &mut Tx, owner: &UserId, task: TaskId) -> Result<()> {
    let left = sqlx::query("DELETE FROM task_queue WHERE task_id = $1 AND user_id = $2")
        .bind(task.0)
        .bind(owner.as_str())
        .execute(&mut **tx)
        .await?;
    if left.rows_affected() > 0 {
        return Ok(());
    }
    let own = sqlx::query("SELECT FROM task WHERE id = $1 AND user_id = $2")
        .bind(task.0)
        .bind(owner.as_str())
        .fetch_optional(&mut **tx)
        .await?;
    known(own.is_some(), task)
}

fn known(is: bool, task: TaskId) -> Result<()> {
    if is { Ok(()) } else { Err(Error::NotFound { what: "task", id: task.to_string() }) }
}

pub(super) async fn depth(tx: &mut Tx, now: Timestamp) -> Result<Depth> {
    let row = sqlx::query(
        "SELECT count(*) FILTER (WHERE coalesce(lease_until, $1) <= $1 AND ready_at <= $1),
             count(*) FILTER (WHERE coalesce(lease_until, $1) <= $1 AND ready_at > $1),
             count(*) FILTER (WHERE lease_until > $1) FROM task_queue",
    )
    .bind(now.to_chrono())
    .fetch_one(&mut **tx)
    .await?;
    Ok(Depth {
        ready: uint(row.try_get(0)?)?,
        delayed: uint(row.try_get(1)?)?,
        claimed: uint(row.try_get(2)?)?,
    })
}

/// Listens for notifications on a separate connection and reconnects when it is lost. Notifications
/// may be missed in between, so each reconnect wakes the workers.
pub(super) async fn listen_forever(db: Database, wake: Arc<Wake>) {
    loop {
        if let Ok(mut listener) = db.listen(CHANNEL).await {
            wake.all();
            // `None` means that the connection was lost and restored.
            while let Ok(_heard_or_renewed) = listener.try_recv().await {
                wake.all();
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}
