//! Anthropic's Messages API.
//!
//! Structured output is requested as a tool that must be called: every model of the family follows
//! the schema of a tool. If other tools are offered too, the schema is part of the system prompt
//! instead.

use reqwest::Url;
use serde_json::{Value, json};

use super::chat::{Chat, Finish, OfferedTool, ToolChoice, Turn};
use super::client::provider;
use super::form::in_words;
use super::sse::Frame;
use super::wire::{Ask, Assembly, Fault, Wire, count, extend, parse, set, text};

/// The tool whose arguments are the answer.
const REPLY: &str = "steward_reply";

provider!(
    /// A model behind Anthropic's Messages.
    Anthropic,
    Messages
);

/// The protocol.
#[derive(Debug)]
struct Messages;

impl Wire for Messages {
    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn locate(&self, base: &mut Url, _model: &str, _streamed: bool) {
        let versioned = base.path().trim_end_matches('/').ends_with("/v1");
        extend(base, if versioned { "messages" } else { "v1/messages" });
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn takes_seed(&self) -> bool {
        false
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let chat = ask.chat;
        let mut messages = messages(chat);
        keep_in_cache(&mut messages);
        let mut body = json!({ "model": ask.model, "max_tokens": ask.max_tokens, "stream": ask.streamed, "messages": messages });
        let mut system: Vec<String> = (chat.turns.iter())
            .filter_map(|turn| match turn {
                Turn::System { text } => Some(text.clone()),
                _ => None,
            })
            .collect();
        let mut tools: Vec<Value> = chat.tools.iter().map(tool).collect();
        let mut choice = match &chat.tool_choice {
            ToolChoice::Auto => json!({ "type": "auto" }),
            ToolChoice::None => json!({ "type": "none" }),
            ToolChoice::Required => json!({ "type": "any" }),
            ToolChoice::Tool(name) => json!({ "type": "tool", "name": name }),
        };
        match &chat.schema {
            Some(schema) if tools.is_empty() && is_object(&schema.schema) => {
                tools.push(json!({ "name": REPLY, "description": "Gives the reply.", "input_schema": schema.schema }));
                choice = json!({ "type": "tool", "name": REPLY });
            }
            Some(schema) => system.push(in_words(schema)),
            None => {}
        }
        if !system.is_empty() {
            // Tools precede the system prompt: a cache breakpoint here covers both.
            let rules = json!({ "type": "text", "text": system.join("\n\n"), "cache_control": { "type": "ephemeral" } });
            set(&mut body, "system", json!([rules]));
        }
        if !tools.is_empty() {
            set(&mut body, "tools", tools);
            set(&mut body, "tool_choice", choice);
        }
        if let Some(temperature) = ask.temperature() {
            set(&mut body, "temperature", temperature);
        }
        if let Some(top_p) = ask.top_p() {
            set(&mut body, "top_p", top_p);
        }
        body
    }

    fn whole(&self, body: &Value, into: &mut Assembly) -> Result<(), Fault> {
        let Some(blocks) = body.get("content").and_then(Value::as_array) else {
            return Err(
                failure(body).unwrap_or_else(|| Fault::Garbled("there is no content in it".to_owned()))
            );
        };
        for (place, block) in blocks.iter().enumerate() {
            begin(&place.to_string(), block, into);
            if let Some(input) = block.get("input").filter(|_| text(block, "/type") == Some("tool_use")) {
                more(&place.to_string(), &input.to_string(), into);
            }
        }
        about(body, into);
        let Some(reason) = text(body, "/stop_reason") else {
            return Err(Fault::Garbled("it does not say why the model stopped".to_owned()));
        };
        finish(reason, into);
        into.ended = true;
        Ok(())
    }

    fn frame(&self, frame: &Frame, into: &mut Assembly) -> Result<(), Fault> {
        let body = parse(frame)?;
        let key = count(&body, "/index").to_string();
        match text(&body, "/type").unwrap_or(&frame.event) {
            "message_start" => about(body.get("message").unwrap_or(&body), into),
            "content_block_start" => begin(&key, body.get("content_block").unwrap_or(&Value::Null), into),
            "content_block_delta" => {
                into.text(text(&body, "/delta/text").unwrap_or_default());
                if let Some(part) = text(&body, "/delta/partial_json") {
                    more(&key, part, into);
                }
            }
            "message_delta" => {
                about(&body, into);
                if let Some(reason) = text(&body, "/delta/stop_reason") {
                    finish(reason, into);
                }
            }
            "message_stop" => into.ended = into.finish.is_some(),
            "error" => return Err(failure(&body).unwrap_or_else(|| Fault::Said(500, body.to_string()))),
            _ => {}
        }
        Ok(())
    }
}

/// Sets a cache breakpoint at the end of the conversation: the next request of a run starts with
/// the same messages.
fn keep_in_cache(messages: &mut [Value]) {
    let last =
        messages.last_mut().and_then(|message| message.get_mut("content")).and_then(Value::as_array_mut);
    if let Some(Value::Object(block)) = last.and_then(|blocks| blocks.last_mut()) {
        block.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

fn is_object(schema: &Value) -> bool {
    text(schema, "/type") == Some("object")
}

/// The messages in alternating roles: tool results belong to the user, and consecutive messages of
/// one role are merged.
fn messages(chat: &Chat) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in &chat.turns {
        let (role, blocks) = match turn {
            Turn::System { .. } => continue,
            Turn::User { text } => ("user", vec![json!({ "type": "text", "text": text })]),
            Turn::Assistant { text, calls } => {
                // The server rejects an empty text.
                let said = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
                let calls = calls.iter().map(|call| {
                    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments.object() })
                });
                ("assistant", said.into_iter().chain(calls).collect())
            }
            Turn::Tool { id, content, failed, .. } => {
                let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed });
                ("user", vec![block])
            }
        };
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, kept)) if *last == role => kept.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn tool(tool: &OfferedTool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
}

fn begin(key: &str, block: &Value, into: &mut Assembly) {
    match text(block, "/type") {
        Some("text") => into.text(text(block, "/text").unwrap_or_default()),
        Some("tool_use") if text(block, "/name") == Some(REPLY) => into.reply_key = Some(key.to_owned()),
        Some("tool_use") => into.call(key, text(block, "/id"), text(block, "/name"), ""),
        _ => {}
    }
}

fn more(key: &str, part: &str, into: &mut Assembly) {
    if into.reply_key.as_deref() == Some(key) {
        into.text(part);
    } else if !part.is_empty() {
        into.call(key, None, None, part);
    }
}

fn about(body: &Value, into: &mut Assembly) {
    if let Some(model) = text(body, "/model") {
        into.model = Some(model.to_owned());
    }
    let Some(usage) = body.get("usage") else { return };
    if usage.get("input_tokens").is_some_and(Value::is_u64) {
        // Cached tokens are counted separately there, but are input tokens too.
        into.usage.cached = count(usage, "/cache_read_input_tokens");
        into.usage.input =
            count(usage, "/input_tokens") + into.usage.cached + count(usage, "/cache_creation_input_tokens");
    }
    into.usage.output = count(usage, "/output_tokens").max(into.usage.output);
}

fn finish(reason: &str, into: &mut Assembly) {
    into.finish = Some(match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => {
            into.refusal = Some("the model stopped with a refusal".to_owned());
            Finish::Stop
        }
        other => Finish::Other(other.to_owned()),
    });
}

fn failure(body: &Value) -> Option<Fault> {
    let status = match text(body, "/error/type")? {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        _ => 500,
    };
    Some(Fault::Said(status, body.to_string()))
}
