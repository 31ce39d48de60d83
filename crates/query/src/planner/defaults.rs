//! What the answer shows when the question names no column: by question word, by meaning, or the
//! name of the thing.
//!
//! The invariant: an answer always has a column, and every guess makes the reading less sure.

use crate::frame::Kind;
use crate::query::{Aggregate, Expr};

use super::build::has_aggregate;
use super::lexicon::Key;
use super::reader::Reader;
use super::schema::Place;

impl Reader<'_> {
    /// Period nothing was asked for by name.
    pub(super) fn default_targets(&mut self) {
        if !self.sketch.targets.is_empty() {
            return;
        }
        if !self.sketch.groups.is_empty() && self.sketch.having.is_empty() {
            let compared =
                self.sketch.order.iter().find(|(expr, _)| has_aggregate(expr)).map(|(expr, _)| expr.clone());
            match compared {
                Some(expr) => self.add(expr, "total".to_owned()),
                None => self.main_target(self.head),
            }
            return;
        }
        let key = |wanted: Key| self.marks.iter().any(|mark| mark.key == Some(wanted));
        let entity = self.named.first().map_or(self.head, |(_, table)| *table);
        let by_type = if key(Key::Who) {
            self.typed_column(
                &["name", "player", "person", "author", "winner", "artist", "driver", "director"],
                &[Kind::Text],
            )
        } else if key(Key::When) {
            self.typed_column(&["date", "year", "time", "when", "season", "day"], &[])
        } else if key(Key::Where) {
            self.typed_column(
                &[
                    "location", "place", "city", "venue", "hometown", "country", "state", "address", "site",
                    "ground", "stadium", "arena", "region",
                ],
                &[],
            )
        } else {
            None
        };
        if let Some(place) = by_type {
            self.doubt(0.9);
            self.add_column(place);
            return;
        }
        let much = key(Key::HowMuch);
        if much && let Some(place) = self.main_measure(entity) {
            self.doubt(0.8);
            if self.found.is_empty() {
                self.add_aggregate(Aggregate::Sum, place);
            } else {
                self.add_column(place);
            }
            return;
        }
        if let Some(place) = self.guessed_column() {
            self.add_column(place);
            return;
        }
        let whole = self.marks.iter().any(|mark| mark.key == Some(Key::Everything))
            && self.sketch.entities.is_empty();
        if whole && self.named.len() <= 1 {
            let name = self.table_name(entity);
            self.add(Expr::Column(name, "*".to_owned()), "*".to_owned());
            return;
        }
        let nameless = self.schema.display(entity).is_none_or(|place| {
            self.schema.refers(place) || self.schema.column(place).is_none_or(|column| column.kind.is_time())
        });
        let plain = self.sketch.groups.is_empty() && self.sketch.entities.is_empty();
        if nameless && plain && self.named.len() <= 1 {
            // Nothing names its rows: they are shown whole.
            let name = self.table_name(entity);
            self.add(Expr::Column(name, "*".to_owned()), "*".to_owned());
            return;
        }
        if let Some(place) = self.schema.display(entity) {
            if self.named.is_empty() {
                self.doubt(0.5);
            }
            self.add_column(place);
        }
    }

    /// A column by the kind of question word, not one that is already compared.
    pub(super) fn typed_column(&self, stems: &[&str], kinds: &[Kind]) -> Option<Place> {
        let tables = [self.head]
            .into_iter()
            .chain(self.named.iter().map(|(_, table)| *table))
            .chain(self.found.iter().map(|found| found.place.table));
        for table in tables {
            let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
            for stem in stems {
                let fits = |place: &Place| {
                    self.schema.has_stem(*place, &[stem])
                        && !self.found.iter().any(|found| found.place == *place)
                        && self
                            .schema
                            .column(*place)
                            .is_some_and(|column| kinds.is_empty() || kinds.contains(&column.kind))
                        && !self.schema.refers(*place)
                };
                if let Some(place) = (0..columns).map(|column| Place { table, column }).find(fits) {
                    return Some(place);
                }
            }
        }
        None
    }

    /// The column nearest in meaning to the words that nothing explained.
    pub(super) fn guessed_column(&mut self) -> Option<Place> {
        let words: Vec<String> = self
            .marks
            .iter()
            .filter(|mark| mark.unknown() && !mark.used)
            .map(|mark| mark.text.clone())
            .collect();
        if words.is_empty() || self.found.is_empty() && self.named.is_empty() {
            return None;
        }
        let said = words.join(" ");
        let table = self.found.first().map_or(self.head, |found| found.place.table);
        let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
        let scored = (0..columns)
            .map(|column| Place { table, column })
            .filter(|place| !self.found.iter().any(|found| found.place == *place))
            .map(|place| (self.meaning.similarity(&said, &self.label(place)), place));
        let (score, place) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
        if score < 0.3 {
            return None;
        }
        self.doubt(if score > 0.55 { 0.8 } else { 0.6 });
        let label = self.label(place);
        self.reasoning.push(format!("“{said}” is closest in meaning to {label}"));
        for at in 0..self.marks.len() {
            if self.mark(at).is_some_and(|mark| mark.unknown()) {
                self.take(at);
            }
        }
        Some(place)
    }
}
