//! Links spans of a question to operators, columns, tables, values, numbers and periods.
//!
//! Marks do not overlap, stand in order, and keep every meaning of their span with its evidence. A
//! common word alone never links to a long value.

mod rest;

use super::lexicon::{Operator, are_synonyms, phrases_at};
use crate::catalogue::{Catalogue, Column, Table};
use crate::planner::Meaning;
use crate::roles::{Role, role};
use rest::{link_money, link_rest};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use steward_text::period::{Period, read_times};
use steward_text::synonyms::expand;
use steward_text::tokens::{Spans, Token, distance, name_words, squash, stem};

/// A column: its table and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColumnRef {
    /// Position of the table in the catalogue.
    pub table: usize,
    /// Position of the column in its table.
    pub column: usize,
}

/// Values of one column that a span may mean.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueLink {
    pub place: ColumnRef,
    pub values: Vec<String>,
    pub quality: f32,
}

/// A span with everything it may mean.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Mark {
    pub from: usize,
    pub to: usize,
    pub text: String,
    pub operator: Option<Operator>,
    pub columns: Vec<(ColumnRef, f32)>,
    pub tables: Vec<(usize, f32)>,
    pub values: Vec<ValueLink>,
    pub number: Option<f64>,
    pub percent: bool,
    pub period: Option<Period>,
    pub quoted: bool,
    pub plural: bool,
    /// Linked by nothing but nearness in meaning.
    pub by_meaning: bool,
    /// A price and a quantity whose product is meant.
    pub products: Vec<(ColumnRef, ColumnRef)>,
}

impl Mark {
    pub(crate) fn is_unknown(&self) -> bool {
        self.operator.is_none()
            && self.columns.is_empty()
            && self.tables.is_empty()
            && self.values.is_empty()
            && self.number.is_none()
            && self.period.is_none()
            && self.products.is_empty()
    }
    /// Carries no meaning of its own.
    pub(crate) fn is_glue(&self) -> bool {
        matches!(
            self.operator,
            Some(
                Operator::Filler
                    | Operator::Of
                    | Operator::Is
                    | Operator::And
                    | Operator::Clause
                    | Operator::Which
                    | Operator::Show
                    | Operator::Only
                    | Operator::Since
                    | Operator::Until
            )
        )
    }
    /// Speaks of time without naming one.
    pub(crate) fn is_time_word(&self) -> bool {
        matches!(
            self.operator,
            Some(
                Operator::Grain(_)
                    | Operator::Part(_)
                    | Operator::Trend
                    | Operator::Growth
                    | Operator::Running
            )
        ) || matches!(
            self.text.to_lowercase().trim_end_matches('s'),
            "day" | "week" | "month" | "quarter" | "year" | "hour" | "weekday" | "date"
        )
    }
    pub(crate) fn column_quality(&self) -> f32 {
        self.columns.iter().map(|(_, quality)| *quality).fold(0.0, f32::max)
    }
    pub(crate) fn table_quality(&self) -> f32 {
        self.tables.iter().map(|(_, quality)| *quality).fold(0.0, f32::max)
    }
    pub(crate) fn value_quality(&self) -> f32 {
        self.values.iter().map(|link| link.quality).fold(0.0, f32::max)
    }
}

/// A column, the stems of its name with their weights, and its role.
type NamedColumn = (ColumnRef, Vec<(String, f32)>, Role);

/// The names and roles of a catalogue, prepared for linking.
pub(crate) struct Schema<'a> {
    pub catalogue: &'a Catalogue,
    columns: Vec<NamedColumn>,
    tables: Vec<Vec<(String, f32)>>,
    /// What one row is, by the name of its key: "item" of `item_id`.
    entities: Vec<Option<String>>,
}

const GENERIC: &str =
    "id name number code date total type value amount no of per the in key nr description data info";

impl<'a> Schema<'a> {
    pub(crate) fn new(catalogue: &'a Catalogue) -> Self {
        let tables: Vec<Vec<(String, f32)>> = (catalogue.tables.iter()).map(table_words).collect();
        let columns: Vec<NamedColumn> = (catalogue.tables.iter().enumerate())
            .flat_map(|(at, table)| {
                let own: Vec<String> = name_words(&table.label).iter().map(|word| stem(word)).collect();
                let single = catalogue.tables.len() == 1;
                (table.columns.iter().enumerate())
                    .map(|(column, known)| {
                        let place = ColumnRef { table: at, column };
                        let words = column_words(known, if single { &[] } else { &own });
                        (place, words, role(catalogue, table, known))
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        let entities = (catalogue.tables.iter().enumerate())
            .map(|(at, table)| row_entity(table, at, &columns))
            .collect();
        Self { catalogue, columns, tables, entities }
    }
    pub(crate) fn table(&self, at: usize) -> Option<&'a Table> {
        self.catalogue.tables.get(at)
    }
    pub(crate) fn column(&self, place: ColumnRef) -> Option<&'a Column> {
        self.table(place.table)?.columns.get(place.column)
    }
    pub(crate) fn role(&self, place: ColumnRef) -> Role {
        self.columns.iter().find(|(known, ..)| *known == place).map_or(Role::Text, |(_, _, role)| *role)
    }
    pub(crate) fn places(&self) -> impl Iterator<Item = (ColumnRef, Role)> + '_ {
        self.columns.iter().map(|(place, _, role)| (*place, *role))
    }
    /// How well the name of a column fits a word.
    pub(crate) fn fits(&self, place: ColumnRef, word: &str) -> f32 {
        let token = Token {
            text: word.to_owned(),
            word: word.to_owned(),
            stem: stem(word),
            number: None,
            capital: false,
        };
        let words = self.columns.iter().find(|(known, ..)| *known == place).map(|(_, words, _)| words);
        words
            .into_iter()
            .flatten()
            .map(|(name, weight)| fit(&token, name) * weight.max(0.3))
            .fold(0.0, f32::max)
    }
}

/// What one row of a table is, by the name of the identifier that differs in every row: "trip" of
/// `trip_id`.
fn row_entity(table: &Table, at: usize, columns: &[NamedColumn]) -> Option<String> {
    const ENDINGS: [&str; 7] = ["id", "no", "nr", "number", "code", "key", "ref"];
    table.columns.iter().enumerate().find_map(|(place, column)| {
        let place = ColumnRef { table: at, column: place };
        let is_key = columns.iter().any(|(known, _, role)| *known == place && *role == Role::Identifier);
        let unique = column.distinct > 1 && column.distinct == column.seen && column.nulls == 0;
        let words = name_words(&column.label);
        match words.as_slice() {
            [noun, ending] if is_key && unique && ENDINGS.contains(&ending.as_str()) => Some(stem(noun)),
            _ => None,
        }
    })
}

/// Words that say in what a number is counted. In a name of several words they say little: "spend"
/// is all of `spend_usd`.
const UNITS: &str = "usd eur gbp chf dollar dollars euro euros pound pounds cents mm cm m km mi mile miles \
    kg g gram grams lb lbs oz l ml litre litres liter liters h hr hrs hour hours min mins minute minutes sec \
    secs second \
    seconds ms day days c f kwh mwh gwh kw mw w pct percent sqm sqft m2 km2 ha hectare hectares mph kmh kph \
    hpa mb gb t tonnes tons";

fn table_words(table: &Table) -> Vec<(String, f32)> {
    let words = name_words(&table.label);
    let last = words.len().saturating_sub(1);
    (words.iter().enumerate())
        .map(|(at, word)| {
            let generic = GENERIC.split(' ').any(|known| known == word);
            (
                stem(word),
                if generic {
                    0.15
                } else if at == last {
                    1.0
                } else {
                    0.6
                },
            )
        })
        .collect()
}

/// Units whose capitals stand inside of them, which would else be taken for the start of a word.
const SPELLED: [(&str, &str); 5] =
    [("kWh", "kwh"), ("MWh", "mwh"), ("GWh", "gwh"), ("kW", "kw"), ("hPa", "hpa")];

/// The words of a column's name, and how many of them stand before a bracket.
fn label_words(label: &str) -> (Vec<String>, usize) {
    let mut spelled = label.to_owned();
    for (unit, plain) in SPELLED {
        spelled = spelled.replace(unit, &format!(" {plain} "));
    }
    let outside = spelled.split(['(', '[']).next().unwrap_or_default();
    let before = name_words(outside).len();
    let words = name_words(&spelled);
    let before = if before == 0 { words.len() } else { before };
    (words, before)
}

fn column_words(column: &Column, own: &[String]) -> Vec<(String, f32)> {
    let label = if column.label.is_empty() { &column.name } else { &column.label };
    let (names, outside) = label_words(label);
    let noted: Vec<String> = names.iter().skip(outside).cloned().collect();
    let words: Vec<String> = (names.iter())
        .flat_map(|word| {
            let whole: Vec<&str> = match word.as_str() {
                "percap" => vec!["per", "capita"],
                other => expand(other),
            };
            whole.into_iter().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let alone = words.len() == 1;
    let last = words.len().saturating_sub(1);
    (words.iter().enumerate())
        .map(|(at, word)| {
            let stemmed = stem(word);
            let generic = GENERIC.split(' ').any(|known| known == word);
            let unit = at == last && UNITS.split_whitespace().any(|known| known == word);
            let aside = noted.contains(word) || word.chars().all(|c| c.is_ascii_digit());
            let weight = match (alone, generic, own.contains(&stemmed)) {
                (true, ..) => 1.0,
                _ if unit || aside => 0.1,
                (_, true, _) => 0.3,
                (_, _, true) => 0.35,
                _ => 1.0,
            };
            (stemmed, weight)
        })
        .collect()
}

/// How well a word of the question fits a word of a name.
fn fit(token: &Token, name: &str) -> f32 {
    if token.stem == name || token.word == name {
        return 1.0;
    }
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if token.is_sign() || digits(&token.word) || digits(name) {
        return 0.0;
    }
    let (said, known) = (token.stem.chars().count(), name.chars().count());
    let shorter = said.min(known);
    let near = distance(&token.stem, name, 2);
    if shorter >= 5 && near <= 1 || shorter >= 8 && near <= 2 {
        return 0.85;
    }
    // "exp" in a name for "expectancy", "pop" in a question for "population".
    if known >= 3 && token.word.starts_with(name) && said >= known + 2 && said <= known * 4 {
        return if known >= 5 { 0.85 } else { 0.7 };
    }
    if said >= 3 && name.starts_with(&token.stem) && known >= said + 2 {
        return if said >= 5 { 0.85 } else { 0.65 };
    }
    if are_synonyms(&token.stem, name) {
        return 0.6;
    }
    if shorter >= 3
        && (is_skeleton(&token.word, name) || shorter == 4 && near == 1 && same_start(token, name))
    {
        return 0.65;
    }
    0.0
}

fn same_start(token: &Token, name: &str) -> bool {
    token.stem.chars().next() == name.chars().next()
}

/// A short form that keeps the first letter and leaves out vowels only: "cst", "amt", "dept" for
/// "department".
fn is_skeleton(short: &str, long: &str) -> bool {
    let bones = |text: &str| -> Vec<char> {
        let letters = text.chars().enumerate();
        letters.filter(|(at, c)| *at == 0 || !"aeiou".contains(*c)).map(|(_, c)| c).collect()
    };
    let letters = short.chars().all(|c| c.is_ascii_alphabetic());
    letters && short.chars().count() < long.chars().count() && bones(short) == bones(long)
}

pub(super) type Found = HashMap<(usize, usize), Mark>;

/// All marks of a question, in order.
pub(super) fn marks(
    tokens: &[Token],
    quoted: &[(usize, usize)],
    schema: &Schema,
    today: chrono::NaiveDate,
    meaning: &dyn Meaning,
) -> Vec<Mark> {
    let mut found = Found::new();
    let spans = Spans::new(tokens, 12);
    link_names(tokens, schema, &spans, &mut found);
    link_values(tokens, schema, &spans, &mut found);
    super::cells::link_parts(tokens, schema, &mut found);
    for (from, to, period) in read_times(tokens, today) {
        found.entry((from, to)).or_default().period = Some(period);
    }
    for at in 0..tokens.len() {
        for (operator, length) in phrases_at(tokens, at).into_iter().take(1) {
            found.entry((at, at + length)).or_default().operator = Some(operator);
        }
        if let Some((number, length, percent)) = number_at(tokens, at) {
            let mark = found.entry((at, at + length)).or_default();
            (mark.number, mark.percent) = (Some(number), percent);
        }
    }
    for span in quoted {
        let mark = found.entry(*span).or_default();
        *mark = Mark { quoted: true, values: std::mem::take(&mut mark.values), ..Mark::default() };
    }
    let mut marks = segment(tokens, quoted, found);
    settle_operators(&mut marks, tokens, schema);
    settle_units(&mut marks, tokens, schema);
    link_rest(&mut marks, tokens, schema, meaning);
    link_money(&mut marks, tokens, schema);
    for mark in &mut marks {
        let last = tokens.get(mark.to.saturating_sub(1));
        mark.plural = last.is_some_and(|token| is_plural(&token.word));
    }
    marks
}

fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us")
        || matches!(word, "people" | "men" | "women" | "children")
}

/// A number with its magnitude: "2.3 million", "5k", "20 %".
fn number_at(tokens: &[Token], at: usize) -> Option<(f64, usize, bool)> {
    let token = tokens.get(at)?;
    let next = tokens.get(at + 1).map_or("", |token| token.word.as_str());
    let magnitude = |word: &str| match word {
        "k" | "thousand" | "thousands" => Some(1e3),
        "m" | "mn" | "mio" | "million" | "millions" => Some(1e6),
        "bn" | "billion" | "billions" => Some(1e9),
        "dozen" => Some(12.0),
        "hundred" => Some(100.0),
        _ => None,
    };
    if let Some(number) = token.number.filter(|_| token.word != "one") {
        return Some(match magnitude(next) {
            Some(times) => (number * times, 2, false),
            None if matches!(next, "%" | "percent") => (number, 2, true),
            None => (number, 1, false),
        });
    }
    let split = token.word.find(|c: char| c.is_ascii_alphabetic())?;
    let (digits, unit) = token.word.split_at_checked(split)?;
    let number: f64 = digits.parse().ok()?;
    Some((number * magnitude(unit)?, 1, false))
}

/// Chooses the spans that explain the most of the question.
fn segment(tokens: &[Token], quoted: &[(usize, usize)], found: Found) -> Vec<Mark> {
    let inside = |(from, to): (usize, usize)| {
        quoted.iter().any(|(start, end)| from < *end && to > *start && (from, to) != (*start, *end))
    };
    let mut spans: Vec<((usize, usize), Mark, f32)> = (found.into_iter())
        .filter(|(span, _)| !inside(*span))
        .map(|(span, mark)| {
            let weight = weight(tokens, span, &mark);
            (span, mark, weight)
        })
        .collect();
    spans.sort_by_key(|(span, ..)| *span);
    let mut best: Vec<(f32, Option<usize>)> = vec![(0.0, None); tokens.len() + 1];
    for start in (0..tokens.len()).rev() {
        let mut top = best.get(start + 1).map_or((0.0, None), |(score, _)| (*score, None));
        for (place, ((from, to), _, weight)) in spans.iter().enumerate() {
            if *from != start {
                continue;
            }
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
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let chosen = best.get(at).and_then(|(_, choice)| spans.get((*choice)?));
        let (to, mark) = match chosen {
            Some(((_, to), mark, _)) => (*to, mark.clone()),
            None => {
                let sign = token.is_sign().then_some(Operator::Filler);
                (at + 1, Mark { operator: sign, ..Mark::default() })
            }
        };
        let words: Vec<&str> =
            tokens.iter().skip(at).take(to - at).map(|token| token.text.as_str()).collect();
        marks.push(Mark { from: at, to, text: words.join(" "), ..mark });
        at = to;
    }
    marks
}

/// How much a span explains.
fn weight(tokens: &[Token], span: (usize, usize), mark: &Mark) -> f32 {
    if mark.quoted {
        return 50.0;
    }
    let length =
        tokens.iter().skip(span.0).take(span.1 - span.0).filter(|token| !token.is_sign()).count() as f32;
    let long = length + 0.3 * (length - 1.0).max(0.0);
    let mut top = 0.0_f32;
    let quality = mark.column_quality().max(mark.table_quality());
    if quality > 0.0 {
        top =
            top.max((0.5 + 0.5 * quality) * long * if quality >= 0.95 && length >= 2.0 { 1.2 } else { 1.0 });
    }
    let quality = mark.value_quality();
    if quality > 0.0 {
        top = top.max(quality * if length > 1.0 { 1.06 * long } else { 1.02 });
    }
    if mark.number.is_some() {
        top = top.max(0.8 * long);
    }
    if mark.period.is_some() {
        top = top.max(1.1 * long);
    }
    if let Some(operator) = mark.operator {
        let small = matches!(
            operator,
            Operator::Of
                | Operator::Clause
                | Operator::Is
                | Operator::Filler
                | Operator::Show
                | Operator::Which
                | Operator::And
                | Operator::Or
                | Operator::Only
                | Operator::Since
                | Operator::Until
                | Operator::Pivot
                | Operator::Whole
        );
        top = top.max(if small { 0.3 + 0.75 * (length - 1.0) } else { 0.9 * length + 0.35 * (length - 1.0) });
    }
    top
}

fn link_names(tokens: &[Token], schema: &Schema, spans: &Spans, found: &mut Found) {
    for (place, words, _) in &schema.columns {
        let mut add = |span: (usize, usize), quality: f32| {
            let links = &mut found.entry(span).or_default().columns;
            match links.iter_mut().find(|(known, _)| known == place) {
                Some((_, known)) => *known = known.max(quality),
                None => links.push((*place, quality)),
            }
        };
        let label = schema.column(*place).map(|column| squash(&column.label)).unwrap_or_default();
        if !label.is_empty() && label.parse::<f64>().is_err() {
            spans.find(&label).iter().for_each(|span| add(*span, 1.0));
        }
        let initials: String = words.iter().filter_map(|(word, _)| word.chars().next()).collect();
        if initials.len() >= 3 {
            spans.find(&initials).iter().for_each(|span| add(*span, 0.9));
        }
        for start in 0..tokens.len() {
            for (span, quality) in match_words(tokens, start, words) {
                if span.1 > span.0 + 1 || quality >= 0.95 || !is_function_word(tokens, start) {
                    add(span, quality);
                }
            }
        }
        // A unit stands for the column that is counted in it: "how many kWh".
        if let Some(unit) = unit_of(words) {
            for (at, token) in tokens.iter().enumerate() {
                if is_unit(&token.word, unit) {
                    add((at, at + 1), 0.55);
                }
            }
        }
    }
    for (table, words) in schema.tables.iter().enumerate() {
        for start in 0..tokens.len() {
            for (span, quality) in match_words(tokens, start, words) {
                if quality >= 0.5 {
                    found.entry(span).or_default().tables.push((table, quality));
                }
            }
        }
    }
    for (table, entity) in schema.entities.iter().enumerate() {
        let Some(entity) = entity else { continue };
        for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.stem == *entity) {
            let tables = &mut found.entry((at, at + 1)).or_default().tables;
            if tables.iter().all(|(known, _)| *known != table) {
                tables.push((table, 0.8));
            }
        }
    }
    found.retain(|_, mark| !mark.columns.is_empty() || !mark.tables.is_empty());
}

/// Prepositions and verbs of asking: alone they name no part of a longer name.
fn is_function_word(tokens: &[Token], at: usize) -> bool {
    phrases_at(tokens, at).iter().any(|(operator, length)| {
        *length == 1
            && matches!(
                operator,
                Operator::Of
                    | Operator::Show
                    | Operator::Which
                    | Operator::Is
                    | Operator::Filler
                    | Operator::Clause
                    | Operator::Since
                    | Operator::Until
                    | Operator::And
                    | Operator::Or
                    | Operator::Not
                    | Operator::Group
            )
    })
}

/// The unit in a name of several words.
fn unit_of(words: &[(String, f32)]) -> Option<&str> {
    let unit = words
        .iter()
        .rev()
        .map(|(word, _)| word.as_str())
        .find(|word| UNITS.split_whitespace().any(|known| known == *word || stem(known) == *word));
    unit.filter(|_| words.len() > 1)
}

/// Units by the ways in which they are written.
const UNIT_NAMES: [&str; 17] = [
    "usd dollar dollars bucks",
    "eur euro euros",
    "gbp pound pounds quid",
    "min mins minute minutes",
    "h hr hrs hour hours",
    "km kilometer kilometers kilometre kilometres",
    "kg kilo kilos kilogram kilograms",
    "kwh",
    "mm millimetre millimetres millimeter millimeters",
    "t ton tons tonne tonnes",
    "l litre litres liter liters",
    "g gram grams",
    "s sec secs second seconds",
    "mi mile miles",
    "m metre metres meter meters",
    "ha hectare hectares",
    "c celsius degrees",
];

fn is_unit(word: &str, unit: &str) -> bool {
    UNIT_NAMES.iter().any(|names| {
        let has = |text: &str| names.split(' ').any(|name| name == text || stem(name) == text);
        has(word) && has(unit)
    })
}

/// A word that says what is done with the data names only columns that are spelled like it: "count"
/// is not `Country`.
fn settle_operators(marks: &mut [Mark], tokens: &[Token], schema: &Schema) {
    for mark in marks.iter_mut().filter(|mark| mark.to == mark.from + 1 && mark.operator.is_some()) {
        let Some(token) = tokens.get(mark.from) else { continue };
        mark.columns.retain(|(place, _)| {
            let words = schema.columns.iter().find(|(known, ..)| known == place).map(|(_, words, _)| words);
            words.into_iter().flatten().any(|(word, _)| *word == token.stem || *word == token.word)
        });
    }
    settle_yes_or_no(marks);
}

/// "by vegan yes/no": both values are said, so none is chosen.
fn settle_yes_or_no(marks: &mut [Mark]) {
    for at in 2..marks.len() {
        let word = |at: usize| marks.get(at).map(|mark| mark.text.to_lowercase()).unwrap_or_default();
        if word(at - 2) == "yes" && matches!(word(at - 1).as_str(), "/" | "or") && word(at) == "no" {
            for mark in marks.iter_mut().take(at + 1).skip(at - 2) {
                let (from, to, text) = (mark.from, mark.to, std::mem::take(&mut mark.text));
                *mark = Mark { from, to, text, operator: Some(Operator::Filler), ..Mark::default() };
            }
        }
    }
}

/// "net tonnes", "gross above 110 euros": a unit says nothing new where a column in it is named.
fn settle_units(marks: &mut [Mark], tokens: &[Token], schema: &Schema) {
    for at in 0..marks.len() {
        let Some(mark) = marks.get(at) else { continue };
        let Some(token) = tokens.get(mark.from).filter(|_| mark.to == mark.from + 1) else { continue };
        let in_unit = |place: &ColumnRef| {
            let words = schema.columns.iter().find(|(known, ..)| known == place).map(|(_, words, _)| words);
            words.and_then(|words| unit_of(words)).is_some_and(|unit| is_unit(&token.word, unit))
        };
        let unit = mark.column_quality() <= 0.6 && mark.columns.iter().all(|(place, _)| in_unit(place));
        if !unit || mark.columns.len() < 2 {
            continue;
        }
        let named: Vec<ColumnRef> = (marks.iter().enumerate())
            .filter(|(other, known)| *other != at && known.column_quality() >= 0.3)
            .flat_map(|(_, known)| {
                let best = known.column_quality();
                known.columns.iter().filter(move |(_, quality)| *quality >= best - 0.1)
            })
            .map(|(place, _)| *place)
            .filter(|place| mark.columns.iter().any(|(known, _)| known == place))
            .collect();
        if let (false, Some(mark)) = (named.is_empty(), marks.get_mut(at)) {
            mark.columns.clear();
            mark.operator = mark.operator.or(Some(Operator::Filler));
        }
    }
}

/// Runs of tokens from `start` that say words of a name, with how much of the name they say.
fn match_words(tokens: &[Token], start: usize, words: &[(String, f32)]) -> Vec<((usize, usize), f32)> {
    let total: f32 = words.iter().map(|(_, weight)| weight).sum();
    let mut said = vec![false; words.len()];
    let (mut found, mut sum, mut gap) = (Vec::new(), 0.0, 0);
    for (offset, token) in tokens.iter().skip(start).take(10).enumerate() {
        let best = (words.iter().enumerate())
            .filter(|(place, _)| said.get(*place) == Some(&false))
            .map(|(place, (word, weight))| (fit(token, word), *weight, place))
            .filter(|(fit, ..)| *fit > 0.0)
            .max_by(|a, b| (a.0 * (0.2 + a.1)).total_cmp(&(b.0 * (0.2 + b.1))));
        if let Some((fit, weight, place)) = best {
            if let Some(cell) = said.get_mut(place) {
                *cell = true;
            }
            sum += fit * weight;
            gap = 0;
            // The last noun of a name says what it is: "price" of `unit_price`.
            let noun = words.iter().rposition(|(_, weight)| *weight > 0.1);
            let named = noun == Some(place) && weight >= 0.9 && fit >= 0.95;
            let quality = (sum / total.max(0.1)).min(1.0).max(if named { 0.7 } else { 0.0 });
            if quality >= 0.3 {
                found.push(((start, start + offset + 1), quality));
            }
        } else if offset > 0
            && (token.is_sign() && token.word != ","
                || matches!(token.word.as_str(), "of" | "the" | "s" | "per"))
        {
            gap += 1;
            if gap > 2 {
                break;
            }
        } else {
            break;
        }
    }
    found
}

fn link_values(tokens: &[Token], schema: &Schema, spans: &Spans, found: &mut Found) {
    for (place, _, role) in &schema.columns {
        let Some(column) = schema.column(*place) else { continue };
        if matches!(role, Role::Measure | Role::Rate | Role::Time) {
            continue;
        }
        for (value, _) in column.values.iter().filter(|(value, _)| value.len() <= 120) {
            let squashed = squash(value);
            for span in spans.find(&squashed).iter().filter(|_| !squashed.is_empty()) {
                let named = [span.1, span.0.wrapping_sub(1)]
                    .iter()
                    .any(|at| tokens.get(*at).is_some_and(|token| schema.fits(*place, &token.word) >= 0.95));
                let quality = if named { 0.98 } else { value_quality(tokens, *span, value, *role) };
                if quality > 0.0 {
                    let values = &mut found.entry(*span).or_default().values;
                    match values.iter_mut().find(|link| link.place == *place) {
                        Some(link) => link.values.push(value.clone()),
                        None => {
                            values.push(ValueLink { place: *place, values: vec![value.clone()], quality });
                        }
                    }
                }
            }
        }
    }
}

/// How sure a span is a value: small words and bare numbers are often something else.
fn value_quality(tokens: &[Token], span: (usize, usize), value: &str, role: Role) -> f32 {
    let mut words = tokens.iter().skip(span.0).take(span.1 - span.0).filter(|token| !token.is_sign());
    let (Some(first), None) = (words.next(), words.next()) else { return 1.0 };
    if !value.chars().any(char::is_alphabetic) {
        return if role == Role::Identifier && first.word.len() >= 4 { 0.6 } else { 0.3 };
    }
    let known = !phrases_at(tokens, span.0).is_empty();
    match (known, first.capital) {
        (true, true) => 0.75,
        (true, false) => 0.0,
        (false, false) if first.word.chars().count() <= 2 => 0.3,
        _ => 0.97,
    }
}
