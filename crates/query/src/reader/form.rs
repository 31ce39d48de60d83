//! What a question asks, before joins and SQL: measures, groups, conditions, order. A follow-up is
//! an edit of it.

use super::lexicon::DatePart;
use super::link::ColumnRef;
use crate::chart::ChartKind;
use crate::query::{Aggregate, Compare, Grain};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// A value of each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scalar {
    /// As it stands.
    Column(ColumnRef),
    /// One column times another: price and quantity.
    Product(ColumnRef, ColumnRef),
    /// One column over another.
    Quotient(ColumnRef, ColumnRef),
    /// One column less another.
    Difference(ColumnRef, ColumnRef),
    /// Time from the first moment to the second, in this unit.
    Elapsed(ColumnRef, ColumnRef, TimeUnit),
    /// The period that a moment falls in.
    Period(ColumnRef, Grain),
}

/// A unit of elapsed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum TimeUnit {
    Minutes,
    Hours,
    Days,
}

/// One number for each group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// How many rows.
    Rows,
    /// An aggregate of a value.
    Of(Aggregate, Scalar),
    /// One measure over another.
    Ratio(Box<Measure>, Box<Measure>),
    /// One measure as a percentage of another.
    Percent(Box<Measure>, Box<Measure>),
    /// The percentage of rows that fulfil a condition.
    ShareWhere(Box<Filter>),
    /// The number of rows that fulfil a condition.
    RowsWhere(Box<Filter>),
    /// One measure less another.
    Less(Box<Measure>, Box<Measure>),
    /// How two columns move together.
    Correlation(ColumnRef, ColumnRef),
    /// An aggregate of a value over the rows that fulfil a condition.
    OfWhere(Aggregate, Scalar, Box<Filter>),
    /// Time from the first moment of a column to its last one, in this unit.
    Span(ColumnRef, TimeUnit),
    /// One measure for so many of another: beds per 1,000 people.
    PerMany(Box<Measure>, f64, Box<Measure>),
}

impl Measure {
    /// Whether it is made of other measures.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        matches!(self, Self::Ratio(..) | Self::Percent(..) | Self::Less(..) | Self::PerMany(..))
    }
}

/// What the measure of a group is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The same measure over all rows.
    Overall,
    /// The average of the measure over all groups.
    Groups,
}

/// What is counted once groups are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tally {
    /// How many groups there are.
    Groups,
    /// How many groups have each value of the first measure.
    Sizes,
}

/// What makes a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Equal values.
    Column(ColumnRef),
    /// The same period.
    Period(ColumnRef, Grain),
    /// The same part of a moment.
    Part(ColumnRef, DatePart),
    /// Numbers from and to, both included; the last one may be open.
    Bracket(ColumnRef, Vec<(f64, Option<f64>)>),
    /// Rows that fulfil a condition, and the others.
    Holds(Box<Filter>),
}

impl Group {
    /// The column that it is about.
    #[must_use]
    pub fn place(&self) -> ColumnRef {
        match self {
            Self::Column(place) | Self::Period(place, _) | Self::Part(place, _) | Self::Bracket(place, _) => {
                *place
            }
            Self::Holds(filter) => filter.place(),
        }
    }
}

/// A condition on rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// One of these values, or none of them.
    Values {
        /// The column.
        place: ColumnRef,
        /// As the data spells them.
        values: Vec<String>,
        /// None of them.
        negated: bool,
    },
    /// A number compared.
    Number(ColumnRef, Compare, f64),
    /// From and to, both included.
    Between(ColumnRef, f64, f64),
    /// Days from (included) to (excluded).
    Within(ColumnRef, NaiveDate, NaiveDate),
    /// One of several spans of days.
    WithinAny(ColumnRef, Vec<(NaiveDate, NaiveDate)>),
    /// A flag that is set or not.
    Flag(ColumnRef, bool),
    /// Empty cells, or the others.
    Missing(ColumnRef, bool),
    /// The same value as the rows that fulfil these conditions, which are not meant themselves.
    SameAs(ColumnRef, Vec<Filter>),
    /// No row with the same value of this column fulfils all of these conditions.
    Never(ColumnRef, Vec<Filter>),
    /// Any of several sets of conditions; each set holds as a whole.
    Any(Vec<Vec<Filter>>),
    /// Two columns of a row compared.
    Columns(ColumnRef, Compare, ColumnRef),
    /// A value compared with the average of all rows that fulfil the other conditions, or of those
    /// with the same value of another column.
    Average(ColumnRef, Compare, Option<ColumnRef>),
    /// One of these parts of a moment: months 6, 7 and 8.
    Parts(ColumnRef, DatePart, Vec<u32>),
}

impl Filter {
    /// The column that it is about.
    #[must_use]
    pub fn place(&self) -> ColumnRef {
        match self {
            Self::Values { place, .. }
            | Self::Number(place, ..)
            | Self::Between(place, ..)
            | Self::Within(place, ..)
            | Self::WithinAny(place, _)
            | Self::Flag(place, _)
            | Self::SameAs(place, _)
            | Self::Never(place, _)
            | Self::Columns(place, ..)
            | Self::Average(place, ..)
            | Self::Parts(place, ..)
            | Self::Missing(place, _) => *place,
            Self::Any(sets) => {
                sets.iter().flatten().next().map_or(ColumnRef { table: 0, column: 0 }, Self::place)
            }
        }
    }

    /// All columns that it is about.
    #[must_use]
    pub fn places(&self) -> Vec<ColumnRef> {
        match self {
            Self::Any(sets) => sets.iter().flatten().flat_map(Self::places).collect(),
            Self::Columns(left, _, right) => vec![*left, *right],
            Self::Average(place, _, Some(within)) => vec![*place, *within],
            Self::SameAs(place, of) | Self::Never(place, of) => {
                of.iter().flat_map(Self::places).chain([*place]).collect()
            }
            other => vec![other.place()],
        }
    }
}

/// What rows are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderKey {
    /// A measure, by position.
    Measure(usize),
    /// A column of the rows.
    Column(ColumnRef),
    /// The order of the table itself.
    Position,
}

/// Rows that stand next to others in the order of their table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Conditions of the row that is looked from.
    pub anchor: Vec<Filter>,
    /// Behind it, or before it.
    pub after: bool,
}

/// What a question asks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Form {
    /// The table whose rows are asked about.
    pub table: usize,
    /// Numbers of each group.
    pub measures: Vec<Measure>,
    /// What makes a group.
    pub groups: Vec<Group>,
    /// Conditions on rows, all of them.
    pub filters: Vec<Filter>,
    /// Conditions on groups: position of the measure, comparison, number.
    pub having: Vec<(usize, Compare, f64)>,
    /// Conditions on groups: position of the measure, comparison, what it is compared with.
    #[serde(default)]
    pub beyond: Vec<(usize, Compare, Baseline)>,
    /// Columns that tables are to be joined by, where there are several ways.
    #[serde(default)]
    pub via: Vec<ColumnRef>,
    /// Groups are counted, not listed.
    #[serde(default)]
    pub tally: Option<Tally>,
    /// Columns that are listed when nothing is measured.
    pub show: Vec<ColumnRef>,
    /// Equal rows once.
    pub distinct: bool,
    /// The order, `true` for descending.
    pub order: Option<(OrderKey, bool)>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// The limit holds within each value of this group, or of this column of a list.
    pub within: Option<usize>,
    /// The values of the last group make columns.
    #[serde(default)]
    pub pivot: bool,
    /// The measures order and restrict the groups, and are not listed.
    #[serde(default)]
    pub names_only: bool,
    /// Measures as a share of their total.
    pub share: bool,
    /// Change against the group before.
    pub change: bool,
    /// Only groups that have one before them.
    #[serde(default)]
    pub has_before: bool,
    /// Sums over all groups up to this one.
    pub running: bool,
    /// The chart that was asked for.
    pub chart: Option<ChartKind>,
    /// Only the row next to another one.
    #[serde(default)]
    pub beside: Option<Box<Beside>>,
    /// Only what is related to every row of this table.
    #[serde(default)]
    pub every: Option<usize>,
    /// The rows of a second form are listed with those of this one.
    #[serde(default)]
    pub also: Option<Box<Form>>,
}

impl Form {
    /// Whether it is about particular days: what it says then holds for those only.
    #[must_use]
    pub fn has_periods(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter, Filter::Within(..) | Filter::WithinAny(..)))
    }
}
