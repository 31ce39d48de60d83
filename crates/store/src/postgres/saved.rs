//! Saved items, and the ticks of schedules.

use super::connection::Tx;
use crate::error::{Error, Result};
use crate::query::Page;
use crate::rules::changed_meanwhile as changed;
use crate::words::{from_json, json};
use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use steward_domain::{SavedItem, SavedKind, ScheduleId, ScheduleTick, TaskId, Timestamp, UserId, Valid};
use uuid::Uuid;

pub(super) async fn put(
    tx: &mut Tx,
    owner: &UserId,
    item: &Valid<SavedItem>,
    replaces: Option<Timestamp>,
) -> Result<()> {
    if item.user_id() != owner {
        return Err(Error::OtherOwner);
    }
    let rows = match replaces {
        None => {
            sqlx::query(
                "INSERT INTO saved_item (kind, id, user_id, shared, due_at, created_at, updated_at, body)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                 ON CONFLICT (kind, id) DO UPDATE SET shared = excluded.shared, due_at = excluded.due_at,
                     updated_at = excluded.updated_at, body = excluded.body
                 WHERE saved_item.user_id = excluded.user_id",
            )
            .bind(item.kind().name())
            .bind(item.id())
            .bind(owner.as_str())
            .bind(item.is_shared())
            .bind(item.due_at().map(Timestamp::to_chrono))
            .bind(item.created_at().to_chrono())
            .bind(item.updated_at().to_chrono())
            .bind(json(item)?)
            .execute(&mut **tx)
            .await?
        }
        Some(seen) => {
            sqlx::query(
                "UPDATE saved_item SET shared = $4, due_at = $5, updated_at = $6, body = $7
                 WHERE kind = $1 AND id = $2 AND user_id = $3 AND updated_at = $8",
            )
            .bind(item.kind().name())
            .bind(item.id())
            .bind(owner.as_str())
            .bind(item.is_shared())
            .bind(item.due_at().map(Timestamp::to_chrono))
            .bind(item.updated_at().to_chrono())
            .bind(json(item)?)
            .bind(seen.to_chrono())
            .execute(&mut **tx)
            .await?
        }
    };
    match (rows.rows_affected(), replaces) {
        (1, _) => Ok(()),
        (_, None) => Err(Error::OtherOwner),
        (_, Some(_)) => Err(changed(item.kind(), item.id())),
    }
}

pub(super) async fn delete(tx: &mut Tx, owner: &UserId, kind: SavedKind, id: Uuid) -> Result<()> {
    let done = sqlx::query("DELETE FROM saved_item WHERE kind = $1 AND id = $2 AND user_id = $3")
        .bind(kind.name())
        .bind(id)
        .bind(owner.as_str())
        .execute(&mut **tx)
        .await?;
    if done.rows_affected() == 1 {
        Ok(())
    } else {
        Err(Error::NotFound { what: kind.name(), id: id.to_string() })
    }
}

pub(super) async fn one(tx: &mut Tx, kind: SavedKind, id: Uuid) -> Result<Option<Valid<SavedItem>>> {
    let body: Option<String> = sqlx::query_scalar("SELECT body FROM saved_item WHERE kind = $1 AND id = $2")
        .bind(kind.name())
        .bind(id)
        .fetch_optional(&mut **tx)
        .await?;
    body.map(|body| from_json(&body)).transpose()
}

pub(super) async fn list(tx: &mut Tx, kind: SavedKind, page: Page) -> Result<Vec<Valid<SavedItem>>> {
    let bodies: Vec<String> = sqlx::query_scalar(
        "SELECT body FROM saved_item WHERE kind = $1 ORDER BY created_at DESC, id LIMIT $2 OFFSET $3",
    )
    .bind(kind.name())
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?;
    bodies.iter().map(|body| from_json(body)).collect()
}

pub(super) async fn due(
    tx: &mut Tx,
    kind: SavedKind,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Valid<SavedItem>>> {
    let bodies: Vec<String> = sqlx::query_scalar(
        "SELECT body FROM saved_item WHERE kind = $1 AND due_at <= $2 ORDER BY due_at, id LIMIT $3",
    )
    .bind(kind.name())
    .bind(now.to_chrono())
    .bind(i64::from(limit))
    .fetch_all(&mut **tx)
    .await?;
    bodies.iter().map(|body| from_json(body)).collect()
}

pub(super) async fn put_tick(tx: &mut Tx, owner: &UserId, tick: &ScheduleTick) -> Result<()> {
    if tick.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    sqlx::query("INSERT INTO schedule_tick (schedule_id, due_at, user_id, task_id) VALUES ($1, $2, $3, $4)")
        .bind(tick.schedule_id.0)
        .bind(tick.due_at.to_chrono())
        .bind(owner.as_str())
        .bind(tick.task_id.0)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

pub(super) async fn settle(
    tx: &mut Tx,
    owner: &UserId,
    schedule: ScheduleId,
    due_at: Timestamp,
    at: Timestamp,
) -> Result<()> {
    let done = sqlx::query(
        "UPDATE schedule_tick SET settled_at = $4
         WHERE schedule_id = $1 AND due_at = $2 AND user_id = $3 AND settled_at IS NULL",
    )
    .bind(schedule.0)
    .bind(due_at.to_chrono())
    .bind(owner.as_str())
    .bind(at.to_chrono())
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(changed(SavedKind::Schedule, schedule.0)) }
}

fn tick(row: &PgRow) -> Result<ScheduleTick> {
    Ok(ScheduleTick {
        schedule_id: ScheduleId(row.try_get(0)?),
        due_at: row.try_get::<DateTime<Utc>, _>(1)?.into(),
        user_id: UserId::new(row.try_get::<String, _>(2)?)?,
        task_id: TaskId(row.try_get(3)?),
        settled_at: row.try_get::<Option<DateTime<Utc>>, _>(4)?.map(Into::into),
    })
}

pub(super) async fn ticks(tx: &mut Tx, schedule: ScheduleId, page: Page) -> Result<Vec<ScheduleTick>> {
    sqlx::query(
        "SELECT schedule_id, due_at, user_id, task_id, settled_at FROM schedule_tick
         WHERE schedule_id = $1 ORDER BY due_at DESC LIMIT $2 OFFSET $3",
    )
    .bind(schedule.0)
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(tick)
    .collect()
}

pub(super) async fn open_ticks(tx: &mut Tx, limit: u32) -> Result<Vec<ScheduleTick>> {
    sqlx::query(
        "SELECT schedule_id, due_at, user_id, task_id, settled_at FROM schedule_tick
         WHERE settled_at IS NULL ORDER BY due_at, schedule_id LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(tick)
    .collect()
}
