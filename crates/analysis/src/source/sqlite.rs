//! SQLite databases as sources: opened read-only, with an authorizer that allows only reads.
//!
//! `mode=ro` alone still lets `ATTACH` and `VACUUM INTO` create files, so the authorizer refuses
//! every action that is not a read of this database, whatever the SQL. A caller's statement gets
//! its own authorizer, which allows only the columns that it was admitted to.

use crate::catalogue::{Evidence, Join, Table};
use crate::error::{Error, Result};
use crate::frame::{Field, Frame, Kind, Unit, Value};
use crate::profile;
use crate::reader::guess_time;
use crate::session::Statement;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, InterruptHandle, OpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::ErrorCategory;
use steward_journal::clock::{Clock as _, SystemClock};

/// Maximum number of rows sampled for a profile.
const SAMPLE: usize = 20_000;
/// How long to wait for a lock of another process.
const BUSY: Duration = Duration::from_secs(5);
/// Time limit of profiling one table or view.
const LOOK: Duration = Duration::from_secs(4);
/// Time limit of profiling all of them.
const DISCOVERY: Duration = Duration::from_secs(20);
/// Time limit of fetching a table to be joined with other sources.
const FETCH: Duration = Duration::from_secs(180);
/// Number of virtual machine steps between two checks of the time limit.
const STEPS: i32 = 10_000;
/// Maximum size of a result's cells.
const RESULT_BYTES: usize = 64 << 20;
/// SQLite's own limits for statements and for the views of a file.
const LIMITS: [(Limit, i32); 6] = [
    // Maximum length of a text, and of a row of a sorter or a group.
    (Limit::SQLITE_LIMIT_LENGTH, 16 << 20),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 5_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// An open database.
pub(crate) struct SqliteSource {
    path: PathBuf,
    connection: Arc<Mutex<Connection>>,
    interrupt: InterruptHandle,
    /// The names of its views, in lower case.
    views: Arc<BTreeSet<String>>,
}

/// Whether a table is one in which a virtual table (full-text search, R*Tree) keeps its rows.
fn is_shadow(name: &str, of: &str) -> bool {
    const PARTS: [&str; 11] = [
        "content", "data", "idx", "docsize", "config", "segments", "segdir", "stat", "node", "parent",
        "rowid",
    ];
    let (name, of) = (name.to_lowercase(), of.to_lowercase());
    let part = name.strip_prefix(&of).and_then(|rest| rest.strip_prefix('_'));
    part.is_some_and(|part| PARTS.contains(&part))
}

impl SqliteSource {
    /// Opens a file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = |detail: String| Error::File { path: path.to_owned(), detail };
        std::fs::metadata(path).map_err(|error| file(error.to_string()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        #[expect(
            clippy::disallowed_methods,
            reason = "the one door to SQLite files that are data, not the store"
        )]
        let opened = Connection::open_with_flags(path, flags);
        let connection = opened.map_err(|error| file(error.to_string()))?;
        connection.busy_timeout(BUSY).map_err(|error| file(error.to_string()))?;
        for (limit, value) in LIMITS {
            connection.set_limit(limit, value).map_err(|error| file(error.to_string()))?;
        }
        let interrupt = connection.get_interrupt_handle();
        let connection = Arc::new(Mutex::new(connection));
        let views = "SELECT lower(name) FROM sqlite_master WHERE type = 'view'";
        let (views, _) = read(&connection, path, views, None, Bounds { rows: 10_000, within: LOOK })?;
        let views = views.rows.iter().filter_map(|row| row.first().map(Value::plain)).collect();
        Ok(Self { path: path.to_owned(), connection, interrupt, views: Arc::new(views) })
    }

    /// Its profiled tables, its declared joins, and what was skipped.
    pub(crate) fn discover(&self) -> Result<(Vec<Table>, Vec<Join>, Vec<String>)> {
        let (clock, mut left_out, mut first) = (SystemClock::default(), Vec::new(), None);
        let until = clock.monotonic() + DISCOVERY;
        let names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE \
            'sqlite_%' ORDER BY rowid";
        let mut names: Vec<String> =
            self.rows(names, 2_000)?.0.rows.iter().filter_map(|row| row.first().map(Value::plain)).collect();
        // The tables in which a virtual table keeps its rows hold its columns under other names.
        let virtual_tables =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'";
        let virtual_tables = self.rows(virtual_tables, 2_000)?.0.rows;
        let virtual_tables: Vec<String> =
            virtual_tables.iter().filter_map(|row| row.first().map(Value::plain)).collect();
        names.retain(|name| !virtual_tables.iter().any(|of| is_shadow(name, of)));
        let mut tables = Vec::new();
        let mut joins = Vec::new();
        for name in names {
            if clock.monotonic() > until {
                left_out.push(format!(
                    "{name} and what follows it were left out: looking them over takes too long"
                ));
                break;
            }
            // A view over a missing table, or one that does not terminate, must not hide the rest.
            match self.table(&name) {
                Ok(table) => {
                    joins.extend(self.joins(&name)?);
                    tables.push(table);
                }
                Err(error) => {
                    left_out.push(format!("{name} was left out: {error}"));
                    first.get_or_insert(error);
                }
            }
        }
        if tables.is_empty()
            && let Some(error) = first
        {
            return Err(error);
        }
        let known = |name: &str| tables.iter().any(|table: &Table| table.name.eq_ignore_ascii_case(name));
        joins.retain(|join| known(&join.to.0) && !join.to.1.is_empty());
        Ok((tables, joins, left_out))
    }

    fn table(&self, name: &str) -> Result<Table> {
        let quoted = quote(name);
        let (mut frame, cut) = self.rows(&format!("SELECT * FROM {quoted}"), SAMPLE)?;
        let declared =
            self.rows(&format!("SELECT name, type, pk FROM pragma_table_info({})", text(name)), 5_000)?.0;
        let declared_kind = |column: &str| {
            let row =
                declared.rows.iter().find(|row| row.first().is_some_and(|cell| cell.plain() == column))?;
            row.get(1).map(|kind| kind.plain().to_ascii_uppercase())
        };
        let kinds: Vec<(Kind, Unit)> = (frame.fields.iter().enumerate())
            .map(|(index, field)| column_kind(&frame, index, declared_kind(&field.name).as_deref()))
            .collect();
        for (field, (kind, unit)) in frame.fields.iter_mut().zip(kinds) {
            (field.kind, field.unit) = (kind, unit);
        }
        let rows = if cut {
            self.rows(&format!("SELECT count(*) FROM {quoted}"), 1)?.0.cell(0, 0).number().map(|n| n as u64)
        } else {
            Some(frame.rows.len() as u64)
        };
        let columns = profile::columns(&frame, &[], !cut);
        let primary_key: Vec<String> = (declared.rows.iter())
            .filter(|row| row.get(2).and_then(Value::number).unwrap_or(0.0) > 0.0)
            .filter_map(|row| row.first().map(Value::plain))
            .collect();
        let primary_key = if primary_key.is_empty() { profile::key(&columns) } else { primary_key };
        Ok(Table { name: name.to_owned(), label: name.to_owned(), source: 0, columns, rows, primary_key })
    }

    fn joins(&self, name: &str) -> Result<Vec<Join>> {
        let sql = format!(
            "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list({}) ORDER BY id, seq",
            text(name)
        );
        let mut joins: Vec<(String, Join)> = Vec::new();
        for row in self.rows(&sql, 5_000)?.0.rows {
            let [id, to_table, from, to] = row.as_slice() else { continue };
            let to = if to.is_null() { from.plain() } else { to.plain() };
            match joins.iter_mut().find(|(known, _)| *known == id.plain()) {
                Some((_, join)) => {
                    join.from.1.push(from.plain());
                    join.to.1.push(to);
                }
                None => joins.push((
                    id.plain(),
                    Join {
                        from: (name.to_owned(), vec![from.plain()]),
                        to: (to_table.plain(), vec![to]),
                        evidence: Evidence::Constraint,
                    },
                )),
            }
        }
        Ok(joins.into_iter().map(|(_, join)| join).collect())
    }

    /// Runs an admitted statement: only the columns it was admitted to can be read.
    pub(crate) async fn query(&self, sql: &Statement, limit: usize) -> Result<(Frame, bool)> {
        let bounds = Bounds { rows: limit, within: sql.timeout() };
        self.read_only(sql.text.clone(), sql.reads.clone(), bounds).await
    }

    /// These columns of a table's rows.
    pub(crate) async fn fetch(&self, table: &str, columns: &[String], limit: usize) -> Result<(Frame, bool)> {
        let list: Vec<String> = columns.iter().map(|column| format!("t.{}", quote(column))).collect();
        let list = if list.is_empty() { "1".to_owned() } else { list.join(", ") };
        let sql = format!("SELECT {list} FROM main.{} AS t", quote(table));
        let reads = BTreeMap::from([(table.to_owned(), columns.iter().cloned().collect())]);
        self.read_only(sql, reads, Bounds { rows: limit, within: FETCH }).await
    }

    /// Runs a statement that can read only these columns. Dropping the future interrupts it.
    pub(super) async fn read_only(
        &self,
        sql: String,
        columns: BTreeMap<String, BTreeSet<String>>,
        bounds: Bounds,
    ) -> Result<(Frame, bool)> {
        struct Stop<'a>(&'a InterruptHandle);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.interrupt();
            }
        }
        let stop = Stop(&self.interrupt);
        let (connection, path) = (self.connection.clone(), self.path.clone());
        let reads = Some(Reads { views: self.views.clone(), columns });
        let work = tokio::task::spawn_blocking(move || read(&connection, &path, &sql, reads, bounds));
        let result = work.await.unwrap_or_else(|error| {
            Err(Error::Query { detail: error.to_string(), category: ErrorCategory::ToolFailure })
        });
        std::mem::forget(stop);
        result
    }

    pub(super) fn rows(&self, sql: &str, limit: usize) -> Result<(Frame, bool)> {
        read(&self.connection, &self.path, sql, None, Bounds { rows: limit, within: LOOK })
    }
}

/// The limits of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) rows: usize,
    pub(super) within: Duration,
}

/// The columns that a statement may read, by table. Tables behind a view are allowed if the view
/// is.
struct Reads {
    views: Arc<BTreeSet<String>>,
    columns: BTreeMap<String, BTreeSet<String>>,
}

impl Reads {
    fn authorize(&self, context: &AuthContext<'_>) -> Authorization {
        let table = |name: &str| {
            self.columns
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .map(|(_, columns)| columns)
        };
        let through_view = context.accessor.is_some_and(|accessor| {
            self.views.contains(&accessor.to_ascii_lowercase()) && table(accessor).is_some()
        });
        let allowed = match context.action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Read { .. } | AuthAction::Function { .. } if through_view => true,
            // Rows that are only counted are read without a column.
            AuthAction::Read { table_name, column_name } => table(table_name).is_some_and(|columns| {
                column_name.is_empty() || columns.iter().any(|known| known.eq_ignore_ascii_case(column_name))
            }),
            AuthAction::Function { function_name } => is_function(function_name),
            _ => false,
        };
        if allowed { Authorization::Allow } else { Authorization::Deny }
    }
}

/// Allowed functions, and those that implement operators.
fn is_function(name: &str) -> bool {
    steward_policy::is_function_allowed(steward_policy::Dialect::Sqlite, name)
        || ["like", "->", "->>"].iter().any(|operator| name.eq_ignore_ascii_case(operator))
}

/// The authorizer of discovery, which also allows reading the schema of tables.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if !function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Allow
        }
        AuthAction::Pragma { pragma_name, .. }
            if ["table_info", "foreign_key_list"]
                .iter()
                .any(|name| pragma_name.eq_ignore_ascii_case(name)) =>
        {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn read(
    connection: &Mutex<Connection>,
    path: &Path,
    sql: &str,
    reads: Option<Reads>,
    Bounds { rows: limit, within }: Bounds,
) -> Result<(Frame, bool)> {
    let failed = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            Error::Timeout { seconds: u32::try_from(within.as_secs()).unwrap_or(u32::MAX) }
        }
        _ => failure(path, &error),
    };
    let connection = connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let is_sample = reads.is_none();
    match reads {
        Some(reads) => connection.authorizer(Some(move |context: AuthContext<'_>| reads.authorize(&context))),
        None => connection.authorizer(Some(authorize)),
    }
    .map_err(failed)?;
    let clock = SystemClock::default();
    let until = clock.monotonic() + within;
    connection.progress_handler(STEPS, Some(move || clock.monotonic() > until)).map_err(failed)?;
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = statement.query([]).map_err(failed)?;
    let mut frame = Frame { name: "result".to_owned(), ..Frame::default() };
    let (mut cut, mut bytes) = (false, 0);
    while let Some(row) = rows.next().map_err(failed)? {
        if frame.rows.len() == limit {
            cut = true;
            break;
        }
        let cells: Vec<Value> =
            (0..names.len()).map(|index| row.get_ref(index).map_or(Value::Null, value)).collect();
        bytes += cells.iter().map(weight).sum::<usize>();
        if bytes > RESULT_BYTES {
            if is_sample && !frame.rows.is_empty() {
                cut = true;
                break;
            }
            return Err(Error::Output { megabytes: RESULT_BYTES >> 20 });
        }
        frame.rows.push(cells);
    }
    frame.fields = names.into_iter().map(|name| Field::new(name, Kind::Text)).collect();
    let kinds: Vec<Kind> = (0..frame.fields.len()).map(|index| seen_kind(&frame, index)).collect();
    for (field, kind) in frame.fields.iter_mut().zip(kinds) {
        field.kind = kind;
    }
    Ok((frame, cut))
}

fn weight(cell: &Value) -> usize {
    let text = if let Value::Text(text) = cell { text.len() } else { 0 };
    size_of::<Value>() + text
}

fn value(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Real(n) => Value::Float(n),
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Value::Text(format!("({} bytes)", bytes.len())),
    }
}

/// The kind of a column's cells. SQLite lets every cell have its own type.
fn seen_kind(frame: &Frame, index: usize) -> Kind {
    let (mut numbers, mut fractions, mut others) = (0_u64, 0_u64, 0_u64);
    for cell in frame.column(index) {
        match cell {
            Value::Null => {}
            Value::Int(_) => numbers += 1,
            Value::Float(_) => fractions += 1,
            _ => others += 1,
        }
    }
    match (numbers, fractions, others) {
        (_, _, 1..) | (0, 0, 0) => Kind::Text,
        (_, 1.., 0) => Kind::Number,
        _ => Kind::Integer,
    }
}

/// The kind of a column: from its cells, and from its declared type if it is empty. Text that is
/// always a date becomes dates, since SQLite has no date type.
fn column_kind(frame: &Frame, index: usize, declared: Option<&str>) -> (Kind, Unit) {
    let kind = seen_kind(frame, index);
    let name = frame.fields.get(index).map_or("", |field| field.name.as_str());
    let empty = frame.column(index).all(Value::is_null);
    if empty {
        let has = |words: &[&str]| {
            declared.is_some_and(|declared| words.iter().any(|word| declared.contains(word)))
        };
        let kind = match () {
            () if has(&["INT"]) => Kind::Integer,
            () if has(&["REAL", "FLOA", "DOUB", "NUM", "DEC"]) => Kind::Number,
            () => Kind::Text,
        };
        return (kind, Unit::Plain);
    }
    if kind == Kind::Text {
        let texts: Vec<&str> = (frame.column(index))
            .filter_map(|cell| match cell {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        return (guess_time(&texts).unwrap_or(Kind::Text), Unit::Plain);
    }
    let year = kind == Kind::Integer
        && name.to_lowercase().contains("year")
        && frame.column(index).filter_map(Value::number).all(|n| (1000.0..2200.0).contains(&n));
    (kind, if year { Unit::Year } else { Unit::Plain })
}

fn failure(path: &Path, error: &rusqlite::Error) -> Error {
    // The statement that ran contains the row-level rules, which the caller must not see.
    let detail = match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    let code = error.sqlite_error_code();
    let category = match code {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            let name = path.display().to_string();
            let detail = "another program holds it locked. Wait until it is done, or ask a copy".to_owned();
            return Error::Database { name, detail, category: ErrorCategory::ToolFailure };
        }
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
            return Error::Format { path: path.to_owned(), detail };
        }
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::SystemIoFailure) => {
            return Error::File { path: path.to_owned(), detail };
        }
        Some(rusqlite::ErrorCode::OutOfMemory | rusqlite::ErrorCode::TooBig) => {
            ErrorCategory::ResourceExhausted
        }
        Some(rusqlite::ErrorCode::AuthorizationForStatementDenied) => ErrorCategory::Denied,
        _ if detail.contains("no such column") => ErrorCategory::MissingColumn,
        _ => ErrorCategory::SqlSyntax,
    };
    Error::Query { detail, category }
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::is_shadow;

    #[test]
    fn shadow_tables_are_told_by_their_virtual_table() {
        assert!(is_shadow("mails_content", "mails") && is_shadow("Mails_DATA", "mails"));
        assert!(!is_shadow("mails", "mails") && !is_shadow("mails_archive", "mails"));
        assert!(!is_shadow("orders_content", "mails"));
    }
}
