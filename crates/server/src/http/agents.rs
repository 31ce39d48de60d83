//! Endpoints of the four agents: orchestrator, validation, conversation, error recovery.

use super::extract::{Authenticated, Input, PathParam};
use super::openapi::Api;
use super::problem::Problem;
use super::turns::TurnRequest;
use super::{Shared, scope};
use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::{ConversationId, ExecutionId};
use steward_language::skill::{Recent, humanise, resolved};
use steward_store::EntitySearch;

/// A text whose references are to be resolved.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Refer {
    #[schemars(length(min = 1, max = 100_000))]
    message: String,
    /// The conversation with the entities that the references mean.
    conversation_id: ConversationId,
}

/// An error to explain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ErrorReport {
    /// The error as the tool returned it.
    #[schemars(length(max = 100_000))]
    error: String,
    /// The action that failed, such as "create the task".
    #[serde(default)]
    doing: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    api.post("/api/v1/agents/orchestrator/invoke", "Say something and have it done")
        .takes::<TurnRequest>()
        .gives_object(200, "The reply.")
        .to(post(invoke));
    api.post("/api/v1/agents/validation/check", "Whether what a message acts on exists; nothing is changed")
        .takes::<TurnRequest>()
        .gives_object(200, "`valid`, `question`, `checks`.")
        .to(post(check));
    api.post(
        "/api/v1/agents/conversation/resolve-references",
        "What words such as \"it\" and \"the first one\" stand for",
    )
    .takes::<Refer>()
    .gives_object(200, "`references`.")
    .to(post(refer));
    api.post("/api/v1/agents/error-recovery/handle", "An error in plain words, with what to do next")
        .takes::<ErrorReport>()
        .gives_object(200, "`message`, `next`, `trouble`, `remedy`, `confidence`.")
        .to(post(recover));
    api.get("/api/v1/agents/executions/{id}", "One decision of an agent")
        .gives_object(200, "The execution.")
        .to(get(execution));
}

async fn invoke(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(say): Input<TurnRequest>,
) -> Result<Json<Value>, Problem> {
    site.answered(&identity, &say).await.map(Json)
}

async fn check(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(say): Input<TurnRequest>,
) -> Result<Json<Value>, Problem> {
    let turn = site.turn(&identity, &say)?;
    Ok(Json(site.chat.validate(&turn).await?))
}

async fn refer(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(refer): Input<Refer>,
) -> Result<Json<Value>, Problem> {
    let (scope, id) = (scope(&identity), refer.conversation_id);
    if site.store().conversation(&scope, id).await?.is_none() {
        return Err(Problem::missing("conversation", id));
    }
    let known = site.store().entities(&scope, id, EntitySearch::Recent, 50).await?;
    let recent: Vec<Recent> = known.iter().map(|entity| Recent::from(&**entity)).collect();
    Ok(Json(resolved(&refer.message, &recent)))
}

async fn recover(
    State(_): State<Shared>,
    Authenticated(_): Authenticated,
    Input(trouble): Input<ErrorReport>,
) -> Json<Value> {
    let humane = humanise(&trouble.error, trouble.doing.as_deref());
    Json(json!({
        "message": humane.message, "next": humane.next, "trouble": format!("{:?}", humane.trouble).to_lowercase(),
        "remedy": format!("{:?}", humane.remedy).to_lowercase(), "confidence": humane.confidence, "reasons": humane.reasons,
    }))
}

async fn execution(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ExecutionId>,
) -> Result<Json<Value>, Problem> {
    let found = site.store().execution(&scope(&identity), id).await?;
    found.map(|found| Json(json!(found))).ok_or_else(|| Problem::missing("execution", id))
}
