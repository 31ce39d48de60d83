//! `/v1/chat/completions`: an answer as one object, or as chunks.

use super::flow::{Flow, Outcome, OutgoingCall, Told};
use super::request::Completion;
use crate::http::extract::{Authenticated, Input};
use crate::http::problem::Problem;
use crate::http::stream::{self, Frame, Next, Source};
use crate::http::{AppState, Shared};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

pub(super) async fn complete(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(sent): Input<Completion>,
) -> Result<Response, Problem> {
    let streams = sent.stream == Some(true);
    let head = Head {
        id: format!("chatcmpl-{}", site.new_id()?.simple()),
        created: site.now().micros() / 1_000_000,
        model: sent.model.clone(),
    };
    let flow = Flow::begin(&site, &identity, sent.read()?, None).await?;
    if streams {
        return Ok(stream::respond(&site, Chunks { head, flow, began: false, over: false }));
    }
    let (outcome, _) = flow.finish().await?;
    Ok(Json(head.whole(&outcome)).into_response())
}

/// The fields that every chunk repeats.
struct Head {
    id: String,
    created: i64,
    model: String,
}

fn finish_reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome { calls, .. } if !calls.is_empty() => "tool_calls",
        Outcome { cut_off: true, .. } => "length",
        _ => "stop",
    }
}

fn usage((input, output): (u64, u64)) -> Value {
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

fn call(call: &OutgoingCall) -> Value {
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": call.arguments } })
}

impl Head {
    fn whole(&self, outcome: &Outcome) -> Value {
        let calls: Vec<Value> = outcome.calls.iter().map(call).collect();
        let content = match (outcome.text.is_empty(), calls.is_empty()) {
            (true, false) => Value::Null,
            _ => json!(outcome.text),
        };
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
        if let (Some(message), false) = (message.as_object_mut(), calls.is_empty()) {
            message.insert("tool_calls".into(), Value::from(calls));
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish_reason(outcome), "logprobs": null });
        let mut body = json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [choice], "usage": usage(outcome.used),
        });
        if let (Some(body), false) = (body.as_object_mut(), outcome.reply.is_null()) {
            body.insert("steward".into(), outcome.reply.clone());
        }
        body
    }

    fn chunk(&self, choices: &Value, usage: Option<Value>) -> Frame {
        let mut body = json!({ "id": self.id, "object": "chat.completion.chunk", "created": self.created,
            "model": self.model, "choices": choices });
        if let (Some(body), Some(usage)) = (body.as_object_mut(), usage) {
            body.insert("usage".into(), usage);
        }
        Frame::data(body.to_string())
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> Frame {
        self.chunk(&json!([{ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null }]), None)
    }
}

/// An answer as a stream of chunks.
struct Chunks {
    head: Head,
    flow: Flow,
    began: bool,
    over: bool,
}

impl Chunks {
    fn frames(&mut self, told: &Told) -> Vec<Frame> {
        match told {
            Told::Text(text) => vec![self.head.delta(&json!({ "content": text }), None)],
            Told::Failed(problem) => {
                self.over = true;
                let error = json!({ "error": AppState::stream_error(problem) });
                vec![Frame::data(error.to_string()), Frame::data("[DONE]")]
            }
            Told::End(outcome) => {
                self.over = true;
                let mut frames = Vec::new();
                for (index, one) in outcome.calls.iter().enumerate() {
                    let mut named = call(one);
                    if let Some(named) = named.as_object_mut() {
                        named.insert("index".into(), index.into());
                    }
                    frames.push(self.head.delta(&json!({ "tool_calls": [named] }), None));
                }
                frames.push(self.head.delta(&json!({}), Some(finish_reason(outcome))));
                if self.flow.wanted().with_usage {
                    frames.push(self.head.chunk(&json!([]), Some(usage(outcome.used))));
                }
                frames.push(Frame::data("[DONE]"));
                frames
            }
        }
    }
}

impl Source for Chunks {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            if !self.began {
                self.began = true;
                return Some(vec![self.head.delta(&json!({ "role": "assistant", "content": "" }), None)]);
            }
            if self.over {
                return None;
            }
            let told = self.flow.next().await?;
            Some(told.iter().flat_map(|one| self.frames(one)).collect())
        })
    }
}
