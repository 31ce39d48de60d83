//! The format of the values of one column, and how each is parsed.
//!
//! Parsing never fails and does not allocate for plain values: invalid values are `None`. A format
//! is chosen once per column (see `guess`) and then applied to every value, so it holds decisions,
//! not evidence.

use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::moment::{self, Order, Shape};
use super::number;
use crate::frame::{Kind, Value};

pub use super::guess::{Guess, guess};

/// Which words say yes and no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Words {
    /// True and false.
    TrueFalse,
    /// Yes and no.
    YesNo,
    /// Y and N.
    Yn,
    /// T and F.
    Tf,
    /// On and off.
    OnOff,
}

impl Words {
    /// All pairs.
    pub const ALL: [Self; 5] = [Self::TrueFalse, Self::YesNo, Self::Yn, Self::Tf, Self::OnOff];

    /// The word for yes and the word for no.
    #[must_use]
    pub fn pair(self) -> (&'static str, &'static str) {
        match self {
            Self::TrueFalse => ("true", "false"),
            Self::YesNo => ("yes", "no"),
            Self::Yn => ("y", "n"),
            Self::Tf => ("t", "f"),
            Self::OnOff => ("on", "off"),
        }
    }

    /// Yes, no, or neither.
    #[must_use]
    pub fn read(self, text: &str) -> Option<bool> {
        let (yes, no) = self.pair();
        let text = text.trim();
        if text.eq_ignore_ascii_case(yes) {
            Some(true)
        } else if text.eq_ignore_ascii_case(no) {
            Some(false)
        } else {
            None
        }
    }
}

/// How the numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Style {
    /// The decimal separator.
    pub decimal: char,
    /// The separator of thousands, when one was seen.
    pub group: Option<char>,
    /// The currency sign, when all amounts have the same one.
    pub currency: Option<char>,
    /// Written with a percent sign: 12 % is read as 12.
    pub percent: bool,
    /// Negative numbers are written in parentheses.
    pub parentheses: bool,
    /// Written with scale words such as k, M, bn.
    pub scaled: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { decimal: '.', group: None, currency: None, percent: false, parentheses: false, scaled: false }
    }
}

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueFormat {
    /// Words for true and false.
    Boolean {
        /// Which words.
        words: Words,
    },
    /// Whole numbers.
    Integer {
        /// How they are written.
        style: Style,
    },
    /// Numbers.
    Number {
        /// How they are written.
        style: Style,
    },
    /// Days.
    Date {
        /// The order of day, month and year.
        order: Order,
        /// How they are written.
        shape: Shape,
    },
    /// Moments.
    Timestamp {
        /// The order of day, month and year.
        order: Order,
        /// How they are written.
        shape: Shape,
    },
    /// Words.
    Text,
}

/// Texts that mean a missing value in a column of numbers, dates or booleans, in lower case.
const NOTHING: [&str; 38] = [
    "0000-00-00",
    "0000-00-00 00:00:00",
    "inf",
    "-inf",
    "infinity",
    "na",
    "n/a",
    "n / a",
    "n.a.",
    "nan",
    "nat",
    "null",
    "none",
    "nil",
    "-",
    "--",
    "---",
    "?",
    ".",
    "..",
    "...",
    "#n/a",
    "#na",
    "<na>",
    "\\n",
    "(null)",
    "(blank)",
    "n/d",
    "nd",
    "missing",
    "unknown",
    "undefined",
    "#value!",
    "#div/0!",
    "#ref!",
    "#num!",
    "tbd",
    "*",
];

/// Whether the text means a missing value where a number, a date or a boolean is expected.
#[must_use]
pub fn is_nothing(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || matches!(text, "–" | "—" | "−" | "…")
        || (text.len() <= 19 && NOTHING.iter().any(|word| word.eq_ignore_ascii_case(text)))
}

/// Whether the text means a missing value among words. Only what cannot be a name: `NA` may be
/// Namibia, `None` may be an answer, and `Null` is a surname, so those are kept.
#[must_use]
pub fn is_empty_text(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || matches!(
            text,
            "NULL" | "null" | "NaN" | "nan" | "\\N" | "#N/A" | "N/A" | "n/a" | "<NA>" | "(null)"
        )
}

impl ValueFormat {
    /// What the column holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Boolean { .. } => Kind::Boolean,
            Self::Integer { .. } => Kind::Integer,
            Self::Number { .. } => Kind::Number,
            Self::Date { .. } => Kind::Date,
            Self::Timestamp { .. } => Kind::Timestamp,
            Self::Text => Kind::Text,
        }
    }

    /// How the numbers are written; the plain way for everything else.
    #[must_use]
    pub fn style(&self) -> Style {
        match self {
            Self::Integer { style } | Self::Number { style } => *style,
            _ => Style::default(),
        }
    }

    /// The value as a number.
    #[must_use]
    pub fn number(&self, text: &str) -> Option<f64> {
        match self {
            Self::Boolean { words } => words.read(text).map(|yes| f64::from(u8::from(yes))),
            Self::Integer { style } | Self::Number { style } => number::number(text, style.decimal),
            Self::Text => number::number(text, '.'),
            Self::Date { .. } | Self::Timestamp { .. } => None,
        }
    }

    /// The value as a whole number.
    #[must_use]
    pub fn integer(&self, text: &str) -> Option<i64> {
        match self {
            Self::Boolean { words } => words.read(text).map(i64::from),
            Self::Integer { style } | Self::Number { style } => number::integer(text, style.decimal),
            Self::Text => number::integer(text, '.'),
            Self::Date { .. } | Self::Timestamp { .. } => None,
        }
    }

    /// The value as a day.
    #[must_use]
    pub fn date(&self, text: &str) -> Option<NaiveDate> {
        self.time(text).map(|time| time.date())
    }

    /// The value as a moment.
    #[must_use]
    pub fn time(&self, text: &str) -> Option<NaiveDateTime> {
        let (order, shape) = match self {
            Self::Date { order, shape } | Self::Timestamp { order, shape } => (*order, *shape),
            _ => (Order::Ymd, Shape::Iso),
        };
        match shape {
            Shape::Compact => moment::compact(text).map(|day| day.and_time(chrono::NaiveTime::MIN)),
            Shape::UnixSeconds => moment::unix(text, false),
            Shape::UnixMilliseconds => moment::unix(text, true),
            _ => moment::moment(text, order).map(|moment| moment.time()),
        }
    }

    /// The value as a boolean.
    #[must_use]
    pub fn boolean(&self, text: &str) -> Option<bool> {
        match self {
            Self::Boolean { words } => words.read(text),
            _ => Words::TrueFalse.read(text),
        }
    }

    /// The value as a cell; null if it is empty or invalid.
    #[must_use]
    pub fn value(&self, text: &str) -> Value {
        match self {
            Self::Boolean { .. } => self.boolean(text).map_or(Value::Null, Value::Bool),
            Self::Integer { .. } => self.integer(text).map_or(Value::Null, Value::Int),
            Self::Number { .. } => self.number(text).map_or(Value::Null, Value::Float),
            Self::Date { .. } => self.date(text).map_or(Value::Null, Value::Date),
            Self::Timestamp { .. } => self.time(text).map_or(Value::Null, Value::Time),
            Self::Text if is_empty_text(text) => Value::Null,
            Self::Text => Value::Text(text.trim().to_owned()),
        }
    }

    /// Can the value be read with this format?
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Boolean { .. } => self.boolean(text).is_some(),
            Self::Integer { .. } => self.integer(text).is_some(),
            Self::Number { .. } => self.number(text).is_some(),
            Self::Date { .. } | Self::Timestamp { .. } => self.time(text).is_some(),
            Self::Text => true,
        }
    }

    /// Whether a machine parser (`str::parse`, ISO dates) would read the value the same way.
    #[must_use]
    pub fn is_plain(&self, text: &str) -> bool {
        match self {
            Self::Boolean { .. } => matches!(text, "true" | "false" | "True" | "False" | "TRUE" | "FALSE"),
            Self::Integer { .. } => text.parse::<i64>().is_ok(),
            Self::Number { .. } => number::is_plain(text) && text.parse::<f64>().is_ok(),
            Self::Date { shape, .. } => *shape == Shape::Iso && text.len() == 10 && self.time(text).is_some(),
            Self::Timestamp { shape, .. } => {
                let ends = text.bytes().next_back().is_some_and(|b| b.is_ascii_digit());
                let at = text.as_bytes().get(10);
                // A zone has a sign after the seconds.
                let zone = text.get(19..).is_some_and(|rest| rest.contains(['+', '-']));
                *shape == Shape::Iso
                    && matches!(at, Some(b' ' | b'T'))
                    && text.len() >= 19
                    && ends
                    && !zone
                    && self.fits(text)
            }
            Self::Text => text.trim().len() == text.len() && !is_empty_text(text),
        }
    }
}
