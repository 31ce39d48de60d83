//! Heat maps and pies.
//!
//! Invariant: an empty cell of a heat map is hatched grey, never the colour of zero, and the parts
//! of a pie are never negative.

use super::axis::short;
use super::data::{self, AxisKind, Plot};
use super::draw::{HEIGHT, MARGIN, Page, SMALL, WIDTH, measure_name};
use super::svg::{Area, INK, OTHER, SOFT, Type, colour, fit, num, width};
use super::{ChartError, Spec};
use crate::frame::{Frame, Unit, Value, show};

const MOST_COLUMNS: usize = 48;
const MOST_ROWS: usize = 24;
const MOST_PARTS: usize = 7;

/// The colour of a number: blue for positive, orange for negative, paler towards the middle.
fn shade(value: f64, low: f64, high: f64) -> ((f64, f64, f64), bool) {
    const PALE: (f64, f64, f64) = (238.0, 244.0, 249.0);
    const BLUE: (f64, f64, f64) = (4.0, 64.0, 112.0);
    const RUST: (f64, f64, f64) = (168.0, 66.0, 0.0);
    let (end, share) = if low < 0.0 && high > 0.0 {
        let most = high.max(-low);
        (if value < 0.0 { RUST } else { BLUE }, value.abs() / most)
    } else {
        (BLUE, if high > low { (value - low) / (high - low) } else { 0.5 })
    };
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let mix = |a: f64, b: f64| a + (b - a) * share;
    ((mix(PALE.0, end.0), mix(PALE.1, end.1), mix(PALE.2, end.2)), share > 0.6)
}

fn hex((red, green, blue): (f64, f64, f64)) -> String {
    format!("#{:02x}{:02x}{:02x}", red as u8, green as u8, blue as u8)
}

/// The cells of a heat map, reduced to a readable number.
pub(super) fn prepare(spec: &Spec, frame: &Frame) -> Result<Plot, ChartError> {
    let mut plot = data::plot(spec, frame)?;
    plot.limit_series(MOST_ROWS, spec.series.as_deref().unwrap_or("series"));
    if plot.along == AxisKind::Words {
        plot.limit_slots(MOST_COLUMNS, &spec.x);
    } else if plot.slots.len() > 120 {
        let count = plot.slots.len();
        plot.reorder(&(count - 120..count).collect::<Vec<_>>());
        plot.notes.push(format!("last 120 of {count} columns"));
    }
    Ok(plot)
}

/// A heat map.
pub(super) fn heatmap(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    let plot = prepare(spec, frame)?;
    let (low, high) = plot.range().unwrap_or((0.0, 0.0));
    let mut page = Page::new(spec, &plot.notes);
    key(&mut page, &plot, spec, low, high);
    let names: Vec<String> = plot.series.iter().map(|s| fit(&s.name, SMALL, 180.0)).collect();
    let left = MARGIN + names.iter().map(|name| width(name, SMALL)).fold(0.0, f64::max) + 10.0;
    let rows = plot.series.len().max(1) as f64;
    let tall = (300.0 / rows).clamp(20.0, 44.0);
    let area =
        Area { left, top: page.top + 4.0, right: WIDTH - MARGIN, bottom: page.top + 4.0 + tall * rows };
    let wide = area.width() / plot.slots.len().max(1) as f64;
    cells(&mut page, &area, &plot, (wide, tall), (low, high));
    for (row, name) in names.iter().enumerate() {
        let y = area.top + (row as f64 + 0.5) * tall + 4.0;
        page.canvas.text(area.left - 8.0, y, name, Type::new(SMALL, INK).end());
    }
    let height = columns(&mut page, &area, &plot, wide, spec);
    Ok(page.finish(height))
}

fn cells(page: &mut Page, area: &Area, plot: &Plot, (wide, tall): (f64, f64), (low, high): (f64, f64)) {
    let texts = plot.series.iter().flat_map(|s| s.values.iter().flatten());
    let widest = texts.map(|v| width(&short(*v, plot.unit), 11.0)).fold(0.0, f64::max);
    let written = widest + 6.0 <= wide && plot.slots.len() * plot.series.len() <= 600;
    let gap = if wide > 8.0 { 0.75 } else { 0.0 };
    for (row, series) in plot.series.iter().enumerate() {
        for (slot, place) in plot.slots.iter().enumerate() {
            let (x, y) = (area.left + slot as f64 * wide, area.top + row as f64 * tall);
            let (a, b) = ((x + gap, y + gap), (x + wide - gap, y + tall - gap));
            let Some(value) = series.value(slot) else {
                page.canvas.rect(a, b, "#f3f4f6", "");
                page.canvas.line((a.0 + 3.0, b.1 - 3.0), (b.0 - 3.0, a.1 + 3.0), "#d5dae0", 1.0);
                continue;
            };
            let (fill, dark) = shade(value, low, high);
            let text = short(value, plot.unit);
            page.canvas.rect(a, b, &hex(fill), &format!("{}, {}: {text}", place.label, series.name));
            if written {
                let ink = if dark { "#ffffff" } else { INK };
                page.canvas.text(x + wide / 2.0, y + tall / 2.0 + 4.0, &text, Type::new(11.0, ink).middle());
            }
        }
    }
}

/// The names below the columns: horizontal if they fit, otherwise rotated. Returns the height of
/// the page.
fn columns(page: &mut Page, area: &Area, plot: &Plot, wide: f64, spec: &Spec) -> f64 {
    let labels: Vec<&str> = plot.slots.iter().map(|s| s.label.as_str()).collect();
    let widest = labels.iter().map(|label| width(label, SMALL)).fold(0.0, f64::max);
    let level = widest + 8.0 <= wide
        || matches!(plot.along, AxisKind::Time(_) | AxisKind::Number(_)) && plot.slots.len() > 16;
    let places = |label: &str, slot: usize| (area.left + (slot as f64 + 0.5) * wide, label.to_owned());
    let places: Vec<(f64, String)> =
        labels.iter().enumerate().map(|(slot, label)| places(label, slot)).collect();
    let foot = if level {
        page.bottom(area, &super::lines::thinned(places, area.width()))
    } else {
        let every = (15.0 / wide).ceil().max(1.0) as usize;
        let mut deepest = 0.0_f64;
        for (x, label) in places.into_iter().step_by(every) {
            let label = fit(&label, SMALL, 130.0_f64.min((x - 8.0) / 0.77));
            deepest = deepest.max(width(&label, SMALL) * 0.64 + 14.0);
            page.canvas.text(x + 4.0, area.bottom + 16.0, &label, Type::new(SMALL, SOFT).end().turned(-40.0));
        }
        area.bottom + deepest + 22.0
    };
    page.foot(area, foot, &plot.foot(spec));
    foot + 18.0
}

/// The colour scale under the head.
fn key(page: &mut Page, plot: &Plot, spec: &Spec, low: f64, high: f64) {
    let name = fit(&measure_name(spec), SMALL, 300.0);
    page.canvas.text(MARGIN, page.top + 10.0, &name, Type::new(SMALL, SOFT));
    if high > low {
        let start = MARGIN + if name.is_empty() { 0.0 } else { width(&name, SMALL) + 14.0 };
        let from = short(low, plot.unit);
        page.canvas.text(start, page.top + 10.0, &from, Type::new(SMALL, INK));
        let left = start + width(&from, SMALL) + 8.0;
        for part in 0..40 {
            let value = low + (high - low) * (f64::from(part) + 0.5) / 40.0;
            let x = left + f64::from(part) * 4.0;
            page.canvas.rect((x, page.top), (x + 4.3, page.top + 12.0), &hex(shade(value, low, high).0), "");
        }
        page.canvas.text(left + 168.0, page.top + 10.0, &short(high, plot.unit), Type::new(SMALL, INK));
    }
    page.top += 24.0;
}

/// The parts of a pie, largest first, and the total.
pub(super) fn parts(spec: &Spec, frame: &Frame) -> Result<(Plot, f64), ChartError> {
    let mut plot = data::plot(spec, frame)?;
    plot.series.truncate(1);
    // Shares of a whole may be summed here, although shares may not be summed elsewhere.
    plot.additive = plot.additive || matches!(plot.unit, Unit::Share | Unit::Percent);
    let values = || plot.series.iter().flat_map(|s| s.values.iter().flatten().copied());
    let column = || spec.y.first().cloned().unwrap_or_default();
    if values().any(|v| v < 0.0) {
        return Err(ChartError::Negative { column: column() });
    }
    let total: f64 = values().sum();
    if total <= 0.0 || !total.is_finite() {
        return Err(ChartError::NothingToDraw { reason: format!("\"{}\" adds up to nothing", column()) });
    }
    let mut order: Vec<usize> = (0..plot.slots.len()).filter(|slot| plot.weight(*slot) > 0.0).collect();
    order.sort_by(|a, b| plot.weight(*b).total_cmp(&plot.weight(*a)).then(a.cmp(b)));
    plot.reorder(&order);
    plot.limit_slots(MOST_PARTS, &spec.x);
    Ok((plot, total))
}

/// A ring with its parts listed beside it, so that labels cannot overlap.
pub(super) fn pie(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    let (plot, total) = parts(spec, frame)?;
    let mut page = Page::new(spec, &plot.notes);
    let (outer, inner) = (150.0, 92.0);
    let centre = (MARGIN + 60.0 + outer, page.top + outer + 12.0);
    let list = centre.0 + outer + 70.0;
    let count = plot.slots.len() as f64;
    let largest = plot.weight(0);
    let mut turn = 0.0;
    for (slot, place) in plot.slots.iter().enumerate() {
        let value = plot.weight(slot);
        let ink = if place.other { OTHER } else { colour(slot) };
        let share = value / total;
        let says = format!("{}: {} ({})", place.label, short(value, plot.unit), percent(share));
        page.canvas.path(
            &ring(centre, outer, inner, turn, turn + share),
            ink,
            1.0,
            Some(("#ffffff", 1.6)),
            &says,
        );
        turn += share;
        let y = centre.1 + (slot as f64 - (count - 1.0) / 2.0) * 30.0;
        page.canvas.rect((list, y - 7.0), (list + 13.0, y + 6.0), ink, "");
        let right = WIDTH - MARGIN;
        page.canvas.text(right, y + 4.0, &percent(share), Type::new(13.0, INK).bold().end());
        let text = show(&round(value, largest), plot.unit);
        let text = if width(&text, 13.0) > 110.0 { short(value, plot.unit) } else { text };
        page.canvas.text(right - 66.0, y + 4.0, &text, Type::new(13.0, SOFT).end());
        let room = right - 66.0 - width(&text, 13.0) - 14.0 - list - 22.0;
        page.canvas.text(list + 22.0, y + 4.0, &fit(&place.label, 13.0, room), Type::new(13.0, INK));
    }
    if !matches!(plot.unit, Unit::Share | Unit::Percent) {
        page.canvas.text(
            centre.0,
            centre.1 + 3.0,
            &short(total, plot.unit),
            Type::new(24.0, INK).bold().middle(),
        );
        let name = fit(&measure_name(spec), SMALL, inner * 1.6);
        page.canvas.text(centre.0, centre.1 + 24.0, &name, Type::new(SMALL, SOFT).middle());
    }
    Ok(page.finish((centre.1 + outer + 28.0).min(HEIGHT + 40.0)))
}

/// A number with the same precision as its neighbours: no fractions next to thousands.
fn round(value: f64, largest: f64) -> Value {
    let value = if largest >= 1000.0 { value.round() } else { value };
    if value.fract() == 0.0 && value.abs() < 1e15 { Value::Int(value as i64) } else { Value::Float(value) }
}

fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.001 { "<0.1 %".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

/// A ring segment between two fractions of the circle, clockwise from the top.
fn ring(centre: (f64, f64), outer: f64, inner: f64, from: f64, to: f64) -> String {
    // A full circle has no end points to draw between.
    let to = to.min(from + 0.9999);
    let point = |radius: f64, share: f64| {
        let angle = (share - 0.25) * std::f64::consts::TAU;
        format!("{} {}", num(centre.0 + radius * angle.cos()), num(centre.1 + radius * angle.sin()))
    };
    let large = u8::from(to - from > 0.5);
    format!(
        "M{}A{outer} {outer} 0 {large} 1 {}L{}A{inner} {inner} 0 {large} 0 {}Z",
        point(outer, from),
        point(outer, to),
        point(inner, to),
        point(inner, from)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_sign() {
        assert_eq!(shade(0.0, -5.0, 5.0).0, (238.0, 244.0, 249.0));
        assert!(shade(5.0, -5.0, 5.0).0.2 > shade(-5.0, -5.0, 5.0).0.2);
        assert!(shade(f64::INFINITY, 0.0, 1.0).0.0.is_finite());
        assert_eq!(hex((4.0, 64.0, 255.0)), "#0440ff");
    }
}
