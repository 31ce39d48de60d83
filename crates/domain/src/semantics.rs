//! Metrics as code: definitions of the tables, columns and metrics of the data
//! (`semantics/*.yaml`).

use crate::valid::require;
use crate::{Check, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One file of definitions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticModel {
    /// Tables by their name in the data.
    #[serde(default)]
    pub tables: BTreeMap<String, TableMeaning>,
    /// Metrics by name.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// Named sets of rows: "large orders".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub segments: BTreeMap<String, Segment>,
    /// When fiscal years begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<Calendar>,
    /// A glossary of the organisation's terms, for people.
    #[serde(default)]
    pub glossary: BTreeMap<String, String>,
}

/// A named set of rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Synonyms that questions use.
    #[serde(default)]
    pub synonyms: Vec<String>,
    /// A description for people.
    #[serde(default)]
    pub description: String,
    /// The table of the rows.
    pub table: String,
    /// The conditions, all of which must hold.
    pub filters: Vec<MetricFilter>,
}

/// The fiscal year: its first month, and how it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    /// The month in which a fiscal year begins, from 1 to 12.
    pub fiscal_year_starts: u8,
    /// Which of its two calendar years names it.
    #[serde(default)]
    pub fiscal_year_named_by: FiscalYearName,
}

/// Which of its two calendar years names a fiscal year.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FiscalYearName {
    /// The year in which it ends.
    #[default]
    End,
    /// The year in which it begins.
    Start,
}

/// A metric that is accumulated over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cumulative {
    /// The metric that is accumulated. It must be a sum or a count.
    pub of: String,
    /// Where the sum restarts.
    #[serde(default)]
    pub since: CumulativeSince,
}

/// Where a cumulative metric restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CumulativeSince {
    /// Never.
    #[default]
    Start,
    /// Each year.
    Year,
    /// Each quarter.
    Quarter,
    /// Each month.
    Month,
}

/// The meaning of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableMeaning {
    /// Synonyms that questions use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synonyms: Vec<String>,
    /// What one row represents.
    #[serde(default)]
    pub grain: String,
    /// The columns that identify a row.
    #[serde(default)]
    pub key: Vec<String>,
    /// The column used for the times in a question.
    #[serde(default)]
    pub default_time: Option<String>,
    /// Descriptions of columns.
    #[serde(default)]
    pub columns: BTreeMap<String, ColumnMeaning>,
}

/// The meaning of a column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnMeaning {
    /// A description for people.
    #[serde(default)]
    pub description: String,
    /// Its unit, such as `EUR` or `kg`.
    #[serde(default)]
    pub unit: Option<String>,
    /// Synonyms that questions use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synonyms: Vec<String>,
    /// Values with their synonyms.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<String>>,
}

/// A metric. Exactly one of `expression`, `ratio`, `derived` and `cumulative` defines how it is
/// computed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Synonyms that questions use.
    #[serde(default)]
    pub synonyms: Vec<String>,
    /// A description for people; it is part of the answer.
    #[serde(default)]
    pub description: String,
    /// The table whose rows it is computed over.
    #[serde(default)]
    pub table: Option<String>,
    /// An aggregate over its rows: `sum(amount - cost)`, `count(*)`, `count_distinct(customer_id)`,
    /// `avg(price)`.
    #[serde(default)]
    pub expression: Option<String>,
    /// The ratio of two metrics.
    #[serde(default)]
    pub ratio: Option<Ratio>,
    /// Arithmetic over metrics in braces: `{revenue} - {refunds}`.
    #[serde(default)]
    pub derived: Option<String>,
    /// A metric that is accumulated over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cumulative: Option<Cumulative>,
    /// Conditions on the rows that count; all must hold.
    #[serde(default)]
    pub filters: Vec<MetricFilter>,
}

/// The ratio of two metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The numerator.
    pub numerator: String,
    /// The denominator.
    pub denominator: String,
}

/// A condition on the rows of a metric. Exactly one of the comparisons must be given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricFilter {
    /// The column.
    pub column: String,
    /// It equals one of these values.
    #[serde(default)]
    pub is: Vec<String>,
    /// It equals none of these values.
    #[serde(default)]
    pub is_not: Vec<String>,
    /// It is greater than this.
    #[serde(default)]
    pub above: Option<f64>,
    /// It is less than this.
    #[serde(default)]
    pub below: Option<f64>,
}

impl Check for SemanticModel {
    const ENTITY: &'static str = "SemanticModel";
    fn check(&self, problems: &mut Vec<Problem>) {
        for (name, metric) in &self.metrics {
            let ways = [
                metric.expression.is_some(),
                metric.ratio.is_some(),
                metric.derived.is_some(),
                metric.cumulative.is_some(),
            ];
            let one = ways.iter().filter(|way| **way).count() == 1;
            let field = |part: &str| format!("metrics.{name}{part}");
            let rule = "must have one of expression, ratio, derived and cumulative";
            require(problems, one, &field(""), rule, name);
            let placed = metric.expression.is_none() || metric.table.is_some();
            require(problems, placed, &field(".table"), "must be said for an expression", "nothing");
            let bare = metric.expression.is_some() || metric.filters.is_empty();
            require(problems, bare, &field(".filters"), "belong to a metric with an expression", name);
            metric.filters.iter().for_each(|filter| check_filter(problems, &field(".filters"), filter));
        }
        for (name, segment) in &self.segments {
            let field = format!("segments.{name}.filters");
            require(problems, !segment.filters.is_empty(), &field, "must say what holds", "nothing");
            segment.filters.iter().for_each(|filter| check_filter(problems, &field, filter));
        }
        if let Some(calendar) = &self.calendar {
            let month = calendar.fiscal_year_starts;
            let fits = (1..=12).contains(&month);
            require(problems, fits, "calendar.fiscal_year_starts", "must be a month from 1 to 12", month);
        }
    }
}

/// Checks that exactly one comparison is given.
fn check_filter(problems: &mut Vec<Problem>, field: &str, filter: &MetricFilter) {
    let ways =
        [!filter.is.is_empty(), !filter.is_not.is_empty(), filter.above.is_some(), filter.below.is_some()];
    let one = ways.iter().filter(|way| **way).count() == 1;
    require(problems, one, field, "must have one of is, is_not, above and below", &filter.column);
}
