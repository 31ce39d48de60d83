//! One measure over another, and parts of a whole.

use super::super::form::{Filter, Measure, Scalar};
use super::super::lexicon::Operator;
use super::super::link::ColumnRef;
use super::Interpreter;
use crate::frame::{Unit, Value};
use crate::query::{Aggregate, Compare};
use crate::roles::Role;

/// How a measure stands to the one that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fraction {
    Ratio,
    Percent,
}

impl Interpreter<'_> {
    /// "divided by", "as a percentage of": the last measure over the next one.
    pub(super) fn divide(&mut self, fraction: Fraction) {
        if let Some(last) = self.form.measures.len().checked_sub(1) {
            self.fractions.push((last, fraction));
        }
    }

    /// "/" between two measures.
    pub(super) fn slash(&mut self, at: usize) -> bool {
        let divides = self.text(at) == "/"
            && !self.form.measures.is_empty()
            && at.checked_sub(1).is_some_and(|before| self.is_numeric(before))
            && self.next(at).is_some_and(|next| {
                self.is_numeric(next) || matches!(self.operator(next), Some(Operator::Aggregate(_)))
            });
        if divides {
            self.take(at);
            self.divide(Fraction::Ratio);
        }
        divides
    }

    /// Measures that belong together become one.
    pub(super) fn finish_fractions(&mut self) {
        for (at, fraction) in std::mem::take(&mut self.fractions).into_iter().rev() {
            if at + 1 >= self.form.measures.len() {
                continue;
            }
            let below = self.form.measures.remove(at + 1);
            let Some(above) = self.form.measures.get_mut(at) else { continue };
            let (left, right) = (Box::new(added(above.clone())), Box::new(added(below)));
            *above = match fraction {
                Fraction::Ratio => Measure::Ratio(left, right),
                Fraction::Percent => Measure::Percent(left, right),
            };
            self.share = false;
            // What explains the fraction again adds nothing.
            self.form.measures.truncate(at + 1);
            if at > 0 {
                self.form.measures.drain(..at);
            }
        }
    }

    pub(super) fn is_money(&self, place: ColumnRef) -> bool {
        let money = "sales revenue amount price cost profit income spend fee tax total budget value";
        self.schema.column(place).is_some_and(|column| matches!(column.unit, Unit::Currency(_)))
            || money.split(' ').any(|word| self.schema.fits(place, word) >= 0.95)
    }

    /// Counts of the same rows that are nowhere smaller than a part, the largest first: sessions for
    /// conversions, messages sent for those opened.
    pub(super) fn counts_above(&self, part: ColumnRef) -> Vec<ColumnRef> {
        let number = |value: &Value| match value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        };
        let ends = |place: ColumnRef| {
            let column = self.schema.column(place)?;
            number(&column.min).zip(number(&column.max))
        };
        let Some((low, high)) = ends(part) else { return Vec::new() };
        let mut found: Vec<(ColumnRef, f64)> = (self.schema.places())
            .filter(|(place, role)| {
                *role == Role::Measure
                    && place.table == part.table
                    && *place != part
                    && !self.is_money(*place)
            })
            .filter_map(|(place, _)| Some((place, ends(place)?)))
            .filter(|(_, (least, most))| *least >= low && *most >= high)
            .map(|(place, (_, most))| (place, most))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.into_iter().map(|(place, _)| place).collect()
    }

    /// The part of a whole: the condition that the rows of a share fulfil.
    pub(super) fn part_condition(&self) -> Option<Filter> {
        let group = |filter: &Filter| self.form.groups.iter().any(|group| group.place() == filter.place());
        let fits = |filter: &Filter| {
            matches!(
                filter,
                Filter::Values { .. }
                    | Filter::Flag(..)
                    | Filter::Missing(..)
                    | Filter::Number(..)
                    | Filter::Columns(..)
                    | Filter::Between(..)
                    | Filter::Parts(..)
            ) && !group(filter)
        };
        // What is only said of the whole stands behind "in", "for" or "of".
        let is_scope = |filter: &Filter| {
            self.conditions.iter().any(|(at, known)| {
                known == filter
                    && at.checked_sub(1).is_some_and(|before| {
                        matches!(self.mark(before).and_then(|mark| mark.operator), Some(Operator::Of))
                            && self.text(before) != "on"
                    })
            })
        };
        let all: Vec<&Filter> = self.form.filters.iter().filter(|filter| fits(filter)).collect();
        (all.iter().rev().find(|filter| !is_scope(filter))).or(all.last()).map(|filter| (*filter).clone())
    }

    pub(super) fn finish_share(&mut self) {
        if !self.share || self.form.change {
            return;
        }
        self.form.distinct = false;
        let part = self.part_condition();
        let rows = self.form.measures.iter().all(|measure| *measure == Measure::Rows);
        if rows && let Some(part) = part {
            self.form.filters.retain(|filter| *filter != part);
            self.form.measures = vec![Measure::ShareWhere(Box::new(part))];
            self.form.show.clear();
            return;
        }
        let summed = match self.form.measures.as_slice() {
            [Measure::Of(_, Scalar::Column(place))] if self.schema.role(*place) != Role::Year => {
                Some(Scalar::Column(*place))
            }
            [Measure::Of(Aggregate::Sum, scalar)] => Some(scalar.clone()),
            _ => None,
        };
        // "percentage of days that had rain": where there is any.
        if let (Some(Scalar::Column(place)), None) = (&summed, &part)
            && self.implicit.contains(place)
            && self.columns.iter().any(|(at, known)| {
                known == place
                    && at.checked_sub(1).is_some_and(|before| {
                        matches!(self.text(before).as_str(), "had" | "has" | "have" | "with" | "any")
                    })
            })
        {
            let any = Filter::Number(*place, Compare::Greater, 0.0);
            self.form.measures = vec![Measure::ShareWhere(Box::new(any))];
            return;
        }
        if let (Some(scalar), Some(part)) = (summed, part) {
            // "of the bills": the things, or what they come to.
            let things = matches!(&scalar, Scalar::Column(place) if self.implicit.contains(place)
                && self.columns.iter().any(|(at, known)| known == place
                    && self.mark(*at).is_some_and(|mark| mark.plural && mark.column_quality() < 0.9)));
            if things && self.choices.take(vec![(true, 0.6), (false, 0.5)]).unwrap_or(false) {
                self.form.filters.retain(|filter| *filter != part);
                self.form.measures = vec![Measure::ShareWhere(Box::new(part))];
                return;
            }
            self.form.filters.retain(|filter| *filter != part);
            let whole = Measure::Of(Aggregate::Sum, scalar.clone());
            let part = Measure::OfWhere(Aggregate::Sum, scalar, Box::new(part));
            self.form.measures = vec![Measure::Percent(Box::new(part), Box::new(whole))];
            return;
        }
        if self.form.measures.is_empty() && !self.form.groups.is_empty() {
            self.form.measures.push(Measure::Rows);
        }
        self.form.share = true;
    }
}

/// Parts and wholes are added up where nothing else was said.
fn added(measure: Measure) -> Measure {
    match measure {
        Measure::Of(Aggregate::Average, scalar) => Measure::Of(Aggregate::Sum, scalar),
        other => other,
    }
}
