//! What a tool can be told, read from the JSON Schema of its arguments: which field takes a path,
//! which a statement, which a longer text, which a name.

use crate::words::name_words;
use serde_json::{Map, Value};

/// What a field takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SlotKind {
    Sql,
    /// The path of a repository, beside paths within it.
    Repository,
    Path,
    /// The second path of a tool that takes two: where something goes.
    Destination,
    Pattern,
    /// A longer text.
    Text,
    /// Words to look for.
    Query,
    Name,
    Count,
    /// An object of several fields.
    Fields(Vec<Slot>),
    /// Anything else: nothing that stands for itself fills it.
    Other,
}

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) kind: SlotKind,
    pub(super) required: bool,
    /// Whether it takes a list.
    pub(super) many: bool,
    /// The words of its name.
    pub(super) words: Vec<String>,
    pub(super) description: String,
}

/// How deep objects are looked into.
const DEPTH: usize = 2;

/// The fields of a tool. `about` is what the tool says of itself.
pub(super) fn slots(schema: &Value, about: &str) -> Vec<Slot> {
    fields(schema, &about.to_lowercase(), DEPTH)
}

fn fields(schema: &Value, about: &str, depth: usize) -> Vec<Slot> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut found: Vec<Slot> = properties
        .into_iter()
        .flatten()
        .map(|(name, field)| slot(name, field, required.contains(&name.as_str()), about, depth))
        .collect();
    // Of two paths, the one that is called so is where something goes.
    if found.iter().filter(|slot| slot.kind == SlotKind::Path && !slot.many).count() > 1 {
        for slot in &mut found {
            let goes = ["destination", "dest", "target", "to", "new", "output", "dst"];
            if slot.kind == SlotKind::Path && slot.words.iter().any(|word| goes.contains(&word.as_str())) {
                slot.kind = SlotKind::Destination;
            }
        }
    }
    found
}

fn slot(name: &str, field: &Value, required: bool, about: &str, depth: usize) -> Slot {
    let description = field.get("description").and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let words = name_words(name);
    let of = kind_name(field);
    let (many, inner) = match of {
        "array" => (true, field.get("items").cloned().unwrap_or_default()),
        _ => (false, field.clone()),
    };
    let kind = match kind_name(&inner) {
        "object" if depth > 0 && inner.get("properties").is_some() => {
            SlotKind::Fields(fields(&inner, about, depth - 1))
        }
        "integer" | "number" if !many => SlotKind::Count,
        "string" if inner.get("enum").is_none() && inner.get("format").is_none() => {
            text_kind(&words, &description, about)
        }
        _ => SlotKind::Other,
    };
    Slot { name: name.to_owned(), kind, required, many, words, description }
}

/// The type of a field; of several, the first that is not null.
fn kind_name(field: &Value) -> &str {
    match field.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("")
        }
        _ => {
            let some = ["anyOf", "oneOf"].iter().find_map(|key| field.get(*key)).and_then(Value::as_array);
            let kinds = some.into_iter().flatten().filter_map(|one| one.get("type").and_then(Value::as_str));
            kinds.into_iter().find(|kind| *kind != "null").unwrap_or("")
        }
    }
}

fn text_kind(words: &[String], description: &str, about: &str) -> SlotKind {
    let is = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let last = |list: &[&str]| words.last().is_some_and(|word| list.contains(&word.as_str()));
    let sql = ["sql", "select", "insert", "create table", "statement"];
    if is(&["sql", "query", "statement"])
        && sql.iter().any(|word| description.contains(word) || about.contains(word))
    {
        return SlotKind::Sql;
    }
    if is(&["repo", "repository"]) && (is(&["path", "dir", "directory", "folder"]) || words.len() == 1) {
        return SlotKind::Repository;
    }
    if is(&["pattern", "patterns", "glob", "regex"]) {
        return SlotKind::Pattern;
    }
    let pathy = ["path", "paths", "file", "files", "filename", "filepath", "directory", "dir", "folder"];
    if is(&pathy)
        || (is(&["source", "destination", "src", "dst"])
            && (about.contains("file") || about.contains("path")))
    {
        return SlotKind::Path;
    }
    if last(&["query", "search", "q", "question", "term", "keyword", "keywords"]) {
        return SlotKind::Query;
    }
    let long = [
        "content",
        "contents",
        "message",
        "text",
        "body",
        "insight",
        "note",
        "comment",
        "observation",
        "observations",
        "description",
        "summary",
        "thought",
        "prompt",
        "input",
        "data",
        "value",
        "details",
    ];
    if last(&long) {
        return SlotKind::Text;
    }
    let date = ["timestamp", "date", "time", "since", "until", "timezone", "url", "uri", "address", "email"];
    if is(&date) {
        return SlotKind::Other;
    }
    SlotKind::Name
}

/// The value of a filled field in the shape that the schema wants.
pub(super) fn shaped(slot: &Slot, values: Vec<Value>) -> Option<Value> {
    if slot.many { Some(Value::Array(values)) } else { values.into_iter().next() }
}

/// An object of filled fields, with an empty list for a list that must be there and was not said.
pub(super) fn object(slots: &[Slot], mut filled: Map<String, Value>) -> Option<Value> {
    if filled.is_empty() {
        return None;
    }
    for slot in slots.iter().filter(|slot| slot.required) {
        if !filled.contains_key(&slot.name) {
            if !slot.many {
                return None;
            }
            filled.insert(slot.name.clone(), Value::Array(Vec::new()));
        }
    }
    Some(Value::Object(filled))
}
