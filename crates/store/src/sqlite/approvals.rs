//! Decisions on gates. The statement itself is the compare-and-swap: it changes one row, or the
//! commit is refused.

use super::journal::user;
use crate::change::GateDecision;
use crate::error::{Error, Result};
use crate::query::{Page, Scope};
use crate::words::{from_word, int, word};
use rusqlite::{Connection, params};
use steward_domain::{CallId, Gate, Label, Sha256Hex, TaskId, Timestamp, UserId};
use uuid::Uuid;

/// The decisions that somebody may see, newest first.
pub(super) fn list(db: &Connection, scope: &Scope, page: Page) -> Result<Vec<(UserId, GateDecision)>> {
    let mut statement = db.prepare_cached(
        "SELECT user_id, task_id, gate, digest, decision, decided_by, decided_at, call_id FROM approval_decision
         WHERE ?1 IS NULL OR user_id = ?1 ORDER BY decided_at DESC, task_id, gate LIMIT ?2 OFFSET ?3",
    )?;
    let mut rows = statement.query(params![user(scope), page.limit, page.offset])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |place: usize| row.get::<_, String>(place);
        let number = u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
        let decision = GateDecision {
            gate: Gate { task: TaskId(row.get::<_, Uuid>(1)?), number },
            digest: Sha256Hex::new(text(3)?)?,
            verdict: from_word(text(4)?)?,
            by: Label::new(text(5)?)?,
            at: Timestamp::from_micros(row.get(6)?),
            call: row.get::<_, Option<Uuid>>(7)?.map(CallId),
        };
        found.push((UserId::new(text(0)?)?, decision));
    }
    Ok(found)
}

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
