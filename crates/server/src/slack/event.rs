//! Parses Slack events. Input is untrusted: every field may be missing or very long.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A channel or thread. Each person in it has one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ChannelThread {
    /// The workspace in which the app is installed.
    pub(super) team: String,
    pub(super) channel: String,
    /// The `ts` of the thread's first message. `None` in a direct message outside of a thread.
    pub(super) thread: Option<String>,
}

/// A Slack user. A user of a connected workspace carries that workspace's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Person {
    pub(super) team: String,
    pub(super) user: String,
}

/// A message of a person.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) place: ChannelThread,
    pub(super) by: Person,
    pub(super) text: String,
    pub(super) ts: String,
    /// Whether it is a mention or a direct message. Otherwise it is part of a thread.
    pub(super) addressed: bool,
    /// Whether it is a reply in an existing thread.
    pub(super) in_thread: bool,
    /// Whether it begins with a mention of another user.
    pub(super) to_others: bool,
    /// The user id of the bot.
    pub(super) bot: String,
}

/// A pressed button.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ButtonPress {
    pub(super) by: Person,
    pub(super) action: String,
    pub(super) value: String,
    pub(super) channel: String,
    /// The `ts` of the message with the button.
    pub(super) ts: String,
    pub(super) thread: Option<String>,
    pub(super) blocks: Vec<Json>,
}

fn text(json: &Json, path: &str) -> Option<String> {
    json.pointer(path).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The user id of the bot in this workspace, from the envelope.
pub(super) fn bot(envelope: &Json) -> Option<String> {
    text(envelope, "/authorizations/0/user_id")
}

/// The message of an `event_callback`. `None` if it is not relevant.
pub(super) fn message(envelope: &Json, bot: &str) -> Option<Message> {
    let event = envelope.get("event")?;
    let kind = text(event, "/type")?;
    let mention = kind == "app_mention";
    if !mention && kind != "message" {
        return None;
    }
    // Edits, deletions, joins and messages of bots are not requests.
    let plain = text(event, "/subtype").is_none_or(|kind| kind == "file_share" || kind == "thread_broadcast");
    let (user, ts, channel) = (text(event, "/user")?, text(event, "/ts")?, text(event, "/channel")?);
    if !plain || event.get("bot_id").is_some_and(|id| !id.is_null()) || user == bot {
        return None;
    }
    let team = text(envelope, "/team_id")?;
    let words = text(event, "/text").unwrap_or_default();
    let direct = text(event, "/channel_type").is_some_and(|kind| kind == "im") || channel.starts_with('D');
    let thread = text(event, "/thread_ts");
    let addressed = mention || direct || mentions(&words, bot);
    let in_thread = thread.is_some();
    if !addressed && !in_thread {
        return None;
    }
    let by = text(event, "/user_team").or_else(|| text(event, "/team")).unwrap_or_else(|| team.clone());
    let to_others = words.trim_start().starts_with("<@") && !mentions(&words, bot);
    let thread = if direct { thread } else { Some(thread.unwrap_or_else(|| ts.clone())) };
    let place = ChannelThread { team, channel, thread };
    let (text, bot) = (without(&words, bot), bot.to_owned());
    Some(Message { place, by: Person { team: by, user }, text, ts, addressed, in_thread, to_others, bot })
}

fn mentions(text: &str, user: &str) -> bool {
    text.contains(&format!("<@{user}>")) || text.contains(&format!("<@{user}|"))
}

/// The text without mentions of a user.
fn without(text: &str, user: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(&format!("<@{user}")) {
        out.push_str(before);
        match after.split_once('>') {
            Some((label, tail)) if label.is_empty() || label.starts_with('|') => rest = tail,
            _ => {
                out.push_str("<@");
                out.push_str(user);
                rest = after;
            }
        }
    }
    out + rest
}

/// The pressed buttons in a `block_actions` payload.
pub(super) fn presses(payload: &Json) -> Vec<ButtonPress> {
    if text(payload, "/type").as_deref() != Some("block_actions") {
        return Vec::new();
    }
    let Some(user) = text(payload, "/user/id") else { return Vec::new() };
    let team = text(payload, "/user/team_id").or_else(|| text(payload, "/team/id")).unwrap_or_default();
    let channel = text(payload, "/channel/id").or_else(|| text(payload, "/container/channel_id"));
    let ts = text(payload, "/message/ts").or_else(|| text(payload, "/container/message_ts"));
    let (Some(channel), Some(ts)) = (channel, ts) else { return Vec::new() };
    let thread = text(payload, "/message/thread_ts").or_else(|| text(payload, "/container/thread_ts"));
    let blocks = payload.pointer("/message/blocks").and_then(Json::as_array).cloned().unwrap_or_default();
    let actions = payload.get("actions").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let press = |action: &Json| {
        Some(ButtonPress {
            by: Person { team: team.clone(), user: user.clone() },
            action: text(action, "/action_id")?,
            value: text(action, "/value")?,
            channel: channel.clone(),
            ts: ts.clone(),
            thread: thread.clone(),
            blocks: blocks.clone(),
        })
    };
    actions.iter().filter_map(press).take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(mut event: Json) -> Option<Message> {
        for (name, value) in [("user", "U1"), ("ts", "5.1"), ("channel", "C1"), ("type", "message")] {
            if event.get(name).is_none() {
                event[name] = json!(value);
            }
        }
        message(&json!({ "type": "event_callback", "team_id": "T1", "event": event }), "UBOT")
    }

    #[test]
    fn relevant_and_irrelevant_events() {
        let rows = [
            (json!({ "type": "app_mention", "text": "<@UBOT> hello" }), true),
            (json!({ "text": "<@UBOT> hello" }), true),
            (json!({ "text": "<@UBOT|steward> hello" }), true),
            (json!({ "text": "hello", "channel": "D1", "channel_type": "im" }), true),
            (json!({ "text": "hello", "thread_ts": "4.1" }), true),
            (json!({ "text": "<@UBOT> see this", "subtype": "file_share" }), true),
            (json!({ "text": "hello" }), false),
            (json!({ "text": "<@UBOT> hello", "bot_id": "B1" }), false),
            (json!({ "text": "hello", "channel_type": "im", "user": "UBOT" }), false),
            (json!({ "text": "<@UBOT> hello", "subtype": "message_changed" }), false),
            (json!({ "type": "reaction_added" }), false),
        ];
        for (event, ours) in rows {
            assert_eq!(read(event.clone()).is_some(), ours, "{event}");
        }
    }

    #[test]
    fn mention_starts_a_thread_and_direct_message_does_not() {
        let place = |event: Json| read(event).unwrap().place.thread;
        assert_eq!(place(json!({ "type": "app_mention", "text": "x" })).as_deref(), Some("5.1"));
        assert_eq!(place(json!({ "text": "x", "thread_ts": "4.1" })).as_deref(), Some("4.1"));
        assert_eq!(place(json!({ "text": "x", "channel_type": "im" })), None);
        assert_eq!(
            place(json!({ "text": "x", "channel_type": "im", "thread_ts": "4.1" })).as_deref(),
            Some("4.1")
        );
    }

    #[test]
    fn user_of_connected_workspace_is_not_a_local_user() {
        let said = read(json!({ "text": "<@UBOT> x", "team": "T2" })).unwrap();
        assert_eq!((said.by.team.as_str(), said.place.team.as_str()), ("T2", "T1"));
    }
}
