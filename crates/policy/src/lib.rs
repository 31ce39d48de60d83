//! Policy: which SQL and which tool calls are allowed. It is decided by code outside any model. The
//! threat model is that the author of the SQL is controlled by an attacker.
//!
//! Invariants
//! - Only [`admit`] creates an [`AdmittedSql`], and code that runs SQL accepts nothing else; the
//!   same holds for [`AdmittedCall`], [`Proposal::decide`] and tools.
//! - The admitted text is a new statement, written from the tables and columns that the names were
//!   resolved to. The original text never reaches an engine.
//! - Default deny: only known statements, functions, tables, columns and clauses are allowed.
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
pub use sql::{
    AdmittedSql, Dialect, Draft, Literal, Parameters, RESULT_NAME_BYTES, admit, is_function_allowed,
};
pub use steward_domain::Provenance;
