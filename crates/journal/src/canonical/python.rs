//! `json.dumps(value, sort_keys=True)`, byte for byte: ASCII only, `", "` and `": "`, floats as
//! `repr` writes them.

use super::sorted;
use serde_json::Value;
use std::fmt::Write;

/// Appends the value as Python writes it.
pub fn python(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(integer), _, _) => write_to(out, integer),
            (_, Some(integer), _) => write_to(out, integer),
            (_, _, Some(float)) => float_repr(float, out),
            _ => write_to(out, number),
        },
        Value::String(text) => python_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                python(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            // Python sorts by code point, which for UTF-8 is the order of the bytes.
            for (index, (name, item)) in sorted(map, str::as_bytes).into_iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                python_string(name, out);
                out.push_str(": ");
                python(item, out);
            }
            out.push('}');
        }
    }
}

/// Appends a string as Python writes it.
pub fn python_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _infallible = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// `repr(float)`: the shortest digits that parse back to the same value, with an exponent below -4
/// or from 16 on.
fn float_repr(float: f64, out: &mut String) {
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = format!("{float}");
        let _infallible = if plain.contains('.') { write!(out, "{plain}") } else { write!(out, "{plain}.0") };
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _infallible = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
    }
}

fn write_to(out: &mut String, value: impl std::fmt::Display) {
    let _infallible = write!(out, "{value}");
}
