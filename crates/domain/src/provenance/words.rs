//! Whether a user typed a value: as consecutive whole words, as a number, or as a date.

use super::moment::Moments;

/// Characters that may precede a word without being part of it.
const BEFORE: &str = "\"'`([{<$€£#“‘«:=*_-–—";
/// Characters that may follow a word without being part of it.
const AFTER: &str = "\"'`)]}>.,;:!?%€”’»*_-–—";

/// What a user typed, prepared for lookups.
pub(super) struct Typed {
    /// In lower case, with one space between words and at both ends.
    text: String,
    /// The same, with a space inserted between sentences that are not separated by one: "at
    /// www.x.example.They said".
    parted: String,
    numbers: Vec<f64>,
    moments: Moments,
}

impl Typed {
    pub(super) fn new(text: &str) -> Self {
        let parted = normal(&part_sentences(text));
        let text = normal(text);
        let numbers = text.split(' ').filter_map(number).collect();
        let moments = Moments::find(&text);
        Self { text, parted, numbers, moments }
    }

    /// Whether the user typed this text as consecutive whole words, or the date that it denotes.
    pub(super) fn has(&self, value: &str) -> bool {
        let wanted = normal(value);
        let wanted = wanted.trim();
        let typed = stands_in(wanted, &self.text) || stands_in(wanted, &self.parted);
        !wanted.is_empty() && (typed || self.moments.has(wanted))
    }

    pub(super) fn has_number(&self, value: f64) -> bool {
        self.numbers.iter().any(|typed| (typed - value).abs() <= f64::EPSILON * value.abs().max(1.0))
    }
}

/// Whether `value` occurs in `text` as consecutive whole words, ignoring case and spacing.
/// `bob@x.example` does not occur in `eve.bob@x.example`.
#[must_use]
pub fn is_typed(value: &str, text: &str) -> bool {
    let value = normal(value);
    let value = value.trim();
    !value.is_empty() && stands_in(value, &normal(text))
}

fn stands_in(wanted: &str, text: &str) -> bool {
    text.match_indices(wanted).any(|(start, found)| {
        let before = text.get(..start).unwrap_or_default();
        let after = text.get(start + found.len()..).unwrap_or_default();
        let before = before.rsplit(' ').next().unwrap_or_default();
        let after = after.split(' ').next().unwrap_or_default();
        let after = after.strip_prefix("'s").or_else(|| after.strip_prefix("’s")).unwrap_or(after);
        before.chars().all(|mark| BEFORE.contains(mark)) && after.chars().all(|mark| AFTER.contains(mark))
    })
}

/// Splits sentences at a full stop between a lower-case and an upper-case letter.
fn part_sentences(text: &str) -> String {
    let mut parted = String::with_capacity(text.len() + 8);
    let mut before = [' '; 2];
    for next in text.chars() {
        if next.is_uppercase() && before[1] == '.' && before[0].is_lowercase() {
            parted.push(' ');
        }
        parted.push(next);
        before = [before[1], next];
    }
    parted
}

/// In lower case, with one space between words.
fn normal(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The number that a word denotes: `1,200`, `$50`, `12.50`.
fn number(word: &str) -> Option<f64> {
    let is_mark = |mark: char| mark != '-' && (BEFORE.contains(mark) || AFTER.contains(mark));
    let word = word.trim_matches(is_mark);
    let word = word.trim_end_matches(['-']);
    let plain = word.trim_start_matches(['$', '€', '£']);
    let grouped =
        plain.split(',').skip(1).all(|part| part.split('.').next().is_some_and(|part| part.len() == 3));
    let digits = plain.replace(',', "");
    (grouped && digits.starts_with(|first: char| first.is_ascii_digit() || first == '-'))
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|number: &f64| number.is_finite())
}
