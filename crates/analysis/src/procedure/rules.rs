//! Rules in words: "strong if |r| >= 0.7", "if the p-value is less than 0.05, the data is not
//! normal".
//!
//! A sentence is cut into conditions and the words around them; each condition is paired with the
//! label that stands before it ("strong if ...") or after it ("if ..., strong"). Labels are
//! recognised by their words and by negation.

use super::asked::{Bound, Quantity, Rule};
use super::types::Compare;
use super::words::{Token, has_any, plain, stem};

/// Rules read from a text, and the label for all other cases.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rules {
    /// In the order of the text.
    pub rules: Vec<Rule>,
    /// The label of "otherwise".
    pub otherwise: Option<String>,
}

/// A piece of a sentence.
enum Piece {
    Condition(Vec<Vec<Bound>>),
    Words(String),
}

/// Reads the rules of some sentences for these labels. `alpha` stands in for "the significance
/// level".
#[must_use]
pub(super) fn read_rules(sentences: &[&[Token]], choices: &[String], alpha: f64) -> Rules {
    let mut found = Rules::default();
    for sentence in sentences {
        let pieces = cut(sentence, alpha);
        let has_condition = pieces.iter().any(|p| matches!(p, Piece::Condition(_)));
        if !has_condition {
            let words = plain(sentence);
            let rest = has_any(&words, &["otherwise", "if not", "else", "in other cases"]);
            if rest && let Some(label) = label_of(&words, choices, true) {
                found.otherwise = Some(label);
            }
            continue;
        }
        pair(&pieces, choices, &mut found);
    }
    found
}

fn pair(pieces: &[Piece], choices: &[String], found: &mut Rules) {
    let first_words = pieces.first().and_then(|p| match p {
        Piece::Words(words) => Some(words.as_str()),
        Piece::Condition(_) => None,
    });
    let label_first = first_words.is_some_and(|words| {
        !words.trim_start().starts_with("if ")
            && words.trim() != "if"
            && label_of(words, choices, false).is_some()
    });
    for (place, piece) in pieces.iter().enumerate() {
        let Piece::Condition(when) = piece else { continue };
        let beside = if label_first { place.checked_sub(1) } else { Some(place + 1) };
        let Some(Piece::Words(words)) = beside.and_then(|p| pieces.get(p)) else { continue };
        let (own, other) = split_otherwise(words);
        if let Some(label) = label_of(own, choices, true) {
            add(&mut found.rules, label, when);
        }
        if !label_first && let Some(label) = other.and_then(|words| label_of(words, choices, true)) {
            found.otherwise = Some(label);
        }
    }
    if label_first && let Some(Piece::Words(words)) = pieces.last() {
        // "strong if ..., and weak otherwise" as well as "strong if ..., otherwise weak".
        let (own, other) = split_otherwise(words);
        let named = other.and_then(|words| {
            let after = label_of(words, choices, true).filter(|_| words.chars().any(char::is_alphanumeric));
            after.or_else(|| label_of(own, choices, false))
        });
        if let Some(label) = named {
            found.otherwise = Some(label);
        }
    }
}

fn split_otherwise(words: &str) -> (&str, Option<&str>) {
    for mark in [" otherwise", " else ", "otherwise "] {
        if let Some((own, other)) = words.split_once(mark) {
            return (own, Some(other));
        }
    }
    (words, None)
}

fn add(rules: &mut Vec<Rule>, label: String, when: &[Vec<Bound>]) {
    if rules.iter().any(|rule| rule.label == label && rule.when == when) {
        return;
    }
    rules.push(Rule { label, when: when.to_vec() });
}

/// Is a word a negation?
fn negates(word: &str) -> bool {
    ["not", "no", "non", "none", "never", "without", "false", "isn", "doesn", "insignificant", "t"]
        .contains(&word)
        && word != "t"
}

fn negative(words: &str) -> bool {
    let words = words
        .replace("fail to reject", "keep")
        .replace("failed to reject", "keep")
        .replace("cannot reject", "keep");
    words.split(' ').any(negates) || has_any(&words, &["reject the null", "rejected", "insignificant"])
}

/// The label a stretch of words names. With `loose`, negation alone may decide.
#[must_use]
pub(super) fn label_of(words: &str, choices: &[String], loose: bool) -> Option<String> {
    let words = words
        .replace("non normal", "not normal")
        .replace("nonnormal", "not normal")
        .replace("non linear", "nonlinear");
    // Yes, no, true and false stand for themselves.
    let literal = choices.iter().find(|c| {
        let choice = c.to_lowercase();
        ["yes", "no", "true", "false"].contains(&choice.as_str()) && words.split(' ').any(|w| w == choice)
    });
    if let Some(choice) = literal {
        return Some(choice.clone());
    }
    let stems: Vec<String> = words.split(' ').map(light).collect();
    let denied = negative(&words);
    let mut best: Option<(f64, &String)> = None;
    for choice in choices {
        let own: Vec<String> = choice_words(choice);
        let content: Vec<&String> = own.iter().filter(|w| !negates(w)).collect();
        let hits = content.iter().filter(|w| stems.contains(&light(w))).count();
        let agrees = own.iter().any(|w| negates(w)) == denied;
        let share = if content.is_empty() { 0.0 } else { hits as f64 / content.len() as f64 };
        let score = match (hits, agrees) {
            (0, true) if loose && denied && content.is_empty() => 0.6,
            (0, _) => 0.0,
            (_, true) => share + 0.5,
            (_, false) => share * 0.4,
        };
        if score > 0.3 && best.is_none_or(|(top, _)| score > top) {
            best = Some((score, choice));
        }
    }
    if best.is_none() && loose {
        return yes_or_no(choices, denied);
    }
    best.map(|(_, choice)| choice.clone())
}

/// Between yes and no, true and false.
fn yes_or_no(choices: &[String], denied: bool) -> Option<String> {
    let wanted: &[&str] = if denied { &["no", "false", "none"] } else { &["yes", "true"] };
    choices.iter().find(|c| wanted.contains(&c.to_lowercase().as_str())).cloned()
}

fn choice_words(choice: &str) -> Vec<String> {
    let words = super::words::name_words(choice).join(" ");
    let words = words
        .replace("non normal", "not normal")
        .replace("nonnormal", "not normal")
        .replace("non linear", "nonlinear");
    words.split(' ').map(str::to_owned).collect()
}

/// A stem that also drops adverb endings.
fn light(word: &str) -> String {
    let word = word.strip_suffix("ally").map_or_else(|| word.to_owned(), |rest| format!("{rest}al"));
    let word = word.strip_suffix("ly").map_or(word.clone(), str::to_owned);
    stem(&word)
}

/// Cuts a sentence into conditions and words.
fn cut(sentence: &[Token], alpha: f64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut quantity = Quantity::Statistic;
    let mut since_size = 100;
    let mut joined_by_or = false;
    let mut joined_by_and = false;
    let mut place = 0;
    while let Some(token) = sentence.get(place) {
        let next = sentence.get(place + 1).map_or("", |t| t.lower.as_str());
        since_size += 1;
        match token.lower.as_str() {
            "p" | "pvalue" => quantity = Quantity::P,
            "absolute" | "magnitude" | "|" | "abs" => {
                quantity = Quantity::Size;
                since_size = 0;
            }
            "r" | "skewness" | "coefficient" | "kurtosis" | "correlation" | "statistic" | "skew"
                if since_size > 6 =>
            {
                quantity = Quantity::Statistic;
            }
            _ => {}
        }
        if let Some((bounds, used)) = comparison(sentence, place, alpha) {
            let bounds: Vec<Bound> =
                bounds.into_iter().map(|(is, limit)| Bound { quantity, is, limit }).collect();
            let link = words.iter().rev().take(9).any(|w| *w == "and");
            let pure = words.iter().all(|w| is_link(w));
            match pieces.last_mut() {
                Some(Piece::Condition(when)) if pure && (joined_by_or || joined_by_and || link) => {
                    if joined_by_or {
                        when.push(bounds);
                    } else if let Some(last) = when.last_mut() {
                        last.extend(bounds);
                    }
                }
                _ => {
                    pieces.push(Piece::Words(words.join(" ")));
                    pieces.push(Piece::Condition(vec![bounds]));
                }
            }
            words.clear();
            joined_by_or = false;
            joined_by_and = false;
            place += used;
            continue;
        }
        if token.lower == "or" {
            joined_by_or = true;
        }
        if token.lower == "and" || token.text == "&" {
            joined_by_and = true;
        }
        if token.word && !(token.lower == "value" && next.is_empty()) {
            words.push(&token.lower);
        }
        place += 1;
    }
    if !words.is_empty() {
        pieces.push(Piece::Words(words.join(" ")));
    }
    pieces
}

/// Words that only join two conditions.
fn is_link(word: &str) -> bool {
    [
        "and",
        "or",
        "the",
        "p",
        "value",
        "absolute",
        "of",
        "r",
        "is",
        "it",
        "if",
        "its",
        "correlation",
        "coefficient",
        "abs",
        "pvalue",
        "are",
        "magnitude",
        "skewness",
    ]
    .contains(&word)
}

/// A comparison that starts here: its bounds, and the number of tokens used.
fn comparison(tokens: &[Token], start: usize, alpha: f64) -> Option<(Vec<(Compare, f64)>, usize)> {
    let word = |place: usize| tokens.get(start + place).map_or("", |t| t.lower.as_str());
    if word(0) == "between"
        || word(0) == "within"
        || (word(0) == "from" && number(tokens, start + 1, alpha).is_some())
    {
        let mut place = 1;
        while ["the", "range", "of"].contains(&word(place)) {
            place += 1;
        }
        let (low, used) = number(tokens, start + place, alpha)?;
        place += used;
        if !["and", "to", "-"].contains(&word(place)) {
            return None;
        }
        let (high, used) = number(tokens, start + place + 1, alpha)?;
        return Some((vec![(Compare::AtLeast, low), (Compare::AtMost, high)], place + 1 + used));
    }
    let (is, mut used) = operator(tokens, start)?;
    while ["than", "to", "the", "of", "or", "equal", "alpha", "level"].contains(&word(used))
        && number(tokens, start + used, alpha).is_none()
    {
        used += 1;
    }
    let (limit, more) = number(tokens, start + used, alpha)?;
    Some((vec![(is, limit)], used + more))
}

fn operator(tokens: &[Token], start: usize) -> Option<(Compare, usize)> {
    let word = |place: usize| tokens.get(start + place).map_or("", |t| t.lower.as_str());
    let equal_follows = |place: usize| {
        (word(place) == "or" && word(place + 1) == "equal"
            || word(place) == "than" && word(place + 1) == "or" && word(place + 2) == "equal")
            .then(|| if word(place) == "or" { place + 2 } else { place + 3 })
    };
    let (strict, loose) = match word(0) {
        "less" | "below" | "under" | "smaller" | "lower" | "<" => (Compare::Less, Compare::AtMost),
        "greater" | "above" | "over" | "more" | "higher" | "exceeds" | "larger" | ">" | "bigger" => {
            (Compare::More, Compare::AtLeast)
        }
        "≥" => return Some((Compare::AtLeast, 1)),
        "≤" => return Some((Compare::AtMost, 1)),
        "at" if word(1) == "least" => return Some((Compare::AtLeast, 2)),
        "at" if word(1) == "most" => return Some((Compare::AtMost, 2)),
        "equals" => return Some((Compare::Equal, 1)),
        "equal" if word(1) == "to" => return Some((Compare::Equal, 2)),
        "=" => return Some((Compare::Equal, if word(1) == "=" { 2 } else { 1 })),
        "is" if tokens.get(start + 1).is_some_and(|t| t.number().is_some()) => {
            return Some((Compare::Equal, 1));
        }
        _ => return None,
    };
    if word(1) == "=" {
        return Some((loose, 2));
    }
    if let Some(used) = equal_follows(1) {
        return Some((loose, used));
    }
    Some((strict, 1))
}

/// A number with its sign, or the significance level; and the tokens used.
fn number(tokens: &[Token], start: usize, alpha: f64) -> Option<(f64, usize)> {
    let token = tokens.get(start)?;
    if let Some(number) = token.number() {
        return Some((number, 1));
    }
    let next = tokens.get(start + 1);
    match token.lower.as_str() {
        "-" | "−" | "–" => next.and_then(Token::number).map(|n| (-n, 2)),
        "+" => next.and_then(Token::number).map(|n| (n, 2)),
        "alpha" => Some((alpha, 1)),
        "significance" if next.is_some_and(|t| t.lower == "level") => Some((alpha, 2)),
        _ => None,
    }
}

#[cfg(test)]
mod check {
    use super::super::words::{sentences, tokens};
    use super::*;

    fn rules(text: &str, choices: &[&str]) -> Rules {
        let tokens = tokens(text);
        let parts: Vec<&[Token]> = sentences(&tokens).into_iter().filter_map(|r| tokens.get(r)).collect();
        read_rules(&parts, &choices.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>(), 0.05)
    }

    fn pick(rules: &Rules, statistic: f64, p: f64) -> Option<String> {
        let holds = |b: &Bound| {
            let v = match b.quantity {
                Quantity::P => p,
                Quantity::Statistic => statistic,
                Quantity::Size => statistic.abs(),
            };
            match b.is {
                Compare::Less => v < b.limit,
                Compare::AtMost => v <= b.limit,
                Compare::More => v > b.limit,
                Compare::AtLeast => v >= b.limit,
                Compare::Equal | Compare::OneOf => v == b.limit,
                Compare::Different => v != b.limit,
            }
        };
        let hit = rules.rules.iter().find(|r| r.when.iter().any(|all| all.iter().all(holds)));
        hit.map(|r| r.label.clone()).or(rules.otherwise.clone())
    }

    #[test]
    fn label_before_condition() {
        let found = rules(
            "Consider it strong if the absolute value of r is greater than or equal to 0.7, moderate if it is \
                between 0.3 and 0.7, and weak if it is less than 0.3.",
            &["strong", "moderate", "weak"],
        );
        assert_eq!(pick(&found, -0.64, 0.0).as_deref(), Some("moderate"));
        assert_eq!(pick(&found, 0.1, 0.0).as_deref(), Some("weak"));
        assert_eq!(pick(&found, -0.9, 0.0).as_deref(), Some("strong"));
    }

    #[test]
    fn condition_before_label_with_negation() {
        let found = rules(
            "If the p-value is less than 0.05, reject the null hypothesis and report that the data is not \
                normally distributed. If p-value is greater than or equal to 0.05, fail to reject the null \
                hypothesis and report that the data is normally distributed.",
            &["normal", "not normal"],
        );
        assert_eq!(pick(&found, 0.0, 0.01).as_deref(), Some("not normal"));
        assert_eq!(pick(&found, 0.0, 0.2).as_deref(), Some("normal"));
    }

    #[test]
    fn otherwise_on_either_side() {
        for text in [
            "It is strong if |r| > 0.7 and weak otherwise.",
            "It is strong if |r| > 0.7, otherwise weak.",
            "If |r| > 0.7 it is strong. Otherwise it is weak.",
        ] {
            let found = rules(text, &["strong", "weak"]);
            assert_eq!(pick(&found, -0.9, 0.0).as_deref(), Some("strong"), "{text}");
            assert_eq!(pick(&found, 0.2, 0.0).as_deref(), Some("weak"), "{text}");
        }
    }

    #[test]
    fn three_way_relationship() {
        let found = rules(
            "Consider the relationship to be linear if the p-value is less than 0.05 and the absolute value \
                of r is greater than or equal to 0.5. Consider the relationship to be nonlinear if the \
                p-value is less than 0.05 and the absolute value of r is less than 0.5. If the p-value is \
                greater than or equal to 0.05, report that there is no significant correlation.",
            &["linear", "nonlinear", "none"],
        );
        assert_eq!(pick(&found, 0.3, 0.001).as_deref(), Some("nonlinear"));
        assert_eq!(pick(&found, -0.6, 0.001).as_deref(), Some("linear"));
        assert_eq!(pick(&found, 0.1, 0.5).as_deref(), Some("none"));
    }

    #[test]
    fn several_conditions_in_one_sentence() {
        let found = rules(
            "A value of r below -0.6 or above +0.6 indicates a strong correlation, between -0.6 and -0.3 or \
                between +0.3 and +0.6 indicates a moderate correlation, between -0.3 and +0.3 indicates a \
                weak correlation.",
            &["strong", "moderate", "weak"],
        );
        assert_eq!(pick(&found, -0.7, 0.0).as_deref(), Some("strong"));
        assert_eq!(pick(&found, 0.4, 0.0).as_deref(), Some("moderate"));
        assert_eq!(pick(&found, 0.1, 0.0).as_deref(), Some("weak"));
    }
}
