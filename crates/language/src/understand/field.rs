//! Derives the role of a tool's field from its name, its description and its schema.

use super::catalogue::{Role, ToolField};
use super::lexicon::{is_person, root, same_field, singular};
use super::verbs::Class;
use crate::words::{name_words, words};
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn is_id(name: &str, entity: Option<&str>) -> bool {
    let words = name_words(name);
    name == "id"
        || (words.len() == 2
            && words.last().is_some_and(|last| last == "id")
            && words.first().map(String::as_str) == entity)
}

#[expect(clippy::too_many_arguments, reason = "all of it is read from one tool, and only here")]
pub(super) fn field(
    name: &str,
    schema: &Value,
    required: bool,
    class: Class,
    entity: Option<&str>,
    has_id: bool,
    read_only: bool,
    told: &str,
    own: &[String],
    sets: bool,
    here: &dyn Fn(&str) -> bool,
) -> ToolField {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("string")
        }
        _ => "string",
    };
    let description = text("description");
    let all = name_words(name);
    let words: Vec<String> =
        all.iter().filter(|word| !["new", "the"].contains(&word.as_str())).cloned().collect();
    let fresh = all.first().is_some_and(|first| first == "new");
    let last = words.last().map(String::as_str).unwrap_or_default();
    let choices: Vec<String> = schema
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    // "The member: the number or the name": an existing record, whatever the tool's name.
    let refers = here(last) && !has_id && !read_only && description.contains("number");
    let is_title = (["title", "name", "subject", "label", "heading", "headline"].contains(&last)
        || Some(last) == entity)
        && !refers;
    let of_type = words
        .iter()
        .find(|word| here(word) && (refers || Some(singular(word).as_str()) != entity))
        .map(|word| singular(word))
        // A record that the tool itself creates does not exist before; the same holds for one it
        // registers if unknown.
        .filter(|kind| {
            let made = !read_only && own.iter().skip(1).any(|word| singular(word) == *kind);
            let added = description.contains("full name") || told.contains("not known yet");
            refers || (!made && !added)
        });
    let day = text("format").starts_with("date") || description.contains("YYYY-MM-DD");
    let role = match kind {
        _ if !choices.is_empty() => Role::Choice,
        _ if is_id(name, entity) => Role::Id,
        "array" => Role::Tags,
        "boolean" => Role::Flag,
        "integer" | "number" if ["limit", "count", "top", "max", "size", "per_page"].contains(&name) => {
            Role::Limit
        }
        "integer" | "number" => Role::Number,
        _ if day => Role::Day,
        _ if text("format") == "time" || description.contains("HH:MM") => Role::Time,
        _ if is_title && has_id && !fresh && class != Class::Create => Role::Selector,
        // "Words from its subject", "what is repaired, when the number is not known": a selector.
        _ if has_id && !required && !fresh && class != Class::Create && selects(description, sets) => {
            Role::Selector
        }
        _ if is_title && read_only && !has_id && class == Class::Read => Role::Selector,
        _ if is_title => Role::Title,
        _ if last == "email" || text("format") == "email" => Role::Email,
        _ if ["phone", "telephone", "mobile"].contains(&last) => Role::Phone,
        _ if is_question(last) && read_only => Role::Query,
        _ if [
            "text",
            "body",
            "content",
            "summary",
            "description",
            "message",
            "note",
            "comment",
            "details",
        ]
        .contains(&last) =>
        {
            Role::Long
        }
        _ => Role::Open,
    };
    let meant = choices.iter().map(|choice| meant(choice, &choices, &[description, told])).collect();
    ToolField {
        role,
        required,
        choices,
        meant,
        examples: examples(description),
        cues: crate::words::words(description)
            .into_iter()
            .filter(|word| {
                !word.stop && word.lower.len() > 3 && !["only", "when"].contains(&word.lower.as_str())
            })
            .map(|word| root(&word.lower))
            .collect(),
        of: of_type,
        whole: kind == "integer",
        number: ["integer", "number"].contains(&kind),
        person: is_person(last) || same_field(last, "author") || description.starts_with("Who "),
        yes: part(description, "true:"),
        no: part(description, "false:"),
        name: name.to_owned(),
        words,
    }
}

/// "Attended when the member came, no-show when the member did not turn up": the description of one
/// choice that does not apply to the others.
fn meant(choice: &str, all: &[String], texts: &[&str]) -> BTreeSet<String> {
    let names = |segment: &str, choice: &str| {
        let said: Vec<String> = words(segment).into_iter().map(|word| word.lower).collect();
        let own = name_words(choice);
        !own.is_empty() && said.windows(own.len()).any(|window| window == own.as_slice())
    };
    let mut found = BTreeSet::new();
    for segment in
        texts.iter().flat_map(|text| text.split([',', ';', ':', '.'])).flat_map(|part| part.split(" or "))
    {
        let others = all.iter().filter(|other| *other != choice).any(|other| names(segment, other));
        if names(segment, choice) && !others {
            let own: BTreeSet<String> = name_words(choice).iter().map(|word| root(word)).collect();
            let telling = words(segment).into_iter().filter(|word| !word.stop && word.lower.len() > 2);
            found.extend(telling.map(|word| root(&word.lower)).filter(|word| !own.contains(word)));
        }
    }
    found
}

/// Whether a field selects a record if its number is not known.
pub(super) fn selects(description: &str, sets: bool) -> bool {
    let lower = description.to_lowercase();
    let narrows = lower.starts_with("only ") || lower.starts_with("the new ") || lower.starts_with("a new ");
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let plainly = says(&[
        " not known",
        "words from",
        "word from",
        "part of it",
        "together with",
        "instead of the number",
    ]);
    // A general update tool may take a new name.
    let by_name = || {
        says(&[
            "part of the",
            "name of the",
            "'s name",
            "’s name",
            "'s title",
            "is called",
            "'s address",
            "by name",
        ])
    };
    !narrows && (plainly || (!sets && by_name()))
}

/// "true: only what is on the shelf; false: only what is lent out": the content words after one of
/// the two.
fn part(description: &str, which: &str) -> BTreeSet<String> {
    let rest = description.split_once(which).map_or("", |(_, rest)| rest);
    let end = rest.split(';').next().unwrap_or_default();
    crate::words::words(end)
        .into_iter()
        .filter(|word| {
            !word.stop && word.lower.len() > 3 && !["only", "what", "should"].contains(&word.lower.as_str())
        })
        .map(|word| root(&word.lower))
        .collect()
}

/// "What it belongs to, like home or work": home, work.
fn examples(description: &str) -> Vec<String> {
    let opens = description.strip_prefix("Like ").map(|rest| ("", rest));
    let Some((_, rest)) =
        opens.or_else(|| description.split_once(", like ")).or_else(|| description.split_once("such as "))
    else {
        return Vec::new();
    };
    rest.split([',', ';', '.'])
        .flat_map(|part| part.split(" or "))
        .flat_map(|part| part.split(" and "))
        .map(|part| part.trim().to_lowercase())
        .filter(|part| !part.is_empty() && part.len() < 30)
        .collect()
}

/// Names of fields for a question in plain language.
pub(super) fn is_question(name: &str) -> bool {
    ["query", "question", "text", "prompt", "q", "request", "message", "input", "search"].contains(&name)
}
