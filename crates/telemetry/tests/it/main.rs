//! Integration tests: real calls, real sockets, a test receiver.
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
