//! The write-ahead log, kept so that a sync is short.
//!
//! A sync of a file that grows writes the file's length too, and that goes through the file
//! system's own journal: it takes twice as long as a sync of bytes that lie inside the file, and
//! now and then ten times. So a busy writer fills the log with zeros, a step at a time and ahead of
//! what is written, up to where it is begun anew. Checkpoints run beside it on a connection of
//! their own.
//!
//! Nothing here decides what is durable: that is [`super::sync`]'s.

use super::connection;
use super::sync::log_of;
use crate::error::Result;
use rusqlite::Connection;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Batches after which a writer counts as busy, and then those between two looks at the log's
/// length. Commands that write a few things and end never get here.
const BUSY: u64 = 64;

/// Batches between two checkpoints.
const ROUND: u64 = 256;

/// Bytes of the log that are there before they are needed. A checkpoint beside a busy writer never
/// quite catches up, so the log begins anew only when SQLite's own has come
/// ([`connection::CHECKPOINT`] pages), and a little later.
const ROOM: u64 = (connection::CHECKPOINT as u64 + 2000) * 4120;

/// How much of it is filled at once: more than is written between two looks, and little enough to
/// wait for.
const STEP: u64 = 8 << 20;

const PAGE: [u8; 4096] = [0; 4096];

/// Looks after the log of one writer.
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

    /// After each batch. What fails here costs time, never what was written, so it is left for the
    /// next round.
    pub(super) fn after_batch(&mut self, connection: &Connection) {
        self.batches += 1;
        if self.batches.is_multiple_of(BUSY) && self.is_short() {
            let _the_log_grows_as_it_is_written = self.make_room(connection);
        }
        if self.batches.is_multiple_of(ROUND) {
            self.checkpoint();
        }
    }

    /// An erasure cuts the log to nothing, so this is looked at again and again.
    fn is_short(&self) -> bool {
        std::fs::metadata(&self.log).is_ok_and(|log| log.len() < ROOM)
    }

    /// Makes the log a step longer. The writer's lock is held, so that no other process appends
    /// meanwhile; SQLite takes the zeros for the end of the log, as it does with what an earlier
    /// round left there.
    fn make_room(&self, connection: &Connection) -> Result<()> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let filled = || -> std::io::Result<()> {
            let mut file = std::fs::OpenOptions::new().write(true).open(&self.log)?;
            let length = file.metadata()?.len();
            let step = STEP.min(ROOM.saturating_sub(length));
            file.seek(SeekFrom::Start(length))?;
            // A page at a time: what was written at once the kernel may keep as one piece, and goes
            // through all of it with every small write that comes after.
            for _ in 0..step / PAGE.len() as u64 {
                file.write_all(&PAGE)?;
            }
            file.sync_all()
        };
        let _grows = filled();
        connection.execute_batch("ROLLBACK")?;
        Ok(())
    }

    /// Has the pages of the log written to where they belong, beside the writer's work.
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
            // One that is still at it has seen to it already.
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
