//! Tests of normality: Shapiro-Wilk after Royston, Kolmogorov-Smirnov, D'Agostino's K2,
//! Jarque-Bera.
//!
//! The Kolmogorov-Smirnov p-value is exact for small samples and asymptotic with a correction for
//! large ones.

use super::describe::{kurtosis_plain, mean, skewness_plain, std};
use super::distributions::{chi2_upper, normal_cdf, normal_quantile, normal_upper};
use super::{Finding, at, sorted};

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The weights of the Shapiro-Wilk statistic for the lower half of the order statistics, positive.
fn shapiro_weights(count: usize) -> Vec<f64> {
    const FIRST: [f64; 6] = [0.0, 0.221_157, -0.147_981, -2.071_19, 4.434_685, -2.706_056];
    const SECOND: [f64; 6] = [0.0, 0.042_981, -0.293_762, -1.752_461, 5.682_633, -3.582_633];
    if count == 3 {
        return vec![0.5_f64.sqrt()];
    }
    let n = count as f64;
    let scores: Vec<f64> =
        (1..=count / 2).map(|i| normal_quantile((i as f64 - 0.375) / (n + 0.25))).collect();
    let squares = 2.0 * scores.iter().map(|m| m * m).sum::<f64>();
    let root = 1.0 / n.sqrt();
    let (m1, m2) = (at(&scores, 0), at(&scores, 1));
    let a1 = polynomial(&FIRST, root) - m1 / squares.sqrt();
    let mut fixed = vec![a1];
    let factor = if count > 5 {
        let a2 = polynomial(&SECOND, root) - m2 / squares.sqrt();
        fixed.push(a2);
        ((squares - 2.0 * m1 * m1 - 2.0 * m2 * m2) / (1.0 - 2.0 * a1 * a1 - 2.0 * a2 * a2)).sqrt()
    } else {
        ((squares - 2.0 * m1 * m1) / (1.0 - 2.0 * a1 * a1)).sqrt()
    };
    let taken = fixed.len();
    fixed.extend(scores.iter().skip(taken).map(|m| -m / factor));
    fixed
}

/// The Shapiro-Wilk test, after Royston (1995). Beyond 5000 numbers the p-value is only a rough
/// guide.
#[must_use]
pub fn shapiro_wilk(numbers: &[f64]) -> Option<Finding> {
    let count = numbers.len();
    if count < 3 {
        return None;
    }
    let ordered = sorted(numbers);
    let centre = mean(&ordered)?;
    let squares: f64 = ordered.iter().map(|x| (x - centre) * (x - centre)).sum();
    (squares > 0.0).then_some(())?;
    let weights = shapiro_weights(count);
    let sum: f64 =
        weights.iter().zip(ordered.iter().rev().zip(&ordered)).map(|(a, (high, low))| a * (high - low)).sum();
    let w = (sum * sum / squares).min(1.0);
    Some(Finding { statistic: w, p: shapiro_p(w, count), freedom: count as f64 })
}

fn shapiro_p(w: f64, count: usize) -> f64 {
    let n = count as f64;
    if count == 3 {
        let p = 6.0 / std::f64::consts::PI * (w.sqrt().asin() - 0.75_f64.sqrt().asin());
        return p.clamp(0.0, 1.0);
    }
    let rest = (1.0 - w).ln();
    let (value, centre, spread) = if count <= 11 {
        let limit = polynomial(&[-2.273, 0.459], n);
        if rest >= limit {
            return 1e-99;
        }
        let centre = polynomial(&[0.544, -0.399_78, 0.025_054, -6.714e-4], n);
        (-(limit - rest).ln(), centre, polynomial(&[1.3822, -0.778_57, 0.062_767, -0.002_032_2], n).exp())
    } else {
        let log = n.ln();
        let centre = polynomial(&[-1.5861, -0.310_82, -0.083_751, 0.003_891_5], log);
        (rest, centre, polynomial(&[-0.4803, -0.082_676, 0.003_030_2], log).exp())
    };
    normal_upper((value - centre) / spread)
}

/// The Kolmogorov-Smirnov test against a normal distribution with a given mean and spread.
#[must_use]
pub fn kolmogorov_smirnov(numbers: &[f64], centre: f64, spread: f64) -> Option<Finding> {
    if numbers.is_empty() || spread.is_nan() || spread <= 0.0 {
        return None;
    }
    let n = numbers.len() as f64;
    let gap = sorted(numbers)
        .iter()
        .enumerate()
        .map(|(place, x)| {
            let chance = normal_cdf((x - centre) / spread);
            (chance - place as f64 / n).max((place as f64 + 1.0) / n - chance)
        })
        .fold(0.0, f64::max);
    Some(Finding { statistic: gap, p: kolmogorov_upper(gap, numbers.len()), freedom: n })
}

/// The same, against the mean and sample spread of the numbers themselves.
#[must_use]
pub fn kolmogorov_smirnov_fitted(numbers: &[f64]) -> Option<Finding> {
    kolmogorov_smirnov(numbers, mean(numbers)?, std(numbers, 1)?)
}

/// The two-sample Kolmogorov-Smirnov test, with the asymptotic p-value.
#[must_use]
pub fn kolmogorov_smirnov_two(x: &[f64], y: &[f64]) -> Option<Finding> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let (x, y) = (sorted(x), sorted(y));
    let share = |numbers: &[f64], at_most: f64| {
        numbers.partition_point(|v| *v <= at_most) as f64 / numbers.len() as f64
    };
    let gap = x.iter().chain(&y).map(|v| (share(&x, *v) - share(&y, *v)).abs()).fold(0.0, f64::max);
    let size = (x.len() as f64 * y.len() as f64 / (x.len() + y.len()) as f64).sqrt();
    Some(Finding { statistic: gap, p: kolmogorov_limit(size * gap), freedom: size })
}

/// The chance of a gap of at least `gap` among `count` numbers.
fn kolmogorov_upper(gap: f64, count: usize) -> f64 {
    let n = count as f64;
    let scaled = n * gap * gap;
    if scaled > 18.0 {
        return kolmogorov_limit(scaled.sqrt());
    }
    if count <= 400 && n * gap < 100.0 {
        return kolmogorov_exact(gap, count);
    }
    kolmogorov_limit(gap * n.sqrt() + 1.0 / (6.0 * n.sqrt()) + (gap * n.sqrt() - 1.0) / (4.0 * n))
}

/// The limit distribution of Kolmogorov.
fn kolmogorov_limit(x: f64) -> f64 {
    if x < 0.2 {
        return 1.0;
    }
    let mut sum = 0.0;
    for step in 1..200 {
        let k = f64::from(step);
        let sign = if step % 2 == 1 { 1.0 } else { -1.0 };
        let term = (-2.0 * k * k * x * x).exp();
        sum += sign * term;
        if term < 1e-18 {
            break;
        }
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

/// The exact distribution, by the matrix power of Marsaglia, Tsang and Wang (2003).
fn kolmogorov_exact(gap: f64, count: usize) -> f64 {
    let n = count as f64;
    let k = (n * gap).ceil() as usize;
    let size = 2 * k - 1;
    let h = k as f64 - n * gap;
    let corner = if 2.0 * h - 1.0 > 0.0 { (2.0 * h - 1.0).powi(size as i32) } else { 0.0 };
    let entry = |row: usize, column: usize| -> f64 {
        if row + 1 < column {
            return 0.0;
        }
        let mut value = 1.0;
        if column == 0 {
            value -= h.powi(row as i32 + 1);
        }
        if row + 1 == size {
            value -= h.powi((size - column) as i32);
        }
        if column == 0 && row + 1 == size {
            value += corner;
        }
        // Divided by the factorial of the distance from the upper diagonal.
        (1..=(row + 1 - column)).fold(value, |v, i| v / i as f64)
    };
    let matrix: Vec<Vec<f64>> =
        (0..size).map(|row| (0..size).map(|column| entry(row, column)).collect()).collect();
    let (power, scale) = matrix_power(&matrix, count);
    let middle = power.get(k - 1).map_or(f64::NAN, |row| at(row, k - 1));
    let log = middle.ln() + scale + (1..=count).map(|i| (i as f64 / n).ln()).sum::<f64>();
    (1.0 - log.exp()).clamp(0.0, 1.0)
}

/// A matrix to a power, as a matrix and the logarithm of a factor taken out of it.
fn matrix_power(matrix: &[Vec<f64>], power: usize) -> (Vec<Vec<f64>>, f64) {
    if power == 1 {
        return (matrix.to_vec(), 0.0);
    }
    let (half, scale) = matrix_power(matrix, power / 2);
    let mut result = multiply(&half, &half);
    let mut log = 2.0 * scale;
    if power % 2 == 1 {
        result = multiply(&result, matrix);
    }
    let largest = result.iter().flatten().copied().fold(0.0, f64::max);
    if largest > 1e100 {
        result.iter_mut().flatten().for_each(|x| *x /= largest);
        log += largest.ln();
    }
    (result, log)
}

fn multiply(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let width = b.first().map_or(0, Vec::len);
    a.iter()
        .map(|row| {
            let mut sum = vec![0.0; width];
            for (x, other) in row.iter().zip(b) {
                sum.iter_mut().zip(other).for_each(|(slot, y)| *slot += x * y);
            }
            sum
        })
        .collect()
}

/// D'Agostino and Pearson's test from skewness and kurtosis.
#[must_use]
pub fn dagostino(numbers: &[f64]) -> Option<Finding> {
    if numbers.len() < 8 {
        return None;
    }
    let (s, k) = (skewness_z(numbers)?, kurtosis_z(numbers)?);
    let statistic = s * s + k * k;
    Some(Finding { statistic, p: chi2_upper(statistic, 2.0), freedom: 2.0 })
}

fn skewness_z(numbers: &[f64]) -> Option<f64> {
    let n = numbers.len() as f64;
    let y = skewness_plain(numbers)? * ((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0))).sqrt();
    let beta = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
        / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0));
    let w = -1.0 + (2.0 * (beta - 1.0)).sqrt();
    let delta = 1.0 / (0.5 * w.ln()).sqrt();
    let alpha = (2.0 / (w - 1.0)).sqrt();
    let y = y / alpha;
    Some(delta * (y + (y * y + 1.0).sqrt()).ln())
}

fn kurtosis_z(numbers: &[f64]) -> Option<f64> {
    let n = numbers.len() as f64;
    let b2 = kurtosis_plain(numbers)? + 3.0;
    let expected = 3.0 * (n - 1.0) / (n + 1.0);
    let variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) * (n + 1.0) * (n + 3.0) * (n + 5.0));
    let x = (b2 - expected) / variance.sqrt();
    let root = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
        * (6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0))).sqrt();
    let a = 6.0 + 8.0 / root * (2.0 / root + (1.0 + 4.0 / (root * root)).sqrt());
    let below = 1.0 + x * (2.0 / (a - 4.0)).sqrt();
    let term = ((1.0 - 2.0 / a) / below.abs()).cbrt() * below.signum();
    Some((1.0 - 2.0 / (9.0 * a) - term) / (2.0 / (9.0 * a)).sqrt())
}

/// The Jarque-Bera test.
#[must_use]
pub fn jarque_bera(numbers: &[f64]) -> Option<Finding> {
    let (s, k) = (skewness_plain(numbers)?, kurtosis_plain(numbers)?);
    let statistic = numbers.len() as f64 / 6.0 * (s * s + k * k / 4.0);
    Some(Finding { statistic, p: chi2_upper(statistic, 2.0), freedom: 2.0 })
}

#[cfg(test)]
mod check {
    use super::*;

    const X: [f64; 20] = [
        148.0, 154.0, 158.0, 160.0, 161.0, 162.0, 166.0, 170.0, 182.0, 195.0, 236.0, 150.5, 155.0, 171.2,
        168.4, 163.3, 159.9, 180.1, 177.7, 165.0,
    ];

    fn near(found: Option<Finding>, statistic: f64, p: f64, slack: f64) {
        let found = found.unwrap();
        assert!((found.statistic - statistic).abs() < slack, "{} is not {statistic}", found.statistic);
        assert!((found.p - p).abs() < slack, "{} is not {p}", found.p);
    }

    #[test]
    fn agrees_with_scipy() {
        near(shapiro_wilk(&X), 0.779_950_524_778_206_7, 0.000_440_603_871_077_770_3, 1e-7);
        let eight: Vec<f64> = X.iter().copied().take(8).collect();
        near(shapiro_wilk(&eight), 0.982_281_703_516_956_1, 0.973_302_914_941_255_4, 1e-7);
        near(kolmogorov_smirnov_fitted(&X), 0.208_162_018_481_473_1, 0.307_189_160_340_036_85, 1e-9);
        near(dagostino(&X), 24.618_786_173_252_275, 4.509_189_706_184_065e-6, 1e-9);
        near(jarque_bera(&X), 36.840_057_829_682_415, 1.000_652_041_597_919_6e-8, 1e-9);
        let many: Vec<f64> = (0..1000)
            .map(|i| f64::from((i * 7919) % 1000) / 1000.0 + 0.3 * f64::from((i * 31) % 17))
            .collect();
        near(shapiro_wilk(&many), 0.965_885_021_927_743_2, 1.485_008_316_011_442_5e-14, 1e-7);
        near(kolmogorov_smirnov_fitted(&many), 0.056_247_536_824_074_46, 0.003_430_659_033_457_37, 1e-5);
        let shapiro: Vec<f64> = X.iter().copied().take(11).collect();
        // The example of Shapiro and Wilk (1965): weights of eleven men.
        near(shapiro_wilk(&shapiro), 0.788_8, 0.006_7, 5e-4);
    }
}
