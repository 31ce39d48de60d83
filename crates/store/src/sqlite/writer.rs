//! The single writer: a thread that batches pending commits into one transaction and one sync.
//!
//! While a transaction is being synced, more commits arrive and share the next sync. A single
//! caller pays one sync per commit, and a hundred callers share it. A commit that fails is rolled
//! back alone and does not affect the others. A batch in which no commit asks for a sync is not
//! synced; see [`super::sync`] for when it reaches the disk.

use super::changes;
use super::journal::{self, Log};
use super::queue::{self, Ask};
use super::sync::{Disk, log_of};
use super::wal::WalManager;
use crate::change::{Change, Commit, Committed, Durability};
use crate::error::{Error, Result};
use crate::interface::StoreOptions;
use crate::query::Scope;
use crate::queue::Lease;
use crate::retention::RetentionReport;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use steward_domain::{ConversationStatus, RetentionPolicy, Timestamp, Valid};
use steward_journal::Prepared;
use tokio::sync::oneshot;

/// Maximum number of commits that share a sync. It bounds how long the first one waits.
const BATCH: usize = 1024;

/// Work for the writer, with a channel for the reply.
enum Job {
    Commit {
        scope: Scope,
        commit: Box<Commit>,
        prepared: Vec<Prepared>,
        reply: oneshot::Sender<Result<Committed>>,
    },
    Retain {
        policy: Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
        reply: oneshot::Sender<Result<RetentionReport>>,
    },
    Queue {
        ask: Ask,
        reply: oneshot::Sender<Result<Vec<Lease>>>,
    },
    #[cfg(feature = "conformance")]
    LimitPages {
        pages: u32,
        reply: oneshot::Sender<Result<()>>,
    },
}

impl Job {
    /// What a successful reply guarantees.
    fn durability(&self) -> Durability {
        match self {
            Self::Commit { commit, .. } => commit.durability,
            _ => Durability::Synced,
        }
    }

    fn erases(&self) -> bool {
        let deleted = |change: &Change| match change {
            Change::ErasePayload { .. } => true,
            Change::SetConversationStatus { status, .. } => *status == ConversationStatus::Deleted,
            _ => false,
        };
        match self {
            Self::Commit { commit, .. } => commit.changes.iter().any(deleted),
            Self::Retain { dry_run, .. } => !dry_run,
            Self::Queue { .. } => false,
            #[cfg(feature = "conformance")]
            Self::LimitPages { .. } => false,
        }
    }
}

/// The handle: cheap to use from any thread; dropping it waits for the writer thread.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    #[allow(clippy::disallowed_methods, reason = "this is the owner that waits for the thread")]
    pub(super) fn start(connection: Connection, options: StoreOptions, path: &Path) -> Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let log = Log::load(&connection, &options.signer)?;
        let (wal, disk) = (WalManager::new(path), Disk::new(&log_of(path), options.clock.monotonic()));
        let mut state = State { connection, options, log, path: path.to_owned(), wal, disk };
        let thread = std::thread::spawn(move || {
            let mut before = 1;
            loop {
                match gather(&queue, before, state.disk.patience(state.options.clock.monotonic())) {
                    BatchWait::Batch(batch) => {
                        before = batch.len();
                        state.run(batch);
                    }
                    BatchWait::Nothing => state.settle(),
                    BatchWait::Closed => return state.settle(),
                }
            }
        });
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) async fn commit(
        &self,
        scope: Scope,
        commit: Commit,
        prepared: Vec<Prepared>,
    ) -> Result<Committed> {
        self.ask(|reply| Job::Commit { scope, commit: Box::new(commit), prepared, reply }).await
    }

    pub(super) async fn retain(
        &self,
        policy: Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<RetentionReport> {
        self.ask(|reply| Job::Retain { policy, now, dry_run, reply }).await
    }

    pub(super) async fn queue(&self, ask: Ask) -> Result<Vec<Lease>> {
        self.ask(|reply| Job::Queue { ask, reply }).await
    }

    #[cfg(feature = "conformance")]
    pub(super) async fn limit_pages(&self, pages: u32) -> Result<()> {
        self.ask(|reply| Job::LimitPages { pages, reply }).await
    }

    async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T>>) -> Job) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.jobs.as_ref().ok_or(Error::Closed)?.send(job(reply)).map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Closing the queue lets the thread finish its work and end.
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The result of waiting for work.
enum BatchWait {
    Batch(Vec<Job>),
    /// No work arrived before the timeout.
    Nothing,
    Closed,
}

/// Waits for work and takes all of it. Callers that shared the last sync send their next commit one
/// after the other; a short wait for most of them gives one large sync instead of a small and a
/// large one.
fn gather(queue: &mpsc::Receiver<Job>, before: usize, patience: Option<Duration>) -> BatchWait {
    const MOMENT: Duration = Duration::from_micros(60);
    let first = match patience {
        Some(patience) => queue.recv_timeout(patience),
        None => queue.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
    };
    let mut batch = match first {
        Ok(job) => vec![job],
        Err(mpsc::RecvTimeoutError::Timeout) => return BatchWait::Nothing,
        Err(mpsc::RecvTimeoutError::Disconnected) => return BatchWait::Closed,
    };
    loop {
        batch.extend(queue.try_iter().take(BATCH - batch.len()));
        if batch.len() >= BATCH || batch.len() * 4 >= before * 3 {
            return BatchWait::Batch(batch);
        }
        match queue.recv_timeout(MOMENT) {
            Ok(job) => batch.push(job),
            Err(_) => return BatchWait::Batch(batch),
        }
    }
}

/// The outcome of a job, until the sync is done.
enum Done {
    Commit(Result<Committed>),
    Retain(Result<RetentionReport>),
    Queue(Result<Vec<Lease>>),
    #[cfg(feature = "conformance")]
    LimitPages(Result<()>),
}

impl Done {
    fn error(&self) -> Option<&Error> {
        match self {
            Self::Commit(result) => result.as_ref().err(),
            Self::Retain(result) => result.as_ref().err(),
            Self::Queue(result) => result.as_ref().err(),
            #[cfg(feature = "conformance")]
            Self::LimitPages(result) => result.as_ref().err(),
        }
    }
}

struct State {
    connection: Connection,
    options: StoreOptions,
    log: Log,
    path: PathBuf,
    wal: WalManager,
    disk: Disk,
}

impl State {
    /// One transaction, at most one sync, many replies.
    ///
    /// A savepoint around each job would copy every page it touches, so the first attempt uses
    /// none: failures are rare. If one happens, everything is rolled back and repeated with a
    /// savepoint for each job.
    fn run(&mut self, batch: Vec<Job>) {
        let done = match self.attempt(&batch, false) {
            Ok(Some(done)) => Ok(done),
            Ok(None) => self.attempt(&batch, true).map(Option::unwrap_or_default),
            Err(error) => Err(error),
        };
        if done.is_err() {
            self.give_up();
        }
        if done.is_ok() && batch.iter().any(Job::erases) {
            // Erased data must not remain in the write-ahead log. A reader may block this for a
            // while; then the next checkpoint does it.
            let _later = self.connection.pragma_query(None, "wal_checkpoint(TRUNCATE)", |_| Ok(()));
        }
        match done {
            Ok(done) => batch.into_iter().zip(done).for_each(|(job, done)| answer(job, done)),
            Err(error) => batch.into_iter().for_each(|job| refuse(job, shared(&error))),
        }
        self.wal.after_batch(&self.connection);
    }

    /// Tries the whole batch. `None` means that a job failed and everything was rolled back; an
    /// error means that no attempt can succeed.
    fn attempt(&mut self, batch: &[Job], savepoints: bool) -> Result<Option<Vec<Done>>> {
        let late = self.disk.patience(self.options.clock.monotonic()).is_some_and(|left| left.is_zero());
        let synced = late || batch.iter().any(|job| job.durability() == Durability::Synced);
        self.disk.set(&self.connection, if synced { Durability::Synced } else { Durability::WithNext })?;
        let changes = self.connection.total_changes();
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.log.refresh(&self.connection, &self.options.signer)?;
        let mut all = Vec::with_capacity(batch.len());
        for job in batch {
            let before = savepoints.then(|| self.log.mark());
            if savepoints {
                self.connection.prepare_cached("SAVEPOINT job")?.execute([])?;
            }
            let done = self.carry_out(job);
            match (done.error(), before) {
                // On a full or failing disk SQLite rolls back the whole transaction, not only this
                // job.
                (Some(error), _) if self.connection.is_autocommit() => return Err(shared(error)),
                (Some(_), None) => {
                    self.give_up();
                    return Ok(None);
                }
                (Some(_), Some(mark)) => {
                    self.connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
                    self.log.return_to(mark);
                }
                (None, _) => {}
            }
            if savepoints {
                self.connection.prepare_cached("RELEASE job")?.execute([])?;
            }
            all.push(done);
        }
        let written = journal::write_head(&self.connection, &self.options, &mut self.log)
            .and_then(|()| self.connection.prepare_cached("COMMIT")?.execute([]));
        written.map_err(|error| super::connection::explain(&self.path, &error))?;
        // Changes that were rolled back may be counted although they were not written.
        let wrote = !savepoints && self.connection.total_changes() > changes;
        let settled = self.disk.committed(wrote, self.options.clock.monotonic());
        settled.map_err(|error| not_synced(&error))?;
        Ok(Some(all))
    }

    /// Syncs everything that is only written. A failure here occurs again at the next sync that a
    /// caller asks for.
    fn settle(&mut self) {
        if self.disk.settle().is_err() {
            self.disk.postpone(self.options.clock.monotonic());
        }
    }

    fn carry_out(&mut self, job: &Job) -> Done {
        let Self { connection, options, log, .. } = self;
        match job {
            Job::Commit { scope, commit, prepared, .. } => {
                Done::Commit(changes::apply(connection, options, log, scope, commit, prepared))
            }
            Job::Retain { policy, now, dry_run, .. } => {
                Done::Retain(super::retention::run(connection, options, log, policy, *now, *dry_run))
            }
            Job::Queue { ask, .. } => Done::Queue(queue::carry_out(connection, ask)),
            #[cfg(feature = "conformance")]
            Job::LimitPages { pages, .. } => {
                Done::LimitPages(connection.pragma_update(None, "max_page_count", pages).map_err(Error::from))
            }
        }
    }

    /// Rolls back the transaction and clears the cached state of the log.
    fn give_up(&mut self) {
        let _already_ended = self.connection.execute_batch("ROLLBACK");
        self.log.forget();
    }
}

/// Replies to a job. If the caller is gone, the commit still stands.
fn answer(job: Job, done: Done) {
    match (job, done) {
        (Job::Commit { reply, .. }, Done::Commit(result)) => drop(reply.send(result)),
        (Job::Retain { reply, .. }, Done::Retain(result)) => drop(reply.send(result)),
        (Job::Queue { reply, .. }, Done::Queue(result)) => drop(reply.send(result)),
        #[cfg(feature = "conformance")]
        (Job::LimitPages { reply, .. }, Done::LimitPages(result)) => drop(reply.send(result)),
        // A job and its outcome always match; dropping the reply tells the caller that the store
        // closed.
        _ => {}
    }
}

fn refuse(job: Job, error: Error) {
    match job {
        Job::Commit { reply, .. } => drop(reply.send(Err(error))),
        Job::Retain { reply, .. } => drop(reply.send(Err(error))),
        Job::Queue { reply, .. } => drop(reply.send(Err(error))),
        #[cfg(feature = "conformance")]
        Job::LimitPages { reply, .. } => drop(reply.send(Err(error))),
    }
}

pub(super) fn not_synced(error: &std::io::Error) -> Error {
    Error::DiskFull { detail: format!("what was written could not be taken to the disk: {error}") }
}

/// The same error for all that shared the transaction.
fn shared(error: &Error) -> Error {
    match error {
        Error::DiskFull { detail } => Error::DiskFull { detail: detail.clone() },
        Error::Busy { detail } => Error::Busy { detail: detail.clone() },
        Error::ReadOnly { path, detail } => Error::ReadOnly { path: path.clone(), detail: detail.clone() },
        Error::Corrupt { path, detail } => Error::Corrupt { path: path.clone(), detail: detail.clone() },
        Error::WrongKey { log, ours } => Error::WrongKey { log: log.clone(), ours: ours.clone() },
        other => Error::Database(other.to_string()),
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
