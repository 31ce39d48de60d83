//! Usage of tools and agents over a window.

use super::journal::user;
use crate::error::Result;
use crate::query::Scope;
use crate::usage::{Analytics, Group, summarise};
use crate::words::uint;
use rusqlite::{Connection, Params, params};
use steward_domain::Timestamp;

pub(super) fn over(db: &Connection, scope: &Scope, from: Timestamp, to: Timestamp) -> Result<Analytics> {
    let (from_day, to_day) = (from.day(), to.day());
    let mut tools = groups(
        db,
        "SELECT td.tool_name, ti.status = 'success', ti.duration_ms, count(*)
         FROM tool_invocation ti JOIN tool_definition td ON td.id = ti.tool_definition_id
         WHERE ti.invocation_start >= ?1 AND ti.invocation_start < ?2 AND (?3 IS NULL OR ti.user_id = ?3) \
         GROUP BY 1, 2, 3",
        params![from.micros(), to.micros(), user(scope)],
    )?;
    let mut agents = groups(
        db,
        "SELECT agent_type, status = 'success', duration_ms, count(*) FROM agent_execution
         WHERE execution_start >= ?1 AND execution_start < ?2 AND (?3 IS NULL OR user_id = ?3) GROUP BY 1, 2, 3",
        params![from.micros(), to.micros(), user(scope)],
    )?;
    for (kind, into) in [("tool", &mut tools), ("agent", &mut agents)] {
        into.extend(groups(
            db,
            "SELECT name, success, duration_ms, sum(calls) FROM usage_daily
             WHERE day >= ?1 AND day <= ?2 AND kind = ?3 AND (?4 IS NULL OR user_id = ?4) GROUP BY 1, 2, 3",
            params![from_day, to_day, kind, user(scope)],
        )?);
    }
    Ok(Analytics { tools: summarise(tools), agents: summarise(agents) })
}

fn groups(db: &Connection, sql: &str, params: impl Params) -> Result<Vec<Group>> {
    db.prepare_cached(sql)?
        .query_map(params, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
        })?
        .map(|row| {
            let (name, success, duration_ms, count) = row?;
            Ok(Group { name, success, duration_ms: uint(duration_ms)?, count: uint(count)? })
        })
        .collect()
}
