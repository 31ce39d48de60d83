//! Comparisons with an average: of all rows, of the rows of the same kind, of all groups.

use super::super::form::{Baseline, Filter, Group, Measure, Scalar};
use super::super::lexicon::{Operator, adjective};
use super::super::link::ColumnRef;
use super::Interpreter;
use crate::query::{Aggregate, Compare};
use crate::roles::Role;

impl Interpreter<'_> {
    /// "above the overall average", "than the average film of its own genre".
    pub(super) fn compare_average(&mut self, at: usize, compare: Compare) -> bool {
        let ahead: Vec<usize> = (at + 1..self.marks.len()).take(4).collect();
        let Some(average) = ahead.into_iter().find(|at| self.is_average(*at)) else { return false };
        let between = (at + 1..average).all(|at| {
            matches!(
                self.text(at).as_str(),
                "overall" | "the" | "general" | "total" | "its" | "own" | "their"
            )
        });
        if !between {
            return false;
        }
        let own = (average..self.marks.len())
            .find(|at| matches!(self.text(*at).as_str(), "own" | "same"))
            .and_then(|own| self.next(own).map(|next| (own, next)))
            .filter(|(_, next)| self.is_groupable(*next));
        let behind = self.next(average);
        let number = behind
            .filter(|behind| self.is_numeric(*behind))
            .or_else(|| self.following(average, |reader, at| reader.is_numeric(at)))
            .or_else(|| (0..at).rev().find(|at| self.is_numeric(*at)));
        let explicit = self.form.measures.iter().rposition(|measure| match measure {
            Measure::Of(_, Scalar::Column(place)) => !self.implicit.contains(place),
            _ => false,
        });
        let things = self.thing_column();
        let of_things = behind.is_some_and(|behind| {
            self.mark(behind).is_some_and(|mark| {
                mark.columns.iter().any(|(place, quality)| *quality >= 0.5 && Some(*place) == things)
            })
        });
        let Some(place) = number.and_then(|number| self.column(number, Role::is_number)) else {
            return false;
        };
        let summed =
            self.form.measures.iter().rposition(
                |measure| matches!(measure, Measure::Of(_, Scalar::Column(known)) if *known == place),
            );
        (at..=average).for_each(|at| self.take(at));
        if let Some((own, kind)) = own {
            let Some(within) = self.column(kind, |_| true) else { return false };
            self.take_span(average, own.max(kind));
            self.forget(place);
            self.form.filters.push(Filter::Average(place, compare, Some(within)));
            return true;
        }
        self.take_named(average, place, things);
        match (things, explicit.or(summed)) {
            (Some(thing), Some(measure)) if of_things || explicit.is_some() => {
                self.subjects.retain(|(_, known)| *known != thing);
                self.add_group(Group::Column(thing));
                let baseline = if of_things { Baseline::Groups } else { Baseline::Overall };
                if !of_things || self.schema.role(place) == Role::Measure {
                    self.form.beyond.push((measure, compare, baseline));
                }
            }
            _ => {
                self.forget(place);
                self.form.filters.push(Filter::Average(place, compare, None));
            }
        }
        true
    }

    /// "more revenue than the average channel", "warmer than its own average".
    pub(super) fn than_average(&mut self, at: usize) -> bool {
        if self.text(at) != "than" {
            return false;
        }
        let compare = (0..at).rev().find_map(|before| match self.text(before).as_str() {
            "more" | "higher" | "greater" | "larger" | "better" | "longer" => Some(Compare::Greater),
            "less" | "fewer" | "lower" | "smaller" | "shorter" | "worse" => Some(Compare::Less),
            word => {
                let root = word.strip_suffix("er")?;
                let most = format!("{root}est");
                let known = adjective(&most, true)?;
                Some(if known.largest { Compare::Greater } else { Compare::Less })
            }
        });
        compare.is_some_and(|compare| self.compare_average(at, compare))
    }

    fn is_average(&self, at: usize) -> bool {
        matches!(self.mark(at).and_then(|mark| mark.operator), Some(Operator::Aggregate(Aggregate::Average)))
    }

    fn following(&self, at: usize, wanted: fn(&Self, usize) -> bool) -> Option<usize> {
        (at + 1..self.marks.len()).take(4).find(|at| wanted(self, *at))
    }

    /// The column of the things that are asked about.
    pub(super) fn thing_column(&self) -> Option<ColumnRef> {
        let subject = self.subjects.iter().map(|(_, place)| *place).find(|place| {
            matches!(self.schema.role(*place), Role::Category | Role::Text | Role::Identifier | Role::Year)
        });
        subject.or_else(|| match self.form.groups.first() {
            Some(Group::Column(place)) => Some(*place),
            _ => None,
        })
    }

    fn take_span(&mut self, from: usize, to: usize) {
        (from..=to).for_each(|at| self.take(at));
    }

    /// Uses the words behind an average that repeat what is compared, and conditions that hold
    /// already.
    fn take_named(&mut self, average: usize, place: ColumnRef, things: Option<ColumnRef>) {
        for at in average + 1..self.marks.len().min(average + 5) {
            let again = self.mark(at).is_some_and(|mark| {
                mark.columns.iter().any(|(known, _)| *known == place || Some(*known) == things)
                    || mark
                        .values
                        .iter()
                        .any(|link| self.form.filters.iter().any(|filter| filter.place() == link.place))
            });
            if again {
                self.take(at);
            }
        }
    }

    /// A column that is compared is no measure of its own.
    pub(super) fn forget(&mut self, place: ColumnRef) {
        self.form
            .measures
            .retain(|measure| !matches!(measure, Measure::Of(_, Scalar::Column(known)) if *known == place));
    }
}
