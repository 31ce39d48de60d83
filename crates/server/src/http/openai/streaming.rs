//! A completion as it is written: the words of a turn become chunks as they arrive.
//!
//! Invariant: what was sent is never taken back. Words that turn out to be no answer are followed
//! by the answer, and figures that no result supports are named at the end.

use super::{Shared, SpokenTurn, usage};
use crate::http::stream::{Frame, Next, Source};
use crate::http::turns::{Listener, Live, pieces, words};
use crate::identity::Identity;
use serde_json::{Value, json};
use std::sync::Arc;

/// What every chunk says.
pub(super) struct ChunkHead {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) model: String,
}

impl ChunkHead {
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

/// A turn as chunks of a completion.
pub(super) struct CompletionStream {
    site: Shared,
    identity: Identity,
    spoken: SpokenTurn,
    listener: Listener,
    head: ChunkHead,
    /// The size of the prompt, when the client wants tokens counted.
    counted: Option<usize>,
    began: bool,
    /// Everything that was sent.
    sent: String,
    /// What follows replaces what was sent, after the check of its figures.
    checked: bool,
    over: bool,
}

impl CompletionStream {
    pub(super) fn new(
        site: &Shared,
        identity: Identity,
        spoken: SpokenTurn,
        live: Arc<Live>,
        head: ChunkHead,
        counted: Option<usize>,
    ) -> Self {
        Self {
            site: site.clone(),
            identity,
            spoken,
            listener: Listener::new(live, 0),
            head,
            counted,
            began: false,
            sent: String::new(),
            checked: false,
            over: false,
        }
    }

    fn send(&mut self, text: &str, frames: &mut Vec<Frame>) {
        self.sent.push_str(text);
        frames.push(self.head.delta(&json!({ "content": text }), None));
    }

    fn take(&mut self, frame: &Frame, frames: &mut Vec<Frame>) {
        let data: Value = serde_json::from_str(&frame.data).unwrap_or_default();
        match frame.name.unwrap_or_default() {
            "text" if !self.checked => {
                self.send(data.get("delta").and_then(Value::as_str).unwrap_or_default(), frames);
            }
            "text_reset" if data.get("checked") == Some(&json!(true)) => self.checked = true,
            "text_reset" if !self.sent.is_empty() => self.send("\n\n", frames),
            "reply" => self.finish(&data, frames),
            "problem" => {
                let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
                let error =
                    json!({ "message": text("detail"), "type": "server_error", "code": text("code") });
                frames.push(Frame::data(json!({ "error": error }).to_string()));
                frames.push(Frame::data("[DONE]"));
                self.over = true;
            }
            _ => {}
        }
    }

    fn finish(&mut self, reply: &Value, frames: &mut Vec<Frame>) {
        let text = words(reply);
        let unverified = reply.pointer("/model/unverified").and_then(Value::as_array);
        if self.checked {
            let named: Vec<&str> = unverified.into_iter().flatten().filter_map(Value::as_str).collect();
            let note = match named.is_empty() {
                true => format!("\n\n{text}"),
                false => format!("\n\n[unverified: {}]", named.join(", ")),
            };
            self.send(&note, frames);
        } else if let Some(rest) = text.strip_prefix(self.sent.as_str()).map(str::to_owned) {
            pieces(&rest).for_each(|piece| self.send(piece, frames));
        }
        frames.push(self.head.delta(&json!({}), Some("stop")));
        if let Some(size) = self.counted {
            frames.push(self.head.chunk(&json!([]), Some(usage(size, &self.sent))));
        }
        frames.push(Frame::data("[DONE]"));
        self.over = true;
        let id = reply.get("conversation_id").and_then(|id| serde_json::from_value(id.clone()).ok());
        if let Some(id) = id {
            self.site.histories.keep(self.spoken.key(&self.identity, self.sent.clone()), id);
        }
    }
}

impl Source for CompletionStream {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            if !self.began {
                self.began = true;
                return Some(vec![self.head.delta(&json!({ "role": "assistant", "content": "" }), None)]);
            }
            while !self.over {
                let told = self.listener.next().await?;
                let mut frames = Vec::new();
                for frame in &told {
                    if !self.over {
                        self.take(frame, &mut frames);
                    }
                }
                if !frames.is_empty() {
                    return Some(frames);
                }
            }
            None
        })
    }
}
