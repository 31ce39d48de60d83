//! Comparisons with more than a number: how many rows a thing has, another column, or an average.
//!
//! The invariant: a comparison uses its words up, so that nothing reads them again.

use crate::query::{Aggregate, Compare, Condition, Expr, Item, Query};

use super::filters::number_literal;
use super::lexicon::{ANY, Key};
use super::reader::{Found, Reader};

impl Reader<'_> {
    /// "at least 3 pets": a count of rows of a table that the thing asked for has.
    pub(super) fn having(&mut self, at: usize, start: usize, compare: Compare, explicit: bool) -> bool {
        let Some(number) = self
            .mark(at)
            .and_then(|mark| mark.number)
            .filter(|_| explicit || self.key(start.wrapping_sub(1)) == Some(Key::Is))
        else {
            return false;
        };
        if matches!(self.mark(at).map(|mark| mark.text.to_lowercase()).as_deref(), Some("once" | "twice")) {
            return self.having_times(at, start, compare, number);
        }
        let Some(next) = self.next(at, |key| matches!(key, Key::Distinct | Key::OrMore | Key::OrLess)) else {
            return false;
        };
        // "3 car models": the last of two nouns is what is counted.
        let next = if self.is_table(next) && self.is_table(next + 1) { next + 1 } else { next };
        let owner = self
            .resolve(next)
            .filter(|place| {
                self.is_column(next) && !self.schema.is_measure(*place) && self.schema.tables.len() > 1
            })
            .map(|place| place.table);
        let owner = owner.filter(|owner| {
            *owner != self.entity_before(start)
                && super::joins::fans_out(
                    self.schema.catalogue,
                    &self.table_name(self.entity_before(start)),
                    &self.table_name(*owner),
                )
        });
        if !self.is_table(next) && owner.is_none() {
            return false;
        }
        let Some(counted) = owner.filter(|_| !self.is_table(next)).or_else(|| self.table_at(next)) else {
            return false;
        };
        let before = self.named.iter().rev().find(|(place, _)| *place < start).map(|(_, table)| *table);
        let group_column = (0..start)
            .rev()
            .find(|place| self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used));
        let mut entity = before.unwrap_or(self.head);
        if entity == counted {
            // "cities with more than 2 shops": the column is the group.
            let Some(place) =
                group_column.and_then(|place| self.resolve(place)).filter(|place| place.table == counted)
            else {
                return false;
            };
            let group = self.expr(place);
            self.sketch.groups.push(group);
            entity = counted;
        } else {
            let name = self.table_name(entity);
            if !self.sketch.entities.contains(&name) {
                self.sketch.entities.push(name);
            }
        }
        let name = self.table_name(counted);
        if counted != entity && !self.sketch.also.contains(&name) {
            self.sketch.also.push(name.clone());
        }
        let counting = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
        self.sketch.having.push(Condition::Compare(counting, compare, Expr::Literal(number_literal(number))));
        self.reasoning
            .push(format!("counted rows of {name} for each one and compared the count with {number}"));
        [start, at, next].into_iter().for_each(|used| self.take(used));
        true
    }

    /// "visited more than once": rows of the table that the verb names.
    pub(super) fn having_times(&mut self, at: usize, start: usize, compare: Compare, number: f64) -> bool {
        let Some(entity) = self.named.first().map(|(_, table)| *table) else { return false };
        let acted = self.named.iter().map(|(_, table)| *table).find(|table| *table != entity);
        let (entity, also) = (self.table_name(entity), acted.map(|table| self.table_name(table)));
        self.sketch.entities.push(entity);
        self.sketch.also.extend(also);
        let counting = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
        self.sketch.having.push(Condition::Compare(counting, compare, Expr::Literal(number_literal(number))));
        self.take(start);
        self.take(at);
        true
    }

    /// "stock below reorder level": two columns compared.
    pub(super) fn column_pairs(&mut self) {
        for at in 0..self.marks.len() {
            let Some(Key::Cmp(compare, _)) =
                self.key(at).filter(|_| !self.mark(at).is_some_and(|mark| mark.used))
            else {
                continue;
            };
            let before = self
                .previous(at, |key| matches!(key, Key::Is | Key::Clause))
                .filter(|place| self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used));
            let after = self
                .next(at, |key| matches!(key, Key::Than | Key::Of))
                .filter(|place| self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used));
            let numbered = self
                .next(at, |key| matches!(key, Key::Than | Key::Of | Key::Is))
                .is_none_or(|place| self.mark(place).is_some_and(|mark| mark.number.is_some()));
            let (Some(before), Some(after), false) = (before, after, numbered) else { continue };
            let later = (after + 1..(after + 4).min(self.marks.len()))
                .any(|place| self.mark(place).is_some_and(|mark| mark.number.is_some()));
            let (Some(left), Some(right)) = (self.resolve(before), self.resolve(after)) else { continue };
            if later || left == right || !self.schema.is_measure(left) || !self.schema.is_measure(right) {
                continue;
            }
            let condition = Condition::Compare(self.expr(left), compare, self.expr(right));
            self.found.push(Found { at, place: left, condition, equal: false, negated: false, rows: None });
            [before, at, after].into_iter().for_each(|used| self.take(used));
        }
    }

    /// "above average age", "weight smaller than the average": a comparison with an aggregate of
    /// the column itself.
    pub(super) fn against_average(&mut self) {
        for at in 0..self.marks.len() {
            let aggregate = match self.key(at) {
                Some(Key::Agg(
                    aggregate @ (Aggregate::Average | Aggregate::Min | Aggregate::Max | Aggregate::Median),
                )) => aggregate,
                Some(Key::Super(true, ANY)) => Aggregate::Max,
                Some(Key::Super(false, ANY)) => Aggregate::Min,
                _ => continue,
            };
            let Some(before) = self.previous(at, |key| matches!(key, Key::Than | Key::Of)) else { continue };
            let (compare, middle) = match self.key(before) {
                Some(Key::Cmp(compare, _)) => (compare, None),
                None if self.is_column(before) => {
                    let Some(Key::Cmp(compare, _)) =
                        self.previous(before, |_| false).and_then(|at| self.key(at))
                    else {
                        continue;
                    };
                    if self.key(before + 1) != Some(Key::Than) {
                        continue;
                    }
                    (compare, Some(before))
                }
                _ => continue,
            };
            let op =
                if middle.is_some() { self.previous(before, |_| false).unwrap_or(before) } else { before };
            let after = self.next(at, |_| false).filter(|next| self.is_column(*next));
            let earlier =
                self.previous(op, |key| matches!(key, Key::Is)).filter(|place| self.is_column(*place));
            let hint = if let Some(Key::Cmp(_, hint)) = self.key(op) { hint } else { ANY };
            let Some(place) = (middle.or(after).or(earlier).and_then(|place| self.resolve(place)))
                .or_else(|| self.hinted(hint, op))
            else {
                continue;
            };
            let expr = self.expr(place);
            let table = self.table_name(place.table);
            let inner = Query {
                items: vec![Item {
                    expr: Expr::Aggregate(aggregate, vec![expr.clone()]),
                    name: "value".to_owned(),
                }],
                table: table.clone(),
                alias: table,
                ..Query::default()
            };
            let condition = Condition::Compare(expr, compare, Expr::Scalar(Box::new(inner)));
            self.found.push(Found { at, place, condition, equal: false, negated: false, rows: None });
            let earlier = earlier.filter(|near| self.resolve(*near) == Some(place));
            for used in [Some(at), Some(op), middle, after, earlier].into_iter().flatten() {
                self.take(used);
            }
            let label = self.label(place);
            self.reasoning
                .push(format!("compared {label} with its own {aggregate:?} over all rows").to_lowercase());
        }
    }
}
