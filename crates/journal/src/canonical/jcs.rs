//! RFC 8785, JSON canonicalization: no white space, members in UTF-16 order, numbers as ECMAScript
//! writes them.
//!
//! Integers beyond 2^53 are written as the nearest double, as the RFC requires. Their last digits
//! are still protected: the entry hash writes them exactly, and the digest covers the entry hash.

use super::sorted;
use serde_json::Value;
use std::fmt::Write;

/// Appends the value in canonical form.
pub fn jcs(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => jcs_number(number.as_f64().unwrap_or_default(), out),
        Value::String(text) => jcs_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                jcs(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            let members = sorted(map, |name| name.encode_utf16().collect::<Vec<u16>>());
            for (index, (name, item)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                jcs_string(name, out);
                out.push(':');
                jcs(item, out);
            }
            out.push('}');
        }
    }
}

/// Appends a number as ECMAScript writes it.
pub(super) fn jcs_number(number: f64, out: &mut String) {
    out.push_str(ryu_js::Buffer::new().format_finite(number));
}

/// Appends a string in canonical form.
pub fn jcs_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        jcs_char(c, out);
    }
    out.push('"');
}

/// Appends one character of a string in canonical form.
pub(super) fn jcs_char(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..='\u{1f}' => {
            let _infallible = write!(out, "\\u{:04x}", u32::from(c));
        }
        _ => out.push(c),
    }
}
