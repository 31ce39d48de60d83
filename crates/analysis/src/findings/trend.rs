//! Trend test: Mann-Kendall, with the Theil-Sen slope, which is robust to outliers.
//!
//! Invariant: the p-value is exact for short series without ties, where the normal approximation
//! would be wrong.

/// The result of a trend test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trend {
    /// The median change from one value to the next.
    pub slope: f64,
    /// The two-sided p-value.
    pub p: f64,
}

/// Tests numbers in the order of time; needs at least five.
pub(super) fn trend(values: &[f64]) -> Option<Trend> {
    let count = values.len();
    if !(5..=2000).contains(&count) {
        return None;
    }
    let (mut score, mut slopes) = (0_i64, Vec::new());
    for (place, late) in values.iter().enumerate() {
        for (before, early) in values.iter().enumerate().take(place) {
            score += match late.partial_cmp(early)? {
                std::cmp::Ordering::Greater => 1,
                std::cmp::Ordering::Less => -1,
                std::cmp::Ordering::Equal => 0,
            };
            slopes.push((late - early) / (place - before) as f64);
        }
    }
    let ties = ties(values);
    let p = if ties.is_empty() && count <= 40 { exact(count, score) } else { normal(count, score, &ties) };
    Some(Trend { slope: median(&mut slopes)?, p })
}

/// The median.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(low / 2.0 + high / 2.0)
}

/// The sizes of the groups of equal numbers.
fn ties(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(|group| group.len() as f64).filter(|size| *size > 1.0).collect()
}

/// The exact p-value: the share of all permutations that are at least as extreme.
fn exact(count: usize, score: i64) -> f64 {
    let pairs = count * (count - 1) / 2;
    // `shares[k]` is the share of all permutations with k inversions.
    let mut shares = vec![1.0];
    for size in 2..=count {
        let mut next = vec![0.0; shares.len() + size - 1];
        for (wrong, share) in shares.iter().enumerate() {
            for slot in next.iter_mut().skip(wrong).take(size) {
                *slot += share / size as f64;
            }
        }
        shares = next;
    }
    let wrong = (pairs as i64 - score.abs()).max(0) as usize / 2;
    let tail: f64 = shares.iter().take(wrong + 1).sum();
    (2.0 * tail).min(1.0)
}

/// The normal approximation with a correction for ties.
fn normal(count: usize, score: i64, ties: &[f64]) -> f64 {
    let part = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let variance = (part(count as f64) - ties.iter().map(|size| part(*size)).sum::<f64>()) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (score.abs() as f64 - 1.0).max(0.0) / variance.sqrt();
    (2.0 * upper_tail(z)).min(1.0)
}

/// The upper tail of the normal distribution (Abramowitz and Stegun 26.2.17, accurate to seven
/// digits).
fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let sum = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_p_values() {
        // Five numbers in order: one of 120 orders, on either side.
        assert!((trend(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap().p - 2.0 / 120.0).abs() < 1e-12);
        // One pair swapped: five of 120 orders are at least as clear.
        assert!((trend(&[2.0, 1.0, 3.0, 4.0, 5.0]).unwrap().p - 10.0 / 120.0).abs() < 1e-12);
        assert_eq!(trend(&[1.0, 2.0, 3.0, 4.0]), None);
    }

    #[test]
    fn flat_and_noisy_series_have_no_trend() {
        assert_eq!(trend(&[3.0; 20]).unwrap().p, 1.0);
        let zigzag: Vec<f64> = (0..30).map(|i| f64::from(i % 2)).collect();
        assert!(trend(&zigzag).unwrap().p > 0.5);
    }

    #[test]
    fn an_outlier_does_not_bend_the_slope() {
        let mut values: Vec<f64> = (0..50).map(f64::from).collect();
        values[20] = 1e9;
        let trend = trend(&values).unwrap();
        assert!((trend.slope - 1.0).abs() < 0.05 && trend.p < 0.001);
    }

    #[test]
    fn the_normal_curve_agrees_with_tables() {
        assert!((2.0 * upper_tail(1.959_964) - 0.05).abs() < 1e-6);
    }
}
