//! Inspection and replay: the state at any step, and a run replayed against its record.
//!
//! Nothing is called or written here. A replay feeds the recorded events to the engine again, in
//! parallel with the recorded program. The first step at which another program would behave
//! differently is reported.

use super::{RunStatus, Runner, log};
use crate::error::{Error, Result};
use serde_json::{Value as Json, json};
use steward_domain::{EventType, TaskId};
use steward_engine::{Effect, Event, Program, State};
use steward_store::{Scope, Store};

/// A run at one of its steps.
#[derive(Debug, Clone)]
pub struct RunSnapshot {
    /// The number of applied events.
    pub step: usize,
    /// The total number of events.
    pub steps: usize,
    /// The last applied event.
    pub event: Option<Event>,
    /// Its effects.
    pub effects: Vec<Effect>,
    /// The state after it.
    pub state: State,
}

/// Replays recorded events: calls `each` with every event and its effects, and returns the final
/// state.
pub(crate) fn replay_events(
    program: &Program,
    events: &[Event],
    mut each: impl FnMut(&Event, &[Effect]),
) -> State {
    let mut state = State::new(program);
    let mut effects = Vec::new();
    for event in events {
        effects.clear();
        // An event that the engine rejected the first time is rejected again.
        let _rejected_again = state.apply_into(program, event, &mut effects);
        each(event, &effects);
    }
    state
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// The number of replayed events.
    pub steps: usize,
    /// Calls in the journal that the engine requested again, with the same key and arguments.
    pub calls: usize,
    /// The first divergence, if any.
    pub parted: Option<Divergence>,
    /// The status at the end of the replay.
    pub standing: RunStatus,
}

/// A divergence of a replay from the record.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// The step, from 1.
    pub step: usize,
    /// The recorded effects.
    pub then: Json,
    /// The replayed effects.
    pub now: Json,
}

/// The run after this many events.
pub async fn at(store: &dyn Store, scope: &Scope, task: TaskId, step: usize) -> Result<RunSnapshot> {
    let stored = log::load(store, scope, task).await?;
    let steps = stored.events.len();
    if step > steps {
        return Err(Error::NoStep { task: task.to_string(), step, steps });
    }
    let mut state = State::new(&stored.program);
    let mut effects = Vec::new();
    for event in stored.events.iter().take(step) {
        effects.clear();
        let _rejected_again = state.apply_into(&stored.program, event, &mut effects);
    }
    let event = step.checked_sub(1).and_then(|last| stored.events.get(last)).cloned();
    Ok(RunSnapshot { step, steps, event, effects, state })
}

impl Runner {
    /// Checks every event against its hash in the journal.
    async fn untouched(&self, scope: &Scope, task: TaskId) -> Result<()> {
        let store = &self.app().store;
        let rows = store.checkpoints(scope, task).await?;
        let mut after = 0;
        loop {
            let entries = store.entries(scope, task.into(), after, 1000).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            after = last.entry.sequence;
            for entry in entries.iter().filter(|entry| entry.entry.event_type == EventType::StepRecorded) {
                let data: Json = serde_json::from_str(&entry.entry.event_data).unwrap_or_default();
                let place = data.get("sequence").and_then(Json::as_u64).unwrap_or_default();
                let row = rows.iter().find(|row| row.sequence == place);
                let known = data.get("event_sha256").and_then(Json::as_str);
                // Steps that are no engine events have no row.
                if known.is_none() && data.get("sequence").is_none() {
                    continue;
                }
                if known.is_none() || row.and_then(|row| log::digest(row)).as_deref() != known {
                    return Err(Error::Stored(format!(
                        "step {place} of {task} is not the one in the journal"
                    )));
                }
            }
        }
    }

    /// Replays the recorded events with the recorded program, or with another one, and reports the
    /// first divergence.
    pub async fn replay(&self, scope: &Scope, task: TaskId, other: Option<Program>) -> Result<Replayed> {
        let stored = log::load(&*self.app().store, scope, task).await?;
        let begun = self.begun(scope, task).await?;
        self.untouched(scope, task).await?;
        let program = other.as_ref().unwrap_or(&stored.program);
        let (mut then, mut now) = (State::new(&stored.program), State::new(program));
        let (mut calls, mut parted) = (0, None);
        for (place, event) in stored.events.iter().enumerate() {
            let was = then.apply(&stored.program, event);
            let is = now.apply(program, event);
            for effect in is.iter().flatten() {
                if let Effect::CallTool { key, .. } = effect {
                    calls += usize::from(begun.contains(&key.to_string()));
                }
            }
            if was != is {
                let shown =
                    |effects: &std::result::Result<Vec<Effect>, steward_engine::Rejected>| match effects {
                        Ok(effects) => json!(effects),
                        Err(rejected) => json!(rejected.to_string()),
                    };
                parted = Some(Divergence { step: place + 1, then: shown(&was), now: shown(&is) });
                break;
            }
        }
        let steps = parted.as_ref().map_or(stored.events.len(), |parted| parted.step);
        Ok(Replayed { steps, calls, parted, standing: RunStatus::of(&now) })
    }
}
