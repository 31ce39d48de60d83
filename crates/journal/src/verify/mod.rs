//! The verifier of exported logs: streaming, offline, on all cores.
//!
//! A line is accepted only as the exact bytes that we would write for its entry. The fast path shows this by hashing
//! the text as it stands; whatever it cannot show goes through a full parse, which also finds the words for what is
//! wrong.

mod fast;

use crate::entry::{ChainTip, Sealed};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::merkle::{Edge, leaf};
use crate::note::{Checkpoint, NoteVerifier};
use fast::Link;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Mutex, mpsc};
use steward_domain::ChainId;

/// Bytes read at a time: large enough to share out, small enough that memory stays flat.
const BLOCK: usize = 2 << 20;

/// What a log that verifies holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its end.
    pub tip: ChainTip,
    /// The Merkle root over its entries.
    pub root: Hash,
}

/// Verifies one chain in S3's JSONL: every hash, every digest, every link.
pub fn verify_log(reader: impl Read + Send, threads: usize) -> Result<Report> {
    let (to_workers, blocks) = mpsc::sync_channel::<Block>(threads * 2);
    let blocks = Mutex::new(blocks);
    let (to_collector, results) = mpsc::sync_channel::<(usize, Result<Stretch>)>(threads * 2);
    std::thread::scope(|scope| {
        let reader_result = to_collector.clone();
        scope.spawn(move || {
            if let Err((index, error)) = read_blocks(reader, &to_workers) {
                let _collector_gone = reader_result.send((index, Err(error)));
            }
        });
        for _ in 0..threads.max(1) {
            let (blocks, to_collector) = (&blocks, to_collector.clone());
            scope.spawn(move || {
                while let Some(block) = blocks.lock().ok().and_then(|blocks| blocks.recv().ok()) {
                    if to_collector.send((block.index, verify_block(&block))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(to_collector);
        let report = collect(&results);
        // On an error the reader and the workers may still have something to send: closing their channel ends them.
        drop(results);
        if let Ok(blocks) = blocks.lock() {
            while blocks.try_recv().is_ok() {}
        }
        report
    })
}

/// Checks that a report is what a signed head says: nothing cut off, nothing exchanged.
pub fn check_head(report: &Report, note: &str, key: &NoteVerifier) -> Result<Checkpoint> {
    let head = key.open(note)?;
    if head.size > report.tip.entries {
        return Err(Error::CutTail { signed: head.size, found: report.tip.entries });
    }
    let chain = format!("/chain/{}", report.tip.chain);
    if head.size != report.tip.entries || head.root != report.root || !head.origin.ends_with(&chain) {
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
    first_line: u64,
    bytes: Vec<u8>,
}

/// A stretch of entries that hold together among themselves.
struct Stretch {
    first: Option<(u64, Link)>,
    last: Option<ChainTip>,
    leaves: Vec<Hash>,
}

fn read_blocks(
    mut reader: impl Read,
    to_workers: &mpsc::SyncSender<Block>,
) -> std::result::Result<(), (usize, Error)> {
    let mut rest = Vec::new();
    let (mut index, mut line) = (0, 1);
    loop {
        let mut bytes = std::mem::take(&mut rest);
        let before = bytes.len();
        let read = (&mut reader).take(BLOCK as u64).read_to_end(&mut bytes);
        read.map_err(|source| (index, Error::Io { path: "the log".into(), source }))?;
        let done = bytes.len() == before;
        match bytes.iter().rposition(|b| *b == b'\n') {
            Some(end) => rest = bytes.split_off(end + 1),
            None => rest = std::mem::take(&mut bytes),
        }
        let lines = bytes.iter().filter(|b| **b == b'\n').count() as u64;
        if !bytes.is_empty() && to_workers.send(Block { index, first_line: line, bytes }).is_err() {
            return Ok(());
        }
        index += usize::from(lines > 0);
        line += lines;
        if done {
            let half = Error::HalfLine { line, whole: line - 1 };
            return if rest.is_empty() { Ok(()) } else { Err((index, half)) };
        }
    }
}

fn verify_block(block: &Block) -> Result<Stretch> {
    let mut stretch =
        Stretch { first: None, last: None, leaves: Vec::with_capacity(block.bytes.len() / 700) };
    let mut scratch = fast::Scratch::default();
    let body = block.bytes.strip_suffix(b"\n").unwrap_or(&block.bytes);
    for (line, text) in (block.first_line..).zip(body.split(|b| *b == b'\n')) {
        let link = match fast::check(text, &mut scratch) {
            Some(link) => link,
            None => slow(line, text)?,
        };
        if let Some(tip) = &stretch.last {
            follow(line, tip, &link)?;
        }
        stretch.first.get_or_insert((line, link));
        stretch.last = Some(link.after());
        stretch.leaves.push(leaf(link.digest));
    }
    Ok(stretch)
}

/// The full check of one line, with words for what is wrong.
fn slow(line: u64, text: &[u8]) -> Result<Link> {
    let not = |what: String| Error::NotAnEntry { line, what };
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
    Ok(Link {
        chain: sealed.chain,
        sequence: sealed.sequence,
        parent_hash: sealed.parent_hash,
        hash: sealed.hash,
        parent_digest: sealed.parent_digest,
        digest: sealed.digest,
    })
}

fn follow(line: u64, tip: &ChainTip, link: &Link) -> Result<()> {
    let wrong =
        |what: String| Err(Error::Tampered { chain: link.chain.to_string(), sequence: link.sequence, what });
    if link.chain != tip.chain {
        return wrong(format!("line {line} belongs to another chain than the lines before it"));
    }
    if link.sequence != tip.entries + 1 {
        return wrong(format!("line {line} stands where entry {} should", tip.entries + 1));
    }
    if link.parent_hash != tip.hash || link.parent_digest != tip.digest {
        return wrong(format!("line {line} does not follow from the line before it"));
    }
    Ok(())
}

/// Joins the stretches in order, whatever order they arrive in.
fn collect(results: &mpsc::Receiver<(usize, Result<Stretch>)>) -> Result<Report> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut tip: Option<ChainTip> = None;
    let mut edge = Edge::default();
    for (index, result) in results {
        waiting.insert(index, result);
        while let Some(result) = waiting.remove(&next) {
            next += 1;
            let stretch = result?;
            if let Some((line, first)) = stretch.first {
                follow(line, &tip.unwrap_or_else(|| ChainTip::empty(first.chain)), &first)?;
                tip = stretch.last;
            }
            stretch.leaves.into_iter().for_each(|leaf| edge.push_leaf(leaf));
        }
    }
    let empty = Error::NotAnEntry { line: 1, what: "the log is empty".to_owned() };
    tip.map(|tip| Report { tip, root: edge.root() }).ok_or(empty)
}
