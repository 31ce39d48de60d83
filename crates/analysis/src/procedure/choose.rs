//! Choosing the columns and rows a figure is about.

use super::figure_list::Figure;
use super::reader::Context;
use super::rows::conditions;
use super::types::{Step, Test};
use super::wants::{Want, want};
use super::words::{has_any, is_filler, name_words, stem, tokens};

/// The column a figure measures, and how sure that is.
#[must_use]
pub(super) fn target(context: &Context, figure: &Figure) -> Option<(String, f64)> {
    let by_name = named_columns(context, &figure.name.replace('_', " "), 0.45);
    let grouping: Vec<String> = conditions(context, figure).into_iter().map(|c| c.column).collect();
    let usable = |column: &String| {
        !grouping.contains(column) && (!context.groups.contains(column) || by_name.len() == 1)
    };
    if let Some((column, score)) = by_name.iter().find(|(c, _)| usable(c) && context.is_numeric(c)) {
        return Some((column.clone(), 0.6 + 0.4 * score));
    }
    let words = name_words(&figure.name);
    let short = context.mentions.iter().find(|m| {
        m.score >= 0.7
            && !grouping.contains(&m.column)
            && context.is_numeric(&m.column)
            && words.contains(&super::words::key(&m.column))
    });
    if let Some(mention) = short {
        return Some((mention.column.clone(), 0.95));
    }
    if let Some(column) = shared_word(context, figure) {
        return Some((column, 0.85));
    }
    body_target(context, figure)
}

/// The columns that a short text names, best first.
fn named_columns(context: &Context, text: &str, least: f64) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = context
        .lexicon
        .mentions(&tokens(text))
        .into_iter()
        .filter(|m| m.score >= least && !context.tokens.is_empty())
        .map(|m| (m.column, m.score))
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// The column of the text that shares a telling word with the name of the figure ("mean_dem" and
/// `per_dem`).
fn shared_word(context: &Context, figure: &Figure) -> Option<String> {
    let words: Vec<String> =
        name_words(&figure.name).iter().filter(|w| !is_filler(w) && w.len() >= 3).map(|w| stem(w)).collect();
    let mut candidates: Vec<(&str, usize, f64)> = Vec::new();
    for mention in context.mentions.iter().filter(|m| m.score >= 0.4 && context.is_numeric(&m.column)) {
        let own: Vec<String> = context.lexicon.words_of(&mention.column).iter().map(|w| stem(w)).collect();
        let hits = words
            .iter()
            .filter(|w| own.iter().any(|o| o.starts_with(w.as_str())) && want(w, context).is_none())
            .count();
        if hits > 0 && !candidates.iter().any(|(c, _, _)| *c == mention.column) {
            candidates.push((&mention.column, hits, mention.score));
        }
    }
    candidates.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.total_cmp(&a.2)));
    match candidates.as_slice() {
        [(one, _, _)] => Some((*one).to_owned()),
        [(first, a, _), (_, b, _), ..] if a > b => Some((*first).to_owned()),
        _ => None,
    }
}

/// The column that the text is about: a new one, or the best named numeric one.
#[must_use]
pub(super) fn body_target(context: &Context, figure: &Figure) -> Option<(String, f64)> {
    let about = named_columns(context, &figure.about, 0.7);
    if let Some((column, score)) =
        about.iter().find(|(c, _)| context.is_numeric(c) && !context.groups.contains(c))
    {
        return Some((column.clone(), 0.85 + 0.1 * score));
    }
    let numeric_new = context
        .derived
        .iter()
        .rev()
        .find(|d| context.is_numeric(d) && !context.groups.contains(d) && !is_date_part(context, d));
    if let Some(column) = numeric_new {
        return Some((column.clone(), 0.9));
    }
    let filtered: Vec<&str> =
        super::figures::filter_conditions(&context.steps).iter().map(|c| c.column.as_str()).collect();
    let mut scores: Vec<(String, f64)> = Vec::new();
    for (place, mention) in context.mentions.iter().enumerate() {
        if mention.score < 0.4 || !context.is_numeric(&mention.column) {
            continue;
        }
        let side = context.groups.contains(&mention.column)
            || filtered.contains(&mention.column.as_str())
            || (mention.score < 0.95 && is_axis(context, &mention.column));
        let early = if place == 0 { 0.1 } else { 0.0 };
        let weight = if side { 0.2 } else { 1.0 } * mention.score + early;
        match scores.iter_mut().find(|(column, _)| *column == mention.column) {
            Some((_, score)) => *score = score.max(weight) + 0.1,
            None => scores.push((mention.column.clone(), weight)),
        }
    }
    let words = stat_sentence_columns(context, figure);
    for (column, score) in &mut scores {
        if words.contains(column) {
            *score += 0.3;
        }
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    match scores.as_slice() {
        [] => context
            .mentions
            .iter()
            .filter(|m| m.score >= 0.4)
            .max_by(|a, b| a.score.total_cmp(&b.score))
            .map(|m| (m.column.clone(), 0.5)),
        [(column, score)] => Some((column.clone(), (0.6 + 0.4 * score).min(1.0))),
        [(column, first), (_, second), ..] => {
            Some((column.clone(), if first - second >= 0.3 { 0.9 } else { 0.7 }))
        }
    }
}

/// Does the column only number or date the rows?
pub(super) fn is_axis(context: &Context, name: &str) -> bool {
    let words = name_words(name);
    let last = words.last().map_or("", String::as_str);
    let named = ["year", "date", "id", "index", "timestamp", "datetime"].contains(&last)
        || name == "time"
        || words.first().is_some_and(|w| w == "unnamed");
    named
        || context
            .frame
            .position(name)
            .and_then(|p| context.frame.fields.get(p))
            .is_some_and(|f| f.kind.is_time())
}

fn is_date_part(context: &Context, name: &str) -> bool {
    context.steps.iter().any(
        |s| matches!(s, Step::Derive { name: n, formula: super::types::Formula::DatePart(..) } if n == name),
    )
}

/// The columns of the sentences that ask for the same thing as the figure.
fn stat_sentence_columns(context: &Context, figure: &Figure) -> Vec<String> {
    let Some(wanted) = want(&name_words(&figure.name).join(" "), context) else { return Vec::new() };
    let mut found = Vec::new();
    for range in &context.sentences {
        let words = context.sentence(range);
        let outliers = matches!(wanted, Want::OutlierCount | Want::OutlierShare | Want::OutlierList);
        let fits = if outliers {
            has_any(&words, &["outlier*"])
        } else {
            want(&words, context).as_ref() == Some(&wanted)
        };
        if fits {
            found.extend(context.within(range).iter().map(|m| m.column.clone()));
        }
    }
    found
}

/// The two columns a correlation is between.
#[must_use]
pub(super) fn pair(context: &Context, figure: &Figure) -> Option<(Vec<String>, f64)> {
    let named: Vec<String> = super::prepare::unique(
        context
            .lexicon
            .mentions(&tokens(&figure.name.replace('_', " ")))
            .into_iter()
            .filter(|m| m.score >= 0.45 && context.is_numeric(&m.column))
            .map(|m| m.column)
            .collect(),
    );
    if let [a, b] = named.as_slice() {
        return Some((vec![a.clone(), b.clone()], 1.0));
    }
    let mut best: Option<(f64, Vec<String>)> = None;
    for range in &context.sentences {
        let words = context.sentence(range);
        let telling = has_any(
            &words,
            &[
                "correlation",
                "correlate*",
                "relationship",
                "pearson*",
                "spearman*",
                "association",
                "relation",
            ],
        );
        let between = context
            .tokens
            .iter()
            .enumerate()
            .skip(range.start)
            .take(range.len())
            .filter(|(_, t)| t.lower == "between")
            .map(|(p, _)| p)
            .next_back();
        let mut mentions = context.within(range);
        if let Some(place) = between.filter(|_| telling) {
            let later: Vec<_> = mentions.iter().copied().filter(|m| m.start > place).collect();
            if super::prepare::unique(later.iter().map(|m| m.column.clone()).collect()).len() >= 2 {
                mentions = later;
            }
        }
        mentions.retain(|m| context.is_numeric(&m.column));
        let mut columns: Vec<(String, f64)> = Vec::new();
        for mention in mentions {
            if !columns.iter().any(|(c, _)| *c == mention.column) {
                columns.push((mention.column.clone(), mention.score));
            }
        }
        let (Some(first), Some(mut second)) = (columns.first(), columns.get(1)) else { continue };
        if columns.len() > 2
            && let Some(beyond) = beyond_and(context, range, &first.0)
            && let Some(other) = columns.iter().find(|(c, _)| *c == beyond)
        {
            second = other;
        }
        let score = first.1 + second.1 + if telling { 0.5 } else { 0.0 } - 0.2 * (columns.len() as f64 - 2.0);
        if best.as_ref().is_none_or(|(top, _)| score > *top) {
            best = Some((score, vec![first.0.clone(), second.0.clone()]));
        }
    }
    if let [one] = named.as_slice() {
        // One side is in the name of the figure; the other is what the text pairs it with.
        let other =
            context.derived.iter().rev().find(|d| *d != one && context.is_numeric(d)).cloned().or_else(
                || best.as_ref().and_then(|(_, columns)| columns.iter().find(|c| *c != one).cloned()),
            );
        if let Some(other) = other.filter(|_| best.as_ref().is_none_or(|(_, c)| !c.contains(one))) {
            return Some((vec![one.clone(), other], 0.85));
        }
    }
    if let Some((score, columns)) = best {
        let fresh = context.derived.iter().rev().find(|d| context.is_numeric(d) && !is_date_part(context, d));
        if let Some(fresh) = fresh.filter(|d| !columns.contains(d)) {
            let other = last_strong(context, fresh)?;
            return Some((vec![fresh.clone(), other], 0.8));
        }
        return Some((columns, (0.5 + score / 5.0).min(1.0)));
    }
    let fresh = context.derived.iter().rev().find(|d| context.is_numeric(d))?;
    Some((vec![fresh.clone(), last_strong(context, fresh)?], 0.75))
}

/// The first column named after the "and" that follows this one, when the two sides of "between"
/// are long.
fn beyond_and(context: &Context, range: &std::ops::Range<usize>, first: &str) -> Option<String> {
    let mentions = context.within(range);
    let own = mentions.iter().find(|m| m.column == first)?;
    let and = (own.end..range.end).find(|p| {
        context.tokens.get(*p).is_some_and(|t| ["and", "with", "versus"].contains(&t.lower.as_str()))
    })?;
    mentions
        .iter()
        .find(|m| m.start > and && m.column != first && context.is_numeric(&m.column))
        .map(|m| m.column.clone())
}

/// The best named column that the new one is not made of.
fn last_strong(context: &Context, fresh: &str) -> Option<String> {
    let parts = context.steps.iter().find_map(|s| match s {
        Step::Derive { name, formula } if name == fresh => serde_json::to_string(formula).ok(),
        _ => None,
    });
    let inside = |column: &str| parts.as_ref().is_some_and(|text| text.contains(&format!("\"{column}\"")));
    context
        .mentions
        .iter()
        .filter(|m| {
            m.column != fresh && m.score >= 0.4 && !inside(&m.column) && context.is_numeric(&m.column)
        })
        .max_by(|a, b| a.score.total_cmp(&b.score))
        .map(|m| m.column.clone())
}

/// The columns of a test of groups: what is measured, and what groups.
#[must_use]
pub(super) fn group_pair(context: &Context, figure: &Figure, test: Test) -> Option<(Vec<String>, f64)> {
    let mut columns: Vec<(String, f64)> = Vec::new();
    for mention in context.mentions.iter().filter(|m| m.score >= 0.4) {
        match columns.iter_mut().find(|(c, _)| *c == mention.column) {
            Some((_, score)) => *score = score.max(mention.score),
            None => columns.push((mention.column.clone(), mention.score)),
        }
    }
    if test == Test::ChiSquare {
        let [first, second, ..] = columns.as_slice() else { return None };
        return Some((vec![first.0.clone(), second.0.clone()], 0.8));
    }
    let few = |name: &str| (2..=20).contains(&context.lexicon.values_of(name).len());
    let group = context
        .groups
        .iter()
        .find(|g| few(g))
        .cloned()
        .or_else(|| {
            columns
                .iter()
                .filter(|(c, _)| few(c) && !context.is_numeric(c))
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .map(|(c, _)| c.clone())
        })
        .or_else(|| {
            columns
                .iter()
                .filter(|(c, _)| context.lexicon.values_of(c).len() == 2)
                .map(|(c, _)| c.clone())
                .next()
        })
        .or_else(|| context.lexicon.values(&context.tokens).into_iter().map(|v| v.column).find(|c| few(c)));
    let measured = target(context, figure).filter(|(c, _)| Some(c) != group.as_ref());
    if let (Some(group), Some((measured, sure))) = (group, measured) {
        let mut columns = vec![measured, group.clone()];
        // Two groups named in the text are compared in that order.
        let named: Vec<String> = super::prepare::unique(
            context
                .lexicon
                .values(&context.tokens)
                .into_iter()
                .filter(|v| v.column == group)
                .map(|v| v.value)
                .collect(),
        );
        let named = if named.len() == 2 { named } else { set_values(context, &group) };
        if named.len() == 2 && two_groups(test) {
            columns.extend(named);
        } else if two_groups(test) && context.lexicon.values_of(&group).len() != 2 {
            return None;
        }
        return Some((columns, 0.9 * sure));
    }
    let numeric: Vec<String> =
        columns.into_iter().filter(|(c, s)| *s >= 0.7 && context.is_numeric(c)).map(|(c, _)| c).collect();
    (numeric.len() >= 2).then_some((numeric, 0.7))
}

/// Two values of one column that the text names, in its order.
#[must_use]
pub(super) fn two_values(context: &Context) -> Option<(String, String, String)> {
    let found = context.lexicon.values(&context.tokens);
    for column in super::prepare::unique(found.iter().map(|v| v.column.clone()).collect()) {
        let values = super::prepare::unique(
            found.iter().filter(|v| v.column == column).map(|v| v.value.clone()).collect(),
        );
        if let [first, second] = values.as_slice() {
            return Some((column, first.clone(), second.clone()));
        }
    }
    None
}

/// The values that the text sets a column to, in its order: "Promo = Y", "Promo = N".
fn set_values(context: &Context, column: &str) -> Vec<String> {
    let values = context.lexicon.values_of(column);
    let places = context.mentions.iter().filter(|m| m.column == column && m.score >= 0.6);
    let found = places.filter_map(|m| {
        context.tokens.iter().skip(m.end).take(3).find_map(|t| values.iter().find(|v| **v == t.text))
    });
    super::prepare::unique(found.cloned().collect())
}

fn two_groups(test: Test) -> bool {
    matches!(test, Test::Student | Test::Welch | Test::ZTest | Test::MannWhitney)
}
