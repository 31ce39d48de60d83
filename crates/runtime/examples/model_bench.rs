//! What a long run with a model costs beside the model: `model_bench CALLS HOME` prints one JSON
//! object.
//!
//! A server on loopback speaks OpenAI's chat completions, streamed. It asks for a tool until it was
//! asked CALLS times. The tool is one of an MCP server over pipes and gives back 5 KB. Prompts hold
//! up to 200,000 tokens of history.
//! - `stored`: bytes on disk before and after, and what each half of the calls added. SQLite grows
//!   its log in large pieces.
//! - `step_ms`: from the last byte of a reply to the next question, with the tool's call between
//!   them.
//! - `bare_tool_ms`: the same call of the tool without us.
//! - `first_token_ms`: from the first byte of a reply's text to the watcher.
//! - `resume_ms`: reading the run back and folding it, as whoever takes it over does.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a measurement may fail loudly"
)]

mod app;

use app::{store_options, toolbox};
use serde_json::{Value as Json, json};
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use steward_domain::{Agent, AgentName, Idempotency, ToolName, UserId};
use steward_engine::{Lookup, Program, Root, Settings, ToolSpec, fold};
use steward_models::{ModelServices, build};
use steward_runtime::ProgressEvent;
use steward_runtime::run::{RunStatus, Runner, Watch, history};
use steward_store::sqlite::SqliteStore;
use steward_store::{Scope, Store};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The allocator that the program itself has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "pages", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "read", "description": "Reads one page of the long document.", "annotations": {"readOnlyHint": True},
             "inputSchema": {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}}]}
    elif m["method"] == "tools/call":
        n = m["params"]["arguments"]["page"]
        r = {"content": [{"type": "text", "text": (f"page {n}: " + f"{n * 7919} words of the page. " * 300)[:5000]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

/// When things happened, in the order of the calls.
#[derive(Default)]
struct Times {
    asked: Vec<Instant>,
    answered: Vec<Instant>,
    text_sent: Vec<Instant>,
    text_seen: Vec<Instant>,
    disk: Vec<u64>,
}

struct OneTool;

impl Lookup for OneTool {
    fn agent(&self, _: &AgentName) -> Option<Agent> {
        None
    }
    fn tool(&self, name: &ToolName) -> Option<ToolSpec> {
        Some(ToolSpec {
            name: name.clone(),
            server: "pages".parse().ok(),
            safety: Idempotency::ReadOnly,
            timeout_seconds: 30,
            fallback_tools: vec![],
            trusted_fields: Vec::new(),
        })
    }
}

/// Reads one request; the question itself is not looked at.
async fn read_request(socket: &mut TcpStream) -> Option<()> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut part = vec![0; 256 * 1024];
    let mut wanted = None;
    loop {
        let read = socket.read(&mut part).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&part[..read]);
        if wanted.is_none()
            && let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
            wanted = Some(end + 4 + length?);
        }
        if wanted.is_some_and(|wanted| bytes.len() >= wanted) {
            return Some(());
        }
    }
}

async fn answer(mut socket: TcpStream, calls: usize, times: Arc<Mutex<Times>>, home: std::path::PathBuf) {
    loop {
        if read_request(&mut socket).await.is_none() {
            return;
        }
        let number = {
            let mut times = times.lock().expect("a lock");
            times.asked.push(Instant::now());
            times.disk.push(on_disk(&home));
            times.asked.len()
        };
        let chunk = |delta: Json, finish: Json| {
            format!(
                "data: {}\n\n",
                json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
            )
        };
        let mut rest = String::new();
        if number < calls {
            let call = json!({ "index": 0, "id": format!("c{number}"), "type": "function",
                "function": { "name": "pages_read", "arguments": json!({ "page": number }).to_string() } });
            rest.push_str(&chunk(json!({ "tool_calls": [call] }), Json::Null));
            rest.push_str(&chunk(json!({}), json!("tool_calls")));
        } else {
            rest.push_str(&chunk(json!({}), json!("stop")));
        }
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 1000, "completion_tokens": 20 } });
        rest.push_str(&format!("data: {usage}\n\ndata: [DONE]\n\n"));
        let first = chunk(json!({ "content": "I read on. " }), Json::Null);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let framed = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        // The first token goes out by itself, the rest a moment later.
        times.lock().expect("a lock").text_sent.push(Instant::now());
        if socket.write_all(format!("{head}{}", framed(&first)).as_bytes()).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        if socket.write_all(format!("{}0\r\n\r\n", framed(&rest)).as_bytes()).await.is_err() {
            return;
        }
        times.lock().expect("a lock").answered.push(Instant::now());
    }
}

fn on_disk(home: &Path) -> u64 {
    let files = ["state.db", "state.db-wal"].map(|name| home.join(name));
    files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// Median and 95th percentile in milliseconds.
fn spread(mut samples: Vec<Duration>) -> Json {
    samples.sort_unstable();
    let at = |share: f64| {
        let place = ((samples.len() as f64 - 1.0) * share) as usize;
        samples.get(place).map_or(0.0, |sample| (sample.as_secs_f64() * 100_000.0).round() / 100.0)
    };
    json!({ "median": at(0.5), "p95": at(0.95) })
}

/// The tool's own time, over a pipe of our own.
fn bare_tool(script: &Path, calls: usize) -> Vec<Duration> {
    let mut child = std::process::Command::new("python3")
        .arg(script)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("python3");
    let mut into = child.stdin.take().expect("a pipe");
    let mut out = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut times = Vec::new();
    for id in 0..calls {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "read", "arguments": { "page": id } } });
        let began = Instant::now();
        writeln!(into, "{call}").expect("written");
        let mut line = String::new();
        out.read_line(&mut line).expect("read");
        times.push(began.elapsed());
    }
    drop(into);
    let _ended = child.wait();
    times
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let calls: usize = args.first().and_then(|n| n.parse().ok()).expect("model_bench CALLS HOME");
    let home = Path::new(args.get(1).expect("a folder")).to_owned();
    std::fs::create_dir_all(home.join("config")).expect("a folder");
    let script = home.join("pages.py");
    std::fs::write(&script, SERVER).expect("a script");
    let servers = json!({ "servers": [{ "name": "pages", "transport": "stdio",
        "config": { "command": "python3", "args": [script] } }] });
    std::fs::write(home.join("config/mcp_servers.yaml"), servers.to_string()).expect("settings");
    let bare = bare_tool(&script, 200);

    let times: Arc<Mutex<Times>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (kept, place) = (times.clone(), home.clone());
    let served = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let _kept_by_the_runtime = socket.set_nodelay(true);
            tokio::spawn(answer(socket, calls, kept.clone(), place.clone()));
        }
    });

    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&home.join("state.db"), store_options(&home)).expect("a store"));
    let toolbox = Arc::new(toolbox(&home, store.clone()).await);
    toolbox.review_new_servers().await;
    let settings = json!({ "big": { "provider": "openai", "name": "fake", "base_url": address, "timeout_seconds": 60 } });
    let models = build(&serde_json::from_value(settings).expect("settings"), &ModelServices::default())
        .expect("models");
    let runner = Runner::new(toolbox.clone(), Arc::new(models), home.clone()).expect("a runner");
    let agent: Agent = serde_json::from_value(json!({
        "name": "reader", "role": "Reads", "system_prompt": "Read the whole document.", "tools": ["pages.read"],
        "max_iterations": 10_000, "llm_config": { "model": "big" }, "limits": { "context_tokens": 200_000 },
    }))
    .expect("an agent");
    let program = Program::compile(Root::Agent(agent), Settings::default(), &OneTool).expect("a program");
    let user = UserId::new("bench").expect("a name");
    let seen = times.clone();
    let watch: Watch = Arc::new(move |event| {
        if let ProgressEvent::Token { .. } = event {
            seen.lock().expect("a lock").text_seen.push(Instant::now());
        }
    });
    let began = Instant::now();
    let ran = runner.run(&user, program, json!("Read it."), Some(watch)).await.expect("a run");
    let seconds = began.elapsed().as_secs_f64();
    assert!(matches!(ran.standing, RunStatus::Completed(_)), "{:?}", ran.standing);

    let mut resumes = Vec::new();
    let mut events = 0;
    for _ in 0..20 {
        let began = Instant::now();
        let (program, read) =
            history(&*store, &Scope::User(user.clone()), ran.task).await.expect("a history");
        events = read.len();
        let state = fold(&program, &read);
        assert!(state.status().is_final());
        resumes.push(began.elapsed());
    }
    served.abort();
    toolbox.close().await;
    let times = times.lock().expect("a lock");
    let between = |from: &[Instant], to: &[Instant]| -> Vec<Duration> {
        from.iter().zip(to).map(|(from, to)| to.saturating_duration_since(*from)).collect()
    };
    let grown = |from: usize, to: usize| {
        times
            .disk
            .get(to)
            .copied()
            .unwrap_or_default()
            .saturating_sub(times.disk.get(from).copied().unwrap_or_default())
    };
    let last = times.disk.len().saturating_sub(1);
    println!(
        "{}",
        json!({
            "calls": calls, "seconds": seconds, "events": events,
            "stored": { "before": times.disk.first(), "after": on_disk(&home), "first_half": grown(0, last / 2), "second_half": grown(last / 2, last) },
            "step_ms": spread(between(&times.answered, times.asked.get(1..).unwrap_or_default())),
            "bare_tool_ms": spread(bare),
            "first_token_ms": spread(between(&times.text_sent, &times.text_seen)),
            "resume_ms": spread(resumes),
        })
    );
}
