//! Outliers: numbers far from the others, by quartiles or by standard deviations.

use super::describe::{mean, quantile_sorted, std};
use super::sorted;

/// The fences of Tukey: below the first quartile and above the third by so many interquartile
/// ranges.
#[must_use]
pub fn iqr_fences(numbers: &[f64], factor: f64) -> Option<(f64, f64)> {
    let ordered = sorted(numbers);
    let (first, third) = (quantile_sorted(&ordered, 0.25)?, quantile_sorted(&ordered, 0.75)?);
    let range = third - first;
    Some((first - factor * range, third + factor * range))
}

/// The fences at so many standard deviations around the mean; `ddof` as in [`std`].
#[must_use]
pub fn z_fences(numbers: &[f64], threshold: f64, ddof: usize) -> Option<(f64, f64)> {
    let (centre, spread) = (mean(numbers)?, std(numbers, ddof)?);
    Some((centre - threshold * spread, centre + threshold * spread))
}

/// Is a number outside the fences?
#[must_use]
pub fn outside(number: f64, fences: (f64, f64)) -> bool {
    number < fences.0 || number > fences.1
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn quartile_fences_and_deviations() {
        let numbers = [1.0, 2.0, 3.0, 4.0, 100.0];
        assert_eq!(iqr_fences(&numbers, 1.5), Some((-1.0, 7.0)));
        assert!(outside(100.0, (-1.0, 7.0)) && !outside(7.0, (-1.0, 7.0)));
        let (low, high) = z_fences(&numbers, 1.0, 0).unwrap();
        assert!(
            (low - (22.0 - 39.012_818_406_262_32)).abs() < 1e-9
                && (high - 61.012_818_406_262_32).abs() < 1e-9
        );
    }
}
