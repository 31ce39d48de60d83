//! MySQL and MariaDB.
//!
//! A statement is prepared, which reports its columns, and runs in a read-only transaction. Names
//! are in double quotes as in the other dialects. Where the two servers differ (the time limit), it
//! is detected at the first connection.
//!
//! An admitted statement is explained first. The optimizer's trace (`trace`) is compared with what
//! was admitted.

mod check;
mod trace;

use std::str::FromStr as _;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use sqlx::mysql::{MySqlColumn, MySqlConnectOptions, MySqlConnection, MySqlDatabaseError};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Executor as _, Row as _,
    SqlSafeStr as _,
};
use sqlx::{Statement as _, TypeInfo as _};

use super::decode::Wire;
use super::discover::{self, ForeignKey, Listed, Reader};
use super::error::{Category, DatabaseError, Moment, Named, from_driver};
use super::pool::{Lease, Opener, Pool};
use super::{
    Admission, Bounds, CONNECT_WITHIN, Database, Discovered, Limits, Next, RowBuffer, Wall, guard,
    no_columns, no_placeholders,
};
use crate::frame::{Field, Frame, Unit};
use crate::query::Dialect;

/// Time limit of checking an idle connection.
const ALIVE_WITHIN: Duration = Duration::from_secs(3);

/// Double quotes are for names, and backslashes escape in strings, whatever the server's default:
/// `guard` relies on it.
const SESSION: &str = "SET SESSION sql_mode = CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), \
    ',ANSI_QUOTES'); SET SESSION TRANSACTION READ ONLY";

/// A MySQL or MariaDB database.
pub(super) struct MySql {
    pool: Pool<Server>,
}

/// A connection and its id on the server.
pub(super) struct Link {
    connection: MySqlConnection,
    number: i64,
    limit: TimeLimit,
    /// Whether the server supports the optimizer trace.
    traces: bool,
}

/// How the server's time limit of a statement is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeLimit {
    /// MariaDB, in seconds.
    Seconds,
    /// MySQL, in milliseconds.
    Milliseconds,
    /// Not supported before MySQL 5.7: then only the timeout on this side applies.
    None,
}

impl TimeLimit {
    fn setting(self, milliseconds: u64) -> String {
        match self {
            Self::Seconds => {
                format!("max_statement_time = {}.{:03}, ", milliseconds / 1000, milliseconds % 1000)
            }
            Self::Milliseconds => format!("max_execution_time = {milliseconds}, "),
            Self::None => String::new(),
        }
    }

    /// Detects which one the server supports.
    async fn of(connection: &mut MySqlConnection, version: &str) -> Self {
        let limit =
            if version.to_ascii_lowercase().contains("mariadb") { Self::Seconds } else { Self::Milliseconds };
        let name = if limit == Self::Seconds { "max_statement_time" } else { "max_execution_time" };
        let known =
            connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("SET SESSION {name} = 0")))).await.is_ok();
        if known { limit } else { Self::None }
    }
}

pub(super) struct Server {
    options: MySqlConnectOptions,
    host: String,
}

impl Server {
    fn error(&self, error: sqlx::Error, moment: Moment) -> DatabaseError {
        from_driver(error, &self.host, moment, |said| {
            said.try_downcast_ref::<MySqlDatabaseError>().map(|said| named(said.number()))
        })
    }
}

#[async_trait]
impl Opener for Server {
    type Link = Link;

    async fn open(&self) -> Result<Link, DatabaseError> {
        let opening = async {
            let failed = |error| self.error(error, Moment::Connecting);
            let mut connection = self.options.connect().await.map_err(failed)?;
            connection.execute(sqlx::raw_sql(SESSION)).await.map_err(failed)?;
            let row = connection
                .fetch_one("SELECT CAST(CONNECTION_ID() AS SIGNED), CAST(VERSION() AS CHAR)")
                .await
                .map_err(failed)?;
            let number = row.try_get_unchecked(0).map_err(failed)?;
            let version: String = row.try_get_unchecked(1).map_err(failed)?;
            let limit = TimeLimit::of(&mut connection, &version).await;
            let traces = connection.execute(sqlx::raw_sql("SET SESSION optimizer_trace = 'enabled=off'"));
            let traces = traces.await.is_ok();
            Ok(Link { connection, number, limit, traces })
        };
        let late =
            || DatabaseError::Unreachable { host: self.host.clone(), detail: "no answer in time".to_owned() };
        tokio::time::timeout(CONNECT_WITHIN, opening).await.unwrap_or_else(|_| Err(late()))
    }

    async fn alive(&self, link: &mut Link) -> bool {
        matches!(tokio::time::timeout(ALIVE_WITHIN, link.connection.ping()).await, Ok(Ok(())))
    }

    fn id(&self, link: &Link) -> i64 {
        link.number
    }

    async fn stop(&self, id: i64) {
        let Ok(mut connection) = self.options.connect().await else { return };
        let _stopped = connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}")))).await;
        let _closed = connection.close().await;
    }
}

impl MySql {
    /// Connects once, to test the address.
    pub(super) async fn connect(url: &str) -> Result<Self, DatabaseError> {
        let options = MySqlConnectOptions::from_str(url)
            .map_err(|error| from_driver(error, "", Moment::Connecting, |_| None))?;
        let options = options.disable_statement_logging();
        let host = format!("{}:{}", options.get_host(), options.get_port());
        Ok(Self { pool: Pool::new(Server { options, host }).await? })
    }

    async fn run(
        &self,
        sql: &str,
        limits: Limits,
        admitted: Option<&Admission>,
    ) -> Result<(Frame, bool), DatabaseError> {
        let mut lease = self.pool.take().await?;
        let server = self.pool.opener();
        let result = async {
            let link = lease.link()?;
            let time = link.limit.setting(limits.milliseconds());
            let begin = format!(
                "SET SESSION {time}sql_select_limit = {}; START TRANSACTION READ ONLY",
                limits.fetched()
            );
            let begun = link.connection.execute(sqlx::raw_sql(AssertSqlSafe(begin))).await;
            begun.map_err(|error| server.error(error, Moment::Reading))?;
            if let Some(admitted) = admitted.filter(|_| link.traces) {
                check::check(server, &mut link.connection, sql, admitted).await?;
            }
            rows(server, &mut link.connection, sql, limits).await
        }
        .await;
        // Session variables and locks outlive the transaction, and must not be visible to the next
        // query.
        let traces = sql.contains('@') || sql.to_ascii_uppercase().contains("GET_LOCK");
        match &result {
            // Too much is still to come: dropping the lease stops it.
            Ok((_, false)) => drop(lease),
            Err(error) if !error.leaves_connection_usable() => lease.discard(),
            _ if traces => lease.discard(),
            _ => clean(lease).await,
        }
        result.map(|(gathered, _)| gathered.finish())
    }
}

/// Ends the transaction and returns the connection to the pool, if that works.
async fn clean(mut lease: Lease<Server>) {
    let Ok(Link { connection, .. }) = lease.link() else { return };
    let ended = connection.execute(sqlx::raw_sql("ROLLBACK")).await.is_ok();
    // Prepared statements are not cached: they would fail after a table is altered.
    if ended && connection.clear_cached_statements().await.is_ok() {
        lease.give_back();
    } else {
        lease.discard();
    }
}

/// The rows, and whether everything that the server sent was read.
async fn rows(
    server: &Server,
    connection: &mut MySqlConnection,
    sql: &str,
    limits: Limits,
) -> Result<(RowBuffer, bool), DatabaseError> {
    let failed = |error| server.error(error, Moment::Reading);
    let statement = connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await.map_err(failed)?;
    no_placeholders(
        statement.parameters().map_or(0, |parameters| parameters.either(<[_]>::len, |count| count)),
    )?;
    if statement.columns().is_empty() {
        return Err(no_columns());
    }
    let (fields, wires) = statement.columns().iter().map(shown).unzip();
    let mut gathered = RowBuffer::new(fields, wires, limits);
    let mut stream = connection.fetch(sqlx::query(AssertSqlSafe(sql.to_owned())));
    while let Some(row) = stream.next().await {
        let row = row.map_err(failed)?;
        // MySQL may determine a type only when it runs the statement.
        gathered.announced(row.columns().iter().map(shown));
        let cell = |column: usize| row.try_get_unchecked::<Option<&[u8]>, _>(column).ok().flatten();
        if gathered.push(cell) == Next::Stop {
            return Ok((gathered, false));
        }
    }
    Ok((gathered, true))
}

fn shown(column: &MySqlColumn) -> (Field, Wire) {
    let name = column.type_info().name();
    let wire = match name {
        "BOOLEAN" => Wire::TinyBool,
        "YEAR" => Wire::UnsignedLittle,
        "FLOAT" | "DOUBLE" => Wire::FloatLittle,
        "DECIMAL" => Wire::Decimal,
        "DATE" => Wire::MySqlDate,
        "DATETIME" | "TIMESTAMP" => Wire::MySqlTimestamp,
        "TIME" => Wire::MySqlTime,
        "BIT" => Wire::Bit,
        "GEOMETRY" => Wire::Opaque,
        "NULL" => Wire::Nothing,
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => Wire::IntLittle,
        unsigned if unsigned.ends_with(" UNSIGNED") => Wire::UnsignedLittle,
        // Text with a binary collation is announced as bytes.
        bytes if bytes.ends_with("BINARY") || bytes.ends_with("BLOB") => Wire::Blob,
        _ => Wire::Text,
    };
    let unit = if name == "YEAR" { Unit::Year } else { Unit::Plain };
    (Field { name: column.name().to_owned(), kind: wire.kind(), unit }, wire)
}

/// The meaning of an error number.
fn named(number: u16) -> Named {
    match number {
        1045 | 1130 | 1698 | 1862 | 3118 | 4151 => Named::Password,
        1049 => Named::NoDatabase,
        1040 | 1203 | 1226 => Named::Busy,
        1969 | 3024 | 1317 | 1205 => Named::TimedOut,
        1053 | 1927 | 3169 | 4031 => Named::Vanished,
        1044 | 1142 | 1143 | 1227 | 1370 | 1345 => Named::Permission,
        1792 | 1290 | 1036 => Named::NotReadOnly,
        1054 | 1052 => Named::Sql(Category::MissingColumn),
        1146 | 1051 | 1109 | 1046 => Named::Sql(Category::MissingTable),
        1064 | 1149 | 1055 | 1056 | 1060 | 1066 | 1111 | 1140 | 1222 | 1241 | 1242 | 1247 | 1248 | 1295 => {
            Named::Sql(Category::Syntax)
        }
        1292 | 1305 | 1366 | 1411 | 1582 | 1583 | 1630 | 1690 | 1264 | 1267 | 1270 | 1271 | 1139 | 1365
        | 4078 | 4079 => Named::Sql(Category::Type),
        1037 | 1038 | 1041 | 1104 | 1114 | 1135 | 1153 | 1301 | 1436 => Named::Sql(Category::Resource),
        _ => Named::Sql(Category::Other),
    }
}

#[async_trait]
impl Database for MySql {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    async fn discover(&self) -> Result<Discovered, DatabaseError> {
        discover::discover(self).await
    }

    async fn query(&self, sql: &str, bounds: Bounds) -> Result<(Frame, bool), DatabaseError> {
        self.read(sql, bounds.into()).await
    }

    async fn query_admitted(
        &self,
        sql: &str,
        bounds: Bounds,
        admitted: &Admission,
    ) -> Result<(Frame, bool), DatabaseError> {
        let limits = Limits::from(bounds);
        let sql = guard::check(sql, Dialect::MySql)?;
        limits.enforce(self.run(&sql, limits, Some(admitted))).await
    }

    async fn wall(&self) -> Result<Wall, DatabaseError> {
        let mut lease = self.pool.take().await?;
        let traces = lease.link()?.traces;
        lease.give_back();
        let why = "the server keeps no optimizer's trace (MySQL 5.6, MariaDB 10.4 or later do)";
        Ok(if traces { Wall::Columns } else { Wall::None(why.to_owned()) })
    }
}

/// The server lists only what this user may use. Names are cast because servers differ in their
/// type.
const TABLES: &str = "
    SELECT CAST(t.table_schema AS CHAR), CAST(t.table_name AS CHAR), t.table_schema = COALESCE(DATABASE(), ''),
        t.table_type <> 'VIEW', CAST(t.table_rows AS SIGNED)
    FROM information_schema.tables t
    WHERE t.table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
        AND t.table_type IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')
    ORDER BY 3 DESC, 1, 2";

const COLUMNS: &str = "
    SELECT CAST(c.table_schema AS CHAR), CAST(c.table_name AS CHAR), CAST(c.column_name AS CHAR), \
    LOWER(CAST(c.data_type AS CHAR)),
        LOWER(CAST(c.privileges AS CHAR))
    FROM information_schema.columns c
    WHERE c.table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
    ORDER BY c.table_schema, c.table_name, c.ordinal_position";

const PRIMARY_KEYS: &str = "
    SELECT CAST(k.table_schema AS CHAR), CAST(k.table_name AS CHAR), CAST(k.column_name AS CHAR)
    FROM information_schema.key_column_usage k
    WHERE k.constraint_name = 'PRIMARY' AND k.table_schema NOT IN ('mysql', 'information_schema', \
    'performance_schema', 'sys')
    ORDER BY k.table_schema, k.table_name, k.ordinal_position";

const FOREIGN_KEYS: &str = "
    SELECT CONCAT(k.constraint_schema, '.', k.table_name, '.', k.constraint_name), CAST(k.table_schema AS CHAR),
        CAST(k.table_name AS CHAR), CAST(k.column_name AS CHAR), CAST(k.referenced_table_schema AS CHAR),
        CAST(k.referenced_table_name AS CHAR), CAST(k.referenced_column_name AS CHAR)
    FROM information_schema.key_column_usage k
    WHERE k.referenced_table_name IS NOT NULL ORDER BY 1, k.ordinal_position";

#[async_trait]
impl Reader for MySql {
    async fn read(&self, sql: &str, limits: Limits) -> Result<(Frame, bool), DatabaseError> {
        let sql = guard::check(sql, Dialect::MySql)?;
        limits.enforce(self.run(&sql, limits, None)).await
    }

    async fn list(&self) -> Result<(Vec<Listed>, Vec<ForeignKey>), DatabaseError> {
        let limits = discover::list_limits();
        let (tables, _) = self.read(TABLES, limits).await?;
        let (columns, _) = self.read(COLUMNS, limits).await?;
        let (keys, _) = self.read(PRIMARY_KEYS, limits).await?;
        let (foreign, _) = self.read(FOREIGN_KEYS, limits).await?;
        let (columns_of, keys_of) = (discover::grouped(&columns, &[0, 1]), discover::grouped(&keys, &[0, 1]));
        let listed = (0..tables.rows.len()).map(|row| {
            let name = [discover::text(&tables, row, 0), discover::text(&tables, row, 1)];
            let of_table =
                |groups: &discover::Groups| groups.get(name.as_slice()).cloned().unwrap_or_default();
            let readable = |row: &usize| {
                // Vectors have a type that the driver does not support.
                discover::text(&columns, *row, 4).contains("select")
                    && discover::text(&columns, *row, 3) != "vector"
            };
            Listed {
                schema: discover::text(&tables, row, 0),
                table: discover::text(&tables, row, 1),
                plain: tables.cell(row, 2).number() == Some(1.0),
                stored: tables.cell(row, 3).number() == Some(1.0),
                estimate: tables.cell(row, 4).number().filter(|rows| *rows > 0.0).map(|rows| rows as u64),
                columns: of_table(&columns_of)
                    .into_iter()
                    .filter(readable)
                    .map(|row| self.sampled(&columns, row))
                    .collect(),
                key: of_table(&keys_of).into_iter().map(|row| discover::text(&keys, row, 2)).collect(),
            }
        });
        Ok((listed.collect(), discover::foreign_keys(&foreign)))
    }

    fn quote(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn random(&self, share: f64) -> String {
        // A fixed seed, so that the same data gives the same profile.
        format!("WHERE RAND(1) < {:.9}", share.clamp(0.000_000_1, 1.0))
    }
}

impl MySql {
    /// A column and its SQL for the sample: the start of long bytes is enough.
    fn sampled(&self, columns: &Frame, row: usize) -> (String, String) {
        let name = discover::text(columns, row, 2);
        let quoted = self.quote(&name);
        let long = matches!(discover::text(columns, row, 3).as_str(), "blob" | "mediumblob" | "longblob");
        (name, if long { format!("LEFT({quoted}, 64)") } else { quoted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Value;

    /// The server enforces its two protections even without the lexical check.
    #[tokio::test]
    async fn the_server_refuses_by_itself() {
        let Ok(url) = std::env::var("STEWARD_TEST_MYSQL") else {
            eprintln!("skipped: STEWARD_TEST_MYSQL is not set");
            return;
        };
        let admin = MySqlConnectOptions::from_str(&format!("{url}/mysql")).unwrap();
        let mut admin = admin.connect().await.unwrap();
        let table = "CREATE DATABASE IF NOT EXISTS remote_locks; CREATE OR REPLACE VIEW remote_locks.v AS \
            SELECT 1 AS a; DROP TABLE IF EXISTS remote_locks.t; CREATE TABLE remote_locks.t (a int); INSERT INTO \
            remote_locks.t VALUES (1)";
        admin.execute(sqlx::raw_sql(table)).await.unwrap();
        let database = MySql::connect(&format!("{url}/remote_locks")).await.unwrap();
        let limits = Limits { rows: 10, bytes: 1_000, timeout: Duration::from_secs(5) };
        for sql in [
            "COMMIT; INSERT INTO t VALUES (2)",
            "INSERT INTO t VALUES (2)",
            "COMMIT",
            "SET TRANSACTION READ WRITE",
            "SET SESSION TRANSACTION READ WRITE",
            "START TRANSACTION READ WRITE",
            "DELETE FROM t",
            "TRUNCATE t",
            "SELECT 1; DELETE FROM t",
            "CREATE TABLE u (a int)",
        ] {
            assert!(database.run(sql, limits, None).await.is_err(), "{sql}");
        }
        let (frame, _) = database.run("SELECT COUNT(*), SUM(a) FROM t", limits, None).await.unwrap();
        assert_eq!(frame.rows, [[Value::Int(1), Value::Int(1)]]);
        // Statements without columns are not run; the transaction protects against the others.
        let mut lease = database.pool.take().await.unwrap();
        let connection = &mut lease.link().unwrap().connection;
        let writes = connection.execute(sqlx::query("INSERT INTO t VALUES (3)")).await;
        assert!(writes.is_err(), "the session itself is read-only, even outside of a transaction");
        admin.execute(sqlx::raw_sql("DROP DATABASE remote_locks")).await.unwrap();
    }
}
