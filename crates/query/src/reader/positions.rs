//! Rows by their position in the table, next to other rows, and alike other rows.
//!
//! A table that is read from a file or a page has an order that people refer to. It is counted
//! before anything is left out.

use super::form::{Filter, Form, OrderKey};
use super::link::{ColumnRef, Schema};
use super::lower::{Writer, all, lower};
use crate::frame::Kind;
use crate::query::{Aggregate, Compare, Condition, Expr, Item, Query};

/// The name of the column that counts the rows.
const POSITION: &str = "row position";

impl Writer<'_> {
    /// The position of a row of a table.
    pub(super) fn position(&self, table: usize) -> Expr {
        Expr::Column(self.table_name(table).unwrap_or_default(), POSITION.to_owned())
    }

    /// The rows of a table with their positions.
    fn positioned(&self, table: usize) -> Query {
        let name = self.table_name(table).unwrap_or_default();
        let columns = self.schema.table(table).map(|table| table.columns.as_slice()).unwrap_or_default();
        let mut items: Vec<Item> = (columns.iter())
            .map(|column| Item {
                expr: Expr::Column(name.clone(), column.name.clone()),
                name: column.name.clone(),
            })
            .collect();
        let position = Expr::RowNumber { partition: Vec::new(), order: Vec::new() };
        items.push(Item { expr: position, name: POSITION.to_owned() });
        Query { items, table: name.clone(), alias: name, ..Query::default() }
    }

    /// Counts the rows where the form speaks of positions, and keeps the row next to another one.
    pub(super) fn place_rows(&self, query: &mut Query, head: usize) {
        let ordered = matches!(self.form.order, Some((OrderKey::Position, _)));
        if !ordered && self.form.beside.is_none() {
            return;
        }
        query.from = Some(Box::new(self.positioned(head)));
        let Some(beside) = &self.form.beside else { return };
        let name = self.table_name(head).unwrap_or_default();
        let (edge, compare) =
            if beside.after { (Aggregate::Max, Compare::Greater) } else { (Aggregate::Min, Compare::Less) };
        let anchor = Query {
            items: vec![Item {
                expr: Expr::Aggregate(edge, vec![self.position(head)]),
                name: POSITION.to_owned(),
            }],
            from: Some(Box::new(self.positioned(head))),
            alias: name,
            filter: all(beside.anchor.iter().map(|filter| self.condition(filter)).collect()),
            ..Query::default()
        };
        let next = Condition::Compare(self.position(head), compare, Expr::Scalar(Box::new(anchor)));
        query.filter = all(query.filter.take().into_iter().chain([next]).collect());
    }

    /// The same value in a column as other rows, without those rows.
    pub(super) fn same_as(&self, place: ColumnRef, of: &[Filter]) -> Condition {
        let name = self.table_name(place.table).unwrap_or_default();
        let those = || all(of.iter().map(|filter| self.condition(filter)).collect());
        let values = Query {
            items: vec![Item { expr: self.column(place), name: "value".to_owned() }],
            table: name.clone(),
            alias: name,
            filter: those(),
            ..Query::default()
        };
        let mut both = vec![Condition::InQuery(self.column(place), Box::new(values), false)];
        both.extend(those().map(|those| Condition::Not(Box::new(those))));
        Condition::All(both)
    }

    /// None of the rows that fulfil these conditions has the value of the row.
    pub(super) fn never(&self, place: ColumnRef, of: &[Filter]) -> Condition {
        let there = Filter::Missing(place, false);
        let form = Form {
            table: place.table,
            show: vec![place],
            filters: of.iter().cloned().chain([there]).collect(),
            ..Form::default()
        };
        let Some(lowered) = lower(&form, self.schema) else {
            return Condition::IsNull(self.column(place));
        };
        Condition::InQuery(self.column(place), Box::new(lowered.query), true)
    }
}

impl Schema<'_> {
    /// Whether a text column holds numbers in most of its cells: "160 ft", "5th", "1:51.29".
    pub(super) fn has_numbers(&self, place: ColumnRef) -> bool {
        let Some(column) = self.column(place).filter(|column| column.kind == Kind::Text) else {
            return false;
        };
        let starts = |value: &str| {
            value
                .trim_start_matches(|c: char| !c.is_alphanumeric() || c == 'T')
                .starts_with(|c: char| c.is_ascii_digit())
        };
        let total: u64 = column.values.iter().map(|(_, count)| *count).sum();
        let numbers: u64 =
            column.values.iter().filter(|(value, _)| starts(value)).map(|(_, count)| *count).sum();
        total > 0 && numbers * 10 >= total * 6
    }
}
