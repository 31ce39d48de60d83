//! Tests of reading messy files: each states the expected result of a file.

use chrono::NaiveDate;

use super::encoding::{Detected, decode, detect};
use super::error::ReadError;
use super::layout::{Terminator, sniff};
use super::moment::{Order, moment};
use super::names;
use super::number;
use super::read::{Read, inspect, read_any, read_csv, read_json, read_ndjson};
use super::value_format::{ValueFormat, guess, is_nothing};
use crate::frame::{Kind, Unit, Value};

fn csv(text: &str) -> Read {
    read_csv(text.as_bytes(), 1000).unwrap()
}

fn plain(read: &Read) -> Vec<Vec<String>> {
    read.frame.rows.iter().map(|row| row.iter().map(Value::plain).collect()).collect()
}

fn names_of(read: &Read) -> Vec<&str> {
    read.frame.fields.iter().map(|field| field.name.as_str()).collect()
}

fn kinds(read: &Read) -> Vec<Kind> {
    read.frame.fields.iter().map(|field| field.kind).collect()
}

fn column(label: &str, values: &[&str]) -> super::value_format::Guess {
    guess(values.iter().copied(), label, false)
}

fn day(y: i32, m: u32, d: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(y, m, d).unwrap()
}

mod any;
mod dates;
mod encodings;
mod json;
mod layouts;
mod numbers;
mod random;
mod torture;
