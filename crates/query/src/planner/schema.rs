//! The names of a catalogue, split into stems with weights, so that questions can be matched
//! against them.
//!
//! The invariant: places are positions in the catalogue that the schema was made from.

use crate::catalogue::{Catalogue, Column, Table};

use steward_text::synonyms::{expand, synonyms};
use steward_text::tokens::{Token, distance, looks_like_id, name_words, stem};

/// A column, by position of its table and itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub table: usize,
    pub column: usize,
}

/// Stems of a name with how much each one counts.
pub(super) type Words = Vec<(String, f32)>;

/// The split names of a catalogue.
pub(super) struct Schema<'a> {
    pub catalogue: &'a Catalogue,
    pub tables: Vec<Words>,
    pub columns: Vec<Vec<Words>>,
    /// Tables that only tie others together.
    pub bridge: Vec<bool>,
}

const GENERIC: [&str; 12] =
    ["data", "list", "table", "info", "name", "detail", "tbl", "dim", "fact", "record", "information", "log"];
const SMALL: [&str; 14] =
    ["of", "the", "in", "s", "a", "an", "and", "for", "to", "by", "at", "on", "is", "has"];

/// A word that says nothing about what a table holds.
fn is_generic(word: &str) -> bool {
    GENERIC.iter().any(|known| stem(known) == stem(word))
}

impl<'a> Schema<'a> {
    /// Splits all names.
    pub(super) fn new(catalogue: &'a Catalogue) -> Self {
        let tables: Vec<Words> = catalogue.tables.iter().map(table_words).collect();
        let columns = (catalogue.tables.iter().zip(&tables))
            .map(|(table, words)| {
                table.columns.iter().map(|column| column_words(column, table, words)).collect()
            })
            .collect();
        let bridge = (catalogue.tables.iter())
            .map(|table| {
                let refers = |name: &str| {
                    (catalogue.joins.iter())
                        .filter(|join| join.from.0 == table.name)
                        .any(|join| join.from.1.iter().any(|column| column == name))
                };
                let count = catalogue.joins.iter().filter(|join| join.from.0 == table.name).count();
                count >= 2 && table.columns.iter().filter(|column| !refers(&column.name)).count() <= 1
            })
            .collect();
        Self { catalogue, tables, columns, bridge }
    }

    /// The table at a position.
    pub(super) fn table(&self, table: usize) -> Option<&'a Table> {
        self.catalogue.tables.get(table)
    }

    /// The column at a place.
    pub(super) fn column(&self, place: Place) -> Option<&'a Column> {
        self.table(place.table).and_then(|table| table.columns.get(place.column))
    }

    /// All places.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        (self.catalogue.tables.iter().enumerate())
            .flat_map(|(table, known)| (0..known.columns.len()).map(move |column| Place { table, column }))
    }

    /// Does a column have one of these stems in its name?
    pub(super) fn has_stem(&self, place: Place, stems: &[&str]) -> bool {
        (self.columns.get(place.table).and_then(|columns| columns.get(place.column))).is_some_and(|words| {
            words.iter().any(|(word, weight)| {
                *weight > 0.15 && stems.iter().any(|hint| stem(hint) == *word || word == hint)
            })
        })
    }

    /// Does the column refer to another table?
    pub(super) fn refers(&self, place: Place) -> bool {
        let (Some(table), Some(column)) = (self.table(place.table), self.column(place)) else { return false };
        (self.catalogue.joins.iter())
            .any(|join| join.from.0 == table.name && join.from.1.iter().any(|name| name == &column.name))
    }

    /// Does the column refer to this very table?
    pub(super) fn refers_to(&self, place: Place, table: Option<usize>) -> bool {
        let (Some(from), Some(column), Some(to)) =
            (self.table(place.table), self.column(place), table.and_then(|table| self.table(table)))
        else {
            return false;
        };
        (self.catalogue.joins.iter()).any(|join| {
            join.from.0 == from.name
                && join.to.0 == to.name
                && join.from.1.iter().any(|name| name == &column.name)
        })
    }

    /// Is the column (part of) the key of its table, or named like one?
    pub(super) fn is_key(&self, place: Place) -> bool {
        let (Some(table), Some(column)) = (self.table(place.table), self.column(place)) else { return false };
        table.primary_key.len() == 1
            && table.primary_key.iter().any(|name| name.eq_ignore_ascii_case(&column.name))
            || looks_like_id(&column.name)
    }

    /// Numbers that mean something when summed or averaged: not keys.
    pub(super) fn is_measure(&self, place: Place) -> bool {
        self.column(place).is_some_and(|column| column.kind.is_number())
            && !self.is_key(place)
            && !self.refers(place)
    }

    /// Holds years: named so, or whole numbers that all look like years.
    pub(super) fn is_year(&self, place: Place) -> bool {
        let Some(column) = self.column(place) else { return false };
        if column.kind.is_time() {
            return false;
        }
        let number = |value: &crate::frame::Value| match value {
            crate::frame::Value::Text(text) => text.parse::<f64>().ok(),
            other => other.number(),
        };
        let inside = |n: f64| (1500.0..2200.0).contains(&n);
        let by_value = match (number(&column.min), number(&column.max)) {
            (Some(low), Some(high)) => inside(low) && inside(high),
            _ => false,
        };
        let most = || {
            let years = column
                .values
                .iter()
                .filter(|(value, _)| value.trim_end_matches(".0").parse::<f64>().is_ok_and(inside))
                .count();
            years * 2 > column.values.len()
        };
        self.has_stem(place, &["year", "season"]) && (by_value || most())
            || by_value && self.has_stem(place, &["founded", "opened", "born", "date"])
    }

    /// The column that names a row for people.
    pub(super) fn display(&self, table: usize) -> Option<Place> {
        let known = self.table(table)?;
        let words = self.tables.get(table)?;
        let mut best: Option<(f32, Place)> = None;
        for column in 0..known.columns.len() {
            let place = Place { table, column };
            let Some(of) = self.columns.get(table).and_then(|columns| columns.get(column)) else { continue };
            let kind = self.column(place).map(|column| column.kind);
            let has = |stems: &[&str]| of.iter().any(|(word, _)| stems.contains(&word.as_str()));
            let own = of.iter().all(|(word, _)| words.iter().any(|(known, _)| known == word));
            let mut score = if kind == Some(crate::frame::Kind::Text) { 1.0 } else { 0.0 };
            if has(&["nam"]) || has(&["name"]) {
                score += 3.0 - 0.2 * of.len() as f32;
                if has(&["full"]) {
                    score -= 0.9;
                }
                if has(&["last"]) {
                    score -= 0.1;
                }
            } else if has(&["title", "titl"]) {
                score += 2.5;
            } else if own && !self.is_key(place) {
                score += 2.7;
            }
            if self.is_key(place) || self.refers(place) {
                score -= 2.0;
            }
            // A category that many rows share names none of them.
            let shared = known
                .columns
                .get(column)
                .is_some_and(|column| column.seen > 4 && column.distinct * 2 < column.seen && score <= 1.0);
            score -= 0.01 * column as f32 + if shared { 3.5 } else { 0.0 };
            if best.is_none_or(|(top, _)| score > top) {
                best = Some((score, place));
            }
        }
        best.map(|(_, place)| place)
    }

    /// The key of a table: declared, else the first column named like one, else the display column.
    pub(super) fn key(&self, table: usize) -> Option<Place> {
        let known = self.table(table)?;
        let declared = known.primary_key.first().filter(|_| known.primary_key.len() == 1);
        let position = declared
            .and_then(|name| known.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)));
        let referred = || {
            let join =
                self.catalogue.joins.iter().find(|join| join.to.0 == known.name && join.to.1.len() == 1)?;
            known.columns.iter().position(|column| Some(&column.name) == join.to.1.first())
        };
        position.or_else(referred).map(|column| Place { table, column })
    }
}

fn table_words(table: &Table) -> Words {
    let names: Vec<String> = name_words(&table.label);
    let last = names.iter().rposition(|word| !is_generic(word));
    (names.iter().enumerate())
        .flat_map(|(place, word)| {
            let weight = if is_generic(word) || SMALL.contains(&word.as_str()) {
                0.15
            } else if Some(place) == last {
                1.0
            } else {
                0.5
            };
            expand(word).into_iter().map(move |word| (stem(word), weight)).collect::<Vec<_>>()
        })
        .collect()
}

fn column_words(column: &Column, table: &Table, table_words: &Words) -> Words {
    let label = if column.label.is_empty() { &column.name } else { &column.label };
    let mut words: Words = Vec::new();
    let inside =
        label.find('(').map(|start| name_words(label.get(start..).unwrap_or_default())).unwrap_or_default();
    let outside = label
        .find('(')
        .map_or_else(|| name_words(label), |start| name_words(label.get(..start).unwrap_or_default()));
    let alone = outside.len() == 1;
    for word in outside.iter().flat_map(|word| split_id(word, table)) {
        for part in expand(&word) {
            let stemmed = stem(part);
            let of_table = table_words.iter().any(|(known, _)| *known == stemmed);
            let weight = if SMALL.contains(&part) {
                0.1
            } else if of_table && !alone {
                0.25
            } else {
                1.0
            };
            words.push((stemmed, weight));
        }
    }
    let weight = if words.is_empty() { 1.0 } else { 0.2 };
    words.extend(inside.iter().map(|word| (stem(word), if word.len() == 1 { 0.05 } else { weight })));
    words
}

/// "stuid" of a table of students is "student id".
fn split_id(word: &str, table: &Table) -> Vec<String> {
    // A short form of the table's own name is the name: "cont" in a table of continents.
    if word.len() >= 3
        && let Some(whole) = name_words(&table.label)
            .into_iter()
            .find(|known| known.len() > word.len() && known.starts_with(word) && stem(known) != stem(word))
    {
        return vec![whole];
    }
    let Some(front) = word.strip_suffix("id").filter(|front| front.len() >= 2) else {
        return vec![word.to_owned()];
    };
    let lower = table.label.to_lowercase();
    let fits =
        name_words(&table.label).iter().any(|known| known.starts_with(front)) || lower.starts_with(front);
    let whole = name_words(&table.label)
        .into_iter()
        .find(|known| known.starts_with(front))
        .unwrap_or_else(|| front.to_owned());
    if fits { vec![whole, "id".to_owned()] } else { vec![word.to_owned()] }
}

/// How well a word of the question fits a stem of a name.
pub(super) fn fit(token: &Token, name: &str) -> f32 {
    if token.stem == name || token.word == name {
        return 1.0;
    }
    if token.is_sign()
        || token.word.chars().all(|c| c.is_ascii_digit())
        || name.chars().all(|c| c.is_ascii_digit())
    {
        return 0.0;
    }
    let (length, other) = (token.stem.chars().count(), name.chars().count());
    let shorter = length.min(other);
    if shorter >= 5 && distance(&token.stem, name, 1) <= 1
        || shorter >= 8 && distance(&token.stem, name, 2) <= 2
    {
        return 0.85;
    }
    if synonyms(&token.stem, name) {
        return 0.48;
    }
    let prefix = shorter >= 4
        && (token.stem.starts_with(name) || name.starts_with(&token.stem))
        && shorter * 10 >= length.max(other) * 6;
    // A short form in a name: "dest" for "destination".
    let short = other >= 4 && token.word.starts_with(name) && length > other + 2;
    if prefix {
        0.7
    } else if short {
        0.6
    } else {
        0.0
    }
}
