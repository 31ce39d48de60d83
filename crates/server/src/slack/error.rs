//! Errors of the Slack integration.

use steward_domain::{Coded, ErrorClass};

/// An error of the Slack integration.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("Slack is not set up: {0}")]
    Setup(String),
    #[error("Slack refused {method}: {error}. {advice}")]
    Refused { method: String, error: String, advice: String },
    #[error("Slack cannot be reached for {method}: {detail}")]
    Unreachable { method: String, detail: String },
    #[error("Slack asks to wait for {seconds} s before {method} is tried again")]
    Limited { method: String, seconds: u64 },
    #[error("there is too much to do at the moment; Slack delivers this again")]
    Full,
    #[error(transparent)]
    Runtime(#[from] steward_runtime::Error),
}

impl From<steward_store::Error> for Error {
    fn from(error: steward_store::Error) -> Self {
        Self::Runtime(error.into())
    }
}

impl From<steward_domain::Invalid> for Error {
    fn from(error: steward_domain::Invalid) -> Self {
        Self::Runtime(error.into())
    }
}

impl From<steward_domain::Problem> for Error {
    fn from(problem: steward_domain::Problem) -> Self {
        Self::Runtime(problem.into())
    }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Setup(_) => "SLK001",
            Self::Refused { .. } => "SLK002",
            Self::Unreachable { .. } => "SLK003",
            Self::Limited { .. } => "SLK004",
            Self::Full => "SLK005",
            Self::Runtime(error) => error.code(),
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Setup(_) | Self::Refused { .. } => ErrorClass::User,
            Self::Unreachable { .. } | Self::Limited { .. } | Self::Full => ErrorClass::Transient,
            Self::Runtime(error) => error.class(),
        }
    }
}

/// Advice for common setup errors.
pub(super) fn advice(error: &str, needed: Option<&str>) -> String {
    let text = match error {
        "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" | "account_inactive" => {
            "Put a valid token into STEWARD_SLACK_BOT_TOKEN or STEWARD_SLACK_APP_TOKEN"
        }
        "missing_scope" => {
            let scope = needed.map(|needed| format!(" {needed}")).unwrap_or_default();
            return format!("Add the scope{scope} to the app and install it again");
        }
        "not_in_channel" | "channel_not_found" => "Invite the app to the channel with /invite",
        "is_archived" => "The channel is archived",
        "msg_too_long" | "invalid_blocks" => "The message does not fit into Slack's limits",
        _ => "Slack's documentation of the method explains it",
    };
    text.to_owned()
}
