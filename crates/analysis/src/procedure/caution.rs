//! How far a reading can be trusted: words that ask for more than was understood lower it.

use super::reader::Context;
use super::types::Step;
use super::words::has_any;

/// A factor between 0 and 1 for the whole reading.
#[must_use]
pub fn factor(context: &Context) -> f64 {
    let words = &context.words;
    let mut factor: f64 = 1.0;
    let derived = context.steps.iter().any(|s| matches!(s, Step::Derive { .. } | Step::Bin { .. }));
    if has_any(words, &["new column", "new feature", "feature engineering"]) && !derived {
        factor *= 0.5;
    }
    if has_any(words, &["machine learning", "random forest", "decision tree", "cluster*", "k means", "neural", "svm", "pca", "cross validation"]) {
        factor *= 0.6;
    }
    if has_any(words, &["for each", "separately", "group by", "grouped"]) && context.groups.is_empty() && !derived {
        factor *= 0.8;
    }
    if context.steps.len() > 2 {
        factor *= 0.9;
    }
    factor
}
