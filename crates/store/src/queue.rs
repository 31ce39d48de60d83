//! The work queue that workers share: who holds what, until when, and the proof of it.
//!
//! Invariants
//! - A task is held by at most one lease, and each lease has a token greater than every one before.
//!   A commit that names a fence is carried out only while that token still stands beside its task,
//!   so a worker that was paused past its lease and lost the task to another writes nothing.
//! - A task enters and leaves the queue by [`Change::Enqueue`](crate::Change::Enqueue) and
//!   [`Change::Dequeue`](crate::Change::Dequeue), in the transaction of the entries that say why.
//!
//! It does not run anything, and it reads no clock: whoever claims says what time it is.

use std::time::Duration;
use steward_domain::{Label, TaskId, Timestamp, UserId};
use tokio::sync::Notify;

/// A task that a worker holds for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What is held.
    pub task: TaskId,
    /// Whose task it is.
    pub user: UserId,
    /// Who holds it.
    pub worker: Label,
    /// What tells this claim from every other.
    pub token: i64,
    /// From here on others may take it.
    pub until: Timestamp,
}

impl Lease {
    /// The proof for commits made under this lease.
    pub fn fence(&self) -> Fence {
        Fence { task: self.task, token: self.token }
    }
}

/// What a commit shows to be carried out only while the lease stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The task that is held.
    pub task: TaskId,
    /// The token of the claim.
    pub token: i64,
}

/// How long the queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Could be claimed now; those whose lease ran out among them.
    pub ready: u64,
    /// Wait for their time.
    pub delayed: u64,
    /// Are held by a worker.
    pub claimed: u64,
}

/// The time this long after.
pub(crate) fn after(now: Timestamp, span: Duration) -> Timestamp {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.micros().saturating_add(micros))
}

/// Wakes those who wait for work in this process. What comes while nobody waits is kept for the
/// next who does.
#[derive(Debug, Default)]
pub(crate) struct Wake(Notify);

impl Wake {
    /// Something may have become ready.
    pub(crate) fn all(&self) {
        self.0.notify_waiters();
        self.0.notify_one();
    }

    /// A claim that was filled may have left something: one more worker may look. So many tasks
    /// that came at once wake as many workers, one after the other.
    pub(crate) fn pass_on(&self, claimed: &[Lease], limit: u32) {
        if !claimed.is_empty() && claimed.len() >= limit as usize {
            self.0.notify_one();
        }
    }

    /// Returns when woken, or when the time is over.
    pub(crate) async fn wait(&self, at_most: Duration) {
        let _woken_or_over = tokio::time::timeout(at_most, self.0.notified()).await;
    }
}
