//! Stores a statement as a temporary view, and compares it with what was admitted before it is
//! read.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::{Admission, DatabaseError, Link, Moment, Server, Wall, execute, fetch, refused, tree};

/// The name of the temporary view.
pub(super) const NAME: &str = "steward_read";
/// The role that a statement runs under if the account is a member of it. It should have no
/// privileges.
const ROLE: &str = "steward_sandbox";

/// The protection that the account and the server allow, and one less than the number of the lowest
/// system column.
pub(super) async fn standing_wall(connection: &mut PgConnection) -> Result<(Wall, i64), sqlx::Error> {
    let asked = "SELECT current_setting('server_version_num')::int8, \
        has_database_privilege(current_database(), 'TEMP') AND NOT pg_is_in_recovery()";
    let row = connection.fetch_one(asked).await?;
    let (version, temporary): (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
    let lowest = if version >= 120_000 { -7 } else { -8 };
    if !temporary {
        return Ok((Wall::Tables, lowest));
    }
    let right = if version >= 160_000 { "SET" } else { "MEMBER" };
    let member = format!(
        "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}' AND pg_has_role(oid, '{right}') \
            AND has_database_privilege(oid, current_database(), 'TEMP'))"
    );
    let row = connection.fetch_one(sqlx::query(AssertSqlSafe(member)).persistent(false)).await?;
    let wall = if row.try_get(0)? { Wall::Role(ROLE.to_owned()) } else { Wall::Columns };
    Ok((wall, lowest))
}

/// Stores a statement as a temporary view, and accepts it only if the server reads nothing in it
/// that was not admitted.
pub(super) async fn store(
    server: &Server,
    link: &mut Link,
    definition: &str,
    admitted: &Admission,
) -> Result<(), DatabaseError> {
    let failed = |error| server.error(error, Moment::Reading);
    let connection = &mut link.connection;
    // A single statement, as in `prepare`: anything after a semicolon is an error.
    let made = format!("CREATE TEMPORARY VIEW pg_temp.{NAME} {definition}");
    connection.execute(sqlx::query(AssertSqlSafe(made)).persistent(false)).await.map_err(failed)?;
    if let Wall::Role(role) = &link.wall {
        execute(server, connection, format!("GRANT SELECT ON pg_temp.{NAME} TO {role}")).await?;
    }
    execute(server, connection, "SET TRANSACTION READ ONLY; SELECT 1".to_owned()).await?;
    let stored = format!(
        "SELECT ev_class::int8, ev_action::text FROM pg_catalog.pg_rewrite \
         WHERE ev_class = 'pg_temp.{NAME}'::pg_catalog.regclass"
    );
    let row = fetch(server, connection, stored).await?;
    let [row] = row.as_slice() else { return Err(refused("something")) };
    let (own, text): (i64, String) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
    let Some(read) = tree::StoredQuery::parse(&text, link.lowest) else {
        return Err(refused("something"));
    };
    check_columns(server, connection, &read, own, admitted).await?;
    check_functions(server, connection, &read).await?;
    match &link.wall {
        Wall::Role(role) => execute(server, connection, format!("SET LOCAL ROLE {role}")).await,
        _ => Ok(()),
    }
}

fn listed(numbers: impl Iterator<Item = i64>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// Every table and column that is read must be admitted.
async fn check_columns(
    server: &Server,
    connection: &mut PgConnection,
    read: &tree::StoredQuery,
    own: i64,
    admitted: &Admission,
) -> Result<(), DatabaseError> {
    let failed = |error| server.error(error, Moment::Reading);
    let wanted: Vec<i64> = read.reads.keys().copied().filter(|table| *table != own).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let names = format!(
        "SELECT c.oid::int8, n.nspname::text, c.relname::text, a.attnum::int8, a.attname::text \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 \
         WHERE c.oid::int8 IN ({})",
        listed(wanted.iter().copied())
    );
    let mut known: BTreeMap<i64, BTreeSet<i64>> = Default::default();
    for row in fetch(server, connection, names).await? {
        let table: i64 = row.try_get(0).map_err(failed)?;
        let (schema, name): (String, String) =
            (row.try_get(1).map_err(failed)?, row.try_get(2).map_err(failed)?);
        let (number, column): (i64, String) =
            (row.try_get(3).map_err(failed)?, row.try_get(4).map_err(failed)?);
        if let Some(columns) = admitted.columns(&schema, &name) {
            let known = known.entry(table).or_default();
            if columns.contains(&column) {
                known.insert(number);
            }
        }
    }
    for table in wanted {
        let Some(allowed) = known.get(&table) else { return Err(refused("a table")) };
        let columns = read.reads.get(&table).into_iter().flatten();
        if columns.copied().any(|column| !allowed.contains(&column)) {
            return Err(refused("a column"));
        }
    }
    Ok(())
}

/// Every function must be built in and compute only from its arguments.
async fn check_functions(
    server: &Server,
    connection: &mut PgConnection,
    read: &tree::StoredQuery,
) -> Result<(), DatabaseError> {
    if read.functions.is_empty() {
        return Ok(());
    }
    let failed = |error| server.error(error, Moment::Reading);
    let names = format!(
        "SELECT p.proname::text, n.nspname = 'pg_catalog', \
            EXISTS (SELECT FROM pg_catalog.pg_operator o WHERE o.oprcode = p.oid) \
            OR EXISTS (SELECT FROM pg_catalog.pg_cast k WHERE k.castfunc = p.oid) \
         FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
         WHERE p.oid::int8 IN ({})",
        listed(read.functions.iter().copied())
    );
    let rows = fetch(server, connection, names).await?;
    let mut harmless = rows.len() == read.functions.len();
    for row in rows {
        let name: String = row.try_get(0).map_err(failed)?;
        let (own, coerces): (bool, bool) = (row.try_get(1).map_err(failed)?, row.try_get(2).map_err(failed)?);
        harmless &= own && tree::is_harmless(&name, coerces);
    }
    if harmless { Ok(()) } else { Err(refused("a function")) }
}
