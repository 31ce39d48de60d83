//! Metrics as code: what the columns and numbers of the data mean, written down once
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
    /// Tables by the name they have in the data.
    #[serde(default)]
    pub tables: BTreeMap<String, TableMeaning>,
    /// Metrics by name.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// Sets of rows by name: "large orders".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub segments: BTreeMap<String, Segment>,
    /// When fiscal years begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<Calendar>,
    /// Words of the organisation and what they mean, for people.
    #[serde(default)]
    pub glossary: BTreeMap<String, String>,
}

/// A set of rows with a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Other names that questions use.
    #[serde(default)]
    pub synonyms: Vec<String>,
    /// For people.
    #[serde(default)]
    pub description: String,
    /// The table whose rows they are.
    pub table: String,
    /// What holds for them, all of it.
    pub filters: Vec<MetricFilter>,
}

/// When fiscal years begin, and how they are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    /// The month in which a fiscal year begins, from 1 to 12.
    pub fiscal_year_starts: u8,
    /// By which of its two years it is named.
    #[serde(default)]
    pub fiscal_year_named_by: FiscalYearName,
}

/// By which of its two years a fiscal year is named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FiscalYearName {
    /// The year in which it ends.
    #[default]
    End,
    /// The year in which it begins.
    Start,
}

/// A metric that is added up over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cumulative {
    /// The metric that is added up. It has to be a sum or a count.
    pub of: String,
    /// Where the sum begins.
    #[serde(default)]
    pub since: CumulativeSince,
}

/// Where a cumulative metric begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CumulativeSince {
    /// With the first row.
    #[default]
    Start,
    /// Anew with each year.
    Year,
    /// Anew with each quarter.
    Quarter,
    /// Anew with each month.
    Month,
}

/// What a table holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableMeaning {
    /// What one row is.
    #[serde(default)]
    pub grain: String,
    /// The columns that tell its rows apart.
    #[serde(default)]
    pub key: Vec<String>,
    /// The column that times of a question mean.
    #[serde(default)]
    pub default_time: Option<String>,
    /// Columns that are more than their name says.
    #[serde(default)]
    pub columns: BTreeMap<String, ColumnMeaning>,
}

/// What a column holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnMeaning {
    /// For people.
    #[serde(default)]
    pub description: String,
    /// Its unit, such as `EUR` or `kg`.
    #[serde(default)]
    pub unit: Option<String>,
}

/// A number with one definition. Exactly one of `expression`, `ratio`, `derived` and `cumulative`
/// says how it is computed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Other names that questions use.
    #[serde(default)]
    pub synonyms: Vec<String>,
    /// For people; the answer says it.
    #[serde(default)]
    pub description: String,
    /// The table whose rows it is computed over.
    #[serde(default)]
    pub table: Option<String>,
    /// An aggregate over its rows: `sum(amount - cost)`, `count(*)`, `count_distinct(customer_id)`,
    /// `avg(price)`.
    #[serde(default)]
    pub expression: Option<String>,
    /// One metric over another.
    #[serde(default)]
    pub ratio: Option<Ratio>,
    /// Arithmetic over metrics in braces: `{revenue} - {refunds}`.
    #[serde(default)]
    pub derived: Option<String>,
    /// A metric that is added up over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cumulative: Option<Cumulative>,
    /// Rows that count, all of them.
    #[serde(default)]
    pub filters: Vec<MetricFilter>,
}

/// One metric over another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The metric above.
    pub numerator: String,
    /// The metric below.
    pub denominator: String,
}

/// A condition on the rows of a metric. Exactly one of the comparisons is said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricFilter {
    /// The column.
    pub column: String,
    /// It has one of these values.
    #[serde(default)]
    pub is: Vec<String>,
    /// It has none of these values.
    #[serde(default)]
    pub is_not: Vec<String>,
    /// It is greater.
    #[serde(default)]
    pub above: Option<f64>,
    /// It is smaller.
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

/// Exactly one comparison is said.
fn check_filter(problems: &mut Vec<Problem>, field: &str, filter: &MetricFilter) {
    let ways =
        [!filter.is.is_empty(), !filter.is_not.is_empty(), filter.above.is_some(), filter.below.is_some()];
    let one = ways.iter().filter(|way| **way).count() == 1;
    require(problems, one, field, "must have one of is, is_not, above and below", &filter.column);
}
