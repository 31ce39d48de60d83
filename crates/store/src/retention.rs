//! The report of a retention run.

use serde::Serialize;
use steward_domain::{TaskId, Timestamp};

/// What a retention run purged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RetentionReport {
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// What was purged, by kind.
    pub purged: Vec<Purge>,
    /// Files of purged artifacts, for the caller to remove.
    pub files: Vec<PurgedFile>,
}

/// A file of a purged artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PurgedFile {
    /// The task it belonged to.
    pub task_id: TaskId,
    /// The location that the artifact recorded.
    pub content_ref: String,
}

/// One kind of purged rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Purge {
    /// The kind: `task`, `agent_execution`, …
    pub kind: &'static str,
    /// The action: `deleted`, `archived`, `erased`.
    pub action: &'static str,
    /// The number of rows.
    pub count: u64,
    /// The cutoff time; none if each row has its own.
    pub before: Option<Timestamp>,
}

impl RetentionReport {
    pub(crate) fn add(
        &mut self,
        kind: &'static str,
        action: &'static str,
        count: u64,
        before: Option<Timestamp>,
    ) {
        self.purged.push(Purge { kind, action, count, before });
    }
}
