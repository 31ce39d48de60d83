//! Tests of time zones against known rules.

use super::{rule, zone};
use crate::builtin::Options;
use crate::builtin::tests::{run, tool};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use steward_domain::Timestamp;
use steward_journal::clock::ManualClock;

const ZONES: &str = "/usr/share/zoneinfo";

fn unix(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().micros() / 1_000_000
}

fn at(moment: &str) -> Options {
    Options { clock: Arc::new(ManualClock::at(moment.parse().unwrap())), ..Options::default() }
}

#[tokio::test]
async fn now_in_utc_and_elsewhere() {
    let tool = tool(&at("2026-11-16T03:04:05Z"), "time.now");
    let output = run(&tool, "ana", 1, json!({})).await.unwrap();
    assert_eq!(output.words(), "It is Monday, 2026-11-16 03:04:05 in UTC (UTC+00:00), week 2026-W47.");
    assert_eq!(output.structured.unwrap()["unix_seconds"], 1_794_798_245);
    let output = run(&tool, "ana", 1, json!({ "zone": "-05:30" })).await.unwrap();
    assert_eq!(output.structured.unwrap()["local"], "2026-11-15T21:34:05-05:30");
}

#[tokio::test]
async fn invalid_time_zones_are_rejected() {
    let known = tool(&at("2026-11-16T03:04:05Z"), "time.now");
    for zone in ["+25:00", "+2:3", "../etc/passwd", "/etc/passwd", "No/Where", "Europe", "a b", "+", "++1"] {
        let error = run(&known, "ana", 1, json!({ "zone": zone })).await.unwrap_err().to_string();
        assert!(error.contains("zone: "), "{zone}: {error}");
    }
    let without = Options { zoneinfo: "/no/such/folder".into(), ..at("2026-11-16T03:04:05Z") };
    let error =
        run(&tool(&without, "time.now"), "ana", 1, json!({ "zone": "Europe/Berlin" })).await.unwrap_err();
    assert!(error.to_string().contains("install tzdata"), "{error}");
}

#[test]
fn rules_of_zones() {
    let berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
    let sydney = "AEST-10AEDT,M10.1.0,M4.1.0/3";
    for (rule, moment, seconds, name) in [
        (berlin, "2026-03-29T00:59:59Z", 3600, "CET"),
        (berlin, "2026-03-29T01:00:00Z", 7200, "CEST"),
        (berlin, "2026-10-25T00:59:59Z", 7200, "CEST"),
        (berlin, "2026-10-25T01:00:00Z", 3600, "CET"),
        (sydney, "2026-01-15T00:00:00Z", 39_600, "AEDT"),
        (sydney, "2026-07-15T00:00:00Z", 36_000, "AEST"),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-07-01T00:00:00Z", -14_400, "EDT"),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-12-01T00:00:00Z", -18_000, "EST"),
        ("<+0330>-3:30", "2026-12-01T00:00:00Z", 12_600, "+0330"),
        ("AAA0BBB,J60/0,J300/0", "2024-03-01T00:00:00Z", 3600, "BBB"),
        ("AAA0BBB,59/0,299/0", "2023-02-28T23:59:59Z", 0, "AAA"),
    ] {
        let found = rule::at(rule, unix(moment)).unwrap_or_else(|| panic!("{rule}"));
        assert_eq!((found.seconds, found.abbreviation.as_str()), (seconds, name), "{rule} {moment}");
    }
    for rule in ["", "X", "CET-1CEST", "CET-1CEST,M13.5.0,M10.5.0", "<CET-1", "CET-999"] {
        assert_eq!(rule::at(rule, 0), None, "{rule}");
    }
}

#[test]
fn files_of_zones() {
    for (name, moment, seconds) in [
        ("Europe/Berlin", "2026-07-01T00:00:00Z", 7200),
        ("Europe/Berlin", "2026-12-01T00:00:00Z", 3600),
        ("Europe/Berlin", "1980-01-01T00:00:00Z", 3600),
        ("America/New_York", "2026-07-01T00:00:00Z", -14_400),
        ("Asia/Kolkata", "2026-07-01T00:00:00Z", 19_800),
        ("Asia/Tokyo", "2050-07-01T00:00:00Z", 32_400),
    ] {
        let found = zone::offset(Path::new(ZONES), name, unix(moment), "time.now").unwrap();
        assert_eq!(found.seconds, seconds, "{name} {moment}");
    }
}

proptest::proptest! {
    #[test]
    fn broken_files_and_rules_do_not_panic(
        cut in 0_usize..3000, flips in proptest::collection::vec((0_usize..3000, proptest::num::u8::ANY), 0..8),
        rule in "[A-Z<>0-9,MJ./:+-]{0,40}", moment in proptest::num::i64::ANY,
    ) {
        let mut bytes = std::fs::read(Path::new(ZONES).join("Europe/Berlin")).unwrap();
        bytes.truncate(bytes.len().saturating_sub(cut % 700));
        for (at, value) in flips {
            let length = bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at % length) {
                *byte = value;
            }
        }
        let _ = zone::at(&bytes, moment);
        let _ = rule::at(&rule, moment);
    }
}
