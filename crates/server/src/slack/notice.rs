//! Direct messages about approvals: what waits, with its buttons, and what was decided.
//!
//! Invariant: arguments and results are read from the store when the message is written, for a user
//! who may decide on the call, or who asked for it.

use super::api::{MessageTarget, Post};
use super::mrkdwn::escape;
use super::{Slack, show};
use async_trait::async_trait;
use serde_json::Value as Json;
use steward_domain::{JsonObject, TaskId};
use steward_runtime::schedule::DirectMessages;
use steward_store::Scope;

/// The maximum number of characters of a result.
const RESULT: usize = 1000;

#[async_trait]
impl DirectMessages for Slack {
    async fn send(&self, user: &str, content: &JsonObject) -> Result<String, String> {
        let (team, id) = user.split_once('/').ok_or("a Slack user is TEAM/USER")?;
        let task = content.get("task_id").and_then(|task| serde_json::from_value(task.clone()).ok());
        let task: TaskId = task.ok_or("the notice names no task")?;
        let text = |name: &str| content.get(name).and_then(Json::as_str).unwrap_or_default();
        let post = match text("event") {
            "approval_waiting" => self.waiting_notice(team, id, task, text("digest")).await?,
            _ => self.decision_notice(task, content).await?,
        };
        let Some(mut post) = post else { return Ok("it no longer waits, or not for this user".to_owned()) };
        if !text("link").is_empty() {
            post.blocks.push(show::context(&format!("<{}|Open it in the page>", text("link"))));
        }
        let to = MessageTarget { channel: id, thread: None };
        self.api.post(to, &post).await.map_err(|error| error.to_string())
    }
}

impl Slack {
    /// What waits, if this user may still decide on it.
    async fn waiting_notice(
        &self,
        team: &str,
        user: &str,
        task: TaskId,
        digest: &str,
    ) -> Result<Option<Post>, String> {
        let approvals = self.chat.toolbox().approvals();
        let waiting = approvals.list(&Scope::System).await.map_err(|error| error.to_string())?;
        let call = waiting.iter().find(|call| call.task == task && call.digest == digest);
        let call = call.filter(|call| {
            let tools: Vec<&str> = call.released_tools().collect();
            self.people.may_decide(team, user, &call.approvers, &tools)
        });
        let Some(call) = call else { return Ok(None) };
        let mut post = show::waiting(call);
        if approvals.is_run(&Scope::System, task).await.map_err(|error| error.to_string())? {
            let text = "To continue with changes, use *Modify* in the page.";
            post.blocks.push(show::context(text));
        }
        Ok(Some(post))
    }

    /// What was decided, and what came of it.
    async fn decision_notice(&self, task: TaskId, content: &JsonObject) -> Result<Option<Post>, String> {
        let store = &self.chat.toolbox().app().store;
        let found = store.task(&Scope::System, task).await.map_err(|error| error.to_string())?;
        let Some(found) = found else { return Ok(None) };
        let text = |name: &str| escape(content.get(name).and_then(Json::as_str).unwrap_or_default());
        let mut told =
            format!("Your request “{}” was {} by {}.", text("description"), text("decision"), text("by"));
        let result = found.result.as_deref().or(found.error.as_deref()).unwrap_or_default();
        if !result.trim().is_empty() {
            let short: String = result.chars().take(RESULT).collect();
            told.push_str(&format!("\n{}", escape(&short)));
        }
        Ok(Some(Post { blocks: vec![show::section(&told)], text: told }))
    }
}
