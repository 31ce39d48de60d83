//! A question about data as a typed query: catalogue, query algebra, reading, SQL text. Pure: no
//! I/O, no clock.
//!
//! Invariants
//! - The same question over the same catalogue gives the same readings.
//! - A query is a value. Only `sql` turns it into text, with every name quoted and every literal
//!   escaped.

pub mod about;
mod ask_back;
pub mod catalogue;
pub mod chart;
pub mod follow_up;
pub mod frame;
pub mod judge;
pub mod outlook;
pub mod planner;
pub mod propose;
pub mod query;
pub mod reader;
pub mod roles;
pub mod semantics;
pub mod sql;
pub mod verified;
