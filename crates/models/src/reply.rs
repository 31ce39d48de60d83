//! Parses replies of models and servers: the JSON in a reply, and error messages.

use serde_json::Value;

/// Maximum number of positions in a text at which JSON is tried.
const PLACES: usize = 200;
/// Maximum length of an error message.
const MESSAGE: usize = 500;

/// The JSON in a reply: the whole text, a fenced block, or between other words. Of several, the
/// first that has the fields that the schema requires.
pub(super) fn json(text: &str, schema: &Value) -> Result<Value, String> {
    // Some models output their reasoning first; it is not part of the reply.
    let text = text.rsplit_once("</think>").map_or(text, |(_, after)| after).trim();
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    let mut problem = None;
    let mut fits = |value: Value| match misfit(&value, schema) {
        None => Some(value),
        Some(found) => {
            problem.get_or_insert(found);
            None
        }
    };
    if let Some(value) = serde_json::from_str(text).ok().and_then(&mut fits) {
        return Ok(value);
    }
    // Fenced blocks first, then the whole text. Text between fences has odd indexes.
    let fenced = text
        .split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    for block in fenced {
        if let Some(value) = serde_json::from_str(block.trim()).ok().and_then(&mut fits) {
            return Ok(value);
        }
    }
    let mut skip_to = 0;
    for (place, _) in text.char_indices().filter(|(_, c)| matches!(c, '{' | '[')).take(PLACES) {
        let Some(rest) = text.get(place..).filter(|_| place >= skip_to) else { continue };
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        if let Some(Ok(value)) = stream.next() {
            // A value inside a value that was parsed is part of it, and not a reply.
            skip_to = place + stream.byte_offset();
            if let Some(value) = fits(value) {
                return Ok(value);
            }
        }
    }
    Err(problem.unwrap_or_else(|| "there is no JSON in it".to_owned()))
}

/// Obvious violations of the schema; the caller checks the rest.
fn misfit(value: &Value, schema: &Value) -> Option<String> {
    let right = match schema.get("type").and_then(Value::as_str) {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        _ => true,
    };
    if !right {
        return Some("the JSON is of another type".to_owned());
    }
    let required = schema.get("required").and_then(Value::as_array)?;
    let missing = required.iter().filter_map(Value::as_str).find(|name| value.get(name).is_none())?;
    Some(format!("the JSON lacks the field {missing:?}"))
}

/// Whether every object of the schema requires all its fields and allows no others. Only then can
/// strict mode be used.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let itself = match map.get("properties").and_then(Value::as_object) {
                Some(properties) => {
                    let required = map.get("required").and_then(Value::as_array);
                    let all = properties
                        .keys()
                        .all(|name| required.is_some_and(|list| list.iter().any(|item| item == name)));
                    all && map.get("additionalProperties") == Some(&Value::Bool(false))
                }
                None => map.get("type").and_then(Value::as_str) != Some("object"),
            };
            itself && map.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// The message in an error body, in any of the usual formats.
pub(super) fn complaint(body: &[u8]) -> String {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => message(value.get("error").unwrap_or(&value)),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if said.is_empty() { "without a word".to_owned() } else { said.chars().take(MESSAGE).collect() }
}

pub(super) fn message(value: &Value) -> String {
    let said = match value {
        Value::String(text) => Some(text.as_str()),
        _ => ["message", "detail", "msg", "error"].iter().find_map(|name| value.get(name)?.as_str()),
    };
    let code =
        value.get("code").and_then(Value::as_str).filter(|code| !said.unwrap_or_default().contains(code));
    match (said, code) {
        (Some(said), Some(code)) => format!("{said} ({code})"),
        (Some(said), None) => said.to_owned(),
        (None, _) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json as j;

    #[test]
    fn json_is_found_wherever_it_stands() {
        let schema = j!({"type": "object", "required": ["a"]});
        let wanted = j!({"a": [1, {"b": "}"}]});
        for text in [
            r#"{"a":[1,{"b":"}"}]}"#,
            "```json\n{\"a\":[1,{\"b\":\"}\"}]}\n```",
            "Sure! Here it is:\n```\n{\"a\":[1,{\"b\":\"}\"}]}\n```\nAnything else?",
            "The list [1] and {\"x\": 1} lead to {\"a\":[1,{\"b\":\"}\"}]} as asked.",
            "<think>{\"a\": 0}</think>{\"a\":[1,{\"b\":\"}\"}]}",
            "{not json} {\"a\":[1,{\"b\":\"}\"}]}",
        ] {
            assert_eq!(json(text, &schema).unwrap(), wanted, "{text}");
        }
        for text in ["", "no", "{\"b\": {\"a\": 1}}", "[1]", "{\"a\": ", "```json\n```"] {
            assert!(json(text, &schema).is_err(), "{text}");
        }
        assert!(json("{\"b\": 1}", &schema).unwrap_err().contains("\"a\""));
        assert!(json(&"{[".repeat(100_000), &schema).is_err());
    }

    #[test]
    fn strictness() {
        assert!(is_strict(
            &j!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false})
        ));
        assert!(!is_strict(
            &j!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
        ));
        assert!(!is_strict(&j!({"type": "object", "properties": {"a": {}}, "additionalProperties": false})));
        assert!(!is_strict(&j!({"type": "array", "items": {"type": "object"}})));
    }

    #[test]
    fn complaints() {
        assert_eq!(complaint(br#"{"error":{"message":"no","code":"x"}}"#), "no (x)");
        assert_eq!(complaint(br#"{"error":"no"}"#), "no");
        assert_eq!(complaint(br#"{"detail":"no"}"#), "no");
        assert_eq!(complaint(b"<html>\n no"), "<html> no");
        assert_eq!(complaint(b""), "without a word");
    }
}
