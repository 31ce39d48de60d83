//! Periods and sums of a result, as its query shows them: which columns are periods, whether the
//! data covers the last one to its end, and which numbers must not be added up.

use super::column;
use crate::catalogue::Catalogue;
use crate::frame::Value;
use crate::query::{Aggregate, Expr, Grain, Query};
use chrono::{Days, NaiveDate};
use steward_text::period::containing;

/// The last period of a result that the data does not cover to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnfinishedPeriod {
    /// Its first day.
    pub from: NaiveDate,
    /// How long a period is.
    pub grain: Grain,
    /// The last day of the data.
    pub last_day: NaiveDate,
}

impl UnfinishedPeriod {
    /// The period in words: `November 2026`.
    #[must_use]
    pub fn words(&self) -> String {
        period_words(self.from, self.grain)
    }
}

/// A period in words: `November 2026`, `2026`.
#[must_use]
pub fn period_words(day: NaiveDate, grain: Grain) -> String {
    containing(day, grain).map_or_else(|| day.to_string(), |period| period.words())
}

/// The grain of each column of a result that is a period.
#[must_use]
pub fn grains(query: &Query) -> Vec<Option<Grain>> {
    query.items.iter().map(|item| grain(&item.expr, query)).collect()
}

fn grain(expr: &Expr, query: &Query) -> Option<Grain> {
    match (expr, &query.from) {
        (Expr::Truncate(grain, _), _) => Some(*grain),
        (Expr::Column(_, name), Some(inner)) => {
            let item = inner.items.iter().find(|item| item.name == *name)?;
            grain(&item.expr, inner)
        }
        _ => None,
    }
}

/// The last period of the result, if the data ends before it does. Data that has one record for
/// each period, or is sparse, is not cut off.
#[must_use]
pub fn unfinished(query: &Query, catalogue: &Catalogue) -> Option<UnfinishedPeriod> {
    let (grain, time) = query.items.iter().find_map(|item| match &item.expr {
        Expr::Truncate(grain, inner) => Some((*grain, inner.as_ref())),
        Expr::Part(Grain::Year, inner) => Some((Grain::Year, inner.as_ref())),
        _ => None,
    })?;
    let Expr::Column(alias, name) = time else { return None };
    let known = column(query, catalogue, alias, name)?;
    let (first_day, last_day) = (day_of(&known.min)?, day_of(&known.max)?);
    let period = containing(last_day, grain)?;
    let length = (period.to - period.from).num_days();
    let days = (last_day - first_day).num_days();
    let gap = days / i64::try_from(known.distinct.saturating_sub(1)).ok()?.clamp(1, days.max(1));
    let slack = (2 * gap).clamp(1, (length / 4).max(1));
    let is_covered = gap * 10 >= length * 8
        || last_day.checked_add_days(Days::new(u64::try_from(slack).ok()?))? >= period.to;
    (!is_covered && length > 1).then_some(UnfinishedPeriod { from: period.from, grain, last_day })
}

fn day_of(value: &Value) -> Option<NaiveDate> {
    match value {
        Value::Date(day) => Some(*day),
        Value::Time(moment) => Some(moment.date()),
        Value::Text(text) => NaiveDate::parse_from_str(text.get(..10)?, "%Y-%m-%d").ok(),
        _ => None,
    }
}

/// The columns of a result whose numbers must not be added up: averages, ratios, distinct counts.
#[must_use]
pub fn not_additive(query: &Query) -> Vec<String> {
    let items = query.items.iter().filter(|item| is_computed(&item.expr) && !is_additive(&item.expr));
    items.map(|item| item.name.clone()).collect()
}

fn is_computed(expr: &Expr) -> bool {
    match expr {
        Expr::Column(..) | Expr::Literal(_) | Expr::Star | Expr::Truncate(..) | Expr::Part(..) => false,
        Expr::Arithmetic(..) => true,
        Expr::Aggregate(..) | Expr::ShareOfTotal(_) | Expr::RunningSum { .. } => true,
        other => other.children().into_iter().any(is_computed),
    }
}

fn is_additive(expr: &Expr) -> bool {
    match expr {
        Expr::Aggregate(Aggregate::Sum | Aggregate::Count, _) => true,
        Expr::Arithmetic('+' | '-', left, right) => is_additive(left) && is_additive(right),
        Expr::Arithmetic('*', left, right) => {
            is_additive(left) && matches!(**right, Expr::Literal(_))
                || !has_aggregate(left) && !has_aggregate(right)
        }
        Expr::Arithmetic('/', left, right) => is_additive(left) && matches!(**right, Expr::Literal(_)),
        Expr::When(_, value) | Expr::Previous { value, .. } => is_additive(value),
        _ => false,
    }
}

fn has_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate(..)) || expr.children().into_iter().any(has_aggregate)
}
