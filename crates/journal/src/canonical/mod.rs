//! Two canonical forms of JSON: what Python's `json.dumps(…, sort_keys=True)` writes, for S3's
//! hash, and RFC 8785, for our digest. Neither depends on serde's own number and escape choices,
//! nor on a map's order.

mod jcs;
mod python;
mod transcode;

pub use jcs::{jcs, jcs_string};
pub use python::{python, python_string};
pub use transcode::python_to_jcs;

use serde_json::{Map, Value};

/// The members in the order of `key`. Maps are mostly sorted already, but a dependency may switch
/// serde_json's maps to insertion order, so this never relies on it.
fn sorted<'a, K: Ord>(
    map: &'a Map<String, Value>,
    key: impl Fn(&'a str) -> K,
) -> Vec<(&'a String, &'a Value)> {
    let mut members: Vec<_> = map.iter().collect();
    members.sort_by_key(|(name, _)| key(name));
    members
}

/// How deep a value is nested, up to a limit beyond which it does not matter.
pub fn deeper_than(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(|item| deeper_than(item, limit - 1)),
        Value::Object(map) => limit == 0 || map.values().any(|item| deeper_than(item, limit - 1)),
        _ => false,
    }
}
