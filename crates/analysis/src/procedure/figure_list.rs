//! The figures that a request lists by name: "Report:" and a line for each.
//!
//! ```text
//! Remove the outliers of the weekly sales, then report:
//! - outliers: how many were removed
//! - mean sales: rounded to two decimals
//! - distribution: "normal" or "not normal"
//! ```
//!
//! A figure keeps its name, what is said about it, the words it may take and the decimals it is
//! rounded to.

use super::words::{small_number, tokens};

/// One figure of a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Figure {
    /// Its name.
    pub name: String,
    /// The text that describes it.
    pub about: String,
    /// The words it may take, if it takes words.
    pub choices: Vec<String>,
    /// Decimals, if stated.
    pub decimals: Option<usize>,
    /// Is it described as a whole number?
    pub whole: bool,
}

/// A text cut into its list of figures and the rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    /// Question and constraints.
    pub body: String,
    /// The figures, in order.
    pub figures: Vec<Figure>,
}

/// Words that a list of figures begins with.
const LEADS: [&str; 6] = ["report", "give", "return", "answer", "output", "state"];
const MARKS: [char; 3] = ['-', '*', '•'];

/// Cuts the list of figures out of a text: lines with a mark, behind a line with one of the words
/// that ends with a colon.
#[must_use]
pub(super) fn cut(text: &str) -> Request {
    let mut body: Vec<&str> = Vec::new();
    let mut items: Vec<&str> = Vec::new();
    let mut in_list = false;
    for line in text.lines().map(str::trim) {
        let item = line.strip_prefix(MARKS).map(str::trim).filter(|item| !item.is_empty());
        match item {
            Some(item) if in_list => items.push(item),
            _ => {
                if !line.is_empty() {
                    in_list = leads(line);
                }
                body.push(line);
            }
        }
    }
    let body = body.join("\n");
    let figures = items.into_iter().filter_map(|item| figure(item, &body)).collect();
    Request { body, figures }
}

/// Whether a line introduces a list of figures.
fn leads(line: &str) -> bool {
    let Some(before) = line.strip_suffix(':') else { return false };
    let words: Vec<String> = before.split_whitespace().rev().take(4).map(str::to_lowercase).collect();
    words.iter().any(|word| LEADS.contains(&word.as_str()))
}

/// A line of the list: a name, and behind a colon or in brackets what is said about it.
fn figure(item: &str, body: &str) -> Option<Figure> {
    let (name, about) = item
        .split_once(':')
        .or_else(|| item.split_once('(').map(|(name, about)| (name, about.trim_end_matches([')', '.']))))
        .unwrap_or((item, ""));
    let (name, about) = (name.trim().trim_end_matches('.'), about.trim());
    let lower = about.to_lowercase();
    let mut choices = choices(about, name);
    if choices.len() < 2 && lower.contains("yes or no") {
        choices = vec!["yes".into(), "no".into()];
    } else if choices.len() < 2 && (lower.contains("true or false") || lower.contains("boolean")) {
        choices = vec!["True".into(), "False".into()];
    }
    (!name.is_empty() && name.chars().count() <= 100).then(|| Figure {
        name: name.to_owned(),
        choices,
        decimals: decimals(about).or_else(|| decimals(body)),
        whole: lower.contains("integer") || lower.contains("whole number"),
        about: about.to_owned(),
    })
}

/// The words a value may take: quoted words of a description that are not its name.
fn choices(about: &str, own: &str) -> Vec<String> {
    let lower = about.to_lowercase();
    if ![
        "either",
        "can be",
        "could be",
        "or \"",
        "or '",
        "should be \"",
        "boolean",
        "exact values",
        "must be",
        "one of",
    ]
    .iter()
    .any(|w| lower.contains(w))
    {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    let mut run = String::new();
    let mut last = 0;
    for token in tokens(about) {
        if token.quote != last {
            push_choice(&mut found, &run, own);
            run.clear();
            last = token.quote;
        }
        if token.quote > 0 {
            if token.spaced && !run.is_empty() {
                run.push(' ');
            }
            run.push_str(&token.text);
        }
    }
    push_choice(&mut found, &run, own);
    found
}

fn push_choice(found: &mut Vec<String>, run: &str, own: &str) {
    let run = run.trim().trim_end_matches([',', '.']);
    if !run.is_empty()
        && run.chars().count() <= 60
        && !own.eq_ignore_ascii_case(run)
        && !found.iter().any(|f| f == run)
    {
        found.push(run.to_owned());
    }
}

/// Decimals stated in a text: "rounded to two decimal places", "2 decimals", "up to 3 decimal
/// points".
#[must_use]
pub(super) fn decimals(text: &str) -> Option<usize> {
    let tokens = tokens(text);
    let words: Vec<&str> = tokens.iter().filter(|t| t.word).map(|t| t.lower.as_str()).collect();
    for (place, word) in words.iter().enumerate() {
        if word.starts_with("decimal") || *word == "digits" {
            let before = place.checked_sub(1).and_then(|p| words.get(p)).and_then(|w| small_number(w));
            if let Some(count) = before.filter(|n| *n <= 10) {
                return Some(count);
            }
        }
        if *word == "nearest" && words.get(place + 1).is_some_and(|w| w.starts_with("hundredth")) {
            return Some(2);
        }
        if *word == "nearest" && words.get(place + 1).is_some_and(|w| *w == "whole" || *w == "integer") {
            return Some(0);
        }
    }
    None
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn figures_choices_and_decimals() {
        let text = "Is it normal? Then report:\n- p value: rounded to four decimal places\n\
                    - kind: can either be \"normal\" or \"not normal\"\n- skewed (yes or no)";
        let request = cut(text);
        assert_eq!(request.body, "Is it normal? Then report:");
        assert_eq!(request.figures.len(), 3);
        assert_eq!(request.figures[0].decimals, Some(4));
        assert!(request.figures[0].choices.is_empty());
        assert_eq!(request.figures[1].choices, ["normal", "not normal"]);
        assert_eq!(request.figures[2].choices, ["yes", "no"]);
        assert_eq!(decimals("up to 3 decimal points"), Some(3));
    }

    #[test]
    fn other_lists_are_part_of_the_request() {
        let request = cut("Do this:\n- remove the outliers\n- calculate the mean");
        assert!(request.figures.is_empty());
        assert!(request.body.contains("remove the outliers"));
    }
}
