//! Row seals: each commit records in the journal which rows it wrote, so that rows that are
//! changed, added or removed by other means are detected.
//!
//! A seal is a keyed hash over the row's content. The key is derived from the log's signing key, so
//! a reader of the journal cannot guess the content of a row, and a writer of the database cannot
//! forge a seal.
//!
//! Columns that stand beside a body are not sealed: they follow from it ([`crate::lookup`]).
//!
//! Not sealed: queues and leases, entities, definitions of tools, sums of usage, the vector and the
//! use of a recipe, and the time of a conversation's last change.

use crate::change::{Change, Commit, NewMessage};
use crate::error::Result;
use crate::lookup::{self, LookupRow};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use steward_domain::{Conversation, ConversationStatus, Message, Recipe, ToolInvocation};
use steward_journal::canonical::jcs;
use steward_journal::note::NoteSigner;

/// The member of an entry that holds the seals of its commit.
pub(crate) use steward_journal::SEALED_ROWS as MEMBER;
/// The seal of a payload that was erased on purpose.
pub(crate) const ERASED: &str = "erased";
/// The seal of an item that its owner deleted.
pub(crate) const DELETED: &str = "deleted";

/// The member of the seals that says which kinds of rows are sealed: since version 2 also
/// decisions, ticks and recipes. A row of these kinds that is older needs no seal.
pub(crate) const VERSION: (&str, &str) = ("version", "2");

/// The seals of a commit, by `kind/id`.
pub(crate) fn seals(commit: &Commit, signer: &NoteSigner) -> Result<Map<String, Value>> {
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for change in &commit.changes {
        let (row, seal) = match change {
            Change::AppendMessage(message) => {
                (("message", message.id.to_string()), of_new_message(signer, message)?)
            }
            Change::PutConversation(row) => {
                (("conversation", row.id.to_string()), of_conversation(signer, row)?)
            }
            Change::PutTask(row) => (("task", row.id.to_string()), of(signer, "task", &**row)?),
            Change::PutExecution(row) => {
                (("execution", row.id.to_string()), of(signer, "execution", &**row)?)
            }
            Change::PutInvocation(row) => (("invocation", row.id.to_string()), of_invocation(signer, row)?),
            Change::PutRequest(row) => {
                (("request", row.request_id.to_string()), of(signer, "request", &**row)?)
            }
            Change::PutPlan(row) => (("plan", row.plan_id.to_string()), of(signer, "plan", &**row)?),
            Change::PutCheckpoint(row) => {
                (("checkpoint", row.checkpoint_id.to_string()), of(signer, "checkpoint", &**row)?)
            }
            Change::PutSession(row) => {
                (("session", row.session_id.to_string()), of(signer, "session", &**row)?)
            }
            Change::PutArtifact(row) => {
                (("artifact", row.artifact_id.to_string()), of(signer, "artifact", &**row)?)
            }
            Change::SetConversationStatus { id, status, .. } => {
                (("status", id.to_string()), crate::words::word(status)?)
            }
            Change::PutSaved { item, .. } => {
                let kind = item.kind().name();
                ((kind, item.id().to_string()), of(signer, kind, &**item)?)
            }
            Change::PutRecipe(row) => (("recipe", row.recipe_id.to_string()), of_recipe(signer, row)?),
            Change::DeleteRecipe { id } => (("recipe", id.to_string()), DELETED.to_owned()),
            Change::Decide(decided) => {
                let row = lookup::of_decision(commit.owner.as_str(), decided)?;
                let id = decision_id(&row);
                if let Some(call) = decided.call {
                    let call = call.0.simple().to_string();
                    let _none_before =
                        found.insert(format!("released/{id}"), of(signer, "released", &call)?.into());
                }
                (("decision", id), of(signer, "decision", &row.content())?)
            }
            Change::TakeTick(tick) => {
                let row = lookup::of_tick(tick);
                (("tick", tick_id(&row)), of(signer, "tick", &row.content())?)
            }
            Change::SettleTick { schedule, due_at, at } => {
                let id = format!("{}/{}", schedule.0.simple(), due_at.micros());
                (("settled", id), of(signer, "settled", &at.micros().to_string())?)
            }
            Change::DeleteSaved { kind, id } => ((kind.name(), id.to_string()), DELETED.to_owned()),
            Change::ErasePayload { id, .. } => (("payload", id.to_string()), ERASED.to_owned()),
            _ => continue,
        };
        found.insert(format!("{}/{}", row.0, row.1), seal.into());
    }
    if !found.is_empty() {
        let _none_before = found.insert(VERSION.0.to_owned(), VERSION.1.into());
    }
    Ok(found.into_iter().collect())
}

/// The id of a decision: its task and its gate.
pub(crate) fn decision_id(row: &LookupRow) -> String {
    format!("{}/{}", row.id, row.text("gate"))
}

/// The id of a tick: its schedule and when it was due.
pub(crate) fn tick_id(row: &LookupRow) -> String {
    format!("{}/{}", row.id, row.text("due_at"))
}

/// A recipe without what changes by its use, and without its vector.
pub(crate) fn of_recipe(signer: &NoteSigner, row: &Recipe) -> Result<String> {
    let content = json!({ "id": row.recipe_id, "user": row.user_id, "schema": row.schema_fingerprint,
        "template": row.intent_template, "plan": row.plan_structure, "arguments": row.tool_argument_templates });
    of(signer, "recipe", &content)
}

/// The seal of a row.
pub(crate) fn of(signer: &NoteSigner, kind: &str, row: &impl Serialize) -> Result<String> {
    let mut text = String::with_capacity(512);
    jcs(&serde_json::to_value(row)?, &mut text);
    let hash = signer.keyed_hash(&[b"steward.rows.v1\0", kind.as_bytes(), b"\0", text.as_bytes()]);
    // Half of the hash still has 128 bits, and takes half the space.
    Ok(hash.to_string().chars().take(32).collect())
}

/// A message without its sequence number: the order of the journal is the order of the messages.
fn of_new_message(signer: &NoteSigner, message: &NewMessage) -> Result<String> {
    let NewMessage { id, conversation_id, role, content, timestamp, agent_type, tool_calls, metadata } =
        message;
    of(
        signer,
        "message",
        &json!({ "id": id, "conversation": conversation_id, "role": role, "content": content, "at": timestamp,
            "agent": agent_type, "calls": tool_calls, "metadata": metadata }),
    )
}

/// The seal of a message with a sequence number.
pub(crate) fn of_message(signer: &NoteSigner, message: &Message) -> Result<String> {
    let message = message.clone();
    of_new_message(
        signer,
        &NewMessage {
            id: message.id,
            conversation_id: message.conversation_id,
            role: message.role,
            content: message.content,
            timestamp: message.timestamp,
            agent_type: message.agent_type,
            tool_calls: message.tool_calls,
            metadata: message.metadata,
        },
    )
}

/// A conversation without the fields that change by themselves; a deleted one keeps its owner and
/// its time.
pub(crate) fn of_conversation(signer: &NoteSigner, row: &Conversation) -> Result<String> {
    let content = json!({ "id": row.id, "user": row.user_id, "domain": row.application_domain,
        "created": row.created_at, "metadata": row.metadata });
    of(signer, "conversation", &content)
}

/// A call without the run it belongs to: retention may delete the run first.
pub(crate) fn of_invocation(signer: &NoteSigner, row: &ToolInvocation) -> Result<String> {
    let mut content = serde_json::to_value(row)?;
    if let Value::Object(members) = &mut content {
        members.remove("agent_execution_id");
    }
    of(signer, "invocation", &content)
}

/// Whether a conversation was deleted.
pub(crate) fn is_deleted(row: &Conversation) -> bool {
    row.status == ConversationStatus::Deleted
}
