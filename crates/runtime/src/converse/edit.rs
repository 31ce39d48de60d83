//! Changes of a conversation that keep its messages: its title, and its reactivation.
//!
//! Invariant: the journal records each change and its author. A title is personal data, so it is in
//! the row only, and is removed when the conversation is deleted.

use super::ending::ConversationEndedBy;
use crate::error::Result;
use crate::journal_writer::JournalWriter;
use serde_json::{Map, Value, json};
use steward_domain::{Conversation, ConversationId, ConversationStatus, EventType, Label, Valid};
use steward_journal::Draft;
use steward_store::{Change, Commit, Error, Scope, Store};

/// The member of a conversation's metadata that holds its title.
const TITLE: &str = "title";

/// The longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 200;

/// The title that the user gave to a conversation.
#[must_use]
pub fn title_of(conversation: &Conversation) -> Option<&str> {
    conversation.metadata.get(TITLE).and_then(Value::as_str)
}

async fn found(store: &dyn Store, scope: &Scope, id: ConversationId) -> Result<Valid<Conversation>> {
    let found = store.conversation(scope, id).await?;
    let there = found.filter(|found| found.status != ConversationStatus::Deleted);
    Ok(there.ok_or_else(|| Error::NotFound { what: "conversation", id: id.to_string() })?)
}

async fn write(
    store: &dyn Store,
    known: &Conversation,
    change: Change,
    mut data: Map<String, Value>,
    by: ConversationEndedBy<'_>,
) -> Result<()> {
    data.insert("by".into(), json!(by.user));
    let entry = Draft::new(EventType::ConversationChanged, Label::new(by.door)?, data);
    let commit = Commit::new(known.user_id.clone(), known.id).entry(entry).change(change);
    JournalWriter::write_once(store, &Scope::User(known.user_id.clone()), commit).await?;
    Ok(())
}

/// Makes an archived conversation active again.
pub async fn restore(
    store: &dyn Store,
    scope: &Scope,
    id: ConversationId,
    by: ConversationEndedBy<'_>,
) -> Result<()> {
    let known = found(store, scope, id).await?;
    if known.status == ConversationStatus::Active {
        return Ok(());
    }
    let change = Change::SetConversationStatus { id, status: ConversationStatus::Active, at: by.at };
    let data = Map::from_iter([("status".to_owned(), json!("active"))]);
    write(store, &known, change, data, by).await
}

/// Sets the title of a conversation; an empty one removes it.
pub async fn rename(
    store: &dyn Store,
    scope: &Scope,
    id: ConversationId,
    title: &str,
    by: ConversationEndedBy<'_>,
) -> Result<()> {
    let known = found(store, scope, id).await?;
    let title: String = title.trim().chars().take(MAX_TITLE_CHARS).collect();
    let renamed = known.clone().with(|one| {
        if title.is_empty() {
            one.metadata.remove(TITLE);
        } else {
            one.metadata.insert(TITLE.to_owned(), title.into());
        }
    })?;
    let data = Map::from_iter([("renamed".to_owned(), json!(true))]);
    write(store, &known, Change::PutConversation(renamed), data, by).await
}
