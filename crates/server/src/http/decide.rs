//! One way to decide on what waits, for every protocol of this server.
//!
//! Invariant: a decision that was accepted is carried out even if its client disconnects.

use super::problem::Problem;
use super::{AppState, Shared};
use crate::identity::Identity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use steward_domain::{HumanAction, JsonObject, Label, Sha256Hex, TaskId};
use steward_runtime::run::{Decided, DecisionOutcome, RunStatus};
use steward_runtime::toolbox::Waiting;
use steward_store::Scope;

/// A decision.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Decide {
    pub(super) decision: Decision,
    /// The reason, for the journal.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub(super) why: String,
    /// A message to the agent, with `modify`.
    #[serde(default)]
    #[schemars(length(max = 10000))]
    pub(super) message: String,
    /// Changes to the state, with `modify`.
    #[serde(default)]
    #[schemars(with = "std::collections::BTreeMap<String, Value>")]
    pub(super) updates: JsonObject,
    /// The `digest` of what was shown. A decision with another digest is rejected.
    pub(super) digest: Sha256Hex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    Approve,
    Reject,
    Modify,
}

/// The result of a decision.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DecisionView {
    pub(super) task_id: TaskId,
    /// `approved` or `rejected` for a single call; otherwise the status of the run.
    pub(super) status: &'static str,
    /// The result of the run, or its error.
    #[serde(skip_serializing_if = "Value::is_null")]
    result: Value,
    /// The output of the call that was made.
    #[serde(skip_serializing_if = "Value::is_null")]
    output: Value,
    /// What the gateway noted about the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The output as text.
    #[serde(skip)]
    words: String,
}

impl DecisionView {
    fn new(task_id: TaskId, status: &'static str) -> Self {
        let (result, output, notes) = (Value::Null, Value::Null, Vec::new());
        Self { task_id, status, result, output, notes, words: String::new() }
    }

    fn of(task: TaskId, outcome: DecisionOutcome) -> Self {
        match outcome {
            DecisionOutcome::NotCalled(_) => Self::new(task, "rejected"),
            DecisionOutcome::Called(receipt) => Self {
                output: serde_json::to_value(&receipt.output).unwrap_or_default(),
                words: receipt.output.words(),
                notes: receipt.notes,
                ..Self::new(task, "approved")
            },
            DecisionOutcome::Ran(ran) => {
                let (status, result) = match ran.standing {
                    RunStatus::Completed(result) => ("completed", result),
                    RunStatus::Failed(why) => ("failed", why.into()),
                    RunStatus::Rejected(why) => ("rejected", why.into()),
                    RunStatus::Cancelled(by) => ("cancelled", by.into()),
                    RunStatus::Waiting => ("paused", Value::Null),
                    RunStatus::HandedOver => ("running", Value::Null),
                };
                Self { result, ..Self::new(task, status) }
            }
        }
    }

    /// The result in a sentence, for protocols that carry text.
    pub(super) fn sentence(&self) -> String {
        let result = match &self.result {
            Value::Null => self.words.clone(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let head = format!("Task {} is {}.", self.task_id, self.status);
        if result.trim().is_empty() { head } else { format!("{head} {}", result.trim()) }
    }
}

/// How long a client waits for a run after its decision. The run continues in the background.
const PATIENCE: Duration = Duration::from_millis(500);

impl AppState {
    /// The pending approvals that the caller can decide on.
    pub(super) async fn waiting(&self, identity: &Identity) -> Result<Vec<Waiting>, Problem> {
        let mut waiting = self.runner.decidable(&identity.user).await?;
        // A key can have fewer rights than its user.
        waiting.retain(|one| identity.decides(&one.approvers, one.released_tools()));
        Ok(waiting)
    }
}

/// Decides as this identity. A single call is awaited. A run that takes longer than a moment is
/// reported as `running`.
pub(super) async fn decide(
    site: &Shared,
    identity: &Identity,
    id: TaskId,
    decide: Decide,
    from: &str,
) -> Result<DecisionView, Problem> {
    let waiting = site.waiting(identity).await?.into_iter().find(|one| one.task == id);
    waiting.ok_or_else(|| steward_runtime::Error::NotWaiting(id.to_string()))?;
    if site.is_stopping() {
        return Err(Problem::stopping());
    }
    let (action, message) = match decide.decision {
        Decision::Approve => (HumanAction::Approve, decide.message),
        Decision::Reject => (HumanAction::Reject, decide.why),
        Decision::Modify => (HumanAction::Modify, decide.message),
    };
    let by = Label::new(identity.user.as_str()).map_err(steward_runtime::Error::from)?;
    let (updates, from, shown) = (decide.updates, from.to_owned(), decide.digest);
    let decided = Decided { action, message, updates, by, from, shown };
    let is_run = site.toolbox().approvals().is_run(&Scope::System, id).await?;
    let (runner, user) = (site.runner.clone(), identity.user.clone());
    let deciding = site.work.spawn(async move { runner.decide_waiting(id, &user, decided, None).await });
    let ended = if is_run {
        match tokio::time::timeout(PATIENCE, deciding).await {
            Ok(ended) => ended,
            Err(_) => return Ok(DecisionView::new(id, "running")),
        }
    } else {
        deciding.await
    };
    let outcome = ended.map_err(|_| Problem::stopping())?;
    Ok(DecisionView::of(id, outcome?))
}
