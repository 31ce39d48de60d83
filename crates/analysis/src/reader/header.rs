//! Where a table starts, and whether its first record holds names.
//!
//! These are votes, not rules: every column votes whether its first cell differs in nature from the
//! cells below.

use std::borrow::Cow;
use std::collections::HashSet;

use super::layout::{Row, usual_width};
use super::moment::{self, Order};
use super::number::{self, Mark};
use super::value_format::{Words, is_nothing};
use super::wide::{self, Period};

/// At most this many lines stand before a table.
const PREAMBLE: usize = 40;

/// Is it a time of the day or a duration, such as 10:04:05?
fn is_clock(text: &str) -> bool {
    let mut parts = 0;
    let fit = text.split(':').all(|part| {
        parts += 1;
        !part.is_empty() && part.len() <= 6 && part.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    fit && (2..=3).contains(&parts)
}

/// A number, a date, a time, or a boolean: something that is not a name.
#[must_use]
pub fn is_typed(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        // `- 250 m` is more often the name of a measure than minus 250 million.
        || number::look(text).is_some_and(|look| look.bare.scale == 1.0)
        || is_clock(text)
        || moment::moment(text, Order::Mdy).or_else(|| moment::moment(text, Order::Dmy)).is_some()
        || Words::TrueFalse.read(text).is_some()
}

/// How many cells hold something.
fn filled(row: &[Cow<'_, str>]) -> usize {
    row.iter().filter(|cell| !cell.trim().is_empty()).count()
}

/// Which record is the first of the table, after titles and comments.
pub(super) fn first_of_table(rows: &[Row<'_>]) -> usize {
    let (usual, _) = usual_width(rows);
    let mut first = 0;
    while first < PREAMBLE && first + 1 < rows.len() {
        let Some(row) = rows.get(first) else { break };
        let next = rows.get(first + 1..).unwrap_or_default();
        if !is_preamble(row, usual, next) {
            break;
        }
        first += 1;
    }
    // When every line looked like a preamble, there is none.
    if first + 1 >= rows.len() && !rows.get(first).is_some_and(|row| row.len() == usual && filled(row) > 1) {
        0
    } else {
        first
    }
}

/// Is the record a title or a comment above the table?
fn is_preamble(row: &[Cow<'_, str>], usual: usize, next: &[Row<'_>]) -> bool {
    let mark = row.first().map(|cell| cell.trim_start()).unwrap_or_default();
    let comment = mark.starts_with('#') || mark.starts_with("//");
    if row.len() != usual && comment {
        return true;
    }
    if usual < 2 {
        return comment && next.iter().any(|row| !row.first().is_some_and(|cell| cell.starts_with('#')));
    }
    let full = filled(row);
    let fuller = next.iter().take(PREAMBLE).any(|row| filled(row) * 10 >= usual * 6 && filled(row) > full);
    if !fuller {
        return false;
    }
    full == 0
        || (full == 1 && (usual >= 3 || row.len() == 1))
        || (usual >= 4 && (row.len() * 2 < usual || full * 3 <= usual))
}

/// Whether the first record is a row of groups above the names, such as years above `units` and
/// `amount`.
pub(super) fn is_upper_header(rows: &[Row<'_>]) -> bool {
    let [upper, names, body @ ..] = rows else { return false };
    let gaps = upper.len() - filled(upper);
    let names_fit = names.len() == upper.len()
        && filled(names) == names.len()
        && !names.iter().any(|cell| is_typed(cell));
    let body: Vec<_> = body.iter().take(20).flatten().filter(|cell| !cell.trim().is_empty()).collect();
    let typed = body.iter().filter(|cell| is_typed(cell)).count();
    filled(upper) > 0 && gaps * 3 >= upper.len() && names_fit && typed * 2 > body.len()
}

/// Prefixes each name with its group; a group extends to the next one.
pub(super) fn join_headers(upper: &[Cow<'_, str>], labels: &mut [String]) {
    let mut group = String::new();
    for (cell, label) in upper.iter().zip(labels) {
        if !cell.trim().is_empty() {
            group = cell.trim().to_owned();
        }
        if !group.is_empty() {
            *label = format!("{group} {label}");
        }
    }
}

/// Is the last field empty in every record that has it?
pub(super) fn is_last_empty(table: &[&Row<'_>], width: usize) -> bool {
    table.iter().filter_map(|row| row.get(width.saturating_sub(1))).all(|cell| cell.trim().is_empty())
}

/// A month, a quarter or a day as the name of a column: `Jan 2026`, `2026-01-31`.
fn is_period(text: &str) -> bool {
    wide::period(text).is_some_and(|(period, rest)| rest.is_empty() && !matches!(period, Period::Year(_)))
}

/// A year as the name of a column.
fn is_year(text: &str) -> bool {
    text.trim().len() == 4 && text.trim().parse::<u32>().is_ok_and(|year| (1800..=2100).contains(&year))
}

/// Does the first record hold names?
pub(super) fn has_header(head: &[Cow<'_, str>], table: &[&Row<'_>]) -> bool {
    if head.is_empty() {
        return false;
    }
    let named = head.iter().filter(|cell| !cell.trim().is_empty() && !is_typed(cell)).count();
    if table.is_empty() {
        return named * 2 >= head.len() && named > 0;
    }
    // Concatenated files repeat their header.
    if named == head.len() && head.len() > 1 && table.iter().any(|row| row.as_slice() == head) {
        return true;
    }
    let years = head.iter().filter(|cell| is_year(cell)).count();
    let periods = head.iter().filter(|cell| is_period(cell)).count();
    let mut seen = HashSet::new();
    let distinct = head.iter().filter(|cell| !cell.trim().is_empty()).all(|cell| seen.insert(cell.trim()));
    let shift = usize::from(
        table.iter().all(|row| row.len() == head.len() + 1) && !is_last_empty(table, head.len() + 1),
    );
    let mut votes = 0.0;
    for (place, cell) in head.iter().enumerate() {
        votes += vote(cell, table, place + shift, years > 1, periods > 1);
    }
    if votes == 0.0 { named > 0 && distinct && named * 2 >= head.len() } else { votes > 0.0 }
}

/// Statistics of the cells below the first cell of a column.
#[derive(Default)]
struct Below<'a> {
    count: usize,
    typed: usize,
    periods: usize,
    same: usize,
    distinct: HashSet<&'a str>,
    length: Option<usize>,
    uneven: bool,
}

/// Looks at the cells below the first.
fn below<'a>(cell: &str, table: &'a [&Row<'_>], place: usize) -> Below<'a> {
    let mut found = Below::default();
    for value in table
        .iter()
        .filter_map(|row| row.get(place))
        .map(|value| value.trim())
        .filter(|value| !is_nothing(value))
    {
        let length = value.chars().count();
        found.count += 1;
        found.typed += usize::from(is_typed(value));
        found.periods += usize::from(is_period(value));
        found.same += usize::from(value == cell);
        found.uneven |= found.length.is_some_and(|known| known != length);
        found.length = Some(length);
        found.distinct.insert(value);
    }
    found
}

/// The vote of one column: positive for a name.
fn vote(cell: &str, table: &[&Row<'_>], place: usize, years: bool, periods: bool) -> f64 {
    let cell = cell.trim();
    let found = below(cell, table, place);
    let Below { count, typed, same, .. } = found;
    if count == 0 || is_nothing(cell) {
        return 0.0;
    }
    let data = typed * 10 >= count * 8;
    match (data, is_typed(cell)) {
        (true, false) => 1.0,
        // Years are headers of the amounts of each year.
        (_, true) if years && is_year(cell) && same * 4 < count => 0.2,
        // So are months and days, above values that are neither.
        (_, true) if periods && is_period(cell) && found.periods * 4 < count => 0.5,
        (true, true) => -1.0,
        (false, true) => -0.3,
        // A column of one repeated word may have that word as its name.
        (false, false) if same * 10 >= count * 9 => 0.0,
        (false, false) if same > 0 => -0.4,
        // Codes of one length under a name of another.
        (false, false) if !found.uneven && count > 2 && found.length != Some(cell.chars().count()) => 0.5,
        // A word that is not one of the few repeated words below.
        (false, false) if count >= 8 && found.distinct.len() * 2 < count => 0.4,
        (false, false) => 0.0,
    }
}

/// Are fractions written with a comma?
pub(super) fn decimal_comma(table: &[&Row<'_>], delimiter: u8) -> bool {
    let (mut points, mut commas, mut maybe) = (0_usize, 0_usize, 0_usize);
    for cell in table.iter().copied().flatten().filter(|cell| cell.contains([',', '.'])) {
        match number::look(cell).map(|look| look.mark) {
            Some(Mark::Point) => points += 1,
            Some(Mark::Comma) => commas += 1,
            Some(Mark::MaybeComma) => maybe += 1,
            _ => {}
        }
    }
    // Semicolons separate fields where the comma is taken by fractions.
    commas > points || (commas == points && commas == 0 && maybe > 0 && delimiter == b';')
}
