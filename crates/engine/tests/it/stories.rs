//! The stories of S2 for agents, tools, plans and graphs.

use crate::kit::{Definitions, Run, TASK, failed};
use serde_json::json;
use steward_domain::*;
use steward_engine::State;
use steward_engine::*;

fn agent() -> Run {
    let program = Definitions::new().agent_program("worker", Settings::default());
    Run::start(program, json!("Find the price of tea"))
}

#[test]
fn a_single_agent_answers_and_leaves_a_trace() {
    let mut run = agent();
    run.calls(&[("search", json!({ "q": "tea" }))]);
    run.micros += 2_000_000;
    run.tool_gives("search", json!({ "price": 3 }));
    let effect = run.model();
    let prompt = run.state.prompt(&run.program, effect).unwrap();
    let roles: Vec<Role> = prompt.all().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Agent, Role::Tool]);
    assert_eq!(
        prompt.offered().map(|(name, _)| name).collect::<Vec<_>>(),
        ["pay", "search", "slow", "store"]
    );
    run.says("Tea costs 3.");
    assert_eq!(run.completed(), json!("Tea costs 3."));
    let log = trace(&run.program, &run.events).unwrap();
    let names: Vec<&str> = log.steps.iter().map(|step| step.step_name.as_str()).collect();
    assert_eq!(names, ["started", "model", "tool", "model", "completed"]);
    let tool = &log.steps[2];
    assert!(tool.duration_ms >= 2000 && tool.agent.as_str() == "worker", "{tool:?}");
    assert_eq!(tool.tool_calls[0].result, Some(json!({ "price": 3 })));
    assert!(glance(&log).contains("████"), "{}", glance(&log));
    log.validate().unwrap();
}

#[test]
fn calls_of_one_reply_run_at_once_and_are_answered_in_order() {
    let mut run = agent();
    run.calls(&[("search", json!({ "q": "a" })), ("store", json!({ "k": 1 }))]);
    assert_eq!(run.tools_open(), ["search", "store"]);
    run.tool_gives("store", json!("second"));
    run.tool_gives("search", json!("first"));
    let prompt = run.state.prompt(&run.program, run.model()).unwrap();
    let answers: Vec<&str> = prompt.messages.iter().skip(1).map(|message| message.text.as_str()).collect();
    assert_eq!(answers, ["first", "second"]);
}

#[test]
fn a_supervisor_delegates_and_sees_only_summaries() {
    let app = Definitions::new()
        .with_agent(json!({ "name": "researcher", "tools": ["search"] }))
        .with_agent(json!({ "name": "writer", "tools": ["store"] }))
        .with_agent(json!({ "name": "boss", "sub_agents": ["researcher", "writer"] }));
    let mut run = Run::start(app.agent_program("boss", Settings::default()), json!("Write about tea"));
    let offered: Vec<_> = run.state.prompt(&run.program, run.model()).unwrap().offered().collect();
    assert_eq!(offered, [("researcher", true), ("writer", true)], "the supervisor has no tools of its own");
    run.calls(&[("researcher", json!({ "task": "Look up tea" }))]);
    let Effect::StartSub { id, task_id, agent, task, depth, .. } = run.open[0].clone() else { panic!() };
    assert_eq!((agent.as_str(), task.as_str(), depth), ("researcher", "Look up tea", 1));
    // The sub-agent is a task of its own, with a program and a history of its own.
    let definition = run.program.definition().for_agent(&agent, Limits::default()).unwrap();
    let mut sub = Run::start(Program::from_definition(definition).unwrap(), json!(task));
    sub.calls(&[("store", json!({}))]);
    let told = sub.state.prompt(&sub.program, sub.model()).unwrap().messages.last().unwrap().text.clone();
    assert!(
        told.contains("there is no tool \"store\""),
        "the researcher cannot use the writer's tools: {told}"
    );
    sub.calls(&[("search", json!({ "q": "secret detail" }))]);
    sub.tool_gives("search", json!("secret finding"));
    sub.says("Tea is a drink.");
    let at = run.now();
    let summary = Ok(sub.completed().as_str().unwrap().to_owned());
    let usage = Usage { input_tokens: 7, output_tokens: 3, cost_micros: 5 };
    run.send(Event::SubEnded { effect: id, summary, output: None, usage, at }).unwrap();
    let seen = serde_json::to_string(&run.state).unwrap();
    assert!(
        seen.contains("Tea is a drink.") && !seen.contains("secret"),
        "nothing but the summary comes back"
    );
    assert_eq!(run.state.used().tokens, 10, "what a sub-agent uses is used by its parent");
    run.says("Done.");
    let log = trace(&run.program, &run.events).unwrap();
    assert_eq!(log.sub_agent_sessions[&SessionId(task_id.0)].status, SubAgentStatus::Completed);
    run.completed();
}

#[test]
fn agents_call_agents_only_so_deep() {
    let app = Definitions::new()
        .with_agent(json!({ "name": "low", "tools": [] }))
        .with_agent(json!({ "name": "boss", "sub_agents": ["low"] }));
    let settings = Settings { depth: 0, ..Settings::default() };
    let mut run = Run::start(app.agent_program("boss", settings), json!("x"));
    run.calls(&[("low", json!({ "task": "y" }))]);
    let told = &run.state.prompt(&run.program, run.model()).unwrap().messages[1].text;
    assert!(told.contains("TOO_DEEP"), "{told}");
}

fn one_tool(tool: &str) -> Run {
    let flow = json!({
        "nodes": { "a": { "type": "tool", "tool": tool, "arguments": { "q": "${input.q}" } } },
        "edges": [{ "from": "a", "to": "__end__" }], "entry_point": "a",
    });
    Run::start(Definitions::new().workflow(flow).unwrap(), json!({ "q": "tea" }))
}

#[test]
fn the_primary_tool_times_out_and_the_fallback_finishes() {
    let mut run = one_tool("slow");
    let mut waits = Vec::new();
    for _ in 0..3 {
        run.tool_ends("slow", ToolOutcome::TimedOut);
        let (_, at) = run.timer();
        waits.push(at.micros() - run.micros);
        run.wait();
    }
    assert!(waits[0] < waits[1] && waits[1] < waits[2], "the waits grow: {waits:?}");
    run.tool_ends("slow", ToolOutcome::TimedOut);
    run.tool_gives("search", json!("found"));
    assert_eq!(run.completed(), json!("found"));
    let keys: std::collections::BTreeSet<String> = run
        .all
        .iter()
        .filter_map(|effect| match effect {
            Effect::CallTool { key, .. } => Some(key.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(keys.len(), 2, "one key for all attempts, another for the fallback");
}

#[test]
fn permanent_failure_is_not_retried() {
    for (class, code) in
        [(Class::User, "TOOL_FAILED"), (Class::Bug, "TOOL_FAILED"), (Class::Denied, "DENIED")]
    {
        let mut run = one_tool("search");
        run.tool_ends("search", failed(class));
        assert_eq!(run.failed().code.name(), code);
        assert_eq!(run.all.iter().filter(|effect| matches!(effect, Effect::CallTool { .. })).count(), 1);
    }
}

#[test]
fn unknown_payment_is_not_repeated_without_approval() {
    for outcome in [ToolOutcome::TimedOut, ToolOutcome::Unknown] {
        let mut run = one_tool("pay");
        run.tool_ends("pay", outcome);
        let (_, _, question) = run.question();
        assert_eq!((question.subject, run.state.status()), (Subject::UnknownOutcome, Status::Paused));
        run.decide(HumanAction::Modify, json!({ "output": "paid" })).unwrap();
        assert_eq!(run.completed(), json!("paid"));
    }
    // It surely was not sent, so it may be tried again.
    let mut run = one_tool("pay");
    run.tool_ends(
        "pay",
        ToolOutcome::Failed { class: Class::Transient, message: "refused".into(), sent: false },
    );
    run.wait();
    run.tool_gives("pay", json!("ok"));
    run.completed();
    // It failed after it was sent: an honest failure.
    let mut run = one_tool("pay");
    run.tool_ends("pay", failed(Class::Transient));
    assert_eq!(run.failed().code, Code::ToolFailed);
}

#[test]
fn after_a_crash_only_what_is_safe_is_done_again() {
    for (tool, safety, again) in [
        ("search", Idempotency::ReadOnly, true),
        ("store", Idempotency::Keyed, true),
        ("pay", Idempotency::None, false),
    ] {
        let mut run = one_tool(tool);
        let effect = run.tool(tool);
        let Effect::CallTool { key: before, .. } = run.open[0].clone() else { panic!() };
        let at = run.now();
        let effects =
            run.send(Event::Recovered { in_flight: vec![InFlight { effect, safety }], at }).unwrap();
        let keys: Vec<CallId> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::CallTool { key, .. } => Some(*key),
                _ => None,
            })
            .collect();
        assert_eq!(keys, if again { vec![before] } else { vec![] }, "{tool}");
        // What had not begun is simply begun.
        let mut run = one_tool(tool);
        let at = run.now();
        let effects = run.send(Event::Recovered { in_flight: vec![], at }).unwrap();
        assert!(matches!(effects[..], [Effect::CallTool { .. }]), "{tool}");
        run.tool_gives(tool, json!(1));
        run.completed();
    }
}

#[test]
fn a_and_b_run_at_once_then_c() {
    let flow = json!({
        "nodes": {
            "both": { "type": "parallel", "branches": ["a", "b"] },
            "a": { "type": "tool", "tool": "search" }, "b": { "type": "tool", "tool": "clock" },
            "c": { "type": "tool", "tool": "store", "arguments": { "sum": "${nodes.both.output}" } },
        },
        "edges": [{ "from": "both", "to": "c" }, { "from": "c", "to": "__end__" }], "entry_point": "both",
    });
    let mut run = Run::start(Definitions::new().workflow(flow).unwrap(), json!({}));
    assert_eq!(run.tools_open(), ["search", "clock"]);
    run.tool_gives("clock", json!(2));
    assert_eq!(run.tools_open(), ["search"], "c waits for both");
    run.tool_gives("search", json!(1));
    let Effect::CallTool { arguments, provenance, .. } = &run.open[0] else { panic!() };
    assert_eq!(serde_json::to_value(arguments).unwrap(), json!({ "sum": { "a": 1, "b": 2 } }));
    assert_eq!(provenance["sum"], Provenance::Untrusted, "what tools gave is data");
    run.tool_gives("store", json!("ok"));
    assert_eq!(run.completed(), json!("ok"));
}

#[test]
fn joins_accept_any_or_some_and_report_failures() {
    let flow = |join: serde_json::Value, partial: bool| {
        json!({
            "nodes": {
                "p": { "type": "parallel", "branches": ["a", "b"], "join": join, "partial": partial },
                "a": { "type": "tool", "tool": "search" }, "b": { "type": "tool", "tool": "pay" },
            },
            "edges": [{ "from": "p", "to": "__end__" }], "entry_point": "p",
        })
    };
    let run =
        |join, partial| Run::start(Definitions::new().workflow(flow(join, partial)).unwrap(), json!({}));
    let mut any = run(json!("any"), false);
    any.tool_gives("search", json!(1));
    assert_eq!(any.completed(), json!({ "a": 1 }), "the other is called off");
    let mut both_needed = run(json!(2), false);
    both_needed.tool_ends("pay", failed(Class::User));
    let failure = both_needed.failed();
    assert_eq!(failure.code, Code::ParallelFailed);
    assert!(failure.message.contains("TOOL_FAILED"), "{failure}");
    let mut partial = run(json!("all"), true);
    partial.tool_ends("pay", failed(Class::User));
    partial.tool_gives("search", json!(1));
    assert_eq!(partial.completed(), json!({ "a": 1 }));
}

#[test]
fn a_plan_finds_its_order_from_inputs_and_outputs() {
    let plan = json!([
        { "task_id": "report", "description": "", "tool_name": "store", "inputs": ["sales", "stock"],
          "arguments": { "text": "${data.sales.total} of ${data.stock}" } },
        { "task_id": "load_sales", "description": "", "tool_name": "search", "outputs": ["sales"] },
        { "task_id": "load_stock", "description": "", "tool_name": "clock", "outputs": ["stock"] },
    ]);
    let mut run = Run::start(Definitions::new().plan(plan).unwrap(), json!({}));
    assert_eq!(run.tools_open(), ["search", "clock"], "what needs nothing runs at once");
    run.tool_gives("search", json!({ "total": 5 }));
    run.tool_gives("clock", json!(9));
    let Effect::CallTool { arguments, .. } = &run.open[0] else { panic!() };
    assert_eq!(arguments["text"], json!("5 of 9"));
    run.tool_gives("store", json!("written"));
    assert_eq!(run.completed(), json!("written"));
}

#[test]
fn continuing_plan_skips_only_dependents() {
    let plan: Plan = serde_json::from_value(json!({
        "plan_id": TASK, "request_id": TASK, "total_estimated_seconds": 0.0,
        "created_at": "2026-01-01T00:00:00Z",
        "subtasks": [
            { "task_id": "a", "description": "", "tool_name": "search" },
            { "task_id": "b", "description": "", "tool_name": "store", "dependencies": ["a"] },
            { "task_id": "c", "description": "", "tool_name": "pay", "dependencies": ["b", "d"] },
            { "task_id": "d", "description": "", "tool_name": "clock" },
        ],
    }))
    .unwrap();
    let settings = Settings { retries: 0, on_failure: OnFailure::Continue, ..Settings::default() };
    let program = |plan: &Plan| {
        Program::compile(Root::Plan(plan.clone()), settings.clone(), &Definitions::new()).unwrap()
    };
    let mut run = Run::start(program(&plan), json!({}));
    run.tool_ends("search", failed(Class::User));
    assert_eq!(run.tools_open(), ["clock"], "what needs nothing of it goes on");
    run.tool_gives("clock", json!(9));
    assert_eq!(run.completed(), json!(null), "the end of the plan has no output");
    let status = |name: &str| run.state.node(&run.program, name).unwrap().status;
    let all = ["a", "b", "c", "d"].map(status);
    use NodeStatus::{Done, Failed, Skipped};
    assert_eq!(all, [Failed, Skipped, Skipped, Done]);
    let why = run.state.node(&run.program, "b").unwrap().error.clone().unwrap();
    assert_eq!(why.code, Code::NeedMissing, "{why}");
    // Nothing done at all is a failure of the plan.
    let mut run = Run::start(program(&plan), json!({}));
    run.tool_ends("search", failed(Class::User));
    run.tool_ends("clock", failed(Class::User));
    assert_eq!(run.failed().code, Code::ToolFailed);
}

#[test]
fn routes_and_conditions_choose_the_edge() {
    let flow = json!({
        "nodes": {
            "sort": { "type": "agent", "agent": "worker", "routing_key": "nodes.sort.output" },
            "money": { "type": "tool", "tool": "pay" }, "facts": { "type": "condition" },
            "small": { "type": "tool", "tool": "clock" }, "large": { "type": "tool", "tool": "search" },
        },
        "edges": [
            { "from": "sort", "to": { "refund": "money", "default": "facts" } },
            { "from": "facts", "to": "large", "condition": "input.size > 10" },
            { "from": "facts", "to": "small" },
        ], "entry_point": "sort",
    });
    for (says, size, tool) in [("refund", 1, "pay"), ("other", 11, "search"), ("other", 3, "clock")] {
        let mut run = Run::start(Definitions::new().workflow(flow.clone()).unwrap(), json!({ "size": size }));
        run.says(says);
        run.tool_gives(tool, json!(tool));
        assert_eq!(run.completed(), json!(tool));
    }
}

#[test]
fn a_failed_node_can_be_rescued() {
    let flow = json!({
        "nodes": {
            "a": { "type": "tool", "tool": "search", "on_error": "b" },
            "b": { "type": "tool", "tool": "store", "arguments": { "why": "${nodes.a.error}" } },
        },
        "edges": [{ "from": "a", "to": "__end__" }], "entry_point": "a",
    });
    let mut run = Run::start(Definitions::new().workflow(flow).unwrap(), json!({}));
    run.tool_ends("search", failed(Class::User));
    let Effect::CallTool { arguments, .. } = &run.open[0] else { panic!() };
    assert!(arguments["why"].as_str().unwrap().contains("broken"));
    run.tool_gives("store", json!("noted"));
    run.completed();
}

#[test]
fn budgets_end_a_run_clearly() {
    let used = Usage { input_tokens: 900, output_tokens: 200, cost_micros: 2_000_000 };
    for (limits, code) in [
        (Limits { tokens: Some(1000), ..Limits::default() }, "BUDGET_TOKENS"),
        (Limits { cost_usd: Some(1.5), ..Limits::default() }, "BUDGET_MONEY"),
    ] {
        let settings = Settings { limits, ..Settings::default() };
        let mut run = Run::start(Definitions::new().agent_program("worker", settings), json!("x"));
        run.reply(Reply { text: "hm".into(), usage: used, ..Reply::default() });
        assert_eq!(run.failed().code.name(), code);
    }
    let limits = Limits { seconds: Some(60), ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let mut run = Run::start(Definitions::new().agent_program("worker", settings), json!("x"));
    run.wait();
    assert_eq!(run.failed().code.name(), "BUDGET_TIME");
    let mut run = agent();
    for number in 0..10 {
        run.calls(&[("search", json!({ "n": number }))]);
        run.tool_gives("search", json!(number));
    }
    assert_eq!(run.failed().code.name(), "BUDGET_ITERATIONS");
}

#[test]
fn repeating_or_invalid_model_is_stopped() {
    let mut run = agent();
    for round in 0.. {
        run.calls(&[("search", json!({ "q": "same" }))]);
        if run.state.status().is_final() {
            assert_eq!((run.failed().code.name(), round), ("LOOP_REPEATED_CALL", 5));
            break;
        }
        if !run.tools_open().is_empty() {
            run.tool_gives("search", json!("same"));
        }
    }
    let mut run = agent();
    run.says("");
    run.says("  ");
    run.says("");
    assert_eq!(run.failed().code.name(), "MODEL_NONSENSE");
    let mut run = agent();
    for _ in 0..3 {
        run.calls(&[("search", json!("{broken"))]);
    }
    assert_eq!(run.failed().code.name(), "MODEL_NONSENSE");
    let mut run = agent();
    for number in 0..4 {
        run.calls(&[("no_such_tool", json!({ "n": number }))]);
    }
    assert_eq!(run.failed().code.name(), "MODEL_UNKNOWN_TOOL");
}

#[test]
fn a_wrong_server_before_a_tools_name_is_corrected() {
    let mut run = agent();
    run.calls(&[("other_server/search", json!({ "q": "tea" }))]);
    assert_eq!(run.tools_open(), ["search"]);
}

#[test]
fn a_model_that_cannot_be_reached_is_tried_again_with_the_servers_delay() {
    let mut run = agent();
    for _ in 0..3 {
        let (effect, at) = (run.model(), run.now());
        let retry_after_seconds = Some(30);
        let message = "busy".to_owned();
        run.send(Event::ModelFailed { effect, class: Class::Transient, message, retry_after_seconds, at })
            .unwrap();
        let (_, due) = run.timer();
        assert!(due.micros() - run.micros >= 30_000_000);
        run.wait();
    }
    let (effect, at) = (run.model(), run.now());
    let event = Event::ModelFailed {
        effect,
        class: Class::Transient,
        message: "busy".into(),
        retry_after_seconds: None,
        at,
    };
    run.send(event).unwrap();
    assert_eq!(run.failed().code, Code::ModelFailed);
}

#[test]
fn oldest_messages_are_dropped_with_their_results() {
    let limits = Limits { context_tokens: Some(400), ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let mut run = Run::start(Definitions::new().agent_program("worker", settings), json!("The task itself"));
    for number in 0..8 {
        run.calls(&[("search", json!({ "n": number }))]);
        run.tool_gives("search", json!("x".repeat(400)));
        let prompt = run.state.prompt(&run.program, run.model()).unwrap();
        assert_eq!(prompt.task.text, "The task itself");
        assert_ne!(prompt.messages[0].role, Role::Tool, "no answer without its call");
        let tokens: u32 = prompt.all().map(|message| message.tokens).sum();
        assert!(tokens <= 400, "{tokens}");
        assert_eq!(prompt.left_out > 0, number > 2);
    }
    let mut run = agent();
    run.calls(&[("search", json!({}))]);
    run.tool_gives("search", json!("y".repeat(100_000_000)));
    let shown = &run.state.prompt(&run.program, run.model()).unwrap().messages[1].text;
    assert!(shown.len() < 21_000 && shown.contains("100000000 bytes"), "a huge result is cut and says so");
    let limits = Limits { context_tokens: Some(50), ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let run = Run::start(Definitions::new().agent_program("worker", settings), json!("long ".repeat(100)));
    assert_eq!(run.failed().code, Code::ContextOverflow);
}

#[test]
fn patterns_compose() {
    let app =
        Definitions::new().with_agent(json!({ "name": "poet", "patterns": ["cot", "react", "reflection"] }));
    let mut run = Run::start(app.agent_program("poet", Settings::default()), json!("A poem"));
    run.says("First rhyme, then metre.");
    run.says("Draft");
    run.says("The second line limps.");
    run.says("Better");
    assert_eq!(run.completed(), json!("Better"));
    let app = Definitions::new().with_agent(json!({ "name": "poet", "patterns": ["reflection"] }));
    let mut run = Run::start(app.agent_program("poet", Settings::default()), json!("A poem"));
    run.says("Draft");
    run.says("OK.");
    assert_eq!(run.completed(), json!("Draft"));
    let app = Definitions::new().with_agent(json!({ "name": "poet", "patterns": ["cot"] }));
    let mut run = Run::start(app.agent_program("poet", Settings::default()), json!("2+2"));
    run.says("2 and 2.\nAnswer: 4");
    assert_eq!(run.completed(), json!("4"));
}

#[test]
fn a_cycle_that_changes_nothing_and_one_without_end_are_stopped() {
    let flow = |guard: &str, most: u32| {
        json!({
            "nodes": { "a": { "type": "tool", "tool": "search" }, "b": { "type": "condition" } },
            "edges": [
                { "from": "a", "to": "b" }, { "from": "b", "to": "a", "condition": guard }, { "from": "b", "to": "__end__" },
            ], "entry_point": "a", "allow_cycles": true, "max_iterations": most,
        })
    };
    let mut run = Run::start(Definitions::new().workflow(flow("true", 50)).unwrap(), json!({}));
    while !run.state.status().is_final() {
        run.tool_gives("search", json!("same"));
    }
    assert_eq!(run.failed().code, Code::LoopNoProgress);
    let mut run = Run::start(Definitions::new().workflow(flow("true", 9)).unwrap(), json!({}));
    for number in 0.. {
        if run.state.status().is_final() {
            break;
        }
        run.tool_gives("search", json!(number));
    }
    assert_eq!(run.failed().code, Code::BudgetIterations);
    let mut run = Run::start(Definitions::new().workflow(flow("nodes.a.output < 2", 50)).unwrap(), json!({}));
    for number in 0..3 {
        run.tool_gives("search", json!(number));
    }
    assert_eq!(run.completed(), json!(2));
}

#[test]
fn late_and_doubled_events_change_nothing() {
    let mut run = agent();
    let effect = run.model();
    run.says("Done.");
    let at = run.now();
    let event = Event::ModelReplied { effect, reply: Reply::default(), at };
    assert_eq!(run.send(event), Err(Rejected::Ended));
    let mut run = agent();
    let effect = run.model();
    run.calls(&[("search", json!({}))]);
    let at = run.now();
    let twice = Event::ModelReplied { effect, reply: Reply::default(), at };
    assert_eq!(run.send(twice), Err(Rejected::Late { effect }));
    let never = EffectId(999);
    assert_eq!(run.send(Event::TimerFired { timer: never, at }), Err(Rejected::Unknown { effect: never }));
    let tool = run.tool("search");
    assert_eq!(run.send(Event::TimerFired { timer: tool, at }), Err(Rejected::WrongKind { effect: tool }));
    run.tool_gives("search", json!(1));
    run.says("Done.");
    run.completed();
}

#[test]
fn cancelled_task_cancels_pending_effects() {
    let mut run = agent();
    run.calls(&[("search", json!({})), ("store", json!({}))]);
    let at = run.now();
    let effects = run.send(Event::CancelRequested { by: "ada".into(), at }).unwrap();
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Cancel { .. })).count(), 2);
    assert_eq!(run.state.status(), Status::Cancelled);
    run.check();
}

#[test]
fn a_task_is_forked_from_any_step_with_keys_of_its_own() {
    let mut run = agent();
    run.calls(&[("search", json!({ "q": "tea" }))]);
    let Effect::CallTool { key: first, id, .. } = run.open[0].clone() else { panic!() };
    run.tool_gives("search", json!("found"));
    run.says("One way.");
    run.completed();
    let other: TaskId = "11111111-1111-4111-8111-111111111111".parse().unwrap();
    let events = fork(&run.events, 2, other);
    let mut state = fold(&run.program, &events);
    let at = run.now();
    let effects = state.apply(&run.program, &Event::Recovered { in_flight: vec![], at }).unwrap();
    let Effect::CallTool { key, id: again, .. } = &effects[0] else { panic!() };
    assert_eq!((*again, state.task()), (id, Some(other)));
    assert_ne!(*key, first, "the fork's calls are its own");
    let outcome = ToolOutcome::Success { output: json!("other"), artifact: None };
    state.apply(&run.program, &Event::ToolEnded { effect: id, outcome, at }).unwrap();
    assert_eq!(state.status(), Status::Running);
}

#[test]
fn state_is_projected_to_the_data_model() {
    let mut run = agent();
    run.calls(&[("search", json!({ "q": "tea" }))]);
    run.tool_gives("search", json!("found"));
    let shown = run.state.shown(&run.program).unwrap();
    let roles: Vec<Role> = shown.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Agent, Role::Tool]);
    assert_eq!(shown.current_agent.as_str(), "worker");
    for message in shown.messages {
        message.validate().unwrap();
    }
    let checkpoint = run.state.checkpoint(&run.program, CheckpointId(run.state.task().unwrap().0)).unwrap();
    assert_eq!((checkpoint.position.as_str(), checkpoint.awaiting_human), ("worker", false));
    checkpoint.validate().unwrap();
}

/// A journal of deltas: what is stored for a step does not grow with the steps before it.
#[test]
fn events_and_effects_stay_as_small_at_the_end_as_at_the_start() {
    let app = Definitions::new()
        .with_agent(json!({ "name": "long", "tools": ["search"], "max_iterations": 10000 }));
    let size = |steps: u32| {
        let mut state = State::new(&app.agent_program("long", Settings::default()));
        let program = app.agent_program("long", Settings::default());
        let at = Timestamp::from_micros(1_767_225_600_000_000);
        let task = crate::kit::TASK.parse().unwrap();
        let mut next =
            Event::Started { task, input: json!("x"), depth: 0, untrusted: false, earlier: Vec::new(), at };
        let mut bytes = 0;
        for step in 0..steps {
            let effects = state.apply(&program, &next).unwrap();
            bytes +=
                serde_json::to_string(&next).unwrap().len() + serde_json::to_string(&effects).unwrap().len();
            next = match effects.last().unwrap() {
                Effect::CallModel { id, .. } => {
                    let call = AskedCall {
                        id: "c".into(),
                        tool: "search".into(),
                        arguments: json!({ "n": 10_000 + step }),
                    };
                    Event::ModelReplied {
                        effect: *id,
                        reply: Reply { tool_calls: vec![call], ..Reply::default() },
                        at,
                    }
                }
                Effect::CallTool { id, .. } => {
                    let outcome = ToolOutcome::Success { output: json!({ "price": 3 }), artifact: None };
                    Event::ToolEnded { effect: *id, outcome, at }
                }
                other => panic!("{other:?}"),
            };
        }
        bytes as f64 / f64::from(steps)
    };
    let (short, long) = (size(100), size(10_000));
    assert!((long / short - 1.0).abs() < 0.2, "{short:.0} bytes a step at 100 steps, {long:.0} at 10,000");
}
