//! Nodes: entering, running, leaving, and the choice of the next node.

use super::{Enter, Step};
use crate::derive::Fnv;
use crate::expression::as_text;
use crate::program::{Node, NodeWork, ProgramIndex, Transition};
use crate::state::{Call, DecisionSubject, Ended, Owner, Target, Thread};
use crate::{Code, Failure, NodeStatus, OnFailure};
use serde_json::Value;
use std::collections::BTreeMap;
use steward_domain::{JsonObject, Provenance};

impl Step<'_> {
    pub(super) fn enter(&mut self, place: ProgramIndex, thread: u32, from: Option<ProgramIndex>) {
        let program = self.program;
        let Some(node) = program.node(place) else { return };
        if self.over_budget() {
            return;
        }
        self.state.used.nodes += 1;
        if self.state.used.nodes > program.max_nodes {
            let message = format!("the run passed more than the {} nodes it may pass", program.max_nodes);
            return self.fail(Code::BudgetIterations, message);
        }
        if let Some(at) = self.state.threads.get_mut(&thread) {
            at.at = place;
        }
        let (now, progress) = (self.state.now, self.progress());
        let Some(run) = self.state.nodes.get_mut(place as usize) else { return };
        run.visits += 1;
        run.status = NodeStatus::Running;
        run.thread = thread;
        run.started_at = Some(now);
        run.ended_at = None;
        run.error = None;
        let seen = run.seen.entry(progress).or_default();
        *seen += 1;
        if *seen > program.settings().same_state {
            let times = program.settings().same_state;
            let message = format!("the cycle came back to {} {times} times with nothing changed", node.name);
            return self.node_failed(place, Failure::new(Code::LoopNoProgress, message));
        }
        if node.gate && node.work != NodeWork::Human {
            let text = format!("the run is about to enter {}", node.name);
            return self.ask(DecisionSubject::Gate(place), text, None);
        }
        self.begin(place, from);
    }

    /// Starts the work of the node.
    pub(super) fn begin(&mut self, place: ProgramIndex, from: Option<ProgramIndex>) {
        let program = self.program;
        let Some(node) = program.node(place) else { return };
        if let Some(step) = &node.step {
            return self.begin_step(place, node, step);
        }
        match &node.work {
            NodeWork::Agent(agent) => match self.task_text(node, from) {
                Ok((text, untrusted)) => self.start_session(place, *agent, text, untrusted),
                Err(failure) => self.node_failed(place, failure),
            },
            NodeWork::Tool(tool) => match self.tool_arguments(node) {
                Ok((arguments, provenance)) => {
                    let (owner, target) = (Owner::Node(place), Target::Tool(*tool));
                    let call = self.call_for(owner, target, *tool, arguments, provenance);
                    let number = self.new_call(call);
                    self.issue_call(number);
                }
                Err(failure) => self.node_failed(place, failure),
            },
            NodeWork::Condition => self.node_done(place, None, false),
            NodeWork::Human => match self.task_text(node, from) {
                Ok((text, _)) => self.ask(DecisionSubject::Node(place), text, None),
                Err(failure) => self.node_failed(place, failure),
            },
            NodeWork::Parallel { branches, .. } => self.fork(place, branches),
            NodeWork::Map { .. } => self.begin_map(place, node),
            NodeWork::Timer | NodeWork::Until => self.begin_timer(place, node),
            NodeWork::Workflow(workflow) => self.begin_workflow(place, node, *workflow),
            NodeWork::Transform => self.begin_transform(place, node),
            NodeWork::Signal => self.begin_signal(place, node),
        }
    }

    /// The text for an agent or a person: the node's own text, or the task's input with the
    /// previous output.
    fn task_text(&self, node: &Node, from: Option<ProgramIndex>) -> Result<(String, bool), Failure> {
        if let Some(template) = &node.input {
            let text = template.render(&|name| self.value_of(name)).map_err(|why| expression(node, &why))?;
            let untrusted = template.provenance(|expression| self.trust(expression)) == Provenance::Untrusted;
            return Ok((as_text(&text), untrusted));
        }
        let mut text = as_text(&self.state.input);
        let mut untrusted = self.state.input_untrusted;
        let before = from.and_then(|from| Some((self.program.node(from)?, self.state.run(from)?)));
        if let Some((before, run)) = before
            && let Some(output) = &run.output
        {
            text = format!("{text}\n\nResult of {}:\n{}", before.name, as_text(output));
            untrusted |= run.untrusted;
        }
        Ok((text, untrusted))
    }

    fn tool_arguments(&self, node: &Node) -> Result<(JsonObject, BTreeMap<String, Provenance>), Failure> {
        let (mut arguments, mut provenance) = (JsonObject::new(), BTreeMap::new());
        for (name, template) in &node.arguments {
            let value = template.render(&|name| self.value_of(name)).map_err(|why| expression(node, &why))?;
            provenance.insert(name.clone(), template.provenance(|expression| self.trust(expression)));
            arguments.insert(name.clone(), value);
        }
        Ok((arguments, provenance))
    }

    /// A node succeeded. Without an output (a condition) the previous output remains.
    pub(super) fn node_done(&mut self, place: ProgramIndex, output: Option<Value>, untrusted: bool) {
        let (program, now) = (self.program, self.state.now);
        let Some(node) = program.node(place) else { return };
        let output = output.map(|output| self.keep(output));
        let Some(run) = self.state.nodes.get_mut(place as usize) else { return };
        run.status = NodeStatus::Done;
        run.ended_at = Some(now);
        run.join = None;
        let thread = run.thread;
        if let Some(output) = output {
            run.hash = Fnv::new().value(&output).finish();
            run.untrusted = untrusted;
            if let Some(name) = &node.save_as {
                self.state.metadata.insert(name.as_str().to_owned(), output.clone());
                if untrusted {
                    self.state.tainted.insert(name.as_str().to_owned());
                } else {
                    self.state.tainted.remove(name.as_str());
                }
            }
            run.output = Some(output);
            if let Some(thread) = self.state.threads.get_mut(&thread) {
                thread.last = Some(place);
            }
        }
        if let Some(key) = &node.routing_key {
            match key.evaluate(&|name| self.value_of(name)) {
                Ok(value) => self.state.routing_key = Some(as_text(&value).trim().to_owned()),
                Err(why) => return self.node_failed(place, expression(node, &why)),
            }
        }
        if program.by_data { self.feed(node, thread) } else { self.follow(place, node, thread) }
    }

    /// Truncates an output that is too large for the state, with a note.
    fn keep(&self, output: Value) -> Value {
        let limit = self.program.settings().output_bytes;
        if weight(&output, limit) <= limit {
            return output;
        }
        let text = as_text(&output);
        let cut: String = text.chars().take(limit / 4).collect();
        Value::String(format!("{cut}… (cut: the whole is {} bytes)", text.len()))
    }

    /// In a graph, takes the first edge whose guard holds.
    fn follow(&mut self, place: ProgramIndex, node: &Node, thread: u32) {
        for edge in &node.edges {
            let open = edge.guard.as_ref().map_or(Ok(true), |guard| guard.holds(&|name| self.value_of(name)));
            match open {
                Ok(false) => continue,
                Err(why) => return self.node_failed(place, expression(node, &why)),
                Ok(true) => {}
            }
            let target = match &edge.to {
                Transition::To(target) => Some(*target),
                Transition::Routes(routes) => {
                    let key = self.state.routing_key.as_deref().unwrap_or_default();
                    routes.get(key).or_else(|| routes.get("default")).copied()
                }
            };
            match target {
                Some(Some(next)) => {
                    return self.todo.push_back(Enter {
                        node: next,
                        thread,
                        from: Some(self.source(place, thread)),
                    });
                }
                Some(None) => return self.thread_ended(thread),
                None => {}
            }
        }
        if node.edges.is_empty() {
            return self.thread_ended(thread);
        }
        let key = self.state.routing_key.as_deref().unwrap_or("(none)");
        let message = format!("no edge of {} may be taken; routing_key is {key}", node.name);
        self.node_failed(place, Failure::new(Code::NoRoute, message));
    }

    /// The node whose result the next node reads: a condition passes its input on.
    fn source(&self, place: ProgramIndex, thread: u32) -> ProgramIndex {
        self.state.threads.get(&thread).and_then(|thread| thread.last).unwrap_or(place)
    }

    /// In a plan, starts a subtask when its last dependency is met.
    fn feed(&mut self, node: &Node, thread: u32) {
        self.state.threads.remove(&thread);
        self.state.open_nodes = self.state.open_nodes.saturating_sub(1);
        for next in &node.feeds {
            let Some(run) = self.state.nodes.get_mut(*next as usize) else { continue };
            run.waits = run.waits.saturating_sub(1);
            if run.waits == 0 && run.status == NodeStatus::Idle {
                let thread = self.new_thread(Thread { joins: None, at: *next, last: None });
                self.todo.push_back(Enter { node: *next, thread, from: None });
            }
        }
        self.end_plan_if_done();
    }

    /// A plan ends when no subtask is open.
    fn end_plan_if_done(&mut self) {
        if self.state.open_nodes > 0 {
            return;
        }
        if !self.state.nodes.iter().any(|run| run.status == NodeStatus::Done)
            && let Some(failure) = self.state.nodes.iter().find_map(|run| run.error.clone())
        {
            return self.end(Ended::Failed(failure));
        }
        let ends = self.program.nodes.iter().zip(&self.state.nodes).filter(|(node, _)| node.feeds.is_empty());
        let mut results: Vec<(String, Value)> = ends
            .map(|(node, run)| (node.name.as_str().to_owned(), run.output.clone().unwrap_or_default()))
            .collect();
        let result = match (results.pop(), results.is_empty()) {
            (Some((_, only)), true) => only,
            (last, _) => Value::Object(results.into_iter().chain(last).collect()),
        };
        self.end(Ended::Completed(result));
    }

    /// A subtask failed in a plan that continues: dependent subtasks are skipped.
    fn skip_dependents(&mut self, place: ProgramIndex) {
        let (program, now) = (self.program, self.state.now);
        let mut missing = vec![place];
        while let Some(place) = missing.pop() {
            self.state.open_nodes = self.state.open_nodes.saturating_sub(1);
            let Some(node) = program.node(place) else { continue };
            for next in &node.feeds {
                let Some(run) = self.state.nodes.get_mut(*next as usize) else { continue };
                if run.status == NodeStatus::Idle {
                    run.status = NodeStatus::Skipped;
                    run.ended_at = Some(now);
                    let message = format!("{} is missing, which this step needs", node.name);
                    run.error = Some(Failure::new(Code::NeedMissing, message));
                    missing.push(*next);
                }
            }
        }
        self.end_plan_if_done();
    }

    /// A thread ended: the task is done, or a branch joins.
    fn thread_ended(&mut self, number: u32) {
        let Some(thread) = self.state.threads.remove(&number) else { return };
        let run = thread.last.and_then(|last| self.state.run(last));
        let output = run.and_then(|run| run.output.clone()).unwrap_or_default();
        let untrusted = run.is_some_and(|run| run.untrusted);
        match thread.joins {
            None => self.complete(thread.last, output),
            Some((parallel, branch)) => self.branch_done(parallel, number, branch, output, untrusted),
        }
    }

    /// The main path ended. The task is rejected when a person's rejection ended it. It fails when
    /// the result does not match the declared outputs.
    fn complete(&mut self, last: Option<ProgramIndex>, output: Value) {
        let program = self.program;
        let asked = last.and_then(|last| program.node(last)).filter(|node| node.work == NodeWork::Human);
        let part = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(node) = asked.filter(|_| part("action") == "reject") {
            let mut failure = super::human::rejected(&part("by"), &part("message")).at(&node.name);
            failure.message = format!("{}: {}", node.name, failure.message);
            return self.end(Ended::Rejected(failure));
        }
        if let Some(Err(why)) = program.outputs.as_ref().map(|schema| schema.check(&output)) {
            let message = format!("the result does not fit the declared outputs: {why}");
            return self.fail(Code::OutputInvalid, message);
        }
        self.end(Ended::Completed(output));
    }

    /// A node failed: takes its `on_error` edge, or fails its thread.
    pub(super) fn node_failed(&mut self, place: ProgramIndex, failure: Failure) {
        let (program, now) = (self.program, self.state.now);
        let Some(node) = program.node(place) else { return };
        self.drop_work(place);
        if node.step.is_some() && failure.code == Code::Rejected {
            return self.skip_step(place, failure, true);
        }
        let failure = failure.at(&node.name);
        let Some(run) = self.state.nodes.get_mut(place as usize) else { return };
        run.status = NodeStatus::Failed;
        run.ended_at = Some(now);
        run.join = None;
        run.map = None;
        // The next nodes may read the server's error text as `nodes.x.error`.
        run.untrusted |= failure.code.carries_data();
        run.error = Some(failure.clone());
        let thread = run.thread;
        match node.on_error {
            // A detected loop must not continue through the error edge.
            Some(target) if failure.code != Code::LoopNoProgress => match target {
                Some(next) => self.todo.push_back(Enter { node: next, thread, from: Some(place) }),
                None => self.thread_ended(thread),
            },
            _ => self.thread_failed(place, thread, failure),
        }
    }

    fn thread_failed(&mut self, place: ProgramIndex, number: u32, failure: Failure) {
        let name = self.program.node(place).map_or("?", |node| node.name.as_str());
        let joins = self.state.threads.remove(&number).and_then(|thread| thread.joins);
        match joins {
            None if self.program.by_data && self.program.settings().on_failure == OnFailure::Continue => {
                self.skip_dependents(place);
            }
            None => {
                let message = format!("{name}: {}", failure.message);
                self.end(Ended::Failed(Failure { message, ..failure }));
            }
            Some((parallel, _)) => self.branch_failed(parallel, number, failure),
        }
    }

    pub(super) fn new_call(&mut self, call: Call) -> u32 {
        let number = self.state.next_call;
        self.state.next_call += 1;
        self.state.calls.insert(number, call);
        number
    }
}

fn expression(node: &Node, why: &str) -> Failure {
    Failure::new(Code::Expression, format!("{}: {why}", node.name))
}

/// The approximate size of a value in bytes; counting stops above the limit.
fn weight(value: &Value, limit: usize) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => {
            let mut sum = 2;
            for value in values {
                sum += 1 + weight(value, limit);
                if sum > limit {
                    break;
                }
            }
            sum
        }
        Value::Object(object) => {
            let mut sum = 2;
            for (key, value) in object {
                sum += key.len() + 4 + weight(value, limit);
                if sum > limit {
                    break;
                }
            }
            sum
        }
        _ => 8,
    }
}
