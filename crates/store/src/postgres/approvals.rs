//! Decisions on gates. The statement itself is the compare-and-swap: it changes one row, or the
//! commit is refused.

use super::connection::Tx;
use crate::change::GateDecision;
use crate::error::{Error, Result};
use crate::words::{int, word};
use steward_domain::UserId;

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
