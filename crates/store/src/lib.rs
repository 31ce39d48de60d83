//! Where it is kept: one interface ([`Store`]), SQLite by default, PostgreSQL for more than one
//! process.
//!
//! Invariants
//! - Every write goes through [`Store::commit`]: journal entries and the state they change are one
//!   transaction.
//! - A reader names a [`Scope`]; a user's scope shows that user's rows and no others. PostgreSQL
//!   keeps this by forced row-level security, SQLite by the same condition in every statement; one
//!   conformance suite runs against both.
//! - Journal rows are never changed or deleted. Erasing takes payloads, not entries.
//! - What was answered as synced is on disk, and so is everything that was answered before it
//!   ([`Durability`]).
//! - A commit that names a fence is carried out only while its lease stands.
//! - Only this crate knows the SQL of the store.

pub mod audit;
mod change;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod interface;
mod migrate;
pub mod postgres;
mod query;
mod queue;
mod retention;
mod rules;
mod sealed;
pub mod sqlite;
pub mod trace;
mod usage;
mod words;

pub use change::{Change, Commit, Committed, Durability, GateDecision, Mention, NewMessage, Verdict};
pub use error::{Error, Result};
pub use interface::{Store, StoreOptions};
pub use query::{
    ConversationFilter, EntitySearch, ExecutionFilter, Head, InvocationFilter, LogEntry, Nearest, Page,
    Scope, TaskFilter,
};
pub use queue::{Depth, Fence, Lease};
pub use retention::{Purge, PurgedFile, RetentionReport};
pub use usage::{Analytics, Usage};
