//! What language models used: counted for each answer, summed by day, person and model.

use crate::{Label, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls, tokens and money of one person with one model on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// The day in UTC: `2026-03-31`.
    pub day: String,
    /// For whom.
    pub user_id: UserId,
    /// The model, by its name in the settings.
    pub model: Label,
    /// Answers.
    pub calls: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of the tokens read, those that the provider had in its cache.
    pub cached_tokens: u64,
    /// Money, in millionths of the currency of the prices.
    pub cost_micros: u64,
}

impl ModelUsage {
    /// Tokens, read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds another one of the same person and model.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}
