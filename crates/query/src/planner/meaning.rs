//! Nearness in meaning: the sentence encoder, or nothing.
//!
//! The invariant: without the encoder everything still works, only with less reach.

use super::Meaning;

/// Knows nothing: every pair is unrelated.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMeaning;

impl Meaning for NoMeaning {
    fn similarity(&self, _: &str, _: &str) -> f32 {
        0.0
    }
}

impl<F: Fn(&str, &str) -> f32> Meaning for F {
    fn similarity(&self, a: &str, b: &str) -> f32 {
        self(a, b)
    }
}
