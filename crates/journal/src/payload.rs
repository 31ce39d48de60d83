//! Payloads: personal or large data that an entry refers to by salted hash.
//!
//! The entry keeps `{"payload_id", "sha256", "bytes"}`. The salt is stored with the payload. Once
//! both are erased, the content cannot be guessed from the hash, and the chain still verifies.

use crate::error::Result;
use crate::hash::Hash;
use crate::random::Random;
use serde_json::{Map, Value, json};
use steward_domain::{ChainId, PayloadId, Timestamp};

const DOMAIN: &[u8] = b"steward.journal.payload.v1\0";

/// A member whose JSON text is longer than this is moved to a payload.
pub const LARGE: usize = 4096;

/// Data stored beside the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Its id.
    pub id: PayloadId,
    /// The chain that refers to it.
    pub chain: ChainId,
    /// The salted hash that the entry carries.
    pub sha256: Hash,
    /// Salt and content, until it is erased.
    pub content: Content,
}

/// The content of a payload, or its erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Not erased.
    Present {
        /// The salt.
        salt: [u8; 32],
        /// The JSON text.
        body: String,
    },
    /// Erased; the hash in the entry stays.
    Erased {
        /// When it was erased.
        at: Timestamp,
    },
}

/// The result of checking a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Present, and matches the hash.
    Intact,
    /// Present, but does not match the hash.
    Changed,
    /// Erased, which is allowed.
    Erased,
}

impl Payload {
    /// Compares the content with the hash in the entry.
    pub fn check(&self) -> Finding {
        match &self.content {
            Content::Erased { .. } => Finding::Erased,
            Content::Present { salt, body } if salted(salt, body.as_bytes()) == self.sha256 => {
                Finding::Intact
            }
            Content::Present { .. } => Finding::Changed,
        }
    }
}

fn salted(salt: &[u8; 32], body: &[u8]) -> Hash {
    Hash::of(&[DOMAIN, salt, body])
}

/// Replaces a member by a reference and returns the payload it refers to.
pub(crate) fn detach(
    data: &mut Map<String, Value>,
    name: String,
    value: &Value,
    chain: ChainId,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Payload> {
    let mut body = String::new();
    crate::canonical::python(value, &mut body);
    let salt = random.bytes()?;
    let id = PayloadId(random.uuid_v7(now)?);
    let sha256 = salted(&salt, body.as_bytes());
    data.insert(
        name,
        json!({ "payload_id": id.to_string(), "sha256": sha256.to_string(), "bytes": body.len() }),
    );
    Ok(Payload { id, chain, sha256, content: Content::Present { salt, body } })
}

/// The members that must be moved: large ones, and those that look like a reference but were not
/// made by us. Data from outside may contain an exported entry; its reference would look like a
/// payload of this chain that is missing.
pub(crate) fn members_to_move(data: &Map<String, Value>) -> Vec<String> {
    let large = |value: &Value| is_larger_than(value, &mut LARGE.clone());
    let posing = |value: &Value| value.get("payload_id").is_some();
    data.iter().filter(|(_, value)| large(value) || posing(value)).map(|(name, _)| name.clone()).collect()
}

/// Estimates the size and stops at the limit, so that the cost is bounded for large values.
fn is_larger_than(value: &Value, left: &mut usize) -> bool {
    let size = match value {
        Value::String(text) => text.len() + 2,
        _ => 8,
    };
    match left.checked_sub(size) {
        None => return true,
        Some(rest) => *left = rest,
    }
    match value {
        Value::Array(items) => items.iter().any(|item| is_larger_than(item, left)),
        Value::Object(map) => map.iter().any(|(name, item)| {
            *left = left.saturating_sub(name.len() + 4);
            is_larger_than(item, left)
        }),
        _ => false,
    }
}

/// The payload references in an entry's data: id and hash.
pub fn references(event_data: &Map<String, Value>) -> Vec<(PayloadId, Hash)> {
    event_data
        .values()
        .filter_map(|value| {
            let id = value.get("payload_id")?.as_str()?.parse().ok()?;
            Some((id, Hash::from_hex(value.get("sha256")?.as_str()?.as_bytes())?))
        })
        .collect()
}
