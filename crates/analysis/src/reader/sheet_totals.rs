//! Lines of a sheet that are not records: totals of the rows above, and notes below the table.
//!
//! A line is a total only if its label says so and a number in it is the sum of the rows above;
//! otherwise it is kept, and a warning says so. Counting a total as a record would double every
//! sum.

use super::read::count;
use super::sheet::{BodyRow, Cell};

/// Words that head a line of totals, in lower case.
const TOTALS: [&str; 24] = [
    "total",
    "totals",
    "grand total",
    "subtotal",
    "sub-total",
    "sub total",
    "sum",
    "overall",
    "all",
    "summe",
    "gesamt",
    "gesamtsumme",
    "zwischensumme",
    "insgesamt",
    "total général",
    "sous-total",
    "somme",
    "suma",
    "totale",
    "subtotale",
    "totaal",
    "subtotaal",
    "totalt",
    "итого",
];

/// How many omitted lines are quoted in full.
const QUOTED: usize = 3;

/// The records, without totals and without notes at the end.
pub(super) fn leave_out(rows: Vec<BodyRow>, labels: &[String], warnings: &mut Vec<String>) -> Vec<BodyRow> {
    let rows = without_notes(rows, labels.len(), warnings);
    let mut kept: Vec<BodyRow> = Vec::with_capacity(rows.len());
    let (mut totals, mut doubtful) = (Vec::new(), Vec::new());
    // The first row that the next subtotal covers.
    let mut group = 0;
    for (number, cells) in rows {
        match total_label(&cells) {
            Some(label)
                if adds_up(&cells, kept.get(group..).unwrap_or_default()) || adds_up(&cells, &kept) =>
            {
                totals.push(format!("row {number} ({label})"));
                group = kept.len();
            }
            Some(label) => {
                doubtful.push(format!("row {number} ({label})"));
                kept.push((number, cells));
            }
            None => kept.push((number, cells)),
        }
    }
    if !totals.is_empty() {
        warnings.push(format!(
            "{} left out: {}. They add up the rows above.",
            if totals.len() == 1 {
                "1 total was".to_owned()
            } else {
                format!("{} totals were", totals.len())
            },
            quote(&totals)
        ));
    }
    if !doubtful.is_empty() {
        warnings.push(format!(
            "{} named like a total but not the sum of the rows above, and counted as data: {}.",
            if doubtful.len() == 1 { "1 row is".to_owned() } else { format!("{} rows are", doubtful.len()) },
            quote(&doubtful)
        ));
    }
    kept
}

fn quote(lines: &[String]) -> String {
    let shown: Vec<&str> = lines.iter().take(QUOTED).map(String::as_str).collect();
    let more = lines.len().saturating_sub(QUOTED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// The label of a total line: its first text, if there is no other text in the line.
fn total_label(cells: &[Cell]) -> Option<String> {
    let mut texts = cells.iter().filter_map(|cell| match cell {
        Cell::Text(text) if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    });
    let first = texts.next()?;
    let plain = first.trim_end_matches([':', '*', ' ']).to_lowercase();
    let words = |word: &str| {
        plain == word
            || plain.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', ':']))
            || plain.strip_suffix(word).is_some_and(|rest| rest.ends_with(' '))
    };
    let numbers = cells.iter().any(|cell| matches!(cell, Cell::Number(_)));
    (numbers && TOTALS.iter().any(|word| words(word))).then(|| first.to_owned())
}

/// Whether a number of the line is the sum of its column. A zero, or a column without values above,
/// proves nothing.
fn adds_up(cells: &[Cell], above: &[BodyRow]) -> bool {
    cells.iter().enumerate().any(|(column, cell)| {
        let Cell::Number(total) = cell else { return false };
        let (mut sum, mut size, mut summed) = (0.0, 0.0_f64, 0_usize);
        for (_, row) in above {
            if let Some(Cell::Number(number)) = row.get(column) {
                sum += number;
                size += number.abs();
                summed += 1;
            }
        }
        // Totals are often rounded to cents.
        summed > 0
            && size > 0.0
            && (sum - total).abs() <= 1e-9 * size + 0.005 * (summed as f64).sqrt().min(2.0)
    })
}

/// Notes below a table, one cell in a row: a source, a footnote.
fn without_notes(mut rows: Vec<BodyRow>, width: usize, warnings: &mut Vec<String>) -> Vec<BodyRow> {
    let mut notes = Vec::new();
    while width >= 3
        && let Some((number, cells)) = rows.last()
    {
        let mut filled = cells.iter().filter(|cell| !cell.is_blank());
        let (Some(Cell::Text(text)), None) = (filled.next(), filled.next()) else { break };
        let short: String = text.trim().chars().take(60).collect();
        notes.push(format!("row {number} ({short})"));
        rows.pop();
    }
    if !notes.is_empty() {
        notes.reverse();
        let were = if notes.len() == 1 { "was" } else { "were" };
        warnings.push(format!(
            "{} below the table {were} left out: {}.",
            count(notes.len(), "note"),
            quote(&notes)
        ));
    }
    rows
}
