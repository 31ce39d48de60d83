//! The skills: pure functions from a text and its context to a typed result with confidence and
//! reasons.
//!
//! Invariants
//! - No clock, no network, no encoder, no state: the same input gives the same result on any
//!   machine. The caller passes the current date.
//! - Nothing is guessed. If two readings are close, the result is a clarifying question with
//!   options.
//! - Reasons are complete sentences that can be shown to the user.
//!
//! Summaries are not here: the built-in tool `text.summarize` selects sentences.

mod agree;
mod extract;
mod humanise;
mod intent;
mod refer;
mod suggest;

pub use agree::agrees;
pub use extract::{Entity, EntityKind, Field, Value, extract};
pub use humanise::{ErrorKind, HumanError, Remedy, humanise};
pub use intent::{ALL, FOUR, Intent, SEVEN, classify};
pub use refer::{Recent, Reference, Resolution, resolve, resolved};
pub use suggest::{Answered, Suggestion, suggest};

use steward_domain::Confidence;

/// Converts a share to a [`Confidence`], clamped to 0 to 1.
#[must_use]
pub fn sure(share: f32) -> Confidence {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    // Rounded as f64, so that 0.97 is written as 0.97.
    Confidence::new((f64::from(share) * 1000.0).round() / 1000.0).unwrap_or_default()
}
