//! What happened: append-only entries in S3's format, a digest over each whole entry, a Merkle log
//! over all of them, signed heads, the verifier, and redaction before anything is written.
//!
//! Invariants
//! - [`prepare`] and [`seal`] are the only way to make an entry, and redaction comes first.
//! - An entry's text is canonical: the exported line is a function of the entry, so any changed
//!   byte is found.
//! - What is personal or large enters by salted hash ([`payload`]); erasing it keeps every proof.
//! - The clock and random numbers have their only doors here ([`clock`], [`random`]); nothing else
//!   in this workspace reads them.

pub mod canonical;
pub mod clock;
mod entry;
mod error;
mod hash;
pub mod keys;
pub mod merkle;
pub mod note;
pub mod payload;
pub mod random;
pub mod redact;
pub mod verify;
pub mod witness;

pub use entry::{ChainTip, Draft, Prepared, SEALED_ROWS, Sealed, prepare, seal};
pub use error::{Error, Result};
pub use hash::Hash;
