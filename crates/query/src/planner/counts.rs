//! Counts, shares and aggregates without a named column.
//!
//! The invariant: rows are counted for a table, values for a column, and a number that counts
//! already is not counted again.

use crate::frame::Kind;
use crate::query::{Aggregate, Expr};

use super::build::has_aggregate;
use super::lexicon::Key;
use super::reader::Reader;
use super::schema::Place;

impl Reader<'_> {
    /// "how many X": rows of a table, different values of a column, or the number that a column
    /// holds.
    pub(super) fn count_at(&mut self, counter: usize, at: usize, distinct: bool) -> bool {
        if self.is_table(at) && !(distinct && self.is_column(at)) {
            let next = self.next(at, |_| false).filter(|next| {
                self.key(at + 1).is_none()
                    && self.is_column(*next)
                    && !self.mark(*next).is_some_and(|mark| mark.used)
                    && *next == at + 1
            });
            if let Some(place) = next
                .and_then(|next| self.resolve(next))
                .filter(|place| Some(place.table) == self.table_at(at) && !self.schema.is_measure(*place))
            {
                // "number of car models": a column that stands right behind the table's name.
                let target = next.unwrap_or(at);
                [counter, at, target].into_iter().for_each(|used| self.take(used));
                let aggregate = if distinct { Aggregate::CountDistinct } else { Aggregate::Count };
                self.add_aggregate(aggregate, place);
                return true;
            }
            let table = self.table_at(at);
            [counter, at].into_iter().for_each(|used| self.take(used));
            if let Some(table) = table {
                self.count_table(table);
            }
            return true;
        }
        if !self.is_column(at) {
            return false;
        }
        let Some(place) = self.resolve(at) else { return false };
        if let Some(table) =
            self.table_at(at).filter(|table| self.schema.refers_to(place, Some(*table)) && !distinct)
        {
            [counter, at].into_iter().for_each(|used| self.take(used));
            self.count_table(table);
            return true;
        }
        let named = self.key(counter) == Some(Key::NumberOf);
        let written = self.schema.column(place).is_some_and(|column| {
            column.kind == Kind::Text
                && super::reader::numbers_as_text(column)
                && column.values.iter().take(20).all(|(value, _)| value.len() < 8)
        });
        let numeric = (self.schema.is_measure(place) || written) && !self.schema.is_year(place);
        [counter, at].into_iter().for_each(|used| self.take(used));
        let attribute = self.schema.tables.len() > 1
            && self.schema.column(place).is_some_and(|column| column.distinct * 2 < column.seen)
            && !self.schema.is_key(place);
        if numeric
            && !distinct
            && !named
            && self.additive_or_counted(place)
            && !self.found.iter().any(|found| found.rows == Some(1))
            && self.schema.tables.len() > 1
        {
            self.add_aggregate(Aggregate::Sum, place);
            self.doubt(0.9);
        } else if numeric && !distinct && !named {
            self.add_column(place);
            self.doubt(0.76);
        } else if distinct
            || attribute && !named
            || self.named.iter().any(|_| true)
                && !self.schema.is_key(place)
                && self.found.is_empty()
                && !named
        {
            self.add_aggregate(Aggregate::CountDistinct, place);
        } else {
            self.add_aggregate(Aggregate::Count, place);
            if !named {
                self.doubt(0.95);
            }
        }
        true
    }

    pub(super) fn count_table(&mut self, table: usize) {
        let name = self.table_name(table);
        self.add_count(Some(table));
        if !self.sketch.also.contains(&name) {
            self.sketch.also.push(name);
        }
    }

    /// Numbers that count things, so that a sum of them counts too.
    pub(super) fn additive_or_counted(&self, place: Place) -> bool {
        self.additive(place)
            || self.schema.column(place).is_some_and(|column| column.kind == Kind::Integer)
                && self.schema.has_stem(
                    place,
                    &[
                        "population",
                        "number",
                        "people",
                        "staff",
                        "attendance",
                        "visitor",
                        "ticket",
                        "passenger",
                        "employee",
                        "student",
                    ],
                )
    }

    /// Turns the measure into its share of the whole.
    pub(super) fn share(&mut self) {
        let position = self.sketch.targets.iter().position(|target| has_aggregate(&target.expr));
        let numeric = self.sketch.targets.iter().position(|target| {
            self.place_of(&target.expr).is_some_and(|place| self.schema.is_measure(place))
        });
        let measure = match (position, numeric) {
            (Some(place), _) => self.sketch.targets.remove(place).expr,
            (None, Some(place)) => {
                Expr::Aggregate(Aggregate::Sum, vec![self.sketch.targets.remove(place).expr])
            }
            (None, None) => {
                let table = self.named.first().map_or(self.head, |(_, table)| *table);
                match self.stands_for_amount(table) {
                    Some(place) => Expr::Aggregate(Aggregate::Sum, vec![self.expr(place)]),
                    None => Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
                }
            }
        };
        self.add(measure.clone(), "total".to_owned());
        self.add(Expr::ShareOfTotal(Box::new(measure)), "share".to_owned());
    }

    /// "what percentage of carts were abandoned": rows that fulfil the last condition among all
    /// others.
    pub(super) fn part_of_all(&mut self) -> bool {
        let plain = self
            .sketch
            .targets
            .iter()
            .all(|target| matches!(target.expr, Expr::Aggregate(Aggregate::Count, _)));
        if !plain || self.named.is_empty() {
            return false;
        }
        let Some(condition) = self.sketch.filters.pop() else { return false };
        let one = Expr::When(Box::new(condition), Box::new(Expr::Literal(crate::query::Literal::Int(1))));
        let part = Expr::Aggregate(Aggregate::Count, vec![one]);
        let all = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
        self.sketch.targets.clear();
        self.add(Expr::Arithmetic('/', Box::new(part), Box::new(all)), "share".to_owned());
        true
    }

    /// Aggregates without a column: "what is the total", "the average".
    pub(super) fn leftover_aggregates(&mut self, pending: &[Aggregate]) {
        if pending.is_empty() {
            return;
        }
        let lone = self.sketch.targets.iter().position(|target| matches!(&target.expr, Expr::Column(..)));
        let measure = self
            .sketch
            .targets
            .get(lone.unwrap_or(usize::MAX))
            .and_then(|target| self.place_of(&target.expr))
            .filter(|place| self.schema.is_measure(*place));
        let place = measure.or(self.kept).or_else(|| self.main_measure(self.head));
        for aggregate in pending {
            match place {
                Some(place) => self.add_aggregate(*aggregate, place),
                None if *aggregate == Aggregate::Sum => self.add_count(None),
                None => {}
            }
        }
        if measure.is_some()
            && let Some(lone) = lone
        {
            self.sketch.targets.remove(lone);
        } else {
            self.doubt(0.7);
        }
    }
}
