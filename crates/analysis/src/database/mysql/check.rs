//! Explains a statement and compares what the server would read with what was admitted.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::super::wall::refused;
use super::{Admission, DatabaseError, Moment, Server, trace};

/// Maximum size of a trace. A truncated trace proves nothing.
const TRACE_BYTES: u32 = 16 << 20;

/// Admits a statement only if the server reads nothing else in it. For a statement over a view the
/// check relies on its admission: the tables behind a view are not admitted themselves, and the
/// trace mixes the two.
pub(super) async fn check(
    server: &Server,
    connection: &mut MySqlConnection,
    sql: &str,
    admitted: &Admission,
) -> Result<(), DatabaseError> {
    let verdict = compare(server, connection, sql, admitted).await;
    match verdict {
        Err(DatabaseError::Wall { .. } | DatabaseError::Permission { .. })
            if has_view(server, connection, admitted).await? =>
        {
            Ok(())
        }
        verdict => verdict,
    }
}

async fn compare(
    server: &Server,
    connection: &mut MySqlConnection,
    sql: &str,
    admitted: &Admission,
) -> Result<(), DatabaseError> {
    let failed = |error| server.error(error, Moment::Reading);
    let on = format!(
        "SET SESSION optimizer_trace = 'enabled=on', SESSION optimizer_trace_max_mem_size = {TRACE_BYTES}"
    );
    connection.execute(sqlx::raw_sql(AssertSqlSafe(on))).await.map_err(failed)?;
    // A single statement, because it is prepared. It is kept until the connection is cleaned: a
    // server that deallocates a statement delays its next response.
    let explained = connection.fetch_all(sqlx::query(AssertSqlSafe(format!("EXPLAIN {sql}")))).await;
    let kept = "SELECT CAST(trace AS CHAR), missing_bytes_beyond_max_mem_size + insufficient_privileges = 0 \
        FROM information_schema.optimizer_trace";
    let kept = connection.fetch_all(sqlx::raw_sql(kept)).await;
    let off = connection.execute(sqlx::raw_sql("SET SESSION optimizer_trace = 'enabled=off'")).await;
    explained.map_err(failed)?;
    off.map_err(failed)?;
    let [row] = &kept.map_err(failed)?[..] else { return Err(refused("something")) };
    let text: String = row.try_get_unchecked(0).map_err(failed)?;
    let whole: i64 = row.try_get_unchecked(1).map_err(failed)?;
    let Some(resolved) = trace::resolved(&text).filter(|_| whole == 1) else {
        return Err(refused("something"));
    };
    let unknown = trace::check(&resolved, admitted)?;
    if unknown.is_empty() {
        return Ok(());
    }
    // A relation that is not an admitted table must be a query of the statement, not another table.
    let names = unknown.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let known = format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_name IN ({names})");
    if count(server, connection, known).await? == 0 { Ok(()) } else { Err(refused("a table")) }
}

/// Whether one of the admitted tables is a view.
async fn has_view(
    server: &Server,
    connection: &mut MySqlConnection,
    admitted: &Admission,
) -> Result<bool, DatabaseError> {
    let named: Vec<String> = admitted
        .tables()
        .map(|(schema, table)| {
            format!("(table_schema = {} AND table_name = {})", quoted(schema), quoted(table))
        })
        .collect();
    if named.is_empty() {
        return Ok(false);
    }
    let views = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_type LIKE '%VIEW%' AND ({})",
        named.join(" OR ")
    );
    Ok(count(server, connection, views).await? > 0)
}

async fn count(server: &Server, connection: &mut MySqlConnection, sql: String) -> Result<i64, DatabaseError> {
    let failed = |error| server.error(error, Moment::Reading);
    let row = connection.fetch_one(sqlx::raw_sql(AssertSqlSafe(sql))).await.map_err(failed)?;
    row.try_get_unchecked(0).map_err(failed)
}

/// A text as a literal of this session, in which backslashes escape.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
