//! Entities that are written and read as whole documents: tasks, requests, plans, checkpoints,
//! sessions, artifacts.

use super::changes::touched;
use super::connection::Tx;
use crate::error::{Error, Result};
use crate::lookup::{ColumnType, LookupRow, LookupTable};
use crate::query::{Page, TaskFilter};
use crate::words::{from_json, int, json, word};
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use steward_domain::{
    AnalysisRequest, Artifact, Check, Checkpoint, Plan, SubAgentSession, Task, Timestamp, UserId, Valid,
};
use uuid::Uuid;

/// The columns that the documents of a task share.
struct Document<'a> {
    id: Uuid,
    task: Uuid,
    owner: &'a UserId,
    created_at: Timestamp,
    body: String,
}

/// Writes a document of a task; `column` is the additional column of its table.
async fn put<'q, C>(tx: &mut Tx, sql: &'static str, document: Document<'q>, column: C) -> Result<()>
where
    C: 'q + sqlx::Encode<'q, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    let done = sqlx::query(sql)
        .bind(document.id)
        .bind(document.task)
        .bind(document.owner.as_str())
        .bind(column)
        .bind(document.created_at.to_chrono())
        .bind(document.body)
        .execute(&mut **tx)
        .await?;
    touched(done.rows_affected())
}

pub(super) async fn put_task(tx: &mut Tx, owner: &UserId, task: &Valid<Task>) -> Result<()> {
    if task.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    let done = sqlx::query(
        "INSERT INTO task (id, user_id, status, created_at, ended_at, body) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (id) DO UPDATE SET status = excluded.status, ended_at = excluded.ended_at, body = excluded.body
         WHERE task.user_id = excluded.user_id",
    )
    .bind(task.id.0)
    .bind(owner.as_str())
    .bind(task.status_name())
    .bind(task.created_at.to_chrono())
    .bind(task.completed_at.map(|time| time.to_chrono()))
    .bind(json(task)?)
    .execute(&mut **tx)
    .await?;
    touched(done.rows_affected())
}

pub(super) async fn put_request(tx: &mut Tx, owner: &UserId, request: &Valid<AnalysisRequest>) -> Result<()> {
    if request.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    let done = sqlx::query(
        "INSERT INTO analysis_request (id, user_id, status, created_at, body) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body
         WHERE analysis_request.user_id = excluded.user_id",
    )
    .bind(request.request_id.0)
    .bind(owner.as_str())
    .bind(word(&request.status)?)
    .bind(request.timestamp.to_chrono())
    .bind(json(request)?)
    .execute(&mut **tx)
    .await?;
    touched(done.rows_affected())
}

pub(super) async fn put_plan(tx: &mut Tx, owner: &UserId, plan: &Valid<Plan>) -> Result<()> {
    let sql =
        "INSERT INTO plan (id, task_id, user_id, status, created_at, body) VALUES ($1, $2, $3, $4, $5, $6)
               ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body WHERE \
               plan.user_id = excluded.user_id";
    let document = Document {
        id: plan.plan_id.0,
        task: plan.request_id.0,
        owner,
        created_at: plan.created_at,
        body: json(plan)?,
    };
    put(tx, sql, document, word(&plan.status)?).await
}

pub(super) async fn put_checkpoint(
    tx: &mut Tx,
    owner: &UserId,
    checkpoint: &Valid<Checkpoint>,
) -> Result<()> {
    let sql = "INSERT INTO checkpoint (id, task_id, user_id, sequence, created_at, body) VALUES ($1, $2, $3, \
        $4, $5, $6)
               ON CONFLICT (id) DO UPDATE SET body = excluded.body WHERE checkpoint.user_id = excluded.user_id";
    let document = Document {
        id: checkpoint.checkpoint_id.0,
        task: checkpoint.task_id.0,
        owner,
        created_at: checkpoint.created_at,
        body: json(checkpoint)?,
    };
    put(tx, sql, document, int(checkpoint.sequence)).await
}

pub(super) async fn put_session(tx: &mut Tx, owner: &UserId, session: &Valid<SubAgentSession>) -> Result<()> {
    let sql = "INSERT INTO sub_agent_session (id, task_id, user_id, status, created_at, body) VALUES ($1, \
        $2, $3, $4, $5, $6)
               ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body
               WHERE sub_agent_session.user_id = excluded.user_id";
    let document = Document {
        id: session.session_id.0,
        task: session.parent_task_id.0,
        owner,
        created_at: session.created_at,
        body: json(session)?,
    };
    put(tx, sql, document, word(&session.status)?).await
}

pub(super) async fn put_artifact(tx: &mut Tx, owner: &UserId, artifact: &Valid<Artifact>) -> Result<()> {
    let sql = "INSERT INTO artifact (id, task_id, user_id, content_ref, created_at, body) VALUES ($1, $2, \
        $3, $4, $5, $6)";
    let document = Document {
        id: artifact.artifact_id.0,
        task: artifact.request_id.0,
        owner,
        created_at: artifact.created_at,
        body: json(artifact)?,
    };
    put(tx, sql, document, artifact.content_ref.clone()).await
}

/// Finds a document by id.
pub(super) async fn one<T: Check + DeserializeOwned>(
    tx: &mut Tx,
    sql: &'static str,
    id: Uuid,
) -> Result<Option<Valid<T>>> {
    let body: Option<String> = sqlx::query_scalar(sql).bind(id).fetch_optional(&mut **tx).await?;
    body.map(|body| from_json(&body)).transpose()
}

/// Finds documents by task.
pub(super) async fn all<T: Check + DeserializeOwned>(
    tx: &mut Tx,
    sql: &'static str,
    task: Uuid,
) -> Result<Vec<Valid<T>>> {
    let bodies: Vec<String> = sqlx::query_scalar(sql).bind(task).fetch_all(&mut **tx).await?;
    bodies.iter().map(|body| from_json(body)).collect()
}

pub(super) async fn tasks(tx: &mut Tx, filter: &TaskFilter, page: Page) -> Result<Vec<Valid<Task>>> {
    let bodies: Vec<String> = sqlx::query_scalar(
        "SELECT body FROM task WHERE ($1::text IS NULL OR status = $1) ORDER BY created_at DESC, id LIMIT $2 \
            OFFSET $3",
    )
    .bind(filter.status.as_ref().map(word).transpose()?)
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?;
    bodies.iter().map(|body| from_json(body)).collect()
}

/// The tasks that ended before a time.
pub(super) async fn ended(tx: &mut Tx, before: Timestamp) -> Result<Vec<Valid<Task>>> {
    let bodies: Vec<String> =
        sqlx::query_scalar("SELECT body FROM task WHERE ended_at < $1 ORDER BY ended_at, id")
            .bind(before.to_chrono())
            .fetch_all(&mut **tx)
            .await?;
    bodies.iter().map(|body| from_json(body)).collect()
}

/// The rows of a table as they are searched.
pub(super) async fn lookup_rows(tx: &mut Tx, table: LookupTable, page: Page) -> Result<Vec<LookupRow>> {
    let columns = table.columns();
    let select = columns.select(|name, kind| match kind {
        ColumnType::Text => name.to_owned(),
        ColumnType::Uuid => format!("replace({name}::text, '-', '')"),
        ColumnType::Number => format!("{name}::text"),
        ColumnType::Time => format!("(extract(epoch FROM {name}) * 1000000)::bigint::text"),
        ColumnType::Flag => format!("({name}::int)::text"),
    });
    let sql = sqlx::AssertSqlSafe(format!("{select} LIMIT $1 OFFSET $2"));
    let rows = sqlx::query(sql)
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&mut **tx)
        .await?;
    let read = |row: &PgRow| (0..row.len()).map(|place| Ok(row.try_get(place)?)).collect::<Result<_>>();
    rows.iter().map(|row| columns.row(read(row)?)).collect()
}
