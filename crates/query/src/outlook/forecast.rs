//! "Forecast sales for the next quarter": a course over time that is carried on.

use super::{grain_of, grain_word, is_name, known_days, take, times, without};
use crate::catalogue::Catalogue;
use crate::chart::ChartKind;
use crate::planner::{ChartWish, Intent, Reading};
use crate::query::{Aggregate, Grain};
use crate::reader::{ColumnRef, Filter, Form, Group, Measure, Schema, lower};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use steward_text::period::containing;
use steward_text::tokens::Token;

/// Days from the first one to the day after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// First day.
    pub from: NaiveDate,
    /// Day after the last.
    pub to: NaiveDate,
}

/// How far a forecast reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Horizon {
    /// So many periods after the last whole one.
    Periods(usize),
    /// A span of the calendar.
    Span(Span),
}

/// A course over time that is carried on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The result column with the periods.
    pub time: String,
    /// The result column with the number.
    pub value: String,
    /// The result column with one value for each course.
    pub series: Option<String>,
    /// What a period is.
    pub grain: Grain,
    /// How far.
    pub horizon: Horizon,
    /// Sums and counts: a period without rows is 0, and periods add up.
    pub adds_up: bool,
    /// The last day of the data. A period that it cuts off is not whole.
    pub last_day: NaiveDate,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    tokens: Vec<Token>,
    last_day: NaiveDate,
}

/// Words that ask for a forecast.
const CUES: &[&str] = &[
    "forecast",
    "forecasts",
    "forecasted",
    "forecasting",
    "predict",
    "predicts",
    "predicted",
    "prediction",
    "predictions",
    "projection",
    "projections",
    "extrapolate",
    "outlook",
    "prognosis",
];

/// What the question says of the forecast, and the words that remain.
pub(super) fn wish(
    tokens: &[Token],
    catalogue: &Catalogue,
    anchor: NaiveDate,
) -> Option<(Vec<Token>, Grain, Wish)> {
    let mut taken = vec![false; tokens.len()];
    let mut cue = false;
    for (at, token) in tokens.iter().enumerate() {
        if CUES.contains(&token.word.as_str()) && !is_name(&token.word, catalogue) {
            cue = true;
            take(&mut taken, at, at + 1);
        }
    }
    let ahead = ahead(tokens, &mut taken, anchor);
    // "What will sales be next month?" asks for one without the word.
    let will = tokens.iter().position(|token| token.word == "will");
    if !cue {
        let (at, _) = will.zip(ahead.as_ref())?;
        take(&mut taken, at, at + 1);
    }
    for (at, token) in tokens.iter().enumerate() {
        let idle =
            matches!(token.word.as_str(), "will" | "be" | "we" | "have" | "expect" | "expected" | "likely")
                || matches!(token.word.as_str(), "for" | "over" | "in" | "during" | "of")
                    && (taken.get(at + 1).copied().unwrap_or(true)
                        || at > 0 && taken.get(at - 1) == Some(&true));
        if idle || matches!(token.word.as_str(), "?" | "." | "!") {
            take(&mut taken, at, at + 1);
        }
    }
    let rest = without(tokens, &taken);
    let said = rest.iter().find_map(|token| grain_of(&token.word));
    let days = known_days(catalogue);
    let grain = said.unwrap_or_else(|| match ahead.as_ref().map(|(_, unit)| *unit) {
        Some(Grain::Day) => Grain::Day,
        Some(Grain::Week) => Grain::Week,
        Some(_) => Grain::Month,
        None if days >= 400 => Grain::Month,
        None if days >= 60 => Grain::Week,
        None => Grain::Day,
    });
    Some((rest, grain, Wish { tokens: tokens.to_vec(), last_day: anchor }))
}

/// The time ahead that is named: "next quarter", "the next 3 months", "2026", "the rest of the
/// year".
fn ahead(tokens: &[Token], taken: &mut [bool], anchor: NaiveDate) -> Option<(Horizon, Grain)> {
    let word = |at: usize| tokens.get(at).map(|token| token.word.as_str()).unwrap_or_default();
    for at in 0..tokens.len() {
        let begin = if at > 0 && word(at - 1) == "the" { at - 1 } else { at };
        if matches!(word(at), "next" | "coming" | "following" | "upcoming") {
            let counted = tokens.get(at + 1).and_then(|token| token.number);
            let unit_at = if counted.is_some() { at + 2 } else { at + 1 };
            let unit = if matches!(word(unit_at), "few" | "couple") { unit_at + 1 } else { unit_at };
            if let Some(grain) = grain_of(word(unit)) {
                take(taken, begin, unit + 1);
                let horizon = match counted.filter(|count| (1.0..=400.0).contains(count)) {
                    Some(count) => Horizon::Periods(count as usize),
                    None if unit != unit_at => Horizon::Periods(3),
                    None => Horizon::Span(following(anchor, grain)?),
                };
                return Some((horizon, grain));
            }
        }
        let rest_of = word(at) == "rest" || word(at) == "end" || word(at) == "remainder";
        if rest_of && let Some(unit) = (at + 1..at + 4).find(|unit| grain_of(word(*unit)).is_some()) {
            let grain = grain_of(word(unit))?;
            let from = if at > 0 && word(at - 1) == "the" { at - 1 } else { at };
            take(taken, from, unit + 1);
            let now = containing(anchor, grain)?;
            return Some((Horizon::Span(Span { from: anchor.succ_opt()?, to: now.to }), grain));
        }
    }
    // A period behind the end of the data.
    let (from, to, period) = times(tokens, anchor).into_iter().find(|(.., period)| period.from > anchor)?;
    take(taken, from, to);
    Some((Horizon::Span(Span { from: period.from, to: period.to }), period.grain))
}

/// The whole period after the one that a day lies in.
fn following(day: NaiveDate, grain: Grain) -> Option<Span> {
    let now = containing(day, grain)?;
    // At the end of a period the next one begins tomorrow; it is the same.
    let next = containing(now.to, grain)?;
    Some(Span { from: next.from, to: next.to })
}

/// The reading with its forecast, if it is one number over time.
pub(super) fn apply(
    wish: &Wish,
    mut reading: Reading,
    asked: &str,
    catalogue: &Catalogue,
) -> Option<Reading> {
    let form: &Form = reading.form.as_ref()?;
    let grain = course(form)?;
    let measure = form.measures.first()?;
    let place =
        |wanted: bool| form.groups.iter().position(|group| matches!(group, Group::Period(..)) == wanted);
    let query = &reading.queries.first()?.query;
    let name = |at: usize| query.items.get(at).map(|item| item.name.clone());
    let day_of = form.groups.get(place(true)?)?.place();
    let column = catalogue.tables.get(day_of.table)?.columns.get(day_of.column)?;
    let last_day = crate::planner::filters::date_of(&column.max).unwrap_or(wish.last_day).min(wish.last_day);
    // A period that reaches the end of the data only shortens what the forecast can learn from.
    let shortens = |filter: &Filter| matches!(filter, Filter::Within(place, _, to) if *place == day_of && *to > last_day);
    let whole = form.filters.iter().any(shortens).then(|| {
        let filters = form.filters.iter().filter(|filter| !shortens(filter)).cloned().collect();
        Form { filters, ..form.clone() }
    });
    // The forecast goes on from the rows that it learns from: after "only 2025" that is 2026.
    let last_day = last_day_within(whole.as_ref().unwrap_or(form), day_of, last_day);
    let ahead = ahead(&wish.tokens, &mut vec![false; wish.tokens.len()], last_day);
    let course = Course {
        time: name(place(true)?)?,
        value: name(form.groups.len())?,
        series: place(false).and_then(name),
        grain,
        horizon: horizon(ahead, grain),
        adds_up: adds_up(measure),
        last_day,
    };
    let first = reading.queries.first_mut()?;
    asked.trim().clone_into(&mut first.title);
    if let Some(whole) = whole {
        first.query = lower::lower(&whole, &Schema::new(catalogue))?.query;
        reading.form = Some(whole);
    }
    let value = course.value.clone();
    reading.intent = Intent::Trend;
    reading.charts = vec![ChartWish {
        query: 0,
        kind: ChartKind::Line,
        x: course.time.clone(),
        y: if course.series.is_some() {
            vec![value]
        } else {
            vec![value, "forecast".into(), "low".into(), "high".into()]
        },
        series: course.series.clone(),
        title: asked.trim().to_owned(),
    }];
    reading.assumptions.push(format!(
        "The forecast carries on the course by {}; it knows of nothing that the data does not show.",
        grain_word(grain)
    ));
    reading.then = Some(super::Afterwards::Forecast(course));
    Some(reading)
}

/// The last day of the rows of a form, where a condition ends before the data does.
pub(super) fn last_day_within(form: &Form, time: ColumnRef, last_day: NaiveDate) -> NaiveDate {
    let ends = form.filters.iter().filter_map(|filter| match filter {
        Filter::Within(place, _, to) if *place == time => to.pred_opt(),
        _ => None,
    });
    ends.fold(last_day, NaiveDate::min)
}

/// The grain of a form that is one number over time, at most for each value of one other group.
pub(super) fn course(form: &Form) -> Option<Grain> {
    let plain = form.measures.len() == 1
        && form.groups.len() <= 2
        && !(form.share || form.change || form.running || form.pivot)
        && form.limit.is_none()
        && form.tally.is_none()
        && form.also.is_none();
    let mut grains = form.groups.iter().filter_map(|group| match group {
        Group::Period(_, grain) => Some(*grain),
        _ => None,
    });
    let grain = grains.next()?;
    (plain && grains.next().is_none()).then_some(grain)
}

/// Whether the numbers of two periods may be added.
fn adds_up(measure: &Measure) -> bool {
    matches!(
        measure,
        Measure::Rows
            | Measure::RowsWhere(_)
            | Measure::Of(Aggregate::Sum | Aggregate::Count, _)
            | Measure::OfWhere(Aggregate::Sum | Aggregate::Count, ..)
    )
}

fn horizon(ahead: Option<(Horizon, Grain)>, grain: Grain) -> Horizon {
    let days = |grain: Grain| match grain {
        Grain::Day => 1.0,
        Grain::Week => 7.0,
        Grain::Month => 30.44,
        Grain::Quarter => 91.3,
        Grain::Year => 365.25,
    };
    match ahead {
        Some((Horizon::Periods(count), unit)) => {
            let periods = (count as f64 * days(unit) / days(grain)).round().max(1.0);
            Horizon::Periods(periods as usize)
        }
        Some((span, _)) => span,
        None => Horizon::Periods(match grain {
            Grain::Day => 14,
            Grain::Week => 8,
            Grain::Month => 6,
            Grain::Quarter => 4,
            Grain::Year => 3,
        }),
    }
}
