//! Calls a tool of an MCP server as fast as it answers and says how fast that was: `add` of two
//! numbers, or what `MCP_LOAD_TOOL` names with the arguments in `MCP_LOAD_ARGUMENTS`.
//!
//! `mcp_load http 127.0.0.1:8000/mcp 8 20000` opens 8 sessions over HTTP and shares 20000 calls
//! among them; with `alone` instead of `http` each request stands alone, as from 2026-07-28 on;
//! `mcp_load stdio 8 20000` speaks over its own input and output, with 8 calls under way.

use serde_json::{Value as Json, json};
use std::io;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn initialize() -> Json {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}})
}

/// What is called, as the environment says.
static TOOL: LazyLock<(String, Option<Json>)> = LazyLock::new(|| {
    let name = std::env::var("MCP_LOAD_TOOL").unwrap_or_else(|_| "add".into());
    (name, std::env::var("MCP_LOAD_ARGUMENTS").ok().and_then(|text| serde_json::from_str(&text).ok()))
});

fn call(id: usize) -> Json {
    let (name, given) = &*TOOL;
    let arguments = given.clone().unwrap_or_else(|| json!({"a": id, "b": 2}));
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
}

/// Whether an answer is a result and not a refusal: only calls that worked are counted.
fn worked(answer: &Json) -> bool {
    answer.get("result").is_some_and(|result| result.get("isError") != Some(&Json::Bool(true)))
}

/// The message in the body of an answer: the body itself, or the data of its one event.
fn message(body: &str) -> io::Result<Json> {
    let data = body.lines().find_map(|line| line.strip_prefix("data: ").filter(|data| data.starts_with('{')));
    Ok(serde_json::from_str(data.unwrap_or(body))?)
}

/// A call that stands alone says by itself what a session would have settled.
fn alone(id: usize) -> Json {
    let mut call = call(id);
    if let Some(params) = call.get_mut("params").and_then(Json::as_object_mut) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params.insert("_meta".into(), meta);
    }
    call
}

const ALONE: &str = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: ";

/// One connection with one session.
struct Client {
    stream: BufReader<TcpStream>,
    host: String,
    path: String,
    session: Option<String>,
    alone: bool,
}

impl Client {
    async fn open(host: &str, path: &str, alone: bool) -> io::Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let mut client = Self {
            stream: BufReader::new(stream),
            host: host.into(),
            path: path.into(),
            session: None,
            alone,
        };
        if alone {
            return Ok(client);
        }
        client.post(&initialize()).await?;
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(client)
    }

    async fn post(&mut self, message: &Json) -> io::Result<String> {
        let body = message.to_string();
        let session = if self.alone { Some(format!("{ALONE}{}\r\n", TOOL.0)) } else { None };
        let session = session
            .or_else(|| self.session.as_ref().map(|id| format!("mcp-session-id: {id}\r\n")))
            .unwrap_or_default();
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, \
                text/event-stream\r\n{session}content-length: {}\r\n\r\n{body}",
            self.path,
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let (mut length, mut chunked, mut line) = (0, false, String::new());
        loop {
            line.clear();
            if self.stream.read_line(&mut line).await? == 0 {
                return Err(wrong("the server closed the connection"));
            }
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            match header.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim())) {
                Some((name, value)) if name == "content-length" => length = value.parse().unwrap_or(0),
                Some((name, _)) if name == "transfer-encoding" => chunked = true,
                Some((name, value)) if name == "mcp-session-id" => self.session = Some(value.into()),
                Some(_) => {}
                None if header.contains(" 200 ") || header.contains(" 202 ") => {}
                None => return Err(wrong(header)),
            }
        }
        let mut body = Vec::new();
        while chunked {
            line.clear();
            self.stream.read_line(&mut line).await?;
            let size =
                usize::from_str_radix(line.trim_end(), 16).map_err(|_| wrong("a chunk without a size"))?;
            let start = body.len();
            body.resize(start + size + 2, 0);
            if let Some(chunk) = body.get_mut(start..) {
                self.stream.read_exact(chunk).await?;
            }
            chunked = size > 0;
        }
        if length > 0 {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).await?;
        }
        String::from_utf8(body).map_err(|_| wrong("an answer that is no text"))
    }
}

async fn http(
    target: &str,
    clients: usize,
    calls: usize,
    each: fn(usize) -> Json,
    stand_alone: bool,
) -> io::Result<(f64, Vec<Duration>)> {
    let (host, path) = target.split_once('/').ok_or_else(|| wrong("say host:port/path"))?;
    let (host, path) = (host.to_owned(), format!("/{path}"));
    let mut open = Vec::new();
    for _ in 0..clients {
        open.push(Client::open(&host, &path, stand_alone).await?);
    }
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for mut client in open {
        tasks.spawn(async move {
            let mut took = Vec::with_capacity(calls / clients);
            for id in 1..=calls / clients {
                let start = Instant::now();
                let answer = client.post(&each(id)).await?;
                took.push(start.elapsed());
                if !worked(&message(&answer)?) {
                    return Err(wrong(answer));
                }
            }
            Ok(took)
        });
    }
    let mut took = Vec::new();
    while let Some(done) = tasks.join_next().await {
        took.extend(done.map_err(io::Error::other)??);
    }
    Ok((begin.elapsed().as_secs_f64(), took))
}

async fn stdio(window: usize, calls: usize) -> io::Result<(f64, Vec<Duration>)> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut out = tokio::io::stdout();
    let send = |message: Json| format!("{message}\n");
    out.write_all(send(initialize()).as_bytes()).await?;
    out.flush().await?;
    lines.next_line().await?;
    out.write_all(send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).as_bytes()).await?;
    let begin = Instant::now();
    let mut started = std::collections::HashMap::new();
    let (mut next, mut took) = (1, Vec::with_capacity(calls));
    while took.len() < calls {
        let mut batch = String::new();
        while started.len() < window && next <= calls {
            batch.push_str(&send(call(next)));
            started.insert(next, Instant::now());
            next += 1;
        }
        out.write_all(batch.as_bytes()).await?;
        out.flush().await?;
        let line = lines.next_line().await?.ok_or_else(|| wrong("the server went away"))?;
        let answer: Json = serde_json::from_str(&line)?;
        let id = answer.get("id").and_then(Json::as_u64).and_then(|id| usize::try_from(id).ok());
        if let Some(start) = id.and_then(|id| started.remove(&id)) {
            took.push(start.elapsed());
            if !worked(&answer) {
                return Err(wrong(line));
            }
        }
    }
    Ok((begin.elapsed().as_secs_f64(), took))
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse().map_err(|_| wrong("say how many"));
    let (seconds, mut took) = match arguments.as_slice() {
        [kind, target, clients, calls] if kind == "http" => {
            http(target, number(clients)?, number(calls)?, call, false).await?
        }
        [kind, target, clients, calls] if kind == "alone" => {
            http(target, number(clients)?, number(calls)?, alone, true).await?
        }
        [kind, window, calls] if kind == "stdio" => stdio(number(window)?, number(calls)?).await?,
        _ => {
            return Err(wrong(
                "mcp_load http|alone HOST:PORT/PATH CLIENTS CALLS | mcp_load stdio WINDOW CALLS",
            ));
        }
    };
    took.sort();
    let at = |share: usize| took.get(took.len() * share / 1000).copied().unwrap_or_default();
    eprintln!(
        "{} calls, {:.0} per second, p50 {:?}, p99 {:?}",
        took.len(),
        took.len() as f64 / seconds,
        at(500),
        at(990)
    );
    Ok(())
}
