//! User utterances with the example applications.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test may fail loudly, and measures real time"
)]

mod named;
mod understand;
mod utterances;
