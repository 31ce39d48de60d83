//! Fills the fields of one tool from a clause, and counts what is left over: that measures how well
//! the tool explains the clause.
//!
//! Invariant: each value is a span of the utterance, or follows from it by a rule that its reason
//! names. A word is used once.

mod around;
mod choice;
mod ground;
mod named;
mod rest;
mod strangers;
mod told;
mod typed;

use super::catalogue::{Catalogue, Prepared, Role, ToolField};
use super::ground::Ground;
use super::lexicon::{is_generic, plural};
use super::text::{Quote, Text, Token};
use super::types::{Argument, RecordRef};
use super::values::{DateSpan, days};
use super::verbs::Class;
use super::wish::{Clause, Cue};
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) use ground::Grounded;

/// A span of the clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) words: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The values that a clause gives for a tool.
#[derive(Debug, Clone, Default)]
pub(super) struct Filled {
    pub(super) arguments: BTreeMap<String, Argument>,
    /// An explicit id.
    pub(super) id: Option<(Value, usize, usize)>,
    /// The words that name the target.
    pub(super) target: Option<Piece>,
    /// Whether those words name another record that identifies the target: a bill by its table.
    pub(super) by_another: bool,
    /// The target, if it is a known record.
    pub(super) grounded: Option<Grounded>,
    /// How many known names became values, and how many could not be used.
    pub(super) placed: usize,
    /// Whether one of them matched more than a single word of a longer name.
    pub(super) firm: bool,
    pub(super) unplaced: usize,
    /// Values that name records of other types.
    pub(super) refs: Vec<(String, Piece)>,
    /// Those of them that are known to exist, by field.
    pub(super) known: BTreeMap<String, RecordRef>,
    pub(super) missing: Vec<String>,
    /// Number of unused content words.
    pub(super) left: usize,
    /// The evidence for the tool from its fields.
    pub(super) evidence: f32,
    /// How many words went into a text only because one was required.
    pub(super) absorbed: usize,
    /// How many fields got a value to be set.
    pub(super) set: usize,
}

const PREPOSITIONS: &[&str] =
    &["at", "in", "from", "for", "with", "of", "under", "to", "on", "by", "into", "onto", "about"];
const DETERMINERS: &[&str] = &[
    "the", "a", "an", "my", "our", "this", "that", "its", "his", "her", "their", "your", "some", "any", "all",
];

/// The utterance, with the analysis that does not depend on a tool.
#[derive(Clone, Copy)]
pub(super) struct UtteranceContext<'a> {
    pub(super) text: &'a Text,
    pub(super) catalogue: &'a Catalogue,
    pub(super) days: &'a [DateSpan],
    pub(super) ground: &'a Ground<'a>,
}

pub(super) struct Filler<'a> {
    text: &'a Text,
    catalogue: &'a Catalogue,
    ground: &'a Ground<'a>,
    days: &'a [DateSpan],
    tool: &'a Prepared,
    tokens: Vec<&'a Token>,
    used: Vec<bool>,
    quotes: Vec<&'a Quote>,
    start: usize,
    end: usize,
    /// The first word of the request.
    head: usize,
    /// The span between the two parts of the cue: "take … off".
    between: Option<(usize, usize)>,
    /// The spans of dates.
    whens: Vec<(usize, usize)>,
    out: Filled,
}

/// Fills the fields of a tool from a clause, with the cue that the tool was chosen by.
pub(super) fn fill(
    said: &UtteranceContext<'_>,
    tool: &Prepared,
    clause: &Clause,
    cue: Option<&Cue>,
) -> Filled {
    let UtteranceContext { text, catalogue, days, ground } = *said;
    let (start, end) = text.trimmed(clause.start, clause.end);
    let tokens: Vec<&Token> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let quotes = text.quotes.iter().filter(|quote| quote.start >= start && quote.end <= end).collect();
    let used = vec![false; tokens.len()];
    let mut filler = Filler {
        text,
        catalogue,
        ground,
        days,
        tool,
        tokens,
        used,
        quotes,
        start,
        end,
        head: 0,
        between: None,
        whens: days.iter().map(|when| (when.start, when.end)).collect(),
        out: Filled::default(),
    };
    // Other cues of the same group are used up together with it.
    let group = cue.map(|cue| cue.group.as_str());
    let same = clause.cues.iter().filter(|one| Some(one.group.as_str()) == group);
    for (from, to) in cue.into_iter().chain(same).flat_map(|cue| cue.spans.iter()) {
        filler.mark(*from, *to);
    }
    let first = cue.and_then(|cue| cue.spans.first()).map(|(from, _)| *from);
    filler.head = first
        .and_then(|first| filler.tokens.iter().position(|token| token.start == first))
        .unwrap_or_default();
    filler.between = cue.and_then(|cue| match cue.spans.as_slice() {
        [(_, from), (to, _)] => Some((*from, *to)),
        _ => None,
    });
    filler.polite();
    filler.containers();
    filler.container_alone();
    filler.hashes();
    filler.addresses();
    filler.times();
    filler.id();
    filler.grounded();
    filler.coded();
    filler.days(days);
    filler.choices();
    filler.flags();
    filler.counts();
    filler.by_name();
    filler.called();
    filler.quoted();
    filler.told_of();
    filler.colon();
    filler.numbered();
    filler.prepositions();
    filler.modifiers();
    filler.names_left();
    filler.needed_text();
    filler.rest();
    filler.strangers();
    filler.finish()
}

/// The same without looking for names: for answers to a question, or follow-ups.
pub(super) fn fill_alone(
    text: &Text,
    catalogue: &Catalogue,
    tool: &Prepared,
    clause: &Clause,
    today: chrono::NaiveDate,
) -> Filled {
    let (days, ground) = (days(text, today), Ground::default());
    fill(&UtteranceContext { text, catalogue, days: &days, ground: &ground }, tool, clause, None)
}

impl<'a> Filler<'a> {
    fn lower(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.lower.as_str())
    }

    fn is_used(&self, at: usize) -> bool {
        self.used.get(at).copied().unwrap_or(true)
    }

    fn take(&mut self, at: usize) {
        if let Some(used) = self.used.get_mut(at) {
            *used = true;
        }
    }

    fn mark(&mut self, start: usize, end: usize) {
        let hit: Vec<usize> = self
            .tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.start < end && start < token.end)
            .map(|(at, _)| at)
            .collect();
        for at in hit {
            self.take(at);
        }
    }

    fn has(&self, name: &str) -> bool {
        self.out.arguments.contains_key(name)
    }

    fn open(&self, role: Role) -> Option<&'a ToolField> {
        self.tool.fields.iter().find(|field| field.role == role && !self.has(&field.name))
    }

    fn put(&mut self, field: &str, value: Value, span: Option<(usize, usize)>, reason: &str, evidence: f32) {
        if !self.has(field) {
            self.out.evidence += evidence;
            self.out.set += 1;
            self.out.arguments.insert(field.to_owned(), Argument { value, span, reason: reason.to_owned() });
        }
    }

    /// The span between two tokens, trimmed, and marked as used.
    fn piece(&mut self, from: usize, to: usize) -> Option<Piece> {
        let (first, last) = (self.tokens.get(from)?, self.tokens.get(to)?);
        let (start, end) = self.whole(first.start, last.end);
        self.mark(start, end);
        Some(Piece { words: self.text.slice(start, end).to_owned(), start, end })
    }

    /// Includes the symbol that belongs to a word: "#4", "C++".
    fn whole(&self, start: usize, end: usize) -> (usize, usize) {
        let rest = self.text.raw.get(end..).unwrap_or_default();
        let more =
            rest.chars().take_while(|c| ['+', '%', ')'].contains(c)).map(char::len_utf8).sum::<usize>();
        (start, end + more)
    }

    fn text_value(piece: &Piece) -> Value {
        Value::String(piece.words.trim().to_owned())
    }

    fn polite(&mut self) {
        for at in 0..self.tokens.len() {
            let new = self.lower(at) == "new" && self.tool.class == Class::Create && at < 3;
            if new || ["please", "pls", "plz", "thanks", "kindly", "somewhere"].contains(&self.lower(at)) {
                self.take(at);
            }
            // "The milk task from before".
            if self.lower(at) == "from" && ["before", "earlier", "above"].contains(&self.lower(at + 1)) {
                self.take(at);
                self.take(at + 1);
            }
        }
    }

    /// "to my list", "from the crm", "in our contacts": the collection of all records.
    fn containers(&mut self) {
        for at in 0..self.tokens.len() {
            if !["to", "on", "onto", "in", "into", "from", "off", "of"].contains(&self.lower(at))
                || !["my", "the", "our", "this"].contains(&self.lower(at + 1))
            {
                continue;
            }
            for noun in [at + 2, at + 3] {
                let Some(token) = self.tokens.get(noun).filter(|token| !token.quoted) else { continue };
                let kind = !self.catalogue.types_of(&token.lower).is_empty();
                let holds =
                    self.catalogue.containers.contains(&token.root) && (!kind || plural(&token.lower));
                let ends = self.tokens.get(noun + 1).is_none_or(|next| {
                    PREPOSITIONS.contains(&next.lower.as_str())
                        || self.text.slice(token.end, next.start).contains([',', ':', '.', '?'])
                        || self.used.get(noun + 1).copied().unwrap_or(true)
                });
                let list = token.lower == "list" || token.lower == "crm";
                if (holds || list) && ends {
                    for place in at..=noun {
                        self.take(place);
                    }
                    break;
                }
            }
        }
    }

    /// "the pipeline": all records, if nothing more specific is said.
    fn container_alone(&mut self) {
        for at in 0..self.tokens.len() {
            let last = at + 2 == self.tokens.len();
            let Some(token) = self.tokens.get(at + 1).filter(|token| last && !token.quoted) else { continue };
            let holds = self.catalogue.containers.contains(&token.root)
                && self.catalogue.types_of(&token.lower).is_empty();
            if ["the", "my", "our"].contains(&self.lower(at)) && holds {
                self.take(at);
                self.take(at + 1);
            }
        }
    }

    fn follows_comma(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before
            .zip(self.tokens.get(at))
            .is_some_and(|(before, token)| self.text.slice(before.end, token.start).contains(','))
    }

    /// The unused words from here on: to the end for a long text, otherwise up to the start of
    /// another part.
    fn run(&self, from: usize, long: bool) -> Option<(usize, usize)> {
        let mut to = None;
        for at in from..self.tokens.len() {
            let token = self.tokens.get(at)?;
            let before = at.checked_sub(1).filter(|_| at > from).and_then(|at| self.tokens.get(at));
            let gap = before.map_or("", |before| self.text.slice(before.end, token.start));
            let stops = self.is_used(at)
                || (!long
                    && (gap.contains([',', ':', ';'])
                        || (at > from
                            && ["with", "for", "from", "at", "on", "in", "off", "to", "worth"]
                                .contains(&token.lower.as_str()))));
            if stops || gap.contains('"') {
                break;
            }
            to = Some(at);
        }
        to.map(|to| (from, to))
    }

    fn with_article(&self, at: usize) -> usize {
        at.checked_sub(1)
            .filter(|before| ["the", "a", "an"].contains(&self.lower(*before)) && !self.is_used(*before))
            .unwrap_or(at)
    }

    /// Whether a word is an unused content word.
    fn telling(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at).filter(|_| !self.is_used(at)) else { return false };
        let kind = || {
            self.catalogue.types_of(&token.lower).iter().any(|kind| {
                Some(&kind.name) == self.tool.entity.as_ref() || kind.domain == self.tool.tool.domain
            })
        };
        token.quoted
            || !(token.stop
                || is_generic(&token.lower)
                || PREPOSITIONS.contains(&token.lower.as_str())
                || kind())
    }

    fn has_title(&self) -> bool {
        self.tool.fields.iter().any(|field| field.role == Role::Title && self.has(&field.name))
    }

    /// The unused run with the most content words; stop words inside belong to it.
    fn longest(&self, late: bool) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize, usize)> = None;
        let mut at = 0;
        while at < self.tokens.len() {
            if self.is_used(at) {
                at += 1;
                continue;
            }
            let mut to = at;
            while to + 1 < self.tokens.len() && !self.is_used(to + 1) && !self.broken(to) {
                to += 1;
            }
            let telling: Vec<usize> = (at..=to).filter(|place| self.telling(*place)).collect();
            if let (Some(first), Some(last)) = (telling.first(), telling.last()) {
                let better =
                    best.is_none_or(|(.., count)| telling.len() > count || (late && telling.len() == count));
                if better {
                    best = Some((*first, *last, telling.len()));
                }
            }
            at = to + 1;
        }
        best.map(|(from, to, _)| (from, to))
    }

    /// Whether a sentence or a segment ends after a word.
    fn broken(&self, at: usize) -> bool {
        let next = self.tokens.get(at).zip(self.tokens.get(at + 1));
        next.is_some_and(|(a, b)| {
            let gap = self.text.slice(a.end, b.start);
            let verb = ["is", "are", "was", "were", "has", "have", "can", "should", "will"]
                .contains(&b.lower.as_str());
            gap.contains(['.', '?', '!', ';'])
                || ((gap.contains(',') || (verb && !b.quoted)) && self.tool.class != Class::Create)
        })
    }

    fn finish(mut self) -> Filled {
        // An unused name counts twice.
        let weight = |at: &usize| {
            1 + usize::from(
                *at > 0 && self.tokens.get(*at).is_some_and(|token| token.capital && !token.quoted),
            )
        };
        self.out.left +=
            (0..self.tokens.len()).filter(|at| self.telling(*at)).map(|at| weight(&at)).sum::<usize>();
        let target = |field: &ToolField| matches!(field.role, Role::Id | Role::Selector);
        self.out.missing = self
            .tool
            .fields
            .iter()
            .filter(|field| field.required && !target(field) && !self.has(&field.name))
            .map(|field| field.name.clone())
            .collect();
        self.out
    }
}

/// Splits a list: "books and home", "eggs, flour".
fn listed(words: &str) -> Vec<String> {
    words
        .split([',', ';'])
        .flat_map(|part| part.split(" and "))
        .map(|part| part.trim().trim_start_matches('#').to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

/// Whether a word is a determiner.
pub(super) fn is_determiner(word: &str) -> bool {
    DETERMINERS.contains(&word)
}
