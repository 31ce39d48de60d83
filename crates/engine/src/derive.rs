//! Deterministic ids, jitter, hashes and token counts. Each is a function of its arguments, not of
//! a clock or a random generator, so the same events give the same bytes.

use serde_json::Value;
use sha2::{Digest, Sha256};
use steward_domain::{CallId, JsonObject, MessageId, Sha256Hex, TaskId};

/// The first 16 bytes of a SHA-256 as a UUID of version 8 (application-defined).
fn uuid_bytes(task: TaskId, kind: &str, number: u64) -> [u8; 16] {
    let mut hasher = Sha256::new();
    hasher.update(task.0.as_bytes());
    hasher.update(kind.as_bytes());
    hasher.update(number.to_be_bytes());
    let mut bytes = [0u8; 16];
    for (to, from) in bytes.iter_mut().zip(hasher.finalize()) {
        *to = from;
    }
    if let Some(byte) = bytes.get_mut(6) {
        *byte = (*byte & 0x0f) | 0x80;
    }
    if let Some(byte) = bytes.get_mut(8) {
        *byte = (*byte & 0x3f) | 0x80;
    }
    bytes
}

/// The UUID crate of `TaskId` is not a dependency here; the text form is enough to build one.
fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        push_hex(&mut text, *byte);
    }
    text
}

fn push_hex(text: &mut String, byte: u8) {
    for nibble in [byte >> 4, byte & 15] {
        text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
    }
}

/// The id and idempotency key of a task's call with this number.
pub(crate) fn call_key(task: TaskId, number: u64) -> CallId {
    uuid_text(uuid_bytes(task, "call", number)).parse().unwrap_or(CallId(task.0))
}

/// The id of the task that a sub-agent call starts. Starting it is idempotent.
#[must_use]
pub fn child_task(task: TaskId, number: u64) -> TaskId {
    uuid_text(uuid_bytes(task, "sub", number)).parse().unwrap_or(task)
}

/// The id of a message in projections.
pub(crate) fn message_id(task: TaskId, number: u64) -> MessageId {
    uuid_text(uuid_bytes(task, "message", number)).parse().unwrap_or(MessageId(task.0))
}

/// SHA-256 over length-prefixed parts. The prefix keeps different lists of parts from giving the
/// same bytes.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> Sha256Hex {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let mut text = String::with_capacity(64);
    for byte in hasher.finalize() {
        push_hex(&mut text, byte);
    }
    text.parse().unwrap_or_else(|_| zero_digest())
}

/// Stands for the unreachable branch: hexadecimal of 32 bytes always parses.
#[allow(clippy::unwrap_used, reason = "64 zeros are a digest")]
fn zero_digest() -> Sha256Hex {
    "0".repeat(64).parse().unwrap()
}

/// FNV-1a with 64 bits. It detects repetition; it is not cryptographic.
#[derive(Clone, Copy)]
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    pub(crate) fn object(self, object: &JsonObject) -> Self {
        // Keys are sorted, independent of the order of the map.
        let mut sorted: Vec<_> = object.iter().collect();
        sorted.sort_by_key(|(key, _)| key.as_str());
        sorted
            .into_iter()
            .fold(self.bytes(b"{"), |hash, (key, value)| hash.bytes(key.as_bytes()).value(value))
    }

    pub(crate) fn value(self, value: &Value) -> Self {
        match value {
            Value::Object(object) => self.object(object),
            Value::Array(values) => values.iter().fold(self.bytes(b"["), Self::value),
            Value::String(text) => self.bytes(b"\"").number(text.len() as u64).bytes(text.as_bytes()),
            scalar => self.bytes(scalar.to_string().as_bytes()),
        }
    }

    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

/// The wait before the next attempt, in microseconds. It doubles each time, with jitter between
/// half and all of it, so that tasks that failed together do not retry together.
pub(crate) fn backoff_micros(task: TaskId, number: u64, attempt: u32, base_ms: u64, cap_ms: u64) -> i64 {
    let doubled = base_ms.saturating_mul(1u64 << attempt.saturating_sub(1).min(20)).min(cap_ms);
    let hash = Fnv::new().bytes(task.0.as_bytes()).number(number).number(u64::from(attempt)).finish();
    let half = doubled.saturating_mul(1000) / 2;
    let jitter = if half == 0 { 0 } else { (hash >> 11) % half };
    i64::try_from(half + jitter).unwrap_or(i64::MAX)
}

/// Estimates the tokens of a text: a quarter of its bytes plus a fixed overhead.
#[must_use]
pub fn estimate_tokens(text: &str) -> u32 {
    u32::try_from(text.len() / 4).unwrap_or(u32::MAX).saturating_add(4)
}
