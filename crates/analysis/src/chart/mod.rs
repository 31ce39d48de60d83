//! Charts of a result table: SVG, PNG and Vega-Lite, and text for the terminal.
//!
//! Invariant: a chart never panics and never misleads silently. Omitted, summed or truncated data
//! is stated in the subtitle, and a chart that cannot be drawn is an error with a reason.

mod axis;
mod bars;
mod data;
mod draw;
mod lines;
mod map;
mod number_format;
mod spread;
mod suggest;
pub(crate) mod svg;
mod terminal;
mod time;
mod vega;

use crate::frame::Frame;
use serde::{Deserialize, Serialize};

pub use data::{additive, plural};
pub(crate) use draw::capital;
pub(crate) use number_format::NumberFormat;
pub use suggest::suggest;
pub(crate) use svg::clean;
pub use terminal::terminal;
pub(crate) use time::{
    at as moment_at, grain, label as moment_label, label_text, many_years, moment, seconds,
};

pub use steward_query::chart::ChartKind;

/// The specification of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The kind of chart.
    pub kind: ChartKind,
    /// The title.
    pub title: String,
    /// The subtitle.
    #[serde(default)]
    pub subtitle: Option<String>,
    /// The x column (categories, time or numbers); for a histogram the measured column.
    pub x: String,
    /// The numeric columns.
    #[serde(default)]
    pub y: Vec<String>,
    /// Long format: one series for each value of this column. The rows of a heat map.
    #[serde(default)]
    pub series: Option<String>,
    /// The name of the x axis; the column's name by default.
    #[serde(default)]
    pub x_title: Option<String>,
    /// The name of the y axis; the column's name by default.
    #[serde(default)]
    pub y_title: Option<String>,
}

/// A finished chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// A standalone document, which can also be embedded in a page.
    pub svg: String,
    /// The same picture at twice the resolution.
    pub png: Vec<u8>,
    /// The same data as a Vega-Lite 5 document.
    pub vega_lite: serde_json::Value,
}

/// Why a chart cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChartError {
    /// The table has no such column.
    UnknownColumn {
        /// The requested column.
        column: String,
        /// The existing columns.
        known: String,
    },
    /// The column holds no numbers (or dates, where those are accepted).
    NotANumber {
        /// The column.
        column: String,
    },
    /// No column of numbers was named.
    NoMeasure,
    /// There are no values to draw.
    NothingToDraw {
        /// Why not.
        reason: String,
    },
    /// A pie cannot show negative numbers.
    Negative {
        /// The column.
        column: String,
    },
    /// Rasterising failed.
    Raster {
        /// The message of the rasteriser.
        reason: String,
    },
}

impl std::fmt::Display for ChartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownColumn { column, known } => {
                write!(f, "the table has no column \"{column}\"; it has {known}")
            }
            Self::NotANumber { column } => {
                write!(f, "the column \"{column}\" holds no numbers that can be drawn")
            }
            Self::NoMeasure => write!(f, "the chart names no column of numbers"),
            Self::NothingToDraw { reason } => write!(f, "there is nothing to draw: {reason}"),
            Self::Negative { column } => {
                write!(f, "the column \"{column}\" has numbers below zero, which a pie cannot show; use bars")
            }
            Self::Raster { reason } => write!(f, "the picture could not be made: {reason}"),
        }
    }
}

impl std::error::Error for ChartError {}

/// Draws a chart of a table.
///
/// # Errors
/// If a column does not exist or holds nothing that can be drawn.
pub fn draw(spec: &Spec, frame: &Frame) -> Result<Drawn, ChartError> {
    let svg = drawing(spec, frame)?;
    let png = png(&svg)?;
    let vega_lite = vega::document(spec, frame)?;
    Ok(Drawn { svg, png, vega_lite })
}

/// The drawing and its Vega-Lite document, without the PNG, which takes longest.
///
/// # Errors
/// If a column does not exist or holds nothing that can be drawn.
pub fn draw_vector(spec: &Spec, frame: &Frame) -> Result<(String, serde_json::Value), ChartError> {
    Ok((drawing(spec, frame)?, vega::document(spec, frame)?))
}

/// A cell formatted for people.
#[must_use]
pub fn formatted(frame: &Frame, row: usize, column: usize) -> String {
    NumberFormat::of(frame, column).show(frame.cell(row, column))
}

/// The drawing alone.
fn drawing(spec: &Spec, frame: &Frame) -> Result<String, ChartError> {
    match spec.kind {
        ChartKind::Line | ChartKind::Area => lines::lines(spec, frame),
        ChartKind::Bar | ChartKind::GroupedBar | ChartKind::StackedBar => bars::bars(spec, frame),
        ChartKind::Scatter => lines::scatter(spec, frame),
        ChartKind::Histogram => spread::histogram(spec, frame),
        ChartKind::Box => spread::boxes(spec, frame),
        ChartKind::Heatmap => map::heatmap(spec, frame),
        ChartKind::Pie => map::pie(spec, frame),
    }
}

/// Renders at twice the size. The only bundled font has no bold face, so bold text gets a thin
/// outline instead. Quotes in text are escaped, so the attribute cannot occur inside text.
fn png(svg: &str) -> Result<Vec<u8>, ChartError> {
    rasterise(svg, draw::WIDTH as u32 * 2)
}

/// A drawing of this module as a PNG of some width.
pub(crate) fn rasterise(svg: &str, width: u32) -> Result<Vec<u8>, ChartError> {
    let bold = format!(" stroke=\"{}\" stroke-width=\"0.5\"", svg::INK);
    let svg = svg.replace(" font-weight=\"700\"", &bold);
    charts_rs::svg_to_png_with_size(&svg, Some(width), None)
        .map_err(|error| ChartError::Raster { reason: error.to_string() })
}

/// Adds a font for PNG output, for scripts that the bundled one lacks. SVG uses the fonts of the
/// viewer.
///
/// # Errors
/// If the bytes are not a font.
pub fn add_font(bytes: &[u8]) -> Result<(), ChartError> {
    charts_rs::add_fonts(&[bytes]).map_err(|error| ChartError::Raster { reason: error.to_string() })
}

#[cfg(test)]
mod tests;
