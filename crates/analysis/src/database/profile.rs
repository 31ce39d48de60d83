//! Column statistics: empty and distinct values, minimum and maximum, most frequent values.

use std::collections::HashMap;

use crate::catalogue::Column;
use crate::frame::{Frame, Kind, Unit, Value};

/// Maximum distinct values kept for a text column.
pub(super) const TEXT_VALUES: usize = 1_000;
/// Maximum distinct values kept for other columns.
const OTHER_VALUES: usize = 20;
/// Longer texts are free text, which is not looked up by value.
const LONGEST_VALUE: usize = 256;

/// The columns of a sample. `all` means that it holds every row of the table.
pub(super) fn columns(frame: &Frame, all: bool) -> Vec<Column> {
    (frame.fields.iter().enumerate())
        .map(|(place, field)| {
            let mut column = bare(&field.name, field.kind, field.unit);
            column.seen = frame.rows.len() as u64;
            let mut counts: HashMap<String, u64> = HashMap::new();
            for value in frame.column(place) {
                if value.is_null() {
                    column.nulls += 1;
                    continue;
                }
                *counts.entry(value.plain()).or_default() += 1;
                widen(&mut column, value);
            }
            list(&mut column, counts.into_iter().collect(), all);
            column
        })
        .collect()
}

/// A column of which only the kind is known.
pub(super) fn bare(name: &str, kind: Kind, unit: Unit) -> Column {
    Column {
        name: name.to_owned(),
        label: name.to_owned(),
        kind,
        unit,
        nulls: 0,
        seen: 0,
        distinct: 0,
        min: Value::Null,
        max: Value::Null,
        values: Vec::new(),
        complete: false,
        looks_like: None,
    }
}

/// Stores the values with their counts in the column. `all` means that no row was omitted.
pub(super) fn list(column: &mut Column, mut counts: Vec<(String, u64)>, all: bool) {
    let limit = if column.kind == Kind::Text { TEXT_VALUES } else { OTHER_VALUES };
    column.distinct = counts.len() as u64;
    column.looks_like = crate::profile::looks_like(counts.iter().take(500).map(|(value, _)| value.as_str()));
    counts.retain(|(value, _)| value.chars().nth(LONGEST_VALUE).is_none());
    // Ties are ordered by name, so that the same data gives the same profile.
    counts.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
    counts.truncate(limit);
    column.complete = all && counts.len() as u64 == column.distinct;
    column.values = counts;
}

/// Widens the range of a column of numbers or times.
pub(super) fn widen(column: &mut Column, value: &Value) {
    if !column.kind.is_number() && !column.kind.is_time() {
        return;
    }
    if column.min.is_null() || less(value, &column.min) {
        column.min = value.clone();
    }
    if column.max.is_null() || less(&column.max, value) {
        column.max = value.clone();
    }
}

fn less(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Date(one), Value::Date(other)) => one < other,
        (Value::Time(one), Value::Time(other)) => one < other,
        (Value::Int(one), Value::Int(other)) => one < other,
        _ => one.number() < other.number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Field;

    #[test]
    fn counts_and_range() {
        let text = |t: &str| Value::Text(t.into());
        let frame = Frame {
            name: String::new(),
            fields: vec![Field::new("a", Kind::Integer), Field::new("b", Kind::Text)],
            rows: vec![
                vec![Value::Int(3), text("x")],
                vec![Value::Int(-1), text("y")],
                vec![Value::Null, text("x")],
                vec![Value::Int(3), Value::Text("z".repeat(300))],
            ],
        };
        let columns = columns(&frame, true);
        assert_eq!((columns[0].min.clone(), columns[0].max.clone()), (Value::Int(-1), Value::Int(3)));
        assert_eq!(
            (columns[0].nulls, columns[0].seen, columns[0].distinct, columns[0].complete),
            (1, 4, 2, true)
        );
        assert_eq!(columns[1].values, [("x".to_owned(), 2), ("y".to_owned(), 1)]);
        // The long text was omitted, so the list is incomplete.
        assert_eq!((columns[1].distinct, columns[1].complete), (3, false));
        assert!(columns[1].min.is_null());
    }
}
