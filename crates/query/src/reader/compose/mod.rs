//! Composes forms from all that the words of a question may mean, and ranks them by learned
//! weights.
//!
//! The interpretation reads a question in one direction with rules; this search tries every
//! combination that the words allow and lets weights decide, which `bench/fit_composer.py` learns
//! from questions whose answers are known. Both give forms, so both are ranked by the same
//! features.

mod condition_features;
mod conditions;
mod durations;
mod features;
mod mentions;
mod relations;
mod search;
mod sense;

pub(crate) use durations::is_duration_word;
pub(crate) use relations::{days_of, is_never};

use super::form::{Form, Measure};
use super::link::{Mark, Schema};
use features::{Said, features};
use search::Search;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::LazyLock;

/// Conditions that are tried whole: those of the first interpretations.
const BASES: usize = 4;
/// Forms of one interpretation at most, and of one that differs from it in a condition.
const MOST: usize = 400;
const FEW: usize = 120;
/// Interpretations that differ in a condition.
const EDITS: usize = 14;

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
    for base in conditions.iter().take(BASES) {
        forms.extend(search.variants(base, MOST));
    }
    let mut tried: Vec<Form> = Vec::new();
    for base in conditions.iter().take(2) {
        for edit in search.edits(base) {
            // A measure that is made of others is an edit of its own.
            let composite = edit.measures.iter().any(Measure::is_composite);
            let known = |form: &Form| {
                (!composite || form.measures == edit.measures)
                    && form.filters == edit.filters
                    && form.having == edit.having
                    && form.groups == edit.groups
                    && form.tally == edit.tally
                    && form.table == edit.table
            };
            if tried.len() < EDITS && !tried.iter().any(known) && !conditions.iter().any(|base| known(base)) {
                tried.push(edit);
            }
        }
    }
    for edit in &tried {
        forms.push(edit.clone());
        forms.extend(search.variants(edit, FEW));
    }
    let mut found: Vec<Composition> = Vec::with_capacity(forms.len());
    let mut seen: HashSet<u64> = HashSet::new();
    for (at, form) in forms.into_iter().enumerate() {
        if !seen.insert(fingerprint(&form)) || search.is_senseless(&form) {
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

/// Removes forms that are never meant with these words.
pub(crate) fn retain_sensible<T>(
    schema: &Schema,
    marks: &[Mark],
    all: &mut Vec<T>,
    form: impl Fn(&T) -> &Form,
) {
    let mentions = mentions::mentions(schema, marks);
    let search = Search { schema, marks, mentions: &mentions };
    all.retain(|one| !search.is_senseless(form(one)));
}

/// Equal forms have equal numbers.
fn fingerprint(form: &Form) -> u64 {
    struct Digest(DefaultHasher);
    impl std::fmt::Write for Digest {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut digest = Digest(DefaultHasher::new());
    let _ = write!(digest, "{form:?}");
    digest.0.finish()
}
