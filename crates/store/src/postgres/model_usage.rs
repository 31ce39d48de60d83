//! Model usage by day, user and model.

use super::connection::Tx;
use crate::error::Result;
use crate::words::{int, uint};
use sqlx::Row as _;
use steward_domain::{Label, ModelUsage, UserId};

pub(super) async fn add(tx: &mut Tx, owner: &UserId, usage: &ModelUsage) -> Result<()> {
    if usage.user_id != *owner {
        return Err(crate::Error::OtherOwner);
    }
    sqlx::query(
        "INSERT INTO model_usage VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (day, user_id, model) DO UPDATE SET calls = model_usage.calls + excluded.calls,
           input_tokens = model_usage.input_tokens + excluded.input_tokens,
           output_tokens = model_usage.output_tokens + excluded.output_tokens,
           cached_tokens = model_usage.cached_tokens + excluded.cached_tokens,
           cost_micros = model_usage.cost_micros + excluded.cost_micros",
    )
    .bind(&usage.day)
    .bind(owner.as_str())
    .bind(usage.model.as_str())
    .bind(int(usage.calls))
    .bind(int(usage.input_tokens))
    .bind(int(usage.output_tokens))
    .bind(int(usage.cached_tokens))
    .bind(int(usage.cost_micros))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(super) async fn list(tx: &mut Tx, from_day: &str, to_day: &str) -> Result<Vec<ModelUsage>> {
    let rows = sqlx::query(
        "SELECT day, user_id, model, calls, input_tokens, output_tokens, cached_tokens, cost_micros FROM model_usage
         WHERE day >= $1 AND day <= $2 ORDER BY day, user_id, model",
    )
    .bind(from_day)
    .bind(to_day)
    .fetch_all(&mut **tx)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(ModelUsage {
                day: row.try_get(0)?,
                user_id: UserId::new(row.try_get::<String, _>(1)?)?,
                model: Label::new(row.try_get::<String, _>(2)?)?,
                calls: uint(row.try_get(3)?)?,
                input_tokens: uint(row.try_get(4)?)?,
                output_tokens: uint(row.try_get(5)?)?,
                cached_tokens: uint(row.try_get(6)?)?,
                cost_micros: uint(row.try_get(7)?)?,
            })
        })
        .collect()
}
