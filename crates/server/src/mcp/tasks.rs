//! Calls that became tasks (the tasks extension, SEP-2663). The client got an id in place of a
//! result and polls for the result.
//!
//! Invariants
//! - A task belongs to the user who made the call. Other users get a not-found error.
//! - A finished task is readable until it expires. A running task is owned by the server's tracker
//!   and ends with the server.
//!
//! Durable tasks belong to the gateway: [`super::Gateway::task`].

use super::convert;
use super::drive::{Reply, Running};
use super::gateway::{Failure, TaskState, TaskStatus};
use super::parked::fresh_id;
use super::session::Ask;
use rmcp::model::{
    CallToolResult, DetailedTask, ErrorData, InputRequests, InputResponses, Task, TaskPayload,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::{JsonObject, Timestamp};
use steward_journal::clock::{Clock as _, SystemClock};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The lifetime of a task, from its creation. Calls end long before.
const LIFE: Duration = Duration::from_secs(3600);
/// The maximum number of tasks. If it is reached, the client waits for its call.
const CAPACITY: usize = 512;
/// The recommended polling interval.
const POLL_MS: u64 = 500;

/// The calls that became tasks.
#[derive(Default)]
pub(super) struct TaskTable {
    tasks: Mutex<HashMap<String, Arc<DetachedCall>>>,
}

/// A call that became a task.
pub(super) struct DetachedCall {
    id: String,
    user: String,
    created: Timestamp,
    since: Instant,
    cancel: CancellationToken,
    progress: Mutex<CallProgress>,
}

struct CallProgress {
    updated: Timestamp,
    message: Option<String>,
    standing: Standing,
}

enum Standing {
    Working,
    Asking(Ask),
    Ended(TaskStatus),
}

fn now() -> Timestamp {
    SystemClock::default().now()
}

impl TaskTable {
    /// Creates a task for a call of this user. `None` if the table is full.
    pub(super) fn create(&self, user: &str) -> Option<Arc<DetachedCall>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let at = Instant::now();
        tasks.retain(|_, task| at.duration_since(task.since) < LIFE);
        if tasks.len() >= CAPACITY {
            return None;
        }
        let created = now();
        let task = Arc::new(DetachedCall {
            id: fresh_id(),
            user: user.to_owned(),
            created,
            since: at,
            cancel: CancellationToken::new(),
            progress: Mutex::new(CallProgress {
                updated: created,
                message: None,
                standing: Standing::Working,
            }),
        });
        tasks.insert(task.id.clone(), task.clone());
        Some(task)
    }

    /// The task with this id, if it belongs to this user.
    pub(super) fn find(&self, id: &str, user: &str) -> Option<Arc<DetachedCall>> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.get(id).filter(|task| task.user == user && task.since.elapsed() < LIFE).cloned()
    }
}

impl DetachedCall {
    /// Drives the call to its end. The client or the end of the server can cancel it.
    pub(super) async fn carry_out(self: Arc<Self>, running: Running, ended: CancellationToken) {
        let outcome = running.drive_detached(&self, &ended).await;
        let status = match outcome {
            Some(Ok(Reply::Tool(output))) => TaskStatus::Completed(output),
            Some(Ok(_)) => TaskStatus::Failed(Failure::fault()),
            Some(Err(_)) | None if self.cancel.is_cancelled() || ended.is_cancelled() => {
                TaskStatus::Cancelled
            }
            Some(Err(failure)) => TaskStatus::Failed(failure),
            None => TaskStatus::Cancelled,
        };
        self.change(|progress| progress.standing = Standing::Ended(status));
    }

    fn change(&self, with: impl FnOnce(&mut CallProgress)) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        with(&mut progress);
        progress.updated = now();
    }

    /// Sets the progress message.
    pub(super) fn report(&self, message: String) {
        self.change(|progress| progress.message = Some(message));
    }

    /// Resolves when the client cancels the task.
    pub(super) async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// Whether a prompt waits for a response of the client.
    pub(super) fn is_asking(&self) -> bool {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(progress.standing, Standing::Asking(_))
    }

    /// The call prompts the client and waits.
    pub(super) fn ask(&self, ask: Ask) {
        self.change(|progress| progress.standing = Standing::Asking(ask));
    }

    /// Accepts responses of the client. Unknown or malformed responses are dropped and the prompt
    /// stays.
    pub(super) fn answer(&self, responses: InputResponses) {
        self.change(|progress| {
            let Standing::Asking(ask) = &mut progress.standing else { return };
            for (key, answer) in responses {
                if ask.wants.get(&key).is_some_and(|want| convert::fits(want, &answer)) {
                    ask.answers.insert(key, answer);
                }
            }
            if ask.wants.keys().any(|key| !ask.answers.contains_key(key)) {
                return;
            }
            if let Standing::Asking(ask) = std::mem::replace(&mut progress.standing, Standing::Working) {
                drop(ask.reply.send(Ok(ask.answers)));
            }
        });
    }

    /// Cancels the task. A finished task is not changed.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The task in the format of the protocol.
    pub(super) fn detailed(&self) -> Result<DetailedTask, Failure> {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let status = match &progress.standing {
            Standing::Working => TaskStatus::Working,
            Standing::Asking(ask) => {
                let open = ask.wants.iter().filter(|(key, _)| !ask.answers.contains_key(*key));
                TaskStatus::Asking(open.map(|(key, want)| (key.clone(), want.clone())).collect())
            }
            Standing::Ended(status) => status.clone(),
        };
        let (message, updated) = (progress.message.clone(), progress.updated);
        let life = u64::try_from(LIFE.as_millis()).ok();
        let state = TaskState { id: self.id.clone(), status, message, created: self.created, updated };
        detailed(state, life)
    }
}

/// Converts a task state to the protocol. `life` is its lifetime; `None` means unlimited.
pub(super) fn detailed(state: TaskState, life: Option<u64>) -> Result<DetailedTask, Failure> {
    let (created, updated) = (state.created.to_string(), state.updated.to_string());
    let mut task = Task::new(state.id, rmcp::model::TaskStatus::Working, created, updated);
    task.status_message = state.message;
    task.ttl_ms = life;
    task.poll_interval_ms = Some(POLL_MS);
    let payload = match state.status {
        TaskStatus::Working => TaskPayload::Working,
        TaskStatus::Cancelled => TaskPayload::Cancelled,
        TaskStatus::Asking(wants) => {
            let mut input_requests = InputRequests::new();
            for (key, want) in wants {
                input_requests.insert(key, convert::input(want)?);
            }
            TaskPayload::InputRequired { input_requests }
        }
        TaskStatus::Completed(output) => completed(convert::output(output)),
        // A tool error completes the task. Only protocol and internal errors fail it.
        TaskStatus::Failed(failure) if failure.is_fault() => failed(&convert::error(failure)),
        TaskStatus::Failed(failure) => match convert::failed(failure) {
            Ok(result) => completed(result),
            Err(error) => failed(&error),
        },
    };
    Ok(DetailedTask::new(task, payload))
}

fn completed(result: CallToolResult) -> TaskPayload {
    TaskPayload::Completed { result: object(serde_json::to_value(result)) }
}

fn failed(error: &ErrorData) -> TaskPayload {
    TaskPayload::Failed { error: object(serde_json::to_value(error)) }
}

fn object(value: serde_json::Result<Json>) -> JsonObject {
    match value {
        Ok(Json::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

/// Responses of the protocol as a plain map.
pub(super) fn answers(responses: InputResponses) -> BTreeMap<String, Json> {
    responses.into_iter().collect()
}
