//! Serializes tasks and their stream events in the format of the protocol.

use super::{Course, Dialect, Task, TaskMessage, TaskState, lock, settle};
use crate::http::Shared;
use crate::http::stream::{Frame, Next, Source};
use crate::http::turns::{Listener, words};
use serde_json::{Value, json};
use std::sync::Arc;

fn text_part(text: &str, dialect: Dialect) -> Value {
    match dialect {
        Dialect::One => json!({ "text": text, "mediaType": "text/plain" }),
        Dialect::Old => json!({ "kind": "text", "text": text }),
    }
}

fn data_part(data: &Value, dialect: Dialect) -> Value {
    match dialect {
        Dialect::One => json!({ "data": data, "mediaType": "application/json" }),
        Dialect::Old => json!({ "kind": "data", "data": data }),
    }
}

fn message(task: &Task, said: &TaskMessage, dialect: Dialect) -> Value {
    let role = match (said.by_user, dialect) {
        (true, Dialect::One) => "ROLE_USER",
        (false, Dialect::One) => "ROLE_AGENT",
        (true, Dialect::Old) => "user",
        (false, Dialect::Old) => "agent",
    };
    let mut told = json!({
        "messageId": said.id, "role": role, "parts": [text_part(&said.text, dialect)], "taskId": task.id, "contextId": task.context,
    });
    kind(&mut told, "message", dialect);
    told
}

/// A message of the agent that belongs to no task: its text, and its data.
pub(super) fn agent_message(id: &str, text: &str, data: &Value, dialect: Dialect) -> Value {
    let role = if dialect == Dialect::One { "ROLE_AGENT" } else { "agent" };
    let parts = [text_part(text, dialect), data_part(data, dialect)];
    let mut told = json!({ "messageId": id, "role": role, "parts": parts });
    kind(&mut told, "message", dialect);
    if dialect == Dialect::One { json!({ "message": told }) } else { told }
}

/// Adds the `kind` field that version 0.3 requires.
fn kind(told: &mut Value, name: &str, dialect: Dialect) {
    if let (Some(told), Dialect::Old) = (told.as_object_mut(), dialect) {
        told.insert("kind".into(), name.into());
    }
}

fn status(task: &Task, state: &Course, dialect: Dialect) -> Value {
    let mut told = json!({ "state": state.standing.name(dialect), "timestamp": state.at });
    let last = state.history.last().filter(|said| !said.by_user && state.standing != TaskState::Working);
    if let (Some(told), Some(last)) = (told.as_object_mut(), last) {
        told.insert("message".into(), message(task, last, dialect));
    }
    told
}

/// The answer as an artifact: its text, and the whole reply as data.
fn artifact(task: &Task, state: &Course, dialect: Dialect) -> Option<Value> {
    if state.reply.is_null() || state.standing != TaskState::Completed {
        return None;
    }
    let parts = [text_part(&words(&state.reply), dialect), data_part(&state.reply, dialect)];
    Some(json!({ "artifactId": format!("{}-answer", task.id), "name": "answer", "parts": parts }))
}

pub(super) fn shown(task: &Task, dialect: Dialect, length: Option<usize>) -> Value {
    let state = lock(task).clone();
    let keep = length.unwrap_or(usize::MAX).min(state.history.len());
    let history: Vec<Value> = state
        .history
        .iter()
        .skip(state.history.len() - keep)
        .map(|said| message(task, said, dialect))
        .collect();
    let mut told = json!({
        "id": task.id, "contextId": task.context, "status": status(task, &state, dialect),
        "artifacts": artifact(task, &state, dialect).into_iter().collect::<Vec<_>>(),
    });
    // A history length of 0 omits the history.
    if let (Some(told), true) = (told.as_object_mut(), length != Some(0)) {
        told.insert("history".into(), history.into());
    }
    kind(&mut told, "task", dialect);
    told
}

/// The event stream of one task.
pub(super) struct TaskStream {
    site: Shared,
    task: Arc<Task>,
    id: Value,
    dialect: Dialect,
    listener: Listener,
    began: bool,
    over: bool,
    /// Whether the stream continues until the task ends, or stops when input is required.
    to_the_end: bool,
    /// Whether the stream already reported that input is required.
    asked: bool,
}

impl TaskStream {
    pub(super) fn new(site: Shared, task: Arc<Task>, id: Value, dialect: Dialect) -> Self {
        let listener = Listener::new(lock(&task).live.clone(), 0);
        Self { site, task, id, dialect, listener, began: false, over: false, to_the_end: false, asked: false }
    }

    /// Streams only new events. Earlier events are part of the task.
    pub(super) fn from_now(site: Shared, task: Arc<Task>, id: Value, dialect: Dialect) -> Self {
        let (live, asked) = {
            let state = lock(&task);
            (state.live.clone(), state.standing == TaskState::InputRequired)
        };
        let listener = Listener::new(live.clone(), live.event_count());
        Self { site, task, id, dialect, listener, began: false, over: false, to_the_end: true, asked }
    }

    /// Waits while the task requires input. The next turn is then streamed from its first event.
    async fn answered(&mut self) {
        let mut moved = self.task.moved.subscribe();
        while lock(&self.task).standing == TaskState::InputRequired {
            if moved.changed().await.is_err() {
                break;
            }
        }
        self.listener = Listener::new(lock(&self.task).live.clone(), 0);
    }

    fn frame(&self, name: &str, old: &str, mut event: Value) -> Frame {
        kind(&mut event, old, self.dialect);
        let result = match self.dialect {
            Dialect::One => json!({ name: event }),
            Dialect::Old => event,
        };
        Frame::data(json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string())
    }

    fn update(&self, status: &Value, last: bool) -> Frame {
        let mut event = json!({ "taskId": self.task.id, "contextId": self.task.context, "status": status });
        if let (Some(event), Dialect::Old) = (event.as_object_mut(), self.dialect) {
            event.insert("final".into(), last.into());
        }
        self.frame("statusUpdate", "status-update", event)
    }

    /// Converts an event of the turn to an event of the protocol.
    fn told(&self, frame: &Frame) -> Option<Frame> {
        if frame.name != Some("began") {
            return None;
        }
        let data: Value = serde_json::from_str(&frame.data).ok()?;
        let said = TaskMessage {
            id: format!("{}-step-{}", self.task.id, frame.id?),
            by_user: false,
            text: data.get("what")?.as_str()?.to_owned(),
        };
        let status = json!({
            "state": TaskState::Working.name(self.dialect), "timestamp": data.get("at"),
            "message": message(&self.task, &said, self.dialect),
        });
        Some(self.update(&status, false))
    }
}

impl Source for TaskStream {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            if !self.began {
                self.began = true;
                return Some(vec![self.frame("task", "task", shown(&self.task, self.dialect, None))]);
            }
            while !self.over {
                match self.listener.next().await {
                    Some(frames) => {
                        let told: Vec<Frame> = frames.iter().filter_map(|frame| self.told(frame)).collect();
                        if !told.is_empty() {
                            return Some(told);
                        }
                    }
                    None => {
                        settle(&self.site, &self.task).await;
                        let state = lock(&self.task).clone();
                        self.over = !self.to_the_end || state.standing != TaskState::InputRequired;
                        if !self.over && std::mem::replace(&mut self.asked, true) {
                            self.answered().await;
                            self.asked = false;
                            continue;
                        }
                        let made = artifact(&self.task, &state, self.dialect).map(|artifact| {
                            let event = json!({ "taskId": self.task.id, "contextId": self.task.context, "artifact": artifact, "append": false, "lastChunk": true });
                            self.frame("artifactUpdate", "artifact-update", event)
                        });
                        let last = self.update(&status(&self.task, &state, self.dialect), self.over);
                        return Some(made.into_iter().chain([last]).collect());
                    }
                }
            }
            None
        })
    }
}
