//! Preprocesses an utterance: truncation, quotes as data, spelling correction of verbs and nouns.
//!
//! Invariant: positions stay byte positions of the original; whatever is hidden or corrected keeps
//! its length here.

use super::lexicon::{FILLERS, TRAILERS, root};
use crate::pattern::pattern;
use crate::words::words;
use regex::Regex;
use std::sync::LazyLock;

/// Maximum length of an utterance, in bytes; the rest is ignored.
pub(super) const LONGEST: usize = 4_000;

/// A word with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) lower: String,
    pub(super) root: String,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) capital: bool,
    pub(super) stop: bool,
    /// Whether it is inside quotes.
    pub(super) quoted: bool,
}

/// Words between quotes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quote {
    /// Where the words begin, without the quotation mark.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What was said.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// The original, truncated, with control characters replaced by spaces.
    pub(super) raw: String,
    /// In lower case, with quoted text masked.
    pub(super) plain: String,
    pub(super) quotes: Vec<Quote>,
    pub(super) tokens: Vec<Token>,
    /// Whether it was truncated.
    pub(super) cut: bool,
}

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#""(?P<a>[^"\n]+)"|“(?P<b>[^”\n]+)”|«(?P<c>[^»\n]+)»|(?:^|[\s(,:])['‘](?P<d>[^'’\n]+(?:['’](?:s|t|m|re|ve|ll|d)\b[^'’\n]*)*)['’](?:$|[\s.,;:?!)])"#,
    )
});

impl Text {
    /// Preprocesses an utterance; it cannot fail.
    pub(super) fn read(said: &str) -> Self {
        let end = (0..=LONGEST.min(said.len())).rev().find(|at| said.is_char_boundary(*at)).unwrap_or(0);
        let cut = end < said.len();
        // A control character becomes as many spaces as it has bytes.
        let raw: String = said
            .get(..end)
            .unwrap_or_default()
            .chars()
            .flat_map(|c| {
                let hidden = c.is_control();
                std::iter::repeat_n(if hidden { ' ' } else { c }, if hidden { c.len_utf8() } else { 1 })
            })
            .collect();
        let quotes = quotes(&raw);
        let plain = hide(&raw, &quotes);
        let tokens = tokens(&raw, &quotes);
        Self { raw, plain, quotes, tokens, cut }
    }

    /// A span of the original.
    pub(super) fn slice(&self, start: usize, end: usize) -> &str {
        self.raw.get(start..end).unwrap_or_default()
    }

    /// Replaces a misspelt word in `plain` and the tokens.
    pub(super) fn mend(&mut self, at: usize, right: &str) {
        if let Some(token) = self.tokens.get_mut(at) {
            token.root = root(right);
            right.clone_into(&mut token.lower);
        }
    }

    /// Two words as one.
    pub(super) fn join(&mut self, start: usize, end: usize, word: &str) {
        self.tokens.retain(|token| token.start <= start || token.end > end || token.start >= end);
        if let Some(token) = self.tokens.iter_mut().find(|token| token.start == start) {
            token.end = end;
            token.root = root(word);
            word.clone_into(&mut token.lower);
            token.stop = false;
        }
    }

    /// Replaces commas and full stops between two positions by spaces.
    pub(super) fn unpart(&mut self, start: usize, end: usize) {
        if let Some(piece) = self.plain.get(start..end) {
            let plain = piece.replace([',', '.', ';'], " ");
            self.plain.replace_range(start..end, &plain);
        }
    }

    /// The start and end of the request between two positions, without politeness.
    pub(super) fn trimmed(&self, start: usize, end: usize) -> (usize, usize) {
        let piece = self.plain.get(start..end).unwrap_or_default();
        let begin = FILLERS.find(piece).map_or(0, |found| found.end());
        let rest = piece.get(begin..).unwrap_or_default();
        let stop = TRAILERS.find(rest).map_or(rest.len(), |found| found.start());
        if stop == 0 { (start, end) } else { (start + begin, start + begin + stop) }
    }
}

fn quotes(raw: &str) -> Vec<Quote> {
    let pattern = &*QUOTED;
    let mut found: Vec<Quote> = Vec::new();
    for captures in pattern.captures_iter(raw) {
        let inner = ["a", "b", "c", "d"].iter().find_map(|name| captures.name(name));
        if let Some(inner) = inner.filter(|inner| !inner.as_str().trim().is_empty()) {
            found.push(Quote { start: inner.start(), end: inner.end() });
        }
    }
    found
}

/// Lower case, with quoted text masked, byte for byte.
fn hide(raw: &str, quotes: &[Quote]) -> String {
    let mut plain = String::with_capacity(raw.len());
    for (at, c) in raw.char_indices() {
        if quotes.iter().any(|quote| quote.start <= at && at < quote.end) {
            plain.extend(std::iter::repeat_n('q', c.len_utf8()));
        } else {
            plain.push(c.to_ascii_lowercase());
        }
    }
    plain
}

fn tokens(raw: &str, quotes: &[Quote]) -> Vec<Token> {
    let quoted = |at: usize| quotes.iter().any(|quote| quote.start <= at && at < quote.end);
    words(raw)
        .into_iter()
        .map(|word| Token {
            root: root(&word.lower),
            stop: word.stop,
            start: word.start,
            end: word.end,
            capital: word.capital,
            quoted: quoted(word.start),
            lower: word.lower,
        })
        .collect()
}

/// Whether two words differ by one typo: a missing, additional, wrong, or swapped letter. The first
/// letter must match.
pub(super) fn slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a == b || a.first() != b.first() || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = |from: usize, other: usize| a.get(from..) == b.get(other..);
    let swapped =
        a.get(same) == b.get(same + 1) && a.get(same + 1) == b.get(same) && tail(same + 2, same + 2);
    tail(same + 1, same) || tail(same, same + 1) || tail(same + 1, same + 1) || swapped
}

/// Whether two words of one length have the same letters.
pub(super) fn swapped(a: &str, b: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_hidden_and_places_stay() {
        let text = Text::read("add 'delete it' to \"Ana's list\"");
        assert_eq!(text.plain, "add 'qqqqqqqqq' to \"qqqqqqqqqq\"");
        assert_eq!(text.quotes.len(), 2);
        assert_eq!(text.slice(5, 14), "delete it");
    }

    #[test]
    fn one_slip_is_seen() {
        for (a, b) in [
            ("taks", "task"),
            ("lst", "list"),
            ("compleet", "complete"),
            ("nwe", "new"),
            ("serach", "search"),
        ] {
            assert!(slip(a, b), "{a} {b}");
        }
        assert!(!slip("ask", "task") && !slip("note", "nose list"));
    }

    #[test]
    fn anything_can_be_read() {
        for said in ["", "\0\u{7}", "日本語のテキスト", "'", "\"\"", &"x".repeat(200_000)] {
            let text = Text::read(said);
            assert!(text.raw.len() <= LONGEST);
            assert_eq!(text.raw.len(), text.plain.len());
        }
    }
}
