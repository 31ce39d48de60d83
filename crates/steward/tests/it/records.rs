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
        dry["report"]["purged"][0],
        serde_json::json!({ "kind": "task", "action": "deleted", "count": 1, "before": null })
    );
    bench.ok(&format!("task show {task}"));
    bench.ok("retention run");
    bench.fails(&format!("task show {task}"), 2, "STO001");
    assert!(bench.ok("audit export system").contains("retention_applied"));
    assert!(bench.ok("audit verify").contains("valid 8 entries in 2 chains"));
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

/// The path of an artifact is not trusted: files outside its folder are not removed.
#[test]
fn retention_removes_only_the_artifacts_of_the_task() {
    let bench = Bench::new();
    bench.ok("init");
    let alice: UserId = "alice".parse().unwrap();
    let task = task(&alice, 0).start(at(1)).unwrap().complete("done".into(), at(2)).unwrap();
    let own = format!("artifacts/tables/{}/result.csv", task.id);
    fs::create_dir_all(bench.home().join(&own).parent().unwrap()).unwrap();
    fs::create_dir_all(bench.home().join("artifacts/tables/other")).unwrap();
    for file in [own.as_str(), "artifacts/tables/other/result.csv"] {
        fs::write(bench.home().join(file), "a,b").unwrap();
    }
    std::os::unix::fs::symlink(bench.home().join("keys"), bench.home().join("artifacts/linked")).unwrap();
    let mut work = steward_store::Commit::new(alice.clone(), task.id).change(Change::PutTask(task.clone()));
    for content_ref in [
        own.as_str(),
        "keys/journal.key",
        "state.db",
        "artifacts/tables/other/result.csv",
        "artifacts/linked/journal.key",
    ] {
        let artifact = serde_json::json!({ "artifact_id": uuid(), "request_id": task.id, "artifact_type": "table", "content_ref": content_ref,
            "content_hash": fingerprint(), "size_bytes": 3, "created_at": at(1) });
        work = work.change(Change::PutArtifact(steward_domain::parse(&artifact.to_string()).unwrap()));
    }
    run(async { bench.store().commit(&scope(&alice), work).await.unwrap() });
    let report = bench.json("retention run");
    assert_eq!(
        (&report["removed"], report["not_removed"].as_array().unwrap().len()),
        (&1.into(), 4),
        "{report:#}"
    );
    assert!(!bench.home().join(&own).exists());
    assert!(bench.home().join("artifacts/tables/other/result.csv").exists());
    bench.ok("audit verify");
}

/// Deleted data is no longer in the files, in no page and not in the write-ahead log.
#[test]
fn deleted_words_are_gone_from_the_disk() {
    let bench = Bench::new();
    bench.ok("init");
    let alice: UserId = "alice".parse().unwrap();
    let conversation = conversation(&alice);
    let id = conversation.id;
    let secret = "xyzzy-never-to-be-seen-again";
    let mut entry = draft(steward_domain::EventType::MessageAppended, serde_json::json!({}));
    entry.personal.insert("content".into(), serde_json::json!(format!("journalled {secret}")));
    let begin = steward_store::Commit::new(alice.clone(), id)
        .entry(entry)
        .change(Change::PutConversation(conversation))
        .change(Change::AppendMessage(message(id, &format!("said {secret}"), 1)))
        .change(mention(id, "task", "1", Some(&format!("named {secret}")), 1));
    run(async { bench.store().commit(&scope(&alice), begin).await.unwrap() });
    let found = || {
        let files = fs::read_dir(bench.home())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file());
        files.filter(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).contains(secret)).count()
    };
    assert!(found() > 0);
    bench.ok(&format!("conversation delete {id} --yes"));
    assert_eq!(found(), 0);
    bench.ok("audit verify");
}
