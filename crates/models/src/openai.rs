//! OpenAI's chat completions, which most servers support.

use reqwest::Url;
use serde_json::{Value, json};

use super::chat::{Finish, OfferedTool, ToolChoice, Turn};
use super::client::provider;
use super::form::{Format, in_words, plain_name};
use super::reply::{is_strict, message};
use super::sse::Frame;
use super::wire::{Ask, Assembly, Fault, Wire, count, extend, parse, set, text};

provider!(
    /// A model behind OpenAI's chat completions.
    OpenAi,
    ChatCompletions
);

/// The protocol.
#[derive(Debug)]
pub(super) struct ChatCompletions;

impl Wire for ChatCompletions {
    fn provider(&self) -> &'static str {
        "openai"
    }

    fn locate(&self, base: &mut Url, _model: &str, _streamed: bool) {
        extend(base, "chat/completions");
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let mut messages: Vec<Value> = ask.chat.turns.iter().map(turn).collect();
        let mut body = json!({ "model": ask.model, "stream": ask.streamed });
        if ask.streamed && !ask.form.no_stream_usage {
            set(&mut body, "stream_options", json!({ "include_usage": true }));
        }
        if let Some(schema) = &ask.chat.schema {
            match ask.form.format {
                Format::Schema => {
                    let form = json!({ "name": plain_name(&schema.name), "schema": schema.schema, "strict": is_strict(&schema.schema) });
                    set(&mut body, "response_format", json!({ "type": "json_schema", "json_schema": form }));
                }
                Format::Json => set(&mut body, "response_format", json!({ "type": "json_object" })),
                Format::Words => {}
            }
            if ask.form.format != Format::Schema {
                messages.push(json!({ "role": "user", "content": in_words(schema) }));
            }
        }
        if !ask.chat.tools.is_empty() {
            set(&mut body, "tools", ask.chat.tools.iter().map(tool).collect::<Vec<_>>());
            let choice = match &ask.chat.tool_choice {
                ToolChoice::Auto => json!("auto"),
                ToolChoice::None => json!("none"),
                ToolChoice::Required => json!("required"),
                ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
            };
            set(&mut body, "tool_choice", choice);
        }
        set(&mut body, "messages", messages);
        set(
            &mut body,
            if ask.form.new_limit { "max_completion_tokens" } else { "max_tokens" },
            ask.max_tokens,
        );
        if let Some(temperature) = ask.temperature() {
            set(&mut body, "temperature", temperature);
        }
        if let Some(top_p) = ask.top_p() {
            set(&mut body, "top_p", top_p);
        }
        if let Some(seed) = ask.chat.seed {
            set(&mut body, "seed", seed);
        }
        body
    }

    fn whole(&self, body: &Value, into: &mut Assembly) -> Result<(), Fault> {
        let Some(choice) = body.pointer("/choices/0") else {
            // Some servers report errors with status 200.
            return Err(Fault::Garbled(
                body.get("error").map_or_else(|| "there are no choices in it".to_owned(), message),
            ));
        };
        let said = choice.get("message").unwrap_or(choice);
        if !["content", "text", "tool_calls", "refusal"].iter().any(|name| said.get(name).is_some()) {
            return Err(Fault::Garbled("the model says nothing in it".to_owned()));
        }
        into.text(&content(said.get("content").or_else(|| said.get("text"))));
        into.refusal = text(said, "/refusal").filter(|said| !said.is_empty()).map(str::to_owned);
        calls(said, into);
        finish(text(choice, "/finish_reason").unwrap_or("stop"), into);
        about(body, into);
        into.ended = true;
        Ok(())
    }

    fn frame(&self, frame: &Frame, into: &mut Assembly) -> Result<(), Fault> {
        if frame.data.trim() == "[DONE]" {
            // A server that ends the stream without a finish reason has lost something.
            into.ended = into.finish.is_some();
            return Ok(());
        }
        let body = parse(frame)?;
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
            let status = status.filter(|status| (400..600).contains(status)).unwrap_or(500);
            return Err(Fault::Said(status, body.to_string()));
        }
        about(&body, into);
        if let Some(choice) = body.pointer("/choices/0") {
            let said = choice.get("delta").unwrap_or(choice);
            into.text(&content(said.get("content").or_else(|| said.get("text"))));
            if let Some(refusal) = text(said, "/refusal").filter(|said| !said.is_empty()) {
                into.refusal.get_or_insert_default().push_str(refusal);
            }
            calls(said, into);
            if let Some(reason) = text(choice, "/finish_reason").filter(|reason| !reason.is_empty()) {
                finish(reason, into);
            }
        }
        Ok(())
    }
}

fn turn(turn: &Turn) -> Value {
    match turn {
        Turn::System { text } => json!({ "role": "system", "content": text }),
        Turn::User { text } => json!({ "role": "user", "content": text }),
        Turn::Assistant { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Turn::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    json!({ "id": call.id, "type": "function",
                        "function": { "name": call.name, "arguments": call.arguments.text() } })
                })
                .collect();
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        Turn::Tool { id, content, .. } => json!({ "role": "tool", "tool_call_id": id, "content": content }),
    }
}

fn tool(tool: &OfferedTool) -> Value {
    json!({ "type": "function",
        "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters } })
}

fn content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

fn calls(said: &Value, into: &mut Assembly) {
    let calls = said.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (place, call) in calls.iter().enumerate() {
        let index = call.get("index").and_then(Value::as_u64);
        let key = index.map_or_else(|| place.to_string(), |index| index.to_string());
        let arguments = match call.pointer("/function/arguments") {
            Some(Value::String(arguments)) => arguments.clone(),
            // Some servers send the object itself.
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        into.call(&key, text(call, "/id"), text(call, "/function/name"), &arguments);
    }
}

fn finish(reason: &str, into: &mut Assembly) {
    into.finish = Some(match reason {
        "stop" | "eos" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content_filter" => {
            into.refusal.get_or_insert_with(|| "a filter of the server stopped it".to_owned());
            Finish::Stop
        }
        other => Finish::Other(other.to_owned()),
    });
}

fn about(body: &Value, into: &mut Assembly) {
    if let Some(model) = text(body, "/model") {
        into.model = Some(model.to_owned());
    }
    if let Some(usage) = body.get("usage").filter(|usage| usage.is_object()) {
        into.usage.input = count(usage, "/prompt_tokens");
        into.usage.output = count(usage, "/completion_tokens");
        into.usage.cached = count(usage, "/prompt_tokens_details/cached_tokens");
    }
}
