//! Errors at the start of telemetry. Each kind has a code with a page in `docs/errors/`. Header
//! values never appear in a message.

use steward_domain::{Coded, ErrorClass};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of telemetry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error(
        "{variable} is not the address of an OTLP receiver: {detail}. It looks like http://127.0.0.1:4318"
    )]
    Endpoint { variable: &'static str, detail: String },
    #[error("{variable} cannot be read: entry {place} {problem}. It looks like name=value,other=value")]
    Headers { variable: &'static str, place: usize, problem: &'static str },
    #[error(
        "{variable} asks for {found:?}, which is not spoken here. Use http/protobuf, mostly on port 4318"
    )]
    Protocol { variable: &'static str, found: String },
    #[error("{variable} is not a filter of the log: {detail}. It looks like info or steward_tools=debug")]
    Filter { variable: &'static str, detail: String },
    #[error("{variable} is {found:?}. It is one of: {allowed}")]
    Choice { variable: &'static str, found: String, allowed: &'static str },
    #[error(
        "this process already has a subscriber of its own; telemetry is started once, before anything else"
    )]
    Taken,
    #[error("the exporter of spans did not start: {detail}")]
    NotStarted { detail: String },
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Endpoint { .. } => "TEL001",
            Self::Headers { .. } => "TEL002",
            Self::Protocol { .. } => "TEL003",
            Self::Filter { .. } => "TEL004",
            Self::Choice { .. } => "TEL005",
            Self::Taken => "TEL006",
            Self::NotStarted { .. } => "TEL007",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Taken => ErrorClass::Bug,
            Self::NotStarted { .. } => ErrorClass::Transient,
            _ => ErrorClass::User,
        }
    }
}
