//! Read-only access to remote databases.
//!
//! Three protections ensure it, each sufficient for most attempts: a lexical check of the statement
//! (`guard`); a prepared statement, of which a server accepts only one; and a read-only transaction
//! that ends with a rollback. A query has limits of rows, bytes and time, on this side and on the
//! server's.
//!
//! A caller's statement also passes a second check (`wall`): the server reports what it would read,
//! and the statement is refused if anything was not admitted.

pub(crate) mod adbc;
mod decode;
mod discover;
mod error;
mod guard;
mod mysql;
mod pool;
mod postgres;
mod profile;
mod wall;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

pub use error::{Category, DatabaseError};
pub use wall::{Admission, Wall};

use crate::catalogue::{Join, Table};
use crate::frame::{Field, Frame, Value};
use crate::query::Dialect;
use decode::Wire;

/// Time limit of connecting.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Extra time beyond the server's time limit, for the network.
const GRACE: Duration = Duration::from_secs(3);
/// Maximum memory of a result.
const RESULT_BYTES: usize = 512 * 1024 * 1024;
/// How many rows beyond the limit are read so that the connection stays usable.
const OVERHANG: usize = 64;

/// The contents of a database.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Discovered {
    /// Its tables and views with their profiles. The caller sets the source they belong to.
    pub tables: Vec<Table>,
    /// Foreign keys.
    pub joins: Vec<Join>,
    /// The path of each table, by its catalogue name: schema and table.
    pub paths: BTreeMap<String, Vec<String>>,
    /// What could not be read, as messages for people.
    pub warnings: Vec<String>,
}

/// The limits of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum number of rows.
    pub rows: usize,
    /// Time limit.
    pub timeout: Duration,
}

/// A read-only database.
#[async_trait]
pub trait Database: Send + Sync {
    /// The SQL dialect.
    fn dialect(&self) -> Dialect;
    /// Its contents.
    async fn discover(&self) -> Result<Discovered, DatabaseError>;
    /// Runs one statement. The second value tells whether rows were omitted because of the limit.
    /// Dropping the future stops the query, here and on the server.
    async fn query(&self, sql: &str, bounds: Bounds) -> Result<(Frame, bool), DatabaseError>;
    /// The same for a statement that was admitted to these columns: if the server can report what
    /// it would read, anything beyond that is refused.
    async fn query_admitted(
        &self,
        sql: &str,
        bounds: Bounds,
        admitted: &Admission,
    ) -> Result<(Frame, bool), DatabaseError>;
    /// Rows of a table by its catalogue path: only these columns.
    async fn columns_of(
        &self,
        path: &[String],
        columns: &[String],
        bounds: Bounds,
    ) -> Result<(Frame, bool), DatabaseError> {
        let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let list: Vec<String> = columns.iter().map(quoted).collect();
        let list = if list.is_empty() { "1".to_owned() } else { list.join(", ") };
        let from: Vec<String> = path.iter().map(quoted).collect();
        self.query(&format!("SELECT {list} FROM {}", from.join(".")), bounds).await
    }
    /// Which protection remains if admission is wrong.
    async fn wall(&self) -> Result<Wall, DatabaseError>;
}

/// Default memory limit of a database that runs in this process.
const MEMORY: usize = 1 << 30;

/// Connects to `postgres://`, `postgresql://`, `mysql://`, `mariadb://` or `adbc://`.
pub async fn connect(url: &str) -> Result<Box<dyn Database>, DatabaseError> {
    connect_within(url, MEMORY).await
}

/// The same with a memory limit in bytes for a database that runs in this process.
pub(crate) async fn connect_within(url: &str, memory: usize) -> Result<Box<dyn Database>, DatabaseError> {
    match url.split_once("://").map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest)) {
        Some((scheme, rest)) if matches!(scheme.as_str(), "postgres" | "postgresql") => {
            Ok(Box::new(postgres::Postgres::connect(&format!("postgres://{rest}")).await?))
        }
        Some((scheme, rest)) if matches!(scheme.as_str(), "mysql" | "mariadb") => {
            Ok(Box::new(mysql::MySql::connect(&format!("mysql://{rest}")).await?))
        }
        Some((scheme, _)) if scheme == adbc::SCHEME => adbc::connect(url, memory).await,
        Some((scheme, _)) => {
            Err(DatabaseError::Address { detail: format!("{scheme}:// is none that is known") })
        }
        None => Err(DatabaseError::Address {
            detail: "there is no scheme such as postgres:// at its start".to_owned(),
        }),
    }
}

/// The address for people: without the password, and without the query string, which may contain
/// one too.
#[must_use]
pub fn redact(url: &str) -> String {
    let base = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = base.split_once("://") else {
        return "(an address without scheme)".to_owned();
    };
    // A password may contain unescaped slashes and at signs, so the last at sign counts.
    let Some((user, host)) = rest.rsplit_once('@') else { return base.to_owned() };
    match user.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***@{host}"),
        None => base.to_owned(),
    }
}

/// The limits of a query, with defaults for those that the caller does not set.
#[derive(Debug, Clone, Copy)]
struct Limits {
    rows: usize,
    bytes: usize,
    timeout: Duration,
}

impl From<Bounds> for Limits {
    fn from(bounds: Bounds) -> Self {
        Self { rows: bounds.rows, bytes: RESULT_BYTES, timeout: bounds.timeout }
    }
}

impl Limits {
    /// For the server's own limit.
    fn milliseconds(&self) -> u64 {
        u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX).clamp(1, i32::MAX as u64)
    }

    /// One row more than allowed shows that there are more.
    fn fetched(&self) -> u64 {
        (self.rows as u64).saturating_add(1).min(i64::MAX as u64)
    }

    /// Stops a query that exceeds the server's time limit.
    async fn enforce<T>(
        &self,
        work: impl Future<Output = Result<T, DatabaseError>>,
    ) -> Result<T, DatabaseError> {
        let milliseconds = self.milliseconds();
        match tokio::time::timeout(self.timeout.saturating_add(GRACE), work).await {
            Ok(Err(DatabaseError::Timeout { .. })) | Err(_) => Err(DatabaseError::Timeout { milliseconds }),
            Ok(result) => result,
        }
    }
}

/// Rows being collected into a frame.
struct RowBuffer {
    fields: Vec<Field>,
    wires: Vec<Wire>,
    rows: Vec<Vec<Value>>,
    bytes: usize,
    beyond: usize,
    limits: Limits,
}

/// What to do after a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Read on.
    More,
    /// Stop and close the connection: too much is still to come.
    Stop,
}

impl RowBuffer {
    fn new(fields: Vec<Field>, wires: Vec<Wire>, limits: Limits) -> Self {
        Self { fields, wires, rows: Vec::new(), bytes: 0, beyond: 0, limits }
    }

    /// Corrects the announced columns once the first row is more precise.
    fn announced(&mut self, columns: impl Iterator<Item = (Field, Wire)>) {
        if self.rows.is_empty() {
            (self.fields, self.wires) = columns.unzip();
        }
    }

    /// Adds a row; `cell` returns the bytes of a column.
    fn push<'a>(&mut self, cell: impl Fn(usize) -> Option<&'a [u8]>) -> Next {
        if self.rows.len() >= self.limits.rows || self.bytes > self.limits.bytes {
            self.beyond += 1;
            let heavy = self.bytes > self.limits.bytes;
            return if heavy || self.beyond > OVERHANG { Next::Stop } else { Next::More };
        }
        let row: Vec<Value> = (self.wires.iter().enumerate())
            .map(|(column, wire)| cell(column).map_or(Value::Null, |bytes| wire.read(bytes)))
            .collect();
        self.bytes += row.iter().map(decode::weight).sum::<usize>();
        self.rows.push(row);
        Next::More
    }

    /// The result, and whether rows were omitted.
    fn finish(mut self) -> (Frame, bool) {
        decode::settle(&mut self.fields, &self.wires, &mut self.rows);
        (Frame { name: String::new(), fields: self.fields, rows: self.rows }, self.beyond > 0)
    }
}

/// A statement without columns does something other than reading, and is not run.
fn no_columns() -> DatabaseError {
    DatabaseError::NotReadOnly { detail: "the statement gives no columns".to_owned() }
}

/// A statement with placeholders cannot run: there are no values for them.
fn no_placeholders(count: usize) -> Result<(), DatabaseError> {
    if count == 0 {
        return Ok(());
    }
    Err(DatabaseError::sql(
        Category::Syntax,
        format!("the statement has {count} placeholders, but values stand in the statement here"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_struck_out() {
        assert_eq!(redact("postgres://u:p@h:1/d?sslmode=x"), "postgres://u:***@h:1/d");
        assert_eq!(redact("mysql://u:p@ss/w@h/d"), "mysql://u:***@h/d");
        assert_eq!(redact("mysql://u@h/d?password=p"), "mysql://u@h/d");
        assert_eq!(redact("secret"), "(an address without scheme)");
    }

    #[tokio::test]
    async fn odd_addresses() {
        for url in [
            "",
            "x",
            "oracle://u:secret@h/d",
            "postgres://u:secret@h:99999/d",
            "mysql://u:secret@[h/d",
            "postgres://u:sec#ret@h:x/d",
        ] {
            let error = connect(url).await.map(|_| ()).unwrap_err();
            assert!(matches!(error, DatabaseError::Address { .. }), "{url} {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[tokio::test]
    async fn nobody_there() {
        for url in ["postgres://u:secret@127.0.0.1:1/d", "mariadb://u:secret@127.0.0.1:1/d"] {
            let error = connect(url).await.map(|_| ()).unwrap_err();
            assert!(matches!(error, DatabaseError::Unreachable { .. }), "{error}");
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
