//! Calls of tools and sub-agents: attempts, fallbacks, approvals, and unknown outcomes.
//!
//! Invariant: a call that is neither read-only nor keyed leaves this process at most once under one
//! key. It is repeated only when it certainly was not sent, or when a person decided so, and then
//! under a new key.

use super::Step;
use crate::expression::as_text;
use crate::program::ProgramIndex;
use crate::state::{Call, DecisionSubject, ItemResult, Owner, Pending, Target};
use crate::{Class, Code, Effect, EffectId, Failure, OnUnknown, ToolOutcome, ToolSpec, derive};
use serde_json::{Value, json};
use steward_domain::{Idempotency, Provenance, RetryClass, RetryPolicy, Timestamp};

/// The maximum number of tools that a session may find.
const FOUND: usize = 100;

impl Step<'_> {
    pub(super) fn issue_call(&mut self, number: u32) {
        let pending = match self.state.calls.get(&number).map(|call| &call.target) {
            Some(Target::Tool(_)) => Pending::Tool { call: number },
            Some(Target::Agent(..) | Target::Workflow(..)) => Pending::Sub { call: number },
            None => return,
        };
        self.issue(pending);
    }

    pub(super) fn call_effect(&self, id: EffectId, number: u32) -> Option<Effect> {
        let call = self.state.calls.get(&number)?;
        let owner = self.program.node(self.owner_node(call.owner)?)?;
        Some(match &call.target {
            Target::Tool(place) => {
                let tool = self.state.tool(self.program, *place)?;
                // The node's own timeout applies to the tool that it names.
                let is_own = matches!(call.owner, Owner::Node(_) | Owner::Item(..));
                let own = owner.timeout_seconds.filter(|_| is_own);
                Effect::CallTool {
                    id,
                    key: call.key,
                    tool: tool.name.clone(),
                    server: tool.server.clone(),
                    node: owner.name.clone(),
                    arguments: call.arguments.clone(),
                    provenance: call.provenance.clone(),
                    origin: call.origin,
                    approval: call.approval.clone(),
                    timeout_seconds: own.unwrap_or(tool.timeout_seconds),
                    safety: tool.safety,
                    attempt: call.attempt,
                }
            }
            Target::Workflow(place, input, untrusted) => Effect::StartWorkflow {
                id,
                task_id: self.child_id(number, call.attempt),
                workflow: self.program.workflow(*place)?.clone(),
                input: input.clone(),
                untrusted: *untrusted,
                depth: self.state.depth.saturating_add(1),
                limits: self.left(),
                attempt: call.attempt,
            },
            Target::Agent(place, task, untrusted) => Effect::StartSub {
                id,
                task_id: self.child_id(number, call.attempt),
                agent: self.program.agent(*place)?.agent.name.clone(),
                task: task.clone(),
                untrusted: *untrusted,
                depth: self.state.depth.saturating_add(1),
                limits: self.left(),
            },
        })
    }

    /// The task id of a sub-agent or a sub-workflow. Each attempt is a separate task.
    fn child_id(&self, number: u32, attempt: u32) -> steward_domain::TaskId {
        let attempt = u64::from(attempt.saturating_sub(1)) << 32;
        derive::child_task(self.task(), u64::from(number) | attempt)
    }

    pub(super) fn owner_node(&self, owner: Owner) -> Option<ProgramIndex> {
        match owner {
            Owner::Node(node) | Owner::Item(node, _) => Some(node),
            Owner::Slot(session, _) | Owner::Held(session) => {
                self.state.session(session).map(|session| session.node)
            }
        }
    }

    pub(super) fn tool_ended(&mut self, number: u32, outcome: &ToolOutcome) {
        let Some((name, safety)) = self.tool_of(number) else { return };
        match outcome {
            ToolOutcome::Success { output, artifact } => {
                let output = match artifact {
                    None => output.clone(),
                    Some(artifact) => Value::String(format!(
                        "{}\n(the whole result is artifact {artifact})",
                        as_text(output)
                    )),
                };
                self.call_done(number, output);
            }
            ToolOutcome::Found { output, tools } => self.tools_found(number, output, tools),
            ToolOutcome::Failed { class, message, sent } => {
                let wanted = match class {
                    Class::Transient => RetryClass::Transient,
                    _ => RetryClass::Failed,
                };
                let again = self.retries(number, wanted, *class == Class::Transient)
                    && *class != Class::Denied
                    && (safety != Idempotency::None || !sent);
                let code = if *class == Class::Denied { Code::Denied } else { Code::ToolFailed };
                self.retry_or_fall_back(number, again, Failure::new(code, format!("{name}: {message}")));
            }
            ToolOutcome::TimedOut if safety == Idempotency::None => self.unknown(number),
            ToolOutcome::TimedOut => {
                let failure = Failure::new(Code::ToolTimeout, format!("{name} did not answer in time"));
                let again = self.retries(number, RetryClass::Timeout, true);
                self.retry_or_fall_back(number, again, failure);
            }
            ToolOutcome::Unknown => self.unknown(number),
            ToolOutcome::Denied { message } => {
                self.call_failed(number, Failure::new(Code::Denied, format!("{name}: {message}")));
            }
            ToolOutcome::ApprovalNeeded { digest, reason, tool } => {
                self.approval_needed(number, digest, reason, tool.as_ref());
            }
        }
    }

    /// The session that called may use the found tools, up to a limit. A node of a workflow has no
    /// session.
    fn tools_found(&mut self, number: u32, output: &Value, tools: &[ToolSpec]) {
        if let Some(Owner::Slot(session, _)) = self.state.calls.get(&number).map(|call| call.owner) {
            for tool in tools {
                let known = self.state.session(session).map_or(0, |session| session.found.len());
                let Some(place) =
                    self.state.index_of_found_tool(self.program, tool).filter(|_| known < FOUND)
                else {
                    break;
                };
                if let Some(session) = self.state.sessions.get_mut(session as usize) {
                    session.found.insert(tool.name.as_str().to_owned(), place);
                }
            }
        }
        let Some(call) = self.state.calls.remove(&number) else { return };
        match call.owner {
            Owner::Node(node) => self.node_done(node, Some(output.clone()), true),
            Owner::Item(node, item) => self.item_done(node, item, output.clone()),
            Owner::Held(session) => self.held_call_done(session, number, as_text(output), |_| {}),
            // A server's description of its tools is as untrusted as the results of its tools.
            Owner::Slot(session, slot) => {
                let foreign = tools.iter().any(|tool| tool.server.is_some());
                self.slot_done(session, slot, as_text(output), |taint| {
                    if foreign {
                        taint.absorb(Provenance::Untrusted);
                    }
                });
            }
        }
    }

    /// The retry policy of the call's node. It does not apply to the calls of an agent.
    fn retry_policy(&self, number: u32) -> Option<&RetryPolicy> {
        let place = match self.state.calls.get(&number)?.owner {
            Owner::Node(place) | Owner::Item(place, _) => place,
            Owner::Slot(..) | Owner::Held(_) => return None,
        };
        self.program.node(place)?.retry.as_ref()
    }

    /// Whether a failure of this class is retried, by the node's policy or else by default.
    fn retries(&self, number: u32, class: RetryClass, default: bool) -> bool {
        self.retry_policy(number).map_or(default, |policy| policy.on.contains(&class))
    }

    fn tool_of(&self, number: u32) -> Option<(String, Idempotency)> {
        match self.state.calls.get(&number)?.target {
            Target::Tool(place) => {
                let tool = self.state.tool(self.program, place);
                tool.map(|tool| (tool.name.as_str().to_owned(), tool.safety))
            }
            Target::Agent(..) | Target::Workflow(..) => None,
        }
    }

    /// Retries after a wait, else tries the next fallback, else fails.
    fn retry_or_fall_back(&mut self, number: u32, again: bool, failure: Failure) {
        if again && self.schedule_retry(number) {
            return;
        }
        if failure.code == Code::Denied || !self.try_fallback(number) {
            self.call_failed(number, failure);
        }
    }

    /// Schedules the next attempt. Returns false when none is left.
    fn schedule_retry(&mut self, number: u32) -> bool {
        let settings = self.program.settings();
        let millis = |seconds: f64| (seconds.clamp(0.0, 86_400.0) * 1000.0) as u64;
        let (retries, base, cap) = match self.retry_policy(number) {
            Some(policy) => (
                policy.attempts.saturating_sub(1),
                millis(policy.backoff_seconds),
                millis(policy.max_backoff_seconds),
            ),
            None => (settings.retries, settings.backoff_ms, settings.backoff_cap_ms),
        };
        let (task, now) = (self.task(), self.state.now);
        let Some(call) = self.state.calls.get_mut(&number).filter(|call| call.attempt <= retries) else {
            return false;
        };
        let wait = derive::backoff_micros(task, u64::from(number), call.attempt, base, cap);
        call.attempt += 1;
        let at = Timestamp::from_micros(now.micros().saturating_add(wait));
        self.issue(Pending::Backoff { call: number, at });
        true
    }

    /// Switches to the next fallback. It is another tool, so it has its own key and needs its own
    /// approval.
    fn try_fallback(&mut self, number: u32) -> bool {
        let program = self.program;
        let Some(call) = self.state.calls.get(&number) else { return false };
        let next =
            program.fallbacks.get(call.primary as usize).and_then(|tools| tools.get(call.fallbacks as usize));
        let Some(next) = next else { return false };
        let key = self.new_key();
        let Some(call) = self.state.calls.get_mut(&number) else { return false };
        call.fallbacks += 1;
        call.target = Target::Tool(*next);
        call.attempt = 1;
        call.approval = None;
        call.resolved = None;
        (call.needs, call.mandated) = (None, false);
        call.key = key;
        self.issue_call(number);
        true
    }

    /// The outcome is unknown and the call must not be repeated: a rule or a person decides.
    pub(super) fn unknown(&mut self, number: u32) {
        let Some((name, _)) = self.tool_of(number) else { return };
        let message = format!("{name} was called, but nobody knows what came of it");
        match self.program.settings().on_unknown {
            OnUnknown::Ask => self.ask(DecisionSubject::Unknown(number), message, None),
            OnUnknown::Fallback if self.try_fallback(number) => {}
            OnUnknown::Fail | OnUnknown::Fallback => {
                self.owner_failed(number, Failure::new(Code::OutcomeUnknown, message));
            }
        }
    }

    pub(super) fn call_done(&mut self, number: u32, output: Value) {
        let Some(call) = self.state.calls.remove(&number) else { return };
        if self.state.plan_taint.is_some() {
            let server = self.server_of(&call.target);
            if let Some(taint) = &mut self.state.plan_taint {
                taint.absorb_result(&server, &output);
            }
        }
        match call.owner {
            Owner::Node(node) => self.node_done(node, Some(output), true),
            Owner::Item(node, item) => self.item_done(node, item, output),
            Owner::Slot(session, slot) => {
                let (server, trusted) = (self.server_of(&call.target), self.trusted_fields_of(&call.target));
                self.slot_done(session, slot, as_text(&output), |taint| {
                    taint.absorb_answer(&server, &call.arguments, &trusted, &output);
                });
            }
            Owner::Held(session) => {
                let (server, trusted) = (self.server_of(&call.target), self.trusted_fields_of(&call.target));
                let told = format!("{}: {}", self.title_of(&call), as_text(&output));
                self.held_call_done(session, number, told, |taint| {
                    taint.absorb_answer(&server, &call.arguments, &trusted, &output);
                });
            }
        }
    }

    /// The owner of a tool's ids: the server, or the group of a built-in tool.
    pub(super) fn server_of(&self, target: &Target) -> String {
        let Target::Tool(place) = target else { return String::new() };
        let Some(tool) = self.program.tool(*place) else { return String::new() };
        let group = || tool.name.as_str().split('.').next().unwrap_or_default().to_owned();
        tool.server.as_ref().map_or_else(group, |server| server.as_str().to_owned())
    }

    /// The fields of a tool's results that the operator trusts.
    fn trusted_fields_of(&self, target: &Target) -> Vec<String> {
        let Target::Tool(place) = target else { return Vec::new() };
        self.state.tool(self.program, *place).map(|tool| tool.trusted_fields.clone()).unwrap_or_default()
    }

    fn title_of(&self, call: &Call) -> String {
        match &call.target {
            Target::Tool(place) => {
                let tool = self.state.tool(self.program, *place);
                tool.map(|tool| tool.name.as_str().to_owned()).unwrap_or_default()
            }
            Target::Agent(_, task, _) => task.clone(),
            Target::Workflow(place, ..) => {
                self.program.workflow(*place).map(ToString::to_string).unwrap_or_default()
            }
        }
    }

    /// A call failed permanently. An agent gets the error and may continue; a tool node fails.
    pub(super) fn call_failed(&mut self, number: u32, failure: Failure) {
        let Some(call) = self.state.calls.remove(&number) else { return };
        match call.owner {
            Owner::Node(node) => self.node_failed(node, failure),
            Owner::Item(node, item) if self.is_map(node) => {
                self.map_item_ended(node, item, ItemResult::Failed(failure));
            }
            // A rejected item does not fail the other items.
            Owner::Item(node, item) if failure.code == Code::Rejected => {
                self.item_done(node, item, json!({ "not_done": failure.message }));
            }
            Owner::Item(node, _) => self.node_failed(node, failure),
            Owner::Slot(session, slot) => {
                self.slot_done(session, slot, format!("error {failure}"), |taint| {
                    if failure.code.carries_data() {
                        taint.absorb(Provenance::Untrusted);
                    }
                });
            }
            Owner::Held(session) => {
                let told = format!("{}: error {failure}", self.title_of(&call));
                self.held_call_done(session, number, told, |taint| {
                    if failure.code.carries_data() {
                        taint.absorb(Provenance::Untrusted);
                    }
                });
            }
        }
    }

    /// Fails the node of a call, in cases that the agent may not handle itself.
    pub(super) fn owner_failed(&mut self, number: u32, failure: Failure) {
        let Some(Call { owner, .. }) = self.state.calls.remove(&number) else { return };
        if let Owner::Item(node, item) = owner
            && self.is_map(node)
        {
            return self.map_item_ended(node, item, ItemResult::Failed(failure));
        }
        if let Some(node) = self.owner_node(owner) {
            self.node_failed(node, failure);
        }
    }

    pub(super) fn sub_ended(
        &mut self,
        number: u32,
        summary: &Result<String, String>,
        output: Option<&Value>,
    ) {
        match summary {
            Ok(summary) => {
                let output = output.cloned().unwrap_or_else(|| Value::String(summary.clone()));
                self.call_done(number, output);
            }
            Err(_) if self.retries(number, RetryClass::Failed, false) && self.schedule_retry(number) => {}
            Err(why) => self.call_failed(number, Failure::new(Code::SubFailed, why.clone())),
        }
    }
}
