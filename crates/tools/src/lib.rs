//! What can be done: one registry over what is built in, MCP servers and sub-agents, and one door
//! through which every call goes, whoever asks.
//!
//! Invariants
//! - A tool takes an [`AdmittedCall`](steward_policy::AdmittedCall) and nothing else, so policy has
//!   seen every call.
//! - A call that changes something is written down before it is made, and its outcome after, by the
//!   `call::Ledger` of the gateway's owner.
//! - What comes back is untrusted, whatever it says of itself.
//! - Outbound connections of tools go through [`egress`], child processes through [`process`].
//!   Nothing else opens either.
//! - One server's trouble is its own: every server has its own supervisor, limits and deadline.

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
