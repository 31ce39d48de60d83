//! What is allowed: decided by code that stands outside any model. Assume that whoever writes the
//! SQL obeys the attacker.
//!
//! Invariants
//! - [`AdmittedSql`] can be made by [`admit`] only, and what runs SQL takes nothing else; the same
//!   holds for [`AdmittedCall`], [`Proposal::decide`] and tools.
//! - What runs is what was resolved: the admitted text is a new statement, written from the tables
//!   and columns that every name was resolved to. The text that came in never reaches an engine.
//! - Everything is refused unless it is known: statements, functions, tables, columns, clauses.
//! - Pure: no I/O, no clock, no database.

mod access;
mod call;
mod effect;
mod error;
mod sql;

pub use access::{Access, Column, Limits, Mask, RowRules, Schema, Table, TableRules};
pub use call::{AdmittedCall, Approval, Caller, Decision, Proposal, Refusal, Rules};
pub use effect::{Effect, effect_of, worst_effect_of};
pub use error::Denied;
pub use sql::{AdmittedSql, Dialect, Draft, Literal, Parameters, admit, is_function_allowed};
pub use steward_domain::Provenance;
