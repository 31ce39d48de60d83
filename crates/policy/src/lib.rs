//! What is allowed: decided by code that stands outside any model. Assume that whoever writes the SQL obeys the attacker.
//!
//! Invariants
//! - [`AdmittedSql`] can be made by [`admit`] only, and what runs SQL takes nothing else; the same holds for
//!   [`AdmittedCall`], [`Proposal::decide`] and tools.
//! - What runs is what was understood: the admitted text is written anew from the parsed statement, so comments,
//!   encodings and odd spacing have no say.
//! - Everything is refused unless it is known: statements, functions, tables, columns, clauses.
//! - Pure: no I/O, no clock, no database.

mod access;
mod call;
mod error;
mod sql;

pub use access::{Access, Column, Limits, Schema, Table};
pub use call::{AdmittedCall, Approval, Caller, Decision, Proposal, Provenance, Refusal, Rules};
pub use error::Denied;
pub use sql::{AdmittedSql, admit};
