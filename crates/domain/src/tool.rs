//! Tools: what can be done, who offers it, and under which conditions (S0 `Domain`, S1, S2 `Tool`,
//! S4 `ToolDefinition`).

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
    /// Where the definition comes from.
    pub origin: ToolOrigin,
    /// The MCP server that offers it.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// The category whose switches and permissions apply to it.
    #[serde(default)]
    pub category: Option<CategoryName>,
    /// What it does, in words that selection can work with.
    pub description: Description,
    /// The description's place in the space of the embedding model in use; its width is the
    /// model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description_embedding: Option<Vec<f32>>,
    /// JSON Schema of the arguments (S2's `input_schema`, S1's `function_signature`).
    #[serde(alias = "input_schema")]
    pub parameter_schema: JsonObject,
    /// JSON Schema of the result (S2's `output_schema`).
    #[serde(default, alias = "output_schema")]
    pub return_schema: JsonObject,
    /// Whether it can be used (S1's `enabled`). Switching it off is how a tool is deleted: history
    /// stays.
    #[serde(default = "yes", alias = "enabled")]
    pub is_active: bool,
    /// Whether the entity it acts on must be shown to exist first.
    #[serde(default)]
    pub requires_validation: bool,
    /// How long a call may take.
    #[serde(default)]
    pub timeout_seconds: ToolTimeout,
    /// What to try when it fails, in order.
    #[serde(default)]
    pub fallback_tools: Vec<ToolName>,
    /// Whether a person must agree first.
    #[serde(default)]
    pub approval: ApprovalMode,
    /// Whether a call may be made again when its outcome is not known.
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

/// Where a definition comes from. What a foreign server says is kept as it is; what we write must
/// meet both seeds.
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

/// When a person is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Not asked.
    #[default]
    Never,
    /// Asked before every call.
    Always,
    /// Asked when an argument stems from untrusted data.
    WhenUntrusted,
}

/// What a repeated call does. The careful reading is the default: a call may have effects and must
/// not be repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// Changes nothing.
    ReadOnly,
    /// The same key changes things once.
    Keyed,
    /// Each call counts.
    #[default]
    None,
}

impl Check for ToolDefinition {
    const ENTITY: &'static str = "ToolDefinition";
    fn check(&self, problems: &mut Vec<Problem>) {
        if matches!(self.origin, ToolOrigin::Builtin | ToolOrigin::Configured) {
            // S1 asks for at most 500 characters, S4 for at least 50: both hold for what we write
            // ourselves.
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

/// Tools that are switched and permitted together (S1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCategory {
    /// The category's name.
    pub name: CategoryName,
    /// Whether its tools may be used at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// What a caller must hold.
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

/// Settings of one tool (S1). What is not said here stays as the tool's definition has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolConfiguration {
    /// Which tool.
    pub tool_name: ToolName,
    /// Whether it may be used.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The version that is used where several are registered; the newest when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<SemanticVersion>,
    /// Its own parameters.
    #[serde(default)]
    pub parameters: JsonObject,
    /// What changes in an environment: any of these settings, or a parameter by its name.
    #[serde(default)]
    pub environment_overrides: BTreeMap<Environment, JsonObject>,
    /// What a caller must hold, beside what the category asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Label>,
    /// Calls allowed: `per_minute: 60`.
    #[serde(default)]
    pub rate_limits: BTreeMap<String, u32>,
    /// How long a call may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<ToolTimeout>,
    /// Whether a person must agree first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalMode>,
    /// Whether a call may be made again when its outcome is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<Idempotency>,
    /// Attempts after the first, 0 to 3, made where repeating is safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3))]
    pub retries: Option<u32>,
    /// What to try when it fails, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_tools: Option<Vec<ToolName>>,
    /// Whether the entity it acts on must be shown to exist first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_validation: Option<bool>,
    /// What the result may weigh before the rest goes to an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub result_bytes: Option<usize>,
    /// Requests in people's words that the tool is for, with the arguments they mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ToolExample>,
    /// The tool that is asked again until the answer is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<ToolPoll>,
    /// Fields of its results that only your own people and systems write, such as name and address
    /// in a directory; `*` stands for the items of a plain list. An agent with `approvals:
    /// by_request` may look values up in them.
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

/// A request and the arguments that it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExample {
    /// In people's words.
    pub request: String,
    /// What is to be called with.
    #[serde(default)]
    pub arguments: JsonObject,
}

/// How a long answer is fetched (S0's `query_space_*` and `poll_response_*`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPoll {
    /// The tool that is asked again.
    pub tool: ToolName,
    /// Fields of the first answer that are handed to it.
    #[serde(default)]
    pub carry: Vec<String>,
    /// The field that says how far it is.
    #[serde(default = "status")]
    pub status: String,
    /// Values of that field that mean: not yet.
    #[serde(default = "pending")]
    pub pending: Vec<String>,
    /// Milliseconds between two questions at the beginning; the pause doubles up to 5 s.
    #[serde(default = "interval")]
    pub interval_ms: u64,
}

impl ToolPoll {
    /// Asks this tool with these fields of the first answer; the rest as usual.
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

/// A field of knowledge that questions are routed to (S0).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// Its name, unique.
    pub name: DomainName,
    /// Its name for people.
    pub display_name: Label,
    /// What it knows.
    pub description: Description,
    /// The kinds of questions it can answer.
    #[serde(default)]
    pub capabilities: Vec<Label>,
    /// The tools that answer them. `banking.*` stands for every tool of the server `banking`.
    #[serde(default)]
    pub mcp_tools: Vec<ToolPattern>,
    /// Data that is asked directly: files or connection strings.
    #[serde(default)]
    pub data_sources: Vec<Label>,
    /// Where suggestions may lead.
    #[serde(default)]
    pub related_domains: Vec<DomainName>,
    /// Whether it can be asked.
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
