//! A hundred thousand random changes to a log, from a flipped bit to a forger who recomputes every
//! hash but has no key. All of them must be detected.

use crate::{Log, chain, edge_cases, log_of, seal_draft, signer};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::json;
use steward_domain::{EventType, Label, Timestamp};
use steward_journal::random::SeededRandom;
use steward_journal::redact::Redactor;
use steward_journal::verify::{check_head, verify_log};
use steward_journal::{ChainTip, Draft, Sealed};

const TAMPERINGS: usize = 100_000;

struct Tamperer(TestRng, Redactor);

impl Tamperer {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit.max(1) as u64) as usize
    }

    /// A changed log with the name of the change, or `None` if the random change had no effect.
    fn tamper(&mut self, log: &Log, text: &[u8]) -> Option<(&'static str, Vec<u8>)> {
        let entries = &log.entries;
        let (i, j) = (self.below(entries.len()), self.below(entries.len()));
        let at = self.below(text.len());
        let (name, changed) = match self.below(14) {
            0 => ("flip a bit", [&text[..at], &[text[at] ^ (1 << self.below(8))], &text[at + 1..]].concat()),
            1 => ("change a byte", [&text[..at], &[self.below(256) as u8], &text[at + 1..]].concat()),
            2 => ("drop a byte", [&text[..at], &text[at + 1..]].concat()),
            3 => ("insert a byte", [&text[..at], &[self.below(256) as u8], &text[at..]].concat()),
            4 => ("cut the end", text[..at].to_vec()),
            5 => ("cut whole lines", lines(&entries[..i])),
            6 => ("drop a line", lines(&[&entries[..i], &entries[i + 1..]].concat())),
            7 => ("repeat a line", lines(&[&entries[..=i], &entries[i..]].concat())),
            8 => {
                let mut swapped = entries.clone();
                swapped.swap(i, j);
                ("swap lines", lines(&swapped))
            }
            9 => {
                let mut forged = entries.clone();
                let other = entries[j].clone();
                let entry = &mut forged[i];
                match self.below(9) {
                    0 => entry.actor = "safety".into(),
                    1 => entry.entry_id = other.entry_id,
                    2 => entry.chain.0 = other.entry_id.0,
                    3 => entry.event_type = other.event_type,
                    4 => entry.timestamp = other.timestamp,
                    5 => entry.event_data = other.event_data,
                    6 => entry.on_behalf = other.on_behalf,
                    7 => entry.on_behalf = Some("{\"user\": \"mallory\"}".into()),
                    _ => entry.digest = other.digest,
                }
                ("forge a field", lines(&forged))
            }
            10 => ("forge and recompute to the end", lines(&self.reseal(entries, i))),
            11 => {
                let cut = self.below(text.len() - at);
                ("take a piece out", [&text[..at], &text[at + cut..]].concat())
            }
            12 => (
                "append a forged entry",
                lines(&self.reseal(&[&entries[..], &entries[i..=i]].concat(), entries.len())),
            ),
            _ => (
                "insert white space",
                [&text[..at], [" ", "\n", "\t"][self.below(3)].as_bytes(), &text[at..]].concat(),
            ),
        };
        (changed != text).then_some((name, changed))
    }

    /// Seals all entries from `from` on again with one change, as a forger who knows the format
    /// would.
    fn reseal(&mut self, entries: &[Sealed], from: usize) -> Vec<Sealed> {
        let mut tip = match from.checked_sub(1).and_then(|last| entries.get(last)) {
            Some(last) => {
                ChainTip { chain: chain(), entries: last.sequence, hash: last.hash, digest: last.digest }
            }
            None => ChainTip::empty(chain()),
        };
        let random = SeededRandom::new(self.0.next_u64());
        let mut forged = entries[..from].to_vec();
        for (offset, entry) in entries[from..].iter().enumerate() {
            let mut data = serde_json::from_str(&entry.event_data)
                .unwrap_or_else(|_| json!({}))
                .as_object()
                .unwrap()
                .clone();
            if offset == 0 {
                data.insert("forged".into(), json!(self.below(1000)));
            }
            let draft = Draft::new(EventType::Answered, Label::new("planner").unwrap(), data);
            forged.push(
                seal_draft(
                    &mut tip,
                    draft,
                    Timestamp::from_micros(entry.timestamp.micros()),
                    &self.1,
                    &random,
                )
                .unwrap()
                .0,
            );
        }
        forged
    }
}

fn lines(entries: &[Sealed]) -> Vec<u8> {
    entries.iter().flat_map(|entry| (entry.to_line() + "\n").into_bytes()).collect()
}

#[test]
fn every_tampering_is_caught() {
    // Without the deep and the large entry a run is short enough to repeat a hundred thousand
    // times.
    let cases = edge_cases().into_iter().filter(|case| !case.contains_key("deep")).collect();
    let log = log_of(cases);
    let text = log.text().into_bytes();
    let accepts = |text: &[u8]| {
        verify_log(text, 1).and_then(|report| check_head(&report, &log.head, signer().verifier()))
    };
    accepts(&text).expect("the log itself verifies");
    let workers: u64 = 2;
    let caught: usize = std::thread::scope(|scope| {
        let run = |worker: u64| {
            let mut seed = [0; 32];
            seed[..8].copy_from_slice(&worker.to_le_bytes());
            let mut tamperer = Tamperer(TestRng::from_seed(RngAlgorithm::ChaCha, &seed), Redactor::default());
            let mut caught = 0;
            while caught < TAMPERINGS / workers as usize {
                let Some((name, changed)) = tamperer.tamper(&log, &text) else { continue };
                assert!(
                    accepts(&changed).is_err(),
                    "{name} was not found:\n{}",
                    String::from_utf8_lossy(&changed)
                );
                caught += 1;
            }
            caught
        };
        let handles: Vec<_> = (0..workers).map(|worker| scope.spawn(move || run(worker))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    assert_eq!(caught, TAMPERINGS);
}

/// A key with the same name but another secret is rejected.
#[test]
fn a_wrong_key_is_told_apart() {
    let log = log_of(edge_cases());
    let report = verify_log(log.text().as_bytes(), 2).unwrap();
    let other = steward_journal::note::NoteSigner::new("steward.log/test", &[8; 32]).unwrap();
    let refused = check_head(&report, &log.head, other.verifier()).unwrap_err();
    assert!(refused.to_string().contains("is not by the key"), "{refused}");
}

/// A write that stopped in the middle of the last line loses only that line, which is reported.
#[test]
fn a_half_written_line_is_named() {
    let log = log_of(edge_cases());
    let text = log.text();
    let refused = verify_log(&text.as_bytes()[..text.len() - 20], 2).unwrap_err();
    assert!(refused.to_string().contains("The 7 entries before it are whole"), "{refused}");
}

/// An error early in a large log ends the verification at once: reader and workers stop without a
/// deadlock.
#[test]
fn an_early_error_in_a_large_log_ends_it() {
    let log = log_of(edge_cases());
    let text = log.text().replacen("\"actor\": \"planner\"", "\"actor\": \"safety\"", 1);
    let large = std::io::Read::chain(text.as_bytes(), std::io::Read::take(std::io::repeat(b'\n'), 200 << 20));
    let refused = verify_log(large, 2).unwrap_err();
    assert!(refused.to_string().contains("does not fit its digest"), "{refused}");
}
