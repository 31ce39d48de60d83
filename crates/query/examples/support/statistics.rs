//! Aggregates that DataFusion has and SQLite lacks, so that queries with them count in a
//! measurement.

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};

/// Numbers of one or two columns, kept until the group ends.
struct Collected {
    finish: fn(&mut [(f64, f64)]) -> Option<f64>,
}

impl Aggregate<Vec<(f64, f64)>, Option<f64>> for Collected {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Vec<(f64, f64)>> {
        Ok(Vec::new())
    }
    fn step(&self, context: &mut Context<'_>, all: &mut Vec<(f64, f64)>) -> rusqlite::Result<()> {
        let second = if context.len() > 1 { context.get::<Option<f64>>(1)? } else { Some(0.0) };
        all.extend(context.get::<Option<f64>>(0)?.zip(second));
        Ok(())
    }
    fn finalize(&self, _: &mut Context<'_>, all: Option<Vec<(f64, f64)>>) -> rusqlite::Result<Option<f64>> {
        Ok(all.and_then(|mut all| (self.finish)(&mut all)))
    }
}

fn quantile(all: &mut [(f64, f64)], share: f64) -> Option<f64> {
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let place = share * (all.len().checked_sub(1)? as f64);
    let (low, high) = (all.get(place.floor() as usize)?.0, all.get(place.ceil() as usize)?.0);
    Some(low + (high - low) * place.fract())
}

fn deviation(all: &mut [(f64, f64)]) -> Option<f64> {
    let count = all.len() as f64;
    let mean = all.iter().map(|(x, _)| x).sum::<f64>() / count;
    let squares = all.iter().map(|(x, _)| (x - mean).powi(2)).sum::<f64>();
    (all.len() > 1).then(|| (squares / (count - 1.0)).sqrt())
}

fn correlation(all: &mut [(f64, f64)]) -> Option<f64> {
    let count = all.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| all.iter().map(pick).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| all.iter().map(|(a, b)| of(a - x, b - y)).sum::<f64>();
    let (both, left, right) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    (left > 0.0 && right > 0.0).then(|| both / (left * right).sqrt())
}

/// Registers `median`, `stddev`, `corr` and `percentile`.
pub(crate) fn register(database: &Connection) {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let add = |name: &str, arguments: i32, finish: fn(&mut [(f64, f64)]) -> Option<f64>| {
        database.create_aggregate_function(name, arguments, flags, Collected { finish }).unwrap();
    };
    add("median", 1, |all| quantile(all, 0.5));
    add("stddev", 1, deviation);
    add("corr", 2, correlation);
    add("percentile", 2, |all| {
        let share = all.first()?.1 / 100.0;
        quantile(all, share)
    });
}
