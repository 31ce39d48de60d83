//! Prompts as views over the state: nothing is copied until the runtime writes the request.
//!
//! Invariant: the system prompt and the task are always shown. Of the rest, the oldest messages are
//! dropped first. A call and its result are dropped together.

use crate::program::{AgentSpec, Callable, ProgramIndex};
use crate::state::{Pending, Session, Stage};
use crate::static_plan::ValueType;
use crate::{EffectId, Msg, Program, State};
use std::collections::BTreeMap;
use steward_domain::{Agent, Role};

/// The input of a model call.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The agent: system prompt, model, temperature.
    pub agent: &'a Agent,
    /// The task, which is never dropped.
    pub task: &'a Msg,
    /// The messages of the conversation before the task, from the oldest that is still shown.
    pub earlier: &'a [Msg],
    /// The rest, from the oldest that is still shown.
    pub messages: &'a [Msg],
    /// How many messages are no longer shown.
    pub left_out: usize,
    /// Whether tools are offered.
    pub with_tools: bool,
    /// The user's text, for a mandate request: then nothing else is shown.
    pub mandate: Option<&'a str>,
    /// The type that the reply must have.
    pub value_type: Option<&'a ValueType>,
    spec: &'a AgentSpec,
    found: &'a BTreeMap<String, ProgramIndex>,
}

impl<'a> Prompt<'a> {
    /// The names it may call, in order, and whether each is an agent.
    pub fn offered(&self) -> impl Iterator<Item = (&'a str, bool)> + use<'a> {
        let offer = self.with_tools;
        let all = self.spec.callable.iter().filter(move |_| offer);
        let own = all.map(|(name, what)| (name.as_str(), matches!(what, Callable::Agent(_))));
        let callable = &self.spec.callable;
        let found = self.found.keys().filter(move |name| offer && !callable.contains_key(*name));
        own.chain(found.map(|name| (name.as_str(), false)))
    }

    /// The earlier messages, the task, and the rest, in order.
    pub fn all(&self) -> impl Iterator<Item = &'a Msg> + use<'a> {
        self.earlier.iter().chain(std::iter::once(self.task)).chain(self.messages)
    }
}

impl State {
    /// The prompt of this pending effect.
    #[must_use]
    pub fn prompt<'a>(&'a self, program: &'a Program, effect: EffectId) -> Option<Prompt<'a>> {
        let (session, mandate) = match self.pending.get(&effect)? {
            Pending::Model { session, .. } => (self.session(*session)?, None),
            Pending::Mandate { session } => {
                let session = self.session(*session)?;
                (session, Some(session.taint.words()))
            }
            _ => return None,
        };
        let spec = program.agent(session.agent)?;
        let (window, own) = (session.window as usize, session.earlier as usize + 1);
        Some(Prompt {
            agent: &spec.agent,
            task: session.messages.first()?,
            earlier: session
                .messages
                .get(window.min(own)..own)
                .filter(|_| mandate.is_none())
                .unwrap_or_default(),
            messages: session
                .messages
                .get(window.max(own)..)
                .filter(|_| mandate.is_none())
                .unwrap_or_default(),
            left_out: window.saturating_sub(1),
            with_tools: matches!(session.stage, Stage::Act | Stage::Improve),
            mandate,
            value_type: program
                .node(session.node)
                .and_then(|node| Some(&node.step.as_ref()?.extract.as_ref()?.value_type)),
            spec,
            found: &session.found,
        })
    }
}

impl Session {
    /// Whether it started with earlier messages.
    pub(crate) fn has_history(&self) -> bool {
        self.earlier > 0 || self.followed > 0
    }

    /// Adds a message.
    pub(crate) fn push(&mut self, message: Msg) {
        self.tokens = self.tokens.saturating_add(message.tokens);
        self.messages.push(message);
    }

    /// Drops the oldest messages until the rest fits. False when the newest alone does not fit.
    pub(crate) fn trim(&mut self, limit: u32, system: u32) -> bool {
        while self.tokens.saturating_add(system) > limit {
            let from = self.window as usize;
            let rest = self.messages.get(from..).unwrap_or_default();
            // A message is dropped together with the results that follow it.
            let group = 1 + rest.iter().skip(1).take_while(|message| message.role == Role::Tool).count();
            if group >= rest.len() {
                return false;
            }
            let tokens: u32 = rest.iter().take(group).map(|message| message.tokens).sum();
            self.tokens = self.tokens.saturating_sub(tokens);
            self.window = self.window.saturating_add(group as u32);
        }
        true
    }
}
