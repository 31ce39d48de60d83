//! Clarifying questions before anything is executed: texts without a request, and ambiguous
//! requests.

use super::catalogue::{Catalogue, Prepared};
use super::choose::Candidate;
use super::fill::UtteranceContext;
use super::lexicon::plural;
use super::place::place;
use super::text::Text;
use super::types::{Choice, Question, QuestionKind, Step, TurnContext};
use super::verbs::Class;
use super::wish::{Clause, is, points_back};
use crate::pattern::pattern;
use regex::Regex;
use serde_json::json;
use std::sync::LazyLock;

static VAGUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:do (?:something|anything)|deal with|take care of|handle|sort out|see to) ")
});

/// A few words without a request: ask what to do.
pub(super) fn bare(
    said: &UtteranceContext<'_>,
    clause: &Clause,
    found: &[Candidate],
    strongest: f32,
    given: &TurnContext<'_>,
    earlier: &[Step],
) -> Option<Question> {
    let UtteranceContext { text, catalogue, ground, .. } = *said;
    let (start, end) = text.trimmed(clause.start, clause.end);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let vague = is(&VAGUE, plain);
    // "Ticket 4104", "Smokey": a name and nothing else.
    let only = tokens_within(text, start, end).all(|token| {
        ground.at(token.start).is_some()
            || !catalogue.types_of(&token.lower).is_empty() && !plural(&token.lower)
    }) && ground.within(start, end).next().is_some()
        && strongest < 2.0
        && given.before.is_empty()
        && earlier.is_empty();
    let tokens: Vec<_> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let proper = tokens.iter().all(|token| token.capital || token.lower == "and");
    let inner_stop = !proper && tokens.iter().skip(1).any(|token| token.stop);
    let typed = tokens.iter().any(|token| !catalogue.types_of(&token.lower).is_empty());
    let valued = found.first().is_some_and(|best| best.filled.evidence >= 1.5 || best.filled.id.is_some())
        && !tokens.iter().all(|token| ground.at(token.start).is_some());
    let first = found.first().and_then(|best| catalogue.tools.get(best.at));
    let pointed =
        points_back(plain) || place(plain).is_some() || (!given.recent.is_empty() && plain.contains(" one"));
    let mine = tokens.first().is_some_and(|token| ["my", "our", "any"].contains(&token.lower.as_str()));
    // "Coco goes home": a name and a statement.
    let told = tokens.iter().any(|token| ground.at(token.start).is_some_and(|mention| mention.is_firm()))
        && tokens.iter().any(|token| ground.at(token.start).is_none() && !token.stop && !token.capital);
    let words = strongest < 2.0
        && !told
        && tokens.len() <= 3
        && !inner_stop
        && !typed
        && (!valued || proper)
        && !pointed
        && !mine
        && !clause.asks
        && earlier.is_empty();
    if !vague && !words && !only {
        return None;
    }
    let mut options: Vec<Choice> = Vec::new();
    let acts = |tool: &Prepared| {
        if vague {
            tool.target().is_some() && tool.class != Class::Delete
        } else {
            tool.class != Class::Delete
        }
    };
    // Read-only tools come first.
    let order = |class: Class| match class {
        Class::Search => 0,
        Class::List => 1,
        Class::Read => 2,
        Class::Create => 3,
        Class::Update | Class::Delete => 4,
    };
    let home = first.and_then(|tool| tool.tool.domain.clone());
    let mut fitting: Vec<&Prepared> = found
        .iter()
        .filter_map(|candidate| catalogue.tools.get(candidate.at))
        .filter(|tool| acts(tool) && tool.tool.domain == home)
        .collect();
    fitting.sort_by_key(|tool| order(tool.class));
    for tool in fitting.into_iter().take(10) {
        options.push(Choice::value(label(&tool.tool.description), json!(tool.tool.name)));
    }
    let words = text.slice(start, end).to_owned();
    Some(Question {
        options,
        words,
        ..Question::open(
            QuestionKind::Meaning,
            format!("What should I do with \"{}\"?", text.slice(start, end)),
            earlier.len(),
        )
    })
}

pub(super) fn tokens_within(
    text: &Text,
    start: usize,
    end: usize,
) -> impl Iterator<Item = &super::text::Token> {
    text.tokens.iter().filter(move |token| token.start >= start && token.end <= end)
}

/// The first sentence of a description, as an option.
pub(super) fn label(description: &str) -> String {
    let first = description.split(['.', ';', ':']).next().unwrap_or(description).trim();
    first.chars().take(80).collect()
}

/// "Add Fernway": if two types of records could be created and the text does not tell which, ask.
pub(super) fn which_new(
    catalogue: &Catalogue,
    found: &[Candidate],
    tool: &Prepared,
    best: &Candidate,
    at: usize,
    said: &str,
) -> Option<Question> {
    if tool.class != Class::Create || best.noun > 0.0 || best.filled.evidence > 1.0 {
        return None;
    }
    let rivals: Vec<&Prepared> = found
        .iter()
        .filter(|other| best.score - other.score < 1.5 && other.filled.missing.is_empty())
        .filter_map(|other| catalogue.tools.get(other.at))
        .filter(|other| other.class == Class::Create && other.tool.domain == tool.tool.domain)
        .collect();
    if rivals.len() < 2 {
        return None;
    }
    let options: Vec<Choice> = rivals
        .iter()
        .map(|tool| Choice::value(label(&tool.tool.description), json!(tool.tool.name)))
        .collect();
    let words = said.to_owned();
    Some(Question { options, words, ..Question::open(QuestionKind::Meaning, "What should it be?", at) })
}
