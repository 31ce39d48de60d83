//! Splits text into records and fields, with any quotes and line ends.
//!
//! It always reaches the end of the text: an unclosed quote is an ordinary character, not the start
//! of a field that extends to the end. Fields borrow from the text unless a quote inside them had
//! to be removed.

use std::borrow::Cow;

/// Maximum length of a quoted field; a longer one means that the quote was an ordinary character.
const LONGEST_QUOTED: usize = 1 << 20;

/// Further fields are ignored, so that a file of one endless line cannot exhaust memory.
const MOST_FIELDS: usize = 10_000;

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The separator of fields; a space stands for any number of spaces.
    pub delimiter: u8,
    /// The quote.
    pub quote: u8,
    /// The character before a quote inside quotes, when it is not the quote itself.
    pub escape: Option<u8>,
    /// With a space as separator: at least two of them, so that single ones may stand inside
    /// values.
    pub wide: bool,
}

/// Walks over the records of a text.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    text: &'a str,
    at: usize,
    start: usize,
    shape: Shape,
    /// Line ends inside quotes were seen.
    pub newlines_in_values: bool,
    /// The start of the first record with an unclosed quote, because the text ended or was
    /// truncated.
    pub open_at: Option<usize>,
    /// Quotes that stand after spaces were seen.
    pub spaced_quotes: bool,
    /// Quotes that did not close, or that stood where none is expected.
    pub broken_quotes: usize,
}

/// What ended a field.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Field,
    Record,
}

impl<'a> Records<'a> {
    /// Starts at the beginning of the text.
    #[must_use]
    pub fn new(text: &'a str, shape: Shape) -> Self {
        Self {
            text,
            at: 0,
            shape,
            newlines_in_values: false,
            spaced_quotes: false,
            broken_quotes: 0,
            start: 0,
            open_at: None,
        }
    }

    /// Where the next record starts, in bytes.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn piece(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Reads the next record into `fields`; false at the end. Blank lines are not records.
    pub fn next_into(&mut self, fields: &mut Vec<Cow<'a, str>>) -> bool {
        fields.clear();
        while matches!(self.byte(self.at), Some(b'\n' | b'\r')) {
            self.at += 1;
        }
        if self.at >= self.text.len() {
            return false;
        }
        self.start = self.at;
        if self.shape.delimiter == b' ' {
            self.skip_spaces();
        }
        loop {
            let (field, end) = self.field();
            // Spaces at the end of a line are not a separator.
            let trailing =
                self.shape.delimiter == b' ' && end == End::Record && field.is_empty() && !fields.is_empty();
            if !trailing && fields.len() <= MOST_FIELDS {
                fields.push(field);
            }
            if end == End::Record {
                return true;
            }
        }
    }

    fn skip_spaces(&mut self) {
        while self.byte(self.at) == Some(b' ') {
            self.at += 1;
        }
    }

    /// One field, with what ended it.
    fn field(&mut self) -> (Cow<'a, str>, End) {
        let mut at = self.at;
        while matches!(self.byte(at), Some(b' ' | b'\t')) && self.byte(at) != Some(self.shape.delimiter) {
            at += 1;
        }
        if self.byte(at) == Some(self.shape.quote) {
            let spaced = at > self.at;
            if let Some((field, end)) = self.quoted(at + 1) {
                self.spaced_quotes |= spaced;
                return (field, end);
            }
            self.broken_quotes += 1;
        }
        let start = self.at;
        let stop = self.stop(start);
        (Cow::Borrowed(self.piece(start, stop)), self.finish(stop))
    }

    /// Where an unquoted field ends.
    fn stop(&self, from: usize) -> usize {
        let delimiter = self.shape.delimiter;
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        if self.shape.wide {
            let ends = |at: usize, byte: u8| {
                matches!(byte, b'\n' | b'\r')
                    || (byte == b' ' && rest.get(at + 1).is_none_or(|b| matches!(b, b' ' | b'\n' | b'\r')))
            };
            return rest
                .iter()
                .enumerate()
                .find(|(at, b)| ends(*at, **b))
                .map_or(self.text.len(), |(at, _)| from + at);
        }
        rest.iter()
            .position(|b| *b == delimiter || *b == b'\n' || *b == b'\r')
            .map_or(self.text.len(), |n| from + n)
    }

    /// Steps over what ends a field.
    fn finish(&mut self, stop: usize) -> End {
        self.at = stop + 1;
        match self.byte(stop) {
            None => {
                self.at = self.text.len();
                End::Record
            }
            Some(b'\r') => {
                self.at += usize::from(self.byte(stop + 1) == Some(b'\n'));
                End::Record
            }
            Some(b'\n') => End::Record,
            Some(_) => {
                if self.shape.delimiter == b' ' {
                    self.skip_spaces();
                    if matches!(self.byte(self.at), Some(b'\n' | b'\r') | None) {
                        return self.finish(self.at);
                    }
                }
                End::Field
            }
        }
    }

    /// A quoted field that starts at `from`; `None` if the quote is an ordinary character.
    fn quoted(&mut self, from: usize) -> Option<(Cow<'a, str>, End)> {
        let Shape { quote, escape, .. } = self.shape;
        let mut parts = String::new();
        let (mut start, mut at, mut lines) = (from, from, false);
        let close = loop {
            let Some(byte) = self.byte(at) else {
                self.open_at.get_or_insert(self.start);
                return None;
            };
            if at - from > LONGEST_QUOTED {
                return None;
            }
            if Some(byte) == escape
                && self.byte(at + 1).is_some_and(|next| next == quote || Some(next) == escape)
            {
                parts.push_str(self.piece(start, at));
                start = at + 1;
                at += 2;
            } else if byte == quote && self.byte(at + 1) == Some(quote) && escape != Some(quote) {
                parts.push_str(self.piece(start, at + 1));
                start = at + 2;
                at += 2;
            } else if byte == quote {
                break at;
            } else {
                lines |= byte == b'\n' || byte == b'\r';
                at += 1;
            }
        };
        self.close(parts, start, close, lines)
    }

    /// The end of a quoted field: text between the closing quote and the separator belongs to the
    /// value.
    fn close(
        &mut self,
        mut parts: String,
        start: usize,
        close: usize,
        lines: bool,
    ) -> Option<(Cow<'a, str>, End)> {
        let stop = self.stop(close + 1);
        let rest = self.piece(close + 1, stop);
        let clean = rest.trim().is_empty();
        // A multi-line value whose quote closes in the middle of a word was never meant as one
        // value.
        if !clean && lines {
            return None;
        }
        self.broken_quotes += usize::from(!clean);
        self.newlines_in_values |= lines;
        let end = self.finish(stop);
        if clean && parts.is_empty() {
            return Some((Cow::Borrowed(self.piece(start, close)), end));
        }
        parts.push_str(self.piece(start, close));
        if !clean {
            parts.push_str(rest);
        }
        Some((Cow::Owned(parts), end))
    }
}
