//! The reference verifier, in Python, on our logs.

use crate::{Log, chain, edge_cases, log_of, seal_draft, signer};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use steward_domain::{EventType, Label, Timestamp};
use steward_journal::payload::{Content, Finding};
use steward_journal::random::SeededRandom;
use steward_journal::redact::Redactor;
use steward_journal::verify::{check_head, verify_log};
use steward_journal::{ChainTip, Draft};

/// The result of the Python verifier for each file.
#[allow(clippy::disallowed_methods, reason = "the test's own door to Python")]
fn python(paths: &[PathBuf]) -> Vec<bool> {
    let script = Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/journal")).join("tests/verify_s3.py");
    let output = std::process::Command::new("python3")
        .arg(script)
        .args(paths)
        .output()
        .expect("python3 is needed for this test");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(|line| line == "True").collect()
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn ours(log: &Log, text: &str) -> bool {
    verify_log(text.as_bytes(), 2)
        .and_then(|report| check_head(&report, &log.head, signer().verifier()))
        .is_ok()
}

#[test]
fn python_accepts_our_log_and_refuses_what_it_can_see() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_of(edge_cases());
    let text = log.text();
    assert!(ours(&log, &text));

    // The entry hash covers the event data, the time, the type, the order and the links.
    let visible = [
        text.replacen("\"sql.run\"", "\"sql.ran\"", 1),
        text.replacen("9007199254740993", "9007199254740994", 1),
        text.replacen("1e-05", "1e-06", 1),
        text.replacen("2026-01-16", "2026-01-17", 1),
        text.replacen("\"request_submitted\"", "\"answered\"", 1),
        text.replacen("\"sequence_number\": 3", "\"sequence_number\": 4", 1),
        text.lines().skip(1).map(|line| format!("{line}\n")).collect(),
    ];
    // It does not cover the actor, the task, the entry id, the count, and where one field ends.
    let first = &log.entries[0];
    let shifted = text.replacen(
        &format!("\"timestamp\": \"{}\", \"event_type\": \"request_submitted\"", first.timestamp),
        &format!("\"timestamp\": \"{}request_\", \"event_type\": \"submitted\"", first.timestamp),
        1,
    );
    let invisible = [
        text.replacen("\"actor\": \"planner\"", "\"actor\": \"safety\"", 1),
        text.replacen(&chain().to_string(), "550e8400-e29b-41d4-a716-446655440001", 1),
        text.replace(&chain().to_string(), "550e8400-e29b-41d4-a716-446655440001"),
        text.replacen(&first.entry_id.to_string(), &log.entries[1].entry_id.to_string(), 1),
        text.lines().take(3).map(|line| format!("{line}\n")).collect(),
        String::new(),
        shifted,
    ];
    for changed in visible.iter().chain(&invisible) {
        assert_ne!(*changed, text, "the change must change something");
        assert!(!ours(&log, changed), "we must refuse: {changed:.300}");
    }
    let paths: Vec<PathBuf> = [&text]
        .into_iter()
        .chain(&visible)
        .chain(&invisible)
        .enumerate()
        .map(|(i, text)| write(folder.path(), &i.to_string(), text))
        .collect();
    let expected: Vec<bool> = [true]
        .into_iter()
        .chain(visible.iter().map(|_| false))
        .chain(invisible.iter().map(|_| true))
        .collect();
    assert_eq!(python(&paths), expected);
}

/// Many random values, so that Python's number and string formats are not only tested with
/// hand-picked cases.
#[test]
fn python_agrees_on_random_values() {
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let leaf = prop_oneof![
        any::<i64>().prop_map(|n| json!(n)),
        any::<u64>().prop_map(|n| json!(n)),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| json!(f)),
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |f| f.is_finite()).prop_map(|f| json!(f)),
        any::<String>().prop_map(|s| json!(s)),
        any::<bool>().prop_map(|b| json!(b)),
        Just(Value::Null),
    ];
    let value = leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let values = (0..1500).map(|_| {
        let value = value.new_tree(&mut runner).unwrap().current();
        Map::from_iter([("v".to_owned(), value)])
    });
    let log = log_of(values.collect());
    let folder = tempfile::tempdir().unwrap();
    assert!(ours(&log, &log.text()));
    assert_eq!(python(&[write(folder.path(), "log", &log.text())]), [true]);
}

/// Erasing a payload leaves the chain valid and is reported; changing one is detected.
#[test]
fn payloads_can_be_erased_but_not_exchanged() {
    let mut tip = ChainTip::empty(chain());
    let mut draft = Draft::new(EventType::RequestSubmitted, Label::new("system").unwrap(), Map::new());
    draft.personal.insert("intent".into(), json!("How is Jane Doe doing?"));
    draft.event_data.insert("result".into(), json!("x".repeat(5000)));
    let (sealed, payloads) =
        seal_draft(&mut tip, draft, Timestamp::from_micros(0), &Redactor::default(), &SeededRandom::new(1))
            .unwrap();
    assert!(!sealed.to_line().contains("Jane") && !sealed.to_line().contains("xxxx"));
    assert_eq!(payloads.len(), 2);
    for payload in payloads {
        assert_eq!(payload.check(), Finding::Intact);
        let Content::Present { salt, body } = &payload.content else { panic!("just made") };
        let changed = Content::Present { salt: *salt, body: body.replace('e', "a").replace('x', "y") };
        assert_eq!(
            steward_journal::payload::Payload { content: changed, ..payload.clone() }.check(),
            Finding::Changed
        );
        let erased = Content::Erased { at: Timestamp::from_micros(1) };
        assert_eq!(steward_journal::payload::Payload { content: erased, ..payload }.check(), Finding::Erased);
    }
    let text = sealed.to_line() + "\n";
    assert_eq!(verify_log(text.as_bytes(), 1).unwrap().tip, tip);
}

#[test]
fn too_deep_is_refused_before_anything_is_written() {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let mut tip = ChainTip::empty(chain());
    let draft =
        Draft::new(EventType::Understood, Label::new("x").unwrap(), Map::from_iter([("v".to_owned(), deep)]));
    let refused =
        seal_draft(&mut tip, draft, Timestamp::from_micros(0), &Redactor::default(), &SeededRandom::new(1));
    assert_eq!(refused.unwrap_err().to_string(), "event data is nested deeper than 100 levels");
    assert_eq!(tip, ChainTip::empty(chain()));
}
