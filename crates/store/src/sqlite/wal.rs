//! Manages the write-ahead log so that a sync is short.
//!
//! Syncing a file that grows also writes its length, which goes through the journal of the file
//! system. That takes twice as long as syncing bytes inside the file, and sometimes ten times. A
//! busy writer therefore fills the log with zeros in advance, in steps, up to the size at which it
//! is restarted. Checkpoints run on a separate connection.
//!
//! Durability is not decided here but in [`super::sync`].

use super::connection;
use super::sync::log_of;
use crate::error::Result;
use rusqlite::Connection;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Number of batches after which a writer counts as busy, and between two checks of the log's
/// length. Short commands with a few writes never reach it.
const BUSY: u64 = 64;

/// Batches between two checkpoints.
const ROUND: u64 = 256;

/// Bytes of the log that are allocated in advance. A checkpoint beside a busy writer never
/// completely catches up, so the log restarts only with SQLite's own checkpoint
/// ([`connection::CHECKPOINT`] pages), and a little later.
const ROOM: u64 = (connection::CHECKPOINT as u64 + 2000) * 4120;

/// How much is filled at once: more than is written between two checks, and little enough to wait
/// for.
const STEP: u64 = 8 << 20;

const PAGE: [u8; 4096] = [0; 4096];

/// Manages the log of one writer.
pub(super) struct WalManager {
    log: PathBuf,
    batches: u64,
    rounds: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
}

impl WalManager {
    pub(super) fn new(path: &Path) -> Self {
        Self { log: log_of(path), batches: 0, rounds: None, thread: None, path: path.to_owned() }
    }

    /// Called after each batch. A failure here costs time but no data, so it is left for the next
    /// round.
    pub(super) fn after_batch(&mut self, connection: &Connection) {
        self.batches += 1;
        if self.batches.is_multiple_of(BUSY) && self.is_short() {
            let _the_log_grows_as_it_is_written = self.make_room(connection);
        }
        if self.batches.is_multiple_of(ROUND) {
            self.checkpoint();
        }
    }

    /// An erasure truncates the log, so this is checked repeatedly.
    fn is_short(&self) -> bool {
        std::fs::metadata(&self.log).is_ok_and(|log| log.len() < ROOM)
    }

    /// Extends the log by one step. The writer's lock is held, so that no other process appends
    /// meanwhile. SQLite treats the zeros as the end of the log, as it does with frames left by an
    /// earlier round.
    fn make_room(&self, connection: &Connection) -> Result<()> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let filled = || -> std::io::Result<()> {
            let mut file = std::fs::OpenOptions::new().write(true).open(&self.log)?;
            let length = file.metadata()?.len();
            let step = STEP.min(ROOM.saturating_sub(length));
            file.seek(SeekFrom::Start(length))?;
            // One page at a time: the kernel may keep a large write as one piece and process all of
            // it for every later small write.
            for _ in 0..step / PAGE.len() as u64 {
                file.write_all(&PAGE)?;
            }
            file.sync_all()
        };
        let _grows = filled();
        connection.execute_batch("ROLLBACK")?;
        Ok(())
    }

    /// Runs checkpoints beside the writer.
    #[allow(clippy::disallowed_methods, reason = "this is the owner that waits for the thread")]
    fn checkpoint(&mut self) {
        if self.rounds.is_none() {
            let Ok(connection) = connection::open_checkpointer(&self.path) else { return };
            let (rounds, wanted) = mpsc::sync_channel::<()>(1);
            self.thread = Some(std::thread::spawn(move || {
                while wanted.recv().is_ok() {
                    let _next_round = connection.pragma_query(None, "wal_checkpoint(PASSIVE)", |_| Ok(()));
                }
            }));
            self.rounds = Some(rounds);
        }
        if let Some(rounds) = &self.rounds {
            // If one is still running, no other is needed.
            let _busy = rounds.try_send(());
        }
    }
}

impl Drop for WalManager {
    fn drop(&mut self) {
        self.rounds.take();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
