//! Tasks, conversations, retention, analytics.

use crate::{Bench, run};
use serde_json::Value;
use std::fs;
use steward_domain::UserId;
use steward_store::conformance::samples::*;
use steward_store::{Change, Store};

#[test]
fn a_task_is_listed_shown_traced_and_exported() {
    let bench = Bench::new();
    let task = bench.worked();
    assert!(bench.ok("task list").contains("Summarise the quarter"));
    assert_eq!(bench.json("task list --status failed"), Value::Array(Vec::new()));
    assert!(bench.ok(&format!("task show {task}")).contains("result    42 orders"));

    let trace = bench.json(&format!("task trace {task}"));
    let steps: Vec<&str> =
        trace["steps"].as_array().unwrap().iter().map(|step| step["step_name"].as_str().unwrap()).collect();
    assert_eq!(
        steps,
        ["request_submitted", "tool_called", "tool_called", "answered"],
        "an observation belongs to its call"
    );
    assert_eq!(trace["steps"][1]["status"], "error");
    assert_eq!(trace["steps"][1]["tool_calls"][0]["error"], "no such table");
    assert_eq!(trace["steps"][2]["tool_calls"][0]["result"], serde_json::json!([42]));
    assert!(bench.ok(&format!("task trace {task}")).contains("tool_called"));

    bench.ok(&format!("task export {task} --out out"));
    let folder = bench.path("out/tasks").join(task.to_string());
    let read =
        |name: &str| serde_json::from_str::<Value>(&fs::read_to_string(folder.join(name)).unwrap()).unwrap();
    assert_eq!(read("task.json")["status"], "completed");
    assert_eq!(read("trace.json")["task_id"], task.to_string());
    bench.fails("task show 550e8400-e29b-41d4-a716-446655440000", 2, "STO001");
    assert_eq!(bench.run("task show nonsense").code, 2);
}

#[test]
fn a_conversation_is_archived_deleted_and_journalled() {
    let bench = Bench::new();
    bench.ok("init");
    let alice: UserId = "alice".parse().unwrap();
    let conversation = conversation(&alice);
    let id = conversation.id;
    let begin = commit(&alice)
        .change(Change::PutConversation(conversation))
        .change(Change::AppendMessage(message(id, "mark it done", 1)))
        .change(mention(id, "task", "1", Some("Buy milk"), 1));
    run(async { bench.store().commit(&scope(&alice), begin).await.unwrap() });
    let shown = bench.ok(&format!("conversation show {id}"));
    assert!(shown.contains("mark it done") && shown.contains("Buy milk"), "{shown}");
    assert!(bench.ok("conversation list").contains("idle"));
    bench.fails(&format!("conversation show {id} --user bob"), 2, "STO001");
    assert!(bench.ok(&format!("conversation show {id} --user bob --all-users")).contains("mark it done"));

    bench.ok(&format!("conversation archive {id}"));
    bench.fails(&format!("conversation archive {id}"), 2, "DOM001");
    bench.fails(&format!("conversation delete {id}"), 2, "CLI006");
    bench.ok(&format!("conversation delete {id} --yes"));
    assert_eq!(bench.json(&format!("conversation show {id}"))["messages"], Value::Array(Vec::new()));
    bench.ok(&format!("audit export {id} --out conversation.jsonl"));
    let log = fs::read_to_string(bench.path("conversation.jsonl")).unwrap();
    assert_eq!(log.matches("conversation_changed").count(), 2);
    bench.ok("audit verify");
}

#[test]
fn retention_shows_first_then_purges_and_records() {
    let bench = Bench::new();
    let task = bench.worked();
    let dry = bench.json("retention run --dry-run");
    assert_eq!(
        dry["purged"][0],
        serde_json::json!({ "kind": "task", "action": "deleted", "count": 1, "before": null })
    );
    bench.ok(&format!("task show {task}"));
    bench.ok("retention run");
    bench.fails(&format!("task show {task}"), 2, "STO001");
    assert!(bench.ok("audit export system").contains("retention_applied"));
    assert!(bench.ok("audit verify").contains("valid 7 entries in 2 chains"));
}

#[test]
fn analytics_cover_a_window() {
    let bench = Bench::new();
    bench.worked();
    let all = bench.json("analytics --from 2026-01-01T00:00:00Z");
    assert_eq!((&all["tools"][0]["name"], &all["tools"][0]["p95_ms"]), (&"list_orders".into(), &40.0.into()));
    assert_eq!(all["agents"][0]["name"], "orchestrator");
    assert_eq!(bench.json("analytics --from 2027-01-01T00:00:00Z")["tools"], Value::Array(Vec::new()));
}
