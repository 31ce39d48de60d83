//! Errors of reading and analysing data, each with its code.

use crate::database::{Category, DatabaseError};
mod reported;

pub use reported::Reported;

use std::path::PathBuf;
use steward_domain::{Coded, ErrorCategory, ErrorClass};
use steward_policy::Denied;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of an analysis.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("{path} cannot be read: {detail}. Check the path and your permissions", path = path.display())]
    File { path: PathBuf, detail: String },
    #[error("{path} is not data that can be read: {detail}", path = path.display())]
    Format { path: PathBuf, detail: String },
    #[error("{path} is protected by a password. Open it, remove the password and save it \
        again", path = path.display())]
    Protected { path: PathBuf },
    #[error("{path} was not unpacked: {detail}. Unpack it yourself if you trust it, and name what is in \
        it", path = path.display())]
    Unpacked { path: PathBuf, detail: String },
    #[error("{what} is no source of data: {detail}")]
    Source { what: String, detail: String },
    #[error("the database {name} did not answer: {detail}")]
    Database { name: String, detail: String, category: ErrorCategory },
    #[error(transparent)]
    Server(#[from] DatabaseError),
    #[error("the query failed: {detail}")]
    Query { detail: String, category: ErrorCategory },
    #[error("it took longer than {seconds} s and was stopped. Narrow the question, or raise the time limit")]
    Timeout { seconds: u32 },
    #[error("it needs more memory than {megabytes} MB. Narrow the question, or raise the limit")]
    Memory { megabytes: usize },
    #[error("the result has more than {megabytes} MB. Ask for fewer rows, fewer columns, or a summary")]
    Output { megabytes: usize },
    #[error("{detail}. Nothing else was harmed; what was asked is not done")]
    Apart { detail: String },
    #[error("{at_once} questions are being worked on, and none ended in time. Try again in a moment")]
    Crowded { at_once: usize },
    #[error("{0}")]
    Reported(Reported),
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("the chart cannot be drawn: {0}")]
    Chart(String),
    #[error("the result could not be written as a file: {detail}")]
    Export { detail: String },
    #[error("the arguments of {tool} are wrong: {detail}")]
    Arguments { tool: &'static str, detail: String },
    #[error(
        "{table} has more than {rows} rows, too many to be fetched and joined with other sources. Ask its \
            database alone, or narrow it in a view"
    )]
    TooManyRows { table: String, rows: usize },
}

impl Error {
    /// The kind of error, which decides how it is repaired.
    #[must_use]
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Reported(reported) => reported.category,
            Self::Database { category, .. } | Self::Query { category, .. } => *category,
            Self::Server(error) => match error.category() {
                Category::Syntax => ErrorCategory::SqlSyntax,
                Category::Type => ErrorCategory::TypeMismatch,
                Category::MissingColumn | Category::MissingTable => ErrorCategory::MissingColumn,
                Category::Resource => ErrorCategory::ResourceExhausted,
                Category::Other => ErrorCategory::ToolFailure,
            },
            Self::Timeout { .. } | Self::Memory { .. } | Self::Output { .. } => {
                ErrorCategory::ResourceExhausted
            }
            Self::Denied(Denied::Column { .. } | Denied::Ambiguous { .. }) => ErrorCategory::MissingColumn,
            Self::Denied(Denied::Syntax { .. }) => ErrorCategory::SqlSyntax,
            Self::Denied(_) => ErrorCategory::Denied,
            Self::Arguments { .. } => ErrorCategory::InvalidArguments,
            _ => ErrorCategory::ToolFailure,
        }
    }

    /// The same error without the engine's message, which may quote a value of one row.
    pub(crate) fn without_values(self) -> Self {
        let category = self.category();
        match self {
            Self::Query { .. } | Self::Database { .. } | Self::Server(_) | Self::Reported(_)
                if category != ErrorCategory::ResourceExhausted =>
            {
                let detail = "it failed on the rows of a table that you see in part only; the message \
                    may hold one of its values and is not shown"
                    .to_owned();
                Self::Query { detail, category }
            }
            other => other,
        }
    }

    /// An error of the isolated process that holds the data.
    pub(crate) fn apart(detail: &str) -> Self {
        Self::Apart { detail: detail.to_owned() }
    }

    /// The same error for another file: an unpacked file is reported by its name in the archive.
    pub(crate) fn at(mut self, shown: &std::path::Path) -> Self {
        if let Self::File { path, .. }
        | Self::Format { path, .. }
        | Self::Protected { path }
        | Self::Unpacked { path, .. } = &mut self
        {
            shown.clone_into(path);
        }
        self
    }

    /// Classifies an error of the engine by its message.
    pub(crate) fn engine(error: &datafusion::error::DataFusionError, memory: usize) -> Self {
        use datafusion::error::DataFusionError as E;
        let detail = plain(&error.to_string());
        let category = match error.find_root() {
            E::ResourcesExhausted(_) => return Self::Memory { megabytes: memory >> 20 },
            E::SQL(..) => ErrorCategory::SqlSyntax,
            E::SchemaError(..) => ErrorCategory::MissingColumn,
            E::ArrowError(..) => ErrorCategory::TypeMismatch,
            _ if detail.contains("No field named") => ErrorCategory::MissingColumn,
            E::Plan(_) => ErrorCategory::TypeMismatch,
            _ => ErrorCategory::ToolFailure,
        };
        Self::Query { detail, category }
    }
}

/// The message without internals of the engine.
fn plain(text: &str) -> String {
    let first = text.split("\n\nbacktrace:").next().unwrap_or(text);
    let first = first.split("\nThis issue was likely caused by").next().unwrap_or(first);
    // A plan may contain what the statement must not see: the columns and values of a row-level
    // rule.
    let first = first.split("Plan: [").next().unwrap_or(first);
    first.trim().to_owned()
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "ANA001",
            Self::Format { .. } => "ANA002",
            Self::Source { .. } => "ANA003",
            Self::Database { .. } => "ANA004",
            Self::Query { .. } => "ANA005",
            Self::Timeout { .. } => "ANA006",
            Self::Memory { .. } => "ANA007",
            Self::Server(error) => error.code(),
            Self::Denied(denied) => denied.code(),
            Self::Chart(_) => "ANA008",
            Self::Arguments { .. } => "ANA009",
            Self::TooManyRows { .. } => "ANA010",
            Self::Protected { .. } => "ANA011",
            Self::Unpacked { .. } => "ANA012",
            Self::Export { .. } => "ANA013",
            Self::Output { .. } => "ANA014",
            Self::Apart { .. } => "ANA015",
            Self::Crowded { .. } => "ANA016",
            Self::Reported(reported) => reported.code(),
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Server(error) => error.class(),
            Self::Denied(denied) => denied.class(),
            Self::Database { .. } | Self::Timeout { .. } | Self::Crowded { .. } => ErrorClass::Transient,
            Self::Reported(reported) => reported.class(),
            _ => ErrorClass::User,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, ErrorCategory};

    #[test]
    fn errors_of_ruled_tables_hold_no_value() {
        let detail = "Cannot cast string 'pay=1007.31' to value of Int32 type".to_owned();
        let error = Error::Query { detail, category: ErrorCategory::TypeMismatch }.without_values();
        assert!(!error.to_string().contains("1007"), "{error}");
        assert_eq!(error.category(), ErrorCategory::TypeMismatch);
        let late = Error::Timeout { seconds: 3 }.without_values();
        assert!(matches!(late, Error::Timeout { seconds: 3 }));
    }
}
