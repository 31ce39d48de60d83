//! Recipes, records of agents, and usage statistics.

use super::extract::{Authenticated, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{Listed, Paging, Shared, scope};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{delete, get};
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::{AgentExecution, ConversationId, ExecutionId, Recipe, RecipeId, Timestamp, Valid};
use steward_store::{ExecutionFilter, InvocationFilter, Page};

#[derive(Deserialize)]
struct Executions {
    limit: Option<u32>,
    cursor: Option<String>,
    conversation_id: Option<ConversationId>,
}

#[derive(Deserialize)]
struct Window {
    days: Option<u16>,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/recipes", "Plans that worked before, last used first")
        .paged()
        .gives_object(200, "`items`, `next`.")
        .to(get(recipes));
    api.delete("/api/v1/recipes/{id}", "Delete a recipe: the next question like it is planned anew")
        .gives_nothing("It is gone.")
        .to(delete(delete_recipe));
    api.get("/api/v1/executions", "What the agents decided, newest first")
        .paged()
        .query("conversation_id", json!({ "type": "string", "format": "uuid" }), "Only in this conversation.")
        .gives_page::<AgentExecution>()
        .to(get(executions));
    api.get("/api/v1/executions/{id}", "One decision with its reasoning and its calls")
        .gives_object(200, "`execution`, `invocations`.")
        .to(get(execution));
    api.get("/api/v1/analytics", "Success, mean and p95 of your tools and agents")
        .query(
            "days",
            json!({ "type": "integer", "minimum": 1, "maximum": 365, "default": 7 }),
            "The last so many days.",
        )
        .gives_object(200, "`tools`, `agents`.")
        .to(get(analytics));
    api.get("/api/v1/models/usage", "What language models used for you, by day and model")
        .query(
            "days",
            json!({ "type": "integer", "minimum": 1, "maximum": 365, "default": 7 }),
            "The last so many days, today included.",
        )
        .gives_object(200, "`from`, `to`, `items`.")
        .to(get(model_usage));
}

/// A recipe without its vectors.
fn shown(recipe: &Recipe) -> Value {
    json!({
        "id": recipe.recipe_id, "question": recipe.intent_template,
        "schema_fingerprint": recipe.schema_fingerprint, "plan": recipe.plan_structure, "arguments": recipe.tool_argument_templates,
        "uses": recipe.success_count, "created_at": recipe.created_at,
        "last_used_at": recipe.last_used_at,
    })
}

async fn recipes(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(paging): Queried<Paging>,
) -> Result<Json<Listed<Value>>, Problem> {
    let page = paging.page()?;
    let found = site.store().recipes(&scope(&identity), page).await?;
    Ok(Json(Paging::listed(page, found.iter().map(|recipe| shown(recipe)).collect())))
}

async fn delete_recipe(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<RecipeId>,
) -> Result<StatusCode, Problem> {
    steward_runtime::delete_recipe(&**site.store(), &scope(&identity), id, "api").await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn executions(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(wanted): Queried<Executions>,
) -> Result<Json<Listed<AgentExecution>>, Problem> {
    let page = Paging { limit: wanted.limit, cursor: wanted.cursor }.page()?;
    let filter = ExecutionFilter { conversation: wanted.conversation_id, ..ExecutionFilter::default() };
    let found = site.store().executions(&scope(&identity), filter, page).await?;
    Ok(Json(Paging::listed(page, found.into_iter().map(Valid::into_inner).collect())))
}

async fn execution(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ExecutionId>,
) -> Result<Json<Value>, Problem> {
    let scope = scope(&identity);
    let found = site.store().execution(&scope, id).await?.ok_or_else(|| Problem::missing("execution", id))?;
    let filter = InvocationFilter { execution: Some(id), ..InvocationFilter::default() };
    let invocations = site.store().invocations(&scope, filter, Page::first(100)).await?;
    Ok(Json(json!({ "execution": found, "invocations": invocations })))
}

async fn model_usage(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(Window { days }): Queried<Window>,
) -> Result<Json<Value>, Problem> {
    let days = days.unwrap_or(7);
    if !(1..=365).contains(&days) {
        return Err(Problem::input(format!("days must be from 1 to 365, found {days}")));
    }
    let now = site.now();
    let first = Timestamp::from_micros(now.micros() - (i64::from(days) - 1) * 86_400_000_000);
    let (from, to) = (first.day(), now.day());
    let items = site.store().model_usage(&scope(&identity), &from, &to).await?;
    Ok(Json(json!({ "from": from, "to": to, "items": items })))
}

async fn analytics(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(Window { days }): Queried<Window>,
) -> Result<Json<Value>, Problem> {
    let days = days.unwrap_or(7);
    if !(1..=365).contains(&days) {
        return Err(Problem::input(format!("days must be from 1 to 365, found {days}")));
    }
    let now = site.now();
    let from = Timestamp::from_micros(now.micros() - i64::from(days) * 86_400_000_000);
    let found = site.store().analytics(&scope(&identity), from, now).await?;
    Ok(Json(json!({ "from": from, "to": now, "tools": found.tools, "agents": found.agents })))
}
