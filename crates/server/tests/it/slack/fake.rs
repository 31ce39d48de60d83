//! A server that speaks Slack's Web API over a real socket and records what it was asked.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json as Body, Response};
use axum::routing::post;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The bot's user.
pub(crate) const BOT: &str = "UBOT";

/// One call of a method.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) form: HashMap<String, String>,
    pub(crate) token: String,
}

impl Call {
    pub(crate) fn get(&self, name: &str) -> &str {
        self.form.get(name).map_or("", String::as_str)
    }
}

/// A message as it stands now.
#[derive(Debug, Clone)]
pub(crate) struct Posted {
    pub(crate) ts: String,
    pub(crate) channel: String,
    pub(crate) thread: String,
    pub(crate) text: String,
    pub(crate) blocks: Json,
    /// What stood there before.
    pub(crate) before: Vec<String>,
}

impl Posted {
    /// Everything that can be read in it.
    pub(crate) fn all(&self) -> String {
        format!("{} {}", self.text, self.blocks)
    }

    /// The buttons: what stands on them, and the action that each sends.
    pub(crate) fn buttons(&self) -> Vec<(String, Json)> {
        let blocks = self.blocks.as_array().cloned().unwrap_or_default();
        let elements = blocks
            .iter()
            .filter(|block| block["type"] == "actions")
            .flat_map(|block| block["elements"].as_array().unwrap().clone());
        let action = |button: Json| {
            let sent =
                json!({ "type": "button", "action_id": button["action_id"], "value": button["value"] });
            (button["text"]["text"].as_str().unwrap().to_owned(), sent)
        };
        elements.map(action).collect()
    }
}

#[derive(Default)]
struct Kept {
    calls: Vec<Call>,
    posts: Vec<Posted>,
    uploads: Vec<Vec<u8>>,
    /// What stands in channels and threads, oldest first.
    messages: HashMap<String, Vec<Json>>,
    /// Answers that come before the right ones.
    first: HashMap<String, Vec<(u16, u64)>>,
    socket: String,
}

pub(crate) struct Fake {
    pub(crate) address: String,
    kept: Mutex<Kept>,
    /// A permit for each post that is let through.
    gate: Semaphore,
}

impl Fake {
    pub(crate) async fn start() -> (Arc<Self>, JoinHandle<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let fake = Arc::new(Self { address, kept: Mutex::default(), gate: Semaphore::new(1_000_000) });
        let router = Router::new()
            .route("/api/{method}", post(call))
            .route("/upload/{id}", post(upload))
            .layer(DefaultBodyLimit::max(16 * 1024 * 1024))
            .with_state(fake.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (fake, serving)
    }

    pub(crate) fn calls(&self, method: &str) -> Vec<Call> {
        self.kept.lock().unwrap().calls.iter().filter(|call| call.method == method).cloned().collect()
    }

    pub(crate) fn posts(&self) -> Vec<Posted> {
        self.kept.lock().unwrap().posts.clone()
    }

    pub(crate) fn last(&self) -> Posted {
        self.posts().pop().expect("something was posted")
    }

    pub(crate) fn uploads(&self) -> Vec<Vec<u8>> {
        self.kept.lock().unwrap().uploads.clone()
    }

    /// Lets a method fail with these statuses and pauses first.
    pub(crate) fn fail(&self, method: &str, with: &[(u16, u64)]) {
        self.kept.lock().unwrap().first.insert(method.to_owned(), with.to_vec());
    }

    pub(crate) fn write(&self, channel: &str, thread: Option<&str>, messages: Vec<Json>) {
        self.kept.lock().unwrap().messages.insert(key(channel, thread.unwrap_or_default()), messages);
    }

    pub(crate) fn socket_at(&self, address: String) {
        self.kept.lock().unwrap().socket = address;
    }

    /// Posts wait until they are let through.
    pub(crate) fn hold(&self) {
        self.gate.forget_permits(1_000_000);
    }

    pub(crate) fn let_through(&self) {
        self.gate.add_permits(1_000_000);
    }
}

fn key(channel: &str, thread: &str) -> String {
    format!("{channel}/{thread}")
}

async fn upload(
    State(fake): State<Arc<Fake>>,
    Path(_): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    assert!(headers.get("authorization").is_none(), "the token is not for this address");
    fake.kept.lock().unwrap().uploads.push(body.to_vec());
    StatusCode::OK
}

async fn call(
    State(fake): State<Arc<Fake>>,
    Path(method): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let form: HashMap<String, String> = url::form_urlencoded::parse(&body).into_owned().collect();
    let token = headers["authorization"].to_str().unwrap().to_owned();
    let call = Call { method: method.clone(), form, token };
    {
        let mut kept = fake.kept.lock().unwrap();
        kept.calls.push(call.clone());
        if let Some((status, pause)) =
            kept.first.get_mut(&method).and_then(|first| (!first.is_empty()).then(|| first.remove(0)))
        {
            let status = StatusCode::from_u16(status).unwrap();
            return (status, [("retry-after", pause.to_string())]).into_response();
        }
    }
    if method.starts_with("chat.") {
        fake.gate.acquire().await.unwrap().forget();
        fake.gate.add_permits(1);
    }
    Body(fake.answer(&call)).into_response()
}

impl Fake {
    fn answer(&self, call: &Call) -> Json {
        let mut kept = self.kept.lock().unwrap();
        let blocks = || serde_json::from_str(call.get("blocks")).unwrap_or(Json::Null);
        match call.method.as_str() {
            "auth.test" => json!({ "ok": true, "user_id": BOT }),
            "apps.connections.open" => json!({ "ok": true, "url": kept.socket }),
            "chat.postMessage" => {
                let ts = format!("9000.{:06}", kept.posts.len() + 1);
                kept.posts.push(Posted {
                    ts: ts.clone(),
                    channel: call.get("channel").to_owned(),
                    thread: call.get("thread_ts").to_owned(),
                    text: call.get("text").to_owned(),
                    blocks: blocks(),
                    before: Vec::new(),
                });
                json!({ "ok": true, "ts": ts, "channel": call.get("channel") })
            }
            "chat.update" => {
                let Some(post) = kept.posts.iter_mut().find(|post| post.ts == call.get("ts")) else {
                    return json!({ "ok": false, "error": "message_not_found" });
                };
                let before = std::mem::replace(&mut post.text, call.get("text").to_owned());
                post.before.push(before);
                post.blocks = blocks();
                json!({ "ok": true, "ts": post.ts })
            }
            "chat.postEphemeral" => json!({ "ok": true, "message_ts": "1.1" }),
            "users.info" => match call.get("user") {
                "UANA" => json!({ "ok": true, "user": { "profile": { "display_name": "Ana" } } }),
                "UBOB" => json!({ "ok": true, "user": { "real_name": "Bob" } }),
                _ => json!({ "ok": false, "error": "user_not_found" }),
            },
            "conversations.history" | "conversations.replies" => {
                let messages =
                    kept.messages.get(&key(call.get("channel"), call.get("ts"))).cloned().unwrap_or_default();
                page(messages, call)
            }
            "files.getUploadURLExternal" => {
                json!({ "ok": true, "file_id": "F1", "upload_url": format!("{}/upload/F1", self.address) })
            }
            "files.completeUploadExternal" => json!({ "ok": true, "files": [] }),
            _ => json!({ "ok": false, "error": "unknown_method" }),
        }
    }
}

/// A page as Slack gives it: a channel newest first, a thread oldest first.
fn page(mut messages: Vec<Json>, call: &Call) -> Json {
    if call.method == "conversations.history" {
        messages.reverse();
    }
    let from: usize = call.get("cursor").parse().unwrap_or(0);
    let limit: usize = call.get("limit").parse().unwrap();
    let end = (from + limit).min(messages.len());
    let more = end < messages.len();
    let next = if more { end.to_string() } else { String::new() };
    json!({ "ok": true, "messages": messages[from..end], "has_more": more, "response_metadata": { "next_cursor": next } })
}
