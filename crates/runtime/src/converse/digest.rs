//! Long conversations for a model: the newest messages in full, the others as one line each.
//!
//! Invariants
//! - The digest is bounded, whatever the length of the conversation. If one line for each message
//!   does not fit, the oldest lines are dropped, and the digest gives their number.
//! - The digest has the role of an agent, because some lines come from an agent: nothing in it
//!   proves that a value is the user's.

use std::fmt::Write as _;
use steward_domain::Role;
use steward_engine::EarlierMessage;

/// The number of messages in full, and the maximum characters of each.
const NEWEST: usize = 20;
const NEWEST_CHARS: usize = 4_000;
/// The maximum characters of a line of the digest, and of the whole digest.
const LINE: usize = 160;
const ALL: usize = 12_000;

/// The conversation for a prompt, oldest first.
pub(super) fn shorten(said: &[(Role, &str)]) -> Vec<EarlierMessage> {
    let (older, newest) = said.split_at(said.len().saturating_sub(NEWEST));
    let mut told = Vec::with_capacity(newest.len() + 1);
    if !older.is_empty() {
        told.push(EarlierMessage::new(Role::Agent, digest(older)));
    }
    told.extend(
        newest.iter().map(|(role, text)| {
            EarlierMessage::new(*role, text.chars().take(NEWEST_CHARS).collect::<String>())
        }),
    );
    told
}

fn digest(older: &[(Role, &str)]) -> String {
    let mut lines = Vec::new();
    let mut length = 0;
    for (role, text) in older.iter().rev() {
        let who = if *role == Role::User { "the person" } else { "the answer" };
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = plain.chars().take(LINE).collect();
        let more = if cut.len() < plain.len() { "…" } else { "" };
        let line = format!("- {who}: {cut}{more}\n");
        length += line.len();
        if length > ALL {
            break;
        }
        lines.push(line);
    }
    let mut text = String::from("Earlier in this conversation, shortened:\n");
    if lines.len() < older.len() {
        let _infallible =
            writeln!(text, "({} messages before these are not shown)", older.len() - lines.len());
    }
    lines.iter().rev().for_each(|line| text.push_str(line));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_conversation_is_unchanged() {
        let said = [(Role::User, "a"), (Role::Agent, "b")];
        let told = shorten(&said);
        assert_eq!(told.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(shorten(&[]).is_empty());
    }

    #[test]
    fn long_conversation_keeps_newest_messages() {
        let texts: Vec<String> =
            (0..60).map(|number| format!("message {number} {}", "x".repeat(300))).collect();
        let said: Vec<(Role, &str)> = texts.iter().map(|text| (Role::User, text.as_str())).collect();
        let told = shorten(&said);
        assert_eq!(told.len(), NEWEST + 1);
        assert_eq!(told[0].role, Role::Agent, "a digest proves nothing");
        assert!(
            told[0].text.contains("message 0 ") && told[0].text.contains("message 39 "),
            "{}",
            told[0].text
        );
        assert!(!told[0].text.contains("message 40 "));
        assert_eq!(told[1].text, texts[40]);
    }

    #[test]
    fn the_digest_is_bounded_and_says_what_is_missing() {
        let text = "word ".repeat(100);
        let said: Vec<(Role, &str)> = (0..5_000).map(|_| (Role::Agent, text.as_str())).collect();
        let told = shorten(&said);
        assert!(told[0].text.len() < ALL + 200, "{}", told[0].text.len());
        assert!(told[0].text.contains("messages before these are not shown"));
    }
}
