//! Agents: the loop of model and tools, and its patterns.
//!
//! Invariants
//! - A session holds its own messages only. A sub-agent is a separate task, and only its summary is
//!   returned.
//! - Results of calls are appended in the order in which the model requested them, whatever order
//!   they arrived in.
//! - The model's output is judged by the session's [`Taint`], which starts with the user's text and
//!   only grows: by descriptions of servers' tools, by results, by errors, by summaries of
//!   sub-agents.
//! - The loop is bounded whatever the model replies: by rounds, by repairs, by unknown tools, by
//!   repeated calls.

use super::Step;
use crate::derive::{self, Fnv, estimate_tokens};
use crate::expression::as_text;
use crate::program::{AgentSpec, Callable, ProgramIndex};
use crate::state::{Call, Msg, Owner, Pending, Session, Slot, Stage, Target};
use crate::static_plan::CompiledExtraction;
use crate::{AskedCall, Class, Code, EarlierMessage, Failure, Program, Reply};
use serde_json::Value;
use std::collections::BTreeMap;
use steward_domain::{CallOrigin, JsonObject, Pattern, Provenance, Role, Taint, Timestamp};

const THINK: &str = "Think step by step about how to do this. Write down your reasoning; do not act yet.";
const THINK_AND_ANSWER: &str =
    "Think step by step. Then write a line that starts with \"Answer:\" and give the answer after it.";
const ACT: &str = "Now do it.";
const CRITIQUE: &str = "Read your answer as a strict reviewer. Name what is wrong, missing or unclear. \
                        Reply with only OK when nothing needs to change.";
const IMPROVE: &str = "Write the improved answer in full, without comments about the changes.";
const EMPTY: &str = "Your reply was empty. Answer in words or call one of your tools.";
const NO_TOOLS_NOW: &str = "No tool can be called at this point. Answer in words.";

/// How one requested call is handled.
enum Plan {
    Call(Target, JsonObject),
    Answer(String),
}

impl Step<'_> {
    pub(super) fn start_session(
        &mut self,
        node: ProgramIndex,
        agent: ProgramIndex,
        text: String,
        untrusted: bool,
    ) {
        let Some(spec) = self.program.agent(agent) else { return };
        let taint = self.initial_taint(spec, &text, untrusted);
        let name = spec.agent.name.as_str();
        if self.state.current_agent.as_deref() != Some(name) {
            self.state.current_agent = Some(name.to_owned());
        }
        let number = self.state.sessions.len() as u32;
        let mut session = Session {
            agent,
            node,
            messages: Vec::new(),
            stage: Stage::Act,
            phase: 0,
            rounds: 0,
            repairs: 0,
            strange: 0,
            slots: Vec::new(),
            open: 0,
            seen: BTreeMap::new(),
            window: 1,
            tokens: 0,
            draft: None,
            taint,
            earlier: 0,
            followed: 0,
            found: BTreeMap::new(),
            mandate: None,
            unjudged: Vec::new(),
            waiting: Vec::new(),
            told: Vec::new(),
            over: false,
        };
        session.push(said(Role::User, text, self.state.now));
        for message in std::mem::take(&mut self.state.earlier) {
            // An earlier message of an agent may come from data, so it is not the user's text.
            if message.role != Role::User {
                session.taint.absorb(Provenance::Untrusted);
            }
            let EarlierMessage { role, text, calls, answers, follows } = message;
            let mut told = said(role, text, self.state.now);
            for call in &calls {
                told.tokens = told.tokens.saturating_add(8 + weigh(&call.arguments) / 4);
            }
            session.push(Msg { calls, answers, ..told });
            let place = if follows { &mut session.followed } else { &mut session.earlier };
            *place += 1;
        }
        self.state.sessions.push(session);
        self.begin_phase(number);
    }

    /// The taint of a session before its model's first reply: the task, and the servers'
    /// descriptions of their tools.
    fn initial_taint(&self, spec: &AgentSpec, text: &str, untrusted: bool) -> Taint {
        let input = || if self.state.input_untrusted { String::new() } else { as_text(&self.state.input) };
        // The user's earlier messages of the conversation count as the user's text, too.
        let earlier = self.state.earlier.iter().filter(|message| message.role == Role::User);
        let typed = |text: &str| {
            let texts: Vec<&str> = earlier.map(|message| message.text.as_str()).chain([text]).collect();
            texts.join("\n")
        };
        let mut taint = Taint::new(if untrusted { input() } else { typed(text) });
        let foreign = |callable: &Callable| match callable {
            Callable::Tool(tool) => self.program.tool(*tool).is_some_and(|tool| tool.server.is_some()),
            Callable::Agent(_) => false,
        };
        if untrusted || spec.callable.values().any(foreign) {
            taint.absorb(Provenance::Untrusted);
        }
        taint
    }

    /// The agent's session, unless it has ended.
    fn active_session(&mut self, number: u32) -> Option<(&mut Session, &AgentSpec, Timestamp)> {
        let (program, now) = (self.program, self.state.now);
        let session = self.state.sessions.get_mut(number as usize).filter(|session| !session.over)?;
        let spec = program.agent(session.agent)?;
        Some((session, spec, now))
    }

    fn begin_phase(&mut self, number: u32) {
        let Some((session, spec, now)) = self.active_session(number) else { return };
        let phase = session.phase as usize;
        let last = phase + 1 >= spec.patterns.len();
        let (stage, instruction) = match spec.patterns.get(phase) {
            None => return self.session_done(number),
            Some(Pattern::Cot) if last => (Stage::Think, Some(THINK_AND_ANSWER)),
            Some(Pattern::Cot) => (Stage::Think, Some(THINK)),
            Some(Pattern::React) => (Stage::Act, (phase > 0).then_some(ACT)),
            Some(Pattern::Reflection) if session.draft.is_none() => (Stage::Act, (phase > 0).then_some(ACT)),
            Some(Pattern::Reflection) => (Stage::Critique, Some(CRITIQUE)),
        };
        session.stage = stage;
        if let Some(instruction) = instruction {
            session.push(said(Role::User, instruction.to_owned(), now));
        }
        self.ask_model(number);
    }

    pub(super) fn ask_model(&mut self, number: u32) {
        if self.over_budget() {
            return;
        }
        let limit = self.program.limits.context_tokens.unwrap_or(self.program.settings().context_tokens);
        let Some((session, spec, _)) = self.active_session(number) else { return };
        let node = session.node;
        let most = spec.agent.max_iterations.get();
        let limit = spec.agent.limits.context_tokens.unwrap_or(limit);
        session.rounds += 1;
        if session.rounds > most {
            let message = format!("{} went round more than the {most} times it may", spec.agent.name);
            return self.node_failed(node, Failure::new(Code::BudgetIterations, message));
        }
        if !session.trim(limit, estimate_tokens(&spec.agent.system_prompt)) {
            let message =
                format!("the newest messages alone are more than the {limit} tokens a prompt may hold");
            return self.node_failed(node, Failure::new(Code::ContextOverflow, message));
        }
        self.issue(Pending::Model { session: number, attempt: 1 });
    }

    pub(super) fn model_failed(
        &mut self,
        number: u32,
        attempt: u32,
        class: Class,
        message: &str,
        retry_after: Option<u32>,
    ) {
        let settings = self.program.settings();
        let node = self.state.session(number).and_then(|session| self.program.node(session.node));
        let millis = |seconds: f64| (seconds.clamp(0.0, 86_400.0) * 1000.0) as u64;
        let (retries, base, cap) = match node.and_then(|node| node.retry.as_ref()) {
            Some(policy) => (
                policy.attempts.saturating_sub(1),
                millis(policy.backoff_seconds),
                millis(policy.max_backoff_seconds),
            ),
            None => (settings.retries, settings.backoff_ms, settings.backoff_cap_ms),
        };
        if class == Class::Transient && attempt <= retries {
            let salt = u64::from(number) | (1 << 40);
            let wait = derive::backoff_micros(self.task(), salt, attempt, base, cap);
            // The server's `Retry-After` is respected, up to one hour.
            let asked = i64::from(retry_after.unwrap_or(0).min(3600)).saturating_mul(1_000_000);
            let at = Timestamp::from_micros(self.state.now.micros().saturating_add(wait.max(asked)));
            self.issue(Pending::ModelBackoff { session: number, attempt: attempt + 1, at });
            return;
        }
        let Some(node) = self.state.session(number).map(|session| session.node) else { return };
        let times = if attempt > 1 { format!(" (after {attempt} attempts)") } else { String::new() };
        let message = format!("the model could not be asked{times}: {message}");
        self.node_failed(node, Failure::new(Code::ModelFailed, message));
    }

    pub(super) fn model_replied(&mut self, number: u32, reply: &Reply) {
        self.add_usage(reply.usage);
        self.state.used.replies += 1;
        if self.over_budget() {
            return;
        }
        let Some((session, _, now)) = self.active_session(number) else { return };
        let with_tools = matches!(session.stage, Stage::Act | Stage::Improve);
        if reply.tool_calls.is_empty() {
            if reply.text.trim().is_empty() {
                return self.repair(number, EMPTY);
            }
            session.push(said(Role::Agent, reply.text.clone(), now));
            let node = session.node;
            if let Some(extract) = extraction(self.program, node) {
                return self.extracted(number, node, extract, &reply.text);
            }
            let Some((session, _, _)) = self.active_session(number) else { return };
            session.repairs = 0;
            return self.spoke(number, &reply.text);
        }
        if !with_tools {
            if !reply.text.trim().is_empty() {
                session.push(said(Role::Agent, reply.text.clone(), now));
            }
            return self.repair(number, NO_TOOLS_NOW);
        }
        let mut message = said(Role::Agent, reply.text.clone(), now);
        for call in &reply.tool_calls {
            message.tokens = message.tokens.saturating_add(8 + weigh(&call.arguments) / 4);
        }
        message.calls.clone_from(&reply.tool_calls);
        session.push(message);
        self.start_calls(number, &reply.tool_calls);
    }

    /// The model of an extraction replied. The value has the type that the plan requires, or the
    /// model is asked to correct it.
    fn extracted(&mut self, number: u32, node: ProgramIndex, extract: &CompiledExtraction, text: &str) {
        match extract.value_type.read(text) {
            Err(why) => self.repair(number, &format!("That does not fit: {why}. Reply with the JSON only.")),
            Ok(None) => {
                let message = format!("the data does not say: {}", extract.instruction);
                self.node_failed(node, Failure::new(Code::NeedMissing, message));
            }
            Ok(Some(value)) => {
                if let Some((session, _, _)) = self.active_session(number) {
                    session.over = true;
                }
                self.node_done(node, Some(value), true);
            }
        }
    }

    /// Asks the model to correct its reply, a bounded number of times in a row.
    fn repair(&mut self, number: u32, what: &str) {
        let most = self.program.settings().repairs;
        let Some((session, spec, now)) = self.active_session(number) else { return };
        session.repairs += 1;
        if session.repairs > most {
            let node = session.node;
            let message =
                format!("the model of {} gave no usable reply {} times in a row", spec.agent.name, most + 1);
            return self.node_failed(node, Failure::new(Code::ModelNonsense, message));
        }
        session.push(said(Role::User, what.to_owned(), now));
        self.ask_model(number);
    }

    /// The model replied with text: the stage ends.
    fn spoke(&mut self, number: u32, text: &str) {
        if self.request_approval_of_held(number) {
            return;
        }
        let Some((session, spec, now)) = self.active_session(number) else { return };
        let pattern = spec.patterns.get(session.phase as usize).copied().unwrap_or(Pattern::React);
        match session.stage {
            Stage::Think => {
                let answer = text.rsplit_once("Answer:").map_or(text, |(_, answer)| answer).trim();
                session.draft =
                    (session.phase as usize + 1 >= spec.patterns.len()).then(|| answer.to_owned());
                session.phase += 1;
                self.begin_phase(number);
            }
            Stage::Act if pattern == Pattern::Reflection => {
                session.draft = Some(text.to_owned());
                self.begin_phase(number);
            }
            Stage::Act | Stage::Improve => {
                session.draft = Some(text.to_owned());
                session.phase += 1;
                self.begin_phase(number);
            }
            Stage::Critique => {
                let fine = text.trim().trim_end_matches(['.', '!']).eq_ignore_ascii_case("ok");
                if fine {
                    session.phase += 1;
                    return self.begin_phase(number);
                }
                session.stage = Stage::Improve;
                session.push(said(Role::User, IMPROVE.to_owned(), now));
                self.ask_model(number);
            }
        }
    }

    fn session_done(&mut self, number: u32) {
        let Some((session, _, _)) = self.active_session(number) else { return };
        session.over = true;
        let (node, untrusted) = (session.node, session.taint.is_tainted());
        let answer = session.draft.take().unwrap_or_default();
        self.node_done(node, Some(Value::String(answer)), untrusted);
    }

    fn start_calls(&mut self, number: u32, asked: &[AskedCall]) {
        let settings = self.program.settings();
        let (most, depth) = (settings.calls_per_reply, self.state.depth);
        let Some((session, spec, _)) = self.active_session(number) else { return };
        let node = session.node;
        let mut plans = Vec::with_capacity(asked.len());
        let (mut broken, mut repeated) = (0, None);
        for (place, call) in asked.iter().enumerate() {
            let Value::Object(arguments) = &call.arguments else {
                broken += 1;
                let told = "error: the arguments are not a JSON object. Send the call again with an object";
                plans.push(Plan::Answer(told.to_owned()));
                continue;
            };
            let found = || session.found.get(&call.tool).map(|place| Callable::Tool(*place));
            let Some(callable) = spec.resolve(&call.tool).or_else(found) else {
                session.strange += 1;
                let known: Vec<&str> =
                    spec.callable.keys().chain(session.found.keys()).map(String::as_str).collect();
                plans.push(Plan::Answer(format!(
                    "error: there is no tool {:?}. You may call: {}",
                    call.tool,
                    known.join(", ")
                )));
                continue;
            };
            let hash = Fnv::new().bytes(call.tool.as_bytes()).object(arguments).finish();
            let seen = session.seen.entry(hash).or_default();
            *seen += 1;
            if *seen > settings.same_call + 2 {
                repeated = Some(call.tool.clone());
            }
            plans.push(if place >= most {
                Plan::Answer(format!("error: at most {most} calls at once. Send this one later"))
            } else if *seen > settings.same_call {
                Plan::Answer(format!(
                    "error: you made this very call {} times before. Use what it gave, or do something else",
                    *seen - 1
                ))
            } else {
                match callable {
                    Callable::Tool(tool) => Plan::Call(Target::Tool(tool), arguments.clone()),
                    Callable::Agent(_) if depth >= settings.depth => Plan::Answer(format!(
                        "error {}: agents may call agents {} deep",
                        Code::TooDeep.name(),
                        settings.depth
                    )),
                    Callable::Agent(agent) => {
                        let task = arguments.get("task").and_then(Value::as_str).map(str::to_owned);
                        let task = task.unwrap_or_else(|| call.arguments.to_string());
                        let untrusted = session.taint.judge_text(&task) == Provenance::Untrusted;
                        Plan::Call(Target::Agent(agent, task, untrusted), JsonObject::new())
                    }
                }
            });
        }
        if session.strange > settings.strange_tools {
            let message = format!("the model of {} kept calling tools that do not exist", spec.agent.name);
            return self.node_failed(node, Failure::new(Code::ModelUnknownTool, message));
        }
        if let Some(tool) = repeated {
            let message = format!("{} kept calling {tool} with the same arguments", spec.agent.name);
            return self.node_failed(node, Failure::new(Code::LoopRepeatedCall, message));
        }
        if broken == 0 {
            session.repairs = 0;
        } else {
            session.repairs += 1;
            if session.repairs > settings.repairs {
                let message =
                    format!("the model of {} kept sending calls that cannot be read", spec.agent.name);
                return self.node_failed(node, Failure::new(Code::ModelNonsense, message));
            }
        }
        self.make_calls(number, asked, plans);
    }

    fn make_calls(&mut self, number: u32, asked: &[AskedCall], plans: Vec<Plan>) {
        let servers: Vec<String> = plans
            .iter()
            .map(|plan| match plan {
                Plan::Call(target, _) => self.server_of(target),
                Plan::Answer(_) => String::new(),
            })
            .collect();
        let Some((session, _, _)) = self.active_session(number) else { return };
        session.slots.clear();
        let mut calls = Vec::with_capacity(plans.len());
        for (slot, ((plan, asked), server)) in plans.into_iter().zip(asked).zip(servers).enumerate() {
            let answer = match plan {
                Plan::Answer(answer) => Some(answer),
                Plan::Call(target, arguments) => {
                    let origin = session.taint.judge_call(&server, &arguments);
                    calls.push((slot as u32, target, arguments, origin));
                    None
                }
            };
            session.slots.push(Slot { id: asked.id.clone(), answer });
        }
        session.open = calls.len() as u32;
        if calls.is_empty() {
            return self.answers(number);
        }
        let mut issued = Vec::with_capacity(calls.len());
        for (slot, target, arguments, CallOrigin { call: origin, arguments: provenance }) in calls {
            let key = self.new_key();
            let primary = if let Target::Tool(tool) = target { tool } else { ProgramIndex::MAX };
            let owner = Owner::Slot(number, slot);
            issued.push(self.new_call(Call {
                owner,
                target,
                key,
                arguments,
                provenance,
                origin,
                approval: None,
                resolved: None,
                attempt: 1,
                primary,
                fallbacks: 0,
                needs: None,
                mandated: false,
            }));
        }
        for call in issued {
            self.issue_call(call);
        }
    }

    /// One of the calls has its result. `read` updates the session's taint. The model is called
    /// when all results are there.
    pub(super) fn slot_done(
        &mut self,
        number: u32,
        slot: u32,
        answer: String,
        read: impl FnOnce(&mut Taint),
    ) {
        let most = self.program.settings().result_chars;
        let Some((session, _, _)) = self.active_session(number) else { return };
        read(&mut session.taint);
        if let Some(slot) = session.slots.get_mut(slot as usize) {
            slot.answer = Some(cut(answer, most));
        }
        session.open = session.open.saturating_sub(1);
        if session.open == 0 {
            self.answers(number);
        }
    }

    fn answers(&mut self, number: u32) {
        let Some((session, _, now)) = self.active_session(number) else { return };
        for slot in std::mem::take(&mut session.slots) {
            let mut message = said(Role::Tool, slot.answer.unwrap_or_default(), now);
            message.answers = Some(slot.id);
            session.push(message);
        }
        self.ask_model(number);
    }
}

/// The extraction of this node, if it has one.
fn extraction(program: &Program, node: ProgramIndex) -> Option<&CompiledExtraction> {
    program.node(node)?.step.as_ref()?.extract.as_ref()
}

pub(super) fn said(role: Role, text: String, at: Timestamp) -> Msg {
    let tokens = estimate_tokens(&text);
    Msg { role, text, calls: Vec::new(), answers: None, tokens, at }
}

/// Truncates a result that is too long for a prompt, with a note.
fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let kept: String = text.chars().take(most).collect();
    format!("{kept}\n(cut: the result has {} bytes; ask for less, or for a part)", text.len())
}

/// The approximate size of an argument in bytes.
fn weigh(value: &Value) -> u32 {
    let size = match value {
        Value::String(text) => u32::try_from(text.len()).unwrap_or(u32::MAX),
        Value::Array(values) => values.iter().map(weigh).fold(2, u32::saturating_add),
        Value::Object(object) => {
            let one = |(key, value): (&String, &Value)| (key.len() as u32).saturating_add(weigh(value));
            object.iter().map(one).fold(2, u32::saturating_add)
        }
        _ => 4,
    };
    size.saturating_add(2)
}
