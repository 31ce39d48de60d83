//! The endpoints that clients of OpenAI know: chat completions, responses, models, embeddings.
//!
//! Invariants
//! - A client that sends its whole history each time talks to one conversation of ours: what was
//!   said before is recognised.
//! - Tools that a client brings are its own: they are named to it with their arguments, and never
//!   called here.
//! - A parameter is honoured or refused by name, never dropped.

mod completion;
mod embeddings;
mod error;
mod flow;
mod request;
mod responses;
mod structured;
mod tokens;
mod tools;

pub(super) use error::in_form;

use super::Shared;
use super::extract::Authenticated;
use super::openapi::Api;
use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use steward_domain::ConversationId;

/// The model that is Steward itself.
const MODEL: &str = "steward";
/// The model behind `/v1/embeddings`.
const EMBEDDINGS: &str = "steward-embed";
/// Histories that are recognised.
const HISTORIES: usize = 10_000;

pub(super) fn routes(api: &mut Api) {
    api.get("/v1/models", "What can be talked to: Steward, its agents and its workflows")
        .gives_object(200, "`data`.")
        .fails_as_openai()
        .to(get(models));
    api.post("/v1/chat/completions", "Talk to Steward as to a model; streams with `stream: true`")
        .takes::<request::Completion>()
        .gives_object(200, "A completion.")
        .or_events()
        .fails_as_openai()
        .to(post(completion::complete));
    api.post("/v1/responses", "The same in the form of responses")
        .takes::<request::Responding>()
        .gives_object(200, "A response.")
        .or_events()
        .fails_as_openai()
        .to(post(responses::respond));
    api.post("/v1/embeddings", "Texts as numbers, by the built-in encoder")
        .takes::<embeddings::Embedding>()
        .gives_object(200, "`data`.")
        .fails_as_openai()
        .to(post(embeddings::embed));
}

async fn models(State(site): State<Shared>, Authenticated(identity): Authenticated) -> Json<Value> {
    let model =
        |id: String| json!({ "id": id, "object": "model", "created": 1_767_225_600, "owned_by": "steward" });
    let (workflows, agents) = site.runner.defined();
    let named = agents.into_iter().chain(workflows);
    let named = named.filter(|name| identity.runs(name)).map(|name| model(format!("{MODEL}/{name}")));
    let data: Vec<Value> =
        [model(MODEL.to_owned()), model(EMBEDDINGS.to_owned())].into_iter().chain(named).collect();
    Json(json!({ "object": "list", "data": data }))
}

/// Which conversations belong to which histories.
#[derive(Default)]
pub(super) struct Histories {
    known: Mutex<HashMap<[u8; 32], ConversationId>>,
    /// The tools that clients bring with every request, ready to be chosen from.
    indexes: tools::Indexes,
}

impl Histories {
    fn get(&self, key: &[u8; 32]) -> Option<ConversationId> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn keep(&self, key: [u8; 32], id: ConversationId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= HISTORIES {
            known.clear();
        }
        known.insert(key, id);
    }
}
<<<<<<< HEAD

/// A history as one number: whose it is, and what was said so far.
fn history<'a>(identity: &Identity, said: impl Iterator<Item = (&'a str, String)>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(identity.user.as_str());
    for (role, text) in said {
        hash.update([0]);
        hash.update(role);
        hash.update([1]);
        hash.update(text.trim());
    }
    hash.finalize().into()
}

/// What came of a request.
enum CompletionOutcome {
    /// Words.
    Words { text: String, reply: Value },
    /// A call of one of the client's own tools.
    Call { name: String, arguments: String },
}

impl CompletionOutcome {
    /// The conversation that it belongs to.
    fn conversation(&self) -> Option<ConversationId> {
        let Self::Words { reply, .. } = self else { return None };
        serde_json::from_value(reply.get("conversation_id")?.clone()).ok()
    }
}

/// How a completion begins.
enum CompletionStart {
    /// It is known at once.
    Done(CompletionOutcome),
    /// A turn of a conversation.
    Turn(SpokenTurn),
}

impl From<CompletionOutcome> for CompletionStart {
    fn from(outcome: CompletionOutcome) -> Self {
        Self::Done(outcome)
    }
}

/// A turn, and what was said before it.
struct SpokenTurn {
    say: TurnRequest,
    before: Vec<(String, String)>,
}

impl SpokenTurn {
    /// The history that a client sends next time, when it was given this answer.
    fn key(&self, identity: &Identity, answer: String) -> [u8; 32] {
        let before = self.before.iter().map(|(role, text)| (role.as_str(), text.clone()));
        let now = [("user", self.say.message.clone()), ("assistant", answer)];
        history(identity, before.chain(now))
    }
}

impl AppState {
    /// What can be told at once, before a stream is begun: then it has a status.
    fn fits(
        &self,
        identity: &Identity,
        model: &str,
        messages: &[ChatMessage],
        tools: usize,
    ) -> Result<(), Problem> {
        if tools > TOOLS {
            return Err(Problem::input(format!("tools: at most {TOOLS} at once")));
        }
        let agent = model.strip_prefix("steward/").filter(|agent| runs(identity, agent));
        if model != MODEL
            && !agent.is_some_and(|agent| self.runner.defined().1.iter().any(|known| known == agent))
        {
            let detail = format!("there is no model {model:?}. GET /v1/models lists what there is");
            return Err(Problem::new(StatusCode::NOT_FOUND, "RUN006", detail));
        }
        if messages.is_empty() || messages.len() > 1000 {
            return Err(Problem::input("messages: from 1 to 1000 at once"));
        }
        // What a tool of the client gave back stands alone.
        let given = messages.last().is_some_and(|message| message.role == "tool");
        if !given && !messages.iter().any(|message| message.role == "user") {
            return Err(Problem::input("messages: one of them must be the user's"));
        }
        self.has_room()
    }

    /// Carries out what the last message wants.
    async fn complete(
        self: &std::sync::Arc<Self>,
        identity: &Identity,
        model: &str,
        messages: &[ChatMessage],
        tools: &[ClientTool],
        conversation: Option<ConversationId>,
    ) -> Result<CompletionOutcome, Problem> {
        if let Some(agent) = model.strip_prefix("steward/") {
            return self.agent(identity, agent, messages).await;
        }
        let spoken = match self.read_messages(identity, messages, tools, conversation).await? {
            CompletionStart::Done(outcome) => return Ok(outcome),
            CompletionStart::Turn(spoken) => spoken,
        };
        let reply = self.answered(identity, &spoken.say).await?;
        let text = words(&reply);
        let came = CompletionOutcome::Words { text: text.clone(), reply };
        if let Some(id) = came.conversation() {
            self.histories.keep(spoken.key(identity, text), id);
        }
        Ok(came)
    }

    /// What the last message wants: a turn of a conversation, or something that is known at once.
    async fn read_messages(
        &self,
        identity: &Identity,
        messages: &[ChatMessage],
        tools: &[ClientTool],
        conversation: Option<ConversationId>,
    ) -> Result<CompletionStart, Problem> {
        let last = messages.last().ok_or_else(|| Problem::input("messages: at least one is needed"))?;
        // What the client's tool gave back is data: it is told, and nothing in it is acted on.
        if last.role == "tool" {
            let given = text(&last.content);
            let value: Option<Value> = serde_json::from_str(&given).ok();
            let told = steward_language::answer::tell(None, value.as_ref(), &given);
            return Ok(CompletionOutcome::Words { text: told.text, reply: Value::Null }.into());
        }
        let at = messages.iter().rposition(|message| message.role == "user");
        let at = at.ok_or_else(|| Problem::input("messages: one of them must be the user's"))?;
        let said = messages.get(at).map(|message| text(&message.content)).unwrap_or_default();
        if !tools.is_empty()
            && let Some((name, arguments)) = self.own_tool(tools, &said).await
        {
            return Ok(CompletionOutcome::Call { name, arguments }.into());
        }
        let spoken = |upto: usize| {
            let kept = messages
                .iter()
                .take(upto)
                .filter(|message| matches!(message.role.as_str(), "user" | "assistant"));
            kept.map(|message| (message.role.clone(), text(&message.content))).collect::<Vec<_>>()
        };
        let before = spoken(at);
        let known = (!before.is_empty()).then(|| {
            let key = history(identity, before.iter().map(|(role, text)| (role.as_str(), text.clone())));
            self.histories.get(&key)
        });
        let say = TurnRequest {
            message: said,
            conversation_id: conversation.or(known.flatten()),
            data: Vec::new(),
            choice: None,
        };
        Ok(CompletionStart::Turn(SpokenTurn { say, before }))
    }

    async fn agent(
        &self,
        identity: &Identity,
        name: &str,
        messages: &[ChatMessage],
    ) -> Result<CompletionOutcome, Problem> {
        let said =
            messages.iter().rfind(|message| message.role == "user").map(|message| text(&message.content));
        let said = said.ok_or_else(|| Problem::input("messages: one of them must be the user's"))?;
        let (runner, user, name) = (self.runner.clone(), identity.user.clone(), name.to_owned());
        let running =
            self.work.spawn(async move { runner.start(&user, &name, Value::String(said), None).await });
        let ran = running.await.map_err(|_| Problem::stopping())??;
        let text = match ran.standing {
            RunStatus::Completed(Value::String(text)) => text,
            RunStatus::Completed(result) => steward_language::answer::plain(&result),
            RunStatus::Failed(why) => {
                let page = ran.page.unwrap_or("ENG007");
                return Err(Problem::new(StatusCode::FAILED_DEPENDENCY, page, why));
            }
            RunStatus::Rejected(why) => format!("It was not done: {why}."),
            RunStatus::Cancelled(by) => format!("It was called off by {by}."),
            RunStatus::Waiting => format!("It waits for a person to decide: task {}.", ran.task),
            RunStatus::HandedOver => return Err(Problem::stopping()),
        };
        Ok(CompletionOutcome::Words { text, reply: json!({ "task_id": ran.task }) })
    }
}

/// A rough count: four letters are a token.
fn usage(messages: usize, text: &str) -> Value {
    let (prompt, completion) = (messages / 4 + 1, text.len() / 4 + 1);
    json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion })
}

async fn completions(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<Completion>,
) -> Result<Response, Wrong> {
    site.fits(&identity, &wanted.model, &wanted.messages, wanted.tools.as_ref().map_or(0, Vec::len))?;
    let id = format!("chatcmpl-{}", site.new_id()?.simple());
    let created = site.now().micros() / 1_000_000;
    let model = wanted.model.clone();
    let size: usize = wanted.messages.iter().map(|message| text(&message.content).len()).sum();
    let counted = wanted
        .stream_options
        .as_ref()
        .and_then(|options| options.get("include_usage"))
        .and_then(Value::as_bool);
    let streams = wanted.stream == Some(true);
    let tools = wanted.tools.unwrap_or_default();
    if streams && model == MODEL && tools.is_empty() {
        let start = site.read_messages(&identity, &wanted.messages, &tools, None).await?;
        if let CompletionStart::Turn(spoken) = start {
            let live = site.begin(&identity, site.turn(&identity, &spoken.say)?)?;
            let head = streaming::ChunkHead { id, created, model };
            let counted = (counted == Some(true)).then_some(size);
            let stream = streaming::CompletionStream::new(&site, identity, spoken, live, head, counted);
            return Ok(stream::respond(&site, stream));
        }
    }
    let (one, called) = (site.clone(), format!("call_{}", site.new_id()?.simple()));
    let came = async move { one.complete(&identity, &wanted.model, &wanted.messages, &tools, None).await };
    if !streams {
        let came = came.await?;
        let (message, finish, size) = match &came {
            CompletionOutcome::Words { text, reply } => (
                json!({ "role": "assistant", "content": text, "refusal": null }),
                "stop",
                (usage(size, text), reply.clone()),
            ),
            CompletionOutcome::Call { name, arguments } => (
                json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": called, "type": "function",
                    "function": { "name": name, "arguments": arguments } }] }),
                "tool_calls",
                (usage(size, arguments), Value::Null),
            ),
        };
        let mut body = json!({
            "id": id, "object": "chat.completion", "created": created, "model": model, "usage": size.0,
            "choices": [{ "index": 0, "message": message, "finish_reason": finish, "logprobs": null }],
        });
        if let (Some(body), false) = (body.as_object_mut(), size.1.is_null()) {
            body.insert("steward".into(), size.1);
        }
        return Ok(Json(body).into_response());
    }
    let chunk = move |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null });
        let body = json!({ "id": id, "object": "chat.completion.chunk", "created": created, "model": model, "choices": [choice] });
        Frame::data(body.to_string())
    };
    let first = chunk(json!({ "role": "assistant", "content": "" }), None);
    let rest = async move {
        let mut frames = match came.await {
            Ok(CompletionOutcome::Words { text, .. }) => {
                let mut frames: Vec<Frame> =
                    pieces(&text).map(|piece| chunk(json!({ "content": piece }), None)).collect();
                frames.push(chunk(json!({}), Some("stop")));
                if counted == Some(true) {
                    let mut last: Value =
                        serde_json::from_str(&chunk(json!({}), None).data).unwrap_or_default();
                    if let Some(last) = last.as_object_mut() {
                        last.insert("choices".into(), json!([]));
                        last.insert("usage".into(), usage(size, &text));
                    }
                    frames.push(Frame::data(last.to_string()));
                }
                frames
            }
            Ok(CompletionOutcome::Call { name, arguments }) => vec![
                chunk(
                    json!({ "tool_calls": [{ "index": 0, "id": called, "type": "function", "function": { "name": name, "arguments": arguments } }] }),
                    None,
                ),
                chunk(json!({}), Some("tool_calls")),
            ],
            Err(problem) => {
                let error = json!({ "error": { "message": problem.detail, "type": "server_error", "code": problem.code } });
                vec![Frame::data(error.to_string())]
            }
        };
        frames.push(Frame::data("[DONE]"));
        frames
    };
    Ok(stream::respond(&site, DelayedFrames { first: Some(vec![first]), rest: Some(Box::pin(rest)) }))
}

type Frames = Pin<Box<dyn Future<Output = Vec<Frame>> + Send>>;

/// Something at once, and the rest when it is there.
pub(super) struct DelayedFrames {
    pub(super) first: Option<Vec<Frame>>,
    pub(super) rest: Option<Frames>,
}

impl Source for DelayedFrames {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            if let Some(first) = self.first.take() {
                return Some(first);
            }
            let frames = self.rest.as_mut()?.await;
            self.rest = None;
            Some(frames)
        })
    }
}
=======
>>>>>>> d86a6e1589ebf9b87772fac8820e69adc70e4cda
