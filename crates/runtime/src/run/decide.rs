//! A person's decision on what waits: single calls and runs alike, for every surface.
//!
//! Invariants
//! - Every surface decides through [`Runner::decide_waiting`]. Whether the user may decide is
//!   checked there, on the roles and tools that the user has at that moment.
//! - What the user may not see is reported as not waiting.

use super::{Decided, Ran, Runner, Watch};
use crate::error::{Error, Result};
use crate::toolbox::{Shown, Toolbox, Waiting};
use std::sync::Arc;
use steward_domain::{HumanAction, TaskId, UserId};
use steward_store::Scope;
use steward_tools::call::Receipt;

/// The result of a decision.
#[derive(Debug)]
pub enum DecisionOutcome {
    /// A single call was approved and made.
    Called(Box<Receipt>),
    /// A single call was rejected.
    NotCalled(Box<Waiting>),
    /// A run continued, until it ended or waits again.
    Ran(Ran),
}

impl Runner {
    /// The toolbox.
    #[must_use]
    pub fn toolbox(&self) -> &Arc<Toolbox> {
        &self.toolbox
    }

    /// What waits for the decision of this user.
    pub async fn decidable(&self, user: &UserId) -> Result<Vec<Waiting>> {
        let mut waiting = self.toolbox.approvals().list(&Scope::System).await?;
        waiting.retain(|one| self.may_decide(user, one));
        Ok(waiting)
    }

    /// What waits for the decision of this user, and what the user's own tasks wait for.
    pub async fn visible_approvals(&self, user: &UserId) -> Result<Vec<Waiting>> {
        let mut waiting = self.toolbox.approvals().list(&Scope::System).await?;
        waiting.retain(|one| one.user == *user || self.may_decide(user, one));
        Ok(waiting)
    }

    /// Whether this user may decide on it now.
    #[must_use]
    pub fn may_decide(&self, user: &UserId, waiting: &Waiting) -> bool {
        let tools: Vec<&str> = waiting.released_tools().collect();
        self.toolbox.callers().may_decide(user, &waiting.approvers, &tools)
    }

    /// What waits under this id, if this user may decide on it.
    pub async fn find_decidable(&self, task: TaskId, user: &UserId) -> Result<Waiting> {
        let waiting = self.visible_approvals(user).await?.into_iter().find(|one| one.task == task);
        let waiting = waiting.ok_or_else(|| Error::NotWaiting(task.to_string()))?;
        if self.may_decide(user, &waiting) {
            return Ok(waiting);
        }
        let approvers = match waiting.approvers.as_slice() {
            [] => format!("who may approve {}", waiting.tool),
            roles => format!("with the role {}", roles.join(" or ")),
        };
        Err(Error::MayNotDecide { user: user.to_string(), task: task.to_string(), approvers })
    }

    /// Decides on what waits under `task`, as `decider`. An approved call is made, and a run
    /// continues, before this returns.
    pub async fn decide_waiting(
        &self,
        task: TaskId,
        decider: &UserId,
        decided: Decided,
        watch: Option<Watch>,
    ) -> Result<DecisionOutcome> {
        self.find_decidable(task, decider).await?;
        let approvals = self.toolbox.approvals();
        if approvals.is_run(&Scope::System, task).await? {
            return Ok(DecisionOutcome::Ran(self.decide(&Scope::System, task, decided, watch).await?));
        }
        let shown = Shown { task, digest: decided.shown };
        match decided.action {
            HumanAction::Modify => Err(Error::Decision(
                "a single call cannot be modified: reject it and make another".to_owned(),
            )),
            HumanAction::Reject => {
                let waiting = approvals.reject(&Scope::System, &shown, &decided.by, &decided.message).await?;
                Ok(DecisionOutcome::NotCalled(Box::new(waiting)))
            }
            HumanAction::Approve => {
                let gateway = self.toolbox.gateway();
                let receipt = approvals.approve(gateway, &Scope::System, &shown, &decided.by).await?;
                Ok(DecisionOutcome::Called(Box::new(receipt)))
            }
        }
    }
}
