//! The built-in planner: reads a question about tables and gives typed queries, without a language
//! model.
//!
//! The invariant: the same question over the same catalogue gives the same outcome, and a reading
//! says how sure it is.

mod analysis;
mod ask;
mod assemble;
mod build;
mod complete;
pub(crate) mod confidence;
mod counts;
mod defaults;
mod extremes;
pub(crate) mod filters;
mod follow;
mod groups;
mod having;
pub(crate) mod joins;
mod lexicon;
mod link;
mod meaning;
mod measure;
mod nested;
mod order;
pub mod particulars;
mod periods;
mod reader;
mod schema;
mod sketch;
mod spread;
mod targets;
mod values;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::query::Query;

pub use meaning::NoMeaning;
pub use sketch::{Absent, Sketch, Target};

/// Nearness in meaning of two short texts, from -1 to 1.
pub trait Meaning {
    /// Cosine of the two texts.
    fn similarity(&self, a: &str, b: &str) -> f32;
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// One result.
    Lookup,
    /// A course over time.
    Trend,
    /// A general picture with several results.
    Overview,
    /// Groups or periods side by side.
    Compare,
    /// How values are spread.
    Distribution,
    /// How two numbers move together.
    Correlation,
    /// Unusual rows.
    Outliers,
    /// Empty cells.
    Missing,
}

/// A query with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// Short name, unique in its reading.
    pub name: String,
    /// For people.
    pub title: String,
    /// The query.
    pub query: Query,
}

pub use crate::chart::ChartKind;

/// A chart that suits a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChartWish {
    /// Position of its query.
    pub query: usize,
    /// How it is drawn.
    pub kind: ChartKind,
    /// Result column along the bottom.
    pub x: String,
    /// Result columns drawn.
    pub y: Vec<String>,
    /// Result column that makes several series.
    pub series: Option<String>,
    /// For people.
    pub title: String,
}

/// A value in the question that may be exchanged for another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name, from the column.
    pub name: String,
    /// Label of the column.
    pub column: String,
    /// The value in this question.
    pub value: String,
}

/// A question, read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// What kind of answer is wanted.
    pub intent: Intent,
    /// The first one is the answer.
    pub queries: Vec<Named>,
    /// Charts that suit.
    pub charts: Vec<ChartWish>,
    /// How sure it is right, from 0 to 1.
    pub confidence: f64,
    /// Defaults that were chosen, for the reader.
    pub assumptions: Vec<String>,
    /// How each part was read.
    pub reasoning: Vec<String>,
    /// Values that may be exchanged.
    pub parameters: Vec<Parameter>,
    /// What the first query was made from, for follow-up questions.
    pub sketch: Sketch,
    /// What the reader made the query from, for follow-up questions.
    #[serde(default)]
    pub form: Option<crate::reader::Form>,
    /// Words that carry meaning and that nothing in the data was found for.
    #[serde(default)]
    pub unexplained: Vec<String>,
    /// What is done with the rows: a forecast, a change that is explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<crate::outlook::Afterwards>,
}

/// One way out of an ambiguity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// For people.
    pub label: String,
    /// The full question to ask instead.
    pub question: String,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)]
pub enum Outcome {
    /// It was read.
    Read(Reading),
    /// It has two readings that differ.
    Ask {
        /// What to ask back.
        question: String,
        /// The ways out.
        options: Vec<Choice>,
    },
    /// Nothing in the data answers it.
    Unanswerable {
        /// Why.
        why: String,
        /// What the data can answer.
        can_answer: Vec<String>,
    },
}

/// The reason of a reading that takes over parts of the question before.
pub const FOLLOW_UP: &str = "read as a follow-up to the question before";

/// Reads a question.
#[must_use]
pub fn read(
    question: &str,
    catalogue: &Catalogue,
    earlier: Option<&Reading>,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> Outcome {
    if let Some(reading) = crate::about::read(question, catalogue) {
        return Outcome::Read(reading);
    }
    let schema = schema::Schema::new(catalogue);
    // Nobody asks in more than a page: the rest would only cost time.
    let asked: String = question.chars().take(2_000).collect();
    let (tokens, quoted) = steward_text::tokens::tokenize(&asked);
    let anchor = confidence::anchor(catalogue, today);
    let mut marks = link::marks(&tokens, &quoted, &schema, anchor);
    link::link_leftovers(&mut marks, &tokens, &schema);
    let mut reader = reader::Reader {
        schema: &schema,
        meaning,
        today: anchor,
        anchored: anchor != today,
        marks,
        head: 0,
        named: Vec::new(),
        found: Vec::new(),
        sketch: Sketch::default(),
        assumptions: Vec::new(),
        reasoning: Vec::new(),
        parameters: Vec::new(),
        kept: None,
        trust: 1.0,
    };
    if let Some(before) = earlier {
        reader.settle();
        let names_table = !reader.named.is_empty();
        let lean = follow::lean(&tokens, &reader.marks, names_table);
        if lean != follow::Lean::Alone {
            reader.assemble_follow(&before.sketch, lean);
            let again = matches!(before.intent, Intent::Overview | Intent::Trend)
                && lean == follow::Lean::Instead
                && reader.sketch.targets == before.sketch.targets;
            return if again { reader.analyse(before.intent) } else { reader.finish(question) };
        }
        // In a conversation a question may lean on the one before without saying so.
        reader.doubt(0.85);
    }
    if let Some((intent, used)) = analysis::intent(&reader.marks) {
        used.into_iter().for_each(|place| reader.take(place));
        if reader.links_anything() || reader.asks_about_all() {
            reader.assemble_parts();
            return reader.analyse(intent);
        }
    }
    if !reader.links_anything() {
        return reader.unanswerable();
    }
    reader.assemble();
    if let Some(ask) = reader.ambiguity(question) {
        return ask;
    }
    reader.finish(question)
}

#[cfg(test)]
#[path = "planner_tests.rs"]
mod tests;
