//! Tool definitions, categories, settings and domains.

use crate::valid::require;
use crate::{
    CategoryName, Check, Description, DomainName, Environment, JsonObject, Label, Problem, SemanticVersion,
    ServerName, Timestamp, ToolId, ToolName, ToolPattern, ToolTimeout,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A tool in one version. `(tool_name, tool_version)` is unique, the name alone is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// The definition's id.
    pub id: ToolId,
    /// The tool's name.
    #[serde(alias = "name")]
    pub tool_name: ToolName,
    /// Its version.
    pub tool_version: SemanticVersion,
    /// The application it belongs to, or `generic`.
    pub application_domain: DomainName,
    /// The origin of the definition.
    pub origin: ToolOrigin,
    /// The MCP server that offers it.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// The category whose switches and permissions apply to it.
    #[serde(default)]
    pub category: Option<CategoryName>,
    /// What it does, written for tool selection.
    pub description: Description,
    /// The embedding of the description; its width depends on the embedding model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description_embedding: Option<Vec<f32>>,
    /// JSON Schema of the arguments.
    #[serde(alias = "input_schema")]
    pub parameter_schema: JsonObject,
    /// JSON Schema of the result.
    #[serde(default, alias = "output_schema")]
    pub return_schema: JsonObject,
    /// Whether it can be used. Tools are disabled rather than deleted, so that their history stays.
    #[serde(default = "yes", alias = "enabled")]
    pub is_active: bool,
    /// Whether the entity it acts on must be checked for existence first.
    #[serde(default)]
    pub requires_validation: bool,
    /// Time limit of a call.
    #[serde(default)]
    pub timeout_seconds: ToolTimeout,
    /// Tools to try when it fails, in order.
    #[serde(default)]
    pub fallback_tools: Vec<ToolName>,
    /// When a call needs the approval of a person.
    #[serde(default)]
    pub approval: ApprovalMode,
    /// Whether a call may be repeated when its outcome is unknown.
    #[serde(default)]
    pub idempotency: Idempotency,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Tags, examples.
    #[serde(default)]
    pub metadata: JsonObject,
}

pub(crate) fn yes() -> bool {
    true
}

/// The origin of a definition. Definitions of MCP servers are kept as they are; our own must meet
/// all rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolOrigin {
    /// Part of Steward.
    Builtin,
    /// From `config/tools.yaml`.
    Configured,
    /// Discovered on an MCP server.
    Mcp,
    /// An agent that is called like a tool.
    SubAgent,
}

/// When a call needs the approval of a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Never.
    #[default]
    Never,
    /// Before every call.
    Always,
    /// When an argument comes from untrusted data.
    WhenUntrusted,
}

/// The effect of repeating a call. By default, a call is assumed to have effects and is not
/// repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// Changes nothing.
    ReadOnly,
    /// Calls with the same key take effect once.
    Keyed,
    /// Each call takes effect.
    #[default]
    None,
}

impl Check for ToolDefinition {
    const ENTITY: &'static str = "ToolDefinition";
    fn check(&self, problems: &mut Vec<Problem>) {
        if matches!(self.origin, ToolOrigin::Builtin | ToolOrigin::Configured) {
            // Our own descriptions need at least 50 and at most 500 characters.
            let length = self.description.chars().count();
            require(
                problems,
                (50..=500).contains(&length),
                "description",
                "must have 50 to 500 characters",
                length,
            );
        }
        require(
            problems,
            (self.origin == ToolOrigin::Mcp) == self.server.is_some(),
            "server",
            "is present exactly when the origin is mcp",
            format!("{:?}", self.origin),
        );
        for (field, schema) in
            [("parameter_schema", &self.parameter_schema), ("return_schema", &self.return_schema)]
        {
            let kind = schema.get("type");
            let object = kind.is_none_or(|kind| kind.is_string() || kind.is_array());
            require(
                problems,
                object,
                field,
                "must be a JSON Schema object",
                kind.map(ToString::to_string).unwrap_or_default(),
            );
        }
        let finite = self
            .description_embedding
            .as_ref()
            .is_none_or(|v| !v.is_empty() && v.iter().all(|x| x.is_finite()));
        require(
            problems,
            finite,
            "description_embedding",
            "must hold finite numbers",
            "NaN, infinity or nothing",
        );
        require(
            problems,
            self.created_at <= self.updated_at,
            "updated_at",
            "must not be before created_at",
            self.updated_at,
        );
        require(
            problems,
            !self.fallback_tools.contains(&self.tool_name),
            "fallback_tools",
            "must not contain the tool itself",
            &self.tool_name,
        );
    }
}

/// A group of tools that share switches and permissions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCategory {
    /// The category's name.
    pub name: CategoryName,
    /// Whether its tools may be used.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Permissions that a caller needs.
    #[serde(default)]
    pub permissions: Vec<Label>,
    /// Settings for every tool in it.
    #[serde(default)]
    pub global_config: JsonObject,
    /// Settings of single tools.
    #[serde(default)]
    pub tools: BTreeMap<ToolName, ToolConfiguration>,
}

impl Check for ToolCategory {
    const ENTITY: &'static str = "ToolCategory";
    fn check(&self, problems: &mut Vec<Problem>) {
        for (name, tool) in &self.tools {
            require(
                problems,
                *name == tool.tool_name,
                &format!("tools.{name}.tool_name"),
                "must be the name it stands under",
                &tool.tool_name,
            );
            crate::valid::check_part(problems, &format!("tools.{name}"), tool);
        }
    }
}

/// Settings of one tool. Absent settings keep the value of the tool's definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolConfiguration {
    /// The tool.
    pub tool_name: ToolName,
    /// Whether it may be used.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The version to use if several are registered; the newest by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<SemanticVersion>,
    /// Parameters of the tool.
    #[serde(default)]
    pub parameters: JsonObject,
    /// Overrides for an environment: any of these settings, or a parameter by its name.
    #[serde(default)]
    pub environment_overrides: BTreeMap<Environment, JsonObject>,
    /// Permissions that a caller needs, in addition to those of the category.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Label>,
    /// Rate limits: `per_minute: 60`.
    #[serde(default)]
    pub rate_limits: BTreeMap<String, u32>,
    /// Time limit of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<ToolTimeout>,
    /// When a call needs the approval of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalMode>,
    /// Whether a call may be repeated when its outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<Idempotency>,
    /// Number of retries, 0 to 3, if repeating is safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3))]
    pub retries: Option<u32>,
    /// Tools to try when it fails, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_tools: Option<Vec<ToolName>>,
    /// Whether the entity it acts on must be checked for existence first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_validation: Option<bool>,
    /// Maximum size of the result; the rest is stored as an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub result_bytes: Option<usize>,
    /// Example requests for the tool, with the arguments they imply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ToolExample>,
    /// The tool that is polled until the answer is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<ToolPoll>,
    /// Result fields that only your own people and systems write, such as name and address in a
    /// directory; `*` stands for the items of a plain list. An agent with `approvals: by_request`
    /// may look up values in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_fields: Vec<String>,
}

impl Check for ToolConfiguration {
    const ENTITY: &'static str = "ToolConfiguration";
    fn check(&self, problems: &mut Vec<Problem>) {
        for (window, limit) in &self.rate_limits {
            let known = ["per_second", "per_minute", "per_hour", "per_day"].contains(&window.as_str());
            require(
                problems,
                known,
                &format!("rate_limits.{window}"),
                "must be per_second, per_minute, per_hour or per_day",
                window,
            );
            require(problems, *limit > 0, &format!("rate_limits.{window}"), "must be positive", limit);
        }
        let retries = self.retries.unwrap_or_default();
        require(problems, retries <= 3, "retries", "must be between 0 and 3", retries);
        require(problems, self.result_bytes != Some(0), "result_bytes", "must be positive", 0);
        let mut seen = BTreeSet::new();
        for tool in self.fallback_tools.iter().flatten() {
            let other = *tool != self.tool_name;
            require(problems, other, "fallback_tools", "must not contain the tool itself", tool);
            require(problems, seen.insert(tool), "fallback_tools", "must be unique", tool);
        }
        for (place, example) in self.examples.iter().enumerate() {
            let said = !example.request.trim().is_empty();
            require(
                problems,
                said,
                &format!("examples[{place}].request"),
                "must say something",
                &example.request,
            );
        }
        if let Some(poll) = &self.poll {
            let other = poll.tool != self.tool_name;
            require(
                problems,
                other,
                "poll.tool",
                "must be another tool than the one it belongs to",
                &poll.tool,
            );
            let sane = (1..=60_000).contains(&poll.interval_ms);
            require(problems, sane, "poll.interval_ms", "must be between 1 and 60000", poll.interval_ms);
            require(problems, !poll.pending.is_empty(), "poll.pending", "must name at least one value", "[]");
        }
    }
}

/// An example request and the arguments it implies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExample {
    /// The request, in a user's words.
    pub request: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: JsonObject,
}

/// Polling for a long-running answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPoll {
    /// The tool that is polled.
    pub tool: ToolName,
    /// Fields of the first answer that are passed to it.
    #[serde(default)]
    pub carry: Vec<String>,
    /// The field that holds the status.
    #[serde(default = "status")]
    pub status: String,
    /// Values of that field that mean "not ready yet".
    #[serde(default = "pending")]
    pub pending: Vec<String>,
    /// Initial pause between two polls in milliseconds; it doubles up to 5 s.
    #[serde(default = "interval")]
    pub interval_ms: u64,
}

impl ToolPoll {
    /// Polls this tool with these fields of the first answer; other settings are the defaults.
    #[must_use]
    pub fn of(tool: ToolName, carry: Vec<String>) -> Self {
        Self { tool, carry, status: status(), pending: pending(), interval_ms: interval() }
    }
}

fn status() -> String {
    "status".into()
}
fn pending() -> Vec<String> {
    [
        "pending",
        "running",
        "in_progress",
        "executing",
        "queued",
        "submitted",
        "asking_ai",
        "executing_query",
        "fetching_metadata",
        "filtering_context",
        "pending_warehouse",
        "processing",
    ]
    .map(str::to_owned)
    .to_vec()
}
fn interval() -> u64 {
    200
}

/// A named group of tools and data sources that questions are routed to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// Its name, unique.
    pub name: DomainName,
    /// Its name for people.
    pub display_name: Label,
    /// What it covers.
    pub description: Description,
    /// The kinds of questions it can answer.
    #[serde(default)]
    pub capabilities: Vec<Label>,
    /// The tools that answer them. `banking.*` stands for every tool of the server `banking`.
    #[serde(default)]
    pub mcp_tools: Vec<ToolPattern>,
    /// Data that is queried directly: files or connection strings.
    #[serde(default)]
    pub data_sources: Vec<Label>,
    /// Domains that suggestions may refer to.
    #[serde(default)]
    pub related_domains: Vec<DomainName>,
    /// Whether it is enabled.
    #[serde(default = "yes")]
    pub enabled: bool,
}

impl Check for Domain {
    const ENTITY: &'static str = "Domain";
    fn check(&self, problems: &mut Vec<Problem>) {
        let empty = self.mcp_tools.is_empty() && self.data_sources.is_empty();
        require(problems, !empty, "mcp_tools", "or data_sources must name at least one", "[]");
        require(
            problems,
            !self.related_domains.contains(&self.name),
            "related_domains",
            "must not contain the domain itself",
            &self.name,
        );
        let mut seen = BTreeSet::new();
        for tool in &self.mcp_tools {
            require(problems, seen.insert(tool), "mcp_tools", "must be unique", tool);
        }
    }
}
