//! Files of answers. Only files in the journal of the caller's own tasks are served.

use super::extract::{Authenticated, PathParam};
use super::openapi::Api;
use super::problem::Problem;
use super::{Shared, scope};
use crate::mcp_gateway::kind_of;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use std::path::Path;
use steward_domain::{Artifact, ArtifactId, ArtifactKind, TaskId, Valid};
use steward_runtime::ask::placed;
use steward_store::Scope;

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/artifacts/{task}/{id}", "A file of an answer")
        .gives_kind(200, "Its bytes.", "application/octet-stream")
        .to(get(file));
    api.get("/api/v1/tasks/{id}/reply", "The whole answer of an earlier turn, with its tables and charts")
        .gives_object(200, "The reply.")
        .to(get(reply));
}

/// An artifact with its file name. The path on the server is not shown.
pub(super) fn shown(artifact: &Artifact) -> Value {
    let name =
        Path::new(&artifact.content_ref).file_name().unwrap_or_default().to_string_lossy().into_owned();
    json!({
        "artifact_id": artifact.artifact_id, "artifact_type": artifact.artifact_type, "name": name,
        "content_hash": artifact.content_hash, "size_bytes": artifact.size_bytes, "created_at": artifact.created_at,
        "address": format!("/api/v1/artifacts/{}/{}", artifact.request_id, artifact.artifact_id),
    })
}

async fn of_task(
    site: &Shared,
    who: &crate::identity::Identity,
    task: TaskId,
) -> Result<Vec<Valid<Artifact>>, Problem> {
    Ok(site.store().artifacts(&scope(who), task).await?)
}

async fn file(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam((task, id)): PathParam<(TaskId, ArtifactId)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let found = of_task(&site, &identity, task).await?.into_iter().find(|one| one.artifact_id == id);
    let found = found.ok_or_else(|| Problem::missing("artifact", id))?;
    let tag = format!("\"{}\"", found.content_hash);
    if headers.get(IF_NONE_MATCH).and_then(|sent| sent.to_str().ok()) == Some(tag.as_str()) {
        return Ok(StatusCode::NOT_MODIFIED.into_response());
    }
    let path = placed(&site.app().artifacts, &found.content_ref);
    let gone = |_| Problem::new(StatusCode::GONE, "STO001", "the file is not there any more");
    let bytes = tokio::fs::read(&path).await.map_err(gone)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    let headers = [
        (CONTENT_TYPE, kind_of(&path).to_owned()),
        (CONTENT_DISPOSITION, format!("inline; filename=\"{name}\"")),
        // A report is served as a sandboxed document.
        (
            CONTENT_SECURITY_POLICY,
            "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:".to_owned(),
        ),
        (ETAG, tag),
    ];
    Ok((headers, bytes).into_response())
}

async fn reply(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<Value>, Problem> {
    reply_of(&site, &scope(&identity), id).await.map(Json)
}

/// The stored reply of a task in the scope.
pub(super) async fn reply_of(site: &Shared, scope: &Scope, id: TaskId) -> Result<Value, Problem> {
    let missing = || Problem::missing("kept answer of task", id);
    let found = site.store().artifacts(scope, id).await?;
    let kept = found.iter().find(|one| one.artifact_type == ArtifactKind::Summary).ok_or_else(missing)?;
    let bytes =
        tokio::fs::read(placed(&site.app().artifacts, &kept.content_ref)).await.map_err(|_| missing())?;
    serde_json::from_slice(&bytes).map_err(|_| missing())
}

/// Reduces a path to its file name.
pub(super) fn strip_path(one: &mut Value, field: &str) {
    if let Some(Value::String(path)) = one.get_mut(field) {
        *path = path.rsplit('/').next().unwrap_or_default().to_owned();
    }
}
