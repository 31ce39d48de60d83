//! Which Slack, and how each side proves who it is.

use super::error::Error;
use std::fmt;
use std::time::Duration;

/// A token or a key. It has no way into a text but `expose`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps it.
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

/// How the door is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the Web API is; `https://slack.com/api`.
    pub base_url: String,
    /// Proves to Slack who we are: `xoxb-…`.
    pub bot_token: Secret,
    /// Proves to us that an event comes from Slack. Without it no event over HTTP is taken.
    pub signing_secret: Option<Secret>,
    /// Opens Socket Mode: `xapp-…`.
    pub app_token: Option<Secret>,
    /// Data that every question may be about.
    pub data: Vec<String>,
    /// Whom people ask who are not known here, such as `@ana` or `the operations team`.
    pub contact: String,
    /// How many turns run at once; others wait for their place.
    pub at_once: usize,
    /// How long to wait before the socket is opened again. It doubles up to a minute.
    pub reconnect_after: Duration,
    /// How often the message with the progress changes at most.
    pub progress_every: Duration,
}

impl Options {
    /// With this token, and the defaults for everything else.
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

    /// From `STEWARD_SLACK_BOT_TOKEN`, `STEWARD_SLACK_SIGNING_SECRET`, `STEWARD_SLACK_APP_TOKEN`,
    /// `STEWARD_SLACK_CONTACT` and `STEWARD_SLACK_BASE_URL`. Nothing when no bot token is set; an
    /// error when neither way in is.
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
