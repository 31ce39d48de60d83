//! What was meant: the meaning of texts as vectors, and language models behind one interface.
//!
//! Invariant: nothing here sends a text anywhere unless a model was configured; the bundled encoder works offline.

mod encoder;
pub mod model;

pub use encoder::{Encoder, cosine};
