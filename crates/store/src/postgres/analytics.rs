//! Usage of tools and agents over a window.

use super::connection::Tx;
use crate::error::Result;
use crate::usage::{Analytics, Group, summarise};
use crate::words::uint;
use sqlx::Row;
use sqlx::postgres::PgRow;
use steward_domain::Timestamp;

pub(super) async fn over(tx: &mut Tx, from: Timestamp, to: Timestamp) -> Result<Analytics> {
    let details = [
        "SELECT td.tool_name, ti.status = 'success', ti.duration_ms, count(*)
         FROM tool_invocation ti JOIN tool_definition td ON td.id = ti.tool_definition_id
         WHERE ti.invocation_start >= $1 AND ti.invocation_start < $2 GROUP BY 1, 2, 3",
        "SELECT agent_type, status = 'success', duration_ms, count(*) FROM agent_execution
         WHERE execution_start >= $1 AND execution_start < $2 GROUP BY 1, 2, 3",
    ];
    let mut found = Vec::new();
    for (kind, sql) in ["tool", "agent"].into_iter().zip(details) {
        let mut groups =
            sqlx::query(sql).bind(from.to_chrono()).bind(to.to_chrono()).fetch_all(&mut **tx).await?;
        groups.extend(
            sqlx::query(
                "SELECT name, success, duration_ms, sum(calls)::bigint FROM usage_daily WHERE day >= $1 AND \
                    day <= $2 AND kind = $3 GROUP BY 1, 2, 3",
            )
            .bind(from.day())
            .bind(to.day())
            .bind(kind)
            .fetch_all(&mut **tx)
            .await?,
        );
        found.push(summarise(groups.iter().map(row_group).collect::<Result<_>>()?));
    }
    let agents = found.pop().unwrap_or_default();
    Ok(Analytics { tools: found.pop().unwrap_or_default(), agents })
}

fn row_group(row: &PgRow) -> Result<Group> {
    Ok(Group {
        name: row.try_get(0)?,
        success: row.try_get(1)?,
        duration_ms: uint(row.try_get(2)?)?,
        count: uint(row.try_get(3)?)?,
    })
}
