//! The runtime: executes plans within limits, and journals every step.
//!
//! Invariants
//! - Intent before effect, receipt after: a call with side effects is in the journal before it is
//!   made.
//! - A denied request runs nothing.
//! - On any failure the task ends in the journal with the reason.

pub mod ask;
pub mod board;
mod caller;
pub mod converse;
pub mod crash;
mod error;
pub mod eval;
mod feedback;
mod gaps;
mod journal_writer;
mod model_ledger;
mod progress;
mod recipes;
pub mod run;
pub mod schedule;
mod semantics;
mod semantics_diff;
pub mod toolbox;
mod verified;

pub use caller::{Callers, CurrentCaller, Grants};
pub use error::{Error, Result};
pub use feedback::Opinion;
pub use gaps::{Gap, GapGroup, GapReason, ProposedFix};
pub use model_ledger::ModelLedger;
pub use progress::ProgressEvent;
pub use recipes::delete_recipe;
pub use semantics::{load_semantics, read_semantics};
pub use semantics_diff::{SemanticsChange, StoredAnswer};
pub use verified::{CheckOutcome, NewVerified, VerifiedCheck, find_saved, list_saved};
