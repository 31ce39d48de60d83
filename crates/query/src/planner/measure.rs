//! Which number a table is about: amounts before quantities, never keys or years.
//!
//! The invariant: what is chosen can be summed.

use crate::frame::Unit;

use super::reader::Reader;
use super::schema::{Place, Schema};

/// Stems of names of what is usually summed, the best first.
const GOOD: [&str; 18] = [
    "revenue", "sale", "amount", "total", "turnover", "profit", "spent", "spend", "value", "income", "price",
    "quantity", "count", "score", "stock", "unit", "visit", "hour",
];

/// The measures of a table with how likely each one is the one that matters, best first.
pub(super) fn measures(schema: &Schema, table: usize) -> Vec<(Place, f32)> {
    let columns = schema.table(table).map_or(0, |table| table.columns.len());
    let mut found: Vec<(Place, f32)> = (0..columns)
        .map(|column| Place { table, column })
        .filter(|place| schema.is_measure(*place) && !schema.is_year(*place))
        .map(|place| {
            let mut score = 0.3 - 0.01 * place.column as f32;
            if let Some(rank) = GOOD.iter().position(|good| schema.has_stem(place, &[good])) {
                score += 1.0 - 0.05 * rank as f32;
            }
            if schema.has_stem(
                place,
                &[
                    "unit",
                    "list",
                    "rate",
                    "discount",
                    "percent",
                    "share",
                    "lat",
                    "longitude",
                    "number",
                    "rank",
                ],
            ) {
                score -= 0.5;
            }
            if schema.column(place).is_some_and(|column| matches!(column.unit, Unit::Currency(_))) {
                score += 0.3;
            }
            (place, score)
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

impl Reader<'_> {
    /// Does the table's name stand for an amount, as "sales" does?
    pub(super) fn stands_for_amount(&self, table: usize) -> Option<Place> {
        let named = self.schema.tables.get(table)?.iter().any(|(word, weight)| {
            *weight > 0.4
                && ["sale", "revenue", "order", "purchase", "transaction", "payment", "invoice", "expense"]
                    .iter()
                    .any(|known| steward_text::tokens::stem(known) == *word)
        });
        measures(self.schema, table)
            .first()
            .filter(|(_, score)| *score > 1.0 && named)
            .map(|(place, _)| *place)
    }

    /// The total of what a table is about, or how many rows it has.
    pub(super) fn main_target(&mut self, table: usize) {
        match measures(self.schema, table).first().copied().filter(|(_, score)| *score > 1.0) {
            Some((place, _)) => {
                self.add_aggregate(crate::query::Aggregate::Sum, place);
                let label = self.label(place);
                let name = self.table_name(table);
                self.assumptions.push(format!("“{name}” is measured by the total of {label}."));
            }
            None => self.add_count(Some(table)),
        }
    }

    /// The number a table is about.
    pub(super) fn main_measure(&self, table: usize) -> Option<Place> {
        measures(self.schema, table).first().map(|(place, _)| *place)
    }
}
