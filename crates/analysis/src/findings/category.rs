//! Findings about categories: the largest, the smallest, concentration, and the total.
//!
//! Invariant: shares are mentioned only if the numbers may be summed and none is negative.

use super::{Finding, Group, Measure, plural, words};
use crate::frame::group;

/// Findings about categories: the largest, the smallest, concentration, and the total.
pub(super) fn by_category(measure: &Measure<'_>, mut parts: Vec<Group>, column: &str) -> Vec<Finding> {
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    let rows: Vec<usize> = parts.iter().flat_map(|part| part.rows.iter().copied()).collect();
    let total: f64 = parts.iter().map(|part| part.value).sum();
    let shares =
        measure.additive && total > 0.0 && total.is_finite() && parts.iter().all(|part| part.value >= 0.0);
    let (Some(first), Some(second), Some(last)) = (parts.first(), parts.get(1), parts.last()) else {
        return Vec::new();
    };
    if first.value == last.value {
        let all =
            Finding::default().say("All ").cell(&group(parts.len() as f64, 0, false), "count", &rows, column);
        let all = all.say(&format!(" {} have the same {}: ", plural(&words(column)), measure.name()));
        return vec![
            all.cell(&measure.say(first.value), Measure::operation(&first.rows), &first.rows, measure.column)
                .say("."),
        ];
    }
    let mut out = vec![largest(measure, first, second, column, shares.then_some((total, rows.as_slice())))];
    if shares && parts.len() >= 5 {
        out.extend(concentration(measure, &parts, total, column));
    }
    // Of two, the second is the smallest and has already been named.
    if parts.len() > 2 {
        out.push(smallest(measure, &parts, column));
    }
    if measure.additive && total.is_finite() {
        out.push(whole(measure, &parts, total, &rows, column));
    }
    out
}

fn largest(
    measure: &Measure<'_>,
    first: &Group,
    second: &Group,
    column: &str,
    all: Option<(f64, &[usize])>,
) -> Finding {
    let tied = first.value == second.value;
    let start = Finding::default().cell(&first.label, "label", &first.rows, column);
    let start =
        if tied { start.say(" and ").cell(&second.label, "label", &second.rows, column) } else { start };
    let verb = if tied { "share" } else { "has" };
    let op = Measure::operation(&first.rows);
    let mut out = start.say(&format!(" {verb} the {} {}: ", measure.superlative(true), measure.name())).cell(
        &measure.say(first.value),
        op,
        &first.rows,
        measure.column,
    );
    if let Some((total, rows)) = all {
        let share = format!("{} %", group(first.value / total * 100.0, 1, false));
        out = out.say(if tied { " each, " } else { ", " }).cell(&share, "share", &first.rows, measure.column);
        out =
            out.say(" of the ").cell(&measure.say(total), "sum", rows, measure.column).say(" in this table");
    }
    if !tied {
        out = out.say("; next is ").cell(&second.label, "label", &second.rows, column).say(" with ");
        out = out.cell(
            &measure.say(second.value),
            Measure::operation(&second.rows),
            &second.rows,
            measure.column,
        );
    }
    out.say(".")
}

fn smallest(measure: &Measure<'_>, parts: &[Group], column: &str) -> Finding {
    let lowest = parts.last().map_or(0.0, |part| part.value);
    let ties: Vec<&Group> = parts.iter().filter(|part| part.value == lowest).collect();
    let (Some(first), Some(last)) = (parts.first(), ties.first()) else { return Finding::default() };
    let op = Measure::operation(&last.rows);
    if ties.len() > 1 {
        let rows: Vec<usize> = ties.iter().flat_map(|part| part.rows.iter().copied()).collect();
        let start = Finding::default().cell(&group(ties.len() as f64, 0, false), "count", &rows, column);
        let start = start.say(&format!(
            " {} share the {} {}: ",
            plural(&words(column)),
            measure.superlative(false),
            measure.name()
        ));
        return start.cell(&measure.say(lowest), op, &last.rows, measure.column).say(".");
    }
    let out = Finding::default().cell(&last.label, "label", &last.rows, column);
    let out = out.say(&format!(" has the {} {}: ", measure.superlative(false), measure.name())).cell(
        &measure.say(lowest),
        op,
        &last.rows,
        measure.column,
    );
    let ratio = first.value / lowest;
    if lowest > 0.0 && (1.5..1e6).contains(&ratio) {
        let rows: Vec<usize> = first.rows.iter().chain(&last.rows).copied().collect();
        let text = group(ratio, if ratio < 10.0 { 1 } else { 0 }, false);
        return out
            .say("; the highest is ")
            .cell(&text, "ratio", &rows, measure.column)
            .say(" times as much.");
    }
    out.say(".")
}

/// Whether a few categories make up most of the total.
fn concentration(measure: &Measure<'_>, parts: &[Group], total: f64, column: &str) -> Option<Finding> {
    let mut sum = 0.0;
    let needed = parts.iter().position(|part| {
        sum += part.value;
        sum >= 0.8 * total
    })? + 1;
    let few = if needed * 2 <= parts.len() { needed } else { 3 };
    let rows: Vec<usize> = parts.iter().take(few).flat_map(|part| part.rows.iter().copied()).collect();
    let all: Vec<usize> = parts.iter().flat_map(|part| part.rows.iter().copied()).collect();
    let part: f64 = parts.iter().take(few).map(|part| part.value).sum();
    if few < 2 {
        return None;
    }
    Some(
        Finding::default()
            .say("The top ")
            .cell(&few.to_string(), "count", &rows, column)
            .say(" of ")
            .cell(&group(parts.len() as f64, 0, false), "count", &all, column)
            .say(&format!(" {} make up ", plural(&words(column))))
            .cell(&format!("{} %", group(part / total * 100.0, 1, false)), "share", &rows, measure.column)
            .say(&format!(" of {}.", measure.name())),
    )
}

fn whole(measure: &Measure<'_>, parts: &[Group], total: f64, rows: &[usize], column: &str) -> Finding {
    let mean = total / parts.len() as f64;
    Finding::default()
        .say("The ")
        .cell(&group(parts.len() as f64, 0, false), "count", rows, column)
        .say(&format!(" {} add up to ", plural(&words(column))))
        .cell(&measure.say(total), "sum", rows, measure.column)
        .say(&format!(" in {}, on average ", measure.name()))
        .cell(&measure.say(mean), "mean", rows, measure.column)
        .say(" each.")
}
