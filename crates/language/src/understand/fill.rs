//! What a clause says for the fields of one tool, and what is left over: that is how much of it this tool would explain.
//!
//! Invariant: each value is a piece of what was said, or follows from it by a rule that is named in its reason. A word is used once.

use super::catalogue::{Catalogue, Known, Prepared, Role};
use super::lexicon::{Class, is_generic, is_person, plural, root, same_field};
use super::text::{Quote, Text, Token};
use super::types::Argument;
use super::values::{When, address, choice_at, counted, numbers};
use super::wish::{Clause, Cue};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A piece of the clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) words: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a clause says for a tool.
#[derive(Debug, Clone, Default)]
pub(super) struct Filled {
    pub(super) arguments: BTreeMap<String, Argument>,
    /// An id that is said.
    pub(super) id: Option<(Value, usize, usize)>,
    /// The words for what it acts on.
    pub(super) target: Option<Piece>,
    /// Values that name things of other types.
    pub(super) refs: Vec<(String, Piece)>,
    pub(super) missing: Vec<String>,
    /// Telling words that nothing was made of.
    pub(super) left: usize,
    /// What speaks for the tool by its fields.
    pub(super) evidence: f32,
    /// How many fields got a value that is to be set.
    pub(super) set: usize,
}

const PREPOSITIONS: &[&str] =
    &["at", "in", "from", "for", "with", "of", "under", "to", "on", "by", "into", "onto", "about"];
const DETERMINERS: &[&str] = &[
    "the", "a", "an", "my", "our", "this", "that", "its", "his", "her", "their", "your", "some", "any", "all",
];

pub(super) struct Filler<'a> {
    text: &'a Text,
    catalogue: &'a Catalogue,
    tool: &'a Prepared,
    tokens: Vec<&'a Token>,
    used: Vec<bool>,
    quotes: Vec<&'a Quote>,
    start: usize,
    end: usize,
    /// What stands between the two parts of the cue: "take … off".
    between: Option<(usize, usize)>,
    out: Filled,
}

/// Fills the fields of a tool from a clause, with the cue that the tool was chosen by.
pub(super) fn fill(
    text: &Text,
    catalogue: &Catalogue,
    tool: &Prepared,
    clause: &Clause,
    cue: Option<&Cue>,
    days: &[When],
) -> Filled {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let tokens: Vec<&Token> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let quotes = text.quotes.iter().filter(|quote| quote.start >= start && quote.end <= end).collect();
    let used = vec![false; tokens.len()];
    let mut filler = Filler {
        text,
        catalogue,
        tool,
        tokens,
        used,
        quotes,
        start,
        end,
        between: None,
        out: Filled::default(),
    };
    // What says the same as the cue that was taken is used up with it.
    let group = cue.map(|cue| cue.group.as_str());
    let same = clause.cues.iter().filter(|one| Some(one.group.as_str()) == group);
    for (from, to) in cue.into_iter().chain(same).flat_map(|cue| cue.spans.iter()) {
        filler.mark(*from, *to);
    }
    filler.between = cue.and_then(|cue| match cue.spans.as_slice() {
        [(_, from), (to, _)] => Some((*from, *to)),
        _ => None,
    });
    filler.polite();
    filler.containers();
    filler.container_alone();
    filler.hashes();
    filler.addresses();
    filler.id();
    filler.days(days);
    filler.choices();
    filler.flags();
    filler.counts();
    filler.by_name();
    filler.called();
    filler.quoted();
    filler.colon();
    filler.prepositions();
    filler.modifiers();
    filler.rest();
    filler.finish()
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

    fn open(&self, role: Role) -> Option<&'a Known> {
        self.tool.fields.iter().find(|field| field.role == role && !self.has(&field.name))
    }

    fn put(&mut self, field: &str, value: Value, span: Option<(usize, usize)>, reason: &str, evidence: f32) {
        if !self.has(field) {
            self.out.evidence += evidence;
            self.out.set += 1;
            self.out.arguments.insert(field.to_owned(), Argument { value, span, reason: reason.to_owned() });
        }
    }

    /// A piece between two tokens, trimmed, and marked as used.
    fn piece(&mut self, from: usize, to: usize) -> Option<Piece> {
        let (first, last) = (self.tokens.get(from)?, self.tokens.get(to)?);
        let (start, end) = self.whole(first.start, last.end);
        self.mark(start, end);
        Some(Piece { words: self.text.slice(start, end).to_owned(), start, end })
    }

    /// Takes in the sign that belongs to a word: "#4", "C++".
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

    /// "to my list", "from the crm", "in our contacts": where all of them are.
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

    /// "the pipeline": all of them, when nothing more is said of it.
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

    /// "#travel" is a tag.
    fn hashes(&mut self) {
        let mut found: Vec<(usize, String)> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let before = self.text.raw.get(..token.start).is_some_and(|before| before.ends_with('#'));
            if before && token.lower.parse::<u64>().is_err() && !token.quoted {
                found.push((at, self.text.slice(token.start, token.end).to_owned()));
            }
        }
        let Some(field) = self.open(Role::Tags).or_else(|| {
            self.tool.fields.iter().find(|field| {
                field.role == Role::Open && field.words.iter().any(|word| same_field(word, "tag"))
            })
        }) else {
            return;
        };
        let span =
            found.first().and_then(|(at, _)| self.tokens.get(*at)).map(|token| (token.start, token.end));
        let words: Vec<String> = found.iter().map(|(_, word)| word.clone()).collect();
        if let Some(first) = words.first() {
            let value = if field.role == Role::Tags { json!(words) } else { json!(first) };
            self.put(&field.name.clone(), value, span, "it is written as a tag", 1.5);
        }
        for (at, _) in found {
            self.take(at);
        }
    }

    fn addresses(&mut self) {
        for (role, phone) in [(Role::Email, false), (Role::Phone, true)] {
            let Some(field) = self.open(role) else { continue };
            let plain = self.text.plain.get(self.start..self.end).unwrap_or_default();
            let Some((from, to)) = address(plain, phone) else { continue };
            let (from, to) = (self.start + from, self.start + to);
            let value = self.text.slice(from, to).trim().to_owned();
            self.mark(from, to);
            self.near(from, &field.words.clone());
            self.put(&field.name.clone(), json!(value), Some((from, to)), "it has the form of one", 1.5);
        }
    }

    /// Marks the words of a field, and small words, that stand right before a place.
    fn near(&mut self, start: usize, words: &[String]) {
        let before: Vec<usize> = (0..self.tokens.len())
            .filter(|at| self.tokens.get(*at).is_some_and(|token| token.end <= start))
            .collect();
        for at in before.into_iter().rev().take(4) {
            let word = self.lower(at).to_owned();
            let small = [
                "is", "to", "new", "number", "by", "on", "for", "due", "at", "with", "until", "before",
                "after", "the", "a", "worth", "of", "over", "above", "least", "than", "more", "from",
                "since",
            ]
            .contains(&word.as_str());
            if small || words.iter().any(|known| same_field(known, &word)) {
                self.take(at);
            } else {
                break;
            }
        }
    }

    /// "task 6", "number 11", "#5", or a bare number where something is acted on.
    fn id(&mut self) {
        let Some(field) = self.tool.field(Role::Id) else { return };
        let whole = field.whole;
        for at in 0..self.tokens.len() {
            let Some(token) = self.tokens.get(at).filter(|token| !token.quoted) else { continue };
            let hash = self.text.raw.get(..token.start).is_some_and(|before| before.ends_with('#'));
            let before = at.checked_sub(1).map(|at| self.lower(at).to_owned()).unwrap_or_default();
            let named = ["number", "no", "nr", "id"].contains(&before.as_str())
                || !self.catalogue.types_of(&before).is_empty();
            let alone = self.text.plain.get(self.start..token.start).is_some_and(|piece| {
                piece.split_whitespace().all(|word| {
                    ["tick", "off", "check", "and", "then", "delete", "open", "show", "complete", "first"]
                        .contains(&word)
                })
            });
            let number = token.lower.parse::<u64>().ok();
            let coded =
                whole.then_some(()).is_none() && token.lower.chars().any(|c| c.is_ascii_digit()) && named;
            let after = self
                .tokens
                .get(at + 1)
                .is_some_and(|next| !self.catalogue.types_of(&next.lower).is_empty() && plural(&next.lower));
            if let (Some(number), true) = (number, (hash || named || alone) && !after) {
                let id = if whole { json!(number) } else { json!(token.lower) };
                self.out.id = Some((id, token.start, token.end));
            } else if coded {
                self.out.id = Some((json!(self.text.slice(token.start, token.end)), token.start, token.end));
            } else {
                continue;
            }
            self.take(at);
            if named && let Some(at) = at.checked_sub(1) {
                self.take(at);
            }
            return;
        }
    }

    fn days(&mut self, days: &[When]) {
        let fields: Vec<&Known> = self.tool.fields.iter().filter(|field| field.role == Role::Day).collect();
        if fields.is_empty() {
            return;
        }
        let bound =
            |field: &Known, words: &[&str]| field.words.iter().any(|word| words.contains(&word.as_str()));
        let before = fields.iter().find(|field| bound(field, &["before", "until", "to", "end", "max"]));
        let after = fields.iter().find(|field| bound(field, &["after", "since", "from", "start", "min"]));
        let whens: Vec<When> =
            days.iter().filter(|when| when.start >= self.start && when.end <= self.end).cloned().collect();
        for when in whens {
            let lead = self.text.plain.get(self.start..when.start).unwrap_or_default().trim_end();
            let ends = |words: &[&str]| words.iter().any(|word| lead.ends_with(word));
            let (early, late) = (ends(&["before", "by", "until", "till"]), ends(&["after", "since", "from"]));
            let span = Some((when.start, when.end));
            let text = |day: chrono::NaiveDate| json!(day.to_string());
            let reason = "it is a day";
            if before.is_none() && after.is_none() {
                let Some(field) = fields.first() else { continue };
                self.put(&field.name.clone(), text(when.to.unwrap_or(when.from)), span, reason, 1.2);
                self.near(when.start, &field.words.clone());
            } else {
                if let Some(field) = after.filter(|_| !early) {
                    self.put(&field.name.clone(), text(when.from), span, reason, 0.8);
                    self.near(when.start, &field.words.clone());
                }
                if let Some(field) = before.filter(|_| !late) {
                    self.put(&field.name.clone(), text(when.to.unwrap_or(when.from)), span, reason, 0.8);
                    self.near(when.start, &field.words.clone());
                }
            }
            self.mark(when.start, when.end);
        }
    }

    fn choices(&mut self) {
        let fields: Vec<&Known> =
            self.tool.fields.iter().filter(|field| field.role == Role::Choice).collect();
        let titled = self.tool.class == Class::Create && self.tool.field(Role::Title).is_some();
        for field in fields {
            let mut best: Option<(i32, usize, usize, String)> = None;
            for choice in &field.choices {
                for at in 0..self.tokens.len() {
                    let Some((length, own)) = choice_at(&self.tokens, at, choice) else { continue };
                    // A verb that opens the wish may say the value itself: "reopen", "note for Ann".
                    let spoken = at == 0
                        && (!own || (self.tool.class == Class::Create && !titled))
                        && !self.tool.tool.read_only;
                    if !spoken && (at..at + length).any(|at| self.is_used(at)) {
                        continue;
                    }
                    let beside = |at: usize| field.words.iter().any(|word| same_field(word, self.lower(at)));
                    let near = beside(at + length)
                        || at.checked_sub(1).is_some_and(beside)
                        || at.checked_sub(2).is_some_and(beside);
                    let before = at.checked_sub(1).map_or("", |at| self.lower(at));
                    let set_off = ["with", "as", "at", "to", "in", "is", "are"].contains(&before)
                        || self.follows_comma(at);
                    let verb = at == 0 && own && !self.tool.tool.read_only && !spoken;
                    let fits = if titled {
                        near || (set_off && own && at > 2)
                    } else {
                        !verb && (own || near || self.tool.tool.read_only || length > 1 || at == 0)
                    };
                    if !fits {
                        continue;
                    }
                    let rank = 4 * i32::from(near)
                        + 2 * i32::from(own)
                        + i32::from(set_off)
                        + i32::try_from(length).unwrap_or(0);
                    if best.as_ref().is_none_or(|(known, ..)| rank > *known) {
                        best = Some((rank, at, length, choice.clone()));
                    }
                }
            }
            let Some((rank, at, length, choice)) = best else {
                self.unsaid_choice(field);
                continue;
            };
            let span = self
                .tokens
                .get(at)
                .zip(self.tokens.get(at + length - 1))
                .map(|(first, last)| (first.start, last.end));
            let reason = format!("{} may be {choice}", field.name);
            self.put(
                &field.name,
                json!(choice),
                span,
                &reason,
                if rank >= 4 {
                    2.0
                } else if rank >= 2 {
                    1.5
                } else {
                    0.8
                },
            );
            for place in at..at + length {
                self.take(place);
            }
            for place in [at + length, at.wrapping_sub(1), at.wrapping_sub(2)] {
                let word = self.lower(place).to_owned();
                if field.words.iter().any(|known| same_field(known, &word))
                    || (place != at + length && ["to", "as", "with"].contains(&word.as_str()))
                {
                    self.take(place);
                }
            }
        }
    }

    /// "To another stage": the field is named, its value is not.
    fn unsaid_choice(&mut self, field: &Known) {
        let said = |filler: &Self, at: usize| {
            filler
                .tokens
                .get(at)
                .is_some_and(|token| !token.quoted && field.words.iter().any(|word| root(word) == token.root))
        };
        let Some(at) = (0..self.tokens.len()).find(|at| said(self, *at) && !self.is_used(*at)) else {
            return;
        };
        self.out.evidence += 1.0;
        self.take(at);
        for before in [at.wrapping_sub(1), at.wrapping_sub(2)] {
            if ["another", "other", "different", "new", "to", "the"].contains(&self.lower(before)) {
                self.take(before);
            }
        }
    }

    fn follows_comma(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before
            .zip(self.tokens.get(at))
            .is_some_and(|(before, token)| self.text.slice(before.end, token.start).contains(','))
    }

    /// A yes-or-no field whose name is said.
    fn flags(&mut self) {
        for field in self.tool.fields.iter().filter(|field| field.role == Role::Flag) {
            let said = |filler: &Self, word: &String| {
                filler.tokens.iter().position(|token| !token.quoted && token.root == root(word))
            };
            let spoken = self.tokens.iter().position(|token| {
                !token.quoted
                    && (super::lexicon::said_for(&field.name).any(|other| other == token.lower)
                        || field.yes.contains(&token.root))
            });
            let denied = self.tokens.iter().position(|token| {
                !token.quoted && field.no.contains(&token.root) && !field.yes.contains(&token.root)
            });
            if let Some((at, value)) = spoken.map(|at| (at, true)).or(denied.map(|at| (at, false))) {
                let span = self.tokens.get(at).map(|token| (token.start, token.end));
                self.put(&field.name, json!(value), span, "it is said in other words", 1.5);
                self.take(at);
                continue;
            }
            let telling: Vec<&String> = field
                .words
                .iter()
                .filter(|word| !["only", "is", "has", "include"].contains(&word.as_str()))
                .collect();
            let places: Vec<usize> = telling.iter().filter_map(|word| said(self, word)).collect();
            if places.len() == telling.len()
                && let Some(at) = places.first().copied()
            {
                let denied = at
                    .checked_sub(1)
                    .is_some_and(|at| ["not", "no", "without", "isn't"].contains(&self.lower(at)));
                let span = self.tokens.get(at).map(|token| (token.start, token.end));
                self.put(&field.name, json!(!denied), span, "its name is said", 1.5);
                places.into_iter().for_each(|at| self.take(at));
            }
        }
    }

    fn counts(&mut self) {
        let used: Vec<(usize, usize)> = self
            .tokens
            .iter()
            .zip(&self.used)
            .filter(|(_, used)| **used)
            .map(|(token, _)| (token.start, token.end))
            .collect();
        let taken = |at: usize| {
            used.iter().any(|(start, end)| *start <= at && at < *end)
                || self.text.quotes.iter().any(|quote| quote.start <= at && at < quote.end)
        };
        let found: Vec<_> = numbers(self.text, &taken)
            .into_iter()
            .filter(|(start, end, _)| *start >= self.start && *end <= self.end)
            .collect();
        for (start, end, number) in found {
            let lead = self.text.plain.get(self.start..start).unwrap_or_default().trim_end();
            let ends = |words: &[&str]| words.iter().any(|word| lead.ends_with(word));
            let several =
                ends(&["next", "last", "latest", "first", "top", "only", "newest", "most", "recent", "past"]);
            if several {
                if let Some(field) = self.open(Role::Limit).filter(|_| number.fract() == 0.0) {
                    self.put(
                        &field.name.clone(),
                        json!(number as u64),
                        Some((start, end)),
                        "so many are asked for",
                        1.5,
                    );
                    self.mark(start, end);
                    self.before_number(start);
                }
                continue;
            }
            let (least, most) = (
                ends(&["over", "above", "least", "than", "from", "exceeding"])
                    && !ends(&["less than", "fewer than"]),
                ends(&["under", "below", "most", "less than", "up to"]),
            );
            let bounded = |field: &&Known| {
                let is = |words: &[&str]| field.words.iter().any(|word| words.contains(&word.as_str()));
                if least {
                    !is(&["max", "most"])
                } else if most {
                    !is(&["min", "least"])
                } else {
                    !is(&["min", "max"]) || self.tool.tool.read_only
                }
            };
            let field = self
                .tool
                .fields
                .iter()
                .filter(|field| field.role == Role::Number && !self.has(&field.name))
                .find(bounded);
            // A bare small number is rarely an amount.
            if let Some(field) =
                field.filter(|field| counted(self.text.slice(start, end)).is_none() || field.required)
            {
                let value =
                    if field.whole || number.fract() == 0.0 { json!(number as i64) } else { json!(number) };
                self.put(&field.name.clone(), value, Some((start, end)), "it is a number", 1.0);
                self.mark(start, end);
                let mut near: Vec<String> = field.words.clone();
                near.push("at".into());
                self.near(start, &near);
                self.after_number(end);
            }
        }
    }

    fn before_number(&mut self, start: usize) {
        let before = (0..self.tokens.len())
            .rev()
            .find(|at| self.tokens.get(*at).is_some_and(|token| token.end <= start));
        if let Some(at) = before {
            self.take(at);
        }
    }

    fn after_number(&mut self, end: usize) {
        let next =
            (0..self.tokens.len()).find(|at| self.tokens.get(*at).is_some_and(|token| token.start >= end));
        if let Some(at) = next.filter(|at| {
            ["euros", "euro", "dollars", "dollar", "pounds", "usd", "eur", "gbp"].contains(&self.lower(*at))
        }) {
            self.take(at);
        }
    }

    /// "title Dreams", "with the text …", "tagged recipes", "the work tag", "role to director".
    fn by_name(&mut self) {
        let order = [Role::Long, Role::Tags, Role::Open, Role::Title, Role::Email, Role::Phone];
        let fields: Vec<&Known> = order
            .iter()
            .flat_map(|role| self.tool.fields.iter().filter(move |field| field.role == *role))
            .collect();
        for field in fields {
            if self.has(&field.name) {
                continue;
            }
            let said = (0..self.tokens.len()).find(|at| self.names(field, *at));
            let Some(at) = said else { continue };
            self.out.evidence += 0.6;
            self.take(at);
            let Some((from, to)) = self.beside(field, at) else {
                continue;
            };
            for small in [at.wrapping_sub(1), at.wrapping_sub(2)] {
                if ["with", "the", "a", "and"].contains(&self.lower(small)) && small < from {
                    self.take(small);
                }
            }
            if !(from..=to).any(|place| self.telling(place)) {
                continue;
            }
            let Some(piece) = self.piece(from, to) else { continue };
            let span = Some((piece.start, piece.end));
            let value =
                if field.role == Role::Tags { json!(listed(&piece.words)) } else { Self::text_value(&piece) };
            self.put(&field.name, value, span, "it stands at the name of the field", 1.3);
            if field.of.is_some() && field.role == Role::Open {
                self.out.refs.push((field.name.clone(), piece));
            }
        }
    }

    /// Whether a word names a field here. A word for a type of thing that is acted on does not.
    fn names(&self, field: &Known, at: usize) -> bool {
        let Some(token) = self.tokens.get(at).filter(|token| !token.quoted && !self.is_used(at)) else {
            return false;
        };
        let own = field.words.iter().any(|word| {
            root(word) == token.root
                || (matches!(field.role, Role::Long | Role::Tags) && same_field(word, &token.lower))
        });
        let single = field.words.len() == 1
            || field.words.iter().all(|word| self.tokens.iter().any(|token| token.root == root(word)));
        let title = field.role == Role::Title
            && ["title", "name", "subject"].contains(&token.lower.as_str())
            && self.tool.class == Class::Create;
        let entity = self.tool.entity.as_deref().is_some_and(|entity| root(entity) == token.root);
        if field.role == Role::Title { title } else { own && single && !entity }
    }

    /// Where the value of a named field stands.
    fn beside(&self, field: &Known, at: usize) -> Option<(usize, usize)> {
        let determined = |place: usize| ["the", "a", "an", "my", "our", "from"].contains(&self.lower(place));
        // "The work tag", "the home project".
        if let Some(before) = at.checked_sub(1).filter(|before| !self.is_used(*before)) {
            let token = self.tokens.get(before)?;
            let telling = !token.stop && !PREPOSITIONS.contains(&token.lower.as_str());
            let to = self.find_to(at);
            if telling
                && before.checked_sub(1).is_some_and(determined)
                && to.is_none()
                && !self.catalogue.is_verb(&token.root)
            {
                return Some((before, before));
            }
        }
        if self.tool.class == Class::Update
            && let Some(to) = self.find_to(at)
        {
            return self.run(to + 1, field.role == Role::Long || field.role == Role::Open);
        }
        let mut from = at + 1;
        while ["is", "to", "of", "as", "the", "now"].contains(&self.lower(from)) && field.role != Role::Long {
            from += 1;
        }
        self.run(from, field.role == Role::Long)
    }

    fn find_to(&self, at: usize) -> Option<usize> {
        (at + 1..self.tokens.len()).find(|place| self.lower(*place) == "to" && !self.is_used(*place))
    }

    /// The unused words from here on: to the end for a long text, else up to what begins something else.
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

    /// "called X", "named X", "as X": the name that something gets.
    fn called(&mut self) {
        let Some(field) = self.open(Role::Title) else { return };
        let renames = self.tool.class == Class::Update;
        for at in 0..self.tokens.len() {
            let word = self.lower(at);
            let gives = ["called", "named", "titled", "entitled"].contains(&word) && (!renames || at > 0);
            let to = renames
                && word == "to"
                && self
                    .tokens
                    .first()
                    .is_some_and(|head| head.root == root("rename") || head.root == root("change"))
                && self.has_any_value().is_none();
            if (!gives && !to) || (self.is_used(at) && !renames) {
                continue;
            }
            let Some((from, last)) = self.run(at + 1, to) else { continue };
            self.take(at);
            let last = if self.lower(last) == "now" && last > from { last - 1 } else { last };
            let last = self.named_end(from, last);
            if let Some(piece) = self.piece(from, last) {
                let (value, span) = (Self::text_value(&piece), Some((piece.start, piece.end)));
                self.put(&field.name.clone(), value, span, "it follows a word that gives a name", 1.5);
            }
            return;
        }
    }

    /// A name goes on over "in", "for" and "with" unless a field needs what follows; `run` has stopped there already.
    fn named_end(&self, from: usize, last: usize) -> usize {
        let fields = self.tool.fields.iter().any(|field| matches!(field.role, Role::Open | Role::Tags));
        if fields { last } else { self.run(from, true).map_or(last, |(_, last)| last) }
    }

    fn has_any_value(&self) -> Option<&String> {
        self.out.arguments.keys().next()
    }

    fn quoted(&mut self) {
        let quotes: Vec<Quote> = self.quotes.iter().map(|quote| (*quote).clone()).collect();
        for quote in quotes {
            let free = self
                .tokens
                .iter()
                .zip(&self.used)
                .any(|(token, used)| token.start >= quote.start && token.end <= quote.end && !used);
            if !free {
                continue;
            }
            let piece = Piece {
                words: self.text.slice(quote.start, quote.end).to_owned(),
                start: quote.start,
                end: quote.end,
            };
            let role = match self.tool.class {
                Class::Create => [Role::Title, Role::Long].into_iter().find_map(|role| self.open(role)),
                Class::Search | Class::List => self.open(Role::Query),
                _ => self.open(Role::Long).filter(|field| field.required),
            };
            self.mark(quote.start, quote.end);
            if let Some(field) = role {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it stands between quotes",
                    1.2,
                );
            } else if self.tool.target().is_some() && self.out.target.is_none() {
                self.out.target = Some(piece);
            } else {
                self.out.left += 1;
            }
        }
    }

    fn colon(&mut self) {
        let plain = self.text.plain.get(self.start..self.end).unwrap_or_default();
        let Some(at) = plain.find(": ").map(|at| self.start + at) else { return };
        let Some(first) = (0..self.tokens.len())
            .find(|place| self.tokens.get(*place).is_some_and(|token| token.start > at))
        else {
            return;
        };
        let last = self.tokens.len().saturating_sub(1);
        let reason = "it stands after the colon";
        let title = self.open(Role::Title).filter(|_| self.tool.class == Class::Create);
        let long = self.open(Role::Long);
        if let Some(title) = title {
            let before: Vec<usize> = (0..first).filter(|place| self.telling(*place)).collect();
            if let (Some(from), Some(to), Some(_)) = (before.first(), before.last(), long)
                && let Some(piece) = self.piece(self.with_article(*from), *to)
            {
                self.put(
                    &title.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it stands before the colon",
                    1.0,
                );
            } else if before.is_empty() || long.is_none() {
                let comma = (first..=last).find(|place| *place > first && self.follows_comma(*place));
                let to = (first..=last)
                    .take_while(|place| {
                        !self.is_used(*place)
                            && comma.is_none_or(|comma| {
                                *place < comma || (long.is_none() && !self.list_follows(comma))
                            })
                    })
                    .last();
                if let Some(piece) = to.and_then(|to| self.piece(first, self.trim_end(first, to))) {
                    self.put(
                        &title.name.clone(),
                        Self::text_value(&piece),
                        Some((piece.start, piece.end)),
                        reason,
                        1.2,
                    );
                }
                if long.is_none() {
                    self.enumerated(first);
                }
            }
        }
        let rest = (first..=last).find(|place| !self.is_used(*place));
        if let (Some(long), Some(rest)) = (long, rest) {
            let from = self.tokens.get(rest).map_or(at, |token| token.start);
            let end = self.tokens.get(last).map_or(self.end, |token| token.end);
            let words = self.text.slice(from, end.max(from)).trim().to_owned();
            self.mark(from, end);
            self.put(&long.name.clone(), json!(words), Some((from, end)), reason, 1.2);
        }
    }

    /// "Piranesi, Susanna Clarke, fantasy": what follows a title goes to the field that it suits.
    fn enumerated(&mut self, first: usize) {
        let mut at = first;
        while at < self.tokens.len() {
            if self.is_used(at) || PREPOSITIONS.contains(&self.lower(at)) || !self.follows_comma(at) {
                at += 1;
                continue;
            }
            let to = (at..self.tokens.len())
                .take_while(|place| !self.is_used(*place) && (*place == at || !self.follows_comma(*place)))
                .last()
                .unwrap_or(at);
            let capital = self.tokens.get(at).is_some_and(|token| token.capital);
            let lower = self.lower(at).to_owned();
            let fields: Vec<&Known> = self
                .tool
                .fields
                .iter()
                .filter(|field| field.role == Role::Open && field.of.is_none() && !self.has(&field.name))
                .collect();
            let place = |field: &&&Known| {
                field.words.iter().any(|word| ["city", "place", "location"].contains(&word.as_str()))
            };
            let field = fields
                .iter()
                .find(|field| field.examples.contains(&lower))
                .or_else(|| fields.iter().find(|field| field.person == capital && (capital || !place(field))))
                .or_else(|| fields.first());
            let Some(field) = field else { return };
            if let Some(piece) = self.piece(at, to) {
                self.put(
                    &field.name,
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it stands in the list behind the name",
                    0.5,
                );
            }
            at = to + 1;
        }
    }

    /// Whether after a comma there are values for other fields rather than more of the same text.
    fn list_follows(&self, comma: usize) -> bool {
        (comma..self.tokens.len()).any(|at| self.is_used(at))
            || self.tool.fields.iter().any(|field| field.role == Role::Open && !field.required)
    }

    fn trim_end(&self, from: usize, to: usize) -> usize {
        let mut to = to;
        while to > from
            && (PREPOSITIONS.contains(&self.lower(to)) || ["and", "the", "due"].contains(&self.lower(to)))
        {
            to -= 1;
        }
        to
    }

    fn with_article(&self, at: usize) -> usize {
        at.checked_sub(1)
            .filter(|before| ["the", "a", "an"].contains(&self.lower(*before)) && !self.is_used(*before))
            .unwrap_or(at)
    }

    /// The name in what is left, where a person is made: "I met Ben Cole".
    fn proper(&self, from: usize, to: usize) -> (usize, usize) {
        let capital = |at: usize| self.tokens.get(at).is_some_and(|token| token.capital);
        if !self.tool.entity.as_deref().is_some_and(is_person) {
            return (from, to);
        }
        let first = (from..=to).find(|at| capital(*at));
        first.map_or((from, to), |first| {
            (first, (first..=to).take_while(|at| capital(*at)).last().unwrap_or(first))
        })
    }

    /// With what leads a text in: "about the roof", "she needs a quote".
    fn with_lead(&self, at: usize) -> usize {
        let mut from = self.with_article(at);
        while let Some(before) = from.checked_sub(1).filter(|before| {
            ["about", "she", "he", "they", "it", "we", "that"].contains(&self.lower(*before))
                && !self.is_used(*before)
        }) {
            from = before;
        }
        from
    }

    /// Whether a word is unused and says something of its own.
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

    /// "at Acme", "in Hamburg", "for travel": values of open fields.
    fn prepositions(&mut self) {
        let read = self.tool.tool.read_only;
        if self.between.is_some() || read {
            self.subject();
        }
        for at in 0..self.tokens.len() {
            let word = self.lower(at).to_owned();
            if !PREPOSITIONS.contains(&word.as_str())
                || word == "about"
                || (self.is_used(at) && self.tool.class == Class::Create)
            {
                continue;
            }
            let mut from = at + 1;
            while ["the", "a", "our", "my"].contains(&self.lower(from)) {
                from += 1;
            }
            let Some((from, to)) = self.run(from, false) else { continue };
            // A name ends where the capitals do.
            let capitals = (from..=to)
                .take_while(|place| self.tokens.get(*place).is_some_and(|token| token.capital))
                .last();
            let to = capitals.unwrap_or(to);
            let to = (from..=to)
                .find(|place| ["and", "now", "called", "named", "as", "of"].contains(&self.lower(*place)))
                .map_or(to, |stop| stop.saturating_sub(1));
            let (Some(first), true) = (self.tokens.get(from), to >= from) else { continue };
            let capital = first.capital;
            if counted(&first.lower).is_some() || first.lower.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let example = |field: &&Known| field.examples.iter().any(|known| *known == first.lower);
            let fields: Vec<&Known> = self
                .tool
                .fields
                .iter()
                .filter(|field| field.role == Role::Open && !self.has(&field.name))
                .collect();
            let by = |field: &&Known| word == "by" && field.words.iter().any(|known| same_field(known, "by"));
            let whom = |field: &&Known| {
                field.person
                    && ["to", "for", "by", "with"].contains(&word.as_str())
                    && (field.required || read)
            };
            let place = |field: &&Known| {
                ["where", "city", "place", "location", "town", "country"]
                    .iter()
                    .any(|word| field.cues.contains(&root(word)) || field.words.contains(&(*word).to_owned()))
            };
            // "the role of Ann" is said of what is acted on.
            let own = self.tool.class == Class::Update
                && self.tool.target().is_some()
                && !["to", "for", "at"].contains(&word.as_str());
            let named = |field: &&Known| {
                field.of.is_some()
                    && !own
                    && ["with", "at", "from", "for", "of", "to", "by", "in"].contains(&word.as_str())
            };
            let fits = if let Some(field) = fields.iter().copied().find(|field| capital && by(&field)) {
                Some(field)
            } else if let Some(field) = fields
                .iter()
                .copied()
                .find(|field| whom(&field) && (capital || (to + 1 == self.tokens.len() && from == to)))
            {
                Some(field)
            } else if word == "to" && self.tool.class != Class::Update {
                None
            } else if let Some(field) = fields.iter().find(|field| example(field)) {
                Some(*field)
            } else if capital && ["in", "from"].contains(&word.as_str()) && fields.iter().any(place) {
                fields.iter().copied().find(|field| place(&field))
            } else if capital
                || (read
                    && from == to
                    && ["at", "from", "of"].contains(&word.as_str())
                    && fields.iter().any(named))
            {
                fields
                    .iter()
                    .copied()
                    .find(|field| named(&field))
                    .or_else(|| fields.first().copied().filter(|_| read))
            } else if read
                && ["for", "under", "at", "in", "of"].contains(&word.as_str())
                && self.tool.class == Class::List
            {
                fields.iter().copied().find(|field| field.of.is_none() && !field.person)
            } else if self.tool.class == Class::Update
                && self.tool.target().is_some()
                && ["to", "under"].contains(&word.as_str())
            {
                // "belongs to home": the field says so in its description.
                fields
                    .iter()
                    .copied()
                    .find(|field| self.tokens.iter().take(at).any(|token| field.cues.contains(&token.root)))
            } else {
                None
            };
            let Some(field) =
                fits.filter(|_| !["another", "other", "different", "else"].contains(&self.lower(from)))
            else {
                continue;
            };
            if !(from..=to)
                .any(|place| self.telling(place) || self.tokens.get(place).is_some_and(|token| token.capital))
            {
                continue;
            }
            if let Some(piece) = self.piece(from, to) {
                self.take(at);
                self.put(
                    &field.name,
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it follows a word of place or belonging",
                    1.0,
                );
                if field.of.is_some() {
                    self.out.refs.push((field.name.clone(), piece));
                }
            }
        }
        self.subject();
        self.unled();
    }

    /// "Mira wants to take it", "what does Mira have", "put Ada on the list": a person who is named, where a field takes one.
    fn subject(&mut self) {
        let field = self.tool.fields.iter().find(|field| {
            field.role == Role::Open
                && field.person
                && field.of.is_none()
                && !self.has(&field.name)
                && !same_field(&field.name, "author")
        });
        let Some(field) = field.filter(|field| field.required || self.tool.tool.read_only) else { return };
        let single = |filler: &Self, at: usize| {
            let capital =
                |at: usize| filler.tokens.get(at).is_some_and(|token| token.capital && !token.quoted);
            capital(at) && filler.telling(at) && !capital(at + 1) && (at == 0 || !capital(at - 1))
        };
        let verb = |filler: &Self, at: usize| {
            filler.is_used(at)
                || ["is", "has", "have", "wants", "would", "needs", "got", "does", "on"]
                    .contains(&filler.lower(at))
        };
        let target = self.tool.target().is_some();
        let follows = |filler: &Self, at: usize| at + 1 < filler.tokens.len() && verb(filler, at + 1);
        let asked = |filler: &Self, at: usize| {
            ["does", "did", "put", "is"].contains(&filler.lower(at)) || (filler.lower(at) == "has" && at == 0)
        };
        let found = (0..self.tokens.len()).find(|at| {
            single(self, *at)
                && (!target || follows(self, *at))
                && (*at == 0 || (self.is_used(at - 1) && target) || asked(self, at - 1))
        });
        if let Some(piece) = found.and_then(|at| self.piece(at, at)) {
            self.put(
                &field.name,
                Self::text_value(&piece),
                Some((piece.start, piece.end)),
                "it is a name",
                0.8,
            );
        }
    }

    /// A name of a thing of another type that must be given, with no word before it: "I emailed Priya Shah the contract".
    fn unled(&mut self) {
        let Some(field) = self
            .tool
            .refers()
            .filter(|field| field.required && !self.has(&field.name) && self.tool.target().is_none())
        else {
            return;
        };
        let person = field.of.as_deref().is_some_and(is_person);
        let Some(from) = (0..self.tokens.len()).find(|at| {
            self.telling(*at)
                && self.tokens.get(*at).is_some_and(|token| token.capital && !token.quoted)
                && (*at > 0 || person)
        }) else {
            return;
        };
        let to = (from..self.tokens.len())
            .take_while(|at| self.telling(*at) && self.tokens.get(*at).is_some_and(|token| token.capital))
            .last();
        if self.tool.field(Role::Title).is_some() && !self.has_title() {
            return;
        }
        if let Some(piece) = to.and_then(|to| self.piece(from, to)) {
            self.put(
                &field.name.clone(),
                Self::text_value(&piece),
                Some((piece.start, piece.end)),
                "it is a name",
                1.0,
            );
            self.out.refs.push((field.name.clone(), piece));
        }
    }

    fn has_title(&self) -> bool {
        self.tool.fields.iter().any(|field| field.role == Role::Title && self.has(&field.name))
    }

    /// "my work tasks", "software companies", "my recipes".
    fn modifiers(&mut self) {
        if !self.tool.tool.read_only
            || !matches!(self.tool.class, Class::List | Class::Search)
            || self.tool.field(Role::Query).is_some()
        {
            return;
        }
        let fields: Vec<&Known> = self
            .tool
            .fields
            .iter()
            .filter(|field| field.role == Role::Open && !self.has(&field.name))
            .collect();
        for at in 0..self.tokens.len() {
            let Some(token) = self.tokens.get(at).filter(|token| !token.quoted) else { continue };
            if !self.telling(at) || self.catalogue.containers.contains(&token.root) {
                continue;
            }
            let example = fields.iter().find(|field| {
                field.examples.contains(&token.lower)
                    || field.examples.iter().any(|known| root(known) == token.root)
            });
            let part = ["section", "category", "department", "selection"].contains(&self.lower(at + 1));
            let before_type = part
                || self.tokens.get(at + 1).is_some_and(|next| {
                    self.catalogue
                        .types_of(&next.lower)
                        .iter()
                        .any(|kind| Some(&kind.name) == self.tool.entity.as_ref())
                });
            let mine = at.checked_sub(1).is_some_and(|at| ["my", "our"].contains(&self.lower(at)))
                && plural(&token.lower);
            let place = |field: &&&Known| {
                field.person
                    || field.words.iter().any(|word| ["city", "place", "location"].contains(&word.as_str()))
            };
            let field = example.or_else(|| {
                if before_type || mine {
                    fields.iter().find(|field| !place(field) && field.of.is_none())
                } else {
                    None
                }
            });
            if let (Some(field), false) = (field, self.catalogue.is_verb(&token.root) && at == 0)
                && let Some(piece) = self.piece(at, at)
            {
                self.put(
                    &field.name,
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it stands before what is asked for",
                    if example.is_some() { 1.5 } else { 0.8 },
                );
                return;
            }
        }
    }

    /// What is left: the title of something new, the words to look for, or what is acted on.
    fn rest(&mut self) {
        // "As a contact" says what it becomes.
        for at in 0..self.tokens.len() {
            let kind = !self.catalogue.types_of(self.lower(at + 2)).is_empty();
            if self.lower(at) == "as" && ["a", "an", "the"].contains(&self.lower(at + 1)) && kind {
                (at..=at + 2).for_each(|at| self.take(at));
            }
        }
        let create = self.tool.class == Class::Create;
        if let Some(field) = self.open(Role::Title).filter(|_| create) {
            self.first_type();
            let place = self.longest(false).map(|(from, to)| self.proper(from, to));
            if let Some((from, to)) = place
                && let Some(piece) = self.piece(self.with_article(from), to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it is what is left of the wish",
                    0.3,
                );
            }
            return;
        }
        // What is left beside a title is the text.
        if let Some(field) =
            self.open(Role::Long).filter(|field| !field.required && create && self.has_title())
        {
            self.first_type();
            if let Some((from, to)) = self.longest(true)
                && let Some(piece) = self.piece(self.with_article(from), to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it is what is left of the wish",
                    0.0,
                );
            }
            return;
        }
        if let Some(field) = self.open(Role::Long).filter(|field| field.required && create) {
            if let Some((from, to)) = self.longest(true)
                && let Some(piece) = self.piece(self.with_lead(from), to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it is what is left of the wish",
                    0.3,
                );
            }
            return;
        }
        if let Some(field) = self.open(Role::Query) {
            if self.tool.free {
                return;
            }
            for at in 0..self.tokens.len() {
                let token = self.tokens.get(at).filter(|token| !token.quoted);
                let about =
                    token.is_some_and(|token| field.cues.contains(&token.root) && !token.capital) && at > 0;
                if ["called", "named", "titled"].contains(&self.lower(at)) || about {
                    self.take(at);
                }
            }
            if let Some((from, to)) = self.longest(false)
                && let Some(piece) = self.piece(from, to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "these are the words to look for",
                    0.5,
                );
            }
            return;
        }
        if self.tool.target().is_some() && self.out.target.is_none() {
            if self.tool.class == Class::Read {
                self.asked();
            }
            self.bystanders();
            let open: Vec<&Known> = self
                .tool
                .fields
                .iter()
                .filter(|field| {
                    field.required
                        && matches!(field.role, Role::Open | Role::Tags | Role::Long)
                        && !self.has(&field.name)
                })
                .collect();
            if let Some(field) = open.first() {
                self.required_open(field);
            }
            if let Some((from, to)) = self.longest(false) {
                self.out.target = self.piece(from, to);
            }
            self.is_said();
        }
    }

    /// Who does it, and for whom, is not what it is done to: "Jon returned Persuasion", "renew Dune for Mira".
    fn bystanders(&mut self) {
        let capital = |filler: &Self, at: usize| {
            filler.tokens.get(at).is_some_and(|token| token.capital && !token.quoted)
        };
        let telling = |filler: &Self, from: usize, to: usize| (from..to).any(|at| filler.telling(at));
        let count = self.tokens.len();
        let acts = ["needs", "wants", "would", "just", "has"].contains(&self.lower(1)) || self.is_used(1);
        if capital(self, 0)
            && !self.is_used(0)
            && acts
            && count > 2
            && telling(self, 2, count)
            && self.between.is_none()
        {
            self.take(0);
            if !self.is_used(1) {
                self.take(1);
            }
            if self.lower(1) == "just" {
                self.take(2);
            }
        }
        for at in 1..count {
            let led = ["for", "by"].contains(&self.lower(at)) && capital(self, at + 1) && at + 2 >= count;
            if led && telling(self, 0, at) && self.tool.class == Class::Update {
                self.take(at);
                self.take(at + 1);
            }
        }
    }

    /// A required value with no name beside it: "tag it birthday", "untag note 8 home", "put customer on it", "with spring".
    fn required_open(&mut self, field: &Known) {
        let after = |filler: &Self, word: &str| {
            (0..filler.tokens.len())
                .rev()
                .find(|at| filler.lower(*at) == word && filler.tokens.get(at + 1).is_some())
        };
        // "take sales off": between the two parts of the verb.
        let inner: Vec<usize> = self.between.map_or_else(Vec::new, |(from, to)| {
            (0..self.tokens.len())
                .filter(|at| {
                    self.telling(*at)
                        && self.tokens.get(*at).is_some_and(|token| token.start >= from && token.end <= to)
                })
                .collect()
        });
        let led = ["with", "as", "under", "by"]
            .iter()
            .find_map(|word| after(self, word).filter(|at| self.telling(at + 1)));
        let last = self.tokens.len().saturating_sub(1);
        let place = if let ([only], true) = (inner.as_slice(), field.role != Role::Long) {
            Some((*only, *only))
        } else if let Some(at) = led {
            self.run(at + 1, field.role == Role::Tags || field.role == Role::Long)
        } else if self.out.id.is_some()
            || self.points(last.saturating_sub(1))
            || self.points(last.saturating_sub(2))
        {
            // What stands behind a number or a pronoun.
            (self.telling(last)).then_some((last, last))
        } else {
            // What stands before "off" or "on" and right behind the verb.
            (0..self.tokens.len())
                .find(|at| self.telling(*at))
                .filter(|at| self.is_used(at + 1) && *at < last)
                .map(|at| (at, at))
        };
        let Some((from, to)) = place else { return };
        if let Some(piece) = self.piece(from, to) {
            let value =
                if field.role == Role::Tags { json!(listed(&piece.words)) } else { Self::text_value(&piece) };
            let span = Some((piece.start, piece.end));
            self.put(&field.name, value, span, "it stands where the value is expected", 0.8);
            if let Some(at) = led.filter(|at| at + 1 == from) {
                self.take(at);
            }
            if field.of.is_some() && field.role == Role::Open {
                self.out.refs.push((field.name.clone(), piece));
            }
        }
    }

    /// "Gift ideas is not family": what is said of it, where a value is needed and none was found.
    fn is_said(&mut self) {
        let needed = self
            .tool
            .fields
            .iter()
            .find(|field| field.required && field.role == Role::Open && !self.has(&field.name));
        let Some(field) = needed else { return };
        let be = (0..self.tokens.len()).find(|at| ["is", "are"].contains(&self.lower(*at)));
        let at = be.map(|at| if ["not", "no"].contains(&self.lower(at + 1)) { at + 2 } else { at + 1 });
        if let Some(piece) = at.filter(|at| self.telling(*at)).and_then(|at| self.piece(at, at)) {
            self.put(
                &field.name,
                Self::text_value(&piece),
                Some((piece.start, piece.end)),
                "it is said of it",
                0.5,
            );
            if field.of.is_some() {
                self.out.refs.push((field.name.clone(), piece));
            }
        }
    }

    fn points(&self, at: usize) -> bool {
        ["it", "that", "this", "one", "them", "all", "both", "first", "second", "third", "last", "him", "her"]
            .contains(&self.lower(at))
    }

    /// The attribute that is asked for is not part of the name: "what's the priority of …".
    fn asked(&mut self) {
        let entity = self.tool.entity.as_deref();
        let mut names: Vec<String> = Vec::new();
        for tool in self.catalogue.tools.iter().filter(|tool| tool.entity.as_deref() == entity) {
            names.extend(tool.fields.iter().flat_map(|field| field.words.iter().cloned()));
        }
        let output = self
            .tool
            .tool
            .output
            .as_ref()
            .and_then(|output| output.get("properties"))
            .and_then(Value::as_object);
        names.extend(output.into_iter().flat_map(|fields| fields.keys().cloned()));
        for at in 0..self.tokens.len() {
            let word = self.lower(at).to_owned();
            if self.tokens.get(at).is_some_and(|token| !token.quoted && !token.capital)
                && names.iter().any(|name| same_field(name, &word))
            {
                self.take(at);
                self.out.evidence += 1.0;
            }
        }
    }

    /// The first word for the type, near the verb, says what is made.
    fn first_type(&mut self) {
        let kind = |filler: &Self, at: usize| {
            filler
                .catalogue
                .types_of(filler.lower(at))
                .iter()
                .any(|kind| Some(&kind.name) == filler.tool.entity.as_ref())
        };
        if let Some(at) = (0..self.tokens.len().min(6)).find(|at| !self.is_used(*at) && kind(self, *at)) {
            self.take(at);
            // "A task to order ink": what follows is the title.
            if ["to", "for", "that", "about"].contains(&self.lower(at + 1)) {
                self.take(at + 1);
            }
        }
    }

    /// The unused run with the most telling words; small words inside belong to it.
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

    /// Whether a sentence or a segment ends behind a word.
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
        // A name that nothing was made of weighs twice.
        let weight = |at: &usize| {
            1 + usize::from(
                *at > 0 && self.tokens.get(*at).is_some_and(|token| token.capital && !token.quoted),
            )
        };
        self.out.left +=
            (0..self.tokens.len()).filter(|at| self.telling(*at)).map(|at| weight(&at)).sum::<usize>();
        let target = |field: &Known| matches!(field.role, Role::Id | Role::Selector);
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

/// "books and home", "eggs, flour": each by itself.
fn listed(words: &str) -> Vec<String> {
    words
        .split([',', ';'])
        .flat_map(|part| part.split(" and "))
        .map(|part| part.trim().trim_start_matches('#').to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

/// Whether a word only points at what follows.
pub(super) fn is_determiner(word: &str) -> bool {
    DETERMINERS.contains(&word)
}
