//! Compiles a definition to a program, or reports all of its problems.

use super::{AgentSpec, Callable, Node, NodeWork, Program, ProgramIndex};
use crate::definition::{Lookup, Root, ToolSpec};
use crate::expression::{Expression, Template};
use crate::schema::Schema;
use crate::{Definition, Problems, Settings, derive};
use std::collections::BTreeMap;
use steward_domain::{
    Agent, AgentName, Check, Idempotency, JsonObject, Limits, NodeName, Pattern, Problem, ToolName,
};

/// The intermediate results and the problems found so far.
pub(super) struct Compiler<'a> {
    definition: &'a Definition,
    pub(super) problems: Vec<Problem>,
    agents: Vec<AgentSpec>,
    agent_places: BTreeMap<AgentName, ProgramIndex>,
    tools: Vec<ToolSpec>,
    tool_places: BTreeMap<ToolName, ProgramIndex>,
    default_patterns: Vec<Pattern>,
    pub(super) workflows: Vec<AgentName>,
    pub(super) inputs: Option<Schema>,
    pub(super) outputs: Option<Schema>,
}

/// The nodes and the rule that orders them.
pub(super) struct Shape {
    pub(super) nodes: Vec<Node>,
    pub(super) index: BTreeMap<NodeName, ProgramIndex>,
    pub(super) entries: Vec<ProgramIndex>,
    pub(super) by_data: bool,
    pub(super) max_nodes: u32,
    pub(super) limits: Limits,
    pub(super) data: BTreeMap<String, (ProgramIndex, bool)>,
}

impl Program {
    /// Compiles `root` with the agents and tools that `lookup` resolves.
    ///
    /// # Errors
    /// All problems of the definition at once.
    pub fn compile(root: Root, settings: Settings, lookup: &dyn Lookup) -> Result<Self, Problems> {
        Self::from_definition(Definition::gather(root, settings, lookup))
    }

    /// Compiles a self-contained definition, such as one from a journal.
    ///
    /// # Errors
    /// All problems of the definition at once.
    pub fn from_definition(definition: Definition) -> Result<Self, Problems> {
        let mut compiler = Compiler::new(&definition);
        let shape = match &definition.root {
            Root::Plan(plan) => compiler.plan(plan),
            Root::StaticPlan(plan) => compiler.static_plan(plan),
            Root::Workflow(workflow) => compiler.workflow(workflow),
            Root::Agent(agent) => compiler.single(agent),
        };
        let fallbacks = compiler.fallbacks();
        compiler.check_children();
        let Compiler { problems, agents, tools, workflows, inputs, outputs, .. } = compiler;
        let Some(shape) = shape.filter(|_| problems.is_empty()) else {
            return Err(Problems { what: definition.root.title(), problems });
        };
        let text = serde_json::to_string(&definition).unwrap_or_default();
        let own = definition.settings.limits;
        // The rest of a parent's budget never widens the definition's own limits.
        let limits = Limits {
            tokens: tighter(own.tokens, shape.limits.tokens),
            cost_usd: tighter(own.cost_usd, shape.limits.cost_usd),
            seconds: tighter(own.seconds, shape.limits.seconds),
            context_tokens: tighter(own.context_tokens, shape.limits.context_tokens),
        };
        Ok(Self {
            version: derive::digest([text.as_str()]),
            nodes: shape.nodes,
            index: shape.index.into_iter().map(|(name, place)| (name.as_str().to_owned(), place)).collect(),
            entries: shape.entries,
            by_data: shape.by_data,
            max_nodes: shape.max_nodes,
            limits,
            data: shape.data,
            agents,
            tools,
            fallbacks,
            workflows,
            inputs,
            outputs,
            definition,
        })
    }
}

impl<'a> Compiler<'a> {
    fn new(definition: &'a Definition) -> Self {
        Self {
            definition,
            problems: Vec::new(),
            agents: Vec::new(),
            agent_places: BTreeMap::new(),
            tools: Vec::new(),
            tool_places: BTreeMap::new(),
            default_patterns: vec![Pattern::React],
            workflows: Vec::new(),
            inputs: None,
            outputs: None,
        }
    }

    pub(super) fn definition(&self) -> &'a Definition {
        self.definition
    }

    /// Checks that the workflows of sub-tasks compile, too.
    fn check_children(&mut self) {
        for (name, workflow) in &self.definition.workflows {
            let mut child = Compiler::new(self.definition);
            let _shape_is_compiled_at_run_time = child.workflow(workflow);
            for mut problem in child.problems {
                problem.field = format!("workflow {name}: {}", problem.field);
                self.problems.push(problem);
            }
        }
    }

    pub(super) fn problem(
        &mut self,
        field: impl Into<String>,
        rule: impl Into<String>,
        value: impl std::fmt::Display,
    ) {
        self.problems.push(Problem::new(field, rule, value));
    }

    /// Sets the patterns of the workflow, which apply to agents without patterns of their own.
    pub(super) fn patterns(&mut self, patterns: &[Pattern]) {
        if !patterns.is_empty() {
            self.default_patterns = patterns.to_vec();
        }
    }

    fn single(&mut self, agent: &Agent) -> Option<Shape> {
        agent.check(&mut self.problems);
        let place = self.add_agent(agent, "");
        let name = NodeName::new(agent.name.as_str()).ok()?;
        Some(Shape {
            nodes: vec![Node::new(name.clone(), NodeWork::Agent(place))],
            index: BTreeMap::from([(name, 0)]),
            entries: vec![0],
            by_data: false,
            max_nodes: 1,
            limits: agent.limits,
            data: BTreeMap::new(),
        })
    }

    /// The index of a named agent.
    pub(super) fn agent(&mut self, name: &AgentName, field: &str) -> Option<ProgramIndex> {
        if let Some(place) = self.agent_places.get(name) {
            return Some(*place);
        }
        let Some(agent) = self.definition.agents.get(name) else {
            let known: Vec<&str> = self.definition.agents.keys().map(|name| name.as_str()).collect();
            let rule = if known.is_empty() {
                "must be an agent that is defined".to_owned()
            } else {
                format!("must be an agent that is defined (known here: {})", known.join(", "))
            };
            self.problem(field, rule, name);
            return None;
        };
        Some(self.add_agent(agent, field))
    }

    fn add_agent(&mut self, agent: &Agent, field: &str) -> ProgramIndex {
        let place = place_of(self.agents.len());
        self.agent_places.insert(agent.name.clone(), place);
        let own = agent.patterns != [Pattern::React];
        let patterns = if own { agent.patterns.clone() } else { self.default_patterns.clone() };
        self.agents.push(AgentSpec { agent: agent.clone(), patterns, callable: BTreeMap::new() });
        let mut callable = BTreeMap::new();
        let at = |part: &str| {
            if field.is_empty() { part.to_owned() } else { format!("{field} ({}).{part}", agent.name) }
        };
        for tool in &agent.tools {
            if let Some(tool_place) = self.tool(tool, &at("tools")) {
                callable.insert(tool.as_str().to_owned(), Callable::Tool(tool_place));
            }
        }
        for sub in &agent.sub_agents {
            if let Some(sub_place) = self.agent(sub, &at("sub_agents")) {
                let free = callable.insert(sub.as_str().to_owned(), Callable::Agent(sub_place)).is_none();
                if !free {
                    self.problem(at("sub_agents"), "must not have the name of a tool", sub);
                }
            }
        }
        if let Some(spec) = self.agents.get_mut(place as usize) {
            spec.callable = callable;
        }
        place
    }

    /// The index of a named tool.
    pub(super) fn tool(&mut self, name: &ToolName, field: &str) -> Option<ProgramIndex> {
        if let Some(place) = self.tool_places.get(name) {
            return Some(*place);
        }
        let Some(tool) = self.definition.tools.get(name) else {
            self.problem(field, "must be a tool that is registered", name);
            return None;
        };
        let place = place_of(self.tools.len());
        self.tool_places.insert(name.clone(), place);
        self.tools.push(tool.clone());
        for fallback in &tool.fallback_tools {
            self.tool(fallback, &format!("{field} ({name}).fallback_tools"));
        }
        Some(place)
    }

    /// Whether repeating a named tool is safe.
    pub(super) fn safety(&self, name: &ToolName) -> Option<Idempotency> {
        self.definition.tools.get(name).map(|tool| tool.safety)
    }

    fn fallbacks(&self) -> Vec<Vec<ProgramIndex>> {
        let places = |tool: &ToolSpec| {
            tool.fallback_tools.iter().filter_map(|name| self.tool_places.get(name).copied()).collect()
        };
        self.tools.iter().map(places).collect()
    }

    pub(super) fn expression(&mut self, source: &str, field: &str) -> Option<Expression> {
        Expression::compile(source).map_err(|rule| self.problem(field, rule, source)).ok()
    }

    pub(super) fn template(&mut self, text: &str, field: &str) -> Option<Template> {
        Template::text(text).map_err(|rule| self.problem(field, rule, text)).ok()
    }

    pub(super) fn arguments(&mut self, arguments: &JsonObject, field: &str) -> Vec<(String, Template)> {
        let mut templates = Vec::new();
        for (name, value) in arguments {
            match Template::compile(value) {
                Ok(template) => templates.push((name.clone(), template)),
                Err(rule) => self.problem(format!("{field}.{name}"), rule, value),
            }
        }
        templates
    }
}

fn tighter<N: PartialOrd>(one: Option<N>, other: Option<N>) -> Option<N> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Converts an index. Definitions hold far fewer than four billion parts.
pub(super) fn place_of(index: usize) -> ProgramIndex {
    ProgramIndex::try_from(index).unwrap_or(ProgramIndex::MAX)
}
