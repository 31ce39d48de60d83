//! `plot.render`: a chart of an earlier result.

use super::{Output, Workbench};
use crate::chart::{self, ChartKind, Spec};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `plot.render` takes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlotRender {
    /// The earlier result that is drawn.
    pub input: String,
    /// line, bar, grouped_bar, stacked_bar, area, scatter, histogram, box, heatmap or pie.
    #[schemars(with = "String")]
    pub kind: ChartKind,
    /// What it is called.
    pub title: String,
    /// Which part of the data it shows, such as the filters.
    #[serde(default)]
    pub subtitle: Option<String>,
    /// The column along the horizontal axis.
    pub x: String,
    /// The columns that are drawn.
    #[serde(default)]
    pub y: Vec<String>,
    /// One series for each value of this column.
    #[serde(default)]
    pub series: Option<String>,
}

impl PlotRender {
    /// The chart that is asked for.
    #[must_use]
    pub fn spec(&self) -> Spec {
        Spec {
            kind: self.kind,
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            x: self.x.clone(),
            y: self.y.clone(),
            series: self.series.clone(),
            x_title: None,
            y_title: None,
        }
    }
}

pub(super) fn run(bench: &Workbench, arguments: &PlotRender) -> Result<Output> {
    let frame = bench.result(&arguments.input).ok_or_else(|| Error::Arguments {
        tool: "plot.render",
        detail: format!("there is no earlier result named {}", arguments.input),
    })?;
    let drawn = chart::draw(&arguments.spec(), &frame).map_err(|error| Error::Chart(error.to_string()))?;
    Ok(Output { drawn: Some(drawn), ..Output::default() })
}
