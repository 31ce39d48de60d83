//! `local`: a deterministic model without dependencies, used as the baseline.
//!
//! It selects the tool whose name and description share the most words with the last question,
//! calls it once with the arguments it can parse from the question (`key=value`, quoted texts,
//! numbers, known words), and answers with the result. It invents nothing: it asks for an argument
//! that it cannot parse. It lets agents and workflows run and be tested without a model; it is no
//! substitute for one.

use async_trait::async_trait;
use serde_json::{Map, Value};
use steward_text::tokens::singular;

use super::chat::{Answer, Arguments, Chat, Finish, OfferedTool, ToolCall, ToolChoice, Turn};
use super::stream::Listener;
use super::traced::traced;
use super::{Model, ModelError, Reply, Request, simple};

/// Stop words.
const EMPTY_WORDS: &str = "a an the of to in on at is are and or for with by from it its this that as be do \
    does me my you your i please what which who how can could would will into about use using given";

/// The deterministic model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Local;

#[async_trait]
impl Model for Local {
    fn leaves_process(&self) -> bool {
        false
    }

    fn name(&self) -> &str {
        "local"
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        simple::complete(self, request).await
    }

    async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let answer = traced("local", "local", chat, async { answer(chat) }).await?;
        if let Some(listener) = listener {
            listener.whole(&answer).await;
        }
        Ok(answer)
    }
}

fn answer(chat: &Chat) -> Result<Answer, ModelError> {
    let asked = chat.turns.iter().rposition(|turn| matches!(turn, Turn::User { .. }));
    let (before, after) = chat.turns.split_at(asked.map_or(0, |place| place + 1));
    let question = match before.last() {
        Some(Turn::User { text }) => text.as_str(),
        _ => "",
    };
    let results: Vec<&str> = (after.iter())
        .filter_map(|turn| match turn {
            Turn::Tool { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect();
    if let Some(schema) = &chat.schema {
        let filled = fill(&schema.schema, question).map_err(|lacking| ModelError::NotJson {
            detail: format!("the local model cannot read {lacking:?} from the question"),
        })?;
        let json = Value::Object(filled);
        return Ok(Answer { json: Some(json.clone()), ..said(json.to_string()) });
    }
    if !results.is_empty() {
        let texts: Vec<String> = results.into_iter().map(readable).collect();
        return Ok(said(texts.join("\n")));
    }
    let Some(tool) = choose(chat, question) else {
        let names: Vec<&str> = chat.tools.iter().map(|tool| tool.name.as_str()).collect();
        return Ok(said(if names.is_empty() {
            "The local model has no tools here and cannot answer by itself.".to_owned()
        } else {
            format!("No tool fits the question. There are: {}.", names.join(", "))
        }));
    };
    match fill(&tool.parameters, question) {
        Err(lacking) => {
            Ok(said(format!("To use {} I need {lacking:?}. Write {lacking}=… in the question.", tool.name)))
        }
        Ok(arguments) => {
            let id = format!("local_{}", chat.turns.len());
            let arguments = Arguments::Json(arguments);
            let call = ToolCall { id, name: tool.name.clone(), arguments, signature: None };
            Ok(Answer { calls: vec![call], finish: Finish::ToolCalls, ..said(String::new()) })
        }
    }
}

/// The text of a result. An object with a single text is reduced to that text.
fn readable(result: &str) -> String {
    let parsed: Option<Map<String, Value>> = serde_json::from_str(result).ok();
    match parsed.as_ref().map(|fields| fields.values().collect::<Vec<_>>()).as_deref() {
        Some([Value::String(text)]) => text.clone(),
        _ => result.to_owned(),
    }
}

fn said(text: String) -> Answer {
    Answer { text, model: "local".to_owned(), ..Answer::default() }
}

/// The tool that shares the most words with the question; the first of equals.
fn choose<'a>(chat: &'a Chat, question: &str) -> Option<&'a OfferedTool> {
    let must = match &chat.tool_choice {
        ToolChoice::None => return None,
        ToolChoice::Tool(name) => return chat.tools.iter().find(|tool| tool.name == *name),
        ToolChoice::Required => true,
        ToolChoice::Auto => false,
    };
    let asked = words(question);
    let mut best: Option<(&OfferedTool, usize)> = None;
    for tool in &chat.tools {
        let (name, about) = (words(&tool.name), words(&tool.description));
        let score =
            asked.iter().map(|word| 3 * usize::from(name.contains(word)) + usize::from(about.contains(word)));
        let score: usize = score.sum();
        if (score > 0 || must) && best.is_none_or(|(_, found)| score > found) {
            best = Some((tool, score));
        }
    }
    best.map(|(tool, _)| tool)
}

/// The words without stop words, duplicates and plural endings.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1) {
        let word = singular(&word.to_lowercase());
        if !EMPTY_WORDS.split_whitespace().any(|empty| empty == word) && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The parts of a question: named values, quoted texts, numbers.
struct QuestionParts {
    named: Vec<(String, String)>,
    quoted: Vec<String>,
    numbers: Vec<Value>,
}

fn find(question: &str) -> QuestionParts {
    let mut found = QuestionParts { named: Vec::new(), quoted: Vec::new(), numbers: Vec::new() };
    let mut plain = String::new();
    // Quotes open after a space or punctuation and not inside a word, so that the apostrophe in
    // "it's" is none.
    let mut rest = question;
    while let Some((place, quote)) = rest.char_indices().find(|(place, c)| opens(rest, *place, *c)) {
        let (before, from) = rest.split_at(place);
        let after = from.get(quote.len_utf8()..).unwrap_or_default();
        let close = if quote == '“' { '”' } else { quote };
        let Some((inside, behind)) = after.split_once(close) else { break };
        match before.rsplit(char::is_whitespace).next().and_then(|word| word.strip_suffix(['=', ':'])) {
            Some(name) if !name.is_empty() => found.named.push((name.to_lowercase(), inside.to_owned())),
            _ => found.quoted.push(inside.to_owned()),
        }
        plain.push_str(before);
        plain.push(' ');
        rest = behind;
    }
    plain.push_str(rest);
    for word in plain.split_whitespace() {
        let word = word.trim_matches([',', ';', '?', '!', '(', ')']).trim_end_matches('.');
        if let Some((name, value)) =
            word.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty())
        {
            found.named.push((name.to_lowercase(), value.to_owned()));
        } else if let Ok(number) = serde_json::from_str::<serde_json::Number>(word.trim_start_matches('+')) {
            found.numbers.push(Value::Number(number));
        }
    }
    found
}

fn opens(text: &str, place: usize, c: char) -> bool {
    let before = text.get(..place).and_then(|before| before.chars().next_back());
    matches!(c, '"' | '\'' | '“' | '`') && before.is_none_or(|before| !before.is_alphanumeric())
}

/// The arguments, or the name of a required one that cannot be parsed.
fn fill(schema: &Value, question: &str) -> Result<Map<String, Value>, String> {
    let mut found = find(question);
    let mut filled = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = (schema.get("required").and_then(Value::as_array))
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    // In the order of `required`, since maps may have lost theirs.
    let mut names: Vec<&str> = required.clone();
    names.extend(
        properties
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .filter(|name| !required.contains(name)),
    );
    for name in names {
        let about = properties.and_then(|all| all.get(name)).unwrap_or(&Value::Null);
        let must = required.contains(&name);
        let value = value(name, about, must, question, &mut found);
        match value {
            Some(value) => drop(filled.insert(name.to_owned(), value)),
            None if must => return Err(name.to_owned()),
            None => {}
        }
    }
    Ok(filled)
}

fn value(name: &str, about: &Value, must: bool, question: &str, found: &mut QuestionParts) -> Option<Value> {
    let kind = about.get("type").and_then(Value::as_str).unwrap_or("string");
    if let Some((_, value)) = found.named.iter().find(|(known, _)| *known == name.to_lowercase()) {
        return typed(kind, value);
    }
    if let Some(choices) = about.get("enum").and_then(Value::as_array) {
        let lower = question.to_lowercase();
        let here = |choice: &&Value| choice.as_str().is_some_and(|text| lower.contains(&text.to_lowercase()));
        return choices.iter().find(here).cloned();
    }
    // Optional arguments are filled only by name, to avoid guessing.
    if !must {
        return None;
    }
    match kind {
        "string" if !found.quoted.is_empty() => Some(Value::String(found.quoted.remove(0))),
        // A tool with a single text argument gets the whole question.
        "string" if !question.is_empty() && found.numbers.is_empty() && found.named.is_empty() => {
            Some(Value::String(question.to_owned()))
        }
        "number" if !found.numbers.is_empty() => Some(found.numbers.remove(0)),
        "integer" => {
            let place = found.numbers.iter().position(|number| number.is_i64() || number.is_u64())?;
            Some(found.numbers.remove(place))
        }
        "array" if about.pointer("/items/type").and_then(Value::as_str) == Some("string") => {
            (!found.quoted.is_empty()).then(|| found.quoted.drain(..).map(Value::String).collect())
        }
        "array" => (!found.numbers.is_empty()).then(|| found.numbers.drain(..).collect()),
        _ => None,
    }
}

/// A named value, converted to the type of the schema.
fn typed(kind: &str, value: &str) -> Option<Value> {
    match kind {
        "string" => Some(Value::String(value.to_owned())),
        "number" => serde_json::from_str(value).ok().filter(Value::is_number),
        "integer" => {
            serde_json::from_str(value).ok().filter(|value: &Value| value.is_i64() || value.is_u64())
        }
        "boolean" => match value.to_lowercase().as_str() {
            "true" | "yes" | "1" => Some(Value::Bool(true)),
            "false" | "no" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        "array" => Some(value.split(',').map(|item| Value::String(item.to_owned())).collect()),
        _ => serde_json::from_str(value).ok(),
    }
}
