//! Values that are introduced explicitly: by the name of their field, "called", quotes, a colon.

use super::{Filler, PREPOSITIONS, Piece, listed};
use crate::understand::catalogue::{Role, ToolField};
use crate::understand::lexicon::{root, same_field};
use crate::understand::text::Quote;
use crate::understand::verbs::Class;
use crate::words::name_words;
use serde_json::json;

impl Filler<'_> {
    /// "title Dreams", "with the text …", "tagged recipes", "the work tag", "role to director".
    pub(super) fn by_name(&mut self) {
        let order = [Role::Long, Role::Tags, Role::Open, Role::Title, Role::Email, Role::Phone];
        let fields: Vec<&ToolField> = order
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

    /// Whether a word names a field here. A word for the type of the target does not.
    pub(super) fn names(&self, field: &ToolField, at: usize) -> bool {
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

    /// The span of the value of a named field.
    pub(super) fn beside(&self, field: &ToolField, at: usize) -> Option<(usize, usize)> {
        let determined = |place: usize| ["the", "a", "an", "my", "our", "from"].contains(&self.lower(place));
        // "The work tag", "the home project".
        if let Some(before) = at.checked_sub(1).filter(|before| !self.is_used(*before)) {
            let token = self.tokens.get(before)?;
            let telling = !token.stop
                && !PREPOSITIONS.contains(&token.lower.as_str())
                && !["number", "new"].contains(&token.lower.as_str());
            let to = self.find_to(at);
            let made = !self.tool.tool.read_only
                && field.role == Role::Open
                && name_words(self.tool.tool.name.rsplit('.').next().unwrap_or_default())
                    .iter()
                    .skip(1)
                    .any(|word| field.words.contains(word));
            if telling && made && before.checked_sub(1).is_some_and(determined) {
                return Some((before, at));
            }
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
        while ["is", "to", "of", "as", "the", "now", "number"].contains(&self.lower(from))
            && field.role != Role::Long
        {
            from += 1;
        }
        self.run(from, field.role == Role::Long)
    }

    pub(super) fn find_to(&self, at: usize) -> Option<usize> {
        (at + 1..self.tokens.len()).find(|place| self.lower(*place) == "to" && !self.is_used(*place))
    }

    /// "called X", "named X", "as X": the name of a record.
    pub(super) fn called(&mut self) {
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

    /// A name continues over "in", "for" and "with" unless a field needs what follows; `run` has
    /// already stopped there.
    pub(super) fn named_end(&self, from: usize, last: usize) -> usize {
        let fields = self.tool.fields.iter().any(|field| matches!(field.role, Role::Open | Role::Tags));
        if fields { last } else { self.run(from, true).map_or(last, |(_, last)| last) }
    }

    pub(super) fn has_any_value(&self) -> Option<&String> {
        self.out.arguments.keys().next()
    }

    pub(super) fn quoted(&mut self) {
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
                self.out.evidence += 0.6;
                self.out.target = Some(piece);
            } else {
                self.out.left += 1;
            }
        }
    }

    pub(super) fn colon(&mut self) {
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

    /// "Piranesi, Susanna Clarke, fantasy": each item after a title goes to the field that it
    /// matches.
    pub(super) fn enumerated(&mut self, first: usize) {
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
            let fields: Vec<&ToolField> = self
                .tool
                .fields
                .iter()
                .filter(|field| field.role == Role::Open && field.of.is_none() && !self.has(&field.name))
                .collect();
            let place = |field: &&&ToolField| {
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

    /// Whether values for other fields follow a comma, rather than more of the same text.
    pub(super) fn list_follows(&self, comma: usize) -> bool {
        (comma..self.tokens.len()).any(|at| self.is_used(at))
            || self.tool.fields.iter().any(|field| field.role == Role::Open && !field.required)
    }

    pub(super) fn trim_end(&self, from: usize, to: usize) -> usize {
        let mut to = to;
        while to > from
            && (PREPOSITIONS.contains(&self.lower(to)) || ["and", "the", "due"].contains(&self.lower(to)))
        {
            to -= 1;
        }
        to
    }
}
