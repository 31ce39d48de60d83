//! Calls that a server turned into a task (the tasks extension, SEP-2663): polled to their end,
//! with prompts answered by the person of the call.
//!
//! Invariant: if the caller gives up, the task is cancelled at the server.

use crate::error::{Error, Result};
use crate::mcp::calls::ActiveCall;
use crate::mcp::connection::{Abandoned, Connection};
use crate::mcp::result;
use crate::tool::{Context, Output, Progress};
use rmcp::model::{
    CallToolResult, ClientRequest, GetTaskParams, GetTaskRequest, InputRequests, InputRequiredResult,
    ServerResult, Task, TaskPayload, UpdateTaskParams, UpdateTaskRequest,
};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::time::Duration;

/// The bounds and the default of the polling interval.
const OFTEN: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(5);
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Cancels the task when dropped, unless it ended.
struct CancelOnDrop<'a> {
    connection: &'a Connection,
    task: Option<String>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            self.connection.abandon(Abandoned::Task(task));
        }
    }
}

impl Connection {
    /// Waits for the result of a task. The caller enforces the timeout by dropping it.
    pub(crate) async fn follow_task(&self, tool: &str, task: Task, context: &Context) -> Result<Output> {
        let mut unfinished = CancelOnDrop { connection: self, task: Some(task.task_id.clone()) };
        let call = ActiveCall::of(context);
        let mut pause = pause(&task);
        let mut told: Option<String> = None;
        let mut answered: BTreeSet<String> = BTreeSet::new();
        loop {
            tokio::time::sleep(pause).await;
            let request = GetTaskRequest::new(GetTaskParams::new(task.task_id.clone()));
            let request = ClientRequest::GetTaskRequest(request);
            let state = match self.request(tool, request, ActiveCall::of(context)).await? {
                ServerResult::GetTaskResult(state) => state.task,
                other => return Err(self.unexpected("tasks/get", &other)),
            };
            pause = self::pause(&state.task);
            if state.task.status_message.is_some() && state.task.status_message != told {
                told.clone_from(&state.task.status_message);
                call.tell(Progress { done: 0.0, total: None, message: told.clone() });
            }
            match state.payload {
                TaskPayload::InputRequired { input_requests } => {
                    self.answer_task(tool, &task.task_id, input_requests, &mut answered, context).await?;
                }
                TaskPayload::Completed { result } => {
                    unfinished.task = None;
                    let result: CallToolResult = serde_json::from_value(Json::Object(result))
                        .map_err(|problem| self.protocol(format!("a task ended with {problem}")))?;
                    return result::output(tool, result);
                }
                TaskPayload::Failed { error } => {
                    unfinished.task = None;
                    let message = error.get("message").and_then(Json::as_str).unwrap_or("the task failed");
                    let message = message.chars().filter(|c| !c.is_control()).take(4_000).collect();
                    return Err(Error::Failed { tool: tool.to_owned(), message, transient: false });
                }
                TaskPayload::Cancelled => {
                    unfinished.task = None;
                    return Err(Error::Cancelled { tool: tool.to_owned() });
                }
                _ => {}
            }
        }
    }

    /// Answers the prompts of a task, each once.
    async fn answer_task(
        &self,
        tool: &str,
        task: &str,
        mut questions: InputRequests,
        answered: &mut BTreeSet<String>,
        context: &Context,
    ) -> Result<()> {
        questions.retain(|key, _| !answered.contains(key));
        if questions.is_empty() {
            return Ok(());
        }
        answered.extend(questions.keys().cloned());
        let asked = InputRequiredResult::new(Some(questions), None);
        let Some(answers) = self.answer(asked, context, 0).await? else { return Ok(()) };
        let request = UpdateTaskRequest::new(UpdateTaskParams::new(task, answers));
        let request = ClientRequest::UpdateTaskRequest(request);
        self.request(tool, request, ActiveCall::of(context)).await.map(drop)
    }
}

fn pause(task: &Task) -> Duration {
    task.poll_interval_ms.map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis).clamp(OFTEN, MAX_POLL_INTERVAL)
}
