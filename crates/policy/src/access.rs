//! The schema of a source, and the access rights of a caller to it.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{AnalysisTimeout, RowLimit};

/// A column as the catalogue knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The blocked pattern that its values match, whatever its name; set by the profiler.
    pub looks_like: Option<String>,
}

impl Column {
    /// A column whose values match no blocked pattern.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), looks_like: None }
    }
}

/// A table of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name in the catalogue, which grants use: `sales`, or `hr.people`.
    pub name: String,
    /// Its path in the database, from the outermost part: `["hr", "people"]`. Empty means the name
    /// alone.
    pub path: Vec<String>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Whether another table has the same name in other letter case (`"Sales"` beside `sales`).
    /// Then a grant applies only to the table with exactly that name. [`Schema::new`] sets it.
    pub has_twin: bool,
}

impl Schema {
    /// The schema of these tables.
    #[must_use]
    pub fn new(mut tables: Vec<Table>) -> Self {
        let folded: Vec<String> = tables.iter().map(|table| table.name.to_lowercase()).collect();
        for (table, name) in tables.iter_mut().zip(&folded) {
            table.has_twin = folded.iter().filter(|other| *other == name).count() > 1;
        }
        Self { tables }
    }
}

/// All tables that a request names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    /// In the order in which the catalogue found them.
    pub tables: Vec<Table>,
}

impl Table {
    /// Its full path including the name.
    pub(crate) fn full_path(&self) -> Vec<String> {
        if self.path.is_empty() { vec![self.name.clone()] } else { self.path.clone() }
    }
}

/// The access rights of one caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The granted tables, each with its columns; no columns means all columns. No tables means all
    /// tables.
    pub tables: BTreeMap<String, BTreeSet<String>>,
    /// The only columns that may be read, in any table; empty means no such limit
    /// (`allowed_columns`).
    pub allowed_columns: BTreeSet<String>,
    /// Columns whose name or values match one of these are not read (`blocked_patterns`).
    pub blocked_patterns: Vec<String>,
    /// Row-level rules of the tables.
    pub rows: RowRules,
}

/// Row-level rules of the tables that a caller may read, and the caller's attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRules {
    /// By the table's name.
    pub tables: BTreeMap<String, TableRules>,
    /// The values of `caller.NAME` in the rules.
    pub attributes: BTreeMap<String, String>,
}

/// The row-level rules of a table, in addition to its column grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableRules {
    /// The rows that the caller may read: a condition over the table's columns and `caller.NAME`.
    /// None means all rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// Masked columns, of which only a part is shown. A mask allows a column that a blocked pattern
    /// would refuse.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub masks: BTreeMap<String, Mask>,
    /// Only groups of at least this many rows are shown, and no single row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_group: Option<u32>,
}

/// The part of a masked column that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// Nothing: every value is null.
    Empty,
    /// The first letter.
    FirstLetter,
    /// The last four letters or digits.
    LastFour,
}

impl TableRules {
    /// The combined rules of a caller with two roles: the union of what each role allows.
    #[must_use]
    pub fn either(mut self, other: &Self) -> Self {
        self.rows = match (self.rows, &other.rows) {
            (Some(one), Some(two)) => Some(format!("({one}) OR ({two})")),
            _ => None,
        };
        self.masks.retain(|column, _| other.masks.contains_key(column));
        self.smallest_group = self.smallest_group.zip(other.smallest_group).map(|(one, two)| one.min(two));
        self
    }
}

/// Whether a column may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    /// Treated as if it did not exist.
    Hidden,
    /// Granted, but it matches a blocked pattern.
    Blocked(String),
}

impl Access {
    /// Whether this column may be read: granted, listed, and not blocked.
    pub fn allows(&self, table: &Table, column: &Column) -> bool {
        self.sees_table(table) && self.verdict(table, column) == Verdict::Allowed
    }

    /// The pattern that blocks an otherwise granted column.
    pub fn blocking_rule(&self, table: &Table, column: &Column) -> Option<String> {
        match self.verdict(table, column) {
            Verdict::Blocked(pattern) if self.sees_table(table) => Some(pattern),
            _ => None,
        }
    }

    /// Whether this column is granted and listed; it may still be blocked.
    pub fn grants(&self, table: &Table, column: &Column) -> bool {
        self.sees_table(table) && self.verdict(table, column) != Verdict::Hidden
    }

    /// The row-level rules of a table.
    pub(crate) fn rules_of(&self, table: &Table) -> Option<&TableRules> {
        // A rule for another spelling of the name applies as well: it is safer to hide too much.
        let tables = &self.rows.tables;
        let named = |wanted: &str| tables.iter().find(|(name, _)| name.to_lowercase() == wanted);
        if let Some(rules) = tables.get(&table.name) {
            return Some(rules);
        }
        // A session makes tables of its own from a file: `budget_long` for the months of `budget`,
        // `budget_2` for a second file of that name. They hold the same rows.
        let mut name = table.name.to_lowercase();
        loop {
            if let Some((_, rules)) = named(&name) {
                return Some(rules);
            }
            let base = name.strip_suffix("_long").or_else(|| {
                let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
                base.strip_suffix('_').filter(|_| base.len() < name.len())
            })?;
            name = base.to_owned();
        }
    }

    /// Whether the caller sees only part of this table's rows. Then statistics over all of its rows
    /// must not be shown to them.
    #[must_use]
    pub fn is_ruled(&self, table: &Table) -> bool {
        self.rules_of(table).is_some()
    }

    /// The mask of a column.
    pub(crate) fn mask_of(&self, table: &Table, column: &Column) -> Option<Mask> {
        let masks = &self.rules_of(table)?.masks;
        masks.iter().find(|(name, _)| name.eq_ignore_ascii_case(&column.name)).map(|(_, mask)| *mask)
    }

    pub(crate) fn sees_table(&self, table: &Table) -> bool {
        self.tables.is_empty() || self.granted(table).is_some()
    }

    fn granted(&self, table: &Table) -> Option<&BTreeSet<String>> {
        let other = || self.tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(&table.name));
        let exact = self.tables.get(&table.name);
        if table.has_twin { exact } else { exact.or_else(|| other().map(|(_, columns)| columns)) }
    }

    pub(crate) fn verdict(&self, table: &Table, column: &Column) -> Verdict {
        let is_twin =
            |other: &Column| other.name != column.name && other.name.eq_ignore_ascii_case(&column.name);
        let has_twin = table.columns.iter().any(is_twin);
        let contains = |names: &BTreeSet<String>| {
            names.contains(&column.name)
                || (!has_twin && names.iter().any(|name| name.eq_ignore_ascii_case(&column.name)))
        };
        let granted = self.tables.is_empty()
            || self.granted(table).is_some_and(|columns| columns.is_empty() || contains(columns));
        let listed = self.allowed_columns.is_empty() || contains(&self.allowed_columns);
        if !granted || !listed {
            return Verdict::Hidden;
        }
        if self.mask_of(table, column).is_some() {
            return Verdict::Allowed;
        }
        let by_value = |pattern: &&String| column.looks_like.as_ref() == Some(*pattern);
        match self
            .blocked_patterns
            .iter()
            .find(|pattern| by_value(pattern) || name_matches(&column.name, pattern))
        {
            Some(pattern) => Verdict::Blocked(pattern.clone()),
            None => Verdict::Allowed,
        }
    }
}

/// Whether a column's name matches a pattern: `customer_email`, `EmailAddress`, `home-phone` for
/// `email` and `phone`. The words of the pattern must occur in the name in sequence; a word of the
/// name may be longer at either end.
fn name_matches(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (words(name), words(pattern));
    let fits =
        |(word, part): (&String, &String)| word.starts_with(part.as_str()) || word.ends_with(part.as_str());
    !pattern.is_empty()
        && (name.windows(pattern.len()).any(|window| window.iter().zip(&pattern).all(fits))
            || (1..=name.len())
                .any(|long| name.windows(long).any(|window| window.concat() == pattern.concat())))
}

/// The words of a name in lower case: split at any character that is not a letter or digit, and
/// between a lower-case and an upper-case letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The limits of one statement.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Maximum number of rows.
    pub rows: RowLimit,
    /// Time limit in seconds.
    pub timeout: AnalysisTimeout,
}

#[cfg(test)]
mod tests {
    use super::name_matches;

    #[test]
    fn names_say_what_they_hold() {
        for (name, pattern, expected) in [
            ("email", "email", true),
            ("customer_email", "email", true),
            ("EmailAddress", "email", true),
            ("emails", "email", true),
            ("E-mail Address", "email", true),
            ("home_e_mail", "email", true),
            ("the_mail", "email", false),
            ("home-phone", "phone", true),
            ("telephone", "phone", true),
            ("SSN", "ssn", true),
            ("socialSecurityNumber", "social_security", true),
            ("social_security", "social_security", true),
            ("creditcard", "credit_card", true),
            ("credit_limit", "credit_card", false),
            ("session", "ssn", false),
            ("mail_order", "email", false),
            ("lessness", "ssn", false),
            ("x", "", false),
        ] {
            assert_eq!(name_matches(name, pattern), expected, "{name} / {pattern}");
        }
    }
}
