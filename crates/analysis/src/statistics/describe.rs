//! Description of one column: centre, spread, quantiles, shape.
//!
//! Quantiles interpolate linearly, as numpy and pandas do. The shape measures come in the
//! bias-corrected form (pandas) and in the plain moment form (scipy), because both are in daily
//! use.

use super::{at, sorted};

/// The arithmetic mean.
#[must_use]
pub fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The middle value.
#[must_use]
pub fn median(numbers: &[f64]) -> Option<f64> {
    quantile(numbers, 0.5)
}

/// The quantile at a share between 0 and 1, with linear interpolation.
#[must_use]
pub fn quantile(numbers: &[f64], share: f64) -> Option<f64> {
    quantile_sorted(&sorted(numbers), share)
}

/// The same, over numbers that are in order already.
#[must_use]
pub fn quantile_sorted(numbers: &[f64], share: f64) -> Option<f64> {
    if numbers.is_empty() {
        return None;
    }
    let place = share.clamp(0.0, 1.0) * (numbers.len() - 1) as f64;
    let below = place.floor();
    let low = at(numbers, below as usize);
    let high = numbers.get(below as usize + 1).copied().unwrap_or(low);
    Some(low + (high - low) * (place - below))
}

/// The most frequent value; the smallest of several.
#[must_use]
pub fn mode(numbers: &[f64]) -> Option<f64> {
    let ordered = sorted(numbers);
    let mut best: Option<(usize, f64)> = None;
    for run in ordered.chunk_by(|a, b| a == b) {
        if best.is_none_or(|(count, _)| run.len() > count) {
            best = run.first().map(|value| (run.len(), *value));
        }
    }
    best.map(|(_, value)| value)
}

/// The variance; `ddof` 1 for a sample, 0 for a whole population.
#[must_use]
pub fn variance(numbers: &[f64], ddof: usize) -> Option<f64> {
    if numbers.len() <= ddof {
        return None;
    }
    let centre = mean(numbers)?;
    let squares: f64 = numbers.iter().map(|x| (x - centre) * (x - centre)).sum();
    Some(squares / (numbers.len() - ddof) as f64)
}

/// The standard deviation; `ddof` 1 for a sample, 0 for a whole population.
#[must_use]
pub fn std(numbers: &[f64], ddof: usize) -> Option<f64> {
    variance(numbers, ddof).map(f64::sqrt)
}

/// The standard error of the mean.
#[must_use]
pub fn standard_error(numbers: &[f64]) -> Option<f64> {
    Some(std(numbers, 1)? / (numbers.len() as f64).sqrt())
}

/// The smallest number.
#[must_use]
pub fn min(numbers: &[f64]) -> Option<f64> {
    numbers.iter().copied().min_by(f64::total_cmp)
}

/// The largest number.
#[must_use]
pub fn max(numbers: &[f64]) -> Option<f64> {
    numbers.iter().copied().max_by(f64::total_cmp)
}

/// The central moment of an order.
fn moment(numbers: &[f64], order: i32) -> Option<f64> {
    let centre = mean(numbers)?;
    mean(&numbers.iter().map(|x| (x - centre).powi(order)).collect::<Vec<_>>())
}

/// Skewness from plain moments, as scipy.
#[must_use]
pub fn skewness_plain(numbers: &[f64]) -> Option<f64> {
    let spread = moment(numbers, 2)?;
    (spread > 0.0).then_some(())?;
    Some(moment(numbers, 3)? / spread.powf(1.5))
}

/// Skewness corrected for bias, as pandas.
#[must_use]
pub fn skewness(numbers: &[f64]) -> Option<f64> {
    let n = numbers.len() as f64;
    (n >= 3.0).then_some(())?;
    Some(skewness_plain(numbers)? * (n * (n - 1.0)).sqrt() / (n - 2.0))
}

/// Excess kurtosis from plain moments, as scipy (a normal distribution has 0).
#[must_use]
pub fn kurtosis_plain(numbers: &[f64]) -> Option<f64> {
    let spread = moment(numbers, 2)?;
    (spread > 0.0).then_some(())?;
    Some(moment(numbers, 4)? / (spread * spread) - 3.0)
}

/// Excess kurtosis corrected for bias, as pandas.
#[must_use]
pub fn kurtosis(numbers: &[f64]) -> Option<f64> {
    let n = numbers.len() as f64;
    (n >= 4.0).then_some(())?;
    let plain = kurtosis_plain(numbers)?;
    Some((n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * plain + 6.0))
}

#[cfg(test)]
mod check {
    use super::*;

    const SOME: [f64; 8] = [2.0, 8.0, 0.0, 4.0, 1.0, 9.0, 9.0, 0.5];

    fn near(left: Option<f64>, right: f64) {
        let left = left.unwrap();
        assert!((left - right).abs() < 1e-9, "{left} is not {right}");
    }

    #[test]
    fn agrees_with_numpy_pandas_and_scipy() {
        near(mean(&SOME), 4.1875);
        near(median(&SOME), 3.0);
        near(mode(&SOME), 9.0);
        near(quantile(&SOME, 0.25), 0.875);
        near(quantile(&SOME, 0.9), 9.0);
        near(variance(&SOME, 1), 15.281_25);
        near(std(&SOME, 0), 3.656_650_619_077_518_5);
        near(skewness(&SOME), 0.356_813_730_569_992_2);
        near(kurtosis(&SOME), -2.106_592_538_027_668_7);
        near(skewness_plain(&SOME), 0.286_087_442_290_623_94);
        near(kurtosis_plain(&SOME), -1.669_805_970_489_366_2);
    }

    #[test]
    fn too_few_numbers_give_nothing() {
        assert_eq!(mean(&[]), None);
        assert_eq!(std(&[1.0], 1), None);
        assert_eq!(skewness(&[1.0, 1.0, 1.0]), None);
    }
}
