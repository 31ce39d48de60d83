//! Who hears of approvals: the configured webhooks, and the Slack users who may decide or who asked.

use super::{AppState, Shared};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Coded as _, DeliveryTarget, TaskId, UserId};
use steward_runtime::run::{Audience, NoticeCursor};
use steward_runtime::toolbox::Waiting;
use tokio_util::sync::CancellationToken;

/// Where notices of approvals go.
#[derive(Debug, Clone, Default)]
pub struct NoticeOptions {
    /// Addresses that hear of everything that waits and every decision.
    pub webhooks: Vec<String>,
    /// Whether Slack users hear what concerns them.
    pub slack: bool,
    /// The address of the page, for links.
    pub public_url: Option<String>,
}

/// The interval between two looks at what waits.
const LOOK: Duration = Duration::from_secs(1);

struct Members {
    site: Shared,
    options: NoticeOptions,
}

impl AppState {
    /// Writes notices of approvals until it is stopped. Without a target it does nothing.
    pub async fn write_notices(self: &Arc<Self>, options: NoticeOptions, stop: &CancellationToken) {
        if options.webhooks.is_empty() && !options.slack {
            return;
        }
        let members = Members { site: self.clone(), options };
        let mut cursor = NoticeCursor::default();
        while !stop.is_cancelled() {
            // An unavailable store is looked at again: what waits still waits.
            if let Err(error) = self.runner.write_notices(&members, &mut cursor).await {
                tracing::warn!(code = error.code(), "notices of approvals were not written: {error}");
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

impl Members {
    fn webhooks(&self) -> impl Iterator<Item = DeliveryTarget> + '_ {
        self.options.webhooks.iter().cloned().map(DeliveryTarget::Webhook)
    }

    fn slack(&self, of: impl Fn(&UserId) -> bool) -> Vec<DeliveryTarget> {
        if !self.options.slack {
            return Vec::new();
        }
        let directory = &self.site.directory;
        let mut names: Vec<String> = Vec::new();
        for (id, user) in directory.users() {
            if !user.disabled && of(&id) {
                names.extend(user.slack);
            }
        }
        let owner = directory.machine_owner();
        if !directory.has_users() && of(owner) {
            names.extend(directory.access_file().owner_slack);
        }
        names.into_iter().map(DeliveryTarget::Slack).collect()
    }
}

impl Audience for Members {
    fn approvers(&self, waiting: &Waiting) -> Vec<DeliveryTarget> {
        let may = |user: &UserId| self.site.runner.may_decide(user, waiting);
        self.webhooks().chain(self.slack(may)).collect()
    }

    fn asker(&self, user: &UserId) -> Vec<DeliveryTarget> {
        self.webhooks().chain(self.slack(|one| one == user)).collect()
    }

    fn link(&self, task: TaskId) -> Option<String> {
        let base = self.options.public_url.as_deref()?.trim_end_matches('/');
        Some(format!("{base}/#/tasks/{task}"))
    }
}
