//! Tests of the crate from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

mod builtin;
mod call;
mod chaos;
mod config;
mod egress;
mod mcp;
mod sandbox;
mod select;
mod skill;
