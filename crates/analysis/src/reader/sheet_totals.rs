//! Lines of a table that are not records: totals of the rows above, and notes below the table.
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
    let number = |row: usize, column: usize| match rows.get(row)?.1.get(column)? {
        Cell::Number(number) => Some(*number),
        _ => None,
    };
    let label = |row: usize| {
        let cells = &rows.get(row)?.1;
        let text = cells.iter().find_map(|cell| match cell {
            Cell::Text(text) if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        })?;
        is_total_label(text).then(|| text.to_owned())
    };
    let found = find(rows.len(), labels.len(), label, number);
    found.warn(&|row| rows.get(row).map_or(0, |(number, _)| *number as usize), warnings);
    let keep = |(row, cells): (usize, BodyRow)| (!found.is_total(row)).then_some(cells);
    rows.into_iter().enumerate().filter_map(keep).collect()
}

/// The total lines of a table: rows and their labels.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TotalLines {
    /// Rows that add up the rows above.
    totals: Vec<(usize, String)>,
    /// Rows that are only labelled so.
    doubtful: Vec<(usize, String)>,
}

impl TotalLines {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.totals.is_empty()
    }

    /// Whether a row is a total.
    pub(super) fn is_total(&self, row: usize) -> bool {
        self.totals.binary_search_by_key(&row, |(total, _)| *total).is_ok()
    }

    /// Says what was left out and what was kept. `number` gives the row as a person counts it.
    pub(super) fn warn(&self, number: &dyn Fn(usize) -> usize, warnings: &mut Vec<String>) {
        let lines = |rows: &[(usize, String)]| {
            quote(
                &rows
                    .iter()
                    .map(|(row, label)| format!("row {} ({label})", number(*row)))
                    .collect::<Vec<_>>(),
            )
        };
        if !self.totals.is_empty() {
            let were = match self.totals.len() {
                1 => "1 total was".to_owned(),
                many => format!("{many} totals were"),
            };
            let lines = lines(&self.totals);
            warnings.push(format!("{were} left out: {lines}. They add up the rows above."));
        }
        if !self.doubtful.is_empty() {
            let are = match self.doubtful.len() {
                1 => "1 row is".to_owned(),
                many => format!("{many} rows are"),
            };
            let lines = lines(&self.doubtful);
            warnings.push(format!(
                "{are} named like a total but not the sum of the rows above, and counted as data: {lines}."
            ));
        }
    }
}

/// The sum of a column so far.
#[derive(Debug, Clone, Copy, Default)]
struct ColumnSum {
    sum: f64,
    size: f64,
    count: usize,
}

impl ColumnSum {
    fn add(&mut self, number: f64) {
        self.sum += number;
        self.size += number.abs();
        self.count += 1;
    }

    /// Whether a number is this sum. A zero, or a column without values above, proves nothing.
    /// Totals are often rounded to cents.
    fn is(self, total: f64) -> bool {
        let rounding = 0.005 * (self.count as f64).sqrt().min(2.0);
        self.count > 0 && self.size > 0.0 && (self.sum - total).abs() <= 1e-9 * self.size + rounding
    }
}

/// Finds the total lines. `label` gives the label of a row that is named like a total, `number` the
/// number in a cell.
pub(super) fn find(
    rows: usize,
    width: usize,
    label: impl Fn(usize) -> Option<String>,
    number: impl Fn(usize, usize) -> Option<f64>,
) -> TotalLines {
    let mut found = TotalLines::default();
    // All rows above, and those that the next subtotal covers.
    let mut all = vec![ColumnSum::default(); width];
    let mut group = all.clone();
    for row in 0..rows {
        let numbers: Vec<Option<f64>> = (0..width).map(|column| number(row, column)).collect();
        if let Some(label) = label(row).filter(|_| numbers.iter().any(Option::is_some)) {
            let adds_up = |sums: &[ColumnSum]| {
                numbers.iter().zip(sums).any(|(number, sum)| number.is_some_and(|number| sum.is(number)))
            };
            if adds_up(&group) || adds_up(&all) {
                found.totals.push((row, label));
                group.fill(ColumnSum::default());
                continue;
            }
            found.doubtful.push((row, label));
        }
        for (column, number) in numbers.into_iter().enumerate() {
            for sums in [&mut all, &mut group] {
                if let (Some(number), Some(sum)) = (number, sums.get_mut(column)) {
                    sum.add(number);
                }
            }
        }
    }
    found
}

fn quote(lines: &[String]) -> String {
    let shown: Vec<&str> = lines.iter().take(QUOTED).map(String::as_str).collect();
    let more = lines.len().saturating_sub(QUOTED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Whether the first text of a line names a total: `Total`, `Total:`, `Total 2024`, `South total`.
pub(super) fn is_total_label(text: &str) -> bool {
    let plain = text.trim().trim_end_matches([':', '*', ' ']).to_lowercase();
    TOTALS.iter().any(|word| {
        plain == *word
            || plain.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', ':']))
            || plain.strip_suffix(word).is_some_and(|rest| rest.ends_with(' '))
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
