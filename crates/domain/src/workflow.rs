//! Workflows: graphs of agents, tools, conditions and people.

use crate::valid::require;
use crate::workflow_parts::{Escalation, ItemFailure, RetryPolicy, check_fields};
use crate::{
    AgentName, Check, Iterations, JsonObject, Label, Limits, MapConcurrency, NodeName, Pattern, Problem,
    ToolName, ToolTimeout,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A workflow definition, as loaded from its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// The workflow's name, which is also the name of its file.
    pub name: AgentName,
    /// What it is for, in a sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema of the input. Checked before a run starts; `default` of a property fills in
    /// what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<JsonObject>,
    /// A JSON Schema of the result. Checked when a run is about to complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<JsonObject>,
    /// Pattern sequence, such as `[react, reflection]`.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
    /// The nodes by name.
    pub nodes: BTreeMap<NodeName, NodeDef>,
    /// The ways between them.
    #[serde(default)]
    pub edges: Vec<EdgeDef>,
    /// The first node.
    pub entry_point: NodeName,
    /// Nodes at which a person may intervene.
    #[serde(default)]
    pub checkpoints: Vec<NodeName>,
    /// Maximum number of nodes that a run may visit.
    #[serde(default = "fifty")]
    pub max_iterations: Iterations,
    /// Accepts back edges that carry a condition, bounded by `max_iterations`.
    #[serde(default)]
    pub allow_cycles: bool,
    /// The budget of one run.
    #[serde(default)]
    pub limits: Limits,
}

fn fifty() -> Iterations {
    Iterations::new(50).unwrap_or_default()
}

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeDef {
    /// The kind of node.
    #[serde(rename = "type")]
    pub kind: NodeKind,
    /// The agent, when the type is `agent`.
    #[serde(default)]
    pub agent: Option<AgentName>,
    /// The tool, when the type is `tool`.
    #[serde(default)]
    pub tool: Option<ToolName>,
    /// The nodes to run at once, when the type is `parallel`.
    #[serde(default)]
    pub branches: Vec<NodeName>,
    /// How many branches must succeed before a `parallel` node continues.
    #[serde(default)]
    pub join: Join,
    /// Whether a `parallel` node that waits for all continues with partial results when some
    /// branches fail.
    #[serde(default)]
    pub partial: bool,
    /// The prompt of an agent, or the text shown to a person; `${…}` holds an expression.
    #[serde(default)]
    pub input: Option<String>,
    /// The arguments of a tool; `${…}` in a text holds an expression.
    #[serde(default)]
    pub arguments: JsonObject,
    /// An expression whose value becomes the state's `routing_key` when the node is done.
    #[serde(default)]
    pub routing_key: Option<String>,
    /// The name under which the node's output is kept in the state's `metadata`.
    #[serde(default)]
    pub save_as: Option<NodeName>,
    /// The node to continue with when this one fails; without it the run fails.
    #[serde(default)]
    pub on_error: Option<NodeName>,
    /// Time limit of the tool call; overrides that of the tool.
    #[serde(default)]
    pub timeout_seconds: Option<ToolTimeout>,
    /// How long to wait for a person; a day by default.
    #[serde(default)]
    pub expires_seconds: Option<u32>,
    /// What happens to a `human` node when no decision arrives in time.
    #[serde(default)]
    pub on_timeout: TimeoutOutcome,
    /// The workflow that runs as a task of its own, when the type is `workflow` or `map`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<AgentName>,
    /// An expression that gives the list of a `map`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// How many items of a `map` are worked on at once; 4 when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<MapConcurrency>,
    /// What becomes of a `map` when an item fails.
    #[serde(default, skip_serializing_if = "ItemFailure::is_default")]
    pub on_item_error: ItemFailure,
    /// What a `transform` gives: any JSON whose texts may hold `${…}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
    /// How long a `timer` waits: `90s`, `15m`, `2h`, `1d`, `1h 30m`; may hold `${…}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Until when a `timer` waits: a time of day such as `03:00`, or a date and time; may hold
    /// `${…}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The IANA time zone of `until`; UTC when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The name of the signal that a `signal` node waits for; the node's name when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<NodeName>,
    /// A JSON Schema of what a signal carries. A signal that does not fit is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<JsonObject>,
    /// How often and when the node's work is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// The roles that may decide on a `human` node; everybody who may approve when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Label>,
    /// Who is asked next when there is no answer in time, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalate: Vec<Escalation>,
}

/// How many branches must succeed: `all`, `any`, or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Join {
    /// `all` or `any`.
    Word(JoinWord),
    /// This many.
    Count(u32),
}

/// The two words of a [`Join`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JoinWord {
    /// Every branch.
    All,
    /// The first that succeeds; the others are cancelled.
    Any,
}

impl Default for Join {
    fn default() -> Self {
        Self::Word(JoinWord::All)
    }
}

impl Join {
    /// How many of `branches` must succeed.
    #[must_use]
    pub fn needs(self, branches: usize) -> usize {
        match self {
            Self::Word(JoinWord::All) => branches,
            Self::Word(JoinWord::Any) => 1,
            Self::Count(count) => count as usize,
        }
    }
}

/// What happens when no decision arrives in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutOutcome {
    /// The run fails with an error.
    #[default]
    Fail,
    /// As if rejected.
    Reject,
    /// As if approved. Ignored for a tool that needs approval: a missing answer is not an approval.
    Approve,
}

/// The kinds of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// An agent's loop.
    Agent,
    /// One tool call.
    Tool,
    /// Selects an edge by the edges' conditions.
    Condition,
    /// Waits for a person.
    Human,
    /// Runs its branches at once.
    Parallel,
    /// Does the same for each item of a list.
    Map,
    /// Waits for a duration, or until a time.
    Timer,
    /// Runs another workflow as a task of its own.
    Workflow,
    /// Computes a value.
    Transform,
    /// Waits for a signal from outside.
    Signal,
}

impl NodeKind {
    /// The kind in the words of JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Condition => "condition",
            Self::Human => "human",
            Self::Parallel => "parallel",
            Self::Map => "map",
            Self::Timer => "timer",
            Self::Workflow => "workflow",
            Self::Transform => "transform",
            Self::Signal => "signal",
        }
    }
}

/// An edge from one node to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeDef {
    /// The start node.
    pub from: NodeName,
    /// The target: a node, `__end__`, or a map from routing key to node.
    pub to: EdgeTarget,
    /// The condition under which it is taken.
    #[serde(default)]
    pub condition: Option<String>,
}

/// One target, or one for each routing key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum EdgeTarget {
    /// Always this node.
    Node(NodeName),
    /// The node for the state's `routing_key`.
    Routes(BTreeMap<String, NodeName>),
}

impl EdgeDef {
    fn targets(&self) -> Vec<&NodeName> {
        match &self.to {
            EdgeTarget::Node(node) => vec![node],
            EdgeTarget::Routes(routes) => routes.values().collect(),
        }
    }

    fn is_conditional(&self) -> bool {
        self.condition.is_some() || matches!(self.to, EdgeTarget::Routes(_))
    }
}

impl Workflow {
    /// The name of the end, which is not a node.
    pub const END: &'static str = "__end__";

    fn ways(&self, only_plain: bool) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut ways: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for edge in self.edges.iter().filter(|edge| !only_plain || !edge.is_conditional()) {
            ways.entry(&edge.from).or_default().extend(edge.targets().into_iter().map(|node| &**node));
        }
        for (name, node) in &self.nodes {
            let rescue = node.on_error.iter().filter(|_| !only_plain);
            ways.entry(name).or_default().extend(node.branches.iter().chain(rescue).map(|next| &**next));
        }
        ways
    }
}

/// The first cycle found in a graph, as the path that closes it: `a -> b -> a`.
pub fn find_cycle<'a>(ways: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Option<Vec<&'a str>> {
    let mut done = BTreeSet::new();
    for start in ways.keys() {
        // Depth-first search without recursion: the current path, and for each node on it the
        // children still to be visited.
        let mut path: Vec<(&str, Vec<&str>)> = vec![(start, children(ways, start))];
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            match rest.pop() {
                Some(next) if path.iter().any(|(on_path, _)| *on_path == next) => {
                    let mut cycle: Vec<&str> =
                        path.iter().map(|(n, _)| *n).skip_while(|n| *n != next).collect();
                    cycle.push(next);
                    return Some(cycle);
                }
                Some(next) if !done.contains(next) => path.push((next, children(ways, next))),
                Some(_) => {}
                None => {
                    done.insert(node);
                    path.pop();
                }
            }
        }
    }
    None
}

fn children<'a>(ways: &BTreeMap<&'a str, BTreeSet<&'a str>>, node: &str) -> Vec<&'a str> {
    ways.get(node).map(|next| next.iter().copied().collect()).unwrap_or_default()
}

impl Check for Workflow {
    const ENTITY: &'static str = "Workflow";
    fn check(&self, problems: &mut Vec<Problem>) {
        let known = |name: &NodeName| self.nodes.contains_key(name);
        require(
            problems,
            known(&self.entry_point),
            "entry_point",
            "must be one of the nodes",
            &self.entry_point,
        );
        for (index, edge) in self.edges.iter().enumerate() {
            require(
                problems,
                known(&edge.from),
                &format!("edges[{index}].from"),
                "must be one of the nodes",
                &edge.from,
            );
            for target in edge.targets() {
                let there = known(target) || &**target == Self::END;
                require(
                    problems,
                    there,
                    &format!("edges[{index}].to"),
                    "must be one of the nodes or __end__",
                    target,
                );
            }
        }
        for checkpoint in &self.checkpoints {
            require(problems, known(checkpoint), "checkpoints", "must be among the nodes", checkpoint);
        }
        for (name, node) in &self.nodes {
            let field = format!("nodes.{name}");
            let is = |kind| node.kind == kind;
            require(problems, &**name != Self::END, &field, "must not be called __end__", name);
            check_fields(problems, name, node);
            require(
                problems,
                is(NodeKind::Parallel) != node.branches.is_empty(),
                &field,
                "has branches exactly when its type is parallel",
                name,
            );
            if let Some(rescue) = &node.on_error {
                let there = known(rescue) || &**rescue == Self::END;
                require(
                    problems,
                    there,
                    &format!("{field}.on_error"),
                    "must be one of the nodes or __end__",
                    rescue,
                );
            }
            let needs = node.join.needs(node.branches.len());
            require(
                problems,
                node.branches.is_empty() || (1..=node.branches.len()).contains(&needs),
                &format!("{field}.join"),
                "must be all, any, or a number of branches that there are",
                needs,
            );
            for branch in &node.branches {
                require(
                    problems,
                    known(branch),
                    &format!("{field}.branches"),
                    "must be among the nodes",
                    branch,
                );
            }
        }
        let mut reached = BTreeSet::from([&*self.entry_point]);
        let ways = self.ways(false);
        let mut front = vec![&*self.entry_point];
        while let Some(node) = front.pop() {
            front.extend(children(&ways, node).into_iter().filter(|next| reached.insert(next)));
        }
        for name in self.nodes.keys() {
            require(
                problems,
                reached.contains(&**name),
                &format!("nodes.{name}"),
                "must be reachable from the entry point",
                name,
            );
        }
        if let Some(cycle) = find_cycle(&self.ways(self.allow_cycles)) {
            let rule = if self.allow_cycles {
                "must not contain a cycle without a condition"
            } else {
                "must not contain a cycle (set allow_cycles to accept conditional back edges)"
            };
            problems.push(Problem::new("edges", rule, cycle.join(" -> ")));
        }
    }
}
