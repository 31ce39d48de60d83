//! The doors from outside: MCP over pipes with the library's own client and over HTTP with bytes on
//! a real socket, Slack over a server that speaks its Web API.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and waits for the server that it spawns"
)]

mod access;
mod gateway;
mod http;
mod pipes;
mod slack;
mod wire;
