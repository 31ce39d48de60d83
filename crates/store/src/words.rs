//! Conversion between domain values and columns: enums as words, structures as JSON text, vectors
//! as bytes.

use crate::error::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};

/// The JSON word of an enum value.
pub(crate) fn word<T: Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(word) => Ok(word),
        other => Err(Error::BadRow(format!("{other} is no word"))),
    }
}

/// The enum value of a JSON word.
pub(crate) fn from_word<T: DeserializeOwned>(word: String) -> Result<T> {
    Ok(serde_json::from_value(serde_json::Value::String(word))?)
}

/// A structure as JSON text.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// A structure from JSON text.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    Ok(serde_json::from_str(text)?)
}

/// An optional structure from JSON text.
pub(crate) fn from_json_option<T: DeserializeOwned>(text: Option<String>) -> Result<Option<T>> {
    text.map(|text| from_json(&text)).transpose()
}

/// A vector as little-endian bytes.
pub(crate) fn vector_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A vector from little-endian bytes.
pub(crate) fn vector_from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
}

/// The case-folded form of a name; computed here so that both stores agree on every alphabet.
pub(crate) fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// SQL stores signed 64-bit numbers; our counts never reach the limit.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts back from SQL; a negative count is an error.
pub(crate) fn uint(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| Error::BadRow(format!("{number} is negative")))
}
