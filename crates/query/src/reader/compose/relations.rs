//! Conditions and measures about how several rows stand to each other: things without any such
//! row, days that repeat, two periods side by side, one number for so many of another, two columns
//! compared.

use super::super::form::{Baseline, Filter, Form, Group, Measure, OrderKey, Scalar};
use super::super::lexicon::{DatePart, Operator};
use super::super::link::{ColumnRef, Mark};
use super::search::Search;
use crate::query::{Aggregate, Compare};
use crate::roles::Role;
use chrono::{Datelike as _, NaiveDate};

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Words for orders of magnitude, as questions and names of columns write them.
const MAGNITUDES: [(&str, f64); 3] =
    [("k thousand thousands", 1e3), ("m mn mio mln million millions", 1e6), ("bn billion billions", 1e9)];

fn magnitude_of(words: &[String]) -> Option<f64> {
    (MAGNITUDES.iter())
        .find(|(names, _)| words.iter().skip(1).any(|word| names.split(' ').any(|name| name == word)))
        .map(|(_, times)| *times)
}

/// Whether a mark denies that something ever happened.
pub(crate) fn is_never(mark: &Mark) -> bool {
    matches!(mark.text.to_lowercase().as_str(), "never" | "not once" | "not a single")
}

/// The days that a word means, Monday being 1.
pub(crate) fn days_of(mark: &Mark) -> Option<Vec<u32>> {
    let word = mark.text.to_lowercase();
    let word = word.strip_suffix('s').unwrap_or(&word);
    match word {
        "weekend" => Some(vec![6, 7]),
        "weekday" | "working day" | "workday" => Some(vec![1, 2, 3, 4, 5]),
        day => WEEKDAYS.iter().zip(1..).find(|(name, _)| **name == day).map(|(_, number)| vec![number]),
    }
}

/// The hour of a day that a mark means, with what stands behind it: "8 am", "6 in the morning",
/// "18:00".
fn hour_of(mark: &Mark, behind: &[String]) -> Option<u32> {
    let word = mark.text.to_lowercase();
    if let Some((hours, minutes)) = word.split_once(':') {
        return hours.parse().ok().filter(|hour| *hour < 24 && minutes.starts_with("00"));
    }
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    let hour: u32 = digits.parse().ok().filter(|hour| *hour <= 24)?;
    let rest = word.get(digits.len()..).unwrap_or_default().trim();
    let said =
        |words: &[&str]| words.contains(&rest) || behind.iter().any(|next| words.contains(&next.as_str()));
    let next = |words: &[&str]| {
        words.contains(&rest) || behind.first().is_some_and(|next| words.contains(&next.as_str()))
    };
    if next(&["pm", "p.m."]) || hour < 12 && said(&["evening", "afternoon"]) {
        return Some(hour % 12 + 12);
    }
    (next(&["am", "a.m.", "o'clock", "h"]) || said(&["morning"])).then_some(hour % 24)
}

/// "per 1000": a number of things that something is counted for.
pub(super) fn says_per_many(marks: &[Mark]) -> bool {
    marks.iter().zip(marks.iter().skip(1)).any(|(per, number)| {
        per.text.eq_ignore_ascii_case("per") && number.number.is_some() && number.period.is_none()
    })
}

impl Search<'_> {
    /// Interpretations that differ from `base` in how rows stand to each other.
    pub(super) fn relations(&self, base: &Form, found: &mut Vec<Form>) {
        self.never(base, found);
        self.days(base, found);
        self.hours(base, found);
        self.two_periods(base, found);
        self.per_many(base, found);
        self.compared_numbers(base, found);
        self.beyond_average(base, found);
        self.scaled(base, found);
    }

    fn says_word(&self, words: &[&str]) -> bool {
        self.marks.iter().any(|mark| mark.text.to_lowercase().split(' ').any(|said| words.contains(&said)))
    }

    /// "which drivers never missed a collection": things, and no row of theirs fulfils a condition.
    fn never(&self, base: &Form, found: &mut Vec<Form>) {
        if !self.marks.iter().any(is_never) {
            return;
        }
        let denied = |filter: &Filter| matches!(filter, Filter::Values { negated: true, .. });
        let any_denied = base.filters.iter().any(denied);
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for filter in &base.filters {
            match filter {
                Filter::Values { place, values, negated: true } => {
                    inside.push(Filter::Values { place: *place, values: values.clone(), negated: false });
                }
                Filter::Within(..) | Filter::WithinAny(..) | Filter::Parts(..) => inside.push(filter.clone()),
                Filter::Flag(place, set) if !set => inside.push(Filter::Flag(*place, true)),
                _ if any_denied => outside.push(filter.clone()),
                _ => inside.push(filter.clone()),
            }
        }
        if inside.is_empty() {
            return;
        }
        let things = self.entities(base).into_iter().filter_map(|group| match group {
            Group::Column(place) if !inside.iter().any(|filter| filter.place() == place) => Some(place),
            _ => None,
        });
        for place in things.take(2) {
            let of =
                Form { table: place.table, show: vec![place], filters: inside.clone(), ..Form::default() };
            if super::super::lower::lower(&of, self.schema).is_none() {
                continue;
            }
            let filters = [outside.clone(), vec![Filter::Never(place, inside.clone())]].concat();
            let list = Form {
                table: place.table,
                filters,
                measures: Vec::new(),
                groups: Vec::new(),
                having: Vec::new(),
                beyond: Vec::new(),
                tally: None,
                show: vec![place],
                distinct: true,
                order: None,
                limit: None,
                within: None,
                ..base.clone()
            };
            if self.says(|operator| operator == Operator::Count) {
                let measures = vec![Measure::Of(Aggregate::CountDistinct, Scalar::Column(place))];
                found.push(Form { measures, show: Vec::new(), distinct: false, ..list.clone() });
            }
            found.push(list);
        }
    }

    /// "on a weekend", "on Mondays": days of the week, where no column holds them.
    fn days(&self, base: &Form, found: &mut Vec<Form>) {
        for (at, mark) in self.marks.iter().enumerate() {
            let Some(days) = days_of(mark).filter(|_| mark.values.is_empty()) else { continue };
            let placed = at.checked_sub(1).and_then(|before| self.marks.get(before));
            let on = |mark: &Mark| matches!(mark.operator, Some(Operator::Of | Operator::Filler));
            if mark.operator.is_some() && !placed.is_some_and(on) {
                continue;
            }
            for time in self.time_columns(base).into_iter().take(2) {
                let mut form = base.clone();
                form.filters.retain(|filter| !matches!(filter, Filter::Parts(..)));
                form.groups.retain(|group| !matches!(group, Group::Part(_, DatePart::Weekday)));
                form.filters.push(Filter::Parts(time, DatePart::Weekday, days.clone()));
                found.push(form);
            }
        }
    }

    /// "before 8 am", "after 18:00": hours of a day.
    fn hours(&self, base: &Form, found: &mut Vec<Form>) {
        for (at, mark) in self.marks.iter().enumerate() {
            let behind: Vec<String> =
                self.marks.iter().skip(at + 1).take(4).map(|mark| mark.text.to_lowercase()).collect();
            let Some(hour) = hour_of(mark, &behind) else { continue };
            let compare = self.marks.iter().take(at).rev().take(2).find_map(|mark| match mark.operator {
                Some(Operator::Compare(compare)) => Some(compare),
                Some(Operator::Since) => Some(Compare::GreaterOrEqual),
                Some(Operator::Until) => Some(Compare::Less),
                _ => None,
            });
            let hours: Vec<u32> = match compare {
                Some(Compare::Less | Compare::LessOrEqual) => (0..hour).collect(),
                Some(Compare::Greater | Compare::GreaterOrEqual) => (hour..24).collect(),
                _ => continue,
            };
            for time in self.time_columns(base).into_iter().take(3) {
                let mut form = base.clone();
                form.filters.retain(|filter| match filter {
                    Filter::Number(_, _, known) => Some(*known) != mark.number,
                    Filter::Missing(place, _) => *place != time,
                    _ => true,
                });
                form.having.retain(|(_, _, known)| Some(*known) != mark.number);
                form.groups.retain(|group| group.place() != time);
                form.filters.push(Filter::Parts(time, DatePart::Hour, hours.clone()));
                found.push(form);
            }
        }
    }

    /// Two periods that a condition holds: the first and the last year of a span, or two spans.
    fn pair_of_periods(&self, filter: &Filter) -> Option<(Filter, Filter)> {
        let year = |date: &NaiveDate, years: i32| NaiveDate::from_ymd_opt(date.year() + years, 1, 1);
        match filter {
            Filter::Within(place, from, to)
                if from.ordinal() == 1 && to.ordinal() == 1 && to.year() - from.year() > 1 =>
            {
                Some((
                    Filter::Within(*place, *from, year(from, 1)?),
                    Filter::Within(*place, year(to, -1)?, *to),
                ))
            }
            Filter::WithinAny(place, spans) => match spans.as_slice() {
                [(a, b), (c, d)] => {
                    let (first, last) = (Filter::Within(*place, *a, *b), Filter::Within(*place, *c, *d));
                    Some(if a < c { (first, last) } else { (last, first) })
                }
                _ => None,
            },
            Filter::Between(place, low, high) if self.schema.role(*place) == Role::Year => {
                let of = |year: f64| Filter::Number(*place, Compare::Equal, year);
                Some((of(*low), of(*high)))
            }
            Filter::Values { place, values, negated: false } if self.schema.role(*place) == Role::Year => {
                let mut years: Vec<f64> = values.iter().filter_map(|value| value.parse().ok()).collect();
                years.sort_by(f64::total_cmp);
                let of = |year: &f64| Filter::Number(*place, Compare::Equal, *year);
                match years.as_slice() {
                    [first, last] => Some((of(first), of(last))),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// "change from 2021 to 2024", "fewer in 2024 than in 2023": both periods and their difference.
    fn two_periods(&self, base: &Form, found: &mut Vec<Form>) {
        let (more, less) = (
            self.says_word(&["more", "grew", "rose", "increased", "gained", "higher"]),
            self.says_word(&["fewer", "less", "fell", "dropped", "declined", "lost", "lower", "shrank"]),
        );
        let said = self
            .says(|operator| matches!(operator, Operator::Growth | Operator::Versus | Operator::Contrast));
        if !said && !more && !less {
            return;
        }
        let pair = base.filters.iter().find_map(|filter| Some((filter, self.pair_of_periods(filter)?)));
        let Some((whole, (first, last))) = pair else { return };
        let filters: Vec<Filter> = base.filters.iter().filter(|filter| *filter != whole).cloned().collect();
        let groups: Vec<Group> = (base.groups.iter())
            .filter(|group| !matches!(group, Group::Period(..)) && group.place() != whole.place())
            .cloned()
            .collect();
        let measures = base.measures.first().cloned().into_iter().chain(self.first_sum(base));
        for measure in measures {
            let over = |period: &Filter| match &measure {
                Measure::Rows => Some(Measure::RowsWhere(Box::new(period.clone()))),
                Measure::Of(aggregate, scalar) => {
                    Some(Measure::OfWhere(*aggregate, scalar.clone(), Box::new(period.clone())))
                }
                _ => None,
            };
            let Some((before, after)) = over(&first).zip(over(&last)) else { continue };
            let change = Measure::Less(Box::new(after.clone()), Box::new(before.clone()));
            let percent = Measure::Percent(Box::new(change.clone()), Box::new(before.clone()));
            let share = self.says(|operator| operator == Operator::Share)
                || self.marks.iter().any(|mark| mark.percent || mark.text.contains('%'))
                || self.says_word(&["percent", "percentage", "pct", "rate"]);
            let key = OrderKey::Measure(if share { 3 } else { 2 });
            let plain = Form {
                filters: filters.clone(),
                measures: vec![before, after, change, percent],
                having: Vec::new(),
                beyond: Vec::new(),
                order: None,
                limit: None,
                within: None,
                change: false,
                share: false,
                pivot: false,
                show: Vec::new(),
                groups: groups.clone(),
                ..base.clone()
            };
            let mut sets = vec![groups.clone()];
            sets.extend(self.entities(base).into_iter().take(1).map(|group| vec![group]));
            sets.dedup();
            for groups in sets {
                let form = Form { groups: groups.clone(), ..plain.clone() };
                if groups.is_empty() {
                    found.push(form);
                    continue;
                }
                for (largest, limit) in self.extremes().into_iter().take(1) {
                    let (order, limit) = (Some((key, largest != less)), Some(limit.unwrap_or(1)));
                    found.push(Form { order, limit, ..form.clone() });
                }
                if (more || less) && self.says(|operator| operator == Operator::Which) {
                    let compare = if less { Compare::Less } else { Compare::Greater };
                    found.push(Form { having: vec![(2, compare, 0.0)], ..form.clone() });
                }
                found.push(form);
            }
        }
    }

    /// The sum of the first number that is named, where no measure is one.
    fn first_sum(&self, base: &Form) -> Option<Measure> {
        let named = self.free(base).find(|mention| mention.role.is_number())?;
        let measure = Measure::Of(Aggregate::Sum, Scalar::Column(named.place));
        (base.measures.first() != Some(&measure)).then_some(measure)
    }

    /// "beds per 1000 inhabitants", "gdp per capita": one number for so many of another.
    fn per_many(&self, base: &Form, found: &mut Vec<Form>) {
        for (at, mark) in self.marks.iter().enumerate() {
            let per = mark.operator == Some(Operator::Group)
                && matches!(mark.text.to_lowercase().as_str(), "per" | "for every" | "for each" | "each");
            if !per {
                continue;
            }
            let next = self.marks.get(at + 1);
            let many = next.and_then(|mark| mark.number.filter(|_| mark.period.is_none()));
            let noun = if many.is_some() { at + 2 } else { at + 1 };
            let Some(said) = self.marks.get(noun) else { continue };
            let head = said.text.to_lowercase() == "capita";
            if many.is_none() && !head {
                continue;
            }
            let mut below: Vec<ColumnRef> = (self.mentions.iter())
                .filter(|mention| mention.at == noun && mention.role.is_number())
                .map(|mention| mention.place)
                .collect();
            if head || below.is_empty() && said.text.eq_ignore_ascii_case("people") {
                let people = ["population", "inhabitants", "residents", "people"];
                below.extend(self.schema.places().filter_map(|(place, role)| {
                    let fits = people.iter().any(|word| self.schema.fits(place, word) >= 0.8);
                    (role.is_number() && fits).then_some(place)
                }));
            }
            let above =
                self.mentions.iter().rev().find(|mention| mention.at < at && mention.role.is_number());
            for (below, above) in below.into_iter().take(2).zip(above.into_iter().cycle()) {
                let sum = |place: ColumnRef| Box::new(Measure::Of(Aggregate::Sum, Scalar::Column(place)));
                let measure = match many {
                    Some(many) => Measure::PerMany(sum(above.place), many, sum(below)),
                    None => Measure::Ratio(sum(above.place), sum(below)),
                };
                let mut form = Form { measures: vec![measure], show: Vec::new(), ..base.clone() };
                form.having.clear();
                form.filters.retain(|filter| match filter {
                    Filter::Number(_, _, known) => many.is_none_or(|many| (known - many).abs() > 1e-9),
                    other => other.place() != below,
                });
                form.groups.retain(|group| ![below, above.place].contains(&group.place()));
                for (largest, limit) in self.extremes().into_iter().take(1) {
                    for group in self.entities(base).into_iter().take(1) {
                        found.push(Form {
                            groups: vec![group],
                            order: Some((OrderKey::Measure(0), largest)),
                            limit: Some(limit.unwrap_or(1)),
                            ..form.clone()
                        });
                    }
                }
                found.push(form);
            }
        }
    }

    /// "more deaths than births": two numbers of a row compared.
    fn compared_numbers(&self, base: &Form, found: &mut Vec<Form>) {
        let text = |at: usize| self.marks.get(at).map(|mark| mark.text.to_lowercase()).unwrap_or_default();
        for than in (0..self.marks.len()).filter(|at| text(*at) == "than" || text(*at).ends_with(" than")) {
            let compare = (0..=than).rev().take(6).find_map(|at| {
                let word = text(at);
                match word.split(' ').next().unwrap_or_default() {
                    "more" | "higher" | "greater" | "larger" | "bigger" | "longer" => Some(Compare::Greater),
                    "fewer" | "less" | "lower" | "smaller" | "shorter" => Some(Compare::Less),
                    _ => None,
                }
            });
            let number = |mention: &&super::mentions::Mention| mention.role.is_number();
            let left = self.mentions.iter().filter(number).rfind(|mention| mention.at < than);
            let right = self.mentions.iter().filter(number).find(|mention| mention.at > than);
            let (Some(compare), Some(left), Some(right)) = (compare, left, right) else { continue };
            if left.place == right.place {
                continue;
            }
            let mut form = base.clone();
            form.filters.push(Filter::Columns(left.place, compare, right.place));
            form.measures.retain(|measure| {
                let mut places = Vec::new();
                super::super::lower::measure_places(measure, &mut places);
                !places.contains(&left.place) && !places.contains(&right.place)
            });
            form.having.clear();
            form.beyond.clear();
            if form.measures.is_empty() && self.says(|operator| operator == Operator::Count) {
                form.measures.push(Measure::Rows);
            }
            if form.measures.is_empty() {
                form.groups.clear();
                form.order = None;
            }
            found.push(form);
        }
    }

    /// "months above the average month": groups against the average of all groups.
    fn beyond_average(&self, base: &Form, found: &mut Vec<Form>) {
        let average = base.filters.iter().find_map(|filter| match filter {
            Filter::Average(place, compare, None) => Some((filter, *place, *compare)),
            _ => None,
        });
        let Some((filter, place, compare)) = average else { return };
        let filters: Vec<Filter> = base.filters.iter().filter(|known| *known != filter).cloned().collect();
        let mut groups: Vec<Group> = base.groups.iter().take(1).cloned().collect();
        groups.extend(self.times(base).into_iter().take(1));
        groups.extend(self.entities(base).into_iter().take(1));
        groups.dedup();
        for group in groups.into_iter().take(2) {
            found.push(Form {
                filters: filters.clone(),
                groups: vec![group],
                measures: vec![Measure::Of(Aggregate::Sum, Scalar::Column(place))],
                having: Vec::new(),
                beyond: vec![(0, compare, Baseline::Groups)],
                show: Vec::new(),
                order: None,
                limit: None,
                ..base.clone()
            });
        }
    }

    /// "190000 million" where the column is in millions: the number as the column has it.
    fn scaled(&self, base: &Form, found: &mut Vec<Form>) {
        let said = self.marks.iter().filter_map(|mark| {
            let words: Vec<String> = mark.text.to_lowercase().split(' ').map(str::to_owned).collect();
            Some((mark.number?, magnitude_of(&words)?))
        });
        for (number, times) in said {
            let in_units = |place: ColumnRef| {
                let label = self.schema.column(place).map(|column| column.label.as_str()).unwrap_or_default();
                magnitude_of(&steward_text::tokens::name_words(label)) == Some(times)
            };
            let mut form = base.clone();
            for filter in &mut form.filters {
                if let Filter::Number(place, _, known) = filter
                    && (*known - number).abs() < 1e-6
                    && in_units(*place)
                {
                    *known /= times;
                }
            }
            for (at, _, known) in &mut form.having {
                let mut places = Vec::new();
                if let Some(measure) = base.measures.get(*at) {
                    super::super::lower::measure_places(measure, &mut places);
                }
                if (*known - number).abs() < 1e-6 && places.into_iter().any(in_units) {
                    *known /= times;
                }
            }
            found.push(form);
        }
    }
}
