//! A worker: claims tasks from the shared queue, fairly between users, and runs them.
//!
//! Invariants
//! - A task runs under its lease. A worker that lost the lease writes nothing more and drops the
//!   run.
//! - The number of parallel tasks is limited, in total and for each user. The rest wait in the
//!   store, not in memory.
//! - On shutdown it claims nothing new, lets running tasks finish for a limited time, and hands the
//!   rest over.

use super::{Ran, RunStatus, Runner, cut_off};
use crate::crash::{self, CrashPoint};
use crate::error::{Error, Result};
use crate::journal_writer::JournalWriter;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Coded as _, ErrorClass, EventType, Label, States as _, TaskId, TaskStatus, Timestamp};
use steward_journal::Draft;
use steward_store::{Change, Commit, Lease, Scope, Store};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The options of a worker.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// The maximum number of parallel tasks.
    pub at_once: u32,
    /// The maximum number of parallel tasks for one user.
    pub per_user: u32,
    /// The time for running tasks to finish on shutdown.
    pub drain: Duration,
    /// Whether it stops when nothing is queued and nothing runs.
    pub until_empty: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self { at_once: 32, per_user: 16, drain: Duration::from_secs(30), until_empty: false }
    }
}

/// Receives the result of each task.
pub type TaskObserver = Arc<dyn Fn(TaskId, &std::result::Result<Ran, String>) + Send + Sync>;

/// A worker.
pub struct Service {
    runner: Runner,
    options: ServiceOptions,
}

/// The longest interval between two polls of the queue: timed tasks are not announced.
const LOOK: Duration = Duration::from_millis(500);

/// The interval between two searches for tasks of stopped processes.
const RECOVERY: Duration = Duration::from_secs(5);

/// The delay of a task that failed to start for a temporary reason.
const REST: Duration = Duration::from_secs(5);

impl Service {
    /// A worker over a runner. Its name is that of the runner's lease holder.
    #[must_use]
    pub fn new(runner: Runner, options: ServiceOptions) -> Self {
        Self { runner, options }
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.runner.app().store
    }

    fn worker(&self) -> &Label {
        &self.runner.holder.name
    }

    /// Runs until it is stopped.
    pub async fn run(&self, stop: CancellationToken, tell: TaskObserver) -> Result<()> {
        // Leases of an earlier process with this name are released.
        self.store().release_all(self.worker(), self.runner.now()).await?;
        cut_off::release_interrupted(self.runner.app()).await?;
        let handing_over = CancellationToken::new();
        let runner = self.runner.clone().stopped_by(handing_over.clone());
        let mut runs = JoinSet::new();
        let mut recovered = self.runner.app().clock.monotonic();
        while !stop.is_cancelled() {
            // Processes beside this one can stop at any time.
            let now = self.runner.app().clock.monotonic();
            if now.saturating_sub(recovered) >= RECOVERY {
                recovered = now;
                if let Err(error) = cut_off::release_interrupted(self.runner.app()).await {
                    tracing::warn!(code = error.code(), "interrupted tasks were not looked for: {error}");
                }
            }
            if let Err(error) = self.runner.process_signals().await {
                tracing::warn!(code = error.code(), "signals were not looked at: {error}");
            }
            let free = self.options.at_once.saturating_sub(u32::try_from(runs.len()).unwrap_or(u32::MAX));
            let claimed = if free > 0 { self.claim(free).await } else { Vec::new() };
            for lease in claimed {
                let (runner, tell) = (runner.clone(), tell.clone());
                runs.spawn(async move { runner.one(lease, &tell).await });
            }
            if self.options.until_empty && runs.is_empty() && self.is_empty().await {
                break;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                Some(_) = runs.join_next(), if !runs.is_empty() => while runs.try_join_next().is_some() {},
                _ = self.store().wait_for_work(LOOK), if free > 0 => {}
            }
        }
        handing_over.cancel();
        let ended = async { while runs.join_next().await.is_some() {} };
        if tokio::time::timeout(self.options.drain, ended).await.is_err() {
            runs.shutdown().await;
        }
        self.store().release_all(self.worker(), self.runner.now()).await?;
        Ok(())
    }

    /// Whether no task is ready or claimed. Tasks that wait for a time or a person do not count.
    async fn is_empty(&self) -> bool {
        let depth = self.store().queue_depth(self.runner.now()).await;
        depth.is_ok_and(|depth| depth.ready == 0 && depth.claimed == 0)
    }

    /// Claims tasks. An unavailable store is polled again later: the worker does not stop.
    async fn claim(&self, free: u32) -> Vec<Lease> {
        let (now, lease) = (self.runner.now(), self.runner.holder.lease);
        match self.store().claim(self.worker(), now, lease, free, self.options.per_user).await {
            Ok(leases) => leases,
            Err(error) => {
                eprintln!("the queue cannot be read: {error}");
                tokio::time::sleep(LOOK).await;
                Vec::new()
            }
        }
    }
}

impl Runner {
    /// Runs one claimed task. A task that can never run is ended with the reason; one that cannot
    /// run now is delayed.
    async fn one(&self, lease: Lease, tell: &super::service::TaskObserver) {
        let task = lease.task;
        crash::here(CrashPoint::AfterClaim);
        let ran = self.held(&lease).await;
        let after = match &ran {
            Ok(Ran { standing: RunStatus::HandedOver, .. }) => Some(self.now()),
            Ok(_) | Err(Error::Store(steward_store::Error::LeaseLost)) => None,
            Err(error) if error.class() == ErrorClass::Transient => Some(later(self.now(), REST)),
            Err(error) => {
                let _lease_expires_on_write_error = self.give_up(&lease, error).await;
                None
            }
        };
        if let Some(ready_at) = after {
            let _or_lease_expires = self.app().store.release(&lease, ready_at).await;
        }
        tell(task, &ran.map_err(|error| error.to_string()));
    }

    async fn held(&self, lease: &Lease) -> Result<Ran> {
        let scope = Scope::User(lease.user.clone());
        let task = self.app().store.task(&scope, lease.task).await?;
        let task = task.ok_or_else(|| Error::NoTask(lease.task.to_string()))?;
        if task.status.is_final() {
            let mut commit = Commit::new(lease.user.clone(), lease.task).fenced(lease.fence());
            commit.changes.push(Change::Dequeue { task: lease.task });
            JournalWriter::write_once(&*self.app().store, &scope, commit).await?;
            return self.ended(&scope, task).await;
        }
        self.go_on(Some(lease.clone()), &task, None, None, true).await
    }

    async fn give_up(&self, lease: &Lease, why: &Error) -> Result<()> {
        let scope = Scope::User(lease.user.clone());
        let mut commit = Commit::new(lease.user.clone(), lease.task).fenced(lease.fence());
        commit.changes.push(Change::Dequeue { task: lease.task });
        if let Some(mut task) = self.app().store.task(&scope, lease.task).await? {
            if !task.status.is_final() {
                if task.status == TaskStatus::Pending {
                    task = task.start(self.now())?;
                }
                commit.changes.push(Change::PutTask(task.fail(why.to_string(), self.now())?));
            }
            let data = json!({ "status": "failed", "error": why.to_string() });
            if let serde_json::Value::Object(data) = data {
                commit.entries.push(Draft::new(EventType::TaskChanged, Label::new("worker")?, data));
            }
        }
        JournalWriter::write_once(&*self.app().store, &scope, commit).await?;
        Ok(())
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.micros().saturating_add(micros))
}
