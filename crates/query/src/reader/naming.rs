//! Which columns name the things of a table.

use super::link::{ColumnRef, Schema};
use crate::roles::Role;
use steward_text::tokens::{distance, name_words};

impl Schema<'_> {
    /// The columns that name the things of a table.
    pub(super) fn display(&self, table: usize) -> Option<Vec<ColumnRef>> {
        self.display_without(table, &[])
    }

    /// The columns that name the things of a table, some columns aside.
    pub(super) fn display_without(&self, table: usize, without: &[ColumnRef]) -> Option<Vec<ColumnRef>> {
        let known = self.table(table)?;
        let named = |words: &[&str]| {
            known.columns.iter().position(|column| {
                let label: String =
                    column.label.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
                words.contains(&label.as_str())
            })
        };
        if let (Some(first), Some(last)) =
            (named(&["firstname", "fname", "givenname"]), named(&["lastname", "lname", "surname"]))
        {
            return Some([first, last].map(|column| ColumnRef { table, column }).to_vec());
        }
        let score = |place: ColumnRef| -> f32 {
            let label = self.column(place).map(|column| column.label.to_lowercase()).unwrap_or_default();
            let base = match self.role(place) {
                Role::Text => 2.0,
                Role::Category => 1.0,
                _ => -5.0,
            };
            let name = if label == "name" || label == "title" {
                3.0
            } else if label.contains("name") || label.contains("title") {
                2.0
            } else {
                0.0
            };
            // A category that many rows share names none of them.
            let shared = (self.column(place))
                .is_some_and(|column| name == 0.0 && column.seen > 4 && column.distinct * 2 < column.seen);
            base + name - 0.05 * place.column as f32 - if shared { 1.5 } else { 0.0 }
        };
        let columns = (0..known.columns.len()).map(|column| ColumnRef { table, column });
        columns
            .filter(|place| !without.contains(place))
            .map(|place| (place, score(place)))
            .filter(|(_, score)| *score > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(place, _)| vec![place])
            .or_else(|| self.key_of(table).filter(|place| !without.contains(place)).map(|place| vec![place]))
    }

    /// The one column that tells the rows of a table apart.
    fn key_of(&self, table: usize) -> Option<ColumnRef> {
        let known = self.table(table)?;
        let [name] = known.primary_key.as_slice() else { return None };
        let column = known.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
        Some(ColumnRef { table, column })
    }

    /// The columns that name the things of a table, or the ones that tell its rows apart.
    pub(super) fn names(&self, table: usize) -> Vec<ColumnRef> {
        if let Some(display) = self.display(table) {
            return display;
        }
        let Some(known) = self.table(table) else { return Vec::new() };
        let key = known.columns.iter().position(|column| known.primary_key.contains(&column.name));
        vec![ColumnRef { table, column: key.unwrap_or(0) }]
    }

    /// Columns with a word in their name that a word of the question is a slip away from: one
    /// letter, two in long words. Both begin with the same letter.
    pub(super) fn misspelled(&self, word: &str) -> Vec<(ColumnRef, f32)> {
        let length = word.chars().count();
        let most = if length >= 7 { 2 } else { 1 };
        if length < 4 || !word.chars().all(char::is_alphabetic) || crate::judge::is_light(word) {
            return Vec::new();
        }
        let near = |name: &String| {
            name.chars().next() == word.chars().next()
                && name.chars().count() >= 4
                && distance(word, name, most) <= most
        };
        let named = |place: &ColumnRef| {
            self.column(*place).is_some_and(|column| name_words(&column.label).iter().any(near))
        };
        self.places().map(|(place, _)| place).filter(named).take(4).map(|place| (place, 0.6)).collect()
    }

    /// Whether a table only ties other tables together: nearly all of its columns refer to them.
    pub(super) fn is_bridge(&self, table: usize) -> bool {
        let Some(known) = self.table(table) else { return false };
        let refers = |name: &str| {
            (self.catalogue.joins.iter())
                .any(|join| join.from.0 == known.name && join.from.1.iter().any(|column| column == name))
        };
        let references = known.columns.iter().filter(|column| refers(&column.name)).count();
        references >= 2 && references + 1 >= known.columns.len()
    }
}
