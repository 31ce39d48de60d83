//! Maps: the same work for each item of a list, with limited parallelism and results in the order
//! of the list. Also sub-workflows, as the work of a map or of their own node.

use super::Step;
use crate::expression::{Expression, as_text};
use crate::program::{MapWork, Node, NodeWork, ProgramIndex};
use crate::state::{Call, ItemResult, MapRun, Owner, Target};
use crate::{Code, Failure};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use steward_domain::{ItemFailure, JsonObject, Provenance};

/// The maximum number of items of one map.
const MAX_MAP_ITEMS: usize = 1000;

/// An item and its index.
#[derive(Clone, Copy)]
struct Item<'a> {
    value: &'a Value,
    index: u32,
    untrusted: bool,
}

impl Step<'_> {
    /// Evaluates the list and starts its first items.
    pub(super) fn begin_map(&mut self, place: ProgramIndex, node: &Node) {
        let Some(over) = &node.over else { return };
        let list = match over.evaluate(&|name| self.value_of(name)) {
            Ok(Value::Array(items)) if items.len() <= MAX_MAP_ITEMS => Ok(items),
            Ok(Value::Array(items)) => {
                Err(format!("`{}` gives {} items; a map takes {MAX_MAP_ITEMS}", over.source(), items.len()))
            }
            Ok(_) => Err(format!(
                "`{}` must give a list; a JSON text becomes one with parse_json(…)",
                over.source()
            )),
            Err(why) => Err(why),
        };
        let items = match list {
            Ok(items) => items,
            Err(why) => return self.node_failed(place, Failure::new(Code::Expression, why)),
        };
        let untrusted = self.trust(over) == Provenance::Untrusted;
        if let Some(run) = self.state.nodes.get_mut(place as usize) {
            let results = vec![None; items.len()];
            run.map = Some(MapRun { items, untrusted, results, ..MapRun::default() });
        }
        self.continue_map(place);
    }

    /// An item has ended, with success or failure.
    pub(super) fn map_item_ended(&mut self, place: ProgramIndex, index: u32, result: ItemResult) {
        if self.store_item_result(place, index, result) {
            self.continue_map(place);
        }
    }

    /// Whether a node is a running map.
    pub(super) fn is_map(&self, place: ProgramIndex) -> bool {
        self.state.run(place).is_some_and(|run| run.map.is_some())
    }

    /// Stores the result of an item. Returns false when the node failed with it.
    fn store_item_result(&mut self, place: ProgramIndex, index: u32, result: ItemResult) -> bool {
        let program = self.program;
        let on_item_error = match program.node(place).map(|node| &node.work) {
            Some(NodeWork::Map { on_item_error, .. }) => *on_item_error,
            _ => return false,
        };
        let Some(map) = self.state.nodes.get_mut(place as usize).and_then(|run| run.map.as_mut()) else {
            return false;
        };
        map.open.remove(&index);
        if let (ItemResult::Failed(failure), ItemFailure::Fail) = (&result, on_item_error) {
            let all = map.items.len();
            let code = if failure.code == Code::Rejected { Code::Rejected } else { Code::MapFailed };
            let message = format!("item {index} of {all} failed: {failure}");
            self.node_failed(place, Failure::new(code, message));
            return false;
        }
        if let Some(slot) = map.results.get_mut(index as usize) {
            *slot = Some(result);
        }
        true
    }

    /// Starts as many items as allowed, and joins when none is left.
    fn continue_map(&mut self, place: ProgramIndex) {
        let program = self.program;
        let Some(node) = program.node(place) else { return };
        let NodeWork::Map { work, concurrency, on_item_error } = node.work else { return };
        loop {
            if self.is_over() {
                return;
            }
            let Some(map) = self.state.nodes.get_mut(place as usize).and_then(|run| run.map.as_mut()) else {
                return;
            };
            let is_full = map.open.len() >= concurrency as usize;
            let Some(value) = map.items.get(map.next as usize).filter(|_| !is_full).cloned() else { break };
            let (index, untrusted) = (map.next, map.untrusted);
            map.next += 1;
            map.open.insert(index);
            if self.over_budget() {
                return;
            }
            let item = Item { value: &value, index, untrusted };
            match self.item_call(place, node, work, item) {
                Ok(call) => {
                    let number = self.new_call(call);
                    self.issue_call(number);
                }
                Err(failure) => {
                    if !self.store_item_result(place, index, ItemResult::Failed(failure)) {
                        return;
                    }
                }
            }
        }
        let done = |map: &MapRun| map.open.is_empty() && map.next as usize >= map.items.len();
        let Some(run) = self.state.nodes.get_mut(place as usize) else { return };
        if !run.map.as_ref().is_some_and(done) {
            return;
        }
        let Some(map) = run.map.take() else { return };
        let any = !map.items.is_empty();
        self.join_map(place, map, on_item_error, any);
    }

    /// Joins the results in the order of the list. The node fails when every item failed.
    fn join_map(&mut self, place: ProgramIndex, map: MapRun, on_item_error: ItemFailure, any: bool) {
        let failed =
            map.results.iter().filter(|result| matches!(result, Some(ItemResult::Failed(_)))).count();
        if any && failed == map.items.len() {
            let first = map.results.into_iter().flatten().find_map(|result| match result {
                ItemResult::Failed(failure) => Some(failure.to_string()),
                ItemResult::Done(_) => None,
            });
            let message = format!("all {failed} items failed; the first: {}", first.unwrap_or_default());
            return self.node_failed(place, Failure::new(Code::MapFailed, message));
        }
        let outputs = map.results.into_iter().flatten().filter_map(|result| match result {
            ItemResult::Done(value) => Some(value),
            ItemResult::Failed(_) if on_item_error == ItemFailure::Skip => None,
            ItemResult::Failed(failure) => {
                Some(json!({ "error": failure.message, "code": failure.code.name() }))
            }
        });
        let outputs = Value::Array(outputs.collect());
        self.node_done(place, Some(outputs), any);
    }

    /// The call of one item.
    fn item_call(
        &mut self,
        place: ProgramIndex,
        node: &Node,
        work: MapWork,
        item: Item<'_>,
    ) -> Result<Call, Failure> {
        let broken = |why: String| Failure::new(Code::Expression, why);
        let owner = Owner::Item(place, item.index);
        Ok(match work {
            MapWork::Tool(tool) => {
                let (arguments, provenance) = self.item_arguments(node, item).map_err(broken)?;
                self.call_for(owner, Target::Tool(tool), tool, arguments, provenance)
            }
            MapWork::Agent(agent) => {
                self.check_depth()?;
                let (text, untrusted) = match &node.input {
                    Some(template) => {
                        let text = template.render(&|name| self.item_value(name, item)).map_err(broken)?;
                        (text, template.provenance(|e| self.item_trust(e, item)) == Provenance::Untrusted)
                    }
                    None => (item.value.clone(), item.untrusted),
                };
                let target = Target::Agent(agent, as_text(&text), untrusted);
                self.call_for(owner, target, 0, JsonObject::new(), BTreeMap::new())
            }
            MapWork::Workflow(workflow) => {
                self.check_depth()?;
                let (input, untrusted) = self.child_input(node, Some(item)).map_err(broken)?;
                let target = Target::Workflow(workflow, input, untrusted);
                self.call_for(owner, target, 0, JsonObject::new(), BTreeMap::new())
            }
        })
    }

    /// Starts the sub-workflow of a node.
    pub(super) fn begin_workflow(&mut self, place: ProgramIndex, node: &Node, workflow: ProgramIndex) {
        let broken = |why: String| Failure::new(Code::Expression, why);
        let target = self
            .check_depth()
            .and_then(|()| self.child_input(node, None).map_err(broken))
            .map(|(input, untrusted)| Target::Workflow(workflow, input, untrusted));
        match target {
            Ok(target) => {
                let owner = Owner::Node(place);
                let call = self.call_for(owner, target, 0, JsonObject::new(), BTreeMap::new());
                let number = self.new_call(call);
                self.issue_call(number);
            }
            Err(failure) => self.node_failed(place, failure),
        }
    }

    /// The input of a sub-workflow: the node's arguments, else its text, else the item or this
    /// run's own input.
    fn child_input(&self, node: &Node, item: Option<Item<'_>>) -> Result<(Value, bool), String> {
        let value = |name: &str| match item {
            Some(item) => self.item_value(name, item),
            None => self.value_of(name),
        };
        let trust = |expression: &Expression| match item {
            Some(item) => self.item_trust(expression, item),
            None => self.trust(expression),
        };
        if !node.arguments.is_empty() {
            let (mut input, mut untrusted) = (Map::new(), false);
            for (name, template) in &node.arguments {
                input.insert(name.clone(), template.render(&value)?);
                untrusted |= template.provenance(trust) == Provenance::Untrusted;
            }
            return Ok((Value::Object(input), untrusted));
        }
        if let Some(template) = &node.input {
            return Ok((template.render(&value)?, template.provenance(trust) == Provenance::Untrusted));
        }
        Ok(match item {
            Some(item) => (item.value.clone(), item.untrusted),
            None => (self.state.input.clone(), self.state.input_untrusted),
        })
    }

    fn check_depth(&self) -> Result<(), Failure> {
        let most = self.program.settings().depth;
        if self.state.depth < most {
            return Ok(());
        }
        Err(Failure::new(Code::TooDeep, format!("workflows and agents may start each other {most} deep")))
    }

    fn item_arguments(
        &self,
        node: &Node,
        item: Item<'_>,
    ) -> Result<(JsonObject, BTreeMap<String, Provenance>), String> {
        let (mut arguments, mut provenance) = (JsonObject::new(), BTreeMap::new());
        for (name, template) in &node.arguments {
            let value = template.render(&|name| self.item_value(name, item))?;
            provenance.insert(name.clone(), template.provenance(|e| self.item_trust(e, item)));
            arguments.insert(name.clone(), value);
        }
        Ok((arguments, provenance))
    }

    fn item_value(&self, name: &str, item: Item<'_>) -> Option<Value> {
        match name {
            "item" => Some(item.value.clone()),
            "index" => Some(Value::from(item.index)),
            other => self.value_of(other),
        }
    }

    fn item_trust(&self, expression: &Expression, item: Item<'_>) -> Provenance {
        let own =
            if expression.uses("item") && item.untrusted { Provenance::Untrusted } else { Provenance::User };
        own.max(self.trust(expression))
    }

    /// A call that the operator's definition makes.
    pub(super) fn call_for(
        &mut self,
        owner: Owner,
        target: Target,
        primary: ProgramIndex,
        arguments: JsonObject,
        provenance: BTreeMap<String, Provenance>,
    ) -> Call {
        Call {
            owner,
            target,
            key: self.new_key(),
            arguments,
            provenance,
            // The operator's definition decides the call, whatever its conditions read.
            origin: Provenance::Operator,
            approval: None,
            resolved: None,
            attempt: 1,
            primary,
            fallbacks: 0,
            needs: None,
            mandated: false,
        }
    }
}
