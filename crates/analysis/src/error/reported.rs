//! Errors reported by another process: code, class and message.

use super::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use steward_domain::{Coded as _, ErrorCategory, ErrorClass};

/// The error codes that an isolated process may report.
#[rustfmt::skip]
const CODES: &[&str] = &[
    "ANA001", "ANA002", "ANA003", "ANA004", "ANA005", "ANA006", "ANA007", "ANA008", "ANA009", "ANA010", "ANA011",
    "ANA012", "ANA013", "ANA014", "ANA015", "ANA016", "DBS001", "DBS002", "DBS003", "DBS004", "DBS005", "DBS006",
    "DBS007", "DBS008", "DBS009", "DBS010", "DBS011", "DBS012", "DBS013", "DBS014", "SQL001", "SQL002", "SQL003",
    "SQL004", "SQL005", "SQL006", "SQL007", "SQL008", "SQL009", "SQL010", "SQL011", "SQL012", "SQL013", "SQL014",
];

/// The error of another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reported {
    code: String,
    class: Class,
    pub(super) category: ErrorCategory,
    text: String,
    /// Seconds of a timeout, megabytes of a limit.
    amount: Option<u64>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Class {
    User,
    Denied,
    Transient,
    Bug,
}

impl Reported {
    pub(crate) fn of(error: &Error) -> Self {
        let class = match error.class() {
            ErrorClass::User => Class::User,
            ErrorClass::Denied => Class::Denied,
            ErrorClass::Transient => Class::Transient,
            ErrorClass::Bug => Class::Bug,
        };
        let amount = match error {
            Error::Timeout { seconds } => Some(u64::from(*seconds)),
            Error::Memory { megabytes } | Error::Output { megabytes } => Some(*megabytes as u64),
            _ => None,
        };
        let (code, text) = (error.code().to_owned(), error.to_string());
        Self { code, class, category: error.category(), text, amount }
    }

    pub(super) fn code(&self) -> &'static str {
        CODES.iter().find(|known| **known == self.code).copied().unwrap_or("ANA015")
    }

    pub(super) fn class(&self) -> ErrorClass {
        match self.class {
            Class::User => ErrorClass::User,
            Class::Denied => ErrorClass::Denied,
            Class::Transient => ErrorClass::Transient,
            Class::Bug => ErrorClass::Bug,
        }
    }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Reported> for Error {
    fn from(reported: Reported) -> Self {
        let megabytes = || usize::try_from(reported.amount.unwrap_or_default()).unwrap_or(usize::MAX);
        match reported.code() {
            "ANA006" => {
                let seconds = u32::try_from(reported.amount.unwrap_or_default()).unwrap_or(u32::MAX);
                Self::Timeout { seconds }
            }
            "ANA007" => Self::Memory { megabytes: megabytes() },
            "ANA014" => Self::Output { megabytes: megabytes() },
            _ => Self::Reported(reported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CODES;

    /// An error keeps its code across the process boundary.
    #[test]
    fn every_code_of_this_crate_is_known() {
        let pages = std::fs::read_dir(concat!(env!("STEWARD_CHECKOUT"), "docs/errors")).unwrap();
        let mut found = 0;
        for page in pages {
            let name = page.unwrap().file_name().to_string_lossy().into_owned();
            let code = name.trim_end_matches(".md");
            if ["ANA", "DBS", "SQL"].iter().any(|start| code.starts_with(start)) {
                assert!(CODES.contains(&code), "{code}");
                found += 1;
            }
        }
        assert!(found > 30, "{found}");
    }
}
