//! "Summarise this thread": an extractive summary of the messages.
//!
//! Invariant: only the current channel or thread is read, so nothing leaks from other channels. The
//! messages are passed to `text.summarize` as untrusted arguments and are never interpreted as
//! requests.

use super::Slack;
use super::api::{MOST_MESSAGES, MessageTarget};
use super::error::Error;
use super::event::Message;
use super::mrkdwn::plain;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use steward_domain::IntentKind;
use steward_language::skill::{FOUR, classify};
use steward_policy::{Caller, Provenance};
use steward_tools::builtin::summarize;
use steward_tools::call::Request;

/// The maximum number of links in a summary.
const LINKS: usize = 20;

/// What to summarise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummaryScope {
    Channel,
    Thread,
}

/// Whether a message requests a summary, and of what.
pub(super) fn wanted(said: &str, in_thread: bool) -> Option<SummaryScope> {
    let said = said.to_lowercase();
    let words: Vec<&str> = said.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    // Another channel is requested by name. Tools and policy handle that.
    if said.contains('#') {
        return None;
    }
    let missed = said.contains("did i miss")
        || said.contains("have i missed")
        || has(&["tldr", "recap"])
        || said.contains("catch me up")
        || said.contains("tl;dr");
    let about = classify(&said, FOUR).kind == Some(IntentKind::Summarize);
    let (thread, channel) = (has(&["thread"]), has(&["channel"]));
    let here = has(&["conversation", "discussion", "messages", "chat", "here"]);
    match (thread, channel) {
        _ if !missed && !(about && (thread || channel || here)) => None,
        (true, _) if in_thread => Some(SummaryScope::Thread),
        (_, true) => Some(SummaryScope::Channel),
        _ if in_thread => Some(SummaryScope::Thread),
        _ => Some(SummaryScope::Channel),
    }
}

impl Slack {
    /// The text of the summary.
    pub(super) async fn summary(
        &self,
        wanted: SummaryScope,
        asked: &Message,
        caller: Caller,
    ) -> Result<String, Error> {
        let thread = asked.place.thread.as_deref().filter(|_| wanted == SummaryScope::Thread);
        let (messages, more) =
            self.api.messages(MessageTarget { channel: &asked.place.channel, thread }).await?;
        let text = |message: &Json, name: &str| message.get(name).and_then(Json::as_str).map(str::to_owned);
        let (mut said, mut links) = (Vec::new(), Vec::new());
        for message in &messages {
            let words = text(message, "text").unwrap_or_default();
            let service = text(message, "subtype").is_some_and(|kind| kind.starts_with("channel_"));
            let (Some(user), Some(ts)) = (text(message, "user"), text(message, "ts")) else { continue };
            // The request itself, messages of the bot and join or leave notices are skipped.
            if ts == asked.ts || user == asked.bot || service || words.trim().is_empty() {
                continue;
            }
            let names = self.names(&words).await;
            let words = plain(&words, |id| names.get(id).cloned());
            links.extend(links_in(&words));
            said.push(json!({ "author": self.name(&user).await, "text": words }));
        }
        let place = if wanted == SummaryScope::Thread { "thread" } else { "channel" };
        if said.is_empty() {
            return Ok(format!("Nobody has written anything in this {place} that I can read."));
        }
        let mut arguments = serde_json::Map::new();
        let count = said.len();
        arguments.insert("messages".to_owned(), said.into());
        let mut request = Request::new(caller, summarize::NAME, arguments);
        request.default_provenance = Provenance::Untrusted;
        let receipt = self.chat.toolbox().call(&request).await?;
        let mut summary = receipt.output.words();
        if !links.is_empty() {
            let listed: BTreeSet<&String> = links.iter().collect();
            let lines: Vec<String> = listed.iter().take(LINKS).map(|link| format!("- {link}")).collect();
            summary.push_str(&format!("\nLinks:\n{}\n", lines.join("\n")));
        }
        if more {
            summary.push_str(&format!(
                "\nThese are the last {count} messages: no more than {MOST_MESSAGES} of a {place} are read."
            ));
        }
        Ok(summary)
    }
}

fn links_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let addresses =
        text.split_whitespace().filter(|word| word.starts_with("https://") || word.starts_with("http://"));
    addresses.map(|word| word.trim_end_matches(['.', ',', ')', ';', '!', '?']).chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_request_is_distinguished_from_other_requests() {
        use SummaryScope::{Channel, Thread};
        for (said, in_thread, wish) in [
            ("summarise this channel", false, Some(Channel)),
            ("Summarize this thread please", true, Some(Thread)),
            ("can you summarise the discussion?", true, Some(Thread)),
            ("summarize this channel", true, Some(Channel)),
            ("give me a summary of this thread", true, Some(Thread)),
            ("what did I miss?", false, Some(Channel)),
            ("tl;dr", true, Some(Thread)),
            ("summarise the sales report", true, None),
            ("summarise #random", false, None),
            ("show my tasks", true, None),
            ("mark the first one done", false, None),
        ] {
            assert_eq!(wanted(said, in_thread), wish, "{said}");
        }
    }
}
