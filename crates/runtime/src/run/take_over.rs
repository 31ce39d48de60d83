//! Resumes stored runs: after a crash, after a decision, for cancellation, or as a fork.
//!
//! Invariants
//! - The lease is taken before the run is read. Everything that the previous holder wrote is seen,
//!   and its later writes are refused. A live holder keeps the task, unless the task is cancelled.
//! - A decision is written in the transaction that takes the lease and consumes its gate. Only one
//!   decision counts; the others do not take the run from the process that continues it.

use super::cut_off;
use super::executor::EffectHandler as _;
use super::log::{self, Stored};
use super::{Decided, ProgressEvent, Ran, Runner, Watch};
use crate::error::{Error, Result};
use crate::journal_writer::{JournalWriter, LeaseConflict, LeaseHolder};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{
    CallId, EventType, Gate, HumanAction, Idempotency, Label, States as _, Task, TaskId, TaskStatus,
    Timestamp, Valid,
};
use steward_engine::{Effect, EffectId, Event, InFlight, Program, State};
use steward_journal::Draft;
use steward_store::{Change, Commit, GateDecision, Lease, Scope, Verdict};

/// How a stored run is resumed.
pub(super) struct ResumeRequest {
    /// The user who cancelled it.
    cancelled: Option<String>,
    /// A decision, written in the transaction that takes the lease.
    with: Option<Written>,
    taking: LeaseConflict,
    /// Whether its end wakes the parent task.
    wakes: bool,
}

impl ResumeRequest {
    /// Resumes it only if no other process holds it.
    fn free() -> Self {
        Self { cancelled: None, with: None, taking: LeaseConflict::Free, wakes: true }
    }

    /// Resumes it under a running parent that waits for it.
    pub(super) fn sub() -> Self {
        Self { wakes: false, ..Self::free() }
    }
}

/// The entry and the changes of a decision.
pub(super) struct Written {
    entry: Draft,
    changes: Vec<Change>,
}

impl Runner {
    /// Continues a run after a crash. A run that waits for a person still waits. A run with a live
    /// holder stays with it.
    pub async fn resume(&self, scope: &Scope, task: TaskId, watch: Option<Watch>) -> Result<Ran> {
        self.take_over(scope, task, ResumeRequest::free(), watch).await
    }

    /// Continues a run after a person's decision on exactly what was shown.
    pub async fn decide(
        &self,
        scope: &Scope,
        task: TaskId,
        decided: Decided,
        watch: Option<Watch>,
    ) -> Result<Ran> {
        let with = Some(self.decision(scope, task, decided, watch.as_ref()).await?);
        self.take_over(scope, task, ResumeRequest { with, ..ResumeRequest::free() }, watch).await
    }

    /// Cancels a run, even if another process holds it: that process loses its lease.
    pub async fn cancel(&self, scope: &Scope, task: TaskId, by: &Label) -> Result<Ran> {
        let cancelled = Some(by.to_string());
        let takes = ResumeRequest { cancelled, taking: LeaseConflict::Anyhow, ..ResumeRequest::free() };
        self.take_over(scope, task, takes, None).await
    }

    /// The writes of a decision: the event, its entry, and the use of the gate. A decision that
    /// does not match the request is rejected before the lease is taken.
    async fn decision(
        &self,
        scope: &Scope,
        id: TaskId,
        decided: Decided,
        watch: Option<&Watch>,
    ) -> Result<Written> {
        let store = &*self.app().store;
        let owner =
            store.task(scope, id).await?.ok_or_else(|| Error::NoTask(id.to_string()))?.user_id.clone();
        if decided.action != HumanAction::Reject {
            self.toolbox.callers().now(&owner)?;
        }
        let waits = || Error::NotWaiting(id.to_string());
        let stored = log::load(store, scope, id).await?;
        let last = store.checkpoints(scope, id).await?.pop().filter(|last| last.awaiting_human);
        let last = last.filter(|_| stored.task.status == TaskStatus::Paused).ok_or_else(waits)?;
        let shown = |name: &str| last.state.metadata.get(name).cloned().ok_or_else(waits);
        let asked: String = serde_json::from_value(shown("digest")?).map_err(|_| waits())?;
        let request: EffectId = serde_json::from_value(shown("effect")?).map_err(|_| waits())?;
        let until: Timestamp = serde_json::from_value(shown("until")?).map_err(|_| waits())?;
        if until <= self.now() {
            return Err(waits());
        }
        if asked != decided.shown.as_str() {
            return Err(Error::OtherCall(id.to_string()));
        }
        let verdict = match decided.action {
            HumanAction::Approve => Verdict::Approved,
            HumanAction::Reject => Verdict::Rejected,
            HumanAction::Modify => Verdict::Modified,
        };
        let (at, digest) = (self.now(), decided.shown);
        let event = Event::HumanDecided {
            request,
            action: decided.action,
            message: decided.message,
            state_updates: decided.updates,
            by: decided.by.to_string(),
            from: decided.from,
            digest: digest.clone(),
            at,
        };
        let mut state = steward_engine::fold(&stored.program, &stored.events);
        state.apply(&stored.program, &event).map_err(|rejected| Error::Decision(rejected.to_string()))?;
        let user = stored.task.user_id.clone();
        let journal_writer = Arc::new(JournalWriter::new(self.app().store.clone(), user, id.into(), None));
        let mut log = self.log(journal_writer, stored.task, stored.sequence, &stored.program)?;
        let gate = Gate { task: id, number: request.0 };
        let decision = GateDecision { gate, digest, verdict, by: decided.by, at, call: None };
        let (entry, row) = log.sealed(&event)?;
        if let Some(watch) = watch {
            watch(ProgressEvent::Happened(event));
        }
        Ok(Written { entry, changes: vec![Change::Decide(decision), row] })
    }

    /// Starts another run with the first events of this one. Calls that had started are repeated
    /// only if that is safe.
    pub async fn fork(&self, scope: &Scope, task: TaskId, steps: usize, watch: Option<Watch>) -> Result<Ran> {
        self.fork_from(scope, task, steps, None, watch).await
    }

    /// Starts another run of the same program with another input.
    pub async fn fork_with_input(&self, scope: &Scope, task: TaskId, input: Json) -> Result<Ran> {
        self.fork_from(scope, task, 1, Some(input), None).await
    }

    async fn fork_from(
        &self,
        scope: &Scope,
        task: TaskId,
        steps: usize,
        other_input: Option<Json>,
        watch: Option<Watch>,
    ) -> Result<Ran> {
        let rows = self.app().store.checkpoints(scope, task).await?;
        if let Some(subject) = cut_off::subject(&rows) {
            return Box::pin(self.fork_question(task, subject)).await;
        }
        let stored = log::load(&*self.app().store, scope, task).await?;
        let known = stored.events.len();
        // The first event is the start, which every run needs.
        if !(1..=known).contains(&steps) {
            return Err(Error::NoStep { task: task.to_string(), step: steps, steps: known });
        }
        let new = TaskId(self.app().random.uuid_v7(self.now())?);
        let mut events = steward_engine::fork(&stored.events, steps, new);
        if let (Some(other), Some(Event::Started { input, .. })) = (&other_input, events.first_mut()) {
            input.clone_from(other);
        }
        let (_, begun) = self.folded(scope, &stored.program, &stored.events, steps, task).await?;
        let user = stored.task.user_id.clone();
        let running = self.running(new, &user, &stored.program, None)?;
        let journal_writer = self.journal_writer(user.clone(), new, None);
        let effects =
            self.effect_handler(user, new, &journal_writer, watch.clone(), stored.child.context.clone());
        let program = Arc::new(stored.program);
        let mut log = self.log(journal_writer, running, 0, &program)?;
        log.begin(
            &program,
            other_input.as_ref().unwrap_or(&stored.input),
            &stored.child,
            Some(&self.holder),
        )?;
        log.forked(task, steps)?;
        for event in &events {
            log.event(event)?;
        }
        let mut run = self.new_run(&effects, program, new, watch.as_ref());
        run.log = Some(&mut log);
        run.state = steward_engine::fold(&run.program, &events);
        run.carry_on([Event::Recovered { in_flight: begun, at: self.now() }]).await
    }

    /// Takes the task's lease, reads it, and continues it. A parent that slept until this task
    /// ended continues, too.
    async fn take_over(
        &self,
        scope: &Scope,
        task: TaskId,
        takes: ResumeRequest,
        watch: Option<Watch>,
    ) -> Result<Ran> {
        let ran = self.taken(scope, task, takes, watch.clone()).await?;
        let mut last = ran.clone();
        while let Some(parent) = last.parent.filter(|_| last.standing.is_final()) {
            last = match self.taken(scope, parent, ResumeRequest::free(), watch.clone()).await {
                // A worker was faster.
                Err(Error::Busy { .. }) => break,
                other => other?,
            };
        }
        Ok(ran)
    }

    pub(super) async fn taken(
        &self,
        scope: &Scope,
        task: TaskId,
        takes: ResumeRequest,
        watch: Option<Watch>,
    ) -> Result<Ran> {
        let store = &self.app().store;
        let known = store.task(scope, task).await?.ok_or_else(|| Error::NoTask(task.to_string()))?;
        if known.status.is_final() && takes.with.is_some() {
            return Err(Error::NotWaiting(task.to_string()));
        }
        if known.status.is_final() {
            return self.ended(scope, known).await;
        }
        let user = Scope::User(known.user_id.clone());
        if known.status == TaskStatus::Paused && takes.cancelled.is_none() {
            // A single call that waits for a decision is not resumed: it still waits.
            let rows = store.checkpoints(&user, task).await?;
            if matches!(cut_off::subject(&rows), Some(cut_off::Subject::Call(_))) {
                return Ok(Ran::of_task(&known));
            }
        }
        let gone = store.lease(task).await?.is_some_and(|lease| LeaseHolder::is_gone(&lease.worker));
        let taking = if gone { LeaseConflict::Anyhow } else { takes.taking };
        let mut commit = Commit::new(known.user_id.clone(), task);
        if let Some(Written { entry, changes }) = takes.with {
            commit.entries.push(entry);
            commit.changes.extend(changes);
        }
        commit.changes.push(self.holder.hold(task, self.now(), taking));
        let lease = match JournalWriter::write_once(&**store, &user, commit).await {
            Ok(committed) => committed.lease,
            Err(steward_store::Error::LeaseLost) => {
                let worker =
                    store.lease(task).await?.map_or_else(String::new, |lease| lease.worker.to_string());
                return Err(Error::Busy { task: task.to_string(), worker });
            }
            Err(steward_store::Error::Decided { task }) => return Err(Error::NotWaiting(task)),
            Err(error) => return Err(error.into()),
        };
        let ran = self.go_on(lease.clone(), &known, takes.cancelled, watch, takes.wakes).await;
        if let (Err(_), Some(lease)) = (&ran, lease) {
            // Releases the lease for other workers; a lost lease cannot be released.
            let _or_lease_expires = store.release(&lease, self.now()).await;
        }
        ran
    }

    /// The status of an ended task.
    pub(super) async fn ended(&self, scope: &Scope, task: Valid<Task>) -> Result<Ran> {
        let rows = self.app().store.checkpoints(scope, task.id).await?;
        match cut_off::subject(&rows) {
            Some(_) => Ok(Ran::of_task(&task)),
            None => Ok(Ran::of(&log::read(task, rows)?)),
        }
    }

    /// Continues a task whose lease is held.
    pub(super) async fn go_on(
        &self,
        lease: Option<Lease>,
        known: &Task,
        cancelled: Option<String>,
        watch: Option<Watch>,
        wakes: bool,
    ) -> Result<Ran> {
        let (user, id) = (known.user_id.clone(), known.id);
        let scope = Scope::User(user.clone());
        let store = &self.app().store;
        let task = store.task(&scope, id).await?.ok_or_else(|| Error::NoTask(id.to_string()))?;
        let rows = store.checkpoints(&scope, id).await?;
        if let Some(subject) = cut_off::subject(&rows) {
            return Box::pin(self.take_up(lease, task, rows, subject, cancelled)).await;
        }
        let Stored { task, program, input, child, events, sequence } = log::read(task, rows)?;
        let (state, begun) = self.folded(&scope, &program, &events, events.len(), id).await?;
        let journal_writer = self.journal_writer(user.clone(), id, lease);
        let effects = self.effect_handler(user, id, &journal_writer, watch.clone(), child.context.clone());
        let program = Arc::new(program);
        let wake = task.parent_task_id.filter(|_| wakes);
        let mut log = self.log(journal_writer, task, sequence, &program)?;
        let at = self.now();
        let mut refused = None;
        if !state.status().is_final() {
            log.resume()?;
            refused = effects.refusal().map(|reason| Event::Refused { reason, at });
        }
        let mut run = self.new_run(&effects, program, id, watch.as_ref());
        run.wake = wake;
        run.state = state;
        run.log = Some(&mut log);
        let first = match events.is_empty() {
            true => child.started(id, input, at),
            false => Event::Recovered { in_flight: begun, at },
        };
        let cancelled = cancelled.map(|by| Event::CancelRequested { by, at });
        run.carry_on(std::iter::once(first).chain(cancelled).chain(refused)).await
    }

    /// The state after these events, and its calls that had started and have no receipt.
    async fn folded(
        &self,
        scope: &Scope,
        program: &Program,
        events: &[Event],
        steps: usize,
        task: TaskId,
    ) -> Result<(State, Vec<InFlight>)> {
        let mut state = State::new(program);
        let mut calls: BTreeMap<EffectId, (CallId, Idempotency)> = BTreeMap::new();
        let mut effects = Vec::new();
        for event in events.iter().take(steps) {
            effects.clear();
            let _rejected_again = state.apply_into(program, event, &mut effects);
            calls.extend(effects.iter().filter_map(|effect| match effect {
                Effect::CallTool { id, key, safety, .. } => Some((*id, (*key, *safety))),
                _ => None,
            }));
        }
        let begun = self.begun(scope, task).await?;
        let in_flight = calls
            .into_iter()
            .filter(|(id, (key, _))| state.is_pending(*id) && begun.contains(&key.to_string()))
            .map(|(effect, (_, safety))| InFlight { effect, safety })
            .collect();
        Ok((state, in_flight))
    }

    /// The keys of a task's calls that the journal records as started.
    pub(super) async fn begun(&self, scope: &Scope, task: TaskId) -> Result<BTreeSet<String>> {
        let mut begun = BTreeSet::new();
        let mut after = 0;
        loop {
            let entries = self.app().store.entries(scope, task.into(), after, 1000).await?;
            let Some(last) = entries.last() else { return Ok(begun) };
            after = last.entry.sequence;
            for entry in entries.iter().filter(|entry| entry.entry.event_type == EventType::ToolCalled) {
                let data: Json = serde_json::from_str(&entry.entry.event_data).unwrap_or_default();
                begun.extend(data.get("call_id").and_then(Json::as_str).map(str::to_owned));
            }
        }
    }
}
