//! Selects a client tool for a message and fills its arguments from the text. Client tools are
//! never called here.

use crate::http::AppState;
use crate::http::problem::Problem;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{SemanticVersion, ToolName};
use steward_models::OfferedTool;
use steward_tools::select::{CallHistory, Entry, Index, Request};

/// The minimum confidence for selecting a tool.
const SURE: f32 = 0.35;
/// The maximum number of cached indexes.
const INDEXES: usize = 32;

/// A tool of the client.
#[derive(Clone, Deserialize, JsonSchema)]
pub(super) struct ClientTool {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    function: Option<Function>,
    /// The flat form of `/v1/responses`.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
}

#[derive(Clone, Deserialize, JsonSchema)]
struct Function {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
}

impl ClientTool {
    fn parts(&self) -> Option<(&String, &Option<String>, &Option<Value>)> {
        match &self.function {
            Some(function) => Some((&function.name, &function.description, &function.parameters)),
            None => Some((self.name.as_ref()?, &self.description, &self.parameters)),
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.parts().map(|(name, ..)| name.as_str())
    }

    /// The tool as it is offered to a model.
    pub(super) fn offered(&self, place: usize) -> Result<OfferedTool, Problem> {
        let wrong = |detail: &str| {
            Problem::new(StatusCode::BAD_REQUEST, "WEB010", format!("tools[{place}]: {detail}"))
        };
        if self.kind.as_deref().is_some_and(|kind| kind != "function") {
            return Err(wrong("tools of the type `function` are taken"));
        }
        let (name, description, parameters) = self.parts().ok_or_else(|| wrong("it has no name"))?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            return Err(wrong("its name is 1 to 64 letters, digits, `_` and `-`"));
        }
        let nothing = || json!({ "type": "object", "properties": {} });
        let parameters = parameters.clone().filter(|schema| !schema.is_null()).unwrap_or_else(nothing);
        if !parameters.is_object() {
            return Err(wrong("`parameters` is a JSON schema"));
        }
        Ok(OfferedTool {
            name: name.clone(),
            description: description.clone().unwrap_or_default(),
            parameters,
        })
    }

    /// The tool in the flat format of responses.
    pub(super) fn flat(&self) -> Value {
        let Some((name, description, parameters)) = self.parts() else { return Value::Null };
        json!({ "type": "function", "name": name, "description": description, "parameters": parameters, "strict": false })
    }
}

/// A cache of search indexes, one per set of client tools.
#[derive(Default)]
pub(super) struct Indexes(Mutex<HashMap<[u8; 32], Arc<Index>>>);

impl Indexes {
    fn get(&self, key: &[u8; 32]) -> Option<Arc<Index>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn keep(&self, key: [u8; 32], index: Arc<Index>) {
        let mut indexes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if indexes.len() >= INDEXES {
            indexes.clear();
        }
        indexes.insert(key, index);
    }
}

impl AppState {
    /// The client tool that the message clearly requests, with its arguments.
    pub(super) async fn own_tool(&self, tools: &[ClientTool], said: &str) -> Option<(String, String)> {
        let version = SemanticVersion::new("1.0.0").ok()?;
        let mut names: HashMap<String, String> = HashMap::new();
        let entries: Vec<Entry> = tools
            .iter()
            .filter_map(|tool| {
                let (name, description, parameters) = tool.parts()?;
                let plain: String = name
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
                    .collect();
                let known: ToolName = format!("client.{plain}").parse().ok()?;
                names.insert(known.to_string(), name.clone());
                Some(Entry {
                    name: known,
                    version: version.clone(),
                    domain: None,
                    description: description.clone().unwrap_or_default(),
                    parameter_schema: parameters
                        .clone()
                        .and_then(|schema| schema.as_object().cloned())
                        .unwrap_or_default(),
                    examples: Vec::new(),
                    past: CallHistory::default(),
                })
            })
            .collect();
        let key: [u8; 32] = {
            let mut hash = Sha256::new();
            for entry in &entries {
                hash.update(format!("{}\n{}\n{:?}\n", entry.name, entry.description, entry.parameter_schema));
            }
            hash.finalize().into()
        };
        let (known, encoder, said) =
            (self.histories.indexes.get(&key), self.app().encoder.clone(), said.to_owned());
        let chosen = tokio::task::spawn_blocking(move || {
            let index = match known {
                Some(index) => index,
                None => {
                    let mut index = Index::new(encoder);
                    index.update(&entries).ok()?;
                    Arc::new(index)
                }
            };
            let found = index.select(&Request { limit: 1, ..Request::new(&said) });
            let best = found.candidates.into_iter().next();
            let fits = best.filter(|best| best.confidence >= SURE && best.arguments.missing.is_empty());
            let call =
                fits.map(|best| (best.tool.to_string(), Value::Object(best.arguments.arguments).to_string()));
            Some((index, call))
        });
        let (index, call) = chosen.await.ok()??;
        self.histories.indexes.keep(key, index);
        let (name, arguments) = call?;
        Some((names.remove(&name)?, arguments))
    }
}
