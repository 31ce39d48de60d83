//! Maps a Slack thread to a conversation.
//!
//! Invariants
//! - The id is derived from workspace, channel, thread and user, so no mapping is stored. After a
//!   restart the same thread leads to the same conversation. Each user has their own conversation,
//!   because users cannot read those of others.
//! - The timestamps of the last messages are stored with the conversation, so that a message is not
//!   processed twice, even after a restart.

use super::error::Error;
use super::event::ChannelThread;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use steward_domain::{
    Check as _, Conversation, ConversationId, ConversationStatus, DomainName, JsonObject, UserId, Valid,
};
use steward_runtime::ask::AppContext;
use steward_store::{Change, Commit, Scope};

/// The number of stored message timestamps.
const MARKS: usize = 50;
/// How often a thread may start a new conversation after the last one was archived or deleted.
const GENERATIONS: u32 = 100;

/// The conversation id of a user in a thread. Each generation follows a conversation that was
/// archived or deleted.
pub(super) fn id(place: &ChannelThread, user: &UserId, generation: u32) -> ConversationId {
    let ChannelThread { team, channel, thread } = place;
    let parts = json!(["steward slack conversation", team, channel, thread, user, generation]);
    let hash = Sha256::digest(parts.to_string());
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(hash.iter()) {
        *to = *from;
    }
    ConversationId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

/// The active conversation of this thread, if there is one.
pub(super) async fn current(
    app: &AppContext,
    place: &ChannelThread,
    user: &UserId,
) -> Result<Option<Valid<Conversation>>, Error> {
    Ok(find(app, place, user).await?.1)
}

async fn find(
    app: &AppContext,
    place: &ChannelThread,
    user: &UserId,
) -> Result<(u32, Option<Valid<Conversation>>), Error> {
    let scope = Scope::User(user.clone());
    for generation in 0..GENERATIONS {
        match app.store.conversation(&scope, id(place, user, generation)).await? {
            None => return Ok((generation, None)),
            Some(found) if found.status == ConversationStatus::Active => {
                return Ok((generation, Some(found)));
            }
            Some(_) => {}
        }
    }
    Ok((GENERATIONS, None))
}

/// The active conversation, created if needed. `None` if this message was processed before. The
/// caller must hold the turn of the thread.
pub(super) async fn take(
    app: &AppContext,
    place: &ChannelThread,
    user: &UserId,
    ts: &str,
) -> Result<Option<ConversationId>, Error> {
    let now = app.clock.now();
    let (generation, found) = find(app, place, user).await?;
    let conversation = match found {
        Some(known) => {
            let mut marks = marks(&known.metadata);
            if marks.iter().any(|mark| mark == ts) {
                return Ok(None);
            }
            marks.push(ts.to_owned());
            marks.drain(..marks.len().saturating_sub(MARKS));
            known.with(|conversation| conversation.metadata = metadata(place, &marks))?
        }
        None => Conversation {
            id: id(place, user, generation),
            user_id: user.clone(),
            application_domain: DomainName::new("generic")?,
            created_at: now,
            updated_at: now,
            status: ConversationStatus::Active,
            metadata: metadata(place, &[ts.to_owned()]),
        }
        .validate()?,
    };
    let id = conversation.id;
    let commit = Commit::new(user.clone(), id).change(Change::PutConversation(conversation));
    app.store.commit(&Scope::User(user.clone()), commit).await?;
    Ok(Some(id))
}

fn metadata(place: &ChannelThread, marks: &[String]) -> JsonObject {
    let mut metadata = JsonObject::new();
    metadata.insert("slack".to_owned(), json!({ "place": place, "marks": marks }));
    metadata
}

fn marks(metadata: &JsonObject) -> Vec<String> {
    let marks = metadata.get("slack").and_then(|slack| slack.get("marks")).and_then(Json::as_array);
    marks.into_iter().flatten().filter_map(|mark| mark.as_str().map(str::to_owned)).collect()
}
