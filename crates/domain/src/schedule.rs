//! Scheduled questions and workflows, the alerts on their results, and deliveries.

use crate::valid::require;
use crate::verified::require_order;
use crate::{
    AlertId, Check, DeliveryId, JsonObject, Label, Problem, Question, ScheduleId, TaskId, Timestamp, UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question or a workflow that runs on a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// The owner. It runs with the grants that the owner has at that time.
    pub user_id: UserId,
    /// The name of the schedule.
    pub name: Label,
    /// When it runs, as the user wrote it.
    pub cadence: String,
    /// The same as a cron pattern: minute, hour, day of month, month, day of week.
    pub cron: String,
    /// The IANA time zone of the pattern.
    pub zone: String,
    /// What runs.
    pub subject: ScheduleSubject,
    /// The handling of missed ticks.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// Whether it is active.
    #[serde(default)]
    pub status: ScheduleStatus,
    /// The next tick; none while it is paused, or when the pattern has no further tick.
    #[serde(default)]
    pub next_at: Option<Timestamp>,
    /// The last tick that was run.
    #[serde(default)]
    pub last_at: Option<Timestamp>,
    /// The task of that tick.
    #[serde(default)]
    pub last_task: Option<TaskId>,
    /// Where the answer is sent.
    #[serde(default)]
    pub deliver_to: Vec<DeliveryTarget>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The subject of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScheduleSubject {
    /// A question about data.
    Question {
        /// The question.
        question: Question,
        /// Sources: files, folders, addresses without passwords.
        data: Vec<String>,
    },
    /// A workflow or an agent of the home folder.
    Workflow {
        /// Its name.
        workflow: Label,
        /// Its input.
        #[serde(default)]
        input: serde_json::Value,
    },
}

/// The handling of missed ticks, which were due while no process was running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// Only the last one runs.
    #[default]
    Last,
    /// Each of them runs, in order.
    All,
    /// None of them runs; the schedule continues with the next tick.
    Skip,
}

/// Whether a schedule is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleStatus {
    /// Active.
    #[default]
    Active,
    /// Paused until it is resumed.
    Paused,
}

/// A claimed tick and the task that it queued. There is at most one for each schedule and due time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleTick {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// When the tick was due.
    pub due_at: Timestamp,
    /// The owner.
    pub user_id: UserId,
    /// The task that it queued.
    pub task_id: TaskId,
    /// When its alerts were evaluated and its answer was handed to delivery.
    #[serde(default)]
    pub settled_at: Option<Timestamp>,
}

/// A condition on the answer of a scheduled question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alert {
    /// Its id.
    pub id: AlertId,
    /// The owner.
    pub user_id: UserId,
    /// The schedule whose answers are evaluated.
    pub schedule_id: ScheduleId,
    /// The name of the alert.
    pub name: Label,
    /// The condition that triggers it.
    pub condition: AlertCondition,
    /// Quiet hours, in which nothing is sent. The alert is sent when they end, if its condition
    /// still holds.
    #[serde(default)]
    pub quiet: Option<QuietHours>,
    /// Where it is sent.
    #[serde(default)]
    pub notify: Vec<DeliveryTarget>,
    /// Whether it is triggered.
    #[serde(default)]
    pub status: AlertStatus,
    /// Since when it has been triggered.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// The user who acknowledged it.
    #[serde(default)]
    pub acknowledged_by: Option<UserId>,
    /// Whether it was sent since it was triggered.
    #[serde(default)]
    pub is_sent: bool,
    /// The value of the last answer.
    #[serde(default)]
    pub last_value: Option<f64>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The condition that triggers an alert. The value is the first number of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AlertCondition {
    /// The value is above this threshold.
    Above(f64),
    /// The value is below this threshold.
    Below(f64),
    /// The value changed by more than this percentage since the previous answer.
    Changed(f64),
    /// The answer has no rows or no number, or the question failed.
    Missing,
}

/// A time of day range in a time zone. It may span midnight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    /// The first minute of the day, inclusive.
    pub from_minute: u16,
    /// The last minute of the day, exclusive.
    pub to_minute: u16,
    /// The IANA zone.
    pub zone: String,
}

impl QuietHours {
    /// Whether a minute of the day is within the range.
    #[must_use]
    pub fn covers(&self, minute: u16) -> bool {
        if self.from_minute <= self.to_minute {
            (self.from_minute..self.to_minute).contains(&minute)
        } else {
            minute >= self.from_minute || minute < self.to_minute
        }
    }
}

/// The state of an alert.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertStatus {
    /// The condition does not hold.
    #[default]
    Clear,
    /// The condition holds.
    Standing,
    /// The condition holds, and a user has acknowledged it.
    Acknowledged,
}

/// The target of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DeliveryTarget {
    /// A URL that receives a signed POST.
    Webhook(String),
    /// A Slack user who gets a direct message, as `TEAM/USER`.
    Slack(String),
}

/// An outgoing delivery with its receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Its id, which the receiver sees. A repeated id is the same delivery.
    pub id: DeliveryId,
    /// The owner.
    pub user_id: UserId,
    /// The schedule it comes from; none for a notice of an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_id: Option<ScheduleId>,
    /// The target.
    pub target: DeliveryTarget,
    /// The payload.
    pub content: JsonObject,
    /// The current status.
    #[serde(default)]
    pub status: DeliveryStatus,
    /// Number of attempts.
    #[serde(default)]
    pub attempts: u32,
    /// When the next attempt is due.
    #[serde(default)]
    pub next_at: Option<Timestamp>,
    /// The outcome of the last attempt.
    #[serde(default)]
    pub receipt: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The states of a delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Waiting for the next attempt.
    #[default]
    Waiting,
    /// The receiver accepted it.
    Delivered,
    /// Abandoned after the last attempt.
    Failed,
}

impl Check for Schedule {
    const ENTITY: &'static str = "Schedule";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_order(problems, self.created_at, self.updated_at);
        let waits = self.status == ScheduleStatus::Active || self.next_at.is_none();
        require(problems, waits, "next_at", "must be empty while the schedule is paused", "a time");
        if let ScheduleSubject::Question { data, .. } = &self.subject {
            require(problems, !data.is_empty(), "subject.data", "must name at least 1 source", "[]");
        }
    }
}

impl Check for ScheduleTick {
    const ENTITY: &'static str = "ScheduleTick";
    fn check(&self, _: &mut Vec<Problem>) {}
}

impl Check for Alert {
    const ENTITY: &'static str = "Alert";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_order(problems, self.created_at, self.updated_at);
        let finite = match self.condition {
            AlertCondition::Above(limit) | AlertCondition::Below(limit) => limit.is_finite(),
            AlertCondition::Changed(percent) => percent.is_finite() && percent >= 0.0,
            AlertCondition::Missing => true,
        };
        require(problems, finite, "condition", "must hold a finite number", "another");
        if let Some(quiet) = &self.quiet {
            let within = quiet.from_minute < 1440 && quiet.to_minute < 1440;
            require(problems, within, "quiet", "must be minutes of a day, 0 to 1439", quiet.from_minute);
        }
    }
}

impl Check for Delivery {
    const ENTITY: &'static str = "Delivery";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_order(problems, self.created_at, self.updated_at);
        let waits = self.status == DeliveryStatus::Waiting || self.next_at.is_none();
        require(problems, waits, "next_at", "must be empty once it ended", "a time");
    }
}
