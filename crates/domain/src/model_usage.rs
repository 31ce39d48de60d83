//! Usage of language models, counted for each reply and summed by day, user and model.

use crate::{Label, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls, tokens and cost of one user with one model on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// The day in UTC: `2026-03-31`.
    pub day: String,
    /// The user.
    pub user_id: UserId,
    /// The model, by its name in the settings.
    pub model: Label,
    /// Number of calls.
    pub calls: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that the provider served from its cache.
    pub cached_tokens: u64,
    /// Cost, in millionths of the currency of the price list.
    pub cost_micros: u64,
}

impl ModelUsage {
    /// Input and output tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds the usage of another record of the same user and model.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}
