//! Questions and workflows that run by the clock, the alerts on their results, and what is sent
//! out.

use crate::valid::require;
use crate::verified::require_order;
use crate::{
    AlertId, Check, DeliveryId, JsonObject, Label, Problem, Question, ScheduleId, TaskId, Timestamp, UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question or a workflow that runs by the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// Whose it is. It runs with the grants that they have then.
    pub user_id: UserId,
    /// What it is called.
    pub name: Label,
    /// When it runs, in the words it was made with.
    pub cadence: String,
    /// The same as a cron pattern: minute, hour, day of month, month, day of week.
    pub cron: String,
    /// The IANA zone that the pattern is read in.
    pub zone: String,
    /// What runs.
    pub subject: ScheduleSubject,
    /// What happens with ticks that nobody was there for.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// Whether it runs.
    #[serde(default)]
    pub status: ScheduleStatus,
    /// The next tick; none while it is paused, or when the pattern has no more.
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

/// What runs by the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScheduleSubject {
    /// A question about data.
    Question {
        /// The question.
        question: Question,
        /// Files, folders, addresses without passwords.
        data: Vec<String>,
    },
    /// A workflow or an agent of the home.
    Workflow {
        /// Its name.
        workflow: Label,
        /// What it is given.
        #[serde(default)]
        input: serde_json::Value,
    },
}

/// What happens with ticks that nobody was there for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// The last of them runs.
    #[default]
    Last,
    /// Each of them runs, in order.
    All,
    /// None of them runs: it goes on with the next tick.
    Skip,
}

/// Whether a schedule runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleStatus {
    /// It runs.
    #[default]
    Active,
    /// It waits until it is resumed.
    Paused,
}

/// A tick that was taken: the task that it queued. There is one for each schedule and moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleTick {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The moment that it was due.
    pub due_at: Timestamp,
    /// Whose it is.
    pub user_id: UserId,
    /// The task that it queued.
    pub task_id: TaskId,
    /// When its alerts were looked at and its answer was handed to delivery.
    #[serde(default)]
    pub settled_at: Option<Timestamp>,
}

/// A condition on the answer of a scheduled question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alert {
    /// Its id.
    pub id: AlertId,
    /// Whose it is.
    pub user_id: UserId,
    /// The schedule whose answers are looked at.
    pub schedule_id: ScheduleId,
    /// What it is called.
    pub name: Label,
    /// When it stands.
    pub condition: AlertCondition,
    /// Hours in which nothing is sent; it is sent when they end, if it still stands.
    #[serde(default)]
    pub quiet: Option<QuietHours>,
    /// Where it is sent.
    #[serde(default)]
    pub notify: Vec<DeliveryTarget>,
    /// Whether it stands.
    #[serde(default)]
    pub status: AlertStatus,
    /// Since when it stands.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Who acknowledged it.
    #[serde(default)]
    pub acknowledged_by: Option<UserId>,
    /// Whether it was sent since it stands.
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

/// When an alert stands. The value is the first number of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AlertCondition {
    /// The value is above.
    Above(f64),
    /// The value is below.
    Below(f64),
    /// The value changed by more than so many percent since the answer before.
    Changed(f64),
    /// The answer has no rows or no number, or the question failed.
    Missing,
}

/// Hours of a day in a zone. They may span midnight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    /// From this minute of the day on.
    pub from_minute: u16,
    /// Until before this minute of the day.
    pub to_minute: u16,
    /// The IANA zone.
    pub zone: String,
}

impl QuietHours {
    /// Whether a minute of the day is within.
    #[must_use]
    pub fn covers(&self, minute: u16) -> bool {
        if self.from_minute <= self.to_minute {
            (self.from_minute..self.to_minute).contains(&minute)
        } else {
            minute >= self.from_minute || minute < self.to_minute
        }
    }
}

/// Whether an alert stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertStatus {
    /// All is well.
    #[default]
    Clear,
    /// The condition holds.
    Standing,
    /// The condition holds, and somebody has seen it.
    Acknowledged,
}

/// Where something is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DeliveryTarget {
    /// A web address that takes a signed POST.
    Webhook(String),
}

/// Something that is sent out, with its receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Its id; the receiver sees it, and a repeated one is the same delivery.
    pub id: DeliveryId,
    /// Whose it is.
    pub user_id: UserId,
    /// The schedule it comes from.
    pub schedule_id: ScheduleId,
    /// Where it goes.
    pub target: DeliveryTarget,
    /// What is sent.
    pub content: JsonObject,
    /// How it stands.
    #[serde(default)]
    pub status: DeliveryStatus,
    /// How often it was tried.
    #[serde(default)]
    pub attempts: u32,
    /// When it is tried next.
    #[serde(default)]
    pub next_at: Option<Timestamp>,
    /// What came of the last try.
    #[serde(default)]
    pub receipt: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// It waits for its next try.
    #[default]
    Waiting,
    /// The receiver took it.
    Delivered,
    /// It was given up.
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
