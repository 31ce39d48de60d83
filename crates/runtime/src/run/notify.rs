//! Notices of approvals: to those who may decide when something waits, and to the asker when it was
//! decided.
//!
//! Invariants
//! - A notice is a delivery: it is in the store before it is sent, it is retried, and each attempt
//!   has a receipt.
//! - The id of a notice is derived from its subject and its target: a notice that is in the store is
//!   not written again after a restart. Two processes that find it in the same moment send it under
//!   the same id.
//! - A notice holds no arguments and no results: these are read where they are shown, with the
//!   rights of the reader.

use super::Runner;
use crate::error::{Error, Result};
use crate::toolbox::Waiting;
use crate::verified::{put_saved, write_saved};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use steward_domain::{
    Delivery, DeliveryId, DeliveryStatus, DeliveryTarget, EventType, SavedKind, Task, TaskId, TaskStatus,
    UserId,
};
use steward_store::{GateDecision, Page, Scope};

/// Who hears of an approval.
pub trait Audience: Send + Sync {
    /// The targets for something that waits: those who may decide on it.
    fn approvers(&self, waiting: &Waiting) -> Vec<DeliveryTarget>;
    /// The targets for a decision on a request of this user.
    fn asker(&self, user: &UserId) -> Vec<DeliveryTarget>;
    /// The address of a task in the page, if it is known.
    fn link(&self, task: TaskId) -> Option<String>;
}

/// The notices that this process has already written, to look at each subject once.
#[derive(Debug, Default)]
pub struct NoticeCursor {
    waiting: BTreeSet<(TaskId, String)>,
    decided: BTreeSet<(TaskId, u64)>,
}

/// The number of recent decisions that are looked at.
const DECISIONS: u32 = 100;
/// Decisions older than this when they are first seen are not reported, in microseconds.
const OLD: i64 = 24 * 3600 * 1_000_000;

impl Runner {
    /// Writes the notices for what waits and what was decided since the last call.
    pub async fn write_notices(&self, audience: &dyn Audience, cursor: &mut NoticeCursor) -> Result<()> {
        let waiting = self.toolbox.approvals().list(&Scope::System).await?;
        let now: BTreeSet<_> = waiting.iter().map(|one| (one.task, one.digest.clone())).collect();
        for one in waiting.iter().filter(|one| !cursor.waiting.contains(&(one.task, one.digest.clone()))) {
            let content = waiting_notice(one, audience.link(one.task).as_deref());
            for target in audience.approvers(one) {
                self.write_notice(&one.user, one.task, &one.digest, target, &content).await?;
            }
        }
        cursor.waiting = now;
        let since = self.now().micros().saturating_sub(OLD);
        let recent = self.app().store.decisions(&Scope::System, Page::first(DECISIONS)).await?;
        let known = std::mem::take(&mut cursor.decided);
        for (user, decision) in recent {
            let (id, key) = (decision.gate.task, (decision.gate.task, decision.gate.number));
            if known.contains(&key) {
                cursor.decided.insert(key);
                continue;
            }
            let task = self.app().store.task(&Scope::System, id).await?;
            let Some(task) = task.filter(|_| decision.at.micros() >= since) else {
                cursor.decided.insert(key);
                continue;
            };
            // A single call is reported with its outcome.
            if task.status == TaskStatus::Running && task.assigned_agent.as_str() == "tools" {
                continue;
            }
            cursor.decided.insert(key);
            let is_own = decision.by.as_str().split(' ').next() == Some(user.as_str());
            let content = decision_notice(&user, &decision, &task, audience.link(id).as_deref());
            for target in audience.asker(&user) {
                // Users are not told what they decided themselves.
                if is_own && matches!(target, DeliveryTarget::Slack(_)) {
                    continue;
                }
                let subject = format!("{} {}", decision.gate.number, decision.digest);
                self.write_notice(&user, id, &subject, target, &content).await?;
            }
        }
        Ok(())
    }

    async fn write_notice(
        &self,
        user: &UserId,
        task: TaskId,
        subject: &str,
        target: DeliveryTarget,
        content: &Json,
    ) -> Result<()> {
        let Json::Object(content) = content.clone() else {
            return Err(Error::Stored("a notice is an object".to_owned()));
        };
        let named = json!(["steward approval notice", content.get("event"), task, subject, target]);
        let id = DeliveryId(uuid_of(&named.to_string()));
        let store = &*self.app().store;
        let written = store.saved(&Scope::User(user.clone()), SavedKind::Delivery, id.0).await?;
        if written.is_some() {
            return Ok(());
        }
        let now = self.now();
        let delivery = Delivery {
            id,
            user_id: user.clone(),
            schedule_id: None,
            target,
            content,
            status: DeliveryStatus::Waiting,
            attempts: 0,
            next_at: Some(now),
            receipt: None,
            created_at: now,
            updated_at: now,
        };
        let data = json!({ "action": "added", "delivery": id, "task": task });
        let changes = vec![put_saved(delivery, None)?];
        write_saved(store, user, id.0, EventType::DeliveryTried, "notices", data, changes).await
    }
}

fn uuid_of(text: &str) -> uuid::Uuid {
    let hash = Sha256::digest(text);
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(hash.iter()) {
        *to = *from;
    }
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn waiting_notice(one: &Waiting, link: Option<&str>) -> Json {
    json!({
        "event": "approval_waiting", "task_id": one.task, "user": one.user, "description": one.description,
        "tool": one.tool, "tools": one.tools, "node": one.node, "digest": one.digest, "since": one.since,
        "until": one.until, "approvers": one.approvers, "link": link,
    })
}

fn decision_notice(user: &UserId, decision: &GateDecision, task: &Task, link: Option<&str>) -> Json {
    json!({
        "event": "approval_decided", "task_id": task.id, "user": user, "description": task.description,
        "decision": decision.verdict, "by": decision.by, "at": decision.at, "digest": decision.digest,
        "status": task.status_name(), "link": link,
    })
}
