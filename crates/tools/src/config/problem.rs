//! Configuration problems with file, line and advice. All are reported, sorted by file and line.

use crate::error::Error;
use std::fmt;
use std::path::PathBuf;
use steward_domain::{Coded, ErrorClass};

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The problem, and what to do.
    pub problem: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.problem)
    }
}

impl From<Problem> for Error {
    fn from(Problem { file, line, problem }: Problem) -> Self {
        Self::Config { file, line, problem }
    }
}

/// All problems; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorted and without duplicates. `None` if there are none.
    pub(crate) fn of(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort();
        problems.dedup();
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// Iterates over the problems.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.0.iter().enumerate() {
            let end = if place == 0 { "" } else { "\n" };
            write!(f, "{end}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl Coded for Problems {
    fn code(&self) -> &'static str {
        "TOL001"
    }
    fn class(&self) -> ErrorClass {
        ErrorClass::User
    }
}

/// `; did you mean …?`, or an empty string.
pub(super) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = crate::registry::nearest(name, known, 1);
    near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
