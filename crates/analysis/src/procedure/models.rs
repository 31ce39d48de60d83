//! Reading a model: what is predicted, from what, with which split.

use super::reader::Context;
use super::types::{Model, Quality};
use super::words::{Token, has_any};

/// The model the text describes.
#[must_use]
pub(super) fn read_model(context: &Context, give: Quality) -> Option<Model> {
    let (target, features) =
        predicted(context).or_else(|| dependent(context)).or_else(|| regressed(context))?;
    let logistic = has_any(&context.words, &["logistic regression"]);
    let split = test_share(&context.tokens).map(|share| (share, seed(&context.tokens).unwrap_or(42)));
    Some(Model { target, features, logistic, split, give })
}

/// "with A as the independent variable and B as the dependent variable", "regress B on A".
fn dependent(context: &Context) -> Option<(String, Vec<String>)> {
    let strong: Vec<_> =
        context.mentions.iter().filter(|m| m.score >= 0.4 && context.is_numeric(&m.column)).collect();
    let role = |words: &[&str]| {
        let place = context.tokens.iter().position(|t| words.contains(&t.lower.as_str()))?;
        strong
            .iter()
            .filter(|m| m.start.abs_diff(place) <= 8)
            .min_by_key(|m| if m.start < place { place - m.end } else { m.start - place + 3 })
            .map(|m| m.column.clone())
    };
    let target = role(&["dependent", "target", "response", "outcome"])?;
    let place = context.tokens.iter().position(|t| {
        ["independent", "predictor", "predictors", "explanatory", "features", "feature"]
            .contains(&t.lower.as_str())
    })?;
    let sentence = context.sentences.iter().find(|r| r.contains(&place))?;
    let features = super::prepare::unique(
        strong
            .iter()
            .filter(|m| sentence.contains(&m.start) && m.column != target)
            .map(|m| m.column.clone())
            .collect(),
    );
    (!features.is_empty()).then_some((target, features))
}

/// "regress B on A", "model B on A": what stands before "on" is explained by what stands after.
fn regressed(context: &Context) -> Option<(String, Vec<String>)> {
    for range in &context.sentences {
        if !has_any(&context.sentence(range), &["regression", "regress", "model"]) {
            continue;
        }
        let mentions = context.within(range);
        let target = mentions.first()?;
        let on = (target.end..range.end).find(|p| {
            context.tokens.get(*p).is_some_and(|t| ["on", "from", "using"].contains(&t.lower.as_str()))
        })?;
        let features: Vec<String> = super::prepare::unique(
            mentions
                .iter()
                .filter(|m| m.start > on && m.column != target.column)
                .map(|m| m.column.clone())
                .collect(),
        );
        if !features.is_empty() {
            return Some((target.column.clone(), features));
        }
    }
    None
}

/// "predict B based on A".
fn predicted(context: &Context) -> Option<(String, Vec<String>)> {
    let place = context.tokens.iter().position(|t| t.lower.starts_with("predict"))?;
    let strong: Vec<_> = context.mentions.iter().filter(|m| m.score >= 0.4).collect();
    let based = context
        .tokens
        .iter()
        .enumerate()
        .skip(place)
        .find(|(_, t)| ["based", "using", "from", "with"].contains(&t.lower.as_str()))
        .map_or(context.tokens.len(), |(p, _)| p);
    let target = strong.iter().find(|m| m.start > place && m.start < based)?.column.clone();
    let end = context.sentences.iter().find(|r| r.contains(&based)).map_or(context.tokens.len(), |r| r.end);
    let features = super::prepare::unique(
        strong
            .iter()
            .filter(|m| m.start > based && m.end <= end && m.column != target)
            .map(|m| m.column.clone())
            .collect(),
    );
    (!features.is_empty()).then_some((target, features))
}

/// The share of test rows: "80:20", "70-30", "training set (80%)", "test size of 0.2".
fn test_share(tokens: &[Token]) -> Option<f64> {
    for (place, token) in tokens.iter().enumerate() {
        let Some(first) = token.number() else { continue };
        let sign = tokens.get(place + 1).map_or("", |t| t.text.as_str());
        let second = tokens.get(place + 2).and_then(Token::number);
        if let (":" | "-" | "/", Some(second)) = (sign, second)
            && [10.0, 100.0].contains(&(first + second))
        {
            return Some(second / (first + second));
        }
    }
    let words = super::words::plain(tokens);
    if !has_any(
        &words,
        &["training set", "test set", "testing set", "train test split", "training and testing", "split"],
    ) {
        return None;
    }
    let shares: Vec<f64> = tokens
        .iter()
        .enumerate()
        .filter(|(place, _)| tokens.get(place + 1).is_some_and(|t| t.text == "%"))
        .filter_map(|(_, t)| t.number())
        .filter(|n| (5.0..=95.0).contains(n))
        .collect();
    let smallest = shares.iter().copied().fold(f64::INFINITY, f64::min);
    if smallest.is_finite() {
        return Some(if smallest > 50.0 { (100.0 - smallest) / 100.0 } else { smallest / 100.0 });
    }
    tokens.iter().filter_map(Token::number).find(|n| (0.05..=0.5).contains(n))
}

/// The number after "random state" or "seed".
fn seed(tokens: &[Token]) -> Option<u32> {
    let place = tokens.iter().position(|t| t.lower == "seed" || t.lower == "state")?;
    let number = tokens.iter().skip(place).take(8).find_map(Token::number)?;
    Some(number as u32)
}
