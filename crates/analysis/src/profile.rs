//! Profiles a table: the contents of its columns, its keys, and how tables join.
//!
//! Everything here works on rows in memory: a whole small table, or a sample of a large one.

use crate::catalogue::{Catalogue, Column, Evidence, Join, Table};
use crate::frame::{Frame, Value};
use chrono::{NaiveDate, NaiveDateTime};
use datafusion::common::{HashMap, HashSet};
use std::cmp::Ordering;

/// Maximum number of distinct values kept of a column.
pub(crate) const MAX_VALUES: usize = 5_000;
/// Longer values are free text, not names.
const MAX_VALUE_LENGTH: usize = 120;

/// The profiled columns of a frame. `whole` means that the frame is the whole table.
pub(crate) fn columns(frame: &Frame, labels: &[String], whole: bool) -> Vec<Column> {
    (frame.fields.iter().enumerate())
        .map(|(index, field)| {
            let mut counts: HashMap<Key<'_>, u64> = HashMap::new();
            let (mut nulls, mut min, mut max) = (0, &Value::Null, &Value::Null);
            let mut overflow = false;
            for value in frame.column(index) {
                if value.is_null() {
                    nulls += 1;
                    continue;
                }
                if min.is_null() || compare(value, min) == Ordering::Less {
                    min = value;
                }
                if max.is_null() || compare(value, max) == Ordering::Greater {
                    max = value;
                }
                let key = Key::of(value);
                if let Some(count) = counts.get_mut(&key) {
                    *count += 1;
                } else if counts.len() < 4 * MAX_VALUES {
                    counts.insert(key, 1);
                } else {
                    overflow = true;
                }
            }
            let distinct = counts.len() as u64;
            let mut values: Vec<(String, u64)> =
                counts.into_iter().map(|(key, count)| (key.text(), count)).collect();
            let looks_like = looks_like(values.iter().take(500).map(|(text, _)| text.as_str()));
            values.retain(|(text, _)| text.chars().count() <= MAX_VALUE_LENGTH);
            values.sort_unstable_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
            let complete =
                whole && !overflow && values.len() <= MAX_VALUES && values.len() as u64 == distinct;
            values.truncate(MAX_VALUES);
            let measured = field.kind.is_number() || field.kind.is_time();
            Column {
                name: field.name.clone(),
                label: labels.get(index).cloned().unwrap_or_else(|| field.name.clone()),
                kind: field.kind,
                unit: field.unit,
                nulls,
                seen: frame.rows.len() as u64,
                distinct,
                min: if measured { min.clone() } else { Value::Null },
                max: if measured { max.clone() } else { Value::Null },
                values,
                complete,
                looks_like,
            }
        })
        .collect()
}

/// A value that is counted without copying it.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Bool(bool),
    Int(i64),
    /// The bits of a number. Equal numbers with different bits are 0 and -0, which are also written
    /// differently.
    Float(u64),
    Text(&'a str),
    Date(NaiveDate),
    Time(NaiveDateTime),
}

impl<'a> Key<'a> {
    fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Text(""),
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Int(number) => Self::Int(*number),
            Value::Float(number) => Self::Float(number.to_bits()),
            Value::Text(text) => Self::Text(text),
            Value::Date(date) => Self::Date(*date),
            Value::Time(time) => Self::Time(*time),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Bool(truth) => Value::Bool(*truth).plain(),
            Self::Int(number) => Value::Int(*number).plain(),
            Self::Float(bits) => Value::Float(f64::from_bits(*bits)).plain(),
            Self::Text(text) => (*text).to_owned(),
            Self::Date(date) => Value::Date(*date).plain(),
            Self::Time(time) => Value::Time(*time).plain(),
        }
    }
}

/// Orders cells of one column: numbers by size, the rest by text or time.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        _ => match (a.number(), b.number()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (left, right) => left.is_some().cmp(&right.is_some()).then_with(|| a.plain().cmp(&b.plain())),
        },
    }
}

/// The blocked pattern that most of the values match, whatever the column's name.
pub(crate) fn looks_like<'a>(values: impl Iterator<Item = &'a str>) -> Option<String> {
    let (mut seen, mut emails, mut social, mut cards, mut phones) = (0_u32, 0, 0, 0, 0);
    for value in values {
        seen += 1;
        emails += u32::from(has_email(value));
        social += u32::from(is_social_security(value));
        cards += u32::from(is_card(value));
        phones += u32::from(is_phone(value));
    }
    let most = |count: u32| count >= 1 && count * 10 >= seen * 8;
    let found = [("email", emails), ("ssn", social), ("credit_card", cards), ("phone", phones)];
    found.into_iter().find(|(_, count)| most(*count)).map(|(name, _)| name.to_owned())
}

/// Whether a text is an email address or contains one: `Ann <ann@x.example>`, JSON, a list.
fn has_email(value: &str) -> bool {
    let parts = value.split(|c: char| c.is_whitespace() || "<>\"'`,;:()[]{}|=".contains(c));
    value.contains('@') && parts.map(|part| part.trim_matches('.')).any(is_email)
}

fn is_email(value: &str) -> bool {
    let Some((name, host)) = value.split_once('@') else { return false };
    let plain = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '@');
    plain(name)
        && plain(host)
        && host.rsplit_once('.').is_some_and(|(host, top)| !host.is_empty() && top.len() >= 2)
}

fn is_social_security(value: &str) -> bool {
    let parts: Vec<&str> = value.split('-').collect();
    let digits = |part: &&str| part.chars().all(|c| c.is_ascii_digit());
    parts.iter().map(|part| part.len()).eq([3, 2, 4]) && parts.iter().all(digits)
}

/// A phone number as people write it: with the country code, with the area code in parentheses, or
/// in groups. Ten digits without separators may be anything, and do not count.
fn is_phone(value: &str) -> bool {
    let value = value.trim();
    let written = value.chars().all(|c| c.is_ascii_digit() || " -./()+".contains(c));
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let groups: Vec<usize> =
        value.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).map(str::len).collect();
    let abroad = value.starts_with('+') && (8..=15).contains(&digits);
    let area = value.contains('(') && value.contains(')') && (9..=15).contains(&digits);
    let plain = !value.contains(['(', ')', '+', '/']);
    let american = plain && matches!(groups.as_slice(), [3, 3, 4] | [1, 3, 3, 4]);
    let trunk = plain && value.starts_with('0') && groups.len() >= 2 && (9..=11).contains(&digits);
    written && (abroad || area || american || trunk)
}

/// Thirteen to nineteen digits with a valid card checksum.
fn is_card(value: &str) -> bool {
    let digits: Vec<u32> =
        value.chars().filter(|c| !matches!(c, ' ' | '-')).filter_map(|c| c.to_digit(10)).collect();
    let all = value.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '-'));
    let sum: u32 = (digits.iter().rev().enumerate())
        .map(|(place, digit)| if place % 2 == 0 { *digit } else { digit * 2 / 10 + digit * 2 % 10 })
        .sum();
    all && (13..=19).contains(&digits.len()) && sum.is_multiple_of(10) && sum > 0
}

/// The key of a table: the first column without empty and duplicate values, if any.
pub(crate) fn key(columns: &[Column]) -> Vec<String> {
    let unique = |column: &&Column| column.seen > 1 && column.nulls == 0 && column.distinct == column.seen;
    let named = |column: &&Column| is_id(&column.name);
    let found = columns.iter().filter(unique).find(named).or_else(|| columns.iter().take(1).find(unique));
    found.map(|column| vec![column.name.clone()]).unwrap_or_default()
}

/// Whether a name is that of an identifier: `id`, `order_id`, `CustomerID`, `sku`.
pub(crate) fn is_id(name: &str) -> bool {
    let lower = name.to_lowercase();
    let ends =
        ["_id", " id", "_code", "_key", "_no", "_number", "uuid"].iter().any(|end| lower.ends_with(end));
    ends || matches!(lower.as_str(), "id" | "key" | "code" | "sku" | "uid")
        || name.ends_with("ID")
        || name.ends_with("Id")
}

/// The name of the long form of a wide table.
pub(crate) fn long_name(wide: &str) -> String {
    format!("{wide}_long")
}

/// Finds undeclared joins: columns with equal or similar names whose values overlap.
pub(crate) fn find_joins(catalogue: &mut Catalogue) {
    let mut found = Vec::new();
    // Each column's values are hashed once, however many tables it is compared with.
    let known: Vec<Vec<ValueSet<'_>>> =
        catalogue.tables.iter().map(|table| table.columns.iter().map(ValueSet::of).collect()).collect();
    for (place, (left, left_known)) in catalogue.tables.iter().zip(&known).enumerate() {
        for (right, right_known) in catalogue.tables.iter().zip(&known).skip(place + 1) {
            let declared = catalogue.joins.iter().any(|join| {
                let pair = [join.from.0.as_str(), join.to.0.as_str()];
                pair == [&left.name, &right.name] || pair == [&right.name, &left.name]
            });
            // A table and its long form are the same data twice.
            let same = right.name == long_name(&left.name) || left.name == long_name(&right.name);
            if declared || same {
                continue;
            }
            let join = best_join((left, left_known), (right, right_known));
            // If declared keys connect two tables, two columns that merely share some values are
            // not a shortcut: a song may have the name of a band.
            let is_weak = join.as_ref().is_some_and(|join| join.evidence == Evidence::Values);
            if !(is_weak && is_connected(&catalogue.joins, &left.name, &right.name)) {
                found.extend(join);
            }
        }
    }
    catalogue.joins.extend(found);
}

/// Whether declared keys connect two tables, directly or through others.
fn is_connected(joins: &[Join], from: &str, to: &str) -> bool {
    let mut reached = vec![from];
    let mut at = 0;
    while let Some(table) = reached.get(at).copied() {
        for join in joins.iter().filter(|join| join.evidence == Evidence::Constraint) {
            for (near, far) in [(&join.from.0, &join.to.0), (&join.to.0, &join.from.0)] {
                if near == table && !reached.contains(&far.as_str()) {
                    reached.push(far);
                }
            }
        }
        at += 1;
    }
    reached.contains(&to)
}

/// The best join of two tables: the columns with matching names whose values overlap most.
fn best_join<'a>(
    (left, left_known): (&Table, &[ValueSet<'a>]),
    (right, right_known): (&Table, &[ValueSet<'a>]),
) -> Option<Join> {
    let mut best: Option<(u32, Join)> = None;
    for (a, known_a) in left.columns.iter().zip(left_known) {
        for (b, known_b) in right.columns.iter().zip(right_known) {
            let names = names_agree(&left.name, &a.name, &right.name, &b.name);
            if names == 0 || a.kind.is_time() || (a.kind.is_number() != b.kind.is_number()) {
                continue;
            }
            let Some(overlap) = overlap(known_a, known_b) else { continue };
            // One side must be nearly unique, or the join would multiply rows.
            let (to_right, to_left) = (is_key(b), is_key(a));
            if overlap < 0.5 || !(to_right || to_left) {
                continue;
            }
            let score = names * 100 + (overlap * 99.0) as u32 + if to_right && to_left { 0 } else { 30 };
            let one = |table: &Table, column: &Column| (table.name.clone(), vec![column.name.clone()]);
            let forward = to_right && (!to_left || a.seen >= b.seen);
            let (from, to) =
                if forward { (one(left, a), one(right, b)) } else { (one(right, b), one(left, a)) };
            let evidence = if names >= 2 { Evidence::Name } else { Evidence::Values };
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                best = Some((score, Join { from, to, evidence }));
            }
        }
    }
    best.map(|(_, join)| join)
}

fn is_key(column: &Column) -> bool {
    column.seen > 0 && (column.distinct + column.nulls) * 100 >= column.seen * 98
}

/// How well names match. 3: the same name of an identifier; 2: the same name, or `product.id` and
/// `product_id`; 1: one name contains the other; 0: no match.
fn names_agree(left_table: &str, a: &str, right_table: &str, b: &str) -> u32 {
    let squeeze = |text: &str| text.to_lowercase().replace(['_', ' ', '-', '.'], "");
    let singular = |text: &str| squeeze(text).trim_end_matches('s').to_owned();
    let (x, y) = (squeeze(a), squeeze(b));
    if x == y {
        return if matches!(x.as_str(), "id" | "name") {
            u32::from(x != "id")
        } else {
            2 + u32::from(is_id(a))
        };
    }
    let refers = |column: &str, table: &str, other: &str| {
        let table = singular(table);
        *column == format!("{table}{other}") || (*column == table && is_id(other))
    };
    if refers(&x, right_table, &y) || refers(&y, left_table, &x) {
        return 2;
    }
    u32::from(x.len() > 3 && y.len() > 3 && (x.ends_with(&y) || y.ends_with(&x)))
}

/// How many values of the smaller set are looked up in the larger one.
const LOOKED_UP: usize = 1_000;

/// The values of a column, hashed on demand.
struct ValueSet<'a> {
    column: &'a Column,
    set: std::cell::OnceCell<HashSet<&'a str>>,
}

impl<'a> ValueSet<'a> {
    fn of(column: &'a Column) -> Self {
        Self { column, set: std::cell::OnceCell::new() }
    }

    fn has(&self, value: &str) -> bool {
        self.set
            .get_or_init(|| self.column.values.iter().map(|(value, _)| value.as_str()).collect())
            .contains(value)
    }
}

/// The share of the smaller set of values that is in the other; none if one of them is not known
/// well enough.
fn overlap<'a>(a: &ValueSet<'a>, b: &ValueSet<'a>) -> Option<f64> {
    let (small, large) = if a.column.values.len() <= b.column.values.len() { (a, b) } else { (b, a) };
    let looked_up = small.column.values.len().min(LOOKED_UP);
    if looked_up == 0 {
        return None;
    }
    // The values are sorted by frequency; an even sample represents all of them.
    let step = (small.column.values.len() / looked_up).max(1);
    let values = || small.column.values.iter().step_by(step).take(looked_up);
    let shared = values().filter(|(value, _)| large.has(value)).count();
    // Two samples of a large table may not overlap: incomplete values get the benefit of the doubt.
    let share = shared as f64 / values().count() as f64;
    Some(if large.column.complete { share } else { share.max(if shared > 0 { 0.6 } else { 0.0 }) })
}

/// The public part of a column that must not be read: its name and kind.
pub(crate) fn name_only(column: &Column) -> Column {
    Column {
        name: column.name.clone(),
        label: column.label.clone(),
        kind: column.kind,
        unit: column.unit,
        nulls: 0,
        seen: 0,
        distinct: 0,
        min: Value::Null,
        max: Value::Null,
        values: Vec::new(),
        complete: false,
        looks_like: column.looks_like.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_connected, looks_like};
    use steward_query::catalogue::{Evidence, Join};

    #[test]
    fn declared_keys_lead_further_than_one_join() {
        let join = |from: &str, to: &str, evidence| Join {
            from: (from.into(), vec![format!("{to}_id")]),
            to: (to.into(), vec!["id".into()]),
            evidence,
        };
        let joins = [
            join("track", "album", Evidence::Constraint),
            join("album", "artist", Evidence::Constraint),
            join("artist", "city", Evidence::Values),
        ];
        assert!(is_connected(&joins, "track", "artist"));
        assert!(is_connected(&joins, "artist", "track"));
        assert!(!is_connected(&joins, "track", "city"));
    }

    #[test]
    fn personal_values_are_known_whatever_their_column_is_called() {
        for (values, expected) in [
            (["+1 415 555 2671", "+44 20 7946 0958"], Some("phone")),
            (["(415) 555-2671", "(415) 555-2672"], Some("phone")),
            (["415-555-2671", "415.555.2672"], Some("phone")),
            (["020 7946 0958", "01 23 45 67 89"], Some("phone")),
            (["ada@x.example", "bob@x.example"], Some("email")),
            (["Ada <ada@x.example>", "Bob <bob@x.example>"], Some("email")),
            (["{\"to\": \"ada@x.example\"}", "[\"bob@x.example\", 7]"], Some("email")),
            (["mail me @ noon", "a@b"], None),
            (["123-45-6789", "987-65-4321"], Some("ssn")),
            (["2021-01-05", "01-02-2021"], None),
            (["4155552671", "4155552672"], None),
            (["192.168.100.200", "10.0.0.1"], None),
            (["1,200.50", "-3.5"], None),
        ] {
            assert_eq!(looks_like(values.into_iter()).as_deref(), expected, "{values:?}");
        }
    }
}
