//! The skills: pure functions from what was said, and what is known, to a typed finding with its
//! confidence and its reasons.
//!
//! Invariants
//! - No clock, no network, no encoder, no memory: the same input gives the same finding on any
//!   machine. "Tomorrow" needs the day that the caller hands in.
//! - Nothing is guessed. Where two readings are close, the finding is the question with its
//!   options.
//! - Reasons are whole sentences of whole words, fit to be shown to the person who asked.
//!
//! Summaries are not here: `text.summarize` among the built-in tools chooses sentences, and one
//! such chooser is enough.

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

/// A share of certainty as the domain's type; what lies outside of 0 to 1 is drawn in.
#[must_use]
pub fn sure(share: f32) -> Confidence {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    // Rounded as the wider number, so that 0.97 is written as 0.97.
    Confidence::new((f64::from(share) * 1000.0).round() / 1000.0).unwrap_or_default()
}
