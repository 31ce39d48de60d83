//! Retention: ended tasks, old conversations, executions and invocations.

use super::connection::{Database, Tx};
use super::{conversations, documents, journal};
use crate::audit::retention_entry;
use crate::change::Commit;
use crate::error::Result;
use crate::interface::StoreOptions;
use crate::query::Scope;
use crate::retention::{PurgedFile, RetentionReport};
use crate::usage::Rollup;
use crate::words::{int, uint};
use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Row};
use steward_domain::{ChainId, ConversationId, RetentionPolicy, Task, Timestamp, Valid};
use uuid::Uuid;

pub(super) async fn run(
    db: &Database,
    options: &StoreOptions,
    policy: &Valid<RetentionPolicy>,
    now: Timestamp,
    dry_run: bool,
) -> Result<RetentionReport> {
    let mut report = RetentionReport { dry_run, ..RetentionReport::default() };
    let mut tx = db.begin(&Scope::System).await?;
    tasks(&mut tx, policy, now, &mut report).await?;
    archive(&mut tx, policy, now, &mut report).await?;
    executions(&mut tx, policy, now, &mut report).await?;
    if !dry_run && report.purged.iter().any(|purge| purge.count > 0) {
        let (owner, draft) = retention_entry(&report)?;
        let prepared = Commit::new(owner.clone(), ChainId::SYSTEM).entry(draft).prepare(options)?;
        journal::append(&mut tx, options, &owner, ChainId::SYSTEM, prepared).await?;
    }
    tx.commit().await?;
    Ok(report)
}

async fn tasks(
    tx: &mut Tx,
    policy: &RetentionPolicy,
    now: Timestamp,
    report: &mut RetentionReport,
) -> Result<()> {
    let old: Vec<Valid<Task>> = documents::ended(tx, now)
        .await?
        .into_iter()
        .filter(|task| task.completed_at.is_some_and(|end| end < now.minus_days(policy.days_for(task).get())))
        .collect();
    let mut erased = 0;
    for task in &old {
        let files: Vec<String> = sqlx::query_scalar("SELECT content_ref FROM artifact WHERE task_id = $1")
            .bind(task.id.0)
            .fetch_all(&mut **tx)
            .await?;
        report
            .files
            .extend(files.into_iter().map(|content_ref| PurgedFile { task_id: task.id, content_ref }));
        if report.dry_run {
            let waiting: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM payload WHERE request_id = $1 AND erased_at IS NULL",
            )
            .bind(task.id.0)
            .fetch_one(&mut **tx)
            .await?;
            erased += uint(waiting)?;
            continue;
        }
        for sql in [
            "DELETE FROM plan WHERE task_id = $1",
            "DELETE FROM checkpoint WHERE task_id = $1",
            "DELETE FROM sub_agent_session WHERE task_id = $1",
            "DELETE FROM artifact WHERE task_id = $1",
            "DELETE FROM approval_decision WHERE task_id = $1",
            "DELETE FROM analysis_request WHERE id = $1",
            "DELETE FROM task WHERE id = $1",
        ] {
            sqlx::query(sql).bind(task.id.0).execute(&mut **tx).await?;
        }
        erased += journal::erase_chain(tx, task.id.0, now).await?;
    }
    report.add("task", "deleted", old.len() as u64, None);
    report.add("payload", "erased", erased, None);
    Ok(())
}

async fn archive(
    tx: &mut Tx,
    policy: &RetentionPolicy,
    now: Timestamp,
    report: &mut RetentionReport,
) -> Result<()> {
    let idle = now.minus_days(policy.conversation_archive_days.get());
    let archived = if report.dry_run {
        uint(
            sqlx::query_scalar(
                "SELECT count(*) FROM conversation WHERE status = 'active' AND updated_at < $1",
            )
            .bind(idle.to_chrono())
            .fetch_one(&mut **tx)
            .await?,
        )?
    } else {
        sqlx::query("UPDATE conversation SET status = 'archived' WHERE status = 'active' AND updated_at < $1")
            .bind(idle.to_chrono())
            .execute(&mut **tx)
            .await?
            .rows_affected()
    };
    report.add("conversation", "archived", archived, Some(idle));
    let Some(days) = policy.conversation_delete_days else { return Ok(()) };
    let before = now.minus_days(days.get());
    let old: Vec<Uuid> =
        sqlx::query_scalar("SELECT id FROM conversation WHERE status = 'archived' AND updated_at < $1")
            .bind(before.to_chrono())
            .fetch_all(&mut **tx)
            .await?;
    for id in old.iter().filter(|_| !report.dry_run) {
        sqlx::query("UPDATE conversation SET status = 'deleted', metadata = '{}' WHERE id = $1")
            .bind(id)
            .execute(&mut **tx)
            .await?;
        conversations::empty(tx, ConversationId(*id), now).await?;
    }
    report.add("conversation", "deleted", old.len() as u64, Some(before));
    Ok(())
}

/// Executions and invocations are aggregated by day before they are deleted.
async fn executions(
    tx: &mut Tx,
    policy: &RetentionPolicy,
    now: Timestamp,
    report: &mut RetentionReport,
) -> Result<()> {
    const INVOCATIONS: &str = "SELECT ti.invocation_start, ti.user_id, td.tool_name, ti.status = 'success', \
        ti.duration_ms
        FROM tool_invocation ti JOIN tool_definition td ON td.id = ti.tool_definition_id WHERE \
        ti.invocation_start < $1";
    const EXECUTIONS: &str = "SELECT execution_start, user_id, agent_type, status = 'success', duration_ms \
        FROM agent_execution WHERE execution_start < $1";
    for (table, start, kind, select, days) in [
        ("tool_invocation", "invocation_start", "tool", INVOCATIONS, policy.invocation_days),
        ("agent_execution", "execution_start", "agent", EXECUTIONS, policy.execution_days),
    ] {
        let before = now.minus_days(days.get());
        let purged = if report.dry_run {
            let sql = format!("SELECT count(*) FROM {table} WHERE {start} < $1");
            uint(sqlx::query_scalar(AssertSqlSafe(sql)).bind(before.to_chrono()).fetch_one(&mut **tx).await?)?
        } else {
            let mut rollup = Rollup::default();
            for row in sqlx::query(select).bind(before.to_chrono()).fetch_all(&mut **tx).await? {
                let (begun, duration) = (row.try_get::<DateTime<Utc>, _>(0)?, uint(row.try_get(4)?)?);
                rollup.add(begun.into(), row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, duration);
            }
            for ((day, user, name, success, duration), calls) in rollup.0 {
                sqlx::query(
                    "INSERT INTO usage_daily VALUES ($1, $2, $3, $4, $5, $6, $7)
                     ON CONFLICT (day, user_id, kind, name, success, duration_ms)
                     DO UPDATE SET calls = usage_daily.calls + excluded.calls",
                )
                .bind(day)
                .bind(user)
                .bind(kind)
                .bind(name)
                .bind(success)
                .bind(int(duration))
                .bind(int(calls))
                .execute(&mut **tx)
                .await?;
            }
            let sql = format!("DELETE FROM {table} WHERE {start} < $1");
            sqlx::query(AssertSqlSafe(sql)).bind(before.to_chrono()).execute(&mut **tx).await?.rows_affected()
        };
        report.add(table, "deleted", purged, Some(before));
    }
    Ok(())
}
