//! The one writer: a thread that gathers what waits into one transaction and one sync.
//!
//! While a transaction is being synced, more work arrives; it shares the next sync. So a single caller pays one sync a
//! commit, and a hundred callers pay it together. A commit that fails is taken back to its savepoint and harms nobody.

use super::changes;
use super::journal::{self, Log};
use crate::change::{Commit, Committed};
use crate::error::{Error, Result};
use crate::interface::StoreOptions;
use crate::query::Scope;
use crate::retention::RetentionReport;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use steward_domain::{RetentionPolicy, Timestamp, Valid};
use tokio::sync::oneshot;

/// How many commits may share a sync. It bounds how long the first of them waits.
const BATCH: usize = 1024;

/// Work for the writer, with the way to answer.
enum Job {
    Commit {
        scope: Scope,
        commit: Box<Commit>,
        reply: oneshot::Sender<Result<Committed>>,
    },
    Retain {
        policy: Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
        reply: oneshot::Sender<Result<RetentionReport>>,
    },
    #[cfg(feature = "conformance")]
    LimitPages {
        pages: u32,
        reply: oneshot::Sender<Result<()>>,
    },
}

/// The handle: cheap to use from anywhere, waits for the thread when it is dropped.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    #[allow(clippy::disallowed_methods, reason = "this is the owner that waits for the thread")]
    pub(super) fn start(connection: Connection, options: StoreOptions, path: &Path) -> Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let log = Log::load(&connection)?;
        let mut state = State { connection, options, log, path: path.to_owned(), lost: None };
        let thread = std::thread::spawn(move || {
            while let Ok(first) = queue.recv() {
                let batch: Vec<Job> =
                    std::iter::once(first).chain(queue.try_iter().take(BATCH - 1)).collect();
                state.run(batch);
            }
        });
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) async fn commit(&self, scope: Scope, commit: Commit) -> Result<Committed> {
        self.ask(|reply| Job::Commit { scope, commit: Box::new(commit), reply }).await
    }

    pub(super) async fn retain(
        &self,
        policy: Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<RetentionReport> {
        self.ask(|reply| Job::Retain { policy, now, dry_run, reply }).await
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
        // Closing the queue lets the thread finish what it has and end.
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// An answer that waits for the sync.
type Answer = Box<dyn FnOnce(std::result::Result<(), Error>) + Send>;

struct State {
    connection: Connection,
    options: StoreOptions,
    log: Log,
    path: PathBuf,
    /// Why SQLite took the running transaction back, once it has.
    lost: Option<Error>,
}

impl State {
    /// One transaction, one sync, many answers.
    fn run(&mut self, batch: Vec<Job>) {
        if let Err(error) = self.begin() {
            return refuse(batch, &error);
        }
        let mut answers: Vec<Answer> = Vec::with_capacity(batch.len());
        for job in batch {
            match job {
                Job::Commit { scope, commit, reply } => {
                    let result = self.savepoint(|connection, options, log| {
                        changes::apply(connection, options, log, &scope, *commit)
                    });
                    answers.push(answer(reply, result));
                }
                Job::Retain { policy, now, dry_run, reply } => {
                    let result = self.savepoint(|connection, options, log| {
                        super::retention::run(connection, options, log, &policy, now, dry_run)
                    });
                    answers.push(answer(reply, result));
                }
                #[cfg(feature = "conformance")]
                Job::LimitPages { pages, reply } => {
                    let limited = self.connection.pragma_update(None, "max_page_count", pages);
                    answers.push(answer(reply, limited.map_err(Error::from)));
                }
            }
        }
        let synced = self.finish();
        if synced.is_err() {
            // The transaction is gone, and with it what the log believed of it.
            let _already_ended = self.connection.execute_batch("ROLLBACK");
            self.log.forget();
        }
        for answer in answers {
            answer(synced.as_ref().map(drop).map_err(shared));
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.log.refresh(&self.connection).inspect_err(|_| {
            let _ended = self.connection.execute_batch("ROLLBACK");
        })
    }

    fn savepoint<T>(
        &mut self,
        work: impl FnOnce(&Connection, &StoreOptions, &mut Log) -> Result<T>,
    ) -> Result<T> {
        if let Some(cause) = &self.lost {
            return Err(shared(cause));
        }
        let before = self.log.mark();
        self.connection.prepare_cached("SAVEPOINT job")?.execute([])?;
        let result = work(&self.connection, &self.options, &mut self.log);
        match &result {
            // A full disk or a failing one makes SQLite take the whole transaction back, not only this job.
            Err(error) if self.connection.is_autocommit() => {
                self.lost = Some(shared(error));
                return result;
            }
            Err(_) => {
                self.connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
                self.log.return_to(before);
            }
            Ok(_) => {}
        }
        self.connection.prepare_cached("RELEASE job")?.execute([])?;
        result
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(cause) = self.lost.take() {
            return Err(cause);
        }
        let written = journal::write_head(&self.connection, &self.options, &mut self.log)
            .and_then(|()| self.connection.prepare_cached("COMMIT")?.execute([]));
        written.map(drop).map_err(|error| super::connection::explain(&self.path, error))
    }
}

fn answer<T: Send + 'static>(reply: oneshot::Sender<Result<T>>, result: Result<T>) -> Answer {
    Box::new(move |synced| {
        let _caller_gone = reply.send(synced.and(result));
    })
}

fn refuse(batch: Vec<Job>, error: &Error) {
    for job in batch {
        let error = shared(error);
        match job {
            Job::Commit { reply, .. } => drop(reply.send(Err(error))),
            Job::Retain { reply, .. } => drop(reply.send(Err(error))),
            #[cfg(feature = "conformance")]
            Job::LimitPages { reply, .. } => drop(reply.send(Err(error))),
        }
    }
}

/// The same refusal for each of those who shared the transaction.
fn shared(error: &Error) -> Error {
    match error {
        Error::DiskFull { detail } => Error::DiskFull { detail: detail.clone() },
        Error::Busy { detail } => Error::Busy { detail: detail.clone() },
        Error::ReadOnly { path, detail } => Error::ReadOnly { path: path.clone(), detail: detail.clone() },
        Error::Corrupt { path, detail } => Error::Corrupt { path: path.clone(), detail: detail.clone() },
        other => Error::Database(other.to_string()),
    }
}
