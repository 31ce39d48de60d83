//! The judge: which of several proposed queries answers a question best, and how likely it is
//! right.
//!
//! Words are held against the parts of the query, parts against the words, and results against the
//! question and each other. Which proposal is taken and how sure it is are two questions with
//! weights of their own, both learned by `bench/fit_judge.py` from questions over hundreds of
//! schemas, with whole databases left out (`docs/evals.md`).
//!
//! Invariant: a word that carries meaning and that nothing in the query explains keeps an answer
//! from being sure.

mod agreement;
mod facts;
mod features;
mod focus;
mod result;

use crate::catalogue::Catalogue;
use crate::frame::Value;
use crate::planner::Meaning;
use crate::query::{Literal, Query};
use crate::reader::{ColumnRef, Grammar, Mark, Schema, Standing, marks_of};
use crate::roles::Role;
pub use agreement::{JudgedReading, ModelVerdict, weigh_model};
use chrono::NaiveDate;
use facts::{ColumnName, Facts};
use features::Company;
pub use features::Feature;
pub(crate) use features::is_light;
use focus::Focus;
pub use result::ResultShape;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Who proposed a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposer {
    /// The reader of this crate.
    Reader,
    /// The older planner, with its own confidence in per mille.
    Planner(u32),
    /// A language model.
    Model,
}

/// A query that may answer a question.
#[derive(Debug, Clone)]
pub struct Proposal<'a> {
    /// The query.
    pub query: &'a Query,
    /// Who proposed it.
    pub proposer: Proposer,
    /// Evidence that was given up against the best choice.
    pub cost: f64,
    /// Parts that were taken by default.
    pub defaults: usize,
    /// A join may multiply rows that are added up.
    pub multiplies: bool,
    /// The question goes on from one before.
    pub follows: bool,
    /// Words that the proposer itself could not use, where it keeps an account of them. It may have
    /// used a word for something that no single part of the query shows, such as a margin.
    pub unused: Option<&'a [String]>,
    /// The part of the reader that it comes from.
    pub grammar: Option<Grammar>,
    /// How the reader ranks it among all forms that the words allow.
    pub standing: Option<Standing>,
}

/// The question as the judge sees it.
pub struct Judge<'a> {
    schema: Schema<'a>,
    marks: Vec<Mark>,
    words: usize,
    focus: Focus,
}

/// A judged proposal.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// How well it stands against the other proposals: the highest is taken.
    pub score: f64,
    /// How likely the query is what was asked, from 0 to 1.
    pub probability: f64,
    /// Words that carry meaning and that nothing in the query explains.
    pub unexplained: Vec<String>,
    /// The thing that is asked for is among the unexplained words.
    pub misses_focus: bool,
    /// A name is among the unexplained words.
    pub misses_name: bool,
    /// Times and numbers that lie outside of what the data holds, in words.
    pub outside: Vec<String>,
    /// What it was made from.
    pub features: Vec<Feature>,
}

/// How sure an answer is, by what is known of it.
#[derive(Default)]
struct Confidence {
    bias: f64,
    of: HashMap<&'static str, f64>,
    /// Score and probability, both rising.
    knots: Vec<(f64, f64)>,
}

#[derive(Default)]
struct Weights {
    choice: HashMap<&'static str, f64>,
    /// With results.
    sure: Confidence,
    /// Without.
    blind: Confidence,
}

static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    let mut weights = Weights::default();
    for line in include_str!("weights.tsv").lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('\t');
        let Some(name) = cells.next() else { continue };
        let mut number = || cells.next().and_then(|cell| cell.trim().parse::<f64>().ok()).unwrap_or(0.0);
        let (first, second, third) = (number(), number(), number());
        match name {
            "bias" => (weights.sure.bias, weights.blind.bias) = (second, third),
            "knot" => weights.sure.knots.push((first, second)),
            "blind knot" => weights.blind.knots.push((first, second)),
            name => {
                weights.choice.insert(name, first);
                weights.sure.of.insert(name, second);
                weights.blind.of.insert(name, third);
            }
        }
    }
    weights
});

fn weigh(weights: &HashMap<&str, f64>, features: &[Feature]) -> f64 {
    features.iter().map(|(name, value)| weights.get(name).map_or(0.0, |weight| weight * value)).sum()
}

impl Confidence {
    /// The probability of a score, between its neighbours among the knots.
    fn probability(&self, features: &[Feature]) -> f64 {
        let score = self.bias + weigh(&self.of, features);
        let Some((first, last)) = self.knots.first().zip(self.knots.last()) else {
            return 1.0 / (1.0 + (-score).exp());
        };
        if score <= first.0 {
            return first.1;
        }
        let between = self.knots.windows(2).find_map(|pair| match pair {
            [(x, p), (y, q)] if score >= *x && score <= *y => {
                Some(p + (q - p) * if y > x { (score - x) / (y - x) } else { 1.0 })
            }
            _ => None,
        });
        between.unwrap_or(last.1)
    }
}

impl<'a> Judge<'a> {
    /// Links the words of a question once for all proposals.
    #[must_use]
    pub fn new(question: &str, catalogue: &'a Catalogue, today: NaiveDate, meaning: &dyn Meaning) -> Self {
        let schema = Schema::new(catalogue);
        let (marks, words) = marks_of(question, &schema, today, meaning);
        let focus = focus::focus(&marks);
        Self { schema, marks, words, focus }
    }

    /// Judges all proposals of a question together. `results` are the shapes of what they give, as
    /// far as they were run.
    #[must_use]
    pub fn judge(&self, proposals: &[Proposal], results: &[Option<ResultShape>]) -> Vec<Judgement> {
        let all: Vec<Facts> = proposals.iter().map(|proposal| Facts::of(proposal.query)).collect();
        let result = |at: usize| results.get(at).and_then(Option::as_ref);
        let is_planner = |proposal: &Proposal| matches!(proposal.proposer, Proposer::Planner(_));
        let mut judged: Vec<Judgement> = (proposals.iter().zip(&all).enumerate())
            .map(|(at, (proposal, facts))| {
                let others: Vec<(usize, &Facts)> = (proposals.iter().zip(&all).enumerate())
                    .filter(|(other, (rival, _))| *other != at && is_planner(rival) != is_planner(proposal))
                    .map(|(other, (_, facts))| (other, facts))
                    .collect();
                let (agreeing_forms, agreeing_share) = agreement(proposals, results, at);
                let company = Company {
                    agreeing_forms,
                    agreeing_share,
                    agrees: others.iter().any(|(_, other)| same_meaning(facts, other)),
                    alone: others.is_empty(),
                    result: result(at),
                    others: others.iter().filter_map(|(other, _)| result(*other)).collect(),
                };
                let account = self.account(proposal, facts, &company);
                let text = |at: &usize| {
                    let mark = self.marks.get(*at)?;
                    // What is asked for and links to nothing is not there, whatever the proposer
                    // made of it.
                    let asked = self.focus.mark == Some(*at) && mark.is_unknown();
                    let left = proposal.unused.is_none_or(|unused| unused.contains(&mark.text));
                    (asked || left).then(|| mark.text.clone())
                };
                Judgement {
                    score: weigh(&WEIGHTS.choice, &account.features),
                    probability: 0.0,
                    misses_focus: self.misses_focus(facts, &account.unexplained),
                    misses_name: account.unexplained.iter().any(|at| {
                        self.marks.get(*at).is_some_and(|mark| mark.is_unknown() && features::is_name(mark))
                    }),
                    unexplained: account.unexplained.iter().filter_map(text).collect(),
                    outside: self.outside(facts),
                    features: account.features,
                }
            })
            .collect();
        let scores: Vec<f64> = judged.iter().map(|judgement| judgement.score).collect();
        for (at, judgement) in judged.iter_mut().enumerate() {
            let differs = |other: &usize| match (result(at), result(*other)) {
                (Some(mine), Some(theirs)) => !mine.agrees_with(theirs),
                _ => all.get(at).zip(all.get(*other)).is_some_and(|(a, b)| !same_meaning(a, b)),
            };
            let rival = (0..scores.len())
                .filter(|other| *other != at && differs(other))
                .filter_map(|other| scores.get(other).copied())
                .reduce(f64::max);
            let margin = rival.map_or(1.0, |rival| ((judgement.score - rival) / 4.0).clamp(-1.0, 1.0));
            judgement.features.push(("margin", margin));
            judgement.features.push(("unrivalled", f64::from(u8::from(rival.is_none()))));
            let confidence = if result(at).is_some() { &WEIGHTS.sure } else { &WEIGHTS.blind };
            judgement.probability = confidence.probability(&judgement.features);
        }
        judged
    }

    /// Whether nothing in the query stands for the thing that is asked for. In a single table, "how
    /// many passengers survived" counts its rows, whatever they are called.
    fn misses_focus(&self, facts: &Facts, unexplained: &[usize]) -> bool {
        let counts_rows = self.focus.wanted == focus::Wanted::Count
            && self.schema.catalogue.tables.len() == 1
            && !facts.filtered.is_empty();
        !counts_rows && self.focus.mark.is_some_and(|focus| unexplained.contains(&focus))
    }

    /// The table and name of a column.
    fn name(&self, place: ColumnRef) -> ColumnName {
        let table = self.schema.table(place.table).map(|table| table.name.clone()).unwrap_or_default();
        (table, self.schema.column(place).map(|column| column.name.clone()).unwrap_or_default())
    }

    fn role(&self, column: &ColumnName) -> Role {
        let found = self.schema.places().find(|(place, _)| self.name(*place) == *column);
        found.map_or(Role::Text, |(_, role)| role)
    }

    /// Ranges that a query asks for and that the data, where all of it was looked at, does not
    /// reach.
    fn outside(&self, facts: &Facts) -> Vec<String> {
        let mut found = Vec::new();
        for ((table, column), from, to) in &facts.ranges {
            let Some(table) = self.schema.catalogue.table(table) else { continue };
            let Some(column) = table.column(column) else { continue };
            if table.rows.is_none_or(|rows| column.seen < rows) {
                continue;
            }
            let (Some(least), Some(most)) = (position(&column.min), position(&column.max)) else { continue };
            let (Some(from), Some(to)) = (literal_position(from), literal_position(to)) else { continue };
            // A span of days ends before its last day.
            let before = if to > from { to <= least } else { to < least };
            if before || from > most {
                let label = if column.label.is_empty() { &column.name } else { &column.label };
                found.push(format!("{label} runs from {} to {}", column.min.plain(), column.max.plain()));
            }
        }
        found
    }

    fn is_outside(&self, facts: &Facts) -> bool {
        !self.outside(facts).is_empty()
    }
}

/// A number or a time on one line.
fn position(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Date(date) => Some(day(*date)),
        Value::Time(time) => Some(day(time.date())),
        _ => None,
    }
}

fn literal_position(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Int(number) => Some(*number as f64),
        Literal::Float(number) => Some(*number),
        Literal::Date(date) => Some(day(*date)),
        Literal::Time(time) => Some(day(time.date())),
        _ => None,
    }
}

fn day(date: NaiveDate) -> f64 {
    f64::from((date - NaiveDate::default()).num_days() as i32)
}

/// How much stands behind the result of a proposal: the likelihood of the forms that give it, and
/// the share of the other proposals that do.
fn agreement(proposals: &[Proposal], results: &[Option<ResultShape>], at: usize) -> (f64, f64) {
    let Some(mine) = results.get(at).and_then(Option::as_ref) else { return (0.0, 0.0) };
    let (mut likely, mut all) = (0.0, 0.0);
    let (mut same, mut others) = (0.0, 0.0);
    for (other, (proposal, result)) in proposals.iter().zip(results).enumerate() {
        let Some(result) = result else { continue };
        let agrees = other == at || mine.agrees_with(result);
        let weight = proposal.standing.map_or(0.0, |standing| f64::from(standing.probability));
        all += weight;
        likely += if agrees { weight } else { 0.0 };
        if other != at {
            others += 1.0;
            same += if agrees { 1.0 } else { 0.0 };
        }
    }
    (if all > 0.0 { likely / all } else { 0.0 }, if others > 0.0 { same / others } else { 0.0 })
}

/// Whether two queries ask the same of the same columns.
fn same_meaning(a: &Facts, b: &Facts) -> bool {
    let numbers = |facts: &Facts| {
        let mut numbers: Vec<i64> = facts.numbers.iter().map(|n| (n * 1000.0) as i64).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    a.grouped == b.grouped
        && a.filtered == b.filtered
        && a.aggregated == b.aggregated
        && a.aggregates == b.aggregates
        && a.texts == b.texts
        && a.dates == b.dates
        && numbers(a) == numbers(b)
        && a.limit == b.limit
        && a.negates == b.negates
        && (a.shown == b.shown
            || !a.aggregates.is_empty()
            || a.shown.is_subset(&b.shown)
            || b.shown.is_subset(&a.shown))
}
