//! One step: an event is checked without any change, then applied. Its consequences are processed
//! until only effects are left.

mod agent;
mod call;
mod human;
mod mandate;
mod map;
mod node;
mod parallel;
mod recover;
mod static_plan;
mod wait;

use crate::derive::{self, Fnv};
use crate::expression::Expression;
use crate::program::ProgramIndex;
use crate::state::{Ended, Pending, Status, Thread};
use crate::{Code, Effect, EffectId, Event, Failure, Program, Rejected, State, Usage};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use steward_domain::{CallId, Limits, Provenance, TaskId, Timestamp};

/// A node to enter.
struct Enter {
    node: ProgramIndex,
    thread: u32,
    from: Option<ProgramIndex>,
}

/// The state while an event is applied to it.
struct Step<'a> {
    program: &'a Program,
    state: &'a mut State,
    out: &'a mut Vec<Effect>,
    todo: VecDeque<Enter>,
}

impl State {
    /// Applies an event and returns the resulting effects.
    ///
    /// # Errors
    /// A late, duplicate or premature event, or one with the wrong digest, changes nothing.
    pub fn apply(&mut self, program: &Program, event: &Event) -> Result<Vec<Effect>, Rejected> {
        let mut out = Vec::new();
        self.apply_into(program, event, &mut out)?;
        Ok(out)
    }

    /// As [`State::apply`], into a list that the caller keeps.
    ///
    /// # Errors
    /// As [`State::apply`].
    pub fn apply_into(
        &mut self,
        program: &Program,
        event: &Event,
        out: &mut Vec<Effect>,
    ) -> Result<(), Rejected> {
        self.admit(program, event)?;
        self.events += 1;
        self.now = self.now.max(event.at());
        let mut step = Step { program, state: self, out, todo: VecDeque::new() };
        step.event(event);
        step.work_off();
        step.settle();
        Ok(())
    }

    /// Whether the event is acceptable. Nothing is changed before this check.
    fn admit(&self, program: &Program, event: &Event) -> Result<(), Rejected> {
        match (event, self.status) {
            (Event::Started { .. }, Status::Pending) => return Ok(()),
            (Event::Started { .. }, _) => return Err(Rejected::AlreadyStarted),
            (_, Status::Pending) => return Err(Rejected::NotStarted),
            (_, status) if status.is_final() => return Err(Rejected::Ended),
            _ => {}
        }
        if let Event::Signalled { name, data, key, .. } = event {
            return self.admit_signal(program, name, data, key);
        }
        let Some(effect) = event.effect() else { return Ok(()) };
        let Some(pending) = self.pending.get(&effect) else {
            let issued = effect.0 < self.next_effect;
            return Err(if issued { Rejected::Late { effect } } else { Rejected::Unknown { effect } });
        };
        let fits = match event {
            Event::ModelReplied { .. } | Event::ModelFailed { .. } => {
                matches!(pending, Pending::Model { .. } | Pending::Mandate { .. })
            }
            Event::ToolEnded { .. } => matches!(pending, Pending::Tool { .. }),
            Event::SubEnded { .. } => matches!(pending, Pending::Sub { .. }),
            Event::TimerFired { .. } => matches!(
                pending,
                Pending::Backoff { .. }
                    | Pending::ModelBackoff { .. }
                    | Pending::Expiry { .. }
                    | Pending::Wait { .. }
                    | Pending::Deadline { .. }
            ),
            Event::HumanDecided { .. } => return self.admit_decision(effect, pending, event),
            _ => true,
        };
        if fits { Ok(()) } else { Err(Rejected::WrongKind { effect }) }
    }
}

impl Step<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Started { task, input, depth, untrusted, earlier, at } => {
                self.state.earlier.clone_from(earlier);
                self.state.task = Some(*task);
                self.state.input = input.clone();
                self.state.depth = *depth;
                self.state.input_untrusted = *untrusted;
                self.state.started_at = Some(*at);
                self.start();
            }
            Event::ModelReplied { effect, reply, .. } => match self.state.pending.remove(effect) {
                Some(Pending::Model { session, .. }) => self.model_replied(session, reply),
                Some(Pending::Mandate { session }) => self.mandate_replied(session, reply),
                _ => {}
            },
            Event::ModelFailed { effect, class, message, retry_after_seconds, .. } => {
                match self.state.pending.remove(effect) {
                    Some(Pending::Model { session, attempt }) => {
                        self.model_failed(session, attempt, *class, message, *retry_after_seconds);
                    }
                    // Without a mandate no call is covered, and people are asked.
                    Some(Pending::Mandate { session }) => self.mandate_known(session, Default::default()),
                    _ => {}
                }
            }
            Event::ToolEnded { effect, outcome, .. } => {
                if let Some(Pending::Tool { call }) = self.state.pending.remove(effect) {
                    self.tool_ended(call, outcome);
                }
            }
            Event::SubEnded { effect, summary, output, usage, .. } => {
                if let Some(Pending::Sub { call }) = self.state.pending.remove(effect) {
                    self.add_usage(*usage);
                    self.sub_ended(call, summary, output.as_ref());
                }
            }
            Event::Signalled { name, data, key, .. } => self.signalled(name, data, key),
            Event::TimerFired { timer, .. } => {
                if let Some(pending) = self.state.pending.remove(timer) {
                    self.timer_fired(&pending);
                }
            }
            Event::HumanDecided { request, .. } => {
                if let Some(pending) = self.state.pending.remove(request) {
                    self.human_decided(&pending, event);
                }
            }
            Event::CancelRequested { by, .. } => self.end(Ended::Cancelled(by.clone())),
            Event::Refused { reason, .. } => self.fail(Code::Denied, reason.clone()),
            Event::Recovered { in_flight, .. } => self.recovered(in_flight),
        }
    }

    fn start(&mut self) {
        match self.program.check_input(&self.state.input) {
            Ok(input) => self.state.input = input,
            Err(why) => {
                let message = format!("the input does not fit the declared inputs: {why}");
                return self.fail(Code::InputInvalid, message);
            }
        }
        self.begin_static_plan();
        if let Some(seconds) = self.program.limits.seconds {
            self.issue(Pending::Deadline { at: self.after(seconds) });
        }
        for entry in &self.program.entries {
            let thread = self.new_thread(Thread { joins: None, at: *entry, last: None });
            self.todo.push_back(Enter { node: *entry, thread, from: None });
        }
    }

    fn timer_fired(&mut self, pending: &Pending) {
        match pending {
            Pending::Backoff { call, .. } => self.issue_call(*call),
            Pending::ModelBackoff { session, attempt, .. } => {
                self.issue(Pending::Model { session: *session, attempt: *attempt });
            }
            Pending::Expiry { request, .. } => {
                if let Some(asked) = self.state.pending.remove(request) {
                    self.out.push(Effect::Cancel { id: *request });
                    match asked {
                        Pending::Signal { node } => self.signal_expired(node),
                        asked => self.decision_timed_out(&asked),
                    }
                }
            }
            Pending::Wait { node, at } => self.timer_done(*node, *at),
            Pending::Deadline { .. } => {
                let seconds = self.program.limits.seconds.unwrap_or_default();
                self.fail(Code::BudgetTime, format!("the run took longer than the {seconds} s it may take"));
            }
            _ => {}
        }
    }

    /// Enters nodes until the queue is empty. It is a queue, not recursion: a graph may pass ten
    /// thousand nodes in one step.
    fn work_off(&mut self) {
        while let Some(Enter { node, thread, from }) = self.todo.pop_front() {
            if self.is_over() {
                return;
            }
            self.enter(node, thread, from);
        }
    }

    /// Derives the status from the pending effects.
    fn settle(&mut self) {
        if self.is_over() {
            return;
        }
        let waits = |pending: &Pending| {
            !matches!(
                pending,
                Pending::Model { .. } | Pending::Mandate { .. } | Pending::Tool { .. } | Pending::Sub { .. }
            )
        };
        let alive = self.state.pending.values().any(|pending| !matches!(pending, Pending::Deadline { .. }));
        if !alive {
            self.fail(Code::Bug, "nothing is left to do, but the task has not ended");
            return;
        }
        let paused = self.state.pending.values().all(waits);
        self.state.status = if paused { Status::Paused } else { Status::Running };
    }

    fn is_over(&self) -> bool {
        self.state.ended.is_some()
    }

    /// Makes an effect pending and emits it.
    fn issue(&mut self, pending: Pending) -> EffectId {
        let id = EffectId(self.state.next_effect);
        if self.is_over() {
            return id;
        }
        self.state.next_effect += 1;
        if let Some(effect) = self.effect(id, &pending) {
            self.out.push(effect);
        }
        self.state.pending.insert(id, pending);
        id
    }

    /// The effect of a pending entry. The first issue and an issue after a crash give the same
    /// effect.
    fn effect(&self, id: EffectId, pending: &Pending) -> Option<Effect> {
        Some(match pending {
            Pending::Model { session, attempt } => {
                let spec = self.program.agent(self.state.session(*session)?.agent)?;
                Effect::CallModel { id, agent: spec.agent.name.clone(), attempt: *attempt }
            }
            Pending::Mandate { session } => {
                let spec = self.program.agent(self.state.session(*session)?.agent)?;
                Effect::CallModel { id, agent: spec.agent.name.clone(), attempt: 1 }
            }
            Pending::Tool { call } | Pending::Sub { call } => self.call_effect(id, *call)?,
            Pending::ModelBackoff { at, .. }
            | Pending::Backoff { at, .. }
            | Pending::Expiry { at, .. }
            | Pending::Wait { at, .. }
            | Pending::Deadline { at } => Effect::StartTimer { id, at: *at },
            Pending::Human { about, digest, text, expires_at, level, .. } => Effect::AskHuman {
                id,
                digest: digest.clone(),
                question: self.question(*about, text, *level)?,
                expires_at: *expires_at,
            },
            Pending::Signal { node } => {
                let node = self.program.node(*node)?;
                Effect::AwaitSignal { id, name: node.signal.clone()?, node: node.name.clone() }
            }
        })
    }

    fn task(&self) -> TaskId {
        self.state.task.unwrap_or(TaskId(Default::default()))
    }

    fn new_key(&mut self) -> CallId {
        self.state.next_key += 1;
        derive::call_key(self.task(), self.state.next_key)
    }

    fn new_thread(&mut self, thread: Thread) -> u32 {
        let number = self.state.next_thread;
        self.state.next_thread += 1;
        self.state.threads.insert(number, thread);
        number
    }

    fn after(&self, seconds: u64) -> Timestamp {
        let micros = i64::try_from(seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        Timestamp::from_micros(self.state.now.micros().saturating_add(micros))
    }

    fn add_usage(&mut self, usage: Usage) {
        let used = &mut self.state.used;
        used.tokens = used.tokens.saturating_add(usage.input_tokens).saturating_add(usage.output_tokens);
        used.cost_micros = used.cost_micros.saturating_add(usage.cost_micros);
    }

    /// The remaining budget for a sub-task.
    fn left(&self) -> Limits {
        let limits = self.program.limits;
        let spent = self.state.started_at.map_or(0, |at| self.state.now.millis_since(at) / 1000);
        Limits {
            tokens: limits.tokens.map(|tokens| tokens.saturating_sub(self.state.used.tokens)),
            cost_usd: limits.cost_usd.map(|cost| (cost - self.state.used.cost_micros as f64 / 1e6).max(0.0)),
            seconds: limits.seconds.map(|seconds| seconds.saturating_sub(spent)),
            context_tokens: None,
        }
    }

    /// Fails the task when it is over budget. Returns true when it did.
    fn over_budget(&mut self) -> bool {
        let (limits, used) = (self.program.limits, self.state.used);
        let spent = self.state.started_at.map_or(0, |at| self.state.now.millis_since(at) / 1000);
        let failure = if let Some(limit) = limits.tokens.filter(|limit| used.tokens > *limit) {
            Some((Code::BudgetTokens, format!("{} tokens were used of the {limit} it may use", used.tokens)))
        } else if let Some(limit) = limits.cost_usd.filter(|limit| used.cost_micros as f64 > limit * 1e6) {
            let cost = used.cost_micros as f64 / 1e6;
            Some((Code::BudgetMoney, format!("{cost:.6} USD were spent of the {limit} it may spend")))
        } else {
            let late = limits.seconds.filter(|limit| spent > *limit);
            late.map(|limit| (Code::BudgetTime, format!("{spent} s went by of the {limit} s it may take")))
        };
        let Some((code, message)) = failure else { return false };
        self.fail(code, message);
        true
    }

    fn fail(&mut self, code: Code, message: impl Into<String>) {
        self.end(Ended::Failed(Failure::new(code, message)));
    }

    /// Ends the task: pending effects are cancelled, and the state does not change any more.
    fn end(&mut self, ended: Ended) {
        if self.is_over() {
            return;
        }
        for id in std::mem::take(&mut self.state.pending).into_keys() {
            self.out.push(Effect::Cancel { id });
        }
        self.state.calls.clear();
        for run in &mut self.state.nodes {
            if run.status.is_at_work() {
                run.status = crate::NodeStatus::Cancelled;
                run.ended_at = Some(self.state.now);
            }
        }
        let ended = match ended {
            Ended::Failed(failure) if failure.code == Code::Rejected => Ended::Rejected(failure),
            other => other,
        };
        let (status, effect) = match &ended {
            Ended::Rejected(failure) => {
                (Status::Rejected, Effect::Rejected { message: failure.message.clone() })
            }
            Ended::Completed(result) => (Status::Completed, Effect::Finish { result: result.clone() }),
            Ended::Failed(failure) => (
                Status::Failed,
                Effect::Fail { code: failure.code.name().to_owned(), message: failure.message.clone() },
            ),
            Ended::Cancelled(by) => (Status::Cancelled, Effect::Cancelled { by: by.clone() }),
        };
        self.state.status = status;
        self.state.ended = Some(ended);
        self.out.push(effect);
    }

    /// The value of a name in an expression.
    fn value_of(&self, name: &str) -> Option<Value> {
        let state = &*self.state;
        Some(match name {
            "input" => state.input.clone(),
            "state" => Value::Object(state.metadata.clone()),
            "iteration" => Value::from(state.used.nodes),
            "now" => Value::String(state.now.to_string()),
            "routing_key" => state.routing_key.clone().map_or(Value::Null, Value::String),
            "nodes" => {
                let mut nodes = Map::new();
                for (node, run) in self.program.nodes.iter().zip(&state.nodes) {
                    let error =
                        run.error.as_ref().map_or(Value::Null, |error| Value::String(error.to_string()));
                    let entry = [
                        ("output".to_owned(), run.output.clone().unwrap_or(Value::Null)),
                        ("error".to_owned(), error),
                        ("visits".to_owned(), Value::from(run.visits)),
                    ];
                    nodes.insert(node.name.as_str().to_owned(), Value::Object(entry.into_iter().collect()));
                }
                Value::Object(nodes)
            }
            "data" => {
                let mut data = Map::new();
                for (name, (maker, alone)) in &self.program.data {
                    let output = state.run(*maker).and_then(|run| run.output.as_ref());
                    let part = if *alone { output } else { output.and_then(|output| output.get(name)) };
                    data.insert(name.clone(), part.cloned().unwrap_or(Value::Null));
                }
                Value::Object(data)
            }
            _ => return None,
        })
    }

    /// The provenance of an expression: the least trusted of what it reads.
    fn trust(&self, expression: &Expression) -> Provenance {
        let any = || self.state.nodes.iter().any(|run| run.untrusted);
        let named = || {
            let places = expression.nodes().iter().filter_map(|name| self.program.index.get(name));
            places.filter_map(|place| self.state.run(*place)).any(|run| run.untrusted)
        };
        let untrusted = (expression.uses("input") && self.state.input_untrusted)
            || (expression.uses("nodes") && if expression.nodes().is_empty() { any() } else { named() })
            || (expression.uses("data") && any())
            || (expression.uses("state") && !self.state.tainted.is_empty())
            || (expression.uses("routing_key") && any());
        if untrusted { Provenance::Untrusted } else { Provenance::User }
    }

    /// A hash of everything that the graph's next steps depend on.
    fn progress(&self) -> u64 {
        let start = Fnv::new().object(&self.state.metadata);
        let key = self.state.routing_key.as_deref().unwrap_or_default();
        self.state.nodes.iter().fold(start.bytes(key.as_bytes()), |hash, run| hash.number(run.hash)).finish()
    }
}
