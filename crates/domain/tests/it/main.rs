//! The rules of every entity: one check, many rows. A row takes a valid example, changes one field,
//! and states the expected outcome.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod examples;
mod rules;
mod states;
