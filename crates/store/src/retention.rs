//! What retention did, or would do.

use serde::Serialize;
use steward_domain::{TaskId, Timestamp};

/// What a run of retention purged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RetentionReport {
    /// Whether it only looked.
    pub dry_run: bool,
    /// What it found, by kind.
    pub purged: Vec<Purge>,
    /// Files of purged artifacts, for the caller to remove.
    pub files: Vec<PurgedFile>,
}

/// A file that its task left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PurgedFile {
    /// The task it belonged to.
    pub task_id: TaskId,
    /// Where the artifact said it is.
    pub content_ref: String,
}

/// One kind of thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Purge {
    /// What: `task`, `agent_execution`, …
    pub kind: &'static str,
    /// What happens to it: `deleted`, `archived`, `erased`.
    pub action: &'static str,
    /// How many.
    pub count: u64,
    /// Everything older than this; nothing where each has its own time.
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
