//! Sealing: turns a draft into an entry with its sequence number, its hash and its digest.

use crate::canonical::{deeper_than, jcs, jcs_string, python, python_string, python_to_jcs};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::payload::{self, Payload};
use crate::random::Random;
use crate::redact::Redactor;
use serde_json::{Map, Value};
use std::fmt::Write;
use steward_domain::{AuditEntry, ChainId, EntryId, EventType, Label, OnBehalf, Sequence, Timestamp};

/// Domain separation: distinguishes the digest from every other use of SHA-256.
const DOMAIN: &[u8] = b"steward.journal.entry.v1\0";

/// Maximum nesting depth of event data, which common JSON parsers still accept.
const MAX_DEPTH: usize = 100;

/// The member of `event_data` that holds the seals of rows.
pub const SEALED_ROWS: &str = "sealed_rows";

/// The end of a chain: everything needed to append to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainTip {
    /// The chain.
    pub chain: ChainId,
    /// The number of entries.
    pub entries: u64,
    /// The hash of the last entry.
    pub hash: Hash,
    /// The digest of the last entry.
    pub digest: Hash,
}

impl ChainTip {
    /// An empty chain.
    pub fn empty(chain: ChainId) -> Self {
        Self { chain, entries: 0, hash: Hash::ZERO, digest: Hash::ZERO }
    }
}

/// An event, as a component submits it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The event type.
    pub event_type: EventType,
    /// The data of the event.
    pub event_data: Map<String, Value>,
    /// The component that reports it.
    pub actor: Label,
    /// Personal data. It enters the entry as a salted hash, under these names in `event_data`.
    pub personal: Map<String, Value>,
    /// The user on whose behalf it happened; the commit fills in its owner if absent.
    pub on_behalf: Option<OnBehalf>,
    /// The seals of the rows that the commit writes, by `kind/id`. They are neither redacted nor
    /// moved to a payload.
    pub sealed_rows: Map<String, Value>,
}

impl Draft {
    /// A draft without personal data.
    pub fn new(event_type: EventType, actor: Label, event_data: Map<String, Value>) -> Self {
        Self { event_type, event_data, actor, personal: Map::new(), on_behalf: None, sealed_rows: Map::new() }
    }
}

/// A sealed entry. `event_data` is kept as the canonical text that the hash covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The entry's id.
    pub entry_id: EntryId,
    /// Its chain.
    pub chain: ChainId,
    /// Its sequence number in the chain.
    pub sequence: u64,
    /// When it was sealed.
    pub timestamp: Timestamp,
    /// The event type.
    pub event_type: EventType,
    /// The data of the event as canonical text.
    pub event_data: String,
    /// The component that reports it.
    pub actor: String,
    /// The user on whose behalf it happened, as canonical text. The digest covers it, the hash does
    /// not.
    pub on_behalf: Option<String>,
    /// The hash of the preceding entry.
    pub parent_hash: Hash,
    /// The hash of this entry.
    pub hash: Hash,
    /// The digest of the preceding entry.
    pub parent_digest: Hash,
    /// The digest of this entry.
    pub digest: Hash,
}

/// A draft that is ready to be sealed: redacted, personal and large members moved to payloads, both
/// canonical texts written. None of this needs the end of the chain, so it can run before the lock
/// on the chain is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    chain: ChainId,
    entry_id: EntryId,
    event_type: EventType,
    actor: String,
    on_behalf: Option<String>,
    event_data: String,
    canonical: String,
    payloads: Vec<Payload>,
}

/// Prepares a draft for a chain.
pub fn prepare(
    chain: ChainId,
    draft: Draft,
    now: Timestamp,
    redactor: &Redactor,
    random: &dyn Random,
) -> Result<Prepared> {
    let Draft { event_type, event_data, actor, personal, on_behalf, sealed_rows } = draft;
    let deep = |map: &Map<String, Value>| map.values().any(|value| deeper_than(value, MAX_DEPTH));
    if deep(&event_data) || deep(&personal) {
        return Err(Error::TooDeep { limit: MAX_DEPTH });
    }
    if event_data.contains_key(SEALED_ROWS) {
        return Err(Error::TwiceNamed { name: SEALED_ROWS.to_owned() });
    }
    if let Some(name) = personal.keys().find(|name| event_data.contains_key(*name)) {
        return Err(Error::TwiceNamed { name: name.clone() });
    }
    let mut data = redactor.redact_map(event_data);
    let mut payloads = Vec::new();
    for name in payload::members_to_move(&data) {
        if let Some(value) = data.remove(&name) {
            payloads.push(payload::detach(&mut data, name, &value, chain, now, random)?);
        }
    }
    for (name, value) in personal {
        let value = redactor.redact_member(&name, value);
        payloads.push(payload::detach(&mut data, name, &value, chain, now, random)?);
    }
    if !sealed_rows.is_empty() {
        data.insert(SEALED_ROWS.to_owned(), Value::Object(sealed_rows));
    }
    let data = Value::Object(data);
    let (mut text, mut canonical) = (String::with_capacity(256), String::with_capacity(256));
    python(&data, &mut text);
    jcs(&data, &mut canonical);
    let entry_id = EntryId(random.uuid_v7(now)?);
    let actor = actor.as_str().to_owned();
    let on_behalf = on_behalf.map(|on_behalf| written(&on_behalf)).transpose()?;
    Ok(Prepared { chain, entry_id, event_type, actor, on_behalf, event_data: text, canonical, payloads })
}

/// Seals a prepared draft onto the end of its chain and advances the tip.
pub fn seal(tip: &mut ChainTip, prepared: Prepared, now: Timestamp) -> Result<(Sealed, Vec<Payload>)> {
    let Prepared { chain, entry_id, event_type, actor, on_behalf, event_data, canonical, payloads } =
        prepared;
    let mut sealed = Sealed {
        entry_id,
        chain: tip.chain,
        sequence: tip.entries + 1,
        timestamp: now,
        event_type,
        event_data,
        actor,
        on_behalf,
        parent_hash: tip.hash,
        hash: Hash::ZERO,
        parent_digest: tip.digest,
        digest: Hash::ZERO,
    };
    if chain != tip.chain {
        return Err(sealed.wrong("was prepared for another chain"));
    }
    let timestamp = now.to_string();
    sealed.hash = sealed.compute_hash(&timestamp);
    sealed.digest = sealed.compute_digest(&timestamp, canonical.as_bytes());
    *tip = sealed.after();
    Ok((sealed, payloads))
}

/// The canonical text of an [`OnBehalf`], as it is stored.
fn written(on_behalf: &OnBehalf) -> Result<String> {
    let value = serde_json::to_value(on_behalf)
        .map_err(|error| Error::NotAnEntry { line: 0, what: error.to_string() })?;
    let mut text = String::with_capacity(96);
    python(&value, &mut text);
    Ok(text)
}

/// The entry hash: `SHA256(parent_hash + timestamp + event_type + event_data)`.
pub(crate) fn s3_hash(
    parent_hex: &[u8],
    timestamp: &[u8],
    event_type: &[u8],
    event_data: &[u8],
    scratch: &mut Vec<u8>,
) -> Hash {
    scratch.clear();
    for part in [parent_hex, timestamp, event_type, event_data] {
        scratch.extend_from_slice(part);
    }
    Hash::of(&[scratch])
}

/// The texts of an entry that the digest covers. Strings are in JCS form, including their quotes.
pub(crate) struct DigestParts<'a> {
    pub(crate) actor: &'a [u8],
    pub(crate) entry_id: &'a [u8],
    pub(crate) event_data: &'a [u8],
    pub(crate) event_type: &'a [u8],
    pub(crate) hash: &'a [u8],
    /// The user on whose behalf it happened, in JCS form; empty if the entry has none.
    pub(crate) on_behalf: &'a [u8],
    pub(crate) parent_digest: &'a [u8],
    pub(crate) parent_hash: &'a [u8],
    pub(crate) request_id: &'a [u8],
    pub(crate) sequence_number: &'a [u8],
    pub(crate) timestamp: &'a [u8],
}

impl DigestParts<'_> {
    /// SHA-256 over the domain prefix and the RFC 8785 form of the entry without its digest. The
    /// members are in canonical order.
    pub(crate) fn digest(&self, scratch: &mut Vec<u8>) -> Hash {
        scratch.clear();
        scratch.extend_from_slice(DOMAIN);
        // An object needs no closing quote; entries without `on_behalf` omit the member.
        let (on_behalf, parent_digest): (&[u8], &[u8]) = match self.on_behalf {
            [] => (b"", b"\",\"parent_digest\":\""),
            _ => (b"\",\"on_behalf\":", b",\"parent_digest\":\""),
        };
        for (before, value) in [
            (&b"{\"actor\":"[..], self.actor),
            (b",\"entry_id\":\"", self.entry_id),
            (b"\",\"event_data\":", self.event_data),
            (b",\"event_type\":\"", self.event_type),
            (b"\",\"hash\":\"", self.hash),
            (on_behalf, self.on_behalf),
            (parent_digest, self.parent_digest),
            (b"\",\"parent_hash\":\"", self.parent_hash),
            (b"\",\"request_id\":\"", self.request_id),
            (b"\",\"sequence_number\":", self.sequence_number),
            (b",\"timestamp\":\"", self.timestamp),
        ] {
            scratch.extend_from_slice(before);
            scratch.extend_from_slice(value);
        }
        scratch.extend_from_slice(b"\"}");
        Hash::of(&[scratch])
    }
}

impl Sealed {
    fn compute_hash(&self, timestamp: &str) -> Hash {
        s3_hash(
            &self.parent_hash.hex(),
            timestamp.as_bytes(),
            self.event_type.name().as_bytes(),
            self.event_data.as_bytes(),
            &mut Vec::with_capacity(512),
        )
    }

    fn compute_digest(&self, timestamp: &str, canonical_data: &[u8]) -> Hash {
        let mut actor = String::new();
        jcs_string(&self.actor, &mut actor);
        let (entry_id, request_id) = (self.entry_id.to_string(), self.chain.to_string());
        let sequence_number = self.sequence.to_string();
        let mut on_behalf = Vec::new();
        if let Some(text) = &self.on_behalf {
            let _what_cannot_be_read_fits_no_digest = python_to_jcs(text.as_bytes(), &mut on_behalf);
        }
        let parts = DigestParts {
            actor: actor.as_bytes(),
            entry_id: entry_id.as_bytes(),
            event_data: canonical_data,
            event_type: self.event_type.name().as_bytes(),
            hash: &self.hash.hex(),
            on_behalf: &on_behalf,
            parent_digest: &self.parent_digest.hex(),
            parent_hash: &self.parent_hash.hex(),
            request_id: request_id.as_bytes(),
            sequence_number: sequence_number.as_bytes(),
            timestamp: timestamp.as_bytes(),
        };
        parts.digest(&mut Vec::with_capacity(1024))
    }

    /// Whether the digest matches. It tries the fast conversion to canonical text first and falls
    /// back to a full parse.
    fn digest_fits(&self, timestamp: &str) -> Result<bool> {
        let mut quick = Vec::with_capacity(self.event_data.len());
        if python_to_jcs(self.event_data.as_bytes(), &mut quick).is_some()
            && self.compute_digest(timestamp, &quick) == self.digest
        {
            return Ok(true);
        }
        let value: Value = serde_json::from_str(&self.event_data)
            .map_err(|error| Error::NotAnEntry { line: self.sequence, what: error.to_string() })?;
        let mut canonical = String::with_capacity(self.event_data.len());
        jcs(&value, &mut canonical);
        Ok(self.compute_digest(timestamp, canonical.as_bytes()) == self.digest)
    }

    fn wrong(&self, what: &str) -> Error {
        Error::Tampered { chain: self.chain.to_string(), sequence: self.sequence, what: what.to_owned() }
    }

    /// The end of the chain after this entry.
    pub fn after(&self) -> ChainTip {
        ChainTip { chain: self.chain, entries: self.sequence, hash: self.hash, digest: self.digest }
    }

    /// Checks both hashes against the contents, and the position against the tip; advances the tip.
    pub fn verify(&self, tip: &mut ChainTip) -> Result<()> {
        if self.chain != tip.chain {
            return Err(self.wrong("belongs to another chain"));
        }
        if self.sequence != tip.entries + 1 {
            return Err(self.wrong(&format!("stands where entry {} should", tip.entries + 1)));
        }
        if self.parent_hash != tip.hash || self.parent_digest != tip.digest {
            return Err(self.wrong("does not follow from the entry before it"));
        }
        let timestamp = self.timestamp.to_string();
        if self.compute_hash(&timestamp) != self.hash {
            return Err(self.wrong("its content does not fit its hash"));
        }
        let told = self.on_behalf().map_err(|what| self.wrong(&what))?;
        if told.as_ref().map(written).transpose()? != self.on_behalf {
            return Err(self.wrong("does not say for whom it was written in the words that are written"));
        }
        if !self.digest_fits(&timestamp)? {
            return Err(self.wrong("its content does not fit its digest"));
        }
        *tip = self.after();
        Ok(())
    }

    /// The line of the JSONL export, as Python's `json.dumps` writes the entry in this order.
    pub fn to_line(&self) -> String {
        let mut line = String::with_capacity(self.event_data.len() + 640);
        let _infallible = write!(
            line,
            "{{\"entry_id\": \"{}\", \"request_id\": \"{}\", \"sequence_number\": {}, \"parent_hash\": \"{}\", \"timestamp\": \"{}\", \"event_type\": \"{}\", \"event_data\": \
                {}, \"actor\": ",
            self.entry_id,
            self.chain,
            self.sequence,
            self.parent_hash,
            self.timestamp,
            self.event_type,
            self.event_data,
        );
        python_string(&self.actor, &mut line);
        if let Some(on_behalf) = &self.on_behalf {
            let _infallible = write!(line, ", \"on_behalf\": {on_behalf}");
        }
        let _infallible = write!(
            line,
            ", \"hash\": \"{}\", \"parent_digest\": \"{}\", \"digest\": \"{}\"}}",
            self.hash, self.parent_digest, self.digest
        );
        line
    }

    /// Parses a line in any JSON form. To check that it is canonical, compare it with
    /// [`Sealed::to_line`].
    pub fn from_line(line: &str) -> std::result::Result<Self, String> {
        let entry: AuditEntry = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let hash = |hex: &str| Hash::from_hex(hex.as_bytes()).ok_or_else(|| format!("{hex:?} is not a hash"));
        let mut event_data = String::new();
        python(&Value::Object(entry.event_data), &mut event_data);
        Ok(Self {
            entry_id: entry.entry_id,
            chain: entry.request_id,
            sequence: entry.sequence_number.get(),
            timestamp: entry.timestamp,
            event_type: entry.event_type,
            event_data,
            actor: entry.actor.as_str().to_owned(),
            on_behalf: entry
                .on_behalf
                .as_ref()
                .map(written)
                .transpose()
                .map_err(|error| error.to_string())?,
            parent_hash: hash(&entry.parent_hash)?,
            hash: hash(&entry.hash)?,
            parent_digest: hash(&entry.parent_digest)?,
            digest: hash(&entry.digest)?,
        })
    }

    /// The user on whose behalf it happened.
    pub fn on_behalf(&self) -> std::result::Result<Option<OnBehalf>, String> {
        let read = |text: &String| serde_json::from_str(text).map_err(|error| error.to_string());
        self.on_behalf.as_ref().map(read).transpose()
    }

    /// The entry as a domain type.
    pub fn to_entry(&self) -> std::result::Result<AuditEntry, String> {
        Ok(AuditEntry {
            entry_id: self.entry_id,
            request_id: self.chain,
            sequence_number: Sequence::new(self.sequence).map_err(|p| p.to_string())?,
            parent_hash: self.parent_hash.to_domain(),
            timestamp: self.timestamp,
            event_type: self.event_type,
            event_data: serde_json::from_str(&self.event_data).map_err(|e| e.to_string())?,
            actor: Label::new(self.actor.clone()).map_err(|p| p.to_string())?,
            on_behalf: self.on_behalf()?,
            hash: self.hash.to_domain(),
            parent_digest: self.parent_digest.to_domain(),
            digest: self.digest.to_domain(),
        })
    }
}
