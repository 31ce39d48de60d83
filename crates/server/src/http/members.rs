//! Maps Slack users to users of this server.

use super::{AppState, Shared};
use crate::identity::Right;
use crate::slack::{self, People, Slack};
use std::sync::Arc;
use steward_policy::Caller;

/// Looks up Slack users in the directory.
struct Members(Shared);

impl People for Members {
    fn caller(&self, team: &str, slack_user: &str) -> Option<Caller> {
        self.0.directory.by_slack(team, slack_user).map(|identity| self.0.caller(&identity))
    }

    fn may_decide(&self, team: &str, slack_user: &str, roles: &[String], tools: &[&str]) -> bool {
        let member = self.0.directory.by_slack(team, slack_user);
        member
            .is_some_and(|member| member.may(Right::Approve) && member.decides(roles, tools.iter().copied()))
    }
}

impl AppState {
    /// The Slack integration, with the same conversations and users.
    ///
    /// # Errors
    /// When the Slack options are invalid.
    pub fn slack(self: &Arc<Self>, options: slack::Options) -> Result<Arc<Slack>, slack::Error> {
        Slack::new(self.chat.clone(), self.runner.clone(), Arc::new(Members(self.clone())), options)
    }
}
