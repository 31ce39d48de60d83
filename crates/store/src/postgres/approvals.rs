//! Decisions on gates. The statement itself is the compare-and-swap: it changes one row, or the
//! commit is refused.

use super::connection::Tx;
use crate::change::GateDecision;
use crate::error::{Error, Result};
use crate::query::Page;
use crate::words::{from_word, int, word};
use sqlx::Row as _;
use steward_domain::{CallId, Gate, Label, Sha256Hex, TaskId, Timestamp, UserId};
use uuid::Uuid;

/// The decisions that somebody may see, newest first.
pub(super) async fn list(tx: &mut Tx, page: Page) -> Result<Vec<(UserId, GateDecision)>> {
    let rows = sqlx::query(
        "SELECT user_id, task_id, gate, digest, decision, decided_by, decided_at, call_id FROM approval_decision
         ORDER BY decided_at DESC, task_id, gate LIMIT $1 OFFSET $2",
    )
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let text = |place: usize| row.try_get::<String, _>(place);
        let number = u64::try_from(row.try_get::<i64, _>(2)?).unwrap_or_default();
        let decision = GateDecision {
            gate: Gate { task: TaskId(row.try_get::<Uuid, _>(1)?), number },
            digest: Sha256Hex::new(text(3)?)?,
            verdict: from_word(text(4)?)?,
            by: Label::new(text(5)?)?,
            at: Timestamp::from(row.try_get::<chrono::DateTime<chrono::Utc>, _>(6)?),
            call: row.try_get::<Option<Uuid>, _>(7)?.map(CallId),
        };
        found.push((UserId::new(text(0)?)?, decision));
    }
    Ok(found)
}

pub(super) async fn decide(tx: &mut Tx, owner: &UserId, decided: &GateDecision) -> Result<()> {
    let done = sqlx::query(
        "INSERT INTO approval_decision (user_id, task_id, gate, digest, decision, decided_by, decided_at, call_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (user_id, task_id, gate) DO UPDATE SET call_id = excluded.call_id
         WHERE approval_decision.decision = 'approved' AND excluded.decision = 'approved'
           AND excluded.call_id IS NOT NULL
           AND (approval_decision.call_id IS NULL OR approval_decision.call_id = excluded.call_id)",
    )
    .bind(owner.as_str())
    .bind(decided.gate.task.0)
    .bind(int(decided.gate.number))
    .bind(decided.digest.as_str())
    .bind(word(&decided.verdict)?)
    .bind(decided.by.as_str())
    .bind(decided.at.to_chrono())
    .bind(decided.call.map(|call| call.0))
    .execute(&mut **tx)
    .await?;
    let decided_now = done.rows_affected() == 1;
    if decided_now { Ok(()) } else { Err(Error::Decided { task: decided.gate.task.to_string() }) }
}
