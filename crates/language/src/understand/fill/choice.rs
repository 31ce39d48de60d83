//! Values of a choice field: by the value itself, by synonyms, or by its description.

use super::Filler;
use crate::understand::catalogue::{Role, ToolField};
use crate::understand::lexicon::{root, same_field, singular};
use crate::understand::values::choice_at;
use crate::understand::verbs::Class;
use serde_json::json;

impl Filler<'_> {
    pub(super) fn choices(&mut self) {
        let fields: Vec<&ToolField> =
            self.tool.fields.iter().filter(|field| field.role == Role::Choice).collect();
        let titled = self.tool.class == Class::Create && self.tool.field(Role::Title).is_some();
        for field in fields {
            let mut best: Option<(i32, usize, usize, String)> = None;
            for choice in &field.choices {
                for at in 0..self.tokens.len() {
                    let Some((length, own)) = choice_at(&self.tokens, at, choice) else { continue };
                    // "Tomorrow's bookings" does not mean the value `booked`.
                    let noun =
                        length == 1
                            && self.lower(at) != choice
                            && self.catalogue.types.iter().any(|kind| {
                                kind.name == self.lower(at) || singular(self.lower(at)) == kind.name
                            });
                    if noun {
                        continue;
                    }
                    // The opening verb may be the value itself: "reopen", "note for Ann".
                    let spoken = at == self.head
                        && !choice.starts_with(char::is_uppercase)
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
                    let name = self.tokens.get(at).is_some_and(|token| token.capital)
                        && choice.starts_with(char::is_uppercase);
                    let verb = at == 0 && own && !self.tool.tool.read_only && !spoken && !name;
                    // "A cat named Misty", "Duke, dog, 34 kg".
                    let named = ["called", "named"].contains(&self.lower(at + length));
                    let listed = self.follows_comma(at)
                        && self
                            .tokens
                            .get(at + length)
                            .is_none_or(|_| self.follows_comma(at + length) || self.is_used(at + length));
                    let fits = if titled {
                        near || (set_off && own && at > 2) || (own && (named || listed || field.required))
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
                if !self.described_choice(field) {
                    self.unsaid_choice(field);
                }
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

    /// "Never turned up": the description of one value, and of no other.
    fn described_choice(&mut self, field: &ToolField) -> bool {
        let said = |at: usize, roots: &std::collections::BTreeSet<String>| {
            !self.is_used(at)
                && self
                    .tokens
                    .get(at)
                    .is_some_and(|token| !token.quoted && !token.stop && roots.contains(&token.root))
        };
        let places = |roots: &std::collections::BTreeSet<String>| {
            (0..self.tokens.len()).filter(|at| said(*at, roots)).collect::<Vec<_>>()
        };
        let mut hits: Vec<(usize, Vec<usize>)> = field
            .meant
            .iter()
            .enumerate()
            .map(|(choice, roots)| (choice, places(roots)))
            .filter(|(_, hits)| !hits.is_empty())
            .collect();
        hits.sort_by_key(|(choice, hits)| (std::cmp::Reverse(hits.len()), *choice));
        let (choice, at) = match hits.as_slice() {
            [(choice, at)] => (*choice, at.clone()),
            [(choice, at), (_, next), ..] if at.len() > next.len() => (*choice, at.clone()),
            _ => return false,
        };
        let common = |at: &usize| {
            let root = self.tokens.get(*at).map(|token| token.root.clone()).unwrap_or_default();
            self.tool.entity.as_deref().is_some_and(|entity| crate::understand::lexicon::root(entity) == root)
        };
        if at.iter().all(common) || (self.tool.tool.read_only && at.len() < 2 && !field.required) {
            return false;
        }
        let Some(value) = field.choices.get(choice).cloned() else { return false };
        let span = at.first().and_then(|at| self.tokens.get(*at)).map(|token| (token.start, token.end));
        self.put(&field.name, json!(value), span, "its description says so", 1.0);
        at.into_iter().for_each(|at| self.take(at));
        true
    }

    /// "To another stage": the field is named, but no value.
    pub(super) fn unsaid_choice(&mut self, field: &ToolField) {
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
}
