//! Tool definitions.

use super::vectors::ToolVectors;
use crate::error::{Error, Result};
use crate::query::{Nearest, Page};
use crate::rules::newest;
use crate::words::{from_json, from_word, json, vector_bytes, vector_from_bytes, word};
use rusqlite::{Connection, Row, params};
use steward_domain::{
    CategoryName, Check, Description, DomainName, SemanticVersion, ServerName, Timestamp, ToolDefinition,
    ToolId, ToolName, ToolTimeout, Valid,
};

pub(super) fn put(db: &Connection, tool: &Valid<ToolDefinition>) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO tool_definition (id, tool_name, tool_version, application_domain, origin, server, \
            category, description,
             description_embedding, parameter_schema, return_schema, is_active, requires_validation, \
             timeout_seconds, fallback_tools,
             approval, idempotency, created_at, updated_at, metadata)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
         ON CONFLICT (id) DO UPDATE SET tool_name = excluded.tool_name, tool_version = excluded.tool_version,
             application_domain = excluded.application_domain, origin = excluded.origin, server = excluded.server,
             category = excluded.category, description = excluded.description, description_embedding = \
             excluded.description_embedding,
             parameter_schema = excluded.parameter_schema, return_schema = excluded.return_schema, is_active \
             = excluded.is_active,
             requires_validation = excluded.requires_validation, timeout_seconds = excluded.timeout_seconds,
             fallback_tools = excluded.fallback_tools, approval = excluded.approval, idempotency = \
             excluded.idempotency,
             updated_at = excluded.updated_at, metadata = excluded.metadata",
    )?
    .execute(params![
        tool.id.0,
        tool.tool_name.as_str(),
        tool.tool_version.as_str(),
        tool.application_domain.as_str(),
        word(&tool.origin)?,
        tool.server.as_ref().map(|server| server.as_str()),
        tool.category.as_ref().map(|category| category.as_str()),
        tool.description.as_str(),
        tool.description_embedding.as_deref().map(vector_bytes),
        json(&tool.parameter_schema)?,
        json(&tool.return_schema)?,
        tool.is_active,
        tool.requires_validation,
        tool.timeout_seconds.get(),
        json(&tool.fallback_tools)?,
        word(&tool.approval)?,
        word(&tool.idempotency)?,
        tool.created_at.micros(),
        tool.updated_at.micros(),
        json(&tool.metadata)?,
    ])?;
    Ok(())
}

pub(super) fn retire(db: &Connection, id: ToolId, at: Timestamp) -> Result<()> {
    let rows = db
        .prepare_cached(
            "UPDATE tool_definition SET is_active = 0, updated_at = max(updated_at, ?2) WHERE id = ?1",
        )?
        .execute(params![id.0, at.micros()])?;
    if rows == 1 { Ok(()) } else { Err(Error::NotFound { what: "tool", id: id.to_string() }) }
}

const TOOL: &str = "id, tool_name, tool_version, application_domain, origin, server, category, description, \
    description_embedding,
    parameter_schema, return_schema, is_active, requires_validation, timeout_seconds, fallback_tools, \
    approval, idempotency, created_at,
    updated_at, metadata";

fn row_tool(row: &Row<'_>) -> Result<Valid<ToolDefinition>> {
    let text = |column| row.get::<_, String>(column);
    let tool = ToolDefinition {
        id: ToolId(row.get(0)?),
        tool_name: ToolName::new(text(1)?)?,
        tool_version: SemanticVersion::new(text(2)?)?,
        application_domain: DomainName::new(text(3)?)?,
        origin: from_word(text(4)?)?,
        server: row.get::<_, Option<String>>(5)?.map(ServerName::new).transpose()?,
        category: row.get::<_, Option<String>>(6)?.map(CategoryName::new).transpose()?,
        description: Description::new(text(7)?)?,
        description_embedding: row.get::<_, Option<Vec<u8>>>(8)?.map(|bytes| vector_from_bytes(&bytes)),
        parameter_schema: from_json(&text(9)?)?,
        return_schema: from_json(&text(10)?)?,
        is_active: row.get(11)?,
        requires_validation: row.get(12)?,
        timeout_seconds: ToolTimeout::new(row.get(13)?)?,
        fallback_tools: from_json(&text(14)?)?,
        approval: from_word(text(15)?)?,
        idempotency: from_word(text(16)?)?,
        created_at: Timestamp::from_micros(row.get(17)?),
        updated_at: Timestamp::from_micros(row.get(18)?),
        metadata: from_json(&text(19)?)?,
    };
    Ok(tool.validate()?)
}

pub(super) fn one(
    db: &Connection,
    name: &ToolName,
    version: Option<&SemanticVersion>,
) -> Result<Option<Valid<ToolDefinition>>> {
    let found: Vec<Valid<ToolDefinition>> = db
        .prepare_cached(&format!(
            "SELECT {TOOL} FROM tool_definition WHERE tool_name = ?1 AND (?2 IS NULL OR tool_version = ?2)"
        ))?
        .query_map(params![name.as_str(), version.map(|version| version.as_str())], |row| Ok(row_tool(row)))?
        .map(|tool| tool?)
        .collect::<Result<_>>()?;
    Ok(newest(found, version.is_some()))
}

pub(super) fn list(
    db: &Connection,
    domain: Option<&DomainName>,
    page: Page,
) -> Result<Vec<Valid<ToolDefinition>>> {
    db.prepare_cached(&format!(
        "SELECT {TOOL} FROM tool_definition WHERE is_active = 1 AND (?1 IS NULL OR application_domain = ?1)
         ORDER BY tool_name, tool_version LIMIT ?2 OFFSET ?3"
    ))?
    .query_map(params![domain.map(|domain| domain.as_str()), page.limit, page.offset], |row| {
        Ok(row_tool(row))
    })?
    .map(|tool| tool?)
    .collect()
}

pub(super) fn nearest(
    db: &Connection,
    vectors: &ToolVectors,
    meaning: &[f32],
    domain: Option<&DomainName>,
    limit: u32,
) -> Result<Vec<Nearest<Valid<ToolDefinition>>>> {
    let vectors = vectors.current(db)?;
    let mut statement = db.prepare_cached(&format!("SELECT {TOOL} FROM tool_definition WHERE id = ?1"))?;
    vectors
        .nearest(meaning, domain.map(|domain| domain.as_str()), limit as usize)
        .into_iter()
        .map(|(id, distance)| {
            Ok(Nearest { item: statement.query_row([id], |row| Ok(row_tool(row)))??, distance })
        })
        .collect()
}
