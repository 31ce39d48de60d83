//! Time series forecasts: exponential smoothing with or without a season, chosen by backtesting.

use augurs_core::{Fit as _, Predict as _};
use augurs_ets::{AutoETS, trend::AutoETSTrendModel};
use augurs_mstl::MSTLModel;

/// Minimum number of values.
pub const FEWEST: usize = 8;
/// The probability that a value lies between `low` and `high`.
pub const LEVEL: f64 = 0.8;
/// Width of that interval in standard deviations.
const WIDTH: f64 = 1.281_551_6;
/// Number of backtests.
const TRIALS: usize = 4;
/// Assumed correlation of neighbouring errors, for intervals of sums.
const TOGETHER: f64 = 0.5;

/// A forecasting method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Smoothed level and trend.
    Smoothing,
    /// The same with a season of this many values.
    Seasonal(usize),
    /// Repeats the last season of this many values.
    Repeat(usize),
}

/// A forecast.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The point forecast.
    pub point: Vec<f64>,
    /// Lower and upper bounds, each with a probability of (1 + [`LEVEL`]) / 2.
    pub low: Vec<f64>,
    /// See `low`.
    pub high: Vec<f64>,
    /// The method.
    pub method: Method,
    /// The backtest error of the method, relative to the size of the values.
    pub error: Option<f64>,
    /// The same for repeating the last season, or the last value if there is none.
    pub plain_error: Option<f64>,
}

/// Forecasts `ahead` values. `season` is the length of a possible season. `None` if there are too
/// few values.
#[must_use]
pub fn forecast(course: &[f64], season: Option<usize>, ahead: usize) -> Option<Forecast> {
    if course.len() < FEWEST || ahead == 0 || course.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let season = season.filter(|season| *season >= 2 && course.len() > 2 * season);
    let plain = Method::Repeat(season.unwrap_or(1));
    let mut methods = vec![Method::Smoothing, plain];
    methods.extend(season.map(Method::Seasonal));
    let tried = ahead.min(course.len() / 4).clamp(1, 12);
    let misses = |method: Method| trials(course, method, tried);
    let size = course.iter().map(|value| value.abs()).sum::<f64>() / course.len() as f64;
    let scored = |method: Method| {
        let misses = misses(method);
        let mean = misses.iter().flatten().map(|miss| miss.abs()).sum::<f64>()
            / misses.iter().flatten().count() as f64;
        (method, misses, mean)
    };
    let all: Vec<(Method, Vec<Vec<f64>>, f64)> = methods.into_iter().map(scored).collect();
    let share = |mean: f64| (size > 0.0 && mean.is_finite()).then_some(mean / size);
    let plain_error = all.iter().find(|(method, ..)| *method == plain).and_then(|(.., mean)| share(*mean));
    let (method, misses, mean) =
        all.into_iter().filter(|(.., mean)| mean.is_finite()).min_by(|a, b| a.2.total_cmp(&b.2)).or_else(
            || {
                // No backtest was possible: the simplest method is used.
                Some((plain, Vec::new(), f64::NAN))
            },
        )?;
    let (point, half) = carry_on(course, method, ahead).or_else(|| carry_on(course, plain, ahead))?;
    // The backtest error is a lower bound for the method's own error estimate.
    let count = misses.iter().flatten().count();
    let spread = if count == 0 {
        0.0
    } else {
        (misses.iter().flatten().map(|miss| miss * miss).sum::<f64>() / count as f64).sqrt()
    };
    let never_below = course.iter().all(|value| *value >= 0.0);
    let bound = |value: f64| if never_below { value.max(0.0) } else { value };
    let half: Vec<f64> = half.into_iter().map(|half| half.max(WIDTH * spread)).collect();
    Some(Forecast {
        low: point.iter().zip(&half).map(|(value, half)| bound(value - half)).collect(),
        high: point.iter().zip(&half).map(|(value, half)| bound(value + half)).collect(),
        point: point.into_iter().map(bound).collect(),
        method,
        error: share(mean),
        plain_error,
    })
}

impl Forecast {
    /// The sum of some of the values, with its interval.
    #[must_use]
    pub fn sum(&self, range: std::ops::Range<usize>) -> (f64, f64, f64) {
        let of = |list: &[f64]| list.get(range.clone()).map(<[f64]>::to_vec).unwrap_or_default();
        let (point, high) = (of(&self.point), of(&self.high));
        let halves: Vec<f64> = point.iter().zip(&high).map(|(value, high)| high - value).collect();
        let squares: f64 = halves.iter().map(|half| half * half).sum();
        let whole: f64 = halves.iter().sum();
        let half = (squares * (1.0 - TOGETHER) + whole * whole * TOGETHER).sqrt();
        let sum: f64 = point.iter().sum();
        let low = if self.low.iter().all(|low| *low >= 0.0) { (sum - half).max(0.0) } else { sum - half };
        (sum, low, sum + half)
    }
}

/// The errors of a method on the end of a series that it has not seen, from several starting
/// points.
fn trials(course: &[f64], method: Method, ahead: usize) -> Vec<Vec<f64>> {
    let needed = match method {
        Method::Seasonal(season) => 2 * season + 1,
        Method::Repeat(season) => season,
        Method::Smoothing => FEWEST - 2,
    };
    (0..TRIALS)
        .filter_map(|trial| {
            let known = course.len().checked_sub(ahead + trial)?;
            let (before, after) =
                course.split_at_checked(known).filter(|(before, _)| before.len() >= needed)?;
            let (point, _) = carry_on(before, method, ahead)?;
            Some(point.iter().zip(after).map(|(point, value)| point - value).collect())
        })
        .collect()
}

/// The point forecast and half the width of the intervals.
fn carry_on(course: &[f64], method: Method, ahead: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let forecast = match method {
        Method::Repeat(season) => {
            let last = course.get(course.len().checked_sub(season)?..)?;
            let point: Vec<f64> = last.iter().copied().cycle().take(ahead).collect();
            let changes = course.iter().zip(course.iter().skip(season)).map(|(before, after)| after - before);
            let squares: Vec<f64> = changes.map(|change| change * change).collect();
            let spread = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
            let half = (0..ahead).map(|at| WIDTH * spread * ((at / season + 1) as f64).sqrt()).collect();
            return Some((point, half));
        }
        Method::Smoothing => AutoETS::non_seasonal().fit(course).ok()?.predict(ahead, LEVEL).ok()?,
        Method::Seasonal(season) => {
            let trend = AutoETSTrendModel::from(AutoETS::non_seasonal());
            MSTLModel::new(vec![season], trend).fit(course).ok()?.predict(ahead, LEVEL).ok()?
        }
    };
    let intervals = forecast.intervals?;
    let half = intervals.upper.iter().zip(&intervals.lower).map(|(high, low)| (high - low) / 2.0);
    let half: Vec<f64> = half.collect();
    let sound = forecast.point.len() == ahead && half.len() == ahead;
    (sound && forecast.point.iter().chain(&half).all(|value| value.is_finite()))
        .then_some((forecast.point, half))
}

#[cfg(test)]
mod check {
    use super::*;

    fn seasonal(noise: f64, seed: u64, length: usize) -> Vec<f64> {
        // A small deterministic generator: numbers from -1 to 1.
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..length)
            .map(|at| {
                let season = (at as f64 * std::f64::consts::TAU / 12.0).sin() * 30.0;
                100.0 + at as f64 + season + noise * random()
            })
            .collect()
    }

    #[test]
    fn a_season_and_a_trend_are_carried_on() {
        let course = seasonal(0.0, 1, 60);
        let forecast = forecast(&course[..48], Some(12), 12).unwrap();
        assert_eq!(forecast.method, Method::Seasonal(12));
        let missed = forecast.point.iter().zip(&course[48..]).map(|(point, value)| (point - value).abs());
        assert!(missed.fold(0.0, f64::max) < 8.0, "{:?}", forecast.point);
        assert!(forecast.error.unwrap() < forecast.plain_error.unwrap());
    }

    #[test]
    fn intervals_hold_what_they_promise() {
        let (mut inside, mut all) = (0, 0);
        for seed in 0..60 {
            let course = seasonal(20.0, seed, 54);
            let forecast = forecast(&course[..48], Some(12), 6).unwrap();
            for (at, value) in course[48..].iter().enumerate() {
                all += 1;
                inside += usize::from((forecast.low[at]..=forecast.high[at]).contains(value));
            }
        }
        let share = inside as f64 / all as f64;
        assert!((0.7..=0.97).contains(&share), "{share}");
    }

    #[test]
    fn too_little_is_said_and_nothing_falls_below_nothing() {
        assert_eq!(forecast(&[1.0; 5], None, 3), None);
        let falling: Vec<f64> = (0..12).map(|at| 12.0 - f64::from(at)).collect();
        let forecast = forecast(&falling, None, 6).unwrap();
        assert!(forecast.low.iter().chain(&forecast.point).all(|value| *value >= 0.0));
        let (sum, low, high) = forecast.sum(0..6);
        assert!(low <= sum && sum <= high);
    }
}
