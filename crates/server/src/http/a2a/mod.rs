//! Other agents talk to this one: A2A over JSON-RPC, in its revisions 1.0 and 0.3.
//!
//! Invariants
//! - A task of the protocol is one wish: it may take several messages when something is asked back, and ends once.
//! - Whatever another agent sends is somebody's who is signed in; what is not theirs is not there.

mod told;

use super::extract::{Who, whole};
use super::openapi::Api;
use super::problem::Problem;
use super::stream;
use super::turns::{Live, Say};
use super::{Shared, Site};
use crate::identity::Identity;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{ConversationId, Timestamp, UserId};
use told::{Told, shown};

/// The revision that a client speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    One,
    Old,
}

/// What is wrong with a request, as the protocol numbers it.
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
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::new(if problem.status().is_server_error() { -32603 } else { -32602 }, problem.detail)
    }
}

/// How a task stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Working,
    Completed,
    InputRequired,
    Failed,
    Cancelled,
}

impl Standing {
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

/// Something that was said in a task.
#[derive(Clone)]
struct Said {
    id: String,
    by_user: bool,
    text: String,
}

/// A task of the protocol.
struct Task {
    id: String,
    context: String,
    user: UserId,
    state: Mutex<Course>,
}

/// What changes of it.
#[derive(Clone)]
struct Course {
    live: Arc<Live>,
    standing: Standing,
    history: Vec<Said>,
    /// The reply of the last turn that ended.
    reply: Value,
    at: Timestamp,
}

/// Tasks and contexts that are remembered.
#[derive(Default)]
pub(super) struct Tasks {
    tasks: Mutex<HashMap<String, Arc<Task>>>,
    contexts: Mutex<HashMap<(UserId, String), ConversationId>>,
}

/// How many are remembered; beyond, those that ended are forgotten.
const MOST: usize = 5000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    #[serde(default)]
    message_id: String,
    #[serde(default)]
    context_id: String,
    #[serde(default)]
    task_id: String,
    parts: Vec<Value>,
}

pub(super) fn routes(api: &mut Api) {
    let about = "What this agent can do, for other agents (A2A)";
    api.get("/.well-known/agent-card.json", about).open().gives_object(200, "The agent card.").to(get(card));
    api.get("/.well-known/agent.json", about).open().gives_object(200, "The agent card.").to(get(card));
    // Agents that know an address and nothing else post there.
    api.post("/", "The same as /a2a, for agents that know the address only")
        .takes::<serde_json::Map<String, Value>>()
        .gives_object(200, "The JSON-RPC answer, or events.")
        .to(post(call));
    api.post("/a2a", "Talk to it as another agent: JSON-RPC of A2A 1.0 and 0.3")
        .takes::<serde_json::Map<String, Value>>()
        .gives_object(200, "The JSON-RPC answer, or events.")
        .to(post(call));
}

async fn card(State(site): State<Shared>, headers: HeaderMap, who: Result<Who, Problem>) -> Json<Value> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let scheme = if site.options.secure_cookies { "https" } else { "http" };
    let url = format!("{scheme}://{host}/a2a");
    let mut skills = vec![json!({
        "id": "ask", "name": "Ask", "tags": ["questions", "data", "tools"],
        "description": "Answers questions about data and tools in plain language, with sources, and carries out what is asked.",
        "examples": ["What can you do?"],
    })];
    // What is set up here is for those who may use it.
    if let Ok(Who(identity)) = who
        && let Ok(reader) = site.talker.reader(&site.caller(&identity), &[]).await
    {
        skills.extend(reader.domains().map(|topic| {
            json!({ "id": topic.name, "name": topic.title, "description": if topic.description.is_empty() { &topic.title } else { &topic.description }, "tags": [topic.name] })
        }));
    }
    let face =
        |version: &str| json!({ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": version });
    let mut card = json!({
        "name": "Steward", "description": "An agent you can account for: it answers about data and tools, with sources, and can prove afterwards what it did.",
        "version": env!("CARGO_PKG_VERSION"), "supportedInterfaces": [face("1.0"), face("0.3")],
        "capabilities": { "streaming": true, "pushNotifications": false, "extendedAgentCard": false, "stateTransitionHistory": false },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain", "application/json"], "skills": skills,
        "url": url, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0", "supportsAuthenticatedExtendedCard": false,
    });
    if let (Some(card), true) =
        (card.as_object_mut(), site.directory.has_users() || !site.options.loopback_owner)
    {
        let scheme =
            json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" }, "type": "http", "scheme": "bearer" });
        card.insert("securitySchemes".into(), json!({ "key": scheme }));
        card.insert("security".into(), json!([{ "key": [] }]));
        card.insert("securityRequirements".into(), json!([{ "schemes": { "key": { "list": [] } } }]));
    }
    Json(card)
}

/// One request of JSON-RPC.
async fn call(State(site): State<Shared>, Who(identity): Who, request: Request) -> Result<Response, Problem> {
    let version =
        request.headers().get("a2a-version").and_then(|version| version.to_str().ok()).map(str::to_owned);
    let bytes = whole(request, &site).await?;
    let answer = |id: &Value, body: Value| {
        let mut told = json!({ "jsonrpc": "2.0", "id": id });
        if let (Some(told), Value::Object(body)) = (told.as_object_mut(), body) {
            told.extend(body);
        }
        Json(told).into_response()
    };
    let fault = |id: &Value, fault: &Fault| {
        answer(id, json!({ "error": { "code": fault.code, "message": fault.message } }))
    };
    let Ok(sent) = serde_json::from_slice::<Value>(&bytes) else {
        return Ok(fault(&Value::Null, &Fault::new(-32700, "the request is not JSON")));
    };
    let id = sent.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    let method = sent.get("method").and_then(Value::as_str).unwrap_or_default();
    if sent.get("jsonrpc").and_then(Value::as_str) != Some("2.0") || method.is_empty() {
        return Ok(fault(&id, &Fault::new(-32600, "the request is no JSON-RPC 2.0 request with a method")));
    }
    if version.as_deref().is_some_and(|version| !(version.starts_with("1.") || version.starts_with("0.3"))) {
        return Ok(fault(&id, &Fault::new(-32009, "this agent speaks A2A 1.0 and 0.3")));
    }
    let dialect = if method.contains('/') { Dialect::Old } else { Dialect::One };
    let params = sent.get("params").cloned().unwrap_or_default();
    let came = match method {
        "SendMessage" | "message/send" => send(&site, &identity, &params, dialect).await,
        "SendStreamingMessage" | "message/stream" => match begin(&site, &identity, &params).await {
            Ok(task) => return Ok(stream::respond(&site, Told::new(site.clone(), task, id, dialect))),
            Err(wrong) => Err(wrong),
        },
        "SubscribeToTask" | "tasks/resubscribe" => match known(&site, &identity, &params) {
            Ok(task) if ended(&task) => Err(Fault::new(-32004, "the task has ended: GetTask shows it")),
            Ok(task) => return Ok(stream::respond(&site, Told::new(site.clone(), task, id, dialect))),
            Err(wrong) => Err(wrong),
        },
        "GetTask" | "tasks/get" => one(&site, &identity, &params, dialect),
        "ListTasks" | "tasks/list" => list(&site, &identity, &params, dialect),
        "CancelTask" | "tasks/cancel" => cancel(&site, &identity, &params, dialect).await,
        "GetExtendedAgentCard" | "agent/getAuthenticatedExtendedCard" => {
            Err(Fault::new(-32007, "there is no other card than the one at /.well-known/agent-card.json"))
        }
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

/// How much of the history is wanted; all of it when nothing is said.
fn history_length(params: &Value) -> Result<Option<usize>, Fault> {
    let of = |at: &str| params.pointer(at).filter(|length| !length.is_null());
    let Some(length) = of("/historyLength").or_else(|| of("/configuration/historyLength")) else {
        return Ok(None);
    };
    let wrong = || Fault::params("historyLength must be a number from 0 on");
    length.as_u64().and_then(|length| usize::try_from(length).ok()).map(Some).ok_or_else(wrong)
}

fn lock(task: &Task) -> std::sync::MutexGuard<'_, Course> {
    task.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ended(task: &Task) -> bool {
    !matches!(lock(task).standing, Standing::Working | Standing::InputRequired)
}

fn known(site: &Site, identity: &Identity, params: &Value) -> Result<Arc<Task>, Fault> {
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
            tasks.retain(|_, task| !ended(task));
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

/// Takes a message: a new task, or the answer to what a task asked.
async fn begin(site: &Shared, identity: &Identity, params: &Value) -> Result<Arc<Task>, Fault> {
    let message = params.get("message").cloned().ok_or_else(|| Fault::params("params.message is missing"))?;
    let incoming: Incoming =
        serde_json::from_value(message).map_err(|error| Fault::params(format!("params.message: {error}")))?;
    if incoming.message_id.is_empty() {
        return Err(Fault::params("params.message.messageId is missing"));
    }
    let texts: Vec<&str> =
        incoming.parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    if texts.is_empty() {
        let code = if incoming.parts.is_empty() { -32602 } else { -32005 };
        return Err(Fault::new(code, "a message needs a part with text"));
    }
    let said = Said { id: incoming.message_id, by_user: true, text: texts.join("\n") };
    let before = match incoming.task_id.as_str() {
        "" => None,
        id => Some(site.a2a.of(id, &identity.user)?),
    };
    if let Some(task) = &before {
        if lock(task).standing != Standing::InputRequired {
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
        // A context may be a conversation that was begun elsewhere.
        let found = site.store().conversation(&super::scope(identity), id).await.map_err(Problem::from)?;
        conversation_id = found.map(|_| id);
    }
    let say = Say { message: said.text.clone(), conversation_id, data: Vec::new() };
    let live = site.begin(identity, site.turn(identity, &say)?)?;
    let task = match before {
        Some(task) => {
            let mut state = lock(&task);
            (state.live, state.standing, state.at) = (live, Standing::Working, site.now());
            state.history.push(said);
            drop(state);
            task
        }
        None => {
            let state = Course {
                live,
                standing: Standing::Working,
                history: vec![said],
                reply: Value::Null,
                at: site.now(),
            };
            let task = Arc::new(Task {
                id: site.new_id()?.to_string(),
                context,
                user: identity.user.clone(),
                state: Mutex::new(state),
            });
            site.a2a.keep(&task);
            task
        }
    };
    // Whether or not somebody listens, what comes of it is taken down.
    let (one, kept) = (site.clone(), task.clone());
    site.work.spawn(async move { settle(&one, &kept).await });
    Ok(task)
}

/// Takes down how the turn of a task ended.
async fn settle(site: &Site, task: &Task) {
    let live = lock(task).live.clone();
    let came = site.ended(&live).await;
    let mut state = lock(task);
    if state.standing != Standing::Working {
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
                (true, _) => Standing::InputRequired,
                (_, true) => Standing::Failed,
                _ => Standing::Completed,
            };
            (standing, text)
        }
        Err(problem) if live.stop.is_cancelled() => (Standing::Cancelled, problem.detail),
        Err(problem) => (Standing::Failed, problem.detail),
    };
    state.standing = standing;
    let id = format!("{}-{}", task.id, state.history.len());
    state.history.push(Said { id, by_user: false, text });
}

async fn send(site: &Shared, identity: &Identity, params: &Value, dialect: Dialect) -> Result<Value, Fault> {
    let length = history_length(params)?;
    let task = begin(site, identity, params).await?;
    let flag = |at: &str| params.pointer(at).and_then(Value::as_bool);
    let at_once = flag("/configuration/returnImmediately") == Some(true)
        || flag("/configuration/blocking") == Some(false);
    if !at_once {
        let live = lock(&task).live.clone();
        let _how_it_ended_is_in_the_task = site.ended(&live).await;
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
        (state.live.clone(), state.standing == Standing::InputRequired)
    };
    if waits {
        let mut state = lock(&task);
        (state.standing, state.at) = (Standing::Cancelled, site.now());
    } else {
        live.stop.cancel();
        let _called_off = site.ended(&live).await;
        settle(site, &task).await;
    }
    Ok(shown(&task, dialect, None))
}

fn one(site: &Site, identity: &Identity, params: &Value, dialect: Dialect) -> Result<Value, Fault> {
    let length = history_length(params)?;
    known(site, identity, params).map(|task| shown(&task, dialect, length))
}

/// What is wanted of the list of tasks.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Wanted {
    context_id: String,
    status: String,
    page_size: Option<i64>,
    page_token: String,
    include_artifacts: bool,
    #[serde(alias = "lastUpdatedAfter")]
    status_timestamp_after: Value,
}

impl Wanted {
    /// From when on; a number is milliseconds.
    fn after(&self) -> Result<Option<Timestamp>, Fault> {
        match &self.status_timestamp_after {
            Value::Null => Ok(None),
            Value::Number(millis) => {
                let millis = millis.as_i64().filter(|millis| (0..=253_402_300_799_000).contains(millis));
                let millis = millis.ok_or_else(|| Fault::params("lastUpdatedAfter is no time"))?;
                Ok(Some(Timestamp::from_micros(millis * 1000)))
            }
            text => serde_json::from_value(text.clone())
                .map(Some)
                .map_err(|_| Fault::params("statusTimestampAfter is no time")),
        }
    }
}

/// Standings that there are.
const STANDINGS: [Standing; 5] =
    [Standing::Working, Standing::Completed, Standing::InputRequired, Standing::Failed, Standing::Cancelled];
/// Standings that the protocol knows and tasks here are never in.
const NEVER: [&str; 4] = ["submitted", "rejected", "auth-required", "unknown"];

/// The standing of this name, in either revision; nothing for one that no task here is ever in.
fn standing_of(name: &str) -> Result<Option<Standing>, Fault> {
    let plain = name.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-");
    let found = STANDINGS.into_iter().find(|standing| standing.name(Dialect::Old) == plain);
    match found {
        None if !NEVER.contains(&plain.as_str()) => Err(Fault::params(format!("there is no status {name}"))),
        found => Ok(found),
    }
}

fn list(site: &Shared, identity: &Identity, params: &Value, dialect: Dialect) -> Result<Value, Fault> {
    let sent = if params.is_null() { json!({}) } else { params.clone() };
    let wanted: Wanted =
        serde_json::from_value(sent).map_err(|error| Fault::params(format!("params: {error}")))?;
    let (length, after) = (history_length(params)?, wanted.after()?);
    let size = wanted.page_size.unwrap_or(50);
    if !(1..=100).contains(&size) {
        return Err(Fault::params("pageSize must be from 1 to 100"));
    }
    let skip: usize = match wanted.page_token.as_str() {
        "" => 0,
        token => token.parse().map_err(|_| Fault::params("pageToken is not one of ours"))?,
    };
    let status = if wanted.status.is_empty() { None } else { Some(standing_of(&wanted.status)?) };
    let fits = |task: &&Arc<Task>| {
        let course = lock(task);
        task.user == identity.user
            && (wanted.context_id.is_empty() || task.context == wanted.context_id)
            && status.is_none_or(|status| status == Some(course.standing))
            && after.is_none_or(|after| course.at > after)
    };
    let tasks = site.a2a.tasks.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found: Vec<Arc<Task>> = tasks.values().filter(fits).cloned().collect();
    drop(tasks);
    found.sort_by_key(|task| std::cmp::Reverse(lock(task).at));
    let (total, size) = (found.len(), usize::try_from(size).unwrap_or(50));
    let mut page: Vec<Value> =
        found.iter().skip(skip).take(size).map(|task| shown(task, dialect, length)).collect();
    if !wanted.include_artifacts {
        page.iter_mut().filter_map(Value::as_object_mut).for_each(|task| drop(task.remove("artifacts")));
    }
    let next = if skip + size < total { (skip + size).to_string() } else { String::new() };
    Ok(json!({ "tasks": page, "nextPageToken": next, "pageSize": page.len(), "totalSize": total }))
}
