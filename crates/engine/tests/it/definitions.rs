//! What a definition must hold, each rule with the words a person reads; and how programs are
//! drawn.

use crate::kit::{Definitions, Run};
use serde_json::{Value, json};
use steward_domain::HumanAction;

#[track_caller]
fn refused(flow: Value, words: &[&str]) {
    let problems = Definitions::new().workflow(flow).expect_err("must be refused").to_string();
    for word in words {
        assert!(problems.contains(word), "{word:?} is not in: {problems}");
    }
}

fn tool() -> Value {
    json!({ "type": "tool", "tool": "search" })
}

#[test]
fn wrong_workflows_are_refused_with_reasons() {
    let two =
        |edges: Value| json!({ "nodes": { "a": tool(), "b": tool() }, "edges": edges, "entry_point": "a" });
    let cycle = json!([{ "from": "a", "to": "b" }, { "from": "b", "to": "a" }]);
    refused(two(cycle), &["cycle", "a -> b -> a"]);
    refused(two(json!([{ "from": "a", "to": "x" }])), &["edges[0].to", "nodes.b", "reachable"]);
    refused(
        two(json!([{ "from": "a", "to": { "k": "nowhere" } }, { "from": "a", "to": "b" }])),
        &["nowhere"],
    );
    refused(
        two(json!([{ "from": "a", "to": "b" }, { "from": "a", "to": "__end__" }])),
        &["edges[1]", "parallel node"],
    );
    let guard = |text: &str| two(json!([{ "from": "a", "to": "b", "condition": text }]));
    refused(guard("input.x >"), &["edges[0].condition", "line 1, column"]);
    refused(guard("inputs.x > 1"), &["uses inputs", "routing_key"]);
    refused(guard("nodes.zzz.output == 1"), &["reads the node zzz"]);
    refused(guard("shout(input.x) == 1"), &["calls shout, which there is not"]);
    refused(guard(&"(".repeat(60)), &["nested deeper"]);
    refused(guard(&"1+".repeat(2000)), &["2000 characters"]);
    refused(json!({ "nodes": { "a": tool() }, "edges": [], "entry_point": "b" }), &["entry_point"]);
    refused(
        json!({ "nodes": { "a": { "type": "agent", "agent": "ghost" } }, "edges": [], "entry_point": "a" }),
        &["nodes.a.agent", "ghost"],
    );
    refused(
        json!({ "nodes": { "a": { "type": "tool", "tool": "ghost" } }, "edges": [], "entry_point": "a" }),
        &["nodes.a.tool", "registered", "ghost"],
    );
    let no_join = json!({
        "nodes": { "p": { "type": "parallel", "branches": ["a", "b"] }, "a": tool(), "b": tool(), "c": tool() },
        "edges": [{ "from": "a", "to": "c" }, { "from": "b", "to": "c" }], "entry_point": "p",
    });
    refused(no_join, &["nodes.c", "join at their parallel node", "from p"]);
    let bad_text = json!({
        "nodes": { "a": { "type": "tool", "tool": "search", "arguments": { "q": "${input" } } },
        "edges": [], "entry_point": "a",
    });
    refused(bad_text, &["nodes.a.arguments.q", "without its"]);
}

#[test]
fn wrong_plans_are_refused_with_reasons() {
    let sub = |name: &str, more: Value| {
        let mut sub = json!({ "task_id": name, "description": "", "tool_name": "search" });
        for (key, value) in more.as_object().unwrap() {
            sub[key] = value.clone();
        }
        sub
    };
    for (plan, words) in [
        (json!([sub("a", json!({ "inputs": ["x"] }))]), &["inputs", "output of a subtask"][..]),
        (
            json!([
                sub("a", json!({ "inputs": ["y"], "outputs": ["x"] })),
                sub("b", json!({ "inputs": ["x"], "outputs": ["y"] }))
            ]),
            &["circle", "a -> b -> a"],
        ),
        (
            json!([sub("a", json!({ "outputs": ["x"] })), sub("b", json!({ "outputs": ["x"] }))]),
            &["one subtask only"],
        ),
        (json!([sub("a", json!({ "tool_name": "ghost" }))]), &["registered"]),
    ] {
        let problems = Definitions::new().plan(plan).expect_err("must be refused").to_string();
        for word in words {
            assert!(problems.contains(word), "{word:?} is not in: {problems}");
        }
    }
}

#[test]
fn a_definition_from_the_journal_compiles_to_the_same_program() {
    let flow =
        json!({ "nodes": { "a": { "type": "agent", "agent": "worker" } }, "edges": [], "entry_point": "a" });
    let program = Definitions::new().workflow(flow).unwrap();
    let text = serde_json::to_string(program.definition()).unwrap();
    let again = steward_engine::Program::from_definition(serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(again.version(), program.version());
}

#[test]
fn expressions_fail_clearly_at_run_time() {
    let flow = json!({
        "nodes": { "a": { "type": "condition" } },
        "edges": [{ "from": "a", "to": "__end__", "condition": "input.size > 1" }], "entry_point": "a",
    });
    for (input, code, word) in [
        (json!({}), "EXPRESSION", "no size"),
        (json!({ "size": "x" }), "EXPRESSION", "size"),
        (json!({ "size": 0 }), "NO_ROUTE", ""),
    ] {
        let run = Run::start(Definitions::new().workflow(flow.clone()).unwrap(), input);
        let failure = run.failed();
        assert_eq!(failure.code.name(), code, "{failure}");
        assert!(failure.message.contains(word), "{failure}");
    }
}

#[test]
fn programs_are_drawn_with_their_state() {
    let flow = json!({
        "nodes": { "look": { "type": "human" }, "go": { "type": "tool", "tool": "store" } },
        "edges": [{ "from": "look", "to": { "approve": "go", "reject": "__end__" } }], "entry_point": "look",
    });
    let mut run = Run::start(Definitions::new().workflow(flow).unwrap(), json!("x"));
    let plain = run.program.to_mermaid(None);
    assert!(
        plain.contains("n1 -->|\"approve\"| n0") && plain.contains("n1 -->|\"reject\"| finish"),
        "{plain}"
    );
    assert!(run.program.to_mermaid(Some(&run.state)).contains(":::asking"));
    run.decide(HumanAction::Approve, json!({})).unwrap();
    run.tool_gives("store", json!(1));
    let svg = run.program.to_svg(Some(&run.state));
    assert!(
        svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.matches("#dcfce7").count() == 2,
        "{svg}"
    );
}
