//! Saved items, and the ticks of schedules.

use super::journal::user;
use crate::error::{Error, Result};
use crate::query::{Page, Scope};
use crate::rules::changed_meanwhile as changed;
use crate::words::{from_json, json};
use rusqlite::{Connection, OptionalExtension, Row, params};
use steward_domain::{SavedItem, SavedKind, ScheduleId, ScheduleTick, TaskId, Timestamp, UserId, Valid};
use uuid::Uuid;

pub(super) fn put(
    db: &Connection,
    owner: &UserId,
    item: &Valid<SavedItem>,
    replaces: Option<Timestamp>,
) -> Result<()> {
    if item.user_id() != owner {
        return Err(Error::OtherOwner);
    }
    let rows = db
        .prepare_cached(
            "INSERT INTO saved_item (kind, id, user_id, shared, due_at, created_at, updated_at, body)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
             WHERE ?9 IS NULL OR EXISTS (SELECT 1 FROM saved_item WHERE kind = ?1 AND id = ?2 AND updated_at = ?9)
             ON CONFLICT (kind, id) DO UPDATE SET shared = excluded.shared, due_at = excluded.due_at,
                 updated_at = excluded.updated_at, body = excluded.body
             WHERE saved_item.user_id = excluded.user_id AND (?9 IS NULL OR saved_item.updated_at = ?9)",
        )?
        .execute(params![
            item.kind().name(),
            item.id(),
            owner.as_str(),
            item.is_shared(),
            item.due_at().map(Timestamp::micros),
            item.created_at().micros(),
            item.updated_at().micros(),
            json(item)?,
            replaces.map(Timestamp::micros),
        ])?;
    match (rows, replaces) {
        (1, _) => Ok(()),
        (_, None) => Err(Error::OtherOwner),
        (_, Some(_)) => Err(changed(item.kind(), item.id())),
    }
}

pub(super) fn delete(db: &Connection, owner: &UserId, kind: SavedKind, id: Uuid) -> Result<()> {
    let rows = db
        .prepare_cached("DELETE FROM saved_item WHERE kind = ?1 AND id = ?2 AND user_id = ?3")?
        .execute(params![kind.name(), id, owner.as_str()])?;
    if rows == 1 { Ok(()) } else { Err(Error::NotFound { what: kind.name(), id: id.to_string() }) }
}

pub(super) fn one(
    db: &Connection,
    scope: &Scope,
    kind: SavedKind,
    id: Uuid,
) -> Result<Option<Valid<SavedItem>>> {
    db.prepare_cached(
        "SELECT body FROM saved_item WHERE kind = ?1 AND id = ?2 AND (?3 IS NULL OR user_id = ?3 OR shared)",
    )?
    .query_row(params![kind.name(), id, user(scope)], |row| row.get::<_, String>(0))
    .optional()?
    .map(|body| from_json(&body))
    .transpose()
}

pub(super) fn list(
    db: &Connection,
    scope: &Scope,
    kind: SavedKind,
    page: Page,
) -> Result<Vec<Valid<SavedItem>>> {
    db.prepare_cached(
        "SELECT body FROM saved_item WHERE kind = ?1 AND (?2 IS NULL OR user_id = ?2 OR shared)
         ORDER BY created_at DESC, id LIMIT ?3 OFFSET ?4",
    )?
    .query_map(params![kind.name(), user(scope), page.limit, page.offset], |row| row.get::<_, String>(0))?
    .map(|body| from_json(&body?))
    .collect()
}

pub(super) fn due(
    db: &Connection,
    kind: SavedKind,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Valid<SavedItem>>> {
    db.prepare_cached(
        "SELECT body FROM saved_item WHERE kind = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3",
    )?
    .query_map(params![kind.name(), now.micros(), limit], |row| row.get::<_, String>(0))?
    .map(|body| from_json(&body?))
    .collect()
}

pub(super) fn put_tick(db: &Connection, owner: &UserId, tick: &ScheduleTick) -> Result<()> {
    if tick.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    db.prepare_cached(
        "INSERT INTO schedule_tick (schedule_id, due_at, user_id, task_id) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![tick.schedule_id.0, tick.due_at.micros(), owner.as_str(), tick.task_id.0])?;
    Ok(())
}

pub(super) fn settle(
    db: &Connection,
    owner: &UserId,
    schedule: ScheduleId,
    due_at: Timestamp,
    at: Timestamp,
) -> Result<()> {
    let rows = db
        .prepare_cached(
            "UPDATE schedule_tick SET settled_at = ?4
             WHERE schedule_id = ?1 AND due_at = ?2 AND user_id = ?3 AND settled_at IS NULL",
        )?
        .execute(params![schedule.0, due_at.micros(), owner.as_str(), at.micros()])?;
    if rows == 1 { Ok(()) } else { Err(changed(SavedKind::Schedule, schedule.0)) }
}

fn row_tick(row: &Row<'_>) -> rusqlite::Result<(Uuid, i64, String, Uuid, Option<i64>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn tick(
    (schedule, due, user, task, settled): (Uuid, i64, String, Uuid, Option<i64>),
) -> Result<ScheduleTick> {
    Ok(ScheduleTick {
        schedule_id: ScheduleId(schedule),
        due_at: Timestamp::from_micros(due),
        user_id: UserId::new(user)?,
        task_id: TaskId(task),
        settled_at: settled.map(Timestamp::from_micros),
    })
}

pub(super) fn ticks(
    db: &Connection,
    scope: &Scope,
    schedule: ScheduleId,
    page: Page,
) -> Result<Vec<ScheduleTick>> {
    db.prepare_cached(
        "SELECT schedule_id, due_at, user_id, task_id, settled_at FROM schedule_tick
         WHERE schedule_id = ?1 AND (?2 IS NULL OR user_id = ?2) ORDER BY due_at DESC LIMIT ?3 OFFSET ?4",
    )?
    .query_map(params![schedule.0, user(scope), page.limit, page.offset], row_tick)?
    .map(|row| tick(row?))
    .collect()
}

pub(super) fn open_ticks(db: &Connection, limit: u32) -> Result<Vec<ScheduleTick>> {
    db.prepare_cached(
        "SELECT schedule_id, due_at, user_id, task_id, settled_at FROM schedule_tick
         WHERE settled_at IS NULL ORDER BY due_at, schedule_id LIMIT ?1",
    )?
    .query_map([limit], row_tick)?
    .map(|row| tick(row?))
    .collect()
}
