//! Budgets of models: for one answer, for one user a day, and for all users a day.

use serde::{Deserialize, Serialize};

/// The limits. A limit that is absent is not enforced.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelBudget {
    /// One answer.
    pub answer: Spending,
    /// One user, per day in UTC.
    pub user_day: Spending,
    /// All users, per day in UTC.
    pub day: Spending,
}

/// Tokens and cost. A limit that is absent is not enforced.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spending {
    /// Input and output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost, in the currency of the prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
}

impl ModelBudget {
    /// Whether there is no limit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether there is a daily limit.
    #[must_use]
    pub fn is_daily(&self) -> bool {
        self.user_day != Spending::default() || self.day != Spending::default()
    }
}

impl Spending {
    /// A message about the exhausted limit; none while something is left.
    #[must_use]
    pub fn exceeded_by(&self, tokens: u64, cost_micros: u64) -> Option<String> {
        if let Some(most) = self.tokens.filter(|most| tokens >= *most) {
            return Some(format!("{tokens} of {most} tokens are used"));
        }
        let spent = cost_micros as f64 / 1e6;
        self.money.filter(|most| spent >= *most).map(|most| format!("{spent:.4} of {most} is spent"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_by_tokens_or_by_money() {
        let limit = Spending { tokens: Some(100), money: Some(0.5) };
        assert_eq!(limit.exceeded_by(99, 499_999), None);
        assert!(limit.exceeded_by(100, 0).unwrap().contains("100 of 100 tokens"));
        assert!(limit.exceeded_by(0, 500_000).unwrap().contains("0.5000 of 0.5"));
        assert_eq!(Spending::default().exceeded_by(u64::MAX, u64::MAX), None);
    }
}
