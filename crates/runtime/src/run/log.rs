//! What a run leaves behind: each event once, in the same transaction as its journal entry and the task's state. A run's state
//! is never stored: it is folded from its events.
//!
//! Events are kept as they are (the journal shows them redacted), because a call must be repeated with the very arguments.

use crate::error::{Error, Result};
use serde_json::{Map, Value as Json, json};
use steward_domain::{
    AgentName, Check as _, Checkpoint, CheckpointId, Description, EventType, Label, NodeName, State as Shown,
    Task, TaskId, TaskStatus, Timestamp, UserId, Valid,
};
use steward_engine::{Definition, Effect, Ended, Event, Program};
use steward_journal::Draft;
use steward_store::{Change, Commit, Scope, Store};

use crate::ask::House;

/// The pen of one run.
pub(super) struct Log<'a> {
    pub(super) house: &'a House,
    pub(super) user: UserId,
    pub(super) task: TaskId,
    /// The next place.
    pub(super) sequence: u64,
    pub(super) agent: AgentName,
}

/// What was stored of a run.
pub(super) struct Stored {
    pub(super) task: Valid<Task>,
    pub(super) program: Program,
    pub(super) events: Vec<Event>,
    pub(super) sequence: u64,
}

impl Log<'_> {
    /// Takes the task: it is running from now on, in the version that it was started with.
    pub(super) async fn begin(
        &mut self,
        program: &Program,
        input: &Json,
        parent: Option<TaskId>,
    ) -> Result<()> {
        let now = self.house.clock.now();
        let title = Description::new(program.definition().root.title())?;
        let task = Task {
            parent_task_id: parent,
            ..Task::running(self.task, self.user.clone(), title, self.agent.clone(), now)
        };
        let definition = serde_json::to_value(program.definition()).map_err(broken)?;
        let row = self.row(json!({ "definition": definition }), "start", false)?;
        let mut personal = Map::new();
        personal.insert("input".into(), input.clone());
        let data = json!({ "definition": program.definition().root.title(), "version": program.version() });
        let commit = self
            .commit(EventType::RequestSubmitted, data, personal)?
            .change(Change::PutTask(task.validate()?))
            .change(Change::PutCheckpoint(row));
        self.write(commit).await
    }

    /// Writes one event. Nothing that follows from it is carried out before this returns.
    pub(super) async fn event(&mut self, event: &Event) -> Result<()> {
        let raw = serde_json::to_value(event).map_err(broken)?;
        let kind = raw.get("type").cloned().unwrap_or_default();
        let row = self.row(json!({ "event": raw.clone() }), "step", false)?;
        let mut personal = Map::new();
        personal.insert("event".into(), raw);
        let data = json!({ "step": kind, "effect": event.effect(), "sequence": self.sequence });
        let commit = self.commit(EventType::StepRecorded, data, personal)?.change(Change::PutCheckpoint(row));
        self.write(commit).await
    }

    /// Lays the task aside until a person decides.
    pub(super) async fn pause(&mut self, ask: &Effect) -> Result<()> {
        let Effect::AskHuman { id, digest, question, expires_at } = ask else { return Ok(()) };
        let now = self.house.clock.now();
        let shown = json!({
            "effect": id, "tool": question.tool.as_ref().map_or_else(|| question.node.to_string(), ToString::to_string),
            "arguments": question.arguments, "provenance": question.provenance, "reason": question.text,
            "digest": digest, "since": now, "until": expires_at, "subject": question.subject, "node": question.node,
        });
        let row = self.row(shown.clone(), question.node.as_str(), true)?;
        let data = json!({ "node": question.node, "digest": digest, "subject": question.subject, "until": expires_at });
        let mut personal = Map::new();
        personal.insert("shown".into(), shown);
        let mut commit =
            self.commit(EventType::ApprovalRequested, data, personal)?.change(Change::PutCheckpoint(row));
        if let Some(task) = self.known().await?.filter(|task| task.status == TaskStatus::Running) {
            commit = commit.change(Change::PutTask(task.pause()?));
        }
        self.write(commit).await
    }

    /// Goes on after a pause.
    pub(super) async fn resume(&mut self) -> Result<()> {
        let Some(task) = self.known().await?.filter(|task| task.status == TaskStatus::Paused) else {
            return Ok(());
        };
        let task = task.start(self.house.clock.now())?;
        let data = json!({ "status": "running" });
        let commit = self.commit(EventType::TaskChanged, data, Map::new())?.change(Change::PutTask(task));
        self.write(commit).await
    }

    /// Ends the task.
    pub(super) async fn end(&mut self, ended: &Ended) -> Result<()> {
        let Some(mut task) = self.known().await? else { return Ok(()) };
        let now = self.house.clock.now();
        if task.status == TaskStatus::Paused && matches!(ended, Ended::Completed(_)) {
            task = task.start(now)?;
        }
        let task = match ended {
            Ended::Completed(result) => task.complete(words(result), now)?,
            Ended::Failed(failure) => task.fail(failure.to_string(), now)?,
            Ended::Cancelled(_) => task.cancel(now)?,
        };
        let data = json!({ "status": task.status_name(), "error": task.error });
        let commit = self.commit(EventType::TaskChanged, data, Map::new())?.change(Change::PutTask(task));
        self.write(commit).await
    }

    async fn known(&self) -> Result<Option<Valid<Task>>> {
        Ok(self.house.store.task(&Scope::User(self.user.clone()), self.task).await?)
    }

    fn commit(&self, event: EventType, data: Json, personal: Map<String, Json>) -> Result<Commit> {
        let Json::Object(data) = data else { return Err(broken("an entry is an object")) };
        let mut draft = Draft::new(event, Label::new("engine")?, data);
        draft.personal = personal;
        Ok(Commit::new(self.user.clone(), self.task).entry(draft))
    }

    fn row(&mut self, data: Json, position: &str, awaiting: bool) -> Result<Valid<Checkpoint>> {
        let Json::Object(metadata) = data else { return Err(broken("a row is an object")) };
        let row = Checkpoint {
            checkpoint_id: CheckpointId(self.house.random.uuid_v7(self.house.clock.now())?),
            task_id: self.task,
            state: Shown {
                messages: Vec::new(),
                next_action: None,
                current_agent: self.agent.clone(),
                routing_key: None,
                metadata,
            },
            position: NodeName::new(position)?,
            sequence: self.sequence,
            created_at: self.house.clock.now(),
            awaiting_human: awaiting,
            resumed_at: None,
        };
        self.sequence += 1;
        Ok(row.validate()?)
    }

    async fn write(&self, commit: Commit) -> Result<()> {
        self.house.store.commit(&Scope::User(self.user.clone()), commit).await?;
        Ok(())
    }
}

/// Reads a run back.
pub(super) async fn load(store: &dyn Store, scope: &Scope, id: TaskId) -> Result<Stored> {
    let task = store.task(scope, id).await?.ok_or_else(|| Error::NoTask(id.to_string()))?;
    let rows = store.checkpoints(scope, id).await?;
    let sequence = rows.last().map_or(0, |row| row.sequence + 1);
    let mut program = None;
    let mut events = Vec::new();
    for row in rows {
        if let Some(definition) = row.state.metadata.get("definition") {
            let definition: Definition = serde_json::from_value(definition.clone()).map_err(broken)?;
            program = Some(
                Program::from_definition(definition)
                    .map_err(|problems| Error::Program(problems.to_string()))?,
            );
        }
        if let Some(event) = row.state.metadata.get("event") {
            events.push(serde_json::from_value(event.clone()).map_err(broken)?);
        }
    }
    let program = program.ok_or_else(|| Error::NotARun(id.to_string()))?;
    Ok(Stored { task, program, events, sequence })
}

/// A result in words: text as it is, anything else as JSON.
pub(super) fn words(result: &Json) -> String {
    match result {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The time as the engine wants it.
pub(super) fn now(house: &House) -> Timestamp {
    house.clock.now()
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::Stored(error.to_string())
}
