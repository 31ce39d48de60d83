//! The input of compilation. A [`Definition`] is self-contained: it is journalled at the start of a
//! task and compiles to the same program on any machine, even after the files have changed.

use crate::static_plan::StaticPlan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use steward_domain::{
    Agent, AgentName, Idempotency, Limits, Plan, ServerName, TimeoutOutcome, ToolDefinition, ToolName,
    Workflow,
};

/// The kind of definition that a program executes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Root {
    /// Subtasks, ordered by their data dependencies.
    Plan(Plan),
    /// Steps that a model planned before it read any data.
    StaticPlan(StaticPlan),
    /// A graph.
    Workflow(Workflow),
    /// One agent.
    Agent(Agent),
}

impl Root {
    /// The title for messages, such as `workflow review`.
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

/// The properties of a tool that the engine needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// The server that provides it; `None` for built-in tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// Whether a repeated call is safe.
    #[serde(default)]
    pub safety: Idempotency,
    /// The timeout of a call.
    pub timeout_seconds: u32,
    /// The tools to try when it fails, in order.
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

/// Resolves the agents, tools and workflows that a definition names.
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

/// How to handle a call with an unknown outcome that must not be repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// The node fails.
    Fail,
    /// A person reports the outcome.
    #[default]
    Ask,
    /// The next fallback tool is tried; without one the node fails.
    Fallback,
}

/// How to handle a plan when one of its subtasks fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The plan fails.
    #[default]
    Fail,
    /// Dependent subtasks are skipped and the rest runs. The plan fails when no subtask succeeded.
    Continue,
}

impl OnFailure {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Settings for failures, limits and waiting; they apply to the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Retries after the first attempt, for transient failures.
    pub retries: u32,
    /// The wait before the second attempt; it doubles each time.
    pub backoff_ms: u64,
    /// The longest wait between attempts.
    pub backoff_cap_ms: u64,
    /// How often a session may make the same call with the same arguments.
    pub same_call: u32,
    /// How often a cycle may repeat without a change of state.
    pub same_state: u32,
    /// How many times in a row a model may be asked to correct its reply.
    pub repairs: u32,
    /// How many calls of unknown tools a session may request.
    pub strange_tools: u32,
    /// The maximum number of calls in one reply.
    pub calls_per_reply: usize,
    /// The maximum nesting depth of agents that call agents.
    pub depth: u8,
    /// The prompt size in tokens where the definition sets none.
    pub context_tokens: u32,
    /// The maximum number of characters of a tool result in a prompt.
    pub result_chars: usize,
    /// The maximum number of bytes of an output in the state.
    pub output_bytes: usize,
    /// The approval timeout where the node sets none.
    pub approval_seconds: u32,
    /// How to handle an approval of a call that times out.
    pub on_approval_timeout: TimeoutOutcome,
    /// How to handle calls whose outcome is unknown.
    pub on_unknown: OnUnknown,
    /// How to handle a plan when one of its subtasks fails.
    #[serde(skip_serializing_if = "OnFailure::is_default")]
    pub on_failure: OnFailure,
    /// Limits in addition to the definition's own, such as the rest of a parent's budget. The
    /// tighter limit applies.
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

/// A definition with everything that it references.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The definition that is executed.
    pub root: Root,
    /// The agents that it references, directly or through other agents.
    pub agents: BTreeMap<AgentName, Agent>,
    /// The tools that all of them reference, with their fallbacks.
    pub tools: BTreeMap<ToolName, ToolSpec>,
    /// The workflows that run as sub-tasks, directly or through other workflows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<AgentName, Workflow>,
    /// The settings of the run.
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
    /// Collects everything that `root` references and `lookup` can resolve. Unresolved names are
    /// reported by [`crate::Program::compile`], with the place of the reference.
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

    /// The same definitions with one of the workflows as root. A sub-workflow's task is compiled
    /// from it.
    #[must_use]
    pub fn for_workflow(&self, name: &AgentName, limits: Limits) -> Option<Self> {
        let root = Root::Workflow(self.workflows.get(name)?.clone());
        let settings = Settings { limits, ..self.settings.clone() };
        Some(Self::gather(root, settings, self))
    }

    /// The same definitions with one of the agents as root. A sub-agent's task is compiled from it.
    #[must_use]
    pub fn for_agent(&self, name: &AgentName, limits: Limits) -> Option<Self> {
        let root = Root::Agent(self.agents.get(name)?.clone());
        let settings = Settings { limits, ..self.settings.clone() };
        Some(Self::gather(root, settings, self))
    }
}
