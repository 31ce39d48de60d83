//! Conversations, messages and entities.

use super::changes::touched;
use super::connection::Tx;
use crate::change::{Mention, NewMessage};
use crate::error::{Error, Result};
use crate::query::{ConversationFilter, EntitySearch, Page};
use crate::rules::{open_for_messages, placed};
use crate::words::{folded, from_word, int, uint, word};
use chrono::{DateTime, Utc};
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use steward_domain::{
    Check, Content, Conversation, ConversationEntity, ConversationId, ConversationStatus, DomainName,
    EntityId, EntityName, EntityRef, EntityType, Label, Message, MessageId, Sequence, Timestamp, UserId,
    Valid,
};

/// A time column.
pub(super) fn time(row: &PgRow, column: usize) -> Result<Timestamp> {
    Ok(row.try_get::<DateTime<Utc>, _>(column)?.into())
}

/// A JSON column.
pub(super) fn structure<T: serde::de::DeserializeOwned>(row: &PgRow, column: usize) -> Result<T> {
    let Json(value) = row.try_get::<Json<T>, _>(column)?;
    Ok(value)
}

fn row_conversation(row: &PgRow) -> Result<Valid<Conversation>> {
    let conversation = Conversation {
        id: ConversationId(row.try_get(0)?),
        user_id: UserId::new(row.try_get::<String, _>(1)?)?,
        application_domain: DomainName::new(row.try_get::<String, _>(2)?)?,
        created_at: time(row, 3)?,
        updated_at: time(row, 4)?,
        status: from_word(row.try_get(5)?)?,
        metadata: structure(row, 6)?,
    };
    Ok(conversation.validate()?)
}

pub(super) async fn put(tx: &mut Tx, owner: &UserId, conversation: &Valid<Conversation>) -> Result<()> {
    if conversation.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    let done = sqlx::query(
        "INSERT INTO conversation (id, user_id, application_domain, created_at, updated_at, status, metadata)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (id) DO UPDATE SET application_domain = excluded.application_domain, updated_at = \
         excluded.updated_at,
             metadata = excluded.metadata
         WHERE conversation.user_id = excluded.user_id AND conversation.status = excluded.status",
    )
    .bind(conversation.id.0)
    .bind(owner.as_str())
    .bind(conversation.application_domain.as_str())
    .bind(conversation.created_at.to_chrono())
    .bind(conversation.updated_at.to_chrono())
    .bind(word(&conversation.status)?)
    .bind(Json(&conversation.metadata))
    .execute(&mut **tx)
    .await?;
    touched(done.rows_affected())
}

pub(super) async fn set_status(
    tx: &mut Tx,
    owner: &UserId,
    id: ConversationId,
    status: ConversationStatus,
    at: Timestamp,
) -> Result<()> {
    // Locked, so that the second of two concurrent changes sees the result of the first.
    sqlx::query("SELECT FROM conversation WHERE id = $1 FOR UPDATE").bind(id.0).execute(&mut **tx).await?;
    let known = one(tx, id).await?.filter(|known| known.user_id == *owner);
    let changed = known
        .ok_or(Error::NotFound { what: "conversation", id: id.to_string() })?
        .become_status(status, at)?;
    sqlx::query(
        "UPDATE conversation SET status = $2, updated_at = $3, metadata = CASE WHEN $2 = 'deleted' THEN '{}' \
            ELSE metadata END WHERE id = $1",
    )
    .bind(id.0)
    .bind(word(&status)?)
    .bind(changed.updated_at.to_chrono())
    .execute(&mut **tx)
    .await?;
    if status == ConversationStatus::Deleted {
        empty(tx, id, at).await?;
    }
    Ok(())
}

/// Deletes the contents of a conversation: messages, entities, and the payloads of its chain.
pub(super) async fn empty(tx: &mut Tx, id: ConversationId, at: Timestamp) -> Result<()> {
    sqlx::query("DELETE FROM conversation_message WHERE conversation_id = $1")
        .bind(id.0)
        .execute(&mut **tx)
        .await?;
    sqlx::query("DELETE FROM conversation_entity WHERE conversation_id = $1")
        .bind(id.0)
        .execute(&mut **tx)
        .await?;
    super::journal::erase_chain(tx, id.0, at).await?;
    Ok(())
}

pub(super) async fn one(tx: &mut Tx, id: ConversationId) -> Result<Option<Valid<Conversation>>> {
    let row = sqlx::query(
        "SELECT id, user_id, application_domain, created_at, updated_at, status, metadata \
        FROM conversation WHERE id = $1",
    )
    .bind(id.0)
    .fetch_optional(&mut **tx)
    .await?;
    row.map(|row| row_conversation(&row)).transpose()
}

pub(super) async fn list(
    tx: &mut Tx,
    filter: &ConversationFilter,
    page: Page,
) -> Result<Vec<Valid<Conversation>>> {
    sqlx::query(
        "SELECT id, user_id, application_domain, created_at, updated_at, status, metadata FROM conversation
         WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR application_domain = $2)
         ORDER BY created_at DESC, id LIMIT $3 OFFSET $4",
    )
    .bind(filter.status.as_ref().map(word).transpose()?)
    .bind(filter.application_domain.as_ref().map(|domain| domain.as_str()))
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_conversation)
    .collect()
}

pub(super) async fn append_message(
    tx: &mut Tx,
    owner: &UserId,
    message: NewMessage,
) -> Result<(MessageId, u64)> {
    // The lock orders concurrent appends; conversations that the user may not see are not found.
    let status: Option<String> =
        sqlx::query_scalar("SELECT status FROM conversation WHERE id = $1 AND user_id = $2 FOR UPDATE")
            .bind(message.conversation_id.0)
            .bind(owner.as_str())
            .fetch_optional(&mut **tx)
            .await?;
    open_for_messages(status.as_deref(), message.conversation_id)?;
    let last: i64 = sqlx::query_scalar(
        "SELECT coalesce(max(sequence_number), 0) FROM conversation_message WHERE conversation_id = $1",
    )
    .bind(message.conversation_id.0)
    .fetch_one(&mut **tx)
    .await?;
    let message = placed(message, uint(last)? + 1)?;
    sqlx::query(
        "INSERT INTO conversation_message (conversation_id, sequence_number, id, user_id, role, content, \
            timestamp, agent_type, tool_calls, metadata)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(message.conversation_id.0)
    .bind(int(message.sequence_number.get()))
    .bind(message.id.0)
    .bind(owner.as_str())
    .bind(word(&message.role)?)
    .bind(message.content.as_str())
    .bind(message.timestamp.to_chrono())
    .bind(message.agent_type.as_ref().map(|agent| agent.as_str()))
    .bind(Json(&message.tool_calls))
    .bind(Json(&message.metadata))
    .execute(&mut **tx)
    .await?;
    sqlx::query("UPDATE conversation SET updated_at = greatest(updated_at, $2) WHERE id = $1")
        .bind(message.conversation_id.0)
        .bind(message.timestamp.to_chrono())
        .execute(&mut **tx)
        .await?;
    Ok((message.id, message.sequence_number.get()))
}

fn row_message(row: &PgRow) -> Result<Valid<Message>> {
    let message = Message {
        id: MessageId(row.try_get(0)?),
        conversation_id: ConversationId(row.try_get(1)?),
        role: from_word(row.try_get(2)?)?,
        content: Content::new(row.try_get::<String, _>(3)?)?,
        sequence_number: Sequence::new(uint(row.try_get(4)?)?)?,
        timestamp: time(row, 5)?,
        agent_type: row.try_get::<Option<String>, _>(6)?.map(Label::new).transpose()?,
        tool_calls: structure(row, 7)?,
        metadata: structure(row, 8)?,
    };
    Ok(message.validate()?)
}

pub(super) async fn window(tx: &mut Tx, id: ConversationId, size: u32) -> Result<Vec<Valid<Message>>> {
    let rows = sqlx::query(
        "SELECT id, conversation_id, role, content, sequence_number, timestamp, agent_type, tool_calls, metadata
         FROM conversation_message WHERE conversation_id = $1 ORDER BY sequence_number DESC LIMIT $2",
    )
    .bind(id.0)
    .bind(i64::from(size))
    .fetch_all(&mut **tx)
    .await?;
    rows.iter().rev().map(row_message).collect()
}

pub(super) async fn history(tx: &mut Tx, id: ConversationId, page: Page) -> Result<Vec<Valid<Message>>> {
    sqlx::query(
        "SELECT id, conversation_id, role, content, sequence_number, timestamp, agent_type, tool_calls, metadata
         FROM conversation_message WHERE conversation_id = $1 ORDER BY sequence_number LIMIT $2 OFFSET $3",
    )
    .bind(id.0)
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_message)
    .collect()
}

pub(super) async fn mention(tx: &mut Tx, owner: &UserId, mention: &Mention) -> Result<()> {
    let name = mention.entity_name.as_ref().map(|name| name.as_str());
    let done = sqlx::query(
        "INSERT INTO conversation_entity (id, conversation_id, user_id, entity_type, entity_id, entity_name, \
            name_folded,
             first_mentioned_at, last_mentioned_at, mention_count, metadata)
         SELECT $1, id, user_id, $3, $4, $5, $6, $7, $7, 1, $8 FROM conversation WHERE id = $2 AND user_id = \
         $9 AND status = 'active' FOR SHARE
         ON CONFLICT (conversation_id, entity_type, entity_id) DO UPDATE SET
             entity_name = coalesce(excluded.entity_name, conversation_entity.entity_name),
             name_folded = CASE WHEN excluded.entity_name IS NULL THEN conversation_entity.name_folded ELSE \
             excluded.name_folded END,
             last_mentioned_at = greatest(conversation_entity.last_mentioned_at, excluded.last_mentioned_at),
             mention_count = conversation_entity.mention_count + 1,
             metadata = CASE WHEN excluded.metadata = '{}' THEN conversation_entity.metadata ELSE \
             excluded.metadata END",
    )
    .bind(mention.id.0)
    .bind(mention.conversation_id.0)
    .bind(mention.entity_type.as_str())
    .bind(mention.entity_id.as_str())
    .bind(name)
    .bind(folded(name.unwrap_or_default()))
    .bind(mention.at.to_chrono())
    .bind(Json(&mention.metadata))
    .bind(owner.as_str())
    .execute(&mut **tx)
    .await?;
    let found = done.rows_affected() == 1;
    if found {
        Ok(())
    } else {
        Err(Error::NotFound { what: "active conversation", id: mention.conversation_id.to_string() })
    }
}

fn row_entity(row: &PgRow) -> Result<Valid<ConversationEntity>> {
    let entity = ConversationEntity {
        id: EntityRef(row.try_get(0)?),
        conversation_id: ConversationId(row.try_get(1)?),
        entity_type: EntityType::new(row.try_get::<String, _>(2)?)?,
        entity_id: EntityId::new(row.try_get::<String, _>(3)?)?,
        entity_name: row.try_get::<Option<String>, _>(4)?.map(EntityName::new).transpose()?,
        first_mentioned_at: time(row, 5)?,
        last_mentioned_at: time(row, 6)?,
        mention_count: u32::try_from(row.try_get::<i64, _>(7)?).unwrap_or(u32::MAX),
        metadata: structure(row, 8)?,
    };
    Ok(entity.validate()?)
}

pub(super) async fn entities(
    tx: &mut Tx,
    id: ConversationId,
    search: &EntitySearch,
    limit: u32,
) -> Result<Vec<Valid<ConversationEntity>>> {
    macro_rules! select {
        ($condition:literal, $order:literal) => {
            concat!(
                "SELECT id, conversation_id, entity_type, entity_id, entity_name, first_mentioned_at, \
                    last_mentioned_at, mention_count, metadata
                 FROM conversation_entity WHERE conversation_id = $1 AND ",
                $condition,
                " ORDER BY ",
                $order,
                ", id LIMIT $3"
            )
        };
    }
    let (sql, term) = match search {
        EntitySearch::Recent => (select!("$2 = ''", "last_mentioned_at DESC"), String::new()),
        EntitySearch::OfType(kind) => {
            (select!("entity_type = $2", "last_mentioned_at DESC"), kind.to_string())
        }
        EntitySearch::Named(part) => (
            select!("strpos(name_folded, $2) > 0", "mention_count DESC, last_mentioned_at DESC"),
            folded(part),
        ),
    };
    sqlx::query(sql)
        .bind(id.0)
        .bind(term)
        .bind(i64::from(limit))
        .fetch_all(&mut **tx)
        .await?
        .iter()
        .map(row_entity)
        .collect()
}
