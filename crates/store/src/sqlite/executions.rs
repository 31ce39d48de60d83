//! Agent runs and tool calls.

use super::journal::user;
use crate::error::{Error, Result};
use crate::query::{ExecutionFilter, InvocationFilter, Page, Scope};
use crate::words::{from_json, from_json_option, from_word, int, json, uint};
use rusqlite::{Connection, OptionalExtension, Row, params};
use steward_domain::{
    AgentExecution, Check, ConversationId, ExecutionId, InvocationId, Timestamp, ToolId, ToolInvocation,
    UserId, Valid,
};

pub(super) fn put(db: &Connection, owner: &UserId, execution: &Valid<AgentExecution>) -> Result<()> {
    if execution.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    if let Some(id) = execution.conversation_id {
        super::conversations::one(db, &Scope::User(owner.clone()), id)?
            .ok_or(Error::NotFound { what: "conversation", id: id.to_string() })?;
    }
    db.prepare_cached(
        "INSERT INTO agent_execution (id, conversation_id, user_id, agent_type, input_data, output_data, \
            execution_start, execution_end,
             duration_ms, status, error_details, reasoning_trace, confidence_scores, tools_invoked)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        execution.id.0,
        execution.conversation_id.map(|id| id.0),
        owner.as_str(),
        execution.agent_type.name(),
        json(&execution.input_data)?,
        json(&execution.output_data)?,
        execution.execution_start.micros(),
        execution.execution_end.micros(),
        int(execution.duration_ms),
        execution.status.name(),
        execution.error_details.as_ref().map(json).transpose()?,
        json(&execution.reasoning_trace)?,
        json(&execution.confidence_scores)?,
        json(&execution.tools_invoked)?,
    ])?;
    Ok(())
}

const EXECUTION: &str =
    "id, conversation_id, user_id, agent_type, input_data, output_data, execution_start, \
    execution_end, duration_ms,
    status, error_details, reasoning_trace, confidence_scores, tools_invoked";

fn row_execution(row: &Row<'_>) -> Result<Valid<AgentExecution>> {
    let text = |column| row.get::<_, String>(column);
    let execution = AgentExecution {
        id: ExecutionId(row.get(0)?),
        conversation_id: row.get::<_, Option<uuid::Uuid>>(1)?.map(ConversationId),
        user_id: UserId::new(text(2)?)?,
        agent_type: from_word(text(3)?)?,
        input_data: from_json(&text(4)?)?,
        output_data: from_json(&text(5)?)?,
        execution_start: Timestamp::from_micros(row.get(6)?),
        execution_end: Timestamp::from_micros(row.get(7)?),
        duration_ms: uint(row.get(8)?)?,
        status: from_word(text(9)?)?,
        error_details: from_json_option(row.get(10)?)?,
        reasoning_trace: from_json(&text(11)?)?,
        confidence_scores: from_json(&text(12)?)?,
        tools_invoked: from_json(&text(13)?)?,
    };
    Ok(execution.validate()?)
}

pub(super) fn one(db: &Connection, scope: &Scope, id: ExecutionId) -> Result<Option<Valid<AgentExecution>>> {
    db.prepare_cached(&format!(
        "SELECT {EXECUTION} FROM agent_execution WHERE id = ?1 AND (?2 IS NULL OR user_id = ?2)"
    ))?
    .query_row(params![id.0, user(scope)], |row| Ok(row_execution(row)))
    .optional()?
    .transpose()
}

pub(super) fn list(
    db: &Connection,
    scope: &Scope,
    filter: &ExecutionFilter,
    page: Page,
) -> Result<Vec<Valid<AgentExecution>>> {
    let whose = if scope.user().is_some() { "user_id = ?1" } else { "?1 IS NULL" };
    let which = if filter.conversation.is_some() { "conversation_id = ?2" } else { "?2 IS NULL" };
    db.prepare_cached(&format!(
        "SELECT {EXECUTION} FROM agent_execution WHERE {whose} AND {which} AND (?3 IS NULL OR agent_type = ?3)
         AND (?4 IS NULL OR execution_start >= ?4) ORDER BY execution_start DESC, id LIMIT ?5 OFFSET ?6"
    ))?
    .query_map(
        params![
            user(scope),
            filter.conversation.map(|id| id.0),
            filter.agent.map(|agent| agent.name()),
            filter.since.map(|time| time.micros()),
            page.limit,
            page.offset,
        ],
        |row| Ok(row_execution(row)),
    )?
    .map(|execution| execution?)
    .collect()
}

pub(super) fn put_invocation(
    db: &Connection,
    owner: &UserId,
    invocation: &Valid<ToolInvocation>,
) -> Result<()> {
    if invocation.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    if let Some(id) = invocation.agent_execution_id {
        one(db, &Scope::User(owner.clone()), id)?
            .ok_or(Error::NotFound { what: "execution", id: id.to_string() })?;
    }
    db.prepare_cached(
        "INSERT INTO tool_invocation (id, user_id, agent_execution_id, tool_definition_id, input_parameters, \
            output_result,
             invocation_start, invocation_end, duration_ms, status, error_details, retry_count)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        invocation.id.0,
        owner.as_str(),
        invocation.agent_execution_id.map(|id| id.0),
        invocation.tool_definition_id.0,
        json(&invocation.input_parameters)?,
        invocation.output_result.as_ref().map(json).transpose()?,
        invocation.invocation_start.micros(),
        invocation.invocation_end.micros(),
        int(invocation.duration_ms),
        invocation.status.name(),
        invocation.error_details.as_ref().map(json).transpose()?,
        invocation.retry_count,
    ])?;
    Ok(())
}

fn row_invocation(row: &Row<'_>) -> Result<Valid<ToolInvocation>> {
    let invocation = ToolInvocation {
        id: InvocationId(row.get(0)?),
        user_id: UserId::new(row.get::<_, String>(1)?)?,
        agent_execution_id: row.get::<_, Option<uuid::Uuid>>(2)?.map(ExecutionId),
        tool_definition_id: ToolId(row.get(3)?),
        input_parameters: from_json(&row.get::<_, String>(4)?)?,
        output_result: from_json_option(row.get(5)?)?,
        invocation_start: Timestamp::from_micros(row.get(6)?),
        invocation_end: Timestamp::from_micros(row.get(7)?),
        duration_ms: uint(row.get(8)?)?,
        status: from_word(row.get(9)?)?,
        error_details: from_json_option(row.get(10)?)?,
        retry_count: row.get(11)?,
    };
    Ok(invocation.validate()?)
}

pub(super) fn invocations(
    db: &Connection,
    scope: &Scope,
    filter: &InvocationFilter,
    page: Page,
) -> Result<Vec<Valid<ToolInvocation>>> {
    let which = if filter.execution.is_some() { "agent_execution_id = ?2" } else { "?2 IS NULL" };
    db.prepare_cached(&format!(
        "SELECT id, user_id, agent_execution_id, tool_definition_id, input_parameters, output_result, \
            invocation_start, invocation_end,
             duration_ms, status, error_details, retry_count
         FROM tool_invocation WHERE (?1 IS NULL OR user_id = ?1) AND {which} AND (?3 IS NULL OR \
         tool_definition_id = ?3)
         AND (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR invocation_start >= ?5) ORDER BY \
         invocation_start, id LIMIT ?6 OFFSET ?7"
    ))?
    .query_map(
        params![
            user(scope),
            filter.execution.map(|id| id.0),
            filter.tool.map(|id| id.0),
            filter.status.map(|status| status.name()),
            filter.since.map(|time| time.micros()),
            page.limit,
            page.offset,
        ],
        |row| Ok(row_invocation(row)),
    )?
    .map(|invocation| invocation?)
    .collect()
}
