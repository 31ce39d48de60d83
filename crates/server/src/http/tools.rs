//! Tools, servers, domains and skills that the caller may use, and calling a tool directly.

use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{AppState, Listed, Shared};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;
use steward_domain::{Idempotency, JsonObject, Timestamp, ToolName};
use steward_runtime::toolbox::Waiting;
use steward_store::Usage;
use steward_tools::call::Request;
use steward_tools::registry::{Entry, Filter};
use steward_tools::{Context, Error};

/// A tool in a list.
#[derive(Serialize, JsonSchema)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) description: String,
    domain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    read_only: bool,
    /// When a call needs approval.
    approval: Value,
    pub(super) input_schema: Value,
    /// The reason why it cannot be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    off: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
    /// The relevance score of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

#[derive(Deserialize)]
struct ListQuery {
    limit: Option<usize>,
    search: Option<String>,
}

/// A tool call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Call {
    #[serde(default)]
    #[schemars(with = "std::collections::BTreeMap<String, Value>")]
    arguments: JsonObject,
}

/// The timeout of a direct call.
const TIME: Duration = Duration::from_secs(120);
/// The number of days of the usage statistics.
const DAYS: i64 = 30;

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/tools", "Tools that you may use, or those that fit a search")
        .query("search", json!({ "type": "string", "maxLength": 1000 }), "In plain words.")
        .query("limit", json!({ "type": "integer", "minimum": 1, "maximum": 1000 }), "At most so many.")
        .gives_page::<Line>()
        .to(get(list));
    api.get("/api/v1/tools/{name}", "One tool").gives::<Line>(200, "The tool.").to(get(show));
    api.post("/api/v1/tools/{name}/calls", "Call a tool by hand")
        .needs(Right::Tools)
        .takes::<Call>()
        .gives_object(200, "`call_id`, `output`, `notes`, `milliseconds`.")
        .gives_object(202, "`waiting`: the task that waits for a person, and `reason`.")
        .to(post(call));
    api.get("/api/v1/servers", "The MCP servers, and how they are")
        .gives_object(200, "`items`.")
        .to(get(servers));
    api.get("/api/v1/domains", "What can be asked about").gives_object(200, "`items`.").to(get(domains));
    api.get("/api/v1/skills", "Skills of this home").gives_object(200, "`items`.").to(get(skills));
}

impl AppState {
    async fn usage(&self, identity: &Identity) -> Result<HashMap<String, Usage>, Problem> {
        let now = self.now();
        let from = Timestamp::from_micros(now.micros() - DAYS * 86_400_000_000);
        let found = self.store().analytics(&super::scope(identity), from, now).await?;
        Ok(found.tools.into_iter().map(|usage| (usage.name.clone(), usage)).collect())
    }

    /// The tools that the caller may use.
    pub(super) async fn tools(&self, identity: &Identity) -> Result<Vec<Line>, Problem> {
        let _errors_are_listed_under_servers = self.toolbox().review_new_servers().await;
        let (snapshot, caller, usage) =
            (self.toolbox().registry().snapshot(), self.caller(identity), self.usage(identity).await?);
        let filter = Filter { caller: Some(&caller), ..Filter::default() };
        Ok(snapshot.list(&filter).filter(|entry| !entry.hidden).map(|entry| line(entry, &usage)).collect())
    }
}

fn line(entry: &Entry, usage: &HashMap<String, Usage>) -> Line {
    let (definition, settings) = (&entry.registered.definition, &entry.registered.settings);
    let name = definition.tool_name.to_string();
    Line {
        description: definition.description.to_string(),
        domain: definition.application_domain.to_string(),
        server: definition.server.as_ref().map(ToString::to_string),
        read_only: definition.idempotency == Idempotency::ReadOnly,
        approval: json!(definition.approval),
        input_schema: Value::Object(definition.parameter_schema.clone()),
        off: settings.off.clone(),
        usage: usage.get(&name).map(|usage| json!(usage)),
        score: None,
        name,
    }
}

async fn list(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(wanted): Queried<ListQuery>,
) -> Result<Json<Listed<Line>>, Problem> {
    let limit = wanted.limit.unwrap_or(1000).clamp(1, 1000);
    let mut items = site.tools(&identity).await?;
    if let Some(text) = wanted.search.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        let text: String = text.chars().take(1000).collect();
        let found = site.toolbox().search(&site.caller(&identity), &text, limit.min(50)).await?;
        let scores: HashMap<String, f64> =
            found.candidates.iter().map(|one| (one.tool.to_string(), f64::from(one.confidence))).collect();
        let lower = text.to_lowercase();
        items.iter_mut().for_each(|item| item.score = scores.get(&item.name).copied());
        items.retain(|item| item.score.is_some() || item.name.to_lowercase().contains(&lower));
        let score = |item: &Line| {
            item.score.unwrap_or(if item.name.to_lowercase().contains(&lower) { 0.5 } else { 0.0 })
        };
        items.sort_by(|one, other| score(other).total_cmp(&score(one)));
    }
    items.truncate(limit);
    Ok(Json(Listed { items, next: None }))
}

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(name): PathParam<String>,
) -> Result<Json<Line>, Problem> {
    let found = site.tools(&identity).await?.into_iter().find(|tool| tool.name == name);
    found.map(Json).ok_or_else(|| unknown(&name))
}

fn unknown(name: &str) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "TOL002",
        format!("there is no tool {name}. GET /api/v1/tools lists what there is"),
    )
}

async fn call(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(name): PathParam<String>,
    Input(call): Input<Call>,
) -> Result<Response, Problem> {
    name.parse::<ToolName>().map_err(|_| unknown(&name))?;
    if site.is_stopping() {
        return Err(Problem::stopping());
    }
    let mut request = Request::new(site.caller(&identity), name, call.arguments);
    request.context = Context::within(TIME);
    let toolbox = site.toolbox().clone();
    // A started call runs to its end even if the client disconnects.
    let made = site.work.spawn(async move {
        match toolbox.call(&request).await {
            Err(steward_runtime::Error::Tools(Error::ApprovalNeeded(needed))) => {
                let waiting = toolbox.approvals().wait(&request, &needed).await?;
                Ok(Err(waiting))
            }
            other => other.map(Ok),
        }
    });
    let receipt = match made.await.map_err(|_| Problem::stopping())? {
        Ok(Ok(receipt)) => receipt,
        Ok(Err(Waiting { task, reason, digest, .. })) => {
            let told = json!({ "waiting": task, "reason": reason, "digest": digest });
            return Ok((StatusCode::ACCEPTED, Json(told)).into_response());
        }
        Err(error) => return Err(steward_runtime::Error::into(error)),
    };
    let milliseconds = u64::try_from(receipt.took.as_millis()).unwrap_or(u64::MAX);
    Ok(Json(json!({
        "call_id": receipt.call, "tool": receipt.tool, "output": receipt.output, "notes": receipt.notes,
        "milliseconds": milliseconds, "task_id": receipt.chain.to_string(),
    }))
    .into_response())
}

async fn servers(State(site): State<Shared>, Authenticated(identity): Authenticated) -> Json<Value> {
    let snapshot = site.toolbox().registry().snapshot();
    let caller = site.caller(&identity);
    let items = site.toolbox().servers().into_iter().filter_map(|(handle, status)| {
        let config = handle.config();
        let everything = Filter { server: Some(&config.name), caller: Some(&caller), ..Filter::default() };
        let tools = snapshot.list(&everything).count();
        // A server without a usable tool is not shown to the caller.
        (caller.administrator || tools > 0).then(|| {
            json!({
                "name": config.name, "transport": config.transport, "status": format!("{:?}", status.state).to_lowercase(),
                "tools": tools, "restarts": status.restarts, "software": status.software,
                "detail": caller.administrator.then_some(status.last_error),
            })
        })
    });
    Json(json!({ "items": items.collect::<Vec<_>>(), "next": null }))
}

async fn domains(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
) -> Result<Json<Value>, Problem> {
    let caller = site.caller(&identity);
    let reader = site.chat.reader(&caller, &[]).await?;
    let snapshot = site.toolbox().registry().snapshot();
    let items = reader.domains().map(|topic| {
        let sources = snapshot.domains.get(&topic.name).map_or(0, |field| field.domain.data_sources.len());
        let tools: Vec<Value> =
            topic.intents.iter().map(|one| json!({ "name": one.name, "description": one.description, "examples": one.examples })).collect();
        json!({ "name": topic.name, "title": topic.title, "description": topic.description, "tools": tools, "data_sources": sources })
    });
    Ok(Json(json!({ "items": items.collect::<Vec<_>>(), "next": null })))
}

async fn skills(State(site): State<Shared>, Authenticated(_): Authenticated) -> Json<Value> {
    let skills = site.toolbox().skills();
    let items: Vec<Value> = skills
        .skills
        .iter()
        .map(|skill| json!({ "name": skill.name, "description": skill.description }))
        .collect();
    Json(json!({ "items": items, "next": null }))
}
