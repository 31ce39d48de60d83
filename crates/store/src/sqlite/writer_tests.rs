//! Which batches wait for the disk, tested from inside: the setting of SQLite, and the unsynced
//! state.

use super::*;
use crate::sqlite::connection::open_writer;
use serde_json::Map;
use std::sync::Arc;
use steward_domain::{EventType, Label, TaskId, UserId};
use steward_journal::clock::{Clock as _, ManualClock};
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_journal::{Draft, note::NoteSigner};

/// A writer without its thread, with a test clock.
struct Bench {
    state: State,
    clock: Arc<ManualClock>,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let (folder, clock) =
            (tempfile::tempdir().unwrap(), Arc::new(ManualClock::at(Timestamp::from_micros(0))));
        let options = StoreOptions {
            clock: clock.clone(),
            random: Arc::new(SystemRandom),
            redactor: Arc::new(Redactor::default()),
            signer: Arc::new(NoteSigner::new("steward.log/test", &[1; 32]).unwrap()),
        };
        let path = folder.path().join("state.db");
        let connection = open_writer(&path).unwrap();
        let log = Log::load(&connection, &options.signer).unwrap();
        let (wal, mut disk) = (WalManager::new(&path), Disk::new(&log_of(&path), clock.monotonic()));
        // Creating the schema left writes in the log.
        disk.settle().unwrap();
        Self { state: State { connection, options, log, path, wal, disk }, clock, folder }
    }

    /// Runs a batch with an entry for each of these; returns whether all succeeded.
    fn run(&mut self, commits: Vec<Commit>) -> bool {
        let (jobs, answers): (Vec<_>, Vec<_>) = commits
            .into_iter()
            .map(|mut commit| {
                let prepared = commit.prepare(&self.state.options).unwrap();
                let (reply, answer) = oneshot::channel();
                (Job::Commit { scope: Scope::System, commit: Box::new(commit), prepared, reply }, answer)
            })
            .unzip();
        self.state.run(jobs);
        answers.into_iter().all(|mut answer| answer.try_recv().unwrap().is_ok())
    }

    /// The `synchronous` setting of SQLite: 1 leaves the log to the system, 2 syncs it.
    fn setting(&self) -> i64 {
        self.state.connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
    }

    fn is_all_on_disk(&self) -> bool {
        self.state.disk.patience(self.clock.monotonic()).is_none()
    }
}

fn nothing() -> Commit {
    Commit::new(UserId::new("alice").unwrap(), TaskId(steward_domain::ChainId::SYSTEM.0))
}

fn entry() -> Commit {
    let chain = TaskId(uuid::Uuid::from_u128(7));
    let draft = Draft::new(EventType::ToolCalled, Label::new("tools").unwrap(), Map::new());
    Commit::new(UserId::new("alice").unwrap(), chain).entry(draft)
}

const NORMAL: i64 = 1;
const FULL: i64 = 2;

#[test]
fn a_batch_is_synced_when_one_of_it_asks() {
    let mut bench = Bench::new();
    for (batch, setting, all_on_disk) in [
        (vec![entry()], FULL, true),
        (vec![entry().with_next()], NORMAL, false),
        (vec![entry().with_next(), entry().with_next()], NORMAL, false),
        (vec![entry().with_next(), entry()], FULL, true),
        (vec![entry().with_next()], NORMAL, false),
        (vec![entry()], FULL, true),
    ] {
        let commits = batch.len();
        assert!(bench.run(batch));
        assert_eq!((bench.setting(), bench.is_all_on_disk()), (setting, all_on_disk), "{commits} commits");
    }
}

/// SQLite does not sync a transaction that changed nothing, or whose changes were all rolled back.
#[test]
fn a_synced_commit_of_nothing_takes_along_what_came_before() {
    let mut bench = Bench::new();
    let refused = || entry().fenced(crate::Fence { task: TaskId(uuid::Uuid::nil()), token: 1 });
    for (commit, is_answered) in [(nothing(), true), (refused(), false)] {
        assert!(bench.run(vec![entry().with_next()]));
        assert!(!bench.is_all_on_disk());
        assert_eq!(bench.run(vec![commit]), is_answered);
        assert!(bench.is_all_on_disk());
    }
}

/// If that sync fails, no caller gets a success.
#[test]
fn what_cannot_be_synced_is_not_answered_as_synced() {
    let mut bench = Bench::new();
    let in_the_way = bench.folder.path().join("file");
    std::fs::write(&in_the_way, "").unwrap();
    bench.state.disk = Disk::new(&in_the_way.join("log"), bench.clock.monotonic());
    assert!(bench.run(vec![entry().with_next()]));
    assert!(!bench.run(vec![nothing()]));
    bench.state.settle();
    assert!(!bench.is_all_on_disk(), "it is tried again");
    assert!(bench.run(vec![entry()]));
    assert!(bench.is_all_on_disk());
}

#[test]
fn nothing_stays_unsynced_for_long() {
    let mut bench = Bench::new();
    assert!(bench.run(vec![entry().with_next()]));
    let patience = bench.state.disk.patience(bench.clock.monotonic());
    assert_eq!(patience, Some(Duration::from_secs(1)));
    // No work arrives: the writer syncs by itself.
    let (_jobs, queue) = mpsc::channel();
    assert!(matches!(gather(&queue, 1, Some(Duration::ZERO)), BatchWait::Nothing));
    bench.state.settle();
    assert!(bench.is_all_on_disk());
    // If more unsynced work keeps arriving, one commit per second is synced.
    for (seconds, setting) in [(0, NORMAL), (0, NORMAL), (1, FULL), (0, NORMAL)] {
        bench.clock.advance(Duration::from_secs(seconds));
        assert!(bench.run(vec![entry().with_next()]));
        assert_eq!(bench.setting(), setting);
    }
}

/// Writes left by a killed process are synced by the next one, even if that one only reads.
#[test]
fn what_was_left_behind_is_seen_to() {
    let mut bench = Bench::new();
    assert!(bench.run(vec![entry().with_next()]));
    let log = log_of(&bench.state.path);
    assert!(Disk::new(&log, Duration::ZERO).patience(Duration::ZERO).is_some());
    assert!(
        Disk::new(&bench.folder.path().join("none-wal"), Duration::ZERO).patience(Duration::ZERO).is_none()
    );
}
