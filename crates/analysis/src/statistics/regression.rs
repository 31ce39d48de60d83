//! Ordinary least squares with one or several features.
//!
//! Features are centred and scaled before solving, so large and small columns mix well; a feature
//! that others explain exactly gets the coefficient 0 instead of breaking the fit.

use super::describe::{mean, std};
use super::distributions::{f_upper, t_two_sided};
use super::{Finding, at};

/// A fitted line or plane.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The value where all features are 0.
    pub intercept: f64,
    /// One per feature.
    pub coefficients: Vec<f64>,
    /// Standard errors of the coefficients.
    pub errors: Vec<f64>,
    /// Two-sided p-values of the coefficients.
    pub p_values: Vec<f64>,
    /// The share of variance explained.
    pub r_squared: f64,
    /// The same, corrected for the number of features.
    pub r_squared_adjusted: f64,
    /// The mean squared residual.
    pub mse: f64,
    /// The test of all features together.
    pub overall: Finding,
}

impl Fit {
    /// The predicted value for one row of features.
    #[must_use]
    pub fn predict(&self, features: &[f64]) -> f64 {
        self.intercept + self.coefficients.iter().zip(features).map(|(c, x)| c * x).sum::<f64>()
    }
}

/// How well predictions meet the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The mean squared error.
    pub mse: f64,
    /// The mean absolute error.
    pub mae: f64,
    /// The coefficient of determination.
    pub r_squared: f64,
    /// The share of predictions that hit the truth when both are cut at one half.
    pub accuracy: f64,
}

/// Compares predictions with the truth.
#[must_use]
pub fn score(truth: &[f64], predicted: &[f64]) -> Option<Score> {
    let n = truth.len() as f64;
    let centre = mean(truth)?;
    let total: f64 = truth.iter().map(|y| (y - centre) * (y - centre)).sum();
    let squares: f64 = truth.iter().zip(predicted).map(|(y, p)| (y - p) * (y - p)).sum();
    let gaps: f64 = truth.iter().zip(predicted).map(|(y, p)| (y - p).abs()).sum();
    let hits = truth.iter().zip(predicted).filter(|(y, p)| (**y > 0.5) == (**p > 0.5)).count();
    let r_squared = if total > 0.0 { 1.0 - squares / total } else { f64::NAN };
    Some(Score { mse: squares / n, mae: gaps / n, r_squared, accuracy: hits as f64 / n })
}

/// Fits `target` by `features`, one inner slice per row.
#[must_use]
pub fn least_squares(features: &[Vec<f64>], target: &[f64]) -> Option<Fit> {
    let (rows, width) = (features.len(), features.first()?.len());
    if rows != target.len() || rows < 2 || width == 0 {
        return None;
    }
    let columns: Vec<Vec<f64>> =
        (0..width).map(|c| features.iter().map(|row| at(row, c)).collect()).collect();
    let centres: Vec<f64> = columns.iter().filter_map(|column| mean(column)).collect();
    let scales: Vec<f64> =
        columns.iter().map(|column| std(column, 0).filter(|s| *s > 0.0).unwrap_or(1.0)).collect();
    let scaled: Vec<Vec<f64>> = columns
        .iter()
        .zip(centres.iter().zip(&scales))
        .map(|(column, (centre, scale))| column.iter().map(|x| (x - centre) / scale).collect())
        .collect();
    let middle = mean(target)?;
    let y: Vec<f64> = target.iter().map(|v| v - middle).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(p, q)| p * q).sum::<f64>();
    let gram: Vec<Vec<f64>> = scaled.iter().map(|a| scaled.iter().map(|b| dot(a, b)).collect()).collect();
    let inverse = invert(&gram, rows as f64 * 1e-10);
    let right: Vec<f64> = scaled.iter().map(|a| dot(a, &y)).collect();
    let coefficients: Vec<f64> =
        inverse.iter().zip(&scales).map(|(row, scale)| dot(row, &right) / scale).collect();
    let intercept = middle - dot(&coefficients, &centres);
    finish(features, target, (intercept, coefficients), (&inverse, &scales))
}

fn finish(
    features: &[Vec<f64>],
    target: &[f64],
    line: (f64, Vec<f64>),
    spread: (&[Vec<f64>], &[f64]),
) -> Option<Fit> {
    let (intercept, coefficients) = line;
    let nothing = Finding { statistic: f64::NAN, p: f64::NAN, freedom: f64::NAN };
    let mut fit = Fit {
        intercept,
        coefficients,
        errors: Vec::new(),
        p_values: Vec::new(),
        r_squared: 0.0,
        r_squared_adjusted: 0.0,
        mse: 0.0,
        overall: nothing,
    };
    let predicted: Vec<f64> = features.iter().map(|row| fit.predict(row)).collect();
    let quality = score(target, &predicted)?;
    let (n, k) = (target.len() as f64, fit.coefficients.len() as f64);
    let freedom = n - k - 1.0;
    let residual = quality.mse * n / freedom;
    for (place, (row, scale)) in spread.0.iter().zip(spread.1).enumerate() {
        let error = (residual * at(row, place)).sqrt() / scale;
        fit.errors.push(error);
        fit.p_values.push(t_two_sided(at(&fit.coefficients, place) / error, freedom));
    }
    fit.mse = quality.mse;
    fit.r_squared = quality.r_squared;
    fit.r_squared_adjusted = 1.0 - (1.0 - quality.r_squared) * (n - 1.0) / freedom;
    let f = quality.r_squared / k / ((1.0 - quality.r_squared) / freedom);
    fit.overall = Finding { statistic: f, p: f_upper(f, k, freedom), freedom };
    Some(fit)
}

/// The inverse by elimination with pivots; rows of dependent features become 0.
fn invert(matrix: &[Vec<f64>], tiny: f64) -> Vec<Vec<f64>> {
    let size = matrix.len();
    let mut work: Vec<Vec<f64>> = matrix
        .iter()
        .enumerate()
        .map(|(place, row)| {
            row.iter().copied().chain((0..size).map(|c| f64::from(u8::from(c == place)))).collect()
        })
        .collect();
    let mut dropped = vec![false; size];
    for pivot in 0..size {
        let Some(row) = work.get(pivot).cloned() else { continue };
        let value = at(&row, pivot);
        if value.abs() <= tiny {
            if let Some(slot) = dropped.get_mut(pivot) {
                *slot = true;
            }
            continue;
        }
        let row: Vec<f64> = row.iter().map(|x| x / value).collect();
        for (place, other) in work.iter_mut().enumerate() {
            if place == pivot {
                other.clone_from(&row);
                continue;
            }
            let factor = at(other, pivot);
            other.iter_mut().zip(&row).for_each(|(x, p)| *x -= factor * p);
        }
    }
    work.iter()
        .enumerate()
        .map(|(place, row)| {
            let gone = dropped.get(place).copied().unwrap_or(false);
            row.iter()
                .skip(size)
                .zip(&dropped)
                .map(|(x, column_gone)| if gone || *column_gone { 0.0 } else { *x })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn agrees_with_statsmodels() {
        let x: Vec<Vec<f64>> = [(1.0, 2.0), (2.0, 1.0), (3.0, 5.0), (4.0, 3.0), (5.0, 8.0), (6.0, 2.5)]
            .iter()
            .map(|(a, b)| vec![*a, *b])
            .collect();
        let y = [3.1, 3.9, 8.2, 7.1, 13.5, 9.0];
        let fit = least_squares(&x, &y).unwrap();
        let expected = [
            0.358_489_864_236_558_04,
            1.039_352_798_958_529_2,
            0.968_495_443_555_885_3,
            0.993_597_832_927_329_8,
            0.075_986_609_633_624_8,
            0.002_163_506_130_207_153,
            0.001_085_279_799_166_003_3,
        ];
        let found = [
            fit.intercept,
            at(&fit.coefficients, 0),
            at(&fit.coefficients, 1),
            fit.r_squared,
            fit.mse,
            at(&fit.p_values, 0),
            at(&fit.p_values, 1),
        ];
        assert_eq!(expected.len(), found.len());
        for (left, right) in found.iter().zip(expected) {
            assert!((left - right).abs() < 1e-9, "{left} is not {right}");
        }
    }

    #[test]
    fn a_repeated_feature_does_not_break_the_fit() {
        let x: Vec<Vec<f64>> = (0..6).map(|i| vec![f64::from(i), 2.0 * f64::from(i)]).collect();
        let y: Vec<f64> = (0..6).map(|i| 1.0 + 3.0 * f64::from(i)).collect();
        let fit = least_squares(&x, &y).unwrap();
        assert!((fit.predict(&[2.0, 4.0]) - 7.0).abs() < 1e-9);
        assert!((fit.r_squared - 1.0).abs() < 1e-12);
    }
}
