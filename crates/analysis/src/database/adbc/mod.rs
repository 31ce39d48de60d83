//! Databases with an ADBC driver: a library of the user, loaded at run time.
//!
//! DuckDB is queried in its own SQL ([`duckdb`]). From any other database only whole columns of
//! tables are read, and the engine of this process does the rest ([`tables`]): no caller's
//! statement reaches it.
//!
//! Invariant: a driver is third-party code. A session that needs one is opened in a separate
//! process if a launcher is installed (see [`crate::isolation`]), so a driver that crashes ends
//! only its session.

mod address;
mod driver;
mod duckdb;
mod objects;
mod tables;
mod tree;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use adbc_core::error::{Error as AdbcError, Status};
use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_core::{CancelHandle, Connection as _, Database as _, Driver as _, Statement as _};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase};
use datafusion::arrow::array::RecordBatchReader;

use super::error::{Category, DatabaseError};
use super::{Database, Limits};
use crate::engine::convert;
use crate::frame::Frame;
use address::Address;

/// DuckDB's message if another process has the file open for writing.
const LOCKED: &str = "Could not set lock";

/// The scheme of addresses that name a driver.
pub(crate) const SCHEME: &str = "adbc";

/// Connects to `adbc://DRIVER?option=value`. `memory` is the memory limit of DuckDB in bytes.
pub(super) async fn connect(url: &str, memory: usize) -> Result<Box<dyn Database>, DatabaseError> {
    let address = Address::parse(url)?;
    blocking(move || {
        if address.is_duckdb() {
            let path = address.path.clone().ok_or_else(|| DatabaseError::Address {
                detail: "the file is missing: adbc://duckdb?path=shop.duckdb".to_owned(),
            })?;
            return Ok(
                Box::new(duckdb::DuckDb::open(&address, Path::new(&path), memory)?) as Box<dyn Database>
            );
        }
        Ok(Box::new(tables::DriverTables::open(&address)?) as Box<dyn Database>)
    })
    .await
}

/// Opens a DuckDB file with a driver of this machine.
pub(crate) async fn open_duckdb(path: &Path, memory: usize) -> Result<Box<dyn Database>, DatabaseError> {
    let path = path.to_owned();
    blocking(move || {
        Ok(Box::new(duckdb::DuckDb::open(&Address::duckdb(), &path, memory)?) as Box<dyn Database>)
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DatabaseError> + Send + 'static,
) -> Result<T, DatabaseError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(DatabaseError::sql(Category::Other, error.to_string())))
}

/// An open database of a driver.
#[derive(Clone)]
struct Link {
    database: Arc<Mutex<ManagedDatabase>>,
    /// The name for messages: the file or the driver, without secrets.
    name: String,
}

impl Link {
    fn open(
        address: &Address,
        name: &str,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<Self, DatabaseError> {
        let mut driver = driver::load(address)?;
        let database = driver.new_database_with_opts(options).map_err(|error| failure(name, &error))?;
        Ok(Self { database: Arc::new(Mutex::new(database)), name: name.to_owned() })
    }

    fn connection(&self) -> Result<ManagedConnection, DatabaseError> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner).clone();
        database.new_connection().map_err(|error| failure(&self.name, &error))
    }

    /// Executes one of our own statements and ignores its rows.
    fn execute(&self, connection: &mut ManagedConnection, sql: &str) -> Result<(), DatabaseError> {
        let failed = |error: AdbcError| failure(&self.name, &error);
        let mut statement = connection.new_statement().map_err(failed)?;
        statement.set_sql_query(sql).map_err(failed)?;
        for batch in statement.execute().map_err(failed)? {
            batch.map_err(|error| DatabaseError::sql(Category::Other, error.to_string()))?;
        }
        Ok(())
    }

    /// The rows of a statement, within its limits, and whether there were more.
    fn rows(
        &self,
        connection: &mut ManagedConnection,
        sql: &str,
        limits: Limits,
        stop: &StopHandle,
    ) -> Result<(Frame, bool), DatabaseError> {
        let failed = |error: AdbcError| failure(&self.name, &error);
        let mut statement = connection.new_statement().map_err(failed)?;
        statement.set_sql_query(sql).map_err(failed)?;
        stop.set(Some(statement.get_cancel_handle()));
        let result = statement.execute().map_err(failed).and_then(|reader| gather(reader, limits));
        stop.set(None);
        result
    }
}

/// Reads batches up to the limits.
fn gather(reader: Box<dyn RecordBatchReader + Send>, limits: Limits) -> Result<(Frame, bool), DatabaseError> {
    let failed = |error: datafusion::arrow::error::ArrowError| {
        let text = error.to_string();
        sorted(text.trim_start_matches("C Data interface error: "))
    };
    let mut frame = convert::empty("", &reader.schema());
    if frame.fields.is_empty() {
        return Err(super::no_columns());
    }
    let mut bytes = limits.bytes;
    for batch in reader {
        let batch = batch.map_err(failed)?;
        let left = limits.rows.saturating_sub(frame.rows.len());
        let fits = convert::append(&mut frame, &batch, limits.rows, &mut bytes).map_err(failed)?;
        if !fits || batch.num_rows() > left {
            return Ok((frame, true));
        }
    }
    Ok((frame, false))
}

/// Cancels the running statement when the caller no longer waits for it.
#[derive(Clone, Default)]
struct StopHandle(Arc<Mutex<Option<Box<dyn CancelHandle>>>>);

impl StopHandle {
    fn set(&self, handle: Option<Box<dyn CancelHandle>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = handle;
    }
}

/// Cancels on drop; for a statement that has ended this does nothing.
struct StopOnDrop(StopHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(handle) = self.0.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            let _driver_cannot = handle.try_cancel();
        }
    }
}

/// Converts a driver's error.
fn failure(name: &str, error: &AdbcError) -> DatabaseError {
    let (host, detail) = (name.to_owned(), error.message.clone());
    match error.status {
        Status::Cancelled | Status::Timeout => DatabaseError::Timeout { milliseconds: 0 },
        Status::Unauthenticated => DatabaseError::Password { host, detail },
        Status::Unauthorized => DatabaseError::Permission { detail },
        Status::IO if detail.contains(LOCKED) => DatabaseError::Busy { host, detail },
        Status::IO => DatabaseError::Unreachable { host, detail },
        _ => sorted(&detail),
    }
}

/// Classifies an error by its message: the status codes of drivers are coarse.
fn sorted(detail: &str) -> DatabaseError {
    let begins = |words: &[&str]| words.iter().any(|word| detail.contains(word));
    let category = match () {
        () if begins(&["INTERRUPT", "Interrupted"]) => return DatabaseError::Timeout { milliseconds: 0 },
        () if begins(&["Permission Error", "read-only mode"]) => {
            return DatabaseError::NotReadOnly { detail: detail.to_owned() };
        }
        () if begins(&["Parser Error", "syntax error"]) => Category::Syntax,
        () if begins(&["Referenced column", "no such column", "does not have a column"]) => {
            Category::MissingColumn
        }
        () if begins(&["Table with name", "no such table"]) => Category::MissingTable,
        () if begins(&["Conversion Error", "Binder Error", "Invalid Input Error", "Out of Range Error"]) => {
            Category::Type
        }
        () if begins(&["Out of Memory Error", "out of memory"]) => Category::Resource,
        () => Category::Other,
    };
    DatabaseError::sql(category, detail)
}

/// A name in double quotes.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as a literal.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
