//! Findings about change: over time, between categories over time, and against an earlier period.
//!
//! Invariant: a change is always stated with both ends, and in percent only where a percentage is
//! meaningful.

use super::trend::trend;
use super::{Finding, Group, Measure, percent, plural, words};
use crate::chart::{grain, label_text, moment, moment_at, seconds};
use crate::frame::group;
use std::collections::HashMap;

/// The wording for one period.
struct Period {
    one: String,
    before: &'static str,
}

fn period(measure: &Measure<'_>, times: &[Group], column: &str) -> Period {
    let at = measure.frame.position(column);
    let moments = at.is_some_and(|at| measure.frame.column(at).any(|value| moment(value).is_some()));
    let seconds: Vec<f64> = times.iter().map(|group| group.at).collect();
    let weekly = seconds.windows(2).all(|pair| matches!(pair, [a, b] if (b - a) % 604_800.0 == 0.0));
    let (one, before) = match label_text(grain(&seconds)) {
        _ if !moments && times.iter().all(|group| group.at >= 1000.0) => ("year", "in"),
        _ if !moments => return Period { one: words(column), before: "in" },
        "day" if weekly => ("week", "on"),
        "day" => ("day", "on"),
        "hour" | "minute" => ("moment", "at"),
        word => (word, "in"),
    };
    Period { one: one.to_owned(), before }
}

/// Change, trend, extremes, the largest step and the total of a series. Only whole periods are
/// compared; the total is that of all.
pub(super) fn over_time(
    measure: &Measure<'_>,
    times: &[Group],
    all: &[Group],
    column: &str,
    category: Option<usize>,
) -> Vec<Finding> {
    let period = period(measure, all, column);
    let mut out = Vec::new();
    if times.len() > 1 {
        out.extend(first_to_last(measure, times, column, &period));
    }
    out.extend(direction(measure, times, &period));
    out.extend(a_year_before(measure, times, column, &period));
    out.extend(extremes(measure, times, column, &period));
    if times.len() > 2 {
        out.extend(largest_step(measure, times, column));
    }
    // With categories the space is used for those.
    if measure.additive && category.is_none() {
        out.extend(total(measure, all, column, &period));
    }
    out
}

/// Appends "up 5 (+10 %)" for the change from one group to another.
fn moved(finding: Finding, measure: &Measure<'_>, from: &Group, to: &Group) -> Finding {
    let rows: Vec<usize> = from.rows.iter().chain(&to.rows).copied().collect();
    let change = to.value - from.value;
    let finding = finding.say(if change < 0.0 { "down " } else { "up " });
    let finding = finding.cell(&measure.step(change), "change", &rows, measure.column);
    let points = matches!(measure.unit, crate::frame::Unit::Share | crate::frame::Unit::Percent);
    match percent(from.value, to.value).filter(|_| !points) {
        Some(text) => finding.say(" (").cell(&text, "change_percent", &rows, measure.column).say(")"),
        None => finding,
    }
}

fn first_to_last(measure: &Measure<'_>, times: &[Group], column: &str, period: &Period) -> Option<Finding> {
    let (first, last) = (times.first()?, times.last()?);
    let value = |finding: Finding, group: &Group| {
        let op = Measure::operation(&group.rows);
        let finding = finding.cell(&measure.say(group.value), op, &group.rows, measure.column);
        finding.say(&format!(" {} ", period.before)).cell(&group.label, "label", &group.rows, column)
    };
    if first.value == last.value {
        let start =
            Finding::default().say(&format!("{} did not change from first to last: ", measure.title()));
        return Some(value(value(start, first).say(" and "), last).say("."));
    }
    let verb = if last.value > first.value { "rose" } else { "fell" };
    let start = Finding::default().say(&format!("{} {verb} from ", measure.title()));
    let both = value(value(start, first).say(" to "), last).say(", ");
    Some(moved(both, measure, first, last).say("."))
}

fn direction(measure: &Measure<'_>, times: &[Group], period: &Period) -> Option<Finding> {
    let values: Vec<f64> = times.iter().map(|group| group.value).collect();
    let trend = trend(&values)?;
    let rows: Vec<usize> = times.iter().flat_map(|group| group.rows.iter().copied()).collect();
    let chance = if trend.p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {:.3}", trend.p) };
    let clear = trend.p < 0.05 && trend.slope != 0.0;
    let start = if clear {
        let (way, more) = if trend.slope > 0.0 { ("upward", "more") } else { ("downward", "less") };
        Finding::default()
            .say(&format!("The trend is {way}: typically "))
            .cell(&measure.step(trend.slope), "slope", &rows, measure.column)
            .say(&format!(" {more} each {} (", period.one))
    } else {
        Finding::default().say(&format!("There is no clear trend in {} (", measure.name()))
    };
    Some(
        start
            .say("Mann-Kendall test over ")
            .cell(&group(times.len() as f64, 0, false), "count", &rows, measure.column)
            .say(&format!(" {}, ", plural(&period.one)))
            .cell(&chance, "p_value", &rows, measure.column)
            .say(")."),
    )
}

/// The last period against the same one a year before, if both exist and it adds information.
fn a_year_before(measure: &Measure<'_>, times: &[Group], column: &str, period: &Period) -> Option<Finding> {
    if !matches!(period.one.as_str(), "month" | "quarter") {
        return None;
    }
    let last = times.last()?;
    let before = moment_at(last.at).checked_sub_months(chrono::Months::new(12)).map(seconds)?;
    let same = times.iter().skip(1).find(|group| group.at == before)?;
    let op = Measure::operation(&same.rows);
    let start = Finding::default().say(&format!("Compared with the same {} a year before (", period.one));
    let start = start.cell(&same.label, "label", &same.rows, column).say(": ");
    let start = start.cell(&measure.say(same.value), op, &same.rows, measure.column).say("), ");
    let start = start.cell(&last.label, "label", &last.rows, column).say(" is ");
    if same.value == last.value {
        return Some(start.say("the same."));
    }
    Some(moved(start, measure, same, last).say("."))
}

fn extremes(measure: &Measure<'_>, times: &[Group], column: &str, period: &Period) -> Option<Finding> {
    let high = times.iter().max_by(|a, b| a.value.total_cmp(&b.value).then(b.at.total_cmp(&a.at)))?;
    let low = times.iter().min_by(|a, b| a.value.total_cmp(&b.value).then(a.at.total_cmp(&b.at)))?;
    // If the ends are the extremes, the change from first to last already says it.
    let ends = [times.first()?.at, times.last()?.at];
    if high.value == low.value || ends.contains(&high.at) && ends.contains(&low.at) {
        return None;
    }
    let value = |finding: Finding, best: &Group| {
        let ties: Vec<&Group> = times.iter().filter(|group| group.value == best.value).collect();
        let finding = finding.cell(
            &measure.say(best.value),
            Measure::operation(&best.rows),
            &best.rows,
            measure.column,
        );
        let finding =
            finding.say(&format!(" {} ", period.before)).cell(&best.label, "label", &best.rows, column);
        if ties.len() == 1 {
            return finding;
        }
        let rows: Vec<usize> = ties.iter().skip(1).flat_map(|group| group.rows.iter().copied()).collect();
        let others = ties.len() - 1;
        let name = if others == 1 { period.one.clone() } else { plural(&period.one) };
        finding.say(" and ").cell(&others.to_string(), "count", &rows, column).say(&format!(" other {name}"))
    };
    let start = Finding::default().say(&format!("{} peaked at ", measure.title()));
    Some(value(value(start, high).say("; the lowest value is "), low).say("."))
}

fn largest_step(measure: &Measure<'_>, times: &[Group], column: &str) -> Option<Finding> {
    let steps = times.windows(2).filter_map(|pair| match pair {
        [from, to] => Some((from, to)),
        _ => None,
    });
    let size = |pair: &(&Group, &Group)| (pair.1.value - pair.0.value).abs();
    let (from, to) = steps.max_by(|a, b| size(a).total_cmp(&size(b)))?;
    if from.value == to.value {
        return None;
    }
    let start = Finding::default().say("The largest change between neighbours was from ");
    let start = start
        .cell(&from.label, "label", &from.rows, column)
        .say(" to ")
        .cell(&to.label, "label", &to.rows, column);
    Some(moved(start.say(": "), measure, from, to).say("."))
}

fn total(measure: &Measure<'_>, times: &[Group], column: &str, period: &Period) -> Option<Finding> {
    let rows: Vec<usize> = times.iter().flat_map(|group| group.rows.iter().copied()).collect();
    let total: f64 = times.iter().map(|group| group.value).sum();
    if !total.is_finite() {
        return None;
    }
    Some(
        Finding::default()
            .say(&format!("The total of {} over ", measure.name()))
            .cell(&group(times.len() as f64, 0, false), "count", &rows, column)
            .say(&format!(" {} is ", plural(&period.one)))
            .cell(&measure.say(total), "sum", &rows, measure.column)
            .say(", on average ")
            .cell(&measure.say(total / times.len() as f64), "mean", &rows, measure.column)
            .say(&format!(" each {}.", period.one)),
    )
}

/// The category that changed most from the first period to the last.
pub(super) fn movers(
    measure: &Measure<'_>,
    times: &[Group],
    column: &str,
    category: usize,
) -> Option<Finding> {
    let (first, last) = (times.first()?, times.last()?);
    let name = measure.frame.fields.get(category)?.name.as_str();
    let pick = |rows: &[usize]| {
        let mut map: HashMap<String, Vec<usize>> = HashMap::new();
        for row in rows {
            map.entry(measure.frame.cell(*row, category).plain()).or_default().push(*row);
        }
        map
    };
    let (before, after) = (pick(&first.rows), pick(&last.rows));
    let mut moves: Vec<(Group, Group)> = Vec::new();
    for (key, rows) in before {
        let Some(later) = after.get(&key) else { continue };
        let (Some(from), Some(to)) = (measure.together(&rows), measure.together(later)) else { continue };
        let label = rows
            .first()
            .map(|row| super::label(measure.frame.cell(*row, category), crate::frame::Unit::Plain))?;
        let at = rows.first().map_or(0.0, |row| *row as f64);
        moves.push((
            Group { label: label.clone(), rows, value: from, at },
            Group { label, rows: later.clone(), value: to, at },
        ));
    }
    moves.sort_by(|a, b| {
        (b.1.value - b.0.value).total_cmp(&(a.1.value - a.0.value)).then(a.0.at.total_cmp(&b.0.at))
    });
    if moves.len() < 2 {
        return None;
    }
    let (best, worst) = (moves.first()?, moves.last()?);
    let start = Finding::default().say("From ").cell(&first.label, "label", &first.rows, column).say(" to ");
    let start = start.cell(&last.label, "label", &last.rows, column).say(", ");
    ups_and_downs(start, measure, best, worst, name)
}

/// Appends which rose most and which fell most, or rose least.
fn ups_and_downs(
    start: Finding,
    measure: &Measure<'_>,
    best: &(Group, Group),
    worst: &(Group, Group),
    name: &str,
) -> Option<Finding> {
    let (up, down) = (best.1.value - best.0.value, worst.1.value - worst.0.value);
    let say = |finding: Finding, pair: &(Group, Group), how: &str| {
        let finding = finding.cell(&pair.0.label, "label", &pair.0.rows, name).say(how);
        moved(finding, measure, &pair.0, &pair.1)
    };
    if up <= 0.0 && down >= 0.0 {
        return None;
    }
    let out = if down >= 0.0 {
        say(say(start, best, " rose most, ").say(", and "), worst, " least, ")
    } else if up <= 0.0 {
        say(say(start, worst, " fell most, ").say(", and "), best, " least, ")
    } else {
        say(say(start, best, " rose most, ").say(", and "), worst, " fell most, ")
    };
    Some(out.say("."))
}

/// The comparison with an earlier period: the total, and the largest changes.
pub(super) fn compared(
    measure: &Measure<'_>,
    previous: &Measure<'_>,
    category: Option<usize>,
) -> Vec<Finding> {
    let rows: Vec<usize> = (0..measure.frame.rows.len())
        .filter(|row| measure.number(*row).is_some() && previous.number(*row).is_some())
        .collect();
    let (Some(now), Some(then)) = (measure.together(&rows), previous.together(&rows)) else {
        return Vec::new();
    };
    let op = Measure::operation(&rows);
    let start = Finding::default().say(&format!("{}: ", measure.title()));
    let start = start.cell(&measure.say(now), op, &rows, measure.column).say(" against ");
    let start = start.cell(&previous.say(then), op, &rows, previous.column);
    let start = start.say(&format!(" in {}, ", words(previous.column)));
    let group = |value: f64| Group { label: String::new(), rows: rows.clone(), value, at: 0.0 };
    let all =
        if now == then { start.say("no change") } else { moved(start, measure, &group(then), &group(now)) };
    let mut out = vec![all.say(".")];
    let Some(category) = category.filter(|_| rows.len() > 1) else { return out };
    let name = measure.frame.fields.get(category).map_or("", |field| field.name.as_str());
    let pair = |row: &usize| {
        let label = super::label(measure.frame.cell(*row, category), crate::frame::Unit::Plain);
        let group = |value: f64| Group { label: label.clone(), rows: vec![*row], value, at: *row as f64 };
        Some((group(previous.number(*row)?), group(measure.number(*row)?)))
    };
    let mut pairs: Vec<(Group, Group)> = rows.iter().filter_map(pair).collect();
    pairs.sort_by(|a, b| (b.1.value - b.0.value).total_cmp(&(a.1.value - a.0.value)));
    if let (Some(best), Some(worst)) = (pairs.first(), pairs.last()) {
        let start = Finding::default().say("Compared with before, ");
        out.extend(ups_and_downs(start, measure, best, worst, name));
    }
    out
}
