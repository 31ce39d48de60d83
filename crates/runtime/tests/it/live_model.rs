//! A real language model, played back: an agent and a conversation that look a price up over MCP
//! and calculate with it.
//!
//! `cargo xtask test live-model` has the same task done by the model itself, and records it.

use crate::toolbox::Shop;
use crate::{Fixture, user};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Label, Timestamp};
use steward_journal::clock::{Clock, SystemClock};
use steward_models::{ModelServices, ModelSettings, build};
use steward_policy::Caller;
use steward_runtime::converse::{ChatModel, ChatService, ModelLimits, Reply, Strategy, Turn};
use steward_runtime::run::{RunStatus, Runner};
use steward_store::Scope;

#[tokio::test]
async fn a_real_model_does_a_task_with_two_tools() {
    let files = PathBuf::from(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime"))
        .join("tests/it/fixtures/two_tools");
    let fixture = Fixture::new();
    let home = fixture.folder.path().to_owned();
    std::fs::create_dir_all(home.join("config")).unwrap();
    std::fs::create_dir_all(home.join("agents")).unwrap();
    std::fs::copy(files.join("clerk.yaml"), home.join("agents/clerk.yaml")).unwrap();
    let servers = json!({ "servers": [{ "name": "shop", "transport": "stdio",
        "config": { "command": "python3", "args": [files.join("price_server.py")] } }] });
    std::fs::write(home.join("config/mcp_servers.yaml"), servers.to_string()).unwrap();
    let toolbox = Arc::new(Shop::toolbox(&fixture).await);

    let recorded = ModelSettings {
        name: "qwen2.5-coder-1.5b-instruct".to_owned(),
        replay: Some(files.join("two_tools.jsonl")),
        ..ModelSettings::default()
    };
    let models = build(&[("qwen".to_owned(), recorded)].into(), &ModelServices::default()).unwrap();
    let runner = Runner::new(toolbox.clone(), Arc::new(models), home).unwrap();
    let question = std::fs::read_to_string(files.join("question.txt")).unwrap();
    let ran = runner.start(&user(), "clerk", json!(question.trim()), None).await.unwrap();
    let RunStatus::Completed(Json::String(said)) = &ran.standing else { panic!("{ran:?}") };
    assert!(said.contains("391"), "17 times 23: {said}");

    let scope = Scope::User(user());
    let (program, events) =
        steward_runtime::run::history(&*fixture.app.store, &scope, ran.task).await.unwrap();
    let trace = steward_engine::trace(&program, &events).unwrap();
    let calls: Vec<_> = trace.steps.iter().flat_map(|step| &step.tool_calls).collect();
    let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    assert_eq!(names, ["shop.price", "math.eval"], "{calls:?}");
    assert!(calls.iter().all(|call| call.error.is_none()), "{calls:?}");
    toolbox.close().await;
}

/// A conversation with the real model, played back. `STEWARD_LIVE_MODEL=URL` asks the model itself
/// and records what it says: `cargo xtask test live-model` does that.
struct LiveChat {
    fixture: Fixture,
    service: ChatService,
    recording: PathBuf,
    caller: Caller,
}

impl LiveChat {
    async fn open(name: &str, tools: &[&str], plan_first: bool) -> Self {
        let files = PathBuf::from(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime"))
            .join("tests/it/fixtures/two_tools");
        let recording = files.join(format!("{name}.jsonl"));
        let mut fixture = Fixture::new();
        // Prompts say what day it is.
        fixture.app.clock = Arc::new(SameDay(SystemClock::default()));
        let home = fixture.folder.path().to_owned();
        std::fs::create_dir_all(home.join("config")).unwrap();
        let servers = json!({ "servers": [{ "name": "shop", "transport": "stdio",
            "config": { "command": "python3", "args": [files.join("price_server.py")] } }] });
        std::fs::write(home.join("config/mcp_servers.yaml"), servers.to_string()).unwrap();
        let caller = Caller {
            tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
            ..Caller::owner(user())
        };
        fixture.grants.set(user(), Ok(caller.clone()));
        let toolbox = Arc::new(Shop::toolbox(&fixture).await);
        let name = "qwen2.5-coder-1.5b-instruct".to_owned();
        let settings = match std::env::var("STEWARD_LIVE_MODEL") {
            Err(_) => ModelSettings { name, replay: Some(recording.clone()), ..ModelSettings::default() },
            Ok(url) => {
                let _there_was_none = std::fs::remove_file(&recording);
                let (base_url, record) = (Some(url), Some(recording.clone()));
                let timeout_seconds = Some(900);
                ModelSettings { name, base_url, record, timeout_seconds, ..ModelSettings::default() }
            }
        };
        let models = build(&[("qwen".to_owned(), settings)].into(), &ModelServices::default()).unwrap();
        let runner = Runner::new(toolbox.clone(), Arc::new(models), home).unwrap();
        let name = Label::new("qwen").unwrap();
        let limits = ModelLimits { steps: 8, tokens: 40_000, money: None, seconds: 1800 };
        let model = ChatModel { runner, extractor: name.clone(), name, limits, plan_first };
        let service = ChatService::new(toolbox, Default::default()).with_model(model);
        Self { fixture, service, recording, caller }
    }

    async fn say(&self, said: &str, data: &[String]) -> Reply {
        let turn = Turn {
            said: said.to_owned(),
            conversation: None,
            caller: self.caller.clone(),
            data: data.to_vec(),
            choice: None,
        };
        let reply = self.service.say(&turn, &|_| {}).await.unwrap();
        eprintln!("{reply:#?}");
        assert!(self.recording.exists());
        reply
    }

    async fn close(self) {
        self.service.toolbox().close().await;
        drop(self.fixture);
    }
}

/// The real clock on one day.
struct SameDay(SystemClock);

impl Clock for SameDay {
    fn now(&self) -> Timestamp {
        let day = 86_400_000_000;
        Timestamp::from_micros(1_772_409_600_000_000 + self.0.now().micros().rem_euclid(day))
    }
    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

fn tools(reply: &Reply) -> Vec<&str> {
    reply.response.tool_calls_made.iter().map(|call| call.tool_name.as_str()).collect()
}

#[tokio::test]
async fn a_real_model_uses_two_tools_in_a_conversation() {
    let chat = LiveChat::open("chat", &["shop.price", "math.eval"], false).await;
    let reply = chat.say("What do 17 lamps cost? Use shop.price for a lamp, then math.eval.", &[]).await;
    assert_eq!(tools(&reply), ["shop.price", "math.eval"]);
    assert!(reply.response.answer.contains("391"), "{}", reply.response.answer);
    let used = reply.model.as_ref().unwrap();
    assert_eq!(used.strategy, Strategy::StepByStep);
    assert!(used.unverified.is_empty(), "{:?}", used.unverified);
    chat.close().await;
}

#[tokio::test]
async fn a_real_model_writes_a_plan_before_it_sees_a_result() {
    let chat = LiveChat::open("plan", &["shop.price", "math.eval"], true).await;
    let said = "What do 17 lamps cost? Look up the price of one lamp, then calculate 17 times that price.";
    let reply = chat.say(said, &[]).await;
    assert_eq!(tools(&reply), ["shop.price", "math.eval"]);
    assert!(reply.response.answer.contains("391"), "{}", reply.response.answer);
    let used = reply.model.as_ref().unwrap();
    assert_eq!(used.strategy, Strategy::PlanFirst);
    assert!(used.unverified.is_empty(), "{:?}", used.unverified);
    chat.close().await;
}

/// A table of sales, a price list and a calculation: the model looks at the data, then at the list,
/// then puts both together.
#[tokio::test]
async fn a_real_model_analyses_in_three_steps() {
    let chat = LiveChat::open("analysis", &["shop.price", "math.eval"], false).await;
    let file = chat.fixture.folder.path().join("sales.csv");
    let rows = ["north,lamp,4", "south,lamp,9", "north,chair,7", "south,lamp,4", "west,chair,2"];
    std::fs::write(&file, format!("region,article,pieces\n{}\n", rows.join("\n"))).unwrap();
    let said = "First ask the data for the sum of pieces where article is lamp. Then use shop.price to \
                look up one lamp. Then use math.eval to multiply both numbers. What is the product?";
    let reply = chat.say(said, &[file.to_string_lossy().into_owned()]).await;
    let answer = &reply.response.answer;
    // 17 lamps at 23.
    assert!(answer.contains("391"), "{answer}");
    let called = tools(&reply);
    assert!(
        ["steward.ask_data", "shop.price", "math.eval"].iter().all(|tool| called.contains(tool)),
        "{called:?}"
    );
    chat.close().await;
}
