//! Workflows: the rules of the domain, and the checks that need agents, tools and expressions.

use super::compile::{Compiler, Shape, place_of};
use super::{Edge, Node, NodeWork, ProgramIndex, Transition, regions};
use crate::expression::Expression;
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{Check, EdgeDef, EdgeTarget, NodeDef, NodeKind, NodeName, Workflow};

impl Compiler<'_> {
    pub(super) fn workflow(&mut self, workflow: &Workflow) -> Option<Shape> {
        workflow.check(&mut self.problems);
        self.patterns(&workflow.patterns);
        self.inputs = workflow.inputs.as_ref().and_then(|schema| self.schema(schema, "inputs"));
        self.outputs = workflow.outputs.as_ref().and_then(|schema| self.schema(schema, "outputs"));
        let index: BTreeMap<NodeName, ProgramIndex> =
            workflow.nodes.keys().enumerate().map(|(place, name)| (name.clone(), place_of(place))).collect();
        let mut nodes: Vec<Node> =
            workflow.nodes.iter().map(|(name, def)| self.node(name, def, &index, workflow)).collect();
        for (number, edge) in workflow.edges.iter().enumerate() {
            let compiled = self.edge(number, edge, &index);
            let place = index.get(&edge.from).copied();
            let Some(node) = place.and_then(|place| nodes.get_mut(place as usize)) else { continue };
            let always = node.edges.last().is_some_and(|last| last.guard.is_none());
            if always {
                let rule =
                    "comes after an edge that is always taken (to run both at once, use a parallel node)";
                self.problem(format!("edges[{number}]"), rule, format!("{} -> …", edge.from));
            }
            node.edges.push(compiled);
        }
        self.known_names(&nodes, &index);
        regions::check(&nodes, index.get(&workflow.entry_point).copied(), &mut self.problems);
        let entry = *index.get(&workflow.entry_point)?;
        Some(Shape {
            nodes,
            index,
            entries: vec![entry],
            by_data: false,
            max_nodes: workflow.max_iterations.get(),
            limits: workflow.limits,
            data: BTreeMap::new(),
        })
    }

    fn node(
        &mut self,
        name: &NodeName,
        def: &NodeDef,
        index: &BTreeMap<NodeName, ProgramIndex>,
        workflow: &Workflow,
    ) -> Node {
        let field = format!("nodes.{name}");
        let work = match def.kind {
            NodeKind::Agent => {
                let agent = def.agent.as_ref().and_then(|agent| self.agent(agent, &format!("{field}.agent")));
                NodeWork::Agent(agent.unwrap_or_default())
            }
            NodeKind::Tool => {
                let tool = def.tool.as_ref().and_then(|tool| self.tool(tool, &format!("{field}.tool")));
                NodeWork::Tool(tool.unwrap_or_default())
            }
            NodeKind::Condition => NodeWork::Condition,
            NodeKind::Human => NodeWork::Human,
            NodeKind::Parallel => NodeWork::Parallel {
                branches: def.branches.iter().filter_map(|branch| index.get(branch).copied()).collect(),
                needs: place_of(def.join.needs(def.branches.len())),
                partial: def.partial,
            },
            NodeKind::Map => self.map_work(def, &field),
            NodeKind::Timer if def.until.is_some() => NodeWork::Until,
            NodeKind::Timer => NodeWork::Timer,
            NodeKind::Workflow => NodeWork::Workflow(self.child(def, &field).unwrap_or_default()),
            NodeKind::Transform => NodeWork::Transform,
            NodeKind::Signal => NodeWork::Signal,
        };
        let mut node = Node::new(name.clone(), work);
        node.gate = workflow.checkpoints.contains(name);
        node.input = def.input.as_ref().and_then(|text| self.template(text, &format!("{field}.input")));
        node.arguments = self.arguments(&def.arguments, &format!("{field}.arguments"));
        node.routing_key = def
            .routing_key
            .as_ref()
            .and_then(|source| self.expression(source, &format!("{field}.routing_key")));
        node.save_as.clone_from(&def.save_as);
        node.on_error = def.on_error.as_ref().map(|rescue| index.get(rescue).copied());
        node.timeout_seconds = def.timeout_seconds.map(steward_domain::ToolTimeout::get);
        node.expires_seconds = def.expires_seconds;
        node.on_timeout = def.on_timeout;
        self.kind_specific_fields(&mut node, def, &field);
        node
    }

    fn edge(&mut self, number: usize, edge: &EdgeDef, index: &BTreeMap<NodeName, ProgramIndex>) -> Edge {
        let guard = edge
            .condition
            .as_ref()
            .and_then(|source| self.expression(source, &format!("edges[{number}].condition")));
        let to = match &edge.to {
            EdgeTarget::Node(target) => Transition::To(index.get(target).copied()),
            EdgeTarget::Routes(routes) => {
                if routes.is_empty() {
                    self.problem(format!("edges[{number}].to"), "must name at least one route", "{}");
                }
                Transition::Routes(
                    routes.iter().map(|(key, target)| (key.clone(), index.get(target).copied())).collect(),
                )
            }
        };
        Edge { guard, to }
    }

    /// Checks that expressions name existing nodes.
    pub(super) fn known_names(&mut self, nodes: &[Node], index: &BTreeMap<NodeName, ProgramIndex>) {
        let names: BTreeSet<&str> = index.keys().map(|name| name.as_str()).collect();
        for node in nodes {
            let templates = node.input.iter().chain(node.arguments.iter().map(|(_, template)| template));
            let per_item: Vec<&Expression> = templates.flat_map(|template| template.expressions()).collect();
            let guards = node.edges.iter().filter_map(|edge| edge.guard.as_ref());
            let values = node.value.iter().flat_map(|template| template.expressions());
            let once: Vec<&Expression> =
                guards.chain(&node.routing_key).chain(&node.over).chain(values).collect();
            let is_map = matches!(node.work, NodeWork::Map { .. });
            let outside: &[&Expression] = if is_map { &[] } else { &per_item };
            for expression in once.iter().chain(outside) {
                for name in ["item", "index"].into_iter().filter(|name| expression.uses(name)) {
                    let rule =
                        format!("reads {name}, which there is only in the arguments and the input of a map");
                    self.problem(format!("nodes.{}", node.name), rule, expression.source());
                }
            }
            for expression in once.into_iter().chain(per_item) {
                for used in expression.nodes().iter().filter(|used| !names.contains(used.as_str())) {
                    let rule = format!("reads the node {used}, which there is not");
                    self.problem(format!("nodes.{}", node.name), rule, expression.source());
                }
            }
        }
    }
}
