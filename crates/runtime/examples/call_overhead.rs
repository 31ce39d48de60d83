//! What the call path costs: the same tool of the same MCP server, called bare over the protocol
//! and through the gateway with schema, policy, limit and a journal on disk. Prints one JSON
//! object; times are in microseconds.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "a measurement may fail loudly")]

mod app;

use app::{store_options, toolbox};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steward_domain::{Check as _, JsonObject, McpServer, UserId};
use steward_policy::Caller;
use steward_runtime::toolbox::Toolbox;
use steward_store::sqlite::SqliteStore;
use steward_tools::Context;
use steward_tools::call::Request;
use steward_tools::mcp::Server;

// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CALLS: usize = 3000;
const WARM: usize = 200;

#[tokio::main]
async fn main() {
    // The server is any MCP server over pipes: the command after the program's name, which must
    // have the tool `add`.
    let command: Vec<String> = std::env::args().skip(1).collect();
    let (program, args) =
        command.split_first().expect("call_overhead PROGRAM ARGS…: an MCP server with the tool add");
    let home = tempfile::tempdir().expect("a folder");
    let server: McpServer = serde_json::from_value(json!({
        "name": "peer", "transport": "stdio", "config": { "command": program, "args": args },
    }))
    .expect("a server");
    let server = server.validate().expect("a server");

    let bare = Server::new(server.clone(), steward_tools::mcp::Options::default());
    let context = Context::within(Duration::from_secs(30));
    let arguments: JsonObject = json!({ "a": 1, "b": 2 }).as_object().cloned().expect("an object");
    let mut direct = Vec::new();
    for _ in 0..CALLS + WARM {
        let began = Instant::now();
        bare.call("add", &arguments, &context).await.expect("the server answers");
        direct.push(began.elapsed());
    }
    bare.close().await;

    let toolbox = with_server(home.path(), &server).await;
    toolbox.look_at("peer").await.expect("the server answers");
    let caller = Caller::owner(UserId::new("bench").expect("a name"));
    let mut through = Vec::new();
    for n in 0..CALLS + WARM {
        let numbers = json!({ "a": n, "b": 2 }).as_object().cloned().expect("an object");
        let request = Request::new(caller.clone(), "peer.add", numbers);
        let began = Instant::now();
        toolbox.call(&request).await.expect("the server answers");
        through.push(began.elapsed());
    }
    toolbox.close().await;

    let (bare, gateway) = (figures(&mut direct), figures(&mut through));
    println!(
        "{}",
        json!({
            "calls": CALLS, "bare_p50_us": bare.0, "bare_p99_us": bare.1, "gateway_p50_us": gateway.0, "gateway_p99_us": gateway.1,
            "overhead_p50_us": gateway.0 - bare.0, "overhead_p99_us": gateway.1 - bare.1,
        })
    );
}

/// The toolbox of a home that has this server.
async fn with_server(home: &Path, server: &McpServer) -> Toolbox {
    std::fs::create_dir_all(home.join("config")).expect("a folder");
    let servers = json!({ "servers": [server] }).to_string();
    std::fs::write(home.join("config/mcp_servers.yaml"), servers).expect("a file");
    let store = SqliteStore::open(&home.join("state.db"), store_options(home)).expect("a store");
    toolbox(home, Arc::new(store)).await
}

/// Median and p99 of what came after warming up.
fn figures(times: &mut Vec<Duration>) -> (f64, f64) {
    times.drain(..WARM);
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    (at(50), at(99))
}
