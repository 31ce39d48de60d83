//! Which transactions wait for the disk, and who sees to the others.
//!
//! SQLite syncs its log at each commit under `synchronous=FULL` and leaves it in the system's hands
//! under `NORMAL`, where it survives the process but not a power cut. A sync is of the whole file,
//! so the next one takes along whatever was left before it; a checkpoint syncs the log before it
//! writes pages to where they belong, so beginning the log anew loses nothing.
//!
//! Invariant: when a transaction that asked for a sync is answered, everything before it is on
//! disk, also when it changed nothing itself.

use crate::change::Durability;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long something may be without a sync when nothing follows it.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is on disk of one writer's log.
pub(super) struct Disk {
    log: PathBuf,
    /// What the connection is set to.
    set: Durability,
    /// Since when something is written and not synced, by the monotonic clock.
    since: Option<Duration>,
}

impl Disk {
    /// For a connection that syncs every commit. What a process that died left in the log is taken
    /// for not synced.
    pub(super) fn new(log: &Path, now: Duration) -> Self {
        let inherited = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
        Self { log: log.to_owned(), set: Durability::Synced, since: inherited.then_some(now) }
    }

    /// How long the writer may wait for work before it must [`settle`](Self::settle), or sync
    /// whatever it writes; for ever when all is on disk.
    pub(super) fn patience(&self, now: Duration) -> Option<Duration> {
        self.since.map(|since| PATIENCE.saturating_sub(now.saturating_sub(since)))
    }

    /// Before a transaction: SQLite lets nobody change the setting inside of one.
    pub(super) fn set(&mut self, connection: &Connection, wanted: Durability) -> rusqlite::Result<()> {
        if self.set != wanted {
            // Not a cached statement: SQLite carries this one out while it reads it.
            connection.execute_batch(match wanted {
                Durability::Synced => "PRAGMA synchronous = FULL",
                Durability::WithNext => "PRAGMA synchronous = NORMAL",
            })?;
            self.set = wanted;
        }
        Ok(())
    }

    /// After a transaction. One that wrote nothing was not synced either, so then what came before
    /// it is synced here.
    pub(super) fn committed(&mut self, wrote: bool, now: Duration) -> std::io::Result<()> {
        match (self.set, wrote) {
            (Durability::Synced, true) => self.since = None,
            (Durability::Synced, false) => return self.settle(),
            (Durability::WithNext, true) => {
                self.since.get_or_insert(now);
            }
            (Durability::WithNext, false) => {}
        }
        Ok(())
    }

    /// Takes to the disk what is only written.
    pub(super) fn settle(&mut self) -> std::io::Result<()> {
        if self.since.is_some() {
            sync_log(&self.log)?;
            self.since = None;
        }
        Ok(())
    }

    /// After a sync that failed: it is tried again after a while, not at once.
    pub(super) fn postpone(&mut self, now: Duration) {
        self.since = Some(now);
    }
}

/// Syncs the log, whoever wrote to it. A log that is not there has nothing that is not in the file
/// itself.
pub(super) fn sync_log(log: &Path) -> std::io::Result<()> {
    match std::fs::File::open(log) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The log that belongs to a file.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}
