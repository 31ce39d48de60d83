//! Reading messy files: encodings, layouts, values in local formats.

pub mod clock;
pub mod encoding;
pub mod error;
pub mod evidence;
pub mod guess;
pub mod header;
pub mod json;
pub mod layout;
pub(crate) mod lists;
pub mod moment;
pub mod names;
pub mod number;
pub mod read;
pub mod records;
pub mod script;
pub mod sheet;
mod sheet_columns;
mod sheet_totals;
pub mod value_format;
pub(crate) mod wide;

#[cfg(test)]
mod tests;

pub use error::ReadError;
pub use read::{Read, read_csv, read_json, read_ndjson};
pub use value_format::ValueFormat;

use crate::frame::{Frame, Kind};

/// Whether all texts are dates: ISO dates or timestamps, as databases without a date type store
/// them.
pub(crate) fn guess_time(texts: &[&str]) -> Option<Kind> {
    let iso = |text: &str| {
        let mut bytes = text.bytes();
        let shape = (0..10).all(|place| match (place, bytes.next()) {
            (4 | 7, Some(b'-')) => true,
            (4 | 7, _) => false,
            (_, Some(byte)) => byte.is_ascii_digit(),
            _ => false,
        });
        shape && (text.len() == 10 || matches!(text.as_bytes().get(10), Some(b' ' | b'T')))
    };
    if texts.is_empty() || !texts.iter().all(|text| iso(text)) {
        return None;
    }
    Some(if texts.iter().all(|text| text.len() == 10) { Kind::Date } else { Kind::Timestamp })
}

/// Converts text columns that were announced as times to times.
pub(crate) fn undress_times(frame: &mut Frame) {
    for index in 0..frame.fields.len() {
        if frame.fields.get(index).is_some_and(|field| field.kind.is_time()) {
            crate::shape::parse_times(frame, index);
        }
    }
}
