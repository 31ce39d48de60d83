//! Model usage by day, user and model.

use super::journal::user;
use crate::error::Result;
use crate::query::Scope;
use crate::words::{int, uint};
use rusqlite::{Connection, params};
use steward_domain::{Label, ModelUsage, UserId};

pub(super) fn add(db: &Connection, owner: &UserId, usage: &ModelUsage) -> Result<()> {
    if usage.user_id != *owner {
        return Err(crate::Error::OtherOwner);
    }
    db.prepare_cached(
        "INSERT INTO model_usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (day, user_id, model) DO UPDATE SET calls = calls + excluded.calls,
           input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + \
           excluded.output_tokens,
           cached_tokens = cached_tokens + excluded.cached_tokens, cost_micros = cost_micros + \
           excluded.cost_micros",
    )?
    .execute(params![
        usage.day,
        owner.as_str(),
        usage.model.as_str(),
        int(usage.calls),
        int(usage.input_tokens),
        int(usage.output_tokens),
        int(usage.cached_tokens),
        int(usage.cost_micros),
    ])?;
    Ok(())
}

pub(super) fn list(db: &Connection, scope: &Scope, from_day: &str, to_day: &str) -> Result<Vec<ModelUsage>> {
    db.prepare_cached(
        "SELECT day, user_id, model, calls, input_tokens, output_tokens, cached_tokens, cost_micros FROM model_usage
         WHERE day >= ?1 AND day <= ?2 AND (?3 IS NULL OR user_id = ?3) ORDER BY day, user_id, model",
    )?
    .query_map(params![from_day, to_day, user(scope)], |row| {
        let numbers: [i64; 5] = [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?];
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, numbers))
    })?
    .map(|row| {
        let (day, user_id, model, [calls, input, output, cached, cost]) = row?;
        Ok(ModelUsage {
            day,
            user_id: UserId::new(user_id)?,
            model: Label::new(model)?,
            calls: uint(calls)?,
            input_tokens: uint(input)?,
            output_tokens: uint(output)?,
            cached_tokens: uint(cached)?,
            cost_micros: uint(cost)?,
        })
    })
    .collect()
}
