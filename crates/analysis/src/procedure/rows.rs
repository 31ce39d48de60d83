//! Choosing the rows a figure is about: values, flags, months and ranks in its name.

use super::figure_list::Figure;
use super::reader::Context;
use super::types::{Compare, Condition};
use super::wants::want;
use super::words::{has_any, name_words, stem};

/// The rows a figure is about, from values in its name: "mean_age_male_class1".
#[must_use]
pub(super) fn conditions(context: &Context, figure: &Figure) -> Vec<Condition> {
    let words = name_words(&figure.name);
    let stems: Vec<String> = words.iter().map(|w| stem(w)).collect();
    let mut found: Vec<Condition> = Vec::new();
    let mut columns: Vec<String> = context.groups.clone();
    columns.extend(context.derived.iter().filter(|d| !context.is_numeric(d)).cloned());
    columns.extend(
        context
            .mentions
            .iter()
            .filter(|m| m.score >= 0.4 && !context.is_numeric(&m.column))
            .map(|m| m.column.clone()),
    );
    columns.extend(context.lexicon.values(&context.tokens).into_iter().map(|v| v.column));
    let flags =
        context.mentions.iter().filter(|m| m.score >= 0.4 && flag_values(context, &m.column).is_some());
    columns.extend(flags.map(|m| m.column.clone()));
    for column in super::prepare::unique(columns) {
        let values = context.lexicon.values_of(&column);
        let group = context.groups.contains(&column);
        let mut best: Option<(usize, &String)> = None;
        for value in values {
            let own: Vec<String> = name_words(value).iter().map(|w| stem(w)).collect();
            let numeric = own.iter().all(|w| w.chars().all(|c| c.is_ascii_digit()));
            let short = own.iter().map(String::len).sum::<usize>() < 3;
            let column_words = name_words(&column);
            let is_name = context.frame.fields.iter().any(|f| f.name.eq_ignore_ascii_case(value))
                || want(&own.join(" "), context).is_some();
            if own.is_empty()
                || context.is_numeric(&column) && !group
                || is_name && !context.derived.contains(&column)
                || (numeric || short && !beside(context, &column, value) && !spread(context, values))
                    && !group
            {
                continue;
            }
            let fits = stems.windows(own.len()).enumerate().any(|(place, window)| {
                let next_to = [place.checked_sub(1), Some(place + own.len())];
                let beside: Vec<&String> =
                    next_to.into_iter().flatten().filter_map(|p| words.get(p)).collect();
                window == own.as_slice()
                    && (!numeric
                        || own.iter().all(|w| w.len() >= 4) && group
                        || beside.iter().any(|w| {
                            w.len() >= 3 && {
                                column_words.iter().any(|c| c.contains(w.as_str()) || w.contains(c.as_str()))
                            }
                        }))
            });
            let length = own.iter().map(String::len).sum();
            if fits && best.is_none_or(|(top, _)| length > top) {
                best = Some((length, value));
            }
        }
        if column == "month"
            && best.is_none()
            && let Some(month) = month_number(&words)
        {
            found.push(Condition { column, is: Compare::Equal, value: month.to_string() });
            continue;
        }
        if let Some(value) = ranked(context, &column, &words).filter(|_| best.is_none() && group) {
            found.push(Condition { column, is: Compare::Equal, value });
            continue;
        }
        if let Some((_, value)) = best {
            found.push(Condition { column, is: Compare::Equal, value: value.clone() });
        } else if let Some(condition) = yes_no(context, &column, &words, group) {
            found.push(condition);
        }
    }
    found
}

/// The month that a name speaks of.
fn month_number(words: &[String]) -> Option<usize> {
    use crate::calendar::MONTHS;
    MONTHS
        .iter()
        .position(|month| {
            words.iter().any(|w| w == month || w.len() == 3 && month.starts_with(w.as_str()) && w != "mar")
        })
        .map(|p| p + 1)
}

/// "mean1", "mean2" over "the three most common values": the value that stands at this place by
/// frequency.
fn ranked(context: &Context, column: &str, words: &[String]) -> Option<String> {
    if !has_any(&context.words, &["most common", "most frequent", "most frequently", "top"]) {
        return None;
    }
    let rank: usize = words.last()?.parse().ok().filter(|n| (1..=10).contains(n))?;
    let place = context.frame.position(column)?;
    let mut counts: Vec<(String, usize)> = Vec::new();
    for value in context.frame.column(place).filter(|v| !v.is_null()) {
        let text = super::numbers::written(value);
        match counts.iter_mut().find(|(v, _)| *v == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.get(rank - 1).map(|(value, _)| value.clone())
}

/// Do the figures end in different values of the column ("texture_m", "texture_b")?
fn spread(context: &Context, values: &[String]) -> bool {
    let ends: Vec<String> =
        context.request.figures.iter().filter_map(|s| name_words(&s.name).pop()).collect();
    let hits = values.iter().filter(|v| ends.contains(&v.to_lowercase())).count();
    hits >= 2 && values.len() <= 6
}

/// Does the text set the column to this value: "Attrition = No"?
fn beside(context: &Context, column: &str, value: &str) -> bool {
    context
        .mentions
        .iter()
        .filter(|m| m.column == column && m.score >= 0.6)
        .any(|m| context.tokens.iter().skip(m.end).take(3).any(|t| t.text == value))
}

/// A column of two values 0 and 1 (or no and yes), told apart by a "not" in the name of the figure.
/// A column that does not group needs the other figure beside it, so that the mean of a flag is not
/// mistaken for a filter by it.
fn yes_no(context: &Context, column: &str, words: &[String], group: bool) -> Option<Condition> {
    let (low, high) = flag_values(context, column)?;
    let denied = denies(context, column, words)?;
    let counterpart = context
        .request
        .figures
        .iter()
        .filter_map(|figure| denies(context, column, &name_words(&figure.name)))
        .any(|other| other != denied);
    (group || counterpart).then(|| Condition {
        column: column.to_owned(),
        is: Compare::Equal,
        value: if denied { low } else { high },
    })
}

/// The flag column a rate is about ("survival_rate" and `Survived`), with the value that counts.
#[must_use]
pub(super) fn flag_of(
    context: &Context,
    figure: &Figure,
    conditions: &[Condition],
) -> Option<(String, String)> {
    let words = name_words(&figure.name);
    let mut seen: Vec<&str> = Vec::new();
    for mention in context.mentions.iter().filter(|m| m.score >= 0.4) {
        let taken = conditions.iter().any(|c| c.column == mention.column);
        if taken || seen.contains(&mention.column.as_str()) {
            continue;
        }
        seen.push(&mention.column);
        let Some((_, high)) = flag_values(context, &mention.column) else { continue };
        let beginning = |w: &String| w.chars().take(5).collect::<String>();
        let shares = name_words(&mention.column)
            .iter()
            .any(|c| c.len() >= 5 && words.iter().any(|w| w.len() >= 5 && beginning(w) == beginning(c)));
        if shares {
            return Some((mention.column.clone(), high));
        }
    }
    None
}

/// The low and the high value of a column that holds only yes and no.
#[must_use]
pub(super) fn flag_values(context: &Context, column: &str) -> Option<(String, String)> {
    let values: Vec<String> = context.lexicon.values_of(column).iter().map(|v| v.to_lowercase()).collect();
    let [low, high] = values.as_slice() else { return None };
    let flags = ["0", "false", "no"].contains(&low.as_str()) && ["1", "true", "yes"].contains(&high.as_str());
    flags.then(|| (low.clone(), high.clone()))
}

/// Does a name deny the column ("nonsmoker"), affirm it ("smoker"), or not speak of it?
fn denies(context: &Context, column: &str, words: &[String]) -> Option<bool> {
    let own: Vec<String> =
        context.lexicon.words_of(column).iter().filter(|w| w.len() >= 4).map(|w| stem(w)).collect();
    let about = |word: &str| {
        let word = stem(word);
        own.iter().any(|o| {
            word.len() >= 4
                && (o.starts_with(&word) || word.starts_with(&o.chars().take(6).collect::<String>()))
        })
    };
    let prefixed = words.iter().any(|w| {
        w.strip_prefix("non").or(w.strip_prefix("un")).is_some_and(|rest| rest.len() >= 4 && about(rest))
    });
    let denied =
        prefixed || words.iter().any(|w| ["not", "non", "no", "without", "un"].contains(&w.as_str()));
    (prefixed || words.iter().any(|w| about(w))).then_some(denied)
}
