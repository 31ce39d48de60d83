//! Reads one question from its marks to a sketch: the order in which the parts are looked for.
//!
//! The invariant: conditions are read before what is shown, since a column next to a value is a
//! condition.

use super::lexicon::Key;
use super::reader::Reader;

impl Reader<'_> {
    /// Reads a question that stands alone.
    pub(super) fn assemble(&mut self) {
        self.settle();
        self.find_head();
        self.parts(&[]);
        self.default_targets();
        self.complete();
        self.sketch.head = self.table_name(self.head);
    }

    /// Reads the parts of an open request.
    pub(super) fn assemble_parts(&mut self) {
        self.settle();
        self.find_head();
        if self.named.is_empty() && !self.links_anything() {
            self.head = self.main_table();
        }
        self.parts(&[]);
    }

    /// The table with the most rows among those with numbers and times.
    pub(super) fn main_table(&self) -> usize {
        let rank = |table: &usize| {
            let has = |fits: &dyn Fn(super::schema::Place) -> bool| {
                self.schema.places().any(|place| place.table == *table && fits(place))
            };
            let time = has(&|place| self.schema.column(place).is_some_and(|column| column.kind.is_time()));
            let measure = has(&|place| self.additive(place));
            (time && measure, measure, self.schema.table(*table).and_then(|table| table.rows).unwrap_or(0))
        };
        (0..self.schema.tables.len()).max_by_key(rank).unwrap_or(0)
    }

    /// Reads a question that leans on the one before.
    pub(super) fn assemble_follow(&mut self, earlier: &super::sketch::Sketch, lean: super::follow::Lean) {
        use super::follow::Lean;
        let table = self.schema.catalogue.tables.iter().position(|table| table.name == earlier.head);
        if let Some(table) = table.filter(|_| self.named.is_empty() || lean != Lean::Instead) {
            self.head = table;
        } else {
            self.find_head();
        }
        if let [target] = earlier.targets.as_slice() {
            self.kept = self.place_of(&target.expr).filter(|place| self.orderable(*place));
        }
        let kept =
            if lean == Lean::Instead || lean == Lean::Narrow { earlier.targets.clone() } else { Vec::new() };
        self.parts(&kept);
        self.follow(earlier, lean);
        self.sketch.head =
            if self.sketch.head.is_empty() { self.table_name(self.head) } else { self.sketch.head.clone() };
        if self.sketch.targets.is_empty() {
            self.default_targets();
        }
        self.complete();
    }

    /// All parts but defaults. `kept` stands for columns of the answer that an earlier question
    /// asked for.
    pub(super) fn parts(&mut self, kept: &[super::sketch::Target]) {
        self.sketch.head = self.table_name(self.head);
        self.against_average();
        let extremes = self.extremes();
        self.column_pairs();
        self.comparisons();
        self.values();
        self.empty_cells();
        self.groups(&extremes);
        self.ordering();
        self.conditions();
        self.targets();
        if self.sketch.targets.is_empty() {
            self.sketch.targets = kept.to_vec();
        }
        self.apply_extremes(&extremes);
        if self.sketch.targets == kept {
            self.sketch.targets.clear();
        }
    }

    /// Decides for words that are English and a name at the same time.
    pub(super) fn settle(&mut self) {
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            let Some(key) = mark.key else { continue };
            if mark.columns.is_empty() && mark.tables.is_empty() && mark.values.is_empty() {
                continue;
            }
            let quality = mark.column_quality().max(mark.table_quality());
            let listed = matches!(key, Key::Agg(_))
                .then(|| self.next(at, |key| matches!(key, Key::Of | Key::And | Key::Agg(_))))
                .flatten();
            let noun = |place: Option<usize>| {
                place.and_then(|place| self.mark(place)).is_some_and(|mark| {
                    mark.key.is_none_or(|inner| matches!(key, Key::Super(..)) && matches!(inner, Key::Agg(_)))
                        && (!mark.columns.is_empty() || !mark.tables.is_empty())
                })
            };
            let next = self.next(at, |key| matches!(key, Key::Of));
            let previous = self.previous(at, |key| matches!(key, Key::Is));
            let measured = previous.is_some_and(|place| {
                matches!(self.key(place), Some(Key::Agg(_) | Key::Super(..) | Key::HowMany))
            });
            let valued = next.and_then(|place| self.mark(place)).is_some_and(|mark| {
                mark.number.is_some() || !mark.values.is_empty() && mark.columns.is_empty()
            });
            let first = at == 0 || self.previous(at, |_| false).is_none();
            let as_name = match key {
                Key::Null if !mark.values.is_empty() => true,
                Key::Ask => !first || quality > 0.9 && self.key(at + 1) == Some(Key::And),
                Key::Share if measured => quality > 0.9,
                Key::OrderBy if mark.text.eq_ignore_ascii_case("order") && !self.orders(at) => true,
                Key::Agg(_)
                | Key::Super(..)
                | Key::Share
                | Key::NumberOf
                | Key::OrderBy
                | Key::Grain(_)
                | Key::Null
                | Key::Top(_)
                | Key::Common(_) => {
                    let compared = previous
                        .is_some_and(|place| matches!(self.key(place), Some(Key::Cmp(..) | Key::Than)));
                    let in_list = listed != next
                        && next.is_some_and(|next| matches!(self.key(next), Some(Key::And | Key::Agg(_))))
                        && noun(listed);
                    quality > 0.9
                        && !compared
                        && !in_list
                        && (measured && !noun(next) || valued || !noun(next))
                }
                Key::Of
                | Key::Is
                | Key::Clause
                | Key::And
                | Key::Or
                | Key::To
                | Key::Filler
                | Key::Without
                | Key::Not
                | Key::By => quality > 0.95 && valued && mark.text.len() > 2,
                Key::Cmp(..) => quality > 0.9 && !valued,
                _ => quality > 0.9 && !first,
            };
            if let Some(mark) = self.marks.get_mut(at) {
                if as_name {
                    mark.key = None;
                } else {
                    mark.columns.clear();
                    mark.tables.clear();
                    mark.values.clear();
                }
            }
        }
        // "roll number", "number 1": a label, not a count.
        for at in 0..self.marks.len() {
            let bare = self.key(at) == Some(Key::NumberOf)
                && self.mark(at).is_some_and(|mark| mark.text.eq_ignore_ascii_case("number"));
            let labels = self.mark(at + 1).is_some_and(|mark| mark.number.is_some())
                || at.checked_sub(1).is_some_and(|before| self.is_column(before));
            if let Some(mark) = self.marks.get_mut(at).filter(|_| bare && labels) {
                mark.key = Some(Key::Filler);
            }
        }
        // A column that refers to a table is not meant by the table's own name.
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at).filter(|mark| {
                mark.table_quality() + 0.02 >= mark.column_quality()
                    && mark.columns.len() + mark.tables.len() > 1
            }) else {
                continue;
            };
            let table = self.table_at(at);
            let kept: Vec<_> = mark
                .columns
                .iter()
                .filter(|link| Some(link.place.table) == table || !self.schema.refers_to(link.place, table))
                .cloned()
                .collect();
            if let Some(mark) = self.marks.get_mut(at) {
                mark.columns = kept;
            }
        }
        self.named = (0..self.marks.len())
            .filter(|at| self.is_table(*at))
            .filter_map(|at| self.table_at(at).map(|table| (at, table)))
            .collect();
        // The first of two nouns in a row only describes the second: "car models".
        let described: Vec<usize> = self
            .named
            .iter()
            .map(|(at, _)| *at)
            .filter(|at| self.is_table(at + 1) && self.table_at(at + 1) != self.table_at(*at))
            .collect();
        self.named.retain(|(at, _)| !described.contains(at));
    }

    /// Is "order" about the order of rows?
    pub(super) fn orders(&self, at: usize) -> bool {
        let by = (at + 1..(at + 8).min(self.marks.len())).any(|place| self.key(place) == Some(Key::By));
        let before = at
            .checked_sub(1)
            .is_some_and(|before| matches!(self.key(before), Some(Key::Asc | Key::Desc | Key::Alphabetical)));
        let measured = self.previous(at, |_| false).is_some_and(|before| {
            matches!(self.key(before), Some(Key::Agg(_) | Key::HowMany | Key::Super(..)))
        });
        (by || before) && !measured
    }

    /// The table the question is about.
    pub(super) fn find_head(&mut self) {
        if let Some((_, table)) = self.named.first() {
            self.head = *table;
            return;
        }
        let mut scores: Vec<f32> = vec![0.0; self.schema.tables.len()];
        for mark in &self.marks {
            let mut best: Vec<(usize, f32)> = Vec::new();
            for link in &mark.columns {
                best.push((link.place.table, link.quality));
            }
            for link in &mark.values {
                best.push((link.place.table, link.quality * 0.8));
            }
            for (table, score) in scores.iter_mut().enumerate() {
                *score += best
                    .iter()
                    .filter(|(known, _)| *known == table)
                    .map(|(_, quality)| *quality)
                    .fold(0.0, f32::max);
            }
        }
        for (table, score) in scores.iter_mut().enumerate() {
            if self.schema.bridge.get(table) == Some(&true) {
                *score -= 0.3;
            }
            *score -= 0.001 * table as f32;
        }
        let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(table, _)| table);
        self.head = best.unwrap_or(0);
        if self.schema.tables.len() > 1 {
            self.doubt(0.85);
        }
    }
}
