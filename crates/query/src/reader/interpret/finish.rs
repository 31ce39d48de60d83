//! What holds for the question as a whole, once every mark was looked at.

use super::super::form::{Filter, Group, Measure, Scalar};
use super::super::lexicon::{DatePart, Operator};
use super::super::link::ColumnRef;
use super::Interpreter;
use crate::query::{Aggregate, Compare, Grain};
use crate::roles::Role;
use chrono::{Datelike, NaiveDate};

impl Interpreter<'_> {
    pub(super) fn finish(&mut self) {
        self.finish_fractions();
        self.drop_repeated();
        self.finish_contrast();
        self.finish_rates();
        self.finish_tally();
        self.finish_lookup();
        self.finish_correlation();
        self.finish_per_thing();
        self.finish_periods();
        self.finish_trend();
        self.finish_superlative();
        self.finish_subjects();
        self.finish_share();
        self.finish_empty();
        self.row_noun();
        self.finish_order();
        self.finish_times();
    }

    /// A measure that is named twice is one.
    pub(super) fn drop_repeated(&mut self) {
        if self.form.having.is_empty() && self.form.beyond.is_empty() && self.form.order.is_none() {
            let measures = std::mem::take(&mut self.form.measures);
            for measure in measures {
                if !self.form.measures.contains(&measure) {
                    self.form.measures.push(measure);
                }
            }
        }
    }

    /// Numbers of one row are shown as they are: "the population of India in 2007".
    pub(super) fn finish_lookup(&mut self) {
        let plain = self.form.groups.is_empty()
            && self.superlative.is_none()
            && self.form.having.is_empty()
            && !self.share
            && !self.form.change
            && !self.contrast
            && !self.correlated
            && !self.form.filters.is_empty()
            && !self.form.measures.is_empty();
        let columns: Vec<ColumnRef> = (self.form.measures.iter())
            .filter_map(|measure| match measure {
                Measure::Of(_, Scalar::Column(place)) if self.implicit.contains(place) => Some(*place),
                _ => None,
            })
            .collect();
        if plain && columns.len() == self.form.measures.len() && self.estimated_rows() <= 1.5 {
            self.form.measures.clear();
            for place in columns {
                if !self.form.show.contains(&place) {
                    self.form.show.push(place);
                }
            }
        }
    }

    /// How many rows the conditions leave, if they do not depend on each other.
    pub(super) fn estimated_rows(&self) -> f64 {
        let table = self.schema.table(self.form.table);
        let mut rows = table.and_then(|table| table.rows).unwrap_or(1000) as f64;
        for filter in &self.form.filters {
            let Some(column) = self.schema.column(filter.place()) else { continue };
            let (seen, distinct) = (column.seen.max(1) as f64, column.distinct.max(1) as f64);
            rows *= match filter {
                Filter::Values { values, negated: false, .. } => {
                    let counted: u64 = (column.values.iter())
                        .filter(|(value, _)| values.contains(value))
                        .map(|(_, count)| *count)
                        .sum();
                    (counted.max(1) as f64) / seen
                }
                Filter::Number(_, Compare::Equal, _) => 1.0 / distinct,
                _ => 1.0,
            };
        }
        rows
    }

    /// "are discounts hurting profit": two numbers that move together.
    pub(super) fn finish_correlation(&mut self) {
        if !self.correlated {
            return;
        }
        let mut columns: Vec<ColumnRef> = (self.form.measures.iter())
            .filter_map(|measure| match measure {
                Measure::Of(_, Scalar::Column(place)) => Some(*place),
                _ => None,
            })
            .collect();
        // A number with few values was taken for a category.
        let numeric = |place: &ColumnRef| {
            self.schema.column(*place).is_some_and(|column| column.kind.is_number())
                && self.schema.role(*place) == Role::Category
        };
        let few: Vec<ColumnRef> = self.subjects.iter().map(|(_, place)| *place).filter(numeric).collect();
        if columns.len() == 1 {
            columns.extend(few.first());
        }
        columns.dedup();
        if let [left, right] = columns.as_slice() {
            self.form.measures = vec![Measure::Correlation(*left, *right)];
            self.subjects.retain(|(_, place)| !few.contains(place));
            let words = (0..self.marks.len()).filter(|at| self.text(*at) == "coefficient");
            words.collect::<Vec<_>>().into_iter().for_each(|at| self.take(at));
        }
    }

    /// "orders per customer on average": one count over another.
    pub(super) fn finish_per_thing(&mut self) {
        let average =
            self.marks.iter().any(|mark| mark.operator == Some(Operator::Aggregate(Aggregate::Average)));
        let counted = match self.form.measures.as_slice() {
            [Measure::Rows | Measure::Of(Aggregate::CountDistinct, _)] => self.form.measures.first().cloned(),
            _ => None,
        };
        if let (true, Some(counted), [Group::Column(thing)]) = (average, counted, self.form.groups.as_slice())
        {
            let things = Measure::Of(Aggregate::CountDistinct, Scalar::Column(*thing));
            self.form.measures = vec![Measure::Ratio(Box::new(counted), Box::new(things))];
            self.form.groups.clear();
            return;
        }
        let counted = self.form.measures.first().cloned().filter(|measure| {
            self.form.measures.len() == 1 && (*measure == Measure::Rows || matches!(measure, Measure::Of(Aggregate::Average, Scalar::Column(place)) if self.schema.role(*place) == Role::Measure))
        });
        if let (true, Some(counted), [Group::Period(time, grain)]) =
            (average, counted, self.form.groups.as_slice())
            && (0..self.marks.len()).any(|at| {
                matches!(
                    self.text(at).as_str(),
                    "per day" | "per week" | "per month" | "per year" | "a day" | "a month" | "daily"
                )
            })
            && counted == Measure::Rows
        {
            let periods = Measure::Of(Aggregate::CountDistinct, Scalar::Period(*time, *grain));
            self.form.measures = vec![Measure::Ratio(Box::new(counted), Box::new(periods))];
            self.form.groups.clear();
        }
    }

    /// Two periods side by side are groups.
    pub(super) fn finish_periods(&mut self) {
        self.finish_months();
        let spans: Vec<(ColumnRef, NaiveDate, NaiveDate)> = (self.form.filters.iter())
            .filter_map(|filter| match filter {
                Filter::Within(place, from, to) => Some((*place, *from, *to)),
                _ => None,
            })
            .collect();
        let years: Vec<(ColumnRef, f64)> = (self.form.filters.iter())
            .filter_map(|filter| match filter {
                Filter::Number(place, Compare::Equal, number) if self.schema.role(*place) == Role::Year => {
                    Some((*place, *number))
                }
                _ => None,
            })
            .collect();
        if let [(year, _), _, ..] = years.as_slice() {
            let year = *year;
            let values = years.iter().map(|(_, number)| number.to_string()).collect();
            self.form.filters.retain(|filter| filter.place() != year);
            self.form.filters.push(Filter::Values { place: year, values, negated: false });
            self.add_group(Group::Column(year));
        }
        let Some((time, from, to)) = spans.first().copied().filter(|_| spans.len() > 1) else { return };
        self.form.filters.retain(|filter| filter.place() != time);
        let all: Vec<(NaiveDate, NaiveDate)> = spans.iter().map(|(_, from, to)| (*from, *to)).collect();
        self.form.filters.push(Filter::WithinAny(time, all));
        let grain = match (to - from).num_days() {
            0..=1 => Grain::Day,
            2..=7 => Grain::Week,
            8..=31 => Grain::Month,
            32..=92 => Grain::Quarter,
            _ => Grain::Year,
        };
        self.add_group(Group::Period(time, grain));
    }

    /// "June, July and August" of no year are those months of every year.
    pub(super) fn finish_months(&mut self) {
        let months: Vec<(NaiveDate, u32)> = (self.marks.iter())
            .filter_map(|mark| mark.period.as_ref().filter(|period| period.yearless))
            .map(|period| (period.from, period.from.month()))
            .collect();
        let is_month = |filter: &Filter| matches!(filter, Filter::Within(_, from, _) if months.iter().any(|(known, _)| known == from));
        let listed: Vec<ColumnRef> =
            self.form.filters.iter().filter(|filter| is_month(filter)).map(Filter::place).collect();
        let Some(time) = listed.first().copied().filter(|_| listed.len() >= 2) else { return };
        if listed.len() != months.len() || self.contrast {
            return;
        }
        self.form.filters.retain(|filter| !is_month(filter));
        let parts = months.iter().map(|(_, month)| *month).collect();
        let filter = Filter::Parts(time, DatePart::Month, parts);
        self.conditions.push((usize::MAX, filter.clone()));
        self.form.filters.push(filter);
    }

    pub(super) fn finish_trend(&mut self) {
        let versus = self.marks.iter().any(|mark| mark.operator == Some(Operator::Versus));
        let named = self.form.filters.iter().any(|filter| matches!(filter, Filter::WithinAny(..)));
        if self.form.change && versus && named {
            self.form.has_before = true;
        }
        let asks = self.marks.iter().any(|mark| mark.operator == Some(Operator::Trend))
            || self.form.change
            || self.form.running;
        let timed = self.form.groups.iter().any(|group| {
            matches!(group, Group::Period(..) | Group::Part(..))
                || matches!(group, Group::Column(place) if self.schema.role(*place) == Role::Year)
        });
        if !asks || timed || self.form.measures.is_empty() {
            return;
        }
        if let Some(year) = self.year_column() {
            self.add_group(Group::Column(year));
        } else if let Some(time) = self.time_column() {
            let grain = self.default_grain(time);
            self.add_group(Group::Period(time, grain));
        }
    }

    /// In a single table an unknown plural noun stands for its rows: "trips", "passengers".
    pub(super) fn row_noun(&mut self) {
        if self.schema.catalogue.tables.len() != 1 {
            return;
        }
        let noun = (0..self.marks.len()).find(|at| {
            !self.is_used(*at) && self.mark(*at).is_some_and(|mark| mark.is_unknown() && mark.plural)
        });
        if let Some(noun) = noun {
            self.take(noun);
            self.defaults += 1;
            let word = self.text(noun);
            self.assumptions.push(format!("“{word}” is taken to mean the rows."));
        }
    }

    /// What a table is mostly about: the money in it.
    pub(super) fn main_measure(&mut self) -> Option<Measure> {
        let scalar = self.revenue()?;
        let label = match &scalar {
            Scalar::Column(place) => self.label(*place),
            _ => "revenue".to_owned(),
        };
        self.assumptions.push(format!("No measure was named, so {label} is taken."));
        self.defaults += 1;
        Some(Measure::Of(Aggregate::Sum, scalar))
    }

    /// Whether a table's rows have a name of their own.
    pub(super) fn names_rows(&self, table: usize) -> bool {
        self.display(table)
            .is_some_and(|places| places.iter().any(|place| self.schema.role(*place) == Role::Text))
    }

    /// Columns that were named without an operator: groups of a measure, or what is listed.
    pub(super) fn finish_subjects(&mut self) {
        let subjects = std::mem::take(&mut self.subjects);
        if self.form.measures.is_empty() {
            let fixed = |place: &ColumnRef| {
                self.form.filters.iter().any(|filter| matches!(filter, Filter::Values { place: known, negated: false, .. } | Filter::Number(known, Compare::Equal, _) if known == place))
            };
            let free: Vec<(usize, ColumnRef)> =
                subjects.iter().filter(|(_, place)| !fixed(place)).copied().collect();
            let subjects = if free.is_empty() && self.form.show.is_empty() { subjects } else { free };
            for (_, place) in &subjects {
                if !self.form.show.contains(place) {
                    self.form.show.insert(self.form.show.len().min(subjects.len().saturating_sub(1)), *place);
                }
            }
            self.form.show.sort_by_key(|place| !subjects.iter().any(|(_, subject)| subject == place));
            let one = self.form.show.len() == 1 && subjects.len() == 1;
            let repeats =
                subjects.first().is_some_and(|(_, place)| self.schema.role(*place) != Role::Identifier);
            self.form.distinct = (one || self.form.show.len() <= 2)
                && repeats
                && self.form.order.is_none()
                && !subjects.is_empty();
            return;
        }
        let asked = self.marks.iter().any(|mark| mark.operator == Some(Operator::Which));
        for (_, group) in std::mem::take(&mut self.moments) {
            if asked && self.form.groups.is_empty() {
                self.add_group(group);
            }
        }
        for group in std::mem::take(&mut self.extra_groups) {
            self.add_group(group);
        }
        for (_, place) in subjects {
            let role = self.schema.role(place);
            let groups = matches!(role, Role::Category | Role::Text | Role::Year | Role::Identifier);
            let counted = self.form.measures.iter().any(|measure| matches!(measure, Measure::Of(Aggregate::CountDistinct, Scalar::Column(known)) if *known == place));
            if groups
                && !counted
                && !self.form.filters.iter().any(|filter| {
                    filter.place() == place && !matches!(filter, Filter::Number(..) | Filter::Missing(..))
                })
            {
                self.add_group(Group::Column(place));
            }
        }
    }

    /// Groups without a measure are counted; nothing at all lists rows.
    pub(super) fn finish_empty(&mut self) {
        let counts = (self.marks.iter().enumerate()).any(|(at, mark)| {
            mark.operator == Some(Operator::Count)
                && self.mark(at + 1).is_none_or(|next| next.operator != Some(Operator::Share))
        });
        if counts && self.form.measures.is_empty() && self.form.order.is_none() {
            self.form.measures.push(Measure::Rows);
            self.form.show.clear();
            self.form.distinct = false;
        }
        if self.form.measures.is_empty() && !self.form.groups.is_empty() {
            let compared =
                self.contrast || self.marks.iter().any(|mark| mark.operator == Some(Operator::Versus));
            if compared {
                let measure = self.main_measure();
                self.form.measures.extend(measure);
            } else if self.revenue().is_some() {
                // Rows are counted, although the data is mostly about money: a second default, which
                // the judge knows.
                self.defaults += 1;
            }
            self.form.measures.push(Measure::Rows);
            self.defaults += 1;
        }
        if self.form.measures.is_empty()
            && let Some((_, table)) = self.tables.first().copied()
        {
            // Things of a table that fulfil a condition: all that is known of them.
            let compared = self
                .form
                .show
                .iter()
                .all(|place| self.form.filters.iter().any(|filter| filter.place() == *place));
            if compared {
                self.form.table = table;
                self.form.show.clear();
                self.form.distinct = false;
            }
        }
    }
}
