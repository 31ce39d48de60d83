//! The work queue that workers share: leases and their fences.
//!
//! Invariants
//! - A task has at most one lease, and the token of each lease is greater than all earlier ones. A
//!   commit with a fence is executed only while that token is still the current one of its task, so
//!   a worker that stalled past its lease and lost the task cannot write.
//! - A task enters and leaves the queue by [`Change::Enqueue`](crate::Change::Enqueue) and
//!   [`Change::Dequeue`](crate::Change::Dequeue), in the transaction of the entries that record
//!   why.
//!
//! This module runs nothing and reads no clock: callers pass the current time.

use std::time::Duration;
use steward_domain::{Label, TaskId, Timestamp, UserId};
use tokio::sync::Notify;

/// The time-limited claim of a worker on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The task.
    pub task: TaskId,
    /// The owner of the task.
    pub user: UserId,
    /// The worker that holds it.
    pub worker: Label,
    /// The token, unique to this claim.
    pub token: i64,
    /// When it expires and other workers may take the task.
    pub until: Timestamp,
}

impl Lease {
    /// The fence for commits made under this lease.
    pub fn fence(&self) -> Fence {
        Fence { task: self.task, token: self.token }
    }
}

/// The token that a commit carries, so that it is executed only while the lease is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The task that is held.
    pub task: TaskId,
    /// The token of the claim.
    pub token: i64,
}

/// The length of the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Tasks that could be claimed now, including those with an expired lease.
    pub ready: u64,
    /// Tasks that are delayed.
    pub delayed: u64,
    /// Tasks that are held by a worker.
    pub claimed: u64,
}

/// The time `span` after `now`.
pub(crate) fn after(now: Timestamp, span: Duration) -> Timestamp {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.micros().saturating_add(micros))
}

/// Wakes tasks of this process that wait for work. A notification without a waiter is kept for the
/// next one.
#[derive(Debug, Default)]
pub(crate) struct Wake(Notify);

impl Wake {
    /// Wakes all: work may have become ready.
    pub(crate) fn all(&self) {
        self.0.notify_waiters();
        self.0.notify_one();
    }

    /// A claim that reached its limit may have left tasks, so one more worker is woken. In this way
    /// several tasks that arrive at once wake several workers, one after the other.
    pub(crate) fn pass_on(&self, claimed: &[Lease], limit: u32) {
        if !claimed.is_empty() && claimed.len() >= limit as usize {
            self.0.notify_one();
        }
    }

    /// Returns when woken, or at the timeout.
    pub(crate) async fn wait(&self, at_most: Duration) {
        let _woken_or_over = tokio::time::timeout(at_most, self.0.notified()).await;
    }
}
