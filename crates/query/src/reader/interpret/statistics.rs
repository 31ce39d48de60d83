//! Percentiles, brackets, and how often each size occurs.

use super::super::form::{Group, Measure, Scalar, Tally};
use super::super::lexicon::Operator;
use super::super::link::ColumnRef;
use super::Interpreter;
use crate::query::Aggregate;
use crate::roles::Role;

impl Interpreter<'_> {
    /// "90th percentile of the delay", "95 percentile".
    pub(super) fn percentile(&mut self, at: usize) -> bool {
        if !matches!(self.text(at + 1).as_str(), "percentile" | "percentiles") {
            return false;
        }
        let digits: String = self.text(at).chars().take_while(char::is_ascii_digit).collect();
        let Some(percent) = digits.parse::<u8>().ok().filter(|percent| (1..100).contains(percent)) else {
            return false;
        };
        let number = (at + 2..self.marks.len()).find(|at| self.is_numeric(*at) && !self.is_used(*at));
        let Some(place) = number.and_then(|number| self.column(number, Role::is_number)) else {
            return false;
        };
        number.into_iter().chain([at, at + 1]).for_each(|at| self.take(at));
        self.form.measures.push(Measure::Of(Aggregate::Percentile(percent), Scalar::Column(place)));
        true
    }

    /// "0-17, 18-39, 40-64, 65+": the brackets of the number that is named before them.
    pub(super) fn brackets(&mut self, at: usize) -> bool {
        let number = |reader: &Self, at: usize| reader.mark(at).and_then(|mark| mark.number);
        let mut found: Vec<(f64, Option<f64>)> = Vec::new();
        let mut next = at;
        let mut end = at;
        while let Some(low) = number(self, next) {
            match self.text(next + 1).as_str() {
                "-" | "to" | "–" => {
                    let Some(high) = number(self, next + 2).filter(|high| *high > low) else { break };
                    found.push((low, Some(high)));
                    end = next + 2;
                }
                "+" | "or more" => {
                    found.push((low, None));
                    end = next + 1;
                }
                _ => break,
            }
            next = end + 1;
            while matches!(self.text(next).as_str(), "," | "and" | ";") {
                next += 1;
            }
        }
        let before = (0..at).rev().find(|before| self.is_numeric(*before));
        let Some(before) = before.filter(|_| found.len() >= 2) else { return false };
        let Some(place) = self.column(before, Role::is_number) else { return false };
        (at..=end).chain([before]).for_each(|at| self.take(at));
        self.forget(place);
        self.form.groups.retain(|group| *group != Group::Column(place));
        for noun in before + 1..at {
            if matches!(self.text(noun).as_str(), "bracket" | "brackets" | "band" | "bands" | "group" | "groups")
            {
                self.take(noun);
            }
        }
        self.form.groups.push(Group::Bracket(place, found));
        if self.form.measures.is_empty() {
            self.form.measures.push(Measure::Rows);
        }
        true
    }

    /// "how many customers have more than 3 orders": groups that fulfil a condition are counted.
    pub(super) fn finish_tally(&mut self) {
        let Some((_, thing)) = self.counted.or_else(|| self.counted_table()) else { return };
        if self.form.having.is_empty() && self.form.beyond.is_empty() {
            return;
        }
        let at = self.form.measures.iter().position(|measure| {
            *measure == Measure::Of(Aggregate::CountDistinct, Scalar::Column(thing))
        });
        if let Some(at) = at
            && !self.form.having.iter().any(|(measure, ..)| *measure == at)
        {
            self.form.measures.remove(at);
            self.form.having.iter_mut().filter(|(measure, ..)| *measure > at).for_each(|one| one.0 -= 1);
            self.form.beyond.iter_mut().filter(|(measure, ..)| *measure > at).for_each(|one| one.0 -= 1);
        }
        self.form.groups = vec![Group::Column(thing)];
        self.subjects.clear();
        self.tables.clear();
        self.form.tally = Some(Tally::Groups);
    }

    /// The key of a table whose things are counted while a condition is about another one.
    fn counted_table(&self) -> Option<(usize, ColumnRef)> {
        let counts = self.mark(0).and_then(|mark| mark.operator) == Some(Operator::Count);
        let (at, table) = self.tables.first().copied().filter(|_| counts)?;
        let known = self.schema.table(table).filter(|_| table != self.form.table)?;
        let key = known.primary_key.first()?;
        let column = known.columns.iter().position(|column| column.name.eq_ignore_ascii_case(key))?;
        Some((at, ColumnRef { table, column }))
    }

    /// "distribution of scores", "how are the scores distributed": each value with its count.
    pub(super) fn distribution(&mut self, at: usize) {
        let column = (at + 1..self.marks.len())
            .take(4)
            .chain((0..at).rev().take(4))
            .find(|at| self.names_column(*at) && (self.is_numeric(*at) || self.is_groupable(*at)));
        let Some(column) = column else { return };
        let Some(place) = self.column(column, |role| role != Role::Time) else { return };
        if self.schema.column(place).is_none_or(|known| known.distinct > 40) {
            return;
        }
        self.take(column);
        self.forget(place);
        self.subjects.retain(|(_, known)| *known != place);
        self.add_group(Group::Column(place));
        // "how many 1s, 2s and 3s" says the same again.
        let listed = (0..self.marks.len()).filter(|at| {
            let text = self.text(*at);
            let digits = text.trim_end_matches('s').trim_end_matches('\'');
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
        });
        for at in listed.collect::<Vec<_>>() {
            self.take(at);
        }
        let counts: Vec<usize> =
            (0..self.marks.len()).filter(|at| self.operator(*at) == Some(Operator::Count)).collect();
        for count in counts {
            self.take(count);
        }
        if !self.form.measures.contains(&Measure::Rows) {
            self.form.measures.push(Measure::Rows);
        }
        let named = (at + 1..self.marks.len()).find(|at| self.table_at(*at).is_some());
        if let Some(named) = named {
            self.take(named);
            self.form.table = self.table_at(named).unwrap_or(self.form.table);
        }
    }
}
