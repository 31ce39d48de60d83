//! The fast path: verifies a line by its bytes, without building a tree.
//!
//! This is sound because both hashes are computed over the bytes of the line. The digest covers
//! every field and the entry hash, and the entry hash covers the event data, so a line that passes
//! is byte for byte one that was sealed. `None` means "not proved", never "wrong".

use crate::canonical::python_to_jcs;
use crate::entry::{DigestParts, s3_hash};
use crate::hash::Hash;
use memchr::memmem::rfind;

/// A hash as hexadecimal text. Links are checked by comparing text, which needs no decoding.
pub(super) type Hex = [u8; 64];

/// The values that link an entry to its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) chain: [u8; 36],
    pub(super) sequence: u64,
    pub(super) parent_hash: Hex,
    pub(super) hash: Hex,
    pub(super) parent_digest: Hex,
    pub(super) digest: Hash,
    pub(super) digest_hex: Hex,
}

/// Buffers that are reused for every line.
#[derive(Default)]
pub(super) struct Scratch {
    event_data: Vec<u8>,
    on_behalf: Vec<u8>,
    digest: Vec<u8>,
}

/// Parses a line from the front.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn take<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(taken)
    }

    /// The bytes up to `end`, which is not consumed.
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(memchr::memchr(end, self.0)?)?;
        self.0 = rest;
        Some(taken)
    }
}

pub(super) fn check(line: &[u8], scratch: &mut Scratch) -> Option<Link> {
    let mut at = Cursor(line);
    at.literal(b"{\"entry_id\": \"")?;
    let entry_id = at.take::<36>()?;
    at.literal(b"\", \"request_id\": \"")?;
    let request_id = at.take::<36>()?;
    at.literal(b"\", \"sequence_number\": ")?;
    let sequence_number = at.until(b',')?;
    at.literal(b", \"parent_hash\": \"")?;
    let parent_hash = at.take::<64>()?;
    at.literal(b"\", \"timestamp\": \"")?;
    let timestamp = at.take::<27>()?;
    at.literal(b"\", \"event_type\": \"")?;
    let event_type = at.until(b'"')?;
    at.literal(b"\", \"event_data\": ")?;
    // The last such text in the line is the field itself, because quotes inside a string are
    // escaped.
    let (event_data, rest) = at.0.split_at_checked(rfind(at.0, b", \"actor\": \"")?)?;
    at.0 = rest;
    at.literal(b", \"actor\": ")?;
    let quoted = at.0;
    at.literal(b"\"")?;
    let actor = at.until(b'"')?;
    let quoted_actor = quoted.get(..actor.len() + 2)?;
    at.literal(b"\"")?;
    scratch.on_behalf.clear();
    if at.literal(b", \"on_behalf\": ").is_some() {
        on_behalf(&mut at, &mut scratch.on_behalf)?;
    }
    at.literal(b", \"hash\": \"")?;
    let hash = at.take::<64>()?;
    at.literal(b"\", \"parent_digest\": \"")?;
    let parent_digest = at.take::<64>()?;
    at.literal(b"\", \"digest\": \"")?;
    let digest_hex = at.take::<64>()?;
    if at.0 != b"\"}" || actor.contains(&b'\\') {
        return None;
    }
    scratch.event_data.clear();
    python_to_jcs(event_data, &mut scratch.event_data)?;
    let computed = s3_hash(parent_hash, timestamp, event_type, event_data, &mut scratch.digest);
    if computed.hex() != *hash {
        return None;
    }
    let parts = DigestParts {
        actor: quoted_actor,
        entry_id,
        event_data: &scratch.event_data,
        event_type,
        hash,
        on_behalf: &scratch.on_behalf,
        parent_digest,
        parent_hash,
        request_id,
        sequence_number,
        timestamp,
    };
    let digest = parts.digest(&mut scratch.digest);
    if digest.hex() != *digest_hex {
        return None;
    }
    Some(Link {
        chain: *request_id,
        sequence: number(sequence_number)?,
        parent_hash: *parent_hash,
        hash: *hash,
        parent_digest: *parent_digest,
        digest,
        digest_hex: *digest_hex,
    })
}

/// Parses `on_behalf` in exactly the form that we write: no hash covers its spaces.
fn on_behalf(at: &mut Cursor<'_>, jcs: &mut Vec<u8>) -> Option<()> {
    at.literal(b"{")?;
    jcs.push(b'{');
    for name in [&b"\"grants\": \""[..], b"\"key\": \"", b"\"user\": \""] {
        if at.literal(name).is_none() {
            continue;
        }
        let value = at.until(b'"')?;
        if value.contains(&b'\\') {
            return None;
        }
        at.literal(b"\"")?;
        // `"key": "` without its space.
        let (quoted, _) = name.split_last_chunk::<2>()?;
        jcs.extend_from_slice(quoted);
        jcs.push(b'"');
        jcs.extend_from_slice(value);
        jcs.push(b'"');
        if at.literal(b", ").is_some() {
            jcs.push(b',');
        }
    }
    at.literal(b"}")?;
    jcs.push(b'}');
    Some(())
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
