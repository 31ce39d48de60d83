//! Executes a commit inside the writer's transaction.

use super::journal::{self, Log};
use super::{approvals, conversations, documents, executions, model_usage, queue, recipes, saved, tools};
use crate::change::{Change, Commit, Committed};
use crate::error::{Error, Result};
use crate::interface::StoreOptions;
use crate::query::Scope;
use rusqlite::Connection;
use steward_domain::UserId;
use steward_journal::Prepared;

pub(super) fn apply(
    connection: &Connection,
    options: &StoreOptions,
    log: &mut Log,
    scope: &Scope,
    commit: &Commit,
    prepared: &[Prepared],
) -> Result<Committed> {
    let Commit { owner, chain, entries: _, changes, fence, durability: _ } = commit;
    if let Some(fence) = fence {
        queue::check_fence(connection, *fence)?;
    }
    let mut committed = Committed {
        entries: journal::append(connection, options, log, owner, *chain, prepared)?,
        ..Committed::default()
    };
    for change in changes {
        apply_one(connection, scope, owner, change, &mut committed)?;
    }
    Ok(committed)
}

fn apply_one(
    db: &Connection,
    scope: &Scope,
    owner: &UserId,
    change: &Change,
    committed: &mut Committed,
) -> Result<()> {
    match change {
        Change::PutConversation(conversation) => conversations::put(db, owner, conversation),
        Change::SetConversationStatus { id, status, at } => {
            conversations::set_status(db, owner, *id, *status, *at)
        }
        Change::AppendMessage(message) => {
            let (id, place) = conversations::append_message(db, owner, message.clone())?;
            committed.sequence_numbers.insert(id, place);
            Ok(())
        }
        Change::MentionEntity(mention) => conversations::mention(db, owner, mention),
        Change::PutExecution(execution) => executions::put(db, owner, execution),
        Change::PutInvocation(invocation) => executions::put_invocation(db, owner, invocation),
        Change::PutTool(_) | Change::RetireTool { .. } if *scope != Scope::System => Err(Error::OtherOwner),
        Change::PutTool(tool) => tools::put(db, tool),
        Change::RetireTool { id, at } => tools::retire(db, *id, *at),
        Change::PutRecipe(recipe) => recipes::put(db, owner, recipe),
        Change::UseRecipe { id, at } => recipes::used(db, owner, *id, *at),
        Change::DeleteRecipe { id } => recipes::delete(db, owner, *id),
        Change::PutTask(task) => documents::put_task(db, owner, task),
        Change::Enqueue { task, ready_at } => queue::enqueue(db, owner, *task, *ready_at),
        Change::Hold { task, worker, until, unless_held } => {
            committed.lease = Some(queue::give(db, owner, *task, worker, *until, *unless_held)?);
            Ok(())
        }
        Change::Dequeue { task } => queue::dequeue(db, owner, *task),
        Change::PutRequest(request) => documents::put_request(db, owner, request),
        Change::PutPlan(plan) => documents::put_plan(db, owner, plan),
        Change::PutCheckpoint(checkpoint) => documents::put_checkpoint(db, owner, checkpoint),
        Change::PutSession(session) => documents::put_session(db, owner, session),
        Change::PutArtifact(artifact) => documents::put_artifact(db, owner, artifact),
        Change::Decide(decided) => approvals::decide(db, owner, decided),
        Change::AddModelUsage(usage) => model_usage::add(db, owner, usage),
        Change::PutSaved { item, replaces } => saved::put(db, owner, item, *replaces),
        Change::DeleteSaved { kind, id } => saved::delete(db, owner, *kind, *id),
        Change::TakeTick(tick) => saved::put_tick(db, owner, tick),
        Change::SettleTick { schedule, due_at, at } => saved::settle(db, owner, *schedule, *due_at, *at),
        Change::ErasePayload { id, at } => journal::erase(db, Some(owner.as_str()), *id, *at),
    }
}

/// An upsert that changed no row: the row exists and belongs to another user.
pub(super) fn touched(rows: usize) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(Error::OtherOwner) }
}
