//! The A2A protocol over JSON-RPC, in its versions 1.0 and 0.3.
//!
//! Invariants
//! - An A2A task is one request of a user. It may take several messages when input is required, and
//!   it ends once.
//! - Every request is authenticated. Tasks of other users are reported as not found.

mod approval;
mod card;
mod list;
mod told;

use super::extract::{Authenticated, whole};
use super::openapi::Api;
use super::problem::Problem;
use super::stream;
use super::turns::{Live, TurnRequest};
use super::{AppState, Shared};
use crate::identity::Identity;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use card::card;
use list::list;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{ConversationId, Timestamp, UserId};
use tokio::sync::watch;
use told::{TaskStream, shown};

/// The protocol version that a client uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    One,
    Old,
}

/// An error of a request, with the error code of the protocol.
struct Fault {
    code: i32,
    message: String,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    fn missing(id: &str) -> Self {
        Self::new(-32001, format!("there is no task {id}"))
    }

    /// The JSON-RPC error object. Errors that the protocol defines carry their reason.
    fn told(&self) -> Value {
        let reason = match self.code {
            -32001 => "TASK_NOT_FOUND",
            -32002 => "TASK_NOT_CANCELABLE",
            -32003 => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            -32004 => "UNSUPPORTED_OPERATION",
            -32005 => "CONTENT_TYPE_NOT_SUPPORTED",
            -32007 => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            -32009 => "VERSION_NOT_SUPPORTED",
            _ => return json!({ "code": self.code, "message": self.message }),
        };
        let info = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org" });
        json!({ "code": self.code, "message": self.message, "data": [info] })
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::new(if problem.status().is_server_error() { -32603 } else { -32602 }, problem.detail)
    }
}

/// The state of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TaskState {
    Working,
    Completed,
    InputRequired,
    Failed,
    Cancelled,
}

impl TaskState {
    fn name(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::Working, Dialect::One) => "TASK_STATE_WORKING",
            (Self::Completed, Dialect::One) => "TASK_STATE_COMPLETED",
            (Self::InputRequired, Dialect::One) => "TASK_STATE_INPUT_REQUIRED",
            (Self::Failed, Dialect::One) => "TASK_STATE_FAILED",
            (Self::Cancelled, Dialect::One) => "TASK_STATE_CANCELED",
            (Self::Working, Dialect::Old) => "working",
            (Self::Completed, Dialect::Old) => "completed",
            (Self::InputRequired, Dialect::Old) => "input-required",
            (Self::Failed, Dialect::Old) => "failed",
            (Self::Cancelled, Dialect::Old) => "canceled",
        }
    }
}

/// One message of a task.
#[derive(Clone)]
struct TaskMessage {
    id: String,
    by_user: bool,
    text: String,
}

/// One A2A task.
struct Task {
    id: String,
    context: String,
    user: UserId,
    state: Mutex<Course>,
    /// Notifies subscribers when input was given or the task was canceled.
    moved: watch::Sender<()>,
}

/// The mutable state of a task.
#[derive(Clone)]
struct Course {
    live: Arc<Live>,
    standing: TaskState,
    history: Vec<TaskMessage>,
    /// The reply of the last finished turn.
    reply: Value,
    at: Timestamp,
}

/// The tasks and contexts held in memory.
#[derive(Default)]
pub(super) struct Tasks {
    tasks: Mutex<HashMap<String, Arc<Task>>>,
    contexts: Mutex<HashMap<(UserId, String), ConversationId>>,
}

/// The maximum number of tasks kept. Above it, the older half of finished tasks is dropped.
const MOST: usize = 2000;

/// A message. Field names are camelCase; snake_case names of the other form are accepted as well.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    #[serde(default, alias = "message_id")]
    message_id: String,
    #[serde(default, alias = "context_id")]
    context_id: String,
    #[serde(default, alias = "task_id")]
    task_id: String,
    #[serde(default)]
    role: String,
    parts: Vec<Value>,
}

impl Incoming {
    /// The text of the message. Data parts are ignored; file parts are rejected.
    fn text(&self, dialect: Dialect) -> Result<String, Fault> {
        let mut texts = Vec::new();
        for part in &self.parts {
            if dialect == Dialect::Old && part.get("kind").is_none() {
                return Err(Fault::params("params.message.parts: each part has a kind"));
            }
            match part.get("text").and_then(Value::as_str) {
                Some(text) => texts.push(text),
                None if part.get("data").is_some() => {}
                None => {
                    return Err(Fault::new(-32005, "this agent reads text: a part is a file, or nothing"));
                }
            }
        }
        if texts.is_empty() {
            return Err(Fault::params("params.message.parts: a message needs a part with text"));
        }
        Ok(texts.join("\n"))
    }
}

pub(super) fn routes(api: &mut Api) {
    let about = "What this agent can do, for other agents (A2A)";
    api.get("/.well-known/agent-card.json", about).open().gives_object(200, "The agent card.").to(get(card));
    api.get("/.well-known/agent.json", about).open().gives_object(200, "The agent card.").to(get(card));
    // Some agents know only the base address and send requests to it.
    api.post("/", "The same as /a2a, for agents that know the address only")
        .takes::<serde_json::Map<String, Value>>()
        .gives_object(200, "The JSON-RPC answer, or events.")
        .to(post(call));
    for path in ["/a2a", "/a2a/"] {
        api.post(path, "Talk to it as another agent: JSON-RPC of A2A 1.0 and 0.3")
            .takes::<serde_json::Map<String, Value>>()
            .gives_object(200, "The JSON-RPC answer, or events.")
            .to(post(call));
    }
}

/// Handles one JSON-RPC request.
async fn call(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    request: Request,
) -> Result<Response, Problem> {
    let spoken = spoken(&request);
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let bytes = whole(request, &site).await?;
    let answer = |id: &Value, body: Value| {
        let mut told = json!({ "jsonrpc": "2.0", "id": id });
        if let (Some(told), Value::Object(body)) = (told.as_object_mut(), body) {
            told.extend(body);
        }
        Json(told).into_response()
    };
    let fault = |id: &Value, fault: &Fault| answer(id, json!({ "error": fault.told() }));
    if !kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("json")) {
        return Ok(fault(
            &Value::Null,
            &Fault::new(-32005, "send JSON, with `Content-Type: application/json`"),
        ));
    }
    let Ok(sent) = serde_json::from_slice::<Value>(&bytes) else {
        return Ok(fault(&Value::Null, &Fault::new(-32700, "the request is not JSON")));
    };
    let id = sent.get("id").cloned().unwrap_or_default();
    let method = sent.get("method").and_then(Value::as_str).unwrap_or_default();
    if !(id.is_string() || id.is_number() || id.is_null()) {
        return Ok(fault(&Value::Null, &Fault::new(-32600, "the id of a request is a text or a number")));
    }
    if sent.get("jsonrpc").and_then(Value::as_str) != Some("2.0") || method.is_empty() {
        return Ok(fault(&id, &Fault::new(-32600, "the request is no JSON-RPC 2.0 request with a method")));
    }
    if !spoken {
        return Ok(fault(&id, &Fault::new(-32009, "this agent speaks A2A 1.0 and 0.3")));
    }
    let dialect = if method.contains('/') { Dialect::Old } else { Dialect::One };
    let params = sent.get("params").cloned().unwrap_or_default();
    let came = match method {
        "SendMessage" | "message/send" | "SendStreamingMessage" | "message/stream"
            if let Some(data) = approval::part(&params) =>
        {
            approval::answer(&site, &identity, data, dialect).await
        }
        "SendMessage" | "message/send" => send(&site, &identity, &params, dialect).await,
        "SendStreamingMessage" | "message/stream" => match begin(&site, &identity, &params, dialect).await {
            Ok(task) => return Ok(stream::respond(&site, TaskStream::new(site.clone(), task, id, dialect))),
            Err(wrong) => Err(wrong),
        },
        "SubscribeToTask" | "tasks/resubscribe" => match known(&site, &identity, &params) {
            Ok(task) if ended(&task) => Err(Fault::new(-32004, "the task has ended: GetTask shows it")),
            Ok(task) => {
                return Ok(stream::respond(&site, TaskStream::from_now(site.clone(), task, id, dialect)));
            }
            Err(wrong) => Err(wrong),
        },
        "GetTask" | "tasks/get" => one(&site, &identity, &params, dialect),
        "ListTasks" | "tasks/list" => list(&site, &identity, &params, dialect),
        "CancelTask" | "tasks/cancel" => cancel(&site, &identity, &params, dialect).await,
        "GetExtendedAgentCard" => Err(Fault::new(-32004, ONE_CARD)),
        "agent/getAuthenticatedExtendedCard" => Err(Fault::new(-32007, ONE_CARD)),
        name if name.to_lowercase().contains("pushnotification") => {
            Err(Fault::new(-32003, "push notifications are not sent: listen to the stream"))
        }
        other => Err(Fault::new(-32601, format!("there is no method {other}"))),
    };
    Ok(match came {
        Ok(result) => answer(&id, json!({ "result": result })),
        Err(wrong) => fault(&id, &wrong),
    })
}

const ONE_CARD: &str = "there is no other card than the one at /.well-known/agent-card.json";

/// Whether the requested protocol version is supported. A request without a version is accepted.
fn spoken(request: &Request) -> bool {
    let header =
        request.headers().get("a2a-version").map(|version| version.to_str().unwrap_or("?").to_owned());
    let query = request.uri().query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let mut query = query.filter(|(name, _)| name.eq_ignore_ascii_case("a2a-version"));
    let named = header.or_else(|| query.next().map(|(_, version)| version.to_owned())).unwrap_or_default();
    let mut parts = named.trim().split('.');
    matches!((parts.next(), parts.next()), (Some(""), None) | (Some("1"), Some("0")) | (Some("0"), Some("3")))
}

/// The requested history length. `None` requests the whole history.
fn history_length(params: &Value) -> Result<Option<usize>, Fault> {
    let of = |at: &str| params.pointer(at).filter(|length| !length.is_null());
    let places = [
        "/historyLength",
        "/history_length",
        "/configuration/historyLength",
        "/configuration/history_length",
    ];
    let Some(length) = places.iter().find_map(|at| of(at)) else { return Ok(None) };
    let wrong = || Fault::params("historyLength must be a number from 0 on");
    length.as_u64().and_then(|length| usize::try_from(length).ok()).map(Some).ok_or_else(wrong)
}

fn lock(task: &Task) -> std::sync::MutexGuard<'_, Course> {
    task.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ended(task: &Task) -> bool {
    !matches!(lock(task).standing, TaskState::Working | TaskState::InputRequired)
}

fn known(site: &AppState, identity: &Identity, params: &Value) -> Result<Arc<Task>, Fault> {
    let id = params.get("id").and_then(Value::as_str).ok_or_else(|| Fault::params("params.id is missing"))?;
    site.a2a.of(id, &identity.user)
}

impl Tasks {
    fn of(&self, id: &str, user: &UserId) -> Result<Arc<Task>, Fault> {
        let task = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        task.filter(|task| task.user == *user).ok_or_else(|| Fault::missing(id))
    }

    fn keep(&self, task: &Arc<Task>) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() >= MOST {
            let over = tasks.values().filter(|task| ended(task));
            let mut over: Vec<(Timestamp, String)> =
                over.map(|task| (lock(task).at, task.id.clone())).collect();
            over.sort();
            over.iter().take(over.len().div_ceil(2)).for_each(|(_, id)| drop(tasks.remove(id)));
        }
        tasks.insert(task.id.clone(), task.clone());
    }

    pub(super) fn conversation(&self, user: &UserId, context: &str) -> Option<ConversationId> {
        let contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        contexts.get(&(user.clone(), context.to_owned())).copied()
    }

    pub(super) fn remember(&self, user: &UserId, context: &str, conversation: ConversationId) {
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        if contexts.len() >= MOST {
            contexts.clear();
        }
        contexts.insert((user.clone(), context.to_owned()), conversation);
    }
}

/// Accepts a message: it starts a new task or answers a task that requires input.
async fn begin(
    site: &Shared,
    identity: &Identity,
    params: &Value,
    dialect: Dialect,
) -> Result<Arc<Task>, Fault> {
    let message = params.get("message").cloned().ok_or_else(|| Fault::params("params.message is missing"))?;
    let incoming: Incoming =
        serde_json::from_value(message).map_err(|error| Fault::params(format!("params.message: {error}")))?;
    if incoming.message_id.is_empty() {
        return Err(Fault::params("params.message.messageId is missing"));
    }
    if !matches!(incoming.role.as_str(), "user" | "ROLE_USER") {
        return Err(Fault::params("params.message.role must be that of the user"));
    }
    let said = TaskMessage { id: incoming.message_id.clone(), by_user: true, text: incoming.text(dialect)? };
    let before = match incoming.task_id.as_str() {
        "" => None,
        id => Some(site.a2a.of(id, &identity.user)?),
    };
    if let Some(task) = &before {
        if lock(task).standing != TaskState::InputRequired {
            return Err(Fault::new(
                -32004,
                "the task does not wait for an answer: begin another in its context",
            ));
        }
        if !incoming.context_id.is_empty() && incoming.context_id != task.context {
            return Err(Fault::params("params.message.contextId is not that of the task"));
        }
    }
    if incoming.context_id.len() > 200 || said.id.len() > 200 {
        return Err(Fault::params("contextId and messageId have at most 200 letters"));
    }
    let context = match (&before, incoming.context_id.as_str()) {
        (Some(task), _) => task.context.clone(),
        (None, "") => site.new_id()?.to_string(),
        (None, given) => given.to_owned(),
    };
    let mut conversation_id = site.a2a.conversation(&identity.user, &context);
    if let (None, Ok(id)) = (conversation_id, context.parse::<ConversationId>()) {
        // A context id may name a conversation that was started elsewhere.
        let found = site.store().conversation(&super::scope(identity), id).await.map_err(Problem::from)?;
        conversation_id = found.map(|_| id);
    }
    let say = TurnRequest { message: said.text.clone(), conversation_id, data: Vec::new(), choice: None };
    let live = site.begin(identity, site.turn(identity, &say)?)?;
    let task = match before {
        Some(task) => {
            let mut state = lock(&task);
            (state.live, state.standing, state.at) = (live, TaskState::Working, site.now());
            state.history.push(said);
            drop(state);
            task.moved.send_replace(());
            task
        }
        None => {
            let state = Course {
                live,
                standing: TaskState::Working,
                history: vec![said],
                reply: Value::Null,
                at: site.now(),
            };
            let task = Arc::new(Task {
                id: site.new_id()?.to_string(),
                context,
                user: identity.user.clone(),
                state: Mutex::new(state),
                moved: watch::Sender::new(()),
            });
            site.a2a.keep(&task);
            task
        }
    };
    // The result is recorded even if no client is connected.
    let (one, kept) = (site.clone(), task.clone());
    site.work.spawn(async move { settle(&one, &kept).await });
    Ok(task)
}

/// Records how the turn of a task ended.
async fn settle(site: &AppState, task: &Task) {
    let live = lock(task).live.clone();
    let came = site.ended(&live).await;
    let mut state = lock(task);
    if state.standing != TaskState::Working {
        return;
    }
    state.at = site.now();
    let (standing, text) = match came {
        Ok(reply) => {
            let asks = matches!(reply.get("outcome").and_then(Value::as_str), Some("asked" | "confirm"));
            let failed = reply.get("outcome").and_then(Value::as_str) == Some("failed");
            let text = super::turns::words(&reply);
            if let Some(id) =
                reply.get("conversation_id").and_then(|id| serde_json::from_value(id.clone()).ok())
            {
                site.a2a.remember(&task.user, &task.context, id);
            }
            state.reply = reply;
            let standing = match (asks, failed) {
                (true, _) => TaskState::InputRequired,
                (_, true) => TaskState::Failed,
                _ => TaskState::Completed,
            };
            (standing, text)
        }
        Err(problem) if live.stop.is_cancelled() => (TaskState::Cancelled, problem.detail),
        Err(problem) => (TaskState::Failed, problem.detail),
    };
    state.standing = standing;
    let id = format!("{}-{}", task.id, state.history.len());
    state.history.push(TaskMessage { id, by_user: false, text });
}

async fn send(site: &Shared, identity: &Identity, params: &Value, dialect: Dialect) -> Result<Value, Fault> {
    let length = history_length(params)?;
    let task = begin(site, identity, params, dialect).await?;
    let flag = |at: &str| params.pointer(at).and_then(Value::as_bool);
    let at_once = flag("/configuration/returnImmediately") == Some(true)
        || flag("/configuration/return_immediately") == Some(true)
        || flag("/configuration/blocking") == Some(false);
    if !at_once {
        let live = lock(&task).live.clone();
        let _outcome_is_in_the_task = site.ended(&live).await;
        settle(site, &task).await;
    }
    let told = shown(&task, dialect, length);
    Ok(if dialect == Dialect::One { json!({ "task": told }) } else { told })
}

async fn cancel(
    site: &Shared,
    identity: &Identity,
    params: &Value,
    dialect: Dialect,
) -> Result<Value, Fault> {
    let task = known(site, identity, params)?;
    if ended(&task) {
        return Err(Fault::new(-32002, "the task has ended already"));
    }
    let (live, waits) = {
        let state = lock(&task);
        (state.live.clone(), state.standing == TaskState::InputRequired)
    };
    if waits {
        let mut state = lock(&task);
        (state.standing, state.at) = (TaskState::Cancelled, site.now());
        drop(state);
        task.moved.send_replace(());
    } else {
        live.stop.cancel();
        let _called_off = site.ended(&live).await;
        settle(site, &task).await;
    }
    Ok(shown(&task, dialect, None))
}

fn one(site: &AppState, identity: &Identity, params: &Value, dialect: Dialect) -> Result<Value, Fault> {
    let length = history_length(params)?;
    known(site, identity, params).map(|task| shown(&task, dialect, length))
}
