//! Fitting a stated model and judging it, with the stated split of rows.

use super::numbers::{numeric, written};
use super::types::{Model, Quality};
use crate::frame::{Frame, Value};
use crate::statistics::regression::{least_squares, score};
use crate::statistics::sampling::split;
use crate::statistics::{at, logistic};

/// Fits the model and gives the number asked for.
pub(super) fn fit_and_judge(model: &Model, frame: &Frame) -> Result<Value, String> {
    let (features, target) = table(model, frame).ok_or("The model's columns are not all there.")?;
    let pick = |places: &[usize]| -> (Vec<Vec<f64>>, Vec<f64>) {
        places.iter().filter_map(|p| Some((features.get(*p)?.clone(), *target.get(*p)?))).unzip()
    };
    let (train, test) = match model.split {
        Some((share, seed)) => {
            let (train, test) = split(features.len(), share, seed);
            (pick(&train), pick(&test))
        }
        None => ((features.clone(), target.clone()), (features.clone(), target.clone())),
    };
    if model.logistic {
        return classify(model, &train, &test);
    }
    let fit = least_squares(&train.0, &train.1).ok_or("The model cannot be fitted.")?;
    let predicted: Vec<f64> = test.0.iter().map(|row| fit.predict(row)).collect();
    let quality = score(&test.1, &predicted).ok_or("There are no rows to judge the model on.")?;
    Ok(Value::Float(match model.give {
        Quality::Mse => quality.mse,
        Quality::Rmse => quality.mse.sqrt(),
        Quality::Mae => quality.mae,
        Quality::RSquared => quality.r_squared,
        Quality::Accuracy => quality.accuracy,
        Quality::Slope => at(&fit.coefficients, 0),
        Quality::Intercept => fit.intercept,
        Quality::P => at(&fit.p_values, 0),
    }))
}

fn classify(
    model: &Model,
    train: &(Vec<Vec<f64>>, Vec<f64>),
    test: &(Vec<Vec<f64>>, Vec<f64>),
) -> Result<Value, String> {
    let truth: Vec<bool> = train.1.iter().map(|y| *y > 0.5).collect();
    let weights = logistic::fit(&train.0, &truth, false).ok_or("The model cannot be fitted.")?;
    if model.give == Quality::Slope {
        return Ok(Value::Float(at(&weights, 0)));
    }
    let hits = test
        .0
        .iter()
        .zip(&test.1)
        .filter(|(row, y)| {
            let row: Vec<f64> = row.iter().copied().chain([1.0]).collect();
            (logistic::probability(&weights, &row) > 0.5) == (**y > 0.5)
        })
        .count();
    Ok(Value::Float(hits as f64 / test.1.len().max(1) as f64))
}

/// The complete rows as numbers; words become one column per word.
fn table(model: &Model, frame: &Frame) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    let target = frame.position(&model.target)?;
    let places: Option<Vec<usize>> = model.features.iter().map(|f| frame.position(f)).collect();
    let places = places?;
    let classes: Vec<Vec<String>> = places.iter().map(|p| words(frame, *p)).collect();
    let target_words = words(frame, target);
    let mut rows = Vec::new();
    let mut truth = Vec::new();
    for row in 0..frame.rows.len() {
        let aim = frame.cell(row, target);
        let aim = if target_words.is_empty() {
            numeric(aim)
        } else {
            target_words.iter().position(|w| *w == written(aim)).map(|p| p as f64)
        };
        let mut line = Vec::new();
        let mut whole = true;
        for (place, classes) in places.iter().zip(&classes) {
            let cell = frame.cell(row, *place);
            if classes.is_empty() {
                match numeric(cell) {
                    Some(number) => line.push(number),
                    None => whole = false,
                }
            } else {
                let word = written(cell);
                line.extend(classes.iter().map(|c| f64::from(u8::from(*c == word))));
            }
        }
        if let Some(aim) = aim.filter(|_| whole) {
            rows.push(line);
            truth.push(aim);
        }
    }
    (!rows.is_empty()).then_some((rows, truth))
}

/// The distinct words of a column that is not numeric.
fn words(frame: &Frame, place: usize) -> Vec<String> {
    if frame.column(place).all(|v| v.is_null() || numeric(v).is_some()) {
        return Vec::new();
    }
    let mut words: Vec<String> = frame.column(place).filter(|v| !v.is_null()).map(written).collect();
    words.sort();
    words.dedup();
    words
}
