//! Tool calls that a small model wrote into its text: in `<tool_call>` tags, in a fenced block, as
//! the whole text or at its start. Some models write a call in the tags in which they were shown a
//! result.
//!
//! Only calls of offered tools are accepted, so that an example in an explanation stays text. Such
//! a call is decided by policy like any other.

use serde_json::Value;

use super::chat::{Arguments, OfferedTool, ToolCall};
use super::wire::own_id;

/// Maximum number of calls in one text.
const MOST: usize = 32;

/// The text without the calls in it, and the calls.
pub(super) fn calls(text: String, tools: &[OfferedTool], turns: usize) -> (String, Vec<ToolCall>) {
    if tools.is_empty() || !text.contains('{') {
        return (text, Vec::new());
    }
    // Some models output their reasoning first; it is not part of the reply.
    let said = text.rsplit_once("</think>").map_or(text.as_str(), |(_, after)| after);
    for (open, close) in
        [("<tool_call>", "</tool_call>"), ("```", "```"), ("<tool_response>", "</tool_response>")]
    {
        let (rest, calls) = between(said, open, close, tools);
        if !calls.is_empty() {
            return (rest, numbered(calls, turns));
        }
    }
    let mut found = Vec::new();
    if !take(said.trim(), tools, &mut found) {
        take(leading(said.trim(), tools), tools, &mut found);
    }
    if found.is_empty() { (text, found) } else { (String::new(), numbered(found, turns)) }
}

/// The calls at the start of a text, if a line ends after them. What a model writes after its calls
/// is a guess at their results, and is dropped.
fn leading<'a>(text: &'a str, tools: &[OfferedTool]) -> &'a str {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut end = 0;
    while let Some(Ok(value)) = values.next() {
        if call(&value, tools).is_none() {
            break;
        }
        end = values.byte_offset();
    }
    let ends_line =
        text.get(end..).is_some_and(|rest| rest.trim_start_matches([' ', '\r']).starts_with('\n'));
    if ends_line { text.get(..end).unwrap_or_default() } else { "" }
}

fn numbered(mut calls: Vec<ToolCall>, turns: usize) -> Vec<ToolCall> {
    for (place, call) in calls.iter_mut().enumerate() {
        call.id = own_id(turns, place);
    }
    calls
}

/// The calls between two tags, and the remaining text. The closing tag may be missing if the model
/// was cut off.
fn between(text: &str, open: &str, close: &str, tools: &[OfferedTool]) -> (String, Vec<ToolCall>) {
    let (mut rest, mut calls, mut left) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = left.split_once(open) {
        rest.push_str(before);
        let (inside, behind) = after.split_once(close).unwrap_or((after, ""));
        let json = if open == "```" {
            inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
        } else {
            inside
        };
        if !take(json.trim(), tools, &mut calls) {
            rest.push_str(open);
            rest.push_str(inside);
            rest.push_str(close);
        }
        left = behind;
    }
    rest.push_str(left);
    (rest.trim().to_owned(), calls)
}

/// Parses one or several calls; false if there is anything else.
fn take(whole: &str, tools: &[OfferedTool], calls: &mut Vec<ToolCall>) -> bool {
    let Some(read) = values(whole) else { return false };
    let found: Option<Vec<(String, Arguments)>> = read.iter().map(|value| call(value, tools)).collect();
    let Some(found) = found.filter(|found| !found.is_empty() && calls.len() + found.len() <= MOST) else {
        return false;
    };
    for (name, arguments) in found {
        calls.push(ToolCall { id: String::new(), name, arguments, signature: None });
    }
    true
}

/// Several values may follow each other without a list around them.
fn values(json: &str) -> Option<Vec<Value>> {
    // A model that copied the braces of its template writes two instead of one, and rarely as many
    // at the end.
    let doubled = json.strip_prefix('{').filter(|json| json.starts_with('{'));
    let mut values = serde_json::Deserializer::from_str(doubled.unwrap_or(json)).into_iter::<Value>();
    if let Some(text) = doubled {
        let value = values.next()?.ok()?;
        let rest = text.get(values.byte_offset()..)?;
        return rest.chars().all(|c| c == '}' || c.is_whitespace()).then(|| vec![value]);
    }
    let mut read = Vec::new();
    for value in values {
        match value.ok()? {
            Value::Array(items) => read.extend(items),
            value => read.push(value),
        }
    }
    Some(read)
}

/// One call, in any of the usual formats.
fn call(value: &Value, tools: &[OfferedTool]) -> Option<(String, Arguments)> {
    let value = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
    let first = |names: &[&str]| names.iter().find_map(|name| value.get(*name));
    let name = first(&["name", "tool", "tool_name", "function", "function_name"])?.as_str()?;
    let known = tools.iter().find(|tool| tool.name == name)?;
    let arguments = first(&["arguments", "parameters", "args", "input", "tool_input", "kwargs"]);
    Some((known.name.clone(), arguments.map_or_else(|| Arguments::read(""), Arguments::from_value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(text: &str) -> (String, Vec<(String, String)>) {
        let offer = |name: &str| OfferedTool {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({}),
        };
        let (rest, calls) = calls(text.to_owned(), &[offer("add"), offer("look_up")], 0);
        (rest, calls.into_iter().map(|call| (call.name, call.arguments.text())).collect())
    }

    #[test]
    fn calls_in_words() {
        let add = ("add".to_owned(), r#"{"a":1}"#.to_owned());
        let look = ("look_up".to_owned(), "{}".to_owned());
        for (text, rest, wanted) in [
            (r#"{"name": "add", "arguments": {"a": 1}}"#, "", vec![add.clone()]),
            (r#"{{"name": "add", "arguments": {"a": 1}}}"#, "", vec![add.clone()]),
            (r#"{{"name": "add", "arguments": {"a": 1}}"#, "", vec![add.clone()]),
            (r#"{{"name": "add", "arguments": {"a": 1}}}}"#, "", vec![add.clone()]),
            (
                "<tool_response>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_response>",
                "",
                vec![add.clone()],
            ),
            (
                r#"[{"name": "add", "parameters": {"a": 1}}, {"name": "look_up"}]"#,
                "",
                vec![add.clone(), look.clone()],
            ),
            (
                "{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n{\"name\": \"look_up\"}",
                "",
                vec![add.clone(), look.clone()],
            ),
            (
                "So:\n```json\n{\"name\": \"add\", \"arguments\": \"{\\\"a\\\":1}\"}\n```",
                "So:",
                vec![add.clone()],
            ),
            (
                "```tool_call\n{\"tool\": \"add\", \"args\": {\"a\":1}}\n``` and ```\n{\"tool\": \"look_up\"}\n```",
                "and",
                vec![add.clone(), look.clone()],
            ),
            (
                "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>{\"name\": \"look_up\", \"arguments\": {}}",
                "",
                vec![add.clone(), look],
            ),
            (
                "<think>{\"name\": \"look_up\"}</think>{\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":{\"a\":1}}}",
                "",
                vec![add],
            ),
        ] {
            assert_eq!(found(text), (rest.to_owned(), wanted), "{text}");
        }
    }

    #[test]
    fn words_that_are_no_calls() {
        for text in [
            "no",
            "{}",
            r#"{"name": "delete", "arguments": {}}"#,
            r#"{"name": "add"} is how you add"#,
            "```json\n{\"a\": 1}\n```",
            "```rust\nfn main() {}\n```",
            "<tool_call>nonsense {</tool_call>",
            r#"{{"name": "add"} and more}"#,
            "<tool_response>{\"name\": \"Ana\"}</tool_response>",
        ] {
            assert_eq!(found(text), (text.to_owned(), vec![]), "{text}");
        }
        let guess = "{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```\nThe sum is 7.\n```";
        assert_eq!(found(guess), (String::new(), vec![("add".to_owned(), "{\"a\":1}".to_owned())]));
        let nonsense = found("<tool_call>{\"name\": \"add\", \"arguments\": \"a is 1\"}</tool_call>").1;
        assert_eq!(nonsense, [("add".to_owned(), "a is 1".to_owned())]);
    }
}
