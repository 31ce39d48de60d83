//! Over HTTP: sessions, streams, who is let in, and how it stops.

use crate::gateway::{Everything, MANY};
use crate::wire::{Wire, call, initialize, soon};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use steward_server::mcp::{Caller, Options, Refused, serve_http};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct Server {
    wire: Wire,
    gateway: Arc<Everything>,
    seen: mpsc::UnboundedReceiver<&'static str>,
    shutdown: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
}

impl Server {
    async fn start(options: Options) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let wire = Wire::new(listener.local_addr().unwrap());
        let (gateway, seen) = Everything::new();
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(serve_http(listener, gateway.clone(), options, shutdown.clone()));
        Self { wire, gateway, seen, shutdown, serving }
    }

    async fn stop(self) {
        self.shutdown.cancel();
        soon(self.serving).await.unwrap().unwrap();
    }
}

fn words(message: &Json) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_session_is_opened_used_and_closed() {
    let server = Server::start(Options::default()).await;
    let session = server.wire.open().await;
    let mut answer = session.call("who").await;
    assert_eq!(words(&answer.message().await.unwrap()), "owner wire");
    assert_eq!(answer.message().await, None, "the stream ends with the answer");
    assert_eq!(session.send("DELETE", "").await.status, 202);
    assert_eq!(session.call("who").await.status, 404);
    assert_eq!(server.wire.call("who").await.status, 400, "without a session nothing is called");
    server.stop().await;
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let server = Server::start(Options::default()).await;
    let wire = &server.wire;
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("host", "evil.example:80", 403),
        ("host", "127.0.0.1.evil.example", 403),
        ("host", "localhost", 200),
        ("host", "[::1]:9", 200),
        ("origin", "http://evil.example", 403),
        ("origin", "http://localhost.evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:3000", 200),
        ("origin", "http://[::1]:3000", 200),
    ] {
        let answer = wire.with(name, value).post(initialize()).await;
        assert_eq!(answer.status, status, "{name}: {value}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Server::start(Options { body_bytes: 2000, ..Options::default() }).await;
    let session = server.wire.open().await;
    let mut large = call("echo");
    large["params"]["arguments"]["a"] = "x".repeat(3000).into();
    assert_eq!(session.post(large).await.status, 413);
    assert_eq!(session.call("who").await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn no_more_sessions_than_allowed() {
    let server = Server::start(Options { sessions: 2, ..Options::default() }).await;
    let first = server.wire.open().await;
    let _second = server.wire.open().await;
    let refused = server.wire.post(initialize()).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "30"));
    assert_eq!(first.call("who").await.status, 200);
    first.send("DELETE", "").await;
    server.wire.open().await;
    server.stop().await;
}

#[tokio::test]
async fn callers_are_told_apart_and_keep_their_sessions_to_themselves() {
    let check = |parts: &axum::http::request::Parts| {
        let token = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
        match token.and_then(|token| token.strip_prefix("Bearer ")) {
            Some(user @ ("ada" | "bob")) => Ok(Caller {
                user: user.into(),
                grants: Some(BTreeSet::new()),
                held: None,
                approve: BTreeSet::new(),
                roles: BTreeSet::new(),
            }),
            _ => Err(Refused {
                status: axum::http::StatusCode::UNAUTHORIZED,
                challenge: Some("Bearer".into()),
                message: "say who you are".into(),
            }),
        }
    };
    let server = Server::start(Options { check: Some(Arc::new(check)), ..Options::default() }).await;
    let nobody = server.wire.post(initialize()).await;
    assert_eq!((nobody.status, nobody.headers["www-authenticate"].as_str()), (401, "Bearer"));
    let ada = server.wire.with("authorization", "Bearer ada").open().await;
    assert_eq!(words(&ada.call("who").await.message().await.unwrap()), "ada wire");
    let bob = ada.with("authorization", "Bearer bob");
    assert_eq!(bob.call("who").await.status, 404);
    assert_eq!(bob.send("GET", "").await.status, 404);
    assert_eq!(bob.send("DELETE", "").await.status, 404);
    assert_eq!(ada.call("who").await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn lists_come_in_pages() {
    let server = Server::start(Options { page: 50, ..Options::default() }).await;
    let session = server.wire.open().await;
    let (mut names, mut cursor) = (Vec::new(), Json::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        let page = session.post(list).await.message().await.unwrap();
        let tools = page["result"]["tools"].as_array().unwrap();
        assert!(tools.len() <= 50);
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        cursor = page["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(names.len(), MANY + 10);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let lost = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "bm9uZQ"}});
    assert_eq!(session.post(lost).await.message().await.unwrap()["error"]["code"], -32602);
    server.stop().await;
}

#[tokio::test]
async fn a_change_arrives_on_the_open_stream() {
    let server = Server::start(Options::default()).await;
    let session = server.wire.open().await;
    let mut stream = session.send("GET", "").await;
    assert_eq!(stream.status, 200);
    soon(server.gateway.listening.acquire()).await.unwrap().forget();
    server.gateway.tools.send_modify(|version| *version += 1);
    assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
    server.stop().await;
}

#[tokio::test]
async fn a_stream_that_broke_is_taken_up_again() {
    let mut server = Server::start(Options::default()).await;
    let session = server.wire.open().await;
    let mut broken = session.call("late").await;
    let (id, data) = broken.event().await.unwrap();
    assert_eq!(data, "", "the first event only carries its number");
    assert_eq!(soon(server.seen.recv()).await, Some("started"));
    drop(broken);
    let mut again = session.with("last-event-id", id.unwrap()).send("GET", "").await;
    assert_eq!(words(&again.message().await.unwrap()), "late");
    server.stop().await;
}

#[tokio::test]
async fn a_session_is_not_idle_while_a_call_runs_in_it() {
    let idle = Duration::from_millis(300);
    let server = Server::start(Options { idle, ..Options::default() }).await;
    let session = server.wire.open().await;
    assert_eq!(words(&session.call("late").await.message().await.unwrap()), "late");
    assert_eq!(session.call("who").await.status, 200);
    // With nothing to do it ends, which the open stream shows.
    let mut stream = session.send("GET", "").await;
    stream.rest().await;
    assert_eq!(session.call("who").await.status, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_waits_for_its_calls_and_closes_its_streams() {
    let mut server = Server::start(Options::default()).await;
    let session = server.wire.open().await;
    let mut stream = session.send("GET", "").await;
    assert_eq!(stream.status, 200);
    let mut answer = session.call("late").await;
    assert_eq!(soon(server.seen.recv()).await, Some("started"));
    server.shutdown.cancel();
    assert_eq!(words(&answer.message().await.unwrap()), "late");
    stream.rest().await;
    soon(server.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_ever() {
    let mut server = Server::start(Options { grace: Duration::from_millis(200), ..Options::default() }).await;
    let session = server.wire.open().await;
    let _answer = session.call("wait").await;
    assert_eq!(soon(server.seen.recv()).await, Some("started"));
    server.shutdown.cancel();
    soon(server.serving).await.unwrap().unwrap();
    assert_eq!(soon(server.seen.recv()).await, Some("cancelled"));
}

fn modern(id: u32, method: &str, mut params: Json) -> Json {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn alone(wire: &Wire, name: &str) -> Wire {
    wire.with("mcp-protocol-version", "2026-07-28").with("mcp-method", "tools/call").with("mcp-name", name)
}

#[tokio::test]
async fn a_request_may_stand_alone() {
    let server = Server::start(Options { sessions: 0, ..Options::default() }).await;
    let mut answer = alone(&server.wire, "who").post(modern(1, "tools/call", json!({"name": "who"}))).await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let message = answer.message().await.unwrap();
    assert_eq!((words(&message), &message["result"]["resultType"]), ("owner wire", &json!("complete")));
    server.stop().await;
}

#[tokio::test]
async fn a_question_waits_for_who_was_asked_and_for_nobody_else() {
    let server = Server::start(Options::default()).await;
    let wire = alone(&server.wire, "ask");
    let asked = wire.post(modern(1, "tools/call", json!({"name": "ask"}))).await.message().await.unwrap();
    let state = asked["result"]["requestState"].clone();
    assert_eq!(asked["result"]["inputRequests"]["answer"]["method"], "elicitation/create");
    let answers = json!({"answer": {"action": "accept", "content": {"name": "Ada"}}});
    let with = |name: &str, state: &Json, answers: &Json| {
        modern(2, "tools/call", json!({"name": name, "requestState": state, "inputResponses": answers}))
    };
    // Another tool, or another state, is another matter.
    let other =
        alone(&server.wire, "echo").post(with("echo", &state, &answers)).await.message().await.unwrap();
    assert_eq!(other["error"]["code"], -32602);
    let forged = wire.post(with("ask", &json!("00000000"), &answers)).await.message().await.unwrap();
    assert_eq!(forged["error"]["code"], -32602);
    // An answer of the wrong shape is asked for again.
    let wrong = json!({"answer": {"action": "accept", "content": {"name": 7}}});
    let again = wire.post(with("ask", &state, &wrong)).await.message().await.unwrap();
    assert_eq!(again["result"]["resultType"], "input_required");
    let second =
        wire.post(with("ask", &again["result"]["requestState"], &answers)).await.message().await.unwrap();
    let answers = json!({"again": {"action": "decline"}});
    let last =
        wire.post(with("ask", &second["result"]["requestState"], &answers)).await.message().await.unwrap();
    assert!(words(&last).starts_with("Accepted("), "{last}");
    // A state counts once.
    let twice =
        wire.post(with("ask", &second["result"]["requestState"], &answers)).await.message().await.unwrap();
    assert_eq!(twice["error"]["code"], -32602);
    assert_eq!(server.gateway.asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    server.stop().await;
}

#[tokio::test]
async fn changes_arrive_on_a_stream_that_was_asked_for_and_it_ends_with_a_result() {
    let server = Server::start(Options::default()).await;
    let wire =
        server.wire.with("mcp-protocol-version", "2026-07-28").with("mcp-method", "subscriptions/listen");
    let wanted = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["memo://1"]}});
    let mut stream = wire.post(modern(7, "subscriptions/listen", wanted)).await;
    let told = stream.message().await.unwrap();
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    soon(server.gateway.listening.acquire()).await.unwrap().forget();
    server.gateway.prompts.send_modify(|version| *version += 1);
    server.gateway.tools.send_modify(|version| *version += 1);
    assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
    for uri in ["memo://2", "memo://1"] {
        server.gateway.updated.send(uri.into()).unwrap();
    }
    let updated = stream.message().await.unwrap();
    assert_eq!(updated["params"]["uri"], "memo://1");
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    server.shutdown.cancel();
    assert_eq!(stream.message().await.unwrap()["id"], 7);
    soon(server.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn who_hangs_up_calls_off_a_request_that_stands_alone() {
    let mut server = Server::start(Options::default()).await;
    let wire = alone(&server.wire, "wait");
    let request = wire.post(modern(1, "tools/call", json!({"name": "wait"})));
    tokio::select! {
        _ = request => panic!("it should wait"),
        seen = soon(server.seen.recv()) => assert_eq!(seen, Some("started")),
    }
    assert_eq!(soon(server.seen.recv()).await, Some("cancelled"));
    server.stop().await;
}
