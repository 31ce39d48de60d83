//! How many steps the engine takes in a second: an agent with a stub model and one tool, ten calls
//! a task, nothing stored. A step is a reply of the model or an answer of the tool, as others count
//! the nodes they pass.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a measurement outside the engine reads the clock itself"
)]

use serde_json::json;
use std::time::Instant;
use steward_domain::{Agent, AgentName, Idempotency, Timestamp, ToolName};
use steward_engine::*;

struct AppContext;

impl Lookup for AppContext {
    fn agent(&self, _: &AgentName) -> Option<Agent> {
        None
    }
    fn tool(&self, name: &ToolName) -> Option<ToolSpec> {
        let safety = Idempotency::ReadOnly;
        Some(ToolSpec {
            name: name.clone(),
            server: None,
            safety,
            timeout_seconds: 300,
            fallback_tools: vec![],
            trusted_fields: Vec::new(),
        })
    }
}

fn main() {
    let agent: Agent = serde_json::from_value(json!({
        "name": "worker", "role": "Works", "system_prompt": "Work.", "tools": ["search"], "max_iterations": 10000,
        "llm_config": { "model": "stub" },
    }))
    .unwrap();
    let program = Program::compile(Root::Agent(agent), Settings::default(), &AppContext).unwrap();
    for (calls, tasks) in [(10, 30_000), (1000, 300)] {
        let begun = Instant::now();
        let (mut steps, mut bytes) = (0u64, 0);
        for task in 0..tasks {
            let (taken, state) = run(&program, calls);
            steps += taken;
            if task == 0 {
                bytes = serde_json::to_vec(&state).unwrap().len();
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "{calls:>5} calls a task, {tasks} tasks: {steps} steps in {seconds:.2} s = {:.0} steps/s; final \
                state {bytes} bytes",
            steps as f64 / seconds
        );
    }
}

fn run(program: &Program, calls: u32) -> (u64, State) {
    let mut state = State::new(program);
    let mut effects = Vec::new();
    let at = Timestamp::from_micros(1_767_225_600_000_000);
    let task = "550e8400-e29b-41d4-a716-446655440000".parse().unwrap();
    let started = Event::Started {
        task,
        input: json!("Find the price of tea"),
        depth: 0,
        untrusted: false,
        earlier: Vec::new(),
        at,
    };
    state.apply_into(program, &started, &mut effects).unwrap();
    let (mut steps, mut made) = (0, 0);
    while let Some(effect) = effects.pop() {
        let event = match effect {
            Effect::CallModel { id, .. } if made < calls => {
                made += 1;
                let call =
                    AskedCall { id: "c".into(), tool: "search".into(), arguments: json!({ "n": made }) };
                let reply = Reply { tool_calls: vec![call], ..Reply::default() };
                Event::ModelReplied { effect: id, reply, at }
            }
            Effect::CallModel { id, .. } => {
                let reply = Reply { text: "Tea costs 3.".into(), ..Reply::default() };
                Event::ModelReplied { effect: id, reply, at }
            }
            Effect::CallTool { id, .. } => {
                let outcome = ToolOutcome::Success { output: json!({ "price": 3 }), artifact: None };
                Event::ToolEnded { effect: id, outcome, at }
            }
            _ => continue,
        };
        steps += 1;
        state.apply_into(program, &event, &mut effects).unwrap();
    }
    assert_eq!(state.status(), Status::Completed);
    (steps, state)
}
