//! A program: a definition with every name resolved and every expression compiled. It never
//! changes; a task keeps the version it started with.

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

/// A place among a program's nodes, agents or tools.
pub(crate) type ProgramIndex = u32;

/// What runs. Plans, workflows and agents are all nodes with a rule for what follows.
#[derive(Debug)]
pub struct Program {
    pub(crate) definition: Definition,
    pub(crate) version: Sha256Hex,
    pub(crate) nodes: Vec<Node>,
    pub(crate) index: BTreeMap<String, ProgramIndex>,
    /// Where it starts: the entry point, or every subtask that needs nothing.
    pub(crate) entries: Vec<ProgramIndex>,
    /// Whether nodes follow when all they need is there (a plan), or when an edge leads to them (a
    /// graph).
    pub(crate) by_data: bool,
    pub(crate) agents: Vec<AgentSpec>,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) fallbacks: Vec<Vec<ProgramIndex>>,
    pub(crate) limits: Limits,
    pub(crate) max_nodes: u32,
    /// The workflows that nodes start.
    pub(crate) workflows: Vec<AgentName>,
    /// What the input must be.
    pub(crate) inputs: Option<Schema>,
    /// What the result must be.
    pub(crate) outputs: Option<Schema>,
    /// Who makes which data, and whether it is all that they make.
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
    /// What it is in a static plan.
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
    /// Runs the loop of the agent at this place.
    Agent(u32),
    /// Calls the tool at this place.
    Tool(u32),
    /// Nothing; its edges choose.
    Condition,
    /// Waits for a person.
    Human,
    /// Runs branches at once.
    Parallel {
        /// Their first nodes.
        branches: Vec<u32>,
        /// How many must end well.
        needs: u32,
        /// Whether those that fail are left out.
        partial: bool,
    },
    /// Does the same for each item of a list.
    Map {
        /// What.
        work: MapWork,
        /// How many at once.
        concurrency: u32,
        /// What becomes of the node when an item fails.
        on_item_error: ItemFailure,
    },
    /// Waits for a duration.
    Timer,
    /// Waits until a moment.
    Until,
    /// Runs the workflow at this place as a task of its own.
    Workflow(u32),
    /// Computes a value.
    Transform,
    /// Waits for a signal.
    Signal,
}

impl NodeWork {
    /// In a word, as workflow files say it.
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

/// What a `map` does with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapWork {
    /// Calls the tool at this place.
    Tool(u32),
    /// Runs the agent at this place, as a task of its own.
    Agent(u32),
    /// Runs the workflow at this place, as a task of its own.
    Workflow(u32),
}

/// A way on. The first edge that may be taken is taken.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) guard: Option<Expression>,
    pub(crate) to: Transition,
}

/// Where an edge leads; `None` is the end.
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
    /// What it may call, by the name it knows: its tools and its sub-agents.
    pub(crate) callable: BTreeMap<String, Callable>,
}

/// Something an agent may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callable {
    Tool(ProgramIndex),
    Agent(ProgramIndex),
}

impl AgentSpec {
    /// What a model meant by this name. A model that puts the wrong server before a tool's name
    /// means the only tool that ends so.
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
    /// What it was compiled from; journalled with the task, it compiles to the same program again.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The digest of the definition.
    #[must_use]
    pub fn version(&self) -> &Sha256Hex {
        &self.version
    }

    /// The nodes in the order of their names, or of the plan.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How it runs.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.definition.settings
    }

    /// What an input is with the defaults of what is missing, or why it does not fit.
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

    /// Whether a signal of this name with this data fits.
    ///
    /// # Errors
    /// What does not fit, in words.
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

    /// Whether its edges can tell one answer from another.
    pub(crate) fn chooses(&self) -> bool {
        self.edges.iter().any(|edge| edge.guard.is_some() || matches!(edge.to, Transition::Routes(_)))
    }
}
