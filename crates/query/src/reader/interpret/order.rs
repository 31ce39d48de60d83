//! Orders, rankings and superlatives.

use super::super::form::OrderKey;
use super::super::lexicon::adjective;
use super::{Interpreter, Superlative};
use crate::roles::Role;

impl Interpreter<'_> {
    /// "by profit" after "top 5 states": what is ranked by.
    pub(super) fn ranking(&mut self, at: usize) {
        if self.money(at) {
            let position = self.form.measures.len() - 1;
            let largest = self.superlative.as_ref().is_none_or(|top| top.largest);
            self.form.order = Some((OrderKey::Measure(position), largest));
            return;
        }
        let Some(place) = self.column(at, Role::is_number) else { return };
        self.take(at);
        let measure = self.default_measure(place);
        let position = self.form.measures.len();
        self.form.measures.push(measure);
        let largest = self.superlative.as_ref().is_none_or(|top| top.largest);
        if self.superlative.is_some() || self.ranks() {
            self.form.order = Some((OrderKey::Measure(position), largest));
        }
    }

    pub(super) fn order(&mut self, at: usize) {
        let Some(next) = self.next(at) else { return };
        let Some(next) = (next..self.marks.len()).find(|next| self.names_column(*next)) else { return };
        if self.text(at).starts_with("rank") && self.is_groupable(next) {
            return;
        }
        let Some(place) = self.column(next, |_| true) else { return };
        self.take(next);
        let down = self.schema.role(place).is_number();
        self.form.order = Some((OrderKey::Column(place), down));
    }

    pub(super) fn top(&mut self, at: usize, largest: bool) {
        let next = self.next(at);
        let number = next.and_then(|next| self.mark(next)?.number);
        if let (Some(number), Some(next)) = (number, next) {
            self.take(next);
            self.superlative = Some(Superlative {
                largest,
                about: Vec::new(),
                at,
                limit: Some(number as u64),
                count: false,
            });
        } else {
            self.superlative =
                Some(Superlative { largest, about: Vec::new(), at, limit: None, count: false });
        }
    }

    pub(super) fn superlative(&mut self, at: usize, largest: bool, about: Vec<&'static str>, count: bool) {
        let number = at.checked_sub(1).and_then(|before| self.mark(before)?.number).filter(|n| *n < 1000.0);
        let mut limit = self.superlative.as_ref().and_then(|top| top.limit);
        if let Some(number) = number {
            self.take(at - 1);
            limit = Some(number as u64);
        }
        // "most expensive": the adjective says what it is about.
        let mut about = about;
        let mut largest = largest;
        if about.is_empty()
            && let Some(adjective) = adjective(&self.text(at + 1), false)
        {
            about.clone_from(&adjective.about);
            largest = largest == adjective.largest;
            self.take(at + 1);
        }
        self.superlative = Some(Superlative { largest, about, at, limit, count });
    }

    /// "oldest", "heaviest", "poorest".
    pub(super) fn superlative_adjective(&mut self, at: usize) -> bool {
        let word = self.text(at);
        let Some(found) = adjective(&word, true) else { return false };
        self.take(at);
        self.superlative(at, found.largest, found.about.clone(), false);
        true
    }
}
