//! ACP, the agent client protocol. An editor starts this process and exchanges JSON-RPC messages
//! with it over stdin and stdout, one message per line.
//!
//! Invariants
//! - A session is a conversation. Its id is the conversation id, so it can be loaded later.
//! - Approvals are requested with `session/request_permission`. An answer is valid only for that
//!   request.
//! - Only the operator configures MCP servers. Servers that an editor sends are not started.

mod prompt;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{
    Check as _, Conversation, ConversationId, ConversationStatus, DomainName, JsonObject, Role,
};
use steward_policy::Caller;
use steward_runtime::converse::ChatService;
use steward_store::{Change, Commit, Scope};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The supported protocol version.
const VERSION: u64 = 1;
/// The maximum length of a line, in bytes.
const LINE: usize = 4 * 1024 * 1024;
/// The number of messages that are replayed when a conversation is loaded.
const REPLAYED_MESSAGES: u32 = 500;

/// A rejected request: the JSON-RPC error code and a message that says what to do.
type Refusal = (i64, String);

fn invalid(detail: impl Into<String>) -> Refusal {
    (-32602, detail.into())
}

fn inside(error: impl std::fmt::Display) -> Refusal {
    (-32603, error.to_string())
}

/// The connection to one editor.
struct Connection {
    chat: ChatService,
    caller: Caller,
    out: mpsc::UnboundedSender<Value>,
    /// The cancellation tokens of running prompts, by session.
    running: Mutex<HashMap<ConversationId, CancellationToken>>,
    /// Requests to the editor that have no response yet, by id.
    asked: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    numbers: AtomicU64,
    work: TaskTracker,
    over: CancellationToken,
}

/// Serves the editor that started this process, over stdin and stdout.
pub async fn serve_stdio(chat: ChatService, caller: Caller, stop: CancellationToken) -> io::Result<()> {
    let (input, output) = rmcp::transport::stdio_pipes();
    serve(chat, caller, input, output, stop).await
}

/// Serves one editor until it closes the connection or `stop` is cancelled. Nothing else may write
/// to `output` meanwhile.
pub async fn serve(
    chat: ChatService,
    caller: Caller,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: CancellationToken,
) -> io::Result<()> {
    let (out, mut told) = mpsc::unbounded_channel::<Value>();
    let connection = Arc::new(Connection {
        chat,
        caller,
        out,
        running: Mutex::default(),
        asked: Mutex::default(),
        numbers: AtomicU64::new(1),
        work: TaskTracker::new(),
        over: stop.clone(),
    });
    let mut lines = FramedRead::new(input, LinesCodec::new_with_max_length(LINE));
    let mut writer = FramedWrite::new(output, LinesCodec::new());
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(message) = told.recv() => write(&mut writer, &message).await?,
            line = lines.next() => match line {
                None => break,
                Some(Ok(line)) if line.trim().is_empty() => {}
                Some(Ok(line)) => connection.take(&line).await,
                Some(Err(error)) => {
                    write(&mut writer, &failure(&Value::Null, &(-32700, error.to_string()))).await?;
                    break;
                }
            },
        }
    }
    connection.running().values().for_each(CancellationToken::cancel);
    connection.asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
    connection.work.close();
    connection.work.wait().await;
    while let Ok(message) = told.try_recv() {
        write(&mut writer, &message).await?;
    }
    Ok(())
}

async fn write(
    writer: &mut FramedWrite<impl AsyncWrite + Unpin, LinesCodec>,
    message: &Value,
) -> io::Result<()> {
    writer.send(message.to_string()).await.map_err(io::Error::other)
}

fn failure(id: &Value, (code, message): &Refusal) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

impl Connection {
    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<ConversationId, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scope(&self) -> Scope {
        Scope::User(self.caller.user.clone())
    }

    fn send(&self, message: Value) {
        let _gone = self.out.send(message);
    }

    fn answer(&self, id: &Value, result: Result<Value, Refusal>) {
        self.send(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(refusal) => failure(id, &refusal),
        });
    }

    /// Sends a request to the editor and waits for its response.
    async fn ask(&self, method: &str, params: Value) -> Option<Value> {
        let id = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        receiver.await.ok()
    }

    async fn take(self: &Arc<Self>, line: &str) {
        let message: Value = match serde_json::from_str(line) {
            Ok(message @ Value::Object(_)) => message,
            Ok(_) => return self.send(failure(&Value::Null, &(-32600, "send one object a line".to_owned()))),
            Err(error) => return self.send(failure(&Value::Null, &(-32700, error.to_string()))),
        };
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let params = message.get("params").cloned().unwrap_or_default();
        match (message.get("method").and_then(Value::as_str), id) {
            (None, Some(id)) => {
                let asked = id
                    .as_u64()
                    .and_then(|id| self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&id));
                if let Some(asked) = asked {
                    let _gone = asked.send(message.get("result").cloned().unwrap_or_default());
                }
            }
            (Some("session/cancel"), None) => {
                if let Ok(session) = session_of(&params)
                    && let Some(stop) = self.running().get(&session)
                {
                    stop.cancel();
                }
            }
            (Some("session/prompt"), Some(id)) => {
                let connection = self.clone();
                self.work.spawn(async move {
                    let result = connection.prompt(&params).await;
                    connection.answer(&id, result);
                });
            }
            (Some(method), Some(id)) => {
                let result = self.call(method, &params).await;
                self.answer(&id, result);
            }
            (_, None) => {}
        }
    }

    async fn call(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        match method {
            "initialize" => {
                let prompts = json!({ "image": false, "audio": false, "embeddedContext": true });
                let about =
                    json!({ "name": "steward", "title": "Steward", "version": env!("CARGO_PKG_VERSION") });
                Ok(json!({
                    "protocolVersion": VERSION, "agentInfo": about, "authMethods": [],
                    "agentCapabilities": {
                        "loadSession": true, "promptCapabilities": prompts,
                        "mcpCapabilities": { "http": false, "sse": false },
                    },
                }))
            }
            "authenticate" => Ok(json!({})),
            "session/new" => self.new_session(params).await,
            "session/load" => self.load_session(params).await,
            other => Err((-32601, format!("there is no method {other}"))),
        }
    }

    async fn new_session(&self, params: &Value) -> Result<Value, Refusal> {
        let app = self.chat.toolbox().app();
        let now = app.clock.now();
        let mut metadata = JsonObject::new();
        let folder = params.get("cwd").and_then(Value::as_str).unwrap_or_default();
        metadata.insert("acp".to_owned(), json!({ "cwd": folder }));
        let conversation = Conversation {
            id: ConversationId(app.random.uuid_v7(now).map_err(inside)?),
            user_id: self.caller.user.clone(),
            application_domain: DomainName::new("generic").map_err(inside)?,
            created_at: now,
            updated_at: now,
            status: ConversationStatus::Active,
            metadata,
        };
        let id = conversation.id;
        let made = Change::PutConversation(conversation.validate().map_err(inside)?);
        let commit = Commit::new(self.caller.user.clone(), id).change(made);
        app.store.commit(&self.scope(), commit).await.map_err(inside)?;
        let mut result = json!({ "sessionId": id });
        list_ignored_servers(params, &mut result);
        Ok(result)
    }

    async fn load_session(&self, params: &Value) -> Result<Value, Refusal> {
        let id = session_of(params)?;
        let (store, scope) = (&self.chat.toolbox().app().store, self.scope());
        let found = store.conversation(&scope, id).await.map_err(inside)?;
        if !found.is_some_and(|found| found.status == ConversationStatus::Active) {
            return Err((-32002, format!("there is no session {id}")));
        }
        for message in store.window(&scope, id, REPLAYED_MESSAGES).await.map_err(inside)? {
            let kind = match message.role {
                Role::User => "user_message_chunk",
                Role::Agent => "agent_message_chunk",
                _ => continue,
            };
            self.update(id, &chunk(kind, &message.content));
        }
        let mut result = json!({});
        list_ignored_servers(params, &mut result);
        Ok(result)
    }

    /// Sends a `session/update` notification to the editor.
    fn update(&self, session: ConversationId, update: &Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.send(json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

fn session_of(params: &Value) -> Result<ConversationId, Refusal> {
    let id = params.get("sessionId").and_then(Value::as_str).unwrap_or_default();
    id.parse().map_err(|_| (-32002, format!("there is no session {id}")))
}

/// Adds the names of the editor's MCP servers, which are not started, to the result.
fn list_ignored_servers(params: &Value, result: &mut Value) {
    let servers = params.get("mcpServers").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = servers.filter_map(|server| server.get("name").and_then(Value::as_str)).collect();
    if let (Some(result), false) = (result.as_object_mut(), names.is_empty()) {
        let why = "servers are set up with `steward connect`, so that policy knows their tools";
        result.insert("_meta".to_owned(), json!({ "steward": { "unusedMcpServers": names, "why": why } }));
    }
}
