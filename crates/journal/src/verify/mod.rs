//! The verifier of exported logs: streaming, offline, on all cores.
//!
//! A line is accepted only as the exact bytes that we would write for its entry. The fast path
//! proves this by hashing the bytes; any line that it cannot prove goes through a full parse, which
//! also produces the error message.

mod fast;

use crate::entry::{ChainTip, Sealed};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::merkle::{Edge, leaf};
use crate::note::{Checkpoint, NoteVerifier};
use fast::Link;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, mpsc};
use steward_domain::ChainId;

/// Bytes read at a time: large enough to parallelise, small enough to bound memory.
const BLOCK: usize = 2 << 20;

/// The result of verifying a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The end of the chain.
    pub tip: ChainTip,
    /// The Merkle root over its entries.
    pub root: Hash,
}

/// Verifies one chain in the JSONL export: every hash, every digest, every link.
pub fn verify_log(reader: impl Read + Send, threads: usize) -> Result<Report> {
    let (to_workers, blocks) = mpsc::sync_channel::<Block>(threads * 2);
    // Only the workers hold the receiving end. When the collector stops, they end; the last one
    // closes the queue, and that ends the reader, however much of the log is left.
    let blocks = Arc::new(Mutex::new(blocks));
    let (to_collector, results) = mpsc::sync_channel::<(usize, Result<Stretch>)>(threads * 2);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (blocks, to_collector) = (blocks.clone(), to_collector.clone());
            scope.spawn(move || {
                while let Some(block) = blocks.lock().ok().and_then(|blocks| blocks.recv().ok()) {
                    if to_collector.send((block.index, Ok(verify_block(&block)))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(blocks);
        scope.spawn(move || {
            if let Err((index, error)) = read_blocks(reader, &to_workers) {
                let _collector_gone = to_collector.send((index, Err(error)));
            }
        });
        let report = collect(&results);
        drop(results);
        report
    })
}

/// Checks a report against a signed head: nothing truncated, nothing replaced.
pub fn check_head(report: &Report, note: &str, key: &NoteVerifier) -> Result<Checkpoint> {
    let head = key.open(note)?;
    if head.size > report.tip.entries {
        return Err(Error::CutTail { signed: head.size, found: report.tip.entries });
    }
    let origin = chain_origin(key.name(), report.tip.chain);
    if head.size != report.tip.entries || head.root != report.root || head.origin != origin {
        return Err(Error::RootMismatch);
    }
    Ok(head)
}

/// The origin of the head of one chain of a log.
pub fn chain_origin(log: &str, chain: ChainId) -> String {
    format!("{log}/chain/{chain}")
}

struct Block {
    index: usize,
    bytes: Vec<u8>,
}

/// A range of consecutive entries that are linked correctly.
#[derive(Default)]
struct Stretch {
    first: Option<Link>,
    last: Option<Link>,
    leaves: Vec<Hash>,
    /// The error in the line after them.
    broken: Option<Error>,
}

fn read_blocks(
    mut reader: impl Read,
    to_workers: &mpsc::SyncSender<Block>,
) -> std::result::Result<(), (usize, Error)> {
    let mut rest = Vec::new();
    let mut index = 0;
    loop {
        let mut bytes = Vec::with_capacity(BLOCK + (64 << 10));
        bytes.append(&mut rest);
        let before = bytes.len();
        let read = (&mut reader).take(BLOCK as u64).read_to_end(&mut bytes);
        read.map_err(|source| (index, Error::Io { path: "the log".into(), source }))?;
        let done = bytes.len() == before;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |last| last + 1);
        rest.extend(bytes.drain(end..));
        if !bytes.is_empty() {
            if to_workers.send(Block { index, bytes }).is_err() {
                return Ok(());
            }
            index += 1;
        }
        if done {
            // The collector knows how many lines are whole.
            let half = Error::HalfLine { line: 0, whole: 0 };
            return if rest.is_empty() { Ok(()) } else { Err((index, half)) };
        }
    }
}

fn verify_block(block: &Block) -> Stretch {
    let mut stretch = Stretch { leaves: Vec::with_capacity(block.bytes.len() / 600), ..Stretch::default() };
    let mut scratch = fast::Scratch::default();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', &block.bytes) {
        let Some(text) = block.bytes.get(start..end) else { break };
        start = end + 1;
        let link = match fast::check(text, &mut scratch) {
            Some(link) => Ok(link),
            None => slow(text),
        };
        let followed = link.and_then(|link| match &stretch.last {
            Some(last) => follow(last, &link).map(|()| link),
            None => Ok(link),
        });
        match followed {
            Ok(link) => {
                stretch.first.get_or_insert(link);
                stretch.leaves.push(leaf(link.digest));
                stretch.last = Some(link);
            }
            Err(error) => {
                stretch.broken = Some(error);
                break;
            }
        }
    }
    stretch
}

/// The full check of one line, with an error message.
fn slow(text: &[u8]) -> Result<Link> {
    let not = |what: String| Error::NotAnEntry { line: 0, what };
    let text = std::str::from_utf8(text).map_err(|_| not("it is not UTF-8".to_owned()))?;
    let sealed = Sealed::from_line(text).map_err(not)?;
    let mut before = ChainTip {
        chain: sealed.chain,
        entries: sealed.sequence.saturating_sub(1),
        hash: sealed.parent_hash,
        digest: sealed.parent_digest,
    };
    sealed.verify(&mut before)?;
    if sealed.to_line() != text {
        return Err(Error::Tampered {
            chain: sealed.chain.to_string(),
            sequence: sealed.sequence,
            what: "its text is not in canonical form".to_owned(),
        });
    }
    let mut chain = [0; 36];
    chain.copy_from_slice(sealed.chain.to_string().as_bytes());
    Ok(Link {
        chain,
        sequence: sealed.sequence,
        parent_hash: sealed.parent_hash.hex(),
        hash: sealed.hash.hex(),
        parent_digest: sealed.parent_digest.hex(),
        digest: sealed.digest,
        digest_hex: sealed.digest.hex(),
    })
}

fn follow(last: &Link, next: &Link) -> Result<()> {
    let wrong = |what: String| {
        let chain = String::from_utf8_lossy(&next.chain).into_owned();
        Err(Error::Tampered { chain, sequence: next.sequence, what })
    };
    if next.chain != last.chain {
        return wrong("belongs to another chain than the lines before it".to_owned());
    }
    if next.sequence != last.sequence + 1 {
        return wrong(format!("stands where entry {} should", last.sequence + 1));
    }
    if next.parent_hash != last.hash || next.parent_digest != last.digest_hex {
        return wrong("does not follow from the line before it".to_owned());
    }
    Ok(())
}

/// The link before the first line of a chain.
fn before_first(first: &Link) -> Link {
    let zero = Hash::ZERO.hex();
    Link { sequence: 0, hash: zero, digest_hex: zero, ..*first }
}

/// Joins the ranges in order, whatever order they arrive in.
fn collect(results: &mpsc::Receiver<(usize, Result<Stretch>)>) -> Result<Report> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut last: Option<Link> = None;
    let mut edge = Edge::default();
    for (index, result) in results {
        waiting.insert(index, result);
        while let Some(result) = waiting.remove(&next) {
            next += 1;
            let stretch = result.map_err(|error| at_line(error, edge.size() + 1))?;
            if let Some(first) = &stretch.first {
                follow(&last.unwrap_or_else(|| before_first(first)), first)?;
                last = stretch.last;
            }
            stretch.leaves.into_iter().for_each(|leaf| edge.push_leaf(leaf));
            if let Some(broken) = stretch.broken {
                return Err(at_line(broken, edge.size() + 1));
            }
        }
    }
    let empty = Error::NotAnEntry { line: 1, what: "the log is empty".to_owned() };
    let last = last.ok_or(empty)?;
    let chain = std::str::from_utf8(&last.chain).ok().and_then(|chain| chain.parse().ok());
    let hash = Hash::from_hex(&last.hash);
    let (Some(chain), Some(hash)) = (chain, hash) else { return Err(Error::RootMismatch) };
    Ok(Report {
        tip: ChainTip { chain, entries: last.sequence, hash, digest: last.digest },
        root: edge.root(),
    })
}

/// Sets the line number of an error. Workers do not know how many lines precede their range.
fn at_line(error: Error, line: u64) -> Error {
    match error {
        Error::NotAnEntry { what, .. } => Error::NotAnEntry { line, what },
        Error::HalfLine { .. } => Error::HalfLine { line, whole: line - 1 },
        other => other,
    }
}
