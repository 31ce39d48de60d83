//! Tools that a client brings along: which of them its words mean, with the arguments that stand in
//! them. They are never called here.

use crate::http::AppState;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{SemanticVersion, ToolName};
use steward_tools::select::{CallHistory, Entry, Index, Request};

/// How sure one of them must fit.
const SURE: f32 = 0.35;
/// Sets of tools whose index is kept.
const INDEXES: usize = 32;

#[derive(Clone, Deserialize, JsonSchema)]
pub(super) struct ClientTool {
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

/// The sets of tools that clients bring with every request, ready to be chosen from.
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
    /// One of the client's own tools, when the words clearly mean it.
    pub(super) async fn own_tool(&self, tools: &[ClientTool], said: &str) -> Option<(String, String)> {
        let version = SemanticVersion::new("1.0.0").ok()?;
        let mut names: HashMap<String, String> = HashMap::new();
        let entries: Vec<Entry> = tools
            .iter()
            .filter_map(|tool| {
                let (name, description, parameters) = match &tool.function {
                    Some(function) => (&function.name, &function.description, &function.parameters),
                    None => (tool.name.as_ref()?, &tool.description, &tool.parameters),
                };
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
