//! Alerts: conditions on the answers of scheduled questions.
//!
//! Invariants
//! - An active alert is sent once: the settled tick, the changed alert and the deliveries are
//!   written in one transaction, so neither a restart nor a second replica sends it again.
//! - In quiet hours nothing is sent. An alert that is still active at the first tick after them is
//!   sent then.

use super::{Cadence, merged};
use crate::ask::{EarlierAnswer, earlier_answer};
use crate::error::Result;
use crate::run::Runner;
use crate::verified::{after, find_saved, list_saved, put_saved, write_saved};
use serde_json::{Value as Json, json};
use steward_domain::{
    Alert, AlertCondition, AlertId, AlertStatus, Delivery, DeliveryId, DeliveryStatus, DeliveryTarget,
    EventType, Label, QuietHours, Schedule, ScheduleId, ScheduleTick, States as _, Task, TaskStatus,
    Timestamp, UserId,
};
use steward_store::{Change, Page, Scope};

/// A new alert.
#[derive(Debug, Clone)]
pub struct NewAlert {
    /// The schedule whose answers are checked.
    pub schedule: ScheduleId,
    /// The name.
    pub name: Label,
    /// The condition.
    pub condition: AlertCondition,
    /// Hours in which nothing is sent.
    pub quiet: Option<QuietHours>,
    /// The delivery targets.
    pub notify: Vec<DeliveryTarget>,
}

impl Runner {
    /// Creates an alert on a schedule.
    pub async fn add_alert(&self, scope: &Scope, new: NewAlert, surface: &str) -> Result<Alert> {
        let store = &*self.app().store;
        let schedule: Schedule = find_saved(store, scope, new.schedule.0).await?;
        if let Some(quiet) = &new.quiet {
            Cadence::minute_of_day(&quiet.zone, self.now())?;
        }
        let now = self.now();
        let alert = Alert {
            id: AlertId(self.app().random.uuid_v7(now)?),
            user_id: schedule.user_id,
            schedule_id: schedule.id,
            name: new.name,
            condition: new.condition,
            quiet: new.quiet,
            notify: new.notify,
            status: AlertStatus::Clear,
            since: None,
            acknowledged_by: None,
            is_sent: false,
            last_value: None,
            created_at: now,
            updated_at: now,
        };
        let data = json!({ "action": "added", "alert": alert.id, "schedule": alert.schedule_id });
        let changes = vec![put_saved(alert.clone(), None)?];
        write_saved(store, &alert.user_id, alert.id.0, EventType::AlertChanged, surface, data, changes)
            .await?;
        Ok(alert)
    }

    /// Records that a user has acknowledged an active alert.
    pub async fn acknowledge(&self, scope: &Scope, id: AlertId, by: &UserId, surface: &str) -> Result<Alert> {
        let store = &*self.app().store;
        let mut alert: Alert = find_saved(store, scope, id.0).await?;
        if alert.status != AlertStatus::Standing {
            return Ok(alert);
        }
        let seen = alert.updated_at;
        (alert.status, alert.acknowledged_by) = (AlertStatus::Acknowledged, Some(by.clone()));
        alert.updated_at = after(self.now(), seen);
        let data = json!({ "action": "acknowledged", "alert": id, "by": by });
        let changes = vec![put_saved(alert.clone(), Some(seen))?];
        write_saved(store, &alert.user_id, id.0, EventType::AlertChanged, surface, data, changes).await?;
        Ok(alert)
    }

    /// Removes an alert.
    pub async fn remove_alert(&self, scope: &Scope, id: AlertId, surface: &str) -> Result<()> {
        let store = &*self.app().store;
        let alert: Alert = find_saved(store, scope, id.0).await?;
        let data = json!({ "action": "removed", "alert": id });
        let changes = vec![Change::DeleteSaved { kind: steward_domain::SavedKind::Alert, id: id.0 }];
        write_saved(store, &alert.user_id, id.0, EventType::AlertChanged, surface, data, changes).await
    }

    /// Checks the answer of a tick whose task has ended.
    pub(super) async fn settle_tick(&self, tick: &ScheduleTick) -> Result<()> {
        let store = &*self.app().store;
        let scope = Scope::User(tick.user_id.clone());
        let task = store.task(&scope, tick.task_id).await?;
        if task.as_ref().is_some_and(|task| !task.status.is_final()) {
            return Ok(());
        }
        let now = self.now();
        let mut changes =
            vec![Change::SettleTick { schedule: tick.schedule_id, due_at: tick.due_at, at: now }];
        let mut told = Vec::new();
        let schedule = store.saved(&scope, steward_domain::SavedKind::Schedule, tick.schedule_id.0).await?;
        let schedule = schedule.and_then(|item| match item.into_inner() {
            steward_domain::SavedItem::Schedule(schedule) => Some(schedule),
            _ => None,
        });
        if let (Some(schedule), Some(task)) = (schedule, task) {
            let answer = earlier_answer(store, &scope, tick.task_id).await.ok();
            let told_answer = content(&schedule, &task, tick, answer.as_ref());
            for target in &schedule.deliver_to {
                let content = merged(&told_answer, json!({ "event": "answer" }));
                changes.push(self.delivery(&schedule, target, content, now)?);
            }
            let alerts: Vec<Alert> = list_saved(store, &scope, Page::first(1000)).await?;
            for alert in alerts.into_iter().filter(|alert| alert.schedule_id == schedule.id) {
                let quiet = match &alert.quiet {
                    Some(quiet) => quiet.covers(Cadence::minute_of_day(&quiet.zone, now)?),
                    None => false,
                };
                let value = answer.as_ref().filter(|_| task.status == TaskStatus::Completed).and_then(number);
                let (seen, before) = (alert.updated_at, alert.status);
                let (mut alert, tells) = judge(alert, value, quiet, tick.due_at);
                alert.updated_at = after(now, seen);
                if alert.status != before || tells {
                    told.push(
                        json!({ "alert": alert.id, "status": alert.status, "value": value, "told": tells }),
                    );
                }
                if tells {
                    for target in &alert.notify {
                        let alerted = json!({ "id": alert.id, "name": alert.name, "condition": alert.condition,
                            "value": value, "since": alert.since });
                        let content = merged(&told_answer, json!({ "event": "alert", "alert": alerted }));
                        changes.push(self.delivery(&schedule, target, content, now)?);
                    }
                }
                changes.push(put_saved(alert, Some(seen))?);
            }
        }
        let data = json!({ "schedule": tick.schedule_id, "due_at": tick.due_at, "task": tick.task_id, "alerts": told });
        let chain = tick.schedule_id.0;
        write_saved(store, &tick.user_id, chain, EventType::AlertChanged, "schedule", data, changes).await
    }

    fn delivery(
        &self,
        schedule: &Schedule,
        target: &DeliveryTarget,
        content: Json,
        now: Timestamp,
    ) -> Result<Change> {
        let Json::Object(content) = content else {
            return Err(crate::Error::Stored("a delivery is an object".to_owned()));
        };
        put_saved(
            Delivery {
                id: DeliveryId(self.app().random.uuid_v7(now)?),
                user_id: schedule.user_id.clone(),
                schedule_id: Some(schedule.id),
                target: target.clone(),
                content,
                status: DeliveryStatus::Waiting,
                attempts: 0,
                next_at: Some(now),
                receipt: None,
                created_at: now,
                updated_at: now,
            },
            None,
        )
    }
}

/// The payload of a delivery.
fn content(schedule: &Schedule, task: &Task, tick: &ScheduleTick, answer: Option<&EarlierAnswer>) -> Json {
    json!({
        "schedule": { "id": schedule.id, "name": schedule.name },
        "due_at": tick.due_at, "task_id": task.id, "status": task.status,
        "answer": answer.map(|answer| &answer.text), "error": task.error,
        "result": answer.map(|answer| &answer.result),
    })
}

fn number(answer: &EarlierAnswer) -> Option<f64> {
    answer.result.get("number").and_then(Json::as_f64)
}

/// The alert after an answer, and whether it is sent now.
fn judge(mut alert: Alert, value: Option<f64>, quiet: bool, at: Timestamp) -> (Alert, bool) {
    let holds = match (alert.condition, value, alert.last_value) {
        (AlertCondition::Missing, value, _) => value.is_none(),
        (_, None, _) => false,
        (AlertCondition::Above(limit), Some(value), _) => value > limit,
        (AlertCondition::Below(limit), Some(value), _) => value < limit,
        (AlertCondition::Changed(percent), Some(value), Some(before)) => {
            (value - before).abs() > before.abs() * percent / 100.0
        }
        (AlertCondition::Changed(_), Some(_), None) => false,
    };
    // A missing value does not decide a threshold: the alert keeps its status.
    let undecided = value.is_none() && alert.condition != AlertCondition::Missing;
    alert.last_value = value.or(alert.last_value);
    if undecided {
        return (alert, false);
    }
    if !holds {
        alert.status = AlertStatus::Clear;
        (alert.since, alert.acknowledged_by, alert.is_sent) = (None, None, false);
        return (alert, false);
    }
    if alert.status == AlertStatus::Clear {
        (alert.status, alert.since) = (AlertStatus::Standing, Some(at));
    }
    let tells = alert.status == AlertStatus::Standing && !alert.is_sent && !quiet;
    alert.is_sent |= tells;
    (alert, tells)
}

#[cfg(test)]
#[path = "alert_tests.rs"]
mod tests;
