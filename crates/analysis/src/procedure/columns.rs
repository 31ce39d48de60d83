//! Which columns and values a text speaks of.
//!
//! A mention has a score: 1 for the exact name (in quotes, or written as it stands), less for a
//! name in other words ("number of doubles" for `doubles`, "passenger class" for `pclass`).
//! Mentions never overlap; the better one stays.

use super::likeness::{joined_prefixes, keep_best, word_prefixes};
use super::words::{Token, expand, is_filler, key, name_words, stem};
use crate::frame::{Frame, Kind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A column spoken of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mention {
    /// Its name in the frame.
    pub column: String,
    /// The first token.
    pub start: usize,
    /// The token after the last.
    pub end: usize,
    /// From 0 to 1.
    pub score: f64,
}

/// A value of a column spoken of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueMention {
    /// The column that holds it.
    pub column: String,
    /// The value as it stands in the column.
    pub value: String,
    /// The first token.
    pub start: usize,
    /// The token after the last.
    pub end: usize,
    /// Was it in quotes?
    pub quoted: bool,
}

/// A column with the words of its name, prepared once.
#[derive(Debug, Clone)]
struct ColumnWords {
    name: String,
    key: String,
    stems: Vec<String>,
    raw: Vec<String>,
    names_id: bool,
}

/// The columns of a frame, ready to be recognised.
#[derive(Debug, Clone)]
pub(super) struct Lexicon {
    columns: Vec<ColumnWords>,
    uses: BTreeMap<String, usize>,
    values: BTreeMap<String, Vec<String>>,
}

/// Words that are also names of statistics or of everyday things; alone, in other case, they are
/// weak evidence.
fn is_common(word: &str) -> bool {
    const COMMON: [&str; 30] = [
        "count", "date", "time", "value", "values", "number", "type", "class", "name", "mean", "median",
        "mode", "range", "high", "low", "open", "close", "text", "id", "index", "rank", "total", "average",
        "score", "category", "full", "result", "data", "source", "title",
    ];
    COMMON.contains(&word)
}

impl Lexicon {
    /// Prepares the columns of a frame.
    #[must_use]
    pub(super) fn new(frame: &Frame) -> Self {
        let mut lexicon = Self { columns: Vec::new(), uses: BTreeMap::new(), values: BTreeMap::new() };
        for (place, field) in frame.fields.iter().enumerate() {
            lexicon.add(&field.name);
            // A unit in brackets is rarely spoken: "sepal length" for `sepal length (cm)`.
            if let Some((bare, _)) =
                field.name.split_once(['(', '[']).filter(|(bare, _)| !bare.trim().is_empty())
            {
                lexicon.alias(&field.name, &name_words(bare));
            }
            if let Some(values) = distinct(frame, place, field.kind) {
                lexicon.values.insert(field.name.clone(), values);
            }
        }
        lexicon
    }

    /// Adds a column that a step will create.
    pub(super) fn add(&mut self, name: &str) {
        if self.columns.iter().any(|known| known.name == name) {
            return;
        }
        let raw = name_words(name);
        let stems: Vec<String> = raw.iter().map(|w| expand(w)).filter(|w| !is_filler(w)).map(stem).collect();
        for word in stems.iter().collect::<BTreeSet<_>>() {
            *self.uses.entry(word.clone()).or_default() += 1;
        }
        let names_id =
            raw.iter().any(|w| ["id", "ids", "key", "code", "uuid", "index"].contains(&w.as_str()));
        self.columns.push(ColumnWords { name: name.to_owned(), key: key(name), stems, raw, names_id });
    }

    /// Adds another name of a column: "atmospheric temperature" for `AT`.
    pub(super) fn alias(&mut self, column: &str, words: &[String]) {
        let stems: Vec<String> = words.iter().map(|w| stem(expand(w))).collect();
        let known = self.columns.iter().any(|k| k.name == column && k.stems == stems);
        if stems.is_empty() || known {
            return;
        }
        for word in stems.iter().collect::<BTreeSet<_>>() {
            if !self.columns.iter().any(|k| k.name == column && k.stems.contains(word)) {
                *self.uses.entry(word.clone()).or_default() += 1;
            }
        }
        self.columns.push(ColumnWords {
            name: column.to_owned(),
            key: words.concat(),
            stems,
            raw: words.to_vec(),
            names_id: false,
        });
    }

    /// All words under which a column is known.
    #[must_use]
    pub(super) fn words_of(&self, column: &str) -> Vec<String> {
        self.columns.iter().filter(|k| k.name == column).flat_map(|k| k.raw.iter().cloned()).collect()
    }

    /// Adds the labels of a column that a step will create.
    pub(super) fn add_values(&mut self, name: &str, labels: Vec<String>) {
        self.values.insert(name.to_owned(), labels);
    }

    /// The values of a column with few distinct ones.
    #[must_use]
    pub(super) fn values_of(&self, column: &str) -> &[String] {
        self.values.get(column).map_or(&[], Vec::as_slice)
    }

    /// The columns a stretch of tokens speaks of, in order of place.
    #[must_use]
    pub(super) fn mentions(&self, tokens: &[Token]) -> Vec<Mention> {
        let mut found = Vec::new();
        for start in 0..tokens.len() {
            if !tokens.get(start).is_some_and(|t| t.word) {
                continue;
            }
            self.exact(tokens, start, &mut found);
            self.worded(tokens, start, &mut found);
            self.abbreviated(tokens, start, &mut found);
        }
        let mut kept = keep_best(found);
        // A column named beyond doubt somewhere is also meant where its name is used as a plain
        // word.
        let sure: BTreeSet<String> =
            kept.iter().filter(|m| m.score >= 0.9).map(|m| m.column.clone()).collect();
        for mention in kept.iter_mut().filter(|m| m.score < 0.6 && sure.contains(&m.column)) {
            mention.score = 0.6;
        }
        kept
    }

    /// Names written out, whatever stands between their words.
    fn exact(&self, tokens: &[Token], start: usize, found: &mut Vec<Mention>) {
        let first = tokens.get(start);
        let mut joined = String::new();
        let mut written = String::new();
        for (place, token) in tokens.iter().enumerate().skip(start).take(24) {
            if token.text == "\n" || first.map(|t| t.quote) != Some(token.quote) {
                break;
            }
            if place > start && token.spaced {
                written.push(' ');
            }
            written.push_str(&token.text);
            if !token.word {
                continue;
            }
            joined.push_str(&token.lower);
            for known in self.columns.iter().filter(|known| known.key == joined) {
                if let Some(score) = exact_score(known, tokens, (start, place + 1), &written) {
                    found.push(Mention { column: known.name.clone(), start, end: place + 1, score });
                }
            }
            if joined.len() > 80 {
                break;
            }
        }
    }

    /// Names in other words: all content words of the name near each other, or one that no other
    /// column has.
    fn worded(&self, tokens: &[Token], start: usize, found: &mut Vec<Mention>) {
        let Some(first) = tokens.get(start) else { return };
        let window: Vec<(usize, String)> = tokens
            .iter()
            .enumerate()
            .skip(start)
            .take_while(|(_, t)| t.text != "\n")
            .filter(|(_, t)| t.word)
            .take(7)
            .map(|(place, t)| (place, stem(expand(&t.lower))))
            .collect();
        let first_stem = stem(expand(&first.lower));
        if is_filler(&first.lower) || first.lower.chars().count() < 3 {
            return;
        }
        for known in &self.columns {
            if !known.stems.contains(&first_stem) || known.stems.is_empty() {
                continue;
            }
            let reach = known.stems.len() + 2;
            let hits: Vec<&(usize, String)> =
                window.iter().take(reach).filter(|(_, s)| known.stems.contains(s)).collect();
            let matched: BTreeSet<&String> = hits.iter().map(|(_, s)| s).collect();
            let all: BTreeSet<&String> = known.stems.iter().collect();
            let end = hits.last().map_or(start, |(place, _)| *place) + 1;
            let telling: Vec<&&String> = all.iter().filter(|s| !is_statistic_stem(s)).collect();
            let score = if known.names_id && matched.len() < all.len() {
                // "passengers" does not speak of the column that numbers them.
                0.0
            } else if matched.len() == all.len() && all.len() > 1 {
                0.78
            } else if !telling.is_empty()
                && telling.len() < all.len()
                && telling.iter().all(|s| matched.contains(**s))
            {
                0.7
            } else if matched.len() == all.len() {
                // A single common word in other case is hardly evidence.
                if all.len() == 1 && is_common(&first.lower) { 0.3 } else { 0.75 }
            } else {
                self.partial(&matched, &all, &first.lower)
            };
            if score > 0.0 {
                found.push(Mention { column: known.name.clone(), start, end, score });
            }
        }
    }

    fn partial(&self, matched: &BTreeSet<&String>, all: &BTreeSet<&String>, first: &str) -> f64 {
        let unique =
            matched.iter().filter(|s| self.uses.get(**s) == Some(&1) && s.chars().count() >= 3).count();
        if unique == 0 || (matched.len() == 1 && (is_common(first) || is_statistic(expand(first)))) {
            return 0.0;
        }
        0.4 + 0.3 * matched.len() as f64 / all.len() as f64
    }

    /// Names made of the beginnings of words: `pclass` for "passenger class", `per_dem` for
    /// "percentage ... Democratic".
    fn abbreviated(&self, tokens: &[Token], start: usize, found: &mut Vec<Mention>) {
        let words: Vec<(usize, &str)> = tokens
            .iter()
            .enumerate()
            .skip(start)
            .take_while(|(_, t)| t.text != "\n")
            .filter(|(place, t)| t.word && (*place == start || !is_filler(&t.lower)))
            .take(8)
            .map(|(place, t)| (place, t.lower.as_str()))
            .collect();
        for known in &self.columns {
            let begins = words.first().filter(|(_, w)| {
                known.raw.len() == 1
                    && known.key.len() >= 4
                    && !is_common(&known.key)
                    && w.starts_with(&known.key)
                    && w.len() > known.key.len() + 2
                    && w.len() <= known.key.len() + 7
            });
            if let Some((place, _)) = begins {
                found.push(Mention { column: known.name.clone(), start, end: place + 1, score: 0.45 });
            }
            if known.raw.len() == 1 && (4..=12).contains(&known.key.len()) && !is_common(&known.key) {
                if let Some(end) = joined_prefixes(&known.key, &words) {
                    found.push(Mention { column: known.name.clone(), start, end, score: 0.6 });
                }
            } else if known.raw.len() >= 2
                && known.raw.iter().all(|w| w.len() >= 3)
                && let Some(end) = word_prefixes(&known.raw, &words)
            {
                found.push(Mention { column: known.name.clone(), start, end, score: 0.5 });
            }
        }
    }

    /// The values a stretch of tokens speaks of.
    #[must_use]
    pub(super) fn values(&self, tokens: &[Token]) -> Vec<ValueMention> {
        let mut found: Vec<ValueMention> = Vec::new();
        for (column, values) in &self.values {
            for value in values {
                let wanted: Vec<String> = name_or_words(value).iter().map(|w| stem(w)).collect();
                if wanted.is_empty() || wanted.iter().map(String::len).sum::<usize>() == 0 {
                    continue;
                }
                let places: Vec<usize> =
                    (0..tokens.len()).filter(|p| tokens.get(*p).is_some_and(|t| t.word)).collect();
                for window in places.windows(wanted.len()) {
                    let stems = window.iter().filter_map(|p| tokens.get(*p)).map(|t| t.stem.as_str());
                    let (Some(first), Some(last)) = (window.first(), window.last()) else { continue };
                    if last - first > 3 * wanted.len() || !stems.eq(wanted.iter().map(String::as_str)) {
                        continue;
                    }
                    let quoted = quoted_whole(tokens, *first, *last);
                    let exact = tokens.get(*first).is_some_and(|t| t.text == *value)
                        && value.chars().all(|c| c.is_uppercase() || c.is_ascii_digit());
                    let plain_value = value.chars().count() >= 3 && !is_filler(&value.to_lowercase())
                        || value.chars().count() == 2 && exact;
                    if quoted || (plain_value && !value.chars().all(|c| c.is_ascii_digit() || c == '.')) {
                        let (start, end) = (*first, last + 1);
                        found.push(ValueMention {
                            column: column.clone(),
                            value: value.clone(),
                            start,
                            end,
                            quoted,
                        });
                    }
                }
            }
        }
        found.sort_by_key(|m| (m.start, std::cmp::Reverse(m.end)));
        found
    }
}

fn name_or_words(value: &str) -> Vec<String> {
    value.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect()
}

/// The same by stem: words of a name that may be left out.
fn is_statistic_stem(word: &str) -> bool {
    ["number", "averag", "percent", "indicator", "minimum", "maximum", "row", "total", "valu", "column"]
        .contains(&word)
}

fn is_statistic(word: &str) -> bool {
    [
        "number",
        "average",
        "percent",
        "percentage",
        "rate",
        "minimum",
        "maximum",
        "row",
        "difference",
        "ratio",
        "level",
    ]
    .contains(&word)
}

/// The distinct values of a column with few of them, as text.
fn distinct(frame: &Frame, column: usize, kind: Kind) -> Option<Vec<String>> {
    if !matches!(kind, Kind::Text | Kind::Boolean | Kind::Integer | Kind::Number) {
        return None;
    }
    let limit = if kind == Kind::Text { 300 } else { 30 };
    let mut values = BTreeSet::new();
    for value in frame.column(column).filter(|v| !v.is_null()) {
        let text = match value {
            Value::Float(f) if f.fract() == 0.0 => format!("{f:.0}"),
            other => other.plain(),
        };
        if text.chars().count() <= 60 {
            values.insert(text);
        }
        if values.len() > limit {
            return None;
        }
    }
    Some(values.into_iter().collect())
}

fn exact_score(known: &ColumnWords, tokens: &[Token], span: (usize, usize), written: &str) -> Option<f64> {
    let (start, end) = span;
    let quoted = quoted_whole(tokens, start, end - 1);
    let same =
        written == known.name || written.trim_matches(|c: char| !c.is_alphanumeric()) == known.name.trim();
    let lower = known.key.as_str();
    if quoted {
        return Some(if same { 1.0 } else { 0.95 });
    }
    let capitals = known.name.chars().any(char::is_uppercase) && !known.name.chars().any(char::is_lowercase);
    if lower.chars().count() <= 2 || is_filler(lower) {
        let sole = lower.chars().count() == 1 && !known.name.chars().any(char::is_uppercase);
        let called = |place: Option<usize>| {
            place
                .and_then(|p| tokens.get(p))
                .is_some_and(|t| ["column", "columns", "feature", "variable"].contains(&t.lower.as_str()))
        };
        if same
            && (called(start.checked_sub(1))
                || called(Some(end))
                || lower.chars().any(|c| c.is_ascii_digit()))
            && !is_filler(lower)
        {
            return Some(0.9);
        }
        return (same
            && !sole
            && (capitals || !is_filler(lower) && known.name.chars().any(char::is_uppercase)))
        .then_some(0.75);
    }
    if same {
        return Some(if is_common(lower) && known.name.chars().all(|c| !c.is_uppercase()) {
            0.45
        } else {
            0.98
        });
    }
    Some(if is_common(lower) { 0.3 } else { 0.9 })
}

/// Do these tokens fill a pair of quotes exactly?
fn quoted_whole(tokens: &[Token], first: usize, last: usize) -> bool {
    let quote = tokens.get(first).map_or(0, |t| t.quote);
    if quote == 0 || tokens.get(last).map(|t| t.quote) != Some(quote) {
        return false;
    }
    let outside = |place: Option<usize>| {
        let mut place = place;
        // Signs of the name itself, such as a leading dot, may stand inside the quotes too.
        while let Some(token) = place.and_then(|p| tokens.get(p)) {
            if token.quote != quote {
                return true;
            }
            if token.word {
                return false;
            }
            place = None;
        }
        true
    };
    outside(first.checked_sub(1)) && outside(Some(last + 1))
}

#[cfg(test)]
mod check {
    use super::super::words::tokens;
    use super::*;
    use crate::frame::Field;

    fn lexicon(names: &[&str]) -> Lexicon {
        let fields = names.iter().map(|n| Field::new(*n, Kind::Number)).collect();
        Lexicon::new(&Frame { name: String::new(), fields, rows: Vec::new() })
    }

    fn found(names: &[&str], text: &str) -> Vec<String> {
        lexicon(names)
            .mentions(&tokens(text))
            .into_iter()
            .filter(|m| m.score >= 0.4)
            .map(|m| m.column)
            .collect()
    }

    #[test]
    fn names_in_any_dress() {
        assert_eq!(found(&["WINDSPEED", "AT"], "the mean wind speed at noon"), ["WINDSPEED"]);
        assert_eq!(found(&["Pclass", "Fare"], "passenger class and the fare paid"), ["Pclass", "Fare"]);
        assert_eq!(found(&["row m/z", "row ID"], "Is the \"row m/z\" column normal?"), ["row m/z"]);
        assert_eq!(
            found(&["avg. num. agents talking ", "avg. wait time "], "average number of agents talking"),
            ["avg. num. agents talking "]
        );
        assert_eq!(
            found(&["number_of_doubles", "number_of_hits"], "doubles hit by a player"),
            ["number_of_doubles", "number_of_hits"]
        );
        assert_eq!(
            found(&["per_dem", "per_gop"], "percentage of votes received by the Democratic party"),
            ["per_dem"]
        );
    }
}
