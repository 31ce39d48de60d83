//! The provenance of a value, and the proofs that it comes from the user.
//!
//! Invariants
//! - A [`Taint`] only grows. No method lowers it: once untrusted content has entered a session, the
//!   session stays tainted to its end, through errors, summaries, sub-agents and other servers.
//! - In a tainted session a value counts as the user's only with a proof: whole words that they
//!   typed, a number or a date that they typed, or an id that the same server returned. Everything
//!   else that a model writes is untrusted.
//! - A call in which no value is the user's is untrusted as a whole, even when it has no arguments.
//!
//! This module does not decide which calls are allowed. Policy decides, based on the provenance
//! found here.

mod destination;
mod mandate;
mod moment;
mod records;
mod words;

use crate::JsonObject;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub use mandate::{Mandate, MandatedCall, Release};
pub use words::is_typed;

/// The provenance of a value, from the most trusted to the least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// The operator wrote it: configuration, a workflow file.
    Operator,
    /// The user wrote it.
    #[default]
    User,
    /// It comes from data, in an argument that the user's request leaves open to data. See
    /// [`Mandate`].
    Requested,
    /// It comes from a tool's result, a tool's description, a file, a page, a data cell, or a model
    /// that has read one.
    Untrusted,
}

impl Provenance {
    /// The name as it is written in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::User => "user",
            Self::Requested => "requested",
            Self::Untrusted => "untrusted",
        }
    }
}

/// Maximum number of ids kept for each server; further ids are not accepted as proof.
const MAX_IDS: usize = 20_000;
/// Maximum length of an id.
const MAX_ID: usize = 128;
/// Maximum number of addresses kept for a session.
const MAX_ADDRESSES: usize = 100;

/// What a session has read so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// What the user typed. Empty when the task comes from data: then words prove nothing.
    words: String,
    /// The lowest provenance of all content read.
    level: Provenance,
    /// Ids that each server returned.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ids: BTreeMap<String, BTreeSet<String>>,
    /// Trusted fields of records that each server returned.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    records: BTreeMap<String, Vec<records::Record>>,
    /// Addresses that are the only one in a page or file that the user named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    addresses: BTreeSet<String>,
}

/// The provenance of a call and of each of its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOrigin {
    /// The provenance of the decision to make this call.
    pub call: Provenance,
    /// The provenance of each argument.
    pub arguments: BTreeMap<String, Provenance>,
}

impl Taint {
    /// A session that has read only what the user typed.
    #[must_use]
    pub fn new(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            level: Provenance::User,
            ids: BTreeMap::new(),
            records: BTreeMap::new(),
            addresses: BTreeSet::new(),
        }
    }

    /// Records that content of this provenance was read.
    pub fn absorb(&mut self, from: Provenance) {
        self.level = self.level.max(from);
    }

    /// Records the answer of a server. It is untrusted; ids in it may be sent back to the same
    /// server.
    pub fn absorb_result(&mut self, server: &str, result: &Value) {
        self.absorb(Provenance::Untrusted);
        let known = self.ids.entry(server.to_owned()).or_default();
        match result {
            // A server may send its JSON as text.
            Value::String(text) => {
                if let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                    collect_ids(&parsed, known);
                }
            }
            other => collect_ids(other, known),
        }
    }

    /// Records the answer of a server to a call with these arguments. `trusted` are the result
    /// fields that the operator trusts.
    pub fn absorb_answer(
        &mut self,
        server: &str,
        arguments: &JsonObject,
        trusted: &[String],
        result: &Value,
    ) {
        self.absorb_result(server, result);
        let parsed = match result {
            Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| result.clone()),
            other => other.clone(),
        };
        if !trusted.is_empty() {
            records::collect(trusted, &parsed, self.records.entry(server.to_owned()).or_default());
        }
        let typed = words::Typed::new(&self.words);
        let named = !arguments.is_empty()
            && arguments.values().all(|value| value.as_str().is_some_and(|text| typed.has(text)));
        if let (true, Value::String(text)) = (named, &parsed) {
            let found: BTreeSet<String> =
                places_of(text).filter(|place| place.contains('@')).map(str::to_lowercase).collect();
            if found.len() == 1 && self.addresses.len() < MAX_ADDRESSES {
                self.addresses.extend(found);
            }
        }
    }

    /// What the user typed.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    fn is_sole_address(&self, value: &Value) -> bool {
        value.as_str().is_some_and(|text| self.addresses.contains(&text.trim().to_lowercase()))
    }

    /// The lowest provenance of all content read.
    #[must_use]
    pub fn level(&self) -> Provenance {
        self.level
    }

    /// Whether untrusted content was read.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.level == Provenance::Untrusted
    }

    /// The provenance of a text that a model of this session wrote.
    #[must_use]
    pub fn judge_text(&self, text: &str) -> Provenance {
        let proven = !self.is_tainted() || is_typed(text, &self.words);
        if proven { Provenance::User } else { Provenance::Untrusted }
    }

    /// The provenance of a call to this server that a model of this session requests.
    #[must_use]
    pub fn judge_call(&self, server: &str, arguments: &JsonObject) -> CallOrigin {
        if !self.is_tainted() {
            let all = arguments.keys().map(|name| (name.clone(), Provenance::User)).collect();
            return CallOrigin { call: Provenance::User, arguments: all };
        }
        let proof = Proof { words: words::Typed::new(&self.words), ids: self.ids.get(server) };
        let found: Vec<(&String, ProofResult)> =
            arguments.iter().map(|(name, value)| (name, proof.find(name, value))).collect();
        let anchored = found.iter().any(|(_, found)| *found == ProofResult::Proven);
        let label = |found: ProofResult| match found {
            ProofResult::Proven => Provenance::User,
            ProofResult::Empty if anchored => Provenance::User,
            ProofResult::Empty | ProofResult::Unproven => Provenance::Untrusted,
        };
        let arguments: BTreeMap<String, Provenance> =
            found.into_iter().map(|(name, found)| (name.clone(), label(found))).collect();
        let theirs = anchored && arguments.values().all(|origin| *origin == Provenance::User);
        let call = if theirs { Provenance::User } else { Provenance::Untrusted };
        CallOrigin { call, arguments }
    }
}

impl Taint {
    /// The provenance of a value that a plan copies from a result into an argument of this name. It
    /// needs the same proof as for a model that has read the result.
    #[must_use]
    pub fn judge_value(&self, server: &str, name: &str, value: &Value) -> Provenance {
        let mut arguments = JsonObject::new();
        arguments.insert(name.to_owned(), value.clone());
        self.judge_call(server, &arguments).arguments.get(name).copied().unwrap_or(Provenance::Untrusted)
    }

    /// The provenance of a literal that a model wrote when it had read only the user's words and
    /// the names of tools. It counts as the user's, except for destinations: an address, a URL or
    /// an account counts only if the user typed it.
    #[must_use]
    pub fn judge_literal(&self, value: &Value) -> Provenance {
        let all = |values: &mut dyn Iterator<Item = &Value>| {
            values.map(|value| self.judge_literal(value)).max().unwrap_or(Provenance::User)
        };
        match value {
            Value::String(text) if names_place(text) => {
                let typed = words::Typed::new(&self.words);
                let unproven = places_of(text).any(|place| !typed.has(place));
                if unproven { Provenance::Untrusted } else { Provenance::User }
            }
            Value::Array(values) => all(&mut values.iter()),
            Value::Object(members) => all(&mut members.values()),
            _ => Provenance::User,
        }
    }
}

/// The words of a text that are destinations.
fn places_of(text: &str) -> impl Iterator<Item = &str> {
    let marks: &[char] = &[',', ';', '<', '>', '(', ')', '"', '\''];
    let words = text.split(|c: char| c.is_whitespace() || marks.contains(&c));
    words.map(|word| word.trim_end_matches(['.', '!', '?', ':'])).filter(|word| is_place(word))
}

fn names_place(text: &str) -> bool {
    places_of(text).next().is_some()
}

/// Whether a word is an address, a URL or an account number.
fn is_place(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let account = digits >= 8 && word.chars().all(|c| c.is_ascii_alphanumeric() || "-+/".contains(c));
    // Dates and timestamps are also long digit sequences.
    let moment = word.get(..4).is_some_and(|year| year.parse::<u16>().is_ok()) && word.get(4..5) == Some("-");
    word.contains('@') || word.contains("://") || word.starts_with("www.") || (account && !moment)
}

/// The proofs that are available for a value.
struct Proof<'a> {
    words: words::Typed,
    ids: Option<&'a BTreeSet<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProofResult {
    Proven,
    Unproven,
    /// No content: null, an empty text, an empty list.
    Empty,
}

impl Proof<'_> {
    fn find(&self, name: &str, value: &Value) -> ProofResult {
        let all = |found: &mut dyn Iterator<Item = ProofResult>| {
            found.fold(ProofResult::Empty, |sum, next| match (sum, next) {
                (ProofResult::Unproven, _) | (_, ProofResult::Unproven) => ProofResult::Unproven,
                (ProofResult::Empty, ProofResult::Empty) => ProofResult::Empty,
                _ => ProofResult::Proven,
            })
        };
        let proven = match value {
            Value::Null => return ProofResult::Empty,
            Value::Array(values) => return all(&mut values.iter().map(|value| self.find(name, value))),
            Value::Object(map) => return all(&mut map.iter().map(|(name, value)| self.find(name, value))),
            Value::String(text) if text.trim().is_empty() => return ProofResult::Empty,
            Value::String(text) => self.words.has(text) || self.is_id(name, text),
            Value::Number(number) => {
                number.as_f64().is_some_and(|number| self.words.has_number(number))
                    || self.is_id(name, &number.to_string())
            }
            // A boolean is one bit, and that bit may be the one that matters.
            Value::Bool(_) => false,
        };
        if proven { ProofResult::Proven } else { ProofResult::Unproven }
    }

    fn is_id(&self, name: &str, text: &str) -> bool {
        names_id(name) && self.ids.is_some_and(|ids| ids.contains(text))
    }
}

fn collect_ids(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_ids(value, into)),
        Value::Object(map) => {
            for (name, value) in map {
                let id = match value {
                    Value::String(text) if names_id(name) => Some(text.clone()),
                    Value::Number(number) if names_id(name) => Some(number.to_string()),
                    nested => {
                        collect_ids(nested, into);
                        None
                    }
                };
                let plain =
                    |id: &String| (1..=MAX_ID).contains(&id.len()) && !id.contains(char::is_whitespace);
                if let Some(id) = id.filter(plain)
                    && into.len() < MAX_IDS
                {
                    into.insert(id);
                }
            }
        }
        _ => {}
    }
}

/// Whether a member of this name holds an identifier: `id`, `file_id`, `eventIds`, `uuid`.
fn names_id(name: &str) -> bool {
    let name = name.trim_end_matches('_');
    let lower = name.to_ascii_lowercase();
    ["id", "ids", "uuid", "guid"].contains(&lower.as_str())
        || [" ", "_", "-", "."]
            .iter()
            .any(|mark| ["id", "ids", "uuid"].iter().any(|word| lower.ends_with(&format!("{mark}{word}"))))
        || name.ends_with("Id")
        || name.ends_with("Ids")
        || name.ends_with("ID")
}

#[cfg(test)]
#[path = "provenance_tests.rs"]
mod tests;
