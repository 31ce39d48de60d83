//! Who asks: the doors through which others reach Steward.
//!
//! - [`http`]: the API, the page, and the protocols of OpenAI's clients, A2A and AG-UI, behind one
//!   door.
//! - [`mcp`] over pipes and over HTTP, with [`mcp_gateway`] behind it.
//! - [`slack`]: mentions, threads, direct messages, buttons.
//! - [`identity`]: who somebody is and what they hold; [`metrics`]: numbers for Prometheus.
//!
//! Invariants
//! - [`mcp`] knows the protocol and nothing of what is behind it: all that it offers comes through
//!   [`mcp::Gateway`], which [`mcp_gateway`] implements over the toolbox, so policy, journal and
//!   limits are in one place, whoever asks.
//! - Over HTTP nobody is served whose `Host` or `Origin` was not allowed; by default that is
//!   loopback only.
//! - Every call that was started is waited for, called off or dropped: none outlives the server.

pub mod acp;
pub mod http;
pub mod identity;
pub mod mcp;
pub mod mcp_gateway;
pub mod metrics;
pub mod slack;
