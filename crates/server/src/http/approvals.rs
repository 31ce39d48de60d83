//! Calls and runs that wait for approval, and the decisions on them.
//!
//! Invariants
//! - A user's role limits which calls they can decide on, by the name of the tool that will run.
//! - A decision names the digest of what was shown. Exactly that call is made, with the grants of
//!   its owner.

use super::decide::{Decide, DecisionView};
use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{Listed, Shared};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steward_domain::TaskId;
use steward_store::{GateDecision, Page, Scope, Verdict};

/// A pending approval.
#[derive(Serialize, JsonSchema)]
struct Line {
    task: TaskId,
    user: String,
    /// The tool. For several calls, the first one.
    tool: String,
    /// All tools, where one decision covers several calls.
    tools: Vec<String>,
    /// The exact arguments. For several calls, they are keyed by number and tool.
    arguments: Value,
    /// The provenance of each argument.
    provenance: Value,
    reason: String,
    digest: String,
    since: steward_domain::Timestamp,
    until: steward_domain::Timestamp,
    /// Whether this is a run of a workflow or an agent. A run can also be modified.
    is_run: bool,
    /// The description of the task.
    description: String,
    /// The workflow node that requests the approval.
    node: String,
    /// The roles that may decide. Empty means every user with the right to approve.
    approvers: Vec<String>,
}

/// A past decision.
#[derive(Serialize, JsonSchema)]
struct DecisionLine {
    task: TaskId,
    /// The owner of the task.
    user: String,
    /// The description of the task.
    description: String,
    /// `approved`, `rejected`, `modified` or `expired`.
    decision: &'static str,
    by: String,
    at: steward_domain::Timestamp,
    /// The digest of what was shown.
    digest: String,
    /// The current status of the task.
    status: String,
    /// The result, or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
}

#[derive(Deserialize)]
struct ListQuery {
    status: Option<ApprovalStatus>,
    limit: Option<u32>,
}

/// The filter of the list.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ApprovalStatus {
    Waiting,
    Decided,
    Approved,
    Rejected,
    Modified,
    Expired,
}

pub(super) fn routes(api: &mut Api) {
    let statuses = json!({
        "type": "string", "enum": ["waiting", "decided", "approved", "rejected", "modified", "expired"],
    });
    api.get("/api/v1/approvals", "What waits for your decision; with `status` the history of decisions")
        .needs(Right::Approve)
        .query("status", statuses, "`waiting` when absent; else decisions, newest first.")
        .query(
            "limit",
            json!({ "type": "integer", "minimum": 1, "maximum": 500 }),
            "At most so many decisions.",
        )
        .gives_page::<Value>()
        .to(get(list));
    api.get("/api/v1/notices", "What waits for your decision, and what others decided on your requests")
        .gives::<Notices>(200, "The notices.")
        .to(get(notices));
    api.post("/api/v1/approvals/{id}", "Decide")
        .needs(Right::Approve)
        .takes::<Decide>()
        .gives::<DecisionView>(200, "The status, and the `output` of the call that was made.")
        .to(post(decide));
}

/// What a person should hear of.
#[derive(Serialize, JsonSchema)]
struct Notices {
    /// What waits for the caller's decision, oldest first.
    waiting: Vec<WaitingNotice>,
    /// The last decisions of others on the caller's requests, newest first.
    decided: Vec<DecisionLine>,
}

/// Something that waits for the caller's decision.
#[derive(Serialize, JsonSchema)]
struct WaitingNotice {
    task: TaskId,
    user: String,
    tool: String,
    description: String,
    since: steward_domain::Timestamp,
}

/// The number of decisions that are reported.
const RECENT: usize = 20;

async fn notices(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
) -> Result<Json<Notices>, Problem> {
    let waits = match identity.may(Right::Approve) {
        true => site.waiting(&identity).await?,
        false => Vec::new(),
    };
    let notice = |one: steward_runtime::toolbox::Waiting| WaitingNotice {
        task: one.task,
        user: one.user.to_string(),
        tool: one.tool,
        description: one.description,
        since: one.since,
    };
    let mut decided = Vec::new();
    for (user, decision) in site.store().decisions(&super::scope(&identity), Page::first(100)).await? {
        let by = decision.by.as_str().split(' ').next();
        if by != Some(identity.user.as_str()) && decided.len() < RECENT {
            decided.extend(decision_line(&site, user.to_string(), &decision).await?);
        }
    }
    Ok(Json(Notices { waiting: waits.into_iter().map(notice).collect(), decided }))
}

/// A decision with its task; none if the task is gone.
async fn decision_line(
    site: &Shared,
    user: String,
    decision: &GateDecision,
) -> Result<Option<DecisionLine>, Problem> {
    let id = decision.gate.task;
    let Some(task) = site.store().task(&Scope::System, id).await? else { return Ok(None) };
    Ok(Some(DecisionLine {
        task: id,
        user,
        description: task.description.to_string(),
        decision: word(decision.verdict).0,
        by: decision.by.to_string(),
        at: decision.at,
        digest: decision.digest.to_string(),
        status: task.status_name().to_owned(),
        outcome: task.result.clone().or_else(|| task.error.clone()),
    }))
}

fn word(verdict: Verdict) -> (&'static str, ApprovalStatus) {
    match verdict {
        Verdict::Approved => ("approved", ApprovalStatus::Approved),
        Verdict::Rejected => ("rejected", ApprovalStatus::Rejected),
        Verdict::Modified => ("modified", ApprovalStatus::Modified),
        Verdict::Expired => ("expired", ApprovalStatus::Expired),
    }
}

async fn list(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(wanted): Queried<ListQuery>,
) -> Result<Json<Listed<Value>>, Problem> {
    let status = wanted.status.unwrap_or(ApprovalStatus::Waiting);
    if status != ApprovalStatus::Waiting {
        return decided(&site, &identity, status, wanted.limit.unwrap_or(100).clamp(1, 500)).await;
    }
    let mut items = Vec::new();
    for one in site.waiting(&identity).await? {
        let is_run = site.toolbox().approvals().is_run(&Scope::System, one.task).await?;
        items.push(json!(Line {
            task: one.task,
            user: one.user.to_string(),
            tool: one.tool,
            tools: one.tools,
            arguments: Value::Object(one.arguments),
            provenance: Value::Object(one.provenance),
            reason: one.reason,
            digest: one.digest,
            since: one.since,
            until: one.until,
            is_run,
            description: one.description,
            node: one.node,
            approvers: one.approvers,
        }));
    }
    Ok(Json(Listed { items, next: None }))
}

/// Decisions that the caller took, or that concern the caller's tasks. Callers with all grants get
/// every decision.
async fn decided(
    site: &Shared,
    identity: &Identity,
    status: ApprovalStatus,
    limit: u32,
) -> Result<Json<Listed<Value>>, Problem> {
    let mut items = Vec::new();
    for (user, decision) in site.store().decisions(&Scope::System, Page::first(1000)).await? {
        let is_wanted = status == ApprovalStatus::Decided || status == word(decision.verdict).1;
        let is_theirs = identity.grants.is_none()
            || user == identity.user
            || decision.by.as_str().split(' ').next() == Some(identity.user.as_str());
        if !is_wanted || !is_theirs || items.len() >= limit as usize {
            continue;
        }
        items.extend(decision_line(site, user.to_string(), &decision).await?.map(|line| json!(line)));
    }
    Ok(Json(Listed { items, next: None }))
}

async fn decide(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
    Input(wanted): Input<Decide>,
) -> Result<Json<DecisionView>, Problem> {
    Ok(Json(super::decide::decide(&site, &identity, id, wanted, "http").await?))
}
