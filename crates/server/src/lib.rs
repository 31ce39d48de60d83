//! The server: the interfaces through which clients reach Steward.
//!
//! - [`http`]: the API, the page, and the OpenAI-compatible, A2A and AG-UI endpoints.
//! - [`mcp`]: the MCP server over pipes and over HTTP; [`mcp_gateway`] implements its gateway.
//! - [`slack`]: mentions, threads, direct messages, buttons.
//! - [`acp`]: editors, over stdin and stdout.
//! - [`identity`]: authentication and grants; [`metrics`]: metrics for Prometheus.
//!
//! Invariants
//! - [`mcp`] implements the protocol only. Everything it offers comes through [`mcp::Gateway`].
//!   [`mcp_gateway`] implements that over the toolbox, so policy, journal and limits apply to all.
//! - HTTP requests with a `Host` or `Origin` that is not allowed are rejected. By default only
//!   loopback is allowed.
//! - Every started call is awaited, cancelled or dropped. None outlives the server.

pub mod acp;
pub mod http;
pub mod identity;
pub mod mcp;
pub mod mcp_gateway;
pub mod metrics;
pub mod slack;
