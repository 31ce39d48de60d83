//! Calls that wait for approval. A waiting call is a paused task with a checkpoint that holds
//! exactly what was shown; it survives a restart.
//!
//! Invariants
//! - The waiting call names the tool as policy resolved it. The right to decide is checked on that
//!   name.
//! - A decision names the digest that was shown. Another digest is another call.
//! - The call uses the current grants of its user; without access nothing is called.
//! - The approval, the end of the wait and the intent of the call are one transaction. Only one
//!   decision counts, and an approval makes exactly the shown call, once.
//! - That transaction also takes the lease of the task. If the process stops before the call has
//!   returned, the task is ended with the reason, and the call is not repeated.

use super::ledger::{ReleaseLedger, StoreLedger};
use crate::caller::Callers;
use crate::error::{Error, Result};
use crate::journal_writer::{JournalWriter, LeaseConflict, LeaseHolder};
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

/// A call that waits for approval.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Waiting {
    /// The paused task.
    pub task: TaskId,
    /// The user of the call.
    pub user: UserId,
    /// The tool; the first of several.
    pub tool: String,
    /// All tools, where several calls are decided together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The exact arguments; keyed by number and tool where there are several.
    pub arguments: JsonObject,
    /// The provenance of each argument.
    pub provenance: JsonObject,
    /// Why approval is required.
    pub reason: String,
    /// The digest that the approval is bound to.
    pub digest: String,
    /// The time of the request.
    pub since: Timestamp,
    /// The expiry; afterwards it is rejected.
    pub until: Timestamp,
    /// The roles that may decide; when empty, every user with the right to approve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The description of the task, for the approver.
    pub description: String,
    /// The node of a workflow that requests it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
}

impl Waiting {
    /// Every tool that a decision releases. The approver needs the right to decide on all of them.
    pub fn released_tools(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.tool).chain(&self.tools).map(String::as_str)
    }

    /// The task and digest that a decision names.
    pub fn shown(&self) -> Result<Shown> {
        Ok(Shown { task: self.task, digest: Sha256Hex::new(self.digest.clone())? })
    }

    fn gate(&self) -> Gate {
        Gate { task: self.task, number: GATE }
    }
}

/// The timeout of an approval, unless the settings have another.
pub(super) const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// The waiting calls of the gateway.
#[derive(Clone)]
pub struct Approvals {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The generator of ids.
    pub random: Arc<dyn Random>,
    /// Journals approved calls.
    pub(super) ledger: Arc<StoreLedger>,
    /// Resolves the current grants of a call's user.
    pub(super) callers: Callers,
    /// How long a call waits before it is rejected.
    pub(super) patience: Duration,
}

/// The subject of a decision: the waiting task, and the digest of what was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The task.
    pub task: TaskId,
    /// The digest.
    pub digest: Sha256Hex,
}

/// The lease of a call that is being made. It is longer than every timeout of a tool, because it is
/// not renewed. The lease of a stopped process of this machine need not expire.
const CALL_LEASE: Duration = Duration::from_secs(3600);

/// The decider of a call that was approved but is denied by policy.
const POLICY: &str = "policy";

/// A single call has one gate.
const GATE: u64 = 0;

impl Approvals {
    /// Stores a waiting call as a task.
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
                now.micros() + i64::try_from(self.patience.as_micros()).unwrap_or(i64::MAX),
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

    /// The waiting calls, oldest first. Expired ones are rejected on the way.
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

    /// Makes the shown call. Another call, or one that no longer waits, is rejected. A call that
    /// failed for a temporary reason still waits.
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
        // The intent consumes the gate. The end of the wait and the entry of the decision are in
        // the same transaction.
        let (entry, ended) = self.decided(&waiting, checkpoint.clone(), by, Verdict::Approved, "")?;
        let held = self.holder()?.hold(waiting.task, self.clock.now(), LeaseConflict::Free);
        let release = ReleaseLedger {
            ledger: &self.ledger,
            decision: Mutex::new(Some((entry, vec![ended, Change::PutTask(task), held]))),
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

    /// The holder of the calls of this process.
    fn holder(&self) -> Result<LeaseHolder> {
        let id = self.random.uuid_v7(self.clock.now())?.simple().to_string();
        LeaseHolder::for_this_process(&id, CALL_LEASE)
    }

    /// Whether a run of a workflow or an agent waits under this id, not a single call.
    pub async fn is_run(&self, scope: &Scope, id: TaskId) -> Result<bool> {
        let last = self.store.checkpoints(scope, id).await?.pop();
        Ok(last.is_some_and(|last| last.awaiting_human && last.state.metadata.contains_key("effect")))
    }

    /// Rejects the call.
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
        // The gate of a run has its own number and its own handler: decided here, it could be
        // decided twice.
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

    /// The task, if it still waits: another decision may have been faster.
    async fn paused(&self, waiting: &Waiting) -> Result<Valid<Task>> {
        let task = self.store.task(&Scope::User(waiting.user.clone()), waiting.task).await?;
        let paused = task.filter(|task| task.status == TaskStatus::Paused);
        paused.ok_or_else(|| Error::NotWaiting(waiting.task.to_string()))
    }

    /// Ends an expired wait, unless a decision was just made.
    async fn expire(&self, waiting: &Waiting, checkpoint: Valid<Checkpoint>) -> Result<()> {
        let by = Label::new("timeout")?;
        let until = waiting.until.to_chrono().format("%Y-%m-%d %H:%M UTC");
        let why = format!("Timed out: no decision by {until}");
        match self.close(waiting, checkpoint, &by, Verdict::Expired, &why).await {
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
        let reason = match verdict {
            Verdict::Expired => why.to_owned(),
            _ if why.is_empty() => format!("rejected by {by}"),
            _ => format!("rejected by {by}: {why}"),
        };
        let paused = self.paused(waiting).await?;
        // A person's rejection is a separate status; an expired or denied call has failed.
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

    /// The entry of a decision, and the checkpoint without its waiting status.
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
            // The exact arguments are needed only while the call can still be approved.
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
            .change(Change::PutTask(task))
            .change(Change::Dequeue { task: waiting.task });
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
