//! Orders, rankings and superlatives.

use super::super::form::{Group, OrderKey, Scalar};
use super::super::lexicon::{Operator, adjective};
use super::super::link::ColumnRef;
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
        if let Some(before) = &self.superlative
            && before.largest != largest
            && before.limit.is_none()
        {
            self.both_ends = true;
        }
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
        if about.is_empty() && self.both_ends {
            about = self.superlative.take().map(|before| before.about).unwrap_or_default();
        }
        self.superlative = Some(Superlative { largest, about, at, limit, count });
    }

    /// "longest first", "best first": an order, not a choice.
    pub(super) fn said_order(&mut self, at: usize) -> bool {
        if self.text(at + 1) != "first" {
            return false;
        }
        let largest = match self.mark(at).and_then(|mark| mark.operator) {
            Some(Operator::Superlative(largest)) => largest,
            _ => match adjective(&self.text(at), true) {
                Some(adjective) => adjective.largest,
                None => return false,
            },
        };
        self.take(at);
        self.take(at + 1);
        self.direction = Some(largest);
        true
    }

    /// An order that was said applies to the first measure, or to the last number that is listed.
    pub(super) fn finish_order(&mut self) {
        let Some(down) = self.direction.filter(|_| self.form.order.is_none()) else { return };
        if !self.form.measures.is_empty() {
            self.form.order = Some((OrderKey::Measure(0), down));
            return;
        }
        let number = self.form.show.iter().rev().find(|place| self.schema.role(**place).is_number());
        if let Some(place) = number.copied() {
            self.form.order = Some((OrderKey::Column(place), down));
        }
    }

    /// "for each region the branch with the most": the limit holds within the group.
    pub(super) fn limit_each(&mut self) {
        let Some(each) = self.each.clone() else { return };
        let Some(at) = self.form.groups.iter().position(|group| *group == each) else { return };
        if self.form.groups.len() > 1 {
            let group = self.form.groups.remove(at);
            self.form.groups.insert(0, group);
            self.form.within = Some(0);
        }
    }

    /// "the most expensive listing in each city": rows within the group.
    pub(super) fn limit_rows_each(&mut self) {
        let Some(Group::Column(place)) = self.each else { return };
        if self.form.show.is_empty() {
            let columns = self.schema.table(self.form.table).map_or(0, |table| table.columns.len());
            let table = self.form.table;
            self.form.show.extend((0..columns).map(|column| ColumnRef { table, column }));
        }
        self.form.show.retain(|known| *known != place);
        self.form.show.insert(0, place);
        self.form.groups.clear();
        self.form.within = Some(0);
    }

    /// Whether nobody said how a value is to be aggregated.
    pub(super) fn is_implicit(&self, scalar: &Scalar) -> bool {
        matches!(scalar, Scalar::Column(place) if self.implicit.contains(place))
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
