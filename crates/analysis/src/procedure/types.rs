//! The typed form of an analysis: steps that prepare the rows, and answers that are measured on
//! them.
//!
//! Every type can be written to JSON and read back, so a procedure can be shown, stored and run
//! again.

use super::asked::Judgement;
use serde::{Deserialize, Serialize};

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// Equal, text in any case.
    Equal,
    /// Not equal.
    Different,
    /// Below.
    Less,
    /// Below or equal.
    AtMost,
    /// Above.
    More,
    /// Above or equal.
    AtLeast,
    /// One of several, which stand with `|` between them.
    OneOf,
}

/// A condition on the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The column.
    pub column: String,
    /// How it is compared.
    pub is: Compare,
    /// With what, as written.
    pub value: String,
}

/// How a new column is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// The cell of a column.
    Column(String),
    /// A fixed number.
    Number(f64),
    /// The sum of several columns.
    Sum(Vec<String>),
    /// The mean of several columns.
    Mean(Vec<String>),
    /// One of `+ - * /` between two formulas.
    Operation(char, Box<Formula>, Box<Formula>),
    /// The change against the row before, in percent when the flag is set, else as a difference.
    Change(String, bool),
    /// The mean of so many rows up to this one.
    Rolling(String, usize),
    /// The number of characters, without blanks when the flag is set.
    Length(String, bool),
    /// The logarithm.
    Log(Box<Formula>),
    /// The size without its sign.
    Absolute(Box<Formula>),
    /// A part of a date.
    DatePart(String, DatePart),
}

/// Parts of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// The year.
    Year,
    /// The month, 1 to 12.
    Month,
    /// The day of the month.
    Day,
    /// The day of the week by name.
    Weekday,
    /// The hour.
    Hour,
    /// The quarter, 1 to 4.
    Quarter,
}

/// One class of a binning. A missing bound is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// What the class is called.
    pub label: String,
    /// The lower bound.
    pub low: Option<f64>,
    /// Is the lower bound inside?
    pub low_inside: bool,
    /// The upper bound.
    pub high: Option<f64>,
    /// Is the upper bound inside?
    pub high_inside: bool,
}

/// What a missing cell is filled with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// The mean of the column.
    Mean,
    /// The median of the column.
    Median,
    /// The most frequent value.
    Mode,
    /// The value before.
    Forward,
    /// The value after.
    Backward,
    /// A fixed value.
    Fixed(String),
}

/// What counts as an outlier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outlier {
    /// Beyond so many interquartile ranges from the quartiles.
    Iqr(f64),
    /// Beyond so many standard deviations from the mean; sample deviation when the flag is set.
    ZScore(f64, bool),
}

/// A scale change of a whole column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// To the span from 0 to 1.
    MinMax,
    /// To mean 0 and deviation 1.
    ZScore,
    /// The natural logarithm.
    Log,
    /// The logarithm of one more than the value.
    LogPlusOne,
    /// The logarithm to base 10.
    Log10,
    /// The square root.
    SquareRoot,
}

/// One step of preparation, or a table to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Keeps the rows that meet all conditions.
    Filter {
        /// The conditions.
        conditions: Vec<Condition>,
    },
    /// Adds a column.
    Derive {
        /// Its name.
        name: String,
        /// How it is computed.
        formula: Formula,
    },
    /// Adds a column of classes; bounds are quantiles between 0 and 1 when `quantiles` is set.
    Bin {
        /// The column that is classed.
        column: String,
        /// The name of the new column.
        name: String,
        /// The classes.
        bins: Vec<Bin>,
        /// Are the bounds quantiles?
        quantiles: bool,
    },
    /// Fills missing cells.
    FillMissing {
        /// The columns; empty for all.
        columns: Vec<String>,
        /// With what.
        how: Fill,
    },
    /// Drops rows with missing cells.
    DropMissing {
        /// The columns; empty for all.
        columns: Vec<String>,
    },
    /// Drops rows that repeat an earlier one.
    DropDuplicates,
    /// Takes outliers out.
    RemoveOutliers {
        /// The column.
        column: String,
        /// The rule.
        rule: Outlier,
        /// Put the mean in their place instead of dropping the row.
        replace: bool,
    },
    /// Changes the scale of columns.
    Normalise {
        /// The columns.
        columns: Vec<String>,
        /// How.
        how: Scale,
        /// Only when this test finds the column not normal at this level.
        unless_normal: Option<(Test, f64)>,
    },
    /// Turns words into numbers, in order of the words.
    Encode {
        /// The column.
        column: String,
    },
    /// Keeps the rows with the largest or smallest values.
    Top {
        /// The column.
        column: String,
        /// How many.
        count: usize,
        /// The largest, not the smallest.
        largest: bool,
    },
    /// Orders the rows.
    Sort {
        /// The column.
        column: String,
        /// From large to small.
        descending: bool,
    },
    /// A table of a statistic, by groups when there are any.
    Statistic {
        /// What is measured.
        what: Vec<Measure>,
        /// Of which columns.
        columns: Vec<String>,
        /// For each value of these.
        by: Vec<String>,
    },
}

/// A statistical test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Pearson's correlation.
    Pearson,
    /// Spearman's correlation.
    Spearman,
    /// Kendall's correlation.
    Kendall,
    /// Student's t for two groups.
    Student,
    /// Welch's t for two groups.
    Welch,
    /// Paired t.
    Paired,
    /// The z test of two means.
    ZTest,
    /// Mann and Whitney.
    MannWhitney,
    /// Chi-square of two columns of words.
    ChiSquare,
    /// One-way analysis of variance.
    Anova,
    /// Kruskal and Wallis.
    Kruskal,
    /// Levene's test of equal spread.
    Levene,
    /// Shapiro and Wilk.
    Shapiro,
    /// Kolmogorov and Smirnov, against the fitted normal distribution.
    Kolmogorov,
    /// Kolmogorov and Smirnov, against the standard normal distribution.
    KolmogorovStandard,
    /// D'Agostino and Pearson.
    DAgostino,
    /// Anderson and Darling.
    Anderson,
    /// Jarque and Bera.
    JarqueBera,
}

/// Which number of a test is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Give {
    /// The statistic.
    Statistic,
    /// The p-value.
    P,
}

/// The form of skewness or kurtosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Corrected for bias.
    Corrected,
    /// Plain moments.
    Plain,
    /// Pearson's first coefficient: mean less mode over deviation.
    PearsonFirst,
    /// Pearson's second coefficient: three times mean less median over deviation.
    PearsonSecond,
}

/// Which number of a fitted model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// Mean squared error.
    Mse,
    /// Its root.
    Rmse,
    /// Mean absolute error.
    Mae,
    /// Coefficient of determination.
    RSquared,
    /// Share of right classes.
    Accuracy,
    /// The slope of the first feature.
    Slope,
    /// The intercept.
    Intercept,
    /// The p-value of the first feature.
    P,
}

/// A model to fit and judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What is predicted.
    pub target: String,
    /// From what.
    pub features: Vec<String>,
    /// Logistic instead of linear.
    pub logistic: bool,
    /// Share of test rows and the seed of the split, when there is one.
    pub split: Option<(f64, u32)>,
    /// What is asked for.
    pub give: Quality,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The mean.
    Mean,
    /// The median.
    Median,
    /// The most frequent value.
    Mode,
    /// The standard deviation; of a population when the flag is set.
    Std(bool),
    /// The variance; of a population when the flag is set.
    Variance(bool),
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The largest less the smallest.
    Range,
    /// The sum.
    Sum,
    /// The number of rows that hold something.
    Count,
    /// The share of rows that meet the conditions; times 100 when the flag is set.
    Share(bool),
    /// The share of rows in which this column holds this value; times 100 when the flag is set.
    Rate(String, String, bool),
    /// The number of distinct values.
    Unique,
    /// The number of missing cells.
    Missing,
    /// The share of missing cells in percent.
    MissingShare,
    /// The number of missing cells of every column.
    MissingByColumn,
    /// The names of the columns with missing cells; only columns of words when the flag is set.
    MissingColumns(bool),
    /// The skewness.
    Skewness(Shape),
    /// The excess kurtosis.
    Kurtosis(Shape),
    /// A quantile.
    Quantile(f64),
    /// The interquartile range.
    Iqr,
    /// The deviation over the mean.
    Variation,
    /// The name of the numeric column that correlates most with this one (or the correlation, when
    /// the flag is not set).
    Strongest(Test, bool),
    /// The number of outliers.
    Outliers(Outlier),
    /// The share of outliers in percent.
    OutlierShare(Outlier),
    /// The values of another column (or the same) where outliers stand.
    OutlierValues(Outlier, String),
    /// The mean with the outliers left out of another measure.
    WithoutOutliers(Outlier, Box<Measure>),
    /// A number of a test.
    Test(Test, Give),
    /// A number of a model.
    Model(Model),
    /// What another column holds where this one is largest (true) or smallest.
    At(bool, String),
    /// The group with the largest (true) or smallest measure.
    BestGroup(Vec<String>, Box<Measure>, bool),
    /// One key of that group, when several columns group.
    BestKey(Vec<String>, Box<Measure>, bool, usize),
    /// The largest (true) or smallest measure over groups.
    BestValue(Vec<String>, Box<Measure>, bool),
    /// The column with the largest (true) or smallest measure.
    BestColumn(Box<Measure>, bool),
    /// The share of rows in the largest group, in percent.
    TopShare(Vec<String>),
    /// The last value.
    Last,
    /// The first value.
    First,
    /// The sample covariance of two columns.
    Covariance,
    /// The measure for every group, as a list of pairs.
    PerGroup(Vec<String>, Box<Measure>),
    /// The measure of the first group less that of the second: the column and its two values.
    Difference(String, String, String, Box<Measure>),
    /// The number of rows after all steps.
    Rows,
    /// The number of columns after all steps.
    Width,
    /// A word chosen by rules over a number.
    Judgement(Box<Judgement>),
    /// Fixed words.
    Fixed(String),
}
