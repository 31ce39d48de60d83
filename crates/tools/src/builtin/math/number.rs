//! Numbers and their arithmetic. Each operation returns an error message if it is undefined.

use std::fmt;

/// An exact whole number, or a finite float.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Exact.
    Whole(i128),
    /// A float; never infinite, never NaN.
    Real(f64),
}

/// The result of an operation, or an error message.
pub(super) type Outcome = Result<Number, String>;

/// Up to this value every whole number is exactly representable as a float.
const SAFE: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// The value as a float.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "that is what is asked for")]
    pub fn real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }

    /// Checks that a float is finite.
    pub(super) fn finite(real: f64) -> Outcome {
        if real.is_nan() {
            Err("this is not defined for real numbers".to_owned())
        } else if real.is_infinite() {
            Err("the result is too large".to_owned())
        } else {
            Ok(Self::Real(real))
        }
    }

    /// Converts a float to a whole number if it is whole and small enough to be exact.
    #[allow(clippy::cast_possible_truncation, reason = "it was checked to be whole and small")]
    pub(super) fn settled(real: f64) -> Outcome {
        if real.fract() == 0.0 && real.abs() <= SAFE {
            return Ok(Self::Whole(real as i128));
        }
        Self::finite(real)
    }

    /// The value as a whole number, if it is one.
    pub(super) fn whole(self) -> Option<i128> {
        match self {
            Self::Whole(whole) => Some(whole),
            Self::Real(real) => match Self::settled(real) {
                Ok(Self::Whole(whole)) => Some(whole),
                _ => None,
            },
        }
    }

    fn both(
        self,
        other: Self,
        exact: impl Fn(i128, i128) -> Option<i128>,
        float: impl Fn(f64, f64) -> f64,
    ) -> Outcome {
        if let (Self::Whole(a), Self::Whole(b)) = (self, other)
            && let Some(whole) = exact(a, b)
        {
            return Ok(Self::Whole(whole));
        }
        Self::finite(float(self.real(), other.real()))
    }

    pub(super) fn plus(self, other: Self) -> Outcome {
        self.both(other, i128::checked_add, |a, b| a + b)
    }

    pub(super) fn minus(self, other: Self) -> Outcome {
        self.both(other, i128::checked_sub, |a, b| a - b)
    }

    pub(super) fn times(self, other: Self) -> Outcome {
        self.both(other, i128::checked_mul, |a, b| a * b)
    }

    pub(super) fn over(self, other: Self) -> Outcome {
        if other.real() == 0.0 {
            return Err("division by zero".to_owned());
        }
        let exact = |a: i128, b: i128| (a.checked_rem(b)? == 0).then(|| a.checked_div(b)).flatten();
        self.both(other, exact, |a, b| a / b)
    }

    /// The remainder with the sign of the divisor: 7 mod 3 = 1, -7 mod 3 = 2.
    pub(super) fn modulo(self, other: Self) -> Outcome {
        if other.real() == 0.0 {
            return Err("division by zero".to_owned());
        }
        let exact = |a: i128, b: i128| {
            let rest = a.checked_rem(b)?;
            if rest != 0 && (rest < 0) != (b < 0) { rest.checked_add(b) } else { Some(rest) }
        };
        self.both(other, exact, |a, b| {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        })
    }

    pub(super) fn negated(self) -> Outcome {
        Self::Whole(0).minus(self)
    }

    pub(super) fn power(self, exponent: Self) -> Outcome {
        if self.real() == 0.0 && exponent.real() < 0.0 {
            return Err("division by zero: zero cannot have a negative exponent".to_owned());
        }
        let exact = |base: i128, exponent: i128| base.checked_pow(u32::try_from(exponent).ok()?);
        if self.real() < 0.0 && exponent.whole().is_none() {
            return Err("a negative number has no real power with a fraction as exponent".to_owned());
        }
        self.both(exponent, exact, f64::powf)
    }

    pub(super) fn factorial(self) -> Outcome {
        let Some(count) = self.whole().filter(|count| *count >= 0) else {
            return Err("a factorial needs a whole number that is not negative".to_owned());
        };
        if count > 170 {
            return Err("the result is too large: factorials go up to 170!".to_owned());
        }
        let mut product = Self::Whole(1);
        for factor in 2..=count {
            product = product.times(Self::Whole(factor))?;
        }
        Ok(product)
    }
}

impl fmt::Display for Number {
    /// Floats are displayed with 15 digits, so that 0.1 + 0.2 shows 0.3. The value is not rounded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let real = match self {
            Self::Whole(whole) => return whole.fmt(f),
            Self::Real(real) => *real,
        };
        let rounded: f64 = format!("{real:.14e}").parse().unwrap_or(real);
        let size = rounded.abs();
        if rounded == 0.0 {
            f.write_str("0")
        } else if (1e-7..1e16).contains(&size) {
            write!(f, "{rounded}")
        } else {
            write!(f, "{rounded:e}")
        }
    }
}
