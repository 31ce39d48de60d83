//! Elements of every drawn chart: the header with title and legend, the axes and the grid.
//!
//! Invariant: labels never overlap. They are thinned, rotated or truncated until they fit.

use super::axis::Scale;
use super::svg::{AXIS, Area, Canvas, GRID, INK, OTHER, SOFT, Type, colour, fit, width, wrap};
use super::{Spec, data::Series};
use crate::frame::Unit;

/// The width of all charts.
pub(super) const WIDTH: f64 = 880.0;
/// The default height.
pub(super) const HEIGHT: f64 = 480.0;
/// The left and right margin.
pub(super) const MARGIN: f64 = 28.0;
/// The size of axis labels.
pub(super) const SMALL: f64 = 12.0;

/// A page with its header drawn.
pub(super) struct Page {
    pub canvas: Canvas,
    /// The y position below the header.
    pub top: f64,
    title: String,
    description: String,
}

impl Page {
    /// Draws title and subtitle; the notes are part of the subtitle.
    pub(super) fn new(spec: &Spec, notes: &[String]) -> Self {
        let mut canvas = Canvas::default();
        let mut y = 20.0;
        let room = WIDTH - 2.0 * MARGIN;
        for line in wrap(&spec.title, 19.0, room, 2) {
            y += 23.0;
            canvas.text(MARGIN, y - 4.0, &line, Type::new(19.0, INK).bold());
        }
        let mut parts: Vec<String> = spec.subtitle.iter().filter(|s| !s.trim().is_empty()).cloned().collect();
        parts.extend(notes.iter().cloned());
        let subtitle = parts.join(" · ");
        for line in wrap(&capital(&subtitle), 13.0, room, 2) {
            y += 18.0;
            canvas.text(MARGIN, y - 3.0, &line, Type::new(13.0, SOFT));
        }
        let description = format!("{:?} chart. {subtitle}", spec.kind);
        Self { canvas, top: y + 12.0, title: spec.title.clone(), description }
    }

    /// The legend below the header, in as many rows as needed.
    pub(super) fn legend(&mut self, series: &[Series]) {
        let (mut x, mut y) = (MARGIN, self.top + 8.0);
        for (index, item) in series.iter().enumerate() {
            let name = fit(&item.name, SMALL, 190.0);
            let needed = 16.0 + width(&name, SMALL) + 20.0;
            if x + needed > WIDTH - MARGIN + 20.0 && x > MARGIN {
                (x, y) = (MARGIN, y + 20.0);
            }
            self.canvas.rect((x, y - 6.0), (x + 11.0, y + 5.0), series_colour(item, index), "");
            self.canvas.text(x + 16.0, y + 4.0, &name, Type::new(SMALL, INK));
            x += needed;
        }
        self.top = y + 20.0;
    }

    /// The name of the y axis, horizontally above it.
    pub(super) fn axis_name(&mut self, name: &str) {
        if !name.trim().is_empty() {
            let name = fit(name, SMALL, WIDTH - 2.0 * MARGIN);
            self.canvas.text(MARGIN, self.top + 10.0, &name, Type::new(SMALL, SOFT));
            self.top += 24.0;
        }
    }

    /// The name of the x axis, below it.
    pub(super) fn foot(&mut self, area: &Area, y: f64, name: &str) {
        let name = fit(name, SMALL, area.width().max(120.0));
        self.canvas.text((area.left + area.right) / 2.0, y, &name, Type::new(SMALL, SOFT).middle());
    }

    /// Labels and grid lines of a vertical axis.
    pub(super) fn side(&mut self, area: &Area, scale: &Scale, labels: &[String]) {
        for (tick, label) in scale.ticks.iter().zip(labels) {
            let y = area.bottom - scale.share(*tick) * area.height();
            let ink = if *tick == 0.0 { AXIS } else { GRID };
            self.canvas.line((area.left, y), (area.right, y), ink, 1.0);
            self.canvas.text(area.left - 8.0, y + 4.0, label, Type::new(SMALL, SOFT).end());
        }
    }

    /// Labels along the bottom, as many as fit. Returns the y position below them.
    pub(super) fn bottom(&mut self, area: &Area, places: &[(f64, String)]) -> f64 {
        let mut free = f64::NEG_INFINITY;
        let style = Type::new(SMALL, SOFT).middle();
        for (x, label) in places {
            let half = width(label, SMALL) / 2.0;
            self.canvas.line((*x, area.bottom), (*x, area.bottom + 4.0), AXIS, 1.0);
            let centre = x.clamp(half + 4.0, (WIDTH - half - 4.0).max(half + 4.0));
            if centre - half >= free {
                self.canvas.text(centre, area.bottom + 18.0, label, style);
                free = centre + half + 6.0;
            }
        }
        area.bottom + 40.0
    }

    /// The finished document.
    pub(super) fn finish(self, height: f64) -> String {
        self.canvas.document(WIDTH, height, &self.title, &self.description)
    }
}

/// The colour of a series: grey for the merged rest.
pub(super) fn series_colour(series: &Series, index: usize) -> &'static str {
    if series.other { OTHER } else { colour(index) }
}

/// Capitalises the first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A column's name as a heading: words instead of underscores.
pub(super) fn heading(given: Option<&String>, column: &str) -> String {
    given.cloned().unwrap_or_else(|| {
        let snake = !column.contains(' ') && column.contains('_');
        capital(&if snake { column.replace('_', " ") } else { column.to_owned() })
    })
}

/// The name of the value axis: its title, or its only column.
pub(super) fn measure_name(spec: &Spec) -> String {
    match (&spec.y_title, spec.y.as_slice()) {
        (Some(title), _) => title.clone(),
        (None, [only]) => heading(None, only),
        _ => String::new(),
    }
}

/// The width of the labels of a vertical axis.
pub(super) fn gutter(labels: &[String]) -> f64 {
    labels.iter().map(|label| width(label, SMALL)).fold(0.0, f64::max) + 10.0
}

/// The scale of a vertical axis and its labels.
pub(super) fn vertical(low: f64, high: f64, zero: bool, whole: bool, unit: Unit) -> (Scale, Vec<String>) {
    let scale = Scale::cover(low, high, 5, zero, whole && unit != Unit::Share);
    let labels = scale.labels(unit);
    (scale, labels)
}
