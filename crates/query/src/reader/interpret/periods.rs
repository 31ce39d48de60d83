//! Periods and calendar parts of a question.

use super::super::form::{Filter, Group, Measure, Scalar};
use super::super::lexicon::{DatePart, Operator};
use super::super::link::ColumnRef;
use super::Interpreter;
use crate::planner::joins;
use crate::query::{Aggregate, Compare, Grain};
use crate::reader::lower::measure_places;
use crate::roles::Role;
use chrono::{Datelike, NaiveDate};
use steward_text::period::Period;
use steward_text::tokens::stem;

impl Interpreter<'_> {
    pub(super) fn time_column(&self) -> Option<ColumnRef> {
        let table = self.form.table;
        let of = |here: bool| {
            self.schema
                .places()
                .filter(move |(place, role)| *role == Role::Time && (place.table == table) == here)
                .map(|(place, _)| place)
                .next()
        };
        // A time that the question names comes first.
        let named = self
            .marks
            .iter()
            .filter(|mark| !mark.is_glue())
            .flat_map(|mark| &mark.columns)
            .find(|(place, quality)| *quality >= 0.6 && self.schema.role(*place) == Role::Time);
        named.map(|(place, _)| *place).or_else(|| of(true)).or_else(|| of(false))
    }

    pub(super) fn year_column(&self) -> Option<ColumnRef> {
        let table = self.form.table;
        let years = self.schema.places().filter(|(_, role)| *role == Role::Year).map(|(place, _)| place);
        let years: Vec<ColumnRef> = years.filter(|place| self.is_calendar_year(*place)).collect();
        years.iter().find(|place| place.table == table).or(years.first()).copied()
    }

    /// The year of something else, such as the one a house was built in, is meant only when it is
    /// named or when nothing else tells the time.
    fn is_calendar_year(&self, place: ColumnRef) -> bool {
        let label = self.label(place).to_lowercase();
        let plain = |word: &str| {
            matches!(word, "" | "year" | "yr" | "years" | "calendar" | "fiscal" | "season" | "the" | "of")
        };
        let extra: Vec<&str> =
            label.split(|c: char| !c.is_alphanumeric()).filter(|word| !plain(word)).collect();
        let said = |word: &str| {
            let stemmed = stem(word);
            (0..self.marks.len()).any(|at| self.text(at).split(' ').any(|said| stem(said) == stemmed))
        };
        extra.is_empty()
            || extra.iter().any(|word| said(word))
            || !self.schema.places().any(|(_, role)| role == Role::Time)
    }

    /// "first and last date", "when was the first": the ends of a column of times.
    pub(super) fn edges(&mut self, at: usize) -> bool {
        let edge = |word: &str| match word {
            "first" | "earliest" | "oldest" => Some(Aggregate::Min),
            "last" | "latest" | "newest" => Some(Aggregate::Max),
            _ => None,
        };
        let Some(first) = edge(&self.text(at)) else { return false };
        let mut ends = vec![(at, first)];
        let mut next = at + 1;
        while matches!(self.text(next).as_str(), "and" | "the" | "&" | "/") {
            next += 1;
        }
        if next > at + 1
            && let Some(second) = edge(&self.text(next)).filter(|second| *second != first)
        {
            ends.push((next, second));
            next += 1;
        }
        let time = self.has_role(next, |role| role == Role::Time)
            || matches!(self.text(next).as_str(), "date" | "dates" | "day")
                && ends.len() == 2
                && self.time_column().is_some();
        if !time {
            return false;
        }
        let named = self.column(next, |role| role == Role::Time);
        let Some(place) = named.or_else(|| self.time_column()) else { return false };
        ends.iter().for_each(|(at, _)| self.take(*at));
        self.take(next);
        for (_, aggregate) in ends {
            self.form.measures.push(Measure::Of(aggregate, Scalar::Column(place)));
        }
        true
    }

    /// Times that no word names are those of what is measured.
    pub(super) fn finish_times(&mut self) {
        let Some(best) = self.best_time() else { return };
        let words = self.marks.iter().filter(|mark| !mark.is_glue());
        let named: Vec<ColumnRef> = (words.flat_map(|mark| &mark.columns))
            .filter(|(_, quality)| *quality >= 0.6)
            .map(|(place, _)| *place)
            .chain(self.columns.iter().map(|(_, place)| *place))
            .collect();
        for filter in &mut self.form.filters {
            match filter {
                Filter::Within(place, ..) | Filter::WithinAny(place, _) | Filter::Parts(place, ..)
                    if !named.contains(place) =>
                {
                    *place = best;
                }
                _ => {}
            }
        }
        for group in &mut self.form.groups {
            match group {
                Group::Period(place, _) | Group::Part(place, _) if !named.contains(place) => *place = best,
                _ => {}
            }
        }
        let groups = std::mem::take(&mut self.form.groups);
        groups.into_iter().for_each(|group| self.add_group(group));
    }

    /// The time that belongs to what is measured: in its own table, or in one that each of its rows
    /// refers to.
    fn best_time(&self) -> Option<ColumnRef> {
        let mut places = Vec::new();
        self.form.measures.iter().for_each(|measure| measure_places(measure, &mut places));
        let head = places.first().map_or(self.form.table, |place| place.table);
        let catalogue = self.schema.catalogue;
        let head_name = &self.schema.table(head)?.name;
        let mut best: Option<(f32, ColumnRef)> = None;
        for (place, role) in self.schema.places().filter(|(_, role)| *role == Role::Time) {
            debug_assert_eq!(role, Role::Time);
            let table = &self.schema.table(place.table)?.name;
            let Some(steps) = joins::steps(catalogue, head_name, table) else { continue };
            let near = match steps {
                0 => 1.0,
                _ if joins::fans_out(catalogue, head_name, table) => 0.1,
                1 => 0.7,
                _ => 0.5,
            };
            let named = (self.marks.iter().flat_map(|mark| &mark.columns))
                .filter(|(known, _)| *known == place)
                .map(|(_, quality)| *quality)
                .fold(0.0, f32::max);
            let column = self.schema.column(place)?;
            let empty = column.nulls as f32 / (column.nulls + column.seen).max(1) as f32;
            let aside = ["birth", "born", "updated", "modified", "expir", "due", "hire", "signup", "until"];
            let label = column.label.to_lowercase();
            let aside = if aside.iter().any(|word| label.contains(word)) { 0.3 } else { 0.0 };
            let score = near + 0.5 * named - 0.2 * empty - aside - 0.02 * place.column as f32;
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, place));
            }
        }
        best.map(|(_, place)| place)
    }

    pub(super) fn period(&mut self, at: usize, period: &Period) {
        let whole_years = period.grain == Grain::Year;
        self.take(at);
        if let Some(before) = at.checked_sub(1)
            && matches!(
                self.mark(before).and_then(|mark| mark.operator),
                Some(Operator::Of | Operator::Filler)
            )
        {
            self.take(before);
        }
        if whole_years && let Some(year) = self.year_column() {
            let (from, to) = (f64::from(period.from.year()), f64::from(period.to.year() - 1));
            self.add_years(at, year, from, to);
            return;
        }
        let Some(time) = self.time_column() else {
            if let Some(used) = self.used.get_mut(at) {
                *used = false;
            }
            return;
        };
        let behind = match self.operator(at + 1) {
            Some(Operator::Compare(compare)) if self.text(at + 1).contains(' ') => Some(compare),
            _ => None,
        };
        let behind = behind.filter(|_| {
            let text = self.text(at + 1);
            text.starts_with("or ") || text.starts_with("and ")
        });
        if behind.is_some() {
            self.take(at + 1);
        }
        let bound = behind.or_else(|| self.bound_before(at));
        let far =
            |days: i64| period.from.checked_add_signed(chrono::Duration::days(days)).unwrap_or(period.from);
        let filter = match bound {
            Some(Compare::GreaterOrEqual) => Filter::Within(time, period.from, far(400_000)),
            Some(Compare::Greater) => Filter::Within(time, period.to, far(400_000)),
            Some(Compare::Less) => Filter::Within(time, far(-400_000), period.from),
            Some(Compare::LessOrEqual) => Filter::Within(time, far(-400_000), period.to),
            _ => Filter::Within(time, period.from, period.to),
        };
        // "between A and B", "from A to B": one span from the first to the last.
        let joined = self.range_before(at);
        if let (true, Some(Filter::Within(known, ..))) = (joined, self.form.filters.last())
            && *known == time
        {
            // "by how many percent from 2022 to 2023": the second against the first.
            let first = Period::span(self.form.filters.last().map_or(period.from, first_day), period.from);
            if self.form.change && whole_years && !self.compares_each() && first.grain == Grain::Year {
                let spans = vec![(first.from, first.to), (period.from, period.to)];
                self.form.filters.pop();
                self.form.filters.push(Filter::WithinAny(time, spans));
                self.form.has_before = true;
                self.add_group(Group::Period(time, Grain::Year));
                return;
            }
            if let Some(Filter::Within(_, _, to)) = self.form.filters.last_mut() {
                *to = period.to;
            }
            return;
        }
        self.add_filter(filter);
    }

    /// Whether every period is compared with the one before it.
    fn compares_each(&self) -> bool {
        (0..self.marks.len()).any(|at| {
            matches!(
                self.text(at).as_str(),
                "before" | "each" | "every" | "yearly" | "annual" | "per year" | "by year"
            )
        })
    }

    /// "last month vs the month before": the period before the one that was named.
    pub(super) fn period_before(&mut self, at: usize) -> bool {
        let word = self.text(at);
        let before = matches!(self.text(at + 1).as_str(), "before" | "earlier" | "prior")
            && matches!(word.as_str(), "month" | "week" | "quarter" | "year" | "day" | "one" | "period");
        let Some(Filter::Within(time, from, to)) =
            self.form.filters.iter().rev().find(|filter| matches!(filter, Filter::Within(..))).cloned()
        else {
            return false;
        };
        let Some(earlier) = Period::span(from, to).before().filter(|_| before) else { return false };
        self.take(at);
        self.take(at + 1);
        self.form.filters.push(Filter::Within(time, earlier.from, earlier.to));
        true
    }

    /// "against the year before", "compared with the previous month": the change from one to the
    /// next.
    pub(super) fn against_before(&mut self, at: usize) -> bool {
        let grain = |word: &str| match word {
            "day" => Some(Grain::Day),
            "week" => Some(Grain::Week),
            "month" => Some(Grain::Month),
            "quarter" => Some(Grain::Quarter),
            "year" => Some(Grain::Year),
            _ => None,
        };
        let word = self.text(at);
        let behind = matches!(self.text(at + 1).as_str(), "before" | "earlier" | "prior");
        let ahead = word.strip_prefix("previous ").or(word.strip_prefix("prior "));
        let Some(grain) = ahead.and_then(grain).or(grain(&word).filter(|_| behind)) else { return false };
        let asks = self.form.change
            || self.marks.iter().any(|mark| mark.operator == Some(Operator::Growth))
            || (0..at).any(|at| self.text(at) == "difference");
        if !asks {
            return false;
        }
        let words: Vec<usize> = (at..=at + usize::from(behind))
            .chain((0..at).filter(|at| self.text(*at) == "difference"))
            .collect();
        words.into_iter().for_each(|at| self.take(at));
        self.form.change = true;
        let timed = self.form.groups.iter().any(|group| {
            matches!(group, Group::Period(..))
                || matches!(group, Group::Column(place) if self.schema.role(*place) == Role::Year)
        });
        if !timed {
            self.group_period(grain);
        }
        true
    }

    /// "growth", "year over year": change against the period before, of the grain that is said.
    pub(super) fn growth(&mut self, at: usize) {
        self.form.change = true;
        let word = self.text(at);
        let grain = match word.split([' ', '-']).next().unwrap_or_default() {
            "year" | "yoy" | "annual" => Grain::Year,
            "quarter" | "qoq" => Grain::Quarter,
            "month" | "mom" => Grain::Month,
            "week" => Grain::Week,
            "day" => Grain::Day,
            _ => return,
        };
        let other = (self.marks.iter())
            .any(|mark| matches!(mark.operator, Some(Operator::Grain(said)) if said != grain));
        if other {
            // Each month against the same one a year ago is not what a change of months says.
            self.defaults += 1;
        } else if !self.form.groups.iter().any(|group| matches!(group, Group::Period(..))) {
            self.group_period(grain);
        }
    }

    /// A comparison that stands right before a period or a number.
    pub(super) fn bound_before(&mut self, at: usize) -> Option<Compare> {
        let before = (0..at).rev().find(|before| {
            !matches!(self.mark(*before).and_then(|mark| mark.operator), Some(Operator::Filler))
        })?;
        match self.mark(before)?.operator? {
            // "over 2024" is all of it.
            Operator::Compare(_) if self.text(before) == "over" => None,
            Operator::Compare(compare) => Some(compare),
            Operator::Since => {
                Some(Compare::GreaterOrEqual).filter(|_| self.text(before) != "from" || !self.range_after(at))
            }
            Operator::Until => Some(Compare::LessOrEqual),
            _ => None,
        }
    }
    pub(super) fn range_after(&self, at: usize) -> bool {
        matches!(self.text(at + 1).as_str(), "to" | "and" | "until" | "through" | "-" | "till")
            && self.mark(at + 2).is_some_and(|mark| mark.period.is_some() || mark.number.is_some())
    }
    pub(super) fn said(&self, word: &str) -> bool {
        (0..self.marks.len()).any(|at| self.text(at).split(' ').any(|said| said == word))
    }
    pub(super) fn range_before(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let joins = matches!(self.text(before).as_str(), "to" | "and" | "until" | "through" | "-" | "till");
        let opened = (0..before).rev().take(3).any(|at| {
            matches!(self.mark(at).and_then(|mark| mark.operator), Some(Operator::Between | Operator::Since))
        });
        let ranges = matches!(self.text(before).as_str(), "to" | "through" | "until" | "till" | "-")
            && before
                .checked_sub(1)
                .is_some_and(|first| self.mark(first).is_some_and(|mark| mark.period.is_some()));
        joins && opened || ranges
    }

    pub(super) fn add_years(&mut self, at: usize, year: ColumnRef, from: f64, to: f64) {
        let joined = self.range_before(at);
        let filter = match self.bound_before(at) {
            Some(compare @ (Compare::GreaterOrEqual | Compare::Less)) => Filter::Number(year, compare, from),
            Some(compare @ (Compare::Greater | Compare::LessOrEqual)) => Filter::Number(year, compare, to),
            _ if (from - to).abs() < 0.5 => Filter::Number(year, Compare::Equal, from),
            _ => Filter::Between(year, from, to),
        };
        if let (true, Some(known)) = (joined, self.form.filters.last_mut())
            && known.place() == year
            && let Filter::Number(_, _, first) = *known
        {
            *known = if self.form.change {
                Filter::Values {
                    place: year,
                    values: vec![first.to_string(), to.to_string()],
                    negated: false,
                }
            } else {
                Filter::Between(year, first, to)
            };
            return;
        }
        self.add_filter(filter);
    }

    pub(super) fn group_period(&mut self, grain: Grain) {
        if grain == Grain::Year
            && let Some(year) = self.year_column()
        {
            self.add_group(Group::Column(year));
        } else if let Some(time) = self.time_column() {
            self.add_group(Group::Period(time, grain));
        } else if let Some(year) = self.year_column() {
            self.add_group(Group::Column(year));
        }
    }
    pub(super) fn group_part(&mut self, part: DatePart) {
        if let Some(time) = self.time_column() {
            self.add_group(Group::Part(time, part));
        }
    }
}

fn first_day(filter: &Filter) -> NaiveDate {
    match filter {
        Filter::Within(_, from, _) => *from,
        _ => NaiveDate::MIN,
    }
}
