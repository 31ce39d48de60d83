//! What is wrong with the configuration: file, line, and what to do. Always all of it, in the order
//! of files and lines.

use crate::error::Error;
use std::fmt;
use std::path::PathBuf;
use steward_domain::{Coded, ErrorClass};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// In which file.
    pub file: PathBuf,
    /// In which line, from 1.
    pub line: u64,
    /// What it is, and what to do.
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

/// Everything that is wrong, at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// In order and without doubles; nothing when nothing is wrong.
    pub(crate) fn of(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort();
        problems.dedup();
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// Each of them.
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

/// `did you mean …?` in brackets of the sentence, or nothing.
pub(super) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = crate::registry::nearest(name, known, 1);
    near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
