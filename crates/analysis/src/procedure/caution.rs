//! How far a reading can be trusted: words that ask for more than was understood lower it.

use super::reader::Context;
use super::types::Step;
use super::words::has_any;

/// Does the text name values of a column of words that nothing was made of?
fn unused_values(context: &Context) -> bool {
    let conditions = super::figures::filter_conditions(&context.steps);
    let choices: Vec<String> =
        context.request.figures.iter().flat_map(|s| s.choices.iter().map(|c| c.to_lowercase())).collect();
    let names = context.request.figures.iter().map(|s| s.name.to_lowercase()).collect::<Vec<_>>().join(" ");
    context.lexicon.values(&context.tokens).iter().any(|v| {
        let value = v.value.to_lowercase();
        let column = context.mentions.iter().any(|m| m.start < v.end && m.end > v.start && m.score >= 0.4);
        let few = context.lexicon.values_of(&v.column).len() <= 12 && !context.is_numeric(&v.column);
        let used = conditions.iter().any(|c| c.column == v.column)
            || context.groups.contains(&v.column)
            || context.derived.contains(&v.column);
        let tested = context.group_test().is_some();
        few && !column && !used && !tested && v.quoted && !choices.contains(&value) && !names.contains(&value)
    })
}

/// A factor between 0 and 1 for the whole reading.
#[must_use]
pub(super) fn factor(context: &Context) -> f64 {
    let words = &context.words;
    let mut factor: f64 = 1.0;
    let derived = context.steps.iter().any(|s| matches!(s, Step::Derive { .. } | Step::Bin { .. }));
    if has_any(words, &["new column", "new feature", "feature engineering"]) && !derived {
        factor *= 0.5;
    }
    if has_any(
        words,
        &[
            "machine learning",
            "random forest",
            "decision tree",
            "cluster*",
            "k means",
            "neural",
            "svm",
            "pca",
            "cross validation",
        ],
    ) {
        factor *= 0.6;
    }
    if has_any(words, &["for each", "separately", "group by", "grouped"])
        && context.groups.is_empty()
        && !derived
    {
        factor *= 0.8;
    }
    let known: Vec<String> = context
        .mentions
        .iter()
        .filter(|m| m.score >= 0.4)
        .flat_map(|m| super::words::name_words(&m.column))
        .chain(context.derived.iter().flat_map(|d| super::words::name_words(d)))
        .collect();
    for figure in &context.request.figures {
        let name = super::words::name_words(&figure.name);
        let unread = |w: &&str| name.iter().any(|n| n == w) && !known.iter().any(|k| k == w);
        if [
            "ratio",
            "change",
            "growth",
            "rate",
            "weighted",
            "cumulative",
            "increase",
            "decrease",
            "slope",
            "trend",
            "forecast",
            "predicted",
        ]
        .iter()
        .any(unread)
        {
            factor = factor.min(0.7);
        }
    }
    let filtered =
        context.steps.iter().any(|s| matches!(s, Step::Filter { .. } | Step::Top { .. } | Step::Bin { .. }));
    if has_any(
        words,
        &[
            "top 3",
            "top 5",
            "top 10",
            "top three",
            "top five",
            "whose",
            "who are",
            "only for",
            "where the",
            "at least",
            "more than",
            "within the same",
        ],
    ) && !filtered
        && !has_any(words, &["outlier*", "p value"])
    {
        factor *= 0.75;
    }
    if unused_values(context) {
        factor *= 0.75;
    }
    if context.steps.len() > 2 {
        factor *= 0.9;
    }
    factor
}
