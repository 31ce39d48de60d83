//! Tests of a hypothesis about groups: t, Mann-Whitney, chi-square, analysis of variance, Levene.
//!
//! All p-values are two-sided unless the distribution has only one side.

use super::correlate::{ranks, ties};
use super::describe::{mean, median, variance};
use super::distributions::{chi2_upper, f_upper, normal_upper, t_two_sided};
use super::{Finding, at};

/// Student's t for two groups with the same spread.
#[must_use]
pub fn t_student(x: &[f64], y: &[f64]) -> Option<Finding> {
    let (n, m) = (x.len() as f64, y.len() as f64);
    let freedom = n + m - 2.0;
    (freedom > 0.0).then_some(())?;
    let squares = variance(x, 1)? * (n - 1.0) + variance(y, 1)? * (m - 1.0);
    let error = (squares / freedom * (1.0 / n + 1.0 / m)).sqrt();
    t_finding(mean(x)? - mean(y)?, error, freedom)
}

/// Welch's t for two groups whose spread may differ.
#[must_use]
pub fn t_welch(x: &[f64], y: &[f64]) -> Option<Finding> {
    let (n, m) = (x.len() as f64, y.len() as f64);
    let (a, b) = (variance(x, 1)? / n, variance(y, 1)? / m);
    let freedom = (a + b) * (a + b) / (a * a / (n - 1.0) + b * b / (m - 1.0));
    t_finding(mean(x)? - mean(y)?, (a + b).sqrt(), freedom)
}

/// The t test of paired numbers.
#[must_use]
pub fn t_paired(x: &[f64], y: &[f64]) -> Option<Finding> {
    (x.len() == y.len()).then_some(())?;
    let differences: Vec<f64> = x.iter().zip(y).map(|(a, b)| a - b).collect();
    t_one_sample(&differences, 0.0)
}

/// The t test of one group against a fixed mean.
#[must_use]
pub fn t_one_sample(x: &[f64], expected: f64) -> Option<Finding> {
    let n = x.len() as f64;
    t_finding(mean(x)? - expected, (variance(x, 1)? / n).sqrt(), n - 1.0)
}

fn t_finding(difference: f64, error: f64, freedom: f64) -> Option<Finding> {
    if error.is_nan() || error <= 0.0 || freedom <= 0.0 {
        return None;
    }
    let t = difference / error;
    Some(Finding { statistic: t, p: t_two_sided(t, freedom), freedom })
}

/// The z test of two means: as the t test, with the normal distribution for the tail.
#[must_use]
pub fn z_test(x: &[f64], y: &[f64]) -> Option<Finding> {
    let error = (variance(x, 1)? / x.len() as f64 + variance(y, 1)? / y.len() as f64).sqrt();
    (error > 0.0).then_some(())?;
    let z = (mean(x)? - mean(y)?) / error;
    Some(Finding { statistic: z, p: 2.0 * normal_upper(z.abs()), freedom: f64::INFINITY })
}

/// Mann-Whitney's U of the first group; exact for small groups without ties.
#[must_use]
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Option<Finding> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let both: Vec<f64> = x.iter().chain(y).copied().collect();
    let (n, m) = (x.len() as f64, y.len() as f64);
    let sum: f64 = ranks(&both).iter().take(x.len()).sum();
    let u = sum - n * (n + 1.0) / 2.0;
    let larger = u.max(n * m - u);
    let groups = ties(&both);
    let tied = groups.iter().any(|t| *t > 1.0);
    let p = if !tied && (x.len() <= 8 || y.len() <= 8) && both.len() <= 200 {
        2.0 * u_upper(x.len(), y.len(), larger as usize)
    } else {
        let total = n + m;
        let tie: f64 = groups.iter().map(|t| t * t * t - t).sum();
        let spread = (n * m / 12.0 * (total + 1.0 - tie / (total * (total - 1.0)))).sqrt();
        (spread > 0.0).then_some(())?;
        2.0 * normal_upper((larger - n * m / 2.0 - 0.5) / spread)
    };
    Some(Finding { statistic: u, p: p.min(1.0), freedom: n + m })
}

/// The exact chance that U is at least so large, by counting arrangements.
fn u_upper(n: usize, m: usize, least: usize) -> f64 {
    // One row per size of the first group; the second group grows from row to row.
    let size = n * m + 1;
    let mut table = vec![vec![0.0; size]; n + 1];
    for row in &mut table {
        if let Some(first) = row.first_mut() {
            *first = 1.0;
        }
    }
    for second in 1..=m {
        let mut next = table.clone();
        for first in 1..=n {
            let total = (first + second) as f64;
            let row: Vec<f64> = (0..size)
                .map(|u| {
                    let with_first = u.checked_sub(second).and_then(|v| next.get(first - 1)?.get(v)).copied();
                    let with_second = table.get(first).and_then(|row| row.get(u)).copied();
                    (with_first.unwrap_or(0.0) * first as f64 + with_second.unwrap_or(0.0) * second as f64)
                        / total
                })
                .collect();
            if let Some(slot) = next.get_mut(first) {
                *slot = row;
            }
        }
        table = next;
    }
    table.get(n).map_or(f64::NAN, |row| row.iter().skip(least).sum())
}

/// The chi-square test of independence over a table of counts; 2 by 2 tables are corrected after
/// Yates.
#[must_use]
pub fn chi_square(table: &[Vec<f64>]) -> Option<Finding> {
    let columns = table.first()?.len();
    let row_sums: Vec<f64> = table.iter().map(|row| row.iter().sum()).collect();
    let column_sums: Vec<f64> = (0..columns).map(|c| table.iter().map(|row| at(row, c)).sum()).collect();
    let total: f64 = row_sums.iter().sum();
    let freedom = (table.len() as f64 - 1.0) * (columns as f64 - 1.0);
    if freedom < 1.0 || total <= 0.0 {
        return None;
    }
    let mut statistic = 0.0;
    for (row, row_sum) in table.iter().zip(&row_sums) {
        for (observed, column_sum) in row.iter().zip(&column_sums) {
            let expected = row_sum * column_sum / total;
            (expected > 0.0).then_some(())?;
            let gap = (observed - expected).abs();
            let gap = if freedom == 1.0 { gap - gap.min(0.5) } else { gap };
            statistic += gap * gap / expected;
        }
    }
    Some(Finding { statistic, p: chi2_upper(statistic, freedom), freedom })
}

/// One-way analysis of variance.
#[must_use]
pub fn anova(groups: &[Vec<f64>]) -> Option<Finding> {
    let all: Vec<f64> = groups.iter().flatten().copied().collect();
    let grand = mean(&all)?;
    let (mut between, mut within) = (0.0, 0.0);
    for group in groups {
        let centre = mean(group)?;
        between += group.len() as f64 * (centre - grand) * (centre - grand);
        within += group.iter().map(|x| (x - centre) * (x - centre)).sum::<f64>();
    }
    let (first, second) = (groups.len() as f64 - 1.0, all.len() as f64 - groups.len() as f64);
    if first <= 0.0 || second <= 0.0 || within <= 0.0 {
        return None;
    }
    let f = (between / first) / (within / second);
    Some(Finding { statistic: f, p: f_upper(f, first, second), freedom: second })
}

/// Levene's test of equal spread, around the medians.
#[must_use]
pub fn levene(groups: &[Vec<f64>]) -> Option<Finding> {
    let gaps: Option<Vec<Vec<f64>>> = groups
        .iter()
        .map(|group| {
            let centre = median(group)?;
            Some(group.iter().map(|x| (x - centre).abs()).collect())
        })
        .collect();
    anova(&gaps?)
}

/// The Kruskal-Wallis test: analysis of variance over ranks.
#[must_use]
pub fn kruskal(groups: &[Vec<f64>]) -> Option<Finding> {
    let all: Vec<f64> = groups.iter().flatten().copied().collect();
    let n = all.len() as f64;
    (groups.len() > 1 && groups.iter().all(|group| !group.is_empty())).then_some(())?;
    let ranked = ranks(&all);
    let mut rest = ranked.as_slice();
    let mut sum = 0.0;
    for group in groups {
        let (own, others) = rest.split_at_checked(group.len())?;
        rest = others;
        let total: f64 = own.iter().sum();
        sum += total * total / group.len() as f64;
    }
    let tie = 1.0 - ties(&all).iter().map(|t| t * t * t - t).sum::<f64>() / (n * n * n - n);
    (tie > 0.0).then_some(())?;
    let h = (12.0 / (n * (n + 1.0)) * sum - 3.0 * (n + 1.0)) / tie;
    let freedom = groups.len() as f64 - 1.0;
    Some(Finding { statistic: h, p: chi2_upper(h, freedom), freedom })
}

/// Cohen's d of two groups, with the pooled spread.
#[must_use]
pub fn cohen_d(x: &[f64], y: &[f64]) -> Option<f64> {
    let (n, m) = (x.len() as f64, y.len() as f64);
    let pooled = ((variance(x, 1)? * (n - 1.0) + variance(y, 1)? * (m - 1.0)) / (n + m - 2.0)).sqrt();
    (pooled > 0.0).then_some((mean(x)? - mean(y)?) / pooled)
}

#[cfg(test)]
mod check {
    use super::*;

    const X: [f64; 9] = [2.1, 3.4, 1.9, 5.6, 4.4, 3.8, 2.7, 6.1, 4.9];
    const Y: [f64; 7] = [3.9, 5.5, 6.2, 7.1, 4.8, 8.3, 5.0];
    const Z: [f64; 6] = [1.0, 2.0, 2.5, 3.0, 9.0, 4.0];

    fn near(found: Option<Finding>, statistic: f64, p: f64) {
        let found = found.unwrap();
        assert!((found.statistic - statistic).abs() < 1e-9, "{} is not {statistic}", found.statistic);
        assert!((found.p - p).abs() < 1e-9, "{} is not {p}", found.p);
    }

    #[test]
    fn agrees_with_scipy() {
        near(t_student(&X, &Y), -2.586_830_432_644_74, 0.021_521_709_043_040_616);
        near(t_welch(&X, &Y), -2.586_861_130_715_409_5, 0.022_510_452_931_711_288);
        let seven: Vec<f64> = X.iter().copied().take(7).collect();
        near(t_paired(&seven, &Y), -4.292_142_796_685_886, 0.005_136_785_518_309_906);
        near(t_one_sample(&X, 3.0), 1.759_688_071_408_652, 0.116_502_126_280_144_78);
        near(mann_whitney(&X, &Y), 11.0, 0.031_118_881_118_881_12);
        let more: Vec<f64> = Y.iter().copied().chain([4.4, 4.4]).collect();
        near(mann_whitney(&X.repeat(3), &more.repeat(3)), 162.0, 0.000_453_793_053_857_584_76);
        near(
            chi_square(&[vec![10.0, 20.0, 30.0], vec![6.0, 9.0, 17.0]]),
            0.271_574_651_504_035_04,
            0.873_028_283_380_073,
        );
        near(
            chi_square(&[vec![10.0, 20.0], vec![16.0, 9.0]]),
            3.988_229_442_970_822_3,
            0.045_819_187_660_261_05,
        );
        let groups = [X.to_vec(), Y.to_vec(), Z.to_vec()];
        near(anova(&groups), 2.752_700_882_227_53, 0.089_160_367_781_964_76);
        near(levene(&groups), 0.387_334_093_471_353_95, 0.684_103_421_484_285_2);
        near(kruskal(&groups), 5.863_354_037_267_072, 0.053_307_565_361_983_66);
    }

    #[test]
    fn degenerate_groups_give_nothing() {
        assert_eq!(t_student(&[1.0], &[2.0]), None);
        assert_eq!(chi_square(&[vec![1.0, 2.0]]), None);
        assert_eq!(mann_whitney(&[], &X), None);
    }
}
