//! Diagrams of a program, optionally with the state of its nodes: Mermaid for documents, SVG for
//! everything else.

mod mermaid;
mod svg;

use crate::program::{MapWork, NodeWork, ProgramIndex, Transition};
use crate::{NodeStatus, Program, State};

/// A line between two nodes; `None` is the start or the end.
struct Line {
    from: Option<ProgramIndex>,
    to: Option<ProgramIndex>,
    label: String,
    /// Set for edges on failure and for joins.
    dashed: bool,
}

impl Program {
    /// The graph as Mermaid. With a state, each node is coloured by its status.
    #[must_use]
    pub fn to_mermaid(&self, state: Option<&State>) -> String {
        mermaid::draw(self, state)
    }

    /// The edges between the nodes, each with its condition; `None` is the start or the end.
    #[must_use]
    pub fn ways(&self) -> Vec<(Option<&str>, Option<&str>, String)> {
        let name = |place: Option<ProgramIndex>| Some(self.node(place?)?.name.as_str());
        lines(self).into_iter().map(|line| (name(line.from), name(line.to), line.label)).collect()
    }

    /// The graph as SVG. With a state, each node is coloured by its status.
    #[must_use]
    pub fn to_svg(&self, state: Option<&State>) -> String {
        svg::draw(self, state)
    }
}

fn lines(program: &Program) -> Vec<Line> {
    let line = |from, to, label: &str, dashed| Line { from, to, label: label.to_owned(), dashed };
    let mut lines: Vec<Line> =
        program.entries.iter().map(|entry| line(None, Some(*entry), "", false)).collect();
    for (place, node) in program.nodes.iter().enumerate() {
        let from = Some(place as ProgramIndex);
        let mut joins: Vec<Option<ProgramIndex>> = vec![from];
        if let NodeWork::Parallel { branches, .. } = &node.work {
            // Where every branch is a single node, the edge is drawn from the branches, because
            // they join there.
            let alone =
                |branch: &ProgramIndex| program.node(*branch).is_some_and(|node| node.edges.is_empty());
            if branches.iter().all(alone) {
                joins = branches.iter().map(|branch| Some(*branch)).collect();
            }
            lines.extend(branches.iter().map(|branch| line(from, Some(*branch), "branch", true)));
        }
        lines.extend(node.feeds.iter().map(|next| line(from, Some(*next), "", false)));
        for (edge, start) in node.edges.iter().flat_map(|edge| joins.iter().map(move |start| (edge, *start)))
        {
            let guard = edge.guard.as_ref().map_or("", |guard| guard.source());
            match &edge.to {
                Transition::To(to) => lines.push(line(start, *to, guard, false)),
                Transition::Routes(routes) => {
                    lines.extend(routes.iter().map(|(key, to)| line(start, *to, key, false)));
                }
            }
        }
        if let Some(rescue) = node.on_error {
            lines.push(line(from, rescue, "on error", true));
        }
        if node.edges.is_empty() && node.feeds.is_empty() && !in_branch(program, place as ProgramIndex) {
            lines.extend(joins.iter().map(|start| line(*start, None, "", false)));
        }
    }
    lines
}

/// Whether a node is the first of a branch; its end is the join, not the end of the run.
fn in_branch(program: &Program, place: ProgramIndex) -> bool {
    let holds =
        |work: &NodeWork| matches!(work, NodeWork::Parallel { branches, .. } if branches.contains(&place));
    program.nodes.iter().any(|node| holds(&node.work))
}

fn status(state: Option<&State>, place: usize) -> Option<NodeStatus> {
    state.and_then(|state| state.nodes.get(place)).map(|run| run.status)
}

/// The kind of a node, for its label.
fn kind(program: &Program, work: &NodeWork) -> String {
    match work {
        NodeWork::Agent(agent) => {
            program.agent(*agent).map_or_else(String::new, |spec| format!("agent {}", spec.agent.name))
        }
        NodeWork::Tool(tool) => {
            program.tool(*tool).map_or_else(String::new, |tool| format!("tool {}", tool.name))
        }
        NodeWork::Condition => "condition".to_owned(),
        NodeWork::Human => "human".to_owned(),
        NodeWork::Parallel { branches, needs, .. } => format!("parallel, {needs} of {}", branches.len()),
        NodeWork::Map { work, concurrency, .. } => {
            let what = match work {
                MapWork::Tool(place) => kind(program, &NodeWork::Tool(*place)),
                MapWork::Agent(place) => kind(program, &NodeWork::Agent(*place)),
                MapWork::Workflow(place) => kind(program, &NodeWork::Workflow(*place)),
            };
            format!("map {what}, {concurrency} at once")
        }
        NodeWork::Workflow(place) => {
            program.workflow(*place).map_or_else(String::new, |name| format!("workflow {name}"))
        }
        other => other.kind().to_owned(),
    }
}
