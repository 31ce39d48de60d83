//! Tasks: units of work with a status, an owner and a journal chain.

use crate::valid::require;
use crate::{
    AgentName, Check, Days, Description, Invalid, Label, Problem, States, TaskId, Timestamp, UserId, Valid,
    step,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The task's id, and the id of its journal chain.
    pub id: TaskId,
    /// The owner.
    pub user_id: UserId,
    /// The description of the work.
    pub description: Description,
    /// The current status.
    #[serde(default)]
    pub status: TaskStatus,
    /// The agent that executes it.
    pub assigned_agent: AgentName,
    /// The result.
    #[serde(default)]
    pub result: Option<String>,
    /// Why it failed, or why a person said no.
    #[serde(default)]
    pub error: Option<String>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When work began.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// When it ended, with any status.
    #[serde(default)]
    pub completed_at: Option<Timestamp>,
    /// How long its trace is kept; the retention policy decides when absent.
    #[serde(default)]
    pub retention_days: Option<Days>,
    /// The label for the retention policy: `critical`, `debug`.
    #[serde(default)]
    pub label: Option<Label>,
    /// The task that started it.
    #[serde(default)]
    pub parent_task_id: Option<TaskId>,
}

/// The states of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Waiting in the queue.
    #[default]
    Pending,
    /// Running.
    Running,
    /// Waiting for a person or a timer.
    Paused,
    /// Completed.
    Completed,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
    /// A person said no, and that was its end.
    Rejected,
}

impl States for TaskStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Pending => &[Self::Running, Self::Cancelled],
            Self::Running => &[Self::Paused, Self::Completed, Self::Failed, Self::Cancelled, Self::Rejected],
            Self::Paused => &[Self::Running, Self::Failed, Self::Cancelled, Self::Rejected],
            Self::Completed | Self::Failed | Self::Cancelled | Self::Rejected => &[],
        }
    }
}

impl Check for Task {
    const ENTITY: &'static str = "Task";
    fn check(&self, problems: &mut Vec<Problem>) {
        let ended = self.status.is_final();
        require(
            problems,
            ended == self.completed_at.is_some(),
            "completed_at",
            "is present exactly when the task has ended",
            self.status_name(),
        );
        let begun = !matches!(self.status, TaskStatus::Pending | TaskStatus::Cancelled);
        require(
            problems,
            !begun || self.started_at.is_some(),
            "started_at",
            "is required once work has begun",
            "nothing",
        );
        let failed = matches!(self.status, TaskStatus::Failed | TaskStatus::Rejected);
        require(
            problems,
            failed == self.error.is_some(),
            "error",
            "is present exactly when the task has failed or was rejected",
            self.status_name(),
        );
        require(
            problems,
            self.result.is_none() || self.status == TaskStatus::Completed,
            "result",
            "is only present when completed",
            self.status_name(),
        );
        for (field, time) in [("started_at", self.started_at), ("completed_at", self.completed_at)] {
            require(
                problems,
                time.is_none_or(|t| t >= self.created_at),
                field,
                "must not be before created_at",
                self.created_at,
            );
        }
        require(
            problems,
            self.parent_task_id != Some(self.id),
            "parent_task_id",
            "must be another task",
            self.id,
        );
    }
}

impl Task {
    /// A task that starts as soon as it is submitted.
    pub fn running(
        id: TaskId,
        user_id: UserId,
        description: Description,
        agent: AgentName,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            user_id,
            description,
            status: TaskStatus::Running,
            assigned_agent: agent,
            result: None,
            error: None,
            created_at: now,
            started_at: Some(now),
            completed_at: None,
            retention_days: None,
            label: None,
            parent_task_id: None,
        }
    }

    /// The status as it is written in JSON.
    pub fn status_name(&self) -> &'static str {
        match self.status {
            TaskStatus::Pending => "pending",
            TaskStatus::Running => "running",
            TaskStatus::Paused => "paused",
            TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Cancelled => "cancelled",
            TaskStatus::Rejected => "rejected",
        }
    }
}

impl Valid<Task> {
    /// Starts it.
    pub fn start(self, now: Timestamp) -> Result<Self, Invalid> {
        self.advance(TaskStatus::Running, |task| task.started_at = task.started_at.or(Some(now)))
    }

    /// Pauses it until a person or a timer resumes it.
    pub fn pause(self) -> Result<Self, Invalid> {
        self.advance(TaskStatus::Paused, |_| {})
    }

    /// Completes it with its result.
    pub fn complete(self, result: String, now: Timestamp) -> Result<Self, Invalid> {
        self.advance(TaskStatus::Completed, |task| {
            task.result = Some(result);
            task.completed_at = Some(now);
        })
    }

    /// Fails it with an error message.
    pub fn fail(self, error: String, now: Timestamp) -> Result<Self, Invalid> {
        self.advance(TaskStatus::Failed, |task| {
            task.error = Some(error);
            task.completed_at = Some(now);
        })
    }

    /// Ends it with the no of a person, and their reason.
    pub fn reject(self, reason: String, now: Timestamp) -> Result<Self, Invalid> {
        self.advance(TaskStatus::Rejected, |task| {
            task.error = Some(reason);
            task.completed_at = Some(now);
        })
    }

    /// Calls it off.
    pub fn cancel(self, now: Timestamp) -> Result<Self, Invalid> {
        self.advance(TaskStatus::Cancelled, |task| task.completed_at = Some(now))
    }

    fn advance(self, to: TaskStatus, change: impl FnOnce(&mut Task)) -> Result<Self, Invalid> {
        let to = step(Task::ENTITY, self.status, to)?;
        self.with(|task| {
            task.status = to;
            change(task);
        })
    }
}
