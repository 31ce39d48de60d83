//! A client for Slack's Web API with limits on time, size and retries.
//!
//! Invariants
//! - The bot token is sent to the configured address only: no redirects, no proxy, and never in a
//!   message or an error.
//! - `Retry-After` is honoured, a limited number of times and for a limited time. A post with an
//!   unknown outcome is not repeated, to avoid duplicate answers.

use super::error::{Error, advice};
use super::options::{Options, Secret};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value as Json, json};
use std::time::Duration;
use url::{Url, form_urlencoded};

/// The maximum size of a response.
const BODY: usize = 4 * 1024 * 1024;
/// The timeout of a request.
const WITHIN: Duration = Duration::from_secs(15);
/// The timeout of an upload.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum number of attempts per call.
const ATTEMPTS: u32 = 4;
/// The maximum `Retry-After` that is honoured, in seconds.
const LONGEST_WAIT: u64 = 30;
/// The maximum number of messages that are read as context.
pub const MOST_MESSAGES: usize = 100;
/// The maximum number of pages of a thread that are read to find its last messages.
const PAGES: usize = 10;

/// The form fields of a method.
type Form<'a> = [(&'a str, String)];

/// The client.
pub(super) struct Api {
    client: Client,
    base: Url,
    bot: Secret,
}

/// A file to upload.
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    pub(super) title: &'a str,
    pub(super) bytes: Vec<u8>,
}

/// The channel and thread of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageTarget<'a> {
    pub(super) channel: &'a str,
    pub(super) thread: Option<&'a str>,
}

/// A message: text for notifications, blocks for display.
#[derive(Debug, Clone, Default)]
pub(super) struct Post {
    pub(super) text: String,
    pub(super) blocks: Vec<Json>,
}

impl Api {
    /// Creates a client. No request is sent.
    pub(super) fn new(options: &Options) -> Result<Self, Error> {
        let wrong = |what: &str| Error::Setup(format!("{} {what}", options.base_url));
        let mut base = Url::parse(options.base_url.trim()).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https")
            || !base.username().is_empty()
            || base.password().is_some()
        {
            return Err(wrong("is no address such as https://slack.com/api"));
        }
        base.set_path(&format!("{}/", base.path().trim_end_matches('/')));
        if options.bot_token.expose().is_empty() {
            return Err(Error::Setup("STEWARD_SLACK_BOT_TOKEN is empty".to_owned()));
        }
        let client = steward_models::connection(base.scheme() == "https").map_err(Error::Setup)?;
        Ok(Self { client, base, bot: options.bot_token.clone() })
    }

    /// Whether the API uses TLS. If so, only TLS addresses from Slack are opened.
    pub(super) fn secure(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Calls a method that may be retried.
    async fn read(&self, method: &str, form: &Form<'_>) -> Result<Json, Error> {
        self.call(method, form, &self.bot, true).await
    }

    /// Requests the address of a Socket Mode connection.
    pub(super) async fn open_socket(&self, app: &Secret) -> Result<String, Error> {
        let answer = self.call("apps.connections.open", &[], app, true).await?;
        field(&answer, "/url").ok_or_else(|| unread("apps.connections.open"))
    }

    /// The user id of the bot.
    pub(super) async fn own_user(&self) -> Result<String, Error> {
        field(&self.read("auth.test", &[]).await?, "/user_id").ok_or_else(|| unread("auth.test"))
    }

    /// Posts a message and returns its `ts`.
    pub(super) async fn post(&self, to: MessageTarget<'_>, post: &Post) -> Result<String, Error> {
        let form = written(to, post);
        let answer = self.call("chat.postMessage", &form, &self.bot, false).await?;
        field(&answer, "/ts").ok_or_else(|| unread("chat.postMessage"))
    }

    /// Updates a message.
    pub(super) async fn update(&self, channel: &str, ts: &str, post: &Post) -> Result<(), Error> {
        let mut form = written(MessageTarget { channel, thread: None }, post);
        form.push(("ts", ts.to_owned()));
        self.read("chat.update", &form).await.map(drop)
    }

    /// Updates a message without waiting for a rate limit. The next update corrects a lost one.
    pub(super) async fn update_soon(&self, channel: &str, ts: &str, post: &Post) -> Result<(), Error> {
        let mut form = written(MessageTarget { channel, thread: None }, post);
        form.push(("ts", ts.to_owned()));
        self.once("chat.update", &form, &self.bot).await.map(drop)
    }

    /// Posts a message that only one user sees.
    pub(super) async fn whisper(&self, to: MessageTarget<'_>, user: &str, text: &str) -> Result<(), Error> {
        let mut form = written(to, &Post { text: text.to_owned(), blocks: Vec::new() });
        form.push(("user", user.to_owned()));
        self.call("chat.postEphemeral", &form, &self.bot, false).await.map(drop)
    }

    /// The last messages of a channel or thread, oldest first, and whether there are more.
    pub(super) async fn messages(&self, to: MessageTarget<'_>) -> Result<(Vec<Json>, bool), Error> {
        let mut form = vec![("channel", to.channel.to_owned()), ("limit", MOST_MESSAGES.to_string())];
        let Some(thread) = to.thread else {
            let mut answer = self.read("conversations.history", &form).await?;
            let mut found = taken(&mut answer);
            let more = more(&answer) || found.len() > MOST_MESSAGES;
            found.truncate(MOST_MESSAGES);
            // Slack returns the newest first.
            found.reverse();
            return Ok((found, more));
        };
        form.push(("ts", thread.to_owned()));
        let (mut last, mut cut) = (Vec::new(), false);
        for _ in 0..PAGES {
            let mut answer = self.read("conversations.replies", &form).await?;
            last.extend(taken(&mut answer));
            let surplus = last.len().saturating_sub(MOST_MESSAGES);
            cut |= surplus > 0;
            last.drain(..surplus);
            let Some(next) = field(&answer, "/response_metadata/next_cursor").filter(|_| more(&answer))
            else {
                return Ok((last, cut));
            };
            form.retain(|(name, _)| *name != "cursor");
            form.push(("cursor", next));
        }
        Ok((last, true))
    }

    /// The display name of a user.
    pub(super) async fn name(&self, user: &str) -> Result<String, Error> {
        let answer = self.read("users.info", &[("user", user.to_owned())]).await?;
        let paths =
            ["/user/profile/display_name", "/user/real_name", "/user/profile/real_name", "/user/name"];
        let found = paths.iter().filter_map(|path| field(&answer, path)).find(|name| !name.trim().is_empty());
        found.ok_or_else(|| unread("users.info"))
    }

    /// Uploads a file to a channel or thread, in the three steps that Slack requires.
    pub(super) async fn upload(&self, to: MessageTarget<'_>, file: File<'_>) -> Result<(), Error> {
        let method = "files.getUploadURLExternal";
        let form = [("filename", file.name.to_owned()), ("length", file.bytes.len().to_string())];
        let answer = self.read(method, &form).await?;
        let (address, id) = (field(&answer, "/upload_url"), field(&answer, "/file_id"));
        let (Some(address), Some(id)) = (address, id) else { return Err(unread(method)) };
        let address = Url::parse(&address).map_err(|_| unread(method))?;
        if self.secure() && address.scheme() != "https" {
            return Err(unread(method));
        }
        // The upload address contains its own authorization, so the token is not sent.
        let sent = self.client.post(address).timeout(UPLOAD_TIMEOUT);
        let sent = sent.header(CONTENT_TYPE, "application/octet-stream").body(file.bytes).send().await;
        let status = sent.map_err(|error| self.unreachable("the upload", error))?.status();
        if !status.is_success() {
            let detail = format!("HTTP status {}", status.as_u16());
            return Err(Error::Unreachable { method: "the upload".to_owned(), detail });
        }
        let mut form = vec![
            ("files", json!([{ "id": id, "title": file.title }]).to_string()),
            ("channel_id", to.channel.to_owned()),
        ];
        if let Some(thread) = to.thread {
            form.push(("thread_ts", thread.to_owned()));
        }
        self.call("files.completeUploadExternal", &form, &self.bot, false).await.map(drop)
    }

    /// Calls a method. `again` tells whether it may be retried after an unknown outcome.
    async fn call(&self, method: &str, form: &Form<'_>, token: &Secret, again: bool) -> Result<Json, Error> {
        let mut attempt = 1;
        loop {
            let error = match self.once(method, form, token).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = match &error {
                Error::Limited { seconds, .. } if *seconds <= LONGEST_WAIT => Duration::from_secs(*seconds),
                Error::Unreachable { .. } if again => Duration::from_millis(200 << attempt),
                _ => return Err(error),
            };
            if attempt >= ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
            tokio::time::sleep(wait).await;
        }
    }

    async fn once(&self, method: &str, form: &Form<'_>, token: &Secret) -> Result<Json, Error> {
        let address = self.base.join(method).map_err(|error| Error::Setup(error.to_string()))?;
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
            .map_err(|_| Error::Setup("a token holds characters that no token has".to_owned()))?;
        bearer.set_sensitive(true);
        let request = self.client.post(address).timeout(WITHIN).header(AUTHORIZATION, bearer);
        let request =
            request.header(CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8").body(body);
        let response = request.send().await.map_err(|error| self.unreachable(method, error))?;
        let status = response.status();
        let asked =
            response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let limited = || Error::Limited { method: method.to_owned(), seconds: asked.unwrap_or(1) };
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(limited());
        }
        let bytes = self.body(method, response).await?;
        if !status.is_success() {
            let detail = format!("HTTP status {}", status.as_u16());
            return Err(Error::Unreachable { method: method.to_owned(), detail });
        }
        let answer: Json = serde_json::from_slice(&bytes).map_err(|_| unread(method))?;
        if answer.get("ok").and_then(Json::as_bool) == Some(true) {
            return Ok(answer);
        }
        let error: String = field(&answer, "/error").unwrap_or_default().chars().take(100).collect();
        if error == "ratelimited" {
            return Err(limited());
        }
        let advice = advice(&error, field(&answer, "/needed").as_deref());
        Err(Error::Refused { method: method.to_owned(), error, advice })
    }

    async fn body(&self, method: &str, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(method, error))? {
            if bytes.len() + chunk.len() > BODY {
                return Err(unread(method));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn unreachable(&self, method: &str, error: reqwest::Error) -> Error {
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let detail = cause.to_string().replace(self.bot.expose(), "***");
        Error::Unreachable { method: method.to_owned(), detail }
    }
}

/// Link previews are disabled, so that text of a tool cannot make Slack fetch an address.
fn written<'a>(to: MessageTarget<'_>, post: &Post) -> Vec<(&'a str, String)> {
    let mut form = vec![
        ("channel", to.channel.to_owned()),
        ("text", post.text.clone()),
        ("unfurl_links", "false".to_owned()),
        ("unfurl_media", "false".to_owned()),
    ];
    if !post.blocks.is_empty() {
        form.push(("blocks", json!(post.blocks).to_string()));
    }
    if let Some(thread) = to.thread {
        form.push(("thread_ts", thread.to_owned()));
    }
    form
}

fn field(answer: &Json, path: &str) -> Option<String> {
    answer.pointer(path).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn taken(answer: &mut Json) -> Vec<Json> {
    match answer.get_mut("messages").map(Json::take) {
        Some(Json::Array(messages)) => messages,
        _ => Vec::new(),
    }
}

fn more(answer: &Json) -> bool {
    answer.get("has_more").and_then(Json::as_bool).unwrap_or(false)
}

fn unread(method: &str) -> Error {
    let error = "an answer that cannot be read".to_owned();
    Error::Refused { method: method.to_owned(), error, advice: "Check the address of the Web API".to_owned() }
}
