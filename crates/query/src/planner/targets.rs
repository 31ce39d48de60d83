//! What the answer shows: columns, aggregates, counts and groups.
//!
//! The invariant: an answer always has at least one column, and groups stand in the answer.

use crate::frame::Kind;
use crate::query::{Aggregate, Expr, Grain};

use super::build::has_aggregate;
use super::lexicon::Key;
use super::reader::Reader;
use super::schema::Place;
use super::sketch::Target;

impl Reader<'_> {
    pub(super) fn add(&mut self, expr: Expr, name: String) {
        if !self.sketch.targets.iter().any(|target| target.expr == expr) {
            self.sketch.targets.push(Target { expr, name });
        }
    }

    pub(super) fn add_column(&mut self, place: Place) {
        let name = self.label(place);
        self.add(self.expr(place), name);
    }

    pub(super) fn add_aggregate(&mut self, aggregate: Aggregate, place: Place) {
        let name = format!("{} {}", aggregate_word(aggregate), self.label(place));
        self.add(Expr::Aggregate(aggregate, vec![self.expr(place)]), name);
    }

    pub(super) fn add_count(&mut self, table: Option<usize>) {
        let name =
            table.map_or_else(|| "count".to_owned(), |table| format!("number of {}", self.table_name(table)));
        self.add(Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), name);
    }

    /// Columns and aggregates that the question asks to see.
    pub(super) fn targets(&mut self) {
        let mut pending: Vec<Aggregate> = Vec::new();
        let mut last: Vec<Aggregate> = Vec::new();
        let mut distinct = false;
        let mut counting = None;
        let mut share = false;
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            if mark.used && !matches!(mark.key, Some(Key::Each)) {
                continue;
            }
            match mark.key {
                Some(Key::Agg(aggregate)) => {
                    pending.push(aggregate);
                    continue;
                }
                Some(Key::NumberOf)
                    if self
                        .next(at, |_| false)
                        .is_none_or(|next| matches!(self.key(next), Some(Key::And | Key::Ask))) =>
                {
                    // "the name and the count".
                    self.take(at);
                    if !self.sketch.targets.iter().any(|target| has_aggregate(&target.expr)) {
                        self.add_count(None);
                    }
                    continue;
                }
                Some(Key::HowMany | Key::NumberOf) => {
                    counting = Some(at);
                    continue;
                }
                Some(Key::Share) => {
                    share = true;
                    self.take(at);
                    continue;
                }
                Some(Key::Distinct) => {
                    distinct = true;
                    continue;
                }
                Some(Key::How(hint)) => {
                    let mine = self
                        .sketch
                        .targets
                        .last()
                        .and_then(|target| self.place_of(&target.expr))
                        .map(|place| place.table);
                    let place =
                        mine.and_then(|table| self.hinted_in(hint, table)).or_else(|| self.hinted(hint, at));
                    if let Some(place) = place {
                        self.take(at);
                        self.add_column(place);
                    }
                    continue;
                }
                Some(Key::And | Key::Filler | Key::Of | Key::Everything) => continue,
                Some(_) => continue,
                None => {}
            }
            if self.is_modifier(at) || self.is_truth(at, counting.is_some()) {
                continue;
            }
            if counting.is_none() && pending.is_empty() && self.describes(at) {
                continue;
            }
            if !pending.is_empty()
                && counting.is_some()
                && self.is_column(at)
                && self.resolve(at).is_some_and(|place| self.schema.is_measure(place))
            {
                // "maximum number of staff": the column is a number itself.
                counting.take().into_iter().for_each(|counter| self.take(counter));
            }
            if let Some(counter) = counting {
                if self.is_table(at) && self.is_table(at + 1) {
                    // "car models": the last of two nouns is what is counted.
                    self.take(at);
                    continue;
                }
                if self.count_at(counter, at, distinct) {
                    if distinct {
                        last = vec![Aggregate::CountDistinct];
                    }
                    counting = None;
                    distinct = false;
                    continue;
                }
                if !self.is_column(at) && !self.is_table(at) {
                    continue;
                }
            }
            if self.is_column(at) {
                let Some(place) = self.resolve(at) else { continue };
                if distinct && pending.is_empty() {
                    self.sketch.distinct = true;
                }
                distinct = false;
                let place = self.meant_measure(at, place, &pending);
                self.column_target(at, place, &mut pending, &mut last);
            } else if self.is_table(at)
                && !pending.is_empty()
                && self.mark(at).is_some_and(|mark| !mark.columns.is_empty())
            {
                // "average orders" style: an aggregate of a measure that is called like a table.
                let Some(place) = self.resolve(at).filter(|place| self.schema.is_measure(*place)) else {
                    continue;
                };
                self.column_target(at, place, &mut pending, &mut last);
            } else if self.heads_list(at) {
                if let Some(place) = self.table_at(at).and_then(|table| self.schema.display(table)) {
                    self.take(at);
                    self.add_column(place);
                }
            } else if self.is_table(at) && distinct {
                self.sketch.distinct = true;
            }
        }
        if let Some(counter) = counting {
            self.take(counter);
            if !self.sketch.targets.iter().any(|target| {
                matches!(target.expr, Expr::Aggregate(Aggregate::Count | Aggregate::CountDistinct, _))
            }) {
                self.add_count(None);
            }
        }
        self.leftover_aggregates(&pending);
        if share && self.sketch.groups.is_empty() && self.part_of_all() {
            return;
        }
        if share && (!self.sketch.groups.is_empty() || self.sketch.targets.is_empty()) {
            self.share();
        }
    }

    /// "show countries and their languages": a thing at the head of a list is shown by its name.
    pub(super) fn heads_list(&self, at: usize) -> bool {
        let asked = self
            .previous(at, |key| matches!(key, Key::Everything | Key::Distinct))
            .is_some_and(|before| self.key(before) == Some(Key::Ask));
        let next = at + 1;
        let listed = self.key(next) == Some(Key::And)
            && self.next(next, |_| false).is_some_and(|later| self.is_column(later));
        self.is_table(at) && asked && listed && self.sketch.targets.is_empty()
    }

    /// After the first column of the answer, further ones stand in a list; other nouns only
    /// describe the thing.
    pub(super) fn describes(&self, at: usize) -> bool {
        if self.sketch.targets.is_empty() || !self.is_column(at) {
            return false;
        }
        let ordered = self
            .resolve(at)
            .map(|place| self.expr(place))
            .is_some_and(|expr| self.sketch.order.iter().any(|(known, _)| *known == expr));
        let Some(before) =
            self.previous(at, |key| matches!(key, Key::Everything | Key::Distinct | Key::Each))
        else {
            return false;
        };
        let with_their = self.key(before) == Some(Key::Clause)
            && self.mark(before).is_some_and(|mark| mark.text.eq_ignore_ascii_case("with"))
            && (before + 1..at).any(|place| {
                self.mark(place).is_some_and(|mark| {
                    matches!(mark.text.to_lowercase().as_str(), "their" | "its" | "his" | "her")
                })
            });
        let listed = match self.key(before) {
            Some(Key::And | Key::Ask | Key::Agg(_) | Key::HowMany | Key::NumberOf | Key::HowMuch) => true,
            Some(Key::Is) => self
                .previous(before, |_| false)
                .is_some_and(|earlier| matches!(self.key(earlier), Some(Key::Ask))),
            None if self.mark(before).is_some_and(super::link::Mark::unknown) => self
                .previous(before, |_| false)
                .is_some_and(|earlier| matches!(self.key(earlier), Some(Key::And))),
            None => {
                self.mark(before).is_some_and(|mark| mark.table_quality() >= 0.55)
                    && self
                        .previous(before, |key| matches!(key, Key::Everything | Key::Distinct | Key::Each))
                        .is_none_or(|earlier| matches!(self.key(earlier), Some(Key::And | Key::Ask)))
            }
            _ => false,
        };
        !listed && !with_their || ordered && self.key(before) != Some(Key::And)
    }

    /// A yes/no column in a condition: "that supports X", "were returned".
    pub(super) fn is_truth(&mut self, at: usize, counting: bool) -> bool {
        if !self.is_column(at) || self.is_table(at) {
            return false;
        }
        let Some(place) = self.resolve(at) else { return false };
        let Some(yes) = self.schema.column(place).and_then(yes_of) else { return false };
        let before = self.previous(at, |_| false);
        let stated = before.is_some_and(|before| {
            matches!(self.key(before), Some(Key::Is | Key::Clause | Key::Not))
                && self.previous(before, |_| false).is_none_or(|earlier| self.key(earlier) != Some(Key::Ask))
                || self.mark(before).is_some_and(super::link::Mark::unknown)
        });
        let about =
            counting || !self.sketch.targets.is_empty() || self.named.iter().any(|(mark, _)| *mark < at);
        if !stated || !about {
            return false;
        }
        let negated = before.is_some_and(|before| self.key(before) == Some(Key::Not));
        let compare = if negated { crate::query::Compare::NotEqual } else { crate::query::Compare::Equal };
        let condition = crate::query::Condition::Compare(self.expr(place), compare, Expr::Literal(yes));
        self.sketch.filters.push(condition);
        self.take(at);
        before.filter(|_| negated).into_iter().for_each(|before| self.take(before));
        true
    }

    /// A noun that only says which column or table is meant: "maker full name", "for the models
    /// with".
    pub(super) fn is_modifier(&self, at: usize) -> bool {
        let next = at + 1;
        if self.is_column(next)
            && self.is_column(at)
            && self.mark(at).is_some_and(|mark| mark.table_quality() >= 0.55)
            && !self.mark(next).is_some_and(|mark| mark.used)
        {
            return true;
        }
        let weak = self.mark(at).is_some_and(|mark| mark.column_quality() < 0.6);
        if weak && self.is_column(at) && self.is_table(next) && !self.mark(next).is_some_and(|mark| mark.used)
        {
            return true;
        }
        if weak
            && self.is_column(at)
            && self.is_column(next)
            && self.mark(next).is_some_and(|mark| !mark.used && mark.column_quality() > 0.6)
        {
            return true;
        }
        if !self.is_table(at) {
            return false;
        }
        let before = self.previous(at, |key| matches!(key, Key::Everything | Key::Distinct));
        self.is_column(at)
            && before.is_some_and(|before| self.key(before) == Some(Key::Of))
            && (!self.sketch.targets.is_empty()
                || before.is_some_and(|before| {
                    self.previous(before, |_| false).is_some_and(|earlier| self.is_column(earlier))
                }))
    }

    /// "average order value": an average of keys or dates is never meant, the amount of the row is.
    pub(super) fn meant_measure(&mut self, at: usize, place: Place, pending: &[Aggregate]) -> Place {
        let summed = pending
            .iter()
            .any(|aggregate| matches!(aggregate, Aggregate::Average | Aggregate::Sum | Aggregate::Median));
        let weak = self.mark(at).is_some_and(|mark| mark.column_quality() < 0.9)
            && (self.schema.is_key(place)
                || self.schema.refers(place)
                || self.schema.column(place).is_some_and(|column| column.kind.is_time()));
        match self.main_measure(place.table).filter(|_| summed && weak) {
            Some(measure) => {
                let (said, label) =
                    (self.mark(at).map(|mark| mark.text.clone()).unwrap_or_default(), self.label(measure));
                self.assumptions.push(format!("“{said}” is measured by {label}."));
                self.doubt(0.9);
                measure
            }
            None => place,
        }
    }

    pub(super) fn column_target(
        &mut self,
        at: usize,
        place: Place,
        pending: &mut Vec<Aggregate>,
        last: &mut Vec<Aggregate>,
    ) {
        self.take(at);
        let after_and = self
            .previous(at, |key| matches!(key, Key::Of))
            .is_some_and(|before| self.key(before) == Some(Key::And));
        let again = if last.first() == Some(&Aggregate::CountDistinct) {
            self.sketch.groups.is_empty()
        } else {
            self.schema.is_measure(place) && !self.schema.is_year(place)
        };
        if pending.is_empty() && after_and && !last.is_empty() && again {
            for aggregate in last.clone() {
                self.add_aggregate(aggregate, place);
            }
            return;
        }
        if pending.is_empty() {
            self.add_column(place);
            return;
        }
        for aggregate in pending.iter() {
            self.add_aggregate(*aggregate, place);
        }
        last.clone_from(pending);
        pending.clear();
        for before in 0..at {
            if matches!(self.key(before), Some(Key::Agg(_))) {
                self.take(before);
            }
        }
    }

    /// The place of a plain column.
    pub(super) fn place_of(&self, expr: &Expr) -> Option<Place> {
        let Expr::Column(table, column) = expr else { return None };
        let table = self.schema.catalogue.tables.iter().position(|known| &known.name == table)?;
        let column = self.schema.table(table)?.columns.iter().position(|known| &known.name == column)?;
        Some(Place { table, column })
    }
}

/// How a yes/no column says yes.
fn yes_of(column: &crate::catalogue::Column) -> Option<crate::query::Literal> {
    use crate::query::Literal;
    if column.kind == Kind::Boolean {
        return Some(Literal::Bool(true));
    }
    let truth = |value: &str| {
        matches!(value.to_lowercase().as_str(), "yes" | "no" | "true" | "false" | "y" | "n" | "t" | "f")
    };
    if column.values.is_empty()
        || column.values.len() > 3
        || !column.values.iter().all(|(value, _)| truth(value))
    {
        return None;
    }
    column
        .values
        .iter()
        .map(|(value, _)| value)
        .find(|value| matches!(value.to_lowercase().as_str(), "yes" | "true" | "y" | "t"))
        .map(|value| Literal::Text(value.clone()))
}

/// A part of the calendar by its name.
pub(super) fn grain_word(text: &str) -> Option<Grain> {
    match text.to_lowercase().trim_end_matches('s') {
        "day" | "date" => Some(Grain::Day),
        "week" => Some(Grain::Week),
        "month" => Some(Grain::Month),
        "quarter" => Some(Grain::Quarter),
        "year" => Some(Grain::Year),
        _ => None,
    }
}

/// The word for an aggregate in the name of a result column.
pub(super) fn aggregate_word(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Count => "number of",
        Aggregate::CountDistinct => "number of different",
        Aggregate::Sum => "total",
        Aggregate::Average => "average",
        Aggregate::Min => "lowest",
        Aggregate::Max => "highest",
        Aggregate::Median => "median",
        Aggregate::StdDev => "standard deviation of",
        Aggregate::Percentile(_) => "percentile of",
        Aggregate::Correlation => "correlation of",
    }
}
