//! Calls that wait for a person. A waiting call is a paused task with a checkpoint that holds
//! exactly what was shown; it survives a restart.
//!
//! Invariants
//! - What waits is the tool as policy resolved it. Who may decide is checked on that name.
//! - A decision names the digest that was shown. Another digest is another call.
//! - The call is made with what its owner holds now; for an owner who is not let in any more
//!   nothing is called.
//! - The approval, the end of the waiting and the intent of the call are one transaction. Of many
//!   decisions one counts, and approving makes the call that was shown once, and no other.

use super::ledger::{ReleaseLedger, StoreLedger};
use crate::caller::Callers;
use crate::error::{Error, Result};
use crate::journal_writer::JournalWriter;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::{
    AgentName, Check as _, Checkpoint, CheckpointId, Coded as _, Description, ErrorClass, EventType, Gate,
    JsonObject, Label, NodeName, Sha256Hex, State, Task, TaskId, TaskStatus, Timestamp, UserId, Valid,
};
use steward_journal::Draft;
use steward_journal::clock::Clock;
use steward_journal::random::Random;
use steward_journal::redact::Redactor;
use steward_policy::{Approval, Provenance};
use steward_store::{Change, Commit, GateDecision, Page, Scope, Store, TaskFilter, Verdict};
use steward_tools::ApprovalRequest;
use steward_tools::call::{Receipt, Request, ToolGateway};

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Waiting {
    /// The task that is paused.
    pub task: TaskId,
    /// For whom the call would be made.
    pub user: UserId,
    /// Which tool; the first of several.
    pub tool: String,
    /// All tools, where several calls are decided on together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// With exactly this; by number and tool, where there are several.
    pub arguments: JsonObject,
    /// Where each argument came from.
    pub provenance: JsonObject,
    /// Why a person is asked.
    pub reason: String,
    /// What the approval is bound to.
    pub digest: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when; afterwards it is rejected.
    pub until: Timestamp,
    /// The roles that may decide; everybody who may approve when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// What the task is to do, for whom decides.
    pub description: String,
    /// The node of a workflow that asks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
}

impl Waiting {
    /// Every tool that a decision over it releases. Who decides must be allowed to decide on all of
    /// them.
    pub fn released_tools(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.tool).chain(&self.tools).map(String::as_str)
    }

    /// What a decision over it names.
    pub fn shown(&self) -> Result<Shown> {
        Ok(Shown { task: self.task, digest: Sha256Hex::new(self.digest.clone())? })
    }

    fn gate(&self) -> Gate {
        Gate { task: self.task, number: GATE }
    }
}

/// A call that nobody decided on is rejected after this.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// The gateway's waiting calls.
#[derive(Clone)]
pub struct Approvals {
    /// Where the waiting calls are kept.
    pub store: Arc<dyn Store>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub random: Arc<dyn Random>,
    /// Writes approved calls down.
    pub(super) ledger: Arc<StoreLedger>,
    /// Says what the owner of a call holds when it is made.
    pub(super) callers: Callers,
}

/// What a person decides on: the task that waits, and the digest of what they were shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The task.
    pub task: TaskId,
    /// The digest.
    pub digest: Sha256Hex,
}

/// Who refuses a call that a person approved.
const POLICY: &str = "policy";

/// A single call has one gate.
const GATE: u64 = 0;

impl Approvals {
    /// Lets a call wait, as a task of its own.
    pub async fn wait(&self, request: &Request, needed: &ApprovalRequest) -> Result<Waiting> {
        let ApprovalRequest { tool, digest, reason } = needed;
        let now = self.clock.now();
        let task = TaskId(self.random.uuid_v7(now)?);
        let user = request.caller.user.clone();
        let label = |name: &String| {
            let origin = request.provenance.get(name).copied().unwrap_or(request.default_provenance);
            (name.clone(), Json::from(origin.name()))
        };
        let waiting = Waiting {
            task,
            user: user.clone(),
            tool: tool.to_string(),
            tools: Vec::new(),
            arguments: request.arguments.clone(),
            provenance: request.arguments.keys().map(label).collect(),
            reason: reason.clone(),
            digest: digest.to_string(),
            since: now,
            until: Timestamp::from_micros(
                now.micros() + i64::try_from(PATIENCE.as_micros()).unwrap_or(i64::MAX),
            ),
            approvers: Vec::new(),
            description: format!("Call {tool}"),
            node: String::new(),
        };
        let description = Description::new(format!("Call {tool}"))?;
        let record = Task {
            status: TaskStatus::Paused,
            ..Task::running(task, user.clone(), description, AgentName::new("tools")?, now)
        };
        let checkpoint = Checkpoint {
            checkpoint_id: CheckpointId(self.random.uuid_v7(now)?),
            task_id: task,
            state: State {
                messages: Vec::new(),
                next_action: Some(Label::new("approval")?),
                current_agent: AgentName::new("tools")?,
                routing_key: None,
                metadata: as_map(json!(waiting)),
            },
            position: NodeName::new("approval")?,
            sequence: 0,
            created_at: now,
            awaiting_human: true,
            resumed_at: None,
        };
        let mut personal = Map::new();
        personal.insert("arguments".into(), Json::Object(request.arguments.clone()));
        let data = json!({ "tool_name": waiting.tool, "digest": digest, "reason": reason, "provenance": waiting.provenance, "until": waiting.until });
        let commit = Commit::new(user.clone(), task)
            .entry(entry(EventType::ApprovalRequested, data, personal)?)
            .change(Change::PutTask(record.validate()?))
            .change(Change::PutCheckpoint(checkpoint.validate()?));
        JournalWriter::write_once(&*self.store, &Scope::User(user), commit).await?;
        Ok(waiting)
    }

    /// The calls that wait, oldest first. What nobody decided in time is rejected on the way.
    pub async fn list(&self, scope: &Scope) -> Result<Vec<Waiting>> {
        let mut found = Vec::new();
        let filter = TaskFilter { status: Some(TaskStatus::Paused) };
        let now = self.clock.now();
        for task in self.store.tasks(scope, filter, Page::first(1000)).await? {
            let Some((waiting, checkpoint)) = self.read(scope, &task).await? else { continue };
            if waiting.until <= now && !checkpoint.state.metadata.contains_key("effect") {
                self.expire(&waiting, checkpoint).await?;
            } else {
                found.push(waiting);
            }
        }
        found.sort_by_key(|waiting| waiting.since);
        Ok(found)
    }

    /// Makes the call that was shown. Another call, or one that is no longer waiting, is refused. A
    /// call that could not be made for a passing reason still waits.
    pub async fn approve(
        &self,
        gateway: &ToolGateway,
        scope: &Scope,
        shown: &Shown,
        by: &Label,
    ) -> Result<Receipt> {
        let (waiting, checkpoint) = self.waiting(scope, shown).await?;
        let caller = self.callers.now(&waiting.user)?;
        let task = self.paused(&waiting).await?.start(self.clock.now())?;
        let mut request = caller.request(waiting.tool.clone(), waiting.arguments.clone());
        request.chain = Some(waiting.task.into());
        request.provenance = provenance(&waiting.provenance);
        let (digest, gate) = (shown.digest.clone(), Some(waiting.gate()));
        request.approval = Some(Approval { digest, by: by.clone(), gate });
        // The intent's own change uses the gate up; with it go the end of the waiting and the entry
        // that says who decided.
        let (entry, ended) = self.decided(&waiting, checkpoint.clone(), by, Verdict::Approved, "")?;
        let release = ReleaseLedger {
            ledger: &self.ledger,
            decision: Mutex::new(Some((entry, vec![ended, Change::PutTask(task)]))),
        };
        let result = gateway.call_with(&request, &release).await;
        match &result {
            Err(steward_tools::Error::ApprovalUsed { .. }) => {
                return Err(Error::NotWaiting(waiting.task.to_string()));
            }
            Err(error) if !release.is_released() => {
                if error.class() != ErrorClass::Transient {
                    let policy = Label::new(POLICY)?;
                    self.close(&waiting, checkpoint, &policy, Verdict::Rejected, &error.to_string()).await?;
                }
            }
            Ok(receipt) => {
                let words = receipt.output.words().chars().take(1000).collect();
                self.finish(&waiting, Ok(words)).await?;
            }
            Err(error) => self.finish(&waiting, Err(error.to_string())).await?,
        }
        Ok(result?)
    }

    /// Whether it is a run of a workflow or an agent that waits under this id, not a single call.
    pub async fn is_run(&self, scope: &Scope, id: TaskId) -> Result<bool> {
        let last = self.store.checkpoints(scope, id).await?.pop();
        Ok(last.is_some_and(|last| last.awaiting_human && last.state.metadata.contains_key("effect")))
    }

    /// Refuses the call.
    pub async fn reject(&self, scope: &Scope, shown: &Shown, by: &Label, why: &str) -> Result<Waiting> {
        let (waiting, checkpoint) = self.waiting(scope, shown).await?;
        self.close(&waiting, checkpoint, by, Verdict::Rejected, why).await?;
        Ok(waiting)
    }

    async fn waiting(&self, scope: &Scope, shown: &Shown) -> Result<(Waiting, Valid<Checkpoint>)> {
        let id = shown.task;
        let task = self.store.task(scope, id).await?;
        let paused = task.filter(|task| task.status == TaskStatus::Paused);
        let found = match paused {
            Some(task) => self.read(scope, &task).await?,
            None => None,
        };
        let (waiting, checkpoint) = found.ok_or_else(|| Error::NotWaiting(id.to_string()))?;
        // A run's gate has its own number and its own way on: decided here, it could be decided
        // twice.
        if checkpoint.state.metadata.contains_key("effect") {
            return Err(Error::Decision(format!("{id} is a run and is decided as one")));
        }
        if waiting.until <= self.clock.now() {
            self.expire(&waiting, checkpoint).await?;
            return Err(Error::NotWaiting(id.to_string()));
        }
        if waiting.digest != shown.digest.as_str() {
            return Err(Error::OtherCall(id.to_string()));
        }
        Ok((waiting, checkpoint))
    }

    async fn read(&self, scope: &Scope, task: &Task) -> Result<Option<(Waiting, Valid<Checkpoint>)>> {
        let last = self.store.checkpoints(scope, task.id).await?.pop();
        let Some(checkpoint) = last.filter(|last| last.awaiting_human) else { return Ok(None) };
        let shown = &checkpoint.state.metadata;
        let text = |name: &str| shown.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let object = |name: &str| shown.get(name).and_then(Json::as_object).cloned().unwrap_or_default();
        let strings = |name: &str| {
            let items = shown.get(name).and_then(Json::as_array).into_iter().flatten();
            items.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let time = |name: &str| shown.get(name).and_then(|time| serde_json::from_value(time.clone()).ok());
        let (Some(since), Some(until)) = (time("since"), time("until")) else { return Ok(None) };
        let waiting = Waiting {
            task: task.id,
            user: task.user_id.clone(),
            tool: text("tool"),
            tools: strings("tools"),
            arguments: object("arguments"),
            provenance: object("provenance"),
            reason: text("reason"),
            digest: text("digest"),
            since,
            until,
            approvers: strings("approvers"),
            description: task.description.to_string(),
            node: text("node"),
        };
        Ok(Some((waiting, checkpoint)))
    }

    /// The task, as long as it waits: another decision may have been quicker.
    async fn paused(&self, waiting: &Waiting) -> Result<Valid<Task>> {
        let task = self.store.task(&Scope::User(waiting.user.clone()), waiting.task).await?;
        let paused = task.filter(|task| task.status == TaskStatus::Paused);
        paused.ok_or_else(|| Error::NotWaiting(waiting.task.to_string()))
    }

    /// Ends the waiting of a call that was not decided in time, unless a decision came just now.
    async fn expire(&self, waiting: &Waiting, checkpoint: Valid<Checkpoint>) -> Result<()> {
        let by = Label::new("timeout")?;
        match self.close(waiting, checkpoint, &by, Verdict::Expired, "nobody decided in time").await {
            Err(Error::NotWaiting(_)) => Ok(()),
            other => other,
        }
    }

    async fn close(
        &self,
        waiting: &Waiting,
        checkpoint: Valid<Checkpoint>,
        by: &Label,
        verdict: Verdict,
        why: &str,
    ) -> Result<()> {
        let scope = Scope::User(waiting.user.clone());
        let (entry, ended) = self.decided(waiting, checkpoint, by, verdict, why)?;
        let digest = Sha256Hex::new(waiting.digest.clone())?;
        let (gate, at) = (waiting.gate(), self.clock.now());
        let decision = GateDecision { gate, digest, verdict, by: by.clone(), at, call: None };
        let mut commit = Commit::new(waiting.user.clone(), waiting.task)
            .entry(entry)
            .change(Change::Decide(decision))
            .change(ended);
        let reason =
            if why.is_empty() { format!("rejected by {by}") } else { format!("rejected by {by}: {why}") };
        let paused = self.paused(waiting).await?;
        // A person's no is an end of its own; a call that ran out of time or that policy refuses
        // has failed.
        let task = match verdict {
            Verdict::Rejected if by.as_str() != POLICY => paused.reject(reason, self.clock.now())?,
            _ => paused.fail(reason, self.clock.now())?,
        };
        commit = commit.change(Change::PutTask(task));
        match JournalWriter::write_once(&*self.store, &scope, commit).await {
            Err(steward_store::Error::Decided { task }) => Err(Error::NotWaiting(task)),
            other => other.map(drop).map_err(Error::from),
        }
    }

    /// The entry of a decision, and the checkpoint that waits no longer.
    fn decided(
        &self,
        waiting: &Waiting,
        checkpoint: Valid<Checkpoint>,
        by: &Label,
        verdict: Verdict,
        why: &str,
    ) -> Result<(Draft, Change)> {
        let now = self.clock.now();
        let checkpoint = checkpoint.with(|checkpoint| {
            // The exact arguments are needed only as long as somebody may still agree to them.
            if let Some(arguments) = checkpoint.state.metadata.get_mut("arguments") {
                *arguments = Redactor::default().redact(arguments.take());
            }
            checkpoint.awaiting_human = false;
            checkpoint.resumed_at = Some(now.max(checkpoint.created_at));
        })?;
        let data = json!({ "tool_name": waiting.tool, "digest": waiting.digest, "decision": verdict, "by": by, "why": why });
        let entry = entry(EventType::ApprovalDecided, data, Map::new())?;
        Ok((entry, Change::PutCheckpoint(checkpoint)))
    }

    async fn finish(&self, waiting: &Waiting, outcome: std::result::Result<String, String>) -> Result<()> {
        let scope = Scope::User(waiting.user.clone());
        let Some(task) = self.store.task(&scope, waiting.task).await? else { return Ok(()) };
        let now = self.clock.now();
        let task = match outcome {
            Ok(result) => task.complete(result, now)?,
            Err(error) => task.fail(error, now)?,
        };
        let data = json!({ "status": task.status_name() });
        let commit = Commit::new(waiting.user.clone(), waiting.task)
            .entry(entry(EventType::TaskChanged, data, Map::new())?)
            .change(Change::PutTask(task));
        JournalWriter::write_once(&*self.store, &scope, commit).await?;
        Ok(())
    }
}

fn provenance(labels: &JsonObject) -> BTreeMap<String, Provenance> {
    let origin = |label: &Json| match label.as_str() {
        Some("operator") => Provenance::Operator,
        Some("user") => Provenance::User,
        _ => Provenance::Untrusted,
    };
    labels.iter().map(|(name, label)| (name.clone(), origin(label))).collect()
}

fn as_map(value: Json) -> JsonObject {
    match value {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

fn entry(event: EventType, data: Json, personal: Map<String, Json>) -> Result<Draft> {
    let mut draft = Draft::new(event, Label::new("runtime")?, as_map(data));
    draft.personal = personal;
    Ok(draft)
}
