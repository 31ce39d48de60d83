//! Tests of the crate from outside: real calls, real sockets, a receiver of our own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

mod app;
mod delivery;
mod export;
mod receiver;
mod secrets;
