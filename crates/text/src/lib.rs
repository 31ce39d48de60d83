//! English text: tokens, stems, numbers, periods, names, synonyms. Pure: no I/O, no clock.
//!
//! Other crates compare words with what is here and nothing else, so that a word in a question, in
//! a column name and in a value is the same word.

pub mod calendar;
pub mod period;
pub mod synonyms;
pub mod tokens;
pub mod words;
