//! The fast path: checks a line by its bytes, without building a tree.
//!
//! Sound because both hashes are taken over what stands in the line: if S3's hash of the text fits, the text is the
//! one that was sealed, and if the digest fits, so is every field. `None` means only "not shown", never "wrong".

use crate::canonical::python_to_jcs;
use crate::entry::{ChainTip, DigestParts, s3_hash};
use crate::hash::Hash;
use steward_domain::ChainId;

/// What ties an entry to its neighbours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) chain: ChainId,
    pub(super) sequence: u64,
    pub(super) parent_hash: Hash,
    pub(super) hash: Hash,
    pub(super) parent_digest: Hash,
    pub(super) digest: Hash,
}

impl Link {
    pub(super) fn after(&self) -> ChainTip {
        ChainTip { chain: self.chain, entries: self.sequence, hash: self.hash, digest: self.digest }
    }
}

/// Buffers that are used again for every line.
#[derive(Default)]
pub(super) struct Scratch {
    event_data: Vec<u8>,
    digest: Vec<u8>,
}

/// Reads a line from the front.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Up to the byte, which stays.
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        self.take(self.0.iter().position(|b| *b == end)?)
    }
}

pub(super) fn check(line: &[u8], scratch: &mut Scratch) -> Option<Link> {
    let mut at = Cursor(line);
    at.expect(b"{\"entry_id\": \"")?;
    let entry_id = at.take(36)?;
    at.expect(b"\", \"request_id\": \"")?;
    let request_id = at.take(36)?;
    at.expect(b"\", \"sequence_number\": ")?;
    let sequence_number = at.until(b',')?;
    at.expect(b", \"parent_hash\": \"")?;
    let parent_hash = at.take(64)?;
    at.expect(b"\", \"timestamp\": \"")?;
    let timestamp = at.until(b'"')?;
    at.expect(b"\", \"event_type\": \"")?;
    let event_type = at.until(b'"')?;
    at.expect(b"\", \"event_data\": ")?;
    scratch.event_data.clear();
    let length = python_to_jcs(at.0, &mut scratch.event_data)?;
    let event_data = at.take(length)?;
    at.expect(b", \"actor\": ")?;
    let rest = at.0;
    at.expect(b"\"")?;
    let actor = at.until(b'"')?;
    let quoted_actor = rest.get(..actor.len() + 2)?;
    at.expect(b"\", \"hash\": \"")?;
    let hash = at.take(64)?;
    at.expect(b"\", \"parent_digest\": \"")?;
    let parent_digest = at.take(64)?;
    at.expect(b"\", \"digest\": \"")?;
    let digest = Hash::from_hex(at.take(64)?)?;
    if at.0 != b"\"}"
        || [timestamp, event_type, actor, entry_id, request_id].iter().any(|text| !is_plain(text))
    {
        return None;
    }
    let link = Link {
        chain: std::str::from_utf8(request_id).ok()?.parse().ok()?,
        sequence: std::str::from_utf8(sequence_number).ok()?.parse().ok()?,
        parent_hash: Hash::from_hex(parent_hash)?,
        hash: Hash::from_hex(hash)?,
        parent_digest: Hash::from_hex(parent_digest)?,
        digest,
    };
    if s3_hash(parent_hash, timestamp, event_type, event_data) != link.hash {
        return None;
    }
    let parts = DigestParts {
        actor: quoted_actor,
        entry_id,
        event_data: &scratch.event_data,
        event_type,
        hash,
        parent_digest,
        parent_hash,
        request_id,
        sequence_number,
        timestamp,
    };
    (parts.digest(&mut scratch.digest) == digest).then_some(link)
}

/// Printable ASCII without an escape: the same text in both canonical forms.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|b| (b' '..=b'~').contains(b) && *b != b'\\')
}
