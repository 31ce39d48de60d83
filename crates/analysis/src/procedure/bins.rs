//! Reading classes with stated ranges: "'Child' (0-12 years old), 'Adult' (13 and above)", or by
//! percentiles.

use super::reader::Context;
use super::types::{Bin, Step};
use super::words::{Token, has_any};

/// A label with the tokens that describe it.
struct Labelled {
    label: String,
    start: usize,
    after: usize,
}

/// The classes a text defines, if it defines at least two.
#[must_use]
pub(super) fn read_bins(context: &Context) -> Option<Step> {
    const MARKS: [&str; 9] =
        ["categor*", "bin", "bins", "binning", "classif*", "groups", "divid*", "segment*", "bucket*"];
    let range = context.sentences.iter().find(|range| {
        has_any(&context.sentence(range), &MARKS) && labels(context, range.start, range.end).len() >= 2
    })?;
    let found = labels(context, range.start, range.end);
    let name = found
        .iter()
        .find(|l| context.frame.position(&l.label).is_none() && named(context, l))
        .map(|l| l.label.clone());
    let column = binned_column(context, range, name.as_deref())?;
    // The labels stand behind the word "into" or after the column; a column's own name in quotes is
    // none of them.
    let into = context
        .tokens
        .iter()
        .enumerate()
        .skip(range.start)
        .take(range.len())
        .find(|(_, t)| t.lower == "into")
        .map_or(range.start, |(p, _)| p);
    let mut names: Vec<String> = Vec::new();
    for label in found.iter().filter(|l| l.start > into) {
        if Some(&label.label) != name.as_ref() && label.label != column && !names.contains(&label.label) {
            names.push(label.label.clone());
        }
    }
    let places: Vec<Labelled> = labels(context, range.start, context.tokens.len())
        .into_iter()
        .filter(|l| l.start > into && names.contains(&l.label))
        .collect();
    let mut bins: Vec<Bin> = Vec::new();
    let mut quantiles = false;
    for (place, label) in places.iter().enumerate() {
        let end = places.get(place + 1).map_or(context.tokens.len().min(label.after + 30), |next| next.start);
        let Some((bin, share)) =
            context.tokens.get(label.after..end).and_then(|tokens| bounds(&label.label, tokens))
        else {
            continue;
        };
        if !bins.iter().any(|b| b.label == bin.label) {
            quantiles |= share;
            bins.push(bin);
        }
    }
    if bins.len() < 2 {
        return None;
    }
    close_gaps(&mut bins);
    let name = name.unwrap_or_else(|| format!("{column}_group"));
    Some(Step::Bin { column, name, bins, quantiles })
}

/// The column that is classed: one whose name is in the name of the new column, else the best named
/// numeric one.
fn binned_column(context: &Context, range: &std::ops::Range<usize>, name: Option<&str>) -> Option<String> {
    let numeric: Vec<_> =
        context.within(range).into_iter().filter(|m| context.is_numeric(&m.column)).collect();
    let everywhere = context.mentions.iter().filter(|m| m.score >= 0.4 && context.is_numeric(&m.column));
    let key = super::words::key(name.unwrap_or_default());
    let inside = numeric.iter().find(|m| key.contains(&super::words::key(&m.column)));
    let best = numeric.iter().max_by(|a, b| a.score.total_cmp(&b.score).then(b.start.cmp(&a.start)));
    inside
        .or(best)
        .map(|m| m.column.clone())
        .or_else(|| everywhere.max_by(|a, b| a.score.total_cmp(&b.score)).map(|m| m.column.clone()))
}

/// Is the quoted text introduced as the name of the new column?
fn named(context: &Context, label: &Labelled) -> bool {
    let before =
        label.start.checked_sub(1).and_then(|p| context.tokens.get(p)).map_or("", |t| t.lower.as_str());
    ["called", "named", "column", "feature", "variable"].contains(&before)
}

/// The quoted texts between two places.
fn labels(context: &Context, start: usize, end: usize) -> Vec<Labelled> {
    let mut found: Vec<Labelled> = Vec::new();
    let mut place = start;
    while place < end {
        let Some(token) = context.tokens.get(place) else { break };
        if token.quote == 0 {
            place += 1;
            continue;
        }
        let quote = token.quote;
        let first = place;
        let mut label = String::new();
        while let Some(token) = context.tokens.get(place).filter(|t| t.quote == quote) {
            if token.spaced && !label.is_empty() {
                label.push(' ');
            }
            label.push_str(&token.text);
            place += 1;
        }
        found.push(Labelled { label, start: first, after: place });
    }
    found
}

/// The range that a description states, and whether it is in percentiles.
fn bounds(label: &str, tokens: &[Token]) -> Option<(Bin, bool)> {
    let mut bin = Bin { label: label.to_owned(), low: None, low_inside: true, high: None, high_inside: true };
    let share = tokens.iter().any(|t| t.lower.starts_with("percentile"));
    let numbers: Vec<(usize, f64)> =
        tokens.iter().enumerate().filter_map(|(place, t)| Some((place, bound_number(&t.lower)?))).collect();
    let scale = |n: f64| if share { n / 100.0 } else { n };
    let (place, first) = *numbers.first()?;
    let text = super::words::plain(tokens);
    let inside = has_any(&text, &["or equal", "at least", "at most", "inclusive", "and above", "and below"])
        || tokens
            .windows(2)
            .any(|w| matches!(w, [a, b] if (a.text == ">" || a.text == "<") && b.text == "="));
    let sign = |wanted: &[&str]| tokens.iter().any(|t| wanted.contains(&t.lower.as_str()));
    let second = numbers.get(1).copied();
    let joined = second.is_some_and(|(other, _)| {
        other <= place + 4
            && tokens
                .get(place + 1..other)
                .is_some_and(|t| t.iter().any(|t| ["-", "–", "to", "and"].contains(&t.text.as_str())))
    });
    if joined {
        let strict = has_any(&text, &["between"]) && share;
        bin.low = Some(scale(first));
        bin.high = second.map(|(_, n)| scale(n));
        (bin.low_inside, bin.high_inside) = (!strict, !strict);
    } else if sign(&[
        "above",
        "over",
        "greater",
        "more",
        "older",
        "higher",
        ">",
        "+",
        "least",
        "larger",
        "exceeding",
    ]) {
        bin.low = Some(scale(first));
        bin.low_inside = inside || sign(&["+"]);
    } else if sign(&["below", "under", "less", "younger", "lower", "<", "most", "smaller", "fewer"]) {
        bin.high = Some(scale(first));
        bin.high_inside = inside;
    } else {
        return None;
    }
    Some((bin, share))
}

fn bound_number(word: &str) -> Option<f64> {
    let digits = word
        .trim_end_matches("th")
        .trim_end_matches("st")
        .trim_end_matches("nd")
        .trim_end_matches("rd")
        .trim_end_matches('k');
    digits.parse().ok().filter(|_| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// "0-12" and "13-19" leave a gap for 12.5: the second class then begins above the end of the
/// first.
fn close_gaps(bins: &mut [Bin]) {
    // "18.5 to 24.9" and "25 to 29.9": what lies between still belongs to the first.
    let lows: Vec<f64> = bins.iter().filter_map(|b| b.low).collect();
    for bin in bins.iter_mut() {
        let Some(high) = bin.high else { continue };
        if let Some(low) = lows.iter().find(|low| **low > high && **low - high < 0.99) {
            bin.high = Some(*low);
            bin.high_inside = false;
        }
    }
    let highs: Vec<f64> = bins.iter().filter_map(|b| b.high).collect();
    for bin in bins.iter_mut() {
        let Some(low) = bin.low else { continue };
        if let Some(high) = highs.iter().find(|high| low - **high == 1.0) {
            bin.low = Some(*high);
            bin.low_inside = false;
        }
    }
}
