//! Agents that use mandates: calls covered by the user's request need no approval. The others are
//! approved together.
//!
//! Invariants
//! - The mandate is requested in a separate prompt, which holds the user's text and the names of
//!   tools. It contains nothing that the session has read, so no result can widen it, whenever it
//!   is requested.
//! - A call that the mandate covers goes through policy again, with its labels. Destructive calls
//!   still need approval there.
//! - A call that waits for approval is not made before the decision. One decision covers exactly
//!   the calls that it shows, and each of them consumes a gate of its own. They are made one after
//!   the other, in the order of the requests.

use super::Step;
use crate::program::Callable;
use crate::state::{DecisionSubject, NeededApproval, Owner, Pending, Session, Target};
use crate::{Approval, EffectId, Failure, Reply, derive, first_json};
use serde_json::Value;
use steward_domain::{AgentApprovals, JsonObject, Mandate, MandatedCall, Role, Sha256Hex, Taint, ToolName};

/// The result of a waiting call, as its agent sees it.
const HELD_CALL_RESULT: &str = "This call waits for a person and is not made yet. Make the other calls that the task \
    needs and that do not need its result; they are asked about together. When you can do no more without it, \
                     reply in words.";
/// The text before the results of the calls that waited.
const DECIDED: &str = "The calls that waited were decided on. Go on, or answer:";

impl Step<'_> {
    /// Policy requires approval for a call.
    pub(super) fn approval_needed(
        &mut self,
        number: u32,
        digest: &Sha256Hex,
        reason: &str,
        tool: Option<&ToolName>,
    ) {
        let Some(call) = self.state.calls.get_mut(&number) else { return };
        call.resolved = tool.cloned();
        call.needs = Some(NeededApproval { digest: digest.clone(), reason: reason.to_owned() });
        let (owner, mandated) = (call.owner, call.mandated);
        let Owner::Slot(session, _) = owner else { return self.request_approval(number) };
        let by_request = |session: &Session| {
            let spec = self.program.agent(session.agent);
            spec.is_some_and(|spec| spec.agent.approvals == AgentApprovals::ByRequest)
        };
        if !self.state.session(session).is_some_and(by_request) {
            return self.request_approval(number);
        }
        if mandated {
            return self.hold(session, number);
        }
        let untrusted = self.state.input_untrusted;
        let Some(running) = self.state.sessions.get_mut(session as usize) else { return };
        if untrusted || running.taint.words().trim().is_empty() {
            running.mandate = Some(Mandate::default());
        }
        if running.mandate.is_some() {
            return self.judge_by_mandate(session, number);
        }
        running.unjudged.push(number);
        if running.unjudged.len() == 1 {
            self.issue(Pending::Mandate { session });
        }
    }

    fn request_approval(&mut self, number: u32) {
        let needs = self.state.calls.get(&number).and_then(|call| call.needs.clone());
        if let Some(NeededApproval { digest, reason }) = needs {
            self.ask(DecisionSubject::Call(number), reason, Some(digest));
        }
    }

    /// Parses the mandate of a model's reply. A reply that is no list of calls covers nothing.
    pub(super) fn mandate_replied(&mut self, session: u32, reply: &Reply) {
        self.add_usage(reply.usage);
        self.state.used.replies += 1;
        if self.over_budget() {
            return;
        }
        let mandate = self.read_mandate(session, &reply.text);
        self.mandate_known(session, mandate);
    }

    /// Sets the mandate and judges the calls that waited for it.
    pub(super) fn mandate_known(&mut self, session: u32, mandate: Mandate) {
        let Some(running) = self.state.sessions.get_mut(session as usize) else { return };
        running.mandate = Some(mandate);
        for number in std::mem::take(&mut running.unjudged) {
            self.judge_by_mandate(session, number);
        }
    }

    fn read_mandate(&self, session: u32, text: &str) -> Mandate {
        let plain = |name: &str| name.replace(['.', '-', ':', '/'], "_").to_lowercase();
        let names: Vec<&str> = self.tools_of(session).map(|(_, tool)| tool.name.as_str()).collect();
        let Some(document) = first_json(text) else { return Mandate::default() };
        let listed = if document.is_array() { Some(&document) } else { document.get("calls") };
        let calls = listed.and_then(Value::as_array).into_iter().flatten().filter_map(|call| {
            let mut call: MandatedCall = serde_json::from_value(call.clone()).ok()?;
            let name = names.iter().find(|name| plain(name) == plain(&call.tool))?;
            (call.tool, call.used) = ((*name).to_owned(), 0);
            Some(call)
        });
        Mandate::new(calls)
    }

    /// The tools that a session may call, by the names under which its model calls them.
    fn tools_of(&self, session: u32) -> impl Iterator<Item = (&str, &crate::ToolSpec)> {
        let session = self.state.session(session);
        let spec = session.and_then(|session| self.program.agent(session.agent));
        let own = spec.into_iter().flat_map(|spec| &spec.callable).filter_map(|(name, what)| match what {
            Callable::Tool(place) => Some((name, *place)),
            Callable::Agent(_) => None,
        });
        let found =
            session.into_iter().flat_map(|session| &session.found).map(|(name, place)| (name, *place));
        own.chain(found)
            .filter_map(|(name, place)| Some((name.as_str(), self.state.tool(self.program, place)?)))
    }

    /// Releases a call that the mandate covers, and holds any other.
    fn judge_by_mandate(&mut self, session: u32, number: u32) {
        let made = self.calls_made(session);
        let Some(call) = self.state.calls.get(&number) else { return };
        let server = self.server_of(&call.target);
        let named = match call.target {
            Target::Tool(place) => self.state.tool(self.program, place).map(|tool| tool.name.clone()),
            Target::Agent(..) | Target::Workflow(..) => None,
        };
        let Some(tool) = call.resolved.clone().or(named) else { return };
        let judged = self.state.session(session).and_then(|running| {
            // Earlier messages of an agent may hold data that other sessions read.
            let clean = made.as_ref().filter(|_| !running.has_history());
            let unknown = JsonObject::new();
            let stranger = clean.is_none().then_some(("", &unknown));
            let made = clean.into_iter().flatten().map(|(tool, arguments)| (tool.as_str(), arguments));
            let made = made.chain(stranger);
            running.mandate.as_ref()?.judge(&running.taint, (&server, tool.as_str()), &call.arguments, made)
        });
        let Some(release) = judged else { return self.hold(session, number) };
        let origin = release.origin.clone();
        if let Some(mandate) =
            self.state.sessions.get_mut(session as usize).and_then(|it| it.mandate.as_mut())
        {
            mandate.release(release);
        }
        if let Some(call) = self.state.calls.get_mut(&number) {
            (call.provenance, call.origin) = (origin.arguments, origin.call);
            (call.mandated, call.needs) = (true, None);
        }
        self.issue_call(number);
    }

    /// The calls of a session so far; `None` when it called an agent, whose reads are not visible
    /// here.
    fn calls_made(&self, session: u32) -> Option<Vec<(String, JsonObject)>> {
        let running = self.state.session(session)?;
        let spec = self.program.agent(running.agent)?;
        let mut made = Vec::new();
        for call in running.messages.iter().flat_map(|message| &message.calls) {
            let place = match spec.resolve(&call.tool) {
                Some(Callable::Agent(_)) => return None,
                Some(Callable::Tool(place)) => place,
                // A call of an unknown tool read nothing.
                None => match running.found.get(&call.tool) {
                    Some(place) => *place,
                    None => continue,
                },
            };
            let (Some(tool), Some(arguments)) =
                (self.state.tool(self.program, place), call.arguments.as_object())
            else {
                continue;
            };
            made.push((tool.name.as_str().to_owned(), arguments.clone()));
        }
        Some(made)
    }

    /// Holds a call until its agent cannot continue without it.
    fn hold(&mut self, session: u32, number: u32) {
        let Some(call) = self.state.calls.get_mut(&number) else { return };
        let Owner::Slot(_, slot) = std::mem::replace(&mut call.owner, Owner::Held(session)) else { return };
        if let Some(running) = self.state.sessions.get_mut(session as usize) {
            running.waiting.push(number);
        }
        self.slot_done(session, slot, HELD_CALL_RESULT.to_owned(), |_| {});
    }

    /// Requests approval of all waiting calls at once. Returns false when none waits.
    pub(super) fn request_approval_of_held(&mut self, session: u32) -> bool {
        let waiting = self.state.session(session).map(|it| it.waiting.clone()).unwrap_or_default();
        match waiting.as_slice() {
            [] => return false,
            [only] => self.request_approval(*only),
            several => {
                let mut reasons: Vec<&str> = Vec::new();
                let mut parts =
                    vec![self.program.version.as_str().to_owned(), self.state.next_effect.to_string()];
                for call in several.iter().filter_map(|number| self.state.calls.get(number)) {
                    let Some(needs) = &call.needs else { continue };
                    reasons.push(&needs.reason);
                    parts.push(needs.digest.as_str().to_owned());
                }
                let text = format!("{} calls: {}", several.len(), reasons.join("; "));
                let digest = derive::digest(parts.iter().map(String::as_str));
                self.ask(DecisionSubject::Calls(session), text, Some(digest));
            }
        }
        true
    }

    /// A person approved the waiting calls: each gets a gate of its own.
    pub(super) fn approve_held(&mut self, session: u32, by: &str) {
        let waiting = self.state.session(session).map(|it| it.waiting.clone()).unwrap_or_default();
        for number in &waiting {
            let gate = EffectId(self.state.next_effect);
            let Some(call) = self.state.calls.get_mut(number) else { continue };
            let Some(needs) = &call.needs else { continue };
            call.approval = Some(Approval { digest: needs.digest.clone(), by: by.to_owned(), gate });
            self.state.next_effect += 1;
        }
        if let Some(first) = waiting.first() {
            self.issue_call(*first);
        }
    }

    /// Fails all waiting calls.
    pub(super) fn reject_held(&mut self, session: u32, failure: &Failure) {
        let waiting = self.state.session(session).map(|it| it.waiting.clone()).unwrap_or_default();
        for number in waiting {
            self.call_failed(number, failure.clone());
        }
    }

    /// A waiting call has its result. The next one is made; after the last the agent continues.
    pub(super) fn held_call_done(
        &mut self,
        session: u32,
        number: u32,
        told: String,
        read: impl FnOnce(&mut Taint),
    ) {
        let now = self.state.now;
        let Some(running) = self.state.sessions.get_mut(session as usize).filter(|it| !it.over) else {
            return;
        };
        read(&mut running.taint);
        running.waiting.retain(|waiting| *waiting != number);
        running.told.push(told);
        if let Some(next) = running.waiting.first().copied() {
            if self.state.calls.get(&next).is_some_and(|call| call.approval.is_some()) {
                self.issue_call(next);
            }
            return;
        }
        let lines: Vec<String> =
            std::mem::take(&mut running.told).iter().map(|line| format!("- {line}")).collect();
        running.push(super::agent::said(Role::User, format!("{DECIDED}\n{}", lines.join("\n")), now));
        self.ask_model(session);
    }
}
