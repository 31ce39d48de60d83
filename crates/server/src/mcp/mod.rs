//! Steward as an MCP server.
//!
//! [`Gateway`] is the backend. [`serve_stdio`] and [`serve`] use pipes, [`router`] and
//! [`serve_http`] use Streamable HTTP. A call uses [`Session`] for progress, logging, prompts to
//! the user and cancellation.
//!
//! All protocol versions of `rmcp` are supported. Up to 2025-11-25 the server prompts the client
//! with requests of its own. From 2026-07-28 on it may not: a call that prompts is parked and
//! resumes when the client sends the response. A client that supports tasks (the extension
//! `io.modelcontextprotocol/tasks`) gets a task for a long call.

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

pub(crate) use convert::VIEW_TYPE;
pub use gateway::{
    Argument, Caller, Changes, Client, Completion, CompletionRequest, Failure, Gateway, Identity, Kind,
    Message, Offered, Page, Prompt, Resource, ResourceBody, Speaker, TaskState, TaskStatus, TaskSupport,
    Template,
};
pub use http::{Check, Options, Refused, router, serve_http};
pub(crate) use session::answered;
pub use session::{ClientPrompt, Level, Sampled, Session};
pub use stdio::{serve, serve_stdio};
