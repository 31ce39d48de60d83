//! Numbers with ranges.

use crate::Problem;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use std::{borrow::Cow, fmt};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $kind:ty, $json:literal, $min:literal..=$max:literal, default $default:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $name($kind);

        impl $name {
            /// Checks the range and builds the value.
            pub fn new(number: $kind) -> Result<Self, Problem> {
                const RANGE: std::ops::RangeInclusive<$kind> = $min..=$max;
                if RANGE.contains(&number) {
                    Ok(Self(number))
                } else {
                    Err(Problem::new("", concat!(stringify!($name), " must be between ", $min, " and ", $max), number))
                }
            }

            /// The number itself.
            pub fn get(self) -> $kind {
                self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(<$kind>::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let (min, max, default): ($kind, $kind, $kind) = ($min, $max, $default);
                json_schema!({ "type": $json, "minimum": min, "maximum": max, "default": default })
            }
        }
    )*};
}

numbers! {
    /// A probability from 0 to 1. Calibrated: of the answers with 0.9, nine in ten are right.
    Confidence: f64, "number", 0.0..=1.0, default 0.0;
    /// The sampling temperature of a model.
    Temperature: f64, "number", 0.0..=2.0, default 0.7;
    /// A duration or an estimate in seconds; a year at most.
    Seconds: f64, "number", 0.0..=31536000.0, default 0.0;
    /// Maximum rows of a query.
    RowLimit: u32, "integer", 1..=200000, default 200000;
    /// Maximum seconds of an analysis.
    AnalysisTimeout: u32, "integer", 1..=180, default 30;
    /// Maximum seconds of a tool call.
    ToolTimeout: u32, "integer", 1..=300, default 300;
    /// The number of the attempt of a call.
    Attempt: u8, "integer", 1..=3, default 1;
    /// Maximum iterations of an agent or a workflow.
    Iterations: u32, "integer", 1..=10000, default 10;
    /// How many items of a `map` node are worked on at once.
    MapConcurrency: u32, "integer", 1..=64, default 4;
    /// Days something is kept.
    Days: u32, "integer", 0..=36500, default 7;
    /// A position in an order, from 1.
    Sequence: u64, "integer", 1..=9007199254740991, default 1;
}
