//! How sure a reading is, and what to say when nothing fits.
//!
//! The invariant: every content word that stays unexplained makes the reading less sure.

use crate::query::Query;

use super::build::build;
use super::lexicon::Key;
use super::reader::Reader;
use super::{Intent, Named, Outcome, Reading};

/// The day that "last month" counts from: today, or the last day of data that ended well before.
pub(crate) fn anchor(catalogue: &crate::catalogue::Catalogue, today: chrono::NaiveDate) -> chrono::NaiveDate {
    let columns =
        catalogue.tables.iter().flat_map(|table| &table.columns).filter(|column| column.kind.is_time());
    match columns.filter_map(|column| super::filters::date_of(&column.max)).max() {
        Some(last) if (today - last).num_days() > 45 => last,
        _ => today,
    }
}

impl Reader<'_> {
    /// States it when a relative time was counted from the end of the data.
    pub(super) fn note_anchor(&mut self) {
        if self.anchored
            && self
                .marks
                .iter()
                .any(|mark| mark.time.as_ref().is_some_and(|when| when.relative || when.yearless))
        {
            let day = self.today;
            self.assumptions.push(format!("The data ends on {day}: relative times are counted from there."));
        }
    }

    /// An open request about everything there is: no word in it that could mean something else.
    pub(super) fn asks_about_all(&self) -> bool {
        let unknown = self
            .marks
            .iter()
            .filter(|mark| mark.unknown() && !mark.used && super::targets::grain_word(&mark.text).is_none())
            .count();
        unknown == 0 && self.marks.iter().any(|mark| mark.used)
    }

    /// Does any word tie to the data?
    pub(super) fn links_anything(&self) -> bool {
        self.marks.iter().any(|mark| {
            mark.column_quality() >= 0.4
                || mark.table_quality() >= 0.55
                || mark
                    .values
                    .iter()
                    .any(|value| value.quality > 0.5 && (!value.part || value.quality > 0.75))
        })
    }

    /// Says what can be asked instead.
    pub(super) fn unanswerable(&self) -> Outcome {
        let tables: Vec<String> =
            self.schema.catalogue.tables.iter().map(|table| table.label.clone()).collect();
        let can_answer = (self.schema.catalogue.tables.iter())
            .map(|table| {
                let columns: Vec<&str> =
                    table.columns.iter().take(6).map(|column| column.label.as_str()).collect();
                format!("Questions about {}: {}", table.label, columns.join(", "))
            })
            .collect();
        Outcome::Unanswerable {
            why: format!("Nothing in the question ties to the data ({}).", tables.join(", ")),
            can_answer,
        }
    }

    /// Builds the query and says how sure it is.
    pub(super) fn finish(mut self, question: &str) -> Outcome {
        let query = build(&self.sketch, self.schema);
        // Tables that cannot be reached were perhaps only words.
        let query = query.or_else(|| {
            self.doubt(0.3);
            self.sketch.also.clear();
            build(&self.sketch, self.schema)
        });
        let Some(query) = query else { return self.unanswerable() };
        self.note_anchor();
        let confidence = self.confidence(Some(&query));
        let charts = self.chart().into_iter().collect();
        let name = Named { name: "answer".to_owned(), title: question.trim().to_owned(), query };
        Outcome::Read(Reading {
            intent: Intent::Lookup,
            queries: vec![name],
            charts,
            confidence,
            assumptions: self.assumptions,
            reasoning: self.reasoning,
            parameters: self.parameters,
            sketch: self.sketch,
            form: None,
            unexplained: Vec::new(),
            then: None,
        })
    }

    /// The product of the doubts, of the shape of the query, and of every word that nothing
    /// explained.
    pub(super) fn confidence(&self, query: Option<&Query>) -> f64 {
        let mut trust = 0.95 * self.trust * self.shape(query);
        let mut tables: Vec<String> = query
            .map(|query| {
                query.joins.iter().map(|join| join.table.clone()).chain([query.table.clone()]).collect()
            })
            .unwrap_or_default();
        tables.extend(self.sketch.absent.iter().flat_map(|absent| absent.tables.iter().cloned()));
        let written = query.map(|query| format!("{query:?}")).unwrap_or_default();
        for (at, mark) in self.marks.iter().enumerate() {
            if mark.used {
                continue;
            }
            let explained = || {
                let table = self.table_at(at).is_some_and(|table| tables.contains(&self.table_name(table)));
                let column = mark.columns.iter().any(|link| {
                    self.schema
                        .column(link.place)
                        .is_some_and(|column| written.contains(&format!("{:?}", column.name)))
                });
                table || column
            };
            trust *= match mark.key {
                Some(
                    Key::Super(..)
                    | Key::Agg(_)
                    | Key::Common(_)
                    | Key::Cmp(..)
                    | Key::Not
                    | Key::Except
                    | Key::Both,
                ) => 0.75,
                Some(Key::HowMany | Key::Without | Key::Between | Key::OrderBy | Key::Contains) => 0.8,
                Some(_) => 1.0,
                None if mark.number.is_some() || mark.quoted || mark.time.is_some() => 0.6,
                None if !mark.values.is_empty() && mark.columns.is_empty() && mark.tables.is_empty() => 0.7,
                None if mark.unknown() => 0.87,
                None if explained() => 0.99,
                None => 0.85,
            };
        }
        trust.clamp(0.02, 0.98)
    }

    /// Longer ways and nested parts go wrong more often.
    pub(super) fn shape(&self, query: Option<&Query>) -> f64 {
        let Some(query) = query else { return 1.0 };
        let sketch = &self.sketch;
        let mut trust: f64 = match query.joins.len() {
            0 => 1.0,
            1 => 0.95,
            2 => 0.88,
            _ => 0.76,
        };
        let doubts = [
            (format!("{:?}", query.filter).contains("Scalar"), 0.83),
            (!sketch.having.is_empty(), 0.87),
            (!sketch.absent.is_empty(), 0.92),
            (sketch.limit.is_some(), 0.97),
            (sketch.filters.len() > 2, 0.92),
            (sketch.distinct && !query.joins.is_empty(), 0.9),
        ];
        for (_, factor) in doubts.iter().filter(|(there, _)| *there) {
            trust *= factor;
        }
        trust
    }
}
