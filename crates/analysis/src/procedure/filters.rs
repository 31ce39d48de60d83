//! Reading conditions on the rows: "for DIR equal to 180", "years beyond 2000", "the source 'ABC
//! News'".

use super::reader::Context;
use super::types::{Compare, Condition, Step};
use super::words::Token;

/// The filter that the text states, as one step.
#[must_use]
pub(super) fn read_filters(context: &Context) -> Option<Step> {
    let mut conditions: Vec<Condition> = Vec::new();
    for condition in compared(context).into_iter().chain(valued(context)).chain(absent(context)) {
        // Of "after 2000" and "2000 and beyond" the inclusive reading is the more explicit one.
        if condition.is == Compare::AtLeast {
            conditions.retain(|c| {
                c.column != condition.column || c.is != Compare::More || c.value != condition.value
            });
        }
        let same = |other: &Condition| {
            other.column == condition.column
                && (other.is == condition.is
                    || other.is == Compare::AtLeast
                        && condition.is == Compare::More
                        && other.value == condition.value)
        };
        if !conditions.iter().any(same) {
            conditions.push(condition);
        }
    }
    (!conditions.is_empty()).then_some(Step::Filter { conditions })
}

/// "the closing price was higher than the opening price": the difference becomes a column, and the
/// filter looks at it.
#[must_use]
pub(super) fn between_columns(context: &Context) -> Vec<Step> {
    // Without a list of figures the comparison is left to a query, which does it better.
    if context.request.figures.is_empty() {
        return Vec::new();
    }
    for pair in context.mentions.windows(2) {
        let [left, right] = pair else { continue };
        let between: Vec<&str> = context
            .tokens
            .iter()
            .skip(left.end)
            .take(right.start.saturating_sub(left.end))
            .map(|t| t.lower.as_str())
            .collect();
        let more = between
            .iter()
            .any(|w| ["higher", "greater", "more", "larger", ">", "above", "exceeds"].contains(w));
        let less = between.iter().any(|w| ["lower", "less", "smaller", "<", "below"].contains(w));
        let numbers = between.iter().any(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        let than = between.iter().any(|w| ["than", ">", "<", "exceeds"].contains(w));
        let usable = |m: &super::columns::Mention| m.score >= 0.4 && context.is_numeric(&m.column);
        if numbers
            || between.len() > 6
            || more == less
            || !than
            || left.column == right.column
            || !usable(left)
            || !usable(right)
        {
            continue;
        }
        let column = |name: &str| Box::new(super::types::Formula::Column(name.to_owned()));
        let name = format!("{} less {}", left.column.trim(), right.column.trim());
        let formula = super::types::Formula::Operation('-', column(&left.column), column(&right.column));
        let is = if more { Compare::More } else { Compare::Less };
        let condition = Condition { column: name.clone(), is, value: "0".into() };
        return vec![Step::Derive { name, formula }, Step::Filter { conditions: vec![condition] }];
    }
    Vec::new()
}

/// A column, a comparison and a number: "DIR equal to 180", "year beyond 2000".
fn compared(context: &Context) -> Vec<Condition> {
    let mut found = Vec::new();
    for mention in context.mentions.iter().filter(|m| m.score >= 0.4) {
        let sentence = context.sentences.iter().find(|r| r.contains(&mention.start));
        let Some(sentence) = sentence else { continue };
        let words = context.sentence(sentence);
        if super::words::has_any(
            &words,
            &[
                "outlier*",
                "z score*",
                "iqr",
                "p value",
                "categor*",
                "percentile",
                "skewness",
                "absolute value",
                "consider*",
            ],
        ) {
            continue;
        }
        let Some((is, number, at)) = comparison(&context.tokens, mention.end)
            .or_else(|| against_centre(context, mention))
            .or_else(|| level(context, mention))
            .or_else(|| before_noun(context, mention))
        else {
            continue;
        };
        // A range of classes or a list of numbers is no filter.
        let next = context.tokens.get(at + 1).map_or("", |t| t.lower.as_str());
        if ["-", "to", "decimal", "decimals", "%"].contains(&next) || !context.is_numeric(&mention.column) {
            continue;
        }
        found.push(Condition { column: mention.column.clone(), is, value: format!("{number}") });
    }
    found
}

/// "above the mean": the bound is a statistic of the column itself.
fn against_centre(context: &Context, mention: &super::columns::Mention) -> Option<(Compare, f64, usize)> {
    let words: Vec<&str> =
        context.tokens.iter().skip(mention.end).take(6).map(|t| t.lower.as_str()).collect();
    let is = match words.iter().find(|w| !["is", "are", ")", "value", "values"].contains(*w))? {
        w if ["above", "greater", "higher", "exceeding", "over", "more"].contains(w) => Compare::More,
        w if ["below", "less", "lower", "under"].contains(w) => Compare::Less,
        _ => return None,
    };
    let numbers = super::numbers::column_numbers(context.frame, &mention.column)?;
    let centre = words.iter().find_map(|w| match *w {
        "mean" | "average" => crate::statistics::describe::mean(&numbers),
        "median" => crate::statistics::describe::median(&numbers),
        _ => None,
    })?;
    Some((is, centre, mention.end + 1))
}

/// "more than 2 vehicles": the comparison stands before the column.
fn before_noun(context: &Context, mention: &super::columns::Mention) -> Option<(Compare, f64, usize)> {
    let word = |back: usize| mention.start.checked_sub(back).and_then(|p| context.tokens.get(p));
    let number = word(1)?.number()?;
    let (than, how) = (word(2)?.lower.as_str(), word(3)?.lower.as_str());
    let is = match (how, than) {
        ("more" | "greater" | "higher", "than") => Compare::More,
        ("less" | "fewer" | "lower", "than") => Compare::Less,
        ("at", "least") => Compare::AtLeast,
        ("at", "most") => Compare::AtMost,
        _ => return None,
    };
    Some((is, number, mention.end.saturating_sub(1)))
}

/// "job level 3": a column of few whole numbers, followed by one of them.
fn level(context: &Context, mention: &super::columns::Mention) -> Option<(Compare, f64, usize)> {
    let token = context.tokens.get(mention.end)?;
    let number = token.number().filter(|n| n.fract() == 0.0)?;
    let values = context.lexicon.values_of(&mention.column);
    let follows = context
        .tokens
        .get(mention.end + 1)
        .is_some_and(|t| t.number().is_some() || ["and", ",", "or"].contains(&t.lower.as_str()));
    (mention.score >= 0.6 && !follows && values.contains(&format!("{number:.0}"))).then_some((
        Compare::Equal,
        number,
        mention.end,
    ))
}

fn comparison(tokens: &[Token], start: usize) -> Option<(Compare, f64, usize)> {
    let word = |place: usize| tokens.get(start + place).map_or("", |t| t.lower.as_str());
    let mut place = 0;
    while ["is", "are", ")", "column", "value", "values", "was", "being", "of"].contains(&word(place)) {
        place += 1;
    }
    let (strict, loose) = match word(place) {
        "equal" | "equals" | "=" => (Compare::Equal, Compare::Equal),
        "greater" | "above" | "over" | "more" | "higher" | "larger" | ">" => {
            (Compare::More, Compare::AtLeast)
        }
        "beyond" | "after" => (Compare::More, Compare::AtLeast),
        "since" => (Compare::AtLeast, Compare::AtLeast),
        "less" | "below" | "under" | "lower" | "smaller" | "<" => (Compare::Less, Compare::AtMost),
        "before" => (Compare::Less, Compare::Less),
        "at" if word(place + 1) == "least" => {
            return Some((Compare::AtLeast, tokens.get(start + place + 2)?.number()?, start + place + 2));
        }
        "at" if word(place + 1) == "most" => {
            return Some((Compare::AtMost, tokens.get(start + place + 2)?.number()?, start + place + 2));
        }
        _ if tokens
            .get(start + place)
            .is_some_and(|t| t.number().is_some_and(|n| (1000.0..3000.0).contains(&n))) =>
        {
            // "year 2010" is a value; "years 2000 and beyond" a bound.
            let bound = word(place + 1) == "and"
                && ["beyond", "later", "after", "above", "onwards"].contains(&word(place + 2));
            let is = if bound { Compare::AtLeast } else { Compare::Equal };
            return Some((is, tokens.get(start + place)?.number()?, start + place));
        }
        _ => return None,
    };
    let mut is = strict;
    place += 1;
    while ["to", "than", "or", "equal", "=", "the", "year"].contains(&word(place)) {
        if word(place) == "equal" || (word(place) == "=" && strict != Compare::Equal) {
            is = loose;
        }
        place += 1;
    }
    let number = tokens.get(start + place)?.number()?;
    let factor = match word(place + 1) {
        "thousand" => 1e3,
        "million" => 1e6,
        "billion" => 1e9,
        _ => 1.0,
    };
    Some((is, number * factor, start + place))
}

/// Is the value written exactly as it stands in the column, with capitals?
fn capital(context: &Context, mention: &super::columns::ValueMention) -> bool {
    let written: String = context
        .tokens
        .get(mention.start..mention.end)
        .map(|t| t.iter().map(|t| t.text.as_str()).collect())
        .unwrap_or_default();
    let bare: String = mention.value.chars().filter(|c| !c.is_whitespace()).collect();
    let starts = context.sentences.iter().any(|r| r.start == mention.start);
    written == bare
        && bare.chars().next().is_some_and(char::is_uppercase)
        && bare.chars().count() >= 2
        && !starts
}

/// Is the value followed by the thing it describes ("male employees"), not used in passing?
fn only_noun(context: &Context, after: usize) -> bool {
    context
        .tokens
        .get(after)
        .is_some_and(|t| t.word && !super::words::is_filler(&t.lower) && t.number().is_none())
}

/// A quoted value beside the name of a column of words that does not hold it: then no row is meant.
fn absent(context: &Context) -> Vec<Condition> {
    let known = context.lexicon.values(&context.tokens);
    let mut found = Vec::new();
    for mention in context
        .mentions
        .iter()
        .filter(|m| !context.is_numeric(&m.column) && !context.derived.contains(&m.column))
    {
        let Some(place) = mention.start.checked_sub(1) else { continue };
        let Some(quote) = context.tokens.get(place).map(|t| t.quote).filter(|q| *q > 0) else { continue };
        let words: Vec<&Token> = context.tokens.iter().filter(|t| t.quote == quote).collect();
        let text = words.iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ");
        let values = context.lexicon.values_of(&mention.column);
        let taken = known.iter().any(|v| v.start <= place && v.end > place)
            || context.mentions.iter().any(|m| m.start <= place && m.end > place);
        if !taken && !values.is_empty() && !context.request.figures.iter().any(|s| s.choices.contains(&text))
        {
            found.push(Condition { column: mention.column.clone(), is: Compare::Equal, value: text });
        }
    }
    found
}

/// Values of a column of words, in quotes or plain: "the source 'ABC News'", "male passengers".
fn valued(context: &Context) -> Vec<Condition> {
    let mentions = context.lexicon.values(&context.tokens);
    let mut found: Vec<Condition> = Vec::new();
    for mention in &mentions {
        if context.derived.contains(&mention.column) || context.groups.contains(&mention.column) {
            continue;
        }
        let overlaps =
            context.mentions.iter().any(|m| m.score >= 0.7 && mention.start < m.end && mention.end > m.start);
        let named = context.mentions.iter().any(|m| m.column == mention.column && m.score >= 0.6);
        let others = mentions
            .iter()
            .any(|m| m.column == mention.column && m.value != mention.value && (m.quoted || !mention.quoted));
        let figure = context
            .request
            .figures
            .iter()
            .any(|figure| figure.choices.iter().any(|c| c.eq_ignore_ascii_case(&mention.value)));
        let near = context
            .mentions
            .iter()
            .any(|m| m.column == mention.column && m.start.abs_diff(mention.start) <= 5);
        let words = !context.is_numeric(&mention.column);
        let few = context.lexicon.values_of(&mention.column).len() <= 20;
        let shared = mentions
            .iter()
            .any(|m| m.start < mention.end && m.end > mention.start && m.column != mention.column);
        let plain = ["yes", "no", "true", "false", "high", "low", "medium", "other", "none", "normal"]
            .contains(&mention.value.to_lowercase().as_str());
        let alone = few
            && !shared
            && (mention.quoted
                || !plain && mention.value.chars().count() >= 4 && only_noun(context, mention.end)
                || !plain && capital(context, mention));
        let sure = mention.quoted && (named || near) || (near && named) || alone;
        if overlaps || others || figure || !words || !sure {
            continue;
        }
        found.push(Condition {
            column: mention.column.clone(),
            is: Compare::Equal,
            value: mention.value.clone(),
        });
    }
    found
}
