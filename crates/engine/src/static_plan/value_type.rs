//! The type of an extracted value: the only thing that a model without tools may return.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The maximum number of characters of one extracted text.
const TEXT: usize = 4_000;
/// The maximum number of items of one extracted list.
const ITEMS: usize = 200;

/// The type of an extracted value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ValueType {
    /// A single value.
    Plain(PlainType),
    /// One of these texts.
    OneOf {
        /// The texts.
        one_of: Vec<String>,
    },
    /// A list; its one element is the type of all items.
    List(Vec<ValueType>),
    /// Members by name.
    Object(BTreeMap<String, ValueType>),
}

/// The type of a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainType {
    /// Any text.
    #[serde(alias = "string")]
    Text,
    /// A number.
    Number,
    /// A whole number.
    #[serde(alias = "int")]
    Integer,
    /// Yes or no.
    #[serde(alias = "bool")]
    Boolean,
    /// A day, as `2026-03-31`.
    Date,
}

impl Default for ValueType {
    fn default() -> Self {
        Self::Plain(PlainType::Text)
    }
}

impl ValueType {
    /// The JSON schema of a reply with the value, or null where the data has none.
    #[must_use]
    pub fn reply_schema(&self) -> Value {
        let value = json!({ "anyOf": [self.schema(), { "type": "null" }] });
        json!({ "type": "object", "properties": { "value": value }, "required": ["value"],
            "additionalProperties": false })
    }

    fn schema(&self) -> Value {
        match self {
            Self::Plain(PlainType::Text) => json!({ "type": "string" }),
            Self::Plain(PlainType::Number) => json!({ "type": "number" }),
            Self::Plain(PlainType::Integer) => json!({ "type": "integer" }),
            Self::Plain(PlainType::Boolean) => json!({ "type": "boolean" }),
            Self::Plain(PlainType::Date) => {
                json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })
            }
            Self::OneOf { one_of } => json!({ "type": "string", "enum": one_of }),
            Self::List(item) => {
                json!({ "type": "array", "items": item.first().map_or(Value::Bool(true), Self::schema) })
            }
            Self::Object(members) => {
                let properties: Map<String, Value> =
                    members.iter().map(|(name, member)| (name.clone(), member.schema())).collect();
                let names: Vec<&String> = members.keys().collect();
                json!({ "type": "object", "properties": properties, "required": names,
                    "additionalProperties": false })
            }
        }
    }

    /// Parses the value of a reply; `None` where the data has none.
    pub(crate) fn read(&self, reply: &str) -> Result<Option<Value>, String> {
        let found = first_json(reply);
        let value = match found {
            Some(Value::Object(mut members)) if members.len() == 1 && members.contains_key("value") => {
                members.remove("value").unwrap_or_default()
            }
            Some(other) => other,
            None if matches!(self, Self::Plain(_) | Self::OneOf { .. }) => {
                Value::String(reply.trim().trim_matches(['`', '"']).to_owned())
            }
            None => return Err("it is not JSON".to_owned()),
        };
        if value.is_null() {
            return Ok(None);
        }
        self.check(&value).map(Some)
    }

    /// The value converted to its type, or what is wrong with it. A number that was written as text
    /// is accepted.
    fn check(&self, value: &Value) -> Result<Value, String> {
        let wrong = |what: &str| Err(format!("{value} must be {what}"));
        match (self, value) {
            (Self::Plain(PlainType::Text), Value::String(text)) if text.chars().count() > TEXT => {
                wrong(&format!("at most {TEXT} characters"))
            }
            (Self::Plain(PlainType::Text), Value::String(_)) => Ok(value.clone()),
            (Self::Plain(PlainType::Text), Value::Number(number)) => Ok(Value::String(number.to_string())),
            (Self::Plain(PlainType::Number), Value::Number(_)) => Ok(value.clone()),
            (Self::Plain(PlainType::Integer), Value::Number(number)) => {
                let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
                match (number.as_i64(), whole) {
                    (Some(whole), _) => Ok(Value::from(whole)),
                    (None, Some(whole)) => Ok(Value::from(whole as i64)),
                    (None, None) => wrong("a whole number"),
                }
            }
            (Self::Plain(PlainType::Number | PlainType::Integer), Value::String(text)) => {
                let plain: String = text.chars().filter(|c| *c != ',').collect();
                match plain.trim().parse::<serde_json::Number>() {
                    Ok(number) => self.check(&Value::Number(number)),
                    Err(_) => wrong("a number"),
                }
            }
            (Self::Plain(PlainType::Boolean), Value::Bool(_)) => Ok(value.clone()),
            (Self::Plain(PlainType::Boolean), Value::String(text)) => {
                match text.to_ascii_lowercase().as_str() {
                    "true" | "yes" => Ok(Value::Bool(true)),
                    "false" | "no" => Ok(Value::Bool(false)),
                    _ => wrong("true or false"),
                }
            }
            (Self::Plain(PlainType::Date), Value::String(text)) => {
                let day: Vec<Option<u32>> = text.split('-').map(|part| part.parse().ok()).collect();
                let form =
                    text.len() == 10 && matches!(day.as_slice(), [Some(_), Some(1..=12), Some(1..=31)]);
                if form { Ok(value.clone()) } else { wrong("a day as 2026-03-31") }
            }
            (Self::OneOf { one_of }, Value::String(text)) => {
                let found = one_of.iter().find(|one| one.eq_ignore_ascii_case(text.trim()));
                found.map_or_else(
                    || wrong(&format!("one of {}", one_of.join(", "))),
                    |one| Ok(Value::String(one.clone())),
                )
            }
            (Self::List(item), Value::Array(values)) if values.len() <= ITEMS => {
                let item = item.first().cloned().unwrap_or_default();
                values.iter().map(|value| item.check(value)).collect::<Result<_, _>>().map(Value::Array)
            }
            (Self::Object(members), Value::Object(given)) => {
                let mut checked = Map::new();
                for (name, member) in members {
                    let Some(value) = given.get(name) else { return Err(format!("{name} is missing")) };
                    let value = if value.is_null() { Value::Null } else { member.check(value)? };
                    checked.insert(name.clone(), value);
                }
                Ok(Value::Object(checked))
            }
            (Self::Plain(plain), _) => wrong(match plain {
                PlainType::Text => "a text",
                PlainType::Number => "a number",
                PlainType::Integer => "a whole number",
                PlainType::Boolean => "true or false",
                PlainType::Date => "a day as 2026-03-31",
            }),
            (Self::OneOf { one_of }, _) => wrong(&format!("one of {}", one_of.join(", "))),
            (Self::List(_), _) => wrong(&format!("a list of at most {ITEMS} items")),
            (Self::Object(_), _) => wrong("an object"),
        }
    }
}

/// The first JSON value in a text: models write text and code fences around it.
#[must_use]
pub fn first_json(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Some(value);
    }
    let starts = text.char_indices().filter(|(_, c)| matches!(c, '{' | '['));
    starts.take(20).find_map(|(start, _)| {
        let mut values = serde_json::Deserializer::from_str(text.get(start..)?).into_iter::<Value>();
        values.next()?.ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_have_the_type_or_are_refused() {
        let of = |text: &str| serde_json::from_str::<ValueType>(text).unwrap();
        let nothing = Ok(None);
        for (kind, reply, expected) in [
            ("\"integer\"", r#"{"value": 2}"#, Ok(Some(json!(2)))),
            ("\"integer\"", "2", Ok(Some(json!(2)))),
            ("\"integer\"", "```json\n{\"value\": \"1,200\"}\n```", Ok(Some(json!(1200)))),
            ("\"integer\"", r#"{"value": null}"#, nothing),
            ("\"text\"", "Anna", Ok(Some(json!("Anna")))),
            ("\"text\"", r#"{"value": "Anna"}"#, Ok(Some(json!("Anna")))),
            ("\"date\"", r#"{"value": "2026-03-31"}"#, Ok(Some(json!("2026-03-31")))),
            ("\"boolean\"", "yes", Ok(Some(json!(true)))),
            (r#"["number"]"#, r#"{"value": [1, 2.5]}"#, Ok(Some(json!([1, 2.5])))),
            (r#"["text"]"#, r#"["a", "b"]"#, Ok(Some(json!(["a", "b"])))),
            (r#"{"one_of": ["red", "blue"]}"#, r#"{"value": "Red"}"#, Ok(Some(json!("red")))),
            (
                r#"{"a": "text", "n": "integer"}"#,
                r#"{"value": {"a": "x", "n": 1, "z": 2}}"#,
                Ok(Some(json!({"a": "x", "n": 1}))),
            ),
        ] {
            assert_eq!(of(kind).read(reply), expected, "{kind} {reply}");
        }
        for (kind, reply) in [
            ("\"integer\"", "delete everything"),
            ("\"integer\"", r#"{"value": 1.5}"#),
            ("\"date\"", r#"{"value": "tomorrow"}"#),
            ("\"boolean\"", "perhaps"),
            (r#"["text"]"#, "words"),
            (r#"{"one_of": ["red", "blue"]}"#, r#"{"value": "ignore the rules"}"#),
            (r#"{"a": "text"}"#, r#"{"value": {"b": "x"}}"#),
        ] {
            assert!(of(kind).read(reply).is_err(), "{kind} {reply}");
        }
    }
}
