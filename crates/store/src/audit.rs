//! The audit of any store: verifying everything, exporting a chain, proving an entry.

mod columns;
mod deep;

pub use deep::{Deep, Locate, verify_deep};

use crate::error::{Error, Result};
use crate::interface::Store;
use crate::query::{LogEntry, Scope};
use crate::retention::RetentionReport;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use steward_domain::{ChainId, EventType, Label, PayloadId, Timestamp, UserId};
use steward_journal::merkle::{Edge, consistency, inclusion, leaf};
use steward_journal::note::{Checkpoint, NoteSigner, NoteVerifier};
use steward_journal::payload::{Content, Finding, Payload, references};
use steward_journal::verify::chain_origin;
use steward_journal::{ChainTip, Draft, Hash};

/// Entries read at a time.
const PAGE: u32 = 4096;

/// A payload row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPayload {
    /// Its id.
    pub id: PayloadId,
    /// The chain that refers to it.
    pub chain: ChainId,
    /// The salted hash.
    pub sha256: [u8; 32],
    /// The salt; none once erased.
    pub salt: Option<[u8; 32]>,
    /// The content; none once erased.
    pub body: Option<String>,
    /// When it was erased.
    pub erased_at: Option<Timestamp>,
}

impl RawPayload {
    fn check(self) -> Finding {
        let content = match (self.salt, self.body, self.erased_at) {
            (Some(salt), Some(body), None) => Content::Present { salt, body },
            (None, None, Some(at)) => Content::Erased { at },
            _ => return Finding::Changed,
        };
        Payload { id: self.id, chain: self.chain, sha256: Hash(self.sha256), content }.check()
    }
}

/// The result of verifying an intact store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Entries whose hashes and links are correct.
    pub entries: u64,
    /// Chains they form.
    pub chains: u64,
    /// Entries that the signed head covers.
    pub signed: u64,
    /// Payloads that match the hash in their entry.
    pub payloads: u64,
    /// Payloads that were erased.
    pub erased: u64,
    /// The signed head.
    pub head: Option<String>,
}

/// Verifies everything a store holds: each entry, each chain, each payload, the tree and its
/// signature. Other writers may continue meanwhile; their entries are included.
///
/// `earlier` is a signed head that was kept elsewhere: the log must extend it.
pub async fn verify(store: &dyn Store, key: &NoteVerifier, earlier: Option<&str>) -> Result<Verified> {
    let earlier = earlier.map(|note| key.open_log(note)).transpose()?;
    let mut walk = Walk { earlier, ..Walk::default() };
    let head = walk.catch_up(store, key).await?;
    walk.check_earlier()?;
    let mut verified = Verified::default();
    check_chains(store, key, &mut walk, &mut verified).await?;
    verified.entries = walk.edge.size();
    verified.signed = walk.signed;
    verified.head = head;
    Ok(verified)
}

/// The traversal of the log.
#[derive(Default)]
struct Walk {
    edge: Edge,
    signed: u64,
    tips: HashMap<ChainId, ChainTip>,
    payloads: HashMap<ChainId, BTreeMap<PayloadId, Hash>>,
    earlier: Option<Checkpoint>,
    /// The root when the log had the size of the earlier head.
    earlier_root: Option<Hash>,
}

impl Walk {
    /// Continues to the end of the log, which must match its signed head.
    async fn catch_up(&mut self, store: &dyn Store, key: &NoteVerifier) -> Result<Option<String>> {
        for _ in 0..CATCH_UP {
            loop {
                let page = store.log(self.edge.size(), PAGE).await?;
                if page.is_empty() {
                    break;
                }
                page.into_iter().try_for_each(|entry| self.take(entry))?;
            }
            let found = self.edge.size();
            let Some(head) = store.head().await? else {
                let none = steward_journal::Error::NoHead { what: "the log".to_owned() };
                return if found == 0 { Ok(None) } else { Err(none.into()) };
            };
            let signed = key.open_log(&head.note)?;
            self.signed = signed.size;
            if signed.size == found {
                let fits = signed.root == self.edge.root();
                return if fits {
                    Ok(Some(head.note))
                } else {
                    Err(steward_journal::Error::RootMismatch.into())
                };
            }
            // Another process wrote between the two reads, or entries are missing or were added
            // without the key: read again.
        }
        let (signed, found) = (self.signed, self.edge.size());
        if signed > found {
            return Err(steward_journal::Error::CutTail { signed, found }.into());
        }
        Err(steward_journal::Error::Inconsistent(format!(
            "{} entries follow the signed head",
            found - signed
        ))
        .into())
    }

    fn take(&mut self, LogEntry { index, owner, entry }: LogEntry) -> Result<()> {
        if index != Some(self.edge.size()) {
            let what = format!("stands at {index:?} of the log where {} should", self.edge.size());
            return Err(tampered(entry.chain, entry.sequence, &what));
        }
        entry.verify(self.tips.entry(entry.chain).or_insert_with(|| ChainTip::empty(entry.chain)))?;
        let on_behalf = entry.on_behalf().map_err(|what| tampered(entry.chain, entry.sequence, &what))?;
        if on_behalf.is_some_and(|on_behalf| on_behalf.user.as_str() != owner) {
            let what = format!("it was written for another user than {owner}, whose chain it is in");
            return Err(tampered(entry.chain, entry.sequence, &what));
        }
        if entry.event_data.contains("payload_id") {
            let data: Map<String, Value> = serde_json::from_str(&entry.event_data)?;
            self.payloads.entry(entry.chain).or_default().extend(references(&data));
        }
        self.edge.push(entry.digest);
        if self.earlier.as_ref().is_some_and(|head| head.size == self.edge.size()) {
            self.earlier_root = Some(self.edge.root());
        }
        Ok(())
    }

    fn check_earlier(&self) -> Result<()> {
        let Some(earlier) = &self.earlier else { return Ok(()) };
        let found = self.edge.size();
        if earlier.size > found {
            return Err(steward_journal::Error::CutTail { signed: earlier.size, found }.into());
        }
        if earlier.size == 0 || self.earlier_root == Some(earlier.root) {
            return Ok(());
        }
        let what = format!("the head of {} entries has another root", earlier.size);
        Err(steward_journal::Error::Inconsistent(what).into())
    }
}

/// How often a verification reads again when other processes write meanwhile.
const CATCH_UP: usize = 20;

fn tampered(chain: ChainId, sequence: u64, what: &str) -> Error {
    steward_journal::Error::Tampered { chain: chain.to_string(), sequence, what: what.to_owned() }.into()
}

/// Compares the traversal with the stored chain ends, and the payloads with their entries.
async fn check_chains(
    store: &dyn Store,
    key: &NoteVerifier,
    walk: &mut Walk,
    verified: &mut Verified,
) -> Result<()> {
    let mut after = None;
    loop {
        let page = store.chains(&Scope::System, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.chain);
        for tip in page {
            verified.chains += 1;
            let mut found = check_chain(store, walk, tip).await;
            for _ in 0..CATCH_UP {
                if found.is_ok() {
                    break;
                }
                // The chain may have grown since the traversal passed it.
                walk.catch_up(store, key).await?;
                let missing = || tampered(tip.chain, tip.entries, "its record is gone");
                let now = store.chain(&Scope::System, tip.chain).await?.ok_or_else(missing)?;
                found = check_chain(store, walk, now).await;
                if now == tip {
                    break;
                }
            }
            let (intact, erased) = found?;
            verified.payloads += intact;
            verified.erased += erased;
        }
    }
    for chain in walk.tips.keys() {
        if store.chain(&Scope::System, *chain).await?.is_none() {
            return Err(tampered(*chain, 0, "there are entries, but no record of the chain"));
        }
    }
    Ok(())
}

/// Checks one chain: its end, its entries, and its payloads. Returns how many payloads are intact
/// and how many are erased.
async fn check_chain(store: &dyn Store, walk: &Walk, tip: ChainTip) -> Result<(u64, u64)> {
    let wrong = |what: &str| tampered(tip.chain, tip.entries, what);
    let empty = ChainTip::empty(tip.chain);
    if walk.tips.get(&tip.chain).unwrap_or(&empty) != &tip {
        return Err(wrong("the chain ends elsewhere than its record says"));
    }
    let last = store.entries(&Scope::System, tip.chain, tip.entries.saturating_sub(1), 1).await?;
    if tip.entries > 0 && last.first().map(|found| found.entry.after()) != Some(tip) {
        return Err(wrong("the chain's last entry cannot be found through the chain"));
    }
    let Some(mut expected) = walk.payloads.get(&tip.chain).cloned() else { return Ok((0, 0)) };
    let (mut intact, mut erased) = (0, 0);
    for payload in store.payloads(&Scope::System, tip.chain).await? {
        let (id, hash) = (payload.id, Hash(payload.sha256));
        if expected.remove(&id) != Some(hash) {
            return Err(wrong(&format!("payload {id} is not the one its entry names")));
        }
        match payload.check() {
            Finding::Intact => intact += 1,
            Finding::Erased => erased += 1,
            Finding::Changed => return Err(wrong(&format!("payload {id} was changed"))),
        }
    }
    match expected.keys().next() {
        Some(missing) => Err(wrong(&format!("payload {missing} is gone without a trace of its erasure"))),
        None => Ok((intact, erased)),
    }
}

/// Writes a chain as JSONL and returns the signed head over it, to be stored with the export.
///
/// The head vouches for the export, so the store is verified first, and each entry again as it is
/// written: tampered entries are not signed again.
pub async fn export(
    store: &dyn Store,
    scope: &Scope,
    chain: ChainId,
    signer: &NoteSigner,
    out: &mut (dyn Write + Send),
) -> Result<(u64, String)> {
    let missing = || Error::NotFound { what: "journal of", id: chain.to_string() };
    let tip = store.chain(scope, chain).await?.filter(|tip| tip.entries > 0).ok_or_else(missing)?;
    verify(store, signer.verifier(), None).await?;
    let (mut edge, mut at) = (Edge::default(), ChainTip::empty(chain));
    while at.entries < tip.entries {
        let page = store
            .entries(
                scope,
                chain,
                at.entries,
                PAGE.min(u32::try_from(tip.entries - at.entries).unwrap_or(PAGE)),
            )
            .await?;
        if page.is_empty() {
            return Err(tampered(chain, at.entries + 1, "it cannot be found through the chain"));
        }
        for LogEntry { entry, .. } in page {
            entry.verify(&mut at)?;
            let io = |source| steward_journal::Error::Io { path: "the export".into(), source };
            writeln!(out, "{}", entry.to_line()).map_err(io)?;
            edge.push(entry.digest);
        }
    }
    if at != tip {
        return Err(tampered(chain, at.entries, "the chain ends elsewhere than its record says"));
    }
    let origin = chain_origin(signer.origin(), chain);
    Ok((edge.size(), signer.sign(&Checkpoint { origin, size: edge.size(), root: edge.root() })))
}

/// A proof that an entry is in the log. It can be checked with only the signed head and the key.
#[derive(Debug, Clone, Serialize)]
pub struct Proof {
    /// The entry as exported.
    pub entry: Value,
    /// Its digest: the leaf before hashing.
    pub digest: String,
    /// Its index in the log.
    pub index: u64,
    /// The size of the log that the path leads to.
    pub size: u64,
    /// The Merkle path, nearest first, in base64.
    pub inclusion: Vec<String>,
    /// The signed head.
    pub head: String,
    /// The key that signed it.
    pub key: String,
    /// The proof that this head extends an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistency: Option<Consistency>,
}

/// A consistency proof between two heads.
#[derive(Debug, Clone, Serialize)]
pub struct Consistency {
    /// The size of the earlier log.
    pub from: u64,
    /// The path in base64.
    pub path: Vec<String>,
}

/// Proves that entry `sequence` of a chain is in the log under its newest head, and that the head
/// extends `since`.
pub async fn prove(
    store: &dyn Store,
    scope: &Scope,
    chain: ChainId,
    sequence: u64,
    since: Option<u64>,
) -> Result<Proof> {
    let missing = || Error::NotFound { what: "journal entry", id: format!("{chain}/{sequence}") };
    let head = store.head().await?.ok_or_else(missing)?;
    let wanted = store.entries(scope, chain, sequence.saturating_sub(1), 1).await?.into_iter().next();
    let LogEntry { index, entry, .. } =
        wanted.filter(|found| found.entry.sequence == sequence).ok_or_else(missing)?;
    let index = index.filter(|index| *index < head.size).ok_or_else(missing)?;
    let mut leaves = Vec::new();
    while (leaves.len() as u64) < head.size {
        let page = store.log(leaves.len() as u64, PAGE).await?;
        if page.is_empty() {
            return Err(
                steward_journal::Error::CutTail { signed: head.size, found: leaves.len() as u64 }.into()
            );
        }
        leaves.extend(page.into_iter().map(|entry| leaf(entry.entry.digest)));
    }
    leaves.truncate(usize::try_from(head.size).unwrap_or(usize::MAX));
    let base64 = |path: Vec<Hash>| path.into_iter().map(Hash::base64).collect();
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let path = inclusion(&leaves, place(index)).ok_or_else(missing)?;
    let consistency = since.map(|from| {
        let path = consistency(&leaves, place(from))
            .ok_or_else(|| Error::NotFound { what: "earlier head of size", id: from.to_string() })?;
        Ok::<_, Error>(Consistency { from, path: base64(path) })
    });
    Ok(Proof {
        entry: serde_json::from_str(&entry.to_line())?,
        digest: entry.digest.to_string(),
        index,
        size: head.size,
        inclusion: base64(path),
        head: head.note,
        key: head.vkey,
        consistency: consistency.transpose()?,
    })
}

/// The proof that the log of `size` entries extends the one of `old`; empty if `old` is 0 or
/// nothing was added.
pub async fn consistency_from(store: &dyn Store, old: u64, size: u64) -> Result<Vec<Hash>> {
    if old == 0 || old >= size {
        return Ok(Vec::new());
    }
    let mut leaves = Vec::new();
    while (leaves.len() as u64) < size {
        let page = store.log(leaves.len() as u64, PAGE).await?;
        if page.is_empty() {
            let found = leaves.len() as u64;
            return Err(steward_journal::Error::CutTail { signed: size, found }.into());
        }
        leaves.extend(page.into_iter().map(|entry| leaf(entry.entry.digest)));
    }
    leaves.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    let old = usize::try_from(old).unwrap_or(usize::MAX);
    Ok(consistency(&leaves, old).unwrap_or_default())
}

/// The entry that records a retention run, and the owner of the system chain.
pub(crate) fn retention_entry(report: &RetentionReport) -> Result<(UserId, Draft)> {
    let mut data = Map::new();
    data.insert("purged".into(), serde_json::to_value(&report.purged)?);
    data.insert("files".into(), report.files.len().into());
    Ok((system_owner()?, Draft::new(EventType::RetentionApplied, Label::new("retention")?, data)))
}

/// The owner of the system chain.
pub fn system_owner() -> Result<UserId> {
    Ok(UserId::new("steward")?)
}
