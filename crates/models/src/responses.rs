//! OpenAI's Responses API. The server stores nothing: the whole conversation is sent each time.

use reqwest::Url;
use serde_json::{Value, json};

use super::chat::{Finish, OfferedTool, ToolChoice, Turn};
use super::client::provider;
use super::form::{Format, in_words, plain_name};
use super::reply::is_strict;
use super::sse::Frame;
use super::wire::{Ask, Assembly, Fault, Wire, count, extend, parse, set, text};

provider!(
    /// A model behind OpenAI's Responses.
    Responses,
    ResponsesWire
);

/// The protocol.
#[derive(Debug)]
struct ResponsesWire;

impl Wire for ResponsesWire {
    fn provider(&self) -> &'static str {
        "openai"
    }

    fn locate(&self, base: &mut Url, _model: &str, _streamed: bool) {
        extend(base, "responses");
    }

    fn takes_seed(&self) -> bool {
        false
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let mut input: Vec<Value> = ask.chat.turns.iter().flat_map(items).collect();
        let mut body = json!({ "model": ask.model, "stream": ask.streamed, "store": false, "max_output_tokens": ask.max_tokens });
        if let Some(schema) = &ask.chat.schema {
            let format = match ask.form.format {
                Format::Schema => {
                    json!({ "type": "json_schema", "name": plain_name(&schema.name), "schema": schema.schema, "strict": is_strict(&schema.schema) })
                }
                Format::Json => json!({ "type": "json_object" }),
                Format::Words => json!({ "type": "text" }),
            };
            set(&mut body, "text", json!({ "format": format }));
            if ask.form.format != Format::Schema {
                input.push(json!({ "role": "user", "content": in_words(schema) }));
            }
        }
        if !ask.chat.tools.is_empty() {
            set(&mut body, "tools", ask.chat.tools.iter().map(tool).collect::<Vec<_>>());
            let choice = match &ask.chat.tool_choice {
                ToolChoice::Auto => json!("auto"),
                ToolChoice::None => json!("none"),
                ToolChoice::Required => json!("required"),
                ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
            };
            set(&mut body, "tool_choice", choice);
        }
        if let Some(temperature) = ask.temperature() {
            set(&mut body, "temperature", temperature);
        }
        if let Some(top_p) = ask.top_p() {
            set(&mut body, "top_p", top_p);
        }
        set(&mut body, "input", input);
        body
    }

    fn whole(&self, body: &Value, into: &mut Assembly) -> Result<(), Fault> {
        let Some(output) = body.get("output").and_then(Value::as_array) else {
            return Err(
                failure(body).unwrap_or_else(|| Fault::Garbled("there is no output in it".to_owned()))
            );
        };
        for (place, item) in output.iter().enumerate() {
            match text(item, "/type") {
                Some("message") => {
                    let parts = item.get("content").and_then(Value::as_array);
                    for part in parts.map(Vec::as_slice).unwrap_or_default() {
                        into.text(text(part, "/text").unwrap_or_default());
                        refuse(text(part, "/refusal"), into);
                    }
                }
                Some("function_call") => {
                    let arguments = text(item, "/arguments").unwrap_or_default();
                    into.call(&place.to_string(), text(item, "/call_id"), text(item, "/name"), arguments);
                }
                _ => {}
            }
        }
        conclude(body, into)
    }

    fn frame(&self, frame: &Frame, into: &mut Assembly) -> Result<(), Fault> {
        if frame.data.trim() == "[DONE]" {
            return Ok(());
        }
        let body = parse(frame)?;
        let key = count(&body, "/output_index").to_string();
        match text(&body, "/type").unwrap_or(&frame.event) {
            "response.output_text.delta" => into.text(text(&body, "/delta").unwrap_or_default()),
            "response.refusal.delta" => refuse(text(&body, "/delta"), into),
            "response.output_item.added" if text(&body, "/item/type") == Some("function_call") => {
                into.call(&key, text(&body, "/item/call_id"), text(&body, "/item/name"), "");
            }
            "response.function_call_arguments.delta" => {
                into.call(&key, None, None, text(&body, "/delta").unwrap_or_default());
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = text(&body, "/arguments") {
                    into.arguments(&key, arguments);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                return conclude(body.get("response").unwrap_or(&body), into);
            }
            "error" => {
                return Err(failure(&body).unwrap_or_else(|| Fault::Said(500, body.to_string())));
            }
            // Reasoning, progress and unknown events.
            _ => {}
        }
        Ok(())
    }
}

fn items(turn: &Turn) -> Vec<Value> {
    match turn {
        Turn::System { text } => vec![json!({ "role": "system", "content": text })],
        Turn::User { text } => vec![json!({ "role": "user", "content": text })],
        Turn::Assistant { text, calls } => {
            let said = (!text.is_empty()).then(|| json!({ "role": "assistant", "content": text }));
            let calls = calls.iter().map(|call| {
                json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments.text() })
            });
            said.into_iter().chain(calls).collect()
        }
        Turn::Tool { id, content, .. } => {
            vec![json!({ "type": "function_call_output", "call_id": id, "output": content })]
        }
    }
}

fn tool(tool: &OfferedTool) -> Value {
    json!({ "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": false })
}

fn refuse(said: Option<&str>, into: &mut Assembly) {
    if let Some(said) = said.filter(|said| !said.is_empty()) {
        into.refusal.get_or_insert_default().push_str(said);
    }
}

/// The error in a response, with the corresponding HTTP status.
fn failure(body: &Value) -> Option<Fault> {
    let error = body.get("error").filter(|error| !error.is_null());
    let code = error.and_then(|error| text(error, "/code")).or_else(|| text(body, "/code"));
    let status = match code {
        Some("rate_limit_exceeded") => 429,
        Some("server_error") | None => 500,
        Some(_) => 400,
    };
    (error.is_some() || code.is_some()).then(|| Fault::Said(status, body.to_string()))
}

fn conclude(body: &Value, into: &mut Assembly) -> Result<(), Fault> {
    match text(body, "/status") {
        None | Some("completed" | "incomplete") => {}
        Some("failed") => return Err(failure(body).unwrap_or_else(|| Fault::Said(500, body.to_string()))),
        Some(other) => return Err(Fault::Garbled(format!("the reply is not finished but {other}"))),
    }
    if let Some(model) = text(body, "/model") {
        into.model = Some(model.to_owned());
    }
    into.usage.input = count(body, "/usage/input_tokens");
    into.usage.output = count(body, "/usage/output_tokens");
    into.usage.cached = count(body, "/usage/input_tokens_details/cached_tokens");
    into.finish = Some(match text(body, "/incomplete_details/reason") {
        None => Finish::Stop,
        Some("max_output_tokens") => Finish::Length,
        Some("content_filter") => {
            refuse(Some("a filter of the server stopped it"), into);
            Finish::Stop
        }
        Some(other) => Finish::Other(other.to_owned()),
    });
    into.ended = true;
    Ok(())
}
