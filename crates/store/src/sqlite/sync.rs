//! Decides which transactions wait for the disk, and syncs the others later.
//!
//! SQLite syncs its log at each commit under `synchronous=FULL`. Under `NORMAL` the log is left to
//! the operating system, where it survives the process but not a power failure. A sync covers the
//! whole file, so the next one includes everything before it. A checkpoint syncs the log before it
//! writes pages to the database, so restarting the log loses nothing.
//!
//! Invariant: when a transaction that asked for a sync returns, everything before it is on disk,
//! even if it changed nothing itself.

use crate::change::Durability;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a write may stay unsynced when no other follows.
const PATIENCE: Duration = Duration::from_secs(1);

/// The sync state of one writer's log.
pub(super) struct Disk {
    log: PathBuf,
    /// The current setting of the connection.
    set: Durability,
    /// When the oldest unsynced write was made, by the monotonic clock.
    since: Option<Duration>,
}

impl Disk {
    /// For a connection that syncs every commit. A log left by a process that died is treated as
    /// unsynced.
    pub(super) fn new(log: &Path, now: Duration) -> Self {
        let inherited = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
        Self { log: log.to_owned(), set: Durability::Synced, since: inherited.then_some(now) }
    }

    /// How long the writer may wait for work before it must [`settle`](Self::settle), or sync its
    /// next write; unlimited when everything is on disk.
    pub(super) fn patience(&self, now: Duration) -> Option<Duration> {
        self.since.map(|since| PATIENCE.saturating_sub(now.saturating_sub(since)))
    }

    /// Called before a transaction: SQLite does not allow changing the setting inside one.
    pub(super) fn set(&mut self, connection: &Connection, wanted: Durability) -> rusqlite::Result<()> {
        if self.set != wanted {
            // Not a cached statement: SQLite executes this one while it is prepared.
            connection.execute_batch(match wanted {
                Durability::Synced => "PRAGMA synchronous = FULL",
                Durability::WithNext => "PRAGMA synchronous = NORMAL",
            })?;
            self.set = wanted;
        }
        Ok(())
    }

    /// Called after a transaction. One that wrote nothing was not synced, so earlier writes are
    /// synced here.
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

    /// Syncs everything that is only written.
    pub(super) fn settle(&mut self) -> std::io::Result<()> {
        if self.since.is_some() {
            sync_log(&self.log)?;
            self.since = None;
        }
        Ok(())
    }

    /// Called after a failed sync: it is retried after a while, not at once.
    pub(super) fn postpone(&mut self, now: Duration) {
        self.since = Some(now);
    }
}

/// Syncs the log, whichever process wrote to it. If there is no log, everything is in the database
/// file.
pub(super) fn sync_log(log: &Path) -> std::io::Result<()> {
    match std::fs::File::open(log) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The log file of a database file.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}
