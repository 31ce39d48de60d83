//! A model server on a loopback socket that speaks OpenAI's chat completions, whole and streamed.
//! What it answers is a function of what it is asked; every prompt is kept.

use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_models::{ModelServices, ModelUse, Models, build};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What the model answers.
#[derive(Debug, Clone)]
pub(crate) enum Says {
    /// Words.
    Text(String),
    /// Calls of tools, all at once.
    Calls(Vec<(&'static str, Json)>),
    /// A status of the server.
    Status(u16),
    /// Words, after which the stream stays open.
    Hang(String),
}

/// How it answers: by the messages it is shown.
pub(crate) type Script = Arc<dyn Fn(&[Json]) -> Says + Send + Sync>;

/// The server. It ends with this.
pub(crate) struct FakeModel {
    address: String,
    prompts: Arc<Mutex<Vec<Json>>>,
    _served: JoinSet<()>,
}

impl FakeModel {
    pub(crate) async fn start(script: impl Fn(&[Json]) -> Says + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let prompts: Arc<Mutex<Vec<Json>>> = Arc::default();
        let (kept, script): (_, Script) = (prompts.clone(), Arc::new(script));
        let mut served = JoinSet::new();
        served.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(answer(socket, kept.clone(), script.clone()));
            }
        });
        Self { address, prompts, _served: served }
    }

    /// Everything that it was sent.
    pub(crate) fn prompts(&self) -> Vec<Json> {
        self.prompts.lock().unwrap().clone()
    }

    /// The settings with this model under the name `big`, for everything.
    pub(crate) fn models(&self) -> Arc<Models> {
        let settings = json!({ "big": { "provider": "openai", "name": "fake-1", "base_url": self.address,
            "price": { "input_per_million": 1.0, "output_per_million": 2.0 }, "timeout_seconds": 20 } });
        let settings = serde_json::from_value(settings).unwrap();
        let uses = ModelUse { default: Some("big".to_owned()), ..ModelUse::default() };
        Arc::new(build(&settings, &ModelServices::default()).unwrap().with_uses(&uses).unwrap())
    }
}

async fn answer(mut socket: TcpStream, kept: Arc<Mutex<Vec<Json>>>, script: Script) {
    let Some(body) = request(&mut socket).await else { return };
    kept.lock().unwrap().push(body.clone());
    let says = script(body["messages"].as_array().unwrap());
    let streams = body["stream"] == json!(true);
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    let call = |place: usize, (name, arguments): &(&str, Json)| {
        json!({ "index": place, "id": format!("call_{place}"), "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() } })
    };
    if let Says::Status(status) = says {
        let head = format!("HTTP/1.1 {status} No\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
        let _gone = socket.write_all(head.as_bytes()).await;
        return;
    }
    let (text, calls, hangs) = match says {
        Says::Text(text) => (text, Vec::new(), false),
        Says::Hang(text) => (text, Vec::new(), true),
        Says::Calls(calls) => (String::new(), calls, false),
        Says::Status(_) => unreachable!(),
    };
    let calls: Vec<Json> = calls.iter().enumerate().map(|(place, one)| call(place, one)).collect();
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    if !streams {
        let message = json!({ "role": "assistant", "content": text, "tool_calls": calls });
        let body = json!({ "id": "1", "object": "chat.completion", "model": "fake-1", "usage": usage,
            "choices": [{ "index": 0, "message": message, "finish_reason": finish }] })
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let _gone = socket.write_all(format!("{head}{body}").as_bytes()).await;
        return;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let chunk = |delta: Json, finish: Json| {
        let body = json!({ "id": "1", "object": "chat.completion.chunk", "model": "fake-1",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        format!("data: {body}\n\n")
    };
    let mut out = String::from(head);
    for word in text.split_inclusive(' ') {
        out.push_str(&chunk(json!({ "content": word }), Json::Null));
    }
    if hangs {
        let _gone = socket.write_all(out.as_bytes()).await;
        // Longer than any test; the socket goes with the server.
        tokio::time::sleep(Duration::from_secs(60)).await;
        return;
    }
    if !calls.is_empty() {
        out.push_str(&chunk(json!({ "tool_calls": calls }), Json::Null));
    }
    out.push_str(&chunk(json!({}), json!(finish)));
    out.push_str(&format!(
        "data: {}\n\ndata: [DONE]\n\n",
        json!({ "id": "1", "choices": [], "usage": usage })
    ));
    let _gone = socket.write_all(out.as_bytes()).await;
}

/// The body of a request.
async fn request(socket: &mut TcpStream) -> Option<Json> {
    let mut bytes = Vec::new();
    let mut part = vec![0; 16 * 1024];
    loop {
        let read = socket.read(&mut part).await.ok()?;
        bytes.extend_from_slice(part.get(..read)?);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length? {
                return serde_json::from_str(body).ok();
            }
        }
        if read == 0 {
            return None;
        }
    }
}

/// The last message of this role, as text.
pub(crate) fn last<'a>(messages: &'a [Json], role: &str) -> &'a str {
    let found = messages.iter().rfind(|message| message["role"] == role);
    found.and_then(|message| message["content"].as_str()).unwrap_or_default()
}

/// How many results of tools came after the person's last message.
pub(crate) fn results(messages: &[Json]) -> usize {
    messages
        .iter()
        .rev()
        .take_while(|message| message["role"] != "user")
        .filter(|m| m["role"] == "tool")
        .count()
}
