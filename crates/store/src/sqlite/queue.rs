//! The work queue. One writer executes every claim, so a claim needs no lock beyond its
//! transaction.

use crate::error::{Error, Result};
use crate::queue::{Depth, Fence, Lease};
use crate::words::uint;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use steward_domain::{Label, TaskId, Timestamp, UserId};
use uuid::Uuid;

/// A request to the writer about the queue; the reply is the resulting leases.
pub(super) enum Ask {
    Claim { worker: Label, now: Timestamp, until: Timestamp, limit: u32, per_user: u32 },
    Renew { lease: Lease, until: Timestamp },
    Release { lease: Lease, ready_at: Timestamp },
    ReleaseAll { worker: Label, ready_at: Timestamp },
}

pub(super) fn carry_out(db: &Connection, ask: &Ask) -> Result<Vec<Lease>> {
    match ask {
        Ask::Claim { worker, now, until, limit, per_user } => {
            claim(db, worker, *now, *until, *limit, *per_user)
        }
        Ask::Renew { lease, until } => {
            let rows = db
                .prepare_cached("UPDATE task_queue SET lease_until = ?3 WHERE task_id = ?1 AND token = ?2")?
                .execute(params![lease.task.0, lease.token, until.micros()])?;
            ours(rows)?;
            Ok(vec![Lease { until: *until, ..lease.clone() }])
        }
        Ask::Release { lease, ready_at } => {
            let rows = db
                .prepare_cached(
                    "UPDATE task_queue SET ready_at = ?3, worker = NULL, token = NULL, lease_until = NULL
                     WHERE task_id = ?1 AND token = ?2",
                )?
                .execute(params![lease.task.0, lease.token, ready_at.micros()])?;
            ours(rows)?;
            Ok(Vec::new())
        }
        Ask::ReleaseAll { worker, ready_at } => {
            db.prepare_cached(
                "UPDATE task_queue SET ready_at = ?2, worker = NULL, token = NULL, lease_until = NULL WHERE \
                    worker = ?1",
            )?
            .execute(params![worker.as_str(), ready_at.micros()])?;
            Ok(Vec::new())
        }
    }
}

fn ours(rows: usize) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(Error::LeaseLost) }
}

/// Refuses a commit whose lease has passed to another worker.
pub(super) fn check_fence(db: &Connection, fence: Fence) -> Result<()> {
    let stands = db
        .prepare_cached("SELECT 1 FROM task_queue WHERE task_id = ?1 AND token = ?2")?
        .exists(params![fence.task.0, fence.token])?;
    ours(usize::from(stands))
}

pub(super) fn enqueue(db: &Connection, owner: &UserId, task: TaskId, ready_at: Timestamp) -> Result<()> {
    // Without an explicit position the row is appended at the end.
    let rows = db
        .prepare_cached(
            "INSERT INTO task_queue (task_id, user_id, ready_at) SELECT id, user_id, ?3 FROM task WHERE id = \
                ?1 AND user_id = ?2
             ON CONFLICT (task_id) DO UPDATE SET ready_at = excluded.ready_at, worker = NULL, token = NULL, \
             lease_until = NULL,
                 place = CASE WHEN token IS NULL THEN place ELSE (SELECT max(place) + 1 FROM task_queue) END",
        )?
        .execute(params![task.0, owner.as_str(), ready_at.micros()])?;
    known(rows > 0, task)
}

/// Gives the lease to the worker, unless another worker's lease is valid at that time.
pub(super) fn give(
    db: &Connection,
    owner: &UserId,
    task: TaskId,
    worker: &Label,
    until: Timestamp,
    unless_held: Option<Timestamp>,
) -> Result<Lease> {
    let token: i64 = next_token(db)?;
    let rows = db
        .prepare_cached(
            "INSERT INTO task_queue (task_id, user_id, ready_at, worker, token, lease_until)
             SELECT id, user_id, 0, ?3, ?4, ?5 FROM task WHERE id = ?1 AND user_id = ?2
             ON CONFLICT (task_id) DO UPDATE SET worker = excluded.worker, token = excluded.token, \
             lease_until = excluded.lease_until
             WHERE ?6 IS NULL OR worker IS NULL OR worker = excluded.worker OR lease_until <= ?6",
        )?
        .execute(params![
            task.0,
            owner.as_str(),
            worker.as_str(),
            token,
            until.micros(),
            unless_held.map(Timestamp::micros)
        ])?;
    if rows == 0 && lease(db, task)?.is_some() {
        return Err(Error::LeaseLost);
    }
    known(rows > 0, task)?;
    Ok(Lease { task, user: owner.clone(), worker: worker.clone(), token, until })
}

/// The lease on a task.
pub(super) fn lease(db: &Connection, task: TaskId) -> Result<Option<Lease>> {
    let row = db
        .prepare_cached(
            "SELECT user_id, worker, token, lease_until FROM task_queue WHERE task_id = ?1 AND token IS NOT NULL",
        )?
        .query_row([task.0], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((user, worker, token, until)) = row else { return Ok(None) };
    let until = Timestamp::from_micros(until);
    Ok(Some(Lease { task, user: UserId::new(user)?, worker: Label::new(worker)?, token, until }))
}

pub(super) fn dequeue(db: &Connection, owner: &UserId, task: TaskId) -> Result<()> {
    let left = db
        .prepare_cached("DELETE FROM task_queue WHERE task_id = ?1 AND user_id = ?2")?
        .execute(params![task.0, owner.as_str()])?;
    let own = left > 0
        || db
            .prepare_cached("SELECT 1 FROM task WHERE id = ?1 AND user_id = ?2")?
            .exists(params![task.0, owner.as_str()])?;
    known(own, task)
}

fn known(is: bool, task: TaskId) -> Result<()> {
    if is { Ok(()) } else { Err(Error::NotFound { what: "task", id: task.to_string() }) }
}

/// The next claimable task of one user. The order of the fields is the order of claiming.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    /// The number of the user's tasks in progress including this one.
    turn: u64,
    place: i64,
    task: Uuid,
    user: String,
}

/// Merges the users' queues: the head of each is looked up in the index, so the cost grows with the
/// users and the tasks taken, not with the waiting tasks.
fn claim(
    db: &Connection,
    worker: &Label,
    now: Timestamp,
    until: Timestamp,
    limit: u32,
    per_user: u32,
) -> Result<Vec<Lease>> {
    let held = held(db, now)?;
    let mut next_user = db.prepare_cached(
        "SELECT user_id, place, task_id FROM task_queue INDEXED BY task_queue_by_user
         WHERE user_id > ?1 AND ready_at <= ?2 AND ifnull(lease_until, ?2) <= ?2 ORDER BY user_id, place LIMIT 1",
    )?;
    let mut next_task = db.prepare_cached(
        "SELECT user_id, place, task_id FROM task_queue INDEXED BY task_queue_by_user
         WHERE user_id = ?1 AND place > ?3 AND ready_at <= ?2 AND ifnull(lease_until, ?2) <= ?2 ORDER BY \
         place LIMIT 1",
    )?;
    let mut heads = BinaryHeap::new();
    let put = |head: Head, heads: &mut BinaryHeap<_>| {
        if head.turn <= u64::from(per_user) {
            heads.push(Reverse(head));
        }
    };
    let mut user = String::new();
    while let Some(mut head) =
        next_user.query_row(params![user, now.micros()], |row| row_head(row, 1)).optional()?
    {
        user.clone_from(&head.user);
        head.turn += held.get(&user).copied().unwrap_or(0);
        put(head, &mut heads);
    }
    let mut leases = Vec::new();
    while leases.len() < limit as usize {
        let Some(Reverse(Head { turn, place, task, user })) = heads.pop() else { break };
        leases.push(Lease {
            task: TaskId(task),
            token: hold(db, place, worker, until)?,
            user: UserId::new(user.as_str())?,
            worker: worker.clone(),
            until,
        });
        let next = next_task.query_row(params![user, now.micros(), place], |row| row_head(row, turn + 1));
        if let Some(head) = next.optional()? {
            put(head, &mut heads);
        }
    }
    Ok(leases)
}

fn row_head(row: &Row<'_>, turn: u64) -> rusqlite::Result<Head> {
    Ok(Head { turn, user: row.get(0)?, place: row.get(1)?, task: row.get(2)? })
}

/// The number of tasks in progress of each user.
fn held(db: &Connection, now: Timestamp) -> Result<HashMap<String, u64>> {
    db.prepare_cached(
        "SELECT user_id, count(*) FROM task_queue INDEXED BY task_queue_held
         WHERE token IS NOT NULL AND lease_until > ?1 GROUP BY user_id",
    )?
    .query_map([now.micros()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?
    .map(|row| {
        let (user, count) = row?;
        Ok((user, uint(count)?))
    })
    .collect()
}

/// Gives the row to the worker with a new token.
fn hold(db: &Connection, place: i64, worker: &Label, until: Timestamp) -> Result<i64> {
    let token = next_token(db)?;
    db.prepare_cached("UPDATE task_queue SET worker = ?2, token = ?3, lease_until = ?4 WHERE place = ?1")?
        .execute(params![place, worker.as_str(), token, until.micros()])?;
    Ok(token)
}

fn next_token(db: &Connection) -> Result<i64> {
    Ok(db
        .prepare_cached("UPDATE task_queue_token SET last = last + 1 RETURNING last")?
        .query_row([], |row| row.get(0))?)
}

pub(super) fn depth(db: &Connection, now: Timestamp) -> Result<Depth> {
    let (ready, delayed, claimed): (i64, i64, i64) = db
        .prepare_cached(
            "SELECT count(*) FILTER (WHERE ifnull(lease_until, ?1) <= ?1 AND ready_at <= ?1),
                 count(*) FILTER (WHERE ifnull(lease_until, ?1) <= ?1 AND ready_at > ?1),
                 count(*) FILTER (WHERE lease_until > ?1) FROM task_queue",
        )?
        .query_row([now.micros()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(Depth { ready: uint(ready)?, delayed: uint(delayed)?, claimed: uint(claimed)? })
}
