//! A client for Slack's Web API with limits on time and size.

use super::advice::advice;
use crate::error::{Error, Result};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode};
use serde_json::Value as Json;
use std::fmt;
use std::time::Duration;
use url::{Url, form_urlencoded};

/// The maximum size of a response.
const BODY: usize = 4 * 1024 * 1024;
/// The timeout of one request. The call's own timeout may be shorter.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of channel pages that are searched for a name.
const PAGES: usize = 5;

/// The address and credentials of Slack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Such as `https://slack.com/api`.
    pub base_url: String,
    /// The bot token.
    pub token: Token,
}

/// The source of the token.
#[derive(Clone, PartialEq, Eq)]
pub enum Token {
    /// An environment variable.
    Variable(String),
    /// A literal value.
    Value(String),
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "Variable({name})"),
            Self::Value(_) => f.write_str("***"),
        }
    }
}

impl Token {
    fn resolve(&self) -> Result<String, String> {
        let value = match self {
            Self::Variable(name) => std::env::var(name)
                .map_err(|_| format!("the variable {name} with Slack's token is not set"))?,
            Self::Value(value) => value.clone(),
        };
        let value = value.trim().to_owned();
        if value.is_empty() { Err("Slack's token is empty".to_owned()) } else { Ok(value) }
    }
}

/// The client.
pub(super) struct Api {
    client: Client,
    base: Url,
    host: String,
    token: String,
    authorization: HeaderValue,
}

impl Api {
    /// Creates a client. No request is sent. The error is a message for users.
    pub(super) fn new(config: &Config) -> Result<Self, String> {
        let mut base = Url::parse(config.base_url.trim())
            .map_err(|error| format!("slack_tools.base_url is no address: {error}"))?;
        if !base.username().is_empty() || base.password().is_some() || base.query().is_some() {
            return Err("slack_tools.base_url holds more than an address".to_owned());
        }
        let host = match (base.host_str(), base.port_or_known_default()) {
            (Some(host), Some(port)) if matches!(base.scheme(), "http" | "https") => format!("{host}:{port}"),
            _ => return Err("slack_tools.base_url begins neither with http:// nor with https://".to_owned()),
        };
        let path = format!("{}/", base.path().trim_end_matches('/'));
        base.set_path(&path);
        let token = config.token.resolve()?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| "Slack's token holds characters that no token has".to_owned())?;
        authorization.set_sensitive(true);
        let client = steward_models::connection(base.scheme() == "https")?;
        Ok(Self { client, base, host, token, authorization })
    }

    /// Calls a method and returns its response if Slack reports success.
    pub(super) async fn call(&self, method: &str, form: &[(&str, String)]) -> Result<Json> {
        let url = self.base.join(method).map_err(|error| Error::Bug { detail: error.to_string() })?;
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request =
            self.client.post(url).timeout(RESPONSE_TIMEOUT).header(AUTHORIZATION, self.authorization.clone());
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        let wait = (response.headers().get(RETRY_AFTER))
            .and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(limited(wait));
        }
        let text = self.read(response).await?;
        if !status.is_success() {
            return Err(Error::Slack {
                error: format!("HTTP status {}", status.as_u16()),
                advice: format!(
                    "{} does not work as Slack's API: check slack_tools.base_url, or try again later",
                    self.host
                ),
                transient: status.is_server_error(),
            });
        }
        let answer: Json = serde_json::from_str(&text).map_err(|_| Error::Slack {
            error: "something that is no JSON".to_owned(),
            advice: format!("{} is not Slack's API: check slack_tools.base_url", self.host),
            transient: false,
        })?;
        if answer.get("ok").and_then(Json::as_bool) == Some(true) {
            return Ok(answer);
        }
        let error = answer.get("error").and_then(Json::as_str).unwrap_or("nothing about what is wrong");
        let error: String = error.chars().take(100).collect();
        if error == "ratelimited" || error == "rate_limited" {
            return Err(limited(wait));
        }
        let needed = answer.get("needed").and_then(Json::as_str).map(|text| text.chars().take(100).collect());
        let (advice, transient) = advice(&error, needed);
        Err(Error::Slack { error, advice, transient })
    }

    /// Reads the body up to the limit, with every occurrence of the token redacted.
    async fn read(&self, mut response: reqwest::Response) -> Result<String> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if bytes.len() + chunk.len() > BODY {
                return Err(Error::TooLarge { what: "Slack".to_owned(), limit: BODY });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8_lossy(&bytes).replace(&self.token, "***"))
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        let before_sending = error.is_connect() || error.is_builder();
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let detail = cause.to_string().replace(&self.token, "***");
        if before_sending {
            return Error::Unreachable { host: self.host.clone(), detail };
        }
        let advice = format!("the connection to {} broke: {detail}; try again later", self.host);
        Error::Slack { error: BROKEN.to_owned(), advice, transient: true }
    }

    /// The id of a channel. A name is looked up.
    pub(super) async fn channel(&self, asked: &str) -> Result<String> {
        let asked = asked.trim();
        let id = asked.len() >= 8
            && asked.starts_with(['C', 'G', 'D'])
            && asked.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        if id {
            return Ok(asked.to_owned());
        }
        let name = asked.trim_start_matches('#').to_lowercase();
        let mut form = vec![
            ("limit", "200".to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("types", "public_channel,private_channel".to_owned()),
        ];
        for _ in 0..PAGES {
            let answer = self.call("conversations.list", &form).await?;
            let channels = answer.get("channels").and_then(Json::as_array);
            let fits = |channel: &&Json| channel.get("name").and_then(Json::as_str) == Some(name.as_str());
            let found = channels.and_then(|channels| channels.iter().find(fits));
            if let Some(id) = found.and_then(|channel| channel.get("id")).and_then(Json::as_str) {
                return Ok(id.to_owned());
            }
            let next = answer.pointer("/response_metadata/next_cursor").and_then(Json::as_str);
            let Some(next) = next.filter(|next| !next.is_empty()) else { break };
            form.retain(|(name, _)| *name != "cursor");
            form.push(("cursor", next.to_owned()));
        }
        let (advice, transient) = advice("channel_not_found", None);
        Err(Error::Slack { error: "channel_not_found".to_owned(), advice, transient })
    }
}

/// The error name of a lost response.
const BROKEN: &str = "nothing";

/// Whether a message may have been posted despite an error: the response was lost or the server
/// failed.
pub(super) fn may_have_happened(error: &Error) -> bool {
    match error {
        Error::Slack { error, .. } => error == BROKEN || error.starts_with("HTTP status 5"),
        Error::TooLarge { .. } => true,
        _ => false,
    }
}

fn limited(wait: Option<u64>) -> Error {
    let advice = match wait {
        Some(seconds) => format!("Slack asks to wait {seconds} s; try again after that"),
        None => "Slack asks to wait; try again in a minute".to_owned(),
    };
    Error::Slack { error: "ratelimited".to_owned(), advice, transient: true }
}
