//! The conditions of a question about rows: each mark may give one, in several ways or not at all.

use super::super::form::Filter;
use super::super::lexicon::{DatePart, Operator};
use super::super::link::{ColumnRef, Mark, ValueLink};
use super::super::lists::has_word;
use super::{Question, RowFeature, weigh};
use crate::frame::Kind;
use crate::query::{Compare, Grain};
use crate::roles::Role;
use chrono::Datelike;
use steward_text::calendar::MONTHS;
use steward_text::period::Period;

const PART: &str = "condition";
/// Sets of conditions that are looked at.
const SETS: usize = 12;
/// Marks that may give a condition.
const MARKS: usize = 8;

/// A condition that a mark may give.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The mark that names the value.
    pub mark: usize,
    /// Marks that it uses besides.
    pub beside: Vec<usize>,
    pub filter: Filter,
    pub features: Vec<RowFeature>,
}

/// Conditions that hold together.
#[derive(Debug, Clone, Default)]
pub(super) struct ConditionSet {
    pub choices: Vec<Choice>,
    /// What speaks for the set, and for leaving out what it leaves out.
    pub features: Vec<RowFeature>,
    score: f32,
}

impl ConditionSet {
    pub(super) fn uses(&self, at: usize) -> bool {
        self.choices.iter().any(|choice| choice.mark == at || choice.beside.contains(&at))
    }
    pub(super) fn has_place(&self, place: ColumnRef) -> bool {
        self.choices.iter().any(|choice| choice.filter.place() == place)
    }
    /// All conditions, without the one of a mark. Values of one column are alternatives.
    pub(super) fn filters_without(&self, mark: Option<usize>) -> Vec<Filter> {
        let mut all: Vec<Filter> = Vec::new();
        for choice in self.choices.iter().filter(|choice| Some(choice.mark) != mark) {
            let same = |known: &Filter| match (known, &choice.filter) {
                (
                    Filter::Values { place, negated, .. },
                    Filter::Values { place: other, negated: not, .. },
                ) => place == other && negated == not,
                _ => false,
            };
            if let Filter::Values { values, .. } = &choice.filter
                && let Some(Filter::Values { values: known, .. }) = all.iter_mut().find(|known| same(known))
            {
                // Of two marks for the same cells, both hold.
                let shared: Vec<String> =
                    values.iter().filter(|value| known.contains(value)).cloned().collect();
                if shared.is_empty() {
                    known.extend(values.iter().cloned());
                } else {
                    *known = shared;
                }
                continue;
            }
            if !all.contains(&choice.filter) {
                all.push(choice.filter.clone());
            }
        }
        all
    }
    pub(super) fn filters(&self) -> Vec<Filter> {
        self.filters_without(None)
    }
    /// Two conditions on different values of one column: the things that a question compares.
    pub(super) fn pair(&self) -> Option<(&Choice, &Choice)> {
        let values = |choice: &Choice| match &choice.filter {
            Filter::Values { place, values, negated: false } => Some((*place, values.clone())),
            Filter::Number(place, Compare::Equal, number) => Some((*place, vec![number.to_string()])),
            _ => None,
        };
        for (at, first) in self.choices.iter().enumerate() {
            let Some((place, known)) = values(first) else { continue };
            for second in self.choices.iter().skip(at + 1) {
                if values(second).is_some_and(|(other, own)| other == place && own != known) {
                    return Some((first, second));
                }
            }
        }
        None
    }
}

impl Question<'_> {
    /// Sets of conditions that the marks allow, the likeliest first.
    pub(super) fn condition_sets(&self) -> Vec<ConditionSet> {
        let mut options: Vec<(usize, Vec<Choice>)> = (0..self.marks.len())
            .map(|at| (at, self.choices(at)))
            .filter(|(_, choices)| !choices.is_empty())
            .collect();
        options.truncate(MARKS);
        let mut sets = vec![ConditionSet::default()];
        for (at, choices) in options {
            let mut next: Vec<ConditionSet> = Vec::new();
            let skipped = self.skipped(at);
            for set in sets {
                let mut without = set.clone();
                without.features.push(skipped);
                without.score += weigh(&[skipped]);
                next.push(without);
                // What another condition has used names no value.
                if set.uses(at) {
                    continue;
                }
                for choice in &choices {
                    let mut with = set.clone();
                    with.features.extend(choice.features.iter().copied());
                    with.score += weigh(&choice.features);
                    with.choices.push(choice.clone());
                    next.push(with);
                }
            }
            next.sort_by(|a, b| b.score.total_cmp(&a.score));
            next.truncate(SETS);
            sets = next;
        }
        sets
    }

    /// How much is lost when a mark gives no condition.
    fn skipped(&self, at: usize) -> RowFeature {
        let Some(mark) = self.marks.get(at) else { return ((PART, "no mark"), 1.0) };
        let named = mark.column_quality() >= mark.value_quality();
        let name = match mark.value_quality() {
            _ if mark.period.is_some() => "period left out",
            quality if quality >= 0.95 && !named => "whole value left out",
            quality if quality >= 0.75 && !named => "most of a value left out",
            quality if quality >= 0.5 && !named => "part of a value left out",
            quality if quality > 0.0 && !named => "weak value left out",
            quality if quality > 0.0 => "column rather than value",
            _ => "number left out",
        };
        ((PART, name), 1.0)
    }

    /// Conditions that a mark may give.
    fn choices(&self, at: usize) -> Vec<Choice> {
        let Some(mark) = self.marks.get(at) else { return Vec::new() };
        let mut found = self.value_choices(at, mark);
        if let Some(number) = mark.number {
            found.extend(self.number_choices(at, number));
        }
        if let Some(period) = &mark.period {
            found.extend(self.period_choices(at, period));
        }
        found.extend(self.month_choices(at));
        found
    }

    fn is_negated(&self, at: usize) -> bool {
        (at.saturating_sub(3)..at).any(|before| {
            self.operator(before) == Some(Operator::Not)
                || has_word("besides except", &self.text(before))
                || self.text(before) == "other" && self.text(before + 1) == "than"
        })
    }

    fn value_choices(&self, at: usize, mark: &Mark) -> Vec<Choice> {
        let beside = |place: ColumnRef| {
            (at.saturating_sub(3)..at + 3)
                .filter(|other| *other != at)
                .find(|other| self.naming(*other, place) >= 0.5)
        };
        let rank = |link: &ValueLink| link.quality + if beside(link.place).is_some() { 0.25 } else { 0.0 };
        let mut links: Vec<&ValueLink> = mark.values.iter().filter(|link| link.quality >= 0.3).collect();
        links.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.place.cmp(&b.place)));
        let negated = self.is_negated(at);
        let mut found = Vec::new();
        for (order, link) in links.into_iter().take(3).enumerate() {
            let mut names = vec![match link.quality {
                quality if quality >= 0.95 => "whole value",
                quality if quality >= 0.75 => "most of a value",
                quality if quality >= 0.5 => "part of a value",
                _ => "weak value",
            }];
            let near = beside(link.place);
            if near.is_some() {
                names.push("column said");
            }
            if order > 0 {
                names.push("other column");
            }
            if mark.column_quality() >= link.quality {
                names.push("value of a column's name");
            }
            if mark.operator.is_some() {
                names.push("value of an operator");
            }
            if link.values.len() > 1 {
                names.push("several cells");
            }
            if negated {
                names.push("negated");
            }
            let filter = Filter::Values { place: link.place, values: link.values.clone(), negated };
            found.push(choice(at, near.into_iter().collect(), filter, &names));
        }
        found
    }

    /// The comparison that stands around a number, with the marks that say it.
    pub(super) fn comparison(&self, at: usize) -> Option<(Compare, Vec<usize>)> {
        let sign = (at.saturating_sub(3)..at).rev().find_map(|before| match self.operator(before) {
            Some(Operator::Compare(compare)) => Some((compare, vec![before])),
            _ => None,
        });
        let behind = (at + 1..at + 4).find_map(|next| match self.operator(next) {
            Some(Operator::Compare(compare @ (Compare::GreaterOrEqual | Compare::LessOrEqual))) => {
                Some((compare, vec![next]))
            }
            _ => None,
        });
        let spelled = (self.text(at + 1) == "or")
            .then(|| match self.text(at + 2).as_str() {
                "more" | "greater" | "higher" | "above" | "better" | "over" | "longer" => {
                    Some(Compare::GreaterOrEqual)
                }
                "less" | "fewer" | "lower" | "below" | "shorter" => Some(Compare::LessOrEqual),
                _ => None,
            })
            .flatten()
            .map(|compare| (compare, vec![at + 1, at + 2]));
        spelled.or(behind).or(sign).map(|(compare, marks)| {
            let not = marks.first().and_then(|first| first.checked_sub(1));
            match not.filter(|before| self.operator(*before) == Some(Operator::Not)) {
                Some(before) => (opposite(compare), [marks.as_slice(), &[before]].concat()),
                None => (compare, marks),
            }
        })
    }

    /// "more than 100 wins", "attendance over 35,000", "95 laps", "in 1998".
    fn number_choices(&self, at: usize, number: f64) -> Vec<Choice> {
        let said = self.comparison(at);
        let compare = said.as_ref().map_or(Compare::Equal, |(compare, _)| *compare);
        let marks = said.as_ref().map(|(_, marks)| marks.clone()).unwrap_or_default();
        let near: Vec<usize> =
            [1_isize, 2, -1, -2, -3, -4, 3].iter().filter_map(|step| at.checked_add_signed(*step)).collect();
        let year = (1000.0..2200.0).contains(&number) && number.fract() == 0.0;
        let mut found: Vec<Choice> = Vec::new();
        let mut known: Vec<ColumnRef> = Vec::new();
        for other in near {
            for (place, _) in self.schema.places().filter(|(place, _)| self.is_number(*place)) {
                if self.naming(other, place) < 0.45 || known.contains(&place) {
                    continue;
                }
                known.push(place);
                let mut names = vec![match () {
                    () if year && self.schema.role(place) != Role::Year => "year of another column",
                    () if said.is_some() => "compared number, column said",
                    () => "number, column said",
                }];
                if known.len() > 1 {
                    names.push("other column");
                }
                let all = [marks.as_slice(), &[other]].concat();
                found.push(choice(at, all, Filter::Number(place, compare, number), &names));
            }
            if known.len() >= 2 {
                break;
            }
        }
        for (place, role) in self.schema.places() {
            if known.contains(&place) {
                continue;
            }
            let holds = self.schema.column(place).is_some_and(|column| {
                column.kind.is_number() && column.values.iter().any(|(value, _)| *value == number.to_string())
            });
            let name = match (role, holds) {
                (Role::Year, _) if year => "year",
                (_, true) if said.is_none() => "held number",
                (_, _) if said.is_some() && self.is_number(place) && role != Role::Year => "compared number",
                _ => continue,
            };
            if found.len() < 5 {
                found.push(choice(at, marks.clone(), Filter::Number(place, compare, number), &[name]));
            }
        }
        // "from 1998 to 2012", "between 5 and 9".
        let joins = has_word("to and - through until –", &self.text(at + 1));
        let joined = joins.then_some(at + 2);
        let high = joined.and_then(|next| Some((next, self.marks.get(next)?.number?)));
        if let Some((next, high)) = high.filter(|(_, high)| *high > number && said.is_none()) {
            let spans: Vec<Choice> = (found.iter().take(2))
                .map(|one| {
                    let filter = Filter::Between(one.filter.place(), number, high);
                    choice(at, [one.beside.as_slice(), &[at + 1, next]].concat(), filter, &["span"])
                })
                .collect();
            found.extend(spans);
        }
        found
    }

    fn period_choices(&self, at: usize, period: &Period) -> Vec<Choice> {
        let said = at.checked_sub(1).and_then(|before| match self.operator(before) {
            Some(Operator::Compare(compare)) => Some((compare, before)),
            Some(Operator::Since) => Some((Compare::GreaterOrEqual, before)),
            _ => None,
        });
        let beside: Vec<usize> = said.iter().map(|(_, before)| *before).collect();
        let compare = said.map(|(compare, _)| compare);
        let (from, to) = (f64::from(period.from.year()), f64::from(period.to.year() - 1));
        let mut found = Vec::new();
        for (place, role) in self.schema.places() {
            let filter = match role {
                Role::Year if period.grain == Grain::Year => match compare {
                    Some(compare @ (Compare::Less | Compare::GreaterOrEqual)) => {
                        Filter::Number(place, compare, from)
                    }
                    Some(compare) => Filter::Number(place, compare, to),
                    None if from < to => Filter::Between(place, from, to),
                    None => Filter::Number(place, Compare::Equal, from),
                },
                Role::Time => {
                    let far = |days: i64| {
                        period.from.checked_add_signed(chrono::Duration::days(days)).unwrap_or(period.from)
                    };
                    match compare {
                        Some(Compare::Less) => Filter::Within(place, far(-400_000), period.from),
                        Some(Compare::LessOrEqual) => Filter::Within(place, far(-400_000), period.to),
                        Some(Compare::Greater) => Filter::Within(place, period.to, far(400_000)),
                        Some(Compare::GreaterOrEqual) => Filter::Within(place, period.from, far(400_000)),
                        _ => Filter::Within(place, period.from, period.to),
                    }
                }
                _ => continue,
            };
            let named = (0..self.marks.len()).any(|other| self.naming(other, place) >= 0.6);
            let mut names = vec![if compare.is_some() { "compared period" } else { "period" }];
            if named {
                names.push("column said");
            }
            found.push(choice(at, beside.clone(), filter, &names));
        }
        found.truncate(3);
        found.extend(self.years_in_texts(at, period, compare, &beside));
        found
    }

    /// A year that stands in a text: "1906-07", "9 May 1906".
    fn years_in_texts(
        &self,
        at: usize,
        period: &Period,
        compare: Option<Compare>,
        beside: &[usize],
    ) -> Vec<Choice> {
        let (from, to) = (period.from.year(), (period.to.year() - 1).max(period.from.year()));
        let fits = |year: i32| match compare {
            Some(Compare::Less) => year < from,
            Some(Compare::LessOrEqual) => year <= to,
            Some(Compare::Greater) => year > to,
            Some(Compare::GreaterOrEqual) => year >= from,
            _ => (from..=to).contains(&year),
        };
        let year_of = |value: &str| {
            value
                .split(|c: char| !c.is_ascii_digit())
                .find(|part| part.len() == 4)
                .and_then(|part| part.parse::<i32>().ok())
                .filter(|year| (1000..2200).contains(year))
        };
        let mut found = Vec::new();
        for (place, values) in self.texts_that(|value| year_of(value).is_some_and(fits)) {
            let label = self.label(place);
            let timed = ["year", "season", "date"].iter().any(|word| label.contains(word));
            let filter = Filter::Values { place, values, negated: false };
            let name = if timed { "year in a date" } else { "year in a text" };
            found.push(choice(at, beside.to_vec(), filter, &[name]));
        }
        found.truncate(3);
        found
    }

    /// Text columns with the cells that fulfil a test, where some do.
    fn texts_that(&self, test: impl Fn(&str) -> bool) -> Vec<(ColumnRef, Vec<String>)> {
        (self.schema.places())
            .filter_map(|(place, _)| {
                let column = self.schema.column(place).filter(|column| column.kind == Kind::Text)?;
                let fitting = column.values.iter().filter(|(value, _)| test(value));
                let values: Vec<String> = fitting.map(|(value, _)| value.clone()).collect();
                (!values.is_empty()).then_some((place, values))
            })
            .collect()
    }

    /// "in May": the month of a day, or in a text that holds one.
    fn month_choices(&self, at: usize) -> Vec<Choice> {
        let text = self.text(at);
        let Some(month) = MONTHS.iter().position(|name| *name == text) else { return Vec::new() };
        let short = text.get(..3).unwrap_or_default().to_owned();
        let mut found = Vec::new();
        for (place, _) in self.schema.places().filter(|(_, role)| *role == Role::Time) {
            let filter = Filter::Parts(place, DatePart::Month, vec![month as u32 + 1]);
            found.push(choice(at, Vec::new(), filter, &["month"]));
        }
        let names_month = |value: &str| {
            let lower = value.to_lowercase();
            lower.chars().any(|c| c.is_ascii_digit())
                && lower.split(|c: char| !c.is_alphabetic()).any(|word| word == text || word == short)
        };
        for (place, values) in self.texts_that(names_month) {
            let filter = Filter::Values { place, values, negated: false };
            found.push(choice(at, Vec::new(), filter, &["month in a text"]));
        }
        found.truncate(3);
        found
    }
}

fn choice(mark: usize, beside: Vec<usize>, filter: Filter, names: &[&'static str]) -> Choice {
    Choice { mark, beside, filter, features: names.iter().map(|name| ((PART, *name), 1.0)).collect() }
}

fn opposite(compare: Compare) -> Compare {
    match compare {
        Compare::Greater => Compare::LessOrEqual,
        Compare::GreaterOrEqual => Compare::Less,
        Compare::Less => Compare::GreaterOrEqual,
        Compare::LessOrEqual => Compare::Greater,
        other => other,
    }
}
