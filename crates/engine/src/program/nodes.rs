//! Compiles the nodes that wait, compute, repeat or start other workflows.

use super::compile::{Compiler, place_of};
use super::{MapWork, Node, NodeWork, ProgramIndex};
use crate::duration;
use crate::expression::Template;
use crate::schema::Schema;
use std::collections::BTreeSet;
use steward_domain::{
    AgentName, Idempotency, JsonObject, NodeDef, NodeKind, RetryClass, RetryPolicy, Timestamp, ToolName,
    Workflow,
};

/// The default number of map items in parallel.
const AT_ONCE: u32 = 4;

impl Compiler<'_> {
    pub(super) fn schema(&mut self, source: &JsonObject, field: &str) -> Option<Schema> {
        Schema::compile(source).map_err(|rule| self.problem(field, rule, "its schema")).ok()
    }

    /// The index of the workflow that a node starts.
    pub(super) fn child(&mut self, def: &NodeDef, field: &str) -> Option<ProgramIndex> {
        let name = def.workflow.as_ref()?;
        if !self.definition().workflows.contains_key(name) {
            self.problem(format!("{field}.workflow"), "must be a workflow that is defined", name);
            return None;
        }
        if let Some(place) = self.workflows.iter().position(|known| known == name) {
            return Some(place_of(place));
        }
        self.workflows.push(name.clone());
        Some(place_of(self.workflows.len() - 1))
    }

    pub(super) fn map_work(&mut self, def: &NodeDef, field: &str) -> NodeWork {
        let work = if let Some(tool) = &def.tool {
            MapWork::Tool(self.tool(tool, &format!("{field}.tool")).unwrap_or_default())
        } else if let Some(agent) = &def.agent {
            MapWork::Agent(self.agent(agent, &format!("{field}.agent")).unwrap_or_default())
        } else {
            MapWork::Workflow(self.child(def, field).unwrap_or_default())
        };
        let concurrency = def.concurrency.map_or(AT_ONCE, steward_domain::MapConcurrency::get);
        NodeWork::Map { work, concurrency, on_item_error: def.on_item_error }
    }

    /// Compiles the fields that only some kinds of nodes have.
    pub(super) fn kind_specific_fields(&mut self, node: &mut Node, def: &NodeDef, field: &str) {
        node.over = def.over.as_ref().and_then(|over| self.expression(over, &format!("{field}.over")));
        if let Some(value) = &def.value {
            let compiled = Template::compile(value);
            node.value = compiled.map_err(|rule| self.problem(format!("{field}.value"), rule, value)).ok();
        }
        self.timer(node, def, field);
        if def.kind == NodeKind::Signal {
            node.signal = Some(def.signal.clone().unwrap_or_else(|| node.name.clone()));
            node.schema =
                def.schema.as_ref().and_then(|schema| self.schema(schema, &format!("{field}.schema")));
        }
        node.approvers.clone_from(&def.approvers);
        node.escalate.clone_from(&def.escalate);
        if let Some(retry) = &def.retry {
            self.retry(def, retry, &format!("{field}.retry"));
            node.retry = Some(retry.clone());
        }
    }

    fn timer(&mut self, node: &mut Node, def: &NodeDef, field: &str) {
        if let Some(zone) = &def.zone {
            if let Err(rule) = duration::zone(zone) {
                self.problem(format!("{field}.zone"), rule, zone);
            }
            node.zone.clone_from(zone);
        }
        let (part, text) = match (&def.duration, &def.until) {
            (Some(text), _) => ("duration", text),
            (None, Some(text)) => ("until", text),
            (None, None) => return,
        };
        let field = format!("{field}.{part}");
        node.value = self.template(text, &field);
        // A value without expressions can be checked now.
        if let Some(Template::Fixed(_)) = &node.value {
            let read = match part {
                "duration" => duration::parse_duration(text).map(drop),
                _ => duration::moment_after(text, "UTC", Timestamp::from_micros(0)).map(drop),
            };
            if let Err(rule) = read {
                self.problem(field, rule, text);
            }
        }
    }

    /// Refuses a retry that would repeat a call that must not happen twice.
    fn retry(&mut self, def: &NodeDef, retry: &RetryPolicy, field: &str) {
        let failed = retry.on.contains(&RetryClass::Failed);
        let on = format!("{field}.on");
        if let (Some(tool), true) = (&def.tool, failed)
            && self.safety(tool) == Some(Idempotency::None)
        {
            let rule = "must not hold failed: the tool is neither read-only nor keyed, so what it did \
                        before it failed could happen twice";
            self.problem(&on, rule, tool);
        }
        if def.kind == NodeKind::Agent && failed {
            let rule = "must not hold failed: an agent is tried again when its model cannot be reached. \
                        To repeat its work, put it into a workflow of its own";
            self.problem(&on, rule, "failed");
        }
        let starts_task = def.workflow.is_some() || (def.kind == NodeKind::Map && def.agent.is_some());
        if !starts_task {
            return;
        }
        if !failed {
            let rule = "must hold failed: a sub-task that does not end well has failed";
            self.problem(&on, rule, "without failed");
        }
        if !retry.repeat_effects
            && let Some(tool) = self.tool_with_side_effects(def)
        {
            let rule = format!(
                "repeats {tool}, which is not read-only: set repeat_effects to true if that may happen twice"
            );
            self.problem(field, rule, &tool);
        }
    }

    /// A tool with side effects that the sub-task of a node may call.
    fn tool_with_side_effects(&self, def: &NodeDef) -> Option<ToolName> {
        let definition = self.definition();
        let mut workflows: Vec<&AgentName> = def.workflow.iter().collect();
        let mut agents: Vec<&AgentName> = def.agent.iter().collect();
        let mut tools: Vec<&ToolName> = Vec::new();
        let (mut known, mut known_agents) = (BTreeSet::new(), BTreeSet::new());
        while let Some(name) = workflows.pop() {
            let Some(workflow): Option<&Workflow> = definition.workflows.get(name) else { continue };
            if known.insert(name) {
                workflows.extend(workflow.nodes.values().filter_map(|node| node.workflow.as_ref()));
                agents.extend(workflow.nodes.values().filter_map(|node| node.agent.as_ref()));
                tools.extend(workflow.nodes.values().filter_map(|node| node.tool.as_ref()));
            }
        }
        while let Some(name) = agents.pop() {
            let Some(agent) = definition.agents.get(name) else { continue };
            if known_agents.insert(name) {
                agents.extend(&agent.sub_agents);
                tools.extend(&agent.tools);
            }
        }
        tools
            .into_iter()
            .find(|tool| self.safety(tool).is_some_and(|safety| safety != Idempotency::ReadOnly))
            .cloned()
    }
}
