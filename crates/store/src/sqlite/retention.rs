//! Retention: ended tasks, old conversations, executions and invocations.

use super::journal::{self, Log};
use super::{conversations, documents};
use crate::audit::retention_entry;
use crate::change::Commit;
use crate::error::Result;
use crate::interface::StoreOptions;
use crate::retention::{PurgedFile, RetentionReport};
use crate::usage::Rollup;
use crate::words::{int, uint};
use rusqlite::{Connection, params};
use steward_domain::{ChainId, ConversationId, ConversationStatus, RetentionPolicy, Task, Timestamp, Valid};
use uuid::Uuid;

pub(super) fn run(
    db: &Connection,
    options: &StoreOptions,
    log: &mut Log,
    policy: &Valid<RetentionPolicy>,
    now: Timestamp,
    dry_run: bool,
) -> Result<RetentionReport> {
    let mut report = RetentionReport { dry_run, ..RetentionReport::default() };
    tasks(db, policy, now, &mut report)?;
    archive(db, policy, now, &mut report)?;
    executions(db, policy, now, &mut report)?;
    if !dry_run && report.purged.iter().any(|purge| purge.count > 0) {
        let (owner, draft) = retention_entry(&report)?;
        let prepared = Commit::new(owner.clone(), ChainId::SYSTEM).entry(draft).prepare(options)?;
        journal::append(db, options, log, &owner, ChainId::SYSTEM, &prepared)?;
    }
    Ok(report)
}

fn tasks(
    db: &Connection,
    policy: &RetentionPolicy,
    now: Timestamp,
    report: &mut RetentionReport,
) -> Result<()> {
    let old: Vec<Valid<Task>> = documents::ended(db, now)?
        .into_iter()
        .filter(|task| task.completed_at.is_some_and(|end| end < now.minus_days(policy.days_for(task).get())))
        .collect();
    let mut erased = 0;
    for task in &old {
        let files = db
            .prepare_cached("SELECT content_ref FROM artifact WHERE task_id = ?1")?
            .query_map([task.id.0], |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<String>>>()?;
        report
            .files
            .extend(files.into_iter().map(|content_ref| PurgedFile { task_id: task.id, content_ref }));
        if report.dry_run {
            erased += count(
                db,
                "SELECT count(*) FROM payload WHERE request_id = ?1 AND erased_at IS NULL",
                task.id.0,
            )?;
            continue;
        }
        for table in ["plan", "checkpoint", "sub_agent_session", "artifact", "approval_decision"] {
            db.prepare_cached(&format!("DELETE FROM {table} WHERE task_id = ?1"))?.execute([task.id.0])?;
        }
        for table in ["analysis_request", "task"] {
            db.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?.execute([task.id.0])?;
        }
        erased += journal::erase_chain(db, task.id.0, now)?;
    }
    report.add("task", "deleted", old.len() as u64, None);
    report.add("payload", "erased", erased, None);
    Ok(())
}

fn archive(
    db: &Connection,
    policy: &RetentionPolicy,
    now: Timestamp,
    report: &mut RetentionReport,
) -> Result<()> {
    let idle = now.minus_days(policy.conversation_archive_days.get());
    let archived = if report.dry_run {
        count(
            db,
            "SELECT count(*) FROM conversation WHERE status = 'active' AND updated_at < ?1",
            idle.micros(),
        )?
    } else {
        db.execute(
            "UPDATE conversation SET status = 'archived' WHERE status = 'active' AND updated_at < ?1",
            [idle.micros()],
        )? as u64
    };
    report.add("conversation", "archived", archived, Some(idle));
    let Some(days) = policy.conversation_delete_days else { return Ok(()) };
    let before = now.minus_days(days.get());
    let old: Vec<Uuid> = db
        .prepare_cached("SELECT id FROM conversation WHERE status = 'archived' AND updated_at < ?1")?
        .query_map([before.micros()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in old.iter().filter(|_| !report.dry_run) {
        db.execute(
            "UPDATE conversation SET status = ?2, metadata = '{}' WHERE id = ?1",
            params![id, crate::words::word(&ConversationStatus::Deleted)?],
        )?;
        conversations::empty(db, ConversationId(*id), now)?;
    }
    report.add("conversation", "deleted", old.len() as u64, Some(before));
    Ok(())
}

/// Executions and invocations are aggregated by day before they are deleted.
fn executions(
    db: &Connection,
    policy: &RetentionPolicy,
    now: Timestamp,
    report: &mut RetentionReport,
) -> Result<()> {
    const INVOCATIONS: &str = "SELECT ti.invocation_start, ti.user_id, td.tool_name, ti.status = 'success', \
        ti.duration_ms
        FROM tool_invocation ti JOIN tool_definition td ON td.id = ti.tool_definition_id WHERE \
        ti.invocation_start < ?1";
    const EXECUTIONS: &str = "SELECT execution_start, user_id, agent_type, status = 'success', duration_ms \
        FROM agent_execution WHERE execution_start < ?1";
    for (table, start, kind, select, days) in [
        ("tool_invocation", "invocation_start", "tool", INVOCATIONS, policy.invocation_days),
        ("agent_execution", "execution_start", "agent", EXECUTIONS, policy.execution_days),
    ] {
        let before = now.minus_days(days.get());
        let purged = if report.dry_run {
            count(db, &format!("SELECT count(*) FROM {table} WHERE {start} < ?1"), before.micros())?
        } else {
            let mut details = db.prepare(select)?;
            let mut rows = details.query([before.micros()])?;
            let mut rollup = Rollup::default();
            while let Some(row) = rows.next()? {
                let (begun, duration) = (Timestamp::from_micros(row.get(0)?), uint(row.get(4)?)?);
                rollup.add(begun, row.get(1)?, row.get(2)?, row.get(3)?, duration);
            }
            for ((day, user, name, success, duration), calls) in rollup.0 {
                db.prepare_cached(
                    "INSERT INTO usage_daily VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (day, user_id, kind, name, success, duration_ms) DO UPDATE SET calls = \
                     calls + excluded.calls",
                )?
                .execute(params![
                    day,
                    user,
                    kind,
                    name,
                    success,
                    int(duration),
                    int(calls)
                ])?;
            }
            db.execute(&format!("DELETE FROM {table} WHERE {start} < ?1"), [before.micros()])? as u64
        };
        report.add(table, "deleted", purged, Some(before));
    }
    Ok(())
}

fn count(db: &Connection, sql: &str, parameter: impl rusqlite::ToSql) -> Result<u64> {
    uint(db.prepare_cached(sql)?.query_row([parameter], |row| row.get(0))?)
}
