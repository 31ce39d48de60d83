//! Two canonical forms of JSON: the output of Python's `json.dumps(…, sort_keys=True)`, for the
//! entry hash, and RFC 8785, for the digest. Neither depends on serde's formatting of numbers and
//! escapes or on the order of a map.

mod jcs;
mod python;
mod transcode;

pub use jcs::{jcs, jcs_string};
pub use python::{python, python_string};
pub use transcode::python_to_jcs;

use serde_json::{Map, Value};

/// The members in the order of `key`. Maps are usually sorted already, but a dependency may switch
/// serde_json's maps to insertion order, so this function sorts them.
fn sorted<'a, K: Ord>(
    map: &'a Map<String, Value>,
    key: impl Fn(&'a str) -> K,
) -> Vec<(&'a String, &'a Value)> {
    let mut members: Vec<_> = map.iter().collect();
    members.sort_by_key(|(name, _)| key(name));
    members
}

/// Whether a value is nested deeper than `limit`. It stops counting at the limit.
pub fn deeper_than(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(|item| deeper_than(item, limit - 1)),
        Value::Object(map) => limit == 0 || map.values().any(|item| deeper_than(item, limit - 1)),
        _ => false,
    }
}
