//! HTTP by hand: what is sent and what comes back is what is on the socket.

use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it took too long")
}

/// One request under way on its own connection.
pub(crate) struct Answer {
    stream: BufReader<TcpStream>,
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
}

impl Answer {
    fn chunked(&self) -> bool {
        self.headers.contains_key("transfer-encoding")
    }

    /// The next piece of the body; nothing at its end.
    async fn chunk(&mut self) -> Option<String> {
        let mut line = String::new();
        soon(self.stream.read_line(&mut line)).await.ok()?;
        let size = usize::from_str_radix(line.trim_end(), 16).ok().filter(|size| *size > 0)?;
        let mut bytes = vec![0; size + 2];
        soon(self.stream.read_exact(&mut bytes)).await.ok()?;
        Some(String::from_utf8(bytes).unwrap().trim_end_matches("\r\n").to_owned())
    }

    /// The next event with its number, without those that only say that the stream is alive.
    pub(crate) async fn event(&mut self) -> Option<(Option<String>, String)> {
        loop {
            let chunk = self.chunk().await?;
            let field = |name: &str| {
                chunk.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_owned())
            };
            if let Some(data) = field("data:") {
                return Some((field("id:"), data));
            }
            if let Some(id) = field("id:") {
                return Some((Some(id), String::new()));
            }
        }
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Option<Json> {
        if !self.chunked() {
            return serde_json::from_str(&self.rest().await).ok();
        }
        while let Some((_, data)) = self.event().await {
            if let Ok(message) = serde_json::from_str(&data) {
                return Some(message);
            }
        }
        None
    }

    /// What is left of the body.
    pub(crate) async fn rest(&mut self) -> String {
        let mut all = String::new();
        if self.chunked() {
            while let Some(chunk) = self.chunk().await {
                all.push_str(&chunk);
            }
            return all;
        }
        let length = self.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut bytes = vec![0; length];
        soon(self.stream.read_exact(&mut bytes)).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

/// A client with its headers.
#[derive(Clone)]
pub(crate) struct Wire {
    address: SocketAddr,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Wire {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, headers: vec![("host", address.to_string())] }
    }

    pub(crate) fn with(&self, name: &'static str, value: impl Into<String>) -> Self {
        let mut headers = self.headers.clone();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value.into()));
        Self { address: self.address, headers }
    }

    pub(crate) async fn send(&self, method: &str, body: &str) -> Answer {
        let mut request = format!("{method} /mcp HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n");
        request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let mut stream = BufReader::new(soon(TcpStream::connect(self.address)).await.unwrap());
        // A server that refuses a large body may close before it has read all of it.
        drop(soon(stream.get_mut().write_all(request.as_bytes())).await);
        let (mut status, mut headers, mut line) = (0, HashMap::new(), String::new());
        loop {
            line.clear();
            let read = soon(stream.read_line(&mut line)).await.unwrap();
            let text = line.trim_end();
            if read == 0 || text.is_empty() {
                break;
            }
            match text.split_once(": ") {
                Some((name, value)) => drop(headers.insert(name.to_ascii_lowercase(), value.to_owned())),
                None => status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0),
            }
        }
        Answer { stream, status, headers }
    }

    pub(crate) async fn post(&self, message: Json) -> Answer {
        self.send("POST", &message.to_string()).await
    }

    /// Opens a session.
    pub(crate) async fn open(&self) -> Self {
        let mut answer = self.post(initialize()).await;
        assert_eq!(answer.status, 200);
        let session = self.with("mcp-session-id", answer.headers["mcp-session-id"].clone());
        assert!(answer.message().await.unwrap()["result"]["serverInfo"]["name"].is_string());
        let done = session.post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(done.status, 202);
        session
    }

    pub(crate) async fn call(&self, name: &str) -> Answer {
        self.post(call(name)).await
    }
}

pub(crate) fn initialize() -> Json {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}})
}

pub(crate) fn call(name: &str) -> Json {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}})
}
