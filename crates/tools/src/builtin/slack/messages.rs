//! Converts Slack messages: author, time, text.

use super::api::Api;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use steward_domain::Timestamp;

/// The maximum number of users that are looked up in one call.
const LOOKUPS: usize = 50;

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Message {
    pub(super) author: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) author_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<Timestamp>,
    pub(super) ts: String,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread_ts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replies: Option<u64>,
}

/// A cache of user names for one call.
pub(super) struct Names {
    wanted: bool,
    known: BTreeMap<String, Option<String>>,
}

impl Names {
    pub(super) fn new(wanted: bool) -> Self {
        Self { wanted, known: BTreeMap::new() }
    }

    /// The messages of a response, oldest first.
    pub(super) async fn read(&mut self, api: &Api, answer: &Json) -> Vec<Message> {
        let mut messages = Vec::new();
        let empty = Vec::new();
        for raw in answer.get("messages").and_then(Json::as_array).unwrap_or(&empty) {
            let field = |name: &str| raw.get(name).and_then(Json::as_str).map(str::to_owned);
            let author_id = field("user").or_else(|| field("bot_id"));
            let named = match &author_id {
                Some(id) => self.name(api, id).await,
                None => None,
            };
            let author = named.or_else(|| field("username")).or_else(|| author_id.clone());
            let ts = field("ts").unwrap_or_default();
            let text = self.plain(api, &field("text").unwrap_or_default()).await;
            messages.push(Message {
                author: author.unwrap_or_else(|| "unknown".to_owned()),
                author_id,
                time: seconds(&ts),
                ts,
                text,
                thread_ts: field("thread_ts"),
                replies: raw.get("reply_count").and_then(Json::as_u64),
            });
        }
        messages.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.ts.cmp(&b.ts)));
        messages
    }

    /// The name of a user, if available. A failed lookup is not repeated.
    async fn name(&mut self, api: &Api, id: &str) -> Option<String> {
        if !self.wanted || !id.starts_with(['U', 'W']) {
            return None;
        }
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        if self.known.len() >= LOOKUPS {
            return None;
        }
        let answer = api.call("users.info", &[("user", id.to_owned())]).await.ok();
        let name = answer.and_then(|answer| {
            let paths =
                ["/user/profile/display_name", "/user/real_name", "/user/profile/real_name", "/user/name"];
            let names = paths.iter().filter_map(|path| answer.pointer(path).and_then(Json::as_str));
            names.map(str::trim).find(|name| !name.is_empty()).map(str::to_owned)
        });
        self.known.insert(id.to_owned(), name.clone());
        name
    }

    /// The text with names for mentions and without escapes.
    async fn plain(&mut self, api: &Api, text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("<@") {
            plain.push_str(before);
            let Some((mention, behind)) = after.split_once('>') else {
                plain.push_str("<@");
                rest = after;
                continue;
            };
            let (id, label) = mention.split_once('|').unwrap_or((mention, ""));
            let name = if label.is_empty() { self.name(api, id).await } else { Some(label.to_owned()) };
            plain.push('@');
            plain.push_str(&name.unwrap_or_else(|| id.to_owned()));
            rest = behind;
        }
        plain.push_str(rest);
        plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    }
}

/// The time of a `ts` such as `1731700000.000100`.
pub(super) fn seconds(ts: &str) -> Option<Timestamp> {
    let (whole, fraction) = ts.split_once('.').unwrap_or((ts, "0"));
    let digits =
        |text: &str| !text.is_empty() && text.len() <= 12 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let micros: i64 = format!("{fraction:0<6}").chars().take(6).collect::<String>().parse().ok()?;
    Some(Timestamp::from_micros(whole.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)?))
}

/// Converts an ISO 8601 time or a `ts` to a `ts`.
pub(super) fn moment(text: &str) -> Option<String> {
    if seconds(text).is_some() {
        return Some(text.to_owned());
    }
    let micros = text.parse::<Timestamp>().ok()?.micros();
    (micros >= 0).then(|| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000))
}
