//! Executes a commit in one transaction.

use super::connection::{Database, Tx};
use super::{
    approvals, conversations, documents, executions, journal, model_usage, queue, recipes, saved, tools,
};
use crate::change::{Change, Commit, Committed, Durability};
use crate::error::{Error, Result};
use crate::interface::StoreOptions;
use crate::query::Scope;
use steward_domain::UserId;

pub(super) async fn apply(
    db: &Database,
    options: &StoreOptions,
    scope: &Scope,
    mut commit: Commit,
) -> Result<Committed> {
    let prepared = commit.prepare(options)?;
    let Commit { owner, chain, entries: _, changes, fence, durability } = commit;
    let mut tx = match durability {
        Durability::Synced => db.begin(scope).await?,
        Durability::WithNext => db.begin_unsynced(scope).await?,
    };
    if durability == Durability::Synced && prepared.is_empty() && changes.is_empty() {
        // A transaction that writes nothing does not wait for the WAL, so this one writes a message
        // without a reader.
        let message = sqlx::query("SELECT pg_logical_emit_message(true, 'steward', '')");
        message.execute(&mut *tx).await?;
    }
    let mut committed = Committed {
        entries: journal::append(&mut tx, options, &owner, chain, prepared).await?,
        ..Committed::default()
    };
    // Locked after the chain. All writers lock the chain first, which prevents a deadlock.
    if let Some(fence) = fence {
        queue::check_fence(&mut tx, fence).await?;
    }
    for change in changes {
        apply_one(&mut tx, scope, &owner, change, &mut committed).await?;
    }
    tx.commit().await?;
    Ok(committed)
}

async fn apply_one(
    tx: &mut Tx,
    scope: &Scope,
    owner: &UserId,
    change: Change,
    committed: &mut Committed,
) -> Result<()> {
    match change {
        Change::PutConversation(conversation) => conversations::put(tx, owner, &conversation).await,
        Change::SetConversationStatus { id, status, at } => {
            conversations::set_status(tx, owner, id, status, at).await
        }
        Change::AppendMessage(message) => {
            let (id, place) = conversations::append_message(tx, owner, message).await?;
            committed.sequence_numbers.insert(id, place);
            Ok(())
        }
        Change::MentionEntity(mention) => conversations::mention(tx, owner, &mention).await,
        Change::PutExecution(execution) => executions::put(tx, owner, &execution).await,
        Change::PutInvocation(invocation) => executions::put_invocation(tx, owner, &invocation).await,
        Change::PutTool(_) | Change::RetireTool { .. } if *scope != Scope::System => Err(Error::OtherOwner),
        Change::PutTool(tool) => tools::put(tx, &tool).await,
        Change::RetireTool { id, at } => tools::retire(tx, id, at).await,
        Change::PutRecipe(recipe) => recipes::put(tx, owner, &recipe).await,
        Change::UseRecipe { id, at } => recipes::used(tx, owner, id, at).await,
        Change::DeleteRecipe { id } => recipes::delete(tx, owner, id).await,
        Change::PutTask(task) => documents::put_task(tx, owner, &task).await,
        Change::Enqueue { task, ready_at } => queue::enqueue(tx, owner, task, ready_at).await,
        Change::Hold { task, worker, until, unless_held } => {
            committed.lease = Some(queue::give(tx, owner, task, &worker, until, unless_held).await?);
            Ok(())
        }
        Change::Dequeue { task } => queue::dequeue(tx, owner, task).await,
        Change::PutRequest(request) => documents::put_request(tx, owner, &request).await,
        Change::PutPlan(plan) => documents::put_plan(tx, owner, &plan).await,
        Change::PutCheckpoint(checkpoint) => documents::put_checkpoint(tx, owner, &checkpoint).await,
        Change::PutSession(session) => documents::put_session(tx, owner, &session).await,
        Change::PutArtifact(artifact) => documents::put_artifact(tx, owner, &artifact).await,
        Change::Decide(decided) => approvals::decide(tx, owner, &decided).await,
        Change::AddModelUsage(usage) => model_usage::add(tx, owner, &usage).await,
        Change::PutSaved { item, replaces } => saved::put(tx, owner, &item, replaces).await,
        Change::DeleteSaved { kind, id } => saved::delete(tx, owner, kind, id).await,
        Change::TakeTick(tick) => saved::put_tick(tx, owner, &tick).await,
        Change::SettleTick { schedule, due_at, at } => saved::settle(tx, owner, schedule, due_at, at).await,
        Change::ErasePayload { id, at } => journal::erase(tx, owner, id, at).await,
    }
}

/// An upsert that changed no row: the row exists and belongs to another user.
pub(super) fn touched(rows: u64) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(Error::OtherOwner) }
}
