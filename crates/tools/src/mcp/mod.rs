//! The MCP client. Each configured server has its own supervisor and is used through a cheap
//! [`Handle`].
//!
//! Invariants
//! - A server starts when it is first needed. Its whole process group has ended when it is stopped.
//! - A call never waits longer than its own timeout. When a server disconnects, every waiting call
//!   fails at once.
//! - The self-description of a server is untrusted: its tools are pinned by [`Pins`], its text is
//!   truncated and sanitized.
//! - Servers share nothing: no lock, no queue, no task.
//!
//! A call that a server turns into a task (the tasks extension) is followed to its end. Sampling is
//! not supported and is rejected.

mod calls;
mod client;
mod connection;
mod discover;
mod files;
mod log;
mod oauth;
mod pin;
mod pool;
mod remote_task;
mod resources;
mod result;
mod server;
mod start;
mod state;
mod supervisor;
mod tool;
mod transport;

pub use discover::{Prompt, PromptArgument, PromptMessage, RemoteTool, Resource};
pub use oauth::{Login, login, logout};
pub use pin::{Offer, Pins, Review};
pub use pool::Servers;
pub use resources::{CompletionQuery, Features, ResourceTemplate, Suggestions};
pub use server::{Handle, Options, Server, Variables};
pub use state::{State, Status};
pub use tool::McpTool;
