//! Tool definitions.

use super::connection::{Database, Tx};
use super::conversations::{structure, time};
use crate::error::{Error, Result};
use crate::query::{Nearest, Page, Scope};
use crate::rules::newest;
use crate::words::{from_word, word};
use pgvector::Vector;
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use steward_domain::{
    CategoryName, Check, Description, DomainName, SemanticVersion, ServerName, Timestamp, ToolDefinition,
    ToolId, ToolName, ToolTimeout, Valid,
};

pub(super) async fn put(tx: &mut Tx, tool: &Valid<ToolDefinition>) -> Result<()> {
    sqlx::query(
        "INSERT INTO tool_definition (id, tool_name, tool_version, application_domain, origin, server, \
            category, description,
             description_embedding, parameter_schema, return_schema, is_active, requires_validation, \
             timeout_seconds, fallback_tools,
             approval, idempotency, created_at, updated_at, metadata)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
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
    )
    .bind(tool.id.0)
    .bind(tool.tool_name.as_str())
    .bind(tool.tool_version.as_str())
    .bind(tool.application_domain.as_str())
    .bind(word(&tool.origin)?)
    .bind(tool.server.as_ref().map(|server| server.as_str()))
    .bind(tool.category.as_ref().map(|category| category.as_str()))
    .bind(tool.description.as_str())
    .bind(tool.description_embedding.clone().map(Vector::from))
    .bind(Json(&tool.parameter_schema))
    .bind(Json(&tool.return_schema))
    .bind(tool.is_active)
    .bind(tool.requires_validation)
    .bind(i64::from(tool.timeout_seconds.get()))
    .bind(Json(&tool.fallback_tools))
    .bind(word(&tool.approval)?)
    .bind(word(&tool.idempotency)?)
    .bind(tool.created_at.to_chrono())
    .bind(tool.updated_at.to_chrono())
    .bind(Json(&tool.metadata))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(super) async fn retire(tx: &mut Tx, id: ToolId, at: Timestamp) -> Result<()> {
    let done = sqlx::query(
        "UPDATE tool_definition SET is_active = FALSE, updated_at = greatest(updated_at, $2) WHERE id = $1",
    )
    .bind(id.0)
    .bind(at.to_chrono())
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(Error::NotFound { what: "tool", id: id.to_string() }) }
}

macro_rules! select_tool {
    ($rest:literal) => {
        concat!(
            "SELECT id, tool_name, tool_version, application_domain, origin, server, category, description, \
                description_embedding,
                 parameter_schema, return_schema, is_active, requires_validation, timeout_seconds, \
                 fallback_tools, approval, idempotency,
                 created_at, updated_at, metadata
             FROM tool_definition WHERE ",
            $rest
        )
    };
}

fn row_tool(row: &PgRow) -> Result<Valid<ToolDefinition>> {
    let text = |column: usize| row.try_get::<String, _>(column);
    let tool = ToolDefinition {
        id: ToolId(row.try_get(0)?),
        tool_name: ToolName::new(text(1)?)?,
        tool_version: SemanticVersion::new(text(2)?)?,
        application_domain: DomainName::new(text(3)?)?,
        origin: from_word(text(4)?)?,
        server: row.try_get::<Option<String>, _>(5)?.map(ServerName::new).transpose()?,
        category: row.try_get::<Option<String>, _>(6)?.map(CategoryName::new).transpose()?,
        description: Description::new(text(7)?)?,
        description_embedding: row.try_get::<Option<Vector>, _>(8)?.map(Vec::from),
        parameter_schema: structure(row, 9)?,
        return_schema: structure(row, 10)?,
        is_active: row.try_get(11)?,
        requires_validation: row.try_get(12)?,
        timeout_seconds: ToolTimeout::new(u32::try_from(row.try_get::<i64, _>(13)?).unwrap_or(0))?,
        fallback_tools: structure(row, 14)?,
        approval: from_word(text(15)?)?,
        idempotency: from_word(text(16)?)?,
        created_at: time(row, 17)?,
        updated_at: time(row, 18)?,
        metadata: structure(row, 19)?,
    };
    Ok(tool.validate()?)
}

pub(super) async fn one(
    tx: &mut Tx,
    name: &ToolName,
    version: Option<&SemanticVersion>,
) -> Result<Option<Valid<ToolDefinition>>> {
    let found = sqlx::query(select_tool!("tool_name = $1 AND ($2::text IS NULL OR tool_version = $2)"))
        .bind(name.as_str())
        .bind(version.map(|version| version.as_str()))
        .fetch_all(&mut **tx)
        .await?
        .iter()
        .map(row_tool)
        .collect::<Result<_>>()?;
    Ok(newest(found, version.is_some()))
}

pub(super) async fn list(
    tx: &mut Tx,
    domain: Option<&DomainName>,
    page: Page,
) -> Result<Vec<Valid<ToolDefinition>>> {
    sqlx::query(select_tool!(
        "is_active AND ($1::text IS NULL OR application_domain = $1) ORDER BY tool_name COLLATE \"C\", \
            tool_version LIMIT $2 OFFSET $3"
    ))
    .bind(domain.map(|domain| domain.as_str()))
    .bind(i64::from(page.limit))
    .bind(i64::from(page.offset))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_tool)
    .collect()
}

pub(super) async fn nearest(
    db: &Database,
    meaning: &[f32],
    domain: Option<&DomainName>,
    limit: u32,
) -> Result<Vec<Nearest<Valid<ToolDefinition>>>> {
    let width = meaning.len();
    db.index_vectors(width).await?;
    let mut tx = db.begin(&Scope::System).await?;
    // A wide search that continues until enough rows pass the filter: practically exact at our
    // sizes.
    sqlx::query(
        "SELECT set_config('hnsw.ef_search', '100', true), set_config('hnsw.iterative_scan', \
        'strict_order', true)",
    )
    .execute(&mut *tx)
    .await?;
    let near = format!(
        "SELECT t.*, near.distance FROM (
             SELECT id AS near_id, description_embedding::vector({width}) <=> $1 AS distance FROM tool_definition
             WHERE vector_dims(description_embedding) = {width} AND is_active AND ($2::text IS NULL OR \
             application_domain = $2)
             ORDER BY description_embedding::vector({width}) <=> $1 LIMIT $3
         ) near JOIN ({}) t ON t.id = near.near_id ORDER BY near.distance, t.tool_name COLLATE \"C\", \
         t.tool_version",
        select_tool!("TRUE")
    );
    sqlx::query(sqlx::AssertSqlSafe(near))
        .bind(Vector::from(meaning.to_vec()))
        .bind(domain.map(|domain| domain.as_str()))
        .bind(i64::from(limit))
        .fetch_all(&mut *tx)
        .await?
        .iter()
        .map(|row| Ok(Nearest { item: row_tool(row)?, distance: row.try_get::<f64, _>(20)? as f32 }))
        .collect()
}
