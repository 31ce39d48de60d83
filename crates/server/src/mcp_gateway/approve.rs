//! Approvals over MCP: by elicitation if the client supports it, otherwise as a waiting task.

use super::{ToolboxGateway, failed};
use crate::mcp::{Failure, Session};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use steward_domain::{ErrorClass, HumanAction, JsonObject, Label, Sha256Hex, TaskId};
use steward_policy::Approval;
use steward_runtime::run::{Decided, DecisionOutcome, Ran, RunStatus};
use steward_runtime::toolbox::Waiting;
use steward_tools::call::Request;
use steward_tools::{Answered, ApprovalRequest, Output};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decide {
    task: TaskId,
    /// The digest that `approvals_list` shows.
    digest: Sha256Hex,
    decision: Decision,
    #[serde(default)]
    why: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    updates: JsonObject,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    Approve,
    Reject,
    Modify,
}

impl ToolboxGateway {
    /// Asks the client's user. If that is not possible, the call waits for a local approver.
    pub(super) async fn approved(
        &self,
        mut request: Request,
        needed: &ApprovalRequest,
        session: &Session,
    ) -> Result<steward_tools::call::Receipt, Failure> {
        // The right to approve depends on the tool that will run, not on the requested name.
        if !session.caller().approves(needed.tool.as_str()) {
            return Err(self.waits(&request, needed).await);
        }
        let question = format!(
            "{}. May {} be called with {}?",
            needed.reason,
            needed.tool,
            Json::Object(request.arguments.clone())
        );
        match session.elicit(question, agree_schema()).await {
            Ok(answer) if agreed(&answer) => {
                let by = Label::new(format!("{} by {}", request.caller.user, session.client().name))
                    .map_err(|problem| Failure::unknown(problem.to_string()))?;
                request.approval = Some(Approval { digest: needed.digest.clone(), by, gate: None });
                self.toolbox.call(&request).await.map_err(failed)
            }
            Ok(_) => Err(Failure::tool("TOL006", "the person said no", ErrorClass::Denied)),
            Err(_) => Err(self.waits(&request, needed).await),
        }
    }

    /// Stores the call as a pending approval, and reports that.
    pub(super) async fn waits(&self, request: &Request, needed: &ApprovalRequest) -> Failure {
        match self.toolbox.approvals().wait(request, needed).await {
            Ok(waiting) => {
                let told = format!(
                    "{}. It waits for a person as task {}: `steward approvals approve {}`",
                    needed.reason, waiting.task, waiting.task
                );
                Failure::tool("TOL006", told, ErrorClass::Denied)
            }
            Err(error) => failed(error),
        }
    }

    pub(super) async fn decide(&self, wanted: Decide, session: &Session) -> Result<Output, Failure> {
        let caller = self.caller(session.caller());
        let waiting = self.runner.find_decidable(wanted.task, &caller.user).await.map_err(failed)?;
        // A key can have fewer rights than its user.
        if !session.caller().decides(&waiting.approvers, waiting.released_tools()) {
            let told = format!("{} may not decide on this; somebody who may has to", caller.user);
            return Err(Failure::tool("RUN020", told, ErrorClass::Denied));
        }
        if waiting.digest != wanted.digest.as_str() {
            return Err(failed(steward_runtime::Error::OtherCall(wanted.task.to_string())));
        }
        let by = Label::new(format!("{} by {}", caller.user, session.client().name))
            .map_err(|problem| Failure::unknown(problem.to_string()))?;
        let (action, message) = match wanted.decision {
            Decision::Approve => (HumanAction::Approve, wanted.message.clone()),
            Decision::Reject => (HumanAction::Reject, wanted.why.clone()),
            Decision::Modify => (HumanAction::Modify, wanted.message.clone()),
        };
        if action != HumanAction::Reject {
            confirm_with_user(&waiting, &wanted, session).await?;
        }
        let (updates, from, shown) = (wanted.updates, "mcp".to_owned(), wanted.digest);
        let decided = Decided { action, message, updates, by, from, shown };
        let outcome = self.runner.decide_waiting(wanted.task, &caller.user, decided, None).await;
        Ok(match outcome.map_err(failed)? {
            DecisionOutcome::Called(receipt) => receipt.output,
            DecisionOutcome::NotCalled(waiting) => Output::text(format!("{} is not called", waiting.tool)),
            DecisionOutcome::Ran(ran) => Output::json(told(&ran)),
        })
    }
}

/// Asks the user of the client: a model must not approve what a model requested.
async fn confirm_with_user(waiting: &Waiting, wanted: &Decide, session: &Session) -> Result<(), Failure> {
    let arguments = Json::Object(waiting.arguments.clone());
    let question = match wanted.decision {
        Decision::Modify => format!(
            "{}. May {} continue with this message: {:?} and these changes: {}?",
            waiting.reason,
            waiting.tool,
            wanted.message,
            Json::Object(wanted.updates.clone())
        ),
        _ => format!("{}. May {} be called with {arguments}?", waiting.reason, waiting.tool),
    };
    match session.elicit(question, agree_schema()).await {
        Ok(answer) if agreed(&answer) => Ok(()),
        Ok(_) => Err(Failure::tool("TOL006", "the person said no; it still waits", ErrorClass::Denied)),
        Err(_) => Err(Failure::tool(
            "TOL006",
            format!("only a person can approve: `steward approvals approve {}`", wanted.task),
            ErrorClass::Denied,
        )),
    }
}

/// The status of a run after a decision.
fn told(ran: &Ran) -> Json {
    let (status, result) = match &ran.standing {
        RunStatus::Completed(result) => ("completed", result.clone()),
        RunStatus::Failed(why) => ("failed", Json::from(why.as_str())),
        RunStatus::Rejected(why) => ("rejected", Json::from(why.as_str())),
        RunStatus::Cancelled(by) => ("cancelled", Json::from(by.as_str())),
        RunStatus::Waiting => ("paused", Json::Null),
        RunStatus::HandedOver => ("running", Json::Null),
    };
    json!({ "task": ran.task, "status": status, "result": result })
}

pub(super) fn agree_schema() -> Json {
    json!({ "type": "object", "required": ["agree"], "properties": { "agree": { "type": "boolean", "description": "Call it?" } } })
}

pub(super) fn agreed(answer: &Answered) -> bool {
    matches!(answer, Answered::Accepted(said) if said.get("agree").and_then(Json::as_bool) == Some(true))
}
