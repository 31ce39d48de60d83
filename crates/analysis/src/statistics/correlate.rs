//! Correlation of two columns: Pearson, Spearman, Kendall, with two-sided p-values.
//!
//! Both slices are paired: the caller drops a pair when either side is empty.

use super::describe::mean;
use super::distributions::{normal_upper, t_two_sided};
use super::{Finding, at};

/// Pearson's r, with the p-value of the t distribution.
#[must_use]
pub fn pearson(x: &[f64], y: &[f64]) -> Option<Finding> {
    if x.len() != y.len() || x.len() < 2 {
        return None;
    }
    let (mx, my) = (mean(x)?, mean(y)?);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(y) {
        xx += (a - mx) * (a - mx);
        yy += (b - my) * (b - my);
        xy += (a - mx) * (b - my);
    }
    if xx <= 0.0 || yy <= 0.0 {
        return None;
    }
    let r = (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0);
    Some(Finding { statistic: r, p: p_of_r(r, x.len()), freedom: x.len() as f64 - 2.0 })
}

fn p_of_r(r: f64, count: usize) -> f64 {
    let freedom = count as f64 - 2.0;
    if freedom <= 0.0 {
        return 1.0;
    }
    let rest = 1.0 - r * r;
    if rest <= 0.0 { 0.0 } else { t_two_sided(r * (freedom / rest).sqrt(), freedom) }
}

/// The rank of every number, ties sharing their average rank.
#[must_use]
pub fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = numbers.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranks = vec![0.0; numbers.len()];
    let mut before = 0;
    for run in order.chunk_by(|a, b| a.1 == b.1) {
        let rank = before as f64 + (run.len() as f64 + 1.0) / 2.0;
        for (place, _) in run {
            if let Some(slot) = ranks.get_mut(*place) {
                *slot = rank;
            }
        }
        before += run.len();
    }
    ranks
}

/// Spearman's rho.
#[must_use]
pub fn spearman(x: &[f64], y: &[f64]) -> Option<Finding> {
    pearson(&ranks(x), &ranks(y))
}

/// How large the groups of equal numbers are.
pub(crate) fn ties(numbers: &[f64]) -> Vec<f64> {
    super::sorted(numbers).chunk_by(|a, b| a == b).map(|run| run.len() as f64).collect()
}

/// Kendall's tau-b; exact for few numbers without ties, else by the normal approximation.
#[must_use]
pub fn kendall(x: &[f64], y: &[f64]) -> Option<Finding> {
    let count = x.len();
    if count != y.len() || count < 2 {
        return None;
    }
    let (mut concordant, mut discordant) = (0.0, 0.0);
    for i in 0..count {
        for j in 0..i {
            let product =
                (at(x, i) - at(x, j)).total_cmp(&0.0) as i32 * (at(y, i) - at(y, j)).total_cmp(&0.0) as i32;
            let tied = at(x, i) == at(x, j) || at(y, i) == at(y, j);
            match product {
                _ if tied => {}
                1 => concordant += 1.0,
                _ => discordant += 1.0,
            }
        }
    }
    let n = count as f64;
    let pairs = n * (n - 1.0) / 2.0;
    let (tx, ty) = (ties(x), ties(y));
    let same = |groups: &[f64]| groups.iter().map(|t| t * (t - 1.0) / 2.0).sum::<f64>();
    let (free_x, free_y) = (pairs - same(&tx), pairs - same(&ty));
    if free_x <= 0.0 || free_y <= 0.0 {
        return None;
    }
    let difference: f64 = concordant - discordant;
    let tau = difference / (free_x.sqrt() * free_y.sqrt());
    let untied = same(&tx) == 0.0 && same(&ty) == 0.0;
    let p = if untied && (count <= 33 || discordant.min(pairs - discordant) <= 1.0) {
        kendall_exact(count, discordant.min(pairs - discordant) as usize)
    } else {
        let third = |groups: &[f64]| groups.iter().map(|t| t * (t - 1.0) * (t - 2.0)).sum::<f64>();
        let weighted = |groups: &[f64]| groups.iter().map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum::<f64>();
        let m = n * (n - 1.0);
        let variance = (m * (2.0 * n + 5.0) - weighted(&tx) - weighted(&ty)) / 18.0
            + 2.0 * same(&tx) * same(&ty) / m
            + third(&tx) * third(&ty) / (9.0 * m * (n - 2.0));
        2.0 * normal_upper((difference / variance.sqrt()).abs())
    };
    Some(Finding { statistic: tau, p: p.min(1.0), freedom: n })
}

/// The exact two-sided chance of at most so many inversions in a random order of `count` things.
fn kendall_exact(count: usize, inversions: usize) -> f64 {
    let mut shares = vec![1.0];
    for size in 2..=count {
        let mut next = vec![0.0; (shares.len() + size - 1).min(inversions + 1)];
        for (place, slot) in next.iter_mut().enumerate() {
            let from = (place + 1).saturating_sub(size);
            *slot = shares.iter().skip(from).take(place + 1 - from).sum::<f64>() / size as f64;
        }
        shares = next;
    }
    (2.0 * shares.iter().sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod check {
    use super::*;

    const X: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    const Y: [f64; 8] = [2.0, 1.0, 4.0, 3.0, 7.0, 8.0, 6.0, 5.0];
    const T: [f64; 8] = [2.0, 2.0, 4.0, 3.0, 7.0, 7.0, 6.0, 5.0];

    fn near(found: Option<Finding>, statistic: f64, p: f64) {
        let found = found.unwrap();
        assert!((found.statistic - statistic).abs() < 1e-9, "{} is not {statistic}", found.statistic);
        assert!((found.p - p).abs() < 1e-9, "{} is not {p}", found.p);
    }

    #[test]
    fn agrees_with_scipy() {
        near(pearson(&X, &Y), 0.738_095_238_095_237_9, 0.036_552_761_052_860_906);
        near(spearman(&X, &T), 0.747_042_173_703_413_7, 0.033_176_803_939_162_77);
        near(kendall(&X, &Y), 0.5, 0.108_680_555_555_555_56);
        near(kendall(&X, &T), 0.518_874_521_662_770_8, 0.078_545_850_951_190_67);
    }

    #[test]
    fn a_constant_column_has_no_correlation() {
        assert_eq!(pearson(&X, &[1.0; 8]), None);
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [2.5, 1.0, 2.5]);
    }
}
