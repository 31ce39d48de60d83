//! Steward as an MCP server.
//!
//! [`Gateway`] is what stands behind it. [`serve_stdio`] and [`serve`] speak over pipes, [`router`]
//! and [`serve_http`] over Streamable HTTP. [`Session`] is what a call sees of the client:
//! progress, log, questions to the person, cancellation.
//!
//! Every revision of the protocol that `rmcp` knows is spoken. Up to 2025-11-25 the server asks the
//! client with requests of its own; from 2026-07-28 on it may not, so a call that asks is set aside
//! and goes on, where it was, when the client comes back with the answer. A client that knows tasks
//! (the extension `io.modelcontextprotocol/tasks`) gets a task for a call that takes long.

mod changes;
mod convert;
mod drive;
mod gateway;
mod guard;
mod handler;
mod http;
mod page;
mod parked;
mod session;
mod stdio;
mod tasks;

pub use gateway::{
    Argument, Caller, Changes, Client, Completion, CompletionOf, Failure, Gateway, Identity, Kind, Message,
    Offered, Page, Prompt, Resource, ResourceBody, Speaker, TaskState, TaskStatus, TaskSupport, Template,
};
pub use http::{Check, Options, Refused, router, serve_http};
pub(crate) use session::answered;
pub use session::{ClientPrompt, Level, Sampled, Session};
pub use stdio::{serve, serve_stdio};
