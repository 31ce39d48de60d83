//! The functions and constants of expressions.

use super::number::{Number, Outcome};
use std::cmp::Ordering;

/// The names of all functions, for error messages.
pub(super) const NAMES: &[&str] = &[
    "abs", "acos", "asin", "atan", "atan2", "avg", "cbrt", "ceil", "cos", "cosh", "degrees", "exp", "floor",
    "gcd", "hypot", "lcm", "ln", "log", "log10", "log2", "max", "mean", "median", "min", "mod", "pow",
    "pstdev", "radians", "round", "sign", "sin", "sinh", "sqrt", "stdev", "sum", "tan", "tanh", "trunc",
];

/// The value of a constant.
pub(super) fn constant(name: &str) -> Option<Number> {
    Some(Number::Real(match name {
        "pi" => std::f64::consts::PI,
        "e" => std::f64::consts::E,
        "tau" => std::f64::consts::TAU,
        _ => return None,
    }))
}

/// Applies a function.
pub(super) fn apply(name: &str, arguments: &[Number]) -> Outcome {
    match (name, arguments) {
        ("sum", all) => all.iter().try_fold(Number::Whole(0), |sum, number| sum.plus(*number)),
        (_, []) => Err(format!("{name} needs at least one number")),
        ("min", [first, rest @ ..]) => Ok(pick(*first, rest, Ordering::Less)),
        ("max", [first, rest @ ..]) => Ok(pick(*first, rest, Ordering::Greater)),
        ("mean" | "avg", all) => mean(all),
        ("median", all) => median(all),
        ("stdev", all) => deviation(all, 1),
        ("pstdev", all) => deviation(all, 0),
        ("gcd", [first, rest @ ..]) => fold_whole(*first, rest, |a, b| Some(gcd(a, b))),
        ("lcm", [first, rest @ ..]) => fold_whole(*first, rest, lcm),
        ("mod", [a, b]) => a.modulo(*b),
        ("pow", [a, b]) => a.power(*b),
        ("atan2", [y, x]) => Number::finite(y.real().atan2(x.real())),
        ("hypot", [a, b]) => Number::finite(a.real().hypot(b.real())),
        ("log", [x, base]) => logarithm(*x, |x| x.ln() / base.real().ln()),
        ("round", [x, digits]) => rounded(*x, *digits),
        (_, [x]) => of_one(name, *x),
        _ => Err(format!("{name} does not take {} numbers", arguments.len())),
    }
}

fn of_one(name: &str, x: Number) -> Outcome {
    let real = x.real();
    match name {
        "sqrt" if real < 0.0 => Err("a negative number has no real square root".to_owned()),
        "sqrt" => exact_root(x).map_or_else(|| Number::finite(real.sqrt()), Ok),
        "cbrt" => Number::finite(real.cbrt()),
        "abs" => {
            if real < 0.0 {
                x.negated()
            } else {
                Ok(x)
            }
        }
        "sign" => Ok(Number::Whole(if real > 0.0 {
            1
        } else if real < 0.0 {
            -1
        } else {
            0
        })),
        "ln" => logarithm(x, f64::ln),
        "log" | "log10" => logarithm(x, f64::log10),
        "log2" => logarithm(x, f64::log2),
        "exp" => Number::finite(real.exp()),
        "sin" => Number::finite(real.sin()),
        "cos" => Number::finite(real.cos()),
        "tan" => Number::finite(real.tan()),
        "asin" | "acos" if real.abs() > 1.0 => Err(format!("{name} takes numbers from -1 to 1")),
        "asin" => Number::finite(real.asin()),
        "acos" => Number::finite(real.acos()),
        "atan" => Number::finite(real.atan()),
        "sinh" => Number::finite(real.sinh()),
        "cosh" => Number::finite(real.cosh()),
        "tanh" => Number::finite(real.tanh()),
        "degrees" => Number::finite(real.to_degrees()),
        "radians" => Number::finite(real.to_radians()),
        "floor" | "ceil" | "round" | "trunc" => match x {
            Number::Whole(_) => Ok(x),
            Number::Real(_) => Number::settled(match name {
                "floor" => real.floor(),
                "ceil" => real.ceil(),
                "trunc" => real.trunc(),
                _ => real.round(),
            }),
        },
        _ => Err(format!("{name} does not take one number")),
    }
}

/// The exact square root of a perfect square.
fn exact_root(x: Number) -> Option<Number> {
    let Number::Whole(whole) = x else { return None };
    let root = whole.checked_isqrt()?;
    (root.checked_mul(root)? == whole).then_some(Number::Whole(root))
}

fn logarithm(x: Number, of: impl Fn(f64) -> f64) -> Outcome {
    if x.real() <= 0.0 {
        return Err("a logarithm needs a number above zero".to_owned());
    }
    Number::finite(of(x.real()))
}

fn rounded(x: Number, digits: Number) -> Outcome {
    let digits = digits.whole().filter(|digits| (0..=15).contains(digits));
    let digits = digits.ok_or("round takes 0 to 15 digits after the point")?;
    match x {
        Number::Whole(_) => Ok(x),
        // Rounds through text: a factor of 10^n would add rounding errors.
        Number::Real(real) => {
            let digits = usize::try_from(digits).unwrap_or_default();
            Number::finite(format!("{real:.digits$}").parse().unwrap_or(real))
        }
    }
}

fn pick(first: Number, rest: &[Number], wanted: Ordering) -> Number {
    rest.iter().fold(first, |best, next| if order(next, &best) == wanted { *next } else { best })
}

/// Compares whole numbers exactly, other numbers by value.
fn order(a: &Number, b: &Number) -> Ordering {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a.cmp(b),
        _ => a.real().total_cmp(&b.real()),
    }
}

fn count(numbers: &[Number]) -> Number {
    Number::Whole(i128::try_from(numbers.len()).unwrap_or(i128::MAX))
}

fn mean(numbers: &[Number]) -> Outcome {
    apply("sum", numbers)?.over(count(numbers))
}

fn median(numbers: &[Number]) -> Outcome {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(order);
    let middle = sorted.len() / 2;
    let at = |place: usize| sorted.get(place).copied().ok_or("median needs at least one number");
    if sorted.len() % 2 == 1 { Ok(at(middle)?) } else { mean(&[at(middle - 1)?, at(middle)?]) }
}

/// The standard deviation; `less` is 1 for a sample and 0 for the population.
fn deviation(numbers: &[Number], less: usize) -> Outcome {
    if numbers.len() <= less {
        return Err("the standard deviation of a sample needs at least two numbers".to_owned());
    }
    let mean = mean(numbers)?.real();
    let squares: f64 = numbers.iter().map(|number| (number.real() - mean).powi(2)).sum();
    let count = count(numbers).real() - if less == 1 { 1.0 } else { 0.0 };
    Number::finite((squares / count).sqrt())
}

fn fold_whole(first: Number, rest: &[Number], step: impl Fn(i128, i128) -> Option<i128>) -> Outcome {
    let whole = |number: Number| number.whole().ok_or_else(|| "only whole numbers fit here".to_owned());
    let start = whole(first)?.checked_abs().ok_or("the number is too large")?;
    let folded = rest.iter().try_fold(start, |so_far, next| {
        let next = whole(*next)?;
        step(so_far, next).ok_or_else(|| "the result is too large".to_owned())
    });
    folded.map(Number::Whole)
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or_default());
    }
    i128::try_from(a).unwrap_or(i128::MAX)
}

fn lcm(a: i128, b: i128) -> Option<i128> {
    if a == 0 || b == 0 {
        return Some(0);
    }
    a.checked_div(gcd(a, b))?.checked_mul(b)?.checked_abs()
}
