//! Entities that are written and read as whole documents: tasks, requests, plans, checkpoints,
//! sessions, artifacts.

use super::changes::touched;
use super::journal::user;
use crate::error::Result;
use crate::lookup::{ColumnType, LookupRow, LookupTable};
use crate::query::{Page, Scope, TaskFilter};
use crate::words::{from_json, int, json, word};
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::DeserializeOwned;
use steward_domain::{
    AnalysisRequest, Artifact, Check, Checkpoint, Plan, SubAgentSession, Task, TaskId, Timestamp, UserId,
    Valid,
};
use uuid::Uuid;

pub(super) fn put_task(db: &Connection, owner: &UserId, task: &Valid<Task>) -> Result<()> {
    if task.user_id != *owner {
        return Err(crate::Error::OtherOwner);
    }
    let rows = db
        .prepare_cached(
            "INSERT INTO task (id, user_id, status, created_at, ended_at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET status = excluded.status, ended_at = excluded.ended_at, body = \
             excluded.body
             WHERE task.user_id = excluded.user_id",
        )?
        .execute(params![
            task.id.0,
            owner.as_str(),
            task.status_name(),
            task.created_at.micros(),
            task.completed_at.map(|time| time.micros()),
            json(task)?,
        ])?;
    touched(rows)
}

pub(super) fn put_request(db: &Connection, owner: &UserId, request: &Valid<AnalysisRequest>) -> Result<()> {
    if request.user_id != *owner {
        return Err(crate::Error::OtherOwner);
    }
    let rows = db
        .prepare_cached(
            "INSERT INTO analysis_request (id, user_id, status, created_at, body) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body
             WHERE analysis_request.user_id = excluded.user_id",
        )?
        .execute(params![
            request.request_id.0,
            owner.as_str(),
            word(&request.status)?,
            request.timestamp.micros(),
            json(request)?
        ])?;
    touched(rows)
}

pub(super) fn put_plan(db: &Connection, owner: &UserId, plan: &Valid<Plan>) -> Result<()> {
    let rows = db
        .prepare_cached(
            "INSERT INTO plan (id, task_id, user_id, status, created_at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body WHERE \
             plan.user_id = excluded.user_id",
        )?
        .execute(params![plan.plan_id.0, plan.request_id.0, owner.as_str(), word(&plan.status)?, plan.created_at.micros(), json(plan)?])?;
    touched(rows)
}

pub(super) fn put_checkpoint(db: &Connection, owner: &UserId, checkpoint: &Valid<Checkpoint>) -> Result<()> {
    let rows = db
        .prepare_cached(
            "INSERT INTO checkpoint (id, task_id, user_id, sequence, created_at, body) VALUES (?1, ?2, ?3, \
                ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET body = excluded.body WHERE checkpoint.user_id = excluded.user_id",
        )?
        .execute(params![
            checkpoint.checkpoint_id.0,
            checkpoint.task_id.0,
            owner.as_str(),
            int(checkpoint.sequence),
            checkpoint.created_at.micros(),
            json(checkpoint)?,
        ])?;
    touched(rows)
}

pub(super) fn put_session(db: &Connection, owner: &UserId, session: &Valid<SubAgentSession>) -> Result<()> {
    let rows = db
        .prepare_cached(
            "INSERT INTO sub_agent_session (id, task_id, user_id, status, created_at, body) VALUES (?1, ?2, \
                ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body
             WHERE sub_agent_session.user_id = excluded.user_id",
        )?
        .execute(params![
            session.session_id.0,
            session.parent_task_id.0,
            owner.as_str(),
            word(&session.status)?,
            session.created_at.micros(),
            json(session)?,
        ])?;
    touched(rows)
}

pub(super) fn put_artifact(db: &Connection, owner: &UserId, artifact: &Valid<Artifact>) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO artifact (id, task_id, user_id, content_ref, created_at, body) VALUES \
        (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        artifact.artifact_id.0,
        artifact.request_id.0,
        owner.as_str(),
        artifact.content_ref,
        artifact.created_at.micros(),
        json(artifact)?,
    ])?;
    Ok(())
}

/// One document of a table.
pub(super) fn one<T: Check + DeserializeOwned>(
    db: &Connection,
    scope: &Scope,
    table: &'static str,
    id: Uuid,
) -> Result<Option<Valid<T>>> {
    db.prepare_cached(&format!("SELECT body FROM {table} WHERE id = ?1 AND (?2 IS NULL OR user_id = ?2)"))?
        .query_row(params![id, user(scope)], |row| row.get::<_, String>(0))
        .optional()?
        .map(|body| from_json(&body))
        .transpose()
}

/// The documents of a task in order of creation.
pub(super) fn of_task<T: Check + DeserializeOwned>(
    db: &Connection,
    scope: &Scope,
    table: &'static str,
    task: TaskId,
) -> Result<Vec<Valid<T>>> {
    let order = if table == "checkpoint" { "sequence" } else { "created_at, id" };
    db.prepare_cached(&format!(
        "SELECT body FROM {table} WHERE task_id = ?1 AND (?2 IS NULL OR user_id = ?2) ORDER BY {order}"
    ))?
    .query_map(params![task.0, user(scope)], |row| row.get::<_, String>(0))?
    .map(|body| from_json(&body?))
    .collect()
}

pub(super) fn tasks(
    db: &Connection,
    scope: &Scope,
    filter: &TaskFilter,
    page: Page,
) -> Result<Vec<Valid<Task>>> {
    let whose = if scope.user().is_some() { "user_id = ?1" } else { "?1 IS NULL" };
    db.prepare_cached(&format!(
        "SELECT body FROM task WHERE {whose} AND (?2 IS NULL OR status = ?2) ORDER BY created_at DESC, id \
            LIMIT ?3 OFFSET ?4"
    ))?
    .query_map(
        params![user(scope), filter.status.as_ref().map(word).transpose()?, page.limit, page.offset],
        |row| row.get::<_, String>(0),
    )?
    .map(|body| from_json(&body?))
    .collect()
}

/// The tasks that ended before a time.
pub(super) fn ended(db: &Connection, before: Timestamp) -> Result<Vec<Valid<Task>>> {
    db.prepare_cached("SELECT body FROM task WHERE ended_at < ?1 ORDER BY ended_at, id")?
        .query_map([before.micros()], |row| row.get::<_, String>(0))?
        .map(|body| from_json(&body?))
        .collect()
}

/// The rows of a table as they are searched.
pub(super) fn lookup_rows(db: &Connection, table: LookupTable, page: Page) -> Result<Vec<LookupRow>> {
    let columns = table.columns();
    let select = columns.select(|name, kind| match kind {
        ColumnType::Text => name.to_owned(),
        ColumnType::Uuid => format!("CASE WHEN {name} IS NOT NULL THEN lower(hex({name})) END"),
        ColumnType::Number | ColumnType::Time | ColumnType::Flag => format!("CAST({name} AS TEXT)"),
    });
    let mut statement = db.prepare_cached(&format!("{select} LIMIT ?1 OFFSET ?2"))?;
    let width = statement.column_count();
    let mut rows = statement.query(params![page.limit, page.offset])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let values = (0..width).map(|place| row.get(place)).collect::<rusqlite::Result<_>>()?;
        found.push(columns.row(values)?);
    }
    Ok(found)
}
