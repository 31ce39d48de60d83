//! The options of the Slack integration and its secrets.

use super::error::Error;
use std::fmt;
use std::time::Duration;

/// A token or a key. Only `expose` returns its text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into().trim().to_owned())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The options of the Slack integration.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address of the Web API; `https://slack.com/api`.
    pub base_url: String,
    /// The bot token, which authenticates Steward to Slack: `xoxb-…`.
    pub bot_token: Secret,
    /// The signing secret, which authenticates Slack. Without it, events over HTTP are rejected.
    pub signing_secret: Option<Secret>,
    /// The app token of Socket Mode: `xapp-…`.
    pub app_token: Option<Secret>,
    /// Data sources that every question may use.
    pub data: Vec<String>,
    /// The contact for unknown users, such as `@ana` or `the operations team`.
    pub contact: String,
    /// The maximum number of concurrent turns. Others wait.
    pub at_once: usize,
    /// The delay before a reconnect. It doubles up to a minute.
    pub reconnect_after: Duration,
    /// The minimum interval between progress updates.
    pub progress_every: Duration,
}

impl Options {
    /// Options with this token and defaults.
    #[must_use]
    pub fn new(bot_token: Secret) -> Self {
        Self {
            base_url: "https://slack.com/api".to_owned(),
            bot_token,
            signing_secret: None,
            app_token: None,
            data: Vec::new(),
            contact: "the person who runs Steward".to_owned(),
            at_once: 100,
            reconnect_after: Duration::from_secs(1),
            progress_every: Duration::from_secs(1),
        }
    }

    /// Reads `STEWARD_SLACK_BOT_TOKEN`, `STEWARD_SLACK_SIGNING_SECRET`, `STEWARD_SLACK_APP_TOKEN`,
    /// `STEWARD_SLACK_CONTACT` and `STEWARD_SLACK_BASE_URL`. `None` without a bot token; an error
    /// if neither signing secret nor app token is set.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let Some(token) = set("STEWARD_SLACK_BOT_TOKEN") else { return Ok(None) };
        let mut options = Self::new(Secret::new(token));
        options.signing_secret = set("STEWARD_SLACK_SIGNING_SECRET").map(Secret::new);
        options.app_token = set("STEWARD_SLACK_APP_TOKEN").map(Secret::new);
        if let Some(contact) = set("STEWARD_SLACK_CONTACT") {
            options.contact = contact;
        }
        if let Some(base) = set("STEWARD_SLACK_BASE_URL") {
            options.base_url = base;
        }
        if options.signing_secret.is_none() && options.app_token.is_none() {
            return Err(Error::Setup(
                "set STEWARD_SLACK_SIGNING_SECRET for events over HTTP, or STEWARD_SLACK_APP_TOKEN for Socket Mode"
                    .to_owned(),
            ));
        }
        Ok(Some(options))
    }
}
