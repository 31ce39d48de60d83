//! Logistic regression with a quadratic penalty, by Newton's method.
//!
//! The penalty is that of the common default (strength 1). Whether the intercept is penalised too
//! is a choice, since the widespread solvers differ in it.

use super::at;

/// Weights of a fitted two-class model: the features first, the intercept last.
#[must_use]
pub fn fit(features: &[Vec<f64>], target: &[bool], penalise_intercept: bool) -> Option<Vec<f64>> {
    let width = features.first()?.len() + 1;
    let rows: Vec<Vec<f64>> = features.iter().map(|row| row.iter().copied().chain([1.0]).collect()).collect();
    let mut weights = vec![0.0; width];
    for _ in 0..100 {
        let mut gradient: Vec<f64> = weights.clone();
        let mut curvature: Vec<Vec<f64>> =
            (0..width).map(|r| (0..width).map(|c| f64::from(u8::from(r == c))).collect()).collect();
        if !penalise_intercept {
            if let Some(last) = gradient.last_mut() {
                *last = 0.0;
            }
            if let Some(last) = curvature.last_mut().and_then(|row| row.last_mut()) {
                *last = 1e-12;
            }
        }
        for (row, truth) in rows.iter().zip(target) {
            let chance = probability(&weights, row);
            let gap = chance - f64::from(u8::from(*truth));
            let slope = (chance * (1.0 - chance)).max(1e-12);
            for (place, x) in row.iter().enumerate() {
                if let Some(slot) = gradient.get_mut(place) {
                    *slot += gap * x;
                }
                if let Some(line) = curvature.get_mut(place) {
                    line.iter_mut().zip(row).for_each(|(slot, other)| *slot += slope * x * other);
                }
            }
        }
        let step = solve(curvature, gradient)?;
        weights.iter_mut().zip(&step).for_each(|(w, s)| *w -= s);
        if step.iter().all(|s| s.abs() < 1e-10) {
            break;
        }
    }
    weights.iter().all(|w| w.is_finite()).then_some(weights)
}

/// The chance of the positive class; `row` ends with the constant 1.
#[must_use]
pub fn probability(weights: &[f64], row: &[f64]) -> f64 {
    let sum: f64 = weights.iter().zip(row).map(|(w, x)| w * x).sum();
    1.0 / (1.0 + (-sum).exp())
}

/// Solves a positive definite system by elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for pivot in 0..size {
        let row = matrix.get(pivot)?.clone();
        let value = at(&row, pivot);
        (value.abs() > 1e-300).then_some(())?;
        let own = at(&right, pivot);
        for other in (0..size).filter(|other| *other != pivot) {
            let line = matrix.get_mut(other)?;
            let factor = at(line, pivot) / value;
            line.iter_mut().zip(&row).for_each(|(x, p)| *x -= factor * p);
            *right.get_mut(other)? -= factor * own;
        }
    }
    (0..size).map(|place| Some(at(&right, place) / at(matrix.get(place)?, place))).collect()
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn agrees_with_liblinear() {
        let x: Vec<Vec<f64>> = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0].iter().map(|v| vec![*v]).collect();
        let y = [false, false, true, false, true, false, true, true];
        let weights = fit(&x, &y, true).unwrap();
        assert!(
            (at(&weights, 0) - 0.365_897_68).abs() < 1e-3 && (at(&weights, 1) + 0.539_897_47).abs() < 1e-3,
            "{weights:?}"
        );
    }
}
