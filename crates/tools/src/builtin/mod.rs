//! The built-in tools: files, time, arithmetic, summaries, memory and Slack.
//!
//! Invariants
//! - Each tool defines itself in its own file: name, description, schemas, idempotency, examples.
//! - A tool that lacks a requirement (no folder granted, no Slack configured) is listed and
//!   disabled with the reason, so that users learn what is missing.
//! - No tool reads the system clock. The clock comes from [`Options`].

pub mod file;
pub mod math;
pub mod memory;
pub mod slack;
pub mod summarize;
pub mod time;

use crate::error::{Error, Result};
use crate::tool::{Context, Example, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Arc;
use steward_domain::{
    ApprovalMode, CategoryName, Check, Description, DomainName, Idempotency, JsonObject, SemanticVersion,
    Timestamp, ToolDefinition, ToolId, ToolName, ToolOrigin, ToolTimeout, Valid,
};
use steward_journal::clock::{Clock, SystemClock};
use steward_policy::AdmittedCall;

/// The version of all tools in this module.
pub const VERSION: &str = "1.0.0";

/// The dependencies of the tools.
#[derive(Clone)]
pub struct Options {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The folders of the file tools. Without any, these tools are disabled.
    pub roots: Vec<file::Root>,
    /// The memory. Without it the memory tools are disabled.
    pub memory: Option<Arc<dyn memory::Memory>>,
    /// The Slack configuration. Without it the Slack tools are disabled.
    pub slack: Option<slack::Config>,
    /// The folder of the time zone files.
    pub zoneinfo: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            roots: Vec::new(),
            memory: None,
            slack: None,
            zoneinfo: "/usr/share/zoneinfo".into(),
        }
    }
}

/// A built-in tool, ready to be registered.
#[derive(Clone)]
pub struct Builtin {
    /// Such as `file.read`.
    pub name: &'static str,
    /// Such as `1.0.0`.
    pub version: &'static str,
    /// The description, used for tool selection, 50 to 500 characters.
    pub description: &'static str,
    /// JSON Schema of the arguments.
    pub parameters: JsonObject,
    /// JSON Schema of the result.
    pub returns: JsonObject,
    /// The effect of a repeated call.
    pub idempotency: Idempotency,
    /// When approval is required, unless the operator configures otherwise.
    pub approval: ApprovalMode,
    /// The category whose settings apply.
    pub category: &'static str,
    /// Example requests.
    pub examples: Vec<Example>,
    /// The reason why it is disabled.
    pub off: Option<String>,
    /// The implementation.
    pub tool: Arc<dyn Tool>,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builtin").field("name", &self.name).field("off", &self.off).finish_non_exhaustive()
    }
}

/// All tools of this module, sorted by name.
#[must_use]
pub fn all(options: &Options) -> Vec<Builtin> {
    let mut tools = file::tools(options);
    tools.extend([math::builtin(), summarize::builtin(), time::builtin(options)]);
    tools.extend(memory::tools(options));
    tools.extend(slack::tools(options));
    tools.sort_by_key(|tool| tool.name);
    tools
}

impl Builtin {
    /// The definition for the registry. Its id depends on name and version only, so it is the same
    /// in every process.
    pub fn definition(&self, now: Timestamp) -> Result<Valid<ToolDefinition>> {
        let bug =
            |detail: String| Error::Bug { detail: format!("the built-in tool {}: {detail}", self.name) };
        let examples: Vec<Json> = (self.examples.iter())
            .map(|example| json!({ "request": example.request, "arguments": example.arguments }))
            .collect();
        let definition = ToolDefinition {
            id: id(self.name, self.version),
            tool_name: ToolName::new(self.name).map_err(|problem| bug(problem.to_string()))?,
            tool_version: SemanticVersion::new(self.version).map_err(|problem| bug(problem.to_string()))?,
            application_domain: DomainName::new("generic").map_err(|problem| bug(problem.to_string()))?,
            origin: ToolOrigin::Builtin,
            server: None,
            category: Some(CategoryName::new(self.category).map_err(|problem| bug(problem.to_string()))?),
            description: Description::new(self.description).map_err(|problem| bug(problem.to_string()))?,
            description_embedding: None,
            parameter_schema: self.parameters.clone(),
            return_schema: self.returns.clone(),
            is_active: true,
            requires_validation: false,
            timeout_seconds: ToolTimeout::default(),
            fallback_tools: Vec::new(),
            approval: self.approval,
            idempotency: self.idempotency,
            created_at: now,
            updated_at: now,
            metadata: object(json!({ "examples": examples })),
        };
        definition.validate().map_err(|invalid| bug(invalid.to_string()))
    }
}

/// The id of a name and version.
pub fn id(name: &str, version: &str) -> ToolId {
    let hash = Sha256::digest(format!("steward builtin tool\n{name}\n{version}"));
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(hash.iter()) {
        *to = *from;
    }
    ToolId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

/// The map of a JSON object. Empty for any other value.
pub(crate) fn object(value: Json) -> JsonObject {
    match value {
        Json::Object(map) => map,
        _ => JsonObject::new(),
    }
}

/// A closed object schema with these properties and required names.
pub(crate) fn schema(properties: Json, required: &[&str]) -> JsonObject {
    let mut schema = object(json!({ "type": "object", "required": required, "additionalProperties": false }));
    schema.insert("properties".to_owned(), properties);
    schema
}

/// An example request with its arguments.
pub(crate) fn example(request: &str, arguments: Json) -> Example {
    Example { request: request.to_owned(), arguments: object(arguments) }
}

/// Deserializes the arguments. They were validated before; this check is a safeguard.
pub(crate) fn arguments<T: DeserializeOwned>(call: &AdmittedCall) -> Result<T> {
    serde_path_to_error::deserialize(Json::Object(call.arguments().clone())).map_err(|error| {
        Error::Arguments { tool: call.tool().to_string(), problems: vec![error.to_string()] }
    })
}

/// An error for one invalid argument.
pub(crate) fn misfit(call: &AdmittedCall, problem: impl Into<String>) -> Error {
    Error::Arguments { tool: call.tool().to_string(), problems: vec![problem.into()] }
}

/// Runs blocking work (files) outside the event loop, within the timeout of the call. Work that
/// continues after that is bounded by its size limits, and its result is dropped.
pub(crate) async fn blocking<T: Send + 'static>(
    call: &AdmittedCall,
    context: &Context,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let tool = call.tool().to_string();
    let job = tokio::task::spawn_blocking(work);
    tokio::select! {
        () = context.cancel.cancelled() => Err(Error::Cancelled { tool }),
        done = tokio::time::timeout(context.timeout, job) => match done {
            Err(_) => Err(Error::Timeout { tool, after: context.timeout }),
            Ok(Err(broken)) => Err(Error::Bug { detail: format!("{tool} broke off: {broken}") }),
            Ok(Ok(result)) => result,
        },
    }
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
