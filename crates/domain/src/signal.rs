//! Signals: messages from outside for a run that waits.

use crate::verified::require_order;
use crate::{Check, Label, NodeName, Problem, SignalId, TaskId, Timestamp, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signal for a run, kept until the run has taken it. Its id follows from the run and the key, so
/// that the same signal sent twice is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// Its id.
    pub id: SignalId,
    /// Whose run it is for.
    pub user_id: UserId,
    /// The run.
    pub task_id: TaskId,
    /// The name that a `signal` node waits for.
    pub name: NodeName,
    /// What it carries.
    pub data: serde_json::Value,
    /// The sender's idempotency key.
    pub key: Label,
    /// Who sent it.
    pub by: Label,
    /// When the run is looked at for it; nothing once the run has taken it.
    #[serde(default)]
    pub next_at: Option<Timestamp>,
    /// When it arrived.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl Check for Signal {
    const ENTITY: &'static str = "Signal";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_order(problems, self.created_at, self.updated_at);
    }
}
