//! Measuring: one measure over some columns of a frame.

use super::group::{best_column, best_group, grouped, split_by};
use super::judge::judge;
use super::model::fit_and_judge;
use super::numbers::{column_numbers, complete, numeric, written};
use super::steps::{fences, most_frequent};
use super::types::{Give, Measure, Outlier, Shape, Test};
use crate::frame::{Frame, Kind, Value};
use crate::statistics::anderson::anderson_darling;
use crate::statistics::outliers::outside;
use crate::statistics::{Finding, correlate, describe, normality, tests};
use std::collections::BTreeSet;

/// What a measure gives over these columns.
pub(super) fn evaluate(measure: &Measure, frame: &Frame, columns: &[String]) -> Result<Value, String> {
    let first = columns.first().map_or("", String::as_str);
    match measure {
        Measure::Mode => mode(frame, first),
        Measure::Count if columns.is_empty() => Ok(Value::Int(frame.rows.len() as i64)),
        Measure::Count => count(frame, first, |v| !v.is_null()),
        Measure::Missing if columns.is_empty() => {
            Ok(Value::Int(frame.rows.iter().flatten().filter(|v| v.is_null()).count() as i64))
        }
        Measure::Missing => count(frame, first, Value::is_null),
        Measure::MissingShare => {
            let missing = count(frame, first, Value::is_null)?.number().unwrap_or(0.0);
            Ok(Value::Float(missing * 100.0 / frame.rows.len().max(1) as f64))
        }
        Measure::MissingByColumn => Ok(Value::Text(missing_by_column(frame))),
        Measure::MissingColumns(words) => Ok(Value::Text(missing_columns(frame, *words))),
        Measure::Unique => {
            let place = position(frame, first)?;
            let values: BTreeSet<String> =
                frame.column(place).filter(|v| !v.is_null()).map(written).collect();
            Ok(Value::Int(values.len() as i64))
        }
        Measure::Share(_) => Err("a share needs its conditions".into()),
        Measure::Rows => Ok(Value::Int(frame.rows.len() as i64)),
        Measure::Width => Ok(Value::Int(frame.fields.len() as i64)),
        Measure::Fixed(text) => Ok(Value::Text(text.clone())),
        Measure::Test(test, give) => {
            let found = finding(*test, frame, columns)?;
            Ok(Value::Float(if *give == Give::P { found.p } else { found.statistic }))
        }
        Measure::Model(model) => fit_and_judge(model, frame),
        Measure::Strongest(test, name) => strongest(frame, first, *test, *name),
        Measure::At(largest, shown) => at_extreme(frame, first, *largest, shown),
        Measure::OutlierValues(rule, shown) => outlier_values(frame, first, *rule, shown),
        Measure::BestGroup(by, inner, largest) => {
            best_group(frame, by, inner, columns, *largest).map(|(key, _)| key)
        }
        Measure::BestKey(by, inner, largest, place) => {
            let (key, _) = best_group(frame, by, inner, columns, *largest)?;
            let part = written(&key).split(", ").nth(*place).map(str::to_owned);
            Ok(Value::Text(part.unwrap_or_default()))
        }
        Measure::BestValue(by, inner, largest) => {
            best_group(frame, by, inner, columns, *largest).map(|(_, value)| value)
        }
        Measure::BestColumn(inner, largest) => best_column(frame, inner, columns, *largest),
        Measure::PerGroup(by, inner) => grouped(frame, by, inner, columns),
        Measure::Difference(by, first, second, inner) => {
            let groups = split_by(frame, std::slice::from_ref(by));
            let of = |value: &String| {
                let part =
                    groups.iter().find(|(key, _)| key.iter().any(|k| written(k).eq_ignore_ascii_case(value)));
                let (_, part) = part.ok_or_else(|| format!("There is no {value} in {by}."))?;
                evaluate(inner, part, columns)?
                    .number()
                    .ok_or_else(|| "There is no number to compare.".to_owned())
            };
            Ok(Value::Float(of(first)? - of(second)?))
        }
        Measure::Rate(column, value, percent) => {
            let place = position(frame, column)?;
            let known: Vec<&Value> = frame.column(place).filter(|v| !v.is_null()).collect();
            let hits = known.iter().filter(|v| written(v).eq_ignore_ascii_case(value)).count();
            let share = hits as f64 / known.len().max(1) as f64;
            Ok(Value::Float(if *percent { share * 100.0 } else { share }))
        }
        Measure::TopShare(by) => {
            let (_, count) = best_group(frame, by, &Measure::Count, &[], true)?;
            Ok(Value::Float(count.number().unwrap_or(0.0) * 100.0 / frame.rows.len().max(1) as f64))
        }
        Measure::Last | Measure::First => {
            let place = position(frame, first)?;
            let mut cells = frame.column(place).filter(|v| !v.is_null());
            let cell = if *measure == Measure::Last { cells.last() } else { cells.next() };
            cell.cloned().ok_or_else(|| format!("{first} is empty."))
        }
        Measure::Covariance => {
            let found = finding(Test::Pearson, frame, columns)?.statistic;
            let rows = complete(frame, columns).unwrap_or_default();
            let spread = |place: usize| {
                describe::std(&rows.iter().filter_map(|r| r.get(place).copied()).collect::<Vec<_>>(), 1)
            };
            let (Some(x), Some(y)) = (spread(0), spread(1)) else {
                return Err("There are too few numbers.".into());
            };
            Ok(Value::Float(found * x * y))
        }
        Measure::Judgement(judgement) => judge(judgement, frame, columns),
        Measure::Min | Measure::Max if is_time(frame, first) => {
            extreme_time(frame, first, matches!(measure, Measure::Max))
        }
        _ => {
            let numbers =
                column_numbers(frame, first).ok_or_else(|| format!("There is no column {first}."))?;
            let whole = position(frame, first)
                .is_ok_and(|p| frame.column(p).all(|v| matches!(v, Value::Int(_) | Value::Null)));
            let value =
                of_numbers(measure, &numbers).ok_or_else(|| format!("{first} has too few numbers."))?;
            let exact =
                matches!(measure, Measure::Min | Measure::Max | Measure::Sum | Measure::Range) && whole;
            let counts = matches!(measure, Measure::Outliers(_));
            Ok(if exact || counts { Value::Int(value as i64) } else { Value::Float(value) })
        }
    }
}

/// A measure that needs nothing but numbers.
#[must_use]
pub(super) fn of_numbers(measure: &Measure, numbers: &[f64]) -> Option<f64> {
    match measure {
        Measure::Mean => describe::mean(numbers),
        Measure::Median => describe::median(numbers),
        Measure::Mode => describe::mode(numbers),
        Measure::Std(population) => describe::std(numbers, usize::from(!population)),
        Measure::Variance(population) => describe::variance(numbers, usize::from(!population)),
        Measure::Min => describe::min(numbers),
        Measure::Max => describe::max(numbers),
        Measure::Range => Some(describe::max(numbers)? - describe::min(numbers)?),
        Measure::Sum => Some(numbers.iter().sum()),
        Measure::Quantile(share) => describe::quantile(numbers, *share),
        Measure::Variation => {
            Some(describe::std(numbers, 1)? / describe::mean(numbers).filter(|m| *m != 0.0)?)
        }
        Measure::Iqr => Some(describe::quantile(numbers, 0.75)? - describe::quantile(numbers, 0.25)?),
        Measure::Skewness(shape) => skewness(numbers, *shape),
        Measure::Kurtosis(Shape::Corrected) => describe::kurtosis(numbers),
        Measure::Kurtosis(_) => describe::kurtosis_plain(numbers),
        // Where there are no numbers at all, there are no outliers either.
        Measure::Outliers(_) if numbers.is_empty() => Some(0.0),
        Measure::Outliers(rule) => Some(outlying(numbers, *rule)? as f64),
        Measure::OutlierShare(rule) => {
            Some(outlying(numbers, *rule)? as f64 * 100.0 / numbers.len().max(1) as f64)
        }
        Measure::WithoutOutliers(rule, inner) => {
            let limits = fences(*rule, numbers)?;
            let kept: Vec<f64> = numbers.iter().copied().filter(|n| !outside(*n, limits)).collect();
            of_numbers(inner, &kept)
        }
        _ => None,
    }
}

fn skewness(numbers: &[f64], shape: Shape) -> Option<f64> {
    let spread = describe::std(numbers, 1).filter(|s| *s > 0.0);
    match shape {
        Shape::Corrected => describe::skewness(numbers),
        Shape::Plain => describe::skewness_plain(numbers),
        Shape::PearsonFirst => Some((describe::mean(numbers)? - describe::mode(numbers)?) / spread?),
        Shape::PearsonSecond => Some(3.0 * (describe::mean(numbers)? - describe::median(numbers)?) / spread?),
    }
}

fn outlying(numbers: &[f64], rule: Outlier) -> Option<usize> {
    let limits = fences(rule, numbers)?;
    Some(numbers.iter().filter(|n| outside(**n, limits)).count())
}

fn position(frame: &Frame, name: &str) -> Result<usize, String> {
    frame.position(name).ok_or_else(|| format!("There is no column {name}."))
}

fn count(frame: &Frame, name: &str, counts: impl Fn(&Value) -> bool) -> Result<Value, String> {
    let place = position(frame, name)?;
    Ok(Value::Int(frame.column(place).filter(|v| counts(v)).count() as i64))
}

fn is_time(frame: &Frame, name: &str) -> bool {
    frame.position(name).and_then(|p| frame.fields.get(p)).is_some_and(|f| f.kind.is_time())
}

fn extreme_time(frame: &Frame, name: &str, largest: bool) -> Result<Value, String> {
    let place = position(frame, name)?;
    let times = frame.column(place).filter(|v| !v.is_null()).map(|v| (v.plain(), v));
    let best = if largest { times.max_by(|a, b| a.0.cmp(&b.0)) } else { times.min_by(|a, b| a.0.cmp(&b.0)) };
    best.map(|(_, v)| v.clone()).ok_or_else(|| format!("{name} is empty."))
}

fn mode(frame: &Frame, name: &str) -> Result<Value, String> {
    let place = position(frame, name)?;
    let numeric_column = frame.column(place).all(|v| v.is_null() || numeric(v).is_some());
    if numeric_column {
        let numbers = frame.column(place).filter_map(numeric).collect::<Vec<_>>();
        return describe::mode(&numbers).map(Value::Float).ok_or_else(|| format!("{name} is empty."));
    }
    most_frequent(frame, place).map(Value::Text).ok_or_else(|| format!("{name} is empty."))
}

fn missing_by_column(frame: &Frame) -> String {
    let pairs: Vec<String> = frame
        .fields
        .iter()
        .enumerate()
        .map(|(place, field)| {
            format!("'{}': {}", field.name.trim(), frame.column(place).filter(|v| v.is_null()).count())
        })
        .collect();
    format!("{{{}}}", pairs.join(", "))
}

fn missing_columns(frame: &Frame, words_only: bool) -> String {
    let mut names: Vec<&str> = frame
        .fields
        .iter()
        .enumerate()
        .filter(|(place, field)| {
            frame.column(*place).any(Value::is_null)
                && (!words_only || matches!(field.kind, Kind::Text | Kind::Boolean) || field.kind.is_time())
        })
        .map(|(_, field)| field.name.trim())
        .collect();
    names.sort_unstable_by_key(|name| name.to_lowercase());
    names.join(", ")
}

fn at_extreme(frame: &Frame, name: &str, largest: bool, shown: &str) -> Result<Value, String> {
    let (place, shown) = (position(frame, name)?, position(frame, shown)?);
    let numbers: Vec<f64> = frame.column(place).filter_map(numeric).collect();
    let limit = if largest { describe::max(&numbers) } else { describe::min(&numbers) };
    let limit = limit.ok_or_else(|| format!("{name} is empty."))?;
    let mut found: Vec<&Value> = Vec::new();
    for row in 0..frame.rows.len() {
        let value = frame.cell(row, shown);
        if numeric(frame.cell(row, place)) == Some(limit) && !found.iter().any(|v| v.plain() == value.plain())
        {
            found.push(value);
        }
    }
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        many => Ok(Value::Text(many.iter().map(|v| written(v)).collect::<Vec<_>>().join(", "))),
    }
}

fn outlier_values(frame: &Frame, name: &str, rule: Outlier, shown: &str) -> Result<Value, String> {
    let place = position(frame, name)?;
    let shown = position(frame, shown)?;
    let numbers: Vec<f64> = frame.column(place).filter_map(numeric).collect();
    let limits = fences(rule, &numbers).ok_or_else(|| format!("{name} has too few numbers."))?;
    let list: Vec<String> = (0..frame.rows.len())
        .filter(|row| numeric(frame.cell(*row, place)).is_some_and(|n| outside(n, limits)))
        .map(|row| written(frame.cell(row, shown)))
        .collect();
    Ok(Value::Text(list.join(", ")))
}

/// What a test finds over these columns.
pub(super) fn finding(test: Test, frame: &Frame, columns: &[String]) -> Result<Finding, String> {
    let nothing = || format!("There are too few numbers for the test of {}.", columns.join(" and "));
    let found = match test {
        Test::Pearson | Test::Spearman | Test::Kendall | Test::Paired => {
            let rows = complete(frame, columns).filter(|_| columns.len() == 2).ok_or_else(nothing)?;
            let (x, y): (Vec<f64>, Vec<f64>) =
                rows.iter().filter_map(|row| Some((*row.first()?, *row.get(1)?))).unzip();
            match test {
                Test::Pearson => correlate::pearson(&x, &y),
                Test::Spearman => correlate::spearman(&x, &y),
                Test::Kendall => correlate::kendall(&x, &y),
                _ => tests::t_paired(&x, &y),
            }
        }
        Test::Shapiro
        | Test::Kolmogorov
        | Test::KolmogorovStandard
        | Test::DAgostino
        | Test::Anderson
        | Test::JarqueBera => {
            let x = column_numbers(frame, columns.first().map_or("", String::as_str)).ok_or_else(nothing)?;
            match test {
                Test::Shapiro => normality::shapiro_wilk(&x),
                Test::Kolmogorov => normality::kolmogorov_smirnov_fitted(&x),
                Test::KolmogorovStandard => normality::kolmogorov_smirnov(&x, 0.0, 1.0),
                Test::DAgostino => normality::dagostino(&x),
                Test::Anderson => anderson_darling(&x),
                _ => normality::jarque_bera(&x),
            }
        }
        Test::ChiSquare => tests::chi_square(&crosstab(frame, columns).ok_or_else(nothing)?),
        _ => {
            let groups = test_groups(frame, columns).ok_or_else(nothing)?;
            match (test, groups.as_slice()) {
                (Test::Anova, _) => tests::anova(&groups),
                (Test::Kruskal, _) => tests::kruskal(&groups),
                (Test::Levene, _) => tests::levene(&groups),
                (Test::Student, [x, y]) => tests::t_student(x, y),
                (Test::Welch, [x, y]) => tests::t_welch(x, y),
                (Test::ZTest, [x, y]) => tests::z_test(x, y),
                (Test::MannWhitney, [x, y]) => tests::mann_whitney(x, y),
                _ => return Err(format!("The test needs two groups, and there are {}.", groups.len())),
            }
        }
    };
    found.ok_or_else(nothing)
}

/// The numeric column that correlates most with this one, or that correlation.
fn strongest(frame: &Frame, first: &str, test: Test, name: bool) -> Result<Value, String> {
    let mut best: Option<(f64, String)> = None;
    for field in frame.fields.iter().filter(|f| f.kind.is_number() && f.name != first) {
        let columns = [first.to_owned(), field.name.clone()];
        let Ok(found) = finding(test, frame, &columns) else { continue };
        if best.as_ref().is_none_or(|(top, _)| found.statistic.abs() > top.abs()) {
            best = Some((found.statistic, field.name.trim().to_owned()));
        }
    }
    let (r, column) = best.ok_or("No column correlates.")?;
    Ok(if name { Value::Text(column) } else { Value::Float(r) })
}

/// The groups a test compares: the numbers of the first column by the second, or the columns
/// themselves.
fn test_groups(frame: &Frame, columns: &[String]) -> Option<Vec<Vec<f64>>> {
    // Behind the two columns may stand the values of the groups, in the order in which they are
    // compared.
    if let [measured, by, values @ ..] = columns
        && !values.is_empty()
        && values.iter().all(|v| frame.position(v).is_none())
    {
        let groups = split_by(frame, std::slice::from_ref(by));
        let of = |value: &String| {
            groups.iter().find(|(key, _)| key.iter().any(|k| written(k).eq_ignore_ascii_case(value)))
        };
        return values.iter().map(|value| column_numbers(&of(value)?.1, measured)).collect();
    }
    let last = columns.last()?;
    let groups = split_by(frame, std::slice::from_ref(last));
    let classes = frame.position(last).and_then(|p| frame.fields.get(p)).is_some_and(|f| !f.kind.is_number());
    if columns.len() == 2 && (classes || groups.len() <= 10) {
        return groups.iter().map(|(_, part)| column_numbers(part, columns.first()?)).collect();
    }
    columns.iter().map(|name| column_numbers(frame, name)).collect()
}

fn crosstab(frame: &Frame, columns: &[String]) -> Option<Vec<Vec<f64>>> {
    let (first, second) = (frame.position(columns.first()?)?, frame.position(columns.get(1)?)?);
    let kinds = |place: usize| {
        let set: BTreeSet<String> = frame.column(place).filter(|v| !v.is_null()).map(written).collect();
        set.into_iter().collect::<Vec<_>>()
    };
    let (rows, across) = (kinds(first), kinds(second));
    let mut table = vec![vec![0.0; across.len()]; rows.len()];
    for row in 0..frame.rows.len() {
        let (a, b) = (written(frame.cell(row, first)), written(frame.cell(row, second)));
        if let (Ok(a), Ok(b)) = (rows.binary_search(&a), across.binary_search(&b))
            && let Some(cell) = table.get_mut(a).and_then(|line| line.get_mut(b))
        {
            *cell += 1.0;
        }
    }
    Some(table)
}
