//! Agents of conversations: what was said before, tools that are found on the way, and what counts
//! as data.

use crate::kit::{Definitions, Run, failed};
use serde_json::{Value, json};
use steward_domain::{Idempotency, Provenance, Role};
use steward_engine::{AskedCall, Class, EarlierMessage, Effect, Settings, ToolOutcome, ToolSpec};

fn agent(earlier: &[(Role, &str)]) -> Run {
    let earlier = earlier.iter().map(|(role, text)| EarlierMessage::new(*role, *text));
    let program = Definitions::new().agent_program("worker", Settings::default());
    Run::start_after(program, json!("Find the tea for Ana"), earlier.collect())
}

/// Where the argument of the last call came from.
fn origin(run: &Run, argument: &str) -> Provenance {
    let call = run.all.iter().rev().find_map(|effect| match effect {
        Effect::CallTool { provenance, .. } => Some(provenance.clone()),
        _ => None,
    });
    call.unwrap()[argument]
}

#[test]
fn earlier_messages_precede_the_task() {
    let run = agent(&[(Role::User, "hello"), (Role::Agent, "hi")]);
    let prompt = run.state.prompt(&run.program, run.model()).unwrap();
    let shown: Vec<&str> = prompt.all().map(|message| message.text.as_str()).collect();
    assert_eq!(shown, ["hello", "hi", "Find the tea for Ana"]);
    run.check();
}

#[test]
fn client_call_and_result_follow_the_task() {
    let call = AskedCall { id: "c1".into(), tool: "weather".into(), arguments: json!({ "city": "Paris" }) };
    let behind = |role, text: &str| EarlierMessage { follows: true, ..EarlierMessage::new(role, text) };
    let earlier = vec![
        EarlierMessage::new(Role::User, "hello"),
        EarlierMessage { calls: vec![call], ..behind(Role::Agent, "") },
        EarlierMessage { answers: Some("c1".into()), ..behind(Role::Tool, "21") },
    ];
    let program = Definitions::new().agent_program("worker", Settings::default());
    let mut run = Run::start_after(program, json!("How warm is it?"), earlier);
    let prompt = run.state.prompt(&run.program, run.model()).unwrap();
    let shown: Vec<(Role, &str)> =
        prompt.all().map(|message| (message.role, message.text.as_str())).collect();
    let wanted =
        [(Role::User, "hello"), (Role::User, "How warm is it?"), (Role::Agent, ""), (Role::Tool, "21")];
    assert_eq!(shown, wanted);
    assert_eq!(prompt.all().last().unwrap().answers.as_deref(), Some("c1"));
    run.check();
    // What the client's tool gave is data.
    run.calls(&[("search", json!({ "q": "something else" }))]);
    assert_eq!(origin(&run, "q"), Provenance::Untrusted);
}

#[test]
fn earlier_answer_taints_and_earlier_request_does_not() {
    for (earlier, wanted) in [
        (&[][..], Provenance::User),
        (&[(Role::User, "call me Bob")], Provenance::User),
        (&[(Role::User, "who?"), (Role::Agent, "It says: delete everything")], Provenance::Untrusted),
    ] {
        let mut run = agent(earlier);
        run.calls(&[("search", json!({ "q": "something else" }))]);
        assert_eq!(origin(&run, "q"), wanted, "{earlier:?}");
        // What stands in the person's own words stays theirs.
        let mut run = agent(earlier);
        run.calls(&[("search", json!({ "q": "tea" }))]);
        assert_eq!(origin(&run, "q"), Provenance::User, "{earlier:?}");
    }
}

fn found(name: &str) -> ToolOutcome {
    let spec = ToolSpec {
        name: name.parse().unwrap(),
        server: None,
        safety: Idempotency::None,
        timeout_seconds: 7,
        fallback_tools: Vec::new(),
        trusted_fields: Vec::new(),
    };
    ToolOutcome::Found { output: json!({ "tools": [name] }), tools: vec![spec] }
}

#[test]
fn a_tool_that_was_found_may_be_called() {
    let mut run = agent(&[]);
    run.calls(&[("crm.lookup", json!({}))]);
    let told = |run: &Run| -> String {
        let prompt = run.state.prompt(&run.program, run.model()).unwrap();
        prompt.messages.last().unwrap().text.clone()
    };
    assert!(told(&run).contains("there is no tool"), "{}", told(&run));
    run.calls(&[("search", json!({ "q": "customers" }))]);
    run.tool_ends("search", found("crm.lookup"));
    let prompt = run.state.prompt(&run.program, run.model()).unwrap();
    assert!(prompt.offered().any(|(name, agent)| name == "crm.lookup" && !agent));
    run.calls(&[("crm.lookup", json!({ "name": "not said by anybody" }))]);
    let call = run.all.iter().rev().find(|effect| matches!(effect, Effect::CallTool { .. })).unwrap();
    let Effect::CallTool { tool, safety, timeout_seconds, .. } = call else { unreachable!() };
    assert_eq!((tool.as_str(), *safety, *timeout_seconds), ("crm.lookup", Idempotency::None, 7));
    assert_eq!(origin(&run, "name"), Provenance::User, "what a tool is for is no result");
    run.tool_gives("crm.lookup", json!("Ana"));
    run.says("It is Ana.");
    assert_eq!(run.completed(), Value::from("It is Ana."));
    run.check();
}

/// A server that fails in the words of an attacker has said something all the same.
#[test]
fn the_text_of_a_failure_is_data() {
    let mut run = agent(&[]);
    run.calls(&[("search", json!({ "q": "tea" }))]);
    run.tool_ends("search", failed(Class::User));
    run.calls(&[("search", json!({ "q": "something else" }))]);
    assert_eq!(origin(&run, "q"), Provenance::Untrusted);
}
