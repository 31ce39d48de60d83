//! Schedules: questions and workflows that run at set times, on any number of replicas.
//!
//! Invariants
//! - A tick queues one task. The row of the tick, the schedule's next time and the task are one
//!   transaction; that of a second replica is rejected completely.
//! - No tick is lost: the next time moves only in the transaction that takes a tick or records that
//!   it is skipped.
//! - Scheduled work runs with the current grants of its user.

mod alert;
mod cadence;
mod delivery;

pub use alert::NewAlert;
pub use cadence::Cadence;
pub use delivery::{Deliverer, DirectMessages, signature};

use crate::error::{Error, Result};
use crate::run::Runner;
use crate::verified::{after, find_saved, list_saved, put_saved, write_saved};
use serde_json::json;
use std::time::Duration;
use steward_domain::{
    CatchUp, Coded as _, DeliveryTarget, EventType, Label, SavedEntity as _, SavedKind, Schedule, ScheduleId,
    ScheduleStatus, ScheduleSubject, ScheduleTick, Timestamp, UserId,
};
use steward_store::{Change, Page, Scope};
use tokio_util::sync::CancellationToken;

/// The polling interval.
const LOOK: Duration = Duration::from_millis(500);
/// The maximum number of schedules in one round.
const ROUND: u32 = 100;
/// The maximum number of missed ticks in one round; the next round continues.
const MAX_MISSED_TICKS: usize = 100_000;

/// A new schedule.
#[derive(Debug, Clone)]
pub struct NewSchedule {
    /// The owner.
    pub user: UserId,
    /// The name.
    pub name: Label,
    /// The times, as a cron pattern or in words.
    pub cadence: String,
    /// The zone, unless the cadence names one.
    pub zone: String,
    /// The question or workflow.
    pub subject: ScheduleSubject,
    /// How to handle missed ticks.
    pub catch_up: CatchUp,
    /// The delivery targets of the answer.
    pub deliver_to: Vec<DeliveryTarget>,
}

impl Runner {
    /// Creates a schedule. Its workflow and cadence are checked now; the rights of its owner are
    /// checked at each tick.
    pub async fn add_schedule(&self, new: NewSchedule, surface: &str) -> Result<Schedule> {
        let cadence = Cadence::read(&new.cadence, &new.zone)?;
        if let ScheduleSubject::Workflow { workflow, .. } = &new.subject {
            self.program(workflow.as_str()).await?;
        }
        let (now, context) = (self.now(), self.app());
        let id = ScheduleId(context.random.uuid_v7(now)?);
        let schedule = Schedule {
            id,
            user_id: new.user,
            name: new.name,
            cadence: new.cadence,
            next_at: cadence.next_after(now)?,
            cron: cadence.cron,
            zone: cadence.zone,
            subject: new.subject,
            catch_up: new.catch_up,
            status: ScheduleStatus::Active,
            last_at: None,
            last_task: None,
            deliver_to: new.deliver_to,
            created_at: now,
            updated_at: now,
        };
        let data = json!({ "action": "added", "schedule": id, "cron": schedule.cron, "zone": schedule.zone });
        let changes = vec![put_saved(schedule.clone(), None)?];
        write_saved(
            &*context.store,
            &schedule.user_id,
            id.0,
            EventType::ScheduleChanged,
            surface,
            data,
            changes,
        )
        .await?;
        Ok(schedule)
    }

    /// Pauses a schedule, or continues it from now.
    pub async fn pause_schedule(
        &self,
        scope: &Scope,
        id: ScheduleId,
        paused: bool,
        surface: &str,
    ) -> Result<Schedule> {
        let context = self.app();
        let mut schedule: Schedule = find_saved(&*context.store, scope, id.0).await?;
        let (now, seen) = (self.now(), schedule.updated_at);
        schedule.status = if paused { ScheduleStatus::Paused } else { ScheduleStatus::Active };
        schedule.next_at = if paused { None } else { schedule.cadence()?.next_after(now)? };
        schedule.updated_at = after(now, seen);
        let data = json!({ "action": if paused { "paused" } else { "resumed" }, "schedule": id });
        let changes = vec![put_saved(schedule.clone(), Some(seen))?];
        write_saved(
            &*context.store,
            &schedule.user_id,
            id.0,
            EventType::ScheduleChanged,
            surface,
            data,
            changes,
        )
        .await?;
        Ok(schedule)
    }

    /// Removes a schedule with its alerts. Its ticks and tasks stay.
    pub async fn remove_schedule(&self, scope: &Scope, id: ScheduleId, surface: &str) -> Result<()> {
        let store = &*self.app().store;
        let schedule: Schedule = find_saved(store, scope, id.0).await?;
        let owner = Scope::User(schedule.user_id.clone());
        let alerts: Vec<steward_domain::Alert> = list_saved(store, &owner, Page::first(1000)).await?;
        let mut changes = vec![Change::DeleteSaved { kind: SavedKind::Schedule, id: id.0 }];
        changes.extend(
            alerts
                .iter()
                .filter(|alert| alert.schedule_id == id)
                .map(|alert| Change::DeleteSaved { kind: SavedKind::Alert, id: alert.id.0 }),
        );
        let data = json!({ "action": "removed", "schedule": id });
        write_saved(store, &schedule.user_id, id.0, EventType::ScheduleChanged, surface, data, changes).await
    }

    /// Handles due ticks and deliveries until it is stopped.
    pub async fn run_schedules(&self, deliverer: &Deliverer, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            // An unavailable store is polled again: due ticks stay due.
            if let Err(error) = self.round(deliverer).await {
                tracing::warn!(code = error.code(), "schedules were not looked at: {error}");
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// One poll of ticks and deliveries.
    pub async fn round(&self, deliverer: &Deliverer) -> Result<()> {
        let store = &self.app().store;
        for item in store.due_items(SavedKind::Schedule, self.now(), ROUND).await? {
            let Some(schedule) = Schedule::from_item(item.into_inner()) else { continue };
            match self.take_tick(schedule).await {
                // Another replica was faster.
                Ok(()) | Err(Error::Store(steward_store::Error::Conflict { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        for tick in store.open_ticks(ROUND).await? {
            match self.settle_tick(&tick).await {
                Ok(()) | Err(Error::Store(steward_store::Error::Conflict { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        deliverer.round(self.app()).await
    }

    /// Takes the due tick of a schedule: queues its task, and sets the next time.
    async fn take_tick(&self, mut schedule: Schedule) -> Result<()> {
        let Some(first) = schedule.next_at else { return Ok(()) };
        let (now, cadence, seen) = (self.now(), schedule.cadence()?, schedule.updated_at);
        let mut due = first;
        let mut left_out = 0_usize;
        let mut next = cadence.next_after(due)?;
        if schedule.catch_up != CatchUp::All {
            // All missed ticks except the last are skipped, and their number is recorded.
            while let Some(later) = next.filter(|later| *later <= now && left_out < MAX_MISSED_TICKS) {
                (due, left_out) = (later, left_out + 1);
                next = cadence.next_after(due)?;
            }
        }
        schedule.next_at = next;
        schedule.updated_at = after(now, seen);
        // A tick that is more than a minute late was missed.
        let missed = now.micros() - due.micros() > 60_000_000;
        if schedule.catch_up == CatchUp::Skip && missed {
            let (id, user) = (schedule.id, schedule.user_id.clone());
            let data = json!({ "schedule": id, "left_out": left_out + 1, "last": due });
            let changes = vec![put_saved(schedule, Some(seen))?];
            let store = &*self.app().store;
            return write_saved(store, &user, id.0, EventType::ScheduleTicked, "schedule", data, changes)
                .await;
        }
        schedule.last_at = Some(due);
        let said = json!({ "schedule": schedule.id, "due_at": due, "left_out": left_out });
        self.queue_tick(schedule, seen, due, said).await
    }

    /// Queues the task of a tick in the transaction that takes it. If that fails, the tick ends
    /// with the reason.
    async fn queue_tick(
        &self,
        mut schedule: Schedule,
        seen: Timestamp,
        due: Timestamp,
        said: serde_json::Value,
    ) -> Result<()> {
        let user = schedule.user_id.clone();
        let queued = self.scheduled_task(&schedule).await;
        match queued {
            Ok((task, log)) => {
                schedule.last_task = Some(task);
                let tick = ScheduleTick {
                    schedule_id: schedule.id,
                    due_at: due,
                    user_id: user,
                    task_id: task,
                    settled_at: None,
                };
                let entry = log.entry(EventType::ScheduleTicked, said)?;
                log.journal_writer.note([entry], [put_saved(schedule, Some(seen))?, Change::TakeTick(tick)]);
                Ok(log.journal_writer.flush().await?)
            }
            Err(error) if error.class() == steward_domain::ErrorClass::Transient => Err(error),
            Err(error) => {
                let id = schedule.id;
                let data = json!({ "schedule": id, "due_at": due, "error": error.to_string(), "code": error.code() });
                let changes = vec![put_saved(schedule, Some(seen))?];
                let store = &*self.app().store;
                write_saved(store, &user, id.0, EventType::ScheduleTicked, "schedule", data, changes).await
            }
        }
    }
}

/// An object with more members.
fn merged(one: &serde_json::Value, more: serde_json::Value) -> serde_json::Value {
    let mut members = one.as_object().cloned().unwrap_or_default();
    if let serde_json::Value::Object(more) = more {
        members.extend(more);
    }
    serde_json::Value::Object(members)
}

/// The cadence of a schedule.
trait Timed {
    fn cadence(&self) -> Result<Cadence>;
}

impl Timed for Schedule {
    fn cadence(&self) -> Result<Cadence> {
        Ok(Cadence { cron: self.cron.clone(), zone: self.zone.clone() })
    }
}
