//! Pins: the definition of a server's tool as first seen, or as last accepted by a person.
//!
//! Invariants
//! - A tool whose name, description, schemas or hints differ from its pin is held until a person
//!   accepts exactly that change. Otherwise a server could gain trust with a harmless description
//!   and later replace it by instructions to the model.
//! - A person accepts what was shown, not the server's latest version. The shown offer is stored
//!   with the pin, and a different one is held again.
//! - If the file cannot be read, all tools are held.

use crate::error::{Error, Result};
use crate::mcp::discover::{self, RemoteTool, plain};
use crate::mcp::files;
use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use steward_domain::{McpServer, SemanticVersion, ServerName, Timestamp};
use steward_journal::canonical::jcs;

/// The definition of a tool as the server sent it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The name on the server.
    pub name: String,
    /// The title.
    #[serde(default)]
    pub title: Option<String>,
    /// The description.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Json,
    /// JSON Schema of the result.
    #[serde(default)]
    pub output_schema: Json,
    /// The read-only and idempotency hints. They affect retries, so they are pinned as well.
    #[serde(default)]
    pub hints: Json,
}

impl Offer {
    /// Converts a tool as the server sent it.
    pub(crate) fn of(tool: &Tool) -> Self {
        Self {
            name: tool.name.to_string(),
            title: tool.title.clone(),
            description: tool.description.as_ref().map(ToString::to_string),
            input_schema: Json::Object((*tool.input_schema).clone()),
            output_schema: tool.output_schema.as_ref().map_or(Json::Null, |it| Json::Object((**it).clone())),
            hints: serde_json::to_value(&tool.annotations).unwrap_or_default(),
        }
    }

    /// Converts back to the protocol type.
    fn tool(&self) -> Tool {
        let object = |schema: &Json| std::sync::Arc::new(schema.as_object().cloned().unwrap_or_default());
        let mut tool = Tool::new(
            self.name.clone(),
            self.description.clone().unwrap_or_default(),
            object(&self.input_schema),
        );
        tool.description = self.description.clone().map(Into::into);
        tool.title.clone_from(&self.title);
        tool.output_schema = self.output_schema.is_object().then(|| object(&self.output_schema));
        tool.annotations = serde_json::from_value(self.hints.clone()).ok();
        tool
    }

    /// The SHA-256 over the offer, with sorted keys.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut text = String::new();
        jcs(&serde_json::to_value(self).unwrap_or_default(), &mut text);
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The pin of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pin {
    /// The accepted offer. `None` for a tool that was never accepted.
    accepted: Option<Offer>,
    /// Increased with every acceptance.
    version: SemanticVersion,
    /// The changed offer of the server, as last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offered: Option<Offer>,
}

type PinTable = BTreeMap<ServerName, BTreeMap<String, Pin>>;

/// The result of reviewing a server's tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// Tools that may be used, in their accepted versions.
    pub admitted: Vec<RemoteTool>,
    /// Tools that are held, each with a description of the change.
    pub held: Vec<(RemoteTool, String)>,
    /// Tools that the server no longer offers.
    pub gone: Vec<String>,
}

impl Review {
    /// The error for a held tool.
    #[must_use]
    pub fn refusal(server: &ServerName, tool: &RemoteTool, change: &str) -> Error {
        Error::Held {
            server: server.to_string(),
            tool: tool.definition.tool_name.to_string(),
            change: change.to_owned(),
        }
    }
}

/// The pins of all servers, in one file.
#[derive(Debug, Clone)]
pub struct Pins {
    path: PathBuf,
    hold_new: bool,
}

impl Pins {
    /// Pins in this file, which may not exist yet. New tools of a known server are held as well.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), hold_new: true }
    }

    /// Whether a new tool of a known server is held. A renamed tool counts as new.
    #[must_use]
    pub fn hold_new(mut self, hold: bool) -> Self {
        self.hold_new = hold;
        self
    }

    /// Compares the tools of a server with its pins. A server that is seen for the first time is
    /// pinned as it is.
    ///
    /// # Errors
    /// When the file cannot be read or written. No tool may be used then.
    pub fn review(&self, server: &ServerName, tools: Vec<RemoteTool>) -> Result<Review> {
        let _guard = files::lock(&self.path)?;
        let before: PinTable = files::read(&self.path)?.unwrap_or_default();
        let mut known = before.clone();
        let first = !known.contains_key(server);
        let pins = known.entry(server.clone()).or_default();
        let mut review = Review::default();
        let offered: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        review.gone = pins
            .iter()
            .filter(|(name, pin)| pin.accepted.is_some() && !offered.contains(name.as_str()))
            .map(|(name, _)| name.clone())
            .collect();
        for tool in tools {
            let trusted = first || !self.hold_new;
            let pin = pins.entry(tool.name.clone()).or_insert_with(|| Pin {
                accepted: trusted.then(|| tool.offer.clone()),
                version: tool.definition.tool_version.clone(),
                offered: None,
            });
            if pin.accepted.as_ref().is_some_and(|offer| offer.digest() == tool.digest) {
                pin.offered = None;
                review.admitted.push(tool.in_version(&pin.version)?);
            } else {
                let change = match &pin.accepted {
                    Some(old) => changes(old, &tool.offer),
                    None => "the tool is new on a known server".to_owned(),
                };
                pin.offered = Some(tool.offer.clone());
                review.held.push((tool, change));
            }
        }
        if known != before {
            files::write(&self.path, &known)?;
        }
        Ok(review)
    }

    /// Accepts the shown offer of one tool, or of all tools of a server. Returns the names whose
    /// pins changed.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn accept(&self, server: &ServerName, tool: Option<&str>) -> Result<Vec<String>> {
        let _guard = files::lock(&self.path)?;
        let mut known: PinTable = files::read(&self.path)?.unwrap_or_default();
        let mut accepted = Vec::new();
        for (name, pin) in known.get_mut(server).into_iter().flatten() {
            if tool.is_some_and(|tool| tool != name) {
                continue;
            }
            if let Some(offer) = pin.offered.take() {
                if pin.accepted.is_some() {
                    pin.version = next(&pin.version);
                }
                pin.accepted = Some(offer);
                accepted.push(name.clone());
            }
        }
        if !accepted.is_empty() {
            files::write(&self.path, &known)?;
        }
        Ok(accepted)
    }

    /// The accepted tools of a server, which are known without starting it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn remembered(&self, server: &McpServer, now: Timestamp) -> Result<Vec<RemoteTool>> {
        let known: PinTable = files::read(&self.path)?.unwrap_or_default();
        let pins = known.get(&server.name).into_iter().flatten();
        let tools = pins.filter_map(|(_, pin)| {
            let tool = pin.accepted.as_ref()?.tool();
            RemoteTool::of(server, &pin.version, &tool, now).ok()
        });
        Ok(tools.collect())
    }

    /// The held tools, each with a description of the change.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn waiting(&self, server: &ServerName) -> Result<Vec<(String, String)>> {
        let known: PinTable = files::read(&self.path)?.unwrap_or_default();
        let waiting = known.get(server).into_iter().flatten().filter_map(|(name, pin)| {
            let offered = pin.offered.as_ref()?;
            let change = pin.accepted.as_ref().map(|old| changes(old, offered));
            Some((name.clone(), change.unwrap_or_else(|| "the tool is new on a known server".to_owned())))
        });
        Ok(waiting.collect())
    }

    /// The held tools under their registry names. They are listed and cannot be called.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn held_back(&self, server: &ServerName) -> Result<BTreeMap<String, String>> {
        let waiting = self.waiting(server)?.into_iter();
        Ok(waiting.map(|(tool, change)| (format!("{server}.{tool}"), change)).collect())
    }

    /// Removes the pins of a server. If it is added again, it counts as new.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn forget(&self, server: &ServerName) -> Result<()> {
        let _guard = files::lock(&self.path)?;
        let mut known: PinTable = files::read(&self.path)?.unwrap_or_default();
        if known.remove(server).is_some() { files::write(&self.path, &known) } else { Ok(()) }
    }
}

impl RemoteTool {
    /// The tool in its accepted version.
    fn in_version(mut self, version: &SemanticVersion) -> Result<Self> {
        let changed = self.definition.with(|definition| {
            definition.tool_version = version.clone();
            definition.id = discover::id(&definition.tool_name, version);
        });
        self.definition = changed.map_err(|error| Error::Bug { detail: error.to_string() })?;
        Ok(self)
    }
}

/// The next patch version: `1.4.0` becomes `1.4.1`.
fn next(version: &SemanticVersion) -> SemanticVersion {
    let bumped = version.as_str().rsplit_once('.').and_then(|(front, patch)| {
        format!("{front}.{}", patch.parse::<u64>().ok()?.checked_add(1)?).parse().ok()
    });
    bumped.unwrap_or_else(|| version.clone())
}

/// Describes the differences between two offers.
fn changes(old: &Offer, new: &Offer) -> String {
    let mut words = Vec::new();
    let quoted = |text: &Option<String>| match text {
        Some(text) => format!("“{}”", plain(text, 300)),
        None => "nothing".to_owned(),
    };
    for (what, old, new) in
        [("title", &old.title, &new.title), ("description", &old.description, &new.description)]
    {
        if old != new {
            words.push(format!("the {what} changed from {} to {}", quoted(old), quoted(new)));
        }
    }
    schema_changes("argument", &old.input_schema, &new.input_schema, &mut words);
    schema_changes("result field", &old.output_schema, &new.output_schema, &mut words);
    if old.hints != new.hints {
        words.push(format!("the hints changed from {} to {}", old.hints, new.hints));
    }
    words.join("; ")
}

fn schema_changes(field: &str, old: &Json, new: &Json, words: &mut Vec<String>) {
    if old == new {
        return;
    }
    let before = words.len();
    let empty = serde_json::Map::new();
    let fields = |schema: &Json| schema.get("properties").and_then(Json::as_object).unwrap_or(&empty).clone();
    let (was, is) = (fields(old), fields(new));
    for name in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
        let told = plain(name, 100);
        match (was.get(name), is.get(name)) {
            (None, Some(_)) => words.push(format!("the {field} {told} was added")),
            (Some(_), None) => words.push(format!("the {field} {told} was removed")),
            (Some(was), Some(is)) if was != is => words.push(format!("the {field} {told} changed")),
            _ => {}
        }
    }
    if words.len() == before {
        words.push(format!("the schema of the {field}s changed"));
    }
}

#[cfg(test)]
#[path = "pin_tests.rs"]
mod tests;
