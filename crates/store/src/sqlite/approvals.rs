//! Decisions over gates. The compare-and-swap is the statement itself: it changes one row or the
//! commit is refused.

use crate::change::GateDecision;
use crate::error::{Error, Result};
use crate::words::{int, word};
use rusqlite::{Connection, params};
use steward_domain::UserId;

pub(super) fn decide(db: &Connection, owner: &UserId, decided: &GateDecision) -> Result<()> {
    let rows = db
        .prepare_cached(
            "INSERT INTO approval_decision (user_id, task_id, gate, digest, decision, decided_by, \
                decided_at, call_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (user_id, task_id, gate) DO UPDATE SET call_id = excluded.call_id
             WHERE approval_decision.decision = 'approved' AND excluded.decision = 'approved'
               AND excluded.call_id IS NOT NULL
               AND (approval_decision.call_id IS NULL OR approval_decision.call_id = excluded.call_id)",
        )?
        .execute(params![
            owner.as_str(),
            decided.gate.task.0,
            int(decided.gate.number),
            decided.digest.as_str(),
            word(&decided.verdict)?,
            decided.by.as_str(),
            decided.at.micros(),
            decided.call.map(|call| call.0),
        ])?;
    if rows == 1 { Ok(()) } else { Err(Error::Decided { task: decided.gate.task.to_string() }) }
}
