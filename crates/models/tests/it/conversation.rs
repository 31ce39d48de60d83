//! A conversation with two tools, as an agent runs it: the same for a live model and for its
//! cassette.

use serde_json::{Value, json};
use steward_models::{Answer, Arguments, Chat, Event, Model, ModelError, OfferedTool, ToolCall, Turn};

/// Maximum number of replies.
const STEPS: usize = 8;

fn chat() -> Chat {
    let tool = |name: &str, description: &str, field: &str, kind: &str| OfferedTool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] }),
    };
    Chat {
        turns: vec![
            Turn::system(
                "You are a careful assistant. Call one tool at a time and never compute or guess yourself.",
            ),
            Turn::user(
                "First look up the temperature in Oslo with get_temperature. Then convert the value with \
                    celsius_to_fahrenheit. When you have the result of both tools, tell me the temperature \
                    in Fahrenheit in one sentence.",
            ),
        ],
        tools: vec![
            tool("get_temperature", "Current temperature of a city in degrees Celsius.", "city", "string"),
            tool(
                "celsius_to_fahrenheit",
                "Converts degrees Celsius to degrees Fahrenheit.",
                "celsius",
                "number",
            ),
        ],
        max_tokens: Some(120),
        temperature: Some(0.0),
        timeout: Some(std::time::Duration::from_secs(300)),
        ..Chat::default()
    }
}

fn carry_out(call: &ToolCall) -> String {
    let Arguments::Json(arguments) = &call.arguments else {
        return "error: the arguments are no JSON".to_owned();
    };
    match call.name.as_str() {
        "get_temperature" => match arguments.get("city").and_then(Value::as_str) {
            Some(city) if city.to_lowercase().contains("oslo") => json!({ "celsius": 7 }).to_string(),
            other => format!("error: no such city: {other:?}"),
        },
        "celsius_to_fahrenheit" => match arguments.get("celsius").and_then(Value::as_f64) {
            Some(celsius) => json!({ "fahrenheit": celsius * 9.0 / 5.0 + 32.0 }).to_string(),
            None => "error: celsius must be a number".to_owned(),
        },
        other => format!("error: no tool {other:?}"),
    }
}

async fn streamed(model: &dyn Model, chat: &Chat) -> Result<Answer, ModelError> {
    let mut events = model.stream(chat);
    while let Some(event) = events.next().await {
        if let Event::Done(answer) = event? {
            return Ok(*answer);
        }
    }
    Err(ModelError::NotJson { detail: "the stream ended without an answer".to_owned() })
}

/// All messages, including the last reply.
pub(crate) async fn hold(model: &dyn Model) -> Result<Vec<Turn>, ModelError> {
    let mut chat = chat();
    for _ in 0..STEPS {
        let answer = streamed(model, &chat).await?;
        chat.turns.push(answer.turn());
        if answer.calls.is_empty() {
            break;
        }
        for call in &answer.calls {
            chat.turns.push(Turn::tool(call, carry_out(call)));
        }
    }
    Ok(chat.turns)
}
