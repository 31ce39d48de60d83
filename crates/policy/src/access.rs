//! What there is, and who may see which of it.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{AnalysisTimeout, RowLimit};

/// A column as the catalogue knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Which of the blocked patterns its values look like, whatever its name; the profiler finds
    /// out.
    pub looks_like: Option<String>,
}

impl Column {
    /// A column whose values look like nothing in particular.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), looks_like: None }
    }
}

/// A table of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name in the catalogue, which grants use: `sales`, or `hr.people`.
    pub name: String,
    /// Where it stands in its database, from the outermost part: `["hr", "people"]`. Empty means
    /// the name alone.
    pub path: Vec<String>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Whether another table has the same name in other letters (`"Sales"` beside `sales`): then a
    /// grant counts only for the table that it names exactly. [`Schema::new`] finds out.
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
    /// By whatever order the catalogue found them.
    pub tables: Vec<Table>,
}

impl Table {
    /// Where it stands, down to its name.
    pub(crate) fn full_path(&self) -> Vec<String> {
        if self.path.is_empty() { vec![self.name.clone()] } else { self.path.clone() }
    }
}

/// What one caller may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The tables, each with its columns; no columns named means all of them. No tables named means
    /// all of them.
    pub tables: BTreeMap<String, BTreeSet<String>>,
    /// The only columns that may be read, in whatever table; none named means no such limit (S3's
    /// `allowed_columns`).
    pub allowed_columns: BTreeSet<String>,
    /// Columns whose name or values look like this are not read (S3's `blocked_patterns`).
    pub blocked_patterns: Vec<String>,
    /// What holds for the rows of the tables.
    pub rows: RowRules,
}

/// What holds for the rows of the tables that a caller may read, and what is known of the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRules {
    /// By the table's name.
    pub tables: BTreeMap<String, TableRules>,
    /// The values of `caller.NAME` in the rules.
    pub attributes: BTreeMap<String, String>,
}

/// What holds for the rows of a table, beside which of its columns may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableRules {
    /// Which rows there are for the caller: a condition over the table's columns and `caller.NAME`.
    /// Nothing means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// Columns of which only a part is shown. A mask lets a column be read that a blocked pattern
    /// would refuse.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub masks: BTreeMap<String, Mask>,
    /// Only groups of at least so many rows are shown, and no single row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_group: Option<u32>,
}

/// What is shown of a masked column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// Nothing: every value is empty.
    Empty,
    /// The first letter.
    FirstLetter,
    /// The last four letters or digits.
    LastFour,
}

impl TableRules {
    /// What holds for a caller of two roles: they may see what either lets them see.
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
    /// As if it were not there.
    Hidden,
    /// There, but of a kind that is blocked.
    Blocked(String),
}

impl Access {
    /// Whether this column may be read: granted, listed, and not of a blocked kind.
    pub fn allows(&self, table: &Table, column: &Column) -> bool {
        self.sees_table(table) && self.verdict(table, column) == Verdict::Allowed
    }

    /// The rule that blocks a column which is granted otherwise.
    pub fn blocking_rule(&self, table: &Table, column: &Column) -> Option<String> {
        match self.verdict(table, column) {
            Verdict::Blocked(pattern) if self.sees_table(table) => Some(pattern),
            _ => None,
        }
    }

    /// Whether this column is granted and listed; it may still be of a blocked kind.
    pub fn grants(&self, table: &Table, column: &Column) -> bool {
        self.sees_table(table) && self.verdict(table, column) != Verdict::Hidden
    }

    /// What holds for the rows of a table.
    pub(crate) fn rules_of(&self, table: &Table) -> Option<&TableRules> {
        // A rule for another spelling holds as well: what it takes away is better gone than shown.
        let tables = &self.rows.tables;
        let other = || tables.iter().find(|(name, _)| name.to_lowercase() == table.name.to_lowercase());
        tables.get(&table.name).or_else(|| other().map(|(_, rules)| rules))
    }

    /// Whether the caller sees less of this table's rows than there is: then nothing that was found
    /// out over all of its rows is for them.
    #[must_use]
    pub fn is_ruled(&self, table: &Table) -> bool {
        self.rules_of(table).is_some()
    }

    /// How a column is masked.
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

/// Whether a column's name says that it holds such a thing: `customer_email`, `EmailAddress`,
/// `home-phone` for `email` and `phone`. The words of the pattern must stand in the name in a row;
/// a word may have more to it at either end.
fn name_matches(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (words(name), words(pattern));
    let fits =
        |(word, part): (&String, &String)| word.starts_with(part.as_str()) || word.ends_with(part.as_str());
    !pattern.is_empty()
        && (name.windows(pattern.len()).any(|window| window.iter().zip(&pattern).all(fits))
            || (1..=name.len())
                .any(|long| name.windows(long).any(|window| window.concat() == pattern.concat())))
}

/// The words of a name in lower case: split at anything that is no letter or digit, and where a
/// capital follows a small letter.
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

/// How much one statement may take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Rows it may return.
    pub rows: RowLimit,
    /// Seconds it may run.
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
