//! Agent definitions: role, prompt, model, tools and reasoning pattern.

use crate::valid::require;
use crate::{AgentName, Check, Iterations, Label, Problem, Temperature, ToolName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An agent definition, as loaded from its file. An agent sees only its own tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The agent's name, which is also the name of its file.
    pub name: AgentName,
    /// The purpose of the agent.
    pub role: Label,
    /// The system prompt.
    pub system_prompt: String,
    /// The tools that the agent may call.
    pub tools: Vec<ToolName>,
    /// Agents that it may call like tools.
    #[serde(default)]
    pub sub_agents: Vec<AgentName>,
    /// The reasoning patterns, applied in this order.
    #[serde(default = "Pattern::react")]
    pub patterns: Vec<Pattern>,
    /// The maximum number of iterations.
    #[serde(default)]
    pub max_iterations: Iterations,
    /// The model that it uses.
    pub llm_config: LlmConfig,
    /// The sampling temperature.
    #[serde(default)]
    pub temperature: Temperature,
    /// The budget of one run.
    #[serde(default)]
    pub limits: Limits,
    /// When its calls need the approval of a person.
    #[serde(default, skip_serializing_if = "AgentApprovals::is_default")]
    pub approvals: AgentApprovals,
}

/// When the calls of an agent need approval. Destructive calls and tools with `always` approval
/// need it in both modes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentApprovals {
    /// Every call that changes something needs approval, unless each argument is proved to come
    /// from the user.
    #[default]
    EachCall,
    /// Calls that the user's request foresees need no approval. The remaining calls are collected
    /// and asked about together, when the agent cannot continue without them.
    ByRequest,
}

impl AgentApprovals {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The budget of one run. A limit that is absent is not enforced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Prompt and completion tokens.
    pub tokens: Option<u64>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Seconds from start to end, including the time spent waiting for people.
    pub seconds: Option<u64>,
    /// Maximum tokens of one prompt; the oldest messages are dropped first.
    pub context_tokens: Option<u32>,
}

/// The reasoning pattern of an agent or a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Think, act, observe, again.
    React,
    /// Draft, criticise, improve.
    Reflection,
    /// Reason step by step, then answer.
    Cot,
}

impl Pattern {
    fn react() -> Vec<Self> {
        vec![Self::React]
    }
}

/// The endpoint of a model. A definition never holds the key, only the name of the environment
/// variable that does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LlmConfig {
    /// Base address of the API; empty for the built-in model.
    #[serde(default)]
    pub endpoint: String,
    /// Which model; `local` is the built-in one.
    pub model: Label,
    /// Name of the environment variable that holds the API key.
    #[serde(default)]
    pub api_key: Option<Label>,
}

impl Check for Agent {
    const ENTITY: &'static str = "Agent";
    fn check(&self, problems: &mut Vec<Problem>) {
        let mut seen = BTreeSet::new();
        for tool in &self.tools {
            require(problems, seen.insert(tool), "tools", "must be unique", tool);
        }
        require(problems, !self.system_prompt.trim().is_empty(), "system_prompt", "must not be empty", "");
        require(problems, !self.patterns.is_empty(), "patterns", "must name at least one pattern", "[]");
        require(
            problems,
            !self.sub_agents.contains(&self.name),
            "sub_agents",
            "must not contain the agent itself",
            &self.name,
        );
        if let Some(key) = &self.llm_config.api_key {
            let name = key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            require(
                problems,
                name,
                "llm_config.api_key",
                "must be the NAME of an environment variable, not the key",
                "(hidden)",
            );
        }
    }
}
