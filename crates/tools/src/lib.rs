//! Tools: one registry over built-in tools, MCP servers and sub-agents, and one gateway through
//! which every call goes.
//!
//! Invariants
//! - A tool accepts only an [`AdmittedCall`](steward_policy::AdmittedCall), so policy has checked
//!   every call.
//! - A call with effects is recorded before it is made, and its outcome afterwards, by the
//!   `call::Ledger` of the gateway's owner.
//! - Results are untrusted, whatever they claim.
//! - Outbound connections of tools go through [`egress`], child processes through [`process`].
//!   Nothing else opens either.
//! - Servers are isolated: each has its own supervisor, limits and deadline.

pub mod arguments;
pub mod builtin;
pub mod call;
pub mod config;
pub mod egress;
mod error;
pub mod mcp;
mod model_server;
pub mod process;
pub mod registry;
pub mod sandbox;
pub mod select;
pub mod skill;
mod tool;

pub use error::{ApprovalRequest, Error, Result};
pub use model_server::ModelServers;
pub use tool::{
    Answered, Content, Context, Elicitation, Example, Human, NoHuman, Output, Poll, Progress, Registered,
    Settings, Tool,
};
