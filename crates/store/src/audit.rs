//! The audit over any store: verifying all of it, exporting a chain, proving an entry.

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

/// A payload as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPayload {
    /// Its id.
    pub id: PayloadId,
    /// The chain that refers to it.
    pub chain: ChainId,
    /// The salted hash.
    pub sha256: [u8; 32],
    /// The salt, until erased.
    pub salt: Option<[u8; 32]>,
    /// The content, until erased.
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

/// What a verification found in a store that is as it should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Entries whose hashes and links hold.
    pub entries: u64,
    /// Chains they form.
    pub chains: u64,
    /// Entries that the signed head covers.
    pub signed: u64,
    /// Payloads that are what their entries say.
    pub payloads: u64,
    /// Payloads that were erased.
    pub erased: u64,
    /// The signed head.
    pub head: Option<String>,
}

/// Verifies everything a store holds: each entry, each chain, each payload, the tree and its signature.
///
/// `earlier` is a signed head that was kept elsewhere: the log must be a continuation of it.
pub async fn verify(store: &dyn Store, key: &NoteVerifier, earlier: Option<&str>) -> Result<Verified> {
    let head = store.head().await?;
    let signed = head.as_ref().map(|head| key.open(&head.note)).transpose()?;
    let earlier = earlier.map(|note| key.open(note)).transpose()?;
    let mut walk = Walk::default();
    let (mut old_root, mut new_root) = (None, None);
    loop {
        let page = store.log(walk.edge.size(), PAGE).await?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            walk.take(entry)?;
            let size = walk.edge.size();
            if earlier.as_ref().is_some_and(|head| head.size == size) {
                old_root = Some(walk.edge.root());
            }
            if signed.as_ref().is_some_and(|head| head.size == size) {
                new_root = Some(walk.edge.root());
            }
        }
    }
    check_against(signed.as_ref(), new_root, walk.edge.size())?;
    if let Some(earlier) = &earlier {
        match old_root {
            Some(root) if root == earlier.root => {}
            None if earlier.size > walk.edge.size() => {
                return Err(steward_journal::Error::CutTail {
                    signed: earlier.size,
                    found: walk.edge.size(),
                }
                .into());
            }
            _ => {
                return Err(steward_journal::Error::Inconsistent(format!(
                    "the head of {} entries has another root",
                    earlier.size
                ))
                .into());
            }
        }
    }
    let mut verified = Verified {
        entries: walk.edge.size(),
        signed: signed.map_or(0, |head| head.size),
        head: head.map(|head| head.note),
        ..Verified::default()
    };
    check_chains(store, walk, &mut verified).await?;
    Ok(verified)
}

/// The walk along the log.
#[derive(Default)]
struct Walk {
    edge: Edge,
    tips: HashMap<ChainId, ChainTip>,
    payloads: HashMap<ChainId, BTreeMap<PayloadId, Hash>>,
}

impl Walk {
    fn take(&mut self, LogEntry { index, entry }: LogEntry) -> Result<()> {
        let gap = |what: &str| steward_journal::Error::Tampered {
            chain: entry.chain.to_string(),
            sequence: entry.sequence,
            what: what.to_owned(),
        };
        if index != Some(self.edge.size()) {
            return Err(
                gap(&format!("stands at {index:?} of the log where {} should", self.edge.size())).into()
            );
        }
        entry.verify(self.tips.entry(entry.chain).or_insert_with(|| ChainTip::empty(entry.chain)))?;
        if entry.event_data.contains("payload_id") {
            let data: Map<String, Value> = serde_json::from_str(&entry.event_data)?;
            self.payloads.entry(entry.chain).or_default().extend(references(&data));
        }
        self.edge.push(entry.digest);
        Ok(())
    }
}

fn check_against(signed: Option<&Checkpoint>, root: Option<Hash>, found: u64) -> Result<()> {
    match signed {
        None if found > 0 => Err(steward_journal::Error::NoHead { what: "the log".to_owned() }.into()),
        Some(head) if head.size > found => {
            Err(steward_journal::Error::CutTail { signed: head.size, found }.into())
        }
        Some(head) if head.size > 0 && Some(head.root) != root => {
            Err(steward_journal::Error::RootMismatch.into())
        }
        _ => Ok(()),
    }
}

/// Compares the walk with what the store believes of its chains, and the payloads with their entries.
async fn check_chains(store: &dyn Store, walk: Walk, verified: &mut Verified) -> Result<()> {
    let mut after = None;
    loop {
        let page = store.chains(&Scope::System, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.chain);
        for tip in page {
            verified.chains += 1;
            let wrong = |what: &str| steward_journal::Error::Tampered {
                chain: tip.chain.to_string(),
                sequence: tip.entries,
                what: what.to_owned(),
            };
            if walk.tips.get(&tip.chain) != Some(&tip) {
                return Err(wrong("the chain ends elsewhere than its record says").into());
            }
            let Some(mut expected) = walk.payloads.get(&tip.chain).cloned() else { continue };
            for payload in store.payloads(&Scope::System, tip.chain).await? {
                let (id, hash) = (payload.id, Hash(payload.sha256));
                if expected.remove(&id) != Some(hash) {
                    return Err(wrong(&format!("payload {id} is not the one its entry names")).into());
                }
                match payload.check() {
                    Finding::Intact => verified.payloads += 1,
                    Finding::Erased => verified.erased += 1,
                    Finding::Changed => return Err(wrong(&format!("payload {id} was changed")).into()),
                }
            }
            if let Some(missing) = expected.keys().next() {
                return Err(
                    wrong(&format!("payload {missing} is gone without a trace of its erasure")).into()
                );
            }
        }
    }
    if verified.chains != walk.tips.len() as u64 {
        return Err(steward_journal::Error::Inconsistent(
            "there are entries of a chain that has no record".to_owned(),
        )
        .into());
    }
    Ok(())
}

/// Writes a chain as S3's JSONL and returns the signed head over it, which belongs beside it.
pub async fn export(
    store: &dyn Store,
    scope: &Scope,
    chain: ChainId,
    signer: &NoteSigner,
    out: &mut (dyn Write + Send),
) -> Result<(u64, String)> {
    let mut edge = Edge::default();
    loop {
        let page = store.entries(scope, chain, edge.size(), PAGE).await?;
        if page.is_empty() {
            break;
        }
        for LogEntry { entry, .. } in page {
            let io = |source| steward_journal::Error::Io { path: "the export".into(), source };
            writeln!(out, "{}", entry.to_line()).map_err(io)?;
            edge.push(entry.digest);
        }
    }
    if edge.size() == 0 {
        return Err(Error::NotFound { what: "journal of", id: chain.to_string() });
    }
    let origin = chain_origin(signer.origin(), chain);
    Ok((edge.size(), signer.sign(&Checkpoint { origin, size: edge.size(), root: edge.root() })))
}

/// A proof that an entry is in the log, for somebody who has only the signed head and the key.
#[derive(Debug, Clone, Serialize)]
pub struct Proof {
    /// The entry as exported.
    pub entry: Value,
    /// Its digest: the leaf before hashing.
    pub digest: String,
    /// Its place in the log.
    pub index: u64,
    /// The size of the log the path leads to.
    pub size: u64,
    /// The Merkle path, nearest first, in base64.
    pub inclusion: Vec<String>,
    /// The signed head.
    pub head: String,
    /// The key that signed it.
    pub key: String,
    /// The proof that this head continues an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistency: Option<Consistency>,
}

/// A proof between two heads.
#[derive(Debug, Clone, Serialize)]
pub struct Consistency {
    /// The size of the earlier log.
    pub from: u64,
    /// The path in base64.
    pub path: Vec<String>,
}

/// Proves that entry `sequence` of a chain is in the log under its newest head, and that the head continues `since`.
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
    let LogEntry { index, entry } =
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

/// The entry that records a run of retention, and the owner of the house's own chain.
pub(crate) fn retention_entry(report: &RetentionReport) -> Result<(UserId, Draft)> {
    let mut data = Map::new();
    data.insert("purged".into(), serde_json::to_value(&report.purged)?);
    data.insert("files".into(), report.files.len().into());
    Ok((house()?, Draft::new(EventType::RetentionApplied, Label::new("retention")?, data)))
}

/// Who owns what the house does by itself.
pub fn house() -> Result<UserId> {
    Ok(UserId::new("steward")?)
}
