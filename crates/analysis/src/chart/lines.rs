//! Lines, areas and dots over a continuous axis.
//!
//! Invariant: a missing value is a gap, never a zero, and a note says when an axis does not start
//! at zero.

use super::axis::{Scale, sane, short};
use super::data::{self, AxisKind, Plot, Series};
use super::draw::{
    HEIGHT, MARGIN, Page, SMALL, WIDTH, gutter, heading, measure_name, series_colour, vertical,
};
use super::svg::{AXIS, Area, INK, Type, fit, path, width};
use super::{ChartError, ChartKind, Spec, time};
use crate::frame::{Frame, Unit, group};

const MOST_SERIES: usize = 8;
const MOST_DOTS: usize = 4000;

/// The series of a line chart, reduced to what can be distinguished.
pub(super) fn prepare(spec: &Spec, frame: &Frame) -> Result<Plot, ChartError> {
    let mut plot = data::plot(spec, frame)?;
    plot.limit_series(MOST_SERIES, spec.series.as_deref().unwrap_or("series"));
    Ok(plot)
}

/// A line chart or an area chart.
pub(super) fn lines(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    let mut plot = prepare(spec, frame)?;
    let (low, high) = plot.range().unwrap_or((0.0, 0.0));
    let stacked = spec.kind == ChartKind::Area && plot.series.len() > 1 && low >= 0.0 && plot.stacks();
    // Areas that cannot be stacked would hide each other, so they are drawn as lines.
    let filled = spec.kind == ChartKind::Area && (stacked || plot.series.len() == 1);
    let (low, high) = if stacked { (0.0, tallest(&plot)) } else { (low, high) };
    let zero = filled || low <= 0.0 || low < 0.6 * high || low == high;
    let (scale, labels) = vertical(low, high, zero, plot.whole, plot.unit);
    if scale.low > 0.0 || scale.high < 0.0 {
        plot.notes.push("vertical axis does not start at zero".to_owned());
    }
    let mut page = Page::new(spec, &plot.notes);
    let named = !filled && plot.series.len() > 1;
    if filled && plot.series.len() > 1 {
        page.legend(&plot.series);
    }
    page.axis_name(&measure_name(spec));
    let area = Area {
        left: MARGIN + gutter(&labels),
        top: page.top + 4.0,
        right: WIDTH - MARGIN - right_room(&plot, named),
        bottom: HEIGHT - 58.0,
    };
    page.side(&area, &scale, &labels);
    let foot = ticks_along(&mut page, &area, &plot);
    page.foot(&area, foot, &plot.foot(spec));
    if stacked {
        stack(&mut page, &area, &plot, &scale);
    } else {
        strokes(&mut page, &area, &plot, &scale, filled);
        end_labels(&mut page, &area, &plot, &scale, named);
    }
    Ok(page.finish(HEIGHT))
}

/// The largest sum over the series at one slot.
fn tallest(plot: &Plot) -> f64 {
    (0..plot.slots.len()).map(|slot| plot.weight(slot)).fold(0.0, f64::max)
}

/// The width of the labels at the ends of the lines.
fn right_room(plot: &Plot, named: bool) -> f64 {
    if named {
        plot.series.iter().map(|s| width(&fit(&s.name, SMALL, 150.0), SMALL)).fold(0.0, f64::max) + 18.0
    } else {
        last(plot.series.first()).map_or(0.0, |(_, v)| width(&short(v, plot.unit), SMALL)) + 14.0
    }
}

/// The last value of a series and its slot.
fn last(series: Option<&Series>) -> Option<(usize, f64)> {
    let series = series?;
    series.values.iter().enumerate().rev().find_map(|(slot, v)| v.map(|v| (slot, v)))
}

/// The position of a slot along the axis, 0 to 1.
fn share(plot: &Plot, slot: usize) -> f64 {
    let count = plot.slots.len();
    if plot.along == AxisKind::Words {
        return (slot as f64 + 0.5) / count.max(1) as f64;
    }
    let at = |slot: usize| plot.slots.get(slot).map_or(0.0, |s| s.at);
    let (low, high) = (at(0), at(count.saturating_sub(1)));
    if high > low { ((at(slot) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
}

fn ticks_along(page: &mut Page, area: &Area, plot: &Plot) -> f64 {
    let x = |share: f64| area.left + share * area.width();
    let at = |slot: usize| plot.slots.get(slot).map_or(0.0, |s| s.at);
    let (low, high) = (at(0), at(plot.slots.len().saturating_sub(1)));
    let by_slot = plot.along == AxisKind::Words || plot.slots.len() <= 6 || high <= low;
    let places: Vec<(f64, String)> = if by_slot {
        let fitted =
            |label: &str| fit(label, SMALL, (area.width() / plot.slots.len().max(1) as f64).max(64.0));
        // Measuring thousands of names that cannot all be shown would be slow.
        let every = plot.slots.len().div_ceil(400).max(1);
        plot.slots
            .iter()
            .enumerate()
            .step_by(every)
            .map(|(slot, s)| (x(share(plot, slot)), fitted(&s.label)))
            .collect()
    } else {
        let ticks = match plot.along {
            AxisKind::Time(grain) => time::ticks(low, high, grain, (area.width() / 78.0) as usize),
            AxisKind::Number(unit) => {
                let whole = plot.slots.iter().all(|s| s.at.fract() == 0.0);
                let scale = Scale::tight(low, high, 8, whole);
                let labels = scale.labels(unit);
                scale.ticks.into_iter().zip(labels).collect()
            }
            AxisKind::Words => Vec::new(),
        };
        ticks.into_iter().map(|(at, label)| (x((at - low) / (high - low)), label)).collect()
    };
    page.bottom(area, &thinned(places, area.width()))
}

/// Every nth label, so that their distance stays even.
pub(super) fn thinned(places: Vec<(f64, String)>, room: f64) -> Vec<(f64, String)> {
    let widest = places.iter().map(|(_, label)| width(label, SMALL)).fold(0.0, f64::max) + 10.0;
    let every = (places.len() as f64 * widest / room.max(1.0)).ceil().max(1.0) as usize;
    places.into_iter().step_by(every).collect()
}

/// The pieces of a series between its gaps, in pixels.
fn pieces(area: &Area, plot: &Plot, scale: &Scale, values: &[Option<f64>]) -> Vec<Vec<(f64, f64)>> {
    let mut out: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for (slot, value) in values.iter().enumerate() {
        match (value, out.last_mut()) {
            (Some(value), Some(piece)) => {
                let x = area.left + share(plot, slot) * area.width();
                piece.push((x, area.bottom - scale.share(*value) * area.height()));
            }
            (None, Some(piece)) if !piece.is_empty() => out.push(Vec::new()),
            _ => {}
        }
    }
    out.retain(|piece| !piece.is_empty());
    out.into_iter().map(lighter).collect()
}

/// At most a maximum and a minimum for each half pixel: the picture is the same and the file stays
/// small.
fn lighter(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() < 3000 {
        return points;
    }
    let mut out: Vec<(f64, f64)> = Vec::new();
    let mut bucket: Vec<(f64, f64)> = Vec::new();
    let mut column = i64::MIN;
    for point in points {
        let here = (point.0 * 2.0) as i64;
        if here != column {
            out.extend(extremes(&bucket));
            bucket.clear();
            column = here;
        }
        bucket.push(point);
    }
    out.extend(extremes(&bucket));
    out
}

fn extremes(bucket: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let low = bucket.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let high = bucket.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    low.into_iter().chain(high)
}

fn strokes(page: &mut Page, area: &Area, plot: &Plot, scale: &Scale, filled: bool) {
    let base = area.bottom - scale.share(0.0) * area.height();
    let few = plot.slots.len() <= 40 && plot.series.len() * plot.slots.len() <= 120;
    for (index, series) in plot.series.iter().enumerate() {
        let ink = series_colour(series, index);
        for piece in pieces(area, plot, scale, &series.values) {
            if filled && let (Some(first), Some(end)) = (piece.first(), piece.last()) {
                let mut outline = piece.clone();
                outline.extend([(end.0, base), (first.0, base)]);
                page.canvas.path(&format!("{}Z", path(&outline)), ink, 0.16, None, "");
            }
            match piece.as_slice() {
                [only] => page.canvas.circle(*only, 3.5, ink, 1.0, ""),
                points => page.canvas.path(&path(points), "none", 1.0, Some((ink, 2.2)), ""),
            }
        }
        for (slot, value) in series.values.iter().enumerate().filter(|_| few) {
            let (Some(value), Some(place)) = (value, plot.slots.get(slot)) else { continue };
            let at = (
                area.left + share(plot, slot) * area.width(),
                area.bottom - scale.share(*value) * area.height(),
            );
            let tip = format!("{}, {}: {}", series.name, place.label, short(*value, plot.unit));
            page.canvas.circle(at, if plot.slots.len() <= 24 { 3.0 } else { 2.0 }, ink, 1.0, &tip);
        }
    }
}

/// Names, or the last value of a single line, at the ends; moved apart so that they do not overlap.
fn end_labels(page: &mut Page, area: &Area, plot: &Plot, scale: &Scale, named: bool) {
    let mut labels: Vec<(f64, f64, usize, String)> = Vec::new();
    for (index, series) in plot.series.iter().enumerate() {
        let Some((slot, value)) = last(Some(series)) else { continue };
        let text = if named { fit(&series.name, SMALL, 150.0) } else { short(value, plot.unit) };
        let x = area.left + share(plot, slot) * area.width();
        labels.push((area.bottom - scale.share(value) * area.height(), x, index, text));
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = area.top - 4.0;
    let mut places: Vec<f64> = labels
        .iter()
        .map(|(y, ..)| {
            free = y.max(free);
            let at = free;
            free += 16.0;
            at
        })
        .collect();
    let mut floor = area.bottom + 6.0;
    for place in places.iter_mut().rev() {
        *place = place.min(floor);
        floor = *place - 16.0;
    }
    for ((y, x, index, text), place) in labels.iter().zip(places) {
        let ink = plot.series.get(*index).map_or(INK, |s| series_colour(s, *index));
        page.canvas.circle((*x, *y), 3.5, ink, 1.0, "");
        if named {
            page.canvas.line((area.right + 3.0, *y), (area.right + 11.0, place), ink, 1.0);
            page.canvas.text(area.right + 14.0, place + 4.0, text, Type::new(SMALL, INK));
        } else {
            page.canvas.text(*x + 8.0, place + 4.0, text, Type::new(SMALL, INK).bold());
        }
    }
}

/// Stacked layers; a missing value is a layer of zero height.
fn stack(page: &mut Page, area: &Area, plot: &Plot, scale: &Scale) {
    let mut below = vec![0.0; plot.slots.len()];
    for (index, series) in plot.series.iter().enumerate() {
        let above: Vec<f64> =
            below.iter().enumerate().map(|(slot, base)| base + series.value(slot).unwrap_or(0.0)).collect();
        let point = |(slot, value): (usize, &f64)| {
            (area.left + share(plot, slot) * area.width(), area.bottom - scale.share(*value) * area.height())
        };
        let mut outline: Vec<(f64, f64)> = above.iter().enumerate().map(point).collect();
        let mut back: Vec<(f64, f64)> = below.iter().enumerate().map(point).collect();
        if let ([first], [base]) = (outline.as_slice(), back.as_slice()) {
            // A single slot has no width, so it is drawn as a bar.
            let (a, b) = ((first.0 - 20.0, first.1), (base.0 + 20.0, base.1));
            page.canvas.rect(a, b, series_colour(series, index), &series.name);
        } else {
            back.reverse();
            outline.extend(back);
            let ink = series_colour(series, index);
            page.canvas.path(
                &format!("{}Z", path(&outline)),
                ink,
                0.88,
                Some(("#ffffff", 0.8)),
                &series.name,
            );
        }
        below = above;
    }
}

/// One dot of a scatter chart.
struct Dot {
    x: f64,
    y: f64,
    series: usize,
}

/// A dot for each row.
pub(super) fn scatter(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    let x = data::column(frame, &spec.x)?;
    let split = spec.series.as_deref().map(|name| data::column(frame, name)).transpose()?;
    let ys = data::measures(spec, frame)?;
    let along = data::along(frame, x);
    if along == AxisKind::Words {
        return Err(ChartError::NotANumber { column: spec.x.clone() });
    }
    let (mut dots, mut series, missing) = dots(frame, x, &ys, split, along);
    let (Some(xs), Some(range)) =
        (data::range(dots.iter().map(|d| d.x)), data::range(dots.iter().map(|d| d.y)))
    else {
        return Err(ChartError::NothingToDraw {
            reason: format!("no row has both {} and {}", spec.x, spec.y.join(", ")),
        });
    };
    let notes = thin_out(&mut dots, &mut series, missing);
    let unit = ys.first().map_or(Unit::Plain, |y| data::unit(frame, *y));
    let near = |(low, high): (f64, f64)| low >= 0.0 && low < 0.5 * high;
    let whole = ys.iter().all(|y| data::whole(frame, *y));
    let (scale, labels) = vertical(range.0, range.1, near(range), whole, unit);
    let mut page = Page::new(spec, &notes);
    if series.len() > 1 {
        page.legend(&series);
    }
    page.axis_name(&measure_name(spec));
    let area = Area {
        left: MARGIN + gutter(&labels),
        top: page.top + 4.0,
        right: WIDTH - MARGIN - 12.0,
        bottom: HEIGHT - 58.0,
    };
    page.side(&area, &scale, &labels);
    let (low, high) = across(&mut page, &area, along, xs, near(xs), spec);
    let radius = if dots.len() > 1500 {
        2.2
    } else if dots.len() > 300 {
        3.0
    } else {
        4.2
    };
    for dot in &dots {
        let at = (
            area.left + ((dot.x - low) / (high - low)).clamp(0.0, 1.0) * area.width(),
            area.bottom - scale.share(dot.y) * area.height(),
        );
        let index = dot.series.min(series.len().saturating_sub(1));
        let ink = series.get(index).map_or(INK, |s| series_colour(s, index));
        page.canvas.circle(at, radius, ink, if dots.len() > 60 { 0.55 } else { 0.8 }, "");
    }
    Ok(page.finish(HEIGHT))
}

/// Reduces series and dots to a visible number, and says so.
fn thin_out(dots: &mut Vec<Dot>, series: &mut Vec<Series>, missing: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if missing > 0 {
        notes.push(format!("{} with an empty value left out", data::rows(missing)));
    }
    if series.len() > MOST_SERIES {
        notes.push(format!(
            "colours for {} of {} values",
            MOST_SERIES - 1,
            group(series.len() as f64, 0, false)
        ));
        series.truncate(MOST_SERIES - 1);
        series.push(Series { name: "Other".to_owned(), values: Vec::new(), other: true });
    }
    if dots.len() > MOST_DOTS {
        let (every, all) = (dots.len().div_ceil(MOST_DOTS), group(dots.len() as f64, 0, false));
        *dots = std::mem::take(dots).into_iter().step_by(every).collect();
        notes.push(format!("{} of {all} points shown, evenly picked", group(dots.len() as f64, 0, false)));
    }
    notes
}

/// The x axis of a scatter chart, with ticks, grid and name. Returns its range.
fn across(
    page: &mut Page,
    area: &Area,
    along: AxisKind,
    xs: (f64, f64),
    zero: bool,
    spec: &Spec,
) -> (f64, f64) {
    let (low, high, ticks) = match along {
        AxisKind::Time(grain) => {
            let pad = ((xs.1 - xs.0) * 0.02).max(43_200.0);
            let (low, high) = (xs.0 - pad, xs.1 + pad);
            (low, high, time::ticks(low, high, grain, (area.width() / 84.0) as usize))
        }
        AxisKind::Number(unit) => {
            let scale = Scale::cover(xs.0, xs.1, 8, zero, false);
            let labels = scale.labels(unit);
            (scale.low, scale.high, scale.ticks.into_iter().zip(labels).collect())
        }
        AxisKind::Words => (0.0, 1.0, Vec::new()),
    };
    let places: Vec<(f64, String)> =
        ticks.into_iter().map(|(at, l)| (area.left + (at - low) / (high - low) * area.width(), l)).collect();
    for (x, _) in &places {
        page.canvas.line((*x, area.top), (*x, area.bottom), super::svg::GRID, 1.0);
    }
    page.canvas.line((area.left, area.bottom), (area.right, area.bottom), AXIS, 1.0);
    let foot = page.bottom(area, &thinned(places, area.width()));
    page.foot(area, foot, &heading(spec.x_title.as_ref(), &spec.x));
    (low, high)
}

fn dots(
    frame: &Frame,
    x: usize,
    ys: &[usize],
    split: Option<usize>,
    along: AxisKind,
) -> (Vec<Dot>, Vec<Series>, usize) {
    let (mut dots, mut missing) = (Vec::new(), 0);
    let mut known: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut series: Vec<Series> = Vec::new();
    for row in 0..frame.rows.len() {
        let cell = frame.cell(row, x);
        let at = match along {
            AxisKind::Time(_) => time::moment(cell).map(time::seconds),
            _ => cell.number().and_then(sane),
        };
        for y in ys {
            let (Some(at), Some(value)) = (at, frame.cell(row, *y).number().and_then(sane)) else {
                missing += 1;
                continue;
            };
            let name = match split {
                Some(split) => data::word(frame.cell(row, split), data_unit(frame, split)),
                None => frame.fields.get(*y).map_or_else(String::new, |f| f.name.clone()),
            };
            let next = series.len();
            let index = *known.entry(name.clone()).or_insert(next);
            if index == next {
                series.push(Series { name, values: Vec::new(), other: false });
            }
            dots.push(Dot { x: at, y: value, series: index });
        }
    }
    (dots, series, missing)
}

fn data_unit(frame: &Frame, at: usize) -> Unit {
    frame.fields.get(at).map_or(Unit::Plain, |field| field.unit)
}
