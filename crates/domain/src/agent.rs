//! Agents: who works, with which tools, in which manner (S2).

use crate::valid::require;
use crate::{AgentName, Check, Iterations, Label, Problem, Temperature, ToolName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An agent as its file says it. It sees only its own tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The agent's name, also the file's.
    pub name: AgentName,
    /// What it is for.
    pub role: Label,
    /// What it is told.
    pub system_prompt: String,
    /// The tools it may see.
    pub tools: Vec<ToolName>,
    /// Agents it may call like tools.
    #[serde(default)]
    pub sub_agents: Vec<AgentName>,
    /// How it reasons, one after the other.
    #[serde(default = "Pattern::react")]
    pub patterns: Vec<Pattern>,
    /// How often it may go round.
    #[serde(default)]
    pub max_iterations: Iterations,
    /// Which model it asks.
    pub llm_config: LlmConfig,
    /// How freely the model samples.
    #[serde(default)]
    pub temperature: Temperature,
    /// What a run of it may use in all.
    #[serde(default)]
    pub limits: Limits,
    /// When its calls ask a person.
    #[serde(default, skip_serializing_if = "AgentApprovals::is_default")]
    pub approvals: AgentApprovals,
}

/// When the calls of an agent ask a person. What destroys, and a tool that is always approved, asks
/// either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentApprovals {
    /// Every call that changes something asks at once, unless each of its arguments is provably the
    /// person's.
    #[default]
    EachCall,
    /// A call that the person's words foresee does not ask. What is left is asked about together,
    /// when the agent can do no more without it.
    ByRequest,
}

impl AgentApprovals {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a run may use in all; what is not named is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Tokens, those of the prompts and those of the replies.
    pub tokens: Option<u64>,
    /// Money, in US dollars.
    pub cost_usd: Option<f64>,
    /// Time from start to end, waiting for people included.
    pub seconds: Option<u64>,
    /// Tokens that one prompt may hold; the oldest messages go first.
    pub context_tokens: Option<u32>,
}

/// How an agent or a workflow reasons.
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

/// Where a model is. The key itself is never part of a definition: only the name of the place it is
/// in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LlmConfig {
    /// Base address of the API; empty for the built-in model.
    #[serde(default)]
    pub endpoint: String,
    /// Which model; `local` is the built-in one.
    pub model: Label,
    /// Name of the environment variable that holds the key (S2's `api_key` "from environment").
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
