//! `/v1/responses`: answers as response objects or as events.
//!
//! A response is stored as its task and has the task's id. The same user can continue from it, on
//! any replica and after a restart.

use super::flow::{Flow, Outcome, Told};
use super::request::Responding;
use crate::http::artifacts::reply_of;
use crate::http::extract::{Authenticated, Input};
use crate::http::problem::Problem;
use crate::http::stream::{self, Frame, Next, Source};
use crate::http::{AppState, Shared, scope};
use crate::identity::Identity;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use steward_domain::{ConversationId, TaskId};
use steward_engine::EarlierMessage;
use steward_runtime::run::conversation_after;
use uuid::Uuid;

/// The context of an earlier response.
#[derive(Default)]
struct Previous {
    conversation: Option<ConversationId>,
    messages: Vec<EarlierMessage>,
}

/// Finds the response with this id. It must belong to the user.
async fn previous(site: &Shared, identity: &Identity, id: &str) -> Result<Previous, Problem> {
    if let Some(messages) = site.histories.answered(&identity.user, id) {
        return Ok(Previous { conversation: None, messages });
    }
    let missing = || Problem::missing("response", id);
    let uuid = id.strip_prefix("resp_").and_then(|rest| Uuid::try_parse(rest).ok()).ok_or_else(missing)?;
    let task = TaskId(uuid);
    let store = site.store();
    if store.task(&scope(identity), task).await?.is_none() {
        return Err(missing());
    }
    let Ok(reply) = reply_of(site, &crate::http::scope(identity), task).await else {
        // A run of an agent has no conversation reply. Its history is in its events.
        let messages = conversation_after(&**store, &scope(identity), task).await.map_err(|_| missing())?;
        return Ok(Previous { conversation: None, messages });
    };
    let read = |path: &str| reply.pointer(path).cloned();
    let conversation = read("/conversation_id").and_then(|id| serde_json::from_value(id).ok());
    let called = read("/client_calls").is_some();
    let run: Option<TaskId> = read("/model/run").and_then(|id| serde_json::from_value(id).ok());
    let messages = match run.filter(|_| called) {
        // Calls of client tools are recorded only in the run.
        Some(run) => conversation_after(&**store, &scope(identity), run).await.map_err(|_| missing())?,
        None => Vec::new(),
    };
    Ok(Previous { conversation, messages })
}

pub(super) async fn respond(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(sent): Input<Responding>,
) -> Result<Response, Problem> {
    let before = match sent.previous_response_id.as_deref() {
        None => Previous::default(),
        Some(id) => previous(&site, &identity, id).await?,
    };
    let (streams, previous) = (sent.stream == Some(true), sent.previous_response_id.clone());
    let (model, created) = (sent.model.clone(), site.now().micros() / 1_000_000);
    let wanted = sent.read(before.messages)?;
    let echo = wanted.echo.clone();
    let flow = Flow::begin(&site, &identity, wanted, before.conversation).await?;
    // The id is the task's. An answer without a task gets a new id.
    let turn = match flow.task().await {
        Some(task) => task.0,
        None => site.new_id()?,
    };
    let turn = turn.simple().to_string();
    if let Some(messages) = flow.known_messages() {
        site.histories.keep_answer(&identity.user, &format!("resp_{turn}"), messages);
    }
    let form = Form { id: format!("resp_{turn}"), turn, model, created, previous, echo };
    if !streams {
        let (outcome, _) = flow.finish().await?;
        return Ok(Json(form.whole(&outcome)).into_response());
    }
    let events = Events { form, flow, number: 0, began: false, over: false, text: None };
    Ok(stream::respond(&site, events))
}

/// The constant fields of one response.
struct Form {
    id: String,
    turn: String,
    model: String,
    created: i64,
    previous: Option<String>,
    echo: Value,
}

impl Form {
    fn response(&self, status: &str, output: &[Value], used: Option<(u64, u64)>) -> Value {
        let mut response = json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status, "model": self.model,
            "output": output, "error": null, "incomplete_details": null, "previous_response_id": self.previous,
            "store": true, "truncation": "auto",
            "usage": used.map(|(input, output)| json!({
                "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
                "input_tokens_details": { "cached_tokens": 0 }, "output_tokens_details": { "reasoning_tokens": 0 },
            })),
        });
        if let (Some(response), Value::Object(echo)) = (response.as_object_mut(), &self.echo) {
            response.extend(echo.clone());
            if status == "incomplete" {
                response.insert("incomplete_details".into(), json!({ "reason": "max_output_tokens" }));
            }
        }
        response
    }

    fn message(&self, status: &str, text: Option<&str>) -> Value {
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let content: Vec<Value> = text.into_iter().map(part).collect();
        json!({ "type": "message", "id": format!("msg_{}", self.turn), "status": status, "role": "assistant", "content": content })
    }

    fn calls(&self, outcome: &Outcome) -> Vec<Value> {
        let call = |(place, call): (usize, &super::flow::OutgoingCall)| {
            json!({ "type": "function_call", "id": format!("fc_{}_{place}", self.turn), "call_id": call.id,
                "status": "completed", "name": call.name, "arguments": call.arguments })
        };
        outcome.calls.iter().enumerate().map(call).collect()
    }

    fn whole(&self, outcome: &Outcome) -> Value {
        let said = (!outcome.text.is_empty() || outcome.calls.is_empty())
            .then(|| self.message("completed", Some(&outcome.text)));
        let output: Vec<Value> = said.into_iter().chain(self.calls(outcome)).collect();
        let status = if outcome.cut_off { "incomplete" } else { "completed" };
        self.response(status, &output, Some(outcome.used))
    }
}

/// An answer as a stream of events.
struct Events {
    form: Form,
    flow: Flow,
    number: u64,
    began: bool,
    over: bool,
    /// The text of the message, once it has started.
    text: Option<String>,
}

impl Events {
    fn event(&mut self, kind: &'static str, mut data: Value) -> Frame {
        if let Some(data) = data.as_object_mut() {
            data.insert("type".into(), kind.into());
            data.insert("sequence_number".into(), self.number.into());
        }
        self.number += 1;
        Frame { id: None, name: Some(kind), data: data.to_string() }
    }

    fn of_text(&mut self, kind: &'static str, more: Value) -> Frame {
        let mut data =
            json!({ "item_id": format!("msg_{}", self.form.turn), "output_index": 0, "content_index": 0 });
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        self.event(kind, data)
    }

    fn delta(&mut self, text: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        if self.text.is_none() {
            let item = self.form.message("in_progress", None);
            frames.push(self.event("response.output_item.added", json!({ "output_index": 0, "item": item })));
            let part = json!({ "part": { "type": "output_text", "text": "", "annotations": [] } });
            frames.push(self.of_text("response.content_part.added", part));
        }
        self.text.get_or_insert_default().push_str(text);
        if !text.is_empty() {
            let delta = json!({ "delta": text, "logprobs": [] });
            frames.push(self.of_text("response.output_text.delta", delta));
        }
        frames
    }

    fn end(&mut self, outcome: &Outcome) -> Vec<Frame> {
        let mut frames = match self.text.is_none() && outcome.calls.is_empty() {
            true => self.delta(""),
            false => Vec::new(),
        };
        let mut place = 0;
        if let Some(text) = self.text.take() {
            let part = json!({ "type": "output_text", "text": text, "annotations": [] });
            frames.push(self.of_text("response.output_text.done", json!({ "text": text, "logprobs": [] })));
            frames.push(self.of_text("response.content_part.done", json!({ "part": part })));
            let item = self.form.message("completed", Some(&text));
            frames.push(self.event("response.output_item.done", json!({ "output_index": 0, "item": item })));
            place = 1;
        }
        for (at, item) in self.form.calls(outcome).into_iter().enumerate() {
            let (index, id) = (place + at, item.get("id").cloned().unwrap_or_default());
            let arguments = item.get("arguments").cloned().unwrap_or_default();
            let mut begun = item.clone();
            if let Some(begun) = begun.as_object_mut() {
                begun.insert("arguments".into(), json!(""));
                begun.insert("status".into(), json!("in_progress"));
            }
            let named = json!({ "item_id": id, "output_index": index });
            let with = |name: &str, value: &Value| {
                let mut data = named.clone();
                if let Some(data) = data.as_object_mut() {
                    data.insert(name.to_owned(), value.clone());
                }
                data
            };
            frames.push(
                self.event("response.output_item.added", json!({ "output_index": index, "item": begun })),
            );
            frames.push(self.event("response.function_call_arguments.delta", with("delta", &arguments)));
            let mut done = with("arguments", &arguments);
            if let (Some(done), Some(name)) = (done.as_object_mut(), item.get("name")) {
                done.insert("name".into(), name.clone());
            }
            frames.push(self.event("response.function_call_arguments.done", done));
            frames.push(
                self.event("response.output_item.done", json!({ "output_index": index, "item": item })),
            );
        }
        let kind = if outcome.cut_off { "response.incomplete" } else { "response.completed" };
        let whole = json!({ "response": self.form.whole(outcome) });
        frames.push(self.event(kind, whole));
        frames
    }

    fn frames(&mut self, told: Told) -> Vec<Frame> {
        match told {
            Told::Text(text) => self.delta(&text),
            Told::End(outcome) => {
                self.over = true;
                self.end(&outcome)
            }
            Told::Failed(problem) => {
                self.over = true;
                let mut failed = self.form.response("failed", &[], None);
                let error = AppState::stream_error(&problem);
                if let Some(failed) = failed.as_object_mut() {
                    let told = json!({ "code": error.get("code"), "message": error.get("message") });
                    failed.insert("error".into(), told);
                }
                vec![self.event("response.failed", json!({ "response": failed }))]
            }
        }
    }
}

impl Source for Events {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            if !self.began {
                self.began = true;
                let begun = json!({ "response": self.form.response("in_progress", &[], None) });
                let created = self.event("response.created", begun.clone());
                return Some(vec![created, self.event("response.in_progress", begun)]);
            }
            if self.over {
                return None;
            }
            let told = self.flow.next().await?;
            let mut frames = Vec::new();
            for one in told {
                frames.extend(self.frames(one));
            }
            Some(frames)
        })
    }
}
