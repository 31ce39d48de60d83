//! A person's yes over MCP: asked for by elicitation where the client can ask, kept as a task that waits where it cannot.

use super::{HouseGateway, failed};
use crate::mcp::{Failure, Session};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use steward_domain::{ErrorClass, Label, TaskId};
use steward_policy::Approval;
use steward_store::Scope;
use steward_tools::call::Request;
use steward_tools::{Answered, Output};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decide {
    task: TaskId,
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

impl HouseGateway {
    /// Asks the client's person; where the client has none, the call waits for one of ours.
    pub(super) async fn approved(
        &self,
        mut request: Request,
        digest: &str,
        reason: &str,
        session: &Session,
    ) -> Result<steward_tools::call::Receipt, Failure> {
        if !session.caller().approves(&request.tool) {
            return Err(self.waits(&request, digest, reason).await);
        }
        let question = format!(
            "{reason}. May {} be called with {}?",
            request.tool,
            Json::Object(request.arguments.clone())
        );
        match session.elicit(question, agree_schema()).await {
            Ok(answer) if agreed(&answer) => {
                let digest = digest.parse().map_err(|_| Failure::unknown("a digest that cannot be"))?;
                let by = Label::new(format!("{} by {}", request.caller.user, session.client().name))
                    .map_err(|problem| Failure::unknown(problem.to_string()))?;
                request.approval = Some(Approval { digest, by });
                self.toolbox.call(&request).await.map_err(failed)
            }
            Ok(_) => Err(Failure::tool("TOL006", "the person said no", ErrorClass::Denied)),
            Err(_) => Err(self.waits(&request, digest, reason).await),
        }
    }

    /// Lets a call wait for one of our people, and says so.
    pub(super) async fn waits(&self, request: &Request, digest: &str, reason: &str) -> Failure {
        match self.toolbox.approvals().wait(request, digest, reason).await {
            Ok(waiting) => {
                let told = format!(
                    "{reason}. It waits for a person as task {}: `steward approvals approve {}`",
                    waiting.task, waiting.task
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
        if known.is_some_and(|one| !session.caller().approves(&one.tool)) {
            let told = format!("{} may not decide on this; somebody who may has to", caller.user);
            return Err(Failure::tool("TOL006", told, ErrorClass::Denied));
        }
        let by = Label::new(format!("{} by {}", caller.user, session.client().name))
            .map_err(|problem| Failure::unknown(problem.to_string()))?;
        if let Decision::Reject = wanted.decision {
            let waiting = approvals.reject(&scope, wanted.task, &by, &wanted.why).await.map_err(failed)?;
            return Ok(Output::text(format!("{} is not called", waiting.tool)));
        }
        let waiting = approvals.list(&scope).await.map_err(failed)?;
        let waiting = waiting.into_iter().find(|waiting| waiting.task == wanted.task);
        let waiting =
            waiting.ok_or_else(|| failed(steward_runtime::Error::NotWaiting(wanted.task.to_string())))?;
        // A model must not agree to what a model asked for: the client's person is asked, or nobody is.
        let question = format!(
            "{}. May {} be called with {}?",
            waiting.reason,
            waiting.tool,
            Json::Object(waiting.arguments.clone())
        );
        match session.elicit(question, agree_schema()).await {
            Ok(answer) if agreed(&answer) => {
                let receipt = approvals.approve(self.toolbox.desk(), &scope, wanted.task, &by, &caller).await;
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

fn agree_schema() -> Json {
    json!({ "type": "object", "required": ["agree"], "properties": { "agree": { "type": "boolean", "description": "Call it?" } } })
}

fn agreed(answer: &Answered) -> bool {
    matches!(answer, Answered::Accepted(said) if said.get("agree").and_then(Json::as_bool) == Some(true))
}
