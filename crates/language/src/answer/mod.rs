//! Presents a tool result to the user: a sentence, a table, and the cells that the sentence is
//! based on.
//!
//! Invariants
//! - Nothing is added: every word of the sentence comes from the result, is the name of a field, or
//!   a count.
//! - A result is data. It is shown, shortened and counted, and never interpreted as a request.
//! - The same result gives the same text.
//!
//! It does not decide whether the result answers the question; the caller does.

mod evidence;
mod failure;
mod figures;
#[cfg(test)]
mod figures_tests;
mod number;
mod shape;

pub use evidence::Evidence;
pub use failure::reported_error;
pub use figures::{CheckedText, MARK, check_figures};
pub use shape::{Table, conflicts, table};

use crate::words::name_words;
use serde_json::{Map, Value};
use steward_domain::IntentKind;

/// Maximum length of a tool's text that is shown unchanged, in characters.
const LONGEST: usize = 4_000;
/// Maximum number of fields of one entity in a sentence, beside its name.
const TOLD: usize = 6;

/// A result as text, with its rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultText {
    /// One or two sentences, or the tool's own text.
    pub text: String,
    /// The rows, if the result has some.
    pub table: Option<Table>,
    /// Whether the result is empty.
    pub empty: bool,
}

/// Describes a result. `intent` is the requested action: a created entity is described as created.
#[must_use]
pub fn tell(intent: Option<IntentKind>, structured: Option<&Value>, words: &str) -> ResultText {
    let parsed;
    let value = match structured {
        Some(value) => Some(value),
        // Many servers send JSON as text only.
        None => {
            parsed = serde_json::from_str::<Value>(words.trim()).ok().filter(|value| !value.is_string());
            parsed.as_ref()
        }
    };
    let Some(value) = value else {
        let text = shorten(words);
        return ResultText { empty: text.is_empty(), text, table: None };
    };
    let table = table(value);
    if let Some(own) = own_words(value) {
        return ResultText { text: shorten(&own), empty: false, table };
    }
    if let Some(table) = table {
        let text = listed(&table);
        return ResultText { text, empty: table.rows.is_empty(), table: Some(table) };
    }
    match value {
        Value::Object(object) => {
            let inner = only_object(object).unwrap_or(object);
            let text = thing(intent, inner);
            ResultText { empty: text.is_empty(), text, table: None }
        }
        Value::Null => ResultText { empty: true, ..ResultText::default() },
        other => ResultText { text: plain(other), ..ResultText::default() },
    }
}

/// The display name of an entity: its title, name or subject, and its id.
#[must_use]
pub fn named(object: &Map<String, Value>) -> Option<String> {
    let title = TITLES.iter().find_map(|key| object.get(*key).and_then(Value::as_str));
    let id = object.get("id").filter(|id| id.is_number() || id.is_string()).map(plain);
    match (title, id) {
        (Some(title), Some(id)) if !title.is_empty() => Some(format!("{id} “{}”", shorten(title))),
        (Some(title), None) if !title.is_empty() => Some(format!("“{}”", shorten(title))),
        (_, Some(id)) => Some(id),
        _ => None,
    }
}

/// Fields that hold an entity's name.
pub(crate) const TITLES: &[&str] =
    &["title", "name", "full_name", "display_name", "subject", "label", "product", "headline"];
/// Fields that hold a text written by the server.
const OWN: &[&str] = &["answer", "summary", "message", "response", "reply"];

fn own_words(value: &Value) -> Option<String> {
    let object = value.as_object()?;
    OWN.iter()
        .find_map(|key| object.get(*key)?.as_str())
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

fn only_object(object: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let mut values = object.values();
    match (values.next(), values.next()) {
        (Some(Value::Object(inner)), None) => Some(inner),
        _ => None,
    }
}

/// "4 tasks: Buy milk, Call the dentist, …", or that there are none.
fn listed(table: &Table) -> String {
    let noun = table.noun.clone().unwrap_or_else(|| "rows".to_owned());
    let one = noun.strip_suffix('s').unwrap_or(&noun);
    match table.rows.len() {
        0 => format!("There are no {noun}."),
        1 => format!("1 {one}{}.", names(table)),
        count => format!("{count}{} {noun}{}.", if table.cut { " of more" } else { "" }, names(table)),
    }
}

/// The first names of a table's rows.
fn names(table: &Table) -> String {
    let some: Vec<String> = table.names().take(5).collect();
    let rest = table.rows.len().saturating_sub(some.len());
    match (some.is_empty(), rest) {
        (true, _) => String::new(),
        (_, 0) => format!(": {}", some.join(", ")),
        (_, rest) => format!(": {} and {rest} more", some.join(", ")),
    }
}

/// One entity: its name, then its fields.
fn thing(intent: Option<IntentKind>, object: &Map<String, Value>) -> String {
    let name = named(object);
    let said = |key: &String| {
        !(name.is_some() && (key == "id" || TITLES.contains(&key.as_str()))) && !key.ends_with("_id")
    };
    let details: Vec<String> = object
        .iter()
        .filter(|(key, value)| said(key) && is_plain(value))
        .take(TOLD)
        .map(|(key, value)| format!("{} {}", name_words(key).join(" "), plain(value)))
        .collect();
    let verb = match intent {
        Some(IntentKind::Create) => "Added ",
        Some(IntentKind::Update) => "Changed ",
        Some(IntentKind::Delete) => "Removed ",
        _ => "",
    };
    match (name, details.is_empty()) {
        (Some(name), true) => format!("{verb}{name}."),
        (Some(name), false) => format!("{verb}{name}: {}.", details.join(", ")),
        (None, false) => format!("{}.", capital(&details.join(", "))),
        (None, true) => String::new(),
    }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Number(_) | Value::Bool(_) => true,
        Value::Array(items) => {
            !items.is_empty() && items.iter().all(|item| item.is_string() || item.is_number())
        }
        Value::Null | Value::Object(_) => false,
    }
}

/// A value formatted for people.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => shorten(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(_) => {
            named(value.as_object().unwrap_or(&Map::new())).unwrap_or_else(|| value.to_string())
        }
    }
}

/// The text without control characters, truncated for display.
fn shorten(text: &str) -> String {
    let clean =
        text.trim().chars().filter(|letter| !letter.is_control() || *letter == '\n' || *letter == '\t');
    let mut out: String = clean.take(LONGEST + 1).collect();
    if out.chars().count() > LONGEST {
        out.pop();
        out.push('…');
    }
    out
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
