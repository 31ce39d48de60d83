//! The execution engine: one pure state machine for plans, workflows and agents.
//!
//! `(state, event) -> (state, effects)`. A [`Program`] is compiled once from definitions. A
//! [`State`] takes [`Event`]s and answers each with [`Effect`]s, which the runtime executes.
//!
//! Invariants
//! - No clock, no I/O, no randomness, no async: time arrives inside events, ids and jitter are
//!   hashes of the task's id and counters. The same events give the same bytes of state on any
//!   machine, so [`fold`] serves resume, inspection at any step, fork, replay and simulation.
//! - An event changes the state once. A late or duplicate event, or one with the wrong digest, is
//!   [`Rejected`] and changes nothing.
//! - A possible side effect is never silently repeated: a call that is neither read-only nor keyed
//!   is issued once. When its outcome is unknown, a rule or a person decides.
//! - Nothing is copied whole per event: messages are stored once, and a prompt is a view over them
//!   ([`State::prompt`]).

mod definition;
mod derive;
mod draw;
mod duration;
mod effect;
mod error;
mod event;
mod expression;
mod functions;
mod program;
mod project;
mod prompt;
mod schema;
mod state;
mod static_plan;
mod step;
mod trace;

pub use definition::{Definition, Lookup, OnFailure, OnUnknown, Root, Settings, ToolSpec};
pub use derive::{child_task, estimate_tokens};
pub use effect::{Approval, Effect, EffectId, Question, Subject};
pub use error::{Code, Error, Failure, Problems, Rejected};
pub use event::{AskedCall, Class, EarlierMessage, Event, InFlight, Reply, ToolOutcome, Usage};
pub use program::{MapWork, Node, NodeWork, Program};
pub use prompt::Prompt;
pub use state::{Awaited, Ended, Msg, NodeRun, NodeStatus, State, Status, Used};
pub use static_plan::{
    ANSWER_STEP, Comparison, Condition, Extraction, StaticPlan, StaticStep, ValueType, first_json,
};
pub use trace::{glance, trace};

/// The state after these events. Events that were rejected the first time are rejected again and
/// change nothing.
#[must_use]
pub fn fold<'a>(program: &Program, events: impl IntoIterator<Item = &'a Event>) -> State {
    let mut state = State::new(program);
    let mut effects = Vec::new();
    for event in events {
        effects.clear();
        let _ = state.apply_into(program, event, &mut effects);
    }
    state
}

/// The first `steps` events of a task as the start of another. Fold them, then send
/// [`Event::Recovered`] with the calls that had started in the first task. The new task has its own
/// keys, so a call that must not be repeated becomes unknown.
#[must_use]
pub fn fork(events: &[Event], steps: usize, task: steward_domain::TaskId) -> Vec<Event> {
    let mut events: Vec<Event> = events.iter().take(steps).cloned().collect();
    if let Some(Event::Started { task: first, .. }) = events.first_mut() {
        *first = task;
    }
    events
}
