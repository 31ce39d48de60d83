//! Tests of the crate from outside.

mod builtin;
mod call;
mod chaos;
mod config;
mod egress;
mod mcp;
mod sandbox;
mod select;
mod skill;
