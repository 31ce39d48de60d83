//! A program: a definition with every name resolved and every expression compiled. It is immutable;
//! a task keeps the version it started with.

mod compile;
mod nodes;
mod plan;
mod regions;
mod static_plan;
mod workflow;

use crate::definition::ToolSpec;
use crate::expression::{Expression, Template};
use crate::schema::Schema;
use crate::static_plan::CompiledStep;
use crate::{Definition, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use steward_domain::{
    Agent, AgentName, Escalation, ItemFailure, Label, Limits, NodeName, Pattern, RetryPolicy, Sha256Hex,
    TimeoutOutcome,
};

/// The index of a node, an agent or a tool of a program.
pub(crate) type ProgramIndex = u32;

/// A compiled definition. Plans, workflows and agents are all nodes with a rule that orders them.
#[derive(Debug)]
pub struct Program {
    pub(crate) definition: Definition,
    pub(crate) version: Sha256Hex,
    pub(crate) nodes: Vec<Node>,
    pub(crate) index: BTreeMap<String, ProgramIndex>,
    /// The first nodes: the entry point, or every subtask without dependencies.
    pub(crate) entries: Vec<ProgramIndex>,
    /// Whether a node starts when its dependencies are met (a plan), or when an edge leads to it (a
    /// graph).
    pub(crate) by_data: bool,
    pub(crate) agents: Vec<AgentSpec>,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) fallbacks: Vec<Vec<ProgramIndex>>,
    pub(crate) limits: Limits,
    pub(crate) max_nodes: u32,
    /// The workflows that nodes start.
    pub(crate) workflows: Vec<AgentName>,
    /// The schema of the input.
    pub(crate) inputs: Option<Schema>,
    /// The schema of the result.
    pub(crate) outputs: Option<Schema>,
    /// The node that produces each data name, and whether it is the node's only output.
    pub(crate) data: BTreeMap<String, (ProgramIndex, bool)>,
}

/// One node.
#[derive(Debug)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// What it does.
    pub work: NodeWork,
    pub(crate) edges: Vec<Edge>,
    pub(crate) on_error: Option<Option<ProgramIndex>>,
    pub(crate) gate: bool,
    pub(crate) routing_key: Option<Expression>,
    pub(crate) save_as: Option<NodeName>,
    pub(crate) needs: Vec<ProgramIndex>,
    pub(crate) feeds: Vec<ProgramIndex>,
    pub(crate) input: Option<Template>,
    pub(crate) arguments: Vec<(String, Template)>,
    pub(crate) timeout_seconds: Option<u32>,
    pub(crate) expires_seconds: Option<u32>,
    pub(crate) on_timeout: TimeoutOutcome,
    /// Its step, in a static plan.
    pub(crate) step: Option<CompiledStep>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) approvers: Vec<Label>,
    pub(crate) escalate: Vec<Escalation>,
    /// The list of a `map`.
    pub(crate) over: Option<Expression>,
    /// The value of a `transform`, the duration or the moment of a `timer`.
    pub(crate) value: Option<Template>,
    pub(crate) zone: String,
    /// The signal that it waits for.
    pub(crate) signal: Option<NodeName>,
    pub(crate) schema: Option<Schema>,
}

/// What a node does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeWork {
    /// Runs the loop of the agent with this index.
    Agent(u32),
    /// Calls the tool with this index.
    Tool(u32),
    /// Does nothing; its edges choose the next node.
    Condition,
    /// Waits for a person.
    Human,
    /// Runs branches in parallel.
    Parallel {
        /// Their first nodes.
        branches: Vec<u32>,
        /// How many must succeed.
        needs: u32,
        /// Whether failed branches are omitted.
        partial: bool,
    },
    /// Runs the same work for each item of a list.
    Map {
        /// The work.
        work: MapWork,
        /// The maximum number of items in parallel.
        concurrency: u32,
        /// How to handle a failed item.
        on_item_error: ItemFailure,
    },
    /// Waits for a duration.
    Timer,
    /// Waits until a time.
    Until,
    /// Runs the workflow with this index as a sub-task.
    Workflow(u32),
    /// Computes a value.
    Transform,
    /// Waits for a signal.
    Signal,
}

impl NodeWork {
    /// The kind, as workflow files name it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Tool(_) => "tool",
            Self::Condition => "condition",
            Self::Human => "human",
            Self::Parallel { .. } => "parallel",
            Self::Map { .. } => "map",
            Self::Timer | Self::Until => "timer",
            Self::Workflow(_) => "workflow",
            Self::Transform => "transform",
            Self::Signal => "signal",
        }
    }
}

/// The work of a `map` for one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapWork {
    /// Calls the tool with this index.
    Tool(u32),
    /// Runs the agent with this index as a sub-task.
    Agent(u32),
    /// Runs the workflow with this index as a sub-task.
    Workflow(u32),
}

/// An edge. The first edge whose guard holds is taken.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) guard: Option<Expression>,
    pub(crate) to: Transition,
}

/// The target of an edge; `None` is the end.
#[derive(Debug)]
pub(crate) enum Transition {
    To(Option<ProgramIndex>),
    Routes(BTreeMap<String, Option<ProgramIndex>>),
}

/// An agent with its names resolved.
#[derive(Debug)]
pub(crate) struct AgentSpec {
    pub(crate) agent: Agent,
    pub(crate) patterns: Vec<Pattern>,
    /// The tools and sub-agents that it may call, by the name that its model uses.
    pub(crate) callable: BTreeMap<String, Callable>,
}

/// Something an agent may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callable {
    Tool(ProgramIndex),
    Agent(ProgramIndex),
}

impl AgentSpec {
    /// Resolves a name that a model wrote. A tool with the wrong server prefix resolves to the only
    /// tool with that name.
    pub(crate) fn resolve(&self, name: &str) -> Option<Callable> {
        if let Some(found) = self.callable.get(name) {
            return Some(*found);
        }
        let bare = |name: &str| name.rsplit(['/', '.', ':']).next().map(str::to_owned);
        let wanted = bare(name)?;
        let mut fits = self.callable.iter().filter(|(known, _)| bare(known).as_deref() == Some(&*wanted));
        match (fits.next(), fits.next()) {
            (Some((_, found)), None) => Some(*found),
            _ => None,
        }
    }
}

impl Program {
    /// The source definition; journalled with the task, it compiles to the same program again.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The digest of the definition.
    #[must_use]
    pub fn version(&self) -> &Sha256Hex {
        &self.version
    }

    /// The nodes, ordered by name or as in the plan.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The settings of the run.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.definition.settings
    }

    /// The input with defaults for missing values, or why it does not match the schema.
    ///
    /// # Errors
    /// Every problem with its place.
    pub fn check_input(&self, input: &Value) -> Result<Value, String> {
        let Some(schema) = &self.inputs else { return Ok(input.clone()) };
        let filled = schema.with_defaults(input);
        schema.check(&filled).map(|()| filled)
    }

    /// The names of the signals that its nodes wait for.
    #[must_use]
    pub fn signals(&self) -> Vec<&str> {
        self.nodes.iter().filter_map(|node| node.signal.as_ref()).map(|name| name.as_str()).collect()
    }

    /// Checks that a node waits for a signal of this name and that the data matches its schema.
    ///
    /// # Errors
    /// A message: no node waits for the signal, or the data does not match.
    pub fn check_signal(&self, name: &str, data: &Value) -> Result<(), String> {
        let is_it = |node: &&Node| node.signal.as_ref().is_some_and(|known| known.as_str() == name);
        let mut waiting = self.nodes.iter().filter(is_it).peekable();
        if waiting.peek().is_none() {
            let known = self.signals();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("no node waits for the signal {name}. The signals of this run: {known}"));
        }
        for schema in waiting.filter_map(|node| node.schema.as_ref()) {
            schema.check(data).map_err(|why| format!("the data of the signal {name} do not fit: {why}"))?;
        }
        Ok(())
    }

    pub(crate) fn workflow(&self, place: ProgramIndex) -> Option<&AgentName> {
        self.workflows.get(place as usize)
    }

    pub(crate) fn node(&self, place: ProgramIndex) -> Option<&Node> {
        self.nodes.get(place as usize)
    }

    pub(crate) fn agent(&self, place: ProgramIndex) -> Option<&AgentSpec> {
        self.agents.get(place as usize)
    }

    pub(crate) fn tool(&self, place: ProgramIndex) -> Option<&ToolSpec> {
        self.tools.get(place as usize)
    }
}

impl Node {
    pub(crate) fn new(name: NodeName, work: NodeWork) -> Self {
        Self {
            name,
            work,
            edges: Vec::new(),
            on_error: None,
            gate: false,
            routing_key: None,
            save_as: None,
            needs: Vec::new(),
            feeds: Vec::new(),
            input: None,
            arguments: Vec::new(),
            timeout_seconds: None,
            expires_seconds: None,
            on_timeout: TimeoutOutcome::Fail,
            step: None,
            retry: None,
            approvers: Vec::new(),
            escalate: Vec::new(),
            over: None,
            value: None,
            zone: "UTC".to_owned(),
            signal: None,
            schema: None,
        }
    }

    /// Whether its edges depend on the answer.
    pub(crate) fn chooses(&self) -> bool {
        self.edges.iter().any(|edge| edge.guard.is_some() || matches!(edge.to, Transition::Routes(_)))
    }
}
