//! Distributions: histograms and box plots.
//!
//! Invariant: every row with a number is counted exactly once.

use super::axis::{Scale, round_step, sane, short};
use super::data::{self, AxisKind};
use super::draw::{HEIGHT, MARGIN, Page, SMALL, WIDTH, capital, gutter, heading, measure_name, vertical};
use super::lines::thinned;
use super::svg::{AXIS, Area, INK, Type, clean, colour, fit, width};
use super::{ChartError, Spec, time};
use crate::frame::{Frame, Unit, Value, group};
use std::collections::HashMap;

const MOST_BOXES: usize = 16;

/// The bins of a histogram: their edges, one more than bins, and how many values are in each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bins {
    edges: Vec<f64>,
    pub counts: Vec<usize>,
}

impl Bins {
    /// Counts the values between edges; the last edge belongs to the last bin.
    fn count(edges: Vec<f64>, values: &[f64]) -> Self {
        let mut counts = vec![0; edges.len().saturating_sub(1)];
        let last = counts.len().saturating_sub(1);
        // A value on an edge, up to rounding, belongs to the bin above.
        let slack =
            edges.windows(2).find_map(|pair| Some((pair.last()? - pair.first()?) * 1e-9)).unwrap_or(0.0);
        for value in values {
            let bin = edges.partition_point(|edge| *edge <= value + slack).saturating_sub(1).min(last);
            if let Some(slot) = counts.get_mut(bin) {
                *slot += 1;
            }
        }
        Self { edges, counts }
    }

    /// The lower edge of a bin; after the last one, its upper edge.
    pub(super) fn edge(&self, bin: usize) -> f64 {
        self.edges.get(bin).or(self.edges.last()).copied().unwrap_or(0.0)
    }

    /// How wide a bin of numbers is.
    pub(super) fn step(&self) -> f64 {
        self.edge(1) - self.edge(0)
    }
}

/// The bins for a column: whole days, weeks or months for times, round numbers otherwise.
pub(super) fn bins(values: &[f64], whole: bool, along: AxisKind) -> Option<Bins> {
    if matches!(along, AxisKind::Time(_)) {
        let (low, high) = data::range(values.iter().copied())?;
        return Some(Bins::count(time::edges(low, high, 30), values));
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    let span = high - low;
    if span <= low.abs().max(high.abs()) * 1e-9 {
        let step = if low == 0.0 { 1.0 } else { round_step(low.abs() * 0.1) };
        let start = (low / step).floor() * step;
        return Some(Bins::count(vec![start - step, start, start + step, start + 2.0 * step], values));
    }
    // The Freedman-Diaconis rule; Sturges' rule prevents a handful of wide bins for a flat
    // distribution.
    let spread = quantile(&sorted, 0.75) - quantile(&sorted, 0.25);
    let count = sorted.len() as f64;
    let wanted = (2.0 * spread / count.cbrt()).min(span / (count.log2() + 1.0));
    let mut step = round_step((wanted * 0.75).clamp(span / 40.0, span / 5.0));
    if whole {
        step = step.max(1.0).ceil();
    }
    let start = (low / step + 1e-9).floor();
    let bins = ((high / step - start).floor() as usize + 1).min(64);
    Some(Bins::count((0..=bins).map(|bin| (start + bin as f64) * step).collect(), values))
}

/// A quantile of sorted numbers, with linear interpolation.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or(0.0);
    let (low, high) = (at(place.floor()), at(place.ceil()));
    low + (high - low) * place.fract()
}

/// The column that a histogram measures, and its numbers.
pub(super) fn measured(spec: &Spec, frame: &Frame) -> Result<(usize, AxisKind, Vec<f64>), ChartError> {
    let x = data::column(frame, &spec.x);
    let numeric = x.as_ref().is_ok_and(|at| data::along(frame, *at) != AxisKind::Words);
    let at = match spec.y.first() {
        Some(name) if !numeric => data::column(frame, name)?,
        _ => x?,
    };
    let along = data::along(frame, at);
    let number = |value: &Value| match along {
        AxisKind::Time(_) => time::moment(value).map(time::seconds),
        _ => value.number().and_then(sane),
    };
    let values: Vec<f64> = frame.column(at).filter_map(number).collect();
    let name = frame.fields.get(at).map_or_else(String::new, |f| f.name.clone());
    if values.is_empty() {
        return Err(if frame.column(at).all(Value::is_null) {
            ChartError::NothingToDraw { reason: format!("\"{name}\" has no values") }
        } else {
            ChartError::NotANumber { column: name }
        });
    }
    Ok((at, along, values))
}

/// A histogram.
pub(super) fn histogram(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    let (at, along, values) = measured(spec, frame)?;
    let whole = data::whole(frame, at) && !matches!(along, AxisKind::Time(_));
    let nothing = || ChartError::NothingToDraw { reason: format!("\"{}\" has no values", spec.x) };
    let bins = bins(&values, whole, along).ok_or_else(nothing)?;
    let name = frame.fields.get(at).map_or("", |f| f.name.as_str());
    let mut notes = vec![data::rows(values.len())];
    let empty = frame.rows.len() - values.len();
    if empty > 0 {
        notes.push(format!("{} without {} left out", data::rows(empty), clean(name)));
    }
    let mut page = Page::new(spec, &notes);
    let highest = bins.counts.iter().max().copied().unwrap_or(0) as f64;
    let (scale, labels) = vertical(0.0, highest, true, true, Unit::Plain);
    page.axis_name(spec.y_title.as_deref().unwrap_or("Number of rows"));
    let (left, right) = (MARGIN + gutter(&labels), WIDTH - MARGIN - 10.0);
    let area = Area { left, top: page.top + 4.0, right, bottom: HEIGHT - 58.0 };
    page.side(&area, &scale, &labels);
    let unit = data::unit(frame, at);
    columns(&mut page, &area, &bins, &scale, (along, unit));
    let (low, high) = (bins.edge(0), bins.edge(bins.counts.len()));
    let ticks: Vec<(f64, String)> = if let AxisKind::Time(_) = along {
        time::ticks(low, high, time::Grain::Day, 9)
    } else {
        let scale = Scale::tight(low, high, 9, whole);
        let labels = scale.labels(unit);
        scale.ticks.into_iter().zip(labels).collect()
    };
    let x = |value: f64| area.left + (value - low) / (high - low) * area.width();
    let places = ticks.into_iter().map(|(value, label)| (x(value), label)).collect();
    let foot = page.bottom(&area, &thinned(places, area.width()));
    page.foot(&area, foot, &heading(spec.x_title.as_ref(), name));
    Ok(page.finish(HEIGHT))
}

/// The columns of a histogram.
fn columns(page: &mut Page, area: &Area, bins: &Bins, scale: &Scale, (along, unit): (AxisKind, Unit)) {
    let (low, high) = (bins.edge(0), bins.edge(bins.counts.len()));
    let x = |bin: usize| area.left + (bins.edge(bin) - low) / (high - low) * area.width();
    let gap = if area.width() / bins.counts.len().max(1) as f64 > 6.0 { 0.75 } else { 0.2 };
    for (bin, count) in bins.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let y = area.bottom - scale.share(*count as f64) * area.height();
        let (from, to) = (edge_text(bins.edge(bin), along, unit), edge_text(bins.edge(bin + 1), along, unit));
        let tip = format!("{from} to {to}: {}", data::rows(*count));
        page.canvas.rect((x(bin) + gap, y), (x(bin + 1) - gap, area.bottom), colour(0), &tip);
    }
    page.canvas.line((area.left, area.bottom), (area.right, area.bottom), AXIS, 1.0);
}

/// A bin edge, formatted.
pub(super) fn edge_text(value: f64, along: AxisKind, unit: Unit) -> String {
    match along {
        AxisKind::Time(grain) if grain < time::Grain::Day => time::label(value, grain, true),
        AxisKind::Time(_) => time::label(value, time::Grain::Day, true),
        _ => short(value, unit),
    }
}

/// The five-number summary and the outliers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    pub whiskers: (f64, f64),
    pub quartiles: (f64, f64),
    pub median: f64,
    pub outliers: Vec<f64>,
}

/// Quartiles, and whiskers to the last value within 1.5 times the interquartile range.
pub(super) fn summary(values: &[f64]) -> Option<Summary> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let quartiles = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
    let reach = 1.5 * (quartiles.1 - quartiles.0);
    let inside = |v: &f64| *v >= quartiles.0 - reach && *v <= quartiles.1 + reach;
    let low = sorted.iter().copied().find(inside).unwrap_or(first);
    let high = sorted.iter().copied().rev().find(inside).unwrap_or(last);
    let outliers = sorted.iter().copied().filter(|v| !inside(v)).collect();
    Some(Summary { whiskers: (low, high), quartiles, median: quantile(&sorted, 0.5), outliers })
}

/// The values of each box: by category, or one box for each column.
fn groups(spec: &Spec, frame: &Frame, ys: &[usize]) -> Result<Vec<(String, Vec<f64>)>, ChartError> {
    let numbers =
        |at: usize| frame.column(at).filter_map(|v| v.number().and_then(sane)).collect::<Vec<f64>>();
    let by = spec.series.as_deref().filter(|_| spec.x.is_empty()).unwrap_or(&spec.x);
    let (1, false) = (ys.len(), by.is_empty() || spec.y.iter().any(|y| y == by)) else {
        let name = |at: usize| frame.fields.get(at).map_or_else(String::new, |f| heading(None, &f.name));
        return Ok(ys.iter().map(|at| (name(*at), numbers(*at))).collect());
    };
    let x = data::column(frame, by)?;
    let along = data::along(frame, x);
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for row in 0..frame.rows.len() {
        let cell = frame.cell(row, x);
        let Some(value) = ys.first().and_then(|y| frame.cell(row, *y).number()).and_then(sane) else {
            continue;
        };
        let name = match (along, time::moment(cell)) {
            (AxisKind::Time(grain), Some(moment)) => time::label(time::seconds(moment), grain, true),
            _ => data::word(cell, data::unit(frame, x)),
        };
        let next = groups.len();
        let index = *known.entry(name.clone()).or_insert(next);
        if index == next {
            groups.push((name, Vec::new()));
        }
        if let Some((_, values)) = groups.get_mut(index) {
            values.push(value);
        }
    }
    Ok(groups)
}

/// A box plot.
pub(super) fn boxes(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    let ys = data::measures(spec, frame)?;
    let mut groups = groups(spec, frame, &ys)?;
    groups.retain(|(_, values)| !values.is_empty());
    let mut notes = Vec::new();
    if groups.len() > MOST_BOXES {
        notes.push(format!("{MOST_BOXES} of {} with the most rows", group(groups.len() as f64, 0, false)));
        groups.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
        groups.truncate(MOST_BOXES);
    }
    notes.push("box: middle half, line: median, dots: outliers".to_owned());
    let summaries: Vec<(String, usize, Summary)> = groups
        .iter()
        .filter_map(|(name, values)| Some((name.clone(), values.len(), summary(values)?)))
        .collect();
    let Some((low, high)) = data::range(groups.iter().flat_map(|(_, values)| values.iter().copied())) else {
        return Err(ChartError::NothingToDraw { reason: "no category has a number".to_owned() });
    };
    let unit = ys.first().map_or(Unit::Plain, |y| data::unit(frame, *y));
    let whole = ys.iter().all(|y| data::whole(frame, *y));
    let (scale, labels) = vertical(low, high, low >= 0.0 && low < 0.4 * high, whole, unit);
    let mut page = Page::new(spec, &notes);
    page.axis_name(&measure_name(spec));
    let area = Area {
        left: MARGIN + gutter(&labels),
        top: page.top + 6.0,
        right: WIDTH - MARGIN,
        bottom: HEIGHT - 62.0,
    };
    page.side(&area, &scale, &labels);
    page.canvas.line((area.left, area.bottom), (area.right, area.bottom), AXIS, 1.0);
    let each = area.width() / summaries.len().max(1) as f64;
    for (index, (name, count, summary)) in summaries.iter().enumerate() {
        let centre = area.left + (index as f64 + 0.5) * each;
        one_box(
            &mut page,
            &area,
            &scale,
            summary,
            (centre, (each * 0.5).min(64.0)),
            &format!("{name}: median {}", short(summary.median, unit)),
        );
        let label = fit(name, SMALL, each - 6.0);
        page.canvas.text(centre, area.bottom + 18.0, &label, Type::new(SMALL, INK).middle());
        let rows = data::rows(*count);
        if width(&rows, 10.5) < each - 4.0 {
            page.canvas.text(centre, area.bottom + 33.0, &rows, Type::new(10.5, super::svg::SOFT).middle());
        }
    }
    if ys.len() == 1 && !spec.x.is_empty() && !spec.y.contains(&spec.x) {
        page.foot(&area, area.bottom + 52.0, &heading(spec.x_title.as_ref(), &capital(&spec.x)));
    }
    Ok(page.finish(HEIGHT))
}

fn one_box(page: &mut Page, area: &Area, scale: &Scale, summary: &Summary, place: (f64, f64), tip: &str) {
    let (centre, wide) = place;
    let y = |value: f64| area.bottom - scale.share(value) * area.height();
    let (left, right) = (centre - wide / 2.0, centre + wide / 2.0);
    let ink = colour(0);
    page.canvas.line((centre, y(summary.whiskers.0)), (centre, y(summary.quartiles.0)), ink, 1.4);
    page.canvas.line((centre, y(summary.quartiles.1)), (centre, y(summary.whiskers.1)), ink, 1.4);
    for end in [summary.whiskers.0, summary.whiskers.1] {
        page.canvas.line((centre - wide / 5.0, y(end)), (centre + wide / 5.0, y(end)), ink, 1.4);
    }
    page.canvas.rect((left, y(summary.quartiles.0)), (right, y(summary.quartiles.1)), "#b9d7ea", tip);
    page.canvas.line((left, y(summary.median)), (right, y(summary.median)), ink, 2.6);
    // Thousands of outliers would only make the file large: the farthest and a sample of the rest
    // are enough.
    let every = summary.outliers.len().div_ceil(200).max(1);
    let count = summary.outliers.len();
    for (index, value) in summary.outliers.iter().enumerate() {
        if index % every == 0 || index + 1 == count {
            page.canvas.circle((centre, y(*value)), 2.6, ink, 0.5, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_count_every_value_once() {
        for values in [
            vec![1.0, 2.0, 2.5, 9.0, 100.0],
            vec![5.0; 7],
            vec![-1e290, 1e290],
            vec![0.0],
            (0..999).map(f64::from).collect(),
        ] {
            let bins = bins(&values, false, AxisKind::Words).unwrap();
            assert_eq!(bins.counts.iter().sum::<usize>(), values.len(), "{bins:?}");
            assert!(bins.counts.len() <= 64);
        }
        assert_eq!(bins(&[], false, AxisKind::Words), None);
        let whole = bins(&[1.0, 2.0, 3.0, 3.0], true, AxisKind::Words).unwrap();
        assert_eq!((whole.edges, whole.counts), (vec![1.0, 2.0, 3.0, 4.0], vec![1, 1, 2]));
    }

    #[test]
    fn moments_are_counted_by_calendar() {
        let day = |m, d| time::seconds(chrono::NaiveDate::from_ymd_opt(2021, m, d).unwrap().into());
        let values = [day(1, 1), day(1, 31), day(2, 1), day(12, 31)];
        let bins = bins(&values, false, AxisKind::Time(time::Grain::Day)).unwrap();
        assert_eq!(bins.counts.iter().sum::<usize>(), 4);
        assert!(bins.edge(0) <= values[0] && bins.edge(bins.counts.len()) > values[3]);
        assert!(bins.counts.len() <= 32, "{}", bins.counts.len());
    }

    #[test]
    fn boxes_find_outliers() {
        let s = summary(&[1.0, 2.0, 3.0, 4.0, 100.0]).unwrap();
        assert_eq!((s.median, s.quartiles, s.whiskers), (3.0, (2.0, 4.0), (1.0, 4.0)));
        assert_eq!(s.outliers, vec![100.0]);
    }
}
