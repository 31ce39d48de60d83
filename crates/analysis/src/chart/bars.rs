//! Bars: single, grouped or stacked; vertical for time and short names, horizontal for long names.
//!
//! Invariant: every bar starts at zero.

use super::axis::{Scale, short};
use super::data::{self, AxisKind, Plot};
use super::draw::{
    HEIGHT, MARGIN, Page, SMALL, WIDTH, gutter, heading, measure_name, series_colour, vertical,
};
use super::lines::thinned;
use super::svg::{AXIS, Area, GRID, INK, OTHER, SOFT, Type, colour, fit, width};
use super::{ChartError, ChartKind, Spec, time};
use crate::frame::Frame;

const MOST_BARS: usize = 20;
const MOST_SERIES: usize = 8;
/// More points in time than this are drawn as a line.
const MOST_MOMENTS: usize = 320;

/// One bar: its slot, its series, its start and end, and its position across the slot (0 to 1).
struct Bar {
    slot: usize,
    series: usize,
    from: f64,
    to: f64,
    side: (f64, f64),
    value: f64,
}

/// The bars of a chart, reduced to a readable number, in display order.
pub(super) fn prepare(spec: &Spec, frame: &Frame) -> Result<Plot, ChartError> {
    let mut plot = data::plot(spec, frame)?;
    plot.limit_series(MOST_SERIES, spec.series.as_deref().unwrap_or("series"));
    show_gaps(&mut plot);
    if plot.along == AxisKind::Words {
        let most = if plot.series.len() > 2 && spec.kind != ChartKind::StackedBar { 12 } else { MOST_BARS };
        plot.limit_slots(most, &spec.x);
        drop_giant(&mut plot);
        order(&mut plot, spec);
    }
    Ok(plot)
}

/// Bars are evenly spaced, so a month without a row needs an empty place. If most places would be
/// empty, they are omitted and the chart says so.
fn show_gaps(plot: &mut Plot) {
    let AxisKind::Time(grain) = plot.along else { return };
    let given: Vec<f64> = plot.slots.iter().map(|slot| slot.at).collect();
    let all = time::regular(&given, grain, MOST_MOMENTS).filter(|all| all.len() <= given.len() * 2);
    let Some(all) = all else {
        if given.len() > 2 && grain >= time::Grain::Day {
            plot.notes.push(format!("{} without rows left out", data::plural(time::label_text(grain))));
        }
        return;
    };
    let years = time::many_years(&given);
    let places: Vec<Option<usize>> = all.iter().map(|at| given.iter().position(|here| here == at)).collect();
    if places.iter().flatten().count() < given.len() || all.len() == given.len() {
        return;
    }
    let slot = |at: &f64| data::Slot { label: time::label(*at, grain, years), at: *at, other: false };
    plot.slots = all.iter().map(slot).collect();
    for series in &mut plot.series {
        series.values = places.iter().map(|place| place.and_then(|place| series.value(place))).collect();
    }
}

/// Omits the bar of all others if it would make the rest too small to compare, and says so.
fn drop_giant(plot: &mut Plot) {
    let Some(other) = plot.slots.iter().position(|slot| slot.other) else { return };
    let largest = (0..other).map(|slot| plot.weight(slot)).fold(0.0, f64::max);
    if plot.weight(other) > 2.0 * largest {
        let sum: f64 = plot.series.iter().filter_map(|s| s.value(other)).sum();
        plot.notes.push(format!("the others, not drawn, add up to {}", short(sum, plot.unit)));
        plot.reorder(&(0..other).collect::<Vec<_>>());
    }
}

/// A bar chart.
pub(super) fn bars(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    let plot = prepare(spec, frame)?;
    if plot.slots.len() > MOST_MOMENTS {
        return super::lines::lines(&Spec { kind: ChartKind::Area, ..spec.clone() }, frame);
    }
    let bars = lay(&plot, stacked(spec, &plot));
    let (low, high) = data::range(bars.iter().flat_map(|b| [b.from, b.to])).unwrap_or((0.0, 0.0));
    let mut page = Page::new(spec, &plot.notes);
    if plot.series.len() > 1 {
        page.legend(&plot.series);
    }
    let widest = plot.slots.iter().map(|slot| width(&slot.label, SMALL)).fold(0.0, f64::max);
    let room = (WIDTH - 2.0 * MARGIN - 60.0) / plot.slots.len().max(1) as f64;
    let lying = plot.along == AxisKind::Words && (widest + 14.0 > room || plot.slots.len() > 12);
    Ok(if lying {
        lie(page, spec, &plot, &bars, low, high)
    } else {
        stand(page, spec, &plot, &bars, low, high)
    })
}

/// Largest first, unless the names have a natural order or the rows are already sorted.
fn order(plot: &mut Plot, spec: &Spec) {
    let own = plot.slots.iter().any(|slot| !slot.other && super::data::ordinal(&slot.label));
    let sums: Vec<f64> =
        (0..plot.slots.len()).map(|slot| plot.series.iter().filter_map(|s| s.value(slot)).sum()).collect();
    let named = plot.slots.iter().filter(|slot| !slot.other).count();
    let sum = |slot: usize| sums.get(slot).copied().unwrap_or(0.0);
    let sorted = (1..named).all(|slot| sum(slot - 1) <= sum(slot))
        || (1..named).all(|slot| sum(slot - 1) >= sum(slot));
    if own || sorted || spec.kind == ChartKind::GroupedBar && plot.series.len() > 1 {
        return;
    }
    let mut order: Vec<usize> = (0..named).collect();
    order.sort_by(|a, b| sum(*b).total_cmp(&sum(*a)));
    order.extend(named..plot.slots.len());
    plot.reorder(&order);
}

/// Whether bars are stacked. Averages never are, whatever was requested.
fn stacked(spec: &Spec, plot: &Plot) -> bool {
    spec.kind == ChartKind::StackedBar && plot.series.len() > 1 && plot.stacks()
}

/// The layout of all bars.
fn lay(plot: &Plot, stacked: bool) -> Vec<Bar> {
    let mut out = Vec::new();
    let count = plot.series.len().max(1) as f64;
    let dense = plot.slots.len() > 60;
    for slot in 0..plot.slots.len() {
        let (mut up, mut down) = (0.0, 0.0);
        for (series, item) in plot.series.iter().enumerate() {
            let Some(value) = item.value(slot) else { continue };
            let (gap, share) = (if dense { 0.05 } else { 0.14 }, series as f64);
            if stacked {
                let from = if value < 0.0 { &mut down } else { &mut up };
                out.push(Bar { slot, series, from: *from, to: *from + value, side: (gap, 1.0 - gap), value });
                *from += value;
            } else {
                let each = (1.0 - 2.0 * gap) / count;
                let inner = if plot.series.len() > 1 { each * 0.04 } else { 0.0 };
                let side = (gap + share * each + inner, gap + (share + 1.0) * each - inner);
                out.push(Bar { slot, series, from: 0.0, to: value, side, value });
            }
        }
    }
    out
}

fn bar_colour(plot: &Plot, bar: &Bar) -> &'static str {
    if plot.slots.get(bar.slot).is_some_and(|slot| slot.other) && plot.series.len() == 1 {
        return OTHER;
    }
    plot.series.get(bar.series).map_or(colour(0), |series| series_colour(series, bar.series))
}

fn tip(plot: &Plot, bar: &Bar) -> String {
    let slot = plot.slots.get(bar.slot).map_or("", |slot| slot.label.as_str());
    let series = plot.series.get(bar.series).map_or("", |series| series.name.as_str());
    format!("{slot}, {series}: {}", short(bar.value, plot.unit))
}

/// The value labels of the bars; only if all of them fit.
fn labels(plot: &Plot, bars: &[Bar], room: f64) -> Option<Vec<String>> {
    let texts: Vec<String> = bars.iter().map(|bar| short(bar.value, plot.unit)).collect();
    let fits = texts.iter().all(|text| width(text, 11.0) + 4.0 <= room);
    (fits && bars.len() <= 40).then_some(texts)
}

/// The totals of stacked bars, if no value is negative: the slot, the sum and its text.
fn totals(spec: &Spec, plot: &Plot, low: f64, room: f64) -> Vec<(usize, f64, String)> {
    if !stacked(spec, plot) || low < 0.0 || !plot.additive {
        return Vec::new();
    }
    let sum = |slot: usize| (slot, plot.weight(slot), short(plot.weight(slot), plot.unit));
    let sums: Vec<(usize, f64, String)> =
        (0..plot.slots.len()).map(sum).filter(|(_, sum, _)| *sum > 0.0).collect();
    let fits = sums.iter().all(|(_, _, text)| width(text, 11.0) + 6.0 <= room);
    if fits { sums } else { Vec::new() }
}

/// Vertical bars.
fn stand(mut page: Page, spec: &Spec, plot: &Plot, bars: &[Bar], low: f64, high: f64) -> String {
    // Labels under negative bars need space above the axis labels.
    let low = if low < 0.0 { low - 0.06 * (high - low) } else { low };
    let (scale, ticks) = vertical(low, high, true, plot.whole, plot.unit);
    page.axis_name(&measure_name(spec));
    let area = Area {
        left: MARGIN + gutter(&ticks),
        top: page.top + 10.0,
        right: WIDTH - MARGIN,
        bottom: HEIGHT - 58.0,
    };
    page.side(&area, &scale, &ticks);
    let slot_width = area.width() / plot.slots.len().max(1) as f64;
    // A few bars stay narrow, in the middle of their slots.
    let slim = (120.0 / slot_width).min(1.0);
    let x = |slot: usize, side: f64| area.left + (slot as f64 + 0.5 + (side - 0.5) * slim) * slot_width;
    let y = |value: f64| area.bottom - scale.share(value) * area.height();
    let single = !stacked(spec, plot);
    let thickness = bars.first().map_or(0.0, |bar| (bar.side.1 - bar.side.0) * slim * slot_width);
    let texts = if single {
        labels(plot, bars, thickness.max(if plot.series.len() == 1 { slot_width } else { 0.0 }))
    } else {
        None
    };
    for (index, bar) in bars.iter().enumerate() {
        let (a, b) = ((x(bar.slot, bar.side.0), y(bar.from)), (x(bar.slot, bar.side.1), y(bar.to)));
        page.canvas.rect(a, b, bar_colour(plot, bar), &tip(plot, bar));
        if let Some(text) = texts.as_ref().and_then(|texts| texts.get(index)) {
            let above = if bar.value < 0.0 { b.1 + 13.0 } else { b.1 - 5.0 };
            page.canvas.text((a.0 + b.0) / 2.0, above, text, Type::new(11.0, INK).middle());
        }
    }
    for (slot, sum, text) in totals(spec, plot, low, slot_width) {
        page.canvas.text(x(slot, 0.5), y(sum) - 5.0, &text, Type::new(11.0, INK).middle());
    }
    page.canvas.line((area.left, y(0.0)), (area.right, y(0.0)), AXIS, 1.0);
    let places = (plot.slots.iter().enumerate()).map(|(slot, s)| (x(slot, 0.5), s.label.clone())).collect();
    let foot = page.bottom(&area, &thinned(places, area.width()));
    page.foot(&area, foot, &plot.foot(spec));
    page.finish(HEIGHT)
}

/// Horizontal bars, with the names on the left; the page is as tall as needed.
fn lie(mut page: Page, spec: &Spec, plot: &Plot, bars: &[Bar], low: f64, high: f64) -> String {
    let stacked = stacked(spec, plot);
    let per_slot =
        if stacked || plot.series.len() == 1 { 26.0 } else { 8.0 + 13.0 * plot.series.len() as f64 };
    let names: Vec<String> = plot.slots.iter().map(|slot| fit(&slot.label, SMALL, 230.0)).collect();
    let texts = if stacked { None } else { labels(plot, bars, 90.0) };
    let widest = |texts: &[String]| texts.iter().map(|text| width(text, 11.0)).fold(0.0, f64::max) + 8.0;
    let totals = totals(spec, plot, low, 90.0);
    let sums: Vec<String> = totals.iter().map(|(_, _, text)| text.clone()).collect();
    let text_room = texts.as_deref().map_or_else(|| widest(&sums).max(12.0), widest);
    let left_text = if low < 0.0 { text_room } else { 0.0 };
    page.axis_name(&heading(spec.x_title.as_ref(), &spec.x));
    let top = page.top + 2.0;
    let bottom = top + per_slot * plot.slots.len() as f64;
    let left = MARGIN + names.iter().map(|n| width(n, SMALL)).fold(0.0, f64::max) + 12.0 + left_text;
    let area = Area { left, top, right: WIDTH - MARGIN - text_room, bottom };
    let scale = Scale::cover(low, high, 6, true, plot.whole);
    let x = |value: f64| area.left + scale.share(value) * area.width();
    let places: Vec<(f64, String)> = scale.ticks.iter().map(|t| x(*t)).zip(scale.labels(plot.unit)).collect();
    for (x, _) in &places {
        page.canvas.line((*x, area.top), (*x, area.bottom), GRID, 1.0);
    }
    for (slot, name) in names.iter().enumerate() {
        let middle = area.top + (slot as f64 + 0.5) * per_slot;
        page.canvas.text(area.left - 8.0 - left_text, middle + 4.0, name, Type::new(SMALL, INK).end());
    }
    let y = |slot: usize, side: f64| area.top + (slot as f64 + side) * per_slot;
    for (index, bar) in bars.iter().enumerate() {
        let (a, b) = ((x(bar.from), y(bar.slot, bar.side.0)), (x(bar.to), y(bar.slot, bar.side.1)));
        page.canvas.rect(a, b, bar_colour(plot, bar), &tip(plot, bar));
        if let Some(text) = texts.as_ref().and_then(|texts| texts.get(index)) {
            let style = Type::new(11.0, SOFT);
            let (at, style) = if bar.value < 0.0 { (b.0 - 5.0, style.end()) } else { (b.0 + 5.0, style) };
            page.canvas.text(at, (a.1 + b.1) / 2.0 + 4.0, text, style);
        }
    }
    for (slot, sum, text) in &totals {
        page.canvas.text(x(*sum) + 5.0, y(*slot, 0.5) + 4.0, text, Type::new(11.0, SOFT));
    }
    page.canvas.line((x(0.0), area.top), (x(0.0), area.bottom), AXIS, 1.0);
    let foot = page.bottom(&area, &thinned(places, area.width()));
    page.foot(&area, foot, &measure_name(spec));
    page.finish(bottom + 58.0)
}
