//! The English of questions as data: operators, adjectives, synonyms. The files are in
//! `src/english/`.

use crate::chart::ChartKind;
use crate::query::{Aggregate, Compare, Grain};
use std::collections::HashMap;
use std::sync::LazyLock;
use steward_text::tokens::{Token, stem};

/// The part that a phrase plays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operator {
    Aggregate(Aggregate),
    Count,
    HowMuch,
    Distinct,
    /// "top" (`true`) or "bottom" before a number.
    Top(bool),
    /// "highest" (`true`) or "lowest".
    Superlative(bool),
    /// "most common" (`true`) or "rarest".
    Common(bool),
    Compare(Compare),
    Since,
    Until,
    Between,
    Group,
    Within,
    Order,
    Direction(bool),
    Not,
    And,
    Or,
    Versus,
    Contrast,
    Share,
    Whole,
    Rate,
    Divide,
    Growth,
    Trend,
    Running,
    Rolling,
    Grain(Grain),
    Part(DatePart),
    Show,
    Which,
    Missing,
    Clause,
    Of,
    Is,
    Only,
    Instead,
    Correlation,
    Distribution,
    Chart(ChartKind),
    Pivot,
    Filler,
}

/// A part of a moment that repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// Monday is 1.
    Weekday,
    /// 0 to 23.
    Hour,
    /// 1 to 12.
    Month,
}

fn operator(tag: &str) -> Option<Operator> {
    use Operator as O;
    Some(match tag {
        "aggregate sum" => O::Aggregate(Aggregate::Sum),
        "aggregate average" => O::Aggregate(Aggregate::Average),
        "aggregate min" => O::Aggregate(Aggregate::Min),
        "aggregate max" => O::Aggregate(Aggregate::Max),
        "aggregate median" => O::Aggregate(Aggregate::Median),
        "aggregate stddev" => O::Aggregate(Aggregate::StdDev),
        "count" => O::Count,
        "how_much" => O::HowMuch,
        "distinct" => O::Distinct,
        "top" => O::Top(true),
        "bottom" => O::Top(false),
        "largest" => O::Superlative(true),
        "smallest" => O::Superlative(false),
        "common" => O::Common(true),
        "rare" => O::Common(false),
        "greater" => O::Compare(Compare::Greater),
        "greater_equal" => O::Compare(Compare::GreaterOrEqual),
        "less" => O::Compare(Compare::Less),
        "less_equal" => O::Compare(Compare::LessOrEqual),
        "since" => O::Since,
        "until" => O::Until,
        "between" => O::Between,
        "group" => O::Group,
        "within" => O::Within,
        "order" => O::Order,
        "ascending" => O::Direction(false),
        "descending" => O::Direction(true),
        "not" => O::Not,
        "and" => O::And,
        "or" => O::Or,
        "versus" => O::Versus,
        "compare" => O::Contrast,
        "share" => O::Share,
        "whole" => O::Whole,
        "rate" => O::Rate,
        "divide" => O::Divide,
        "growth" => O::Growth,
        "trend" => O::Trend,
        "running" => O::Running,
        "rolling" => O::Rolling,
        "grain day" => O::Grain(Grain::Day),
        "grain week" => O::Grain(Grain::Week),
        "grain month" => O::Grain(Grain::Month),
        "grain quarter" => O::Grain(Grain::Quarter),
        "grain year" => O::Grain(Grain::Year),
        "part weekday" => O::Part(DatePart::Weekday),
        "part hour" => O::Part(DatePart::Hour),
        "part month" => O::Part(DatePart::Month),
        "show" => O::Show,
        "which" => O::Which,
        "missing" => O::Missing,
        "clause" => O::Clause,
        "of" => O::Of,
        "is" => O::Is,
        "only" => O::Only,
        "instead" => O::Instead,
        "correlation" => O::Correlation,
        "distribution" => O::Distribution,
        "chart bar" => O::Chart(ChartKind::Bar),
        "chart line" => O::Chart(ChartKind::Line),
        "chart pie" => O::Chart(ChartKind::Pie),
        "chart scatter" => O::Chart(ChartKind::Scatter),
        "chart area" => O::Chart(ChartKind::Area),
        "chart heatmap" => O::Chart(ChartKind::Heatmap),
        "chart stacked_bar" => O::Chart(ChartKind::StackedBar),
        "chart grouped_bar" => O::Chart(ChartKind::GroupedBar),
        "chart histogram" => O::Chart(ChartKind::Histogram),
        "chart box" => O::Chart(ChartKind::Box),
        "pivot" => O::Pivot,
        "filler" => O::Filler,
        _ => return None,
    })
}

/// Lines of a data file without comments.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

type Phrases = HashMap<&'static str, Vec<(Vec<&'static str>, Operator)>>;

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    let mut phrases = Phrases::new();
    for line in lines(include_str!("../english/operators.tsv")) {
        let Some((tag, list)) = line.split_once('\t') else { continue };
        let Some(operator) = operator(tag) else { continue };
        for phrase in list.split('|') {
            let words: Vec<&str> = phrase.split(' ').collect();
            if let Some(first) = words.first() {
                phrases.entry(first).or_default().push((words.clone(), operator));
            }
        }
    }
    phrases
});

/// All phrases that start at a token, the longest first, with how many tokens each takes.
pub(super) fn phrases_at(tokens: &[Token], start: usize) -> Vec<(Operator, usize)> {
    let Some(list) = tokens.get(start).and_then(|token| PHRASES.get(token.word.as_str())) else {
        return Vec::new();
    };
    let said = |place: usize| tokens.get(place).map(|token| token.word.as_str());
    let fits = |words: &[&str]| words.iter().enumerate().all(|(at, word)| said(start + at) == Some(word));
    let mut found: Vec<(Operator, usize)> = list
        .iter()
        .filter(|(words, _)| fits(words))
        .map(|(words, operator)| (*operator, words.len()))
        .collect();
    found.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
    found
}

/// Words of one line of a synonym file, by stem.
fn groups(text: &'static str) -> HashMap<String, Vec<usize>> {
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, line) in lines(text).enumerate() {
        for word in line.split_whitespace() {
            groups.entry(stem(&word.replace('-', " "))).or_default().push(place);
        }
    }
    groups
}

static SYNONYMS: LazyLock<HashMap<String, Vec<usize>>> =
    LazyLock::new(|| groups(include_str!("../english/synonyms.txt")));
static VALUES: LazyLock<HashMap<String, Vec<usize>>> =
    LazyLock::new(|| groups(include_str!("../english/value_synonyms.txt")));

fn share_line(groups: &HashMap<String, Vec<usize>>, left: &str, right: &str) -> bool {
    (groups.get(left).zip(groups.get(right)))
        .is_some_and(|(left, right)| left.iter().any(|line| right.contains(line)))
}

/// Whether two stems may stand for each other in a name.
pub(super) fn are_synonyms(left: &str, right: &str) -> bool {
    share_line(&SYNONYMS, left, right)
}

/// Whether two stems may stand for the same value.
pub(super) fn are_same_value(left: &str, right: &str) -> bool {
    share_line(&VALUES, left, right)
}

/// An adjective: whether its superlative means the largest, and which columns it is about.
pub(super) struct Adjective {
    pub largest: bool,
    pub about: Vec<&'static str>,
}

static ADJECTIVES: LazyLock<Vec<(&'static str, Adjective)>> = LazyLock::new(|| {
    lines(include_str!("../english/adjectives.tsv"))
        .filter_map(|line| {
            let mut parts = line.split('\t');
            let (word, sign, about) = (parts.next()?, parts.next()?, parts.next()?);
            Some((word, Adjective { largest: sign == "+", about: about.split('|').collect() }))
        })
        .collect()
});

/// The adjective of a superlative such as "oldest", "heaviest", "biggest", or of a plain form such
/// as "expensive".
pub(super) fn adjective(word: &str, superlative: bool) -> Option<&'static Adjective> {
    ADJECTIVES
        .iter()
        .find(|(base, _)| {
            if !superlative {
                return *base == word;
            }
            let Some(root) = word.strip_suffix("est") else { return false };
            let doubled = || root.chars().last().and_then(|last| root.strip_suffix(last)) == Some(*base);
            root == *base
                || format!("{root}e") == *base
                || root.strip_suffix('i').is_some_and(|root| format!("{root}y") == *base)
                || doubled()
        })
        .map(|(_, adjective)| adjective)
}
