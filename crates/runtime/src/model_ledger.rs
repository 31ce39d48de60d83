//! Model usage, and checks against its limits.
//!
//! Invariants
//! - The usage of a model reply is added in the store, in a commit of its task.
//! - Before each model call the daily limits are checked. Running calls are finished when a limit
//!   is reached, so a day may end slightly above its limit.
//! - The usage of other processes on the same store is seen with a delay of [`FRESH`].

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use steward_domain::{Label, ModelUsage, Timestamp, UserId};
use steward_journal::clock::Clock;
use steward_models::{ModelBudget, ModelError, Usage};
use steward_store::{Scope, Store};

/// How long sums from the store are cached.
const FRESH: Duration = Duration::from_secs(20);

/// The budget, and the known usage of today.
#[derive(Debug, Default)]
pub struct ModelLedger {
    budget: ModelBudget,
    today: Mutex<Today>,
}

#[derive(Debug, Default)]
struct Today {
    day: String,
    read_at: Option<Duration>,
    /// Tokens and cost in millionths, by user.
    users: BTreeMap<UserId, (u64, u64)>,
}

impl ModelLedger {
    /// A ledger with this budget.
    #[must_use]
    pub fn new(budget: ModelBudget) -> Self {
        Self { budget, today: Mutex::default() }
    }

    /// The budget.
    #[must_use]
    pub fn budget(&self) -> &ModelBudget {
        &self.budget
    }

    /// Checks whether a user may call a model now.
    pub async fn check(&self, store: &dyn Store, clock: &dyn Clock, user: &UserId) -> Result<(), ModelError> {
        if !self.budget.is_daily() {
            return Ok(());
        }
        let (day, now) = (clock.now().day(), clock.monotonic());
        let fresh = {
            let today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
            today.day == day && today.read_at.is_some_and(|read| now.saturating_sub(read) < FRESH)
        };
        if !fresh {
            let rows = store.model_usage(&Scope::System, &day, &day).await;
            // Without the sums the rest of the budget is unknown, so the call is denied.
            let rows = rows.map_err(|error| over("of the day", error.to_string()))?;
            let mut users: BTreeMap<UserId, (u64, u64)> = BTreeMap::new();
            for row in &rows {
                let spent = users.entry(row.user_id.clone()).or_default();
                *spent = (spent.0.saturating_add(row.tokens()), spent.1.saturating_add(row.cost_micros));
            }
            let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
            *today = Today { day, read_at: Some(now), users };
        }
        let today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, cost) = today.users.get(user).copied().unwrap_or_default();
        if let Some(detail) = self.budget.user_day.exceeded_by(tokens, cost) {
            return Err(over("of this person for today", detail));
        }
        let sum = |(tokens, cost): (u64, u64), one: &(u64, u64)| {
            (tokens.saturating_add(one.0), cost.saturating_add(one.1))
        };
        let (tokens, cost) = today.users.values().fold((0, 0), sum);
        match self.budget.day.exceeded_by(tokens, cost) {
            Some(detail) => Err(over("of everybody for today", detail)),
            None => Ok(()),
        }
    }

    /// Adds the usage of a reply, and returns the change to commit.
    pub fn add(
        &self,
        user: &UserId,
        model: &Label,
        usage: Usage,
        cost_micros: u64,
        at: Timestamp,
    ) -> ModelUsage {
        let row = ModelUsage {
            day: at.day(),
            user_id: user.clone(),
            model: model.clone(),
            calls: 1,
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cached,
            cost_micros,
        };
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if today.day == row.day {
            let spent = today.users.entry(user.clone()).or_default();
            *spent = (spent.0.saturating_add(row.tokens()), spent.1.saturating_add(cost_micros));
        }
        row
    }
}

fn over(which: &'static str, detail: String) -> ModelError {
    ModelError::OverBudget { which, detail }
}
