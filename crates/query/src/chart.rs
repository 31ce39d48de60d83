//! The kinds of chart that a result can be drawn as.

use serde::{Deserialize, Serialize};

/// What kind of chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// A line for each series, over time or numbers.
    Line,
    /// One bar for each category.
    Bar,
    /// Bars side by side, one for each series.
    GroupedBar,
    /// Bars on top of each other.
    StackedBar,
    /// Filled lines, stacked when there are several.
    Area,
    /// A dot for each row.
    Scatter,
    /// How often the values of one column fall into each range.
    Histogram,
    /// Median, quartiles and outliers for each category.
    Box,
    /// Two categories against each other, the number as colour.
    Heatmap,
    /// Parts of a whole.
    Pie,
}
