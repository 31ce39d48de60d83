//! Conditions on rows and groups: values, numbers, comparisons, negations.

use super::super::form::{Filter, Group, Measure, Scalar};
use super::super::lexicon::{Operator, adjective};
use super::super::link::{ColumnRef, Mark};
use super::{Interpreter, Superlative};
use crate::query::{Aggregate, Compare, Grain};
use crate::roles::Role;

impl Interpreter<'_> {
    pub(super) fn add_filter(&mut self, filter: Filter) {
        if let Filter::Values { place, values, negated } = &filter
            && let Some(Filter::Values { values: known, .. }) = self.form.filters.iter_mut().find(|known| matches!(known, Filter::Values { place: at, negated: not, .. } if at == place && not == negated))
        {
            for value in values {
                if !known.contains(value) {
                    known.push(value.clone());
                }
            }
            return;
        }
        self.form.filters.push(filter);
    }

    pub(super) fn value(&mut self, at: usize) {
        let Some(mark) = self.mark(at).cloned() else { return };
        let options: Vec<(usize, f32)> = (mark.values.iter().enumerate())
            .map(|(option, link)| {
                let near = if link.place.table == self.form.table { 0.05 } else { 0.0 };
                let named =
                    [at.checked_sub(1), at.checked_sub(2), Some(at + 1)].into_iter().flatten().any(|other| {
                        self.mark(other).is_some_and(|other| {
                            other
                                .columns
                                .iter()
                                .any(|(place, quality)| *place == link.place && *quality >= 0.5)
                        })
                    });
                let way = at.checked_sub(1).map(|before| self.text(before)).unwrap_or_default();
                let label = self.label(link.place).to_lowercase();
                let ends: &[&str] = match way.as_str() {
                    "from" => &["from", "origin", "pickup", "source", "depart", "start"],
                    "to" => &["to", "dest", "dropoff", "arriv", "end"],
                    _ => &[],
                };
                let directed = if ends.iter().any(|end| label.contains(end)) { 0.2 } else { 0.0 };
                let flag = directed + if self.schema.role(link.place) == Role::Flag { -0.3 } else { 0.0 };
                (option, link.quality + near + flag + if named { 0.3 } else { 0.0 })
            })
            .collect();
        let best = options.iter().map(|(_, score)| *score).fold(0.0, f32::max);
        let options = options.into_iter().filter(|(_, score)| *score >= best - 0.15).collect();
        let Some(link) = self.choices.take(options).and_then(|option| mark.values.get(option)) else {
            return;
        };
        self.take(at);
        for other in [at.checked_sub(1), Some(at + 1)].into_iter().flatten() {
            let same = self.mark(other).is_some_and(|other| {
                other.columns.iter().any(|(place, quality)| *place == link.place && *quality >= 0.5)
            });
            if same && !self.is_used(other) {
                self.take(other);
            }
            self.subjects.retain(|(subject, place)| !(*subject == other && same && *place == link.place));
        }
        let negated = self.negated(at, link.place);
        let filter = Filter::Values { place: link.place, values: link.values.clone(), negated };
        self.conditions.push((at, filter.clone()));
        self.add_filter(filter);
        let compared = self.mark(at + 1).is_some_and(|mark| matches!(mark.operator, Some(Operator::Versus)))
            || at.checked_sub(1).is_some_and(|before| {
                self.mark(before).is_some_and(|mark| matches!(mark.operator, Some(Operator::Versus)))
            });
        let listed = self.follows_and(at)
            && self.form.filters.iter().any(|filter| matches!(filter, Filter::Values { place, values, negated: false } if *place == link.place && values.len() > link.values.len()));
        let either = at.checked_sub(1).is_some_and(|before| {
            self.mark(before).is_some_and(|mark| mark.operator == Some(Operator::Or))
        }) && self.counted.is_none()
            && !self.form.measures.contains(&Measure::Rows)
            && self.form.filters.iter().any(
                |filter| matches!(filter, Filter::Values { place, values, negated: false } if *place == link.place && values.len() > link.values.len()),
            )
            && self.choices.take(vec![(true, 0.6), (false, 0.5)]).unwrap_or(false);
        if (compared || listed || either) && !negated {
            self.add_group(Group::Column(link.place));
        }
    }

    /// Whether a negation stands before a value, or before the list it belongs to.
    pub(super) fn negated(&self, at: usize, place: ColumnRef) -> bool {
        let mut before = at;
        while let Some(earlier) = before.checked_sub(1) {
            before = earlier;
            let Some(mark) = self.mark(before) else { return false };
            match mark.operator {
                Some(Operator::Not) => return true,
                Some(
                    Operator::Filler
                    | Operator::Of
                    | Operator::And
                    | Operator::Or
                    | Operator::Is
                    | Operator::Clause,
                ) => {}
                _ if mark.values.iter().any(|link| link.place == place) => {}
                _ if mark.columns.iter().any(|(known, _)| *known == place) => {}
                // "did not come from": the verb of the negation.
                _ if mark.is_unknown() && self.is_not(before) => {}
                _ => return false,
            }
        }
        false
    }

    /// Whether a negation stands right before a mark.
    fn is_not(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.mark(before));
        before.is_some_and(|mark| mark.operator == Some(Operator::Not))
    }

    /// Whether "and" stands before a value: "for movies and for series", "how many foods and how
    /// many recipes".
    fn follows_and(&self, at: usize) -> bool {
        let glue =
            |mark: &Mark| matches!(mark.operator, Some(Operator::Of | Operator::Filler | Operator::Count));
        let before = (0..at).rev().take(3).find(|before| !self.mark(*before).is_some_and(glue));
        let and = before.and_then(|before| self.mark(before)?.operator);
        and == Some(Operator::And)
    }

    pub(super) fn not(&mut self, at: usize) {
        let Some(next) = self.next(at) else { return };
        let lacks = matches!(self.text(at).as_str(), "without" | "no" | "never");
        // "ignore lines without a score".
        let twice = (0..at)
            .rev()
            .take(3)
            .any(|before| self.mark(before).is_some_and(|mark| mark.operator == Some(Operator::Not)));
        let has_gaps = |reader: &Self, place: ColumnRef| {
            reader.schema.column(place).is_some_and(|column| column.nulls > 0)
        };
        if lacks
            && self.names_column(next)
            && self.mark(next).is_some_and(|mark| {
                let best = mark.column_quality();
                mark.columns.iter().any(|(place, quality)| *quality >= best - 0.1 && has_gaps(self, *place))
            })
            && let Some(place) = self.column(next, |role| role != Role::Flag)
            && has_gaps(self, place)
        {
            self.take(next);
            self.take_noun(next + 1);
            self.subjects.retain(|(_, known)| *known != place);
            self.form.filters.push(Filter::Missing(place, !twice));
            return;
        }
        if lacks
            && self.is_numeric(next)
            && let Some(place) = self.column(next, Role::is_number)
        {
            self.take(next);
            self.form.filters.push(Filter::Number(place, Compare::Equal, 0.0));
            return;
        }
        if self.has_role(next, |role| role == Role::Time)
            && let Some(place) = self.column(next, |role| role == Role::Time)
            && has_gaps(self, place)
        {
            self.take(next);
            self.form.filters.push(Filter::Missing(place, true));
            return;
        }
        if self.mark(next).is_some_and(|mark| mark.value_quality() >= 0.5) {
            return;
        }
        if self.has_role(next, |role| role == Role::Flag)
            && let Some(place) = self.column(next, |role| role == Role::Flag)
        {
            self.take(next);
            self.add_flag(place, false);
        }
    }

    /// A noun that only says that something is a cell: "no email on file", "without a score given".
    fn take_noun(&mut self, at: usize) {
        let words = ["value", "values", "figure", "figures", "given", "date", "known", "recorded", "entry"];
        if words.contains(&self.text(at).as_str()) {
            self.take(at);
        }
    }

    /// A number next to a comparison, a column or a thing.
    pub(super) fn number(&mut self, at: usize) {
        let Some(number) = self.mark(at).and_then(|mark| mark.number) else { return };
        // "5 poorest countries", "3 largest".
        let superlative = self.next(at).is_some_and(|next| {
            matches!(self.operator(next), Some(Operator::Superlative(_) | Operator::Common(_)))
                || adjective(&self.text(next), true).is_some()
        });
        if superlative {
            return;
        }
        // "5 sub-categories with the lowest profit".
        let things = self.next(at).filter(|next| {
            self.is_groupable(*next) || self.mark(*next).is_some_and(|mark| mark.table_quality() >= 0.5)
        });
        if things.is_some() && (1.0..=1000.0).contains(&number) && number.fract() == 0.0 {
            self.take(at);
            self.superlative = Some(Superlative {
                largest: true,
                about: Vec::new(),
                at,
                limit: Some(number as u64),
                count: false,
            });
        } else if !self.equal_number(at, number) && self.has_value_link(at) {
            self.value(at);
        }
    }

    /// "stage is 22", "a frequency of 94.9", "62 laps".
    pub(super) fn equal_number(&mut self, at: usize, number: f64) -> bool {
        let numeric = |reader: &Self, at: usize| {
            reader.names_column(at)
                && reader.mark(at).is_some_and(|mark| {
                    mark.columns.iter().any(|(place, quality)| {
                        *quality >= 0.5
                            && reader.schema.column(*place).is_some_and(|column| column.kind.is_number())
                    })
                })
        };
        let tied = |reader: &Self, from: usize, to: usize| {
            (from + 1..to).all(|at| {
                matches!(
                    reader.mark(at).and_then(|mark| mark.operator),
                    Some(Operator::Is | Operator::Of | Operator::Filler | Operator::Clause)
                )
            })
        };
        let before = (0..at)
            .rev()
            .take(3)
            .find(|before| numeric(self, *before))
            .filter(|before| tied(self, *before, at));
        let after = Some(at + 1).filter(|after| numeric(self, *after) && self.superlative.is_none());
        let Some(near) = before.or(after) else { return false };
        let Some(place) = self.column(near, |_| true) else { return false };
        self.take(near);
        self.take(at);
        self.form
            .measures
            .retain(|measure| !matches!(measure, Measure::Of(_, Scalar::Column(known)) if *known == place));
        self.subjects.retain(|(_, known)| *known != place);
        self.form.filters.push(Filter::Number(place, Compare::Equal, number));
        true
    }
    pub(super) fn has_value_link(&self, at: usize) -> bool {
        self.mark(at).is_some_and(|mark| mark.value_quality() >= 0.5)
    }

    /// "sales above 2.3 million", "more than 30 mpg", "more than 110 orders".
    pub(super) fn compare(&mut self, at: usize, compare: Compare) {
        if self.compare_average(at, compare) || self.compare_columns(at, compare) {
            return;
        }
        let one = Some(at + 1).filter(|next| self.text(*next) == "one");
        let number_before = at.checked_sub(1).filter(|before| {
            self.text(at).starts_with("or ") && self.mark(*before).is_some_and(|mark| mark.number.is_some())
        });
        let Some(value) = number_before
            .into_iter()
            .chain(at + 1..self.marks.len())
            .take(4)
            .find(|at| self.mark(*at).is_some_and(|mark| mark.number.is_some()))
            .or(one)
        else {
            return;
        };
        if self.mark(value).is_some_and(|mark| mark.period.is_some())
            && self.previous(at).is_none_or(|before| !self.is_numeric(before))
        {
            return;
        }
        let number = self.mark(value).and_then(|mark| mark.number);
        let Some(number) = number.or(one.map(|_| 1.0)) else { return };
        let value_end = if number_before.is_some() { at } else { value };
        let after = self.next(value_end).filter(|after| *after <= value_end + 2);
        // What is compared stands behind the number or before the comparison.
        let unit = after.filter(|after| {
            self.is_numeric(*after)
                || self.has_role(*after, |role| role == Role::Category || role == Role::Year)
                    && self.mark(*after).is_some_and(|mark| {
                        mark.columns.iter().any(|(place, _)| {
                            self.schema.column(*place).is_some_and(|column| column.kind.is_number())
                        })
                    })
        });
        if unit.is_none()
            && let Some(place) = self.comparative_column(at)
        {
            self.take(value);
            self.forget(place);
            self.form.filters.push(Filter::Number(place, compare, number));
            return;
        }
        let before = (0..at)
            .rev()
            .find(|before| self.is_numeric(*before) || self.has_role(*before, |role| role == Role::Year));
        let money = (0..at)
            .rev()
            .take(2)
            .any(|before| self.mark(before).is_some_and(|mark| !mark.products.is_empty()));
        if let (true, Some(measure)) = (money, self.form.measures.last().cloned()) {
            self.take(value);
            self.group_things();
            self.having(measure, compare, number);
            return;
        }
        self.take(value);
        if let Some(unit) = unit {
            self.take(unit);
            self.compare_column(unit, compare, number);
            return;
        }
        // "at least 20 yellow cards": a value may stand between.
        let after = after.map(|after| {
            let value = self.mark(after).is_some_and(|mark| mark.value_quality() >= 0.6);
            let thing = self.mark(after + 1).is_some_and(|mark| mark.table_quality() >= 0.5);
            if value && thing { after + 1 } else { after }
        });
        let counted = after.filter(|after| {
            self.mark(*after).is_some_and(|mark| mark.table_quality() >= 0.5)
                || self
                    .has_role(*after, |role| matches!(role, Role::Identifier | Role::Category | Role::Text))
                    && self.mark(*after).is_none_or(|mark| mark.period.is_none())
        });
        if let (Some(counted), true) =
            (counted, number.fract() == 0.0 && before.is_none_or(|before| at - before > 2))
        {
            self.take(counted);
            let table = self
                .mark(counted)
                .and_then(|mark| mark.tables.first().copied())
                .filter(|(_, quality)| *quality >= 0.5);
            let measure = match table {
                Some((table, _)) => {
                    self.group_things();
                    self.form.table = table;
                    Measure::Rows
                }
                None => match self.column(counted, |_| true) {
                    Some(place) => {
                        let different = self.schema.role(place) == Role::Category
                            && (self.counted.is_some() || !self.subjects.is_empty());
                        let options = vec![
                            (Measure::Rows, 0.6),
                            (
                                Measure::Of(Aggregate::CountDistinct, Scalar::Column(place)),
                                if different { 0.7 } else { 0.5 },
                            ),
                        ];
                        self.choices.take(options).unwrap_or(Measure::Rows)
                    }
                    None => Measure::Rows,
                },
            };
            self.having(measure, compare, number);
            return;
        }
        // "more than 8 appointments": things that the data has no name for are rows.
        let things = after.filter(|after| {
            self.mark(*after).is_some_and(|mark| mark.is_unknown() && mark.plural) && !self.is_used(*after)
        });
        if let (Some(things), true) = (things, number.fract() == 0.0 && self.has_things()) {
            self.take(things);
            self.defaults += 1;
            self.having(Measure::Rows, compare, number);
            return;
        }
        if let Some(before) = before {
            self.compare_column(before, compare, number);
        } else if let Some(used) = self.used.get_mut(value) {
            *used = false;
        }
    }

    /// "younger than 6", "65 or older": the number that the adjective is about.
    fn comparative_column(&mut self, at: usize) -> Option<ColumnRef> {
        let text = self.text(at);
        let mut words = text.split(' ');
        let word = words.find_map(|word| word.strip_suffix("er").map(|root| format!("{root}est")))?;
        let about = adjective(&word, true)?.about.clone();
        let table = self.form.table;
        let mut options: Vec<(ColumnRef, f32)> = Vec::new();
        for (rank, word) in about.iter().enumerate() {
            for (place, role) in self.schema.places().filter(|(_, role)| role.is_number()) {
                debug_assert!(role.is_number());
                let fit = self.schema.fits(place, word);
                let near = if place.table == table { 0.1 } else { 0.0 };
                if fit >= 0.8 {
                    options.push((place, fit + near - 0.03 * rank as f32));
                }
            }
        }
        self.choices.take(options)
    }

    /// "paid after the due date", "sold for more than its asking price": two columns of a row.
    fn compare_columns(&mut self, at: usize, compare: Compare) -> bool {
        let Some(next) = self.next(at) else { return false };
        let time = |role: Role| role == Role::Time;
        let before = (0..at).rev().take(3).collect::<Vec<_>>();
        for wanted in [time as fn(Role) -> bool, Role::is_number] {
            let left = before.iter().copied().find(|at| self.has_role(*at, wanted));
            if let (Some(left), true) = (left, self.has_role(next, wanted)) {
                let (Some(left_place), Some(right)) = (self.column(left, wanted), self.column(next, wanted))
                else {
                    return false;
                };
                if left_place == right {
                    continue;
                }
                [left, at, next].into_iter().for_each(|at| self.take(at));
                for place in [left_place, right] {
                    self.forget(place);
                    self.subjects.retain(|(_, known)| *known != place);
                }
                let filter = Filter::Columns(left_place, compare, right);
                self.conditions.push((at, filter.clone()));
                self.form.filters.push(filter);
                return true;
            }
        }
        false
    }

    /// Whether things are asked about that conditions on groups can hold for.
    fn has_things(&self) -> bool {
        self.counted.is_some() || !self.tables.is_empty() || self.thing_column().is_some()
    }

    /// The things of a named table become groups.
    pub(super) fn group_things(&mut self) {
        if let (Some((_, table)), true) = (self.tables.first().copied(), self.form.groups.is_empty()) {
            for place in self.display(table).into_iter().flatten() {
                self.add_group(Group::Column(place));
            }
        }
    }

    pub(super) fn having(&mut self, measure: Measure, compare: Compare, number: f64) {
        let position = self.form.measures.iter().position(|known| *known == measure).unwrap_or_else(|| {
            self.form.measures.push(measure);
            self.form.measures.len() - 1
        });
        self.form.having.push((position, compare, number));
    }

    /// A comparison with a column: on groups when it is summed over them, else on rows.
    pub(super) fn compare_column(&mut self, at: usize, compare: Compare, number: f64) {
        let Some(place) = self.column(at, |_| true) else { return };
        // The measure that the column was taken for is what is compared.
        let taken =
            self.form.measures.iter().position(
                |measure| matches!(measure, Measure::Of(_, Scalar::Column(known)) if *known == place),
            );
        let role = self.schema.role(place);
        let explicit = taken.is_some() && !self.implicit.contains(&place);
        let timed = self.moments.iter().any(|(_, group)| !matches!(group, Group::Period(_, Grain::Day)));
        if timed && role.is_number() {
            for (_, group) in std::mem::take(&mut self.moments) {
                self.add_group(group);
            }
            let measure = match taken.and_then(|taken| self.form.measures.get(taken)) {
                Some(measure) if explicit => measure.clone(),
                _ => Measure::Of(Aggregate::Sum, Scalar::Column(place)),
            };
            if let Some(taken) = taken.filter(|_| !explicit) {
                self.form.measures.remove(taken);
            }
            self.having(measure, compare, number);
            return;
        }
        let grouped = (role == Role::Measure || explicit)
            && (!self.form.groups.is_empty()
                || self.subjects.iter().any(|(_, subject)| {
                    !matches!(self.schema.role(*subject), Role::Text | Role::Identifier | Role::Time)
                }));
        if grouped {
            let measure = match taken.and_then(|taken| self.form.measures.get(taken)) {
                Some(measure) => measure.clone(),
                None => Measure::Of(Aggregate::Sum, Scalar::Column(place)),
            };
            self.having(measure, compare, number);
            return;
        }
        if let Some(taken) = taken {
            self.form.measures.remove(taken);
        }
        self.form.filters.push(Filter::Number(place, compare, number));
        if !self.form.show.contains(&place) {
            self.form.show.push(place);
        }
    }

    pub(super) fn between(&mut self, at: usize) {
        let numbers: Vec<usize> = (at + 1..self.marks.len())
            .take(5)
            .filter(|at| self.mark(*at).is_some_and(|mark| mark.number.is_some() && mark.period.is_none()))
            .collect();
        let [low, high, ..] = numbers.as_slice() else { return };
        let (low, high) = (*low, *high);
        let numbers =
            self.mark(low).and_then(|mark| mark.number).zip(self.mark(high).and_then(|mark| mark.number));
        let Some((from, to)) = numbers else { return };
        let column = (0..at)
            .rev()
            .find(|before| self.is_numeric(*before) || self.has_role(*before, |role| role == Role::Year))
            .or_else(|| self.next(high).filter(|after| self.is_numeric(*after)));
        let place = match column {
            Some(column) => {
                self.take(column);
                self.column(column, |_| true)
            }
            None => self.year_column().filter(|_| (1000.0..2200.0).contains(&from)),
        };
        let Some(place) = place else { return };
        (low..=high).for_each(|at| self.take(at));
        self.form
            .measures
            .retain(|measure| !matches!(measure, Measure::Of(_, Scalar::Column(known)) if *known == place));
        self.form.filters.push(Filter::Between(place, from, to));
    }
}
