//! Every protocol with the same requests: what is sent, what is read complete and streamed, and
//! error handling.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use steward_models::{
    Answer, Anthropic, Arguments, Chat, Event, Finish, Gemini, Model, ModelError, OfferedTool, Ollama,
    OpenAi, Options, Price, ReplySchema, Responses, Secret, ToolCall, ToolChoice, Turn, Usage,
};

use crate::fake::{Act, Fake, Then};

const KEY: &str = "key-that-nobody-may-see";

/// A protocol: how its client is created, and the same reply in its format.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) make: fn(Options) -> Arc<dyn Model>,
    pub(crate) whole: Value,
    pub(crate) stream: String,
    pub(crate) plain: Value,
    pub(crate) overflow: (u16, Value),
    pub(crate) declined: Value,
}

fn sse(parts: &[Value]) -> String {
    parts
        .iter()
        .map(|part| format!("event: {}\ndata: {part}\n\n", part["type"].as_str().unwrap_or("message")))
        .collect()
}

fn openai() -> Kind {
    let usage =
        json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}});
    let delta = |delta: Value| json!({"model": "served", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let parts = [
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"content": "Grüße "})),
        delta(json!({"content": "😀"})),
        delta(
            json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": ""}}]}),
        ),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":"}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})),
        delta(
            json!({"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}),
        ),
        json!({"model": "served", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"model": "served", "choices": [], "usage": usage}),
    ];
    let stream: String = parts.iter().map(|part| format!(": keep\r\ndata: {part}\r\n\r\n")).collect();
    let calls = json!([
        {"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"x\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}}]);
    let say = |text: &str| json!({"model": "served", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    Kind {
        name: "openai",
        make: |options| Arc::new(OpenAi::new(options).unwrap()),
        whole: json!({"model": "served", "choices": [{"message": {"content": "Grüße 😀", "tool_calls": calls}, "finish_reason": "tool_calls"}], "usage": usage}),
        stream: format!("{stream}data: [DONE]\n\n"),
        plain: say("{\"a\": 1}"),
        overflow: (
            400,
            json!({"error": {"message": "This model's maximum context length is 8192 \
                tokens", "code": "context_length_exceeded"}}),
        ),
        declined: json!({"choices": [{"message": {"content": null, "refusal": "no"}, "finish_reason": "stop"}]}),
    }
}

fn responses() -> Kind {
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}});
    let call = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments});
    let output = json!([
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Grüße 😀"}]},
        call("a", "add", "{\"x\":1}"), call("b", "look", "{}")]);
    let whole = json!({"model": "served", "status": "completed", "error": null, "incomplete_details": null, "output": output, "usage": usage});
    let parts = [
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Grüße "}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "😀"}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": call("a", "add", "")}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"x\""}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": ":1}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"x\":1}"}),
        json!({"type": "response.output_item.added", "output_index": 3, "item": call("b", "look", "")}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "{}"}),
        json!({"type": "response.completed", "response": whole}),
    ];
    let say =
        |part: Value| json!({"status": "completed", "output": [{"type": "message", "content": [part]}]});
    Kind {
        name: "responses",
        make: |options| Arc::new(Responses::new(options).unwrap()),
        stream: sse(&parts),
        whole,
        plain: say(json!({"type": "output_text", "text": "{\"a\": 1}"})),
        overflow: (
            400,
            json!({"error": {"message": "Your input exceeds the context window of this \
                model", "code": "context_length_exceeded"}}),
        ),
        declined: say(json!({"type": "refusal", "refusal": "no"})),
    }
}

fn anthropic() -> Kind {
    let usage = json!({"input_tokens": 4, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 5});
    let parts = [
        json!({"type": "message_start", "message": {"model": "served", "usage": {"input_tokens": 4, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße "}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "😀"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "add", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"x\""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ":1}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "b", "name": "look", "input": {}}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let reply = json!({"type": "tool_use", "id": "r", "name": "steward_reply", "input": {"a": 1}});
    Kind {
        name: "anthropic",
        make: |options| Arc::new(Anthropic::new(options).unwrap()),
        whole: json!({"model": "served", "content": [{"type": "text", "text": "Grüße 😀"},
            {"type": "tool_use", "id": "a", "name": "add", "input": {"x": 1}}, {"type": "tool_use", "id": "b", "name": "look", "input": {}}],
            "stop_reason": "tool_use", "usage": usage}),
        stream: sse(&parts),
        plain: json!({"content": [reply], "stop_reason": "tool_use", "usage": {}}),
        overflow: (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too \
                long: 210000 tokens > 200000 maximum"}}),
        ),
        declined: json!({"content": [], "stop_reason": "refusal", "usage": {}}),
    }
}

fn gemini() -> Kind {
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4});
    let part = |parts: Value| json!({"modelVersion": "served", "candidates": [{"content": {"role": "model", "parts": parts}}]});
    let calls = json!([{"functionCall": {"id": "a", "name": "add", "args": {"x": 1}}}, {"functionCall": {"id": "b", "name": "look", "args": {}}}]);
    let mut all = vec![json!({"thought": true, "text": "hm"}), json!({"text": "Grüße 😀"})];
    all.extend(calls.as_array().unwrap().clone());
    let frames = [
        part(json!([{"thought": true, "text": "hm"}])),
        part(json!([{"text": "Grüße "}])),
        part(json!([{"text": "😀"}])),
        part(calls),
        json!({"modelVersion": "served", "candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}], "usageMetadata": usage}),
    ];
    let say = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]});
    Kind {
        name: "gemini",
        make: |options| Arc::new(Gemini::new(options).unwrap()),
        whole: json!({"modelVersion": "served", "candidates": [{"content": {"parts": all}, "finishReason": "STOP"}], "usageMetadata": usage}),
        stream: frames.iter().map(|frame| format!("data: {frame}\r\n\r\n")).collect(),
        plain: say("{\"a\": 1}"),
        overflow: (
            400,
            json!({"error": {"code": 400, "message": "The input token count (2000000) exceeds the maximum \
                number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}),
        ),
        declined: json!({"promptFeedback": {"blockReason": "SAFETY"}}),
    }
}

fn ollama() -> Kind {
    let line = |message: Value| json!({"model": "served", "message": message, "done": false});
    let calls = json!([{"id": "a", "function": {"name": "add", "arguments": {"x": 1}}}, {"id": "b", "function": {"name": "look", "arguments": {}}}]);
    let lines = [
        line(json!({"role": "assistant", "content": "Grüße "})),
        line(json!({"role": "assistant", "content": "😀"})),
        line(json!({"role": "assistant", "content": "", "tool_calls": calls})),
        json!({"model": "served", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5}),
    ];
    let say = |text: &str| json!({"model": "served", "message": {"content": text}, "done": true, "done_reason": "stop"});
    Kind {
        name: "ollama",
        make: |options| Arc::new(Ollama::new(options).unwrap()),
        whole: json!({"model": "served", "message": {"content": "Grüße 😀", "tool_calls": calls}, "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5}),
        stream: lines.iter().map(|line| format!("{line}\n")).collect(),
        plain: say("{\"a\": 1}"),
        overflow: (500, json!({"error": "the prompt exceeds the context length of the model"})),
        // This protocol has no refusals.
        declined: Value::Null,
    }
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![openai(), responses(), anthropic(), gemini(), ollama()]
}

impl Kind {
    pub(crate) fn client(&self, url: &str) -> Arc<dyn Model> {
        let mut options = Options::new(format!("{url}/v1"), "asked");
        options.api_key = Some(Secret::new(KEY));
        options.backoff = Duration::from_millis(2);
        options.idle = Duration::from_secs(5);
        options.price =
            Some(Price { input_per_million: 1.0, output_per_million: 2.0, cached_per_million: Some(0.5) });
        (self.make)(options)
    }

    pub(crate) fn streamed(&self, body: impl Into<Vec<u8>>) -> Act {
        let kind = if self.name == "ollama" { "application/x-ndjson" } else { "text/event-stream" };
        Act::new(200, kind, body)
    }

    /// What was meant by the fixtures.
    pub(crate) fn answer(&self) -> Answer {
        let call = |id: &str, name: &str, arguments: Value| ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: Arguments::from_value(&arguments),
            signature: None,
        };
        let cached = if self.name == "ollama" { 0 } else { 4 };
        Answer {
            text: "Grüße 😀".to_owned(),
            calls: vec![call("a", "add", json!({"x": 1})), call("b", "look", json!({}))],
            json: None,
            finish: Finish::ToolCalls,
            usage: Usage { input: 10, output: 5, cached },
            cost_micros: Some(20 - cached / 2),
            model: "served".to_owned(),
        }
    }
}

/// A conversation with two parallel tool calls.
pub(crate) fn chat() -> Chat {
    let tool = |name: &str| OfferedTool {
        name: name.to_owned(),
        description: format!("does {name}"),
        parameters: json!({"type": "object", "properties": {"x": {"type": "integer"}}}),
    };
    let call = |id: &str, name: &str| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: Arguments::read("{\"x\":2}"),
        signature: None,
    };
    let (first, second) = (call("c1", "add"), call("c2", "look"));
    Chat {
        turns: vec![
            Turn::system("be brief"),
            Turn::user("hello"),
            Turn::Assistant { text: String::new(), calls: vec![first.clone(), second.clone()] },
            Turn::tool(&first, "three"),
            Turn::tool(&second, "seen"),
        ],
        tools: vec![tool("add"), tool("look")],
        tool_choice: ToolChoice::Required,
        max_tokens: Some(50),
        temperature: Some(0.1),
        timeout: Some(Duration::from_secs(10)),
        ..Chat::default()
    }
}

pub(crate) fn formed() -> Chat {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    let schema = Some(ReplySchema { name: "my plan".to_owned(), schema });
    Chat {
        turns: vec![Turn::user("hello")],
        schema,
        timeout: Some(Duration::from_secs(10)),
        ..Chat::default()
    }
}

pub(crate) async fn hear(model: &dyn Model, chat: &Chat) -> (Vec<Event>, Option<ModelError>) {
    let (mut heard, mut events) = (Vec::new(), model.stream(chat));
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => heard.push(event),
            Err(error) => return (heard, Some(error)),
        }
    }
    (heard, None)
}

#[tokio::test]
async fn whole_answers() {
    for kind in kinds() {
        let fake = Fake::start(vec![Act::json(200, &kind.whole)]).await;
        let answer = kind.client(&fake.url).chat(&chat()).await.unwrap();
        assert_eq!(answer, kind.answer(), "{}", kind.name);
    }
}

#[tokio::test]
async fn streamed_answers() {
    for kind in kinds() {
        for step in [1, 7, 100_000] {
            let act = Act { step, ..kind.streamed(kind.stream.clone()) };
            let fake = Fake::start(vec![act.then(Then::Close)]).await;
            let (heard, error) = hear(&*kind.client(&fake.url), &chat()).await;
            assert_eq!(error, None, "{}", kind.name);
            let wanted = kind.answer();
            let (mut text, mut calls, mut arguments) =
                (String::new(), Vec::new(), [String::new(), String::new()]);
            for event in &heard {
                match event {
                    Event::TextDelta(more) => text.push_str(more),
                    Event::ToolCallDelta { index, arguments: more, .. } => arguments[*index].push_str(more),
                    Event::ToolCallDone(call) => calls.push(call.clone()),
                    Event::Usage(usage) => assert_eq!(*usage, wanted.usage, "{}", kind.name),
                    Event::Done(_) => {}
                }
            }
            assert_eq!((text.as_str(), &calls), ("Grüße 😀", &wanted.calls), "{}", kind.name);
            assert_eq!(Arguments::read(&arguments[0]), wanted.calls[0].arguments, "{}", kind.name);
            assert_eq!(heard.last(), Some(&Event::Done(Box::new(wanted))), "{}", kind.name);
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_anywhere_is_whole_or_an_error() {
    for kind in kinds() {
        let bytes = kind.stream.as_bytes();
        for cut in (0..bytes.len()).step_by(23) {
            let act = Act { step: 4096, ..kind.streamed(&bytes[..cut]) };
            let fake = Fake::start(vec![act]).await;
            let (heard, error) = hear(&*kind.client(&fake.url), &chat()).await;
            match heard.last() {
                Some(Event::Done(answer)) => {
                    // Only the token counts may arrive after the model's last text.
                    let (mut answer, mut wanted) = ((**answer).clone(), kind.answer());
                    (answer.usage, wanted.usage) = (Usage::default(), Usage::default());
                    (answer.cost_micros, wanted.cost_micros) = (None, None);
                    assert_eq!(answer, wanted, "{} at {cut}", kind.name);
                }
                _ => assert!(
                    matches!(error, Some(ModelError::BrokeOff { .. })),
                    "{} at {cut}: {error:?}",
                    kind.name
                ),
            }
        }
    }
}

#[tokio::test]
async fn what_is_sent() {
    let tries = [
        ("openai", "/v1/chat/completions"),
        ("responses", "/v1/responses"),
        ("anthropic", "/v1/messages"),
        ("gemini", "/v1/models/asked:generateContent"),
        ("ollama", "/v1/api/chat"),
    ];
    for (kind, (name, path)) in kinds().iter().zip(tries) {
        let fake = Fake::start(vec![Act::json(200, &kind.whole)]).await;
        kind.client(&fake.url).chat(&chat()).await.unwrap();
        let (head, body) = fake.asked(0);
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1")), "{head}");
        assert!(head.contains(KEY) && !body.to_string().contains(KEY), "{name}: {head}");
        let at = |place: &str| body.pointer(place).cloned().unwrap_or_default();
        let wanted: Vec<(&str, Value)> = match name {
            "openai" => vec![
                ("/messages/0", json!({"role": "system", "content": "be brief"})),
                (
                    "/messages/2/tool_calls/1",
                    json!({"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{\"x\":2}"}}),
                ),
                ("/messages/4", json!({"role": "tool", "tool_call_id": "c2", "content": "seen"})),
                ("/tools/0/function/name", json!("add")),
                ("/tool_choice", json!("required")),
                ("/max_tokens", json!(50)),
            ],
            "responses" => vec![
                (
                    "/input/2",
                    json!({"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"x\":2}"}),
                ),
                ("/input/5", json!({"type": "function_call_output", "call_id": "c2", "output": "seen"})),
                ("/store", json!(false)),
                ("/tool_choice", json!("required")),
                ("/max_output_tokens", json!(50)),
            ],
            "anthropic" => vec![
                // The cache covers tools and system prompt, and the conversation so far.
                (
                    "/system",
                    json!([{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]),
                ),
                (
                    "/messages/1/content/0",
                    json!({"type": "tool_use", "id": "c1", "name": "add", "input": {"x": 2}}),
                ),
                // Results of parallel calls are sent back together.
                (
                    "/messages/2/content/1",
                    json!({"type": "tool_result", "tool_use_id": "c2", "content": "seen", "is_error": false,
                        "cache_control": {"type": "ephemeral"}}),
                ),
                ("/messages/3", Value::Null),
                ("/tool_choice", json!({"type": "any"})),
            ],
            "gemini" => vec![
                ("/systemInstruction/parts/0/text", json!("be brief")),
                (
                    "/contents/1",
                    json!({"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"x": 2}}}, {"functionCall": {"name": "look", "args": {"x": 2}}}]}),
                ),
                (
                    "/contents/2/parts/1/functionResponse",
                    json!({"name": "look", "response": {"output": "seen"}}),
                ),
                ("/toolConfig/functionCallingConfig/mode", json!("ANY")),
                ("/generationConfig/maxOutputTokens", json!(50)),
            ],
            _ => vec![
                ("/messages/2/tool_calls/0", json!({"function": {"name": "add", "arguments": {"x": 2}}})),
                ("/messages/4", json!({"role": "tool", "tool_name": "look", "content": "seen"})),
                ("/options", json!({"num_predict": 50, "temperature": 0.1})),
                ("/stream", json!(false)),
            ],
        };
        for (place, value) in wanted {
            assert_eq!(at(place), value, "{name} {place} in {body}");
        }
    }
}

#[tokio::test]
async fn forms_overflows_and_refusals() {
    for kind in kinds() {
        let fake = Fake::start(vec![Act::json(200, &kind.plain)]).await;
        let answer = kind.client(&fake.url).chat(&formed()).await.unwrap();
        assert_eq!((answer.json, answer.finish), (Some(json!({"a": 1})), Finish::Stop), "{}", kind.name);

        let fake = Fake::start(vec![Act::json(kind.overflow.0, &kind.overflow.1)]).await;
        let failed = kind.client(&fake.url).chat(&chat()).await.unwrap_err();
        assert!(matches!(failed, ModelError::ContextOverflow { .. }), "{}: {failed}", kind.name);
        assert_eq!(fake.count(), 1, "{}", kind.name);

        if !kind.declined.is_null() {
            let fake = Fake::start(vec![Act::json(200, &kind.declined)]).await;
            let failed = kind.client(&fake.url).chat(&formed()).await.unwrap_err();
            assert!(matches!(failed, ModelError::Declined { .. }), "{}: {failed}", kind.name);
        }
    }
}

#[tokio::test]
async fn faults_of_streams() {
    for kind in kinds() {
        let line = kind.name == "ollama";
        let wrap = |text: &str| if line { format!("{text}\n") } else { format!("data: {text}\n\n") };
        let begun: String = {
            let end = if line { "\n" } else { "\n\n" };
            let text = kind.stream.replace("\r\n", "\n");
            let place = text.find("Gr").unwrap();
            text[..place + text[place..].find(end).unwrap() + end.len()].to_owned()
        };
        let broken = match kind.name {
            "openai" => json!({"error": {"message": "overloaded", "code": 503}}),
            "anthropic" => {
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}})
            }
            "gemini" => json!({"error": {"code": 503, "message": "overloaded"}}),
            "responses" => json!({"type": "error", "code": "server_error", "message": "overloaded"}),
            _ => json!({"error": "overloaded"}),
        };
        type Right = fn(&ModelError) -> bool;
        let server: Right = |e| matches!(e, ModelError::Server { status: 500.., detail, .. } if detail.contains("overloaded"));
        let garbled: Right = |e| matches!(e, ModelError::Garbled { .. });
        let cases: [(Vec<u8>, Right); 4] = [
            ((begun.clone() + &wrap(&broken.to_string())).into(), server),
            ((begun.clone() + &wrap("{nonsense")).into(), garbled),
            ([begun.as_bytes(), b"data: \xff\xfe\n\n"].concat(), garbled),
            ([begun.as_bytes(), b"data: ", &vec![b'x'; 5 << 20]].concat(), |e| {
                matches!(e, ModelError::TooLarge { .. })
            }),
        ];
        for (body, right) in cases {
            let fake = Fake::start(vec![Act { step: 65_536, ..kind.streamed(body) }]).await;
            let (heard, error) = hear(&*kind.client(&fake.url), &chat()).await;
            let error = error.unwrap();
            assert!(right(&error), "{}: {error}", kind.name);
            // A part was received, so there was no retry.
            if !matches!(error, ModelError::TooLarge { .. }) && !error.to_string().contains("UTF-8") {
                assert!(heard.iter().any(|event| matches!(event, Event::TextDelta(_))), "{}", kind.name);
            }
            assert_eq!(fake.count(), 1, "{}", kind.name);
        }
        // Before the first part there is a retry.
        let mut acts = vec![kind.streamed(wrap(&broken.to_string())), kind.streamed(Vec::new())];
        acts.push(kind.streamed(kind.stream.clone()));
        let fake = Fake::start(acts).await;
        let (heard, error) = hear(&*kind.client(&fake.url), &chat()).await;
        assert_eq!((error, fake.count()), (None, 3), "{}", kind.name);
        assert_eq!(heard.last(), Some(&Event::Done(Box::new(kind.answer()))), "{}", kind.name);
        // A server that responds without a stream although one was requested.
        let fake = Fake::start(vec![Act::json(200, &kind.whole)]).await;
        let (heard, _) = hear(&*kind.client(&fake.url), &chat()).await;
        assert_eq!(heard.last(), Some(&Event::Done(Box::new(kind.answer()))), "{}", kind.name);
    }
}

/// A busy server names a delay, and the client retries after it and not before.
#[tokio::test]
async fn every_provider_is_asked_again_when_it_said() {
    for kind in kinds() {
        let busy = Act::json(429, &json!({"error": {"message": "slow down", "type": "rate_limit_error"}}));
        let busy = Act { head: busy.head.replacen("\r\n", "\r\nretry-after: 1\r\n", 1), ..busy };
        let fake = Fake::start(vec![busy, Act::json(200, &kind.whole)]).await;
        let began = std::time::Instant::now();
        let answer = kind.client(&fake.url).chat(&chat()).await.unwrap();
        assert_eq!((answer, fake.count()), (kind.answer(), 2), "{}", kind.name);
        assert!(began.elapsed() >= Duration::from_millis(950), "{}: {:?}", kind.name, began.elapsed());
    }
}

#[tokio::test]
async fn a_dropped_stream_ends_the_request() {
    for kind in kinds() {
        let end = kind.stream.len() / 2;
        let end = (0..=end).rev().find(|place| kind.stream.is_char_boundary(*place)).unwrap();
        let mut fake =
            Fake::start(vec![kind.streamed(&kind.stream.as_bytes()[..end]).then(Then::Wait)]).await;
        let (client, chat) = (kind.client(&fake.url), chat());
        let mut events = client.stream(&chat);
        assert!(matches!(events.next().await, Some(Ok(Event::TextDelta(_)))), "{}", kind.name);
        drop(events);
        tokio::time::timeout(Duration::from_secs(10), fake.gone.recv())
            .await
            .unwrap_or_else(|_| panic!("{}: the server hears of it", kind.name));
    }
}

#[tokio::test]
async fn a_silent_stream_ends_in_time() {
    let kind = openai();
    let fake = Fake::start(vec![kind.streamed(": still here\n\n").then(Then::Wait)]).await;
    let mut options = Options::new(format!("{}/v1", fake.url), "asked");
    (options.idle, options.backoff) = (Duration::from_millis(50), Duration::from_millis(1));
    let (heard, error) = hear(&OpenAi::new(options).unwrap(), &chat()).await;
    assert_eq!((heard, error), (vec![], Some(ModelError::Timeout { milliseconds: 50 })));
    assert_eq!(fake.count(), 3);
    // The first byte has a separate time limit.
    let mut silent = kind.streamed("").then(Then::Wait);
    silent.head = String::new();
    let fake = Fake::start(vec![silent, Act::json(200, &kind.whole)]).await;
    let mut options = Options::new(format!("{}/v1", fake.url), "asked");
    (options.first_byte, options.backoff) = (Some(Duration::from_millis(300)), Duration::from_millis(1));
    let answer = OpenAi::new(options).unwrap().chat(&chat()).await.unwrap();
    assert_eq!((answer.text.as_str(), fake.count()), ("Grüße 😀", 2));
}

#[tokio::test]
async fn calls_that_models_get_wrong() {
    let call = |id: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}});
    let calls = json!([call("a", json!("{\"x\": ")), call("a", json!({"x": 1})), call("", json!(null))]);
    let body =
        json!({"choices": [{"message": {"content": null, "tool_calls": calls}, "finish_reason": "stop"}]});
    let fake = Fake::start(vec![Act::json(200, &body)]).await;
    let answer = openai().client(&fake.url).chat(&chat()).await.unwrap();
    assert!(matches!(&answer.calls[0].arguments, Arguments::Nonsense { raw, .. } if raw == "{\"x\": "));
    assert_eq!(answer.calls[1].arguments, Arguments::from_value(&json!({"x": 1})));
    let ids: Vec<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "call_5_2", "call_5_3"]);
    assert_eq!(answer.finish, Finish::ToolCalls);

    // Invalid arguments are sent back unchanged, if the protocol accepts text.
    let mut again = chat();
    again.turns.push(answer.turn());
    let fake = Fake::start(vec![Act::json(200, &body)]).await;
    openai().client(&fake.url).chat(&again).await.unwrap();
    assert_eq!(fake.asked(0).1["messages"][5]["tool_calls"][0]["function"]["arguments"], "{\"x\": ");

    // A call in the text, as small models write it.
    let text = "<tool_call>{\"name\": \"add\", \"arguments\": {\"x\": 1}}</tool_call>";
    let body = json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    let fake = Fake::start(vec![Act::json(200, &body)]).await;
    let (heard, _) = hear(&*openai().client(&fake.url), &chat()).await;
    assert!(heard.iter().any(|event| matches!(event, Event::ToolCallDone(call) if call.name == "add")));
    let none = Chat { tool_choice: ToolChoice::None, ..chat() };
    assert_eq!(openai().client(&fake.url).chat(&none).await.unwrap().text, text);
}

#[tokio::test]
async fn not_too_many_at_once() {
    let kind = openai();
    let fake = Fake::start(vec![Act::json(200, &kind.whole)]).await;
    let mut options = Options::new(format!("{}/v1", fake.url), "asked");
    options.max_concurrency = Some(2);
    let (client, chat) = (OpenAi::new(options).unwrap(), chat());
    let all = futures_util::future::join_all((0..10).map(|_| client.chat(&chat))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(fake.count(), 10);
    assert!(fake.busiest.load(std::sync::atomic::Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn keys_do_not_come_out() {
    for kind in kinds() {
        for status in [400, 401, 404, 429, 500] {
            let said = json!({"error": {"message": format!("wrong key {KEY}"), "code": status}});
            let fake = Fake::start(vec![Act::json(status, &said)]).await;
            let failed = kind.client(&fake.url).chat(&chat()).await.unwrap_err();
            assert!(!format!("{failed} {failed:?}").contains(KEY), "{failed}");
            assert!(format!("{failed}").contains("***"), "{failed}");
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    let bodies = [
        "",
        "null",
        "[]",
        "{}",
        "1",
        "\"x\"",
        "<html>",
        "{\"a\":",
        "{\"choices\":[]}",
        "{\"choices\":[{}]}",
        "{\"choices\":7}",
        "{\"output\":[],\"status\":\"in_progress\"}",
        "{\"output\":7}",
        "{\"content\":[]}",
        "{\"content\":\"x\"}",
        "{\"candidates\":[]}",
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"half\"}]}}]}",
        "{\"message\":{\"content\":\"half\"},\"done\":false}",
        "{\"message\":7}",
        "{\"error\":null}",
        "{\"error\":{}}",
    ];
    for kind in kinds() {
        for body in bodies {
            let fake = Fake::start(vec![Act::new(200, "application/json", body)]).await;
            let client = kind.client(&fake.url);
            let whole = client.chat(&chat()).await;
            assert!(whole.is_err(), "{} {body}: {whole:?}", kind.name);
            let fake = Fake::start(vec![kind.streamed(format!("data: {body}\n\n"))]).await;
            let (heard, error) = hear(&*kind.client(&fake.url), &chat()).await;
            assert!(error.is_some(), "{} {body}: {heard:?}", kind.name);
        }
    }
}
