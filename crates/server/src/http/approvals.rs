//! Calls and runs that wait for approval, and the decisions on them.
//!
//! Invariants
//! - A user's role limits which calls they can decide on, by the name of the tool that will run.
//! - A decision names the digest of what was shown. Exactly that call is made, with the grants of
//!   its owner.

use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{AppState, Listed, Shared};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steward_domain::{HumanAction, JsonObject, Label, Sha256Hex, TaskId};
use steward_runtime::run::Decided;
use steward_runtime::toolbox::{Shown, Waiting};
use steward_store::{Page, Scope, Verdict};

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

/// A decision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Decide {
    decision: Decision,
    /// The reason, for the journal.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    why: String,
    /// A message to the agent, with `modify`.
    #[serde(default)]
    #[schemars(length(max = 10000))]
    message: String,
    /// Changes to the state, with `modify`.
    #[serde(default)]
    #[schemars(with = "std::collections::BTreeMap<String, Value>")]
    updates: JsonObject,
    /// The `digest` of what was shown. A decision with another digest is rejected.
    digest: Sha256Hex,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    Reject,
    Modify,
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
    api.post("/api/v1/approvals/{id}", "Decide")
        .needs(Right::Approve)
        .takes::<Decide>()
        .gives_object(200, "`task_id`, `status`, and `output` of the call that was made.")
        .to(post(decide));
}

impl AppState {
    /// The pending approvals that the caller can decide on.
    async fn waiting(&self, identity: &Identity) -> Result<Vec<Waiting>, Problem> {
        let mut waiting = self.toolbox().approvals().list(&Scope::System).await?;
        waiting.retain(|one| identity.decides(&one.approvers, one.released_tools()));
        Ok(waiting)
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
        let word = match decision.verdict {
            Verdict::Approved => ("approved", ApprovalStatus::Approved),
            Verdict::Rejected => ("rejected", ApprovalStatus::Rejected),
            Verdict::Modified => ("modified", ApprovalStatus::Modified),
            Verdict::Expired => ("expired", ApprovalStatus::Expired),
        };
        let is_wanted = status == ApprovalStatus::Decided || status == word.1;
        let is_theirs = identity.grants.is_none()
            || user == identity.user
            || decision.by.as_str() == identity.user.as_str();
        if !is_wanted || !is_theirs || items.len() >= limit as usize {
            continue;
        }
        let id = decision.gate.task;
        let Some(task) = site.store().task(&Scope::System, id).await? else { continue };
        items.push(json!(DecisionLine {
            task: id,
            user: user.to_string(),
            description: task.description.to_string(),
            decision: word.0,
            by: decision.by.to_string(),
            at: decision.at,
            digest: decision.digest.to_string(),
            status: task.status_name().to_owned(),
            outcome: task.result.clone().or_else(|| task.error.clone()),
        }));
    }
    Ok(Json(Listed { items, next: None }))
}

async fn decide(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
    Input(decide): Input<Decide>,
) -> Result<Json<Value>, Problem> {
    let waiting = site.waiting(&identity).await?.into_iter().find(|one| one.task == id);
    waiting.ok_or_else(|| steward_runtime::Error::NotWaiting(id.to_string()))?;
    let shown = Shown { task: id, digest: decide.digest.clone() };
    let by = Label::new(identity.user.as_str()).map_err(steward_runtime::Error::from)?;
    let approvals = site.toolbox().approvals();
    if approvals.is_run(&Scope::System, id).await? {
        return over_run(&site, id, decide, by).await;
    }
    match decide.decision {
        Decision::Modify => {
            Err(Problem::input("a single call cannot be modified: reject it and make another"))
        }
        Decision::Reject => {
            approvals.reject(&Scope::System, &shown, &by, &decide.why).await?;
            Ok(Json(json!({ "task_id": id, "status": "rejected" })))
        }
        Decision::Approve => {
            let gateway = site.toolbox().gateway();
            let receipt = approvals.approve(gateway, &Scope::System, &shown, &by).await?;
            Ok(Json(
                json!({ "task_id": id, "status": "approved", "output": receipt.output, "notes": receipt.notes }),
            ))
        }
    }
}

/// Decides on a run. The run continues in the background.
async fn over_run(site: &Shared, id: TaskId, decide: Decide, by: Label) -> Result<Json<Value>, Problem> {
    let (action, message) = match decide.decision {
        Decision::Approve => (HumanAction::Approve, decide.message),
        Decision::Reject => (HumanAction::Reject, decide.why),
        Decision::Modify => (HumanAction::Modify, decide.message),
    };
    let (updates, from, shown) = (decide.updates, "http".to_owned(), decide.digest);
    let decided = Decided { action, message, updates, by, from, shown };
    let runner = site.runner.clone();
    let stands =
        super::tasks::beside(site, id, async move { runner.decide(&Scope::System, id, decided, None).await })
            .await?;
    Ok(Json(json!(stands.0)))
}
