//! Mandates: the calls that follow from the user's words alone.
//!
//! Invariants
//! - A [`Mandate`] is written by a model that saw the user's words and the names of tools, and
//!   nothing else. No tool result can change it.
//! - It allows little: a call that it foresees, once, with the arguments that it states. Where an
//!   argument is left open to results, either *what* is sent or *where* it is sent may come from
//!   data, never both.
//! - Numbers, booleans and unproved destinations are never left open to results.

use super::{Proof, ProofResult, Provenance, Taint, destination, records::Lookup, words};
use crate::{CallOrigin, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of calls of a mandate.
const MAX_CALLS: usize = 40;
/// How often a call marked "for each" may be made.
const MAX_EACH: u32 = 20;
/// Names of arguments that carry text for people and control nothing.
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
    /// Tool and looked-up or chosen values of each released call. The same combination is not
    /// released again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    released: Vec<(String, JsonObject)>,
}

/// A call that may be released: its origin, and the values that [`Mandate::release`] records.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// The origin of the call and of its arguments.
    pub origin: CallOrigin,
    place: usize,
    destination: (String, JsonObject),
}

/// One call that a request foresees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MandatedCall {
    /// The tool, by its full name.
    pub tool: String,
    /// The arguments as the user's words state them; null where only a result can supply the value.
    #[serde(default)]
    pub arguments: JsonObject,
    /// Whether it is made once for each of several items.
    #[serde(default)]
    pub each: bool,
    /// How often it was released.
    #[serde(default)]
    pub used: u32,
}

impl Mandate {
    /// A mandate of these calls; calls beyond `MAX_CALLS` are dropped.
    #[must_use]
    pub fn new(calls: impl IntoIterator<Item = MandatedCall>) -> Self {
        Self { calls: calls.into_iter().take(MAX_CALLS).collect(), released: Vec::new() }
    }

    /// Whether it foresees a call of this tool with these arguments, regardless of how often.
    #[must_use]
    pub fn foresees(&self, tool: &str, arguments: &JsonObject) -> bool {
        self.calls.iter().any(|call| call.fits(tool, arguments))
    }

    /// The release of a call that this mandate foresees. `made` are the calls of the session so
    /// far: if one of them was not foreseen, the data it read may not be sent anywhere.
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

    /// Records that one of its calls was released.
    pub fn release(&mut self, release: Release) {
        if let Some(call) = self.calls.get_mut(release.place) {
            call.used += 1;
        }
        self.released.push(release.destination);
    }
}

/// The kind of an argument whose value comes from a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Taken from the record that the user named.
    LookedUp,
    /// An item of a trusted list, or the only address on a page that the user named.
    Chosen,
    /// Text for people.
    Text,
    Unproven,
}

impl MandatedCall {
    fn is_open(&self) -> bool {
        self.used < if self.each { MAX_EACH } else { 1 }
    }

    /// Whether a call matches every argument that this one states. Other arguments are open.
    fn fits(&self, tool: &str, arguments: &JsonObject) -> bool {
        let stated = |(_, value): &(&String, &Value)| !value.is_null();
        self.tool == tool
            && self
                .arguments
                .iter()
                .filter(stated)
                .all(|(name, value)| arguments.get(name).is_some_and(|given| same(value, given)))
    }

    /// The origin of a call, and which of its arguments were looked up or chosen.
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
        // Either the content or the destination may come from data, never both.
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

/// Whether a value is text for people, or a date, and contains no destination that the user did not
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

/// Whether two values are equivalent: `10` and `10.0`, `Lunch` and `lunch`, a text and a list of
/// only that text.
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
