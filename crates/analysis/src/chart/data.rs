//! Converts a table to series over slots, shared by bars, lines, pies and heat maps.
//!
//! Invariant: each series has one value for each slot. Every change on the way (summed, truncated,
//! omitted) is in `notes`, which are shown in the subtitle.

use super::axis::sane;
use super::svg::clean;
use super::{ChartError, Spec, time};
use crate::calendar::{DAYS, MONTHS};
use crate::frame::{Field, Frame, Kind, Unit, Value, group, show};
use std::collections::HashMap;

/// The kind of the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AxisKind {
    Words,
    Number(Unit),
    Time(time::Grain),
}

/// One position along the axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub label: String,
    /// Its position on a scale of numbers or seconds.
    pub at: f64,
    pub other: bool,
}

/// One series of numbers over the slots.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub name: String,
    pub values: Vec<Option<f64>>,
    pub other: bool,
}

impl Series {
    pub(super) fn value(&self, slot: usize) -> Option<f64> {
        self.values.get(slot).copied().flatten()
    }

    fn weight(&self) -> f64 {
        self.values.iter().flatten().map(|v| v.abs()).sum()
    }
}

/// Series over slots.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plot {
    pub along: AxisKind,
    pub slots: Vec<Slot>,
    pub series: Vec<Series>,
    pub unit: Unit,
    pub whole: bool,
    pub additive: bool,
    /// How many series were merged into one to save memory.
    pub merged: usize,
    pub notes: Vec<String>,
}

/// Whether the numbers of a column may be summed. Shares, averages and the like may not.
#[must_use]
pub fn additive(field: &Field) -> bool {
    const NEVER: [&str; 16] = [
        "avg",
        "average",
        "mean",
        "median",
        "rate",
        "ratio",
        "percent",
        "percentage",
        "pct",
        "share",
        "per",
        "score",
        "index",
        "stddev",
        "variance",
        "percentile",
    ];
    // These cannot be summed across rows, but a column that is already a sum of them can.
    const SINGLE: [&str; 5] = ["price", "min", "max", "minimum", "maximum"];
    const SUMS: [&str; 4] = ["sum", "total", "count", "subtotal"];
    // "margin in % of sales" is a ratio, whatever its unit.
    if matches!(field.unit, Unit::Share | Unit::Percent | Unit::Year) || field.name.contains('%') {
        return false;
    }
    let name = field.name.to_lowercase();
    let has = |words: &[&str]| name.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word));
    !has(&NEVER) && (!has(&SINGLE) || has(&SUMS))
}

/// The index of a column, or an error that lists the columns.
pub(super) fn column(frame: &Frame, name: &str) -> Result<usize, ChartError> {
    frame.position(name).ok_or_else(|| ChartError::UnknownColumn {
        column: name.to_owned(),
        known: if frame.fields.is_empty() {
            "no columns".to_owned()
        } else {
            frame.fields.iter().take(12).map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ")
        },
    })
}

/// The numeric columns that a chart names, each with at least one number.
pub(super) fn measures(spec: &Spec, frame: &Frame) -> Result<Vec<usize>, ChartError> {
    if spec.y.is_empty() {
        return Err(ChartError::NoMeasure);
    }
    let mut out = Vec::new();
    for name in &spec.y {
        let at = column(frame, name)?;
        let numeric = frame.fields.get(at).is_some_and(|f| f.kind.is_number() || f.kind == Kind::Boolean);
        let any = frame.column(at).any(|value| value.number().is_some());
        let filled = frame.column(at).any(|value| !value.is_null());
        if !any && (filled || !numeric) {
            return Err(ChartError::NotANumber { column: name.clone() });
        }
        out.push(at);
    }
    // One axis has one unit: money and counts on the same axis would be misread.
    let first = out.first().map(|at| dimension(unit(frame, *at)));
    out.retain(|at| Some(dimension(unit(frame, *at))) == first);
    if frame.rows.is_empty() {
        return Err(ChartError::NothingToDraw { reason: "the table has no rows".to_owned() });
    }
    if !out.iter().any(|at| frame.column(*at).any(|value| value.number().is_some())) {
        return Err(ChartError::NothingToDraw {
            reason: format!("\"{}\" is empty in every row", spec.y.join("\", \"")),
        });
    }
    Ok(out)
}

/// The dimension of a unit: numbers of different dimensions do not share an axis.
fn dimension(unit: Unit) -> (u8, Option<char>) {
    match unit {
        Unit::Plain | Unit::Year => (0, None),
        Unit::Currency(sign) => (1, Some(sign)),
        Unit::Share => (2, None),
        Unit::Percent => (3, None),
    }
}

/// The unit of a column; whole numbers in a column named year are years.
pub(super) fn unit(frame: &Frame, at: usize) -> Unit {
    let Some(field) = frame.fields.get(at) else { return Unit::Plain };
    let year = field.unit == Unit::Plain
        && field.kind == Kind::Integer
        && field.name.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| word == "year")
        && frame.column(at).all(|v| v.number().is_none_or(|n| (1000.0..3000.0).contains(&n)));
    if year { Unit::Year } else { field.unit }
}

/// Whether the column holds only whole numbers.
pub(super) fn whole(frame: &Frame, at: usize) -> bool {
    frame.column(at).all(|v| !matches!(v, Value::Float(_)))
}

/// The kind of axis for a column.
pub(super) fn along(frame: &Frame, at: usize) -> AxisKind {
    let filled = || frame.column(at).filter(|v| !v.is_null());
    if filled().next().is_some() && filled().all(|v| time::moment(v).is_some()) {
        let seconds: Vec<f64> = filled().filter_map(time::moment).map(time::seconds).collect();
        return AxisKind::Time(time::grain(&seconds));
    }
    let numbers = frame.fields.get(at).is_some_and(|f| f.kind.is_number());
    if numbers { AxisKind::Number(unit(frame, at)) } else { AxisKind::Words }
}

/// A cell as a category label.
pub(super) fn word(value: &Value, unit: Unit) -> String {
    match value {
        value if value.is_null() => "(none)".to_owned(),
        Value::Bool(true) => "Yes".to_owned(),
        Value::Bool(false) => "No".to_owned(),
        other => {
            let text = clean(&show(other, unit));
            if text.is_empty() { "(blank)".to_owned() } else { text }
        }
    }
}

/// The position of each row along the axis.
struct Places {
    slots: Vec<Slot>,
    known: HashMap<String, usize>,
    along: AxisKind,
    with_year: bool,
    left_out: usize,
}

impl Places {
    fn new(frame: &Frame, x: usize) -> Self {
        let along = along(frame, x);
        let seconds: Vec<f64> = frame.column(x).filter_map(time::moment).map(time::seconds).collect();
        let with_year = time::many_years(&seconds);
        Self { slots: Vec::new(), known: HashMap::new(), along, with_year, left_out: 0 }
    }

    fn place(&mut self, value: &Value) -> Option<usize> {
        let (at, label) = match self.along {
            AxisKind::Words => (0.0, word(value, Unit::Plain)),
            AxisKind::Number(unit) => (value.number().and_then(sane)?, word(value, unit)),
            AxisKind::Time(grain) => {
                let seconds = time::seconds(time::moment(value)?);
                (seconds, time::label(seconds, grain, self.with_year))
            }
        };
        let key = if self.along == AxisKind::Words { value.plain() } else { at.to_string() };
        let next = self.slots.len();
        let slot = *self.known.entry(key).or_insert(next);
        if slot == next {
            self.slots.push(Slot { label, at, other: false });
        }
        Some(slot)
    }
}

/// Reads the series that a chart names out of a table.
pub(super) fn plot(spec: &Spec, frame: &Frame) -> Result<Plot, ChartError> {
    let x = column(frame, &spec.x)?;
    let split = spec.series.as_deref().map(|name| column(frame, name)).transpose()?;
    let ys = measures(spec, frame)?;
    let mut places = Places::new(frame, x);
    let mut names: Vec<String> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut cells = Cells::new();
    for row in 0..frame.rows.len() {
        let Some(slot) = places.place(frame.cell(row, x)) else {
            places.left_out += 1;
            continue;
        };
        for y in &ys {
            let name = series_name(frame, row, *y, split, ys.len() > 1);
            let next = names.len();
            let series = *known.entry(name.clone()).or_insert(next);
            if series == next {
                names.push(name);
            }
            if let Some(value) = frame.cell(row, *y).number().and_then(sane) {
                let cell = cells.entry((series, slot)).or_insert((0.0, 0));
                *cell = (sane(cell.0 + value).unwrap_or(value), cell.1 + 1);
            }
        }
    }
    let merged = merge(&mut names, places.slots.len(), &mut cells);
    let adds = ys.iter().all(|y| frame.fields.get(*y).is_some_and(additive));
    let mut plot = Plot {
        along: places.along,
        series: fill(names, places.slots.len(), &cells, adds, merged),
        slots: places.slots,
        unit: ys.first().map_or(Unit::Plain, |y| unit(frame, *y)),
        whole: ys.iter().all(|y| whole(frame, *y)),
        additive: adds,
        merged,
        notes: Vec::new(),
    };
    if cells.values().any(|(_, count)| *count > 1) {
        let how = if adds { "added up" } else { "averaged" };
        plot.notes.push(format!("rows with the same {} {how}", clean(&spec.x)));
    }
    if ys.len() < spec.y.len() {
        plot.notes.push("columns with another unit are not drawn".to_owned());
    }
    if places.left_out > 0 {
        plot.notes.push(format!("{} without {} left out", rows(places.left_out), clean(&spec.x)));
    }
    plot.sort_slots();
    if plot.slots.is_empty() {
        return Err(ChartError::NothingToDraw { reason: format!("\"{}\" is empty in every row", spec.x) });
    }
    Ok(plot)
}

/// A number of rows as text.
pub(super) fn rows(count: usize) -> String {
    format!("{} {}", group(count as f64, 0, false), if count == 1 { "row" } else { "rows" })
}

fn series_name(frame: &Frame, row: usize, y: usize, split: Option<usize>, many: bool) -> String {
    let measure = frame.fields.get(y).map_or("", |field| field.name.as_str());
    match split {
        Some(split) if many => format!("{} · {measure}", word(frame.cell(row, split), unit(frame, split))),
        Some(split) => word(frame.cell(row, split), unit(frame, split)),
        None => super::draw::heading(None, measure),
    }
}

type Cells = HashMap<(usize, usize), (f64, usize)>;

/// A table of every series over every slot must fit into memory. If it would not, all but the
/// largest series are merged into one, which comes last. Returns how many were merged.
fn merge(names: &mut Vec<String>, slots: usize, cells: &mut Cells) -> usize {
    const MOST_CELLS: usize = 1_000_000;
    let keep = (MOST_CELLS / slots.max(1)).max(40);
    if names.len() <= keep {
        return 0;
    }
    let mut weights: Vec<(usize, f64)> = (0..names.len()).map(|index| (index, 0.0)).collect();
    for ((series, _), (value, _)) in cells.iter() {
        if let Some((_, weight)) = weights.get_mut(*series) {
            *weight += value.abs();
        }
    }
    weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let places: HashMap<usize, usize> =
        weights.iter().take(keep).enumerate().map(|(to, (from, _))| (*from, to)).collect();
    let mut sparse = Cells::new();
    for ((series, slot), (value, count)) in cells.drain() {
        let cell = sparse.entry((places.get(&series).copied().unwrap_or(keep), slot)).or_insert((0.0, 0));
        *cell = (sane(cell.0 + value).unwrap_or(value), cell.1 + count);
    }
    *cells = sparse;
    let merged = names.len() - keep;
    *names = weights.iter().take(keep).filter_map(|(from, _)| names.get(*from).cloned()).collect();
    names.push(String::new());
    merged
}

fn fill(names: Vec<String>, slots: usize, cells: &Cells, adds: bool, merged: usize) -> Vec<Series> {
    let value = |cell: &(f64, usize)| if adds { cell.0 } else { cell.0 / cell.1.max(1) as f64 };
    let last = names.len().saturating_sub(1);
    let series = |(index, name)| {
        let values = (0..slots).map(|slot| cells.get(&(index, slot)).map(value)).collect();
        Series { name, values, other: merged > 0 && index == last }
    };
    names.into_iter().enumerate().map(series).collect()
}

impl Plot {
    /// Time and numbers go from left to right.
    fn sort_slots(&mut self) {
        if self.along != AxisKind::Words {
            let mut order: Vec<usize> = (0..self.slots.len()).collect();
            let at = |slot: &usize| self.slots.get(*slot).map_or(0.0, |s| s.at);
            order.sort_by(|a, b| at(a).total_cmp(&at(b)));
            self.reorder(&order);
        }
    }

    /// Keeps the slots of `order`, in that order.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.slots = order.iter().filter_map(|slot| self.slots.get(*slot).cloned()).collect();
        for series in &mut self.series {
            series.values = order.iter().map(|slot| series.value(*slot)).collect();
        }
    }

    /// The name of the x axis; with the year if the labels of days omit it.
    pub(super) fn foot(&self, spec: &Spec) -> String {
        let name = super::draw::heading(spec.x_title.as_ref(), &spec.x);
        let seconds: Vec<f64> = self.slots.iter().map(|slot| slot.at).collect();
        match (self.along, seconds.first()) {
            (AxisKind::Time(grain), Some(first))
                if grain <= time::Grain::Day && !time::many_years(&seconds) =>
            {
                format!("{name} ({})", time::at(*first).format("%Y"))
            }
            _ => name,
        }
    }

    /// The sum of absolute values at a slot.
    pub(super) fn weight(&self, slot: usize) -> f64 {
        self.series.iter().filter_map(|s| s.value(slot)).map(f64::abs).sum()
    }

    /// Keeps the largest categories; the others are merged into one if their numbers may be summed.
    pub(super) fn limit_slots(&mut self, most: usize, what: &str) {
        let count = self.slots.len();
        if count <= most || most < 2 {
            return;
        }
        let keep = if self.additive { most - 1 } else { most };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| self.weight(*b).total_cmp(&self.weight(*a)).then(a.cmp(b)));
        let rest: Vec<usize> = order.split_off(keep);
        let sums: Vec<Option<f64>> =
            self.series.iter().map(|s| add(rest.iter().filter_map(|slot| s.value(*slot)))).collect();
        order.sort_unstable();
        self.reorder(&order);
        let total = group(count as f64, 0, false);
        self.notes.push(format!("{keep} largest of {total} {}", plural(&clean(what))));
        if self.additive {
            let label = format!("Other ({})", group(rest.len() as f64, 0, false));
            self.slots.push(Slot { label, at: 0.0, other: true });
            for (series, sum) in self.series.iter_mut().zip(sums) {
                series.values.push(sum);
            }
        }
    }

    /// Keeps the largest series; the others are merged into one if their numbers may be summed.
    pub(super) fn limit_series(&mut self, most: usize, what: &str) {
        let count = self.series.iter().filter(|series| !series.other).count() + self.merged;
        if count <= most || most < 2 {
            return;
        }
        let keep = if self.additive { most - 1 } else { most };
        let mut order: Vec<usize> = (0..self.series.len()).collect();
        let weights: Vec<f64> = self.series.iter().map(Series::weight).collect();
        // A series that was merged before is not ranked, however large.
        let other = |index: &usize| self.series.get(*index).is_some_and(|series| series.other);
        let weight =
            |index: &usize| if other(index) { -1.0 } else { weights.get(*index).copied().unwrap_or(0.0) };
        order.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
        let rest = order.split_off(keep);
        order.sort_unstable();
        let other: Vec<&Series> = rest.iter().filter_map(|index| self.series.get(*index)).collect();
        let values =
            (0..self.slots.len()).map(|slot| add(other.iter().filter_map(|s| s.value(slot)))).collect();
        let name = format!("Other ({})", group((count - keep) as f64, 0, false));
        let mut kept: Vec<Series> =
            order.iter().filter_map(|index| self.series.get(*index).cloned()).collect();
        if self.additive {
            kept.push(Series { name, values, other: true });
        }
        self.series = kept;
        self.notes.push(format!(
            "{keep} largest of {} {}",
            group(count as f64, 0, false),
            plural(&clean(what))
        ));
    }

    /// Whether the series may be stacked. Parts of a whole may, averages may not.
    pub(super) fn stacks(&self) -> bool {
        self.additive || matches!(self.unit, Unit::Share | Unit::Percent)
    }

    /// The smallest and the largest value.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        range(self.series.iter().flat_map(|s| s.values.iter().flatten().copied()))
    }
}

fn add(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.fold(None, |sum: Option<f64>, value| sane(sum.unwrap_or(0.0) + value))
}

/// The smallest and the largest of some numbers.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| {
        Some(range.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v))))
    })
}

/// Whether a name has a natural order: it starts with a number, or is a month or a weekday.
pub(super) fn ordinal(label: &str) -> bool {
    let lower = label.to_lowercase();
    let counted =
        lower.split_once(' ').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
    let named =
        MONTHS.iter().chain(&DAYS).any(|name| *name == lower || name.get(..3) == Some(lower.as_str()));
    named
        || counted
        || lower.trim_start_matches(['<', '>', '=', ' ', '€', '$']).starts_with(|c: char| c.is_ascii_digit())
}

/// The plural of a column's name, for plain English words; anything else is unchanged.
#[must_use]
pub fn plural(name: &str) -> String {
    let name = name.replace('_', " ");
    let mut back = name.chars().rev();
    match (back.next(), back.next()) {
        (Some('s'), _) => name,
        (Some('y'), Some(before)) if before.is_ascii_lowercase() && !"aeiou".contains(before) => {
            format!("{}ies", name.strip_suffix('y').unwrap_or(&name))
        }
        (Some('x'), _) => format!("{name}es"),
        (Some('h'), Some('c' | 's')) => format!("{name}es"),
        (Some(last), _) if last.is_ascii_lowercase() => format!("{name}s"),
        _ => name,
    }
}
