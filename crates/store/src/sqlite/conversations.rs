//! Conversations, messages and entities.

use super::changes::touched;
use super::journal::user;
use crate::change::{Mention, NewMessage};
use crate::error::{Error, Result};
use crate::query::{ConversationFilter, EntitySearch, Page, Scope};
use crate::rules::{open_for_messages, placed};
use crate::words::{folded, from_json, from_word, int, json, uint, word};
use rusqlite::{Connection, OptionalExtension, Row, params};
use steward_domain::{
    Check, Content, Conversation, ConversationEntity, ConversationId, ConversationStatus, DomainName,
    EntityId, EntityName, EntityRef, EntityType, Label, Message, MessageId, Sequence, Timestamp, UserId,
    Valid,
};

const CONVERSATION: &str = "id, user_id, application_domain, created_at, updated_at, status, metadata";

fn row_conversation(row: &Row<'_>) -> Result<Valid<Conversation>> {
    let conversation = Conversation {
        id: ConversationId(row.get(0)?),
        user_id: UserId::new(row.get::<_, String>(1)?)?,
        application_domain: DomainName::new(row.get::<_, String>(2)?)?,
        created_at: Timestamp::from_micros(row.get(3)?),
        updated_at: Timestamp::from_micros(row.get(4)?),
        status: from_word(row.get(5)?)?,
        metadata: from_json(&row.get::<_, String>(6)?)?,
    };
    Ok(conversation.validate()?)
}

pub(super) fn put(db: &Connection, owner: &UserId, conversation: &Valid<Conversation>) -> Result<()> {
    if conversation.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    let rows = db
        .prepare_cached(
            "INSERT INTO conversation (id, user_id, application_domain, created_at, updated_at, status, metadata)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (id) DO UPDATE SET application_domain = excluded.application_domain, updated_at = \
             excluded.updated_at,
                 metadata = excluded.metadata
             WHERE conversation.user_id = excluded.user_id AND conversation.status = excluded.status",
        )?
        .execute(params![
            conversation.id.0,
            owner.as_str(),
            conversation.application_domain.as_str(),
            conversation.created_at.micros(),
            conversation.updated_at.micros(),
            word(&conversation.status)?,
            json(&conversation.metadata)?,
        ])?;
    touched(rows)
}

pub(super) fn set_status(
    db: &Connection,
    owner: &UserId,
    id: ConversationId,
    status: ConversationStatus,
    at: Timestamp,
) -> Result<()> {
    let known = one(db, &Scope::User(owner.clone()), id)?
        .ok_or(Error::NotFound { what: "conversation", id: id.to_string() })?;
    let changed = known.become_status(status, at)?;
    db.prepare_cached(
        "UPDATE conversation SET status = ?2, updated_at = ?3, metadata = CASE WHEN ?2 = \
        'deleted' THEN '{}' ELSE metadata END WHERE id = ?1",
    )?
    .execute(params![id.0, word(&status)?, changed.updated_at.micros()])?;
    if status == ConversationStatus::Deleted {
        empty(db, id, at)?;
    }
    Ok(())
}

/// Deletes the contents of a conversation: messages, entities, and the payloads of its chain.
pub(super) fn empty(db: &Connection, id: ConversationId, at: Timestamp) -> Result<()> {
    db.prepare_cached("DELETE FROM conversation_message WHERE conversation_id = ?1")?.execute([id.0])?;
    db.prepare_cached("DELETE FROM conversation_entity WHERE conversation_id = ?1")?.execute([id.0])?;
    super::journal::erase_chain(db, id.0, at)?;
    Ok(())
}

pub(super) fn one(db: &Connection, scope: &Scope, id: ConversationId) -> Result<Option<Valid<Conversation>>> {
    db.prepare_cached(&format!(
        "SELECT {CONVERSATION} FROM conversation WHERE id = ?1 AND (?2 IS NULL OR user_id = ?2)"
    ))?
    .query_row(params![id.0, user(scope)], |row| Ok(row_conversation(row)))
    .optional()?
    .transpose()
}

pub(super) fn list(
    db: &Connection,
    scope: &Scope,
    filter: &ConversationFilter,
    page: Page,
) -> Result<Vec<Valid<Conversation>>> {
    // Two statements instead of one with a condition inside: the user's query must be able to use
    // the index on the user.
    let whose = if scope.user().is_some() { "user_id = ?1" } else { "?1 IS NULL" };
    db.prepare_cached(&format!(
        "SELECT {CONVERSATION} FROM conversation WHERE {whose} AND (?2 IS NULL OR status = ?2) AND (?3 IS \
            NULL OR application_domain = ?3)
         ORDER BY created_at DESC, id LIMIT ?4 OFFSET ?5"
    ))?
    .query_map(
        params![
            user(scope),
            filter.status.as_ref().map(word).transpose()?,
            filter.application_domain.as_ref().map(|domain| domain.as_str()),
            page.limit,
            page.offset,
        ],
        |row| Ok(row_conversation(row)),
    )?
    .map(|conversation| conversation?)
    .collect()
}

pub(super) fn append_message(
    db: &Connection,
    owner: &UserId,
    message: NewMessage,
) -> Result<(MessageId, u64)> {
    let status: Option<String> = db
        .prepare_cached("SELECT status FROM conversation WHERE id = ?1 AND user_id = ?2")?
        .query_row(params![message.conversation_id.0, owner.as_str()], |row| row.get(0))
        .optional()?;
    open_for_messages(status.as_deref(), message.conversation_id)?;
    let last: i64 = db
        .prepare_cached(
            "SELECT coalesce(max(sequence_number), 0) FROM conversation_message WHERE conversation_id = ?1",
        )?
        .query_row([message.conversation_id.0], |row| row.get(0))?;
    let message = placed(message, uint(last)? + 1)?;
    db.prepare_cached(
        "INSERT INTO conversation_message (conversation_id, sequence_number, id, user_id, role, content, \
            timestamp, agent_type, tool_calls, metadata)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        message.conversation_id.0,
        int(message.sequence_number.get()),
        message.id.0,
        owner.as_str(),
        word(&message.role)?,
        message.content.as_str(),
        message.timestamp.micros(),
        message.agent_type.as_ref().map(|agent| agent.as_str()),
        json(&message.tool_calls)?,
        json(&message.metadata)?,
    ])?;
    db.prepare_cached("UPDATE conversation SET updated_at = max(updated_at, ?2) WHERE id = ?1")?
        .execute(params![message.conversation_id.0, message.timestamp.micros()])?;
    Ok((message.id, message.sequence_number.get()))
}

const MESSAGE: &str =
    "id, conversation_id, role, content, sequence_number, timestamp, agent_type, tool_calls, metadata";

fn row_message(row: &Row<'_>) -> Result<Valid<Message>> {
    let message = Message {
        id: MessageId(row.get(0)?),
        conversation_id: ConversationId(row.get(1)?),
        role: from_word(row.get(2)?)?,
        content: Content::new(row.get::<_, String>(3)?)?,
        sequence_number: Sequence::new(uint(row.get(4)?)?)?,
        timestamp: Timestamp::from_micros(row.get(5)?),
        agent_type: row.get::<_, Option<String>>(6)?.map(Label::new).transpose()?,
        tool_calls: from_json(&row.get::<_, String>(7)?)?,
        metadata: from_json(&row.get::<_, String>(8)?)?,
    };
    Ok(message.validate()?)
}

pub(super) fn window(
    db: &Connection,
    scope: &Scope,
    id: ConversationId,
    size: u32,
) -> Result<Vec<Valid<Message>>> {
    let mut messages: Vec<Valid<Message>> = db
        .prepare_cached(&format!(
            "SELECT {MESSAGE} FROM conversation_message WHERE conversation_id = ?1 AND (?2 IS NULL OR user_id = ?2)
             ORDER BY sequence_number DESC LIMIT ?3"
        ))?
        .query_map(params![id.0, user(scope), size], |row| Ok(row_message(row)))?
        .map(|message| message?)
        .collect::<Result<_>>()?;
    messages.reverse();
    Ok(messages)
}

pub(super) fn history(
    db: &Connection,
    scope: &Scope,
    id: ConversationId,
    page: Page,
) -> Result<Vec<Valid<Message>>> {
    db.prepare_cached(&format!(
        "SELECT {MESSAGE} FROM conversation_message WHERE conversation_id = ?1 AND (?2 IS NULL OR user_id = ?2)
         ORDER BY sequence_number LIMIT ?3 OFFSET ?4"
    ))?
    .query_map(params![id.0, user(scope), page.limit, page.offset], |row| Ok(row_message(row)))?
    .map(|message| message?)
    .collect()
}

pub(super) fn mention(db: &Connection, owner: &UserId, mention: &Mention) -> Result<()> {
    let name = mention.entity_name.as_ref().map(|name| name.as_str());
    let rows = db
        .prepare_cached(
            "INSERT INTO conversation_entity (id, conversation_id, user_id, entity_type, entity_id, \
                entity_name, name_folded,
                 first_mentioned_at, last_mentioned_at, mention_count, metadata)
             SELECT ?1, id, user_id, ?3, ?4, ?5, ?6, ?7, ?7, 1, ?8 FROM conversation WHERE id = ?2 AND \
             user_id = ?9 AND status = 'active'
             ON CONFLICT (conversation_id, entity_type, entity_id) DO UPDATE SET
                 entity_name = coalesce(excluded.entity_name, entity_name),
                 name_folded = CASE WHEN excluded.entity_name IS NULL THEN name_folded ELSE \
                 excluded.name_folded END,
                 last_mentioned_at = max(last_mentioned_at, excluded.last_mentioned_at),
                 mention_count = mention_count + 1,
                 metadata = CASE WHEN excluded.metadata = '{}' THEN metadata ELSE excluded.metadata END",
        )?
        .execute(params![
            mention.id.0,
            mention.conversation_id.0,
            mention.entity_type.as_str(),
            mention.entity_id.as_str(),
            name,
            folded(name.unwrap_or_default()),
            mention.at.micros(),
            json(&mention.metadata)?,
            owner.as_str(),
        ])?;
    if rows == 1 {
        Ok(())
    } else {
        Err(Error::NotFound { what: "active conversation", id: mention.conversation_id.to_string() })
    }
}

fn row_entity(row: &Row<'_>) -> Result<Valid<ConversationEntity>> {
    let entity = ConversationEntity {
        id: EntityRef(row.get(0)?),
        conversation_id: ConversationId(row.get(1)?),
        entity_type: EntityType::new(row.get::<_, String>(2)?)?,
        entity_id: EntityId::new(row.get::<_, String>(3)?)?,
        entity_name: row.get::<_, Option<String>>(4)?.map(EntityName::new).transpose()?,
        first_mentioned_at: Timestamp::from_micros(row.get(5)?),
        last_mentioned_at: Timestamp::from_micros(row.get(6)?),
        mention_count: row.get(7)?,
        metadata: from_json(&row.get::<_, String>(8)?)?,
    };
    Ok(entity.validate()?)
}

pub(super) fn entities(
    db: &Connection,
    scope: &Scope,
    id: ConversationId,
    search: &EntitySearch,
    limit: u32,
) -> Result<Vec<Valid<ConversationEntity>>> {
    let (condition, order, term) = match search {
        EntitySearch::Recent => ("?3 = ''", "last_mentioned_at DESC", String::new()),
        EntitySearch::OfType(kind) => ("entity_type = ?3", "last_mentioned_at DESC", kind.to_string()),
        EntitySearch::Named(part) => {
            ("instr(name_folded, ?3) > 0", "mention_count DESC, last_mentioned_at DESC", folded(part))
        }
    };
    db.prepare_cached(&format!(
        "SELECT id, conversation_id, entity_type, entity_id, entity_name, first_mentioned_at, \
            last_mentioned_at, mention_count, metadata
         FROM conversation_entity WHERE conversation_id = ?1 AND (?2 IS NULL OR user_id = ?2) AND {condition}
         ORDER BY {order}, id LIMIT ?4"
    ))?
    .query_map(params![id.0, user(scope), term, limit], |row| Ok(row_entity(row)))?
    .map(|entity| entity?)
    .collect()
}
