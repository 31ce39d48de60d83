//! The second check for DuckDB: its own parse tree of a statement, before the statement runs.
//!
//! Invariant: every table that DuckDB reads in the statement is a view that was created for it or a
//! query that it defines itself. Functions, files and anything else in the place of a table are
//! refused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use adbc_driver_manager::ManagedConnection;
use serde_json::Value;

use super::super::error::{Category, DatabaseError};
use super::super::wall;
use super::super::{Bounds, Limits};
use super::{Link, StopHandle, literal};

/// Node types that may stand where a table stands, beside tables; and the sides of set operations,
/// which are queries.
const RELATIONS: [&str; 9] = [
    "SUBQUERY",
    "JOIN",
    "EMPTY",
    "EMPTY_FROM",
    "EXPRESSION_LIST",
    "SELECT_NODE",
    "SET_OPERATION_NODE",
    "RECURSIVE_CTE_NODE",
    "CTE_NODE",
];
/// Node types that are refused anywhere.
const REFUSED: [&str; 4] = ["TABLE_FUNCTION", "SHOW_REF", "PIVOT", "COLUMN_DATA"];
/// Fields of the tree that hold one relation.
const RELATION_FIELDS: [&str; 4] = ["from_table", "left", "right", "source"];

/// Whether this DuckDB can serialize its parse tree. A build that cannot is not used.
pub(super) fn probe(link: &Link, connection: &mut ManagedConnection) -> Result<(), DatabaseError> {
    parsed(link, connection, "SELECT 1").map(drop).map_err(|error| DatabaseError::Driver {
        name: "duckdb".to_owned(),
        detail: format!("this build cannot say how it reads a statement ({error})"),
        install: "Install a build with the extension json, which official ones have".to_owned(),
    })
}

/// Refuses a statement that reads anything but its admitted views.
pub(super) fn check(
    link: &Link,
    connection: &mut ManagedConnection,
    sql: &str,
    views: &BTreeMap<String, String>,
) -> Result<(), DatabaseError> {
    let tree = parsed(link, connection, sql)?;
    let mut named = BTreeSet::new();
    visit(&tree, &mut |object| {
        for entry in object
            .get("cte_map")
            .and_then(|map| map.get("map"))
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            named.extend(entry.get("key").and_then(Value::as_str).map(str::to_lowercase));
        }
        Ok(())
    })?;
    visit(&tree, &mut |object| {
        let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
        if object.get("class").is_none() && (kind == "BASE_TABLE" || REFUSED.contains(&kind)) {
            check_relation(&Value::Object(object.clone()), &named, views)?;
        }
        for relation in RELATION_FIELDS.iter().filter_map(|field| object.get(*field)) {
            // The sides of a comparison have the same field names, but they have a class and a
            // relation has none.
            if relation.get("class").is_none() {
                check_relation(relation, &named, views)?;
            }
        }
        Ok(())
    })
}

fn check_relation(
    relation: &Value,
    named: &BTreeSet<String>,
    views: &BTreeMap<String, String>,
) -> Result<(), DatabaseError> {
    let text = |field: &str| relation.get(field).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "" if relation.get("type").is_none() => Ok(()),
        "BASE_TABLE" => {
            let (catalog, schema, table) = (text("catalog_name"), text("schema_name"), text("table_name"));
            let is_view = catalog == "temp" && schema == "main" && views.contains_key(table);
            let is_query = catalog.is_empty() && schema.is_empty() && named.contains(&table.to_lowercase());
            if is_view || is_query { Ok(()) } else { Err(wall::refused("a table")) }
        }
        known if RELATIONS.contains(&known) => Ok(()),
        _ => Err(wall::refused("something else than a table")),
    }
}

/// Visits every object of the tree.
fn visit(
    value: &Value,
    look: &mut impl FnMut(&serde_json::Map<String, Value>) -> Result<(), DatabaseError>,
) -> Result<(), DatabaseError> {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(object) => {
                look(object)?;
                waiting.extend(object.values());
            }
            Value::Array(values) => waiting.extend(values),
            _ => {}
        }
    }
    Ok(())
}

/// The parse tree of a statement.
fn parsed(link: &Link, connection: &mut ManagedConnection, sql: &str) -> Result<Value, DatabaseError> {
    let limits = Limits::from(Bounds { rows: 1, timeout: Duration::from_secs(10) });
    let ask = format!("SELECT json_serialize_sql({})", literal(sql));
    let (frame, _) = link.rows(connection, &ask, limits, &StopHandle::default())?;
    let said: Value = serde_json::from_str(&frame.cell(0, 0).plain())
        .map_err(|_| wall::refused("something that it does not say"))?;
    if said.get("error").and_then(Value::as_bool) == Some(false) {
        return Ok(said);
    }
    let detail = said.get("error_message").and_then(Value::as_str).unwrap_or("it is no query");
    Err(DatabaseError::sql(Category::Syntax, detail))
}
