//! Finds referring expressions: pronouns, positions in a list, types with "the" or "that", and
//! names.
//!
//! Invariant: mentions do not overlap and are in text order. "It" in "is it raining" and "that" in
//! "the note that I wrote" refer to nothing and are ignored.

use super::Recent;
use crate::words::{Word, name_words, stem, words};
use std::collections::BTreeSet;

/// The kind of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// One thing: "it", "that task".
    One,
    /// Several: "them", "those tasks".
    Many,
    /// "both", "the two".
    Both,
    /// "the other one".
    Other,
    /// "the second": from 1; from the end when negative.
    Nth(i32),
    /// "the last two".
    Last(usize),
    /// "the first two".
    First(usize),
    /// By its name.
    Named(usize),
}

/// A referring expression of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mention {
    pub(super) shape: Shape,
    /// The types that are named or implied; any if empty.
    pub(super) types: BTreeSet<String>,
    /// The word for the type, as said.
    pub(super) noun: Option<String>,
    /// Descriptive words: "the red one".
    pub(super) about: Vec<String>,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Mention {
    /// How to name it in a clarifying question.
    pub(super) fn what(&self) -> String {
        self.noun.clone().unwrap_or_else(|| "one".into())
    }
}

const ORDINALS: &[(&str, i32)] = &[
    ("first", 1),
    ("1st", 1),
    ("second", 2),
    ("2nd", 2),
    ("third", 3),
    ("3rd", 3),
    ("fourth", 4),
    ("4th", 4),
    ("fifth", 5),
    ("5th", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("last", -1),
    ("latest", -1),
    ("former", 1),
    ("latter", -1),
    ("top", 1),
    ("bottom", -1),
];
const COUNTS: &[&str] =
    &["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
/// Types that "he", "she" and "him" can refer to.
const PEOPLE: &[&str] = &[
    "person",
    "customer",
    "contact",
    "user",
    "employee",
    "lead",
    "client",
    "colleague",
    "manager",
    "member",
    "candidate",
    "author",
    "assignee",
    "owner",
    "patient",
    "student",
    "teacher",
    "people",
    "guest",
];

/// The mentions of a request.
pub(super) fn mentions(text: &str, recent: &[Recent]) -> Vec<Mention> {
    let said = words(text);
    let mut found: Vec<Mention> = named(&said, recent);
    let mut at = 0;
    while at < said.len() {
        let next = phrase(&said, at, recent).or_else(|| pronoun(&said, at, recent));
        match next {
            Some((mention, length))
                if found.iter().all(|known| mention.end <= known.start || known.end <= mention.start) =>
            {
                found.push(mention);
                at += length.max(1);
            }
            _ => at += 1,
        }
    }
    found.sort_by_key(|mention| mention.start);
    found
}

fn word(said: &[Word], at: usize) -> &str {
    said.get(at).map_or("", |word| word.lower.as_str())
}

fn span(
    said: &[Word],
    from: usize,
    length: usize,
    shape: Shape,
    types: BTreeSet<String>,
    noun: Option<String>,
) -> Option<(Mention, usize)> {
    let (first, last) = (said.get(from)?, said.get(from + length.checked_sub(1)?)?);
    Some((Mention { shape, types, noun, about: Vec::new(), start: first.start, end: last.end }, length))
}

/// The types that a noun names.
fn types(noun: &str, recent: &[Recent]) -> BTreeSet<String> {
    let wanted = stem(noun);
    let mut found = BTreeSet::new();
    for entity in recent {
        let last = name_words(&entity.entity_type).pop().unwrap_or_default();
        if stem(&last) == wanted || stem(&entity.entity_type) == wanted {
            found.insert(entity.entity_type.clone());
        }
    }
    found
}

fn plural(noun: &str) -> bool {
    noun.ends_with('s') && !noun.ends_with("ss") && !noun.ends_with("us")
}

/// "the first one", "the last two tasks", "that task", "both of them", "the other one", "the red
/// one".
fn phrase(said: &[Word], at: usize, recent: &[Recent]) -> Option<(Mention, usize)> {
    if word(said, at) == "both" {
        let noun = word(said, at + 1);
        let known = types(noun, recent);
        return match (noun, word(said, at + 2)) {
            (_, _) if !known.is_empty() => span(said, at, 2, Shape::Both, known, Some(noun.to_owned())),
            ("of", "them" | "these" | "those") => span(said, at, 3, Shape::Both, known, None),
            _ => span(said, at, 1, Shape::Both, known, None),
        };
    }
    if !["the", "that", "this", "those", "these", "my", "number"].contains(&word(said, at)) {
        return None;
    }
    let place = word(said, at + 1);
    if place == "other" || (place == "two" && word(said, at) == "the") {
        let noun = word(said, at + 2);
        let known = types(noun, recent);
        let length = if noun == "one" || noun == "ones" || !known.is_empty() { 3 } else { 2 };
        let shape = if place == "two" { Shape::Both } else { Shape::Other };
        return span(said, at, length, shape, known.clone(), (!known.is_empty()).then(|| noun.to_owned()));
    }
    if let Some((_, nth)) = ORDINALS.iter().find(|(name, _)| *name == place) {
        return ordinal(said, at, *nth, recent);
    }
    let known = types(place, recent);
    if !known.is_empty() {
        let many = plural(place) && !known.contains(place);
        let shape = if many { Shape::Many } else { Shape::One };
        return span(said, at, 2, shape, known, Some(place.to_owned()));
    }
    described(said, at, recent)
}

fn ordinal(said: &[Word], at: usize, nth: i32, recent: &[Recent]) -> Option<(Mention, usize)> {
    let next = word(said, at + 2);
    let count =
        COUNTS.iter().position(|name| *name == next).filter(|count| *count > 1).or_else(|| next.parse().ok());
    if let Some(count) = count.filter(|count| (2..=50).contains(count)) {
        let noun = word(said, at + 3);
        let known = types(noun, recent);
        let length = if known.is_empty() { 3 } else { 4 };
        let shape = if nth < 0 { Shape::Last(count) } else { Shape::First(count) };
        return span(said, at, length, shape, known.clone(), (!known.is_empty()).then(|| noun.to_owned()));
    }
    let known = types(next, recent);
    // "The last week" is a time and "the top sellers" a question, so a position must stand alone or
    // before a known noun.
    let alone = at + 2 >= said.len()
        || ["one", "and", "or", "to", "as", "from", "of", "is", "please", "for", "with", "in"]
            .contains(&next);
    if known.is_empty() && !alone {
        return None;
    }
    let length = if next == "one" || !known.is_empty() { 3 } else { 2 };
    span(said, at, length, Shape::Nth(nth), known.clone(), (!known.is_empty()).then(|| next.to_owned()))
}

/// "the red one", "the Berlin one", "the late task": up to two descriptive words.
fn described(said: &[Word], at: usize, recent: &[Recent]) -> Option<(Mention, usize)> {
    for between in 1..=2_usize {
        let noun = word(said, at + 1 + between);
        let known = types(noun, recent);
        let describing = said.get(at + 1..at + 1 + between)?;
        if (noun != "one" && known.is_empty()) || describing.iter().any(|word| word.stop) {
            continue;
        }
        let (mut mention, length) = span(
            said,
            at,
            between + 2,
            Shape::One,
            known.clone(),
            (!known.is_empty()).then(|| noun.to_owned()),
        )?;
        mention.about = describing.iter().map(|word| word.stem.clone()).collect();
        return Some((mention, length));
    }
    None
}

fn pronoun(said: &[Word], at: usize, recent: &[Recent]) -> Option<(Mention, usize)> {
    let people = || -> BTreeSet<String> {
        let wanted = |entity: &&Recent| {
            PEOPLE.contains(&name_words(&entity.entity_type).pop().unwrap_or_default().as_str())
        };
        let found: BTreeSet<String> =
            recent.iter().filter(wanted).map(|entity| entity.entity_type.clone()).collect();
        // Without a matching entity, "he" still asks for a person.
        if found.is_empty() { BTreeSet::from(["person".to_owned()]) } else { found }
    };
    let (before, next) = (at.checked_sub(1).map_or("", |at| word(said, at)), word(said, at + 1));
    let any = BTreeSet::new;
    match word(said, at) {
        "it" | "its" if refers(before, next, said, at) => span(said, at, 1, Shape::One, any(), None),
        "this" | "that" if stands_alone(said, at, next) => {
            span(said, at, if next == "one" { 2 } else { 1 }, Shape::One, any(), None)
        }
        "them" | "they" | "their" => span(said, at, 1, Shape::Many, any(), None),
        "these" | "those" if stands_alone(said, at, next) => span(said, at, 1, Shape::Many, any(), None),
        "all" if next == "of" && ["them", "these", "those"].contains(&word(said, at + 2)) => {
            span(said, at, 3, Shape::Many, any(), None)
        }
        "him" | "he" | "she" | "his" | "her" => {
            span(said, at, 1, Shape::One, people(), Some("person".into()))
        }
        _ => None,
    }
}

/// "Is it raining", "what time is it", "it is late": the pronoun refers to nothing.
fn refers(before: &str, next: &str, said: &[Word], at: usize) -> bool {
    let weather = [
        "raining", "snowing", "sunny", "cold", "warm", "hot", "late", "early", "possible", "true", "okay",
        "ok", "time",
    ];
    let said_of = |word: &str| weather.contains(&word) || word.starts_with("rain");
    let clock = before == "is"
        && at.checked_sub(2).is_some_and(|at| ["time", "day", "date"].contains(&word(said, at)));
    let seems = ["seems", "appears", "depends"].contains(&next);
    let dummy = (before == "is" && said_of(next))
        || (["is", "was", "will"].contains(&next) && said_of(word(said, at + 2)));
    !clock && !seems && !dummy
}

/// "That" before a noun is a determiner, and after a noun a conjunction; alone, it is a reference.
fn stands_alone(said: &[Word], at: usize, next: &str) -> bool {
    let follows = next.is_empty()
        || [
            "one", "to", "as", "from", "for", "with", "is", "was", "and", "or", "please", "by", "on", "in",
            "done", "up", "off", "too", "again", "now", "are", "were",
        ]
        .contains(&next);
    let joins = at
        .checked_sub(1)
        .and_then(|at| said.get(at))
        .is_some_and(|before| !before.stop && ["is", "was", "are", "were"].contains(&next));
    follows && !joins
}

/// Entities whose whole name, or id, is said.
fn named(said: &[Word], recent: &[Recent]) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut readings: Vec<(usize, usize, Vec<String>)> = Vec::new();
    for (at, entity) in recent.iter().enumerate() {
        for name in entity.name.iter().chain([&entity.id]) {
            let wanted: Vec<String> = words(name).into_iter().map(|word| word.lower).collect();
            if wanted.len() > 1 || wanted.iter().any(|word| word.len() > 1) {
                readings.push((wanted.len(), at, wanted));
            }
        }
    }
    readings.sort_by_key(|(length, at, _)| (std::cmp::Reverse(*length), *at));
    for (length, at, wanted) in readings {
        for window in said.windows(length) {
            let (Some(first), Some(last)) = (window.first(), window.last()) else { continue };
            let same = window.iter().map(|word| word.lower.as_str()).eq(wanted.iter().map(String::as_str));
            let free = found.iter().all(|known| last.end <= known.start || known.end <= first.start);
            if same && free {
                found.push(Mention {
                    shape: Shape::Named(at),
                    types: BTreeSet::new(),
                    noun: None,
                    about: Vec::new(),
                    start: first.start,
                    end: last.end,
                });
            }
        }
    }
    found
}
