//! Error classes, and the description of a rejected value.

use std::fmt;

/// The class alone decides retry, HTTP status, exit code and tone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The caller can fix it: a wrong value, a missing file, an unknown name.
    User,
    /// Policy denies it. A retry does not help.
    Denied,
    /// A temporary external failure: a timeout, a lock, a full disk. A later retry may succeed.
    Transient,
    /// A bug in Steward. Report it.
    Bug,
}

impl ErrorClass {
    /// The exit code of a command that ends with an error of this class.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::User => 2,
            Self::Denied => 3,
            Self::Transient => 4,
            Self::Bug => 70,
        }
    }
}

/// Every error of Steward has a stable code with a page in `docs/errors/`, and a class.
pub trait Coded: std::error::Error {
    /// The stable code, such as `STO003`.
    fn code(&self) -> &'static str;
    /// What kind of failure this is.
    fn class(&self) -> ErrorClass;
}

/// One broken rule: where, which rule, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field inside the entity, such as `constraints.row_limit`.
    pub field: String,
    /// The rule in words, such as `must be between 1 and 200000`.
    pub rule: String,
    /// The value that broke it, shortened for reading.
    pub value: String,
}

impl Problem {
    /// Describes a broken rule. The value is cut to 80 characters: it may be large and is only a
    /// hint.
    pub fn new(field: impl Into<String>, rule: impl Into<String>, value: impl fmt::Display) -> Self {
        let mut value = value.to_string();
        if value.chars().count() > 80 {
            value = value.chars().take(79).chain(['…']).collect();
        }
        Self { field: field.into(), rule: rule.into(), value }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "`{}` ", self.field)?;
        }
        write!(f, "{}, found {:?}", self.rule, self.value)
    }
}

impl std::error::Error for Problem {}

/// A value that breaks its rules. It lists all broken rules at once, so that they can be fixed
/// together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entity}: {}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Invalid {
    /// The entity that was to be built, such as `Plan`.
    pub entity: &'static str,
    /// Every rule it breaks; never empty.
    pub problems: Vec<Problem>,
}

impl Coded for Problem {
    fn code(&self) -> &'static str {
        "DOM001"
    }
    fn class(&self) -> ErrorClass {
        ErrorClass::User
    }
}

impl Coded for Invalid {
    fn code(&self) -> &'static str {
        "DOM001"
    }
    fn class(&self) -> ErrorClass {
        ErrorClass::User
    }
}
