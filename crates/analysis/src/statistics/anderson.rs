//! The Anderson-Darling test of normality, with mean and spread taken from the sample.

use super::describe::{mean, std};
use super::distributions::{normal_cdf, normal_upper};
use super::{Finding, sorted};

/// The Anderson-Darling statistic A-square, with the p-value of D'Agostino and Stephens (1986).
#[must_use]
pub fn anderson_darling(numbers: &[f64]) -> Option<Finding> {
    let (centre, spread) = (mean(numbers)?, std(numbers, 1)?);
    (spread > 0.0).then_some(())?;
    let n = numbers.len() as f64;
    let scores: Vec<f64> = sorted(numbers).iter().map(|x| (x - centre) / spread).collect();
    let sum: f64 = scores
        .iter()
        .zip(scores.iter().rev())
        .enumerate()
        .map(|(place, (low, high))| {
            (2.0 * place as f64 + 1.0) * (normal_cdf(*low).ln() + normal_upper(*high).ln())
        })
        .sum();
    let statistic = -n - sum / n;
    let a = statistic * (1.0 + 0.75 / n + 2.25 / (n * n));
    let p = match a {
        a if a >= 0.6 => (1.2937 - 5.709 * a + 0.0186 * a * a).exp(),
        a if a >= 0.34 => (0.9177 - 4.279 * a - 1.38 * a * a).exp(),
        a if a >= 0.2 => 1.0 - (-8.318 + 42.796 * a - 59.938 * a * a).exp(),
        a => 1.0 - (-13.436 + 101.14 * a - 223.73 * a * a).exp(),
    };
    let p = if a > 13.0 { 0.0 } else { p.clamp(0.0, 1.0) };
    Some(Finding { statistic, p, freedom: n })
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn agrees_with_scipy() {
        let weights = [148.0, 154.0, 158.0, 160.0, 161.0, 162.0, 166.0, 170.0, 182.0, 195.0, 236.0];
        let found = anderson_darling(&weights).unwrap();
        assert!((found.statistic - 0.946_771_879_598_886_2).abs() < 1e-9, "{}", found.statistic);
        assert!(found.p < 0.05);
    }
}
