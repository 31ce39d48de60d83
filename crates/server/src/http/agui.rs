//! AG-UI: the events that front ends for agents know, over one POST.

use super::extract::{Authenticated, Input};
use super::openapi::Api;
use super::problem::Problem;
use super::stream::{self, Frame, Next, Source};
use super::turns::{Listener, TurnRequest, numbered_options};
use super::{AppState, Shared};
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use steward_domain::ConversationId;

/// What a front end sends.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Run {
    /// The conversation: one of ours, or an id of the front end's own.
    #[schemars(length(max = 200))]
    thread_id: String,
    #[schemars(length(max = 200))]
    run_id: String,
    #[schemars(length(min = 1, max = 1000))]
    messages: Vec<AguiMessage>,
}

#[derive(Deserialize, JsonSchema)]
struct AguiMessage {
    role: String,
    #[serde(default)]
    content: Option<String>,
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
    let said = run
        .messages
        .iter()
        .rfind(|message| message.role == "user")
        .and_then(|message| message.content.clone());
    let message = said.ok_or_else(|| Problem::input("messages: one of them must be the user's"))?;
    let mut conversation_id = site.a2a.conversation(&identity.user, &run.thread_id);
    if let (None, Ok(id)) = (conversation_id, run.thread_id.parse::<ConversationId>()) {
        conversation_id = site.store().conversation(&super::scope(&identity), id).await?.map(|_| id);
    }
    let say = TurnRequest { message, conversation_id, data: Vec::new(), choice: None };
    let live = site.begin(&identity, site.turn(&identity, &say)?)?;
    let user = identity.user.clone();
    let told = AguiStream {
        listener: Listener::new(live, 0),
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

type Remember = Box<dyn Fn(&AppState, &str, ConversationId) + Send>;

/// A turn in the words of AG-UI.
struct AguiStream {
    site: Shared,
    listener: Listener,
    remember: Remember,
    thread: String,
    run: String,
    began: bool,
    speaking: bool,
    /// Messages that were ended because the model went on with something else.
    left: usize,
    /// The names of the steps that run.
    steps: HashMap<u64, String>,
}

fn event(kind: &str, more: Value) -> Frame {
    let mut told = json!({ "type": kind });
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    Frame::data(told.to_string())
}

impl AguiStream {
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
            // A step ends under the name that it began with.
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
            loop {
                let frames = self.listener.next().await?;
                let told: Vec<Frame> = frames.iter().flat_map(|frame| self.told(frame)).collect();
                if !told.is_empty() {
                    return Some(told);
                }
            }
        })
    }
}
