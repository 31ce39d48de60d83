//! The journal from outside: verification in Python, tampering, erasure.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod s3;
mod tampering;

use serde_json::{Map, Value, json};
use steward_domain::{ChainId, EventType, Label, OnBehalf, TaskId, Timestamp};
use steward_journal::note::{Checkpoint, NoteSigner};
use steward_journal::payload::Payload;
use steward_journal::random::SeededRandom;
use steward_journal::redact::Redactor;
use steward_journal::verify::chain_origin;
use steward_journal::{ChainTip, Draft, Sealed, merkle::Edge, prepare, seal};

/// A log and the signed head over it.
pub(crate) struct Log {
    pub(crate) entries: Vec<Sealed>,
    pub(crate) head: String,
}

impl Log {
    pub(crate) fn text(&self) -> String {
        self.entries.iter().map(|entry| entry.to_line() + "\n").collect()
    }
}

pub(crate) fn signer() -> NoteSigner {
    NoteSigner::new("steward.log/test", &[7; 32]).unwrap()
}

pub(crate) fn chain() -> ChainId {
    "550e8400-e29b-41d4-a716-446655440000".parse::<TaskId>().unwrap().into()
}

pub(crate) fn head_over(chain: ChainId, entries: &[Sealed]) -> String {
    let mut edge = Edge::default();
    entries.iter().for_each(|entry| edge.push(entry.digest));
    let origin = chain_origin(signer().origin(), chain);
    signer().sign(&Checkpoint { origin, size: edge.size(), root: edge.root() })
}

pub(crate) fn log_of(data: Vec<Map<String, Value>>) -> Log {
    let (redactor, random) = (Redactor::default(), SeededRandom::new(7));
    let mut tip = ChainTip::empty(chain());
    let types = EventType::ALL.iter().cycle();
    let entries: Vec<Sealed> = data
        .into_iter()
        .zip(types)
        .enumerate()
        .map(|(i, (data, event_type))| {
            let now = Timestamp::from_micros(1_768_559_400_000_000 + i as i64 * 1_234_567);
            let actor = Label::new(if i % 5 == 4 { "Prüfer \"🙂\"" } else { "planner" }).unwrap();
            let draft = Draft { on_behalf: on_behalf(i), ..Draft::new(*event_type, actor, data) };
            seal_draft(&mut tip, draft, now, &redactor, &random).unwrap().0
        })
        .collect();
    let head = head_over(chain(), &entries);
    Log { entries, head }
}

/// Older entries without `on_behalf`, and entries with it.
fn on_behalf(place: usize) -> Option<OnBehalf> {
    let ada = OnBehalf::of("ada".parse().unwrap());
    match place % 3 {
        0 => None,
        1 => Some(ada),
        _ => Some(OnBehalf {
            key: Some("Xk3mPq8aTz".parse().unwrap()),
            grants: Some("ab".repeat(32).parse().unwrap()),
            ..ada
        }),
    }
}

/// Prepares and seals in one step.
pub(crate) fn seal_draft(
    tip: &mut ChainTip,
    draft: Draft,
    now: Timestamp,
    redactor: &Redactor,
    random: &SeededRandom,
) -> steward_journal::Result<(Sealed, Vec<Payload>)> {
    seal(tip, prepare(tip.chain, draft, now, redactor, random)?, now)
}

/// Values where JSON writers differ: edge cases of floats, unicode, control characters, depth,
/// 64-bit integers.
pub(crate) fn edge_cases() -> Vec<Map<String, Value>> {
    let mut deep = json!("bottom");
    for level in 0..90 {
        deep = if level % 2 == 0 { json!([deep, level]) } else { json!({ "d": deep }) };
    }
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        1e15,
        1e16,
        123_456_789_012_345_680.0,
        1e21,
        1e22,
        1e-4,
        1e-5,
        5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        2.5e-8,
        9_007_199_254_740_993.0,
        1.0 / 3.0,
        100.0,
        1e100,
    ];
    let controls: String = (0..0x20)
        .chain([0x7f, 0x80, 0x9f, 0x2028, 0xd7ff, 0xe000, 0xffff])
        .filter_map(char::from_u32)
        .collect();
    let values = vec![
        json!({ "call_id": "c1", "tool_name": "sql.run", "arguments": { "query": "SELECT \
            1", "params": [1, true, null] } }),
        json!({ "floats": floats }),
        json!({ "edges": [i64::MIN, i64::MAX, u64::MAX, 9_007_199_254_740_991_u64, 9_007_199_254_740_992_u64, -9_007_199_254_740_993_i64, 0, -1] }),
        json!({ "controls": controls, "é": "naïve", "日本": "語", "🙂": "😀 emoji", "\u{e000}": 1, "\u{10000}": 2, "\"": "\\", "a b": "/" }),
        json!({ "deep": deep }),
        json!({ "": "", "empty": {}, "list": [], "nested": { "b": [{}], "a": [[]] } }),
        json!({}),
        json!({ "z": 1, "a": 2, "A": 3, "10": 4, "9": 5, "_": 6 }),
    ];
    values.into_iter().map(|value| value.as_object().unwrap().clone()).collect()
}
