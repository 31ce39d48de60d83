//! What a program is compiled from. A [`Definition`] is whole in itself: journalled at the start of
//! a task, it compiles to the same program on any machine, whatever the files say by then.

use crate::static_plan::StaticPlan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use steward_domain::{
    Agent, AgentName, Idempotency, Limits, Plan, ServerName, TimeoutOutcome, ToolDefinition, ToolName,
    Workflow,
};

/// What runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Root {
    /// Subtasks in the order of their data.
    Plan(Plan),
    /// Steps that a model wrote before anything was read.
    StaticPlan(StaticPlan),
    /// A graph.
    Workflow(Workflow),
    /// One agent.
    Agent(Agent),
}

impl Root {
    /// For messages: `workflow review`.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Plan(plan) => format!("plan {}", plan.plan_id),
            Self::StaticPlan(plan) => format!("static plan of {} steps", plan.steps.len()),
            Self::Workflow(workflow) => format!("workflow {}", workflow.name),
            Self::Agent(agent) => format!("agent {}", agent.name),
        }
    }
}

/// What the engine must know of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// Where it lives; nothing for built-in ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// What a repeated call does.
    #[serde(default)]
    pub safety: Idempotency,
    /// How long a call may take.
    pub timeout_seconds: u32,
    /// What to try when it fails, in order.
    #[serde(default)]
    pub fallback_tools: Vec<ToolName>,
    /// Fields of its results that the operator trusts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_fields: Vec<String>,
}

impl From<&ToolDefinition> for ToolSpec {
    fn from(tool: &ToolDefinition) -> Self {
        Self {
            name: tool.tool_name.clone(),
            server: tool.server.clone(),
            safety: tool.idempotency,
            timeout_seconds: tool.timeout_seconds.get(),
            fallback_tools: tool.fallback_tools.clone(),
            trusted_fields: Vec::new(),
        }
    }
}

/// Who knows the agents and tools that a definition names.
pub trait Lookup {
    /// The agent with this name.
    fn agent(&self, name: &AgentName) -> Option<Agent>;
    /// The tool with this name.
    fn tool(&self, name: &ToolName) -> Option<ToolSpec>;
    /// The workflow with this name.
    fn workflow(&self, _name: &AgentName) -> Option<Workflow> {
        None
    }
}

/// What becomes of a call whose outcome is not known and that must not be repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// The node fails.
    Fail,
    /// A person says what came of it.
    #[default]
    Ask,
    /// The next fallback tool is tried; without one the node fails.
    Fallback,
}

/// What becomes of a plan when one of its subtasks fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The plan fails.
    #[default]
    Fail,
    /// What needs it is skipped, and the rest is carried out. The plan fails when nothing was done.
    Continue,
}

impl OnFailure {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How failures, limits and waiting are handled; the same for the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Attempts after the first, for failures that may pass.
    pub retries: u32,
    /// The wait before the second attempt; it doubles each time.
    pub backoff_ms: u64,
    /// The longest wait between attempts.
    pub backoff_cap_ms: u64,
    /// How often a session may make the same call with the same arguments.
    pub same_call: u32,
    /// How often a cycle may come round with nothing changed.
    pub same_state: u32,
    /// How often in a row a model is told that its reply was of no use.
    pub repairs: u32,
    /// How many calls of tools that do not exist a session may ask for.
    pub strange_tools: u32,
    /// Calls that one reply may ask for.
    pub calls_per_reply: usize,
    /// How deep agents may call agents.
    pub depth: u8,
    /// Tokens of a prompt where the definition does not say.
    pub context_tokens: u32,
    /// Characters of a tool's result that a model is shown.
    pub result_chars: usize,
    /// Bytes of an output that are kept in the state.
    pub output_bytes: usize,
    /// How long a person may take where the node does not say.
    pub approval_seconds: u32,
    /// What becomes of a tool's question that nobody answers.
    pub on_approval_timeout: TimeoutOutcome,
    /// What becomes of calls whose outcome is not known.
    pub on_unknown: OnUnknown,
    /// What becomes of a plan when one of its subtasks fails.
    #[serde(skip_serializing_if = "OnFailure::is_default")]
    pub on_failure: OnFailure,
    /// Limits beside the definition's own, such as what is left of a parent's budget; the tighter
    /// one counts.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retries: 3,
            backoff_ms: 500,
            backoff_cap_ms: 60_000,
            same_call: 3,
            same_state: 3,
            repairs: 2,
            strange_tools: 3,
            calls_per_reply: 32,
            depth: 4,
            context_tokens: 100_000,
            result_chars: 20_000,
            output_bytes: 262_144,
            approval_seconds: 86_400,
            on_approval_timeout: TimeoutOutcome::Fail,
            on_unknown: OnUnknown::Ask,
            on_failure: OnFailure::Fail,
            limits: Limits::default(),
        }
    }
}

/// A definition with everything it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// What runs.
    pub root: Root,
    /// The agents it names, and those they name.
    pub agents: BTreeMap<AgentName, Agent>,
    /// The tools they all name, with their fallbacks.
    pub tools: BTreeMap<ToolName, ToolSpec>,
    /// The workflows that run as tasks of their own, and those they name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<AgentName, Workflow>,
    /// How it runs.
    pub settings: Settings,
}

impl Lookup for Definition {
    fn agent(&self, name: &AgentName) -> Option<Agent> {
        self.agents.get(name).cloned()
    }
    fn tool(&self, name: &ToolName) -> Option<ToolSpec> {
        self.tools.get(name).cloned()
    }
    fn workflow(&self, name: &AgentName) -> Option<Workflow> {
        self.workflows.get(name).cloned()
    }
}

impl Definition {
    /// Takes in everything that `root` names and `lookup` knows. What is not known is found missing
    /// by [`crate::Program::compile`], which says where it was named.
    #[must_use]
    pub fn gather(root: Root, settings: Settings, lookup: &dyn Lookup) -> Self {
        let mut found = Self {
            root,
            agents: BTreeMap::new(),
            tools: BTreeMap::new(),
            workflows: BTreeMap::new(),
            settings,
        };
        let (mut agents, mut tools, mut workflows) = (Vec::new(), Vec::new(), Vec::new());
        let mut names_of = |workflow: &Workflow, more: &mut Vec<AgentName>| {
            agents.extend(workflow.nodes.values().filter_map(|node| node.agent.clone()));
            tools.extend(workflow.nodes.values().filter_map(|node| node.tool.clone()));
            more.extend(workflow.nodes.values().filter_map(|node| node.workflow.clone()));
        };
        if let Root::Workflow(workflow) = &found.root {
            names_of(workflow, &mut workflows);
        }
        while let Some(name) = workflows.pop() {
            if found.workflows.contains_key(&name) {
                continue;
            }
            if let Some(workflow) = lookup.workflow(&name) {
                names_of(&workflow, &mut workflows);
                found.workflows.insert(name, workflow);
            }
        }
        match &found.root {
            Root::Plan(plan) => tools.extend(plan.subtasks.iter().map(|task| task.tool_name.clone())),
            Root::StaticPlan(plan) => {
                agents.extend([plan.extractor.clone(), plan.writer.clone()]);
                tools.extend(plan.steps.iter().filter_map(|step| step.tool.clone()));
            }
            Root::Workflow(_) => {}
            Root::Agent(agent) => {
                agents.extend(agent.sub_agents.iter().cloned());
                tools.extend(agent.tools.iter().cloned());
            }
        }
        while let Some(name) = agents.pop() {
            if found.agents.contains_key(&name) {
                continue;
            }
            if let Some(agent) = lookup.agent(&name) {
                agents.extend(agent.sub_agents.iter().cloned());
                tools.extend(agent.tools.iter().cloned());
                found.agents.insert(name, agent);
            }
        }
        while let Some(name) = tools.pop() {
            if found.tools.contains_key(&name) {
                continue;
            }
            if let Some(tool) = lookup.tool(&name) {
                tools.extend(tool.fallback_tools.iter().cloned());
                found.tools.insert(name, tool);
            }
        }
        found
    }

    /// The same definitions with one of the workflows as what runs: how a sub-workflow's task is
    /// compiled.
    #[must_use]
    pub fn for_workflow(&self, name: &AgentName, limits: Limits) -> Option<Self> {
        let root = Root::Workflow(self.workflows.get(name)?.clone());
        let settings = Settings { limits, ..self.settings.clone() };
        Some(Self::gather(root, settings, self))
    }

    /// The same definitions with one of the agents as what runs: how a sub-agent's task is
    /// compiled.
    #[must_use]
    pub fn for_agent(&self, name: &AgentName, limits: Limits) -> Option<Self> {
        let root = Root::Agent(self.agents.get(name)?.clone());
        let settings = Settings { limits, ..self.settings.clone() };
        Some(Self::gather(root, settings, self))
    }
}
