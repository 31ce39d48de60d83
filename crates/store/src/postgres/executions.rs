//! Agent runs and tool calls.

use super::connection::Tx;
use super::conversations::{self, structure, time};
use crate::error::{Error, Result};
use crate::query::{ExecutionFilter, InvocationFilter, Page};
use crate::words::{from_word, int, uint};
use serde_json::Value;
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use steward_domain::{
    AgentExecution, Check, ConversationId, ExecutionId, InvocationId, ToolId, ToolInvocation, UserId, Valid,
};
use uuid::Uuid;

pub(super) async fn put(tx: &mut Tx, owner: &UserId, execution: &Valid<AgentExecution>) -> Result<()> {
    if execution.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    if let Some(id) = execution.conversation_id {
        let known = conversations::one(tx, id).await?.filter(|known| known.user_id == *owner);
        known.ok_or(Error::NotFound { what: "conversation", id: id.to_string() })?;
    }
    sqlx::query(
        "INSERT INTO agent_execution (id, conversation_id, user_id, agent_type, input_data, output_data, \
            execution_start, execution_end,
             duration_ms, status, error_details, reasoning_trace, confidence_scores, tools_invoked)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(execution.id.0)
    .bind(execution.conversation_id.map(|id| id.0))
    .bind(owner.as_str())
    .bind(execution.agent_type.name())
    .bind(&execution.input_data)
    .bind(&execution.output_data)
    .bind(execution.execution_start.to_chrono())
    .bind(execution.execution_end.to_chrono())
    .bind(int(execution.duration_ms))
    .bind(execution.status.name())
    .bind(&execution.error_details)
    .bind(Json(&execution.reasoning_trace))
    .bind(Json(&execution.confidence_scores))
    .bind(Json(&execution.tools_invoked))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

macro_rules! select_execution {
    ($rest:literal) => {
        concat!(
            "SELECT id, conversation_id, user_id, agent_type, input_data, output_data, execution_start, \
                execution_end, duration_ms, status,
                 error_details, reasoning_trace, confidence_scores, tools_invoked
             FROM agent_execution WHERE ",
            $rest
        )
    };
}

fn row_execution(row: &PgRow) -> Result<Valid<AgentExecution>> {
    let execution = AgentExecution {
        id: ExecutionId(row.try_get(0)?),
        conversation_id: row.try_get::<Option<Uuid>, _>(1)?.map(ConversationId),
        user_id: UserId::new(row.try_get::<String, _>(2)?)?,
        agent_type: from_word(row.try_get(3)?)?,
        input_data: row.try_get(4)?,
        output_data: row.try_get(5)?,
        execution_start: time(row, 6)?,
        execution_end: time(row, 7)?,
        duration_ms: uint(row.try_get(8)?)?,
        status: from_word(row.try_get(9)?)?,
        error_details: row.try_get::<Option<Value>, _>(10)?,
        reasoning_trace: structure(row, 11)?,
        confidence_scores: structure(row, 12)?,
        tools_invoked: structure(row, 13)?,
    };
    Ok(execution.validate()?)
}

pub(super) async fn one(tx: &mut Tx, id: ExecutionId) -> Result<Option<Valid<AgentExecution>>> {
    let row = sqlx::query(select_execution!("id = $1")).bind(id.0).fetch_optional(&mut **tx).await?;
    row.map(|row| row_execution(&row)).transpose()
}

pub(super) async fn list(
    tx: &mut Tx,
    filter: &ExecutionFilter,
    page: Page,
) -> Result<Vec<Valid<AgentExecution>>> {
    sqlx::query(select_execution!(
        "($1::uuid IS NULL OR conversation_id = $1) AND ($2::text IS NULL OR agent_type = $2)
         AND ($3::timestamptz IS NULL OR execution_start >= $3) ORDER BY execution_start DESC, id LIMIT $4 \
         OFFSET $5"
    ))
    .bind(filter.conversation.map(|id| id.0))
    .bind(filter.agent.map(|agent| agent.name()))
    .bind(filter.since.map(|time| time.to_chrono()))
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_execution)
    .collect()
}

pub(super) async fn put_invocation(
    tx: &mut Tx,
    owner: &UserId,
    invocation: &Valid<ToolInvocation>,
) -> Result<()> {
    if invocation.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    if let Some(id) = invocation.agent_execution_id {
        let known = one(tx, id).await?.filter(|known| known.user_id == *owner);
        known.ok_or(Error::NotFound { what: "execution", id: id.to_string() })?;
    }
    sqlx::query(
        "INSERT INTO tool_invocation (id, user_id, agent_execution_id, tool_definition_id, input_parameters, \
            output_result,
             invocation_start, invocation_end, duration_ms, status, error_details, retry_count)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(invocation.id.0)
    .bind(owner.as_str())
    .bind(invocation.agent_execution_id.map(|id| id.0))
    .bind(invocation.tool_definition_id.0)
    .bind(Json(&invocation.input_parameters))
    .bind(&invocation.output_result)
    .bind(invocation.invocation_start.to_chrono())
    .bind(invocation.invocation_end.to_chrono())
    .bind(int(invocation.duration_ms))
    .bind(invocation.status.name())
    .bind(&invocation.error_details)
    .bind(i64::from(invocation.retry_count))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn row_invocation(row: &PgRow) -> Result<Valid<ToolInvocation>> {
    let invocation = ToolInvocation {
        id: InvocationId(row.try_get(0)?),
        user_id: UserId::new(row.try_get::<String, _>(1)?)?,
        agent_execution_id: row.try_get::<Option<Uuid>, _>(2)?.map(ExecutionId),
        tool_definition_id: ToolId(row.try_get(3)?),
        input_parameters: structure(row, 4)?,
        output_result: row.try_get::<Option<Value>, _>(5)?,
        invocation_start: time(row, 6)?,
        invocation_end: time(row, 7)?,
        duration_ms: uint(row.try_get(8)?)?,
        status: from_word(row.try_get(9)?)?,
        error_details: row.try_get::<Option<Value>, _>(10)?,
        retry_count: u32::try_from(row.try_get::<i64, _>(11)?).unwrap_or(u32::MAX),
    };
    Ok(invocation.validate()?)
}

pub(super) async fn invocations(
    tx: &mut Tx,
    filter: &InvocationFilter,
    page: Page,
) -> Result<Vec<Valid<ToolInvocation>>> {
    sqlx::query(
        "SELECT id, user_id, agent_execution_id, tool_definition_id, input_parameters, output_result, \
            invocation_start, invocation_end,
             duration_ms, status, error_details, retry_count
         FROM tool_invocation WHERE ($1::uuid IS NULL OR agent_execution_id = $1) AND ($2::uuid IS NULL OR \
         tool_definition_id = $2)
         AND ($3::text IS NULL OR status = $3) AND ($4::timestamptz IS NULL OR invocation_start >= $4)
         ORDER BY invocation_start, id LIMIT $5 OFFSET $6",
    )
    .bind(filter.execution.map(|id| id.0))
    .bind(filter.tool.map(|id| id.0))
    .bind(filter.status.map(|status| status.name()))
    .bind(filter.since.map(|time| time.to_chrono()))
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_invocation)
    .collect()
}
