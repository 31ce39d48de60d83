//! Workflows and agents: the list, their definitions, and starting a run.

use super::extract::{Authenticated, Input, PathParam};
use super::openapi::Api;
use super::problem::Problem;
use super::tasks::drawn;
use super::{Listed, Shared};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steward_domain::TaskId;

/// A workflow or an agent in a list.
#[derive(Serialize, JsonSchema)]
struct Line {
    name: String,
    /// `workflow` or `agent`.
    kind: &'static str,
    /// The display name.
    description: String,
    /// The error in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// The request to start a run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunRequest {
    /// The input: an object for workflows, text for agents.
    #[serde(default)]
    input: Value,
}

/// A started run.
#[derive(Serialize, JsonSchema)]
struct Begun {
    task_id: TaskId,
    /// The address of its event stream.
    events: String,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/workflows", "Workflows and agents that you may run")
        .needs(Right::Run)
        .gives_page::<Line>()
        .to(get(list));
    api.get("/api/v1/workflows/{name}", "One of them, with its graph")
        .needs(Right::Run)
        .gives_object(200, "`name`, `title`, `nodes`, `edges`, `mermaid`, `svg`.")
        .to(get(show));
    api.post("/api/v1/workflows/{name}/runs", "Run it; whoever is free takes it up")
        .needs(Right::Run)
        .takes::<RunRequest>()
        .gives::<Begun>(202, "It waits for its turn.")
        .to(post(run));
}

/// Whether the caller may run this workflow or agent. The name must be a plain identifier, so that
/// client input is never used as a path.
pub(super) fn runs(identity: &Identity, name: &str) -> bool {
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && identity.runs(name)
}

fn granted(identity: &Identity, name: &str) -> Result<(), Problem> {
    if runs(identity, name) {
        return Ok(());
    }
    Err(Problem::new(StatusCode::NOT_FOUND, "RUN006", format!("there is no workflow or agent {name}")))
}

async fn list(State(site): State<Shared>, Authenticated(identity): Authenticated) -> Json<Listed<Line>> {
    let (workflows, agents) = site.runner.defined();
    let named = workflows
        .into_iter()
        .map(|name| (name, "workflow"))
        .chain(agents.into_iter().map(|name| (name, "agent")));
    let mut items = Vec::new();
    for (name, kind) in named.filter(|(name, _)| runs(&identity, name)) {
        let (description, problem) = match site.runner.program(&name).await {
            Ok(program) => (program.definition().root.title().to_string(), None),
            Err(error) => (String::new(), Some(error.to_string())),
        };
        items.push(Line { name, kind, description, problem });
    }
    Json(Listed { items, next: None })
}

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(name): PathParam<String>,
) -> Result<Json<Value>, Problem> {
    granted(&identity, &name)?;
    let program = site.runner.program(&name).await?;
    let mut document = drawn(&program, None);
    if let Some(document) = document.as_object_mut() {
        document.insert("name".into(), json!(name));
    }
    Ok(Json(document))
}

async fn run(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(name): PathParam<String>,
    Input(RunRequest { input }): Input<RunRequest>,
) -> Result<(StatusCode, Json<Begun>), Problem> {
    granted(&identity, &name)?;
    if site.is_stopping() {
        return Err(Problem::stopping());
    }
    let task_id = site.runner.submit(&identity.user, &name, &input).await?;
    Ok((StatusCode::ACCEPTED, Json(Begun { task_id, events: format!("/api/v1/tasks/{task_id}/events") })))
}
