//! Integration tests of models, over real sockets, and a recorded conversation with a real model.
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

mod conversation;
mod fake;
mod llama_faults;
mod model;
mod others;
mod providers;
