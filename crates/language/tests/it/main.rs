//! Models from outside, over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and measures real time"
)]

mod conversation;
mod fake;
mod model;
mod others;
mod providers;
