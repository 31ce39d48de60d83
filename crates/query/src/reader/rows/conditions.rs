//! The conditions of a question about the rows of one table.

use super::super::form::Filter;
use super::super::lexicon::Operator;
use super::super::link::ColumnRef;
use super::super::lists::has_word;
use super::Reader;
use crate::frame::Kind;
use crate::query::Compare;
use crate::roles::Role;

impl Reader<'_> {
    /// Values, numbers and years that rows are told apart by.
    pub(super) fn read_conditions(&mut self) {
        for at in 0..self.marks.len() {
            let Some(mark) = self.marks.get(at) else { continue };
            if self.is_used(at) {
                continue;
            }
            let named = mark.value_quality() >= 0.5
                && mark.value_quality() >= mark.column_quality()
                && !(mark.operator.is_some() && mark.value_quality() < 0.75);
            if named && let Some(filter) = self.value(at) {
                self.take(at);
                self.filters.push((at, filter));
            } else if let Some(number) = mark.number
                && let Some(filter) = self.number(at, number)
            {
                self.take(at);
                self.filters.push((at, filter));
            } else if let Some(period) = &mark.period
                && let Some(filter) = self.period(at, period)
            {
                self.take(at);
                self.filters.push((at, filter));
            }
        }
    }

    pub(super) fn value(&self, at: usize) -> Option<Filter> {
        let mark = self.marks.get(at)?;
        let beside = |place: ColumnRef| {
            (at.saturating_sub(3)..at + 3).filter(|other| *other != at).any(|other| {
                self.marks.get(other).is_some_and(|mark| {
                    mark.columns.iter().any(|(known, quality)| *known == place && *quality >= 0.5)
                })
            })
        };
        let score = |place: ColumnRef, quality: f32| quality + if beside(place) { 0.25 } else { 0.0 };
        let link = mark.values.iter().max_by(|a, b| {
            score(a.place, a.quality).total_cmp(&score(b.place, b.quality)).then(b.place.cmp(&a.place))
        })?;
        let negated = (at.saturating_sub(3)..at).any(|before| self.operator(before) == Some(Operator::Not))
            || (at.saturating_sub(2)..at).any(|before| has_word("besides", &self.text(before)));
        Some(Filter::Values { place: link.place, values: link.values.clone(), negated })
    }

    /// "more than 100 wins", "attendance over 35,000", "95 laps".
    pub(super) fn number(&mut self, at: usize, number: f64) -> Option<Filter> {
        let sign = (at.saturating_sub(3)..at).rev().find_map(|before| match self.operator(before) {
            Some(Operator::Compare(compare)) => Some((before, compare)),
            _ => None,
        });
        let or_more = (self.text(at + 1) == "or")
            .then(|| match self.text(at + 2).as_str() {
                "more" | "greater" | "higher" | "above" | "better" | "over" => Some(Compare::GreaterOrEqual),
                "less" | "fewer" | "lower" | "below" => Some(Compare::LessOrEqual),
                _ => None,
            })
            .flatten();
        let near =
            [at + 1, at + 2, at.wrapping_sub(1), at.wrapping_sub(2), at.wrapping_sub(3), at.wrapping_sub(4)];
        let column = (near.into_iter()).find_map(|other| {
            Some((other, self.column_at(other)?.0)).filter(|(_, place)| self.is_number(*place))
        });
        let whole = (1000.0..2200.0).contains(&number) && number.fract() == 0.0;
        let (named, place) = match column {
            Some((named, place)) if !whole || self.schema.role(place) == Role::Year => (Some(named), place),
            _ if whole => (None, self.year_column().or_else(|| self.holding(number))?),
            Some((named, place)) => (Some(named), place),
            None => (None, self.holding(number).filter(|_| sign.is_none())?),
        };
        let compare = or_more.or(sign.map(|(_, compare)| compare)).unwrap_or(Compare::Equal);
        if let Some((sign, _)) = sign {
            self.take(sign);
        }
        if or_more.is_some() {
            self.take(at + 1);
            self.take(at + 2);
        }
        if let Some(named) = named {
            self.take(named);
        }
        // "from 1998 to 2012", "between 5 and 9".
        let joined = at.checked_sub(2).filter(|_| {
            matches!(self.text(at.wrapping_sub(1)).as_str(), "to" | "and" | "-" | "through" | "until" | "–")
        });
        if compare == Compare::Equal
            && let Some(before) = joined
            && let Some((_, Filter::Number(known, _, low))) =
                self.filters.iter().find(|(known, _)| *known == before).cloned()
            && known == place
            && low < number
        {
            self.filters.retain(|(known, _)| *known != before);
            return Some(Filter::Between(place, low, number));
        }
        Some(Filter::Number(place, compare, number))
    }

    pub(super) fn period(&self, at: usize, period: &steward_text::period::Period) -> Option<Filter> {
        let before = at.checked_sub(1).and_then(|before| self.operator(before));
        let time = self.schema.places().find(|(_, role)| *role == Role::Time).map(|(place, _)| place);
        if let Some(year) = self.year_column().filter(|_| period.grain == crate::query::Grain::Year) {
            let (from, to) = (
                f64::from(chrono::Datelike::year(&period.from)),
                f64::from(chrono::Datelike::year(&period.to) - 1),
            );
            return Some(match before {
                Some(Operator::Compare(compare @ (Compare::Less | Compare::GreaterOrEqual))) => {
                    Filter::Number(year, compare, from)
                }
                Some(Operator::Compare(compare)) => Filter::Number(year, compare, to),
                Some(Operator::Since) => Filter::Number(year, Compare::GreaterOrEqual, from),
                _ if from < to => Filter::Between(year, from, to),
                _ => Filter::Number(year, Compare::Equal, from),
            });
        }
        let Some(time) = time else { return self.year_in_text(period) };
        let far =
            |days: i64| period.from.checked_add_signed(chrono::Duration::days(days)).unwrap_or(period.from);
        Some(match before {
            Some(Operator::Compare(Compare::Less)) => Filter::Within(time, far(-400_000), period.from),
            Some(Operator::Compare(Compare::Greater)) => Filter::Within(time, period.to, far(400_000)),
            Some(Operator::Since) => Filter::Within(time, period.from, far(400_000)),
            _ => Filter::Within(time, period.from, period.to),
        })
    }

    /// A year that stands in a text: "1906-07", "9 May 1906".
    pub(super) fn year_in_text(&self, period: &steward_text::period::Period) -> Option<Filter> {
        let year = chrono::Datelike::year(&period.from).to_string();
        let mut found: Vec<(ColumnRef, Vec<String>)> = Vec::new();
        for (place, _) in self.schema.places() {
            let Some(column) = self.schema.column(place).filter(|column| column.kind == Kind::Text) else {
                continue;
            };
            let holds = |value: &str| value.split(|c: char| !c.is_ascii_digit()).any(|part| part == year);
            let values: Vec<String> = column
                .values
                .iter()
                .filter(|(value, _)| holds(value))
                .map(|(value, _)| value.clone())
                .collect();
            if !values.is_empty() {
                found.push((place, values));
            }
        }
        let named = |place: ColumnRef| {
            let label =
                self.schema.column(place).map(|column| column.label.to_lowercase()).unwrap_or_default();
            ["year", "season", "date"].iter().any(|word| label.contains(word))
        };
        let at = found.iter().position(|(place, _)| named(*place)).unwrap_or(0);
        let (place, values) = found.into_iter().nth(at)?;
        Some(Filter::Values { place, values, negated: false })
    }

    pub(super) fn year_column(&self) -> Option<ColumnRef> {
        self.schema.places().find(|(_, role)| *role == Role::Year).map(|(place, _)| place)
    }

    /// The column that is known to hold a number.
    pub(super) fn holding(&self, number: f64) -> Option<ColumnRef> {
        let plain = number.to_string();
        let holds = |place: ColumnRef| {
            self.schema
                .column(place)
                .is_some_and(|column| column.values.iter().any(|(value, _)| *value == plain))
        };
        let mut found = self.schema.places().map(|(place, _)| place).filter(|place| holds(*place));
        found.next().filter(|_| found.next().is_none())
    }

    pub(super) fn all_filters(&self) -> Vec<Filter> {
        let mut all: Vec<Filter> = Vec::new();
        for (_, filter) in &self.filters {
            // Values of one column are alternatives.
            if let Filter::Values { place, values, negated } = filter
                && let Some(Filter::Values { values: known, .. }) = all.iter_mut().find(|known| {
                    matches!(known, Filter::Values { place: at, negated: not, .. } if at == place && not == negated)
                })
            {
                known.extend(values.iter().filter(|value| !known.contains(value)).cloned().collect::<Vec<_>>());
                continue;
            }
            if !all.contains(filter) {
                all.push(filter.clone());
            }
        }
        all
    }
}
