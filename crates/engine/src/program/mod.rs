//! A program: a definition with every name resolved and every expression compiled. It never
//! changes; a task keeps the version it started with.

mod compile;
mod plan;
mod regions;
mod static_plan;
mod workflow;

use crate::definition::ToolSpec;
use crate::expression::{Expression, Template};
use crate::static_plan::CompiledStep;
use crate::{Definition, Settings};
use std::collections::BTreeMap;
use steward_domain::{Agent, Limits, NodeName, Pattern, Sha256Hex, TimeoutOutcome};

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
        }
    }

    /// Whether its edges can tell one answer from another.
    pub(crate) fn chooses(&self) -> bool {
        self.edges.iter().any(|edge| edge.guard.is_some() || matches!(edge.to, Transition::Routes(_)))
    }
}
