//! Signals: external messages for a run. A signal is stored first; the run takes it from the store,
//! whether it is running, waiting or not started.
//!
//! Invariants
//! - A signal counts once: its id is derived from the run and the sender's key, and the engine
//!   takes a key once. A process may die anywhere between storing, taking and settling.
//! - A signal that the run does not declare is rejected before it is stored.

use super::{Runner, log};
use crate::ask::AppContext;
use crate::error::{Error, Result};
use crate::journal_writer::JournalWriter;
use crate::verified::{after, put_saved};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use steward_domain::{
    EventType, Label, NodeName, SavedEntity as _, SavedKind, Signal, SignalId, States as _, TaskId,
    TaskStatus, Timestamp, UserId,
};
use steward_journal::Draft;
use steward_store::{Change, Commit, Scope, Store};

/// The maximum number of signals in one round.
const ROUND: u32 = 500;
/// The delay of a signal that its run cannot take now, in microseconds.
const REST: i64 = 5_000_000;
/// The maximum size of a signal's payload in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// A signal to send.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSignal {
    /// The run.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// The payload.
    pub data: Json,
    /// The sender's idempotency key; without one every signal counts.
    pub key: Option<String>,
    /// The sender.
    pub by: Label,
}

impl Runner {
    /// Stores a signal for a run, which takes it as soon as possible. Returns whether it is new: a
    /// repeated key changes nothing.
    pub async fn signal(&self, scope: &Scope, new: NewSignal) -> Result<bool> {
        let (store, now) = (&*self.app().store, self.now());
        let id = new.task;
        let stored = log::load(store, scope, id).await?;
        let name = NodeName::new(new.name.clone())
            .map_err(|_| Error::Signal(format!("{:?} is no name of a signal", new.name)))?;
        stored.program.check_signal(name.as_str(), &new.data).map_err(Error::Signal)?;
        if new.data.to_string().len() > MOST_BYTES {
            return Err(Error::Signal(format!("its data have more than {MOST_BYTES} bytes")));
        }
        let key = match new.key {
            Some(key) => Label::new(key.clone())
                .map_err(|_| Error::Signal(format!("{key:?} cannot be a key: write 1 to 100 characters")))?,
            None => Label::new(self.app().random.uuid_v7(now)?.to_string())?,
        };
        let signal = Signal {
            id: signal_id(id, &key),
            user_id: stored.task.user_id.clone(),
            task_id: id,
            name,
            data: new.data,
            key,
            by: new.by,
            next_at: Some(now),
            created_at: now,
            updated_at: now,
        };
        let system = Scope::System;
        if let Some(known) = store.saved(&system, SavedKind::Signal, signal.id.0).await? {
            let known = Signal::from_item(known.into_inner());
            let same = known.is_some_and(|known| known.name == signal.name && known.data == signal.data);
            return match same {
                true => Ok(false),
                false => Err(Error::Signal(format!("the key {} was used for another signal", signal.key))),
            };
        }
        if stored.task.status.is_final() {
            return Err(Error::Signal(format!("the run has ended: it is {}", stored.task.status_name())));
        }
        let data = json!({ "signal": signal.name, "key": signal.key, "by": signal.by });
        let mut entry = draft(data)?;
        entry.personal.insert("data".into(), signal.data.clone());
        let mut commit = Commit::new(signal.user_id.clone(), id).entry(entry);
        commit.changes.push(put_saved(signal.clone(), None)?);
        JournalWriter::write_once(store, &Scope::User(signal.user_id.clone()), commit).await?;
        // Read after the signal is stored: a run that pauses later checks for signals again.
        let task = store.task(&system, id).await?;
        if task.is_some_and(|task| task.status == TaskStatus::Paused) {
            wake(self.app(), &signal.user_id, id).await?;
        }
        Ok(true)
    }

    /// Resumes runs that paused before they noticed their signal, and settles signals of ended
    /// runs.
    pub(super) async fn process_signals(&self) -> Result<()> {
        let (app, now) = (self.app(), self.now());
        for item in app.store.due_items(SavedKind::Signal, now, ROUND).await? {
            let Some(mut signal) = Signal::from_item(item.into_inner()) else { continue };
            let user = signal.user_id.clone();
            let task = app.store.task(&Scope::System, signal.task_id).await?;
            let Some(task) = task.filter(|task| !task.status.is_final()) else {
                settle(app, &user, signal).await;
                continue;
            };
            // Several replicas may do this: the first one wakes the run.
            let before = signal.updated_at;
            signal.next_at = Some(Timestamp::from_micros(now.micros() + REST));
            signal.updated_at = after(now, before);
            let mut commit = Commit::new(user.clone(), signal.task_id);
            commit.changes.push(put_saved(signal, Some(before))?);
            if task.status == TaskStatus::Paused {
                commit.changes.push(Change::Enqueue { task: task.id, ready_at: now });
            }
            match JournalWriter::write_once(&*app.store, &Scope::User(user), commit).await {
                Ok(_) | Err(steward_store::Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The pending signals of a run, oldest first.
pub(super) async fn arrived(store: &dyn Store, task: TaskId) -> Result<Vec<Signal>> {
    let any_time = Timestamp::from_micros(i64::MAX);
    let items = store.due_items(SavedKind::Signal, any_time, ROUND).await?;
    let mut signals: Vec<Signal> = items
        .into_iter()
        .filter_map(|item| Signal::from_item(item.into_inner()))
        .filter(|signal| signal.task_id == task)
        .collect();
    signals.sort_by_key(|signal| (signal.created_at, signal.id));
    Ok(signals)
}

/// Marks a signal as taken. If that fails, it is taken again, which changes nothing.
pub(super) async fn settle(app: &AppContext, user: &UserId, mut signal: Signal) {
    signal.next_at = None;
    signal.updated_at = after(app.clock.now(), signal.updated_at);
    let mut commit = Commit::new(user.clone(), signal.task_id);
    let Ok(change) = put_saved(signal, None) else { return };
    commit.changes.push(change);
    let _taken_again = JournalWriter::write_once(&*app.store, &Scope::User(user.clone()), commit).await;
}

/// Queues a paused run.
pub(super) async fn wake(app: &AppContext, user: &UserId, task: TaskId) -> Result<()> {
    let mut commit = Commit::new(user.clone(), task);
    commit.changes.push(Change::Enqueue { task, ready_at: app.clock.now() });
    JournalWriter::write_once(&*app.store, &Scope::User(user.clone()), commit).await?;
    Ok(())
}

fn draft(data: Json) -> Result<Draft> {
    let Json::Object(data) = data else { return Err(Error::Stored("an entry is an object".to_owned())) };
    let mut draft = Draft::new(EventType::SignalReceived, Label::new("runtime")?, data);
    draft.personal = Map::new();
    Ok(draft)
}

fn signal_id(task: TaskId, key: &Label) -> SignalId {
    let mut hasher = Sha256::new_with_prefix(b"steward.signal.v1\0");
    hasher.update(task.0.as_bytes());
    hasher.update(key.as_str().as_bytes());
    let mut bytes = [0u8; 16];
    bytes.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
    SignalId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn the_same_key_is_the_same_signal() {
        let task = |number: u128| TaskId(Uuid::from_u128(number));
        let key = |text: &str| Label::new(text).unwrap();
        assert_eq!(signal_id(task(1), &key("a")), signal_id(task(1), &key("a")));
        assert_ne!(signal_id(task(1), &key("a")), signal_id(task(2), &key("a")));
        assert_ne!(signal_id(task(1), &key("a")), signal_id(task(1), &key("b")));
    }
}
