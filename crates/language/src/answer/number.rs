//! Numbers as people write them in a sentence: groups of thousands, decimals, percent, scale words.

use steward_text::calendar::MONTHS;

/// The kind of a number in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FigureKind {
    /// An amount.
    Number,
    /// A date or a time, in digits.
    Date,
    /// The number of a list item, or part of a name. It is not a statement.
    Marker,
}

/// A number in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// Where it begins, in bytes.
    pub(super) start: usize,
    /// Where it ends, with its percent sign and scale.
    pub(super) end: usize,
    /// What it is.
    pub(super) kind: FigureKind,
    /// Its value, with its scale.
    pub(super) number: f64,
    /// Digits after the point.
    pub(super) decimals: u32,
    /// 1, or the scale that was written: thousand, million.
    pub(super) scale: f64,
    /// Whether it is a percentage.
    pub(super) percent: bool,
    /// Whether it is a multiple: "2.5x", "3 times".
    pub(super) times: bool,
    /// Whether it is marked as approximate: "about", "over".
    pub(super) about: bool,
    /// The month and day, where a month is named beside it.
    pub(super) day_of: Option<(u32, u32)>,
}

const ABOUT: [&str; 14] = [
    "about",
    "around",
    "roughly",
    "approximately",
    "nearly",
    "almost",
    "over",
    "under",
    "some",
    "circa",
    "than",
    "~",
    "≈",
    "ca.",
];
/// Words after which a small number refers to a part of the answer itself.
const PLACES: [&str; 6] = ["step", "option", "section", "page", "point", "part"];

/// The month that a word names, from 1: "Mar", "March".
fn month_of(word: &str) -> Option<u32> {
    let word = word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    if word.len() < 3 {
        return None;
    }
    // "may" is also a verb; a number beside it decides.
    let at =
        MONTHS.iter().position(|month| *month == word || (word.len() <= 4 && month.starts_with(&word)))?;
    u32::try_from(at + 1).ok()
}

/// The figures of a text, in order. Code blocks are skipped.
pub(super) fn scan(text: &str) -> Vec<Figure> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find(|c: char| c.is_ascii_digit() || c == '`'))
    {
        let start = at + next;
        let rest = text.get(start..).unwrap_or_default();
        if let Some(code) = rest.strip_prefix("```") {
            at = code.find("```").map_or(text.len(), |end| start + 3 + end + 3);
            continue;
        }
        if rest.starts_with('`') {
            at = start + 1;
            continue;
        }
        let (figure, end) = read(text, start);
        at = end.max(start + 1);
        found.extend(figure);
    }
    found
}

/// Parses the number that starts here. Returns where to continue.
fn read(text: &str, start: usize) -> (Option<Figure>, usize) {
    let before = text.get(..start).unwrap_or_default();
    let rest = text.get(start..).unwrap_or_default();
    let token = rest.find(|c: char| !(c.is_alphanumeric() || "-_/:.".contains(c))).unwrap_or(rest.len());
    let token = rest.get(..token).unwrap_or_default().trim_end_matches(['.', ':', '-', '/']);
    let last = before.chars().next_back();
    // A digit inside a word is part of a name.
    if last.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return (None, start + token.len());
    }
    if is_date(token) {
        let figure = Figure { kind: FigureKind::Date, ..plain(start, start + token.len()) };
        return (Some(figure), start + token.len());
    }
    let (digits, decimals, length) = digits(rest);
    let Ok(value) = digits.parse::<f64>() else { return (None, start + length.max(1)) };
    let mut figure = Figure { number: value, decimals, ..plain(start, start + length) };
    let mut after = text.get(figure.end..).unwrap_or_default();
    let suffix: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let (scale, times) = match suffix.to_lowercase().as_str() {
        "" | "st" | "nd" | "rd" | "th" | "s" | "ms" | "kg" | "km" | "h" | "g" => (1.0, false),
        "x" => (1.0, true),
        "k" => (1e3, false),
        "m" | "mn" | "mio" => (1e6, false),
        "b" | "bn" => (1e9, false),
        _ => return (None, figure.end + suffix.len()),
    };
    figure.end += suffix.len();
    (figure.scale, figure.times) = (scale, times);
    after = text.get(figure.end..).unwrap_or_default();
    let next_word = after.trim_start_matches([' ', '\u{a0}', '*', '_']);
    let gap = after.len() - next_word.len();
    let word: String = next_word.chars().take_while(|c| c.is_alphabetic()).collect();
    let scaled = match word.to_lowercase().as_str() {
        "hundred" => 1e2,
        "thousand" => 1e3,
        "million" => 1e6,
        "billion" => 1e9,
        "trillion" => 1e12,
        _ => 0.0,
    };
    if next_word.starts_with('%') {
        figure.percent = true;
        figure.end += gap + 1;
    } else if scaled > 0.0 {
        figure.scale *= scaled;
        figure.end += gap + word.len();
    } else if matches!(word.as_str(), "percent" | "percentage" | "pp") {
        figure.percent = true;
        figure.end += gap + word.len();
    } else if matches!(word.as_str(), "times" | "fold") {
        figure.times = true;
    }
    figure.number *= figure.scale;
    let words: Vec<&str> = before.rsplit([' ', '\n', '\u{a0}', '(']).take(4).collect();
    let previous = words.first().copied().unwrap_or_default();
    let previous = if previous.is_empty() { words.get(1).copied().unwrap_or_default() } else { previous };
    let trimmed =
        previous.trim_matches(|c: char| !c.is_alphanumeric() && c != '~' && c != '≈').to_lowercase();
    figure.about = words.iter().take(3).any(|word| {
        let word = word.trim_matches(['*', '_', '$', '€', '£']).to_lowercase();
        ABOUT.contains(&word.as_str())
    }) || previous.starts_with(['~', '≈']);
    if figure.decimals == 0 && !figure.percent && (1.0..=31.0).contains(&figure.number) {
        let month = month_of(previous).or_else(|| month_of(&word));
        figure.day_of = month.map(|month| (month, figure.number as u32));
        if figure.number <= 20.0 && PLACES.contains(&trimmed.as_str()) {
            figure.kind = FigureKind::Marker;
        }
    }
    if is_list_number(before, text.get(figure.end..).unwrap_or_default(), &figure) {
        figure.kind = FigureKind::Marker;
    }
    let end = figure.end;
    (Some(figure), end)
}

fn plain(start: usize, end: usize) -> Figure {
    Figure {
        start,
        end,
        kind: FigureKind::Number,
        number: 0.0,
        decimals: 0,
        scale: 1.0,
        percent: false,
        times: false,
        about: false,
        day_of: None,
    }
}

/// "1." and "2)" at the start of a line.
fn is_list_number(before: &str, after: &str, figure: &Figure) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.chars().all(|c| c.is_whitespace() || matches!(c, '*' | '-' | '#' | '>'))
        && figure.decimals == 0
        && figure.number < 100.0
        && (after.starts_with(". ") || after.starts_with(") ") || after.starts_with(".\n"))
}

/// `2021-03-05`, `2021-03`, `3/5/2021`, `12:30`.
fn is_date(token: &str) -> bool {
    let token = token.split('T').next().unwrap_or(token);
    ['-', '/', ':'].iter().any(|mark| {
        let parts: Vec<&str> = token.split(*mark).collect();
        let digits = parts.iter().all(|part| {
            !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit())
        });
        let year = parts.iter().any(|part| part.len() == 4);
        digits
            && ((2..=3).contains(&parts.len()) && (year || *mark == ':' || parts.len() == 3))
            && !(*mark == '-' && parts.len() == 2 && parts.iter().all(|part| part.len() == 4))
    })
}

/// The digits without their groups, how many stand after the point, and how long it was in bytes.
fn digits(text: &str) -> (String, u32, usize) {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut digits, mut at, mut decimals) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            digits.push(char::from(*byte));
            at += 1;
            decimals += u32::from(digits.contains('.'));
        } else if *byte == b'.' && is_digit(at + 1) && !digits.contains('.') {
            digits.push('.');
            at += 1;
        } else if let Some(width) = group_mark(text.get(at..).unwrap_or_default())
            && !digits.contains('.')
            && (0..3).all(|place| is_digit(at + width + place))
            && !is_digit(at + width + 3)
        {
            at += width;
        } else {
            break;
        }
    }
    (digits, decimals, at)
}

/// The width of a group separator.
fn group_mark(text: &str) -> Option<usize> {
    let mark = text.chars().next().filter(|c| matches!(c, ',' | '\'' | '’' | '\u{a0}' | '\u{202f}'))?;
    Some(mark.len_utf8())
}
