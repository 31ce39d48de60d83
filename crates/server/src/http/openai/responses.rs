//! `/v1/responses`: the same answers in the form of responses. The id of a response holds the conversation that it belongs to.

use super::{Came, ClientTool, Later, Said, Wrong, text, usage};
use crate::http::Shared;
use crate::http::extract::{Input, Who};
use crate::http::problem::Problem;
use crate::http::stream::{self, Frame};
use crate::http::turns::pieces;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::ConversationId;

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

/// The conversation that an id of ours holds.
fn conversation_of(id: &str) -> Option<ConversationId> {
    let simple = id.strip_prefix("resp_")?.split('_').next()?;
    uuid::Uuid::try_parse(simple).ok().map(ConversationId)
}

pub(super) async fn respond(
    State(site): State<Shared>,
    Who(identity): Who,
    Input(wanted): Input<Responding>,
) -> Result<Response, Wrong> {
    let messages: Vec<Said> = match &wanted.input {
        Value::String(said) => vec![Said { role: "user".into(), content: said.as_str().into() }],
        Value::Array(items) if items.len() <= 1000 => items
            .iter()
            .map(|item| match item.get("type").and_then(Value::as_str) {
                Some("function_call_output") => {
                    Ok(Said { role: "tool".into(), content: item.get("output").cloned().unwrap_or_default() })
                }
                Some("function_call") => Ok(Said { role: "assistant".into(), content: Value::Null }),
                _ => serde_json::from_value(item.clone()),
            })
            .collect::<Result<_, _>>()
            .map_err(|error| Problem::input(format!("input: {error}")))?,
        _ => return Err(Problem::input("input: words, or a list of messages").into()),
    };
    site.fits(&identity, &wanted.model, &messages, wanted.tools.as_ref().map_or(0, Vec::len))?;
    let conversation = match wanted.previous_response_id.as_deref() {
        None => None,
        // After a call of the client's own tool there may be no conversation yet.
        Some(id) => Some(conversation_of(id).ok_or_else(|| Problem::missing("response", id))?)
            .filter(|id| !id.0.is_nil()),
    };
    let tools = wanted.tools.unwrap_or_default();
    let came = site.complete(&identity, &wanted.model, &messages, &tools, conversation).await?;
    let turn = site.new_id()?.simple();
    let created = site.now().micros() / 1_000_000;
    let (output, text, reply) = match came {
        Came::Words { text, reply } => {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            let message = json!({ "type": "message", "id": format!("msg_{turn}"), "status": "completed", "role": "assistant", "content": content });
            (message, text, reply)
        }
        Came::Call { name, arguments } => {
            let call = json!({ "type": "function_call", "id": format!("fc_{turn}"), "call_id": format!("call_{turn}"), "status": "completed", "name": name, "arguments": arguments });
            (call, String::new(), Value::Null)
        }
    };
    let talk = reply.get("conversation_id").and_then(Value::as_str).map(|id| id.replace('-', ""));
    let talk = talk.or_else(|| conversation.map(|id| id.0.simple().to_string()));
    let id = format!("resp_{}_{turn}", talk.unwrap_or_else(|| uuid::Uuid::nil().simple().to_string()));
    let counted = usage(messages.iter().map(|message| text_len(&message.content)).sum(), &text);
    let used = |name: &str| counted.get(name).cloned().unwrap_or_default();
    let response = |status: &str, output: Value| {
        json!({
            "id": id, "object": "response", "created_at": created, "status": status, "model": wanted.model, "output": output,
            "error": null, "incomplete_details": null, "instructions": null, "metadata": {}, "parallel_tool_calls": false,
            "temperature": null, "top_p": null, "tool_choice": "auto", "tools": [], "previous_response_id": wanted.previous_response_id,
            "usage": { "input_tokens": used("prompt_tokens"), "output_tokens": used("completion_tokens"), "total_tokens": used("total_tokens"),
                "input_tokens_details": { "cached_tokens": 0 }, "output_tokens_details": { "reasoning_tokens": 0 } },
        })
    };
    let whole = response("completed", json!([output]));
    if wanted.stream != Some(true) {
        return Ok(Json(whole).into_response());
    }
    let mut number = 0;
    let mut event = |kind: &'static str, mut data: Value| {
        if let Some(data) = data.as_object_mut() {
            data.insert("type".into(), kind.into());
            data.insert("sequence_number".into(), number.into());
        }
        number += 1;
        Frame { id: None, name: Some(kind), data: data.to_string() }
    };
    let mut frames = vec![
        event("response.created", json!({ "response": response("in_progress", json!([])) })),
        event("response.output_item.added", json!({ "output_index": 0, "item": output })),
    ];
    if !text.is_empty() {
        let item = format!("msg_{turn}");
        let part = json!({ "type": "output_text", "text": "", "annotations": [] });
        frames.push(event(
            "response.content_part.added",
            json!({ "item_id": item, "output_index": 0, "content_index": 0, "part": part }),
        ));
        for piece in pieces(&text) {
            frames.push(event("response.output_text.delta", json!({ "item_id": item, "output_index": 0, "content_index": 0, "delta": piece, "logprobs": [] })));
        }
        frames.push(event(
            "response.output_text.done",
            json!({ "item_id": item, "output_index": 0, "content_index": 0, "text": text, "logprobs": [] }),
        ));
    }
    frames.push(event("response.output_item.done", json!({ "output_index": 0, "item": output })));
    frames.push(event("response.completed", json!({ "response": whole })));
    Ok(stream::respond(&site, Later { first: Some(frames), rest: None }))
}

fn text_len(content: &Value) -> usize {
    text(content).len()
}
