//! Ties spans of the question to columns, tables, values, numbers, times and words of English.
//!
//! The invariant: the marks that come out do not overlap, stand in order, and each keeps all
//! readings of its span.

use std::collections::HashMap;

use super::lexicon::{Key, is_filler, phrase};
use super::schema::{Place, Schema, fit};
use steward_text::period::{Period, read_times};
use steward_text::synonyms::demonym;
use steward_text::tokens::{Spans, Token, squash};

/// A reading of a span as a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnLink {
    pub place: Place,
    pub quality: f32,
}

/// A reading of a span as a value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueLink {
    pub place: Place,
    /// As spelled in the data.
    pub text: String,
    pub quality: f32,
    /// Only part of the value was said.
    pub part: bool,
    /// How often it occurs.
    pub count: u64,
}

/// A span of the question with everything it may mean.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Mark {
    pub from: usize,
    pub to: usize,
    pub text: String,
    pub key: Option<Key>,
    pub columns: Vec<ColumnLink>,
    pub tables: Vec<(usize, f32)>,
    pub values: Vec<ValueLink>,
    pub number: Option<f64>,
    pub time: Option<Period>,
    pub quoted: bool,
    pub used: bool,
}

impl Mark {
    /// A content word that nothing explains.
    pub(super) fn unknown(&self) -> bool {
        self.key.is_none()
            && self.columns.is_empty()
            && self.tables.is_empty()
            && self.values.is_empty()
            && self.number.is_none()
            && self.time.is_none()
    }

    /// Best quality as a column.
    pub(super) fn column_quality(&self) -> f32 {
        self.columns.iter().map(|link| link.quality).fold(0.0, f32::max)
    }

    /// Best quality as a table.
    pub(super) fn table_quality(&self) -> f32 {
        self.tables.iter().map(|(_, quality)| *quality).fold(0.0, f32::max)
    }
}

type Found = HashMap<(usize, usize), Mark>;

/// All marks of a question, in order.
pub(super) fn marks(
    tokens: &[Token],
    quoted: &[(usize, usize)],
    schema: &Schema,
    today: chrono::NaiveDate,
) -> Vec<Mark> {
    let mut found: Found = HashMap::new();
    let spans = Spans::new(tokens, 24);
    link_columns(tokens, schema, &spans, &mut found);
    link_tables(tokens, schema, &mut found);
    link_values(tokens, schema, &spans, &mut found);
    for (from, to, when) in read_times(tokens, today) {
        found.entry((from, to)).or_default().time = Some(when);
    }
    for (place, token) in tokens.iter().enumerate() {
        if let Some((key, length)) = phrase(tokens, place) {
            found.entry((place, place + length)).or_default().key = Some(key);
        }
        let ambiguous = token.word == "one"
            && !matches!(
                tokens.get(place.wrapping_sub(1)).map(|token| token.word.as_str()),
                Some("than" | "least" | "most" | "only" | "exactly")
            );
        if let Some(number) = token.number.filter(|_| !ambiguous) {
            found.entry((place, place + 1)).or_default().number = Some(number);
        }
    }
    for (from, to) in quoted {
        let mark = found.entry((*from, *to)).or_default();
        mark.quoted = true;
        mark.columns.clear();
        mark.tables.clear();
        mark.key = None;
    }
    pick(tokens, quoted, found)
}

/// Chooses the spans that explain the most of the question.
fn pick(tokens: &[Token], quoted: &[(usize, usize)], found: Found) -> Vec<Mark> {
    let mut spans: Vec<((usize, usize), Mark, f32)> = (found.into_iter())
        .filter(|((from, to), _)| {
            !quoted.iter().any(|(start, end)| {
                (start..end).contains(&from) && (from, to) != (start, end) || from < start && to > start
            })
        })
        .map(|(span, mark)| {
            let weight = weight(tokens, span, &mark);
            (span, mark, weight)
        })
        .collect();
    spans.sort_by_key(|span| span.0);
    let mut best: Vec<(f32, Option<usize>)> = vec![(0.0, None); tokens.len() + 1];
    for start in (0..tokens.len()).rev() {
        let mut top = best.get(start + 1).map_or((0.0, None), |(score, _)| (*score, None));
        let first = spans.partition_point(|((from, _), _, _)| *from < start);
        for (place, ((_, to), _, weight)) in
            spans.iter().enumerate().skip(first).take_while(|(_, span)| span.0.0 == start)
        {
            let score = weight + best.get(*to).map_or(0.0, |(score, _)| *score);
            if score > top.0 + 1e-5 {
                top = (score, Some(place));
            }
        }
        if let Some(cell) = best.get_mut(start) {
            *cell = top;
        }
    }
    let mut marks = Vec::new();
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        if let Some((span, mark, _)) =
            best.get(place).and_then(|(_, choice)| *choice).and_then(|choice| spans.get(choice))
        {
            let text = (tokens.iter().skip(span.0).take(span.1 - span.0))
                .map(|token| token.text.as_str())
                .collect::<Vec<_>>()
                .join(" ");
            marks.push(Mark { from: span.0, to: span.1, text, ..mark.clone() });
            place = span.1;
            continue;
        }
        let key = match token.word.as_str() {
            "," | ";" => Some(Key::And),
            "=" => Some(Key::Is),
            word if token.is_sign() || is_filler(word) || word == "s" => Some(Key::Filler),
            _ => None,
        };
        marks.push(Mark { from: place, to: place + 1, text: token.text.clone(), key, ..Mark::default() });
        place += 1;
    }
    marks
}

/// How much a span explains.
fn weight(tokens: &[Token], span: (usize, usize), mark: &Mark) -> f32 {
    let words = tokens.iter().skip(span.0).take(span.1 - span.0).filter(|token| !token.is_sign());
    let content = words
        .clone()
        .filter(|token| !is_filler(&token.word) && !matches!(token.word.as_str(), "of" | "in" | "for" | "by"))
        .count() as f32;
    let all = words.count() as f32;
    let long = |length: f32| length + 0.3 * (length - 1.0).max(0.0);
    let mut top = 0.0_f32;
    if mark.quoted {
        top = 50.0;
    }
    let quality = mark.column_quality();
    if quality > 0.0 {
        let (whole, length) =
            if quality >= 0.95 && all >= 2.0 { (1.3, all) } else { (1.0, content.max(1.0)) };
        top = top.max(whole * (0.5 + 0.5 * quality) * long(length));
    }
    let quality = mark.table_quality();
    if quality > 0.0 {
        top = top.max((0.5 + 0.5 * quality) * long(content.max(1.0)));
    }
    for value in &mark.values {
        top = top.max(value.quality * if all > 1.0 { 1.06 * long(all) } else { 1.02 });
    }
    if mark.number.is_some() {
        top = top.max(0.8);
    }
    if mark.time.is_some() {
        top = top.max(1.0 * long(all));
    }
    if let Some(key) = mark.key {
        let small = matches!(
            key,
            Key::Of
                | Key::Clause
                | Key::Is
                | Key::Filler
                | Key::Ask
                | Key::And
                | Key::Or
                | Key::To
                | Key::Everything
        );
        top = top.max(if small { 0.3 + 0.7 * (all - 1.0) } else { 0.9 * all + 0.3 * (all - 1.0) });
    }
    top
}

fn link_columns(tokens: &[Token], schema: &Schema, spans: &Spans, found: &mut Found) {
    for place in schema.places() {
        let Some(column) = schema.column(place) else { continue };
        let Some(words) = schema.columns.get(place.table).and_then(|columns| columns.get(place.column))
        else {
            continue;
        };
        let mut add = |span: (usize, usize), quality: f32| {
            let links = &mut found.entry(span).or_default().columns;
            match links.iter_mut().find(|link| link.place == place) {
                Some(link) => link.quality = link.quality.max(quality),
                None => links.push(ColumnLink { place, quality }),
            }
        };
        let squashed = squash(&column.label);
        if !squashed.is_empty() && squashed.parse::<f64>().is_err() {
            for span in spans.find(&squashed) {
                add(*span, 1.0);
            }
        }
        for start in 0..tokens.len() {
            for (span, quality) in match_words(tokens, start, words) {
                add(span, quality);
            }
        }
    }
    found.retain(|_, mark| !mark.columns.is_empty());
}

/// Runs of tokens from `start` that say words of a name, each with how much of the name they say.
fn match_words(tokens: &[Token], start: usize, words: &[(String, f32)]) -> Vec<((usize, usize), f32)> {
    let total: f32 = words.iter().map(|(_, weight)| weight).sum();
    let mut said = vec![false; words.len()];
    let mut found = Vec::new();
    let mut sum = 0.0;
    let mut gap = 0;
    for (offset, token) in tokens.iter().skip(start).take(14).enumerate() {
        let best = (words.iter().enumerate())
            .filter(|(place, _)| said.get(*place) == Some(&false))
            .map(|(place, (word, weight))| (fit(token, word), *weight, place))
            .filter(|(fit, _, _)| *fit > 0.0)
            .max_by(|a, b| (a.0 * (0.2 + a.1)).total_cmp(&(b.0 * (0.2 + b.1))));
        if let Some((fit, weight, place)) = best {
            if let Some(cell) = said.get_mut(place) {
                *cell = true;
            }
            sum += fit * weight;
            gap = 0;
            let quality = sum / total.max(0.1);
            if quality >= 0.24 {
                found.push(((start, start + offset + 1), quality.min(1.0)));
            }
        } else if offset == 0 {
            break;
        } else if token.is_sign() && token.word != ","
            || matches!(token.word.as_str(), "of" | "the" | "a" | "s" | "'")
            || words.len() > 2 && matches!(token.word.as_str(), "and" | "for" | "by" | "to" | "per" | "in")
        {
            gap += 1;
            if gap > 3 {
                break;
            }
        } else {
            break;
        }
    }
    found
}

fn link_tables(tokens: &[Token], schema: &Schema, found: &mut Found) {
    for (table, words) in schema.tables.iter().enumerate() {
        let bridge = schema.bridge.get(table).copied().unwrap_or(false);
        for start in 0..tokens.len() {
            for (span, quality) in match_words(tokens, start, words) {
                // The head noun alone names the table well enough: "makers" of a table of car
                // makers.
                let quality = if (0.45..0.95).contains(&quality) { 0.45 + 0.55 * quality } else { quality };
                let quality = if bridge { quality * 0.6 } else { quality };
                if quality >= 0.55 {
                    let links = &mut found.entry(span).or_default().tables;
                    links.push((table, quality));
                }
            }
        }
    }
}

fn link_values(tokens: &[Token], schema: &Schema, spans: &Spans, found: &mut Found) {
    for place in schema.places() {
        let Some(column) = schema.column(place) else { continue };
        for (value, count) in &column.values {
            if value.len() > 200 {
                continue;
            }
            let squashed = squash(value);
            if squashed.is_empty() {
                continue;
            }
            for span in spans.find(&squashed) {
                let quality = value_quality(tokens, *span, value);
                if quality > 0.0 {
                    let values = &mut found.entry(*span).or_default().values;
                    values.push(ValueLink {
                        place,
                        text: value.clone(),
                        quality,
                        part: false,
                        count: *count,
                    });
                }
            }
        }
    }
}

/// How sure a span is a value: small words and bare numbers are often something else.
fn value_quality(tokens: &[Token], span: (usize, usize), value: &str) -> f32 {
    let mut words = tokens.iter().skip(span.0).take(span.1 - span.0).filter(|token| !token.is_sign());
    let (Some(first), None) = (words.next(), words.next()) else { return 1.0 };
    let spelled_out = value.chars().any(char::is_alphabetic);
    if !spelled_out && first.number.is_some() {
        return 0.7;
    }
    let known = phrase(tokens, span.0).is_some() || is_filler(&first.word);
    match (known, first.capital) {
        (true, true) => 0.75,
        (true, false) => 0.0,
        (false, _) if first.word.chars().count() == 1 => 0.5,
        _ => 0.97,
    }
}

/// Second look: words that nothing explains, as a part of a value or as a value spelled a little
/// differently.
pub(super) fn link_leftovers(marks: &mut Vec<Mark>, tokens: &[Token], schema: &Schema) {
    if !marks.iter().any(Mark::unknown) {
        return;
    }
    let lowered = lowered(schema);
    let mut place = 0;
    while place < marks.len() {
        let run = marks.iter().skip(place).take_while(|mark| mark.unknown() && !mark.used).count();
        if run == 0 {
            place += 1;
            continue;
        }
        for length in (1..=run.min(5)).rev() {
            let (Some(first), Some(last)) = (marks.get(place), marks.get(place + length - 1)) else { break };
            let words: Vec<&Token> = tokens
                .iter()
                .skip(first.from)
                .take(last.to - first.from)
                .filter(|token| !token.is_sign())
                .collect();
            let values = partial_values(&words, &lowered, schema);
            if !values.is_empty() {
                let text = words.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ");
                let merged = Mark { from: first.from, to: last.to, text, values, ..Mark::default() };
                marks.splice(place..place + length, [merged]);
                break;
            }
        }
        place += 1;
    }
}

/// Every text value in lower case, made once for all words of a question.
fn lowered<'s>(schema: &Schema<'s>) -> Vec<(Place, String, &'s str, u64)> {
    let text = schema.places().filter_map(|place| schema.column(place).map(|column| (place, column)));
    text.filter(|(_, column)| column.kind == crate::frame::Kind::Text)
        .flat_map(|(place, column)| {
            column
                .values
                .iter()
                .map(move |(value, count)| (place, value.to_lowercase(), value.as_str(), *count))
        })
        .filter(|(_, lower, _, _)| lower.len() <= 200)
        .collect()
}

fn partial_values(
    words: &[&Token],
    lowered: &[(Place, String, &str, u64)],
    schema: &Schema,
) -> Vec<ValueLink> {
    let letters: usize = words.iter().map(|token| token.word.len()).sum();
    if letters < 3 {
        return Vec::new();
    }
    let said = words.iter().map(|token| token.word.as_str()).collect::<Vec<_>>().join(" ");
    let mut found: Vec<ValueLink> = Vec::new();
    for (place, lower, value, count) in lowered {
        let quality = partial_quality(&said, words, lower);
        if quality > 0.0 {
            found.push(ValueLink {
                place: *place,
                text: (*value).to_owned(),
                quality,
                part: true,
                count: *count,
            });
        }
    }
    if let [only] = words {
        found.extend(gender(&only.word, schema));
    }
    let top = found.iter().map(|link| link.quality).fold(0.0, f32::max);
    found.retain(|link| link.quality >= top - 0.05);
    if found.len() > 40 { Vec::new() } else { found }
}

/// "female students" where the data says F.
fn gender(word: &str, schema: &Schema) -> Vec<ValueLink> {
    let letter = match word {
        "female" | "females" | "woman" | "women" | "girl" | "girls" => "f",
        "male" | "males" | "man" | "men" | "boy" | "boys" => "m",
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for place in schema.places() {
        let Some(column) = schema.column(place).filter(|column| column.values.len() <= 4) else { continue };
        let both = ["f", "m"]
            .iter()
            .all(|wanted| column.values.iter().any(|(value, _)| value.eq_ignore_ascii_case(wanted)));
        let named = schema.has_stem(place, &["sex", "gender"]);
        for (value, count) in
            column.values.iter().filter(|(value, _)| (both || named) && value.eq_ignore_ascii_case(letter))
        {
            found.push(ValueLink { place, text: value.clone(), quality: 0.95, part: false, count: *count });
        }
    }
    found
}

fn partial_quality(said: &str, words: &[&Token], lower: &str) -> f32 {
    let (length, other) = (said.chars().count(), lower.chars().count());
    if length >= 5 && other >= 5 {
        let most = if length >= 9 { 2 } else { 1 };
        if distance_ok(said, lower, most) {
            return 0.85;
        }
    }
    // Initials: "United States" for "us" or "usa".
    if words.len() >= 2 && (2..=4).contains(&other) {
        let initials: String = words.iter().filter_map(|token| token.word.chars().next()).collect();
        if lower == initials || lower.len() == initials.len() + 1 && lower.starts_with(&initials) {
            return 0.7;
        }
    }
    if let [only] = words
        && demonym(&only.word).is_some_and(|countries| countries.contains(&lower))
    {
        return 0.9;
    }
    if let [only] = words
        && other >= 4
        && length >= 5
        && lower.chars().all(char::is_alphabetic)
        && (lower.starts_with(&only.stem) || only.word.starts_with(lower) && length <= other + 3)
        && other.abs_diff(length) <= 4
    {
        return 0.7;
    }
    // All the words stand in the value.
    if other > length && length >= 4 {
        let inside: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
        if words.iter().all(|token| inside.contains(&token.word.as_str())) {
            return 0.55 + 0.3 * length as f32 / other as f32;
        }
    }
    0.0
}

fn distance_ok(said: &str, lower: &str, most: usize) -> bool {
    said.chars().next() == lower.chars().next() && steward_text::tokens::distance(said, lower, most) <= most
}
