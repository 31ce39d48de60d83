//! Runs as MCP tasks. A workflow or an agent that a client starts is a durable run with the same id
//! as its task, so a client finds its task after a restart.

use super::approve::{agree_schema, agreed};
use super::{RunArguments, ToolboxGateway, failed, read};
use crate::mcp::{Caller as Client, Client as Program, ClientPrompt, Failure, Session};
use crate::mcp::{TaskState, TaskStatus as Status, answered};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{ErrorClass, HumanAction, JsonObject, Label, Sha256Hex, TaskId, TaskStatus};
use steward_runtime::run::Decided;
use steward_store::Scope;
use steward_tools::Output;

impl ToolboxGateway {
    /// Queues a run and sends its id to the client. This process runs it, unless a worker claims it
    /// first.
    pub(super) async fn run_as_task(
        &self,
        arguments: JsonObject,
        session: &Session,
    ) -> Result<Output, Failure> {
        let wanted: RunArguments = read("run_workflow", arguments)?;
        let caller = self.caller(session.caller());
        self.may_run(&caller)?;
        let id =
            self.runner.submit_untrusted(&caller.user, &wanted.name, &wanted.input).await.map_err(failed)?;
        session.start_task(Some(id.to_string()));
        let scope = Scope::User(caller.user);
        // This fails if a worker claimed the run first. The state is read from the store anyway.
        let _claimed = self.runner.resume(&scope, id, None).await;
        let state = self.task_state(id, &scope, session.caller()).await?;
        match state.map(|state| state.status) {
            Some(Status::Completed(output)) => Ok(output),
            Some(Status::Failed(failure)) => Err(failure),
            _ => Ok(Output::json(json!({ "task": id, "status": "running" }))),
        }
    }

    /// The state of a run. `None` if it belongs to another user.
    pub(super) async fn task_state(
        &self,
        id: TaskId,
        scope: &Scope,
        client: &Client,
    ) -> Result<Option<TaskState>, Failure> {
        let store = &self.toolbox.app().store;
        let stored = |error: steward_store::Error| failed(error.into());
        let Some(task) = store.task(scope, id).await.map_err(stored)? else { return Ok(None) };
        let mut message = None;
        let status = match task.status {
            TaskStatus::Pending | TaskStatus::Running => Status::Working,
            TaskStatus::Cancelled => Status::Cancelled,
            // A rejection by a person is an outcome of the run, not an error.
            TaskStatus::Rejected => {
                let why = task.error.clone().unwrap_or_default();
                Status::Completed(Output::json(json!({ "task": id, "status": "rejected", "result": why })))
            }
            TaskStatus::Failed => {
                let why = task.error.clone().unwrap_or_else(|| "the run failed".to_owned());
                Status::Failed(Failure::tool("ENG007", why, ErrorClass::User))
            }
            TaskStatus::Completed => {
                let result = task.result.as_deref().unwrap_or_default();
                let result = serde_json::from_str::<Json>(result).unwrap_or_else(|_| Json::from(result));
                Status::Completed(Output::json(
                    json!({ "task": id, "status": "completed", "result": result }),
                ))
            }
            TaskStatus::Paused => {
                let waiting = self.toolbox.approvals().list(scope).await.map_err(failed)?;
                match waiting.into_iter().find(|one| one.task == id) {
                    Some(one) if client.decides(&one.approvers, one.released_tools()) => {
                        let question = format!(
                            "{}. May {} be called with {}?",
                            one.reason,
                            one.tool,
                            Json::Object(one.arguments.clone())
                        );
                        let form = ClientPrompt::Form { message: question, schema: agree_schema() };
                        // The key is the digest of what was shown; a response is valid only for it.
                        Status::Asking(BTreeMap::from([(one.digest, form)]))
                    }
                    Some(one) => {
                        message = Some(format!("{}: it waits for a person who may decide", one.reason));
                        Status::Working
                    }
                    None => Status::Working,
                }
            }
        };
        let updated = task.completed_at.or(task.started_at).unwrap_or(task.created_at);
        Ok(Some(TaskState { id: id.to_string(), status, message, created: task.created_at, updated }))
    }

    /// Decides on the approval that a run waits for, and resumes the run.
    pub(super) async fn decide_task(
        &self,
        id: TaskId,
        answers: BTreeMap<String, Json>,
        caller: &Client,
        program: &Program,
    ) -> Result<(), Failure> {
        let user = self.caller(caller).user;
        let scope = Scope::User(user.clone());
        let Some(Status::Asking(asked)) = self.task_state(id, &scope, caller).await?.map(|one| one.status)
        else {
            return Ok(());
        };
        let by = Label::new(format!("{user} by {}", program.name))
            .map_err(|problem| Failure::unknown(problem.to_string()))?;
        for (digest, answer) in answers.into_iter().filter(|(key, _)| asked.contains_key(key)) {
            let shown = Sha256Hex::new(digest).map_err(|problem| Failure::unknown(problem.to_string()))?;
            let action = match agreed(&answered(&answer)) {
                true => HumanAction::Approve,
                false => HumanAction::Reject,
            };
            let decided = Decided {
                action,
                message: String::new(),
                updates: JsonObject::new(),
                by: by.clone(),
                from: "mcp".to_owned(),
                shown,
            };
            self.runner.decide(&scope, id, decided, None).await.map_err(failed)?;
        }
        Ok(())
    }
}
