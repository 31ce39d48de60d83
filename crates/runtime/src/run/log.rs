//! The log of a run: each event once, in the same transaction as its journal entry and the task's
//! status. A run's state is never stored: it is folded from its events.
//!
//! Events are stored unchanged, because a repeated call needs the exact arguments. The journal has
//! a salted hash of each: the content can be erased, but not changed undetected.

use super::Child;
use crate::ask::AppContext;
use crate::error::{Error, Result};
use crate::journal_writer::{JournalWriter, LeaseConflict, LeaseHolder};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use steward_domain::{
    AgentName, Check as _, Checkpoint, CheckpointId, EventType, Gate, Label, NodeName, Sha256Hex,
    State as Shown, Task, TaskId, TaskStatus, Timestamp, Valid,
};
use steward_engine::{Awaited, Definition, Effect, EffectId, Ended, Event, Program};
use steward_journal::Draft;
use steward_store::{Change, GateDecision, Scope, Store, Verdict};

/// The position of the first row of a task.
const START: &str = "start";
/// The position of a row that records a takeover by another process.
pub(super) const TAKEOVER_POSITION: &str = "taken_up";

/// The log of one task: its journal writer, and the current task.
pub(crate) struct Log {
    pub(crate) app: AppContext,
    pub(crate) journal_writer: Arc<JournalWriter>,
    pub(crate) task: Valid<Task>,
    /// The next sequence number.
    pub(crate) sequence: u64,
    pub(crate) agent: AgentName,
}

/// A stored run.
pub(super) struct Stored {
    pub(super) task: Valid<Task>,
    pub(super) program: Program,
    /// The input, for a run that has not started.
    pub(super) input: Json,
    pub(super) child: Child,
    pub(super) events: Vec<Event>,
    pub(super) sequence: u64,
}

impl Log {
    /// Creates the task with its version of the program. It is leased from the start, or else
    /// queued for any worker.
    pub(super) fn begin(
        &mut self,
        program: &Program,
        input: &Json,
        child: &Child,
        holder: Option<&LeaseHolder>,
    ) -> Result<()> {
        let row = self.definition(program, input, child, START)?;
        let mut personal = Map::new();
        personal.insert("input".into(), input.clone());
        let data = json!({ "definition": program.definition().root.title(), "version": program.version() });
        let (task, now) = (self.task.id, self.now());
        let queued = match holder {
            Some(holder) => holder.hold(task, now, LeaseConflict::Anyhow),
            None => Change::Enqueue { task, ready_at: now },
        };
        let changes = [Change::PutTask(self.task.clone()), Change::PutCheckpoint(row), queued];
        self.note(EventType::RequestSubmitted, data, personal, changes)
    }

    /// Records the origin of a fork.
    pub(super) fn forked(&self, origin: TaskId, steps: usize) -> Result<()> {
        let data = json!({ "forked_from": origin, "steps": steps });
        self.note(EventType::TaskChanged, data, Map::new(), [])
    }

    /// Opens the task of a question or a turn, before there is a program. The data for resuming it
    /// is stored with it.
    pub(crate) fn open(
        &mut self,
        subject: Json,
        data: Json,
        personal: Map<String, Json>,
        holder: &LeaseHolder,
    ) -> Result<()> {
        let row = self.row(subject, START, false)?;
        let held = holder.hold(self.task.id, self.now(), LeaseConflict::Anyhow);
        self.journal_writer.entry(EventType::RequestSubmitted, "runtime", data, personal)?;
        self.journal_writer.note([], [Change::PutTask(self.task.clone()), Change::PutCheckpoint(row), held]);
        Ok(())
    }

    /// Queues the task of a question for any worker.
    pub(crate) fn queue(&mut self, subject: Json, data: Json, personal: Map<String, Json>) -> Result<()> {
        let row = self.row(subject, START, false)?;
        let (task, ready_at) = (self.task.id, self.now());
        self.journal_writer.entry(EventType::RequestSubmitted, "runtime", data, personal)?;
        let queued = Change::Enqueue { task, ready_at };
        self.journal_writer
            .note([], [Change::PutTask(self.task.clone()), Change::PutCheckpoint(row), queued]);
        Ok(())
    }

    /// An entry of this task's chain.
    pub(crate) fn entry(&self, event: EventType, data: Json) -> Result<Draft> {
        draft(event, data, Map::new())
    }

    /// Stores the program of an open task. A resumed task gets a new program.
    pub(crate) fn define(&mut self, program: &Program, input: &Json) -> Result<()> {
        let row = self.definition(program, input, &Child::default(), "plan")?;
        self.journal_writer.note([], [Change::PutCheckpoint(row)]);
        Ok(())
    }

    fn definition(
        &mut self,
        program: &Program,
        input: &Json,
        child: &Child,
        position: &str,
    ) -> Result<Valid<Checkpoint>> {
        let definition = serde_json::to_value(program.definition()).map_err(broken)?;
        self.row(json!({ "definition": definition, "input": input, "child": child }), position, false)
    }

    /// Ends the task of a question or a turn.
    pub(crate) fn close(&mut self, outcome: std::result::Result<String, String>) -> Result<()> {
        let (task, now) = (self.task.clone(), self.now());
        self.task = match outcome {
            Ok(result) => task.complete(result, now)?,
            Err(error) => task.fail(error, now)?,
        };
        self.closed(json!({ "status": self.task.status_name() }))
    }

    /// Cancels the task of a question or a turn.
    pub(crate) fn call_off(&mut self, by: &str) -> Result<()> {
        self.task = self.task.clone().cancel(self.now())?;
        self.closed(json!({ "status": self.task.status_name(), "by": by }))
    }

    fn closed(&mut self, data: Json) -> Result<()> {
        self.journal_writer.entry(EventType::TaskChanged, "runtime", data, Map::new())?;
        self.journal_writer
            .note([], [Change::PutTask(self.task.clone()), Change::Dequeue { task: self.task.id }]);
        Ok(())
    }

    /// Records a takeover by another process.
    pub(super) fn take_up(&mut self, holder: &LeaseHolder) -> Result<()> {
        let row = self.row(json!({ "holder": holder.name }), TAKEOVER_POSITION, false)?;
        let data = json!({ "status": "running", "taken_up_by": holder.name });
        self.journal_writer.entry(EventType::TaskChanged, "runtime", data, Map::new())?;
        self.journal_writer.note([], [Change::PutCheckpoint(row)]);
        Ok(())
    }

    /// Adds one event. Its effects are not started before it is on disk.
    pub(super) fn event(&mut self, event: &Event) -> Result<()> {
        let (entry, row) = self.sealed(event)?;
        self.journal_writer.note([entry], [row]);
        Ok(())
    }

    /// Adds to the event before that no decision arrived in time: the history of decisions has it.
    pub(super) fn expire(
        &mut self,
        task: TaskId,
        request: EffectId,
        digest: Sha256Hex,
        at: Timestamp,
    ) -> Result<()> {
        let gate = Gate { task, number: request.0 };
        let by = Label::new("timeout")?;
        let decision = GateDecision { gate, digest, verdict: Verdict::Expired, by, at, call: None };
        self.journal_writer.note([], [Change::Decide(decision)]);
        Ok(())
    }

    /// The journal entry and the row of an event.
    pub(super) fn sealed(&mut self, event: &Event) -> Result<(Draft, Change)> {
        let raw = serde_json::to_value(event).map_err(broken)?;
        let kind = raw.get("type").cloned().unwrap_or_default();
        let sequence = self.sequence;
        let mut metadata = Map::new();
        metadata.insert("event".into(), raw);
        let row = self.row(Json::Object(metadata), "step", false)?;
        let digest = digest(&row).ok_or_else(|| broken("a row without its event"))?;
        let data =
            json!({ "step": kind, "effect": event.effect(), "sequence": sequence, "event_sha256": digest });
        Ok((draft(EventType::StepRecorded, data, Map::new())?, Change::PutCheckpoint(row)))
    }

    /// Pauses the task until a person decides or the request expires: then any worker resumes it.
    pub(super) fn pause(&mut self, ask: &Effect, until: Option<Timestamp>) -> Result<()> {
        let Effect::AskHuman { id, digest, question, expires_at } = ask else { return Ok(()) };
        let shown = json!({
            "effect": id, "tool": question.tool.as_ref().map_or_else(|| question.node.to_string(), ToString::to_string),
            "tools": question.tools, "arguments": question.arguments, "provenance": question.provenance, "reason": question.text,
            "digest": digest, "since": self.now(), "until": expires_at, "subject": question.subject,
            "node": question.node, "safety": question.safety, "approvers": question.approvers,
            "escalation": question.escalation,
        });
        let row = self.row(shown.clone(), question.node.as_str(), true)?;
        let data = json!({
            "node": question.node, "digest": digest, "subject": question.subject, "until": expires_at,
            "approvers": question.approvers, "escalation": question.escalation,
        });
        let mut personal = Map::new();
        personal.insert("shown".into(), shown);
        let mut changes = vec![Change::PutCheckpoint(row)];
        changes.extend(self.pause_changes(until)?);
        self.note(EventType::ApprovalRequested, data, personal, changes)
    }

    /// Pauses the task until a sub-task has ended.
    pub(super) fn sleep(&mut self, sub: TaskId, until: Option<Timestamp>) -> Result<()> {
        let changes = self.pause_changes(until)?;
        let data = json!({ "status": "paused", "waits_for": sub });
        self.note(EventType::TaskChanged, data, Map::new(), changes)
    }

    /// Pauses the task until a time, or until a signal arrives.
    pub(super) fn rest(&mut self, until: Option<Timestamp>, awaited: Option<Awaited>) -> Result<()> {
        let changes = self.pause_changes(until)?;
        let signal = match awaited {
            Some(Awaited::Signal(name)) => Some(name),
            _ => None,
        };
        let data = json!({ "status": "paused", "until": until, "waits_for_signal": signal });
        self.note(EventType::TaskChanged, data, Map::new(), changes)
    }

    fn pause_changes(&mut self, until: Option<Timestamp>) -> Result<Vec<Change>> {
        let task = self.task.id;
        let mut changes = vec![match until {
            Some(ready_at) => Change::Enqueue { task, ready_at },
            None => Change::Dequeue { task },
        }];
        if self.task.status == TaskStatus::Running {
            self.task = self.task.clone().pause()?;
            changes.push(Change::PutTask(self.task.clone()));
        }
        Ok(changes)
    }

    /// Continues a pending or paused task.
    pub(super) fn resume(&mut self) -> Result<()> {
        if !matches!(self.task.status, TaskStatus::Paused | TaskStatus::Pending) {
            return Ok(());
        }
        self.task = self.task.clone().start(self.now())?;
        let change = Change::PutTask(self.task.clone());
        self.note(EventType::TaskChanged, json!({ "status": "running" }), Map::new(), [change])
    }

    /// Ends the task. A parent task that sleeps until then is queued.
    pub(super) fn end(&mut self, ended: &Ended, wake: Option<TaskId>) -> Result<()> {
        let now = self.now();
        let mut task = self.task.clone();
        if task.status == TaskStatus::Paused && matches!(ended, Ended::Completed(_)) {
            task = task.start(now)?;
        }
        self.task = match ended {
            Ended::Completed(result) => task.complete(words(result), now)?,
            Ended::Failed(failure) => task.fail(failure.to_string(), now)?,
            Ended::Rejected(failure) => task.reject(failure.message.clone(), now)?,
            Ended::Cancelled(_) => task.cancel(now)?,
        };
        let data = json!({ "status": self.task.status_name(), "error": self.task.error });
        let mut changes = vec![Change::PutTask(self.task.clone()), Change::Dequeue { task: self.task.id }];
        changes.extend(wake.map(|task| Change::Enqueue { task, ready_at: now }));
        self.note(EventType::TaskChanged, data, Map::new(), changes)
    }

    fn now(&self) -> Timestamp {
        self.app.clock.now()
    }

    fn note(
        &self,
        event: EventType,
        data: Json,
        personal: Map<String, Json>,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<()> {
        self.journal_writer.note([draft(event, data, personal)?], changes);
        Ok(())
    }

    fn row(&mut self, data: Json, position: &str, awaiting: bool) -> Result<Valid<Checkpoint>> {
        let Json::Object(metadata) = data else { return Err(broken("a row is an object")) };
        let now = self.now();
        let row = Checkpoint {
            checkpoint_id: CheckpointId(self.app.random.uuid_v7(now)?),
            task_id: self.task.id,
            state: Shown {
                messages: Vec::new(),
                next_action: None,
                current_agent: self.agent.clone(),
                routing_key: None,
                metadata,
            },
            position: NodeName::new(position)?,
            sequence: self.sequence,
            created_at: now,
            awaiting_human: awaiting,
            resumed_at: None,
        };
        self.sequence += 1;
        Ok(row.validate()?)
    }
}

fn draft(event: EventType, data: Json, personal: Map<String, Json>) -> Result<Draft> {
    let Json::Object(data) = data else { return Err(broken("an entry is an object")) };
    let mut draft = Draft::new(event, Label::new("engine")?, data);
    draft.personal = personal;
    Ok(draft)
}

/// The journal's hash of an event, salted with the random id of its row, which is deleted with the
/// row. So the row cannot be changed undetected, and after its deletion the content cannot be
/// guessed from the hash.
pub(super) fn digest(row: &Checkpoint) -> Option<String> {
    let event = row.state.metadata.get("event")?;
    let mut hasher = Sha256::new_with_prefix(b"steward.run.event.v1\0");
    hasher.update(row.checkpoint_id.0.as_bytes());
    hasher.update(event.to_string().as_bytes());
    Some(steward_journal::Hash(hasher.finalize().into()).to_string())
}

/// Loads a stored run.
pub(super) async fn load(store: &dyn Store, scope: &Scope, id: TaskId) -> Result<Stored> {
    let task = store.task(scope, id).await?.ok_or_else(|| Error::NoTask(id.to_string()))?;
    read(task, store.checkpoints(scope, id).await?)
}

/// Builds a run from its rows.
pub(super) fn read(task: Valid<Task>, rows: Vec<Valid<Checkpoint>>) -> Result<Stored> {
    let id = task.id;
    let sequence = rows.last().map_or(0, |row| row.sequence + 1);
    let (mut program, mut input, mut child) = (None, Json::Null, Child::default());
    let mut events = Vec::new();
    for row in rows {
        let mut metadata = row.into_inner().state.metadata;
        if let Some(definition) = metadata.remove("definition") {
            // A resumed question was planned again.
            events.clear();
            let definition: Definition = serde_json::from_value(definition).map_err(broken)?;
            program = Some(
                Program::from_definition(definition)
                    .map_err(|problems| Error::Program(problems.to_string()))?,
            );
            input = metadata.remove("input").unwrap_or_default();
            child = metadata
                .remove("child")
                .and_then(|child| serde_json::from_value(child).ok())
                .unwrap_or_default();
        }
        if let Some(event) = metadata.remove("event") {
            events.push(serde_json::from_value(event).map_err(broken)?);
        }
    }
    let program = program.ok_or_else(|| Error::NotARun(id.to_string()))?;
    Ok(Stored { task, program, input, child, events, sequence })
}

/// A result as text: strings unquoted, anything else as JSON.
pub(super) fn words(result: &Json) -> String {
    match result {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::Stored(error.to_string())
}
