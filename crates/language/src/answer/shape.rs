//! Finds the rows in a result of any shape, and contradictions between two results.

use super::{TITLES, plain};
use crate::words::name_words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Maximum rows and columns that are kept for display.
const ROWS: usize = 200;
const COLUMNS: usize = 12;

/// Rows of a result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The plural noun for the rows: `tasks`.
    pub noun: Option<String>,
    /// The columns' names.
    pub columns: Vec<String>,
    /// The cells; each row is as long as `columns`.
    pub rows: Vec<Vec<Value>>,
    /// Whether there were more rows.
    pub cut: bool,
}

impl Table {
    /// The display names of its rows.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        let place = TITLES.iter().find_map(|key| self.columns.iter().position(|column| column == key));
        let cells = self.rows.iter().filter_map(move |row| row.get(place?));
        cells.map(plain).filter(|name| !name.is_empty())
    }
}

/// The rows in a value: a list of objects, an object with one such list, or columns beside rows.
#[must_use]
pub fn table(value: &Value) -> Option<Table> {
    match value {
        Value::Array(items) => of_objects(None, items),
        Value::Object(object) => columns_and_rows(object).or_else(|| {
            let lists: Vec<(&String, &Vec<Value>)> =
                object.iter().filter_map(|(key, value)| Some((key, value.as_array()?))).collect();
            let full = lists.iter().find(|(_, items)| items.iter().any(Value::is_object));
            match (full, lists.as_slice(), object.len()) {
                (Some((key, items)), _, _) => of_objects(Some(key), items),
                // An empty list tells what is missing, unless it is one field of an entity among
                // others.
                (None, [(key, items)], 1..=2) if items.is_empty() => of_objects(Some(key), items),
                (None, [(key, items)], 1..=2) => of_values(key, items),
                _ => None,
            }
        }),
        _ => None,
    }
}

fn of_objects(key: Option<&String>, items: &[Value]) -> Option<Table> {
    let objects: Vec<&Map<String, Value>> = items.iter().filter_map(Value::as_object).collect();
    if objects.len() != items.len() {
        return None;
    }
    let mut columns: Vec<String> = Vec::new();
    for object in objects.iter().take(ROWS) {
        for name in object.keys() {
            if columns.len() < COLUMNS && !columns.contains(name) {
                columns.push(name.clone());
            }
        }
    }
    // JSON objects are unordered: the display name comes first.
    columns.sort_by_key(|name| match name.as_str() {
        "id" => 0,
        "title" | "name" | "subject" | "label" => 1,
        _ => 2,
    });
    let row = |object: &&Map<String, Value>| -> Vec<Value> {
        columns.iter().map(|column| object.get(column).cloned().unwrap_or(Value::Null)).collect()
    };
    let rows = objects.iter().take(ROWS).map(row).collect();
    let noun = key.map(|key| name_words(key).join(" "));
    Some(Table { noun, columns, rows, cut: objects.len() > ROWS })
}

fn of_values(key: &str, items: &[Value]) -> Option<Table> {
    let flat = items.iter().all(|item| item.is_string() || item.is_number());
    let noun = name_words(key).join(" ");
    let column = noun.strip_suffix('s').unwrap_or(&noun).to_owned();
    flat.then(|| Table {
        noun: Some(noun),
        columns: vec![column],
        rows: items.iter().take(ROWS).map(|item| vec![item.clone()]).collect(),
        cut: items.len() > ROWS,
    })
}

fn columns_and_rows(object: &Map<String, Value>) -> Option<Table> {
    let columns: Vec<String> = object
        .get("columns")?
        .as_array()?
        .iter()
        .map(|name| name.as_str().map(str::to_owned))
        .collect::<Option<_>>()?;
    let rows = object.get("rows")?.as_array()?;
    let width = columns.len();
    let cells: Vec<Vec<Value>> = rows
        .iter()
        .take(ROWS)
        .filter_map(|row| row.as_array().filter(|row| row.len() == width).cloned())
        .collect();
    let noun = object.get("title").and_then(Value::as_str).map(str::to_owned);
    Some(Table { noun, columns, rows: cells, cut: rows.len() > ROWS })
}

/// Contradictions between sources: the same entity with the same field and another value. Each is
/// one sentence.
#[must_use]
pub fn conflicts(tables: &[(&str, &Table)]) -> Vec<String> {
    let mut seen: BTreeMap<(String, String), Vec<(&str, String)>> = BTreeMap::new();
    for (source, table) in tables {
        let Some(name) = TITLES.iter().find_map(|key| table.columns.iter().position(|column| column == key))
        else {
            continue;
        };
        for row in &table.rows {
            let Some(thing) = row.get(name).map(plain).filter(|thing| !thing.is_empty()) else { continue };
            for (column, value) in table.columns.iter().zip(row) {
                // Ids are specific to each source.
                if TITLES.contains(&column.as_str())
                    || column == "id"
                    || column.ends_with("_id")
                    || value.is_null()
                {
                    continue;
                }
                seen.entry((thing.to_lowercase(), column.clone())).or_default().push((source, plain(value)));
            }
        }
    }
    let mut told = Vec::new();
    for ((thing, column), values) in seen {
        let Some((first_source, first)) = values.first() else { continue };
        let other = values.iter().find(|(source, value)| source != first_source && value != first);
        // Two rows of one source about the same entity are details, and not a claim that another
        // source could contradict.
        let detailed = values.iter().filter(|(source, _)| source == first_source).count() > 1;
        if let (Some((source, value)), false) = (other, detailed) {
            let field = name_words(&column).join(" ");
            told.push(format!(
                "The sources do not agree on the {field} of {thing}: {first_source} says {first}, {source} \
                    says {value}."
            ));
        }
    }
    told
}
