//! The journal: append-only entries, a digest over each whole entry, a Merkle log over all of them,
//! signed heads, the verifier, and redaction before writing.
//!
//! Invariants
//! - [`prepare`] and [`seal`] are the only way to create an entry, and redaction comes first.
//! - An entry's text is canonical: the exported line is a function of the entry, so any changed
//!   byte is detected.
//! - Personal or large data enters as a salted hash ([`payload`]); erasing it keeps every proof
//!   valid.
//! - [`clock`] and [`random`] are the only modules of the workspace that read the time or random
//!   numbers.

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
