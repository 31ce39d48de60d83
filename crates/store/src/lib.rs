//! Storage: one interface ([`Store`]), with SQLite by default and PostgreSQL for more than one
//! process.
//!
//! Invariants
//! - Every write goes through [`Store::commit`]: journal entries and the state they change are one
//!   transaction.
//! - A reader passes a [`Scope`]; a user's scope shows only that user's rows. PostgreSQL enforces
//!   this by forced row-level security, SQLite by the same condition in every statement; one
//!   conformance suite runs against both.
//! - Journal rows are never changed or deleted. Erasure removes payloads, not entries.
//! - When a synced commit returns, it and all earlier commits are on disk ([`Durability`]).
//! - A commit with a fence is executed only while its lease is valid.
//! - Only this crate contains the SQL of the store.

pub mod audit;
mod change;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod interface;
mod lookup;
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
pub use lookup::{Columns, LookupRow, LookupTable};
pub use query::{
    ConversationFilter, EntitySearch, ExecutionFilter, Head, InvocationFilter, LogEntry, Nearest, Page,
    Scope, TaskFilter,
};
pub use queue::{Depth, Fence, Lease};
pub use retention::{Purge, PurgedFile, RetentionReport};
pub use usage::{Analytics, Usage};
