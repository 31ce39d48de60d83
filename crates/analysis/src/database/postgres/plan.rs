//! Compares the tables of a plan, for an account that may not create a temporary view: each must be
//! admitted, or be part of an admitted table.
//!
//! Columns are not compared here, because a plan also lists columns that are only passed through.

use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::{Admission, DatabaseError, Moment, Server, fetch, refused};

/// Tables and their parts: partitions, children, and the tables of a view.
const PARTS: &str = "WITH RECURSIVE parts(oid) AS (
        SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE ";
const PARTS_OF_PARTS: &str = "
        UNION SELECT link.part FROM parts JOIN (
            SELECT inhparent AS whole, inhrelid AS part FROM pg_catalog.pg_inherits
            UNION ALL SELECT r.ev_class, d.refobjid FROM pg_catalog.pg_rewrite r
                JOIN pg_catalog.pg_depend d ON d.objid = r.oid AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
                    AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
            ) AS link ON link.whole = parts.oid)
    SELECT n.nspname::text, c.relname::text FROM parts JOIN pg_catalog.pg_class c ON c.oid = parts.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace";

/// Refuses a statement whose plan reads a table that was not admitted.
pub(super) async fn check(
    server: &Server,
    connection: &mut PgConnection,
    sql: &str,
    admitted: &Admission,
) -> Result<(), DatabaseError> {
    let failed = |error| server.error(error, Moment::Reading);
    let explained =
        fetch(server, connection, format!("EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {sql}")).await?;
    let mut read = Vec::new();
    for row in &explained {
        let plan: Value = row.try_get(0).map_err(failed)?;
        tables(&plan, &mut read);
    }
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let named: Vec<String> = admitted
        .tables()
        .map(|(schema, table)| format!("(n.nspname = {} AND c.relname = {})", quoted(schema), quoted(table)))
        .collect();
    let roots = if named.is_empty() { "false".to_owned() } else { named.join(" OR ") };
    let mut known = std::collections::BTreeSet::new();
    for row in fetch(server, connection, format!("{PARTS}{roots}{PARTS_OF_PARTS}")).await? {
        let part: (String, String) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
        known.insert(part);
    }
    if read.iter().all(|table| known.contains(table)) { Ok(()) } else { Err(refused("a table")) }
}

/// Schema and name of every table of a plan.
fn tables(plan: &Value, into: &mut Vec<(String, String)>) {
    match plan {
        Value::Array(parts) => parts.iter().for_each(|part| tables(part, into)),
        Value::Object(node) => {
            if let Some(name) = node.get("Relation Name").and_then(Value::as_str) {
                let schema = node.get("Schema").and_then(Value::as_str).unwrap_or_default();
                into.push((schema.to_owned(), name.to_owned()));
            }
            node.values().for_each(|part| tables(part, into));
        }
        _ => {}
    }
}
