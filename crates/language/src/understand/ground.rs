//! Matches words of an utterance with the names and values of known records, which tools have
//! shown.
//!
//! Invariants
//! - A mention is a run of words. Each of them occurs in the matched name or value; the ends of a
//!   run are content words.
//! - Mentions do not overlap: longer runs take precedence over shorter ones, whole names over parts
//!   of names.
//! - Values that a schema lists are not names. A number is a name only if it is marked as a number,
//!   or if no amount is expected (`fill`).

use super::catalogue::Catalogue;
use super::lexicon::{is_generic, root};
use super::text::{Text, Token, slip};
use super::types::SeenRecord;
use crate::words::words;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use steward_domain::DomainName;

/// Maximum length of a name in words, and of a value in bytes.
const LONGEST: usize = 8;
const VALUE: usize = 60;

/// A run of words that matches known records.
#[derive(Debug, Clone)]
pub(super) struct Mention {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is a whole name or value.
    pub(super) whole: bool,
    /// Whether it is more than one word.
    pub(super) several: bool,
    /// Whether it is written as a name.
    pub(super) capital: bool,
    /// Whether it is a number that is marked as one: "#5", "order 12".
    pub(super) numbered: bool,
    /// The indexes of the records with this name.
    pub(super) named: BTreeSet<usize>,
    /// The indexes of the records with this value, by field.
    pub(super) valued: BTreeMap<String, BTreeSet<usize>>,
}

impl Mention {
    /// Whether it is a whole name, or more than one word of one.
    pub(super) fn is_firm(&self) -> bool {
        self.whole || self.several
    }
}

/// The mentions of an utterance.
#[derive(Debug, Default)]
pub(super) struct Ground<'a> {
    pub(super) world: &'a [SeenRecord],
    pub(super) mentions: Vec<Mention>,
    looks: BTreeMap<(Option<DomainName>, String), ValueShape>,
}

/// Patterns of a field's values.
#[derive(Debug, Default)]
pub(super) struct ValueShape {
    pub(super) all: usize,
    /// How many are written as names.
    pub(super) names: usize,
    /// The patterns of those that are codes.
    pub(super) shapes: BTreeSet<String>,
}

/// The pattern of a code: "B-03" and "D-06" have the same.
pub(super) fn shape(text: &str) -> String {
    let sign = |c: char| match c {
        c if c.is_ascii_digit() => '0',
        c if c.is_alphabetic() => 'a',
        c => c,
    };
    text.chars().map(sign).collect()
}

struct Entry {
    words: Vec<String>,
    thing: usize,
    /// The field of a value; none for a name.
    field: Option<String>,
}

impl<'a> Ground<'a> {
    /// Finds mentions of the known records in an utterance.
    pub(super) fn read(text: &Text, catalogue: &Catalogue, world: &'a [SeenRecord]) -> Self {
        if world.is_empty() {
            return Self::default();
        }
        let index = Index::new(entries(catalogue, world));
        let mut found: Vec<(usize, usize, Mention)> = Vec::new();
        for first in 0..text.tokens.len() {
            let Some(token) = text.tokens.get(first).filter(|token| may_begin(token)) else { continue };
            let candidates = index.like(token);
            for last in (first..text.tokens.len().min(first + LONGEST)).rev() {
                if let Some(mention) =
                    mention(text, catalogue, world, (&index.entries, &candidates), first, last)
                {
                    found.push((first, last, mention));
                }
            }
        }
        let rank = |(first, last, mention): &(usize, usize, Mention)| {
            (std::cmp::Reverse((last - first, mention.whole, mention.capital)), *first)
        };
        found.sort_by_key(rank);
        let mut mentions: Vec<Mention> = Vec::new();
        for (.., mention) in found {
            if mentions.iter().all(|known| mention.end <= known.start || known.end <= mention.start) {
                mentions.push(mention);
            }
        }
        mentions.sort_by_key(|mention| mention.start);
        let mut looks: BTreeMap<(Option<DomainName>, String), ValueShape> = BTreeMap::new();
        for seen in world {
            for (field, value) in &seen.thing.attributes {
                let Some(value) = value.as_str().filter(|value| !value.is_empty() && value.len() < VALUE)
                else {
                    continue;
                };
                let known = looks.entry((seen.domain.clone(), field.clone())).or_default();
                known.all += 1;
                known.names += usize::from(value.split(' ').all(|word| word.starts_with(char::is_uppercase)));
                if value.chars().any(|c| c.is_ascii_digit()) && !value.contains(' ') {
                    known.shapes.insert(shape(value));
                }
            }
        }
        Self { world, mentions, looks }
    }

    /// The patterns of a field's values in a domain.
    pub(super) fn looks(&self, domain: Option<&DomainName>, field: &str) -> Option<&ValueShape> {
        self.looks.get(&(domain.cloned(), field.to_owned()))
    }

    /// The mention at a position.
    pub(super) fn at(&self, place: usize) -> Option<&Mention> {
        self.mentions.iter().find(|mention| mention.start <= place && place < mention.end)
    }

    pub(super) fn within(&self, start: usize, end: usize) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(move |mention| mention.start >= start && mention.end <= end)
    }
}

fn may_begin(token: &Token) -> bool {
    !token.stop || token.capital
}

fn digits(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

/// An index of names and values by their words.
struct Index {
    entries: Vec<Entry>,
    by_word: HashMap<String, Vec<usize>>,
    by_root: HashMap<String, Vec<usize>>,
    /// Words by first letter and length: only these can have edit distance 1.
    near: HashMap<(char, usize), Vec<String>>,
}

impl Index {
    fn new(entries: Vec<Entry>) -> Self {
        let mut by_word: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            for word in &entry.words {
                let known = by_word.entry(word.clone()).or_default();
                if known.last() != Some(&at) {
                    known.push(at);
                }
            }
        }
        let mut by_root: HashMap<String, Vec<usize>> = HashMap::new();
        let mut near: HashMap<(char, usize), Vec<String>> = HashMap::new();
        for (word, at) in &by_word {
            by_root.entry(root(word)).or_default().extend(at);
            if let Some(first) = word.chars().next() {
                near.entry((first, word.chars().count())).or_default().push(word.clone());
            }
        }
        Self { entries, by_word, by_root, near }
    }

    /// Entries with a similar word, in order.
    fn like(&self, token: &Token) -> Vec<usize> {
        let mut found: Vec<usize> = self.by_word.get(&token.lower).cloned().unwrap_or_default();
        if found.is_empty() && token.lower.len() > 3 {
            found.extend(self.by_root.get(&token.root).into_iter().flatten());
            let length = token.lower.chars().count();
            let first = token.lower.chars().next().unwrap_or(' ');
            for length in [length.saturating_sub(1), length, length + 1] {
                let words =
                    self.near.get(&(first, length)).into_iter().flatten().filter(|word| alike(word, token));
                found.extend(words.filter_map(|word| self.by_word.get(word)).flatten());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whether a word of a name was used, possibly inflected or with one typo.
fn alike(known: &str, token: &Token) -> bool {
    known == token.lower
        || (known.len() > 3 && root(known) == token.root)
        || (token.lower.len() > 4 && known.len() > 4 && slip(&token.lower, known))
}

fn entries(catalogue: &Catalogue, world: &[SeenRecord]) -> Vec<Entry> {
    let mut found = Vec::new();
    let cut = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
    for (at, seen) in world.iter().enumerate() {
        let name = seen.thing.name.as_deref().map(cut).unwrap_or_default();
        if !name.is_empty() && name.len() <= 2 * LONGEST {
            found.push(Entry { words: name.clone(), thing: at, field: None });
        }
        for (field, value) in &seen.thing.attributes {
            let Some(value) = value.as_str().filter(|value| value.len() < VALUE) else { continue };
            let words = cut(value);
            let plain = words.iter().all(|word| digits(word)) || value.contains('@') || value.contains(':');
            if words.is_empty()
                || words.len() > LONGEST
                || plain
                || words == name
                || catalogue.listed.contains(value.to_lowercase().as_str())
                || Some(value) == seen.thing.id.as_str()
            {
                continue;
            }
            found.push(Entry { words, thing: at, field: Some(field.clone()) });
        }
        // An id is a name too: "TK-104", "4103".
        let words = cut(&seen.thing.id_text());
        if words.len() <= LONGEST && words != name {
            found.push(Entry { words, thing: at, field: None });
        }
    }
    found
}

fn mention(
    text: &Text,
    catalogue: &Catalogue,
    world: &[SeenRecord],
    (entries, candidates): (&[Entry], &[usize]),
    first: usize,
    last: usize,
) -> Option<Mention> {
    let run = text.tokens.get(first..=last)?;
    let (head, tail) = (run.first()?, run.last()?);
    if (tail.stop && !tail.capital)
        || (first == last && digits(&head.lower) && !numbered(text, catalogue, first))
    {
        return None;
    }
    // Quoted words are one name.
    if head.quoted || tail.quoted {
        let whole = text
            .quotes
            .iter()
            .any(|quote| quote.start == head.start && quote.end >= tail.end && quote.end <= tail.end + 1);
        if !whole {
            return None;
        }
    }
    // A name does not extend over a comma or a full stop.
    let gaps = run.windows(2).all(|pair| match pair {
        [a, b] => !text.slice(a.end, b.start).contains([',', '.', '?', '!', ';', ':']),
        _ => true,
    });
    if !gaps {
        return None;
    }
    let capital = run.iter().any(|token| token.capital && (first > 0 || last > 0 || !token.stop));
    let telling = |token: &Token| {
        !token.stop
            && !digits(&token.lower)
            && token.lower.len() > 2
            && !is_generic(&token.lower)
            && catalogue.types_of(&token.lower).is_empty()
    };
    let mut found = Mention {
        start: head.start,
        end: tail.end,
        whole: false,
        several: last > first,
        capital,
        numbered: first == last && said_number(text, catalogue, first),
        named: BTreeSet::new(),
        valued: BTreeMap::new(),
    };
    // "Table 4": a number after a type word is the number of such a record.
    let before =
        first.checked_sub(1).and_then(|at| text.tokens.get(at)).map_or("", |token| token.lower.as_str());
    let kinds = if digits(&head.lower) && first == last { catalogue.types_of(before) } else { Vec::new() };
    let of_kind = |entry: &Entry| {
        let seen = world.get(entry.thing);
        kinds.is_empty()
            || seen.is_some_and(|seen| kinds.iter().any(|kind| kind.name == seen.thing.entity_type))
    };
    let mut parts: Vec<&Entry> = Vec::new();
    for entry in candidates.iter().filter_map(|at| entries.get(*at)).filter(|entry| of_kind(entry)) {
        // A word that is a request by itself is not a name, even if a record has that name:
        // "everything", "list".
        let plain = run.len() == 1
            && !capital
            && !digits(&head.lower)
            && (!telling(head) || catalogue.is_verb(&head.root))
            && !head.quoted;
        let whole = entry.words.len() == run.len()
            && !plain
            && entry.words.iter().zip(run).all(|(known, token)| known == &token.lower);
        if whole {
            found.whole = true;
            add(&mut found, entry);
            continue;
        }
        // "Send Helen the contract" does not mention "Send invoice to Nordwind".
        if run.len() == 1 && !capital && !head.quoted && catalogue.is_verb(&head.root) {
            continue;
        }
        let within = run.iter().all(|token| entry.words.iter().any(|known| alike(known, token)));
        // Part of a value counts only if it is written as a name: "Keller" of "Sofia Keller".
        let named = entry.field.is_none() || (capital && head.capital);
        if within
            && named
            && run.iter().any(telling)
            && (telling(head) || head.capital || digits(&head.lower))
        {
            parts.push(entry);
        }
    }
    // "The waffle recipe" is not "pancake recipe": the modifier belongs to the noun.
    if !found.whole && !capital && first > 1 {
        let before = text.tokens.get(first - 1);
        let article = text
            .tokens
            .get(first - 2)
            .is_some_and(|token| ["the", "my", "our", "a"].contains(&token.lower.as_str()));
        let belongs = before.is_some_and(|before| {
            telling(before)
                && !before.capital
                && !before.lower.ends_with("ed")
                && before.lower != "new"
                && !catalogue.listed.contains(&before.lower)
        });
        if article && belongs {
            return None;
        }
    }
    // A single lower-case verb at the start of the utterance is the action.
    let opens = first == 0 && !head.capital && catalogue.is_verb(&head.root);
    if found.whole && !(opens && run.len() == 1) {
        // A value of one record may be part of another record's name.
        if found.named.is_empty() {
            parts.into_iter().filter(|entry| entry.field.is_none()).for_each(|entry| add(&mut found, entry));
        }
        return Some(found);
    }
    if parts.is_empty() || (opens && run.len() == 1) {
        return None;
    }
    parts.into_iter().for_each(|entry| add(&mut found, entry));
    Some(found)
}

/// Whether a plain number may be an id: "4103", "order 12", "#5", but not "5 tins" and not "€120".
fn numbered(text: &Text, catalogue: &Catalogue, at: usize) -> bool {
    let Some(token) = text.tokens.get(at) else { return false };
    let money = text.raw.get(..token.start).is_some_and(|before| before.ends_with(['$', '€', '£']));
    said_number(text, catalogue, at) || (token.lower.len() > 2 && !money)
}

/// Whether it is marked as a number of something.
fn said_number(text: &Text, catalogue: &Catalogue, at: usize) -> bool {
    let Some(token) = text.tokens.get(at) else { return false };
    let before =
        at.checked_sub(1).and_then(|at| text.tokens.get(at)).map_or("", |token| token.lower.as_str());
    let hash = text.raw.get(..token.start).is_some_and(|before| before.ends_with('#'));
    hash || ["number", "no", "nr", "id", "sku"].contains(&before) || !catalogue.types_of(before).is_empty()
}

fn add(mention: &mut Mention, entry: &Entry) {
    match &entry.field {
        None => mention.named.insert(entry.thing),
        Some(field) => mention.valued.entry(field.clone()).or_default().insert(entry.thing),
    };
}
