//! Lists A2A tasks, filtered by context, status and time, in pages.

use super::{Dialect, Fault, Task, TaskState, history_length, lock, shown};
use crate::http::Shared;
use crate::identity::Identity;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError};
use steward_domain::Timestamp;

/// The parameters of `tasks/list`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ListQuery {
    #[serde(alias = "context_id")]
    context_id: String,
    status: String,
    #[serde(alias = "page_size")]
    page_size: Option<i64>,
    #[serde(alias = "page_token")]
    page_token: String,
    #[serde(alias = "include_artifacts")]
    include_artifacts: bool,
    #[serde(alias = "lastUpdatedAfter", alias = "status_timestamp_after")]
    status_timestamp_after: Value,
}

impl ListQuery {
    /// The task after which the page begins.
    fn place(&self) -> Result<Option<(i64, String)>, Fault> {
        if self.page_token.is_empty() {
            return Ok(None);
        }
        let place =
            self.page_token.split_once('_').and_then(|(at, id)| Some((at.parse().ok()?, id.to_owned())));
        place.map(Some).ok_or_else(|| Fault::params("pageToken is not one of ours"))
    }

    /// The lower bound of the status time. A number is in milliseconds.
    fn after(&self) -> Result<Option<Timestamp>, Fault> {
        match &self.status_timestamp_after {
            Value::Null => Ok(None),
            Value::Number(millis) => {
                let millis = millis.as_i64().filter(|millis| (0..=253_402_300_799_000).contains(millis));
                let millis = millis.ok_or_else(|| Fault::params("lastUpdatedAfter is no time"))?;
                Ok(Some(Timestamp::from_micros(millis * 1000)))
            }
            text => serde_json::from_value(text.clone())
                .map(Some)
                .map_err(|_| Fault::params("statusTimestampAfter is no time")),
        }
    }
}

/// The task states that this server uses.
const TASK_STATES: [TaskState; 5] = [
    TaskState::Working,
    TaskState::Completed,
    TaskState::InputRequired,
    TaskState::Failed,
    TaskState::Cancelled,
];
/// Task states of the protocol that this server never uses.
const NEVER: [&str; 4] = ["submitted", "rejected", "auth-required", "unknown"];

/// Parses a task state of either protocol version; `None` for a state that is never used here.
fn parse_task_state(name: &str) -> Result<Option<TaskState>, Fault> {
    let plain = name.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-");
    let found = TASK_STATES.into_iter().find(|standing| standing.name(Dialect::Old) == plain);
    match found {
        None if !NEVER.contains(&plain.as_str()) => Err(Fault::params(format!("there is no status {name}"))),
        found => Ok(found),
    }
}

pub(super) fn list(
    site: &Shared,
    identity: &Identity,
    params: &Value,
    dialect: Dialect,
) -> Result<Value, Fault> {
    let sent = if params.is_null() { json!({}) } else { params.clone() };
    let wanted: ListQuery =
        serde_json::from_value(sent).map_err(|error| Fault::params(format!("params: {error}")))?;
    let (length, after) = (history_length(params)?, wanted.after()?);
    let size = wanted.page_size.unwrap_or(50);
    if !(1..=100).contains(&size) {
        return Err(Fault::params("pageSize must be from 1 to 100"));
    }
    let before = wanted.place()?;
    let status = if wanted.status.is_empty() { None } else { Some(parse_task_state(&wanted.status)?) };
    let fits = |task: &&Arc<Task>| {
        let course = lock(task);
        task.user == identity.user
            && (wanted.context_id.is_empty() || task.context == wanted.context_id)
            && status.is_none_or(|status| status == Some(course.standing))
            && after.is_none_or(|after| course.at >= after)
    };
    let tasks = site.a2a.tasks.lock().unwrap_or_else(PoisonError::into_inner);
    let found: Vec<Arc<Task>> = tasks.values().filter(fits).cloned().collect();
    drop(tasks);
    let (total, size) = (found.len(), usize::try_from(size).unwrap_or(50));
    // Newest first. A page continues after the previous page even if tasks were added.
    let place = |task: &Arc<Task>| (lock(task).at.micros(), task.id.clone());
    let mut found: Vec<((i64, String), Arc<Task>)> =
        found.into_iter().map(|task| (place(&task), task)).collect();
    found.sort_by(|one, other| other.0.cmp(&one.0));
    let skip = before.map_or(0, |before| found.iter().take_while(|(at, _)| *at >= before).count());
    let on_page = || found.iter().skip(skip).take(size);
    let mut page: Vec<Value> = on_page().map(|(_, task)| shown(task, dialect, length)).collect();
    if !wanted.include_artifacts {
        page.iter_mut().filter_map(Value::as_object_mut).for_each(|task| drop(task.remove("artifacts")));
    }
    let last = on_page().next_back().filter(|_| skip + size < total);
    let next = last.map(|((at, id), _)| format!("{at}_{id}")).unwrap_or_default();
    Ok(json!({ "tasks": page, "nextPageToken": next, "pageSize": size, "totalSize": total }))
}
