//! Reading how rows are prepared: new columns, classes, missing cells, outliers, scales, groups.

use super::bins::read_bins;
use super::derive::read_derived;
use super::filters::read_filters;
use super::reader::Context;
use super::types::{DatePart, Fill, Formula, Scale, Step};
use super::words::{Token, has, has_any};
use std::ops::Range;

/// Reads all preparation into the context, in the order of the text.
pub(super) fn read_steps(context: &mut Context) {
    for range in context.sentences.clone() {
        for step in missing(context, &range).into_iter().chain(read_derived(context, &range, true)) {
            push(context, step);
        }
    }
    if context.derived.is_empty() {
        // Only when no new column has a name is one without a name looked for.
        for range in context.sentences.clone() {
            for step in read_derived(context, &range, false) {
                push(context, step);
            }
        }
    }
    if let Some(step) = read_bins(context) {
        push(context, step);
    }
    groups(context);
    for range in context.sentences.clone() {
        if let Some(step) = scale(context, &range) {
            push(context, step);
        }
        if let Some(step) = duplicates(context, &range) {
            push(context, step);
        }
    }
    if let Some(step) = outliers(context) {
        push(context, step);
    }
    if let Some(step) = top(context) {
        push(context, step);
    }
    for step in super::filters::between_columns(context) {
        push(context, step);
    }
    if let Some(step) = read_filters(context) {
        // A filter on a new column must wait for it; on the others it comes first, but after
        // changes between rows.
        push(context, step);
    }
}

fn push(context: &mut Context, step: Step) {
    let name = match &step {
        Step::Derive { name, .. } | Step::Bin { name, .. } => Some(name.clone()),
        _ => None,
    };
    let same = |other: &Step| match (other, &step) {
        (Step::Derive { name: a, .. }, Step::Derive { name: b, .. }) => a == b,
        (Step::Normalise { columns: a, .. }, Step::Normalise { columns: b, .. }) => a == b,
        (Step::FillMissing { columns: a, .. }, Step::FillMissing { columns: b, .. }) => {
            a == b || a.is_empty() || b.is_empty()
        }
        (a, b) => a == b,
    };
    if context.steps.iter().any(same) {
        return;
    }
    if let Step::Bin { name, bins, .. } = &step {
        let labels = bins.iter().map(|b| b.label.clone()).collect();
        context.lexicon.add_values(name, labels);
    }
    context.steps.push(step);
    if let Some(name) = name {
        context.lexicon.add(&name);
        context.derived.push(name);
        context.refresh();
    }
}

/// Missing cells that are filled or dropped.
fn missing(context: &Context, range: &Range<usize>) -> Option<Step> {
    let words = context.sentence(range);
    let them = has_any(&words, &["imput*", "fill*"]) && has_any(&context.words, &["missing", "null", "nan"]);
    if !them && !has_any(&words, &["missing", "null", "nan", "nulls", "na", "dropna", "fillna"]) {
        return None;
    }
    if has_any(&words, &["no missing", "if there are"]) && !has_any(&words, &["fill*", "imput*", "replac*"]) {
        return None;
    }
    let mut columns: Vec<String> = context.within(range).iter().map(|m| m.column.clone()).collect();
    if columns.is_empty() && them {
        // "Impute them" speaks of the column of the sentence before.
        let before = context.sentences.iter().rfind(|r| r.end <= range.start);
        columns =
            before.map(|r| context.within(r).iter().map(|m| m.column.clone()).collect()).unwrap_or_default();
    }
    // With other work in the same sentence, only the columns near the word count.
    if has_any(&words, &["outlier*", "normaliz*", "normalis*", "then"]) {
        let place = (range.start..range.end).find(|p| {
            context.tokens.get(*p).is_some_and(|t| ["missing", "null", "nan"].contains(&t.lower.as_str()))
        });
        if let Some(place) = place {
            let near = context
                .within(range)
                .into_iter()
                .filter(|m| m.start.abs_diff(place) <= 8)
                .min_by_key(|m| m.start.abs_diff(place));
            columns = near.map(|m| vec![m.column.clone()]).unwrap_or_default();
        }
    }
    if has_any(&words, &["fill*", "imput*", "replac*"]) {
        let words = filler(context, range).unwrap_or(words);
        let how = if has_any(&words, &["median"]) {
            Fill::Median
        } else if has_any(&words, &["mode", "most frequent", "most common"]) {
            Fill::Mode
        } else if has_any(&words, &["mean", "average"]) {
            Fill::Mean
        } else if has_any(&words, &["forward", "ffill", "previous value"]) {
            Fill::Forward
        } else if has_any(&words, &["backward", "bfill"]) {
            Fill::Backward
        } else if has_any(&words, &["with 0", "with zero", "with zeros", "by 0", "by zero", "with a 0"]) {
            Fill::Fixed("0".into())
        } else {
            return None;
        };
        return Some(Step::FillMissing { columns: unique(columns), how });
    }
    let drops = has_any(&words, &["drop*", "remov*", "delet*", "exclud*"]);
    let rows = has_any(
        &words,
        &["row", "rows", "entirely", "records", "dataset", "dropna", "data points", "datapoints"],
    );
    if drops && rows && !has_any(&words, &["outlier*"]) && !has_any(&words, &["do not remove", "do not drop"])
    {
        let columns = unique(columns);
        let whole = has_any(&words, &["entirely", "entire dataset", "any column", "all columns"])
            && columns.is_empty();
        return (whole || !columns.is_empty()).then_some(Step::DropMissing { columns });
    }
    None
}

/// The words that say with what missing cells are filled: those after "with", "by" or "using"
/// behind the word "missing".
fn filler(context: &Context, range: &Range<usize>) -> Option<String> {
    let tokens = context.tokens.get(range.clone())?;
    let place =
        tokens.iter().position(|t| ["missing", "null", "nan", "nulls"].contains(&t.lower.as_str()))?;
    let with = tokens
        .iter()
        .enumerate()
        .skip(place)
        .find(|(_, t)| ["with", "by", "using"].contains(&t.lower.as_str()))?
        .0;
    let near: Vec<Token> = tokens.iter().skip(with).take(7).take_while(|t| t.word).cloned().collect();
    let words = super::words::plain(&near);
    has_any(
        &words,
        &["mean", "average", "median", "mode", "0", "zero", "most frequent", "forward", "backward"],
    )
    .then_some(words)
}

/// Each name once, in order.
pub(super) fn unique(names: Vec<String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn duplicates(context: &Context, range: &Range<usize>) -> Option<Step> {
    let words = context.sentence(range);
    (has_any(&words, &["duplicate*", "duplicated"]) && has_any(&words, &["remov*", "drop*", "no duplicated"]))
        .then_some(Step::DropDuplicates)
}

/// A change of scale of whole columns.
fn scale(context: &Context, range: &Range<usize>) -> Option<Step> {
    let words = context.sentence(range);
    let log = has_any(
        &words,
        &[
            "log transform*",
            "logarithmic transform*",
            "log transformation",
            "natural log",
            "natural logarithm",
            "logarithm of",
        ],
    );
    let verb = has_any(
        &words,
        &[
            "normaliz*",
            "normalis*",
            "standardiz*",
            "standardis*",
            "rescal*",
            "feature scaling",
            "scale",
            "min max scal*",
            "min max normaliz*",
        ],
    );
    let how = if log {
        if has_any(&words, &["log1p", "log x 1", "plus one", "log 1 x"]) {
            Scale::LogPlusOne
        } else if has_any(&words, &["base 10", "log10"]) {
            Scale::Log10
        } else {
            Scale::Log
        }
    } else if has_any(&words, &["square root transform*"]) {
        Scale::SquareRoot
    } else if verb
        && has_any(
            &context.words,
            &["z score normaliz*", "standardiz*", "standardis*", "z score standard*", "standard scal*"],
        )
    {
        Scale::ZScore
    } else if verb {
        Scale::MinMax
    } else {
        return None;
    };
    let columns = unique(
        context.within(range).iter().map(|m| m.column.clone()).filter(|c| context.is_numeric(c)).collect(),
    );
    let columns = if columns.is_empty() { unique(strong(context)) } else { columns };
    if columns.is_empty() || has_any(&words, &["do not normaliz*", "without normaliz*"]) {
        return None;
    }
    let conditional = log
        && has(&words, "if")
        && has_any(
            &words,
            &["p value is less than", "p value less than", "not normal*", "not follow a normal"],
        );
    let unless_normal = context.normality().filter(|_| conditional).map(|test| (test, context.alpha));
    Some(Step::Normalise { columns, how, unless_normal })
}

/// The numeric columns that the text names beyond doubt.
fn strong(context: &Context) -> Vec<String> {
    context
        .mentions
        .iter()
        .filter(|m| m.score >= 0.7 && context.is_numeric(&m.column))
        .map(|m| m.column.clone())
        .collect()
}

/// Outliers that are taken out before something is measured.
fn outliers(context: &Context) -> Option<Step> {
    let rule = context.outlier_rule();
    for range in &context.sentences {
        let words = context.sentence(range);
        let takes =
            has_any(&words, &["remov*", "drop*", "exclud*", "without", "eliminat*", "filter out", "replac*"]);
        if !has(&words, "outlier*")
            && !has_any(&words, &["standard deviations away", "standard deviations from"])
            || !takes
        {
            continue;
        }
        if has_any(
            &words,
            &["do not remove", "not remove", "don t remove", "do not exclude", "not be removed"],
        ) {
            continue;
        }
        // The column is the one named closest to the word; else the first numeric one of the text.
        let place = context
            .tokens
            .iter()
            .enumerate()
            .skip(range.start)
            .take(range.len())
            .find(|(_, t)| t.lower.starts_with("outlier"))
            .map_or(range.start, |(place, _)| place);
        let near = context
            .within(range)
            .into_iter()
            .filter(|m| context.is_numeric(&m.column))
            .map(|m| {
                let axis = if super::choose::is_axis(context, &m.column) { 0.5 } else { 0.0 };
                (m.score - axis - 0.01 * m.start.abs_diff(place) as f64, m.column.clone())
            })
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, column)| column);
        let column = near.or_else(|| strong(context).into_iter().next())?;
        let replace = context.sentences.iter().any(|r| {
            let words = context.sentence(r);
            has(&words, "replac*")
                && has_any(&words, &["outlier*", "standard deviations"])
                && has_any(&words, &["with the mean", "by the mean"])
                && !has_any(&words, &["missing"])
        });
        return Some(Step::RemoveOutliers { column, rule, replace });
    }
    None
}

/// "the top 3 apps, sorted by price": only these rows are kept.
fn top(context: &Context) -> Option<Step> {
    let place =
        context.tokens.iter().position(|t| ["top", "bottom"].contains(&t.lower.as_str()) && t.quote == 0)?;
    let count = context
        .tokens
        .get(place + 1)
        .and_then(|t| super::words::small_number(&t.lower))
        .filter(|n| *n > 0)?;
    let largest = context.tokens.get(place).is_some_and(|t| t.lower == "top");
    let sorted = context
        .tokens
        .iter()
        .position(|t| t.lower.starts_with("sort") || t.lower.starts_with("rank") || t.lower == "based")?;
    let column = context
        .mentions
        .iter()
        .find(|m| m.start > sorted && m.score >= 0.4 && context.is_numeric(&m.column))?
        .column
        .clone();
    Some(Step::Top { column, count, largest })
}

/// The number that follows one of these words: "a threshold of 3", "Z-score greater than 2.5", "3
/// standard deviations".
pub(super) fn threshold(tokens: &[Token], words: &[&str]) -> Option<f64> {
    for (place, token) in tokens.iter().enumerate() {
        if !words.iter().any(|w| token.lower.starts_with(w)) {
            continue;
        }
        let after = tokens.iter().skip(place + 1).take(8).find_map(Token::number);
        let before = tokens
            .iter()
            .take(place)
            .rev()
            .take(2)
            .find_map(|t| t.number().or_else(|| word_number(&t.lower)));
        let found = if token.lower.starts_with("deviation") { before } else { after };
        if let Some(number) = found.filter(|n| *n > 0.5 && *n <= 6.0) {
            return Some(number);
        }
    }
    None
}

fn word_number(word: &str) -> Option<f64> {
    super::words::small_number(word).map(|n| n as f64).filter(|n| *n > 0.0)
}

/// The number before "times the interquartile range" or "* IQR".
pub(super) fn iqr_factor(tokens: &[Token]) -> Option<f64> {
    for (place, token) in tokens.iter().enumerate() {
        if token.lower == "iqr" || token.lower == "interquartile" {
            let before = tokens.iter().take(place).rev().take(4).find_map(Token::number);
            if let Some(number) = before.filter(|n| *n >= 1.0 && *n <= 5.0) {
                return Some(number);
            }
        }
    }
    None
}

/// The columns after "for each", "per", "group by" and the like; parts of a date become columns of
/// their own.
fn groups(context: &mut Context) {
    const MARKS: [&str; 14] = [
        "which",
        "extract",
        "each",
        "per",
        "every",
        "grouped",
        "groupby",
        "across",
        "separately",
        "different",
        "group",
        "among",
        "respective",
        "by",
    ];
    let mut found: Vec<String> = Vec::new();
    for place in 0..context.tokens.len() {
        let Some(token) = context.tokens.get(place).cloned() else { continue };
        if !MARKS.contains(&token.lower.as_str()) {
            continue;
        }
        let weak = ["by", "group", "among", "different", "across", "separately", "respective"]
            .contains(&token.lower.as_str());
        let reach = place + 1..place + 8;
        let parts = context
            .tokens
            .get(place + 1..(place + 5).min(context.tokens.len()))
            .map(date_words)
            .unwrap_or_default();
        let mut dated = false;
        for (part, name) in parts.into_iter().filter(|_| !weak) {
            if context.frame.fields.iter().all(|f| !f.name.eq_ignore_ascii_case(name))
                && let Some(name) = date_column(context, part, name)
            {
                found.push(name);
                dated = true;
            }
        }
        if dated || ["which", "extract"].contains(&token.lower.as_str()) {
            continue;
        }
        let next = context.mentions.iter().find(|m| {
            reach.contains(&m.start)
                && m.score >= 0.4
                && !context
                    .tokens
                    .get(place..m.start)
                    .is_some_and(|t| t.iter().any(|t| t.text == "," || t.text == "\n"))
        });
        let Some(mention) = next else { continue };
        let column = mention.column.clone();
        // "by the source 'X'" names one value, not groups.
        let own = context.tokens.get(mention.start).map_or(0, |t| t.quote);
        let compared = context.tokens.get(mention.end).is_some_and(|t| {
            ["=", "equal", "is"].contains(&t.lower.as_str()) || t.quote > 0 && t.quote != own
        });
        if compared && weak {
            continue;
        }
        let few = !context.lexicon.values_of(&column).is_empty();
        let close = mention.start <= place + if weak { 3 } else { 5 };
        let quoted_group = token.lower.starts_with("group") && mention.score >= 0.9;
        if (few || (!context.is_numeric(&column) && !weak) || quoted_group) && (close || quoted_group) {
            found.push(column);
        }
    }
    context.groups = unique(found);
}

/// The parts of a date that stand here: "month", "month and year".
fn date_words(tokens: &[Token]) -> Vec<(DatePart, &'static str)> {
    let near = tokens.iter().take_while(|t| t.word).take(4).filter(|t| t.quote == 0);
    near.filter_map(|t| match t.lower.as_str() {
        "month" | "months" => Some((DatePart::Month, "month")),
        "year" | "years" => Some((DatePart::Year, "year")),
        "weekday" | "weekdays" => Some((DatePart::Weekday, "weekday")),
        "week" => Some((DatePart::Weekday, "day of week")),
        "hour" => Some((DatePart::Hour, "hour")),
        "quarter" => Some((DatePart::Quarter, "quarter")),
        _ => None,
    })
    .collect()
}

/// Makes a column with a part of the date, from the date column of the table.
pub(super) fn date_column(context: &mut Context, part: DatePart, name: &str) -> Option<String> {
    let frame = context.frame;
    let is_date = |place: usize| {
        let mut cells = frame.column(place).filter(|v| !v.is_null()).take(20).peekable();
        cells.peek().is_some() && cells.all(|v| super::numbers::moment(v).is_some())
    };
    let named = |place: &usize| {
        frame
            .fields
            .get(*place)
            .is_some_and(|f| has_any(&f.name.to_lowercase(), &["date*", "time*", "timestamp"]))
    };
    let candidates: Vec<usize> = (0..frame.fields.len())
        .filter(|p| frame.fields.get(*p).is_some_and(|f| f.kind.is_time() || !f.kind.is_number()) || named(p))
        .filter(|p| is_date(*p))
        .collect();
    let column = candidates.iter().find(|p| named(p)).or(candidates.first())?;
    let column = frame.fields.get(*column)?.name.clone();
    let place = frame.position(&column)?;
    let mut values: Vec<String> = frame
        .column(place)
        .map(|v| super::numbers::written(&super::numbers::date_part(v, part)))
        .filter(|v| !v.is_empty())
        .collect();
    values.sort();
    values.dedup();
    context.lexicon.add_values(name, values);
    push(context, Step::Derive { name: name.to_owned(), formula: Formula::DatePart(column, part) });
    Some(name.to_owned())
}
