//! The client against real MCP servers that nobody here wrote. They stand in the folder that
//! `STEWARD_MCP_KIT` names.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper of a test fails with it"
)]

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::{JsonObject, McpServer, Valid};
use steward_tools::mcp::{Handle, Options, Server, State};
use steward_tools::process::{self, Running, Spec};
use steward_tools::{Answered, Content, Context, Elicitation, Error, Human, Output, Result};
use tokio::io::{AsyncBufReadExt, BufReader};

/// The folder with the servers, or nothing when the test was asked to skip.
fn kit() -> Option<PathBuf> {
    if let Some(kit) = std::env::var_os("STEWARD_MCP_KIT") {
        return Some(kit.into());
    }
    let skip = std::env::var("STEWARD_SKIP").unwrap_or_default();
    assert!(
        skip.split(',').any(|name| name.trim() == "mcp"),
        "STEWARD_MCP_KIT does not name the folder with the MCP servers; STEWARD_SKIP=mcp skips this test"
    );
    println!("skipped: mcp");
    None
}

fn package(kit: &Path, name: &str) -> String {
    kit.join("npm/node_modules/@modelcontextprotocol").join(name).join("dist/index.js").display().to_string()
}

fn node(kit: &Path) -> String {
    kit.join("node/bin/node").display().to_string()
}

/// A server over its pipes.
fn over_pipes(name: &str, command: &str, args: &[&str], env: &Json) -> Handle {
    let server: Valid<McpServer> = serde_json::from_value(json!({
        "name": name, "transport": "stdio", "config": { "command": command, "args": args, "env": env }
    }))
    .unwrap();
    Server::new(server, Options { start_within: Duration::from_secs(60), ..Options::default() })
}

/// Answers every question, and remembers it.
#[derive(Default)]
struct Person(Mutex<Vec<Elicitation>>);

#[async_trait]
impl Human for Person {
    async fn ask(&self, question: Elicitation) -> Answered {
        self.0.lock().unwrap().push(question);
        Answered::Accepted(json!({ "name": "Ada Lovelace", "check": true }).as_object().cloned().unwrap())
    }
}

fn context() -> Context {
    Context::within(Duration::from_secs(60))
}

fn object(value: &Json) -> JsonObject {
    value.as_object().cloned().unwrap()
}

async fn call(server: &Handle, tool: &str, arguments: Json) -> Result<Output> {
    server.call(tool, &object(&arguments), &context()).await
}

/// Calls the tools in this order; each answer holds the words beside it. No tool of the server is
/// left out.
async fn every_tool(server: &Handle, calls: Vec<(&str, Json, &str)>) {
    let listed: BTreeSet<String> = server.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    let called: BTreeSet<String> = calls.iter().map(|(tool, ..)| (*tool).to_owned()).collect();
    assert_eq!(listed, called, "every tool of {} is called", server.name());
    println!(
        "{}: {} tools, revision {}",
        server.name(),
        called.len(),
        server.status().protocol.unwrap_or_default()
    );
    for (tool, arguments, words) in calls {
        let out = call(server, tool, arguments).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
        let all = format!("{} {}", out.words(), out.structured.unwrap_or_default());
        assert!(all.contains(words), "{tool} said {all}");
    }
}

/// What `server-everything` does over any transport.
async fn everything(server: &Handle) {
    let person = Arc::new(Person::default());
    let mut context = context();
    context.human = Arc::clone(&person) as Arc<dyn Human>;
    let arguments: BTreeMap<&str, Json> = [
        ("echo", json!({ "message": "over and out" })),
        ("get-annotated-message", json!({ "messageType": "error", "includeImage": true })),
        ("get-resource-links", json!({ "count": 2 })),
        ("get-resource-reference", json!({ "resourceType": "Blob", "resourceId": 1 })),
        ("get-structured-content", json!({ "location": "Chicago" })),
        ("get-sum", json!({ "a": 2, "b": 40 })),
        (
            "gzip-file-as-resource",
            json!({ "name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource" }),
        ),
        ("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 2 })),
        ("simulate-research-query", json!({ "topic": "tides" })),
        ("trigger-url-elicitation", json!({ "url": "http://127.0.0.1/form" })),
    ]
    .into();
    let mut out = BTreeMap::new();
    for tool in server.tools().await.unwrap() {
        let given = arguments.get(tool.name.as_str()).cloned().unwrap_or(json!({}));
        let called = server.call(&tool.name, &object(&given), &context).await;
        match called {
            Ok(output) => drop(out.insert(tool.name, output)),
            // This one works only as a task, which this client does not offer; the server says so.
            Err(Error::Failed { .. }) if tool.name == "simulate-research-query" => {}
            Err(error) => panic!("{}: {error}", tool.name),
        }
    }
    let revision = server.status().protocol.unwrap_or_default();
    println!(
        "everything over {}: {} tools, revision {revision}",
        server.config().transport.name(),
        out.len() + 1
    );
    assert_eq!(out["echo"].words(), "Echo: over and out");
    assert!(out["get-sum"].words().contains("42"));
    assert!(out["get-structured-content"].structured.as_ref().unwrap()["temperature"].is_number());
    let has = |tool: &str, fits: fn(&Content) -> bool| {
        assert!(out[tool].content.iter().any(fits), "{:?}", out[tool]);
    };
    has("get-tiny-image", |it| matches!(it, Content::Image { mime_type, .. } if mime_type == "image/png"));
    has("get-annotated-message", |it| matches!(it, Content::Image { .. }));
    has("get-resource-links", |it| matches!(it, Content::Link { .. }));
    has("get-resource-reference", |it| matches!(it, Content::Resource { data: Some(_), .. }));
    has("gzip-file-as-resource", |it| matches!(it, Content::Resource { data: Some(_), .. }));
    assert!(out["trigger-elicitation-request"].words().contains("Ada Lovelace"));
    let asked = person.0.lock().unwrap().clone();
    assert!(asked.iter().any(|question| question.schema.is_some()));
    assert!(asked.iter().any(|question| question.url.as_deref() == Some("http://127.0.0.1/form")));

    let resources = server.resources().await.unwrap();
    let read = server.read_resource(&resources.first().unwrap().uri).await.unwrap();
    assert!(matches!(&read[..], [Content::Resource { .. }]), "{read:?}");
    let prompts = server.prompts().await.unwrap();
    assert!(prompts.iter().any(|prompt| prompt.name == "simple-prompt"), "{prompts:?}");
    assert!(!server.prompt("simple-prompt", JsonObject::new()).await.unwrap().is_empty());
    server.health().await.unwrap();
    progress_and_cancellation(server).await;
    server.close().await;
}

async fn progress_and_cancellation(server: &Handle) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut context = context();
    let (ear, cancel) = (Arc::clone(&heard), context.cancel.clone());
    context.progress = Some(Arc::new(move |progress| {
        ear.lock().unwrap().push(progress.total);
        if progress.done >= 2.0 {
            cancel.cancel();
        }
    }));
    let long = object(&json!({ "duration": 50, "steps": 500 }));
    let called = server.call("trigger-long-running-operation", &long, &context).await;
    assert!(matches!(called, Err(Error::Cancelled { .. })), "{called:?}");
    assert!(
        heard.lock().unwrap().len() >= 2 && heard.lock().unwrap().iter().all(|total| *total == Some(500.0))
    );
    assert_eq!(call(server, "echo", json!({ "message": "on" })).await.unwrap().words(), "Echo: on");
}

#[tokio::test]
async fn everything_over_pipes() {
    let Some(kit) = kit() else { return };
    let server =
        over_pipes("everything", &node(&kit), &[&package(&kit, "server-everything"), "stdio"], &json!({}));
    everything(&server).await;
}

/// Starts a server that listens on loopback, and waits until it says so.
async fn listening(kit: &Path, transport: &str) -> (Running, u16) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = process::start(&Spec {
        program: node(kit),
        args: vec![package(kit, "server-everything"), transport.to_owned()],
        env: [("PORT".to_owned(), port.to_string())].into(),
        ..Spec::default()
    })
    .unwrap();
    let mut lines = BufReader::new(server.stderr.as_mut().unwrap()).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(&port.to_string()) {
                return;
            }
        }
        panic!("{transport} ended before it listened");
    };
    tokio::time::timeout(Duration::from_secs(60), ready).await.unwrap();
    (server, port)
}

async fn over_http(transport: &str, kind: &str, path: &str) {
    let Some(kit) = kit() else { return };
    let (process, port) = listening(&kit, transport).await;
    let config = || -> Valid<McpServer> {
        serde_json::from_value(json!({
            "name": kind, "transport": kind,
            "config": { "url": format!("http://127.0.0.1:{port}{path}"), "headers": { "X-Test": "${GREETING}" } }
        }))
        .unwrap()
    };
    let variables = |value: Option<&'static str>| Options {
        variables: Arc::new(move |_| value.map(str::to_owned)),
        ..Options::default()
    };
    let unset = Server::new(config(), variables(None)).health().await;
    assert!(
        matches!(&unset, Err(Error::ServerStart { detail, .. }) if detail.contains("GREETING")),
        "{unset:?}"
    );
    everything(&Server::new(config(), variables(Some("hello")))).await;

    // The server dies in the middle of a call: its caller learns so long before the call's time is
    // up.
    let server = Server::new(config(), variables(Some("hello")));
    let (begun, mut running) = tokio::sync::mpsc::unbounded_channel();
    let mut context = context();
    context.progress = Some(Arc::new(move |_| begun.send(()).unwrap_or_default()));
    let long = object(&json!({ "duration": 50, "steps": 500 }));
    let (called, ()) = tokio::join!(server.call("trigger-long-running-operation", &long, &context), async {
        running.recv().await;
        process.stop(Duration::ZERO).await;
    });
    assert!(matches!(called, Err(Error::ServerGone { sent: true, .. })), "{called:?}");
    assert!(server.state() != State::Ready || server.health().await.is_err());
}

#[tokio::test]
async fn everything_over_streamable_http() {
    over_http("streamableHttp", "http", "/mcp").await;
}

#[tokio::test]
async fn everything_over_the_older_event_stream() {
    over_http("sse", "sse", "/sse").await;
}

#[tokio::test]
async fn files() {
    let Some(kit) = kit() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name).display().to_string();
    let server =
        over_pipes("files", &node(&kit), &[&package(&kit, "server-filesystem"), &at("")], &json!({}));
    std::fs::write(root.join("dot.png"), [0x89, b'P', b'N', b'G']).unwrap();
    let calls = vec![
        ("list_allowed_directories", json!({}), "Allowed"),
        ("create_directory", json!({ "path": at("sub") }), "Success"),
        ("write_file", json!({ "path": at("a.txt"), "content": "one\ntwo\n" }), "Success"),
        ("read_file", json!({ "path": at("a.txt") }), "two"),
        ("read_text_file", json!({ "path": at("a.txt"), "head": 1 }), "one"),
        ("read_media_file", json!({ "path": at("dot.png") }), ""),
        ("read_multiple_files", json!({ "paths": [at("a.txt")] }), "one"),
        ("edit_file", json!({ "path": at("a.txt"), "edits": [{ "oldText": "one", "newText": "1" }] }), "+1"),
        ("list_directory", json!({ "path": at("") }), "a.txt"),
        ("list_directory_with_sizes", json!({ "path": at("") }), "a.txt"),
        ("directory_tree", json!({ "path": at("") }), "a.txt"),
        ("search_files", json!({ "path": at(""), "pattern": "*.txt" }), "a.txt"),
        ("get_file_info", json!({ "path": at("a.txt") }), "size"),
        ("move_file", json!({ "source": at("a.txt"), "destination": at("sub/b.txt") }), "Success"),
    ];
    every_tool(&server, calls).await;
    assert_eq!(std::fs::read_to_string(root.join("sub/b.txt")).unwrap(), "1\ntwo\n");
    let outside = call(&server, "read_file", json!({ "path": "/etc/hostname" })).await;
    assert!(matches!(outside, Err(Error::Failed { .. })), "{outside:?}");
    server.close().await;
}

#[tokio::test]
async fn memory() {
    let Some(kit) = kit() else { return };
    let folder = tempfile::tempdir().unwrap();
    let env = json!({ "MEMORY_FILE_PATH": folder.path().join("memory.jsonl") });
    let server = over_pipes("memory", &node(&kit), &[&package(&kit, "server-memory")], &env);
    let relation = json!({ "relations": [{ "from": "Ada", "to": "Engine", "relationType": "wrote about" }] });
    let calls = vec![
        (
            "create_entities",
            json!({ "entities": [
            { "name": "Ada", "entityType": "person", "observations": ["counts"] },
            { "name": "Engine", "entityType": "machine", "observations": [] }
        ] }),
            "Ada",
        ),
        ("create_relations", relation.clone(), "wrote about"),
        (
            "add_observations",
            json!({ "observations": [{ "entityName": "Ada", "contents": ["writes"] }] }),
            "writes",
        ),
        ("read_graph", json!({}), "writes"),
        ("search_nodes", json!({ "query": "Ada" }), "person"),
        ("open_nodes", json!({ "names": ["Engine"] }), "machine"),
        (
            "delete_observations",
            json!({ "deletions": [{ "entityName": "Ada", "observations": ["counts"] }] }),
            "success",
        ),
        ("delete_relations", relation, "success"),
        ("delete_entities", json!({ "entityNames": ["Engine"] }), "success"),
    ];
    every_tool(&server, calls).await;
    server.close().await;
}

#[tokio::test]
async fn time() {
    let Some(kit) = kit() else { return };
    let program = kit.join("venv-time/bin/mcp-server-time").display().to_string();
    let server = over_pipes("time", &program, &[], &json!({}));
    let calls = vec![
        ("get_current_time", json!({ "timezone": "Europe/Vienna" }), "Europe/Vienna"),
        (
            "convert_time",
            json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" }),
            "21:00",
        ),
    ];
    every_tool(&server, calls).await;
    let wrong = call(&server, "get_current_time", json!({ "timezone": "Nowhere/Land" })).await;
    assert!(matches!(wrong, Err(Error::Failed { .. })), "{wrong:?}");
    server.close().await;
}

async fn git(folder: &Path, args: &[&str]) {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    let spec = Spec { program: "git".into(), args, folder: Some(folder.to_owned()), ..Spec::default() };
    let mut git = process::start(&spec).unwrap();
    assert!(git.wait().await.unwrap().success());
}

#[tokio::test]
async fn git_repositories() {
    let Some(kit) = kit() else { return };
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "-b", "trunk"]).await;
    git(folder.path(), &["config", "user.name", "Ada"]).await;
    git(folder.path(), &["config", "user.email", "ada@example.com"]).await;
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    git(folder.path(), &["add", "a.txt"]).await;
    git(folder.path(), &["commit", "-q", "-m", "First"]).await;
    std::fs::write(folder.path().join("a.txt"), "two\n").unwrap();
    let program = kit.join("venv-git/bin/mcp-server-git").display().to_string();
    let server = over_pipes("git", &program, &[], &json!({}));
    let with = |more: Json| {
        let mut all = object(&json!({ "repo_path": folder.path() }));
        all.extend(object(&more));
        Json::Object(all)
    };
    let calls = vec![
        ("git_status", with(json!({})), "a.txt"),
        ("git_diff_unstaged", with(json!({})), "+two"),
        ("git_add", with(json!({ "files": ["a.txt"] })), "staged"),
        ("git_diff_staged", with(json!({})), "+two"),
        ("git_commit", with(json!({ "message": "Second" })), "committed"),
        ("git_diff", with(json!({ "target": "HEAD~1" })), "+two"),
        ("git_log", with(json!({ "max_count": 5 })), "Second"),
        ("git_show", with(json!({ "revision": "HEAD" })), "+two"),
        ("git_create_branch", with(json!({ "branch_name": "side" })), "side"),
        ("git_checkout", with(json!({ "branch_name": "side" })), "side"),
        ("git_branch", with(json!({ "branch_type": "local" })), "trunk"),
        ("git_reset", with(json!({})), "reset"),
    ];
    every_tool(&server, calls).await;
    server.close().await;
}

#[tokio::test]
async fn sqlite() {
    let Some(kit) = kit() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("test.db").display().to_string();
    let program = kit.join("venv-sqlite/bin/mcp-server-sqlite").display().to_string();
    let server = over_pipes("sqlite", &program, &["--db-path", &database], &json!({}));
    let calls = vec![
        ("create_table", json!({ "query": "CREATE TABLE t (n INTEGER)" }), "created"),
        ("write_query", json!({ "query": "INSERT INTO t VALUES (41), (42)" }), "2"),
        ("read_query", json!({ "query": "SELECT max(n) AS most FROM t" }), "42"),
        ("list_tables", json!({}), "'t'"),
        ("describe_table", json!({ "table_name": "t" }), "INTEGER"),
        ("append_insight", json!({ "insight": "Numbers grow." }), "added"),
    ];
    every_tool(&server, calls).await;
    let memo = server.read_resource("memo://insights").await.unwrap();
    assert!(
        matches!(&memo[..], [Content::Resource { text: Some(text), .. }] if text.contains("Numbers grow."))
    );
    assert_eq!(server.prompts().await.unwrap()[0].name, "mcp-demo");
    server.close().await;
}
