//! Positions in a list: "the second one", "the last two", "both".

use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

/// A position in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListPosition {
    Nth(usize),
    Last,
    First(usize),
    LastOf(usize),
    All,
    Both,
}

const ORDINALS: &[&str] =
    &["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
const COUNTS: &[&str] = &["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

static SEVERAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:^|\bthe |\bmy )(?P<end>first|last|top|bottom) (?P<n>two|three|four|five|six|seven|eight|nine|ten|\d{1,2})\b",
    )
});
static ALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:all of (?:them|these|those|it)|them all|these all|all (?:two|three|four|five|six|\d)|every one of them|(?:these|those) (?:two|three|four|five|six|\d))\b",
    )
});
static BOTH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bboth\b"));
static NTH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:^|\bthe |\bthat |\bnumber |\bno )(?:very )?(?P<n>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|latter|former|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}(?:st|nd|rd|th))(?P<one> one\b| \w+|\W|$)",
    )
});

/// The position that a text names.
pub(super) fn place(plain: &str) -> Option<ListPosition> {
    placed(plain).map(|(place, _)| place)
}

/// The noun after a position, which may name the type: "the second task", "both of the notes".
fn noun(plain: &str, end: usize) -> Option<String> {
    let rest = plain.get(end..)?.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    rest.take(4)
        .find(|word| !["of", "the", "my", "our", "these", "those", "one", "ones"].contains(word))
        .map(str::to_owned)
}

/// The position that a text names, with the noun after it.
pub(super) fn placed(plain: &str) -> Option<(ListPosition, Option<String>)> {
    let at = |found: Option<regex::Match<'_>>| found.and_then(|found| noun(plain, found.end()));
    let number = |word: &str| {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        let at = ORDINALS
            .iter()
            .position(|known| *known == word)
            .or_else(|| COUNTS.iter().position(|known| *known == word));
        at.map(|at| at + 1).or_else(|| digits.parse().ok())
    };
    if let Some(found) = SEVERAL.captures(plain) {
        let count = number(found.name("n")?.as_str())?;
        let end = found.name("end")?.as_str();
        let place = if ["last", "bottom"].contains(&end) {
            ListPosition::LastOf(count)
        } else {
            ListPosition::First(count)
        };
        return Some((place, at(found.get(0))));
    }
    if let Some(found) = ALL.find(plain) {
        return Some((ListPosition::All, at(Some(found))));
    }
    if let Some(found) = BOTH.find(plain) {
        return Some((ListPosition::Both, at(Some(found))));
    }
    for found in NTH.captures_iter(plain) {
        let (Some(word), Some(next), Some(whole)) = (found.name("n"), found.name("one"), found.get(0)) else {
            continue;
        };
        let counted = COUNTS.contains(&word.as_str());
        let time = ["week", "month", "year", "night", "time", "day", "name", "quarter", "of"]
            .contains(&next.as_str().trim());
        let dated = word.as_str().ends_with(|c: char| c.is_ascii_alphabetic())
            && word.as_str().starts_with(|c: char| c.is_ascii_digit());
        let to = plain.get(..whole.start()).is_some_and(|before| {
            before.trim_end().ends_with("to")
                || before.trim_end().ends_with("on")
                || before.trim_end().ends_with("by")
        });
        if time || (dated && to) || (counted && !whole.as_str().starts_with("number ")) {
            continue;
        }
        let noun = at(found.name("n"));
        return match word.as_str() {
            "last" | "latter" => Some((ListPosition::Last, noun)),
            "former" => Some((ListPosition::Nth(1), noun)),
            word => number(word).map(|number| (ListPosition::Nth(number), noun)),
        };
    }
    None
}
