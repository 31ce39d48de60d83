//! Functions for expressions beside CEL's own: JSON texts, lists, formats, numbers, dates.
//!
//! Invariants
//! - Each function depends on its arguments only. There is no clock: `now` is a name whose value is
//!   the time of the last event.
//! - The size of what a function builds is bounded, and so are the loop rounds of one evaluation.

use crate::duration;
use crate::expression::{as_text, from_cel, into_cel};
use cel::extractors::Arguments;
use cel::objects::Key;
use cel::{Context, Env, ExecutionError, Value as Cel};
use jiff::tz::TimeZone;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Order};
use steward_domain::Timestamp;

/// The function that wraps the range of every loop.
pub(crate) const IN_ORDER: &str = "in_order";
/// The maximum total of loop rounds of one evaluation.
const ROUNDS: usize = 200_000;
/// The maximum number of values that a function may build.
const VALUES: usize = 20_000;
/// The maximum number of bytes of a text that a function may build.
const BYTES: usize = 1_000_000;

type Outcome = Result<Value, String>;

/// Name, number of arguments, implementation.
type Function = (&'static str, std::ops::RangeInclusive<usize>, fn(&[Value]) -> Outcome);

const FUNCTIONS: &[Function] = &[
    ("parse_json", 1..=1, parse_json),
    ("to_json", 1..=1, |a| Ok(Value::String(at(a, 0).to_string()))),
    ("split", 2..=2, split),
    ("join", 2..=2, join),
    ("format", 1..=16, format),
    ("trim", 1..=1, |a| Ok(text(a, 0)?.trim().into())),
    ("upper", 1..=1, |a| Ok(text(a, 0)?.to_uppercase().into())),
    ("lower", 1..=1, |a| Ok(text(a, 0)?.to_lowercase().into())),
    ("replace", 3..=3, |a| Ok(text(a, 0)?.replace(text(a, 1)?, text(a, 2)?).into())),
    ("text", 1..=1, |a| Ok(as_text(at(a, 0)).into())),
    ("number", 1..=1, number),
    ("round", 1..=2, round),
    ("sum", 1..=1, sum),
    ("sort", 1..=1, sort),
    ("unique", 1..=1, unique),
    ("flatten", 1..=1, flatten),
    ("keys", 1..=1, keys),
    ("get", 2..=3, get),
    ("date", 1..=2, |a| moment_of(a, 0, 1).map(|at| at.to_string().into())),
    ("date_add", 2..=2, date_add),
    ("date_format", 2..=3, date_format),
    ("seconds_between", 2..=2, seconds_between),
];

/// Whether a function of this module has this name.
pub(crate) fn is_own(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, ..)| *known == name)
}

/// Whether CEL has a function of this name.
pub(crate) fn is_cel_function(environment: &Arc<Env>, name: &str) -> bool {
    Context::with_env(Arc::clone(environment)).add_function(name, || true).is_err()
}

/// The names of the functions of this module, for messages.
pub(crate) fn list() -> String {
    let names: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
    names.join(", ")
}

/// Adds the functions that an expression calls.
pub(crate) fn add(context: &mut Context<'_, '_>, called: &BTreeSet<String>) {
    for name in called {
        if name == IN_ORDER {
            let rounds = Arc::new(AtomicUsize::new(0));
            let work = move |Arguments(given): Arguments| in_order(&given, &rounds);
            let _not_a_cel_function = context.add_function(IN_ORDER, work);
        }
        let Some((name, count, work)) = FUNCTIONS.iter().find(|(known, ..)| known == name) else { continue };
        let call = move |Arguments(given): Arguments| -> Result<Cel, ExecutionError> {
            let wrong = |why: String| ExecutionError::function_error(name, why);
            if !count.contains(&given.len()) {
                let most = if count.start() == count.end() { "" } else { " at least" };
                return Err(wrong(format!("needs{most} {} values, not {}", count.start(), given.len())));
            }
            let values: Option<Vec<Value>> = given.iter().map(from_cel).collect();
            let values = values.ok_or_else(|| wrong("takes only what JSON can hold".to_owned()))?;
            let result = work(&values).map_err(wrong)?;
            if matches!(&result, Value::String(text) if text.len() > BYTES) {
                return Err(wrong(format!("gives more than {BYTES} bytes")));
            }
            let mut left = VALUES;
            into_cel(&result, &mut left).ok_or_else(|| wrong(format!("gives more than {VALUES} values")))
        };
        let _not_a_cel_function = context.add_function(name, call);
    }
}

/// The items of a list, or the sorted keys of an object: a hash map has no order.
fn in_order(given: &[Cel], rounds: &AtomicUsize) -> Result<Cel, ExecutionError> {
    let (range, count) = match given {
        [Cel::List(items)] => (Cel::List(Arc::clone(items)), items.len()),
        [Cel::Map(map)] => {
            let mut keys: Vec<Key> = map.map.keys().cloned().collect();
            keys.sort_by_key(ToString::to_string);
            let count = keys.len();
            (Cel::List(Arc::new(keys.into_iter().map(Cel::from).collect())), count)
        }
        [other] => {
            let why = format!("needs a list or an object, not {:?}", other.type_of());
            return Err(ExecutionError::function_error("loop", why.to_lowercase()));
        }
        _ => return Err(ExecutionError::function_error("loop", "needs one value")),
    };
    if rounds.fetch_add(count, Order::Relaxed) + count > ROUNDS {
        return Err(ExecutionError::function_error("loop", format!("goes round more than {ROUNDS} times")));
    }
    Ok(range)
}

fn at(values: &[Value], place: usize) -> &Value {
    values.get(place).unwrap_or(&Value::Null)
}

fn text(values: &[Value], place: usize) -> Result<&str, String> {
    at(values, place).as_str().ok_or_else(|| format!("value {} must be a text", place + 1))
}

fn items(values: &[Value], place: usize) -> Result<&Vec<Value>, String> {
    at(values, place).as_array().ok_or_else(|| format!("value {} must be a list", place + 1))
}

fn parse_json(values: &[Value]) -> Outcome {
    match at(values, 0) {
        // A tool may already have returned structured content.
        Value::String(text) => serde_json::from_str(text.trim()).map_err(|error| {
            format!(
                "the text is no JSON: {error}. It begins with {:?}",
                text.chars().take(40).collect::<String>()
            )
        }),
        other => Ok(other.clone()),
    }
}

fn split(values: &[Value]) -> Outcome {
    let (text, by) = (text(values, 0)?, text(values, 1)?);
    let part = |part: &str| Value::String(part.to_owned());
    Ok(match by {
        "" => text.chars().take(VALUES + 1).map(|c| part(&c.to_string())).collect(),
        by => text.split(by).take(VALUES + 1).map(part).collect(),
    })
}

fn join(values: &[Value]) -> Outcome {
    let (list, by) = (items(values, 0)?, text(values, 1)?);
    let mut joined = String::new();
    for (place, item) in list.iter().enumerate() {
        if place > 0 {
            joined.push_str(by);
        }
        joined.push_str(&as_text(item));
        if joined.len() > BYTES {
            break;
        }
    }
    Ok(joined.into())
}

/// `{}` is the next value; `{{` and `}}` are braces. A single list supplies the values.
fn format(values: &[Value]) -> Outcome {
    let pattern = text(values, 0)?;
    let given: &[Value] = match values {
        [_, Value::Array(list)] => list,
        [_, rest @ ..] => rest,
        [] => &[],
    };
    let (mut out, mut next) = (String::new(), given.iter());
    let mut letters = pattern.chars().peekable();
    while let Some(c) = letters.next() {
        match (c, letters.peek()) {
            ('{', Some('{')) | ('}', Some('}')) => {
                letters.next();
                out.push(c);
            }
            ('{', Some('}')) => {
                letters.next();
                let value = next.next().ok_or("has more {} than values")?;
                out.push_str(&as_text(value));
            }
            _ => out.push(c),
        }
        if out.len() > BYTES {
            break;
        }
    }
    Ok(out.into())
}

fn number(values: &[Value]) -> Outcome {
    match at(values, 0) {
        Value::Number(number) => Ok(Value::Number(number.clone())),
        Value::Bool(yes) => Ok(Value::from(i64::from(*yes))),
        Value::String(text) => {
            let plain = text.trim();
            if let Ok(whole) = plain.parse::<i64>() {
                return Ok(Value::from(whole));
            }
            let parsed = plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            parsed.map(Value::Number).ok_or_else(|| format!("{text:?} is no number"))
        }
        _ => Err("must be given a text or a number".to_owned()),
    }
}

fn as_number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("{value} is no number"))
}

fn from_number(number: f64) -> Outcome {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Ok(Value::from(number as i64));
    }
    let number = serde_json::Number::from_f64(number);
    number.map(Value::Number).ok_or_else(|| "the number became too large".to_owned())
}

fn round(values: &[Value]) -> Outcome {
    let digits = values.get(1).map_or(Ok(0.0), as_number)?.clamp(0.0, 12.0);
    let scale = 10f64.powi(digits as i32);
    from_number((as_number(at(values, 0))? * scale).round() / scale)
}

fn sum(values: &[Value]) -> Outcome {
    let mut whole: Option<i64> = Some(0);
    let mut all = 0.0;
    for item in items(values, 0)? {
        whole = item.as_i64().and_then(|item| whole?.checked_add(item));
        all += as_number(item)?;
    }
    whole.map_or_else(|| from_number(all), |whole| Ok(Value::from(whole)))
}

/// Orders numbers before texts; everything else by its JSON text.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one.as_f64(), other.as_f64(), one.as_str(), other.as_str()) {
        (Some(one), Some(other), ..) => one.total_cmp(&other),
        (Some(_), None, ..) => Ordering::Less,
        (None, Some(_), ..) => Ordering::Greater,
        (.., Some(one), Some(other)) => one.cmp(other),
        _ => one.to_string().cmp(&other.to_string()),
    }
}

fn sort(values: &[Value]) -> Outcome {
    let mut list = items(values, 0)?.clone();
    list.sort_by(compare);
    Ok(Value::Array(list))
}

fn unique(values: &[Value]) -> Outcome {
    let mut known = BTreeSet::new();
    let list = items(values, 0)?.iter().filter(|item| known.insert(item.to_string()));
    Ok(Value::Array(list.cloned().collect()))
}

fn flatten(values: &[Value]) -> Outcome {
    let mut flat = Vec::new();
    for item in items(values, 0)? {
        match item {
            Value::Array(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other.clone()),
        }
    }
    Ok(Value::Array(flat))
}

fn keys(values: &[Value]) -> Outcome {
    let object = at(values, 0).as_object().ok_or("must be given an object")?;
    let sorted: BTreeSet<&String> = object.keys().collect();
    Ok(sorted.into_iter().map(|key| Value::String(key.clone())).collect())
}

/// A part by key or index, or the third argument where there is none.
fn get(values: &[Value]) -> Outcome {
    let part = match (at(values, 0), at(values, 1)) {
        (Value::Object(object), Value::String(key)) => object.get(key),
        (Value::Array(list), Value::Number(place)) => {
            place.as_u64().and_then(|place| list.get(usize::try_from(place).ok()?))
        }
        _ => None,
    };
    Ok(part.unwrap_or(at(values, 2)).clone())
}

fn zone_of(values: &[Value], place: usize) -> Result<TimeZone, String> {
    match values.get(place) {
        Some(_) => duration::zone(text(values, place)?),
        None => Ok(TimeZone::UTC),
    }
}

fn moment_of(values: &[Value], place: usize, zone: usize) -> Result<Timestamp, String> {
    duration::moment(text(values, place)?, zone_of(values, zone)?)
}

fn date_add(values: &[Value]) -> Outcome {
    let span = text(values, 1)?;
    let (sign, plain) = match span.trim().strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, span),
    };
    let micros = duration::parse_duration(plain)?.saturating_mul(sign);
    let at = moment_of(values, 0, usize::MAX)?;
    Ok(Timestamp::from_micros(at.micros().saturating_add(micros)).to_string().into())
}

fn date_format(values: &[Value]) -> Outcome {
    let at = moment_of(values, 0, usize::MAX)?;
    duration::written(at, text(values, 1)?, zone_of(values, 2)?).map(Value::String)
}

fn seconds_between(values: &[Value]) -> Outcome {
    let (from, to) = (moment_of(values, 0, usize::MAX)?, moment_of(values, 1, usize::MAX)?);
    from_number((to.micros() - from.micros()) as f64 / 1e6)
}
