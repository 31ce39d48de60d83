//! Resources and prompts of MCP servers, read through the gateway.

use crate::toolbox::Shop;
use crate::{Fixture, user};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use steward_domain::{EventType, ServerName};
use steward_policy::Caller;
use steward_runtime::toolbox::{ResourceTool, Toolbox};
use steward_store::Scope;
use steward_tools::call::Request;
use steward_tools::mcp::CompletionQuery;
use steward_tools::{Content, Error};

/// A toolbox with a quick and a slow library.
async fn libraries(fixture: &Fixture) -> Toolbox {
    let program = PathBuf::from(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime"))
        .join("tests/it/fixtures/library_server.py");
    let more = fixture.folder.path().join("more");
    let server = |name: &str, delay: &str| {
        json!({ "name": name, "transport": "stdio",
            "config": { "command": "python3", "args": [program, name, delay, more] } })
    };
    let config = json!({ "servers": [server("city", "0"), server("slow.one", "20")] });
    let folder = fixture.folder.path().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mcp_servers.yaml"), config.to_string()).unwrap();
    Shop::toolbox(fixture).await
}

fn city() -> ServerName {
    "city".parse().unwrap()
}

async fn call(
    toolbox: &Toolbox,
    caller: &Caller,
    tool: &str,
    arguments: Json,
) -> Result<steward_tools::call::Receipt, Error> {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    let called = toolbox.call(&Request::new(caller.clone(), tool, arguments)).await;
    called.map_err(|error| match error {
        steward_runtime::Error::Tools(error) => error,
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn resources_and_prompts_of_a_server_are_read_by_tools_in_the_journal() {
    let fixture = Fixture::new();
    let toolbox = libraries(&fixture).await;
    let owner = Caller::owner(user());
    let listed = call(&toolbox, &owner, "city.resources_list", json!({})).await.unwrap();
    let listed = listed.output.structured.unwrap();
    assert_eq!(listed["resources"][0]["uri"], "book://emma");
    assert_eq!(listed["templates"][0]["uri_template"], "book://{title}");
    let read = call(&toolbox, &owner, "city.resources_read", json!({ "uri": "book://emma" })).await.unwrap();
    assert!(
        matches!(&read.output.content[..], [Content::Resource { uri, text: Some(text), .. }]
            if uri == "book://emma" && text == "The text of emma, by city."),
        "{:?}",
        read.output
    );
    let entries = fixture.app.store.entries(&Scope::User(user()), read.chain, 0, 10).await.unwrap();
    let events: Vec<EventType> = entries.iter().map(|entry| entry.entry.event_type).collect();
    assert_eq!(events, [EventType::ToolCalled, EventType::ObservationRecorded]);
    let prompts = call(&toolbox, &owner, "city.prompts_list", json!({})).await.unwrap();
    assert_eq!(prompts.output.structured.unwrap()["prompts"][0]["arguments"][0]["required"], true);
    let filled = json!({ "name": "review", "arguments": { "title": "emma" } });
    let prompt = call(&toolbox, &owner, "city.prompts_get", filled).await.unwrap();
    let messages = &prompt.output.structured.unwrap()["messages"];
    assert_eq!(messages[0]["content"]["text"], "Review emma.");
    let query = CompletionQuery {
        of: "book://{title}".into(),
        prompt: false,
        argument: "title".into(),
        typed: "mi".into(),
        settled: Default::default(),
    };
    assert_eq!(toolbox.complete(&owner, &city(), query).await.unwrap().values, ["middlemarch"]);
    // What does not exist is an error of the server; a missing argument is one of the caller.
    let missing = call(&toolbox, &owner, "city.resources_read", json!({ "uri": "book://none" })).await;
    assert!(matches!(missing, Err(Error::Failed { .. })), "{missing:?}");
    let incomplete = call(&toolbox, &owner, "city.resources_read", json!({})).await;
    assert!(matches!(incomplete, Err(Error::Arguments { .. })), "{incomplete:?}");
    // They are in no list, so that they are never chosen by their words, and another server's name
    // is never corrected to this one.
    let offered = toolbox.registry().list(&Default::default());
    let offered: Vec<&str> = offered.iter().map(|tool| tool.definition.tool_name.as_str()).collect();
    assert!(offered.contains(&"city.locate"), "{offered:?}");
    assert!(!offered.iter().any(|name| name.contains("resources_") || name.contains("prompts_")));
    let other = call(&toolbox, &owner, "town.resources_read", json!({ "uri": "book://emma" })).await;
    assert!(matches!(other, Err(Error::UnknownTool { .. })), "{other:?}");
    toolbox.close().await;
}

#[tokio::test]
async fn slow_server_holds_up_no_list() {
    let fixture = Fixture::new();
    let toolbox = libraries(&fixture).await;
    let began = std::time::Instant::now();
    let listed = toolbox.server_catalogues(&Caller::owner(user()), ResourceTool::ReadResource).await;
    assert!(began.elapsed() < std::time::Duration::from_secs(9), "{:?}", began.elapsed());
    let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["city"]);
    assert_eq!(listed[0].1.resources.len(), 3);
    // A server that reports a change is listed anew, and those who wait for it are told.
    let mut changes = toolbox.catalogue_changes();
    std::fs::write(fixture.folder.path().join("more"), "").unwrap();
    call(&toolbox, &Caller::owner(user()), "city.locate", json!({ "title": "emma" })).await.unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(10), changes.changed()).await.unwrap().unwrap();
    let listed = toolbox.server_catalogues(&Caller::owner(user()), ResourceTool::ReadResource).await;
    assert_eq!(listed[0].1.resources.len(), 4);
    toolbox.close().await;
}

#[tokio::test]
async fn grants_of_the_caller_apply_to_resources_and_prompts() {
    let fixture = Fixture::new();
    let toolbox = libraries(&fixture).await;
    let only = |tools: &[&str]| Caller {
        tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect::<BTreeSet<_>>()),
        permissions: Some(BTreeSet::new()),
        administrator: false,
        ..Caller::owner(user())
    };
    let stranger = only(&["time.*"]);
    assert_eq!(toolbox.server_catalogues(&stranger, ResourceTool::ReadResource).await, []);
    assert_eq!(toolbox.visible_servers(&stranger), Vec::<ServerName>::new());
    let read = toolbox.resource_tool(&stranger, &city(), ResourceTool::ReadResource).await;
    let ghost = toolbox.resource_tool(&stranger, &"ghost".parse().unwrap(), ResourceTool::ReadResource).await;
    let told = |refused: Result<_, steward_runtime::Error>| refused.map(drop).unwrap_err().to_string();
    assert_eq!(told(read).replace("city", "ghost"), told(ghost), "a refusal does not tell what exists");
    let uri = json!({ "uri": "book://emma" });
    let refused = call(&toolbox, &stranger, "city.resources_read", uri.clone()).await;
    assert!(matches!(refused, Err(Error::UnknownTool { .. } | Error::Denied { .. })), "{refused:?}");
    let reader = only(&["city.*"]);
    assert_eq!(toolbox.server_catalogues(&reader, ResourceTool::ReadResource).await.len(), 1);
    assert!(call(&toolbox, &reader, "city.resources_read", uri).await.is_ok());
    toolbox.close().await;
}
