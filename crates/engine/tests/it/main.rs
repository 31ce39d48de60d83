//! One integration binary: stories of S2, rules of definitions, examples, and the simulation.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may fail loudly"
)]

mod by_request;
mod conversations;
mod definitions;
mod examples;
mod kit;
mod nodes;
mod people;
mod simulation;
mod static_plans;
mod stories;
mod taint;
