//! Lists inside cells, such as the tags of a ticket or the lines of an order: each becomes a table
//! of its own with a row for each item, so that items can be counted, grouped and filtered.
//!
//! The rows of such a table name the row that they belong to by its key, so only tables with a key
//! of one column have them.

use super::read::{MOST_CELLS, Read, read_json};
use crate::frame::{Frame, Kind, Value};
use serde_json::{Map, Value as Json};
use steward_text::tokens::singular;

/// The items of one column of lists.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListTable {
    /// Where the column of lists stands.
    pub(crate) column: usize,
    /// Its name as in the file.
    pub(crate) label: String,
    /// A row for each item: the key of its row, then the item, or the fields of an item that is an
    /// object.
    pub(crate) read: Read,
}

/// The tables of all columns that hold nothing but lists. `key` is the column that tells rows apart.
pub(crate) fn list_tables(frame: &Frame, labels: &[String], key: usize) -> Vec<ListTable> {
    let Some(key_label) = labels.get(key) else { return Vec::new() };
    let columns = (0..frame.fields.len()).filter(|column| *column != key);
    columns
        .filter_map(|column| {
            let label = labels.get(column)?;
            let lists = lists_of(frame, column)?;
            let read = read_json(&records(frame, key, key_label, label, &lists)?, usize::MAX).ok()?;
            Some(ListTable { column, label: label.clone(), read })
        })
        .collect()
}

/// The lists of a column, by row; none if it holds anything else.
fn lists_of(frame: &Frame, column: usize) -> Option<Vec<(usize, Vec<Json>)>> {
    if frame.fields.get(column)?.kind != Kind::Text {
        return None;
    }
    let mut lists = Vec::new();
    for (row, value) in frame.column(column).enumerate() {
        match value {
            Value::Null => {}
            Value::Text(text) if text.starts_with('[') => {
                let Ok(Json::Array(items)) = serde_json::from_str(text) else { return None };
                lists.push((row, items));
            }
            _ => return None,
        }
    }
    let is_flat = |item: &Json| !item.is_array();
    let items = || lists.iter().flat_map(|(_, items)| items);
    let objects = items().filter(|item| item.is_object()).count();
    let all = items().count();
    let is_even = objects == 0 || objects == all;
    (all > 0 && all <= MOST_CELLS && is_even && items().all(is_flat)).then_some(lists)
}

/// The items as a JSON list of records.
fn records(
    frame: &Frame,
    key: usize,
    key_label: &str,
    label: &str,
    lists: &[(usize, Vec<Json>)],
) -> Option<Vec<u8>> {
    let name = singular(label.rsplit('.').next().unwrap_or(label));
    let mut records: Vec<Json> = Vec::new();
    for (row, items) in lists {
        for item in items.iter().filter(|item| !item.is_null()) {
            let mut record = Map::new();
            record.insert(key_label.to_owned(), frame.cell(*row, key).json());
            match item {
                Json::Object(fields) => {
                    for (field, value) in fields {
                        // A field with the name of the key is the item's own.
                        let is_key = field.eq_ignore_ascii_case(key_label);
                        let field = if is_key { format!("{name}_{field}") } else { field.clone() };
                        record.insert(field, value.clone());
                    }
                }
                scalar => {
                    record.insert(name.clone(), scalar.clone());
                }
            }
            records.push(Json::Object(record));
        }
    }
    serde_json::to_vec(&Json::Array(records)).ok()
}

#[cfg(test)]
mod tests {
    use super::list_tables;
    use crate::reader::{read_csv, read_json};

    #[test]
    fn items_of_lists_are_rows() {
        let text = br#"[{"ticket_id":1,"tags":["login","billing"],"lines":[{"sku":"a","qty":2}]},
            {"ticket_id":2,"tags":[],"lines":[]},
            {"ticket_id":3,"tags":["billing"],"lines":[{"sku":"b","qty":1},{"sku":"a","qty":4}]}]"#;
        let read = read_json(text, 100).unwrap();
        let found = list_tables(&read.frame, &read.labels, 0);
        let names = |list: &super::ListTable| {
            let mut names: Vec<String> =
                list.read.frame.fields.iter().map(|field| field.name.clone()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&found[0]), ["tag", "ticket_id"]);
        assert_eq!(names(&found[1]), ["qty", "sku", "ticket_id"]);
        assert_eq!(found[0].read.frame.rows.len(), 3);
        assert_eq!(found[1].read.frame.rows.len(), 3);
    }

    #[test]
    fn text_in_brackets_is_no_list() {
        let read = read_csv(b"id,note\n1,[sic]\n2,\"[1, 2]\"\n", 100).unwrap();
        assert!(list_tables(&read.frame, &read.labels, 0).is_empty());
    }
}
