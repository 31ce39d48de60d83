//! Errors of the store, each with its code.

use std::path::PathBuf;
use steward_domain::{Coded, ErrorClass, Invalid, Problem};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of the store. Every code has a page in `docs/errors/`.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    #[error("{what} already exists: {detail}")]
    Conflict { what: String, detail: String },
    #[error(
        "the database {path} is damaged: {detail}. Nothing was written. Restore a backup, or save what can \
            be read with: sqlite3 {path} .recover"
    )]
    Corrupt { path: PathBuf, detail: String },
    #[error("the disk is full: {detail}. Nothing of this write was kept; free some space and try again")]
    DiskFull { detail: String },
    #[error(
        "{path} cannot be written: {detail}. Check who owns it and its permissions, or set STEWARD_HOME to a \
            folder of yours"
    )]
    ReadOnly { path: PathBuf, detail: String },
    #[error(
        "the database has schema version {found}, this program knows {known}. Use the newer program that \
            made it; nothing was changed"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error(
        "the log was signed by {log}, the key here is {ours}. Put the right key back into keys/, or point \
            STEWARD_HOME at the right home"
    )]
    WrongKey { log: String, ours: String },
    #[error("the database is busy: {detail}. Another process holds it; try again")]
    Busy { detail: String },
    #[error("the database cannot be reached: {detail}")]
    Unreachable { detail: String },
    #[error("this belongs to another user")]
    OtherOwner,
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("migration {version} failed and was taken back: {detail}")]
    Migration { version: i64, detail: String },
    #[error("the store holds a value it cannot have written: {0}")]
    BadRow(String),
    #[error("the store was closed")]
    Closed,
    #[error("PostgreSQL lacks what Steward needs: {detail}")]
    Setup { detail: String },
    #[error(transparent)]
    Journal(#[from] steward_journal::Error),
    #[error("the database refused a statement: {0}")]
    Database(String),
    #[error("`{0}` is not a store: use sqlite:PATH or postgres://…")]
    BadAddress(String),
    #[error("the lease on the task is another's by now. Nothing was written; whoever holds it goes on")]
    LeaseLost,
    #[error(
        "the decision over task {task} was made already. Nothing was written; `steward approvals list` shows \
            what waits"
    )]
    Decided { task: String },
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "STO001",
            Self::Conflict { .. } => "STO002",
            Self::Corrupt { .. } => "STO003",
            Self::DiskFull { .. } => "STO004",
            Self::ReadOnly { .. } => "STO005",
            Self::NewerSchema { .. } => "STO006",
            Self::WrongKey { .. } => "STO007",
            Self::Busy { .. } => "STO008",
            Self::Unreachable { .. } => "STO009",
            Self::OtherOwner => "STO010",
            Self::Invalid(invalid) => invalid.code(),
            Self::Migration { .. } => "STO011",
            Self::BadRow(_) => "STO012",
            Self::Closed => "STO013",
            Self::Setup { .. } => "STO014",
            Self::Journal(journal) => journal.code(),
            Self::Database(_) => "STO015",
            Self::BadAddress(_) => "STO016",
            Self::LeaseLost => "STO017",
            Self::Decided { .. } => "STO020",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::OtherOwner => ErrorClass::Denied,
            Self::DiskFull { .. }
            | Self::Busy { .. }
            | Self::Unreachable { .. }
            | Self::Closed
            | Self::LeaseLost => ErrorClass::Transient,
            Self::BadRow(_) | Self::Database(_) | Self::Migration { .. } => ErrorClass::Bug,
            Self::Invalid(invalid) => invalid.class(),
            Self::Journal(journal) => journal.class(),
            _ => ErrorClass::User,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::BadRow(problem.to_string())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::BadRow(error.to_string())
    }
}
