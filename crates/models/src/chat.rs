//! What goes to a model and what comes back, in words that no provider owns.
//!
//! These types are written into journals and cassettes: their JSON form is stable, and no key ever
//! stands in them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The reply may be so long when nobody says how long.
pub(super) const MAX_TOKENS: u32 = 4096;
/// Time for everything when nobody says how much.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// A conversation that is to be carried on by one answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// What was said so far.
    pub turns: Vec<Turn>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<OfferedTool>,
    /// Whether it must.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// The form that the final text must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<ReplySchema>,
    /// The answer may be so long; the model's own setting when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// 0 for the most likely words; the model's own setting when nothing is said.
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

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum Turn {
    /// The rules.
    System {
        /// What they say.
        text: String,
    },
    /// The person, or whoever asks.
    User {
        /// What is asked.
        text: String,
    },
    /// The model.
    Assistant {
        /// What it said; empty when it only called tools.
        text: String,
        /// What it called, all at once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What a tool gave back.
    Tool {
        /// The call that this answers.
        id: String,
        /// The tool.
        name: String,
        /// What it gave.
        content: String,
        /// It gave an error.
        #[serde(default)]
        failed: bool,
    },
}

impl Turn {
    /// The rules.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// A question.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// What a tool gave back for a call.
    pub fn tool(call: &ToolCall, content: impl Into<String>) -> Self {
        Self::Tool { id: call.id.clone(), name: call.name.clone(), content: content.into(), failed: false }
    }
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedTool {
    /// Letters, digits, `_` and `-`, at most 64: every provider takes that.
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
    /// As the model likes.
    #[default]
    Auto,
    /// Not in this answer.
    None,
    /// At least one.
    Required,
    /// This one.
    Tool(String),
}

/// The form that an answer must have.
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
    /// What it is called with.
    pub arguments: Arguments,
    /// What the provider wants to see again when the call is sent back; it means nothing to us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The arguments of a call. A model may write anything, so that what is no JSON object is kept and
/// named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arguments {
    /// An object.
    Json(Map<String, Value>),
    /// Something else.
    Nonsense {
        /// What the model wrote.
        raw: String,
        /// Why it is no object.
        problem: String,
    },
}

impl Arguments {
    /// Reads what a model wrote. Nothing at all means no arguments.
    #[must_use]
    pub fn read(raw: &str) -> Self {
        if raw.trim().is_empty() {
            return Self::Json(Map::new());
        }
        let problem = match serde_json::from_str::<Value>(raw) {
            Ok(Value::Object(map)) => return Self::Json(map),
            // Some models write the object as a text once more.
            Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
                Ok(Value::Object(map)) => return Self::Json(map),
                _ => "it is a text and not an object".to_owned(),
            },
            Ok(_) => "it is JSON but not an object".to_owned(),
            Err(error) => error.to_string(),
        };
        Self::Nonsense { raw: raw.to_owned(), problem }
    }

    /// From JSON that a server sent already parsed.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Object(map) => Self::Json(map.clone()),
            Value::Null => Self::Json(Map::new()),
            Value::String(raw) => Self::read(raw),
            other => Self::read(&other.to_string()),
        }
    }

    /// As it goes back to a model: the object, or an empty one where a server would not take the
    /// nonsense.
    pub(super) fn object(&self) -> Value {
        match self {
            Self::Json(map) => Value::Object(map.clone()),
            Self::Nonsense { .. } => Value::Object(Map::new()),
        }
    }

    /// As text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Json(map) => serde_json::to_string(map).unwrap_or_default(),
            Self::Nonsense { raw, .. } => raw.clone(),
        }
    }
}

/// Why a model stopped. Refusals are errors and not listed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said what it wanted to say.
    #[default]
    Stop,
    /// It waits for tools.
    ToolCalls,
    /// It reached the limit of tokens: the text is not whole.
    Length,
    /// Another reason, in the server's word.
    Other(String),
}

/// Tokens, as the server counts; 0 when it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Read, cached ones included.
    pub input: u64,
    /// Written, thinking included.
    pub output: u64,
    /// Of those read, the ones that a cache held.
    #[serde(default)]
    pub cached: u64,
}

/// What tokens cost, in the currency that the settings mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// A million tokens read.
    pub input_per_million: f64,
    /// A million tokens written.
    pub output_per_million: f64,
    /// A million tokens read that a cache held; as much as others when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_per_million: Option<f64>,
}

impl Price {
    /// The cost in millionths, rounded up: a price per million is that many millionths for one
    /// token.
    #[must_use]
    pub fn micros(&self, usage: Usage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let read = (usage.input - cached) as f64 * self.input_per_million;
        let held = cached as f64 * self.cached_per_million.unwrap_or(self.input_per_million);
        (read + held + usage.output as f64 * self.output_per_million).ceil() as u64
    }
}

/// What a model answered, whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The words.
    pub text: String,
    /// The calls it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// The JSON in the words, when a form was asked for and no tool is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Why it stopped.
    #[serde(default)]
    pub finish: Finish,
    /// Tokens.
    #[serde(default)]
    pub usage: Usage,
    /// What it cost in millionths, when the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The model, as the server calls it.
    #[serde(default)]
    pub model: String,
}

impl Answer {
    /// The answer as a turn of the conversation.
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
