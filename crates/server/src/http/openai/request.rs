//! Strict parsing of OpenAI requests: each parameter is honoured or rejected by name, never
//! ignored.

use super::tools::ClientTool;
use crate::http::problem::Problem;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use steward_domain::Role;
use steward_engine::{AskedCall, EarlierMessage};
use steward_models::{OfferedTool, ReplySchema, ToolChoice};
use steward_runtime::run::ClientRequest;
use steward_tools::call::misfits;

/// The maximum number of client tools.
const TOOLS: usize = 128;
/// The maximum number of messages in one request.
const MESSAGES: usize = 1000;
/// The maximum number of stop sequences.
const STOPS: usize = 4;
/// Parameters that do not affect the answer.
const IGNORED_PARAMETERS: [&str; 8] = [
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "include",
];

/// A request for a completion.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Completion {
    pub(super) model: String,
    #[schemars(length(min = 1, max = 1000))]
    messages: Vec<Value>,
    #[serde(default)]
    pub(super) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<Value>,
    #[serde(default)]
    response_format: Option<Value>,
    #[serde(default)]
    stop: Option<Value>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    n: Option<u32>,
    #[serde(default)]
    seed: Option<i64>,
    #[serde(flatten)]
    common: Common,
    /// All other parameters. They are rejected unless they do not affect the answer.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A request for a response.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Responding {
    pub(super) model: String,
    /// Text, or a list of items.
    input: Value,
    #[serde(default)]
    pub(super) instructions: Option<String>,
    #[serde(default)]
    pub(super) previous_response_id: Option<String>,
    #[serde(default)]
    pub(super) stream: Option<bool>,
    #[serde(default)]
    text: Option<Value>,
    #[serde(default)]
    max_output_tokens: Option<u32>,
    #[serde(flatten)]
    common: Common,
    /// All other parameters. They are rejected unless they do not affect the answer.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
struct Common {
    #[serde(default)]
    tools: Option<Vec<ClientTool>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    parallel_tool_calls: Option<bool>,
    #[serde(default)]
    temperature: Option<f32>,
    #[serde(default)]
    top_p: Option<f32>,
}

/// A parsed request of either endpoint.
pub(super) struct Wanted {
    pub(super) model: String,
    /// The whole history. Its last user message is the current one.
    pub(super) messages: Vec<EarlierMessage>,
    pub(super) tools: Vec<ClientTool>,
    /// The prompt, tools, response format and sampling parameters.
    pub(super) request: ClientRequest,
    pub(super) stop: Vec<String>,
    pub(super) with_usage: bool,
    /// The request fields that the response repeats.
    pub(super) echo: Value,
}

/// The last user message, and the messages before and after it.
pub(super) struct Split {
    pub(super) said: String,
    pub(super) before: Vec<EarlierMessage>,
    pub(super) after: Vec<EarlierMessage>,
}

impl Wanted {
    /// Parses messages and tools only, for the chat.
    pub(super) fn of_messages(messages: &[Value], tools: &[Value]) -> Result<Self, Problem> {
        let body = json!({ "model": super::MODEL, "messages": messages, "tools": tools });
        let sent: Completion =
            serde_json::from_value(body).map_err(|error| Problem::input(error.to_string()))?;
        sent.read()
    }

    /// Splits the history at the last user message.
    pub(super) fn split(&self) -> Result<Split, Problem> {
        let at = self.messages.iter().rposition(|message| message.role == Role::User);
        let at = at.ok_or_else(|| Problem::input("messages: one of them must be the user's"))?;
        let (before, rest) = self.messages.split_at(at);
        let said = rest.first().map(|message| message.text.clone()).unwrap_or_default();
        let after =
            rest.iter().skip(1).map(|message| EarlierMessage { follows: true, ..message.clone() }).collect();
        Ok(Split { said, before: before.to_vec(), after })
    }
}

fn bad(param: &str, detail: impl std::fmt::Display) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "WEB010", format!("{param}: {detail}"))
}

impl Completion {
    pub(super) fn read(self) -> Result<Wanted, Problem> {
        refuse_rest(&self.rest)?;
        if self.n.is_some_and(|n| n != 1) {
            return Err(bad("n", "one answer is given. What an answer did is done once"));
        }
        if self.messages.is_empty() || self.messages.len() > MESSAGES {
            return Err(bad("messages", format!("from 1 to {MESSAGES} at once")));
        }
        let max = match (self.max_completion_tokens, self.max_tokens) {
            (Some(one), Some(other)) if one != other => {
                return Err(bad("max_tokens", "it differs from `max_completion_tokens`: send one of them"));
            }
            (one, other) => one.or(other),
        };
        let mut instructions = Vec::new();
        let mut messages = Vec::new();
        for (place, message) in self.messages.iter().enumerate() {
            read_message(&format!("messages[{place}]"), message, &mut instructions, &mut messages)?;
        }
        let usage = self.stream_options.as_ref().and_then(|options| options.get("include_usage"));
        let schema = format(self.response_format.as_ref(), "response_format")?;
        let (tools, mut request) = self.common.read(max, schema)?;
        request.instructions = (!instructions.is_empty()).then(|| instructions.join("\n\n"));
        request.seed = self.seed;
        Ok(Wanted {
            model: self.model,
            messages,
            tools,
            request,
            stop: stops(self.stop.as_ref())?,
            with_usage: usage.and_then(Value::as_bool) == Some(true),
            echo: Value::Null,
        })
    }
}

impl Responding {
    pub(super) fn read(self, earlier: Vec<EarlierMessage>) -> Result<Wanted, Problem> {
        refuse_rest(&self.rest)?;
        let (mut instructions, mut messages) = (Vec::new(), earlier);
        match &self.input {
            Value::String(said) => messages.push(EarlierMessage::new(Role::User, said)),
            Value::Array(items) if (1..=MESSAGES).contains(&items.len()) => {
                for (place, item) in items.iter().enumerate() {
                    read_item(&format!("input[{place}]"), item, &mut instructions, &mut messages)?;
                }
            }
            _ => return Err(bad("input", format!("words, or a list of 1 to {MESSAGES} items"))),
        }
        let format_field = self.text.as_ref().and_then(|text| text.get("format"));
        let schema = format(format_field, "text.format")?;
        let verbosity = self.text.as_ref().and_then(|text| text.get("verbosity"));
        if verbosity.is_some_and(|wanted| !wanted.is_null() && wanted != "medium") {
            return Err(bad("text.verbosity", "it is not supported: say in `instructions` how long"));
        }
        let Common { tool_choice, tools, parallel_tool_calls, temperature, top_p } = &self.common;
        let shown: Vec<Value> = tools.iter().flatten().map(ClientTool::flat).collect();
        let echo = json!({
            "instructions": self.instructions, "max_output_tokens": self.max_output_tokens,
            "parallel_tool_calls": parallel_tool_calls.unwrap_or(true), "temperature": temperature,
            "tool_choice": tool_choice.clone().unwrap_or_else(|| json!("auto")), "tools": shown, "top_p": top_p,
            "text": self.text.clone().unwrap_or_else(|| json!({ "format": { "type": "text" } })),
            "metadata": self.rest.get("metadata").filter(|given| !given.is_null()).cloned().unwrap_or_else(|| json!({})),
        });
        let (tools, mut request) = self.common.read(self.max_output_tokens, schema)?;
        instructions.splice(0..0, self.instructions);
        request.instructions = (!instructions.is_empty()).then(|| instructions.join("\n\n"));
        Ok(Wanted { model: self.model, messages, tools, request, stop: Vec::new(), with_usage: true, echo })
    }
}

impl Common {
    fn read(
        self,
        max_tokens: Option<u32>,
        schema: Option<ReplySchema>,
    ) -> Result<(Vec<ClientTool>, ClientRequest), Problem> {
        if max_tokens == Some(0) {
            return Err(bad("max_tokens", "at least 1"));
        }
        if self.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
            return Err(bad("temperature", "from 0 to 2"));
        }
        if self.top_p.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            return Err(bad("top_p", "from 0 to 1"));
        }
        let tools = self.tools.unwrap_or_default();
        if tools.len() > TOOLS {
            return Err(bad("tools", format!("at most {TOOLS} at once")));
        }
        let offered: Vec<OfferedTool> =
            tools.iter().enumerate().map(|(place, tool)| tool.offered(place)).collect::<Result<_, _>>()?;
        let request = ClientRequest {
            instructions: None,
            tool_choice: choice(self.tool_choice.as_ref(), &offered)?,
            tools: offered,
            one_call: self.parallel_tool_calls == Some(false) && !tools.is_empty(),
            schema,
            max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            seed: None,
        };
        Ok((tools, request))
    }
}

/// Rejects unknown parameters, and known ones that are not supported.
fn refuse_rest(rest: &Map<String, Value>) -> Result<(), Problem> {
    for (name, value) in rest {
        let nothing = match (name.as_str(), value) {
            (known, _) if IGNORED_PARAMETERS.contains(&known) => true,
            (_, Value::Null) => true,
            ("logprobs" | "background", Value::Bool(on)) => !on,
            ("top_logprobs" | "presence_penalty" | "frequency_penalty", number) => {
                number.as_f64() == Some(0.0)
            }
            ("logit_bias", Value::Object(map)) => map.is_empty(),
            ("modalities", modes) => *modes == json!(["text"]),
            ("truncation", Value::String(how)) => how == "auto" || how == "disabled",
            ("stream_options", Value::Object(_)) => true,
            ("reasoning", Value::Object(map)) => map.values().all(Value::is_null),
            _ => false,
        };
        if !nothing {
            let problem = format!("{name}: this parameter is not supported here. Leave it out");
            return Err(Problem::new(StatusCode::BAD_REQUEST, "WEB010", problem));
        }
    }
    Ok(())
}

fn stops(stop: Option<&Value>) -> Result<Vec<String>, Problem> {
    let wrong = || bad("stop", format!("a text, or up to {STOPS} of them, none empty"));
    let stops = match stop {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many
            .iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(wrong)?,
        Some(_) => return Err(wrong()),
    };
    if stops.len() > STOPS || stops.iter().any(String::is_empty) { Err(wrong()) } else { Ok(stops) }
}

/// The response format: of chat completions (nested `json_schema`) or of responses (flat).
fn format(format: Option<&Value>, param: &str) -> Result<Option<ReplySchema>, Problem> {
    let Some(format) = format.filter(|format| !format.is_null()) else { return Ok(None) };
    let kind = format.get("type").and_then(Value::as_str).unwrap_or_default();
    let inner = format.get("json_schema").filter(|inner| inner.is_object()).unwrap_or(format);
    match kind {
        "text" => Ok(None),
        "json_object" => {
            Ok(Some(ReplySchema { name: "object".to_owned(), schema: json!({ "type": "object" }) }))
        }
        "json_schema" => {
            let name = inner.get("name").and_then(Value::as_str).unwrap_or("reply").to_owned();
            let schema = inner.get("schema").filter(|schema| schema.is_object()).cloned();
            let schema = schema.ok_or_else(|| bad(param, "`json_schema` needs a `schema`, an object"))?;
            misfits(&schema, &Value::Null)
                .map_err(|why| bad(param, format!("the schema cannot be used: {why}")))?;
            Ok(Some(ReplySchema { name, schema }))
        }
        other => Err(bad(param, format!("text, json_object or json_schema, found {other:?}"))),
    }
}

fn choice(choice: Option<&Value>, tools: &[OfferedTool]) -> Result<ToolChoice, Problem> {
    let chosen = match choice {
        None | Some(Value::Null) => ToolChoice::Auto,
        Some(Value::String(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            other => {
                return Err(bad(
                    "tool_choice",
                    format!("auto, none, required or a function, found {other:?}"),
                ));
            }
        },
        Some(named) => {
            let name = named.pointer("/function/name").or_else(|| named.get("name")).and_then(Value::as_str);
            let name = name.filter(|_| named.get("type").is_some_and(|kind| kind == "function"));
            let name = name.ok_or_else(|| bad("tool_choice", "auto, none, required or a function"))?;
            if !tools.iter().any(|tool| tool.name == name) {
                return Err(bad("tool_choice", format!("there is no tool {name:?} among `tools`")));
            }
            ToolChoice::Tool(name.to_owned())
        }
    };
    match chosen {
        ToolChoice::Required if tools.is_empty() => Err(bad("tool_choice", "`required` needs `tools`")),
        // Without tools, `none` is the same as the default.
        ToolChoice::None if tools.is_empty() => Ok(ToolChoice::Auto),
        other => Ok(other),
    }
}

/// The text of a content: a string or text parts.
fn words(place: &str, content: Option<&Value>) -> Result<String, Problem> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let mut texts = Vec::new();
            for part in parts {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
                let text = match kind {
                    "text" | "input_text" | "output_text" | "summary_text" => part.get("text"),
                    "refusal" => part.get("refusal"),
                    _ => None,
                };
                let text = text.and_then(Value::as_str).ok_or_else(|| {
                    let what = "is not taken: send text. Files go to /api/v1/uploads";
                    bad(&format!("{place}.content"), format!("a part of the type {kind:?} {what}"))
                })?;
                texts.push(text);
            }
            Ok(texts.join("\n"))
        }
        Some(_) => Err(bad(&format!("{place}.content"), "a text, or parts")),
    }
}

fn read_message(
    place: &str,
    message: &Value,
    instructions: &mut Vec<String>,
    messages: &mut Vec<EarlierMessage>,
) -> Result<(), Problem> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let text = words(place, message.get("content"))?;
    match role {
        "system" | "developer" => instructions.push(text),
        "user" => messages.push(EarlierMessage::new(Role::User, text)),
        "assistant" => {
            let mut calls = Vec::new();
            for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                let of = |path: &str| call.pointer(path).and_then(Value::as_str).map(str::to_owned);
                let (Some(id), Some(tool)) = (of("/id"), of("/function/name")) else {
                    return Err(bad(&format!("{place}.tool_calls"), "each has an `id` and a `function`"));
                };
                calls.push(asked(id, tool, &of("/function/arguments").unwrap_or_default()));
            }
            messages.push(EarlierMessage { calls, ..EarlierMessage::new(Role::Agent, text) });
        }
        "tool" => {
            let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
            push_result(place, "tool_call_id", id, text, messages)?;
        }
        other => {
            let roles = "system, developer, user, assistant or tool";
            return Err(bad(&format!("{place}.role"), format!("{roles}, found {other:?}")));
        }
    }
    Ok(())
}

fn asked(id: String, tool: String, arguments: &str) -> AskedCall {
    let read = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()));
    AskedCall { id, tool, arguments: read }
}

/// Appends a tool result. Its call must come before it.
fn push_result(
    place: &str,
    param: &str,
    id: &str,
    text: String,
    messages: &mut Vec<EarlierMessage>,
) -> Result<(), Problem> {
    if !messages.iter().any(|message| message.calls.iter().any(|call| call.id == id)) {
        return Err(bad(&format!("{place}.{param}"), format!("no call {id:?} stands before it")));
    }
    messages.push(EarlierMessage { answers: Some(id.to_owned()), ..EarlierMessage::new(Role::Tool, text) });
    Ok(())
}

fn read_item(
    place: &str,
    item: &Value,
    instructions: &mut Vec<String>,
    messages: &mut Vec<EarlierMessage>,
) -> Result<(), Problem> {
    let of = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match item.get("type").and_then(Value::as_str) {
        None | Some("message") => read_message(place, item, instructions, messages),
        Some("function_call") => {
            let call = asked(of("call_id"), of("name"), &of("arguments"));
            match messages.last_mut().filter(|last| last.role == Role::Agent && last.answers.is_none()) {
                Some(last) => last.calls.push(call),
                None => messages
                    .push(EarlierMessage { calls: vec![call], ..EarlierMessage::new(Role::Agent, "") }),
            }
            Ok(())
        }
        Some("function_call_output") => {
            let text = words(place, item.get("output"))?;
            push_result(place, "call_id", &of("call_id"), text, messages)
        }
        // Reasoning items of other models are ignored.
        Some("reasoning") => Ok(()),
        Some(other) => Err(bad(place, format!("an item of the type {other:?} is not taken"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut more: Value) -> Result<Wanted, String> {
        let mut body = json!({ "model": "steward", "messages": [{ "role": "user", "content": "hi" }] });
        body.as_object_mut().unwrap().append(more.as_object_mut().unwrap());
        let parsed: Completion = serde_json::from_value(body).map_err(|error| error.to_string())?;
        parsed.read().map_err(|problem| problem.detail)
    }

    #[test]
    fn each_parameter_is_honoured_or_rejected() {
        for (more, refused) in [
            (json!({ "n": 2 }), "n: "),
            (json!({ "max_tokens": 0 }), "max_tokens: "),
            (json!({ "max_tokens": 1, "max_completion_tokens": 2 }), "max_tokens: "),
            (json!({ "stop": ["a", "b", "c", "d", "e"] }), "stop: "),
            (json!({ "stop": "" }), "stop: "),
            (json!({ "temperature": 3 }), "temperature: "),
            (json!({ "top_p": -1 }), "top_p: "),
            (json!({ "logprobs": true }), "logprobs: "),
            (json!({ "presence_penalty": 1 }), "presence_penalty: "),
            (json!({ "reasoning_effort": "low" }), "reasoning_effort: "),
            (json!({ "anything": 1 }), "anything: "),
            (json!({ "tool_choice": "required" }), "tool_choice: "),
            (json!({ "tool_choice": { "type": "function", "function": { "name": "x" } } }), "tool_choice: "),
            (json!({ "tools": [{ "type": "web_search" }] }), "tools[0]"),
            (json!({ "response_format": { "type": "xml" } }), "response_format: "),
            (json!({ "response_format": { "type": "json_schema" } }), "response_format: "),
            (
                json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "a", "schema": { "type": 7 } } } }),
                "response_format: ",
            ),
            (json!({ "messages": [{ "role": "robot", "content": "x" }] }), "messages[0].role: "),
            (
                json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url" }] }] }),
                "messages[0].content: ",
            ),
            (
                json!({ "messages": [{ "role": "tool", "tool_call_id": "x", "content": "1" }] }),
                "messages[0].tool_call_id: ",
            ),
        ] {
            let told = read(more.clone()).err().unwrap_or_else(|| panic!("{more} was taken"));
            assert!(told.starts_with(refused), "{more}: {told}");
        }
        for more in [
            json!({ "n": 1, "user": "u", "metadata": {}, "logprobs": false, "logit_bias": {}, "store": true }),
            json!({ "presence_penalty": 0, "top_logprobs": null, "modalities": ["text"] }),
        ] {
            let wanted = read(more).unwrap();
            assert!(wanted.request.is_empty(), "nothing of it needs a model");
        }
        let wanted = read(json!({ "stop": "END", "max_tokens": 5, "seed": 7, "temperature": 0.5 })).unwrap();
        assert_eq!(wanted.stop, ["END"]);
        let ClientRequest { max_tokens, seed, temperature, .. } = wanted.request;
        assert_eq!((max_tokens, seed, temperature), (Some(5), Some(7), Some(0.5)));
    }

    #[test]
    fn history_is_split_at_the_last_user_message() {
        let call =
            json!({ "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{\"a\":1}" } });
        let wanted = read(json!({ "messages": [
            { "role": "system", "content": "be brief" }, { "role": "user", "content": "one" },
            { "role": "assistant", "content": "1" }, { "role": "user", "content": "two" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "c1", "content": "2" },
        ] }))
        .unwrap();
        assert_eq!(wanted.request.instructions.as_deref(), Some("be brief"));
        let Split { said, before, after } = wanted.split().unwrap();
        assert_eq!((said.as_str(), before.len(), after.len()), ("two", 2, 2));
        assert!(after.iter().all(|message| message.follows));
        assert_eq!(after[0].calls[0].arguments, json!({ "a": 1 }));
        assert_eq!(after[1].answers.as_deref(), Some("c1"));
    }
}
