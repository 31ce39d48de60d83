//! What running costs: an agent with a stub model and one read-only tool, ten calls a task, as
//! others are measured. A step is a reply of the model or an answer of the tool. Prints one JSON
//! object.
//!
//! `none N` keeps nothing. `durable N HOME [--at-once K]` keeps everything in HOME, tools through
//! the gateway. `paused N HOME` leaves N tasks waiting for a person. `first HOME` takes one durable
//! step. `storage STEPS HOME` says what a task of so many steps takes on disk.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a measurement may fail loudly"
)]

mod app;

use app::{store_options, toolbox};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use steward_domain::{Agent, AgentName, Idempotency, JsonObject, TaskId, ToolName, UserId};
use steward_engine::{
    AskedCall, Effect, EffectId, Event, Lookup, Program, Reply, Root, Settings, State, ToolOutcome, ToolSpec,
};
use steward_journal::clock::{Clock, SystemClock};
use steward_models::{
    Answer, Arguments, Chat, Listener, Model, ModelError, Models, Reply as Text, Request, ToolCall, Turn,
};
use steward_runtime::run::{EffectHandler, EffectOutcome, RunStatus, Runner, Work, run_unlogged};
use steward_store::sqlite::SqliteStore;
use tokio::task::JoinSet;

/// The allocator that the program itself has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CALLS: usize = 10;

struct Tools(&'static str);

impl Lookup for Tools {
    fn agent(&self, _: &AgentName) -> Option<Agent> {
        None
    }
    fn tool(&self, name: &ToolName) -> Option<ToolSpec> {
        let safety = Idempotency::ReadOnly;
        (name.as_str() == self.0).then(|| ToolSpec {
            name: name.clone(),
            server: None,
            safety,
            timeout_seconds: 300,
            fallback_tools: vec![],
            trusted_fields: Vec::new(),
        })
    }
}

fn program(tool: &'static str, model: &str) -> Arc<Program> {
    let agent: Agent = serde_json::from_value(json!({
        "name": "worker", "role": "Works", "system_prompt": "Work.", "tools": [tool], "max_iterations": 10_000,
        "llm_config": { "model": model },
    }))
    .expect("an agent");
    Program::compile(Root::Agent(agent), Settings::default(), &Tools(tool)).expect("a program").into()
}

/// A model and a tool as plain functions.
struct Plain(Arc<SystemClock>);

impl EffectHandler for Plain {
    fn call_tool(&self, effect: Effect) -> Work {
        let Effect::CallTool { id, arguments, .. } = effect else {
            return Box::pin(async { EffectOutcome::Nothing });
        };
        let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
        let outcome = ToolOutcome::Success { output: json!(sum), artifact: None };
        let event = Event::ToolEnded { effect: id, outcome, at: self.0.now() };
        Box::pin(std::future::ready(EffectOutcome::Happened(event)))
    }

    fn ask_model(&self, program: &Program, state: &State, id: EffectId) -> Work {
        let prompt = state.prompt(program, id).expect("a prompt");
        let made = prompt.messages.iter().filter(|message| message.answers.is_some()).count();
        let mut reply = Reply::default();
        if made < CALLS {
            let arguments = json!({ "a": made, "b": 1 });
            reply.tool_calls.push(AskedCall { id: made.to_string(), tool: "add".into(), arguments });
        } else {
            reply.text = "done".into();
        }
        let event = Event::ModelReplied { effect: id, reply, at: self.0.now() };
        Box::pin(std::future::ready(EffectOutcome::Happened(event)))
    }

    fn start_sub(&self, _: &Program, _: Effect) -> Work {
        Box::pin(async { EffectOutcome::Nothing })
    }
}

/// The same model behind the interface of models.
struct Stub {
    calls: usize,
    /// Counts by itself, for one long task whose oldest messages are no longer shown.
    made: Option<AtomicUsize>,
}

#[async_trait]
impl Model for Stub {
    fn name(&self) -> &str {
        "stub"
    }
    fn leaves_process(&self) -> bool {
        false
    }
    async fn complete(&self, _: &Request) -> Result<Text, ModelError> {
        Ok(Text {
            text: String::new(),
            json: None,
            input_tokens: 0,
            output_tokens: 0,
            cost_micros: None,
            model: String::new(),
        })
    }
    async fn talk(&self, chat: &Chat, _: Option<&Listener>) -> Result<Answer, ModelError> {
        let shown = || chat.turns.iter().filter(|turn| matches!(turn, Turn::Tool { .. })).count();
        let made = self.made.as_ref().map_or_else(shown, |made| made.fetch_add(1, Ordering::Relaxed));
        let mut answer = Answer::default();
        if made < self.calls {
            let mut arguments = JsonObject::new();
            arguments.insert("expression".into(), json!(format!("{made}+1")));
            let arguments = Arguments::Json(arguments);
            let name = "math_eval".to_owned();
            answer.calls.push(ToolCall { id: made.to_string(), name, arguments, signature: None });
        } else {
            answer.text = "done".into();
        }
        Ok(answer)
    }
}

async fn runner(home: &Path, calls: usize, counts: bool) -> Runner {
    let store = SqliteStore::open(&home.join("state.db"), store_options(home)).expect("a store");
    let toolbox = Arc::new(toolbox(home, Arc::new(store)).await);
    let stub = Stub { calls, made: counts.then(AtomicUsize::default) };
    let mute = Stub { calls: 0, made: None };
    let models = Models::default().with("stub", Arc::new(stub)).with("mute", Arc::new(mute));
    Runner::new(toolbox, Arc::new(models), home.to_owned()).expect("a runner")
}

fn user() -> UserId {
    UserId::new("bench").expect("a name")
}

async fn none(tasks: usize) -> Json {
    let clock = Arc::new(SystemClock::default());
    let program = program("add", "stub");
    let hands = Plain(clock.clone());
    let began = Instant::now();
    for n in 0..tasks {
        let task = TaskId(uuid::Uuid::from_u128(n as u128 + 1));
        let ran =
            run_unlogged(program.clone(), json!("go"), &hands, clock.clone(), task).await.expect("a run");
        assert_eq!(ran.standing, RunStatus::Completed(json!("done")));
    }
    json!({ "tasks": tasks, "steps": tasks * (2 * CALLS + 1), "seconds": began.elapsed().as_secs_f64() })
}

async fn durable(tasks: usize, home: &Path, at_once: usize) -> Json {
    let runner = runner(home, CALLS, false).await;
    let program = program("math.eval", "stub");
    let one = |runner: Runner, program: Arc<Program>| async move {
        let ran = runner.run(&user(), program, json!("go"), None).await.expect("a run");
        assert_eq!(ran.standing, RunStatus::Completed(json!("done")));
    };
    one(runner.clone(), program.clone()).await;
    let began = Instant::now();
    let (mut running, mut begun) = (JoinSet::new(), 0);
    while begun < tasks || !running.is_empty() {
        while begun < tasks && running.len() < at_once {
            running.spawn(one(runner.clone(), program.clone()));
            begun += 1;
        }
        running.join_next().await.expect("some run").expect("it ends well");
    }
    json!({ "tasks": tasks, "steps": tasks * (2 * CALLS + 1), "seconds": began.elapsed().as_secs_f64() })
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}

fn on_disk(home: &Path) -> u64 {
    let files = ["state.db", "state.db-wal"].map(|name| home.join(name));
    files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// One model step, then a person is asked.
async fn paused(tasks: usize, home: &Path) -> Json {
    let runner = runner(home, CALLS, false).await;
    let workflow = json!({
        "name": "ask", "entry_point": "think", "patterns": ["react"],
        "nodes": { "think": { "type": "agent", "agent": "worker" }, "human": { "type": "human" } },
        "edges": [{ "from": "think", "to": "human" }, { "from": "human", "to": "__end__" }],
    });
    struct One;
    impl Lookup for One {
        fn agent(&self, _: &AgentName) -> Option<Agent> {
            serde_json::from_value(json!({
                "name": "worker", "role": "Works", "system_prompt": "Work.", "tools": [], "llm_config": { "model": "mute" },
            }))
            .ok()
        }
        fn tool(&self, _: &ToolName) -> Option<ToolSpec> {
            None
        }
    }
    let workflow = serde_json::from_value(workflow).expect("a workflow");
    let program = Program::compile(Root::Workflow(workflow), Settings::default(), &One).expect("a program");
    let program = Arc::new(program);
    let wait = |runner: Runner, program: Arc<Program>| async move {
        let ran = runner.run(&user(), program, json!("go"), None).await.expect("a run");
        assert_eq!(ran.standing, RunStatus::Waiting);
    };
    wait(runner.clone(), program.clone()).await;
    let before = resident();
    let mut running = JoinSet::new();
    for _ in 0..tasks {
        if running.len() >= 100 {
            running.join_next().await.expect("some run").expect("it waits");
        }
        running.spawn(wait(runner.clone(), program.clone()));
    }
    while running.join_next().await.is_some() {}
    let after = resident();
    drop((runner, program, wait));
    json!({ "tasks": tasks, "rss_before": before, "rss_after": after, "disk": on_disk(home) })
}

async fn storage(steps: usize, home: &Path) -> Json {
    let calls = steps / 2;
    let runner = runner(home, calls, true).await;
    let before = on_disk(home);
    let ran = runner.run(&user(), program("math.eval", "stub"), json!("go"), None).await.expect("a run");
    assert_eq!(ran.standing, RunStatus::Completed(json!("done")));
    drop(runner);
    json!({ "steps": 2 * calls + 1, "bytes": on_disk(home).saturating_sub(before) })
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| args.get(place).and_then(|n| n.parse::<usize>().ok()).expect("a number");
    let home = |place: usize| Path::new(args.get(place).expect("a folder"));
    let shown = match args.first().map(String::as_str) {
        Some("none") => none(number(1)).await,
        Some("durable") => durable(number(1), home(2), if args.len() > 4 { number(4) } else { 1 }).await,
        Some("paused") => paused(number(1), home(2)).await,
        Some("first") => {
            let runner = runner(home(1), 0, false).await;
            let ran = runner.run(&user(), program("math.eval", "stub"), json!("go"), None).await;
            json!({ "steps": ran.expect("a run").steps })
        }
        Some("storage") => storage(number(1), home(2)).await,
        _ => json!({ "error": "runtime_bench none|durable|paused|first|storage" }),
    };
    println!("{shown}");
}
