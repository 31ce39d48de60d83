//! Maps, timers, sub-workflows, transforms, signals, retries, escalation, inputs and outputs.

use crate::kit::{Definitions, Run, failed};
use serde_json::{Value, json};
use steward_domain::{HumanAction, TaskId};
use steward_engine::{Class, Code, Effect, Ended, Program, Rejected, Status, ToolOutcome, fold, fork};

fn one(node: Value) -> Program {
    compile(json!({ "nodes": { "only": node }, "entry_point": "only" }))
}

fn compile(workflow: Value) -> Program {
    definitions().workflow(workflow).unwrap_or_else(|problems| panic!("{problems}"))
}

fn definitions() -> Definitions {
    Definitions::new()
        .with_workflow(json!({
            "name": "child", "nodes": { "look": { "type": "tool", "tool": "search" } }, "entry_point": "look",
        }))
        .with_workflow(json!({
            "name": "payment", "nodes": { "pay": { "type": "tool", "tool": "pay" } }, "entry_point": "pay",
        }))
}

#[track_caller]
fn refused(workflow: Value, words: &str) {
    let problems = definitions().workflow(workflow).map(|_| ()).unwrap_err().to_string();
    assert!(problems.contains(words), "{problems}");
}

fn arguments(run: &Run) -> Vec<Value> {
    let call = |effect: &Effect| match effect {
        Effect::CallTool { arguments, .. } => Some(Value::Object(arguments.clone())),
        _ => None,
    };
    run.open.iter().filter_map(call).collect()
}

#[test]
fn map_limits_concurrency_and_joins_in_order() {
    let map = json!({
        "type": "map", "over": "input.names", "tool": "search", "concurrency": 2,
        "arguments": { "q": "${item}", "place": "${index}" },
    });
    let mut run = Run::start(one(map), json!({ "names": ["a", "b", "c"] }));
    assert_eq!(arguments(&run), [json!({ "q": "a", "place": 0 }), json!({ "q": "b", "place": 1 })]);
    // The second ends first; the third begins then.
    let second = run.open[1].id().unwrap();
    let at = run.now();
    let outcome = ToolOutcome::Success { output: json!("B"), artifact: None };
    run.send(steward_engine::Event::ToolEnded { effect: second, outcome, at }).unwrap();
    assert_eq!(arguments(&run), [json!({ "q": "a", "place": 0 }), json!({ "q": "c", "place": 2 })]);
    run.tool_gives("search", json!("A"));
    run.tool_gives("search", json!("C"));
    assert_eq!(run.completed(), json!(["A", "B", "C"]));
}

#[test]
fn a_map_fails_keeps_or_skips() {
    let map = |policy: &str| {
        one(json!({ "type": "map", "over": "input", "tool": "search", "concurrency": 4,
            "arguments": { "q": "${item}" }, "on_item_error": policy }))
    };
    let play = |policy: &str| {
        let mut run = Run::start(map(policy), json!([1, 2, 3]));
        run.tool_gives("search", json!("one"));
        run.tool_ends("search", failed(Class::User));
        if !run.state.status().is_final() {
            run.tool_gives("search", json!("three"));
        }
        run
    };
    assert_eq!(play("skip").completed(), json!(["one", "three"]));
    let kept = play("keep").completed();
    assert_eq!(
        (&kept[0], &kept[1]["code"], &kept[2]),
        (&json!("one"), &json!("TOOL_FAILED"), &json!("three"))
    );
    let failure = play("fail").failed();
    assert_eq!((failure.code, failure.node.unwrap().as_str()), (Code::MapFailed, "only"));
    assert!(
        failure.message.contains("item 1 of 3") && failure.message.contains("broken"),
        "{}",
        failure.message
    );
    let mut run = Run::start(map("skip"), json!([1]));
    run.tool_ends("search", failed(Class::User));
    assert!(run.failed().message.contains("all 1 items failed"));
    assert_eq!(Run::start(map("fail"), json!([])).completed(), json!([]));
    let failure = Run::start(map("fail"), json!("a text")).failed();
    assert!(failure.message.contains("must give a list"), "{}", failure.message);
}

#[test]
fn a_timer_waits_for_a_duration_or_until_a_time_of_day() {
    let mut run =
        Run::start(one(json!({ "type": "timer", "duration": "${input.wait}" })), json!({ "wait": "2h" }));
    assert_eq!(run.state.status(), Status::Paused);
    let (_, at) = run.timer();
    assert_eq!(at.micros(), run.micros + 7_200_000_000);
    run.wait();
    assert_eq!(run.completed(), json!({ "until": at }));
    let mut run =
        Run::start(one(json!({ "type": "timer", "until": "03:00", "zone": "Europe/Berlin" })), json!(null));
    // The test's clock begins at 2026-01-01T00:00Z: 01:00 in Berlin.
    assert_eq!(run.timer().1.to_string(), "2026-01-01T02:00:00.000000Z");
    run.wait();
    run.completed();
    let failure = Run::start(one(json!({ "type": "timer", "duration": "${input}" })), json!("soon")).failed();
    assert_eq!(failure.code, Code::Expression);
}

#[test]
fn a_sub_workflow_is_a_task_of_its_own_and_is_tried_again() {
    let node = json!({
        "type": "workflow", "workflow": "child", "arguments": { "city": "${input.city}" },
        "retry": { "attempts": 2, "on": ["failed"] },
    });
    let mut run = Run::start(one(node), json!({ "city": "Oslo" }));
    let (effect, first, input) = run.children().remove(0);
    assert_eq!(input, json!({ "city": "Oslo" }));
    run.child_ends(effect, Err("down"));
    run.wait();
    let (effect, second, _) = run.children().remove(0);
    assert_ne!(first, second, "each attempt is a task of its own");
    run.child_ends(effect, Ok(json!({ "degrees": 4 })));
    assert_eq!(run.completed(), json!({ "degrees": 4 }));
    let mut run = Run::start(one(json!({ "type": "workflow", "workflow": "child" })), json!("x"));
    run.child_ends(run.children()[0].0, Err("down"));
    assert_eq!(run.failed().code, Code::SubFailed);
}

#[test]
fn a_map_of_workflows_survives_a_crash_half_way() {
    let node = json!({ "type": "map", "over": "input", "workflow": "child", "concurrency": 2 });
    let mut run = Run::start(one(node), json!([1, 2, 3]));
    let begun: Vec<TaskId> = run.children().iter().map(|(_, task, _)| *task).collect();
    run.child_ends(run.children()[0].0, Ok(json!("one")));
    let at = run.now();
    let again = run.send(steward_engine::Event::Recovered { in_flight: vec![], at }).unwrap();
    let same =
        |effect: &Effect| matches!(effect, Effect::StartWorkflow { task_id, .. } if *task_id == begun[1]);
    assert!(again.iter().any(same), "the second item goes on under its own task");
    while let Some((effect, _, input)) = run.children().into_iter().next() {
        run.child_ends(effect, Ok(input));
    }
    assert_eq!(run.completed(), json!(["one", 2, 3]));
}

#[test]
fn a_transform_parses_and_shapes() {
    let value = json!({
        "rows": "${parse_json(input.text).rows.map(row, row.name)}",
        "line": "${join(parse_json(input.text).rows.map(row, row.name), \", \")}",
        "fixed": 1,
    });
    let run = Run::start(
        one(json!({ "type": "transform", "value": value })),
        json!({ "text": r#"{"rows": [{"name": "a"}, {"name": "b"}]}"# }),
    );
    assert_eq!(run.completed(), json!({ "rows": ["a", "b"], "line": "a, b", "fixed": 1 }));
    let run =
        Run::start(one(json!({ "type": "transform", "value": "${parse_json(input)}" })), json!("{oops"));
    let failure = run.failed();
    assert_eq!((failure.code, failure.node.unwrap().as_str()), (Code::Expression, "only"));
    assert!(failure.message.contains("`parse_json(input)`: line 1, column 1"), "{}", failure.message);
}

#[test]
fn signal_is_deduplicated_validated_and_buffered() {
    let waits = || {
        compile(json!({
            "nodes": {
                "before": { "type": "timer", "duration": "1m" },
                "paid": { "type": "signal", "signal": "payment", "expires_seconds": 3600,
                    "schema": { "type": "object", "required": ["amount"] } },
            },
            "edges": [{ "from": "before", "to": "paid" }], "entry_point": "before",
        }))
    };
    let mut run = Run::start(waits(), json!(null));
    // Early: it is kept.
    run.signal("payment", json!({ "amount": 5 }), "k1").unwrap();
    let twice = run.signal("payment", json!({ "amount": 5 }), "k1");
    assert_eq!(twice, Err(Rejected::SignalTwice { key: "k1".into() }));
    run.wait();
    assert_eq!(run.completed(), json!({ "amount": 5 }));
    let mut run = Run::start(waits(), json!(null));
    run.wait();
    assert!(run.state.awaits_signal() && run.state.status() == Status::Paused);
    for (name, data, words) in
        [("payment", json!({}), "do not fit"), ("other", json!({}), "The signals of this run: payment")]
    {
        let reason = run.signal(name, data, "k2").unwrap_err().to_string();
        assert!(reason.contains(words), "{reason}");
    }
    run.signal("payment", json!({ "amount": 7 }), "k2").unwrap();
    assert_eq!(run.completed(), json!({ "amount": 7 }));
    let mut run = Run::start(waits(), json!(null));
    run.wait();
    run.wait();
    assert_eq!(run.failed().code, Code::SignalExpired);
}

#[test]
fn a_retry_policy_says_how_often_and_for_what() {
    let node = |on: Value| {
        one(
            json!({ "type": "tool", "tool": "search", "retry": { "attempts": 2, "backoff_seconds": 8, "on": on } }),
        )
    };
    let mut run = Run::start(node(json!(["transient"])), json!(null));
    run.tool_ends("search", failed(Class::Transient));
    let wait = run.timer().1.micros() - run.micros;
    assert!((4_000_000..=8_000_000).contains(&wait), "{wait}");
    run.wait();
    run.tool_ends("search", failed(Class::Transient));
    assert_eq!(run.failed().code, Code::ToolFailed);
    // A failure of another class is not tried again.
    let mut run = Run::start(node(json!(["transient"])), json!(null));
    run.tool_ends("search", failed(Class::User));
    run.failed();
    let mut run = Run::start(node(json!(["failed"])), json!(null));
    run.tool_ends("search", failed(Class::User));
    run.wait();
    run.tool_gives("search", json!("found"));
    assert_eq!(run.completed(), json!("found"));
}

#[test]
fn unsafe_retry_is_refused() {
    let one = |node: Value| json!({ "nodes": { "only": node }, "entry_point": "only" });
    let retry = |on: Value| json!({ "attempts": 3, "on": on });
    refused(
        one(json!({ "type": "tool", "tool": "pay", "retry": retry(json!(["failed"])) })),
        "neither read-only nor keyed",
    );
    refused(
        one(json!({ "type": "workflow", "workflow": "payment", "retry": retry(json!(["failed"])) })),
        "repeats pay, which is not read-only",
    );
    refused(
        one(json!({ "type": "workflow", "workflow": "child", "retry": retry(json!(["timeout"])) })),
        "must hold failed",
    );
    // What was sent is not sent again, whatever the policy says.
    let mut run = Run::start(
        compile(one(json!({ "type": "tool", "tool": "pay", "retry": retry(json!(["transient"])) }))),
        json!(null),
    );
    run.tool_ends("pay", failed(Class::Transient));
    assert_eq!(run.failed().code, Code::ToolFailed);
}

#[test]
fn approval_escalates_and_then_expires() {
    let ask = json!({
        "type": "human", "input": "Refund?", "approvers": ["clerks"], "expires_seconds": 60,
        "escalate": [{ "to": ["managers"], "expires_seconds": 30 }],
    });
    let mut run = Run::start(one(ask.clone()), json!(null));
    let (_, first, question) = run.question();
    assert_eq!((question.approvers[0].as_str(), question.escalation), ("clerks", 0));
    run.wait();
    let (_, second, question) = run.question();
    assert_eq!((question.approvers[0].as_str(), question.escalation), ("managers", 1));
    assert_ne!(first, second, "another group decides on another digest");
    assert!(run.decide_on(first, HumanAction::Approve, json!({})).is_err());
    run.decide(HumanAction::Approve, json!({})).unwrap();
    assert_eq!(run.completed()["action"], "approve");
    let mut run = Run::start(one(ask), json!(null));
    run.wait();
    run.wait();
    assert_eq!(run.failed().code, Code::ApprovalExpired);
}

#[test]
fn run_ended_by_rejection_has_status_rejected() {
    let flow = json!({
        "nodes": { "ask": { "type": "human", "input": "Pay?" }, "pay": { "type": "tool", "tool": "pay" } },
        "edges": [{ "from": "ask", "to": { "approve": "pay", "reject": "__end__" } }], "entry_point": "ask",
    });
    let mut run = Run::start(compile(flow), json!(null));
    run.decide(HumanAction::Reject, json!({})).unwrap();
    assert_eq!(run.state.status(), Status::Rejected);
    let Some(Ended::Rejected(failure)) = run.state.ended() else { panic!("{:?}", run.state.ended()) };
    assert!(failure.message.contains("rejected by ada"), "{}", failure.message);
    run.check();
}

#[test]
fn inputs_and_outputs_are_checked() {
    let flow = || {
        compile(json!({
            "description": "Adds tax.",
            "inputs": { "type": "object", "required": ["net"], "properties": {
                "net": { "type": "number" }, "rate": { "type": "number", "default": 0.25 } } },
            "outputs": { "type": "object", "required": ["gross"], "properties": { "gross": { "maximum": 1000 } } },
            "nodes": { "add": { "type": "transform", "value": { "gross": "${input.net + input.net * input.rate}" } } },
            "entry_point": "add",
        }))
    };
    assert_eq!(Run::start(flow(), json!({ "net": 100.0 })).completed(), json!({ "gross": 125.0 }));
    let failure = Run::start(flow(), json!({ "net": "much" })).failed();
    assert_eq!(failure.code, Code::InputInvalid);
    assert!(failure.message.contains("/net"), "{}", failure.message);
    assert_eq!(Run::start(flow(), json!({ "net": 9000.0 })).failed().code, Code::OutputInvalid);
    assert_eq!(flow().check_input(&json!({ "net": 1 })), Ok(json!({ "net": 1, "rate": 0.25 })));
}

#[test]
fn mistakes_are_explained() {
    let one = |node: Value| json!({ "nodes": { "only": node }, "entry_point": "only" });
    for (node, words) in [
        (json!({ "type": "map", "tool": "search" }), "needs `over`"),
        (json!({ "type": "map", "over": "input" }), "exactly one of `tool`, `agent` and `workflow`"),
        (json!({ "type": "tool", "tool": "search", "over": "input" }), "belongs to nodes of the type map"),
        (json!({ "type": "timer" }), "needs `duration` or `until`"),
        (json!({ "type": "timer", "duration": "a while" }), "no duration"),
        (json!({ "type": "timer", "until": "03:00", "zone": "Mars/Base" }), "no time zone"),
        (json!({ "type": "workflow", "workflow": "ghost" }), "must be a workflow that is defined"),
        (json!({ "type": "transform", "value": "${item}" }), "only in the arguments and the input of a map"),
        (json!({ "type": "signal", "schema": { "type": "nonsense" } }), "must be a JSON Schema"),
        (json!({ "type": "transform", "value": "${1 +}" }), "line 1, column"),
    ] {
        refused(one(node), words);
    }
    let definitions = definitions().with_workflow(json!({
        "name": "broken", "nodes": { "a": { "type": "tool", "tool": "ghost" } }, "entry_point": "a",
    }));
    let problems = definitions.workflow(one(json!({ "type": "workflow", "workflow": "broken" }))).map(|_| ());
    assert!(problems.unwrap_err().to_string().contains("workflow broken: nodes.a.tool"));
}

#[test]
fn a_run_with_the_new_nodes_replays_and_forks() {
    let flow = json!({
        "nodes": {
            "each": { "type": "map", "over": "input", "tool": "search", "arguments": { "q": "${item}" } },
            "rest": { "type": "timer", "duration": "1h" },
            "go": { "type": "signal" },
            "sum": { "type": "transform", "value": "${sum(nodes.each.output) + nodes.go.output}" },
        },
        "edges": [{ "from": "each", "to": "rest" }, { "from": "rest", "to": "go" }, { "from": "go", "to": "sum" }],
        "entry_point": "each",
    });
    let mut run = Run::start(compile(flow), json!([1, 2]));
    run.tool_gives("search", json!(10));
    run.tool_gives("search", json!(20));
    run.wait();
    run.signal("go", json!(3), "a").unwrap();
    assert_eq!(run.completed(), json!(33));
    let bytes = serde_json::to_string(&run.state).unwrap();
    assert_eq!(serde_json::to_string(&fold(&run.program, &run.events)).unwrap(), bytes);
    let other: TaskId = "660e8400-e29b-41d4-a716-446655440000".parse().unwrap();
    let state = fold(&run.program, &fork(&run.events, 3, other));
    assert_eq!((state.status(), state.task()), (Status::Paused, Some(other)));
}
