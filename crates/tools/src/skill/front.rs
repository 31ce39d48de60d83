//! The front matter of `SKILL.md`: YAML between two lines of three dashes.

use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The maximum size of the front matter.
const LARGEST: usize = 16 * 1024;

/// The metadata of a skill.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) license: Option<String>,
    pub(super) allowed_tools: Vec<String>,
    pub(super) metadata: BTreeMap<String, String>,
}

/// The content of the file. Unknown keys are ignored, because the format evolves.
#[derive(Debug, Deserialize)]
struct Raw {
    name: Option<String>,
    description: Option<String>,
    license: Option<String>,
    #[serde(rename = "allowed-tools", default)]
    allowed_tools: Option<Tools>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, Json>>,
}

/// `Read Write` or a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Tools {
    Words(String),
    List(Vec<String>),
}

/// The line of an error, counted from 1, and its message.
pub(super) type Wrong = (usize, String);

/// Splits a file into front matter and body.
pub(super) fn split(text: &str) -> Result<(&str, &str), Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text
        .strip_prefix("---")
        .and_then(|rest| rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n'));
    let Some(rest) = rest else {
        return Err((
            1,
            "it must begin with a line of three dashes, then name and description in YAML".to_owned(),
        ));
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let front = rest.get(..at).unwrap_or_default();
            let body = rest.get(at + line.len()..).unwrap_or_default();
            return Ok((front, body));
        }
        at += line.len();
        if at > LARGEST {
            break;
        }
    }
    Err((1, "the front matter is not closed by a line of three dashes".to_owned()))
}

/// Parses and validates the front matter.
pub(super) fn parse(text: &str) -> Result<Front, Wrong> {
    let (front, _) = split(text)?;
    let raw: Raw = serde_saphyr::from_str(front).map_err(|error| {
        let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
        // The first line of the message is the reason. Its position is removed.
        let message = error.to_string();
        let first = message.lines().next().unwrap_or("it is no YAML").trim_start_matches("error: ");
        let reason = first
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
            .map_or(first, |(_, reason)| reason);
        // The first line of the file is the dashes.
        (line + 1, reason.to_owned())
    })?;
    let name = raw.name.ok_or((2, "the name is missing".to_owned()))?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        let what = "the name must have 1 to 64 small letters, digits and dashes";
        return Err((line_of(text, "name"), what.to_owned()));
    }
    let description = raw.description.ok_or((2, "the description is missing".to_owned()))?;
    let description = description.trim().to_owned();
    if !(1..=1024).contains(&description.chars().count()) {
        let what = "the description must have 1 to 1024 characters";
        return Err((line_of(text, "description"), what.to_owned()));
    }
    let allowed_tools = match raw.allowed_tools {
        None => Vec::new(),
        Some(Tools::Words(words)) => words
            .split([' ', ','])
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
        Some(Tools::List(list)) => list,
    };
    let words = |value: Json| match value {
        Json::String(text) => text,
        other => other.to_string(),
    };
    let metadata =
        raw.metadata.unwrap_or_default().into_iter().map(|(key, value)| (key, words(value))).collect();
    Ok(Front { name, description, license: raw.license, allowed_tools, metadata })
}

/// The line of a key.
pub(super) fn line_of(text: &str, key: &str) -> usize {
    let begins = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    text.lines().position(begins).map_or(1, |at| at + 1)
}
