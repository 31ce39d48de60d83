//! Reasons for denial, each with its code.

use steward_domain::{Coded, ErrorClass};

/// A denial: the rule, the part of the statement, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Denied {
    #[error("this is not SQL that can be read: {detail}. Send one SELECT statement")]
    Syntax { detail: String },
    #[error("there are {count} statements. Send one SELECT statement at a time")]
    ManyStatements { count: usize },
    #[error(
        "this statement may write or change something: {what}. Data sources are read-only; send a SELECT"
    )]
    NotReadOnly { what: String },
    #[error("there is no table {table} that you may see. Known to you: {known}")]
    Table { table: String, known: String },
    #[error(
        "there is no column {column} that you may see. Name columns of the tables in FROM, without `*` over others"
    )]
    Column { column: String },
    #[error(
        "the column {column} is blocked by the rule {pattern:?}: it may hold personal data. Leave it out, or \
            ask for it to be allowed"
    )]
    Blocked { column: String, pattern: String },
    #[error("`{star}` would also read {column}, which you may not see. Name the columns you need")]
    Star { star: String, column: String },
    #[error(
        "the function {function} is not allowed. Functions that read files, settings, the network or other \
            tables never are"
    )]
    Function { function: String },
    #[error("{what} is not allowed in a query here")]
    Construct { what: String },
    #[error("the statement has {found} characters, {limit} are allowed")]
    TooLong { found: usize, limit: usize },
    #[error("the statement is nested deeper than {limit} levels, or has a longer chain of operators")]
    TooDeep { limit: usize },
    #[error("{name} could be more than one column here. Put the table's name or alias before it")]
    Ambiguous { name: String },
    #[error(
        "the rule for the rows of {table} cannot be applied: {detail}. Ask the operator to look at \
            config/access.yaml"
    )]
    Rule { table: String, detail: String },
    #[error(
        "of {table} only groups of at least {smallest} rows may be seen: {what} is not allowed. Count, sum \
            or average over it alone, grouped by what you select"
    )]
    SmallGroup { table: String, smallest: u32, what: String },
}

impl Coded for Denied {
    fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "SQL001",
            Self::ManyStatements { .. } => "SQL002",
            Self::NotReadOnly { .. } => "SQL003",
            Self::Table { .. } => "SQL004",
            Self::Column { .. } => "SQL005",
            Self::Blocked { .. } => "SQL006",
            Self::Star { .. } => "SQL007",
            Self::Function { .. } => "SQL008",
            Self::Construct { .. } => "SQL009",
            Self::TooLong { .. } => "SQL010",
            Self::TooDeep { .. } => "SQL011",
            Self::Ambiguous { .. } => "SQL012",
            Self::Rule { .. } => "SQL013",
            Self::SmallGroup { .. } => "SQL014",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Syntax { .. } | Self::TooLong { .. } | Self::TooDeep { .. } | Self::Ambiguous { .. } => {
                ErrorClass::User
            }
            _ => ErrorClass::Denied,
        }
    }
}
