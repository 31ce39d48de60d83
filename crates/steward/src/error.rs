//! Command failures: a code, a message, what to do, and a stable exit code for scripts.

use serde_json::json;
use steward_domain::{Coded, ErrorClass};

/// A failure to be shown to the user.
#[derive(Debug)]
pub(crate) struct Failure {
    code: &'static str,
    class: ErrorClass,
    message: String,
}

impl Failure {
    /// A failure of the command line itself: a wrong argument, a missing home.
    pub(crate) fn user(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, class: ErrorClass::User, message: message.into() }
    }

    /// An error inside an answer.
    pub(crate) fn of(code: &'static str, class: ErrorClass, message: impl Into<String>) -> Self {
        Self { code, class, message: message.into() }
    }

    /// An unexpected error: a bug.
    pub(crate) fn unexpected(error: impl std::fmt::Display) -> Self {
        Self { code: "CLI001", class: ErrorClass::Bug, message: error.to_string() }
    }

    /// A file that could not be read or written.
    pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self { code: "CLI002", class: ErrorClass::Transient, message: format!("{}: {error}", path.display()) }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.class.exit_code()
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// Prints to standard error; as JSON with `--json`.
    pub(crate) fn print(&self, as_json: bool) {
        if as_json {
            let class = format!("{:?}", self.class).to_lowercase();
            eprintln!(
                "{}",
                json!({ "error": { "code": self.code, "class": class, "message": self.message } })
            );
        } else {
            eprintln!("{} {}", crate::output::paint(crate::output::Tone::Bad, self.code), self.message);
            eprintln!(
                "{}",
                crate::output::paint(
                    crate::output::Tone::Quiet,
                    &format!("see docs/errors/{}.md", self.code)
                )
            );
        }
    }
}

impl<E: Coded> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { code: error.code(), class: error.class(), message: error.to_string() }
    }
}
