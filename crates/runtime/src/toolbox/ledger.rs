//! Writes tool calls into the journal, and a record of each for analytics.
//!
//! Invariants
//! - A call with side effects is made only after its intent is on disk. The intent of a read is
//!   written with its result, or in parallel when the read takes long, and is synced with its
//!   receipt.
//! - An approval is consumed in the transaction that writes the intent of its call. If it was used
//!   before, neither is written, and the call is not made.

use crate::crash::{self, CrashPoint};
use crate::journal_writer::{JournalWriter, JournalWriters};
use async_trait::async_trait;
use serde_json::{Map, Value as Json, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{
    Attempt, CallStatus, ChainId, Check as _, EventType, Gate, Label, Outcome, ToolCall, ToolDefinition,
    ToolId, ToolInvocation, Valid,
};
use steward_journal::Draft;
use steward_store::audit::system_owner;
use steward_store::{Change, Commit, Durability, GateDecision, Scope, Store, Verdict};
use steward_tools::call::{Ending, Intent, Ledger, Refused};
use steward_tools::{Error, Result};

/// The journal as a ledger of calls.
pub struct StoreLedger {
    store: Arc<dyn Store>,
    journal_writers: JournalWriters,
    known: Mutex<HashSet<ToolId>>,
}

impl StoreLedger {
    /// A ledger in this store.
    pub(crate) fn new(store: Arc<dyn Store>, journal_writers: JournalWriters) -> Self {
        Self { store, journal_writers, known: Mutex::default() }
    }

    /// Stores the tool of a call, because its record refers to it: once for each process is enough.
    async fn introduce(&self, definition: &Valid<ToolDefinition>) -> Result<()> {
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&definition.id) {
            return Ok(());
        }
        let known =
            self.store.tool(&definition.tool_name, Some(&definition.tool_version)).await.map_err(broken)?;
        if known.is_none_or(|known| known.id != definition.id || !has_same_definition(&known, definition)) {
            let commit = Commit::new(system_owner().map_err(broken)?, ChainId::SYSTEM)
                .change(Change::PutTool(definition.clone()));
            JournalWriter::write_once(&*self.store, &Scope::System, commit).await.map_err(broken)?;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(definition.id);
        Ok(())
    }

    /// Writes with the journal writer of the call's run, after its pending entries; otherwise
    /// directly.
    async fn write(
        &self,
        intent: &Intent,
        entries: Vec<Draft>,
        changes: Vec<Change>,
        durability: Durability,
    ) -> Result<()> {
        if let Some(journal_writer) = self.journal_writers.of(intent.chain) {
            // This commit may be refused, and earlier entries must not be lost with it.
            if gate(intent).is_some() {
                return journal_writer
                    .flush_and_commit(entries, changes)
                    .await
                    .map_err(|error| unwritten(intent, error));
            }
            journal_writer.note(entries, changes);
            return match (intent.leaves_process, durability) {
                (false, _) => Ok(()),
                (true, Durability::Synced) => journal_writer.flush().await.map_err(broken),
                (true, Durability::WithNext) => journal_writer.write().await.map_err(broken),
            };
        }
        let mut commit = Commit::new(intent.user.clone(), intent.chain);
        (commit.entries, commit.changes, commit.durability) = (entries, changes, durability);
        let scope = Scope::User(intent.user.clone());
        let committed = JournalWriter::write_once(&*self.store, &scope, commit).await;
        committed.map_err(|error| unwritten(intent, error))?;
        Ok(())
    }

    /// Writes these entries, the intent, the use of its approval and these changes in one
    /// transaction. The use comes first: who decides second learns that, and not what else changed.
    async fn release(&self, intent: &Intent, mut entries: Vec<Draft>, changes: Vec<Change>) -> Result<()> {
        self.introduce(&intent.definition).await?;
        let durability = if intent.is_read() { Durability::WithNext } else { Durability::Synced };
        entries.push(called(intent)?);
        let changes = used(intent).map(Change::Decide).into_iter().chain(changes).collect();
        self.write(intent, entries, changes, durability).await?;
        if intent.leaves_process {
            crash::here(CrashPoint::AfterIntentBeforeEffect);
        }
        Ok(())
    }
}

/// Writes a decision in the transaction of the call that it releases. If the call is not made, the
/// decision is not written, and the call still waits.
pub(super) struct ReleaseLedger<'a> {
    pub(super) ledger: &'a StoreLedger,
    /// The decision, until it is written.
    pub(super) decision: Mutex<Option<(Draft, Vec<Change>)>>,
}

impl ReleaseLedger<'_> {
    /// Whether the decision was written, together with the intent of the call.
    pub(super) fn is_released(&self) -> bool {
        self.decision.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

#[async_trait]
impl Ledger for ReleaseLedger<'_> {
    async fn intend(&self, intent: &Arc<Intent>) -> Result<()> {
        let decision = self.decision.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (entries, changes) = match decision {
            Some((entry, changes)) => (vec![entry], changes),
            None => (Vec::new(), Vec::new()),
        };
        self.ledger.release(intent, entries, changes).await?;
        *self.decision.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    async fn end(&self, ending: Ending) -> Result<()> {
        self.ledger.end(ending).await
    }

    async fn refuse(&self, refused: Refused) -> Result<()> {
        self.ledger.refuse(refused).await
    }
}

#[async_trait]
impl Ledger for StoreLedger {
    async fn intend(&self, intent: &Arc<Intent>) -> Result<()> {
        self.release(intent, Vec::new(), Vec::new()).await
    }

    async fn end(&self, ending: Ending) -> Result<()> {
        let intent = &ending.intent;
        if intent.leaves_process {
            crash::here(CrashPoint::AfterEffectBeforeReceipt);
        }
        let mut entries = Vec::new();
        if !ending.intended {
            self.introduce(&intent.definition).await?;
            entries.push(called(intent)?);
        }
        entries.push(observed(&ending)?);
        let record = Change::PutInvocation(invocation(&ending)?);
        self.write(intent, entries, vec![record], Durability::Synced).await?;
        if intent.leaves_process {
            crash::here(CrashPoint::AfterReceiptBeforeEvent);
        }
        Ok(())
    }

    async fn refuse(&self, refused: Refused) -> Result<()> {
        let intent = &refused.intent;
        let data = json!({
            "call_id": intent.call, "tool_name": intent.definition.tool_name, "decision": refused.decision,
            "rule": refused.rule, "detail": refused.detail, "digest": intent.digest,
            "provenance": intent.provenance,
        });
        let draft = draft(intent, EventType::PolicyDecision, "policy", data, arguments(intent))?;
        self.write(intent, vec![draft], Vec::new(), Durability::Synced).await
    }
}

/// The gate of the approval that this call consumes.
fn gate(intent: &Intent) -> Option<Gate> {
    intent.approval.as_ref()?.gate
}

fn used(intent: &Intent) -> Option<GateDecision> {
    let approval = intent.approval.as_ref()?;
    let (digest, by) = (approval.digest.clone(), approval.by.clone());
    let (verdict, call) = (Verdict::Approved, Some(intent.key));
    Some(GateDecision { gate: approval.gate?, digest, verdict, by, at: intent.at, call })
}

fn unwritten(intent: &Intent, error: steward_store::Error) -> Error {
    match error {
        steward_store::Error::Decided { .. } => {
            Error::ApprovalUsed { tool: intent.definition.tool_name.to_string() }
        }
        other => broken(other),
    }
}

fn has_same_definition(one: &ToolDefinition, other: &ToolDefinition) -> bool {
    one.description == other.description
        && one.parameter_schema == other.parameter_schema
        && one.is_active == other.is_active
}

fn called(intent: &Intent) -> Result<Draft> {
    let call = ToolCall {
        call_id: intent.call,
        task_id: None,
        server: intent.definition.server.clone(),
        tool_name: intent.definition.tool_name.clone(),
        domain: None,
        arguments: Map::new(),
        status: CallStatus::InProgress,
        timestamp: intent.at,
        attempt_number: Attempt::new(u8::try_from(intent.attempt).unwrap_or(u8::MAX)).unwrap_or_default(),
    };
    let mut data = json!(call);
    if let Json::Object(data) = &mut data {
        // The arguments are stored beside the entry, under a salted hash: they may be personal and
        // can be erased.
        data.remove("arguments");
        data.insert("tool_version".into(), json!(intent.definition.tool_version));
        data.insert("digest".into(), json!(intent.digest));
        data.insert("provenance".into(), Json::Object(intent.provenance.clone()));
        if let Some(approval) = &intent.approval {
            data.insert("approval".into(), json!({ "by": approval.by, "gate": approval.gate }));
        }
    }
    draft(intent, EventType::ToolCalled, "tools", data, arguments(intent))
}

fn observed(ending: &Ending) -> Result<Draft> {
    let intent = &ending.intent;
    let data = json!({
        "call_id": intent.call, "status": ending.outcome, "execution_time_seconds": ending.took.as_secs_f64(),
        "error_code": ending.error.as_ref().map(|(code, _)| code),
        "error_message": ending.error.as_ref().map(|(_, message)| message),
        "trust": "untrusted",
    });
    let mut personal = Map::new();
    if let Some(result) = &ending.result {
        personal.insert("data".into(), result.clone());
    }
    draft(intent, EventType::ObservationRecorded, "tools", data, personal)
}

fn invocation(ending: &Ending) -> Result<Valid<ToolInvocation>> {
    let intent = &ending.intent;
    let success = ending.outcome == Outcome::Success;
    let error = ending.error.as_ref().map(|(code, message)| json!({ "code": code, "message": message }));
    let span = ending.ended.micros().saturating_sub(intent.at.micros()).max(0) / 1000;
    let record = ToolInvocation {
        id: intent.record,
        user_id: intent.user.clone(),
        agent_execution_id: None,
        tool_definition_id: intent.definition.id,
        input_parameters: intent.arguments.clone(),
        output_result: ending.result.clone().filter(|_| success),
        invocation_start: intent.at,
        invocation_end: ending.ended.max(intent.at),
        duration_ms: u64::try_from(span).unwrap_or_default(),
        status: ending.outcome,
        error_details: (!success).then(|| error.unwrap_or_else(|| json!({ "code": "", "message": "" }))),
        retry_count: intent.attempt.saturating_sub(1),
    };
    record.validate().map_err(broken)
}

fn arguments(intent: &Intent) -> Map<String, Json> {
    let mut personal = Map::new();
    if !intent.arguments.is_empty() {
        personal.insert("arguments".into(), Json::Object(intent.arguments.clone()));
    }
    personal
}

fn draft(
    intent: &Intent,
    event: EventType,
    actor: &str,
    data: Json,
    personal: Map<String, Json>,
) -> Result<Draft> {
    let Json::Object(data) = data else { return Err(broken("an entry is an object")) };
    let mut draft = Draft::new(event, Label::new(actor).map_err(broken)?, data);
    draft.personal = personal;
    draft.on_behalf = Some(intent.on_behalf.clone());
    Ok(draft)
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::Ledger { detail: error.to_string() }
}
