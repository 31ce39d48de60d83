//! Approvals over A2A: a message with a data part decides, or lists what waits.
//!
//! The part is `{"approval": {"task": …, "digest": …, "decision": "approve"}}`, with `why`,
//! `message` and `updates` as in the API, or `{"approvals": {}}` for the list. The response is a
//! message, because there is no task of the protocol: the task that waits belongs to its asker.

use super::{Dialect, Fault, told};
use crate::http::Shared;
use crate::http::decide::{Decide, decide};
use crate::http::problem::Problem;
use crate::identity::{Identity, Right};
use serde_json::{Value, json};
use steward_domain::TaskId;

/// The data of the first part of a message that is about approvals.
pub(super) fn part(params: &Value) -> Option<&Value> {
    let parts = params.pointer("/message/parts")?.as_array()?;
    let data = parts.iter().filter_map(|part| part.get("data"));
    data.into_iter().find(|data| data.get("approval").is_some() || data.get("approvals").is_some())
}

/// Decides, or lists what waits.
pub(super) async fn answer(
    site: &Shared,
    identity: &Identity,
    data: &Value,
    dialect: Dialect,
) -> Result<Value, Fault> {
    if !identity.may(Right::Approve) {
        return Err(Fault::params(format!("{} does not hold the right to approve", identity.user)));
    }
    let (text, data) = match data.get("approval") {
        Some(wanted) => {
            let (task, wanted) = read(wanted)?;
            let view = decide(site, identity, task, wanted, "a2a").await?;
            (view.sentence(), json!(view))
        }
        None => {
            let waiting = site.waiting(identity).await?;
            let lines: Vec<String> = waiting
                .iter()
                .map(|one| format!("{} {}: {} (digest {})", one.task, one.tool, one.reason, one.digest))
                .collect();
            let text = if lines.is_empty() { "Nothing waits for you.".to_owned() } else { lines.join("\n") };
            (text, json!({ "approvals": waiting }))
        }
    };
    let id = site.new_id().map_err(Fault::from)?.to_string();
    Ok(told::agent_message(&id, &text, &data, dialect))
}

/// The task and the decision of a data part.
fn read(wanted: &Value) -> Result<(TaskId, Decide), Fault> {
    let wrong = |why: String| Fault::params(format!("params.message.parts: approval: {why}"));
    let mut wanted = wanted.clone();
    let task = wanted.as_object_mut().and_then(|fields| fields.remove("task"));
    let task = task.ok_or_else(|| wrong("`task` is missing".to_owned()))?;
    let task = serde_json::from_value(task).map_err(|error| wrong(error.to_string()))?;
    let wanted = serde_json::from_value(wanted).map_err(|error| wrong(error.to_string()))?;
    Ok((task, wanted))
}

impl From<steward_runtime::Error> for Fault {
    fn from(error: steward_runtime::Error) -> Self {
        Problem::from(error).into()
    }
}
