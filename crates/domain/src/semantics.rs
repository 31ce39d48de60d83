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
    /// Words of the house and what they mean, for people.
    #[serde(default)]
    pub glossary: BTreeMap<String, String>,
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

/// A number with one definition. Exactly one of `expression`, `ratio` and `derived` says how it is
/// computed.
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
            let ways = [metric.expression.is_some(), metric.ratio.is_some(), metric.derived.is_some()];
            let one = ways.iter().filter(|way| **way).count() == 1;
            let field = |part: &str| format!("metrics.{name}{part}");
            require(problems, one, &field(""), "must have one of expression, ratio and derived", name);
            let placed = metric.expression.is_none() || metric.table.is_some();
            require(problems, placed, &field(".table"), "must be said for an expression", "nothing");
            let bare = metric.expression.is_some() || metric.filters.is_empty();
            require(problems, bare, &field(".filters"), "belong to a metric with an expression", name);
            for filter in &metric.filters {
                let ways = [
                    !filter.is.is_empty(),
                    !filter.is_not.is_empty(),
                    filter.above.is_some(),
                    filter.below.is_some(),
                ];
                let one = ways.iter().filter(|way| **way).count() == 1;
                let rule = "must have one of is, is_not, above and below";
                require(problems, one, &field(".filters"), rule, &filter.column);
            }
        }
    }
}
