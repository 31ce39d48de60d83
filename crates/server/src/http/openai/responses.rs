//! `/v1/responses`: the same answers in the form of responses. The id of a response holds the
//! conversation that it belongs to, where that is known when it begins.

use super::tools::ClientTool;
use super::{ChatMessage, CompletionOutcome, DelayedFrames, Wrong, history, text, usage};
use crate::http::extract::{Authenticated, Input};
use crate::http::problem::Problem;
use crate::http::stream::{self, Frame};
use crate::http::turns::pieces;
use crate::http::{AppState, Shared};
use crate::identity::Identity;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::ConversationId;
use uuid::Uuid;

/// A request for a response.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Responding {
    model: String,
    /// Words, or messages.
    input: Value,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    tools: Option<Vec<ClientTool>>,
}

/// The form that one response has, from its first event to its last.
struct Form {
    id: String,
    turn: String,
    model: String,
    created: i64,
    previous: Option<String>,
    /// The letters of everything that was sent.
    sent: usize,
}

/// The conversation that an id of ours stands for. A stream begins before its conversation has an
/// id; then we remember which it was.
fn conversation_of(
    site: &AppState,
    identity: &Identity,
    id: &str,
) -> Result<Option<ConversationId>, Problem> {
    let missing = || Problem::missing("response", id);
    let (talk, turn) = id.strip_prefix("resp_").and_then(|rest| rest.split_once('_')).ok_or_else(missing)?;
    let talk = Uuid::try_parse(talk).map_err(|_| missing())?;
    match talk.is_nil() {
        true => Ok(site.histories.get(&history(identity, [("response", turn.to_owned())].into_iter()))),
        false => Ok(Some(ConversationId(talk))),
    }
}

/// Words or a list of messages, as messages.
fn messages(input: &Value) -> Result<Vec<ChatMessage>, Problem> {
    let read = |item: &Value| match item.get("type").and_then(Value::as_str) {
        Some("function_call_output") => {
            Ok(ChatMessage { role: "tool".into(), content: item.get("output").cloned().unwrap_or_default() })
        }
        Some("function_call") => Ok(ChatMessage { role: "assistant".into(), content: Value::Null }),
        _ => serde_json::from_value(item.clone()),
    };
    match input {
        Value::String(said) => Ok(vec![ChatMessage { role: "user".into(), content: said.as_str().into() }]),
        Value::Array(items) if items.len() <= 1000 => {
            let read = items.iter().map(read).collect::<Result<_, _>>();
            read.map_err(|error| Problem::input(format!("input: {error}")))
        }
        _ => Err(Problem::input("input: words, or a list of at most 1000 messages")),
    }
}

pub(super) async fn respond(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<Responding>,
) -> Result<Response, Wrong> {
    let messages = messages(&wanted.input)?;
    site.fits(&identity, &wanted.model, &messages, wanted.tools.as_ref().map_or(0, Vec::len))?;
    let previous = wanted.previous_response_id;
    let conversation = match previous.as_deref() {
        None => None,
        Some(id) => conversation_of(&site, &identity, id)?,
    };
    let turn = site.new_id()?.simple().to_string();
    let mut form = Form {
        id: response_id(conversation, &turn),
        turn,
        model: wanted.model.clone(),
        created: site.now().micros() / 1_000_000,
        previous,
        sent: messages.iter().map(|message| text(&message.content).len()).sum(),
    };
    let (one, tools) = (site.clone(), wanted.tools.unwrap_or_default());
    let turn = form.turn.clone();
    let came = async move {
        let came = one.complete(&identity, &wanted.model, &messages, &tools, conversation).await?;
        let talk = came.conversation();
        if let Some(id) = talk.filter(|_| conversation.is_none()) {
            one.histories.keep(history(&identity, [("response", turn)].into_iter()), id);
        }
        Ok::<_, Problem>(came)
    };
    if wanted.stream != Some(true) {
        let came = came.await?;
        form.id = response_id(conversation.or(came.conversation()), &form.turn);
        return Ok(Json(form.whole(&came)).into_response());
    }
    let first = vec![form.event(
        0,
        "response.created",
        json!({ "response": form.response("in_progress", &json!([]), "") }),
    )];
    let rest = async move {
        match came.await {
            Ok(came) => form.rest(&came),
            Err(problem) => {
                let mut failed = form.response("failed", &json!([]), "");
                if let Some(failed) = failed.as_object_mut() {
                    failed.insert("error".into(), json!({ "code": problem.code, "message": problem.detail }));
                }
                vec![form.event(1, "response.failed", json!({ "response": failed }))]
            }
        }
    };
    Ok(stream::respond(&site, DelayedFrames { first: Some(first), rest: Some(Box::pin(rest)) }))
}

fn response_id(conversation: Option<ConversationId>, turn: &str) -> String {
    format!("resp_{}_{turn}", conversation.map_or(Uuid::nil(), |id| id.0).simple())
}

impl Form {
    fn response(&self, status: &str, output: &Value, text: &str) -> Value {
        let counted = usage(self.sent, text);
        let used = |name: &str| counted.get(name).cloned().unwrap_or_default();
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status, "model": self.model, "output": output,
            "error": null, "incomplete_details": null, "instructions": null, "metadata": {}, "parallel_tool_calls": false,
            "temperature": null, "top_p": null, "tool_choice": "auto", "tools": [], "previous_response_id": self.previous,
            "usage": { "input_tokens": used("prompt_tokens"), "output_tokens": used("completion_tokens"), "total_tokens": used("total_tokens"),
                "input_tokens_details": { "cached_tokens": 0 }, "output_tokens_details": { "reasoning_tokens": 0 } },
        })
    }

    /// What came, as an item of a response.
    fn item(&self, came: &CompletionOutcome) -> Value {
        let turn = &self.turn;
        match came {
            CompletionOutcome::Words { text, .. } => {
                let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
                json!({ "type": "message", "id": format!("msg_{turn}"), "status": "completed", "role": "assistant", "content": content })
            }
            CompletionOutcome::Call { name, arguments } => json!({
                "type": "function_call", "id": format!("fc_{turn}"), "call_id": format!("call_{turn}"), "status": "completed",
                "name": name, "arguments": arguments,
            }),
        }
    }

    fn whole(&self, came: &CompletionOutcome) -> Value {
        let text = if let CompletionOutcome::Words { text, .. } = came { text.as_str() } else { "" };
        self.response("completed", &json!([self.item(came)]), text)
    }

    fn event(&self, number: usize, kind: &'static str, mut data: Value) -> Frame {
        if let Some(data) = data.as_object_mut() {
            data.insert("type".into(), kind.into());
            data.insert("sequence_number".into(), number.into());
        }
        Frame { id: None, name: Some(kind), data: data.to_string() }
    }

    /// Everything after the first event.
    fn rest(&self, came: &CompletionOutcome) -> Vec<Frame> {
        let item = self.item(came);
        let mut told = vec![("response.output_item.added", json!({ "output_index": 0, "item": item }))];
        if let CompletionOutcome::Words { text, .. } = came {
            let place = |more: Value| {
                let mut data =
                    json!({ "item_id": format!("msg_{}", self.turn), "output_index": 0, "content_index": 0 });
                if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
                    data.extend(more);
                }
                data
            };
            let part =
                |text: &str| json!({ "part": { "type": "output_text", "text": text, "annotations": [] } });
            told.push(("response.content_part.added", place(part(""))));
            for piece in pieces(text) {
                told.push(("response.output_text.delta", place(json!({ "delta": piece, "logprobs": [] }))));
            }
            told.push(("response.output_text.done", place(json!({ "text": text, "logprobs": [] }))));
            told.push(("response.content_part.done", place(part(text))));
        }
        told.push(("response.output_item.done", json!({ "output_index": 0, "item": item })));
        told.push(("response.completed", json!({ "response": self.whole(came) })));
        told.into_iter()
            .enumerate()
            .map(|(number, (kind, data))| self.event(number + 1, kind, data))
            .collect()
    }
}
