//! Questions about rows of one small table: a cell, a count, a row next to another, one number over
//! a few cells.
//!
//! People ask so of tables that they can see. The words allow many forms: every way to link them to
//! conditions, what is asked for, what rows are compared by, and the operation. All of them are
//! made, described by features of how their parts are said, and ranked by learned weights
//! (`weights.tsv`, written by `bench/fit_composer.py`). No feature knows a word of a table.

mod conditions;
mod cues;
mod operations;
mod parts;

use super::form::Form;
use super::link::{Mark, Schema};
use super::lists::ListReading;
use conditions::ConditionSet;
use cues::Cue;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Rows of a table that people look at one by one.
const SMALL: u64 = 500;
/// Forms that become candidates.
const MOST: usize = 7;

/// A feature: the part of a form that it is about, and its name.
pub(super) type RowFeature = ((&'static str, &'static str), f32);

static WEIGHTS: LazyLock<HashMap<(&'static str, &'static str), f32>> = LazyLock::new(|| {
    let lines = include_str!("rows/weights.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (name, weight) = line.split_once('\t')?;
            Some((name.split_once(": ")?, weight.parse().ok()?))
        })
        .collect()
});

fn weigh(features: &[RowFeature]) -> f32 {
    features.iter().map(|(name, value)| WEIGHTS.get(name).map_or(0.0, |weight| weight * value)).sum()
}

/// A form that the words allow.
pub(super) struct RowForm {
    pub form: Form,
    /// Marks that it uses.
    pub used: Vec<bool>,
    pub features: Vec<RowFeature>,
    pub score: f32,
}

/// A question about one small table.
struct Question<'a> {
    marks: &'a [Mark],
    schema: &'a Schema<'a>,
    cues: Vec<Cue>,
}

/// All forms of a question about the only table, the best first.
pub(super) fn search(marks: &[Mark], schema: &Schema) -> Vec<RowForm> {
    // The rows of a large table are not looked at one by one: its cells are added up.
    let small = schema.table(0).is_some_and(|table| table.rows.is_some_and(|rows| rows <= SMALL));
    if schema.catalogue.tables.len() != 1 || !small {
        return Vec::new();
    }
    let question = Question { marks, schema, cues: cues::read(marks) };
    let sets: Vec<ConditionSet> = question.condition_sets();
    let mut found: Vec<RowForm> = Vec::new();
    for set in &sets {
        question.add_forms(set, &mut found);
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut kept: Vec<RowForm> = Vec::new();
    for one in found {
        if !kept.iter().any(|known| known.form == one.form) {
            kept.push(one);
        }
    }
    kept
}

/// Readings of a question about the rows of the only table, each with its share of the likelihood.
pub(super) fn read(marks: &[Mark], schema: &Schema) -> Vec<ListReading> {
    let found = search(marks, schema);
    let best = found.first().map_or(0.0, |first| first.score);
    let total: f32 = found.iter().map(|one| (one.score - best).exp()).sum();
    let readings = found.into_iter().take(MOST).map(|one| {
        let probability = (one.score - best).exp() / total;
        ListReading {
            form: one.form,
            used: one.used,
            cost: (-probability.max(1e-4).ln() / 4.0).min(2.0),
            probability: Some(probability),
        }
    });
    readings.collect()
}
