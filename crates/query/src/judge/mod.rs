//! The judge: how likely a proposed query answers the question, whoever proposed it.
//!
//! Words are held against the parts of the query, and parts against the words. The weights are learned from questions over
//! hundreds of schemas; `bench/fit_judge.py` measures them with whole databases left out, and there the probability is still
//! too high at the top (`docs/evals.md`). A word that carries meaning and that nothing in the query explains keeps an answer from being sure.

mod facts;

use crate::catalogue::Catalogue;
use crate::planner::Meaning;
use crate::query::{Aggregate, Query};
use crate::reader::{Mark, Operator, Schema, is_superlative, marks_of};
use crate::roles::Role;
use chrono::NaiveDate;
use facts::{ColumnName, Facts, aggregate_name};
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
}

/// Names of the features, in the order of the weights.
pub const FEATURES: [&str; 54] = [
    "one",
    "unknown words",
    "operators missing",
    "numbers missing",
    "periods missing",
    "columns missing",
    "values missing",
    "tables missing",
    "coverage",
    "columns unsupported",
    "texts unsupported",
    "numbers unsupported",
    "aggregate unsupported",
    "group unsupported",
    "limit unsupported",
    "mean link",
    "weakest link",
    "rivals",
    "sum of rate",
    "number of identifier",
    "raw list",
    "long list",
    "joins",
    "multiplies",
    "nested",
    "set operation",
    "cost",
    "defaults",
    "is planner",
    "planner confidence",
    "planner doubt",
    "agrees",
    "alone",
    "words",
    "tables in data",
    "follows",
    "aggregate missing",
    "group missing",
    "superlative missing",
    "negation missing",
    "reader analytic",
    "planner analytic",
    "reader lookup",
    "reader joins",
    "reader unknown",
    "reader missing",
    "reader aggregate",
    "planner missing",
    "rows",
    "reader rows",
    "raw rows",
    "lookup rows",
    "reader tables",
    "planner full",
];

/// What a judgement is made from.
pub type Features = [f64; FEATURES.len()];

/// The question as the judge sees it.
pub struct Judge<'a> {
    schema: Schema<'a>,
    marks: Vec<Mark>,
    words: usize,
}

/// A judged proposal.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// How likely the query is what was asked, from 0 to 1.
    pub probability: f64,
    /// Words that carry meaning and that nothing in the query explains.
    pub unexplained: Vec<String>,
    /// What it was made from.
    pub features: Features,
}

struct Weights {
    bias: f64,
    weights: Vec<f64>,
}

static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    let mut weights = vec![0.0; FEATURES.len()];
    let mut bias = 0.0;
    for line in include_str!("weights.tsv").lines().filter(|line| !line.starts_with('#')) {
        let Some((name, value)) = line.split_once('\t') else { continue };
        let value: f64 = value.trim().parse().unwrap_or(0.0);
        if name == "bias" {
            bias = value;
        } else if let Some(at) = FEATURES.iter().position(|known| *known == name)
            && let Some(cell) = weights.get_mut(at)
        {
            *cell = value;
        }
    }
    Weights { bias, weights }
});

impl<'a> Judge<'a> {
    /// Links the words of a question once for all proposals.
    #[must_use]
    pub fn new(question: &str, catalogue: &'a Catalogue, today: NaiveDate, meaning: &dyn Meaning) -> Self {
        let schema = Schema::new(catalogue);
        let (marks, words) = marks_of(question, &schema, today, meaning);
        Self { schema, marks, words }
    }

    /// Judges all proposals of a question together.
    #[must_use]
    pub fn judge(&self, proposals: &[Proposal]) -> Vec<Judgement> {
        let all: Vec<Facts> = proposals.iter().map(|proposal| Facts::of(proposal.query)).collect();
        (proposals.iter().zip(&all).enumerate())
            .map(|(at, (proposal, facts))| {
                let is_planner = |proposal: &Proposal| matches!(proposal.proposer, Proposer::Planner(_));
                let others = (proposals.iter().zip(&all).enumerate())
                    .filter(|(other, (rival, _))| *other != at && is_planner(rival) != is_planner(proposal));
                let others: Vec<&Facts> = others.map(|(_, (_, facts))| facts).collect();
                let agrees = others.iter().any(|other| same_meaning(facts, other));
                let (features, unexplained) = self.features(proposal, facts, agrees, others.is_empty());
                let score: f64 = WEIGHTS.bias
                    + features
                        .iter()
                        .zip(&WEIGHTS.weights)
                        .map(|(value, weight)| value * weight)
                        .sum::<f64>();
                Judgement { probability: 1.0 / (1.0 + (-score).exp()), unexplained, features }
            })
            .collect()
    }

    fn features(
        &self,
        proposal: &Proposal,
        facts: &Facts,
        agrees: bool,
        alone: bool,
    ) -> (Features, Vec<String>) {
        let mut counts = Missing::default();
        let mut unexplained = Vec::new();
        let mut content = 0;
        let name = |place| self.name(place);
        let columns = facts.columns();
        let (mut links, mut rivals) = (Vec::new(), 0);
        for mark in &self.marks {
            if mark.is_glue() {
                continue;
            }
            content += 1;
            let best = mark.column_quality();
            let used: Vec<f32> = (mark.columns.iter())
                .filter(|(place, quality)| *quality >= best - 0.35 && columns.contains(&name(*place)))
                .map(|(_, quality)| *quality)
                .collect();
            let by_column = !used.is_empty();
            let by_value = mark.values.iter().flat_map(|link| &link.values).any(|value| {
                facts.texts.contains(&value.to_lowercase())
                    || value
                        .parse::<f64>()
                        .is_ok_and(|number| facts.numbers.iter().any(|n| (n - number).abs() < 1e-9))
            });
            let by_table = mark.tables.iter().any(|(table, _)| {
                self.schema.table(*table).is_some_and(|table| facts.tables.contains(&table.name))
            });
            let by_product =
                mark.products.iter().any(|(a, b)| columns.contains(&name(*a)) && columns.contains(&name(*b)));
            let by_number = mark.number.is_some_and(|number| {
                facts.numbers.iter().any(|n| (n - number).abs() <= 1e-9 * number.abs().max(1.0))
                    || facts.limit.is_some_and(|limit| (limit as f64 - number).abs() < 1e-9)
                    || facts.dates.iter().any(|date| date.starts_with(&format!("{number}")))
            });
            let by_period = mark.period.as_ref().is_some_and(|period| {
                facts.dates.contains(&period.from.to_string()) || facts.dates.contains(&period.to.to_string())
            });
            let superlative = is_superlative(mark);
            let by_operator = mark.operator.is_some_and(|operator| explains(operator, facts))
                || superlative
                    && (facts.limit.is_some()
                        || facts.nested > 0
                        || facts.aggregates.contains("max")
                        || facts.aggregates.contains("min"));
            if let Some(quality) = used.iter().copied().reduce(f32::max) {
                links.push(quality);
                rivals += mark
                    .columns
                    .iter()
                    .filter(|(place, other)| *other >= quality - 0.05 && !columns.contains(&name(*place)))
                    .count();
            }
            if by_column || by_value || by_table || by_product || by_number || by_period || by_operator {
                continue;
            }
            unexplained.push(mark.text.clone());
            if mark.number.is_some() && mark.period.is_none() {
                counts.numbers += 1;
            } else if mark.period.is_some() {
                counts.periods += 1;
            } else if !mark.values.is_empty() {
                counts.values += 1;
            } else if let Some(operator) = mark.operator {
                counts.operators += 1;
                match operator {
                    Operator::Aggregate(_) | Operator::Count => counts.aggregate += 1,
                    Operator::Group | Operator::Grain(_) | Operator::Part(_) => counts.group += 1,
                    Operator::Top(_) | Operator::Superlative(_) | Operator::Common(_) => {
                        counts.superlative += 1;
                    }
                    Operator::Not => counts.negation += 1,
                    _ => {}
                }
            } else if superlative {
                counts.operators += 1;
                counts.superlative += 1;
            } else if !mark.columns.is_empty() {
                counts.columns += 1;
            } else if !mark.tables.is_empty() {
                counts.tables += 1;
            } else {
                counts.unknown += 1;
            }
        }
        let supported = |column: &ColumnName| {
            self.marks.iter().any(|mark| {
                mark.columns.iter().any(|(place, quality)| *quality >= 0.3 && name(*place) == *column)
                    || mark.values.iter().any(|link| name(link.place) == *column)
                    || mark.products.iter().any(|(a, b)| name(*a) == *column || name(*b) == *column)
            })
        };
        let timed = |column: &ColumnName| {
            self.role(column) == Role::Time
                && self.marks.iter().any(|mark| mark.period.is_some() || mark.is_time_word())
        };
        let bare = columns.iter().filter(|column| !supported(column) && !timed(column)).count();
        let says = |test: &dyn Fn(&Mark) -> bool| self.marks.iter().any(test);
        let has = |wanted: fn(Operator) -> bool| says(&|mark| mark.operator.is_some_and(wanted));
        let texts = (facts.texts.iter())
            .filter(|text| {
                !says(&|mark| {
                    mark.values
                        .iter()
                        .flat_map(|link| &link.values)
                        .any(|value| value.to_lowercase() == **text)
                        || mark.text.to_lowercase().contains(text.as_str())
                })
            })
            .count();
        let numbers = (facts.numbers.iter())
            .filter(|number| {
                let plain = [0.0, 1.0, 100.0].iter().any(|n| (**number - n).abs() < 1e-9);
                let said = says(&|mark| {
                    mark.number.is_some_and(|n| (n - **number).abs() <= 1e-9 * n.abs().max(1.0))
                        || mark
                            .values
                            .iter()
                            .flat_map(|link| &link.values)
                            .any(|value| value.parse::<f64>().is_ok_and(|n| (n - **number).abs() < 1e-9))
                        || mark.period.is_some()
                });
                !plain && !said
            })
            .count();
        let any_aggregate = has(|operator| {
            matches!(
                operator,
                Operator::Aggregate(_)
                    | Operator::Count
                    | Operator::HowMuch
                    | Operator::Superlative(_)
                    | Operator::Common(_)
                    | Operator::Top(_)
                    | Operator::Share
                    | Operator::Rate
                    | Operator::Group
                    | Operator::Grain(_)
            )
        }) || says(&is_superlative);
        let sums_rate = facts
            .aggregated
            .iter()
            .filter(|(aggregate, column)| {
                aggregate == "sum" && matches!(self.role(column), Role::Rate | Role::Year)
            })
            .count();
        let counts_ids = facts
            .aggregated
            .iter()
            .filter(|(aggregate, column)| {
                matches!(aggregate.as_str(), "sum" | "average") && self.role(column) == Role::Identifier
            })
            .count();
        let raw = facts.aggregates.is_empty()
            && facts.filtered.is_empty()
            && facts.limit.is_none()
            && facts.nested == 0
            && !facts.set;
        let mean = if links.is_empty() { 0.0 } else { links.iter().sum::<f32>() / links.len() as f32 };
        let weakest = links.iter().copied().fold(1.0_f32, f32::min);
        let left: usize = unexplained.len();
        let planner = match proposal.proposer {
            Proposer::Planner(confidence) => Some(f64::from(confidence) / 1000.0),
            _ => None,
        };
        let analytic = has(|operator| {
            matches!(
                operator,
                Operator::Aggregate(_)
                    | Operator::Group
                    | Operator::Grain(_)
                    | Operator::Part(_)
                    | Operator::Trend
                    | Operator::Share
                    | Operator::Rate
                    | Operator::Growth
                    | Operator::Versus
                    | Operator::Contrast
            )
        });
        let largest = facts.tables.iter().filter_map(|table| self.schema.catalogue.table(table)?.rows).max();
        let rows = (largest.unwrap_or(1000) as f64 + 1.0).log10();
        let count = |n: usize| (n as f64).min(3.0);
        let yes = |truth: bool| f64::from(u8::from(truth));
        let features: Features = [
            1.0,
            count(counts.unknown),
            count(counts.operators),
            count(counts.numbers),
            count(counts.periods),
            count(counts.columns),
            count(counts.values),
            count(counts.tables),
            1.0 - left as f64 / (content.max(1) as f64),
            count(bare),
            count(texts),
            count(numbers),
            yes(!facts.aggregates.is_empty() && !any_aggregate),
            yes(facts.groups > 0
                && !has(|operator| {
                    matches!(
                        operator,
                        Operator::Group
                            | Operator::Grain(_)
                            | Operator::Part(_)
                            | Operator::Trend
                            | Operator::Versus
                            | Operator::Contrast
                            | Operator::Superlative(_)
                            | Operator::Top(_)
                            | Operator::Common(_)
                            | Operator::Compare(_)
                            | Operator::Which
                    )
                })),
            yes(facts.limit.is_some()
                && !has(|operator| {
                    matches!(operator, Operator::Top(_) | Operator::Superlative(_) | Operator::Common(_))
                })
                && !says(&is_superlative)),
            f64::from(mean),
            f64::from(weakest),
            count(rivals),
            count(sums_rate),
            count(counts_ids),
            yes(raw),
            yes(raw && facts.items > 3),
            count(facts.joins),
            yes(proposal.multiplies),
            count(facts.nested),
            yes(facts.set),
            proposal.cost.min(2.0),
            count(proposal.defaults),
            yes(planner.is_some()),
            planner.unwrap_or(0.0),
            planner.map_or(0.0, |confidence| (1.0 - confidence).max(0.0).ln_1p()),
            yes(agrees),
            yes(alone),
            (self.words as f64).min(40.0) / 10.0,
            (self.schema.catalogue.tables.len() as f64).ln(),
            yes(proposal.follows),
            count(counts.aggregate),
            count(counts.group),
            count(counts.superlative),
            count(counts.negation),
            yes(planner.is_none() && analytic),
            yes(planner.is_some() && analytic),
            yes(planner.is_none() && facts.aggregates.is_empty()),
            if planner.is_none() { count(facts.joins) } else { 0.0 },
            if planner.is_none() { count(counts.unknown) } else { 0.0 },
            if planner.is_none() { count(left) } else { 0.0 },
            yes(planner.is_none() && !facts.aggregates.is_empty() && any_aggregate),
            if planner.is_some() { count(left) } else { 0.0 },
            rows,
            if planner.is_none() { rows } else { 0.0 },
            if raw { rows } else { 0.0 },
            if facts.aggregates.is_empty() { rows } else { 0.0 },
            if planner.is_none() { (self.schema.catalogue.tables.len() as f64).ln() } else { 0.0 },
            yes(planner.is_some() && left == 0),
        ];
        (features, unexplained)
    }

    fn name(&self, place: crate::reader::ColumnRef) -> ColumnName {
        let table = self.schema.table(place.table).map(|table| table.name.clone()).unwrap_or_default();
        (table, self.schema.column(place).map(|column| column.name.clone()).unwrap_or_default())
    }

    fn role(&self, column: &ColumnName) -> Role {
        let found = self.schema.places().find(|(place, _)| self.name(*place) == *column);
        found.map_or(Role::Text, |(_, role)| role)
    }
}

#[derive(Default)]
struct Missing {
    unknown: usize,
    operators: usize,
    numbers: usize,
    periods: usize,
    columns: usize,
    values: usize,
    tables: usize,
    aggregate: usize,
    group: usize,
    superlative: usize,
    negation: usize,
}

/// Whether a part of the query does what an operator says.
fn explains(operator: Operator, facts: &Facts) -> bool {
    let has = |aggregate: Aggregate| facts.aggregates.contains(aggregate_name(aggregate));
    match operator {
        Operator::Aggregate(Aggregate::Sum) => has(Aggregate::Sum) || has(Aggregate::Count) || facts.divides,
        Operator::Aggregate(Aggregate::Average) => has(Aggregate::Average) || facts.divides,
        Operator::Aggregate(Aggregate::Min) => has(Aggregate::Min) || facts.limit.is_some(),
        Operator::Aggregate(Aggregate::Max) => has(Aggregate::Max) || facts.limit.is_some(),
        Operator::Aggregate(aggregate) => has(aggregate),
        Operator::Count => has(Aggregate::Count) || has(Aggregate::CountDistinct) || has(Aggregate::Sum),
        Operator::HowMuch => !facts.aggregates.is_empty() || facts.items == 1,
        Operator::Distinct => facts.distinct || has(Aggregate::CountDistinct) || facts.groups > 0,
        Operator::Top(_) | Operator::Superlative(_) | Operator::Common(_) => {
            facts.limit.is_some()
                || facts.nested > 0
                || has(Aggregate::Max)
                || has(Aggregate::Min)
                || facts.windows
        }
        Operator::Compare(_) | Operator::Between => facts.compares || facts.having,
        Operator::Group | Operator::Within | Operator::Grain(_) | Operator::Part(_) => {
            facts.groups > 0 || facts.order.is_some() || facts.divides
        }
        Operator::Order | Operator::Direction(_) => facts.order.is_some() || facts.windows,
        Operator::Not => facts.negates || facts.tests_null || facts.numbers.contains(&0.0),
        Operator::Or | Operator::Versus | Operator::Contrast => facts.one_of || facts.groups > 0 || facts.set,
        Operator::Share | Operator::Rate => facts.divides,
        Operator::Growth => facts.windows || facts.truncates || facts.groups > 0,
        Operator::Trend => facts.groups > 0,
        Operator::Running | Operator::Rolling => facts.windows,
        Operator::Missing => facts.tests_null,
        Operator::Correlation => has(Aggregate::Correlation),
        Operator::Chart(_) | Operator::Pivot | Operator::Whole => true,
        Operator::Distribution | Operator::Instead => false,
        _ => true,
    }
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
