//! Extracts the records from a tool's result of any shape.

use super::catalogue::{Catalogue, Prepared, Role};
use super::lexicon::singular;
use super::settle::text;
use super::types::Noticed;
use crate::answer::Table;
use serde_json::{Map, Value};

/// Maximum depth of a result, and maximum number of records.
const DEEPEST: usize = 6;
const MOST: usize = 500;

/// The records of a result.
pub(super) fn notice(catalogue: &Catalogue, tool: &str, result: &Value) -> Vec<Noticed> {
    let prepared = catalogue.tool(tool);
    let kind = prepared.and_then(|tool| tool.entity.clone()).unwrap_or_else(|| "result".into());
    let mut found = Vec::new();
    look(catalogue, prepared, &kind, result, 0, &mut found);
    let mut seen: Vec<Noticed> = Vec::new();
    for thing in found {
        if !seen.iter().any(|known| known.entity_type == thing.entity_type && known.id == thing.id) {
            seen.push(thing);
        }
    }
    seen
}

/// The record of each table row. A row is the record whose values it shows; records that are only
/// mentioned inside a row are not rows.
pub(super) fn rows_of(table: &Table, noticed: &[Noticed]) -> Vec<Option<Noticed>> {
    let plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    let is_row = |row: &[Value], record: &Noticed| {
        let mut cells = table.columns.iter().zip(row).filter(|(_, cell)| plain(cell)).peekable();
        cells.peek().is_some() && cells.all(|(column, cell)| record.attributes.get(column) == Some(cell))
    };
    let record = |row: &Vec<Value>| noticed.iter().find(|record| is_row(row, record)).cloned();
    table.rows.iter().map(record).collect()
}

fn look(
    catalogue: &Catalogue,
    tool: Option<&Prepared>,
    kind: &str,
    value: &Value,
    depth: usize,
    found: &mut Vec<Noticed>,
) {
    if depth > DEEPEST || found.len() >= MOST {
        return;
    }
    match value {
        Value::Array(items) => {
            items.iter().for_each(|item| look(catalogue, tool, kind, item, depth + 1, found));
        }
        Value::Object(fields) => {
            if let Some(rows) = rows(fields) {
                rows.iter().for_each(|row| look(catalogue, tool, kind, row, depth + 1, found));
                return;
            }
            let mut own = thing(kind, fields);
            // A record without a name is identified by the fields that its tools select it by.
            if let Some(own) = own.as_mut().filter(|own| own.name.is_none()) {
                own.name = catalogue
                    .tools
                    .iter()
                    .filter(|other| other.entity.as_deref() == Some(kind))
                    .filter_map(|other| fields.get(&other.field(Role::Selector)?.name)?.as_str())
                    .map(str::to_owned)
                    .next();
            }
            // The items of a bill are not bills.
            let numbered = own.is_some() && fields.contains_key("id");
            found.extend(own);
            for (name, inner) in fields.iter().filter(|(_, inner)| inner.is_array() || inner.is_object()) {
                let one = singular(name);
                let known = catalogue
                    .types
                    .iter()
                    .any(|kind| kind.name == one && tool.is_none_or(|tool| tool.tool.domain == kind.domain));
                let listed = inner.as_array().is_some_and(|items| items.iter().any(Value::is_object));
                let inside =
                    if known || (listed && (!general(&one) || numbered)) { one.as_str() } else { kind };
                look(catalogue, tool, inside, inner, depth + 1, found);
            }
        }
        _ => {}
    }
}

/// Generic list names, which do not name the type of the items.
pub(super) fn general(name: &str) -> bool {
    ["item", "result", "data", "row", "record", "entry", "value", "match", "hit", "list", "content"]
        .contains(&name)
}

/// `columns` and `rows` as objects.
fn rows(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let columns: Vec<&str> = fields.get("columns")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let rows = fields.get("rows")?.as_array()?;
    let object = |row: &Value| {
        Some(Value::Object(
            columns.iter().map(|name| (*name).to_owned()).zip(row.as_array()?.iter().cloned()).collect(),
        ))
    };
    Some(rows.iter().filter_map(object).collect())
}

fn thing(kind: &str, fields: &Map<String, Value>) -> Option<Noticed> {
    let plain = |value: &Value| value.is_string() || value.is_number();
    let own_id = format!("{kind}_id");
    let get = |names: &[&str]| {
        names.iter().find_map(|name| {
            fields.get(*name).filter(|value| plain(value)).map(|value| ((*name).to_owned(), value.clone()))
        })
    };
    let id = get(&["id", own_id.as_str(), "key", "uuid", "number"]);
    let name = get(&["title", "name", "label", "subject", "full_name", "display_name", kind]);
    // Without an id, a record is identified by the field with its type's name, or by the first
    // field of a row.
    let first = || {
        fields
            .iter()
            .find(|(_, value)| value.is_string())
            .filter(|_| fields.len() > 1)
            .map(|(name, value)| (name.clone(), value.clone()))
    };
    let (kind, id, name) = match (id, name) {
        (Some((_, id)), name) => (kind.to_owned(), id, name.map(|(_, name)| name)),
        (None, Some((_, name))) => (kind.to_owned(), name.clone(), Some(name)),
        (None, None) => {
            let (column, value) =
                first().filter(|_| fields.values().all(|value| !value.is_object() && !value.is_array()))?;
            (singular(&column), value.clone(), Some(value))
        }
    };
    let attributes = fields
        .iter()
        .filter(|(_, value)| plain(value) || value.is_boolean())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Some(Noticed { entity_type: kind, id, name: name.map(|name| text(&name)), attributes })
}
