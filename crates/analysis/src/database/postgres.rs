//! PostgreSQL.
//!
//! A statement is prepared first, which reports its columns. Then it runs inside another one that
//! limits its rows and casts unsupported types to text on the server. Both happen in a read-only
//! transaction that has already taken its snapshot, after which PostgreSQL does not allow making it
//! writable.
//!
//! An admitted statement is first stored as a temporary view. The server's parse tree is compared
//! with what was admitted (`tree`), the view is what runs, and the rollback removes it. For an
//! account that may not create temporary objects, only the tables of the plan are compared
//! (`plan`).

mod plan;
mod tree;
mod view;

use std::str::FromStr as _;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use sqlx::postgres::{PgColumn, PgConnectOptions, PgConnection, PgTypeKind};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Executor as _, Row as _,
    SqlSafeStr as _,
};
use sqlx::{Statement as _, TypeInfo as _, ValueRef as _};

use super::decode::{SHORT_BYTES, Wire};
use super::discover::{self, ForeignKey, Listed, Reader};
use super::error::{Category, DatabaseError, Moment, Named, from_driver};
use super::pool::{Lease, Opener, Pool};
use super::wall::refused;
use super::{
    Admission, Bounds, CONNECT_WITHIN, Database, Discovered, Limits, Next, RowBuffer, Wall, guard,
    no_columns, no_placeholders,
};
use crate::frame::{Field, Frame};
use crate::query::Dialect;

/// Time limit of checking an idle connection.
const ALIVE_WITHIN: Duration = Duration::from_secs(3);

/// A PostgreSQL database.
pub(super) struct Postgres {
    pool: Pool<Server>,
}

/// A connection and the server process behind it.
pub(super) struct Link {
    connection: PgConnection,
    process: i64,
    wall: Wall,
    /// One less than the number of the lowest system column.
    lowest: i64,
}

pub(super) struct Server {
    options: PgConnectOptions,
    host: String,
}

impl Server {
    fn error(&self, error: sqlx::Error, moment: Moment) -> DatabaseError {
        from_driver(error, &self.host, moment, |said| said.code().and_then(|code| named(&code)))
    }
}

#[async_trait]
impl Opener for Server {
    type Link = Link;

    async fn open(&self) -> Result<Link, DatabaseError> {
        let opening = async {
            let mut connection =
                self.options.connect().await.map_err(|error| self.error(error, Moment::Connecting))?;
            let session = "SET default_transaction_read_only = on; SET standard_conforming_strings = on";
            connection
                .execute(sqlx::raw_sql(session))
                .await
                .map_err(|error| self.error(error, Moment::Connecting))?;
            // Since version 14 the server can detect a disconnected client. Older ones lack this
            // setting.
            let _older =
                connection.execute(sqlx::raw_sql("SET client_connection_check_interval = '2s'")).await;
            let row = connection.fetch_one("SELECT pg_backend_pid()::int8").await;
            let row = row.map_err(|error| self.error(error, Moment::Connecting))?;
            let process = row.try_get(0).map_err(|error| self.error(error, Moment::Connecting))?;
            let (wall, lowest) = view::standing_wall(&mut connection)
                .await
                .map_err(|error| self.error(error, Moment::Connecting))?;
            Ok(Link { connection, process, wall, lowest })
        };
        let late =
            || DatabaseError::Unreachable { host: self.host.clone(), detail: "no answer in time".to_owned() };
        tokio::time::timeout(CONNECT_WITHIN, opening).await.unwrap_or_else(|_| Err(late()))
    }

    async fn alive(&self, link: &mut Link) -> bool {
        matches!(tokio::time::timeout(ALIVE_WITHIN, link.connection.ping()).await, Ok(Ok(())))
    }

    fn id(&self, link: &Link) -> i64 {
        link.process
    }

    async fn stop(&self, id: i64) {
        let Ok(mut connection) = self.options.connect().await else { return };
        let _stopped = connection.execute(sqlx::query("SELECT pg_cancel_backend($1::int4)").bind(id)).await;
        let _closed = connection.close().await;
    }
}

impl Postgres {
    /// Connects once, to test the address.
    pub(super) async fn connect(url: &str) -> Result<Self, DatabaseError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| from_driver(error, "", Moment::Connecting, |_| None))?;
        let options = options.application_name("steward").disable_statement_logging();
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
            let stored = admitted.is_some() && matches!(link.wall, Wall::Role(_) | Wall::Columns);
            // After its first query a transaction can no longer be made writable; one that creates
            // a view is made read-only before the view is read.
            let begin = format!(
                "BEGIN READ {}; SET LOCAL statement_timeout = {}; SELECT 1",
                if stored { "WRITE" } else { "ONLY" },
                limits.milliseconds()
            );
            execute(server, &mut link.connection, begin).await?;
            let columns = described(server, &mut link.connection, sql).await?;
            let names: Vec<String> = (0..columns.len()).map(|place| format!("c{place}")).collect();
            let names = names.join(", ");
            let source = match admitted {
                Some(admitted) if stored => {
                    view::store(server, link, &format!("({names}) AS\n{sql}\n"), admitted).await?;
                    format!("pg_temp.{}", view::NAME)
                }
                // Columns get generated names, because the original ones may be duplicates.
                _ => format!("(\n{sql}\n) AS q({names})"),
            };
            let items: Vec<&str> = columns.iter().map(|column| column.sql.as_str()).collect();
            let limited = format!("SELECT {} FROM {source} LIMIT {}", items.join(", "), limits.fetched());
            if let (Some(admitted), Wall::Tables) = (admitted, &link.wall) {
                plan::check(server, &mut link.connection, &limited, admitted).await?;
            }
            rows(server, &mut link.connection, limited, &columns, limits).await
        }
        .await;
        match &result {
            // Too much is still to come: dropping the lease stops it.
            Ok((_, false)) => drop(lease),
            Err(error) if !error.leaves_connection_usable() => lease.discard(),
            _ => clean(lease).await,
        }
        result.map(|(gathered, _)| gathered.finish())
    }
}

/// Runs our own statements.
async fn execute(server: &Server, connection: &mut PgConnection, sql: String) -> Result<(), DatabaseError> {
    let done = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
    done.map(|_| ()).map_err(|error| server.error(error, Moment::Reading))
}

async fn fetch(
    server: &Server,
    connection: &mut PgConnection,
    sql: String,
) -> Result<Vec<sqlx::postgres::PgRow>, DatabaseError> {
    let rows = connection.fetch_all(sqlx::query(AssertSqlSafe(sql)).persistent(false)).await;
    rows.map_err(|error| server.error(error, Moment::Reading))
}

/// Ends the transaction and returns the connection to the pool, if that works.
async fn clean(mut lease: Lease<Server>) {
    let Ok(Link { connection, .. }) = lease.link() else { return };
    // Session locks outlive the transaction. Prepared statements are not cached: they would fail
    // after a table is altered.
    let ended = connection.execute(sqlx::raw_sql("ROLLBACK; SELECT pg_advisory_unlock_all()")).await.is_ok();
    if ended && connection.clear_cached_statements().await.is_ok() {
        lease.give_back();
    } else {
        lease.discard();
    }
}

/// The columns of a statement. Preparing it reads no rows.
async fn described(
    server: &Server,
    connection: &mut PgConnection,
    sql: &str,
) -> Result<Vec<Shown>, DatabaseError> {
    let failed = |error| server.error(error, Moment::Reading);
    let statement = connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await.map_err(failed)?;
    no_placeholders(
        statement.parameters().map_or(0, |parameters| parameters.either(<[_]>::len, |count| count)),
    )?;
    let columns: Vec<Shown> =
        statement.columns().iter().enumerate().map(|(place, column)| shown(place, column)).collect();
    if columns.is_empty() { Err(no_columns()) } else { Ok(columns) }
}

/// The rows, and whether everything that the server sent was read.
async fn rows(
    server: &Server,
    connection: &mut PgConnection,
    sql: String,
    columns: &[Shown],
    limits: Limits,
) -> Result<(RowBuffer, bool), DatabaseError> {
    let fields = columns.iter().map(|column| Field::new(column.name.clone(), column.wire.kind())).collect();
    let mut gathered = RowBuffer::new(fields, columns.iter().map(|column| column.wire).collect(), limits);
    let mut stream = connection.fetch(sqlx::query(AssertSqlSafe(sql)).persistent(false));
    while let Some(row) = stream.next().await {
        let row = row.map_err(|error| server.error(error, Moment::Reading))?;
        let cell = |column: usize| {
            row.try_get_raw(column).ok().filter(|cell| !cell.is_null()).and_then(|cell| cell.as_bytes().ok())
        };
        if gathered.push(cell) == Next::Stop {
            return Ok((gathered, false));
        }
    }
    Ok((gathered, true))
}

/// How a column is selected and decoded.
struct Shown {
    name: String,
    wire: Wire,
    sql: String,
}

fn shown(place: usize, column: &PgColumn) -> Shown {
    let info = column.type_info();
    let plain = format!("c{place}");
    let (wire, sql) = match info.name() {
        "BOOL" => (Wire::Bool, plain),
        "INT2" | "INT4" | "INT8" => (Wire::IntBig, plain),
        "OID" => (Wire::UnsignedBig, plain),
        "FLOAT4" | "FLOAT8" => (Wire::FloatBig, plain),
        "NUMERIC" => (Wire::Numeric, plain),
        "MONEY" => (Wire::Numeric, format!("{plain}::numeric")),
        "TEXT" | "VARCHAR" | "CHAR" | "NAME" | "JSON" | "UNKNOWN" => (Wire::Text, plain),
        "DATE" => (Wire::PostgresDate, plain),
        "TIMESTAMP" | "TIMESTAMPTZ" => (Wire::PostgresTimestamp, plain),
        "BYTEA" => {
            let hex = format!("'0x' || encode({plain}, 'hex')");
            let size = format!("'(' || octet_length({plain}) || ' bytes)'");
            (
                Wire::Text,
                format!("CASE WHEN octet_length({plain}) <= {SHORT_BYTES} THEN {hex} ELSE {size} END"),
            )
        }
        // A cast would add the mask length even where none was given.
        "INET" => (Wire::Text, format!("CASE WHEN {plain} IS NOT NULL THEN format('%s', {plain}) END")),
        "VOID" => (Wire::Nothing, plain),
        _ if matches!(info.kind(), PgTypeKind::Enum(_)) => (Wire::Text, plain),
        _ => (Wire::Text, format!("{plain}::text")),
    };
    Shown { name: column.name().to_owned(), wire, sql }
}

/// The meaning of a SQLSTATE.
fn named(code: &str) -> Option<Named> {
    Some(match code {
        "28P01" | "28000" => Named::Password,
        "3D000" => Named::NoDatabase,
        "53300" => Named::Busy,
        "57014" | "55P03" => Named::TimedOut,
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Named::Vanished,
        "42501" => Named::Permission,
        "25006" => Named::NotReadOnly,
        "42703" | "42702" | "42P10" => Named::Sql(Category::MissingColumn),
        "42P01" | "3F000" => Named::Sql(Category::MissingTable),
        "42883" | "42804" | "42846" | "42P18" | "42P22" | "42725" | "42704" => Named::Sql(Category::Type),
        _ => match code.get(..2) {
            Some("08") => Named::Vanished,
            Some("42") => Named::Sql(Category::Syntax),
            Some("21" | "22") => Named::Sql(Category::Type),
            Some("53" | "54") => Named::Sql(Category::Resource),
            _ => Named::Sql(Category::Other),
        },
    })
}

#[async_trait]
impl Database for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
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
        let sql = guard::check(sql, Dialect::Postgres)?;
        limits.enforce(self.run(&sql, limits, Some(admitted))).await
    }

    async fn wall(&self) -> Result<Wall, DatabaseError> {
        let mut lease = self.pool.take().await?;
        let wall = lease.link()?.wall.clone();
        lease.give_back();
        Ok(wall)
    }
}

/// Usable tables, in the order of the search path and then by name. Partitions are read through
/// their table, and tables of extensions are excluded.
const TABLES: &str = "
    SELECT c.oid::int8, n.nspname, c.relname, pg_table_is_visible(c.oid), c.relkind::text IN ('r', 'p', 'm'),
        CASE WHEN c.relkind = 'p' THEN (
            SELECT sum(greatest(leaf.reltuples, 0))::float8 FROM pg_partition_tree(c.oid) tree
            JOIN pg_class leaf ON leaf.oid = tree.relid WHERE tree.isleaf)
        ELSE c.reltuples::float8 END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
        AND has_schema_privilege(n.oid, 'USAGE')
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid \
        AND d.deptype = 'e')
    ORDER BY pg_table_is_visible(c.oid) DESC, n.nspname, c.relname";

/// Readable columns. Types that cannot be cast to text are rare and not excluded.
const COLUMNS: &str = "
    SELECT a.attrelid::int8, a.attname
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
        AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum";

const PRIMARY_KEYS: &str = "
    SELECT k.conrelid::int8, a.attname
    FROM pg_constraint k CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS part(number, place)
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = part.number
    WHERE k.contype = 'p' ORDER BY k.conrelid, part.place";

/// Keys of a partition repeat those of its table, so only keys without a parent count.
const FOREIGN_KEYS: &str = "
    SELECT k.oid::int8, n1.nspname, c1.relname, a1.attname, n2.nspname, c2.relname, a2.attname
    FROM pg_constraint k
    CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS part(one, other, place)
    JOIN pg_class c1 ON c1.oid = k.conrelid JOIN pg_namespace n1 ON n1.oid = c1.relnamespace
    JOIN pg_class c2 ON c2.oid = k.confrelid JOIN pg_namespace n2 ON n2.oid = c2.relnamespace
    JOIN pg_attribute a1 ON a1.attrelid = k.conrelid AND a1.attnum = part.one
    JOIN pg_attribute a2 ON a2.attrelid = k.confrelid AND a2.attnum = part.other
    WHERE k.contype = 'f' AND k.conparentid = 0 ORDER BY k.oid, part.place";

#[async_trait]
impl Reader for Postgres {
    async fn read(&self, sql: &str, limits: Limits) -> Result<(Frame, bool), DatabaseError> {
        let sql = guard::check(sql, Dialect::Postgres)?;
        limits.enforce(self.run(&sql, limits, None)).await
    }

    async fn list(&self) -> Result<(Vec<Listed>, Vec<ForeignKey>), DatabaseError> {
        let limits = discover::list_limits();
        let (tables, _) = self.read(TABLES, limits).await?;
        let (columns, _) = self.read(COLUMNS, limits).await?;
        let (keys, _) = self.read(PRIMARY_KEYS, limits).await?;
        let (foreign, _) = self.read(FOREIGN_KEYS, limits).await?;
        let (columns_of, keys_of) = (discover::grouped(&columns, &[0]), discover::grouped(&keys, &[0]));
        let listed = (0..tables.rows.len()).map(|row| {
            let oid = [discover::text(&tables, row, 0)];
            let of_table = |groups: &discover::Groups, frame: &Frame| -> Vec<String> {
                groups
                    .get(oid.as_slice())
                    .into_iter()
                    .flatten()
                    .map(|row| discover::text(frame, *row, 1))
                    .collect()
            };
            Listed {
                schema: discover::text(&tables, row, 1),
                table: discover::text(&tables, row, 2),
                plain: tables.cell(row, 3).number() == Some(1.0),
                stored: tables.cell(row, 4).number() == Some(1.0),
                // Before the first ANALYZE the statistics are -1 (0 in old versions).
                estimate: tables.cell(row, 5).number().filter(|rows| *rows > 0.0).map(|rows| rows as u64),
                columns: of_table(&columns_of, &columns)
                    .into_iter()
                    .map(|name| (name.clone(), self.quote(&name)))
                    .collect(),
                key: of_table(&keys_of, &keys),
            }
        });
        Ok((listed.collect(), discover::foreign_keys(&foreign)))
    }

    fn quote(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn random(&self, share: f64) -> String {
        // A fixed seed, so that the same data gives the same profile.
        format!("TABLESAMPLE SYSTEM ({:.6}) REPEATABLE (1)", (share * 100.0).clamp(0.000_1, 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Value;

    /// The server enforces its two protections even without the lexical check.
    #[tokio::test]
    async fn the_server_refuses_by_itself() {
        let Ok(url) = std::env::var("STEWARD_TEST_POSTGRES") else {
            eprintln!("skipped: STEWARD_TEST_POSTGRES is not set");
            return;
        };
        let admin = PgConnectOptions::from_str(&format!("{url}/postgres")).unwrap();
        let mut admin = admin.connect().await.unwrap();
        let table = "CREATE TABLE IF NOT EXISTS locks (a int); TRUNCATE locks; INSERT INTO locks VALUES (1)";
        admin.execute(sqlx::raw_sql(table)).await.unwrap();
        let database = Postgres::connect(&format!("{url}/postgres")).await.unwrap();
        let limits = Limits { rows: 10, bytes: 1_000, timeout: Duration::from_secs(5) };
        for sql in [
            "COMMIT; INSERT INTO locks VALUES (2)",
            "INSERT INTO locks VALUES (2)",
            "INSERT INTO locks VALUES (2) RETURNING a",
            "COMMIT",
            "SET TRANSACTION READ WRITE",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
            "DELETE FROM locks",
            "SELECT 1) AS q(c0); COMMIT; DELETE FROM locks; SELECT (1",
            "WITH x AS (DELETE FROM locks RETURNING a) SELECT * FROM x",
            "DO $$BEGIN COMMIT; DELETE FROM locks; END$$",
            "SELECT a AS x INTO locks2 FROM locks",
            "COPY (SELECT 1) TO STDOUT",
        ] {
            assert!(database.run(sql, limits, None).await.is_err(), "{sql}");
        }
        let (frame, _) = database.run("SELECT count(*), sum(a) FROM locks", limits, None).await.unwrap();
        assert_eq!(frame.rows, [[Value::Int(1), Value::Int(1)]]);
        admin.execute(sqlx::raw_sql("DROP TABLE locks")).await.unwrap();
    }
}
