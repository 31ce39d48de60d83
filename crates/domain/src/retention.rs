//! Retention periods.

use crate::valid::require;
use crate::{Check, Days, Problem, Task, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The contents of `config/retention_policy.yaml`: retention periods by kind, with defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionPolicy {
    /// Days to keep the trace of an ended task when no other rule applies.
    pub default_days: Days,
    /// Days by task label: `critical: 30`.
    pub by_task: BTreeMap<String, Days>,
    /// Days by final status: `failed: 14`.
    pub by_status: BTreeMap<String, Days>,
    /// Days without a message after which a conversation is archived.
    pub conversation_archive_days: Days,
    /// Days an archived conversation is kept; never deleted when absent.
    pub conversation_delete_days: Option<Days>,
    /// Days the record of an agent run is kept; aggregates stay.
    pub execution_days: Days,
    /// Days the record of a tool call is kept; aggregates stay.
    pub invocation_days: Days,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        let days = |n| Days::new(n).unwrap_or_default();
        let table = |rows: &[(&str, u32)]| rows.iter().map(|(k, n)| ((*k).to_owned(), days(*n))).collect();
        Self {
            default_days: days(7),
            by_task: table(&[("critical", 30), ("debug", 3)]),
            by_status: table(&[("completed", 7), ("failed", 14)]),
            conversation_archive_days: days(90),
            conversation_delete_days: None,
            execution_days: days(30),
            invocation_days: days(30),
        }
    }
}

impl RetentionPolicy {
    /// How long the trace of a task is kept after its end. The task's own setting applies first,
    /// then its label, its status, and the default.
    pub fn days_for(&self, task: &Task) -> Days {
        let by_label = task.label.as_ref().and_then(|label| self.by_task.get(label.as_str()));
        let by_status = || self.by_status.get(task.status_name());
        task.retention_days
            .or(by_label.copied())
            .or_else(|| by_status().copied())
            .unwrap_or(self.default_days)
    }
}

impl Check for RetentionPolicy {
    const ENTITY: &'static str = "RetentionPolicy";
    fn check(&self, problems: &mut Vec<Problem>) {
        for status in self.by_status.keys() {
            let ended =
                [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Cancelled, TaskStatus::Rejected];
            let known =
                ended.iter().any(|s| serde_json::to_value(s).is_ok_and(|name| name == status.as_str()));
            require(
                problems,
                known,
                &format!("by_status.{status}"),
                "must be completed, failed, cancelled or rejected",
                status,
            );
        }
    }
}
