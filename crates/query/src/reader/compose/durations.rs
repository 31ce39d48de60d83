//! Time between two moments of a row, composed from the times that the question names.

use super::super::form::{Form, Measure, Scalar, TimeUnit};
use super::super::lexicon::Operator;
use super::super::link::ColumnRef;
use super::search::Search;
use crate::frame::{Kind, Value};
use crate::query::Aggregate;
use crate::roles::Role;

/// Words that ask how long something takes, without a unit.
const LASTING: &str =
    "long duration last lasts take takes took stay stayed delay advance length wait gap turnaround";

/// Whether a word speaks of how long something takes.
pub(crate) fn is_duration_word(word: &str) -> bool {
    let units = ["minutes", "minute", "mins", "hours", "hrs", "days", "nights"];
    units.contains(&word) || LASTING.split(' ').any(|known| known == word)
}

impl Search<'_> {
    /// The unit in which time is asked for, if it is: days, or what the data is exact to.
    pub(super) fn asked_unit(&self) -> Option<Option<TimeUnit>> {
        let mut lasting = false;
        for mark in self.marks.iter().filter(|mark| mark.period.is_none()) {
            for word in mark.text.to_lowercase().split(' ') {
                match word {
                    "minutes" | "minute" | "mins" => return Some(Some(TimeUnit::Minutes)),
                    "hours" | "hrs" => return Some(Some(TimeUnit::Hours)),
                    "days" | "nights" => return Some(Some(TimeUnit::Days)),
                    other => lasting |= LASTING.split(' ').any(|known| known == other),
                }
            }
        }
        lasting.then_some(None)
    }

    /// Times that the question names, in the order of its words.
    pub(super) fn named_times(&self) -> Vec<ColumnRef> {
        let mut named: Vec<ColumnRef> = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            let own = self.mentions.iter().filter(|mention| mention.at == at && mention.role == Role::Time);
            let mut places: Vec<ColumnRef> = own.map(|mention| mention.place).take(1).collect();
            if places.is_empty() && (mark.is_unknown() || mark.by_meaning) {
                places.extend(self.time_by_root(mark));
            }
            for place in places {
                if !named.contains(&place) {
                    named.push(place);
                }
            }
        }
        named
    }

    /// Aggregates of the time between two moments.
    pub(super) fn elapsed(&self, base: &Form) -> Vec<Measure> {
        let Some(unit) = self.asked_unit() else { return Vec::new() };
        let named = self.named_times();
        let all: Vec<ColumnRef> = (self.schema.places())
            .filter(|(place, role)| {
                *role == Role::Time && (place.table == base.table || named.contains(place))
            })
            .map(|(place, _)| place)
            .collect();
        let mut pairs: Vec<(ColumnRef, ColumnRef)> = Vec::new();
        let mut add = |left: ColumnRef, right: ColumnRef| {
            let pair = self.in_time_order(left, right);
            if left != right && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        };
        for (at, left) in named.iter().enumerate() {
            named.iter().skip(at + 1).for_each(|right| add(*left, *right));
        }
        for left in &named {
            let same = self.schema.places().filter(|(place, role)| {
                *role == Role::Time && (place.table == left.table || place.table == base.table)
            });
            same.for_each(|(right, _)| add(*left, right));
        }
        for (at, left) in all.iter().enumerate() {
            all.iter().skip(at + 1).for_each(|right| add(*left, *right));
        }
        let aggregates: Vec<Aggregate> = self
            .said_aggregates()
            .into_iter()
            .chain([Aggregate::Average])
            .filter(|aggregate| *aggregate != Aggregate::Sum)
            .take(2)
            .collect();
        let mut found = Vec::new();
        for (from, to) in pairs.into_iter().take(4) {
            let days = self.schema.column(from).is_some_and(|column| column.kind == Kind::Date);
            let unit = unit.unwrap_or(if days { TimeUnit::Days } else { TimeUnit::Minutes });
            for aggregate in &aggregates {
                let measure = Measure::Of(*aggregate, Scalar::Elapsed(from, to, unit));
                if !found.contains(&measure) {
                    found.push(measure);
                }
            }
        }
        found
    }

    /// The earlier of two columns of times first.
    fn in_time_order(&self, from: ColumnRef, to: ColumnRef) -> (ColumnRef, ColumnRef) {
        let moment = |value: &Value| match value {
            Value::Date(day) => day.and_hms_opt(0, 0, 0),
            Value::Time(moment) => Some(*moment),
            _ => None,
        };
        let ends = |place: ColumnRef| {
            let column = self.schema.column(place)?;
            moment(&column.min).zip(moment(&column.max))
        };
        let swaps = match ends(from).zip(ends(to)) {
            Some((first, second)) if first != second => second < first,
            _ => from.table == to.table && to.column < from.column,
        };
        if swaps { (to, from) } else { (from, to) }
    }

    /// Whether the question counts or averages a unit of time: "how many days".
    pub(super) fn counts_time(&self) -> bool {
        self.marks.iter().enumerate().any(|(at, mark)| {
            let unit = mark.text.to_lowercase().split(' ').any(|word| {
                matches!(word, "days" | "nights" | "hours" | "minutes" | "long" | "duration" | "time")
            });
            let asked = |mark: &super::super::link::Mark| {
                matches!(mark.operator, Some(Operator::Count | Operator::Aggregate(_)))
            };
            unit && (self.marks.iter().take(at).rev().take(3).any(asked)
                || self.marks.iter().skip(at + 1).take(4).any(asked))
        })
    }
}
