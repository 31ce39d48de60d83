//! MCP servers in a conversation: merely listed, slow to start, or not there at all.

use crate::talks::Office;
use crate::toolbox::Shop;
use crate::{Fixture, user};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use steward_policy::Caller;
use steward_runtime::converse::{ChatService, Limits, Outcome, ProgressEvent, Turn};

fn app(name: &str) -> PathBuf {
    let root = Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime")).ancestors().nth(2).unwrap();
    root.join("examples/apps").join(format!("{name}.py"))
}

/// A home with these servers and nothing else.
async fn with_servers(servers: Json) -> Office {
    let fixture = Fixture::new();
    let home = fixture.folder.path();
    std::fs::create_dir_all(home.join("config")).unwrap();
    std::fs::write(home.join("config/mcp_servers.yaml"), json!({ "servers": servers }).to_string()).unwrap();
    let toolbox = Shop::toolbox(&fixture).await;
    Office { chat: ChatService::new(Arc::new(toolbox), Limits::default()), fixture }
}

fn listed(name: &str, script: &str) -> Json {
    json!({ "name": name, "transport": "stdio", "config": { "command": "python3", "args": [app(script)] } })
}

#[tokio::test]
async fn servers_that_are_merely_listed_are_applications_of_their_own() {
    let office = with_servers(json!([listed("my-tasks", "todo"), listed("notebook", "notes")])).await;
    let reader = office.chat.reader(&Caller::owner(user()), &[]).await.unwrap();
    let domains: Vec<&str> = reader.domains().map(|topic| topic.name.as_str()).collect();
    assert_eq!(domains, ["my_tasks", "notebook"]);
    let tasks = office.say(None, "show my tasks").await;
    assert_eq!(tasks.outcome, Outcome::Answered, "{tasks:#?}");
    let talk = Some(tasks.conversation_id);
    let notes = office.say(talk, "list my notes").await;
    assert_eq!(notes.outcome, Outcome::Answered, "{notes:#?}");
    let asked = office.say(talk, "delete the second one").await;
    let label = asked.question.as_ref().map(|question| question.options[0].label.clone());
    assert_eq!(label.as_deref(), Some("Delete note 8 “Garden plan”"), "{asked:#?}");
}

#[tokio::test]
async fn slow_server_start_is_reported() {
    let script = format!("sleep 2; exec python3 {}", app("todo").display());
    let slow = json!({ "name": "todo", "transport": "stdio", "config": { "command": "sh", "args": ["-c", script] } });
    let office = with_servers(json!([slow])).await;
    let heard: Mutex<Vec<ProgressEvent>> = Mutex::default();
    let turn = Turn {
        said: "show my tasks".into(),
        conversation: None,
        caller: Caller::owner(user()),
        data: Vec::new(),
        choice: None,
    };
    let reply = office.chat.say(&turn, &|one| heard.lock().unwrap().push(one)).await.unwrap();
    assert_eq!(reply.outcome, Outcome::Answered, "{reply:#?}");
    let waited = ProgressEvent::Waiting { servers: vec!["todo".into()] };
    assert_eq!(heard.lock().unwrap().first(), Some(&waited));
}

#[tokio::test]
async fn failed_server_is_named() {
    let broken =
        json!({ "name": "ledger", "transport": "stdio", "config": { "command": "false", "args": [] } });
    let office = with_servers(json!([broken])).await;
    let reply = office.say(None, "show my accounts").await;
    let answer = &reply.response.answer;
    assert!(answer.contains("ledger cannot be used: the MCP server ledger did not start"), "{answer}");
    assert!(answer.contains("steward mcp-servers log ledger"), "{answer}");
    assert!(!answer.contains("Nothing is set up"), "{answer}");
    // Who may call nothing of it is not told that it is there.
    let caller =
        Caller { tools: Some(["notes.*".into()].into()), administrator: false, ..Caller::owner(user()) };
    let turn =
        Turn { said: "show my accounts".into(), conversation: None, caller, data: Vec::new(), choice: None };
    let reply = office.chat.say(&turn, &|_| {}).await.unwrap();
    assert!(!reply.response.answer.contains("ledger"), "{}", reply.response.answer);
}
