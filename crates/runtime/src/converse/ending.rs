//! Archives conversations, or deletes them with all of their content.
//!
//! Invariant: a deletion is journalled, and the content in the journal is erased; its former
//! existence stays provable. Tasks keep their rows until the retention policy removes them.

use crate::ask::placed;
use crate::error::Result;
use crate::journal_writer::JournalWriter;
use serde_json::{Map, json};
use std::path::Path;
use steward_domain::{ConversationId, ConversationStatus, EventType, Label, TaskId, Timestamp, UserId};
use steward_journal::Draft;
use steward_store::{Change, Commit, Error, Page, Scope, Store};

/// How a conversation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It can be read and takes no more messages.
    Archived,
    /// Its messages, entities and answers are permanently deleted.
    Deleted,
}

impl Ending {
    /// The name for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Deleted => "deleted",
        }
    }
}

/// The page size for reading messages.
const MESSAGES: u32 = 500;

/// Who ends it, when, and on which surface.
#[derive(Debug, Clone, Copy)]
pub struct ConversationEndedBy<'a> {
    /// The user.
    pub user: &'a UserId,
    /// The surface of the request, as the journal names it.
    pub door: &'a str,
    /// The time.
    pub at: Timestamp,
}

/// Ends a conversation in `scope`. `artifacts` is the folder of the answers.
pub async fn end(
    store: &dyn Store,
    artifacts: &Path,
    scope: &Scope,
    id: ConversationId,
    ending: Ending,
    by: ConversationEndedBy<'_>,
) -> Result<()> {
    let missing = || Error::NotFound { what: "conversation", id: id.to_string() };
    let found = store.conversation(scope, id).await?.ok_or_else(missing)?;
    if found.status == ConversationStatus::Deleted {
        return Err(missing().into());
    }
    let own = Scope::User(found.user_id.clone());
    let tasks = if ending == Ending::Deleted { tasks(store, &own, id).await? } else { Vec::new() };
    let status = match ending {
        Ending::Archived => ConversationStatus::Archived,
        Ending::Deleted => ConversationStatus::Deleted,
    };
    let data = json!({ "status": ending.name(), "by": by.user });
    let entry = Draft::new(EventType::ConversationChanged, Label::new(by.door)?, object(data));
    let commit = Commit::new(found.user_id.clone(), id).entry(entry);
    let at = by.at;
    let commit = commit.change(Change::SetConversationStatus { id, status, at });
    JournalWriter::write_once(store, &own, commit).await?;
    // Deletes the files of the answers, and erases their content in the journal.
    for task in tasks {
        for kept in store.artifacts(&own, task).await? {
            let _may_be_deleted_already = tokio::fs::remove_file(placed(artifacts, &kept.content_ref)).await;
        }
        erase(store, &own, &found.user_id, task, by).await?;
    }
    Ok(())
}

/// The tasks of its messages.
async fn tasks(store: &dyn Store, own: &Scope, id: ConversationId) -> Result<Vec<TaskId>> {
    let mut tasks: Vec<TaskId> = Vec::new();
    let mut page = Page::first(MESSAGES);
    loop {
        let messages = store.history(own, id, page).await?;
        let of = messages.iter().filter_map(|message| message.metadata.get("request_id").cloned());
        tasks.extend(of.filter_map(|task| serde_json::from_value::<TaskId>(task).ok()));
        if messages.len() < MESSAGES as usize {
            tasks.dedup();
            return Ok(tasks);
        }
        page.offset += MESSAGES;
    }
}

async fn erase(
    store: &dyn Store,
    own: &Scope,
    user: &UserId,
    task: TaskId,
    by: ConversationEndedBy<'_>,
) -> Result<()> {
    let kept = store.payloads(own, task.into()).await?;
    let kept: Vec<_> = kept.into_iter().filter(|one| one.erased_at.is_none()).collect();
    // The events of the task hold message text, too.
    let rows = store.checkpoints(own, task).await?;
    if kept.is_empty() && rows.is_empty() {
        return Ok(());
    }
    let data = json!({ "erased": kept.iter().map(|one| one.id.to_string()).collect::<Vec<_>>(), "why": "its \
        conversation was deleted" });
    let entry = Draft::new(EventType::PayloadErased, Label::new(by.door)?, object(data));
    let (commit, at) = (Commit::new(user.clone(), task).entry(entry), by.at);
    let mut commit =
        kept.into_iter().fold(commit, |commit, one| commit.change(Change::ErasePayload { id: one.id, at }));
    for row in rows {
        let emptied = row.with(|row| row.state.metadata.clear())?;
        commit = commit.change(Change::PutCheckpoint(emptied));
    }
    JournalWriter::write_once(store, own, commit).await?;
    Ok(())
}

fn object(value: serde_json::Value) -> Map<String, serde_json::Value> {
    if let serde_json::Value::Object(map) = value { map } else { Map::new() }
}
