//! Requests to a model and its replies, independent of the provider.
//!
//! These types are written into journals and cassettes: their JSON form is stable, and they never
//! contain a key.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Default limit of output tokens.
pub(super) const MAX_TOKENS: u32 = 4096;
/// Default time limit.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// A conversation to be continued by one reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// The messages so far.
    pub turns: Vec<Turn>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<OfferedTool>,
    /// Whether it must call one.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// The schema of the final text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<ReplySchema>,
    /// Maximum output tokens; the model's setting by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The temperature; the model's setting by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Of the most likely words, those that together are as likely as this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// The same question with the same seed gets the same answer, as far as the server can do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Time for everything, with all attempts and all waiting. It does not change the answer and is
    /// not recorded.
    #[serde(skip)]
    pub timeout: Option<Duration>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum Turn {
    /// The system prompt.
    System {
        /// The text.
        text: String,
    },
    /// The user, or the caller.
    User {
        /// The text.
        text: String,
    },
    /// The model.
    Assistant {
        /// The text; empty if it only called tools.
        text: String,
        /// The parallel calls it made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The result of a tool.
    Tool {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The result.
        content: String,
        /// Whether the result is an error.
        #[serde(default)]
        failed: bool,
    },
}

impl Turn {
    /// A system prompt.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// A user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// The result of a tool call.
    pub fn tool(call: &ToolCall, content: impl Into<String>) -> Self {
        Self::Tool { id: call.id.clone(), name: call.name.clone(), content: content.into(), failed: false }
    }
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedTool {
    /// Letters, digits, `_` and `-`, at most 64: every provider accepts that.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// Whether tools are called.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No calls in this reply.
    None,
    /// At least one.
    Required,
    /// This one.
    Tool(String),
}

/// The schema of a structured reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplySchema {
    /// A short name.
    pub name: String,
    /// The JSON schema.
    pub schema: Value,
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Unique in its answer; the result is sent back under it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Opaque data that the provider expects back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The arguments of a call. A model may write anything, so invalid arguments are kept with the
/// error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arguments {
    /// An object.
    Json(Map<String, Value>),
    /// Not a JSON object.
    Nonsense {
        /// The text that the model wrote.
        raw: String,
        /// Why it is not an object.
        problem: String,
    },
}

impl Arguments {
    /// Parses what a model wrote. An empty text means no arguments.
    #[must_use]
    pub fn read(raw: &str) -> Self {
        if raw.trim().is_empty() {
            return Self::Json(Map::new());
        }
        let problem = match serde_json::from_str::<Value>(raw) {
            Ok(Value::Object(map)) => return Self::Json(map),
            // Some models encode the object as a string.
            Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
                Ok(Value::Object(map)) => return Self::Json(map),
                _ => "it is a text and not an object".to_owned(),
            },
            Ok(_) => "it is JSON but not an object".to_owned(),
            Err(error) => error.to_string(),
        };
        Self::Nonsense { raw: raw.to_owned(), problem }
    }

    /// From JSON that the server has already parsed.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Object(map) => Self::Json(map.clone()),
            Value::Null => Self::Json(Map::new()),
            Value::String(raw) => Self::read(raw),
            other => Self::read(&other.to_string()),
        }
    }

    /// The object to send back to a model; empty if the arguments were invalid and the server would
    /// reject them.
    pub(super) fn object(&self) -> Value {
        match self {
            Self::Json(map) => Value::Object(map.clone()),
            Self::Nonsense { .. } => Value::Object(Map::new()),
        }
    }

    /// The arguments as text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Json(map) => serde_json::to_string(map).unwrap_or_default(),
            Self::Nonsense { raw, .. } => raw.clone(),
        }
    }
}

/// Why a model stopped. Refusals are errors and not listed here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The reply is complete.
    #[default]
    Stop,
    /// It waits for tool results.
    ToolCalls,
    /// It reached the token limit: the text is truncated.
    Length,
    /// Another reason, as the server names it.
    Other(String),
}

/// Token counts as reported by the server; 0 if it reports none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Cached input tokens.
    #[serde(default)]
    pub cached: u64,
}

/// Prices of tokens, in the currency of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price of a million input tokens.
    pub input_per_million: f64,
    /// Price of a million output tokens.
    pub output_per_million: f64,
    /// Price of a million cached input tokens; the input price by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_per_million: Option<f64>,
}

impl Price {
    /// The cost in millionths, rounded up: a price per million tokens is the price of one token in
    /// millionths.
    #[must_use]
    pub fn micros(&self, usage: Usage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let read = (usage.input - cached) as f64 * self.input_per_million;
        let held = cached as f64 * self.cached_per_million.unwrap_or(self.input_per_million);
        (read + held + usage.output as f64 * self.output_per_million).ceil() as u64
    }
}

/// The complete reply of a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// The tool calls it requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// The JSON in the text, if a schema was given and no tool is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Why it stopped.
    #[serde(default)]
    pub finish: Finish,
    /// Token counts.
    #[serde(default)]
    pub usage: Usage,
    /// The cost in millionths, if the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The model's name as reported by the server.
    #[serde(default)]
    pub model: String,
}

impl Answer {
    /// The reply as a message of the conversation.
    #[must_use]
    pub fn turn(&self) -> Turn {
        Turn::Assistant { text: self.text.clone(), calls: self.calls.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_objects_or_named_nonsense() {
        for (raw, object) in [
            ("", true),
            ("  ", true),
            ("{}", true),
            (r#"{"a": 1}"#, true),
            (r#""{\"a\": 1}""#, true),
            ("[1]", false),
            ("null and void", false),
            (r#"{"a": "#, false),
            (r#""words""#, false),
        ] {
            let read = Arguments::read(raw);
            assert_eq!(matches!(read, Arguments::Json(_)), object, "{raw}");
            if let Arguments::Nonsense { raw: kept, problem } = read {
                assert_eq!(kept, raw);
                assert!(!problem.is_empty());
            }
        }
    }

    #[test]
    fn conversations_come_back_as_they_were_written() {
        let call = |raw: &str| ToolCall {
            id: "a".to_owned(),
            name: "add".to_owned(),
            arguments: Arguments::read(raw),
            signature: (raw == "{}").then(|| "s".to_owned()),
        };
        let calls = vec![call("{}"), call("{\"x\": 1.5}"), call("oops")];
        let chat = Chat {
            turns: vec![
                Turn::system("s"),
                Turn::user("u"),
                Turn::Assistant { text: String::new(), calls: calls.clone() },
                Turn::tool(&call("{}"), "r"),
            ],
            tool_choice: ToolChoice::Tool("add".to_owned()),
            temperature: Some(0.1),
            ..Chat::default()
        };
        let text = serde_json::to_string(&chat).unwrap();
        assert_eq!(serde_json::from_str::<Chat>(&text).unwrap(), chat, "{text}");
        let answer = Answer {
            calls,
            finish: Finish::Other("x".to_owned()),
            cost_micros: Some(3),
            ..Answer::default()
        };
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer, "{text}");
        assert!(serde_json::from_str::<Chat>(r#"{"turns": [], "key": "k"}"#).is_err());
    }

    #[test]
    fn prices() {
        let price = Price { input_per_million: 3.0, output_per_million: 15.0, cached_per_million: Some(0.3) };
        assert_eq!(price.micros(Usage { input: 1000, output: 100, cached: 0 }), 4500);
        assert_eq!(price.micros(Usage { input: 1000, output: 100, cached: 1000 }), 1800);
        assert_eq!(price.micros(Usage { input: 1, output: 0, cached: 9 }), 1);
    }
}
