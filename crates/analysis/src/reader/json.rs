//! Tables in JSON: lists of objects, objects of lists, one object per line.
//!
//! Nested objects become columns with dots in their names, down to a fixed depth; lists stay JSON
//! text. Columns keep their order in the file. The parser refuses deeply nested text, so recursion
//! is bounded.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::error::ReadError;
use super::layout::MOST_COLUMNS;
use super::read::MOST_CELLS;

/// Objects nested deeper than this stay JSON text.
const DEEPEST: usize = 6;
/// Longer lines of a file with one object per line count as broken.
const LONGEST_LINE: usize = 32 << 20;
/// Keys under which services put their records, in the order in which they are tried.
const WRAPPERS: [&str; 8] = ["data", "results", "records", "items", "rows", "value", "values", "features"];

/// JSON with the keys of its objects in their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// Words.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// An object.
    Object(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nodes;
        impl<'de> Visitor<'de> for Nodes {
            type Value = Node;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
                Ok(Node::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
                Ok(Node::Number(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
                Ok(Node::Number(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
                // The debug form keeps the `.0` of whole fractions, so that 5.0 stays a measure.
                Ok(Node::Number(format!("{value:?}")))
            }
            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Node::Text(value.to_owned()))
            }
            fn visit_string<E>(self, value: String) -> Result<Node, E> {
                Ok(Node::Text(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut nodes = Vec::new();
                while let Some(node) = list.next_element()? {
                    nodes.push(node);
                }
                Ok(Node::List(nodes))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Node::Object(entries))
            }
        }
        deserializer.deserialize_any(Nodes)
    }
}

impl Node {
    /// The value as a table cell: plain text, lists and objects as JSON.
    fn cell(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            other => other.json(),
        }
    }

    /// The value as JSON. The parser has bounded the depth.
    fn json(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => text.clone(),
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::List(nodes) => format!("[{}]", nodes.iter().map(Self::json).collect::<Vec<_>>().join(",")),
            Self::Object(entries) => {
                let entry = |(key, node): &(String, Self)| {
                    format!("{}:{}", serde_json::Value::from(key.as_str()), node.json())
                };
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
            }
        }
    }

    fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

/// Cells as text, in rows as wide as `labels`.
#[derive(Debug, Default)]
pub struct Table {
    /// The names of the columns.
    pub labels: Vec<String>,
    /// The cells, row by row.
    pub cells: Vec<String>,
    /// There were more rows than asked for.
    pub cut: bool,
}

/// Lines that were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bad {
    /// How many.
    pub count: usize,
    /// The number of the first, from 1.
    pub first: usize,
}

/// Rows whose columns become known while reading.
#[derive(Default)]
struct Builder {
    labels: Vec<String>,
    places: HashMap<String, usize>,
    rows: Vec<Vec<(usize, String)>>,
    cells: usize,
}

impl Builder {
    /// Adds a record; an object gives its fields, everything else one value.
    fn add(&mut self, node: &Node) -> Result<(), ReadError> {
        let mut row = Vec::new();
        match node {
            Node::Object(entries) => self.flatten("", entries, 0, &mut row)?,
            Node::List(nodes) => {
                for (place, node) in nodes.iter().enumerate() {
                    self.put(&format!("column_{}", place + 1), node, &mut row)?;
                }
            }
            other => self.put("value", other, &mut row)?,
        }
        self.cells += row.len();
        if self.cells > MOST_CELLS {
            return Err(ReadError::TooLarge { what: "The number of values", limit: MOST_CELLS });
        }
        self.rows.push(row);
        Ok(())
    }

    fn flatten(
        &mut self,
        path: &str,
        entries: &[(String, Node)],
        depth: usize,
        row: &mut Vec<(usize, String)>,
    ) -> Result<(), ReadError> {
        for (key, node) in entries {
            let name = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match node {
                Node::Object(inner) if depth < DEEPEST && !inner.is_empty() => {
                    self.flatten(&name, inner, depth + 1, row)?;
                }
                other => self.put(&name, other, row)?,
            }
        }
        Ok(())
    }

    fn put(&mut self, name: &str, node: &Node, row: &mut Vec<(usize, String)>) -> Result<(), ReadError> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                if self.labels.len() >= MOST_COLUMNS {
                    return Err(ReadError::TooLarge { what: "The number of columns", limit: MOST_COLUMNS });
                }
                self.labels.push(name.to_owned());
                self.places.insert(name.to_owned(), self.labels.len() - 1);
                self.labels.len() - 1
            }
        };
        row.push((place, node.cell()));
        Ok(())
    }

    fn finish(self, cut: bool) -> Result<Table, ReadError> {
        let width = self.labels.len();
        if self.rows.len().saturating_mul(width) > MOST_CELLS {
            return Err(ReadError::TooLarge { what: "The number of values", limit: MOST_CELLS });
        }
        let mut cells = vec![String::new(); self.rows.len() * width];
        for (number, row) in self.rows.into_iter().enumerate() {
            for (place, cell) in row {
                if let Some(slot) = cells.get_mut(number * width + place) {
                    *slot = cell;
                }
            }
        }
        Ok(Table { labels: self.labels, cells, cut })
    }
}

/// Finds the table in a JSON text.
///
/// # Errors
/// If it is not JSON, or there are no records in it.
pub fn table(text: &str, limit_rows: usize) -> Result<Table, ReadError> {
    if text.trim().is_empty() {
        return Err(ReadError::Empty);
    }
    let node: Node = match serde_json::from_str(text) {
        Ok(node) => node,
        Err(error) => {
            // One object per line is a common form under the same name.
            if let Ok((table, bad)) = lines(text, limit_rows)
                && bad.count == 0
            {
                return Ok(table);
            }
            return Err(not_json(&error));
        }
    };
    match node {
        Node::List(nodes) => from_list(&nodes, limit_rows),
        Node::Object(entries) => from_object(&entries, limit_rows),
        _ => Err(ReadError::NoRecords("the file holds a single value")),
    }
}

/// The error of the parser, without the position, which is reported separately.
fn not_json(error: &serde_json::Error) -> ReadError {
    let whole = error.to_string();
    let reason = whole.split(" at line ").next().unwrap_or_default().chars().take(120).collect();
    ReadError::NotJson { line: error.line(), column: error.column(), reason }
}

/// A list of records. A list of lists starts with the names if they are all text.
fn from_list(nodes: &[Node], limit_rows: usize) -> Result<Table, ReadError> {
    let first = nodes
        .iter()
        .find(|node| !matches!(node, Node::Null))
        .ok_or(ReadError::NoRecords("the list is empty"))?;
    let mut builder = Builder::default();
    let mut labels = None;
    if let Node::List(names) = first
        && names.iter().all(|node| matches!(node, Node::Text(_)))
        && nodes.len() > 1
    {
        labels = Some(names.iter().map(Node::cell).collect::<Vec<_>>());
    }
    let body = nodes.iter().filter(|node| !matches!(node, Node::Null)).skip(usize::from(labels.is_some()));
    for node in body.clone().take(limit_rows) {
        builder.add(node)?;
    }
    let mut table = builder.finish(body.count() > limit_rows)?;
    for (place, label) in labels.into_iter().flatten().enumerate() {
        if let Some(known) = table.labels.get_mut(place) {
            *known = label;
        }
    }
    Ok(table)
}

/// An object: of lists, of records under a wrapper, of columns by row, or one record.
fn from_object(entries: &[(String, Node)], limit_rows: usize) -> Result<Table, ReadError> {
    if entries.is_empty() {
        return Err(ReadError::NoRecords("the object is empty"));
    }
    let records = |node: &Node| matches!(node, Node::List(nodes) if nodes.iter().any(Node::is_object));
    let wrapper =
        WRAPPERS.iter().find_map(|key| entries.iter().position(|(name, node)| name == key && records(node)));
    let only = || {
        let mut found =
            entries.iter().enumerate().filter(|(_, (_, node))| records(node)).map(|(place, _)| place);
        found.next().filter(|_| found.next().is_none())
    };
    if let Some(place) = wrapper.or_else(only)
        && let Some((_, Node::List(nodes))) = entries.get(place)
    {
        return from_list(nodes, limit_rows);
    }
    if entries.iter().all(|(_, node)| matches!(node, Node::List(_))) {
        return from_columns(entries, limit_rows);
    }
    if let Some(table) = from_keyed(entries, limit_rows)? {
        return Ok(table);
    }
    // One more level of wrapping, as in {"result": {"data": [...]}}; the parser has bounded the
    // depth.
    if let [(_, Node::Object(inner))] = entries
        && inner.iter().any(|(_, node)| matches!(node, Node::List(_) | Node::Object(_)))
    {
        return from_object(inner, limit_rows);
    }
    let mut builder = Builder::default();
    builder.add(&Node::Object(entries.to_vec()))?;
    builder.finish(false)
}

/// An object of objects with similar keys: columns by row number as some tools write them, or
/// records by their key.
fn from_keyed(entries: &[(String, Node)], limit_rows: usize) -> Result<Option<Table>, ReadError> {
    let inner: Vec<&[(String, Node)]> = entries
        .iter()
        .filter_map(|(_, node)| if let Node::Object(inner) = node { Some(inner.as_slice()) } else { None })
        .collect();
    let Some(first) =
        inner.first().filter(|first| entries.len() > 1 && inner.len() == entries.len() && !first.is_empty())
    else {
        return Ok(None);
    };
    let alike =
        inner.iter().all(|other| other.iter().map(|(key, _)| key).eq(first.iter().map(|(key, _)| key)));
    if !alike {
        return Ok(None);
    }
    let mut builder = Builder::default();
    if first.iter().enumerate().all(|(place, (key, _))| *key == place.to_string()) {
        for number in 0..first.len().min(limit_rows) {
            let mut row = Vec::new();
            for ((name, _), column) in entries.iter().zip(&inner) {
                builder.put(name, column.get(number).map_or(&Node::Null, |(_, node)| node), &mut row)?;
            }
            builder.rows.push(row);
        }
        return builder.finish(first.len() > limit_rows).map(Some);
    }
    for ((key, _), record) in entries.iter().zip(&inner).take(limit_rows) {
        let mut row = Vec::new();
        builder.put("key", &Node::Text(key.clone()), &mut row)?;
        builder.flatten("", record, 0, &mut row)?;
        builder.rows.push(row);
    }
    builder.finish(entries.len() > limit_rows).map(Some)
}

/// An object whose entries are the columns.
fn from_columns(entries: &[(String, Node)], limit_rows: usize) -> Result<Table, ReadError> {
    let columns: Vec<(&str, &[Node])> =
        (entries.iter())
            .filter_map(|(name, node)| {
                if let Node::List(nodes) = node { Some((name.as_str(), nodes.as_slice())) } else { None }
            })
            .collect();
    let height = columns.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
    let mut builder = Builder::default();
    for number in 0..height.min(limit_rows) {
        let mut row = Vec::new();
        for (name, nodes) in &columns {
            builder.put(name, nodes.get(number).unwrap_or(&Node::Null), &mut row)?;
        }
        builder.rows.push(row);
    }
    builder.finish(height > limit_rows)
}

/// Reads one object from each line.
///
/// # Errors
/// If no line is valid.
pub fn lines(text: &str, limit_rows: usize) -> Result<(Table, Bad), ReadError> {
    let mut builder = Builder::default();
    let mut bad = Bad::default();
    let mut first_error = None;
    let mut cut = false;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if builder.rows.len() >= limit_rows {
            cut = true;
            break;
        }
        let parsed = if line.len() > LONGEST_LINE { None } else { Some(serde_json::from_str::<Node>(line)) };
        if let Some(Ok(node @ Node::Object(_))) = parsed {
            builder.add(&node)?;
            continue;
        }
        bad.count += 1;
        if bad.first == 0 {
            bad.first = number + 1;
            first_error = parsed.and_then(Result::err);
        }
    }
    if builder.rows.is_empty() {
        return Err(match first_error {
            _ if bad.count == 0 => ReadError::Empty,
            Some(error) => match not_json(&error) {
                ReadError::NotJson { column, reason, .. } => {
                    ReadError::NotJson { line: bad.first, column, reason }
                }
                other => other,
            },
            None => ReadError::NoRecords("no line holds a JSON object"),
        });
    }
    Ok((builder.finish(cut)?, bad))
}

/// Whether the first line is a whole object. Then there is one on each line, unless the file is
/// this one object.
#[must_use]
pub fn starts_with_line(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().filter(|line| line.len() <= LONGEST_LINE);
    lines.next().is_some()
        && first.is_some_and(|line| serde_json::from_str::<Node>(line).is_ok_and(|node| node.is_object()))
}
