//! Opens the SQLite file, with the settings that durability depends on. This is the only module
//! that does.

use crate::error::{Error, Result};
use crate::migrate::{SQLITE, newest};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Maximum number of readers. More readers than cores help only while one waits for the disk.
const READERS: usize = 8;

/// Pages in the WAL after which the writer itself checkpoints the rest and restarts the log.
pub(super) const CHECKPOINT: u32 = 8000;

/// Translates an error of SQLite for people.
pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> Error {
    let detail = error.to_string();
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Corrupt { path, detail },
        Some(ErrorCode::DiskFull) => Error::DiskFull { detail },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::ReadOnly { path, detail }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { detail },
        Some(ErrorCode::SystemIoFailure) => Error::DiskFull { detail },
        Some(ErrorCode::ConstraintViolation) => {
            Error::Conflict { what: "a row with the same key, or a row it refers to,".to_owned(), detail }
        }
        _ => Error::Database(detail),
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        explain(Path::new("state.db"), &error)
    }
}

#[allow(clippy::disallowed_methods, reason = "this is the door")]
fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| explain(path, &error))?;
    let settings = || -> rusqlite::Result<()> {
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "cache_size", -16_384)?;
        connection.pragma_update(None, "mmap_size", 1_i64 << 30)?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(())
    };
    settings().map_err(|error| explain(path, &error))?;
    Ok(connection)
}

/// Opens for writing: creates the file if it is missing and migrates its schema.
pub(super) fn open_writer(path: &Path) -> Result<Connection> {
    // SQLite gives its log the permissions of the file, so this file is created for its owner only.
    use std::os::unix::fs::OpenOptionsExt as _;
    let _there_already = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    migrate(&mut connection, i64::MAX).map_err(|error| match error {
        Error::Corrupt { detail, .. } => Error::Corrupt { path: path.to_owned(), detail },
        Error::ReadOnly { detail, .. } => Error::ReadOnly { path: path.to_owned(), detail },
        other => other,
    })?;
    // FULL: an acknowledged commit survives a power failure. Group commit makes it affordable.
    let settings = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // Erased data is overwritten, not only unlinked.
        connection.pragma_update(None, "secure_delete", true)?;
        // Checkpoints sync twice. They run beside the writer; this limit handles what they leave.
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT)?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        Ok(())
    };
    settings().map_err(|error| explain(path, &error))?;
    Ok(connection)
}

/// Opens a connection for checkpoints of a file that is already open for writing.
pub(super) fn open_checkpointer(path: &Path) -> Result<Connection> {
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

pub(super) fn create_at_version(path: &Path, version: i64) -> Result<()> {
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    migrate(&mut connection, version)
}

pub(super) fn schema_version(connection: &Connection) -> Result<i64> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Applies missing migrations, each in a transaction with its version number, so that a crash
/// leaves a complete version.
fn migrate(connection: &mut Connection, up_to: i64) -> Result<()> {
    let (found, known) = (schema_version(connection)?, newest(SQLITE));
    if found > known {
        return Err(Error::NewerSchema { found, known });
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    for migration in SQLITE.iter().filter(|m| m.version > found && m.version <= up_to) {
        let failed = |error: rusqlite::Error| Error::Migration {
            version: migration.version,
            detail: error.to_string(),
        };
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have migrated it while we waited for the lock.
        if schema_version(&transaction)? < migration.version {
            transaction.execute_batch(migration.sql).map_err(failed)?;
            transaction.pragma_update(None, "user_version", migration.version).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// SQLite's own check.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<String> {
    let problems: Vec<String> = connection
        .prepare("PRAGMA quick_check(5)")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    match problems.as_slice() {
        [ok] if ok == "ok" => {
            Ok(format!("SQLite {}, schema version {}", rusqlite::version(), schema_version(connection)?))
        }
        _ => Err(Error::Corrupt { path: path.to_owned(), detail: problems.join("; ") }),
    }
}

/// Writes a consistent snapshot to a new file.
pub(super) fn copy(path: &Path, to: &Path) -> Result<()> {
    let there = to.try_exists().unwrap_or(true);
    let name = to.to_str().filter(|_| !there).ok_or_else(|| Error::ReadOnly {
        path: to.to_owned(),
        detail: "there is a file of this name already, or the name is no text".to_owned(),
    })?;
    // It only reads, but SQLite requires a writable connection.
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| explain(to, &error))?;
    Ok(())
}

/// Connections for reading, opened on demand and reused.
pub(super) struct Readers {
    path: PathBuf,
    free: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), free: Mutex::default(), places: Arc::new(Semaphore::new(READERS)) }
    }

    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| Error::Closed)?;
        let readers = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let connection = readers.take()?;
            let result = query(&connection);
            if let Ok(mut free) = readers.free.lock() {
                free.push(connection);
            }
            drop(place);
            result.map_err(|error| match error {
                Error::Corrupt { detail, .. } => Error::Corrupt { path: readers.path.clone(), detail },
                other => other,
            })
        });
        done.await.map_err(|_| Error::Closed)?
    }

    fn take(&self) -> Result<Connection> {
        if let Some(connection) = self.free.lock().ok().and_then(|mut free| free.pop()) {
            return Ok(connection);
        }
        let connection = open(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "query_only", true)?;
        // Pages of the file are memory-mapped; this cache holds only pages that are still in the
        // WAL, per reader.
        connection.pragma_update(None, "cache_size", -4096)?;
        Ok(connection)
    }
}
