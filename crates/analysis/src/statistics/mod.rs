//! Statistics over slices of numbers: description, correlation, tests, regression, outliers.
//!
//! Every function takes numbers without gaps and returns `None` if there are too few, so that a
//! division by zero cannot occur. The conventions are those of the common Python libraries, because
//! users compare with them.

pub mod anderson;
pub mod correlate;
pub mod describe;
pub mod distributions;
pub mod forecast;
pub mod logistic;
pub mod normality;
pub mod outliers;
pub mod regression;
pub mod sampling;
pub mod tests;

/// The result of a statistical test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// The test statistic: t, F, U, W, D, chi-square, or the correlation itself.
    pub statistic: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// Degrees of freedom, where the test has them.
    pub freedom: f64,
}

/// The number at an index, or NaN beyond the end, which then propagates visibly.
pub(crate) fn at(numbers: &[f64], place: usize) -> f64 {
    numbers.get(place).copied().unwrap_or(f64::NAN)
}

/// The numbers in ascending order.
pub(crate) fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut copy = numbers.to_vec();
    copy.sort_by(f64::total_cmp);
    copy
}
