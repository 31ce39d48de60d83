//! Language understanding: sentence embeddings, the skills that interpret a request, routing to
//! domains, and results as text.
//!
//! Invariant: no text is sent anywhere; the bundled encoder works offline.

pub mod answer;
mod encoder;
mod pattern;
pub mod route;
pub mod skill;
pub mod understand;
pub use steward_text::words;

pub use encoder::{Encoder, cosine};
