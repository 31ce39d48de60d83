//! Approvals over MCP: by elicitation if the client supports it, otherwise as a waiting task.

use super::{ToolboxGateway, failed};
use crate::mcp::{Failure, Session};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use steward_domain::{ErrorClass, HumanAction, JsonObject, Label, Sha256Hex, TaskId};
use steward_policy::Approval;
use steward_runtime::run::{Decided, Ran, RunStatus};
use steward_runtime::toolbox::Shown;
use steward_store::Scope;
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
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    Approve,
    Reject,
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
        let scope = Scope::User(caller.user.clone());
        let approvals = self.toolbox.approvals();
        let known =
            approvals.list(&scope).await.map_err(failed)?.into_iter().find(|one| one.task == wanted.task);
        if known.is_some_and(|one| !session.caller().decides(&one.approvers, one.released_tools())) {
            let told = format!("{} may not decide on this; somebody who may has to", caller.user);
            return Err(Failure::tool("TOL006", told, ErrorClass::Denied));
        }
        let by = Label::new(format!("{} by {}", caller.user, session.client().name))
            .map_err(|problem| Failure::unknown(problem.to_string()))?;
        let shown = Shown { task: wanted.task, digest: wanted.digest };
        let is_run = approvals.is_run(&scope, wanted.task).await.map_err(failed)?;
        let over_run = |action: HumanAction| Decided {
            action,
            message: wanted.why.clone(),
            updates: JsonObject::new(),
            by: by.clone(),
            from: "mcp".to_owned(),
            shown: shown.digest.clone(),
        };
        if let (Decision::Reject, true) = (&wanted.decision, is_run) {
            let decided = over_run(HumanAction::Reject);
            let ran = self.runner.decide(&scope, wanted.task, decided, None).await.map_err(failed)?;
            return Ok(Output::json(told(&ran)));
        }
        if let Decision::Reject = wanted.decision {
            let waiting = approvals.reject(&scope, &shown, &by, &wanted.why).await.map_err(failed)?;
            return Ok(Output::text(format!("{} is not called", waiting.tool)));
        }
        let waiting = approvals.list(&scope).await.map_err(failed)?;
        let waiting = waiting.into_iter().find(|waiting| waiting.task == wanted.task);
        let waiting =
            waiting.ok_or_else(|| failed(steward_runtime::Error::NotWaiting(wanted.task.to_string())))?;
        if waiting.digest != shown.digest.as_str() {
            return Err(failed(steward_runtime::Error::OtherCall(wanted.task.to_string())));
        }
        // A model must not approve what a model requested, so the user of the client is asked.
        let question = format!(
            "{}. May {} be called with {}?",
            waiting.reason,
            waiting.tool,
            Json::Object(waiting.arguments.clone())
        );
        match session.elicit(question, agree_schema()).await {
            Ok(answer) if agreed(&answer) && is_run => {
                let decided = over_run(HumanAction::Approve);
                let ran = self.runner.decide(&scope, wanted.task, decided, None).await.map_err(failed)?;
                Ok(Output::json(told(&ran)))
            }
            Ok(answer) if agreed(&answer) => {
                let receipt = approvals.approve(self.toolbox.gateway(), &scope, &shown, &by).await;
                Ok(receipt.map_err(failed)?.output)
            }
            Ok(_) => Err(Failure::tool("TOL006", "the person said no; it still waits", ErrorClass::Denied)),
            Err(_) => Err(Failure::tool(
                "TOL006",
                format!("only a person can approve: `steward approvals approve {}`", wanted.task),
                ErrorClass::Denied,
            )),
        }
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
