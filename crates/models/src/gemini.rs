//! Google's generateContent, and its stream of events.

use reqwest::Url;
use serde_json::{Value, json};

use super::chat::{Chat, Finish, OfferedTool, ToolChoice, Turn};
use super::client::provider;
use super::form::{Form, Format, in_words};
use super::reply::message;
use super::sse::Frame;
use super::wire::{Ask, Assembly, Fault, Wire, count, extend, parse, set, text};

provider!(
    /// A model behind Google's generateContent.
    Gemini,
    GenerateContent
);

/// The protocol.
#[derive(Debug)]
struct GenerateContent;

impl Wire for GenerateContent {
    fn provider(&self) -> &'static str {
        "gcp.gemini"
    }

    fn locate(&self, base: &mut Url, model: &str, streamed: bool) {
        let model = model.strip_prefix("models/").unwrap_or(model);
        let act = if streamed { "streamGenerateContent" } else { "generateContent" };
        extend(base, &format!("models/{model}:{act}"));
        if streamed {
            base.query_pairs_mut().append_pair("alt", "sse");
        }
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let chat = ask.chat;
        let mut rules: Vec<Value> = (chat.turns.iter())
            .filter_map(|turn| match turn {
                Turn::System { text } => Some(json!({ "text": text })),
                _ => None,
            })
            .collect();
        let mut settings = json!({ "maxOutputTokens": ask.max_tokens });
        if let Some(temperature) = ask.temperature() {
            set(&mut settings, "temperature", temperature);
        }
        if let Some(top_p) = ask.top_p() {
            set(&mut settings, "topP", top_p);
        }
        if let Some(seed) = ask.chat.seed {
            set(&mut settings, "seed", seed);
        }
        if let Some(schema) = &chat.schema {
            // With tools the server accepts no schema, so it goes into the system prompt.
            let format = if chat.tools.is_empty() { ask.form.format } else { Format::Words };
            if format != Format::Words {
                set(&mut settings, "responseMimeType", "application/json");
            }
            match format {
                Format::Schema => set(&mut settings, "responseJsonSchema", schema.schema.clone()),
                _ => rules.push(json!({ "text": in_words(schema) })),
            }
        }
        let mut body = json!({ "contents": contents(chat), "generationConfig": settings });
        if !rules.is_empty() {
            set(&mut body, "systemInstruction", json!({ "parts": rules }));
        }
        if !chat.tools.is_empty() {
            let tools: Vec<Value> = chat.tools.iter().map(|offered| tool(offered, ask.form)).collect();
            set(&mut body, "tools", json!([{ "functionDeclarations": tools }]));
            let choice = match &chat.tool_choice {
                ToolChoice::Auto => json!({ "mode": "AUTO" }),
                ToolChoice::None => json!({ "mode": "NONE" }),
                ToolChoice::Required => json!({ "mode": "ANY" }),
                ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
            };
            set(&mut body, "toolConfig", json!({ "functionCallingConfig": choice }));
        }
        body
    }

    fn whole(&self, body: &Value, into: &mut Assembly) -> Result<(), Fault> {
        // Without server-sent events, a list of parts is sent.
        let one = std::slice::from_ref(body);
        for part in body.as_array().map_or(one, Vec::as_slice) {
            read(part, into)?;
        }
        if into.finish.is_none() && into.refusal.is_none() {
            return Err(Fault::Garbled("there are no candidates in it".to_owned()));
        }
        into.ended = true;
        Ok(())
    }

    fn frame(&self, frame: &Frame, into: &mut Assembly) -> Result<(), Fault> {
        read(&parse(frame)?, into)
    }
}

fn contents(chat: &Chat) -> Vec<Value> {
    let mut contents: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in &chat.turns {
        let (role, parts) = match turn {
            Turn::System { .. } => continue,
            Turn::User { text } => ("user", vec![json!({ "text": text })]),
            Turn::Assistant { text, calls } => {
                let said = (!text.is_empty()).then(|| json!({ "text": text }));
                let calls = calls.iter().map(|call| {
                    let mut part =
                        json!({ "functionCall": { "name": call.name, "args": call.arguments.object() } });
                    if let Some(signature) = &call.signature {
                        set(&mut part, "thoughtSignature", signature.clone());
                    }
                    part
                });
                ("model", said.into_iter().chain(calls).collect())
            }
            Turn::Tool { name, content, failed, .. } => {
                let response =
                    if *failed { json!({ "error": content }) } else { json!({ "output": content }) };
                ("user", vec![json!({ "functionResponse": { "name": name, "response": response } })])
            }
        };
        match contents.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, kept)) if *last == role => kept.extend(parts),
            _ => contents.push((role, parts)),
        }
    }
    contents.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
}

fn tool(tool: &OfferedTool, form: Form) -> Value {
    let mut declared = json!({ "name": tool.name, "description": tool.description });
    if form.small_schemas {
        set(&mut declared, "parameters", small(&tool.parameters));
    } else {
        set(&mut declared, "parametersJsonSchema", tool.parameters.clone());
    }
    declared
}

/// The schema without keywords that the older format lacks. Removing them only makes it less
/// strict.
fn small(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => (map.iter())
            .filter(|(name, _)| {
                !matches!(name.as_str(), "additionalProperties" | "$schema" | "$id" | "default")
            })
            .map(|(name, value)| (name.clone(), small(value)))
            .collect(),
        Value::Array(items) => items.iter().map(small).collect(),
        other => other.clone(),
    }
}

fn read(body: &Value, into: &mut Assembly) -> Result<(), Fault> {
    if let Some(error) = body.get("error") {
        let status = u16::try_from(count(error, "/code")).unwrap_or(0);
        return Err(match status {
            400..=599 => Fault::Said(status, body.to_string()),
            _ => Fault::Garbled(message(error)),
        });
    }
    if let Some(reason) = text(body, "/promptFeedback/blockReason") {
        into.refusal = Some(format!("the question was blocked ({reason})"));
    }
    if let Some(model) = text(body, "/modelVersion") {
        into.model = Some(model.to_owned());
    }
    if body.get("usageMetadata").is_some() {
        into.usage.input = count(body, "/usageMetadata/promptTokenCount");
        into.usage.output = count(body, "/usageMetadata/candidatesTokenCount")
            + count(body, "/usageMetadata/thoughtsTokenCount");
        into.usage.cached = count(body, "/usageMetadata/cachedContentTokenCount");
    }
    let parts = body.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    for part in parts.map(Vec::as_slice).unwrap_or_default() {
        if let Some(call) = part.get("functionCall") {
            // Each call arrives complete, so each gets its own key.
            let key = into.count().to_string();
            let arguments = call.get("args").filter(|args| !args.is_null()).map(Value::to_string);
            into.call(&key, text(call, "/id"), text(call, "/name"), &arguments.unwrap_or_default());
            into.sign(&key, text(part, "/thoughtSignature"));
        } else if part.get("thought").and_then(Value::as_bool) != Some(true) {
            into.text(text(part, "/text").unwrap_or_default());
        }
    }
    if let Some(reason) = text(body, "/candidates/0/finishReason") {
        into.finish = Some(match reason {
            "STOP" => Finish::Stop,
            "FUNCTION_CALL" => Finish::ToolCalls,
            "MAX_TOKENS" => Finish::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                into.refusal.get_or_insert_with(|| format!("a filter of the server stopped it ({reason})"));
                Finish::Stop
            }
            other => Finish::Other(other.to_ascii_lowercase()),
        });
    }
    Ok(())
}
