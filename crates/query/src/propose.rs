//! Asks every built-in proposer for readings of a question and lets the judge choose.
//!
//! The outcome is a reading with a calibrated probability, a question back when two readings are
//! equally likely, or a word about what is missing.

use crate::ask_back;
use crate::catalogue::Catalogue;
use crate::chart::ChartKind;
use crate::judge::{Judge, Judgement, Proposal, Proposer, ResultShape};
use crate::planner::particulars::TIME;
use crate::planner::{self, ChartWish, Intent, Meaning, Named, Outcome, Parameter, Reading};
use crate::query::Query;
use crate::reader::{self, Candidate, Filter, Form, Grammar, Group};
use chrono::NaiveDate;
use steward_text::period::{Period, read_times};
use steward_text::tokens::tokenize;

/// From here on an answer is called sure.
pub const SURE: f64 = 0.9;
/// From here on a reading is taken although the planner would ask which column is meant.
const LIKELY: f64 = 0.5;
/// Below this nothing is answered.
const HOPELESS: f64 = 0.05;
/// Below this nothing is answered when the data has no word for what is asked for, or does not know
/// a name.
const WITHOUT_FOCUS: f64 = 0.2;
/// Candidates of the reader that are judged.
const JUDGED: usize = 20;

/// Reads a question with all proposers, without running anything.
#[must_use]
pub fn read(
    question: &str,
    catalogue: &Catalogue,
    earlier: Option<&Reading>,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> Outcome {
    consider(question, catalogue, earlier, today, meaning).decide(&[])
}

/// A question with everything that was proposed for it.
pub struct Considered<'a> {
    question: &'a str,
    catalogue: &'a Catalogue,
    planned: Outcome,
    candidates: Vec<Candidate>,
    /// The planner's query is among the proposals, the first of them.
    has_planned: bool,
    follows: bool,
    is_relative: bool,
    judge: Judge<'a>,
}

/// Asks all proposers. What they propose may be run before [`Considered::decide`], which then knows
/// the results.
#[must_use]
pub fn consider<'a>(
    question: &'a str,
    catalogue: &'a Catalogue,
    earlier: Option<&Reading>,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> Considered<'a> {
    let planned = planner::read(question, catalogue, earlier, today, meaning);
    let anchor = planner::confidence::anchor(catalogue, today);
    let before = earlier.and_then(|reading| reading.form.as_ref());
    // An overview is several queries; what it holds is not one candidate among others.
    let whole = matches!(&planned, Outcome::Read(reading) if matches!(
        reading.intent,
        Intent::Overview | Intent::Distribution | Intent::Outliers | Intent::Missing
    ));
    // Without a form of its own to edit, the reader cannot follow what the planner began.
    let mut candidates = if whole || earlier.is_some() && before.is_none() {
        Vec::new()
    } else {
        reader::propose(question, catalogue, before, anchor, meaning)
    };
    candidates.truncate(JUDGED);
    let has_planned = !whole
        && before.is_none()
        && matches!(&planned, Outcome::Read(reading) if !reading.queries.is_empty());
    Considered {
        question,
        catalogue,
        planned,
        candidates,
        has_planned,
        follows: earlier.is_some(),
        is_relative: is_relative(question, anchor, today),
        judge: Judge::new(question, catalogue, anchor, meaning),
    }
}

impl Considered<'_> {
    /// What was proposed, in the order of the results that [`Considered::decide`] takes.
    #[must_use]
    pub fn proposals(&self) -> Vec<Proposal<'_>> {
        let mut proposals: Vec<Proposal> = Vec::new();
        if let Outcome::Read(reading) = &self.planned
            && self.has_planned
            && let Some(named) = reading.queries.first()
        {
            proposals.push(Proposal {
                query: &named.query,
                proposer: Proposer::Planner((reading.confidence * 1000.0) as u32),
                cost: 0.0,
                defaults: 0,
                multiplies: false,
                follows: self.follows,
                unused: None,
                grammar: None,
                standing: None,
                row_probability: None,
            });
        }
        proposals.extend(self.candidates.iter().map(|candidate| Proposal {
            query: &candidate.query,
            proposer: Proposer::Reader,
            cost: f64::from(candidate.cost),
            defaults: candidate.defaults,
            multiplies: candidate.multiplies,
            follows: self.follows,
            unused: Some(candidate.unexplained.as_slice()).filter(|_| candidate.grammar != Grammar::Composed),
            grammar: Some(candidate.grammar),
            standing: candidate.standing,
            row_probability: candidate.row_probability,
        }));
        proposals
    }

    /// What the judge says of every proposal.
    #[must_use]
    pub fn judge(&self, results: &[Option<ResultShape>]) -> Vec<Judgement> {
        self.judge.judge(&self.proposals(), results)
    }

    /// Every proposal as a reading with its probability, in the order of the proposals.
    #[must_use]
    pub fn readings(&self, results: &[Option<ResultShape>]) -> Vec<Reading> {
        let planned = match &self.planned {
            Outcome::Read(reading) if self.has_planned => Some(reading.clone()),
            _ => None,
        };
        let candidates = self
            .candidates
            .iter()
            .map(|candidate| reading(self.question, candidate, self.catalogue, self.is_relative));
        let all = planned.into_iter().chain(candidates).zip(self.judge(results));
        all.map(|(reading, judgement)| with_judgement(reading, &judgement, self.follows)).collect()
    }

    /// Answers, asks back or says what is missing.
    #[must_use]
    pub fn decide(self, results: &[Option<ResultShape>]) -> Outcome {
        let judged = self.judge(results);
        let best = judged.iter().enumerate().max_by(|(_, a), (_, b)| a.score.total_cmp(&b.score));
        let Some((best, judgement)) = best else { return self.planned };
        let planners = usize::from(self.has_planned);
        let own: Vec<Option<&ResultShape>> = results.iter().skip(planners).map(Option::as_ref).collect();
        if let Some(ask) = ask_back::open_list(self.question, &self.candidates, &own, self.catalogue) {
            return ask;
        }
        if is_hopeless(judgement) {
            return nothing_found(self.catalogue, judgement);
        }
        if best < planners {
            return match self.planned {
                Outcome::Read(reading) => Outcome::Read(with_judgement(reading, judgement, self.follows)),
                other => other,
            };
        }
        let Some(candidate) = self.candidates.get(best - planners) else { return self.planned };
        // The planner found a word that two columns fit equally well.
        let tied = (self.candidates.iter())
            .any(|other| (other.cost - candidate.cost).abs() < 0.1 && other.columns != candidate.columns);
        if matches!(self.planned, Outcome::Ask { .. })
            && judgement.probability < if tied { SURE } else { LIKELY }
        {
            return self.planned;
        }
        if let Some(ask) = ask_back::tied_columns(self.question, candidate, &self.candidates, judgement, SURE)
        {
            return ask;
        }
        let read = reading(self.question, candidate, self.catalogue, self.is_relative);
        Outcome::Read(with_judgement(read, judgement, self.follows))
    }
}

/// A reading with what the judge says of it.
fn with_judgement(mut reading: Reading, judgement: &Judgement, follows: bool) -> Reading {
    reading.confidence = judgement.probability.clamp(0.02, 0.98);
    if follows {
        // The judge learned from questions that stand alone; of one that goes on from another it is
        // not sure.
        reading.confidence = reading.confidence.min(SURE - 0.01);
    }
    if !judgement.unexplained.is_empty() {
        // A word that carries meaning and was not used keeps an answer from being sure.
        reading.confidence = reading.confidence.min(SURE - 0.01);
        reading.unexplained.clone_from(&judgement.unexplained);
    }
    reading
}

/// Whether an answer would be about something else than what was asked.
fn is_hopeless(judgement: &Judgement) -> bool {
    judgement.probability < HOPELESS
        || !judgement.outside.is_empty()
        || (judgement.misses_focus || judgement.misses_name) && judgement.probability < WITHOUT_FOCUS
}

/// Says what nothing was found for, and what there is instead.
fn nothing_found(catalogue: &Catalogue, judgement: &Judgement) -> Outcome {
    let can_answer = (catalogue.tables.iter())
        .map(|table| {
            let columns: Vec<&str> =
                table.columns.iter().take(6).map(|column| column.label.as_str()).collect();
            format!("Questions about {}: {}", table.label, columns.join(", "))
        })
        .collect();
    let words = judgement.unexplained.join("”, “");
    let why = if !judgement.outside.is_empty() {
        format!("The data does not reach there: {}.", judgement.outside.join(", "))
    } else if words.is_empty() {
        "No reading of the question fits the data.".to_owned()
    } else {
        format!("Nothing in the data was found for “{words}”.")
    };
    Outcome::Unanswerable { why, can_answer }
}

/// A candidate of the reader as a reading.
fn reading(question: &str, candidate: &Candidate, catalogue: &Catalogue, relative: bool) -> Reading {
    let form = &candidate.form;
    let query = candidate.query.clone();
    let timed = form.groups.iter().any(|group| matches!(group, Group::Period(..)));
    let mut assumptions = candidate.assumptions.clone();
    if relative && form.has_periods() {
        assumptions.push("Relative times are counted from the last day of the data.".to_owned());
    }
    Reading {
        intent: if timed { Intent::Trend } else { Intent::Lookup },
        charts: chart(question, form, &query).into_iter().collect(),
        parameters: parameters(form, catalogue, relative),
        queries: vec![Named { name: "answer".to_owned(), title: question.trim().to_owned(), query }],
        confidence: 0.5,
        assumptions,
        reasoning: vec![format!("Read as: {}.", candidate.words)],
        sketch: planner::Sketch::default(),
        form: Some(form.clone()),
        unexplained: Vec::new(),
        then: None,
    }
}

/// Whether a question names a time that depends on the day it is counted from.
fn is_relative(question: &str, anchor: NaiveDate, today: NaiveDate) -> bool {
    let (tokens, _) = tokenize(question);
    let spans = |day: NaiveDate| -> Vec<(NaiveDate, NaiveDate)> {
        read_times(&tokens, day).into_iter().map(|(_, _, period)| (period.from, period.to)).collect()
    };
    // A day that is neither shows what moves with it.
    let other = anchor.checked_sub_days(chrono::Days::new(500)).unwrap_or(anchor);
    spans(anchor) != spans(other) || spans(anchor) != spans(today)
}

/// The chart that suits a result: a line over time, bars for categories, one series for each value
/// of a second group.
fn chart(question: &str, form: &Form, query: &Query) -> Option<ChartWish> {
    if form.groups.is_empty() || form.measures.is_empty() || form.pivot {
        return None;
    }
    let names: Vec<&str> = query.items.iter().map(|item| item.name.as_str()).collect();
    let timed = form.groups.iter().position(|group| matches!(group, Group::Period(..)));
    let x = timed.unwrap_or(if form.within.is_some() && form.groups.len() > 1 { 1 } else { 0 });
    let series = (0..form.groups.len()).find(|at| *at != x).and_then(|at| names.get(at));
    let fitting = match (timed, series) {
        (Some(_), _) => ChartKind::Line,
        (None, Some(_)) => ChartKind::GroupedBar,
        (None, None) => ChartKind::Bar,
    };
    let measures =
        names.iter().skip(form.groups.len()).take(if series.is_some() { 1 } else { form.measures.len() });
    // A question about shares is answered by the shares, not by the amounts beside them.
    let share = query.items.iter().find(|item| item.expr.is_share()).map(|item| vec![item.name.clone()]);
    Some(ChartWish {
        query: 0,
        kind: form.chart.unwrap_or(fitting),
        x: (*names.get(x)?).to_owned(),
        y: share.unwrap_or_else(|| measures.map(|name| (*name).to_owned()).collect()),
        series: series.map(|name| (*name).to_owned()),
        title: question.trim().to_owned(),
    })
}

/// Values in the question that may be exchanged for others.
fn parameters(form: &Form, catalogue: &Catalogue, relative: bool) -> Vec<Parameter> {
    let label = |filter: &Filter| {
        let place = filter.place();
        let column = catalogue.tables.get(place.table)?.columns.get(place.column)?;
        Some(if column.label.is_empty() { column.name.clone() } else { column.label.clone() })
    };
    // A period is a parameter when it is the only one and names its days itself.
    let spans = form.filters.iter().filter(|filter| matches!(filter, Filter::Within(..))).count();
    (form.filters.iter())
        .filter_map(|filter| match filter {
            Filter::Values { values, negated: false, .. } => match values.as_slice() {
                [value] => {
                    let column = label(filter)?;
                    Some(Parameter { name: column.clone(), column, value: value.clone() })
                }
                _ => None,
            },
            Filter::Within(_, from, to) if spans == 1 && !relative => Some(Parameter {
                name: TIME.to_owned(),
                column: label(filter)?,
                value: Period::span(*from, *to).words(),
            }),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
#[path = "propose_tests.rs"]
mod tests;
