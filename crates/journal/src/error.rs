//! Errors of the journal, each with its code.

use std::path::PathBuf;
use steward_domain::{Coded, ErrorClass};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of the journal. Every code has a page in `docs/errors/`.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error(
        "entry {sequence} of chain {chain}: {what}. The log was changed after it was written; compare it \
            with a copy or a signed head kept elsewhere"
    )]
    Tampered { chain: String, sequence: u64, what: String },
    #[error("the signed head names {signed} entries, {found} are here: entries are missing at the end")]
    CutTail { signed: u64, found: u64 },
    #[error("the signed head does not fit the entries: the head covers other content than what is here")]
    RootMismatch,
    #[error(
        "the signature of the head is not by the key {key}. Check that you verify with the key that belongs \
            to this log (`steward audit head --key`)"
    )]
    BadSignature { key: String },
    #[error(
        "line {line} is cut off in the middle: the last write did not finish. The {whole} entries before it \
            are whole; remove the last line, or export again"
    )]
    HalfLine { line: u64, whole: u64 },
    #[error("line {line} is not a journal entry: {what}")]
    NotAnEntry { line: u64, what: String },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error(
        "the key {path} can be read by others. Its signatures prove nothing until you run: chmod 600 {path}"
    )]
    OpenKey { path: PathBuf },
    #[error(
        "{path} is not a signing key of this form: {what}. Restore it from a backup; a new key cannot \
            continue an old log"
    )]
    BadKey { path: PathBuf, what: String },
    #[error("{what} is not a signed head: {why}")]
    BadNote { what: String, why: String },
    #[error(
        "no signed head for {what}: without one a cut tail cannot be seen. Export again, or pass --no-head \
            to check the chain alone"
    )]
    NoHead { what: String },
    #[error("event data is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("`{name}` is both in the event data and in its personal part")]
    TwiceNamed { name: String },
    #[error("the system has no randomness to give: {0}")]
    NoRandomness(String),
    #[error(
        "the store has {found} entries, and the head that was kept at {kept_at} names {kept}: the store was \
            emptied or put back to an older copy. Put the newest copy back; if this one is right, run: \
            steward audit head --accept"
    )]
    RolledBack { found: u64, kept: u64, kept_at: PathBuf },
    #[error("the rows do not fit the journal: {0}. `steward audit verify --deep --json` lists everything")]
    Rows(String),
    #[error("the witness {name} did not sign the head: {why}")]
    Witness { name: String, why: String },
    #[error("this head and that one cannot both be true: {0}. The log was rewritten between them")]
    Inconsistent(String),
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Tampered { .. } => "JRN001",
            Self::CutTail { .. } => "JRN002",
            Self::RootMismatch => "JRN003",
            Self::BadSignature { .. } => "JRN004",
            Self::HalfLine { .. } => "JRN005",
            Self::NotAnEntry { .. } => "JRN006",
            Self::Io { .. } => "JRN007",
            Self::OpenKey { .. } => "JRN008",
            Self::BadKey { .. } => "JRN009",
            Self::BadNote { .. } => "JRN010",
            Self::NoHead { .. } => "JRN011",
            Self::TooDeep { .. } => "JRN012",
            Self::NoRandomness(_) => "JRN013",
            Self::Inconsistent(_) => "JRN014",
            Self::TwiceNamed { .. } => "JRN015",
            Self::RolledBack { .. } => "JRN016",
            Self::Rows(_) => "JRN017",
            Self::Witness { .. } => "JRN018",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Io { .. } | Self::NoRandomness(_) | Self::Witness { .. } => ErrorClass::Transient,
            _ => ErrorClass::User,
        }
    }
}
