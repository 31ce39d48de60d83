//! Checks the figures of a written answer against the results it was written from.
//!
//! Invariants
//! - A figure is supported if it is a cell, a number in the user's text, or a simple computation
//!   from cells: a count, total or mean of a column, or a sum, difference, share, ratio or change
//!   of cells that the same line mentions.
//! - Unsupported figures are marked in the text. Nothing else is changed.
//! - The same text and results give the same marks.
//!
//! Figures are numbers in digits. Number words below eleven are ignored: they are rarely figures.

use super::evidence::{Evidence, Grid};
use super::number::{Figure, FigureKind, scan};

/// The mark after an unsupported figure.
pub const MARK: &str = " [unverified]";

/// Maximum number of rows of one column that a line may mention for a computation.
const NAMED: usize = 24;

/// A written answer after the check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedText {
    /// The text, with a mark after each unsupported figure.
    pub text: String,
    /// The unsupported figures, as written.
    pub unsupported: Vec<String>,
    /// Number of figures checked.
    pub figures: usize,
}

/// Checks every figure of a text.
#[must_use]
pub fn check_figures(text: &str, evidence: &Evidence) -> CheckedText {
    let mut checked = CheckedText::default();
    let mut copied = 0;
    for figure in scan(text) {
        if figure.kind == FigureKind::Marker {
            continue;
        }
        checked.figures += 1;
        if is_supported(&figure, text, evidence) {
            continue;
        }
        checked.text.push_str(text.get(copied..figure.end).unwrap_or_default());
        checked.text.push_str(MARK);
        copied = figure.end;
        checked.unsupported.push(text.get(figure.start..figure.end).unwrap_or_default().to_owned());
    }
    checked.text.push_str(text.get(copied..).unwrap_or_default());
    checked
}

fn is_supported(figure: &Figure, text: &str, evidence: &Evidence) -> bool {
    if figure.kind == FigureKind::Date {
        let written = text.get(figure.start..figure.end).unwrap_or_default();
        return evidence.has_text(written);
    }
    if let Some((month, day)) = figure.day_of {
        return evidence.has_day(month, day);
    }
    let stated = |value: f64| figure.states(value);
    evidence.said().chain(evidence.scalars()).any(stated)
        || evidence.grids.iter().any(|grid| {
            grid.columns.iter().flat_map(|column| column.iter().flatten()).copied().any(stated)
                || is_aggregate(figure, grid)
                || is_derived(figure, line_of(text, figure.start), grid)
        })
}

/// The line that contains a position of a text.
fn line_of(text: &str, at: usize) -> &str {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let end = text.get(at..).and_then(|after| after.find('\n')).map_or(text.len(), |end| at + end);
    text.get(start..end).unwrap_or_default()
}

/// Counts of rows, and totals and means of whole columns.
fn is_aggregate(figure: &Figure, grid: &Grid) -> bool {
    if figure.states(grid.rows as f64) && !figure.percent {
        return true;
    }
    grid.columns.iter().any(|column| {
        let values: Vec<f64> = column.iter().flatten().copied().collect();
        if values.len() < 2 {
            return false;
        }
        let total: f64 = values.iter().sum();
        figure.states(total) || figure.states(total / values.len() as f64)
    })
}

/// Computations over cells that the line mentions, by the label of their row or by their value.
fn is_derived(figure: &Figure, line: &str, grid: &Grid) -> bool {
    let others = scan(line);
    let written = |value: f64| {
        others.iter().any(|other| {
            other.kind == FigureKind::Number && other.number != figure.number && other.states(value)
        })
    };
    let lower = line.to_lowercase();
    let labelled: Vec<bool> = (0..grid.rows).map(|row| grid.is_named(row, &lower)).collect();
    // Cells of one column.
    for column in &grid.columns {
        let mut named: Vec<f64> = Vec::new();
        for (row, value) in column.iter().enumerate() {
            let Some(value) = *value else { continue };
            if named.len() < NAMED && (labelled.get(row) == Some(&true) || written(value)) {
                named.push(value);
            }
        }
        let values: Vec<f64> = column.iter().flatten().copied().collect();
        let total: f64 = values.iter().sum();
        if named.len() > 1 && figure.states(named.iter().sum()) {
            return true;
        }
        let of_total = |part: &f64| total != 0.0 && values.len() > 1 && figure.is_percent_of(*part, total);
        if named.iter().any(of_total) || (named.len() > 1 && of_total(&named.iter().sum())) {
            return true;
        }
        // "Over the whole time" compares the first and the last row.
        let ends = values.first().zip(values.last()).filter(|_| values.len() > 1);
        if ends.is_some_and(|(first, last)| figure.compares(*last, *first)) {
            return true;
        }
        if pairs(&named).any(|(one, other)| figure.compares(one, other)) {
            return true;
        }
    }
    // Cells of one row.
    (0..grid.rows).any(|row| {
        if grid.rows > 1 && labelled.get(row) != Some(&true) {
            return false;
        }
        let cells: Vec<f64> =
            grid.columns.iter().filter_map(|column| column.get(row).copied().flatten()).take(NAMED).collect();
        pairs(&cells).any(|(one, other)| figure.compares(one, other))
    })
}

fn pairs(values: &[f64]) -> impl Iterator<Item = (f64, f64)> + '_ {
    values.iter().enumerate().flat_map(move |(at, one)| {
        values.iter().enumerate().filter(move |(other, _)| *other != at).map(move |(_, other)| (*one, *other))
    })
}

impl Figure {
    /// Whether this figure is the value, rounded to the decimals shown.
    pub(super) fn states(&self, value: f64) -> bool {
        let near = |value: f64| (value.abs() - self.number.abs()).abs() <= self.tolerance();
        // A percentage may be stored as a fraction.
        near(value) || (self.percent && value.abs() <= 1.0 && near(value * 100.0))
    }

    fn is_percent_of(&self, part: f64, whole: f64) -> bool {
        self.percent && whole != 0.0 && self.states_exactly(part / whole * 100.0)
    }

    /// Whether it is the sum, difference, ratio, share or change of two values.
    fn compares(&self, one: f64, other: f64) -> bool {
        if self.percent {
            return other != 0.0
                && (self.states_exactly(one / other * 100.0)
                    || self.states_exactly((one - other) / other * 100.0));
        }
        // An operand smaller than the last digit shown would be meaningless.
        let counts = one.abs().min(other.abs()) > self.tolerance() * 2.0;
        (counts && (self.states_exactly(one - other) || self.states_exactly(one + other)))
            || (self.times && other != 0.0 && self.states_exactly(one / other))
    }

    fn states_exactly(&self, value: f64) -> bool {
        (value.abs() - self.number.abs()).abs() <= self.tolerance()
    }

    /// Half of the last digit shown, plus the floating-point error.
    fn tolerance(&self) -> f64 {
        let place = 10f64.powi(-i32::try_from(self.decimals).unwrap_or(0)) * self.scale;
        let shown = if self.about { self.rounded_place() } else { place };
        shown.max(place) * 0.5 + self.number.abs() * 1e-9
    }

    /// The position of the last nonzero digit: "about 1,200" is rounded to hundreds.
    fn rounded_place(&self) -> f64 {
        let mut place = 1.0;
        while place < 1e15 && (self.number / (place * 10.0)).fract() == 0.0 && self.number != 0.0 {
            place *= 10.0;
        }
        place
    }
}
