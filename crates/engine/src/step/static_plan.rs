//! Execution of static plans: values are filled in from results, labelled, and passed to the calls
//! of the plan.
//!
//! Invariant: the decision to make a call is the user's, because the plan was written from their
//! text alone. A value from a result is judged like any value of a tainted session: it counts as
//! the user's only with a proof.

use super::{Enter, Step};
use crate::expression::as_text;
use crate::program::{Node, NodeWork, ProgramIndex};
use crate::state::{Call, ItemResult, Owner, Target, Thread};
use crate::static_plan::{CompiledStep, ItemScope, MAX_ITEMS};
use crate::{Code, Failure, NodeStatus, Root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use steward_domain::{JsonObject, Provenance, Taint};

/// The maximum number of characters of all results in the prompt of the answer.
const ANSWER_CHARS: usize = 60_000;
/// The maximum number of characters in the prompt of an extraction.
const EXTRACT_CHARS: usize = 60_000;

/// The arguments of a call, and the provenance of each.
type LabelledArguments = (JsonObject, BTreeMap<String, Provenance>);

impl Step<'_> {
    /// Sets the taint of a static plan: the user's text, in a session that has read results.
    pub(super) fn begin_static_plan(&mut self) {
        let Root::StaticPlan(plan) = &self.program.definition.root else { return };
        let words = if self.state.input_untrusted { "" } else { plan.words.as_str() };
        let mut taint = Taint::new(words);
        taint.absorb(Provenance::Untrusted);
        self.state.plan_taint = Some(taint);
    }

    pub(super) fn begin_step(&mut self, place: ProgramIndex, node: &Node, step: &CompiledStep) {
        match self.try_begin_step(place, node, step) {
            Ok(()) => {}
            Err(why) => {
                let failure = Failure::new(Code::Expression, format!("{}: {why}", node.name));
                self.node_failed(place, failure);
            }
        }
    }

    fn try_begin_step(
        &mut self,
        place: ProgramIndex,
        node: &Node,
        step: &CompiledStep,
    ) -> Result<(), String> {
        if let Some((value, comparison, to)) = &step.when {
            // A missing value is null, which a condition may test for.
            let value = value.render(&|name| self.step_output(name), None).unwrap_or_default();
            let to = to.render(&|name| self.step_output(name), None)?;
            if !comparison.holds(&value, &to) {
                let why = Failure::new(Code::NeedMissing, "its condition does not hold");
                self.skip_step(place, why, false);
                return Ok(());
            }
        }
        match node.work {
            NodeWork::Agent(agent) => {
                let text = match &step.extract {
                    Some(extract) => {
                        let data = extract.from.render(&|name| self.step_output(name), None)?;
                        let data: String = as_text(&data).chars().take(EXTRACT_CHARS).collect();
                        format!("Wanted: {}\n\nData:\n{data}", extract.instruction)
                    }
                    None => self.answer_text(),
                };
                self.start_session(place, agent, text, true);
            }
            NodeWork::Tool(tool) => {
                let server = self.server_of(&Target::Tool(tool));
                let calls = self.step_calls(step, &server)?;
                let looped = step.for_each.is_some();
                if let Some(run) = self.state.nodes.get_mut(place as usize) {
                    run.items = if looped { vec![None; calls.len()] } else { Vec::new() };
                }
                if calls.is_empty() {
                    self.node_done(place, Some(json!([])), true);
                    return Ok(());
                }
                let mut issued = Vec::with_capacity(calls.len());
                for (number, (arguments, provenance)) in calls.into_iter().enumerate() {
                    let owner = if looped { Owner::Item(place, number as u32) } else { Owner::Node(place) };
                    let key = self.new_key();
                    let origin =
                        if self.state.input_untrusted { Provenance::Untrusted } else { Provenance::User };
                    issued.push(self.new_call(Call {
                        owner,
                        target: Target::Tool(tool),
                        key,
                        arguments,
                        provenance,
                        origin,
                        approval: None,
                        resolved: None,
                        attempt: 1,
                        primary: tool,
                        fallbacks: 0,
                        needs: None,
                        mandated: false,
                    }));
                }
                for call in issued {
                    self.issue_call(call);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The calls of a step: one, or one for each item of its list.
    fn step_calls(&self, step: &CompiledStep, server: &str) -> Result<Vec<LabelledArguments>, String> {
        let Some(list) = &step.for_each else { return Ok(vec![self.step_arguments(step, server, None)?]) };
        let literal = !list.reads_results(None);
        let value = list.render(&|name| self.step_output(name), None)?;
        let value = match value {
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            other => other,
        };
        let Value::Array(items) = value else { return Err("for_each needs a list".to_owned()) };
        if items.len() > MAX_ITEMS {
            return Err(format!(
                "the list has {} items, and a step is repeated {MAX_ITEMS} times at most",
                items.len()
            ));
        }
        let scope = |(index, item)| ItemScope { item, index, literal };
        items.iter().enumerate().map(|one| self.step_arguments(step, server, Some(scope(one)))).collect()
    }

    fn step_arguments(
        &self,
        step: &CompiledStep,
        server: &str,
        item: Option<ItemScope<'_>>,
    ) -> Result<LabelledArguments, String> {
        let (mut arguments, mut provenance) = (JsonObject::new(), BTreeMap::new());
        for (name, template) in &step.arguments {
            let value = template.render(&|name| self.step_output(name), item)?;
            let origin = match &self.state.plan_taint {
                Some(taint) if template.reads_results(item) => taint.judge_value(server, name, &value),
                Some(taint) if !self.state.input_untrusted => taint.judge_literal(&value),
                _ => Provenance::Untrusted,
            };
            provenance.insert(name.clone(), origin);
            arguments.insert(name.clone(), value);
        }
        Ok((arguments, provenance))
    }

    /// The output of a step.
    fn step_output(&self, name: &str) -> Option<Value> {
        self.state.run(*self.program.index.get(name)?)?.output.clone()
    }

    /// The prompt of the agent that writes the answer.
    fn answer_text(&self) -> String {
        let Root::StaticPlan(plan) = &self.program.definition.root else { return String::new() };
        let each = ANSWER_CHARS / plan.steps.len().max(1);
        let mut text = format!("The person asked:\n{}\n", as_text(&self.state.input));
        if !plan.answer.is_empty() {
            text.push_str(&format!("\nThe answer is to say: {}\n", plan.answer));
        }
        text.push_str("\nWhat was done:\n");
        for (step, run) in plan.steps.iter().zip(&self.state.nodes) {
            let what = step.tool.as_ref().map_or_else(
                || step.extract.as_ref().map_or_else(String::new, |extract| extract.instruction.clone()),
                ToString::to_string,
            );
            let came = match (&run.output, &run.error) {
                (_, Some(failure)) => format!("not done: {}", failure.message),
                (Some(output), None) => as_text(output),
                (None, None) => "not done".to_owned(),
            };
            let came: String = came.chars().take(each).collect();
            text.push_str(&format!("- {} ({what}): {came}\n", step.id));
        }
        text
    }

    /// Skips a step and the steps that read it. Steps that only come after it still run. After a
    /// rejection, though, no later step with side effects runs. The answer is always written.
    pub(super) fn skip_step(&mut self, place: ProgramIndex, why: Failure, rejected: bool) {
        let (program, now) = (self.program, self.state.now);
        let mut skipped = vec![(place, why)];
        while let Some((place, why)) = skipped.pop() {
            let Some(node) = program.node(place) else { continue };
            let Some(run) = self.state.nodes.get_mut(place as usize) else { continue };
            if run.status != NodeStatus::Idle {
                self.state.threads.remove(&run.thread);
            }
            run.status = NodeStatus::Skipped;
            run.ended_at = Some(now);
            run.error = Some(why);
            self.state.open_nodes = self.state.open_nodes.saturating_sub(1);
            for next in &node.feeds {
                let Some(step) = program.node(*next).and_then(|node| node.step.as_ref()) else { continue };
                let Some(run) = self.state.nodes.get_mut(*next as usize) else { continue };
                if run.status != NodeStatus::Idle || skipped.iter().any(|(known, _)| known == next) {
                    continue;
                }
                let only_after = step.after.contains(&place) && !(rejected && step.changes);
                if only_after {
                    run.waits = run.waits.saturating_sub(1);
                    if run.waits == 0 {
                        let thread = self.new_thread(Thread { joins: None, at: *next, last: None });
                        self.todo.push_back(Enter { node: *next, thread, from: None });
                    }
                } else {
                    let message = format!("{} was not done, which this step comes after", node.name);
                    skipped.push((*next, Failure::new(Code::NeedMissing, message)));
                }
            }
        }
    }

    /// One item of a repeated step has its result.
    pub(super) fn item_done(&mut self, place: ProgramIndex, number: u32, output: Value) {
        if self.is_map(place) {
            return self.map_item_ended(place, number, ItemResult::Done(output));
        }
        let Some(run) = self.state.nodes.get_mut(place as usize) else { return };
        if let Some(item) = run.items.get_mut(number as usize) {
            *item = Some(output);
        }
        if run.items.iter().all(Option::is_some) {
            let outputs: Vec<Value> = std::mem::take(&mut run.items).into_iter().flatten().collect();
            self.node_done(place, Some(Value::Array(outputs)), true);
        }
    }
}
