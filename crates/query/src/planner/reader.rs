//! The state while a question is read: its marks, what is already used, and the sketch that grows
//! from them.
//!
//! The invariant: a mark that became part of the sketch is `used`, so that nothing is counted
//! twice.

use chrono::NaiveDate;

use crate::query::{Condition, Expr};

use super::build::column_expr;
use super::lexicon::{Hint, Key};
use super::link::Mark;
use super::schema::{Place, Schema};
use super::sketch::Sketch;
use super::{Meaning, Parameter};

/// A condition found at a mark.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Mark of its value.
    pub at: usize,
    /// Its column.
    pub place: Place,
    pub condition: Condition,
    /// A plain "column is value".
    pub equal: bool,
    pub negated: bool,
    /// How many rows have the value, when it is known.
    pub rows: Option<u64>,
}

/// A question being read.
pub(super) struct Reader<'a> {
    pub schema: &'a Schema<'a>,
    pub meaning: &'a dyn Meaning,
    pub today: NaiveDate,
    /// `today` is the last day of the data, which ends earlier.
    pub anchored: bool,
    pub marks: Vec<Mark>,
    pub head: usize,
    /// Tables that the question names, in order: (mark, table).
    pub named: Vec<(usize, usize)>,
    pub found: Vec<Found>,
    pub sketch: Sketch,
    pub assumptions: Vec<String>,
    pub reasoning: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// What an earlier question showed, when this one leans on it.
    pub kept: Option<Place>,
    /// The product of all doubts, from 1 down.
    pub trust: f64,
}

impl<'a> Reader<'a> {
    /// The mark at a place.
    pub(super) fn mark(&self, place: usize) -> Option<&Mark> {
        self.marks.get(place)
    }

    /// The key of the mark at a place.
    pub(super) fn key(&self, place: usize) -> Option<Key> {
        self.marks.get(place).and_then(|mark| mark.key)
    }

    /// Marks a mark as explained.
    pub(super) fn take(&mut self, place: usize) {
        if let Some(mark) = self.marks.get_mut(place) {
            mark.used = true;
        }
    }

    /// A doubt: makes the reading less sure.
    pub(super) fn doubt(&mut self, factor: f64) {
        self.trust *= factor;
    }

    /// The next mark after `place` that is not a filler, within `far` marks.
    pub(super) fn next(&self, place: usize, skip: impl Fn(Key) -> bool) -> Option<usize> {
        (place + 1..self.marks.len())
            .find(|at| self.key(*at).is_none_or(|key| key != Key::Filler && !skip(key)))
    }

    /// The mark before `place` that is not a filler.
    pub(super) fn previous(&self, place: usize, skip: impl Fn(Key) -> bool) -> Option<usize> {
        (0..place).rev().find(|at| self.key(*at).is_none_or(|key| key != Key::Filler && !skip(key)))
    }

    /// Is it read as a noun of the schema: a column?
    pub(super) fn is_column(&self, place: usize) -> bool {
        self.mark(place).is_some_and(|mark| {
            mark.key.is_none()
                && !mark.columns.is_empty()
                && mark.column_quality() + 0.05 >= mark.table_quality()
        })
    }

    /// Is it read as a table?
    pub(super) fn is_table(&self, place: usize) -> bool {
        self.mark(place).is_some_and(|mark| {
            mark.key.is_none()
                && mark.table_quality() >= 0.55
                && (mark.table_quality() + 0.02 >= mark.column_quality() || self.named_like_table(mark))
        })
    }

    /// A table that has a column of its own name: "models" of a list of models.
    fn named_like_table(&self, mark: &Mark) -> bool {
        let best =
            mark.tables.iter().filter(|(_, quality)| *quality >= 0.6).max_by(|a, b| a.1.total_cmp(&b.1));
        best.is_some_and(|(table, _)| {
            mark.columns.iter().any(|link| link.place.table == *table && link.quality >= 0.95)
        })
    }

    /// The table a mark names.
    pub(super) fn table_at(&self, place: usize) -> Option<usize> {
        let mark = self.mark(place)?;
        let best = |a: &&(usize, f32), b: &&(usize, f32)| a.1.total_cmp(&b.1);
        mark.tables.iter().rev().max_by(best).map(|(table, _)| *table)
    }

    /// Does the question name the table?
    pub(super) fn names_table(&self, table: usize) -> bool {
        self.named.iter().any(|(_, known)| *known == table)
    }

    /// The named table closest before a mark, else the head.
    pub(super) fn entity_before(&self, place: usize) -> usize {
        if let Some((_, table)) = self.named.iter().rev().find(|(at, _)| *at < place) {
            return *table;
        }
        // No table is named so far: the table of the column asked for, when only one has it.
        for mark in self.marks.iter().take(place).rev() {
            let best = mark.column_quality();
            let mut tables = mark
                .columns
                .iter()
                .filter(|link| mark.key.is_none() && best > 0.7 && link.quality >= best - 0.1)
                .map(|link| link.place.table);
            if let Some(first) = tables.next()
                && tables.all(|table| table == first)
            {
                return first;
            }
        }
        self.head
    }

    /// Which column a mark means here.
    pub(super) fn resolve(&self, place: usize) -> Option<Place> {
        let mark = self.mark(place)?;
        let best = mark.column_quality();
        // "name" alone means what names a row, whatever that column is called.
        if let Some(shared) = self.shared_with_tied(place) {
            return Some(shared);
        }
        let tied = self.tied_table(place);
        let nameless = tied.is_some_and(|table| {
            !mark.columns.iter().any(|link| link.place.table == table && link.quality >= 0.5)
        });
        if (best < 0.9 || nameless) && matches!(mark.text.to_lowercase().as_str(), "name" | "names") {
            let table = tied.unwrap_or(self.head);
            if let Some(display) = self.schema.display(table).filter(|display| {
                self.schema.column(*display).is_some_and(|column| column.kind == crate::frame::Kind::Text)
            }) {
                return Some(display);
            }
        }
        let scored = mark.columns.iter().filter(|link| link.quality >= best - 0.36);
        scored
            .map(|link| (link.quality + self.context(place, link.place), link.place))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            .map(|(_, place)| place)
    }

    /// "name of the song": the one column that both nouns may mean, when the second is no table.
    fn shared_with_tied(&self, at: usize) -> Option<Place> {
        let mark = self.mark(at)?;
        let of = at + 1;
        if self.key(of) != Some(Key::Of) {
            return None;
        }
        let later = self
            .next(of, |key| matches!(key, Key::Everything | Key::Distinct))
            .filter(|later| !self.is_table(*later))?;
        let other = self.mark(later).filter(|other| other.key.is_none() && other.values.is_empty())?;
        let whole = other.column_quality() > 0.9;
        mark.columns
            .iter()
            .map(|link| link.place)
            .find(|place| !whole && other.columns.iter().any(|link| link.place == *place))
    }

    /// How well a column's table fits what stands around a mark.
    fn context(&self, at: usize, place: Place) -> f32 {
        let mut score = 0.0;
        if self.tied_table(at) == Some(place.table) {
            score += 0.45;
        }
        if self.names_table(place.table) {
            score += 0.2;
        }
        if place.table == self.head {
            score += 0.15;
        } else {
            let steps = super::joins::steps(
                self.schema.catalogue,
                &self.table_name(self.head),
                &self.table_name(place.table),
            )
            .unwrap_or(6);
            score -= 0.04 * (steps as f32 - 1.0);
        }
        if self.entity_before(at) == place.table {
            score += 0.05;
        }
        let last = self.sketch.targets.last().and_then(|target| self.place_of(&target.expr));
        if last.is_some_and(|last| last.table == place.table) {
            score += 0.12;
        }
        let used = self.found.iter().any(|found| found.place.table == place.table);
        if used {
            score += 0.06;
        }
        let natural = self.schema.column(place).is_some_and(|column| {
            column.kind == crate::frame::Kind::Text
                && !steward_text::tokens::looks_like_id(&column.name)
                && !numbers_as_text(column)
        });
        if self.schema.refers(place) && !natural {
            score -= 0.12;
        }
        let known = self.schema.table(place.table).zip(self.schema.column(place));
        if known.is_some_and(|(table, column)| {
            table.primary_key.len() == 1 && table.primary_key.first() == Some(&column.name)
        }) {
            score += 0.1;
        }
        if self.schema.bridge.get(place.table) == Some(&true) {
            score -= 0.1;
        }
        score
    }

    /// The table that a mark is tied to: "stadium name", "names and ages of students".
    fn tied_table(&self, at: usize) -> Option<usize> {
        if let Some(before) = self.previous(at, |_| false)
            && self.is_table(before)
        {
            return self.table_at(before);
        }
        let mut later = at + 1;
        let mut tied = false;
        let mut counting = false;
        while let Some(mark) = self.mark(later) {
            match mark.key {
                Some(Key::Of | Key::Each) => tied = true,
                Some(
                    Key::And | Key::Filler | Key::Everything | Key::Distinct | Key::Agg(_) | Key::Super(..),
                ) => {}
                Some(Key::NumberOf | Key::HowMany) => counting = true,
                Some(_) => return None,
                None if counting && self.is_table(later) => counting = false,
                None if tied && self.is_table(later) => return self.table_at(later),
                None if self.is_column(later) && !tied => {}
                None if tied && self.is_column(later) => {
                    let best = mark.column_quality();
                    let mut tables = mark
                        .columns
                        .iter()
                        .filter(|link| link.quality >= best - 0.1)
                        .map(|link| link.place.table);
                    let first = tables.next();
                    return first.filter(|first| tables.all(|table| table == *first));
                }
                None => return None,
            }
            later += 1;
        }
        None
    }

    /// The column a hint points to, in the tables that matter.
    pub(super) fn hinted(&self, hint: Hint, near: usize) -> Option<Place> {
        let entity = self.entity_before(near + 1);
        let after = self.named.iter().find(|(at, _)| *at > near && *at <= near + 3).map(|(_, table)| *table);
        // "a cat that is 3 years old": the thing that the value before stands for.
        let last_named = self.named.iter().rev().find(|(at, _)| *at < near).map(|(at, _)| *at);
        let valued =
            (0..near).rev().take_while(|at| last_named.is_none_or(|named| *at > named)).find_map(|at| {
                self.mark(at)
                    .filter(|mark| mark.key.is_none() && mark.columns.is_empty())
                    .and_then(|mark| mark.values.first())
                    .map(|link| link.place.table)
            });
        let beside = (0..self.schema.tables.len()).filter(|table| {
            super::joins::steps(self.schema.catalogue, &self.table_name(entity), &self.table_name(*table))
                == Some(1)
                && !super::joins::fans_out(
                    self.schema.catalogue,
                    &self.table_name(entity),
                    &self.table_name(*table),
                )
        });
        let beside: Vec<usize> = beside.collect();
        for word in hint {
            for table in [after.or(valued).unwrap_or(entity), entity, self.head]
                .into_iter()
                .chain(self.named.iter().map(|(_, table)| *table))
                .chain(beside.iter().copied())
            {
                let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
                let fits = |place: &Place| {
                    self.schema.has_stem(*place, &[word])
                        && !self.schema.refers(*place)
                        && self.orderable(*place)
                };
                if let Some(place) = (0..columns).map(|column| Place { table, column }).find(fits) {
                    return Some(place);
                }
            }
        }
        None
    }

    /// The column of one table that a hint points to.
    pub(super) fn hinted_in(&self, hint: Hint, table: usize) -> Option<Place> {
        let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
        hint.iter().find_map(|word| {
            (0..columns).map(|column| Place { table, column }).find(|place| {
                self.schema.has_stem(*place, &[word]) && !self.schema.refers(*place) && self.orderable(*place)
            })
        })
    }

    /// Can its values be compared: numbers, times, or text that writes them?
    pub(super) fn orderable(&self, place: Place) -> bool {
        let Some(column) = self.schema.column(place) else { return false };
        column.kind.is_number()
            || column.kind.is_time()
            || numbers_as_text(column)
            || self.schema.has_stem(place, &["date"])
    }

    /// The expression of a column.
    pub(super) fn expr(&self, place: Place) -> Expr {
        column_expr(self.schema, place).unwrap_or(Expr::Star)
    }

    /// The label of a column for people.
    pub(super) fn label(&self, place: Place) -> String {
        self.schema.column(place).map(|column| column.label.clone()).unwrap_or_default()
    }

    /// The name of a table in SQL.
    pub(super) fn table_name(&self, table: usize) -> String {
        self.schema.table(table).map(|table| table.name.clone()).unwrap_or_default()
    }
}

/// Text whose values start with digits: numbers or dates in local formats.
pub(super) fn numbers_as_text(column: &crate::catalogue::Column) -> bool {
    let digits = column
        .values
        .iter()
        .take(40)
        .filter(|(value, _)| {
            value.trim_start_matches(['-', '+', '$', ' ']).starts_with(|c: char| c.is_ascii_digit())
        })
        .count();
    !column.values.is_empty() && digits * 3 >= column.values.len().min(40) * 2
}
