//! Reads a question into candidates: forms over one query algebra, each with the words that support
//! it and the words that nothing explains. Which candidate is right is for the judge to say.

mod cells;
mod compose;
mod coordination;
mod describe;
mod expressions;
mod follow;
mod form;
mod interpret;
mod lexicon;
mod link;
mod lists;
pub(crate) mod lower;
mod naming;
mod nest;
mod positions;
mod rows;

pub(crate) use compose::{days_of, is_duration_word, is_never};
pub use form::{Baseline, Beside, Filter, Form, Group, Measure, OrderKey, Scalar, Tally, TimeUnit};
pub use lexicon::DatePart;
pub(crate) use lexicon::Operator;
pub use link::ColumnRef;
pub(crate) use link::{Mark, Schema};

use crate::catalogue::Catalogue;
use crate::planner::Meaning;
use crate::query::{Aggregate, Query};
use crate::roles::Role;
use chrono::NaiveDate;
use interpret::{Choices, interpret};
use steward_text::tokens::tokenize;

/// Which part of the reader made a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// Measures, groups and conditions.
    Measures,
    /// Lists over two kinds of things, or two lists.
    Lists,
    /// Rows of one table.
    Rows,
    /// A combination that the words allow, whatever their order.
    Composed,
}

/// How a candidate stands among all forms that the words allow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Its share of the likelihood.
    pub probability: f32,
    /// Its place, from 0.
    pub rank: usize,
}

/// A way to read a question.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The part of the reader that it comes from.
    pub grammar: Grammar,
    /// What is asked.
    pub form: Form,
    /// The same as a query.
    pub query: Query,
    /// Words that carry meaning and were not used.
    pub unexplained: Vec<String>,
    /// Evidence that was given up against the best choice at each open point.
    pub cost: f32,
    /// Defaults that were taken, for people.
    pub assumptions: Vec<String>,
    /// Parts that no word supports.
    pub defaults: usize,
    /// A join may multiply rows that are added up.
    pub multiplies: bool,
    /// The form in plain words.
    pub words: String,
    /// Which column each mark was taken for: position of the mark, its text, the column's label.
    pub columns: Vec<(usize, String, String)>,
    /// How it stands among all forms that the words allow. Nothing for a follow-up.
    pub standing: Option<Standing>,
    /// Its share of the likelihood among all forms over the rows of one small table.
    pub row_probability: Option<f32>,
}

/// The marks of a question and how many words it has.
pub(crate) fn marks_of(
    question: &str,
    schema: &Schema,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> (Vec<Mark>, usize) {
    let asked: String = question.chars().take(2_000).collect();
    let (tokens, quoted) = tokenize(&asked);
    (link::marks(&tokens, &quoted, schema, today, meaning), tokens.len())
}

/// Whether a mark is the superlative of an adjective.
pub(crate) fn is_superlative(mark: &Mark) -> bool {
    lexicon::adjective(&mark.text.to_lowercase(), true).is_some()
}

/// Readings that are looked at.
const MOST: usize = 24;
/// Candidates of rules that are kept.
const READ: usize = 6;
/// Compositions that are compared with each other, and those that become candidates.
const POOL: usize = 80;
const COMPOSED: usize = 12;

/// Reads a question. The best candidates by their evidence come first.
#[must_use]
pub fn propose(
    question: &str,
    catalogue: &Catalogue,
    earlier: Option<&Form>,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> Vec<Candidate> {
    let schema = Schema::new(catalogue);
    let (mut marks, _) = marks_of(question, &schema, today, meaning);
    let mut found: Vec<Candidate> = Vec::new();
    let mut reads = interpretations(&schema, &marks);
    let earlier = earlier.filter(|_| reads.first().is_some_and(|first| follow::leans(&marks, first)));
    let wanted = follow::wanted(&marks);
    if earlier.is_some() && wanted < marks.len() {
        marks.truncate(wanted);
        reads = interpretations(&schema, &marks);
    }
    let bases: Vec<Form> = reads.iter().map(|read| read.form.clone()).collect();
    for read in reads {
        let form =
            earlier.map_or_else(|| read.form.clone(), |before| follow::edit(before, &read, &marks, &schema));
        let Some(lowered) = lower::lower(&form, &schema) else { continue };
        if found.iter().any(|known| known.query == lowered.query) {
            continue;
        }
        let cost = (read.choices.other.iter())
            .filter_map(|(at, option)| {
                let options = read.choices.open.get(*at)?;
                Some(options.first()? - options.get(*option)?)
            })
            .sum();
        let unexplained = unexplained(&marks, &read.used);
        let label =
            |place: ColumnRef| schema.column(place).map(|column| column.label.clone()).unwrap_or_default();
        let columns = (read.columns.iter())
            .map(|(at, place)| {
                (*at, marks.get(*at).map(|mark| mark.text.clone()).unwrap_or_default(), label(*place))
            })
            .collect();
        found.push(Candidate {
            grammar: Grammar::Measures,
            words: describe::describe(&form, &schema),
            columns,
            form,
            query: lowered.query,
            unexplained,
            cost,
            assumptions: read.assumptions,
            defaults: read.defaults,
            multiplies: lowered.multiplies,
            standing: None,
            row_probability: None,
        });
    }
    if earlier.is_none() {
        compose::retain_sensible(&schema, &marks, &mut found, |candidate| &candidate.form);
    }
    let lists = if earlier.is_none() { other_grammars(&schema, &marks) } else { Vec::new() };
    for (grammar, list) in lists {
        let Some(lowered) = lower::lower(&list.form, &schema) else { continue };
        let unexplained = unexplained(&marks, &list.used);
        if let Some(known) =
            found.iter_mut().find(|known| grammar == Grammar::Rows && known.query == lowered.query)
        {
            known.row_probability = known.row_probability.or(list.probability);
            if unexplained.len() < known.unexplained.len() {
                known.unexplained = unexplained;
            }
            continue;
        }
        found.retain(|known| known.query != lowered.query);
        found.push(Candidate {
            grammar,
            words: describe::describe(&list.form, &schema),
            columns: Vec::new(),
            form: list.form,
            query: lowered.query,
            unexplained,
            cost: list.cost + if grammar == Grammar::Lists { -0.6 } else { 0.05 },
            assumptions: Vec::new(),
            defaults: 0,
            multiplies: false,
            standing: None,
            row_probability: list.probability,
        });
    }
    sort(&mut found);
    // Forms over rows are few and already the best of many: they take no place of others.
    let mut others = 0;
    found.retain(|candidate| {
        others += usize::from(candidate.grammar != Grammar::Rows);
        candidate.grammar == Grammar::Rows || others <= READ
    });
    if earlier.is_none() {
        add_compositions(&schema, &marks, &bases, &mut found);
    }
    found
}

/// A message read as an edit of an earlier form.
pub(crate) struct Edit {
    /// The edited form.
    pub(crate) form: Form,
    /// Words that carry meaning and were not used.
    pub(crate) unexplained: Vec<String>,
}

/// The ways to read a message as an edit of an earlier form; none if it does not lean on it.
pub(crate) fn edits(
    message: &str,
    catalogue: &Catalogue,
    earlier: &Form,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> Vec<Edit> {
    let schema = Schema::new(catalogue);
    let (mut marks, _) = marks_of(message, &schema, today, meaning);
    let mut reads = interpretations(&schema, &marks);
    if !reads.first().is_some_and(|first| follow::leans(&marks, first)) {
        return Vec::new();
    }
    let wanted = follow::wanted(&marks);
    if wanted < marks.len() {
        marks.truncate(wanted);
        reads = interpretations(&schema, &marks);
    }
    let edit = |read: interpret::Interpretation| Edit {
        form: follow::edit(earlier, &read, &marks, &schema),
        unexplained: unexplained(&marks, &read.used),
    };
    reads.into_iter().map(edit).collect()
}

/// Adds the best compositions that are no candidates yet, and says of every candidate how it stands
/// among them.
fn add_compositions(schema: &Schema, marks: &[Mark], bases: &[Form], found: &mut Vec<Candidate>) {
    let others: Vec<Form> = (found.iter())
        .filter(|candidate| candidate.grammar != Grammar::Measures)
        .map(|candidate| candidate.form.clone())
        .collect();
    let mut pool: Vec<(Form, Query, bool, f32)> = Vec::new();
    let sums = says_sum(marks);
    for composition in compose::compose(schema, marks, bases, &others) {
        if !sums && sums_rate(&composition.form, schema) {
            continue;
        }
        let Some(lowered) = lower::lower(&composition.form, schema) else { continue };
        if pool.iter().any(|(_, query, ..)| *query == lowered.query) {
            continue;
        }
        let score = composition.score + if lowered.multiplies { compose::multiplied() } else { 0.0 };
        pool.push((composition.form, lowered.query, lowered.multiplies, score));
        if pool.len() >= POOL {
            break;
        }
    }
    pool.sort_by(|a, b| b.3.total_cmp(&a.3));
    let best = pool.first().map_or(0.0, |(.., score)| *score);
    let total: f32 = pool.iter().map(|(.., score)| (score - best).exp()).sum();
    let words = |form: &Form| describe::describe(form, schema);
    let unknown: Vec<String> =
        marks.iter().filter(|mark| mark.is_unknown()).map(|mark| mark.text.clone()).collect();
    for (rank, (form, query, multiplies, score)) in pool.into_iter().enumerate() {
        let standing = Some(Standing { probability: (score - best).exp() / total, rank });
        if let Some(known) = found.iter_mut().find(|known| known.query == query) {
            known.standing = standing;
        } else if rank < COMPOSED {
            found.push(Candidate {
                grammar: Grammar::Composed,
                words: words(&form),
                columns: Vec::new(),
                form,
                query,
                unexplained: unknown.clone(),
                cost: 0.0,
                assumptions: Vec::new(),
                defaults: 0,
                multiplies,
                standing,
                row_probability: None,
            });
        }
    }
}

/// Whether a word asks for a sum.
fn says_sum(marks: &[Mark]) -> bool {
    marks.iter().any(|mark| {
        matches!(
            mark.operator,
            Some(
                Operator::Aggregate(Aggregate::Sum)
                    | Operator::HowMuch
                    | Operator::Running
                    | Operator::Share
                    | Operator::Whole
            )
        )
    })
}

/// Whether a form adds up prices, rates or scores, which no one means who does not say so.
fn sums_rate(form: &Form, schema: &Schema) -> bool {
    form.measures.iter().any(|measure| {
        matches!(
            measure,
            Measure::Of(Aggregate::Sum, Scalar::Column(place))
                | Measure::OfWhere(Aggregate::Sum, Scalar::Column(place), _)
                if schema.role(*place) == Role::Rate
        )
    })
}

/// Sorts candidates by their evidence. The best one of every grammar comes before the second of
/// any.
fn sort(found: &mut Vec<Candidate>) {
    let score = |candidate: &Candidate| {
        candidate.cost
            + 0.5 * candidate.unexplained.len() as f32
            + if candidate.multiplies { 0.8 } else { 0.0 }
    };
    found.sort_by(|a, b| score(a).total_cmp(&score(b)));
    let mut ranks: Vec<(usize, Candidate)> = Vec::new();
    for candidate in found.drain(..) {
        let rank = ranks.iter().filter(|(_, known)| known.grammar == candidate.grammar).count();
        ranks.push((rank, candidate));
    }
    ranks.sort_by_key(|(rank, _)| *rank);
    found.extend(ranks.into_iter().map(|(_, candidate)| candidate));
}

/// Words that carry meaning and were not used.
fn unexplained(marks: &[Mark], used: &[bool]) -> Vec<String> {
    let left = marks.iter().zip(used).filter(|(mark, used)| !**used && !mark.is_glue());
    left.map(|(mark, _)| mark.text.clone()).collect()
}

/// A composed form as a query, with the features that its rank is made from, for fitting.
pub struct Composed {
    /// The query.
    pub query: Query,
    /// Its features.
    pub features: Vec<(String, f32)>,
    /// Its score by the present weights.
    pub score: f32,
}

/// All compositions of a question, the best first, for fitting their weights.
#[must_use]
pub fn compositions(
    question: &str,
    catalogue: &Catalogue,
    today: NaiveDate,
    meaning: &dyn Meaning,
    most: usize,
) -> Vec<Composed> {
    let schema = Schema::new(catalogue);
    let (marks, _) = marks_of(question, &schema, today, meaning);
    let reads = interpretations(&schema, &marks);
    let bases: Vec<Form> = reads.into_iter().map(|read| read.form).collect();
    let others: Vec<Form> = other_grammars(&schema, &marks).into_iter().map(|(_, list)| list.form).collect();
    let mut found: Vec<Composed> = Vec::new();
    let sums = says_sum(&marks);
    for composition in compose::compose(&schema, &marks, &bases, &others) {
        if !sums && sums_rate(&composition.form, &schema) {
            continue;
        }
        let Some(lowered) = lower::lower(&composition.form, &schema) else { continue };
        if found.iter().any(|known| known.query == lowered.query) {
            continue;
        }
        let mut features = composition.features;
        if lowered.multiplies {
            features.push(("multiplies".to_owned(), 1.0));
        }
        found.push(Composed { query: lowered.query, features, score: composition.score });
        if found.len() >= most {
            break;
        }
    }
    found
}

/// All forms of a question about the rows of one small table, the best first, for fitting their
/// weights.
#[must_use]
pub fn row_forms(
    question: &str,
    catalogue: &Catalogue,
    today: NaiveDate,
    meaning: &dyn Meaning,
    most: usize,
) -> Vec<Composed> {
    let schema = Schema::new(catalogue);
    let (marks, _) = marks_of(question, &schema, today, meaning);
    let mut found: Vec<Composed> = Vec::new();
    for one in rows::search(&marks, &schema) {
        let Some(lowered) = lower::lower(&one.form, &schema) else { continue };
        if found.iter().any(|known| known.query == lowered.query) {
            continue;
        }
        let features =
            one.features.iter().map(|((part, name), value)| (format!("{part}: {name}"), *value)).collect();
        found.push(Composed { query: lowered.query, features, score: one.score });
        if found.len() >= most {
            break;
        }
    }
    found
}

/// The first interpretation and those with one choice made otherwise.
fn interpretations(schema: &Schema, marks: &[Mark]) -> Vec<interpret::Interpretation> {
    let first = interpret(schema, marks, Choices::default());
    let mut queue: Vec<Choices> = Vec::new();
    for (at, options) in first.choices.open.iter().enumerate() {
        for option in 1..options.len() {
            queue.push(Choices { other: [(at, option)].into(), open: Vec::new() });
        }
    }
    let others = queue.into_iter().take(MOST).map(|choices| interpret(schema, marks, choices));
    let others: Vec<_> = others.collect();
    std::iter::once(first).chain(others).collect()
}

/// Lists over two kinds of things, two lists, and rows of one table.
fn other_grammars(schema: &Schema, marks: &[Mark]) -> Vec<(Grammar, lists::ListReading)> {
    let two = lists::read(marks, schema).into_iter().chain(coordination::read(marks, schema));
    let mut all: Vec<(Grammar, lists::ListReading)> = two.map(|list| (Grammar::Lists, list)).collect();
    all.extend(rows::read(marks, schema).into_iter().map(|list| (Grammar::Rows, list)));
    all
}

/// The marks of a question as text, for development.
#[must_use]
pub fn explain(question: &str, catalogue: &Catalogue, today: NaiveDate, meaning: &dyn Meaning) -> String {
    let schema = Schema::new(catalogue);
    let (tokens, quoted) = tokenize(question);
    let marks = link::marks(&tokens, &quoted, &schema, today, meaning);
    let column =
        |place: ColumnRef| schema.column(place).map(|column| column.name.clone()).unwrap_or_default();
    let show = |mark: &Mark| {
        let columns: Vec<String> =
            mark.columns.iter().map(|(place, q)| format!("{}:{q:.2}", column(*place))).collect();
        let values: Vec<String> = mark
            .values
            .iter()
            .map(|link| format!("{}={:?}:{:.2}", column(link.place), link.values, link.quality))
            .collect();
        let operator = mark.operator.map(|operator| format!("{operator:?}")).unwrap_or_default();
        format!(
            "[{}|{operator}|{}|{}|{:?}|{}]",
            mark.text,
            columns.join(" "),
            values.join(" "),
            mark.number,
            mark.tables.len()
        )
    };
    marks.iter().map(show).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "reader_tests.rs"]
pub(crate) mod tests;

#[cfg(test)]
#[path = "follow_tests.rs"]
pub(crate) mod follow_tests;

#[cfg(test)]
#[path = "measures_tests.rs"]
mod measures_tests;

#[cfg(test)]
#[path = "compose_tests.rs"]
mod compose_tests;
