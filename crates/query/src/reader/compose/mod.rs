//! Composes forms from all that the words of a question may mean, and ranks them by learned
//! weights.
//!
//! The interpretation reads a question in one direction with rules; this search tries every
//! combination that the words allow and lets weights decide, which `bench/fit_composer.py` learns
//! from questions whose answers are known. Both give forms, so both are ranked by the same
//! features.

mod features;
mod mentions;
mod search;

use super::form::Form;
use super::link::{Mark, Schema};
use features::{Said, features};
use search::Search;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Conditions that are tried: those of the first interpretations.
const BASES: usize = 4;

static WEIGHTS: LazyLock<HashMap<&str, f32>> = LazyLock::new(|| {
    let lines = include_str!("weights.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (name, weight) = line.split_once('\t')?;
            Some((name, weight.trim().parse().ok()?))
        })
        .collect()
});

/// A form with how well it stands among the others.
#[derive(Debug, Clone)]
pub(crate) struct Composition {
    pub form: Form,
    pub score: f32,
    pub features: Vec<(String, f32)>,
}

/// What a join that multiplies what is added up takes off a form's score.
pub(crate) fn multiplied() -> f32 {
    WEIGHTS.get("multiplies").copied().unwrap_or(0.0)
}

/// Composes forms over the conditions of `bases` and ranks them together with `others`, the best
/// first.
pub(crate) fn compose(schema: &Schema, marks: &[Mark], bases: &[Form], others: &[Form]) -> Vec<Composition> {
    let mentions = mentions::mentions(schema, marks);
    let search = Search { schema, marks, mentions: &mentions };
    let said = Said::new(&search);
    let mut forms: Vec<Form> = Vec::new();
    let mut conditions: Vec<&Form> = Vec::new();
    for base in bases {
        if !conditions.iter().any(|known| known.filters == base.filters && known.table == base.table) {
            conditions.push(base);
        }
    }
    forms.extend(bases.iter().chain(others).cloned());
    for base in conditions.into_iter().take(BASES) {
        forms.extend(search.variants(base));
    }
    let mut found: Vec<Composition> = Vec::with_capacity(forms.len());
    let mut seen: std::collections::HashSet<String> = std::collections::HashSet::new();
    for (at, form) in forms.into_iter().enumerate() {
        if !seen.insert(format!("{form:?}")) {
            continue;
        }
        let mut features = features(&search, &said, &form);
        if at == 0 {
            features.push(("first interpretation".to_owned(), 1.0));
        } else if at < bases.len() {
            features.push(("another interpretation".to_owned(), 1.0));
        } else if at < bases.len() + others.len() {
            features.push(("another grammar".to_owned(), 1.0));
        }
        let score =
            features.iter().map(|(name, value)| WEIGHTS.get(name.as_str()).map_or(0.0, |w| w * value)).sum();
        found.push(Composition { form, score, features });
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}
