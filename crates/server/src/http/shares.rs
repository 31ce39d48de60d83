//! Links to answers. A permitted colleague sees the answer with its tables, charts and evidence.
//!
//! Invariants
//! - A link opens one answer until it expires, and only for authenticated users.
//! - The reader needs every domain and tool that the answer is based on, without a limit on tables
//!   or rows. An answer over uploaded files is shown to every user who has the link.
//! - Creating a link is recorded in the journal.

use super::Shared;
use super::extract::{Authenticated, Input, PathParam};
use super::openapi::Api;
use super::problem::Problem;
use crate::identity::Identity;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steward_domain::{TaskId, Timestamp, ToolName, UserId};
use steward_store::Scope;

/// The maximum lifetime of a link, in hours.
const LONGEST: u32 = 2160;

/// The lifetime of a link.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShareRequest {
    #[serde(default = "week")]
    #[schemars(range(min = 1, max = 2160))]
    hours: u32,
}

fn week() -> u32 {
    168
}

/// A link to an answer.
#[derive(Serialize, JsonSchema)]
struct Share {
    token: String,
    /// The address on the page.
    address: String,
    expires_at: Timestamp,
}

pub(super) fn routes(api: &mut Api) {
    api.post("/api/v1/tasks/{id}/share", "Make a link to an answer for colleagues")
        .takes::<ShareRequest>()
        .gives::<Share>(201, "The link.")
        .to(post(share));
    api.get("/api/v1/shared/{token}", "An answer that a colleague shared")
        .gives_object(200, "`reply`, `question`, `by`, `at`.")
        .to(get(open));
}

async fn share(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
    Input(ShareRequest { hours }): Input<ShareRequest>,
) -> Result<(StatusCode, Json<Share>), Problem> {
    if !(1..=LONGEST).contains(&hours) {
        return Err(Problem::input(format!("hours must be from 1 to {LONGEST}")));
    }
    super::artifacts::reply_of(&site, &super::scope(&identity), id).await?;
    let until = site.now().micros().saturating_add(i64::from(hours) * 3_600_000_000);
    let expires_at = Timestamp::from_micros(until);
    let about = json!({ "task": id, "until": expires_at });
    site.access.changed(&(&identity).into(), "answer_shared", about).await?;
    let token = site.directory.secret().answer_token(id.0, identity.user.as_str(), expires_at);
    let address = format!("/#/shared/{token}");
    Ok((StatusCode::CREATED, Json(Share { token, address, expires_at })))
}

async fn open(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(token): PathParam<String>,
) -> Result<Json<Value>, Problem> {
    // Invalid and expired links return the same 404.
    let missing = || Problem::missing("answer", "under this link, or its time is over");
    let (task, user) = site.directory.secret().open_answer(&token, site.now()).ok_or_else(missing)?;
    let user = UserId::new(user).map_err(|_| missing())?;
    let (task, scope) = (TaskId(task), Scope::User(user.clone()));
    let reply = super::artifacts::reply_of(&site, &scope, task).await.map_err(|_| missing())?;
    if identity.user != user {
        may_see(&site, &identity, &reply)?;
    }
    let asked = site.store().task(&scope, task).await?.ok_or_else(missing)?;
    Ok(Json(json!({
        "reply": reply, "question": asked.description, "by": user, "at": asked.created_at,
    })))
}

/// Checks that the caller may read everything that an answer is based on.
fn may_see(site: &Shared, identity: &Identity, reply: &Value) -> Result<(), Problem> {
    let Some(role) = &identity.grants else { return Ok(()) };
    let refused = |what: &str| {
        Err(Problem::denied(format!(
            "this answer rests on {what}, which you may not read in full. Ask an administrator for the right"
        )))
    };
    let caller = site.caller(identity);
    let snapshot = site.toolbox().registry().snapshot();
    let domains = reply.pointer("/routing/identified_domains").and_then(Value::as_array);
    let known = domains.into_iter().flatten().filter_map(Value::as_str);
    // Uploaded files belong to no configured domain.
    for domain in known.filter(|name| snapshot.domains.keys().any(|known| known.as_str() == *name)) {
        if !caller.asks(domain) {
            return refused(domain);
        }
        let limited = !role.tables.is_empty() || !role.rules.is_empty();
        let analysed = reply.get("analyses").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        if limited && analysed {
            return refused(domain);
        }
    }
    let steps = reply.get("steps").and_then(Value::as_array).into_iter().flatten();
    for tool in steps.filter_map(|step| step.get("tool")?.as_str()) {
        let seen = ToolName::new(tool).is_ok_and(|name| caller.sees(&name, &[]));
        if !seen {
            return refused(tool);
        }
    }
    Ok(())
}
