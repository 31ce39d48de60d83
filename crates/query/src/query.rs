//! A query as a value: what the planner builds, what a recipe keeps, and what is written out as SQL
//! for a dialect.
//!
//! The planner never glues SQL together. It builds this tree, and `sql` writes it with every name
//! and literal quoted.

use serde::{Deserialize, Serialize};

pub use steward_text::period::Grain;

/// The SQL that a source speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The engine in this process (files, mixed sources).
    DataFusion,
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// DuckDB.
    DuckDb,
}

/// What is computed over many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Aggregate {
    Count,
    CountDistinct,
    Sum,
    Average,
    Min,
    Max,
    Median,
    StdDev,
    Correlation,
    /// The value that so many percent of the rows stay below.
    Percentile(u8),
}

/// A literal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Date(chrono::NaiveDate),
    Time(chrono::NaiveDateTime),
}

/// Something with a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// A column of a table in scope: (alias or name of the table, column).
    Column(String, String),
    /// A constant.
    Literal(Literal),
    /// `*`, only inside `count` and alone in a list.
    Star,
    /// Over many rows. `Correlation` has two arguments, the others one.
    Aggregate(Aggregate, Vec<Expr>),
    /// A time cut to a grain.
    Truncate(Grain, Box<Expr>),
    /// A part of a time as a number: year, quarter, month, `Week` the week of the year, `Day` the
    /// day of the week (Monday is 1).
    Part(Grain, Box<Expr>),
    /// `+ - * /`; division never divides by zero and never cuts to whole numbers.
    Arithmetic(char, Box<Expr>, Box<Expr>),
    /// A query with one row and one column.
    Scalar(Box<Query>),
    /// `part / sum(part) over ()`.
    ShareOfTotal(Box<Expr>),
    /// The value where a condition holds, nothing elsewhere: `case when … then … end`.
    When(Box<Condition>, Box<Expr>),
    /// The first value where a condition holds, the second elsewhere.
    Choose(Box<Condition>, Box<Expr>, Box<Expr>),
    /// Days from the first time to the second, with fractions.
    Days(Box<Expr>, Box<Expr>),
    /// The hour of a moment, 0 to 23.
    Hour(Box<Expr>),
    /// The first number in a text: 21707 of "21,707 fans", 5 of "5th"; minutes and seconds as
    /// seconds.
    NumberIn(Box<Expr>),
    /// The place of a row within its partition, from 1.
    RowNumber {
        /// Rows with equal values are counted together.
        partition: Vec<Expr>,
        /// Order, with `true` for descending.
        order: Vec<(Expr, bool)>,
    },
    /// The value of the row before.
    Previous {
        /// What is looked at.
        value: Box<Expr>,
        /// Rows with equal values belong together.
        partition: Vec<Expr>,
        /// Order, with `true` for descending.
        order: Vec<(Expr, bool)>,
    },
    /// The sum of this row and all before it.
    RunningSum {
        /// What is added up.
        value: Box<Expr>,
        /// Rows with equal values belong together.
        partition: Vec<Expr>,
        /// Order, with `true` for descending.
        order: Vec<(Expr, bool)>,
    },
}

impl Expr {
    /// Whether it is a share of the total, as a fraction or in percent.
    #[must_use]
    pub fn is_share(&self) -> bool {
        match self {
            Self::ShareOfTotal(_) => true,
            Self::Arithmetic('*', left, right) => right.is_hundred() && left.is_share(),
            _ => false,
        }
    }

    /// Whether it is the number 100, which makes a fraction a percentage.
    #[must_use]
    pub fn is_hundred(&self) -> bool {
        match self {
            Self::Literal(Literal::Int(number)) => *number == 100,
            Self::Literal(Literal::Float(number)) => *number == 100.0,
            _ => false,
        }
    }

    /// The expressions right inside this one.
    #[must_use]
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Self::Column(..) | Self::Literal(_) | Self::Star | Self::Scalar(_) => Vec::new(),
            Self::Aggregate(_, all) => all.iter().collect(),
            Self::Truncate(_, one)
            | Self::Part(_, one)
            | Self::ShareOfTotal(one)
            | Self::Hour(one)
            | Self::NumberIn(one) => {
                vec![one]
            }
            Self::When(_, one) => vec![one],
            Self::Arithmetic(_, left, right) | Self::Choose(_, left, right) | Self::Days(left, right) => {
                vec![left, right]
            }
            Self::RowNumber { partition, order } => {
                partition.iter().chain(order.iter().map(|(expr, _)| expr)).collect()
            }
            Self::Previous { value, partition, order } | Self::RunningSum { value, partition, order } => {
                let mut all: Vec<&Expr> = vec![value];
                all.extend(partition.iter().chain(order.iter().map(|(expr, _)| expr)));
                all
            }
        }
    }

    /// The expressions right inside this one, to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Column(..) | Self::Literal(_) | Self::Star | Self::Scalar(_) => Vec::new(),
            Self::Aggregate(_, all) => all.iter_mut().collect(),
            Self::Truncate(_, one)
            | Self::Part(_, one)
            | Self::ShareOfTotal(one)
            | Self::Hour(one)
            | Self::NumberIn(one) => {
                vec![one]
            }
            Self::When(_, one) => vec![one],
            Self::Arithmetic(_, left, right) | Self::Choose(_, left, right) | Self::Days(left, right) => {
                vec![left, right]
            }
            Self::RowNumber { partition, order } => {
                partition.iter_mut().chain(order.iter_mut().map(|(expr, _)| expr)).collect()
            }
            Self::Previous { value, partition, order } | Self::RunningSum { value, partition, order } => {
                let mut all: Vec<&mut Expr> = vec![value];
                all.extend(partition.iter_mut().chain(order.iter_mut().map(|(expr, _)| expr)));
                all
            }
        }
    }
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Compare {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Two values compared. Text compares without regard to case.
    Compare(Expr, Compare, Expr),
    /// One of several values.
    In(Expr, Vec<Literal>),
    /// One of the rows of a query (or none of them, when negated).
    InQuery(Expr, Box<Query>, bool),
    /// Contains, starts or ends with: a `LIKE` pattern, without regard to case.
    Like(Expr, String),
    /// Empty.
    IsNull(Expr),
    /// From (included) to (excluded).
    Within(Expr, Literal, Literal),
    /// All of them.
    All(Vec<Condition>),
    /// Any of them.
    Any(Vec<Condition>),
    /// Not so.
    Not(Box<Condition>),
}

/// One column of the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// What it is.
    pub expr: Expr,
    /// What it is called in the result.
    pub name: String,
}

/// A join: table, alias, and the pairs of columns that must be equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joined {
    /// The table that is joined.
    pub table: String,
    /// Its name in this query.
    pub alias: String,
    /// Pairs that must be equal.
    pub on: Vec<(Expr, Expr)>,
    /// Keep rows of the left side that have no partner.
    pub outer: bool,
}

/// How two results are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SetOperation {
    Union,
    Intersect,
    Except,
}

/// A whole query.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Query {
    /// Columns of the result.
    pub items: Vec<Item>,
    /// Equal rows once.
    pub distinct: bool,
    /// Rows come from this query instead of `table`.
    #[serde(default)]
    pub from: Option<Box<Query>>,
    /// First table and its alias.
    pub table: String,
    /// Its name in this query.
    pub alias: String,
    /// Further tables.
    pub joins: Vec<Joined>,
    /// Rows that count.
    pub filter: Option<Condition>,
    /// One row for each of these.
    pub group: Vec<Expr>,
    /// Groups that count.
    pub having: Option<Condition>,
    /// Order, with `true` for descending.
    pub order: Vec<(Expr, bool)>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// Rows to leave out at the start.
    pub skip: u64,
    /// A second query put together with this one.
    pub set: Option<(SetOperation, Box<Query>)>,
}
