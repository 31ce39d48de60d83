//! Every workflow of `examples/workflows` runs unchanged, with its agents and tools.

use crate::{Bench, json_of};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = concat!(concat!(env!("STEWARD_CHECKOUT"), "crates/steward"), "/../../examples");

/// A home with the configuration of the examples, and the file that their tools write to.
fn office() -> (Bench, PathBuf) {
    let bench = Bench::new();
    bench.run("init");
    let outbox = bench.path("outbox/mails.jsonl");
    for file in ["mcp_servers.yaml", "tools.yaml"] {
        let text = std::fs::read_to_string(format!("{EXAMPLES}/workflows/config/{file}")).unwrap();
        let text = text
            .replace("~/steward-outbox/mails.jsonl", &outbox.display().to_string())
            .replace("folder: examples/workflows", &format!("folder: {EXAMPLES}/workflows"))
            .replace("[examples/apps]", &format!("[{EXAMPLES}/apps]"));
        std::fs::write(bench.home().join("config").join(file), text).unwrap();
    }
    (bench, outbox)
}

fn sent(outbox: &Path) -> String {
    std::fs::read_to_string(outbox).unwrap_or_default()
}

/// Runs a workflow and returns its status and its result as text.
fn run(bench: &Bench, name: &str, input: &str) -> (String, String, String) {
    let file = format!("{EXAMPLES}/workflows/{name}.yaml");
    let ran = bench.run_with(&["--json", "run", &file, "--input", input]);
    let document = json_of(&ran.out);
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    assert!(document["status"].is_string(), "{name}: {} {}", ran.out, ran.err);
    (text(&document["status"]), text(&document["result"]), text(&document["task"]))
}

/// Approves the pending call, as it was shown.
fn approve(bench: &Bench, task: &str) -> String {
    let waiting = json_of(&bench.run("--json approvals list").out);
    let all = waiting["approvals"].as_array().unwrap().clone();
    let digest = all[0]["digest"].as_str().unwrap();
    bench.run(&format!("approvals approve {task} --digest {digest}")).out
}

#[test]
fn every_file_is_run_by_a_test() {
    // Those that wait for hours run with a moved clock, in the tests of the runtime.
    let clocked = concat!(env!("STEWARD_CHECKOUT"), "/crates/runtime/tests/it/workflow_examples.rs");
    let here = [include_str!("example_workflows.rs"), &std::fs::read_to_string(clocked).unwrap()].concat();
    let folder =
        || std::fs::read_dir(format!("{EXAMPLES}/workflows")).unwrap().map(|entry| entry.unwrap().path());
    let texts: String = folder().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    for path in folder() {
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            // A child runs with its parent.
            let is_child = texts.contains(&format!("workflow: {name}"));
            assert!(is_child || here.contains(&format!("\"{name}\"")), "{name} is not run by a test");
        }
    }
}

#[test]
fn workflows_that_need_no_person_run_to_their_end() {
    let (bench, _) = office();
    for (name, input, expected) in [
        ("single_agent", "calculate the expression \"6*7\"", "42"),
        ("sequential", "tea", "Camellia sinensis"),
        ("parallel_join", r#"{"city": "Oslo"}"#, "-4 degrees, snow. The ferry line"),
        ("supervisor", "bees", "honey bee"),
        ("tool_fallback", r#"{"city": "Oslo"}"#, "Oslo: -4 degrees"),
        ("tool_fallback", r#"{"city": "Paris"}"#, "Paris: 8 degrees"),
        ("tool_fallback", r#"{"city": "Atlantis"}"#, "not known"),
    ] {
        let (status, result, _) = run(&bench, name, input);
        assert_eq!(status, "completed", "{name} {input}: {result}");
        assert!(result.contains(expected), "{name} {input}: {result}");
    }
    let question = r#"{"message": "When do you open?", "order": "A-1", "amount": 0}"#;
    let (status, result, _) = run(&bench, "conditional_routing", question);
    assert_eq!((status.as_str(), result.contains("order A-1")), ("completed", true), "{result}");
}

#[test]
fn workflows_that_change_something_wait_for_a_person() {
    let (bench, outbox) = office();
    let large = r#"{"message": "My lamp is broken, I want a refund", "order": "A-17", "amount": 200}"#;
    let (status, result, task) = run(&bench, "conditional_routing", large);
    assert_eq!(status, "paused", "{result}");
    assert_eq!(sent(&outbox), "");
    approve(&bench, &task);
    assert!(sent(&outbox).contains("A-17"), "{}", sent(&outbox));

    let (status, _, task) =
        run(&bench, "human_approval", r#"{"to": "ada@example.com", "notes": "The pilot starts in April"}"#);
    assert_eq!(status, "paused");
    for _ in 0..2 {
        if !sent(&outbox).contains("April") {
            approve(&bench, &task);
        }
    }
    assert!(sent(&outbox).contains("The pilot starts in April."), "{}", sent(&outbox));

    let (status, _, task) = run(&bench, "reflection_loop", "Bees");
    assert_eq!(status, "paused");
    approve(&bench, &task);
    assert!(sent(&outbox).contains("It matters to all of us"), "{}", sent(&outbox));
}
