//! Errors of reading files, with what to do about them.
//!
//! Every message is a full sentence for the owner of the file; it contains at most a short excerpt
//! of it.

use std::fmt;

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// There is nothing in it, or only blank lines.
    Empty,
    /// Not text, with what it seems to be and what to do.
    Binary(&'static str),
    /// It is text, but not a table: a web page, for example.
    NotTable(&'static str),
    /// The JSON is broken.
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The message of the parser.
        reason: String,
    },
    /// It is JSON, but there are no records in it.
    NoRecords(&'static str),
    /// Something is larger than can be read into memory.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                write!(f, "The file is empty: export it again, with at least a line of column names.")
            }
            Self::Binary(what) | Self::NotTable(what) => {
                write!(f, "The file cannot be read as a table: {what}.")
            }
            Self::NotJson { line, column, reason } => {
                write!(
                    f,
                    "The file is not valid JSON at line {line}, column {column} ({reason}): correct it there."
                )
            }
            Self::NoRecords(what) => {
                write!(
                    f,
                    "No records were found: {what}. A list of objects such as [{{\"name\": 1}}] is expected."
                )
            }
            Self::TooLarge { what, limit } => {
                let limit = crate::frame::group(*limit as f64, 0, false);
                write!(
                    f,
                    "{what} is larger than the limit of {limit}: split the file, or check that its line ends \
                        are right."
                )
            }
        }
    }
}

impl std::error::Error for ReadError {}
