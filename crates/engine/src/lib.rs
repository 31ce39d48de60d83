//! What happens next: one pure state machine for plans, workflows and agents.
//!
//! `(state, event) -> (state, effects)`. A [`Program`] is compiled once from definitions; a
//! [`State`] takes [`Event`]s and answers each with the [`Effect`]s that somebody else carries out.
//!
//! Invariants
//! - No clock, no I/O, no randomness, no async: time arrives inside events, ids and jitter are
//!   hashes of the task's id and counters. The same events give the same bytes of state on any
//!   machine, so [`fold`] is resume, inspection at any step, fork, replay and simulation in one.
//! - An event changes the state once. One that comes late, twice or with the wrong digest is
//!   [`Rejected`] and changes nothing.
//! - What may have happened is never silently repeated: a call that is neither read-only nor keyed
//!   is issued once, and when its outcome is not known a rule or a person decides.
//! - Nothing is copied whole per event: messages are stored once, a prompt is a view over them
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

/// The state after these events. Events that were rejected when they came are rejected again and
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

/// The first `steps` events of a task as the beginning of another. Fold them, then send
/// [`Event::Recovered`] with the calls that had begun in the first task: the new task has keys of
/// its own, so what must not happen twice becomes unknown, not repeated.
#[must_use]
pub fn fork(events: &[Event], steps: usize, task: steward_domain::TaskId) -> Vec<Event> {
    let mut events: Vec<Event> = events.iter().take(steps).cloned().collect();
    if let Some(Event::Started { task: first, .. }) = events.first_mut() {
        *first = task;
    }
    events
}
