//! Records in trusted fields, in which values are looked up by the user's words.
//!
//! Invariant: a field is trusted only if the operator's settings name it. A server cannot declare
//! its own fields trusted.

use super::words;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of records kept for each server.
const MAX_RECORDS: usize = 5_000;
/// Maximum number of values of one field of one record.
const MAX_VALUES: usize = 200;
/// The field name that stands for the items of a plain list.
pub(super) const ITEMS: &str = "*";
/// Minimum length of a word that can name a record; excludes "me" and "it".
const MIN_NAME: usize = 3;

/// The trusted fields of one record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Record(BTreeMap<String, BTreeSet<String>>);

/// Collects the trusted fields of a result.
pub(super) fn collect(fields: &[String], result: &Value, into: &mut Vec<Record>) {
    match result {
        Value::Array(items) => {
            for item in items {
                match text_of(item) {
                    Some(text) if fields.iter().any(|field| field == ITEMS) => {
                        push(into, Record([(ITEMS.to_owned(), BTreeSet::from([text]))].into()));
                    }
                    _ => collect(fields, item, into),
                }
            }
        }
        Value::Object(members) => {
            let mut record = Record::default();
            for (name, value) in members {
                if fields.contains(name) {
                    let values = texts_of(value);
                    if !values.is_empty() {
                        record.0.insert(name.clone(), values);
                    }
                } else {
                    collect(fields, value, into);
                }
            }
            if !record.0.is_empty() {
                push(into, record);
            }
        }
        _ => {}
    }
}

fn push(into: &mut Vec<Record>, record: Record) {
    if into.len() < MAX_RECORDS && !into.contains(&record) {
        into.push(record);
    }
}

/// A text or a number in a normalised spelling.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_lowercase()).filter(|text| !text.is_empty()),
        Value::Number(number) => number.as_f64().map(|number| number.to_string()),
        _ => None,
    }
}

/// The texts of a field: its value, its items, or the names of its members.
fn texts_of(value: &Value) -> BTreeSet<String> {
    let texts: Box<dyn Iterator<Item = String> + '_> = match value {
        Value::Array(items) => Box::new(items.iter().filter_map(text_of)),
        Value::Object(members) => Box::new(members.keys().map(|name| name.trim().to_lowercase())),
        other => Box::new(text_of(other).into_iter()),
    };
    texts.take(MAX_VALUES).collect()
}

/// Looks up values in the records of one server.
pub(super) struct Lookup<'a> {
    pub(super) words: &'a words::Typed,
    pub(super) records: Option<&'a Vec<Record>>,
}

impl Lookup<'_> {
    /// Whether each part of a value occurs in a record that the user named, and all records of that
    /// name agree.
    pub(super) fn names(&self, value: &Value) -> bool {
        self.each(value, &|text| self.is_named(text))
    }

    /// Whether each part of a value is not a number and occurs in a trusted field.
    pub(super) fn lists(&self, value: &Value) -> bool {
        let Some(records) = self.records else { return false };
        let known =
            |text: &str| records.iter().any(|record| record.0.values().any(|values| values.contains(text)));
        !value.is_number() && self.each(value, &known)
    }

    fn each(&self, value: &Value, holds: &dyn Fn(&str) -> bool) -> bool {
        match value {
            Value::Array(items) => {
                !items.is_empty() && items.iter().all(|item| text_of(item).is_some_and(|text| holds(&text)))
            }
            other => text_of(other).is_some_and(|text| holds(&text)),
        }
    }

    fn is_named(&self, wanted: &str) -> bool {
        let records = self.records.map(Vec::as_slice).unwrap_or_default();
        records.iter().any(|record| {
            let places = record.0.iter().filter(|(_, values)| values.contains(wanted));
            places.into_iter().any(|(field, values)| {
                let names = record.0.iter().filter(|(name, _)| *name != field).flat_map(|(_, texts)| texts);
                let typed = names.filter(|text| *text != wanted && self.is_name(text));
                typed.into_iter().any(|text| {
                    let named = |other: &&Record| other.0.values().any(|texts| texts.contains(text));
                    records.iter().filter(named).all(|other| other.0.get(field) == Some(values))
                })
            })
        })
    }

    /// Whether the user typed the name of a record: a text, a number, or a file name without
    /// punctuation.
    fn is_name(&self, text: &str) -> bool {
        if let Ok(number) = text.parse::<f64>() {
            return self.words.has_number(number);
        }
        let stem = match text.rsplit_once('.') {
            Some((stem, end)) if end.len() <= 5 && end.chars().all(char::is_alphanumeric) => stem,
            _ => text,
        };
        let plain = stem.replace(['-', '_'], " ");
        let several = plain.split_whitespace().count() > 1;
        text.chars().count() >= MIN_NAME && (self.words.has(text) || (several && self.words.has(&plain)))
    }
}
