//! What was meant: the meaning of texts as vectors, the skills that read a request, the routing of
//! a question to its domain, and results in words.
//!
//! Invariant: nothing here sends a text anywhere; the bundled encoder works offline.

pub mod answer;
mod encoder;
mod pattern;
pub mod route;
pub mod skill;
pub mod understand;
pub use steward_text::words;

pub use encoder::{Encoder, cosine};
