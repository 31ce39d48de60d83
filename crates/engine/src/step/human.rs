//! Decisions of people: requests, effects of a decision, and timeouts.
//!
//! Invariant: a decision counts for the digest that was shown. After a change of arguments the call
//! is proposed again, and policy requires approval of the new digest.

use super::Step;
use crate::event::Event;
use crate::state::{DecisionSubject, Pending};
use crate::{
    Approval, Code, Effect, EffectId, Failure, NodeStatus, Question, Rejected, State, Subject, derive,
};
use serde_json::{Value, json};
use steward_domain::{Escalation, HumanAction, JsonObject, Provenance, Sha256Hex, TimeoutOutcome, Timestamp};

impl State {
    /// Whether a decision is acceptable.
    pub(super) fn admit_decision(
        &self,
        request: EffectId,
        pending: &Pending,
        event: &Event,
    ) -> Result<(), Rejected> {
        let Pending::Human { about, digest: shown, .. } = pending else {
            return Err(Rejected::WrongKind { effect: request });
        };
        let Event::HumanDecided { action, state_updates, digest, message, .. } = event else { return Ok(()) };
        if digest != shown {
            return Err(Rejected::Digest { request });
        }
        let refuse = |reason: &str| Err(Rejected::Decision { request, reason: reason.to_owned() });
        match action {
            HumanAction::Modify if state_updates.is_empty() && message.is_empty() => {
                refuse("modify needs state_updates or a message that say what to change")
            }
            HumanAction::Modify if matches!(about, DecisionSubject::Calls(_)) => {
                refuse("several calls are approved or rejected as they are")
            }
            HumanAction::Modify if matches!(about, DecisionSubject::Call(_)) => {
                match state_updates.get("arguments") {
                    Some(Value::Object(_)) => Ok(()),
                    _ => refuse("modify of a call needs `arguments`, an object, in state_updates"),
                }
            }
            HumanAction::Modify
                if matches!(about, DecisionSubject::Unknown(_)) && !state_updates.contains_key("output") =>
            {
                refuse("modify of an unknown outcome needs `output` in state_updates: what came of the call")
            }
            HumanAction::Approve | HumanAction::Reject if !state_updates.is_empty() => {
                refuse("state_updates are only taken with modify")
            }
            _ => Ok(()),
        }
    }
}

impl Step<'_> {
    /// Requests a decision and starts its timeout.
    pub(super) fn ask(&mut self, about: DecisionSubject, text: String, digest: Option<Sha256Hex>) {
        self.request_decision_at_level(about, text, digest, 0);
    }

    /// Requests a decision after `level` escalations.
    fn request_decision_at_level(
        &mut self,
        about: DecisionSubject,
        text: String,
        digest: Option<Sha256Hex>,
        level: u32,
    ) {
        if self.is_over() {
            return;
        }
        let Some(question) = self.question(about, &text, level) else { return };
        let program = self.program;
        let place = match about {
            DecisionSubject::Node(place) | DecisionSubject::Gate(place) => Some(place),
            DecisionSubject::Call(number) | DecisionSubject::Unknown(number) => {
                self.state.calls.get(&number).and_then(|call| self.owner_node(call.owner))
            }
            DecisionSubject::Calls(session) => self.state.session(session).map(|session| session.node),
        };
        let node = place.and_then(|place| program.node(place));
        if let Some(run) = place.and_then(|place| self.state.nodes.get_mut(place as usize)) {
            run.status = NodeStatus::Asking;
        }
        let number = self.state.next_effect.to_string();
        let digest = digest.unwrap_or_else(|| {
            let shown = serde_json::to_string(&question).unwrap_or_default();
            derive::digest([program.version.as_str(), &number, &shown])
        });
        let passed_on = node.and_then(|node| escalation(node, level)?.expires_seconds);
        let seconds = passed_on
            .or_else(|| node.and_then(|node| node.expires_seconds))
            .unwrap_or(program.settings().approval_seconds);
        let expires_at = self.after(u64::from(seconds));
        if let Some(node) = node {
            self.state.checkpoints += 1;
            self.out.push(Effect::Checkpoint { position: node.name.clone(), awaiting_human: true });
        }
        let request = EffectId(self.state.next_effect);
        let timer = EffectId(self.state.next_effect + 1);
        self.issue(Pending::Human { about, digest, text, timer, expires_at, level });
        self.issue(Pending::Expiry { request, at: expires_at });
    }

    pub(super) fn question(&self, about: DecisionSubject, text: &str, level: u32) -> Option<Question> {
        let mut question = Question {
            subject: Subject::Node,
            node: "_".parse().ok()?,
            text: text.to_owned(),
            tool: None,
            tools: Vec::new(),
            arguments: JsonObject::new(),
            provenance: Default::default(),
            safety: None,
            approvers: Vec::new(),
            escalation: level,
        };
        match about {
            DecisionSubject::Node(place) => {
                let node = self.program.node(place)?;
                question.node = node.name.clone();
                let passed_on = escalation(node, level).map(|step| &step.to);
                question.approvers.clone_from(passed_on.unwrap_or(&node.approvers));
            }
            DecisionSubject::Gate(place) => {
                question.subject = Subject::Checkpoint;
                question.node = self.program.node(place)?.name.clone();
            }
            DecisionSubject::Call(number) | DecisionSubject::Unknown(number) => {
                let call = self.state.calls.get(&number)?;
                let crate::state::Target::Tool(tool) = call.target else { return None };
                let tool = self.state.tool(self.program, tool)?;
                question.subject = if matches!(about, DecisionSubject::Call(_)) {
                    Subject::Call
                } else {
                    Subject::UnknownOutcome
                };
                question.node = self.program.node(self.owner_node(call.owner)?)?.name.clone();
                question.tool = Some(call.resolved.clone().unwrap_or_else(|| tool.name.clone()));
                question.arguments.clone_from(&call.arguments);
                question.provenance.clone_from(&call.provenance);
                question.safety = Some(tool.safety);
            }
            DecisionSubject::Calls(number) => {
                let session = self.state.session(number)?;
                question.subject = Subject::Calls;
                question.node = self.program.node(session.node)?.name.clone();
                for (place, call) in session.waiting.iter().enumerate() {
                    let call = self.state.calls.get(call)?;
                    let crate::state::Target::Tool(tool) = call.target else { return None };
                    let tool = self.state.tool(self.program, tool)?;
                    let name = call.resolved.clone().unwrap_or_else(|| tool.name.clone());
                    let key = format!("{}. {name}", place + 1);
                    let origin = call.provenance.values().max().copied().unwrap_or(call.origin);
                    question.provenance.insert(key.clone(), origin);
                    question.arguments.insert(key, Value::Object(call.arguments.clone()));
                    question.tools.push(name);
                }
                question.tool = question.tools.first().cloned();
            }
        }
        Some(question)
    }

    pub(super) fn human_decided(&mut self, pending: &Pending, event: &Event) {
        let Pending::Human { about, digest, timer, .. } = pending else { return };
        let Event::HumanDecided { request, action, message, state_updates, by, .. } = event else { return };
        if self.state.pending.remove(timer).is_some() {
            self.out.push(Effect::Cancel { id: *timer });
        }
        self.working(*about);
        match about {
            DecisionSubject::Node(place) => {
                // The action is the routing key, unless the person sets another.
                self.state.routing_key = Some(action_name(*action).to_owned());
                self.update(state_updates);
                let output = json!({ "action": action_name(*action), "message": message, "by": by });
                self.answered(*place, *action, output);
            }
            DecisionSubject::Gate(place) => match action {
                HumanAction::Reject => self.node_failed(*place, rejected(by, message)),
                HumanAction::Approve | HumanAction::Modify => {
                    self.update(state_updates);
                    let thread = self.state.run(*place).and_then(|run| self.state.threads.get(&run.thread));
                    let from = thread.and_then(|thread| thread.last);
                    self.begin(*place, from);
                }
            },
            DecisionSubject::Call(number) => match action {
                HumanAction::Approve => {
                    if let Some(call) = self.state.calls.get_mut(number) {
                        let (digest, by) = (digest.clone(), by.clone());
                        call.approval = Some(Approval { digest, by, gate: *request });
                    }
                    self.issue_call(*number);
                }
                HumanAction::Reject => self.call_failed(*number, rejected(by, message)),
                HumanAction::Modify => self.change_arguments(*number, state_updates),
            },
            DecisionSubject::Calls(session) => match action {
                HumanAction::Approve => self.approve_held(*session, by),
                HumanAction::Reject | HumanAction::Modify => {
                    self.reject_held(*session, &rejected(by, message));
                }
            },
            DecisionSubject::Unknown(number) => match action {
                HumanAction::Approve => {
                    let key = self.new_key();
                    if let Some(call) = self.state.calls.get_mut(number) {
                        call.key = key;
                        call.attempt = 1;
                        // The first approval was consumed by the call with the unknown outcome.
                        // This decision approves another call.
                        if let Some(approval) = &mut call.approval {
                            (approval.by, approval.gate) = (by.clone(), *request);
                        }
                    }
                    self.issue_call(*number);
                }
                HumanAction::Reject => {
                    let why =
                        format!("the outcome is not known, and {by} did not want it repeated: {message}");
                    self.owner_failed(*number, Failure::new(Code::OutcomeUnknown, why));
                }
                HumanAction::Modify => {
                    let output = state_updates.get("output").cloned().unwrap_or_default();
                    self.call_done(*number, output);
                }
            },
        }
    }

    /// The decision was made: the node is running again.
    fn working(&mut self, about: DecisionSubject) {
        let place = match about {
            DecisionSubject::Node(place) | DecisionSubject::Gate(place) => Some(place),
            DecisionSubject::Call(number) | DecisionSubject::Unknown(number) => {
                self.state.calls.get(&number).and_then(|call| self.owner_node(call.owner))
            }
            DecisionSubject::Calls(session) => self.state.session(session).map(|session| session.node),
        };
        if let Some(run) = place.and_then(|place| self.state.nodes.get_mut(place as usize)) {
            run.status = NodeStatus::Running;
        }
    }

    /// Handles the answer of a human node. A rejection fails the node, unless the edges depend on
    /// the answer.
    fn answered(&mut self, place: u32, action: HumanAction, output: Value) {
        let chooses = self.program.node(place).is_some_and(crate::Node::chooses);
        if action == HumanAction::Reject && !chooses {
            let (by, message) = (output.get("by"), output.get("message"));
            let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            return self.node_failed(place, rejected(&text(by), &text(message)));
        }
        self.node_done(place, Some(output), false);
    }

    /// Applies the person's arguments with the provenance of a user; the rest stays. It does not
    /// approve the call.
    fn change_arguments(&mut self, number: u32, updates: &JsonObject) {
        let key = self.new_key();
        let Some(call) = self.state.calls.get_mut(&number) else { return };
        if let Some(Value::Object(arguments)) = updates.get("arguments") {
            for (name, value) in arguments {
                if call.arguments.get(name) != Some(value) {
                    call.arguments.insert(name.clone(), value.clone());
                    call.provenance.insert(name.clone(), Provenance::User);
                }
            }
        }
        call.origin = Provenance::User;
        call.approval = None;
        call.resolved = None;
        call.needs = None;
        call.key = key;
        call.attempt = 1;
        self.issue_call(number);
    }

    /// Applies updates: messages are appended, known fields are replaced, everything else goes into
    /// `metadata`.
    fn update(&mut self, updates: &JsonObject) {
        for (name, value) in updates {
            let text = value.as_str().map(str::to_owned);
            match name.as_str() {
                "routing_key" => self.state.routing_key = text,
                "next_action" => self.state.next_action = text,
                "current_agent" => self.state.current_agent = text,
                "messages" => {
                    let kept = self.state.metadata.entry("messages").or_insert_with(|| json!([]));
                    if let Value::Array(kept) = kept {
                        match value {
                            Value::Array(more) => kept.extend(more.iter().cloned()),
                            one => kept.push(one.clone()),
                        }
                    }
                }
                "metadata" => {
                    if let Value::Object(metadata) = value {
                        self.state.metadata.clone_from(metadata);
                        self.state.tainted.clear();
                    }
                }
                _ => {
                    self.state.tainted.remove(name);
                    self.state.metadata.insert(name.clone(), value.clone());
                }
            }
        }
    }

    pub(super) fn decision_timed_out(&mut self, pending: &Pending) {
        let Pending::Human { about, text, level, .. } = pending else { return };
        let is_left =
            |place: u32| self.program.node(place).is_some_and(|node| escalation(node, level + 1).is_some());
        if let DecisionSubject::Node(place) = about
            && is_left(*place)
        {
            return self.request_decision_at_level(*about, text.clone(), None, level + 1);
        }
        let timed_out = no_decision(self.state.now);
        let expired = Failure::new(Code::ApprovalExpired, timed_out.clone());
        self.working(*about);
        match about {
            DecisionSubject::Node(place) => {
                let outcome = self.program.node(*place).map_or(TimeoutOutcome::Fail, |node| node.on_timeout);
                let output = |action| json!({ "action": action, "message": timed_out, "by": "" });
                let key = if outcome == TimeoutOutcome::Approve { "approve" } else { "reject" };
                self.state.routing_key = Some(key.to_owned());
                match outcome {
                    TimeoutOutcome::Fail => self.node_failed(*place, expired),
                    TimeoutOutcome::Reject => self.answered(*place, HumanAction::Reject, output("reject")),
                    TimeoutOutcome::Approve => self.answered(*place, HumanAction::Approve, output("approve")),
                }
            }
            DecisionSubject::Gate(place) => self.node_failed(*place, expired),
            // A timeout never approves a call: the agent gets a rejection, or the node fails.
            DecisionSubject::Call(number) => match self.program.settings().on_approval_timeout {
                TimeoutOutcome::Fail => self.owner_failed(*number, expired),
                TimeoutOutcome::Reject | TimeoutOutcome::Approve => self.call_failed(*number, expired),
            },
            DecisionSubject::Calls(session) => match self.program.settings().on_approval_timeout {
                TimeoutOutcome::Fail => {
                    if let Some(node) = self.state.session(*session).map(|session| session.node) {
                        self.node_failed(node, expired);
                    }
                }
                TimeoutOutcome::Reject | TimeoutOutcome::Approve => self.reject_held(*session, &expired),
            },
            DecisionSubject::Unknown(number) => {
                let message = "the outcome of a call is not known, and nobody said what came of it in time";
                self.owner_failed(*number, Failure::new(Code::OutcomeUnknown, message));
            }
        }
    }
}

/// The escalation of a level; `None` at the first level.
fn escalation(node: &crate::Node, level: u32) -> Option<&Escalation> {
    node.escalate.get(usize::try_from(level).ok()?.checked_sub(1)?)
}

/// "Timed out: no decision by 2026-11-18 16:40 UTC".
fn no_decision(at: Timestamp) -> String {
    format!("Timed out: no decision by {}", at.to_chrono().format("%Y-%m-%d %H:%M UTC"))
}

pub(super) fn rejected(by: &str, message: &str) -> Failure {
    // A timeout has no author; its message says all.
    if by.is_empty() && !message.is_empty() {
        return Failure::new(Code::Rejected, message.to_owned());
    }
    let message = if message.is_empty() { "without a word".to_owned() } else { message.to_owned() };
    Failure::new(Code::Rejected, format!("rejected by {by}: {message}"))
}

fn action_name(action: HumanAction) -> &'static str {
    match action {
        HumanAction::Approve => "approve",
        HumanAction::Reject => "reject",
        HumanAction::Modify => "modify",
    }
}
