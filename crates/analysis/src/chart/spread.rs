//! How values are spread: histograms and box plots.
//!
//! Invariant: every row with a number is counted exactly once.

use super::axis::{Scale, round_step, sane, short};
use super::data::{self, Along};
use super::draw::{HEIGHT, MARGIN, Page, SMALL, WIDTH, capital, gutter, heading, measure_name, vertical};
use super::lines::thinned;
use super::svg::{AXIS, Area, INK, Type, clean, colour, fit, width};
use super::{ChartError, Spec, time};
use crate::frame::{Frame, Unit, Value, group};
use std::collections::HashMap;

const MOST_BOXES: usize = 16;

/// The bins of a histogram: where the first starts, how wide each is, and how many values are in them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bins {
    pub start: f64,
    pub step: f64,
    pub counts: Vec<usize>,
}

/// Round bins by the rule of Freedman and Diaconis, between 5 and 40 of them.
pub(super) fn bins(values: &[f64], whole: bool) -> Option<Bins> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    let spread = quantile(&sorted, 0.75) - quantile(&sorted, 0.25);
    let span = high - low;
    if span <= low.abs().max(high.abs()) * 1e-9 {
        let step = if low == 0.0 { 1.0 } else { round_step(low.abs() * 0.1) };
        return Some(Bins {
            start: (low / step).floor() * step - step,
            step,
            counts: vec![0, sorted.len(), 0],
        });
    }
    // The rule of Sturges keeps a flat spread from ending in a handful of wide bins.
    let count = sorted.len() as f64;
    let wanted = (2.0 * spread / count.cbrt()).min(span / (count.log2() + 1.0));
    let mut step = round_step(wanted.clamp(span / 40.0, span / 5.0));
    if whole {
        step = step.max(1.0).ceil();
    }
    let start = (low / step + 1e-9).floor() * step;
    let count = (((high - start) / step).floor() as usize + 1).min(64);
    let mut counts = vec![0; count];
    for value in &sorted {
        let bin = (((value - start) / step + 1e-9).floor().max(0.0) as usize).min(count - 1);
        if let Some(slot) = counts.get_mut(bin) {
            *slot += 1;
        }
    }
    Some(Bins { start, step, counts })
}

/// A quantile of sorted numbers, linear between neighbours.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or(0.0);
    let (low, high) = (at(place.floor()), at(place.ceil()));
    low + (high - low) * place.fract()
}

/// The column that a histogram measures, and its numbers.
pub(super) fn measured(spec: &Spec, frame: &Frame) -> Result<(usize, Along, Vec<f64>), ChartError> {
    let x = data::column(frame, &spec.x);
    let numeric = x.as_ref().is_ok_and(|at| data::along(frame, *at) != Along::Words);
    let at = match spec.y.first() {
        Some(name) if !numeric => data::column(frame, name)?,
        _ => x?,
    };
    let along = data::along(frame, at);
    let number = |value: &Value| match along {
        Along::Time(_) => time::moment(value).map(time::seconds),
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
    let whole = data::whole(frame, at) && !matches!(along, Along::Time(_));
    let nothing = || ChartError::NothingToDraw { reason: format!("\"{}\" has no values", spec.x) };
    let bins = bins(&values, whole).ok_or_else(nothing)?;
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
    let area = Area {
        left: MARGIN + gutter(&labels),
        top: page.top + 4.0,
        right: WIDTH - MARGIN - 10.0,
        bottom: HEIGHT - 58.0,
    };
    page.side(&area, &scale, &labels);
    let each = area.width() / bins.counts.len().max(1) as f64;
    let unit = data::unit(frame, at);
    let edge = |bin: usize| bins.start + bin as f64 * bins.step;
    let grain = if let Along::Time(_) = along { time::Grain::Day } else { time::Grain::Year };
    let say =
        |v: f64| if matches!(along, Along::Time(_)) { time::label(v, grain, true) } else { short(v, unit) };
    for (bin, count) in bins.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (left, right) = (area.left + bin as f64 * each, area.left + (bin + 1) as f64 * each);
        let y = area.bottom - scale.share(*count as f64) * area.height();
        let tip = format!("{} to {}: {}", say(edge(bin)), say(edge(bin + 1)), data::rows(*count));
        let gap = if each > 6.0 { 0.75 } else { 0.2 };
        page.canvas.rect((left + gap, y), (right - gap, area.bottom), colour(0), &tip);
    }
    page.canvas.line((area.left, area.bottom), (area.right, area.bottom), AXIS, 1.0);
    let (low, high) = (edge(0), edge(bins.counts.len()));
    let ticks: Vec<(f64, String)> = match along {
        Along::Time(_) => time::ticks(low, high, time::Grain::Day, 9),
        _ => {
            let scale = Scale::tight(low, high, 9, whole);
            let labels = scale.labels(unit);
            scale.ticks.into_iter().zip(labels).collect()
        }
    };
    let places =
        ticks.into_iter().map(|(v, l)| (area.left + (v - low) / (high - low) * area.width(), l)).collect();
    let foot = page.bottom(&area, &thinned(places, area.width()));
    page.foot(&area, foot, &heading(spec.x_title.as_ref(), name));
    Ok(page.finish(HEIGHT))
}

/// Five numbers and what lies outside of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    pub whiskers: (f64, f64),
    pub quartiles: (f64, f64),
    pub median: f64,
    pub outliers: Vec<f64>,
}

/// Quartiles, and whiskers to the last value within one and a half times the distance of the quartiles.
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
            (Along::Time(grain), Some(moment)) => time::label(time::seconds(moment), grain, true),
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
    // Thousands of outliers would only make the file large: the farthest and a sample of the rest are enough.
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
            let bins = bins(&values, false).unwrap();
            assert_eq!(bins.counts.iter().sum::<usize>(), values.len(), "{bins:?}");
            assert!(bins.counts.len() <= 64);
        }
        assert_eq!(bins(&[], false), None);
        let whole = bins(&[1.0, 2.0, 3.0, 3.0], true).unwrap();
        assert_eq!((whole.start, whole.step, whole.counts), (1.0, 1.0, vec![1, 1, 2]));
    }

    #[test]
    fn boxes_find_outliers() {
        let s = summary(&[1.0, 2.0, 3.0, 4.0, 100.0]).unwrap();
        assert_eq!((s.median, s.quartiles, s.whiskers), (3.0, (2.0, 4.0), (1.0, 4.0)));
        assert_eq!(s.outliers, vec![100.0]);
    }
}
