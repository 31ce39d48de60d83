//! How a command fails: a code, a sentence, what to do, and an exit code that scripts can rely on.

use serde_json::json;
use steward_domain::{Coded, ErrorClass};

/// A failure on its way to the person.
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

    /// What went wrong inside an answer.
    pub(crate) fn of(code: &'static str, class: ErrorClass, message: impl Into<String>) -> Self {
        Self { code, class, message: message.into() }
    }

    /// Something that should not have happened.
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

    /// Prints to standard error; as JSON for programs.
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
