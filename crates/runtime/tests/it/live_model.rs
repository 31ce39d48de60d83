//! A run with a real language model, played back: the agent looks a price up over MCP and calculates with it.
//!
//! `cargo xtask test live-model` has the same task done by the model itself, and records it.

use crate::toolbox::Shop;
use crate::{Fixture, user};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use steward_models::{ModelServices, ModelSettings, build};
use steward_runtime::run::{RunStatus, Runner};
use steward_store::Scope;

#[tokio::test]
async fn a_real_model_does_a_task_with_two_tools() {
    let files = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/two_tools");
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
        steward_runtime::run::history(&*fixture.house.store, &scope, ran.task).await.unwrap();
    let trace = steward_engine::trace(&program, &events).unwrap();
    let calls: Vec<_> = trace.steps.iter().flat_map(|step| &step.tool_calls).collect();
    let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    assert_eq!(names, ["shop.price", "math.eval"], "{calls:?}");
    assert!(calls.iter().all(|call| call.error.is_none()), "{calls:?}");
    toolbox.close().await;
}
