//! Groups of the answer: "for each X", "per X", "by X", "which month".
//!
//! The invariant: a group is a column, a part of the calendar, or every thing of a table.

use crate::query::{Expr, Grain};

use super::lexicon::Key;
use super::order::Extreme;
use super::reader::Reader;
use super::schema::Place;
use super::targets::grain_word;

impl Reader<'_> {
    /// "which month": a part of the calendar that is asked for.
    pub(super) fn asked_grain(&mut self) {
        for at in 0..self.marks.len() {
            let Some(grain) = self
                .mark(at)
                .filter(|mark| mark.unknown() && !mark.used)
                .and_then(|mark| grain_word(&mark.text))
            else {
                continue;
            };
            let asked = self.previous(at, |_| false).is_some_and(|before| self.key(before) == Some(Key::Ask));
            let Some(place) = self.time_of(self.head).filter(|_| asked) else { continue };
            self.take(at);
            self.add_grain(grain, place);
        }
    }

    /// "for each X", "per X", "by X".
    pub(super) fn groups(&mut self, extremes: &[Extreme]) {
        let aggregate = self.wants_aggregate();
        self.asked_grain();
        for at in 0..self.marks.len() {
            let key = self.key(at);
            let by = key == Some(Key::By);
            if let Some(Key::Grain(grain)) = key {
                if let Some(place) = self
                    .time_column(at)
                    .filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time()))
                {
                    self.add_grain(grain, place);
                    self.take(at);
                }
                continue;
            }
            if self.mark(at).is_some_and(|mark| mark.used)
                || key != Some(Key::Each) && !by
                || !aggregate && extremes.is_empty() && !by && !self.amount_before(at)
            {
                continue;
            }
            let Some(mut next) =
                self.next(at, |key| matches!(key, Key::Distinct | Key::Of | Key::Everything))
            else {
                continue;
            };
            if by && !self.by_groups(next, aggregate) {
                continue;
            }
            loop {
                if !self.group_at(next) {
                    break;
                }
                self.take(at);
                match self.next(next, |_| false) {
                    Some(joint)
                        if self.key(joint) == Some(Key::And)
                            && self.is_column(joint + 1)
                            && self.groupable(joint + 1)
                            && at + 1 == next =>
                    {
                        next = joint + 1;
                    }
                    _ => break,
                }
            }
        }
    }

    /// Does the name of a table that stands for an amount come before: "sales per state"?
    pub(super) fn amount_before(&self, at: usize) -> bool {
        (0..at).any(|place| {
            self.is_table(place)
                && self.table_at(place).is_some_and(|table| self.stands_for_amount(table).is_some())
        })
    }

    pub(super) fn groupable(&self, at: usize) -> bool {
        self.resolve(at).is_some_and(|place| !self.schema.is_measure(place) && !self.schema.is_key(place))
            && self.mark(at).is_some_and(|mark| !mark.used)
    }

    /// "by" groups when a measure stands before it and a dimension or a part of the calendar behind
    /// it.
    pub(super) fn by_groups(&self, next: usize, aggregate: bool) -> bool {
        // "owned by students": a verb before "by" tells who did it.
        let by = (0..next).rev().find(|place| self.key(*place) == Some(Key::By));
        let calendar = self.mark(next).is_some_and(|mark| grain_word(&mark.text).is_some());
        let verb =
            by.and_then(|by| by.checked_sub(1)).and_then(|place| self.mark(place)).is_some_and(|mark| {
                mark.unknown()
                    || mark.text.ends_with("ed")
                    || matches!(
                        mark.text.to_lowercase().as_str(),
                        "made" | "held" | "sold" | "won" | "written" | "driven" | "taught" | "bought"
                    )
            });
        if verb && !calendar {
            return false;
        }
        let grain = self.mark(next).is_some_and(|mark| grain_word(&mark.text).is_some());
        let measure = (0..next).any(|place| {
            self.is_column(place) && self.resolve(place).is_some_and(|place| self.schema.is_measure(place))
                || self.is_table(place)
                    && self.table_at(place).is_some_and(|table| self.stands_for_amount(table).is_some())
        });
        let dimension = (self.is_column(next) || self.is_table(next))
            && self
                .next(next, |_| false)
                .is_none_or(|after| self.mark(after).is_some_and(|mark| mark.values.is_empty()));
        grain && (aggregate || measure)
            || dimension
                && (aggregate || measure)
                && !self.resolve(next).is_some_and(|place| self.schema.is_measure(place))
    }

    pub(super) fn group_at(&mut self, next: usize) -> bool {
        let Some(mark) = self.mark(next) else { return false };
        let whole_column = self.is_column(next) && mark.column_quality() > 0.9;
        if let Some(grain) = grain_word(&mark.text).filter(|_| !whole_column)
            && let Some(place) = self
                .time_column(next)
                .filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time()))
        {
            self.add_grain(grain, place);
            self.take(next);
            return true;
        }
        if self.is_table(next) && !(mark.column_quality() >= mark.table_quality() && self.counted_table(next))
        {
            let Some(table) = self.table_at(next) else { return false };
            // "each stadium name": the column behind the table is the group.
            if let Some(column) = self.next(next, |_| false).filter(|place| {
                *place == next + 1
                    && self.is_column(*place)
                    && !self.mark(*place).is_some_and(|mark| mark.used)
            }) && let Some(place) = self.resolve(column).filter(|place| place.table == table)
            {
                return self.group_column(place, column);
            }
            let name = self.table_name(table);
            if !self.sketch.entities.contains(&name) {
                self.sketch.entities.push(name);
            }
            self.take(next);
            return true;
        }
        if self.is_column(next) {
            let Some(place) = self.resolve(next) else { return false };
            return self.group_column(place, next);
        }
        false
    }

    /// Is this table also the one whose rows are counted?
    pub(super) fn counted_table(&self, at: usize) -> bool {
        let table = self.table_at(at);
        (0..self.marks.len()).any(|place| {
            matches!(self.key(place), Some(Key::HowMany | Key::NumberOf))
                && self
                    .next(place, |_| false)
                    .is_some_and(|next| self.table_at(next) == table && self.is_table(next) && next != at)
        })
    }

    pub(super) fn group_column(&mut self, place: Place, at: usize) -> bool {
        let expr = self.expr(place);
        if !self.sketch.groups.contains(&expr) {
            self.sketch.groups.push(expr);
        }
        self.take(at);
        true
    }

    pub(super) fn add_grain(&mut self, grain: Grain, place: Place) {
        let expr = Expr::Truncate(grain, Box::new(self.expr(place)));
        if !self.sketch.groups.contains(&expr) {
            self.sketch.groups.push(expr);
        }
    }

    /// Is there anything counted or summed in the question?
    pub(super) fn wants_aggregate(&self) -> bool {
        (self.marks.iter()).any(|mark| {
            !mark.quoted
                && matches!(mark.key, Some(Key::HowMany | Key::NumberOf | Key::Agg(_) | Key::Share))
                && (!mark.used || mark.key.is_some_and(|key| matches!(key, Key::NumberOf)))
        })
    }
}
