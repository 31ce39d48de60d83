//! Number axes: round ticks and short labels.
//!
//! Invariant: a scale is never empty and never infinite, for any input.

use crate::frame::{Unit, group};

/// The number if it can be drawn: its magnitude must not overflow the arithmetic.
pub(crate) fn sane(value: f64) -> Option<f64> {
    if !value.is_finite() {
        None
    } else if value.abs() < 1e-290 {
        Some(0.0)
    } else {
        Some(value.clamp(-1e290, 1e290))
    }
}

/// A range of numbers with round ticks.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub low: f64,
    pub high: f64,
    pub step: f64,
    pub ticks: Vec<f64>,
}

impl Scale {
    /// Covers the numbers with about `count` ticks, from zero when asked for. `whole` forbids
    /// fractions.
    pub(crate) fn cover(low: f64, high: f64, count: usize, zero: bool, whole: bool) -> Self {
        let (mut low, mut high) = (sane(low).unwrap_or(0.0), sane(high).unwrap_or(0.0));
        if low > high {
            std::mem::swap(&mut low, &mut high);
        }
        if zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if high - low <= (high.abs().max(low.abs())) * 1e-9 {
            let pad = if high == 0.0 { 1.0 } else { high.abs() * 0.1 };
            // Numbers that are all equal still need a range.
            (low, high) = if zero && low == 0.0 { (0.0, high + pad) } else { (low - pad, high + pad) };
        }
        let mut step = round_step((high - low) / count.max(1) as f64);
        if whole {
            step = step.max(1.0).ceil();
        }
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let ticks =
            (0..=((last - first).clamp(1.0, 60.0) as i64)).map(|k| (first + k as f64) * step).collect();
        Self { low: first * step, high: last.max(first + 1.0) * step, step, ticks }
    }

    /// A scale without padding, for an axis whose data may touch the edge.
    pub(crate) fn tight(low: f64, high: f64, count: usize, whole: bool) -> Self {
        let mut scale = Self::cover(low, high, count, false, whole);
        if high > low {
            (scale.low, scale.high) = (low, high);
            let slack = (high - low) * 1e-9;
            scale.ticks.retain(|tick| *tick >= low - slack && *tick <= high + slack);
        }
        scale
    }

    /// The position of a number, 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The labels of the ticks, with a common suffix and as many decimals as the step needs.
    pub(crate) fn labels(&self, unit: Unit) -> Vec<String> {
        let largest = self.ticks.iter().fold(0.0_f64, |most, tick| most.max(tick.abs()));
        let factor = if unit == Unit::Share { 100.0 } else { 1.0 };
        let (divisor, suffix) = suffix(largest * factor);
        let divisor = divisor / factor;
        let places = places(self.step / divisor);
        let tiny = largest > 0.0 && largest * factor < 1e-4;
        self.ticks
            .iter()
            .map(|tick| {
                if unit == Unit::Year {
                    return format!("{tick:.0}");
                }
                let number = if (tiny || suffix == "!") && *tick != 0.0 {
                    scientific(*tick * factor)
                } else {
                    group(if suffix == "!" { 0.0 } else { tick / divisor }, places, true)
                };
                let bare = suffix == "!" || (*tick == 0.0 && !matches!(unit, Unit::Share | Unit::Percent));
                let number = if *tick == 0.0 { "0".to_owned() } else { number };
                with_unit(&number, if bare { "" } else { suffix }, unit)
            })
            .collect()
    }
}

/// The next 1, 2, 2.5 or 5 times a power of ten.
pub(crate) fn round_step(raw: f64) -> f64 {
    if !raw.is_finite() || raw <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(raw.log10().floor());
    let lead = raw / power;
    let nice = [1.0, 2.0, 2.5, 5.0].into_iter().find(|n| lead <= n + 1e-9).unwrap_or(10.0);
    nice * power
}

/// The number of decimals that distinguish neighbouring ticks.
fn places(step: f64) -> usize {
    (0..7)
        .find(|p| {
            let grown = step * 10_f64.powi(*p);
            (grown - grown.round()).abs() < 1e-6 * grown.max(1.0) && grown >= 0.999
        })
        .unwrap_or(6) as usize
}

/// The divisor of a large number and its suffix. `!` means that scientific notation is needed.
fn suffix(largest: f64) -> (f64, &'static str) {
    match largest {
        n if n >= 1e16 => (1.0, "!"),
        n if n >= 1e12 => (1e12, "T"),
        n if n >= 1e9 => (1e9, "B"),
        n if n >= 1e6 => (1e6, "M"),
        n if n >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    }
}

fn scientific(number: f64) -> String {
    let text = format!("{number:.1e}");
    text.replace(".0e", "e")
}

/// Adds the unit to a formatted number.
fn with_unit(number: &str, suffix: &str, unit: Unit) -> String {
    match (unit, number.strip_prefix('-')) {
        (Unit::Currency(sign), Some(rest)) => format!("-{sign}{rest}{suffix}"),
        (Unit::Currency(sign), None) => format!("{sign}{number}{suffix}"),
        (Unit::Share | Unit::Percent, _) => format!("{number}{suffix} %"),
        (Unit::Plain | Unit::Year, _) => format!("{number}{suffix}"),
    }
}

/// A value as a short label next to its mark: three significant digits and a suffix.
pub(crate) fn short(value: f64, unit: Unit) -> String {
    let factor = if unit == Unit::Share { 100.0 } else { 1.0 };
    let number = value * factor;
    if unit == Unit::Year {
        return format!("{number:.0}");
    }
    let (divisor, suffix) = suffix(number.abs());
    if suffix == "!" || (number != 0.0 && number.abs() < 1e-4) {
        return with_unit(&scientific(number), "", unit);
    }
    let scaled = number / divisor;
    let places = match scaled.abs() {
        n if n >= 1000.0 => 0,
        n if n >= 100.0 && !suffix.is_empty() => 0,
        n if n >= 10.0 => 1,
        n if n >= 1.0 || n == 0.0 => 2,
        n if n >= 0.01 => 3,
        _ => 6,
    };
    // Percentages have at most one decimal.
    let places = if factor > 1.0 || unit == Unit::Percent { places.min(1) } else { places };
    with_unit(&group(scaled, places, false), suffix, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover() {
        let scale = Scale::cover(3.0, 97.0, 5, true, false);
        assert_eq!(scale.ticks, vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Scale::cover(0.0, 2.0, 5, true, true).ticks, vec![0.0, 1.0, 2.0]);
        let scale = Scale::cover(-30.0, 70.0, 5, true, false);
        assert_eq!((scale.low, scale.high), (-40.0, 80.0));
    }

    #[test]
    fn no_numbers_break_a_scale() {
        for (low, high) in [
            (0.0, 0.0),
            (f64::NAN, 1.0),
            (-1e308, 1e308),
            (1e-300, 2e-300),
            (5.0, 5.0),
            (1e17, 1e17),
            (-0.0, 0.0),
        ] {
            for zero in [true, false] {
                let scale = Scale::cover(low, high, 5, zero, false);
                assert!(scale.high > scale.low && (scale.high - scale.low).is_finite(), "{low} {high}");
                assert!(scale.ticks.len() >= 2 && scale.ticks.len() < 62);
                assert_eq!(scale.labels(Unit::Plain).len(), scale.ticks.len());
            }
        }
    }

    #[test]
    fn labels_carry_suffix_and_unit() {
        let scale = Scale::cover(0.0, 1_200_000.0, 4, true, false);
        assert_eq!(scale.labels(Unit::Currency('$')), ["$0", "$0.5M", "$1.0M", "$1.5M"]);
        assert_eq!(Scale::cover(0.0, 8000.0, 4, true, false).labels(Unit::Plain).get(1).unwrap(), "2,000");
        assert_eq!(Scale::cover(0.0, 0.5, 5, true, false).labels(Unit::Share).last().unwrap(), "50 %");
        assert_eq!(Scale::cover(2019.0, 2023.0, 5, false, true).labels(Unit::Year).first().unwrap(), "2019");
        assert_eq!(short(1_234_567.0, Unit::Currency('€')), "€1.23M");
        assert_eq!(short(-950.5, Unit::Currency('€')), "-€950.5");
        assert_eq!(short(0.1234, Unit::Share), "12.3 %");
        assert_eq!(short(1e300, Unit::Plain), "1e300");
    }
}
