//! Static plans: references lead to earlier steps only, and steps with side effects keep their
//! order.

use super::compile::{Compiler, Shape, place_of};
use super::{Node, NodeWork, ProgramIndex};
use crate::static_plan::{
    ANSWER_STEP, CompiledExtraction, CompiledStep, StaticPlan, StaticStep, ValueTemplate,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{Idempotency, Limits, NodeName};

impl Compiler<'_> {
    pub(super) fn static_plan(&mut self, plan: &StaticPlan) -> Option<Shape> {
        for (field, rule) in plan.problems() {
            self.problem(field, rule, "");
        }
        let extractor = self.agent(&plan.extractor, "extractor")?;
        let writer = self.agent(&plan.writer, "writer")?;
        let mut index: BTreeMap<NodeName, ProgramIndex> = BTreeMap::new();
        let mut nodes: Vec<Node> = Vec::new();
        let mut last_change: Option<ProgramIndex> = None;
        for (place, step) in plan.steps.iter().enumerate() {
            let field = format!("steps.{}", step.id);
            let (mut compiled, reads) = self.static_step(step, &field, &index);
            let work = match &step.tool {
                Some(name) => {
                    let tool = self.tool(name, &format!("{field}.tool"));
                    let safety = self.safety(name);
                    compiled.changes = safety.is_none_or(|safety| safety != Idempotency::ReadOnly);
                    NodeWork::Tool(tool.unwrap_or_default())
                }
                None => NodeWork::Agent(extractor),
            };
            let mut needs = reads.clone();
            if compiled.changes {
                needs.extend((0..place).map(place_of));
            } else {
                needs.extend(last_change);
            }
            compiled.after = needs.difference(&reads).copied().collect();
            if compiled.changes {
                last_change = Some(place_of(place));
            }
            let mut node = Node::new(step.id.clone(), work);
            node.needs = needs.into_iter().collect();
            node.step = Some(compiled);
            index.insert(step.id.clone(), place_of(place));
            nodes.push(node);
        }
        let mut answer = Node::new(NodeName::new(ANSWER_STEP).ok()?, NodeWork::Agent(writer));
        answer.needs = (0..nodes.len()).map(place_of).collect();
        answer.step = Some(CompiledStep { after: answer.needs.clone(), ..CompiledStep::default() });
        index.insert(answer.name.clone(), place_of(nodes.len()));
        nodes.push(answer);
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
        let limits = Limits::default();
        Some(Shape { nodes, index, entries, by_data: true, max_nodes, limits, data: BTreeMap::new() })
    }

    /// The values of a step, and the steps that they read.
    fn static_step(
        &mut self,
        step: &StaticStep,
        field: &str,
        known: &BTreeMap<NodeName, ProgramIndex>,
    ) -> (CompiledStep, BTreeSet<ProgramIndex>) {
        let mut compiled = CompiledStep::default();
        let mut used = BTreeSet::new();
        let looped = step.for_each.is_some();
        for (name, value) in &step.arguments {
            if let Some(template) =
                self.plan_value(value, &format!("{field}.arguments.{name}"), looped, &mut used)
            {
                compiled.arguments.push((name.clone(), template));
            }
        }
        let list = step.for_each.as_ref();
        compiled.for_each =
            list.and_then(|list| self.plan_value(list, &format!("{field}.for_each"), false, &mut used));
        compiled.when = step.when.as_ref().and_then(|when| {
            let value = self.plan_value(&when.value, &format!("{field}.when.value"), false, &mut used)?;
            let to = when.to.clone().unwrap_or_default();
            let to = self.plan_value(&to, &format!("{field}.when.to"), false, &mut used)?;
            Some((value, when.is, to))
        });
        compiled.extract = step.extract.as_ref().and_then(|extract| {
            let from = self.plan_value(&extract.from, &format!("{field}.extract.from"), false, &mut used)?;
            let (instruction, value_type) = (extract.instruction.clone(), extract.value_type.clone());
            Some(CompiledExtraction { from, instruction, value_type })
        });
        let mut reads = BTreeSet::new();
        for name in used {
            match NodeName::new(name.as_str()).ok().and_then(|name| known.get(&name).copied()) {
                Some(place) => {
                    reads.insert(place);
                }
                None => self.problem(field, "must refer to steps before it", name),
            }
        }
        (compiled, reads)
    }

    fn plan_value(
        &mut self,
        value: &Value,
        field: &str,
        looped: bool,
        used: &mut BTreeSet<String>,
    ) -> Option<ValueTemplate> {
        match ValueTemplate::compile(value) {
            Ok(template) => {
                if template.sources(used) && !looped {
                    self.problem(field, "may name item and index only in a step with for_each", value);
                }
                Some(template)
            }
            Err(rule) => {
                self.problem(field, rule, value);
                None
            }
        }
    }
}
