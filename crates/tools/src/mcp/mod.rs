//! The MCP client: each configured server is supervised on its own and offers its tools through one
//! cheap [`Handle`].
//!
//! Invariants
//! - A server starts when it is first needed, and its whole process group is gone when it stops.
//! - A call never waits longer than its own time. When a server goes away, every call that waits
//!   for it learns so at once.
//! - What a server says of itself is untrusted: its tools are pinned by [`Pins`], its words are
//!   bounded and stripped.
//! - Nothing is shared between two servers: no lock, no queue, no task.
//!
//! A call that a server turns into a task (the tasks extension) is followed to its end. Sampling is
//! not spoken; a server that asks for it is refused.

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
mod result;
mod server;
mod start;
mod state;
mod supervisor;
mod tool;
mod transport;

pub use discover::{Prompt, PromptMessage, RemoteTool, Resource};
pub use oauth::{Login, login, logout};
pub use pin::{Offer, Pins, Review};
pub use pool::Servers;
pub use server::{Handle, Options, Server, Variables};
pub use state::{State, Status};
pub use tool::McpTool;
