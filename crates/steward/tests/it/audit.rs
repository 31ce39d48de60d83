//! `steward audit`: verify, export, prove, head, and detection of tampering.

use crate::Bench;
use std::fs;

#[test]
fn a_store_verifies_and_its_head_can_be_kept() {
    let bench = Bench::new();
    let task = bench.worked();
    assert!(bench.ok("audit verify").contains("valid 7 entries in 2 chains"));
    fs::write(bench.path("kept.head"), bench.ok("audit head")).unwrap();
    bench.ok("conversation list");
    assert!(bench.ok("audit verify --since kept.head").contains("continues the head you kept"));
    let proof = bench.json(&format!("audit prove {task} 2"));
    assert_eq!((proof["index"].as_u64(), proof["size"].as_u64()), (Some(2), Some(7)));
    assert_eq!(proof["entry"]["event_type"], "tool_called");
    bench.fails(&format!("audit prove {task} 8"), 2, "STO001");
}

#[test]
fn an_exported_log_verifies_elsewhere_with_the_key_alone() {
    let bench = Bench::new();
    let task = bench.worked();
    let key = bench.ok("audit head --key");
    bench.ok(&format!("audit export {task} --out run.jsonl"));
    let other = Bench::new();
    for name in ["run.jsonl", "run.jsonl.head"] {
        fs::copy(bench.path(name), other.path(name)).unwrap();
    }
    assert!(other.ok(&format!("audit verify run.jsonl --key {}", key.trim())).contains("valid 6 entries"));
    other.fails("audit verify run.jsonl", 4, "JRN007");
    other.ok("init");
    other.fails("audit verify run.jsonl", 2, "JRN004");
    let piped = bench.run(&format!("audit export {task}"));
    assert_eq!(piped.out, fs::read_to_string(bench.path("run.jsonl")).unwrap());
}

#[test]
fn every_tampering_has_its_code() {
    let bench = Bench::new();
    let task = bench.worked();
    bench.ok(&format!("audit export {task} --out run.jsonl"));
    let log = fs::read_to_string(bench.path("run.jsonl")).unwrap();
    let lines = |range: std::ops::Range<usize>| {
        log.lines().skip(range.start).take(range.len()).map(|line| format!("{line}\n")).collect::<String>()
    };
    let cases = [
        ("a changed value", log.replacen("\"limit\": 10", "\"limit\": 11", 1), "JRN001"),
        ("a forged actor", log.replacen("\"actor\": \"planner\"", "\"actor\": \"safety\"", 1), "JRN001"),
        ("another task", log.replace(&task.to_string(), "550e8400-e29b-41d4-a716-446655440000"), "JRN001"),
        ("a cut tail", lines(0..4), "JRN002"),
        ("an emptied log", String::new(), "JRN002"),
        ("a missing first line", lines(1..6), "JRN001"),
        ("a half-written last line", log.get(..log.len() - 30).unwrap().to_owned(), "JRN005"),
        ("something else", "hello\n".to_owned(), "JRN006"),
        ("white space", log.replacen("{\"entry_id\": ", "{ \"entry_id\": ", 1), "JRN001"),
    ];
    for (name, text, code) in cases {
        assert_ne!(text, log, "{name}");
        fs::write(bench.path("bad.jsonl"), &text).unwrap();
        fs::copy(bench.path("run.jsonl.head"), bench.path("bad.jsonl.head")).unwrap();
        let said = bench.fails("audit verify bad.jsonl", 2, code);
        assert!(said.contains("docs/errors/"), "{name}: {said}");
        assert_eq!(fs::read_to_string(bench.path("bad.jsonl")).unwrap(), text, "verifying changes nothing");
    }
    fs::remove_file(bench.path("bad.jsonl.head")).unwrap();
    fs::write(bench.path("bad.jsonl"), lines(0..4)).unwrap();
    bench.fails("audit verify bad.jsonl", 2, "JRN011");
    assert!(bench.ok("audit verify bad.jsonl --no-head").contains("would not be seen"));
}

/// Changes of users, roles and keys are recorded in the system chain.
#[test]
fn changes_of_access_are_in_the_journal() {
    let bench = Bench::new();
    bench.ok("init");
    bench.ok("grants add clerk --tool todo.*");
    bench.ok("users add ada --role clerk");
    let key = bench.json("keys add ada --name laptop");
    bench.ok(&format!("keys revoke {}", key["id"].as_str().unwrap()));
    bench.ok("users remove ada");
    let text = bench.ok("--all-users audit export system");
    for change in ["role_set", "user_set", "key_added", "key_revoked", "user_removed"] {
        assert!(text.contains(&format!("\"change\": \"{change}\"")), "{change}: {text}");
    }
    assert!(!text.contains(key["key"].as_str().unwrap()), "no key is written");
    assert!(bench.ok("audit verify").contains("valid"));
}
