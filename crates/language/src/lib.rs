//! What was meant: the meaning of texts as vectors, the skills that read a request, the routing of a question to its domain, and
//! language models behind one interface.
//!
//! Invariant: nothing here sends a text anywhere unless a model was configured; the bundled encoder works offline.

pub mod answer;
mod encoder;
pub mod model;
mod pattern;
pub mod route;
pub mod skill;
pub mod understand;
pub mod words;

pub use encoder::{Encoder, cosine};
