//! AG-UI: a turn as the events that agent front ends expect, over one POST.

use super::decide::{Decide, decide};
use super::extract::{Authenticated, Input};
use super::openai::{ClientStart, begin_for_client};
use super::openapi::Api;
use super::problem::Problem;
use super::stream::{self, Frame, Next, Source};
use super::turns::{Listener, TurnRequest, numbered_options};
use super::{AppState, Shared};
use crate::identity::{Identity, Right};
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use steward_domain::{ConversationId, TaskId, UserId};
use steward_store::Scope;

/// The request of a front end.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Run {
    /// The conversation id: one of this server, or one that the front end chose.
    #[schemars(length(max = 200))]
    thread_id: String,
    #[schemars(length(max = 200))]
    run_id: String,
    #[schemars(length(min = 1, max = 1000))]
    messages: Vec<Value>,
    /// Tools of the front end. Calls of them are returned; their results arrive with the next run.
    #[serde(default)]
    tools: Option<Vec<AguiTool>>,
    /// Answers to interrupts: decisions on what waits for approval.
    #[serde(default)]
    resume: Option<Vec<ResumeEntry>>,
    /// Context of the front end, for the model.
    #[serde(default)]
    context: Option<Vec<AguiContext>>,
}

/// The answer to an interrupt.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResumeEntry {
    /// The id of the interrupt: `TASK:DIGEST` of what was shown.
    interrupt_id: String,
    status: ResumeStatus,
    /// `{"decision": "approve"}`, with `why`, `message` and `updates` as in the API.
    #[serde(default)]
    payload: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ResumeStatus {
    Resolved,
    /// The user dismissed it: it is rejected.
    Cancelled,
}

impl ResumeEntry {
    /// The task and the decision.
    fn decision(&self) -> Result<(TaskId, Decide), Problem> {
        let wrong = |why: &str| Problem::input(format!("resume: {}: {why}", self.interrupt_id));
        let (task, digest) = self
            .interrupt_id
            .split_once(':')
            .ok_or_else(|| wrong("an interrupt of this server is TASK:DIGEST"))?;
        let task = task.parse().map_err(|_| wrong("the part before the colon is not the id of a task"))?;
        let mut wanted = match (self.status, &self.payload) {
            (ResumeStatus::Cancelled, _) => json!({ "decision": "reject" }),
            (ResumeStatus::Resolved, Some(payload)) => payload.clone(),
            (ResumeStatus::Resolved, None) => return Err(wrong("the payload with the decision is missing")),
        };
        if let Some(fields) = wanted.as_object_mut() {
            fields.insert("digest".into(), digest.into());
        }
        Ok((task, serde_json::from_value(wanted).map_err(|error| wrong(&error.to_string()))?))
    }
}

/// What a reply left waiting, as interrupts that a resumed run can answer.
async fn interrupts(site: &Shared, user: &UserId, reply: &Value) -> Vec<Value> {
    let waits = reply.get("waiting").and_then(Value::as_array).cloned().unwrap_or_default();
    if waits.is_empty() {
        return Vec::new();
    }
    let listed = site.toolbox().approvals().list(&Scope::User(user.clone())).await.unwrap_or_default();
    let asked = listed.iter().filter(|one| waits.contains(&json!(one.task)));
    asked
        .map(|one| {
            json!({
                "id": format!("{}:{}", one.task, one.digest), "reason": "approval", "message": one.reason,
                "expiresAt": one.until,
                "responseSchema": { "type": "object", "required": ["decision"], "properties": {
                    "decision": { "type": "string", "enum": ["approve", "reject", "modify"] },
                    "why": { "type": "string" }, "message": { "type": "string" },
                    "updates": { "type": "object" } } },
            })
        })
        .collect()
}

#[derive(Deserialize, JsonSchema)]
struct AguiTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
struct AguiContext {
    description: String,
    value: String,
}

impl Run {
    fn tools(&self) -> Vec<Value> {
        let tool = |tool: &AguiTool| {
            let function =
                json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
            json!({ "type": "function", "function": function })
        };
        self.tools.iter().flatten().map(tool).collect()
    }

    /// The messages in the format of chat completions. Messages for display only are dropped.
    fn messages(&self) -> Vec<Value> {
        let known: Vec<String> = (self.context.iter().flatten())
            .map(|context| format!("- {}: {}", context.description, context.value))
            .collect();
        let context = (!known.is_empty()).then(|| {
            let text = format!("What the front end knows:\n{}", known.join("\n"));
            json!({ "role": "system", "content": text })
        });
        let shown = |message: &&Value| {
            !matches!(message.get("role").and_then(Value::as_str), Some("activity" | "reasoning"))
        };
        let renamed = |message: &Value| {
            let mut message = message.clone();
            if let Some(fields) = message.as_object_mut() {
                for (theirs, ours) in [("toolCalls", "tool_calls"), ("toolCallId", "tool_call_id")] {
                    if let Some(value) = fields.remove(theirs) {
                        fields.insert(ours.to_owned(), value);
                    }
                }
            }
            message
        };
        context.into_iter().chain(self.messages.iter().filter(shown).map(renamed)).collect()
    }

    /// Whether the request contains more than a user message, such as tools or tool results.
    fn has_client_input(&self) -> bool {
        let role = |message: &Value| message.get("role").and_then(Value::as_str).map(str::to_owned);
        let more =
            |message: &Value| matches!(role(message).as_deref(), Some("system" | "developer" | "tool"));
        self.tools.as_ref().is_some_and(|tools| !tools.is_empty())
            || self.context.as_ref().is_some_and(|context| !context.is_empty())
            || self.messages.iter().any(more)
    }

    fn said(&self) -> Option<String> {
        let last =
            self.messages.iter().rfind(|message| message.get("role").is_some_and(|role| role == "user"))?;
        last.get("content").and_then(Value::as_str).map(str::to_owned)
    }
}

pub(super) fn routes(api: &mut Api) {
    api.post("/agui", "Talk to it from a front end that speaks AG-UI")
        .takes::<Run>()
        .gives_kind(200, "Events of AG-UI.", "text/event-stream")
        .to(post(run));
}

async fn run(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(run): Input<Run>,
) -> Result<Response, Problem> {
    if let Some(entries) = run.resume.as_ref().filter(|entries| !entries.is_empty()) {
        return resume(&site, &identity, &run, entries).await;
    }
    let mut conversation_id = site.a2a.conversation(&identity.user, &run.thread_id);
    if let (None, Ok(id)) = (conversation_id, run.thread_id.parse::<ConversationId>()) {
        conversation_id = site.store().conversation(&super::scope(&identity), id).await?.map(|_| id);
    }
    let start = if run.has_client_input() {
        begin_for_client(&site, &identity, &run.messages(), &run.tools(), conversation_id).await?
    } else {
        let message =
            run.said().ok_or_else(|| Problem::input("messages: the last of the user's is a text"))?;
        let say = TurnRequest { message, conversation_id, data: Vec::new(), choice: None };
        ClientStart::Live(site.begin(&identity, site.turn(&identity, &say)?)?)
    };
    let (listener, known) = match start {
        ClientStart::Live(live) => (Some(Listener::new(live, 0)), None),
        ClientStart::Known(reply) => (None, Some(reply)),
    };
    let user = identity.user.clone();
    let told = AguiStream {
        listener,
        known,
        user: identity.user.clone(),
        site: site.clone(),
        remember: Box::new(move |site, thread, id| site.a2a.remember(&user, thread, id)),
        thread: run.thread_id,
        run: run.run_id,
        began: false,
        speaking: false,
        left: 0,
        steps: HashMap::new(),
    };
    Ok(stream::respond(&site, told))
}

/// Decides on the interrupts that the front end answers. The decisions are the reply of the run.
async fn resume(
    site: &Shared,
    identity: &Identity,
    run: &Run,
    entries: &[ResumeEntry],
) -> Result<Response, Problem> {
    if !identity.may(Right::Approve) {
        return Err(Problem::input(format!("{} does not hold the right to approve", identity.user)));
    }
    let (mut views, mut said) = (Vec::new(), Vec::new());
    for entry in entries {
        let (task, wanted) = entry.decision()?;
        let view = decide(site, identity, task, wanted, "agui").await?;
        said.push(view.sentence());
        views.push(view);
    }
    let reply = json!({ "outcome": "answered", "answer": said.join("\n"), "decisions": views });
    let told = AguiStream {
        listener: None,
        known: Some(reply),
        user: identity.user.clone(),
        site: site.clone(),
        remember: Box::new(|_, _, _| ()),
        thread: run.thread_id.clone(),
        run: run.run_id.clone(),
        began: false,
        speaking: false,
        left: 0,
        steps: HashMap::new(),
    };
    Ok(stream::respond(site, told))
}

type Remember = Box<dyn Fn(&AppState, &str, ConversationId) + Send>;

/// A turn as a stream of AG-UI events.
struct AguiStream {
    site: Shared,
    user: UserId,
    listener: Option<Listener>,
    /// A reply that is available without running a turn.
    known: Option<Value>,
    remember: Remember,
    thread: String,
    run: String,
    began: bool,
    speaking: bool,
    /// The number of messages that ended early, because the model continued with something else.
    left: usize,
    /// The names of the running steps.
    steps: HashMap<u64, String>,
}

fn event(kind: &str, more: Value) -> Frame {
    let mut told = json!({ "type": kind });
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    Frame::data(told.to_string())
}

/// The calls of front-end tools in a reply.
fn tool_calls(reply: &Value, message: Option<&str>) -> Vec<Frame> {
    let calls = reply.get("client_calls").and_then(Value::as_array).into_iter().flatten();
    calls
        .flat_map(|call| {
            let of = |name: &str| call.get(name).cloned().unwrap_or_default();
            let mut begun = json!({ "toolCallId": of("id"), "toolCallName": of("name") });
            if let (Some(begun), Some(message)) = (begun.as_object_mut(), message) {
                begun.insert("parentMessageId".into(), message.into());
            }
            [
                event("TOOL_CALL_START", begun),
                event("TOOL_CALL_ARGS", json!({ "toolCallId": of("id"), "delta": of("arguments") })),
                event("TOOL_CALL_END", json!({ "toolCallId": of("id") })),
            ]
        })
        .collect()
}

impl AguiStream {
    /// Adds what the reply left waiting to the end of the run.
    async fn add_interrupts(&mut self, frames: &[Frame], told: &mut [Frame]) {
        let reply = frames.iter().rfind(|frame| frame.name == Some("reply"));
        let reply = reply.and_then(|frame| serde_json::from_str::<Value>(&frame.data).ok());
        let (Some(reply), Some(last)) = (reply, told.last_mut()) else { return };
        let interrupts = interrupts(&self.site, &self.user, &reply).await;
        if !interrupts.is_empty() {
            let outcome = json!({ "type": "interrupt", "interrupts": interrupts });
            let more = json!({ "threadId": self.thread, "runId": self.run, "outcome": outcome });
            *last = event("RUN_FINISHED", more);
        }
    }

    /// A reply that is available at once, as the events of a turn.
    fn immediate_reply_frames(&mut self, reply: &Value) -> Vec<Frame> {
        let text = reply.get("answer").and_then(Value::as_str).unwrap_or_default();
        let mut frames = Vec::new();
        if !text.is_empty() {
            frames.extend(self.told(&Frame::new(0, "text", &json!({ "delta": text }))));
        }
        frames.extend(self.told(&Frame::new(0, "reply", reply)));
        frames
    }

    fn told(&mut self, frame: &Frame) -> Vec<Frame> {
        let data: Value = serde_json::from_str(&frame.data).unwrap_or_default();
        let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let step = data.get("step").and_then(Value::as_u64).unwrap_or_default();
        let message = match self.left {
            0 => format!("{}-answer", self.run),
            left => format!("{}-answer-{left}", self.run),
        };
        match frame.name.unwrap_or_default() {
            "began" => {
                let name = format!("{}: {}", step + 1, text("what"));
                self.steps.insert(step, name.clone());
                vec![event("STEP_STARTED", json!({ "stepName": name }))]
            }
            // A step ends with the name that it started with.
            "ended" => self
                .steps
                .remove(&step)
                .map(|name| event("STEP_FINISHED", json!({ "stepName": name })))
                .into_iter()
                .collect(),
            "text" => {
                let delta =
                    event("TEXT_MESSAGE_CONTENT", json!({ "messageId": message, "delta": text("delta") }));
                if std::mem::replace(&mut self.speaking, true) {
                    return vec![delta];
                }
                vec![event("TEXT_MESSAGE_START", json!({ "messageId": message, "role": "assistant" })), delta]
            }
            "text_reset" => {
                if !std::mem::take(&mut self.speaking) {
                    return Vec::new();
                }
                self.left += 1;
                vec![event("TEXT_MESSAGE_END", json!({ "messageId": message }))]
            }
            "reply" => {
                if let Some(id) =
                    data.get("conversation_id").and_then(|id| serde_json::from_value(id.clone()).ok())
                {
                    (self.remember)(&self.site, &self.thread, id);
                }
                let mut frames = Vec::new();
                let options = numbered_options(&data);
                if self.speaking && !options.is_empty() {
                    let delta = json!({ "messageId": message, "delta": options });
                    frames.push(event("TEXT_MESSAGE_CONTENT", delta));
                }
                if self.speaking {
                    frames.push(event("TEXT_MESSAGE_END", json!({ "messageId": message })));
                }
                frames.extend(tool_calls(&data, self.speaking.then_some(message.as_str())));
                frames.push(event("STATE_SNAPSHOT", json!({ "snapshot": { "reply": data } })));
                frames.push(event("RUN_FINISHED", json!({ "threadId": self.thread, "runId": self.run })));
                frames
            }
            "problem" => vec![event("RUN_ERROR", json!({ "message": text("detail"), "code": text("code") }))],
            _ => Vec::new(),
        }
    }
}

impl Source for AguiStream {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            if !self.began {
                self.began = true;
                return Some(vec![event(
                    "RUN_STARTED",
                    json!({ "threadId": self.thread, "runId": self.run }),
                )]);
            }
            if let Some(reply) = self.known.take() {
                return Some(self.immediate_reply_frames(&reply));
            }
            loop {
                let frames = self.listener.as_mut()?.next().await?;
                let mut told: Vec<Frame> = frames.iter().flat_map(|frame| self.told(frame)).collect();
                self.add_interrupts(&frames, &mut told).await;
                if !told.is_empty() {
                    return Some(told);
                }
            }
        })
    }
}
