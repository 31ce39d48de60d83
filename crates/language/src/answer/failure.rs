//! Errors that a tool reports as an ordinary result.
//!
//! A server should mark an error as one, but many return it as content: `{"error": "no such user"}`
//! or the text "Error: ENOENT". Shown as content, it would count as an answer.

use serde_json::{Map, Value};

/// The maximum length of a text that counts as an error message, in characters and lines. A longer
/// one is a document, such as a log.
const LONGEST: usize = 600;
const LINES: usize = 6;

/// How the text of an error begins, in lower case.
const BEGINNINGS: &[&str] = &[
    "error:",
    "error executing",
    "error calling",
    "error while",
    "error occurred",
    "an error occurred",
    "mcp error",
    "exception:",
    "fatal:",
    "fatal error",
    "traceback (most recent call last)",
    "input validation error",
    "invalid arguments",
];

/// Fields beside the error that add nothing to it.
const BESIDE: &[&str] = &[
    "error",
    "errors",
    "message",
    "detail",
    "details",
    "code",
    "status",
    "success",
    "ok",
    "type",
    "request_id",
];

/// The message of an error that a result reports without being marked as an error.
#[must_use]
pub fn reported_error(structured: Option<&Value>, words: &str) -> Option<String> {
    let parsed;
    let value = match structured {
        Some(value) => Some(value),
        None => {
            parsed = serde_json::from_str::<Value>(words.trim()).ok();
            parsed.as_ref()
        }
    };
    if let Some(value) = value.filter(|value| !value.is_string()) {
        return value.as_object().and_then(object_error);
    }
    let text = value.and_then(Value::as_str).unwrap_or(words).trim();
    let lower: String = text.chars().take(40).collect::<String>().to_lowercase();
    let is_short = text.lines().count() <= LINES && text.chars().count() <= LONGEST;
    (is_short && BEGINNINGS.iter().any(|begin| lower.starts_with(begin))).then(|| text.to_owned())
}

/// An object whose only content is an error.
fn object_error(object: &Map<String, Value>) -> Option<String> {
    if !object.keys().all(|key| BESIDE.contains(&key.to_lowercase().as_str())) {
        return None;
    }
    let text = |value: &Value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Object(inner) => inner.get("message").and_then(Value::as_str).map(str::to_owned),
        Value::Array(items) => {
            let texts = items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
            (!texts.is_empty()).then_some(texts)
        }
        _ => None,
    };
    let named = ["error", "errors"].iter().find_map(|key| object.get(*key).and_then(text));
    let refuses = ["success", "ok"].iter().any(|key| object.get(*key) == Some(&Value::Bool(false)))
        || object
            .get("status")
            .and_then(Value::as_str)
            .is_some_and(|status| status.eq_ignore_ascii_case("error"));
    let told = ["message", "detail", "details"].iter().find_map(|key| object.get(*key).and_then(text));
    named.or(told.filter(|_| refuses))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_is_not_content() {
        let error = |value: Value| reported_error(Some(&value), "");
        assert_eq!(error(json!({ "error": "no such user" })).as_deref(), Some("no such user"));
        assert_eq!(error(json!({ "error": { "code": 3, "message": "gone" } })).as_deref(), Some("gone"));
        assert_eq!(error(json!({ "success": false, "message": "bad id" })).as_deref(), Some("bad id"));
        assert_eq!(error(json!({ "status": "error", "detail": "bad id" })).as_deref(), Some("bad id"));
        let text = |words: &str| reported_error(None, words);
        assert_eq!(text("Error: ENOENT, no such file").as_deref(), Some("Error: ENOENT, no such file"));
        assert!(text("MCP error -32602: Invalid arguments for tool list").is_some());
        assert!(text(r#"{"error": "no such user"}"#).is_some());
    }

    #[test]
    fn content_about_errors_is_content() {
        let value = |value: Value| reported_error(Some(&value), "");
        assert_eq!(value(json!({ "error": null, "message": "saved" })), None);
        assert_eq!(value(json!({ "id": 3, "error": "the title of a ticket" })), None);
        assert_eq!(value(json!({ "status": "ok", "message": "saved" })), None);
        assert_eq!(value(json!([{ "error": "a row" }])), None);
        let log = format!("Error: first line\n{}", "and a line of the log\n".repeat(20));
        assert_eq!(reported_error(None, &log), None);
        assert_eq!(reported_error(None, "Errors of March: none"), None);
    }
}
