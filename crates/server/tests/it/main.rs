//! The MCP server from outside: over pipes with the library's own client, over HTTP with bytes on a real socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and waits for the server that it spawns"
)]

mod gateway;
mod http;
mod pipes;
mod wire;
