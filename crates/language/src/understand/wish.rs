//! Splits an utterance into clauses with one request each, and collects the cues for the action of
//! each clause.
//!
//! Invariant: a cue is never inside quotes, and a name alone does not start a clause.

use super::catalogue::Catalogue;
use super::cues::clause;
use super::text::{Text, Token};
use super::verbs::Class;
use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

/// Evidence for an action.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cue {
    /// The verb group, or the stem of a verb that only a tool has.
    pub(super) group: String,
    pub(super) class: Option<Class>,
    pub(super) weight: f32,
    /// The spans it uses, in bytes.
    pub(super) spans: Vec<(usize, usize)>,
}

/// A part of an utterance with one request.
#[derive(Debug, Clone, Default)]
pub(super) struct Clause {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) cues: Vec<Cue>,
    /// Whether it has no request itself and continues the preceding one.
    pub(super) inherits: bool,
    /// Whether it is to be executed before the preceding one.
    pub(super) earlier: bool,
    /// Whether it is a question.
    pub(super) asks: bool,
    /// Whether it continues the topic of the preceding one: "and can go home now".
    pub(super) elided: bool,
    /// Whether it only gives the reason for the following request: "Dana is ill, give Pilates to
    /// Ife".
    pub(super) why: bool,
}

/// The weight from which a cue starts a request by itself.
pub(super) const OPENS: f32 = 2.5;
/// Up to this weight, a cue may be only a statement.
const STATED: f32 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    Then,
    Hard,
    And,
    Comma,
}

static JOINTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?P<hard>[.!?;]+\s+)|(?P<then>\s*,?\s*\b(?:and\s+)?(?:then|after that|afterwards|after which|followed by)\b,?\s+)|(?P<and>\s*,?\s+(?:and|&|plus|but)\s+)|(?P<comma>,\s+)",
    )
});
static BEFORE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\W*before (?:you |we |i )?(?P<x>[^,]+), (?P<y>.+)$"));
pub(super) static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:what|which|who|whom|whose|when|where|why|how|is there|are there|do (?:i|we|you)|did (?:i|we)|does|have (?:i|we)|any|anything|was|were|is|are|has)\b|\?\s*$",
    )
});
static PRONOUN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:it|its|them|him|her|his|she|he|they|their|that one|this one|that|this|those|these|there)\b",
    )
});
/// "the dentist is called", "the milk is bought": a whole sentence.
static STATES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:the|my|our) .+ (?:is|are|was|were|has been|have been) \w+$"));

pub(super) fn is(pattern: &LazyLock<Regex>, text: &str) -> bool {
    pattern.is_match(text)
}

/// Whether a text has a back reference.
pub(super) fn points_back(text: &str) -> bool {
    is(&PRONOUN, text)
}

/// The clauses of an utterance, in order.
pub(super) fn clauses(text: &Text, catalogue: &Catalogue) -> Vec<Clause> {
    if let Some(found) = BEFORE.captures(&text.plain)
        && let (Some(x), Some(y)) = (found.name("x"), found.name("y"))
    {
        let mut first = clause(text, catalogue, x.start(), x.end());
        let mut second = clause(text, catalogue, y.start(), y.end());
        first.earlier = false;
        second.earlier = true;
        return vec![first, second];
    }
    let mut found: Vec<(Clause, Joint)> = Vec::new();
    for (start, end, joint) in pieces(text) {
        let mut next = clause(text, catalogue, start, end);
        let Some((last, _)) = found.last_mut() else {
            found.push((next, joint));
            continue;
        };
        // "Throw out the lasagna note, I never cook it": the reason is not part of the request.
        if strength(last) >= 3.5 && strength(&next) < 3.5 && is_why(text, start, end) {
            continue;
        }
        // "To the sales project, not to work".
        // "What a book".
        if text.plain.get(start..end).is_some_and(|plain| {
            let plain = plain.trim_start();
            plain.starts_with("what a ") || plain.starts_with("what an ")
        }) {
            continue;
        }
        if joint == Joint::Comma && text.plain.get(start..end).is_some_and(|plain| plain.starts_with("not "))
        {
            continue;
        }
        let spoken = text.plain.get(last.start..start).unwrap_or_default();
        let after_colon = spoken.contains(": ");
        let told = tells(text, last.start, last.end);
        next.elided = told && is(&GOES_ON, text.plain.get(start..end).unwrap_or_default());
        let opens = opens(text, catalogue, &next) || (told && (tells(text, start, end) || next.elided));
        let had = strength(last) >= OPENS || told;
        let back = points_back(text.plain.get(start..end).unwrap_or_default());
        let strong = |cue: &&Cue| cue.weight >= 3.5;
        let same = last
            .cues
            .iter()
            .filter(strong)
            .any(|cue| next.cues.iter().filter(strong).any(|other| other.group == cue.group));
        // "Coco isn't coming, please cancel": the request has no content of its own.
        let bare = told && strength(&next) >= OPENS && empty(text, &next);
        let split = match joint {
            Joint::Comma | Joint::And | Joint::Hard if bare => false,
            // "Register a new member, please. Viktor Dahl, off-peak": the addition has no request
            // of its own.
            Joint::Hard
                if had
                    && !back
                    && strength(&next) < 1.0
                    && !says(text.plain.get(start..end).unwrap_or_default()) =>
            {
                false
            }
            // The first part only names the topic.
            Joint::Hard | Joint::Comma if strength(last) < STATED && back => false,
            Joint::Hard | Joint::Then => true,
            Joint::And if after_colon && !spoken.trim_end().ends_with(", and") => false,
            // "Record 5 for the one and 7 for the other".
            Joint::And if had && counts(spoken) && counts(text.plain.get(start..end).unwrap_or_default()) => {
                true
            }
            // "Lend Emma to Ben and Gone Girl to Lena".
            Joint::And if had && pairs(text, last.start, last.end) && pairs(text, start, end) => true,
            Joint::And => opens && had,
            Joint::Comma => opens && had && !after_colon && !(same && back),
        };
        if split {
            found.push((next, joint));
        } else {
            last.end = end;
            last.asks |= next.asks;
            // The last request counts; what precedes it names the topic.
            if after_colon {
                // Text after a colon is data.
            } else if bare || (strength(last) < STATED && strength(&next) > 3.5) {
                last.cues = next.cues;
            } else if opens || !had {
                last.cues.extend(next.cues);
            }
        }
    }
    for at in 1..found.len() {
        let [(before, _), (wish, joint)] = found.get(at - 1..=at).unwrap_or_default() else { continue };
        let apart = *joint == Joint::Comma;
        let why = apart
            && !before.asks
            && (tells(text, before.start, before.end) || is_remark(text, before.start, before.end))
            && commands(text, catalogue, wish)
            && !points_back(text.plain.get(wish.start..wish.end).unwrap_or_default());
        if let Some((before, _)) = found.get_mut(at - 1) {
            before.why = why;
        }
    }
    let mut clauses: Vec<Clause> = found.into_iter().map(|(clause, _)| clause).collect();
    for at in 1..clauses.len() {
        let before = clauses.get(at - 1).map(|clause| clause.cues.clone()).unwrap_or_default();
        if let Some(clause) = clauses.get_mut(at).filter(|clause| strength(clause) < OPENS) {
            let plain = text.plain.get(clause.start..clause.end).unwrap_or_default();
            if !plain.trim().is_empty() {
                clause.inherits = true;
                clause.cues.extend(before.into_iter().map(|cue| Cue { spans: Vec::new(), ..cue }));
            }
        }
    }
    clauses.retain(|clause| !text.plain.get(clause.start..clause.end).unwrap_or_default().trim().is_empty());
    clauses
}

/// Whether a clause starts with a command.
fn commands(text: &Text, catalogue: &Catalogue, clause: &Clause) -> bool {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let head = text.tokens.iter().find(|token| token.start >= start && token.end <= end);
    head.is_some_and(|head| {
        !head.quoted
            && !head.capital
            && head.start < start + 2
            && catalogue.is_verb(&head.root)
            && !head.lower.ends_with("ed")
            && !head.lower.ends_with("ing")
    })
}

/// Whether a piece is only about the speaker, without anything that could be a value.
fn is_why(text: &Text, start: usize, end: usize) -> bool {
    let value = |token: &Token| {
        token.quoted
            || (token.capital && !token.lower.starts_with("i'") && token.lower != "i")
            || token.lower.starts_with(|c: char| c.is_ascii_digit())
    };
    is_remark(text, start, end)
        && !text.tokens.iter().any(|token| token.start >= start && token.end <= end && value(token))
}

/// "I won't make it this week": a remark of the speaker, and not a request.
pub(super) fn is_remark(text: &Text, start: usize, end: usize) -> bool {
    static OWN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\W*(?:i|we)(?:['’](?:m|re|ve|ll|d))? \w"));
    static WISH: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^\W*(?:i|we)(?:['’]d)? (?:need|want|would|like|have to|must|should|wish)\b")
    });
    let plain = text.plain.get(start..end).unwrap_or_default();
    is(&OWN, plain) && !is(&WISH, plain)
}

/// Whether there is only a verb and a back reference.
fn empty(text: &Text, clause: &Clause) -> bool {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let used = |token: &Token| {
        clause
            .cues
            .iter()
            .flat_map(|cue| &cue.spans)
            .any(|(from, to)| *from <= token.start && token.end <= *to)
    };
    let inside = text.tokens.iter().filter(|token| token.start >= start && token.end <= end);
    inside.filter(|token| !token.stop && !used(token)).count() == 0
}

static GOES_ON: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:(?:has|have|is|are|was|were|can|will|wants|needs|should|would like) (?:now |just |already )?|(?:won|lost|sold|sent|met|bought|paid|left|got|\w{3,}ed) (?:the |an? |my |our )?)\w",
    )
});

/// "Dana Brook paid 1150": a name, and what it did or is.
fn tells(text: &Text, start: usize, end: usize) -> bool {
    let (start, end) = text.trimmed(start, end);
    let tokens: Vec<&Token> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let article = tokens.first().is_some_and(|token| ["the", "my", "our"].contains(&token.lower.as_str()));
    let own =
        tokens.first().is_some_and(|token| ["i", "we", "they", "she", "he"].contains(&token.lower.as_str()));
    let named =
        if own { 1 } else { tokens.iter().take_while(|token| token.capital && !token.quoted).count() };
    let after = if article { 2..5 } else { named..named + 1 };
    let verb = |token: &&Token| {
        !token.quoted
            && !token.capital
            && ([
                "is", "are", "was", "were", "has", "have", "had", "will", "can", "takes", "gets", "wants",
                "needs", "came", "left", "paid", "didn't", "isn't", "won't", "never", "won", "lost", "sold",
                "sent", "met", "bought", "got",
            ]
            .contains(&token.lower.as_str())
                || (token.lower.ends_with("ed") && token.root != token.lower))
    };
    (article || named > 0) && after.into_iter().any(|at| tokens.get(at).is_some_and(verb))
}

/// Whether a text is a complete sentence.
fn says(plain: &str) -> bool {
    static SAYS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:is|are|was|were|am|has|have|had|does|do|did|can|could|will|would|should|must|may|wants?|needs?)\b|['’](?:s|re|ve|ll|d|m) |n['’]t\b",
        )
    });
    is(&SAYS, plain) || plain.split_whitespace().count() < 2
}

/// Whether a piece ends with two names: "Emma to Ben".
fn pairs(text: &Text, start: usize, end: usize) -> bool {
    let tokens: Vec<&Token> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let at = tokens.iter().position(|token| ["to", "from", "for"].contains(&token.lower.as_str()));
    at.is_some_and(|at| {
        let name = |at: usize| tokens.get(at).is_some_and(|token| token.capital);
        at > 0 && name(at - 1) && name(at + 1) && tokens.iter().skip(at + 1).all(|token| token.capital)
    })
}

/// Whether a value precedes its target: "7 km for the scooter".
fn counts(plain: &str) -> bool {
    static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?:\w+ )?[\d.,]+(?: [a-z]+)? (?:for|to|on|from) (?:the |my |our )?[a-z]\w+")
    });
    is(&COUNTS, plain.trim())
}

/// The start of each piece, without politeness: a verb there may be misspelt.
pub(super) fn heads(text: &Text) -> Vec<usize> {
    pieces(text).into_iter().map(|(start, end, _)| text.trimmed(start, end).0).collect()
}

fn pieces(text: &Text) -> Vec<(usize, usize, Joint)> {
    let mut found = Vec::new();
    let (mut start, mut joint) = (0, Joint::Hard);
    let pattern = &*JOINTS;
    for captures in pattern.captures_iter(&text.plain).take(40) {
        let Some(whole) = captures.get(0) else { continue };
        let piece = text.plain.get(start..whole.start()).unwrap_or_default();
        // "a.m. ", "no. 5": a full stop after one or two letters does not end a sentence.
        let short = whole.as_str().starts_with('.')
            && piece.rsplit(' ').next().is_some_and(|last| last.len() < 3 && last.parse::<u32>().is_err());
        if short {
            continue;
        }
        if !piece.trim().is_empty() {
            found.push((start, whole.start(), joint));
        }
        start = whole.end();
        joint = if captures.name("then").is_some() {
            Joint::Then
        } else if captures.name("hard").is_some() {
            Joint::Hard
        } else if captures.name("and").is_some() {
            Joint::And
        } else {
            Joint::Comma
        };
    }
    if !text.plain.get(start..).unwrap_or_default().trim().is_empty() || found.is_empty() {
        found.push((start, text.plain.len(), joint));
    }
    found
}

/// Whether a piece is a request by itself: a verb at its start, a question, or a statement of what
/// happened.
fn opens(text: &Text, catalogue: &Catalogue, piece: &Clause) -> bool {
    let (start, end) = text.trimmed(piece.start, piece.end);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let head = text.tokens.iter().find(|token| token.start >= start && token.end <= end && !token.quoted);
    let next = text
        .tokens
        .iter()
        .find(|token| head.is_some_and(|head| token.start > head.start))
        .map_or("", |token| token.lower.as_str());
    // "reading" and "note 7" are not commands.
    let bent = |word: &str| word.ends_with("ing") || word.ends_with("ed");
    let noun = |word: &str| {
        !catalogue.types_of(word).is_empty()
            && ![
                "the",
                "a",
                "an",
                "it",
                "this",
                "that",
                "them",
                "my",
                "everything",
                "all",
                "both",
                "these",
                "those",
            ]
            .contains(&next)
    };
    // "Email grace@…" after something else is a value, and so is "written by …".
    let value = text
        .raw
        .get(start..end)
        .is_some_and(|piece| piece.split_whitespace().nth(1).is_some_and(|word| word.contains('@')));
    let participle = head.is_some_and(|head| head.lower.ends_with("en") || head.lower.ends_with("ed"))
        && ["by", "in", "from", "on"].contains(&next);
    let verb = !value
        && !participle
        && head.is_some_and(|head| {
            head.start < start + 2
                && catalogue.is_verb(&head.root)
                && !head.capital
                && !bent(&head.lower)
                && !noun(&head.lower)
        });
    let heads = |cue: &Cue| head.is_some_and(|head| cue.spans == [(head.start, head.end)]);
    let strong = piece.cues.iter().any(|cue| cue.weight >= 4.0 && !heads(cue));
    let shown = text
        .plain
        .get(piece.start..start)
        .is_some_and(|polite| ["show me", "tell me"].iter().any(|verb| polite.trim_end().ends_with(verb)));
    verb || strong || shown || is(&ASKS, plain) || is(&STATES, plain)
}

pub(super) fn strength(clause: &Clause) -> f32 {
    clause.cues.iter().map(|cue| cue.weight).fold(0.0, f32::max)
}
