//! Plans: dependencies follow from inputs, outputs and expressions. Independent subtasks run in
//! parallel.

use super::compile::{Compiler, Shape, place_of};
use super::{Node, NodeWork, ProgramIndex};
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{Check, Limits, NodeName, Plan, find_cycle};

impl Compiler<'_> {
    pub(super) fn plan(&mut self, plan: &Plan) -> Option<Shape> {
        plan.check(&mut self.problems);
        let index: BTreeMap<NodeName, ProgramIndex> = plan
            .subtasks
            .iter()
            .enumerate()
            .map(|(place, task)| (task.task_id.clone(), place_of(place)))
            .collect();
        let mut data: BTreeMap<String, (ProgramIndex, bool)> = BTreeMap::new();
        for (place, task) in plan.subtasks.iter().enumerate() {
            for output in &task.outputs {
                let maker = (place_of(place), task.outputs.len() == 1);
                if data.insert(output.as_str().to_owned(), maker).is_some() {
                    let field = format!("subtasks.{}.outputs", task.task_id);
                    self.problem(field, "must be made by one subtask only", output);
                }
            }
        }
        let mut nodes: Vec<Node> = Vec::new();
        for task in &plan.subtasks {
            let field = format!("subtasks.{}", task.task_id);
            let tool = self.tool(&task.tool_name, &format!("{field}.tool_name"));
            let mut node = Node::new(task.task_id.clone(), NodeWork::Tool(tool.unwrap_or_default()));
            node.arguments = self.arguments(&task.arguments, &format!("{field}.arguments"));
            let mut needs: BTreeSet<ProgramIndex> =
                task.dependencies.iter().filter_map(|name| index.get(name).copied()).collect();
            for input in &task.inputs {
                match data.get(input.as_str()) {
                    Some((maker, _)) => {
                        needs.insert(*maker);
                    }
                    None if input.as_str() == "input" => {}
                    None => self.problem(
                        format!("{field}.inputs"),
                        "must be an output of a subtask, or input",
                        input,
                    ),
                }
            }
            for (_, template) in &node.arguments {
                for expression in template.expressions() {
                    needs.extend(expression.nodes().iter().filter_map(|name| {
                        NodeName::new(name.as_str()).ok().and_then(|name| index.get(&name).copied())
                    }));
                    if expression.uses("data") {
                        needs.extend(
                            task.inputs.iter().filter_map(|name| data.get(name.as_str())).map(|(m, _)| *m),
                        );
                    }
                }
            }
            node.needs = needs.into_iter().collect();
            nodes.push(node);
        }
        self.known_names(&nodes, &index);
        self.check_acyclic(&nodes);
        let needs: Vec<Vec<ProgramIndex>> = nodes.iter().map(|node| node.needs.clone()).collect();
        for (place, needs) in needs.iter().enumerate() {
            for need in needs {
                if let Some(node) = nodes.get_mut(*need as usize) {
                    node.feeds.push(place_of(place));
                }
            }
        }
        let entries = nodes.iter().enumerate().filter(|(_, node)| node.needs.is_empty());
        let entries = entries.map(|(place, _)| place_of(place)).collect();
        let max_nodes = place_of(nodes.len());
        Some(Shape { nodes, index, entries, by_data: true, max_nodes, limits: Limits::default(), data })
    }

    fn check_acyclic(&mut self, nodes: &[Node]) {
        let name = |place: &ProgramIndex| nodes.get(*place as usize).map_or("?", |node| node.name.as_str());
        let ways: BTreeMap<&str, BTreeSet<&str>> =
            nodes.iter().map(|node| (node.name.as_str(), node.needs.iter().map(name).collect())).collect();
        if self.problems.is_empty()
            && let Some(cycle) = find_cycle(&ways)
        {
            self.problem("subtasks", "must not need each other in a circle", cycle.join(" -> "));
        }
    }
}
