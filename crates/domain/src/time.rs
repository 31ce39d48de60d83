//! A point in time: UTC, microseconds, written as RFC 3339. It is always an argument; this module
//! does not read a clock.

use crate::Problem;
use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, str::FromStr};

/// Microseconds since 1970 in UTC. Finer digits are truncated: both stores keep microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest and latest that both RFC 3339 and PostgreSQL can write: years 0001 to 9999.
    const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

    /// Builds from microseconds since 1970; values outside the years 1 to 9999 are clamped.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(*Self::RANGE.start(), *Self::RANGE.end()))
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// The time this many days earlier, clamped to the supported range.
    pub fn minus_days(self, days: u32) -> Self {
        Self::from_micros(self.0.saturating_sub(i64::from(days) * 86_400_000_000))
    }

    /// Whole milliseconds since `earlier`; 0 if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from((self.0 - earlier.0) / 1000).unwrap_or(0)
    }

    /// The same time as a chrono value.
    pub fn to_chrono(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or(DateTime::UNIX_EPOCH)
    }

    /// The calendar day, `2026-11-15`.
    pub fn day(self) -> String {
        self.to_chrono().format("%Y-%m-%d").to_string()
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        Self::from_micros(time.timestamp_micros())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_chrono().to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

impl FromStr for Timestamp {
    type Err = Problem;
    fn from_str(text: &str) -> Result<Self, Problem> {
        DateTime::parse_from_rfc3339(text)
            .map(|time| time.with_timezone(&Utc).into())
            .map_err(|_| Problem::new("", "must be an ISO 8601 time such as 2026-01-16T10:30:00Z", text))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}
