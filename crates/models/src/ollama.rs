//! Ollama's chat API, one JSON value per line. It cannot force a tool call.

use reqwest::Url;
use serde_json::{Value, json};

use super::chat::{Finish, ToolChoice, Turn};
use super::client::provider;
use super::form::{Format, in_words};
use super::reply::message;
use super::sse::{Frame, Framing};
use super::wire::{Ask, Assembly, Fault, Wire, count, extend, parse, set, text};

provider!(
    /// A model behind Ollama's chat API.
    Ollama,
    OllamaChat
);

/// The protocol.
#[derive(Debug)]
struct OllamaChat;

impl Wire for OllamaChat {
    fn provider(&self) -> &'static str {
        "ollama"
    }

    fn locate(&self, base: &mut Url, _model: &str, _streamed: bool) {
        extend(base, "api/chat");
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let mut messages: Vec<Value> = ask.chat.turns.iter().map(turn).collect();
        let mut options = json!({ "num_predict": ask.max_tokens });
        if let Some(temperature) = ask.temperature() {
            set(&mut options, "temperature", temperature);
        }
        if let Some(top_p) = ask.top_p() {
            set(&mut options, "top_p", top_p);
        }
        if let Some(seed) = ask.chat.seed {
            set(&mut options, "seed", seed);
        }
        if let Some(window) = ask.context_tokens {
            set(&mut options, "num_ctx", window);
        }
        let mut body = json!({ "model": ask.model, "stream": ask.streamed, "options": options });
        if let Some(schema) = &ask.chat.schema {
            match ask.form.format {
                Format::Schema => set(&mut body, "format", schema.schema.clone()),
                Format::Json => set(&mut body, "format", "json"),
                Format::Words => {}
            }
            if ask.form.format != Format::Schema {
                messages.push(json!({ "role": "user", "content": in_words(schema) }));
            }
        }
        if !ask.chat.tools.is_empty() && ask.chat.tool_choice != ToolChoice::None {
            let tools = ask.chat.tools.iter().map(|tool| {
                json!({ "type": "function",
                    "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters } })
            });
            set(&mut body, "tools", tools.collect::<Vec<_>>());
        }
        set(&mut body, "messages", messages);
        body
    }

    fn whole(&self, body: &Value, into: &mut Assembly) -> Result<(), Fault> {
        read(body, into)?;
        if into.finish.is_none() {
            return Err(Fault::Garbled("the reply does not say that it is done".to_owned()));
        }
        Ok(())
    }

    fn frame(&self, frame: &Frame, into: &mut Assembly) -> Result<(), Fault> {
        read(&parse(frame)?, into)
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }
}

fn turn(turn: &Turn) -> Value {
    match turn {
        Turn::System { text } => json!({ "role": "system", "content": text }),
        Turn::User { text } => json!({ "role": "user", "content": text }),
        Turn::Assistant { text, calls } => {
            let mut said = json!({ "role": "assistant", "content": text });
            if !calls.is_empty() {
                let calls = calls.iter().map(
                    |call| json!({ "function": { "name": call.name, "arguments": call.arguments.object() } }),
                );
                set(&mut said, "tool_calls", calls.collect::<Vec<_>>());
            }
            said
        }
        Turn::Tool { name, content, .. } => json!({ "role": "tool", "tool_name": name, "content": content }),
    }
}

fn read(body: &Value, into: &mut Assembly) -> Result<(), Fault> {
    if let Some(error) = body.get("error") {
        let said = message(error);
        let overflow = said.contains("context");
        return Err(Fault::Said(if overflow { 400 } else { 500 }, body.to_string()));
    }
    if let Some(model) = text(body, "/model") {
        into.model = Some(model.to_owned());
    }
    into.text(text(body, "/message/content").unwrap_or_default());
    let calls = body.pointer("/message/tool_calls").and_then(Value::as_array);
    for call in calls.map(Vec::as_slice).unwrap_or_default() {
        let key = into.count().to_string();
        let arguments = match call.pointer("/function/arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(raw)) => raw.clone(),
            Some(other) => other.to_string(),
        };
        into.call(&key, text(call, "/id"), text(call, "/function/name"), &arguments);
    }
    if body.get("done").and_then(Value::as_bool) == Some(true) {
        into.usage.input = count(body, "/prompt_eval_count");
        into.usage.output = count(body, "/eval_count");
        into.finish = Some(match text(body, "/done_reason") {
            None | Some("stop") => Finish::Stop,
            Some("length") => Finish::Length,
            Some(other) => Finish::Other(other.to_owned()),
        });
        into.ended = true;
    }
    Ok(())
}
