//! What a person's request foresees: the calls that follow from their words alone.
//!
//! Invariants
//! - A [`Mandate`] is written by a model that was shown the person's words and the names of tools,
//!   and nothing else. No result can change it.
//! - What it allows is narrow: a call that it foresees, once, with the arguments that it states.
//!   Where it leaves an argument to results, either *what* is said or *where* it goes may come from
//!   data, never both.
//! - A number, a switch and a place that nobody proved are never left to results.

use super::{Proof, ProofResult, Provenance, Taint, destination, records::Lookup, words};
use crate::{CallOrigin, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most calls that a mandate states.
const MAX_CALLS: usize = 40;
/// How often a call that is made for each of several things may be made.
const MAX_EACH: u32 = 20;
/// Arguments that carry words to be read, and steer nothing.
const TEXTS: [&str; 16] = [
    "body",
    "caption",
    "comment",
    "content",
    "contents",
    "description",
    "details",
    "headline",
    "location",
    "message",
    "note",
    "notes",
    "subject",
    "summary",
    "text",
    "title",
];

/// The calls that a request foresees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mandate {
    calls: Vec<MandatedCall>,
    /// The tool and what was looked up or chosen, of each call that was released: the same again is
    /// another call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    released: Vec<(String, JsonObject)>,
}

/// A call that may be released: where it came from, and what [`Mandate::release`] notes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// Where the call and its arguments came from.
    pub origin: CallOrigin,
    place: usize,
    destination: (String, JsonObject),
}

/// One call that a request foresees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MandatedCall {
    /// The tool, by its full name.
    pub tool: String,
    /// Its arguments as the words say them; null where only a result can say.
    #[serde(default)]
    pub arguments: JsonObject,
    /// Whether it is made for each of several things.
    #[serde(default)]
    pub each: bool,
    /// How often it was released.
    #[serde(default)]
    pub used: u32,
}

impl Mandate {
    /// A mandate of these calls; what is beyond the bound is not part of it.
    #[must_use]
    pub fn new(calls: impl IntoIterator<Item = MandatedCall>) -> Self {
        Self { calls: calls.into_iter().take(MAX_CALLS).collect(), released: Vec::new() }
    }

    /// Whether it foresees a call of this tool with these arguments, as often as it likes.
    #[must_use]
    pub fn foresees(&self, tool: &str, arguments: &JsonObject) -> bool {
        self.calls.iter().any(|call| call.fits(tool, arguments))
    }

    /// A call that this mandate foresees. `made` are the calls of the session so
    /// far: where one of them was not foreseen, what was read with it may go nowhere.
    #[must_use]
    pub fn judge<'a>(
        &self,
        taint: &Taint,
        (server, tool): (&str, &str),
        arguments: &JsonObject,
        mut made: impl Iterator<Item = (&'a str, &'a JsonObject)>,
    ) -> Option<Release> {
        let clean = made.all(|(tool, arguments)| self.foresees(tool, arguments));
        let released = self.calls.iter().enumerate().filter(|(_, call)| call.is_open());
        released.filter(|(_, call)| call.fits(tool, arguments)).find_map(|(place, call)| {
            let (origin, chosen) = call.judge(taint, server, arguments, clean);
            let trusted = origin.arguments.values().all(|origin| *origin < Provenance::Untrusted);
            let chosen: JsonObject = arguments
                .iter()
                .filter(|(name, _)| chosen.contains(*name))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect();
            let repeated =
                !chosen.is_empty() && self.released.iter().any(|(of, what)| of == tool && *what == chosen);
            let destination = (tool.to_owned(), chosen);
            (trusted && !repeated).then_some(Release { origin, place, destination })
        })
    }

    /// One of its calls is released.
    pub fn release(&mut self, release: Release) {
        if let Some(call) = self.calls.get_mut(release.place) {
            call.used += 1;
        }
        self.released.push(release.destination);
    }
}

/// What an argument is that only a result says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// The record that the person named says it.
    LookedUp,
    /// One of those that a trusted list holds, or the only address on a page that the person named.
    Chosen,
    /// Words to be read.
    Text,
    Unproven,
}

impl MandatedCall {
    fn is_open(&self) -> bool {
        self.used < if self.each { MAX_EACH } else { 1 }
    }

    /// Whether a call states all that this one states. What this one does not state is open.
    fn fits(&self, tool: &str, arguments: &JsonObject) -> bool {
        let stated = |(_, value): &(&String, &Value)| !value.is_null();
        self.tool == tool
            && self
                .arguments
                .iter()
                .filter(stated)
                .all(|(name, value)| arguments.get(name).is_some_and(|given| same(value, given)))
    }

    /// Where a call came from, and which of its arguments were looked up or chosen.
    fn judge(
        &self,
        taint: &Taint,
        server: &str,
        arguments: &JsonObject,
        clean: bool,
    ) -> (CallOrigin, BTreeSet<String>) {
        let proof = Proof { words: words::Typed::new(&taint.words), ids: taint.ids.get(server) };
        let lookup = Lookup { words: &proof.words, records: taint.records.get(server) };
        let mut labels = BTreeMap::new();
        let mut open = Vec::new();
        for (name, value) in arguments {
            let stated = self.arguments.get(name).is_some_and(|stated| !stated.is_null());
            let proven = matches!(proof.find(name, value), ProofResult::Proven | ProofResult::Empty);
            if proven || (stated && taint.judge_literal(value) == Provenance::User) {
                labels.insert(name.clone(), Provenance::User);
                continue;
            }
            let kind = if stated {
                Open::Unproven
            } else if lookup.names(value) {
                Open::LookedUp
            } else if lookup.lists(value) || taint.is_sole_address(value) {
                Open::Chosen
            } else if clean && is_text(name, value, &proof.words) {
                Open::Text
            } else {
                Open::Unproven
            };
            open.push((name, kind));
        }
        // Either what is said or where it goes, never both.
        let both =
            [Open::Chosen, Open::Text].iter().all(|wanted| open.iter().any(|(_, kind)| kind == wanted));
        let is_place = |kind: Open| kind == Open::LookedUp || kind == Open::Chosen;
        let chosen =
            open.iter().filter(|(_, kind)| is_place(*kind)).map(|(name, _)| (*name).clone()).collect();
        for (name, kind) in open {
            let unproven = kind == Open::Unproven || (both && kind == Open::Text);
            let label = if unproven { Provenance::Untrusted } else { Provenance::Requested };
            labels.insert(name.clone(), label);
        }
        (CallOrigin { call: Provenance::User, arguments: labels }, chosen)
    }
}

/// Whether a value is words to be read, or a moment, and names no place that the person did not
/// type.
fn is_text(name: &str, value: &Value, typed: &words::Typed) -> bool {
    let Value::String(text) = value else { return false };
    if super::moment::is_moment(text) {
        return true;
    }
    let lower = name.to_ascii_lowercase();
    let named = TEXTS.iter().any(|word| lower == *word || lower.ends_with(&format!("_{word}")));
    named && !destination::names_untyped(text, typed)
}

/// Whether two values say the same: `10` and `10.0`, `Lunch` and `lunch`, a text and a list of that
/// text alone.
fn same(stated: &Value, given: &Value) -> bool {
    match (stated, given) {
        (Value::String(one), Value::String(other)) => one.trim().eq_ignore_ascii_case(other.trim()),
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (one @ Value::String(_), Value::Array(other)) => {
            matches!(other.as_slice(), [only] if same(one, only))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
#[path = "mandate_tests.rs"]
mod tests;
