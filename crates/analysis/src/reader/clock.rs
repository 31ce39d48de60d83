//! Times of day and time zones, and the character cursor for parsing dates.
//!
//! The cursor never reads outside the text, so that no input can cause a panic.

use chrono::NaiveTime;

/// A character cursor that never reads outside the text.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

/// A run of digits: its value and its length.
pub(super) type Digits = (u32, usize);

impl<'a> Cursor<'a> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn spaces(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at > start
    }

    pub(super) fn done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Up to nine digits.
    pub(super) fn digits(&mut self) -> Option<Digits> {
        let (mut value, mut length) = (0_u32, 0_usize);
        while let Some(byte) = self.peek().filter(u8::is_ascii_digit) {
            if length == 9 {
                return None;
            }
            value = value * 10 + u32::from(byte - b'0');
            length += 1;
            self.at += 1;
        }
        (length > 0).then_some((value, length))
    }

    /// A run of letters.
    pub(super) fn word(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }
}

/// Equal but for case; the tables are in lower case.
pub(super) fn same(word: &str, small: &str) -> bool {
    word.eq_ignore_ascii_case(small)
        || (!word.is_ascii() && word.chars().flat_map(char::to_lowercase).eq(small.chars()))
}

/// `10:04`, `10:04:05.123`, `10:04 PM`, `10 PM`.
pub(super) fn clock(cursor: &mut Cursor<'_>) -> Option<NaiveTime> {
    let (mut hour, length) = cursor.digits()?;
    let (mut minute, mut second, mut nanos, mut bare) = (0, 0, 0, true);
    if length > 2 {
        return None;
    }
    if cursor.eat(b':') {
        bare = false;
        minute = cursor.digits().filter(|(_, n)| *n == 2)?.0;
        if cursor.eat(b':') {
            second = cursor.digits().filter(|(_, n)| *n <= 2)?.0;
            if cursor.eat(b'.') || cursor.eat(b',') {
                let (value, length) = cursor.digits()?;
                nanos = value * 10_u32.pow(9_u32.checked_sub(u32::try_from(length).ok()?)?);
            }
        }
    }
    let before = *cursor;
    cursor.spaces();
    let half = cursor.word();
    let dotted = cursor.eat(b'.');
    let (morning, evening) = (same(half, "am") || same(half, "a"), same(half, "pm") || same(half, "p"));
    if morning || evening {
        if dotted && half.len() == 1 {
            cursor.word();
            cursor.eat(b'.');
        }
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + if evening { 12 } else { 0 };
    } else {
        *cursor = before;
        if bare {
            return None;
        }
    }
    // A leap second is written as 60.
    NaiveTime::from_hms_nano_opt(hour, minute, second.min(59), nanos)
}

/// The zone as minutes east of Greenwich; 0 if there is none. `None` if the text there is not a
/// zone.
pub(super) fn zone(cursor: &mut Cursor<'_>) -> Option<i64> {
    cursor.spaces();
    if cursor.done() {
        return Some(0);
    }
    let word = cursor.word();
    let named = match word {
        "" | "Z" | "z" | "UTC" | "GMT" | "utc" => 0,
        "EST" => -300,
        "EDT" => -240,
        "CST" => -360,
        "CDT" => -300,
        "MST" => -420,
        "MDT" => -360,
        "PST" => -480,
        "PDT" => -420,
        "CET" => 60,
        "CEST" => 120,
        "BST" => 60,
        _ => return None,
    };
    let west = cursor.peek() == Some(b'-');
    if !west && cursor.peek() != Some(b'+') {
        return Some(named);
    }
    cursor.at += 1;
    let (value, length) = cursor.digits()?;
    let (hours, minutes) = match length {
        4 => (value / 100, value % 100),
        1 | 2 if cursor.eat(b':') => (value, cursor.digits().filter(|(_, n)| *n == 2)?.0),
        1 | 2 => (value, 0),
        _ => return None,
    };
    if hours > 15 || minutes > 59 {
        return None;
    }
    let size = i64::from(hours * 60 + minutes);
    // A zone name in parentheses repeats the offset.
    cursor.spaces();
    if cursor.peek() == Some(b'(') && cursor.text.ends_with(')') {
        cursor.at = cursor.text.len();
    }
    Some(named + if west { -size } else { size })
}
