//! Summarizes a conversation: participants, decisions, actions and open questions.
//!
//! Decisions, actions and questions are recognized by cue phrases only.

use super::rank::{Position, Ranked, words};
use super::sentences::split;
use super::{Message, SummaryLength};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

const DECIDED: &[&str] = &[
    "decided",
    "we agreed",
    "agreed to",
    "agreed on",
    "agreed:",
    "decision",
    "we'll go with",
    "we will go with",
    "let's go with",
    "going with",
    "settled on",
    "final answer",
    "approved",
    "signed off",
    "we are going to",
    "consensus",
    "beschlossen",
    "entschieden",
    "einigen uns",
];
const ACTION_CUES: &[&str] = &[
    "todo",
    "to do:",
    "action item",
    "action:",
    "i'll ",
    "i will ",
    "can you ",
    "could you ",
    "please ",
    "will take care",
    "needs to ",
    "need to ",
    "have to ",
    "assigned to",
    "follow up",
    "follow-up",
    "by tomorrow",
    "by friday",
    "by monday",
    "by end of",
    "deadline",
    "bitte ",
    "ich kümmere",
];
const ASKING: &[&str] = &[
    "does anyone",
    "anyone know",
    "not sure whether",
    "not sure if",
    "unclear whether",
    "open question",
    "still need to know",
    "do we know",
];
const ANSWERING: &[&str] =
    &["yes", "no", "yep", "nope", "sure", "done", "correct", "exactly", "i think", "ja", "nein"];
/// The number of later messages that may answer a question.
const ANSWER_WINDOW_MESSAGES: usize = 5;
/// The maximum number of points in a list.
const MOST: usize = 10;

/// A sentence of a message.
struct Utterance<'a> {
    author: &'a str,
    text: String,
    message: usize,
}

impl Utterance<'_> {
    fn json(&self) -> Json {
        json!({ "author": self.author, "text": self.text, "message": self.message + 1 })
    }
}

/// The summary as text and as JSON.
pub(super) fn summary(messages: &[Message], wanted: SummaryLength) -> (String, Json) {
    let said: Vec<Utterance<'_>> = (messages.iter().enumerate())
        .flat_map(|(place, message)| {
            let author = message.author.trim();
            split(&message.text).into_iter().map(move |text| Utterance { author, text, message: place })
        })
        .take(5000)
        .collect();
    let texts: Vec<&str> = said.iter().map(|said| said.text.as_str()).collect();
    let ranked = Ranked::new(&texts);
    let count = wanted.of(texts.len());
    // Questions are listed separately, so they are not key points.
    let key: Vec<&Utterance<'_>> = (ranked.choose((count * 2).min(texts.len()), Position::Even).into_iter())
        .filter_map(|(place, score)| Some((said.get(place)?, score)))
        .filter(|(said, _)| !asks(&said.text) || texts.len() <= count)
        .map(|(said, _)| said)
        .take(count)
        .collect();
    let decisions = cued(&said, DECIDED, &[]);
    let actions: Vec<&Utterance<'_>> = cued(&said, ACTION_CUES, &decisions);
    let open: Vec<&Utterance<'_>> =
        said.iter().filter(|one| asks(&one.text) && !answered(one, messages)).take(MOST).collect();
    let people = participants(messages);
    let text = in_words(&people, messages.len(), &key, &decisions, &actions, &open);
    let list = |points: &[&Utterance<'_>]| points.iter().map(|said| said.json()).collect::<Vec<_>>();
    let participants: Vec<Json> =
        people.iter().map(|(author, count)| json!({ "author": author, "messages": count })).collect();
    let structured = json!({
        "summary": text, "keywords": ranked.keywords(8), "of": texts.len(), "participants": participants,
        "key_points": list(&key), "decisions": list(&decisions), "action_items": list(&actions),
        "open_questions": list(&open),
    });
    (text, structured)
}

/// The participants by number of messages, then in order of their first message.
fn participants(messages: &[Message]) -> Vec<(&str, usize)> {
    let mut people: Vec<(&str, usize)> = Vec::new();
    for message in messages {
        let author = message.author.trim();
        match people.iter_mut().find(|(known, _)| *known == author) {
            Some((_, count)) => *count += 1,
            None => people.push((author, 1)),
        }
    }
    people.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    people
}

fn cued<'a, 'b>(
    said: &'a [Utterance<'b>],
    cues: &[&str],
    without: &[&Utterance<'b>],
) -> Vec<&'a Utterance<'b>> {
    let fits = |one: &&Utterance<'_>| {
        let text = format!("{} ", one.text.to_lowercase().replace('’', "'"));
        let found = cues.iter().any(|cue| begins_word(&text, cue));
        // A question whether something was decided is not a decision.
        let asking = asks(&one.text) && !text.contains("can you ") && !text.contains("could you ");
        found && !asking && !without.iter().any(|other| std::ptr::eq(*other, *one))
    };
    said.iter().filter(fits).take(MOST).collect()
}

/// Whether the cue occurs at the beginning of a word.
fn begins_word(text: &str, cue: &str) -> bool {
    text.match_indices(cue).any(|(at, _)| {
        text.get(..at).and_then(|before| before.chars().next_back()).is_none_or(|c| !c.is_alphanumeric())
    })
}

fn asks(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.trim_end_matches(['"', '\'', ')', '”']).ends_with('?')
        || ASKING.iter().any(|cue| lower.contains(cue))
}

/// Whether another participant answered soon after: with a word of agreement, or with words of the
/// question and no question.
fn answered(question: &Utterance<'_>, messages: &[Message]) -> bool {
    let asked: BTreeSet<String> = words(&question.text).into_iter().collect();
    let later = messages.iter().skip(question.message + 1).take(ANSWER_WINDOW_MESSAGES);
    later.filter(|message| message.author.trim() != question.author).any(|message| {
        let lower = message.text.trim().to_lowercase();
        let first = lower.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let agrees =
            ANSWERING.iter().any(|word| first == *word || (word.contains(' ') && lower.starts_with(word)));
        let shared = words(&message.text).iter().filter(|word| asked.contains(*word)).count();
        agrees || (shared >= 2 && !asks(&message.text))
    })
}

fn in_words(
    people: &[(&str, usize)],
    messages: usize,
    key: &[&Utterance<'_>],
    decisions: &[&Utterance<'_>],
    actions: &[&Utterance<'_>],
    open: &[&Utterance<'_>],
) -> String {
    let names: Vec<String> =
        people.iter().take(10).map(|(author, count)| format!("{author} ({count})")).collect();
    let others = people.len().saturating_sub(10);
    let more = if others > 0 { format!(" and {others} others") } else { String::new() };
    let mut text = format!("{messages} messages by {}{more}.\n", names.join(", "));
    let lists =
        [("Key points", key), ("Decisions", decisions), ("Action items", actions), ("Open questions", open)];
    for (title, points) in lists.into_iter().filter(|(_, points)| !points.is_empty()) {
        text.push_str(&format!("\n{title}:\n"));
        for said in points {
            text.push_str(&format!("- {}: {}\n", said.author, said.text));
        }
    }
    text
}
