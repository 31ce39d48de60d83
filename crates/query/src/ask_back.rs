//! Asks which of two readings is meant, when both are likely and their results differ.
//!
//! Three things leave a question open: a quantifier ("the courses that every school offers": common
//! to all, or those of each), a condition behind two lists ("chefs and waiters who speak French":
//! both, or the waiters alone), and a word that two columns fit equally well.

use crate::catalogue::Catalogue;
use crate::judge::{Judgement, ResultShape};
use crate::planner::{Choice, Outcome};
use crate::reader::{Candidate, Filter, Form};

/// Readings whose evidence differs by at most this are equally likely.
const NEAR: f32 = 0.06;

/// A list that can be read in two ways. `results` are those of the candidates, where they were run.
pub(crate) fn open_list(
    question: &str,
    candidates: &[Candidate],
    results: &[Option<&ResultShape>],
    catalogue: &Catalogue,
) -> Option<Outcome> {
    let result = |at: usize| results.get(at).copied().flatten();
    for (at, first) in candidates.iter().enumerate() {
        for (other, second) in candidates.iter().enumerate().skip(at + 1) {
            if (first.cost - second.cost).abs() > NEAR {
                continue;
            }
            let same = matches!((result(at), result(other)), (Some(a), Some(b)) if a.agrees_with(b));
            if same {
                continue;
            }
            let options = scope(first, second, catalogue).or_else(|| attachment(question, first, second));
            if let Some((asked, options)) = options {
                return Some(Outcome::Ask { question: asked, options: options.into() });
            }
        }
    }
    None
}

type Options = (String, [Choice; 2]);

/// What all things have in common, or what each of them has.
fn scope(first: &Candidate, second: &Candidate, catalogue: &Catalogue) -> Option<Options> {
    let (common, each) = match (first.form.every, second.form.every) {
        (Some(_), None) => (first, second),
        (None, Some(_)) => (second, first),
        _ => return None,
    };
    let over = common.form.every?;
    if each.form.table != over || each.form.show.iter().all(|place| place.table == over) {
        return None;
    }
    let things = catalogue.tables.get(over)?.label.replace('_', " ").to_lowercase();
    let shown: Vec<String> = (common.form.show.iter())
        .filter_map(|place| {
            let table = catalogue.tables.get(place.table)?;
            let column = table.columns.get(place.column)?.label.replace('_', " ");
            Some(format!("{} of {}", column, table.label.replace('_', " ")).to_lowercase())
        })
        .collect();
    let shown = shown.join(" and ");
    let options = [
        Choice {
            label: format!("{shown} that all {things} have in common"),
            question: format!("Which {shown} are common to all {things}?"),
        },
        Choice {
            label: format!("for each of {things}, its {shown}"),
            question: format!("For each of {things}, list the corresponding {shown}."),
        },
    ];
    Some((format!("What all {things} have in common, or what each of them has?"), options))
}

/// A condition that holds for two lists, or for the second of them.
fn attachment(question: &str, first: &Candidate, second: &Candidate) -> Option<Options> {
    let is_split = |form: &Form| form.filters.iter().any(|filter| matches!(filter, Filter::Any(_)));
    let lists = match (&first.form.also, &second.form.also) {
        (Some(one), Some(other)) => {
            one.table == other.table
                && first.form.table == second.form.table
                && first.form.show == second.form.show
                && first.form != second.form
        }
        (None, None) => is_split(&first.form) != is_split(&second.form),
        _ => false,
    };
    let (before, after) = question.split_once(" and ").or_else(|| question.split_once(" or "))?;
    if !lists {
        return None;
    }
    // The reading with fewer conditions leaves one of the lists as it is.
    let conditions =
        |form: &Form| form.filters.len() + form.also.as_ref().map_or(0, |also| also.filters.len());
    let split = match first.form.also {
        Some(_) => conditions(&first.form) < conditions(&second.form),
        None => is_split(&first.form),
    };
    let (whole, part) = if split { (second, first) } else { (first, second) };
    let choice =
        |candidate: &Candidate, question: String| Choice { label: candidate.words.clone(), question };
    let options = [
        choice(whole, format!("{before} and {after} (the condition holds for both)")),
        choice(part, format!("{before} and also just {after}")),
    ];
    Some(("Does the condition hold for both lists, or for one of them?".to_owned(), options))
}

/// Columns that a word may mean equally well.
pub(crate) fn tied_columns(
    question: &str,
    best: &Candidate,
    all: &[Candidate],
    judgement: &Judgement,
    sure: f64,
) -> Option<Outcome> {
    if judgement.probability >= sure {
        return None;
    }
    let mut options: Vec<Choice> = Vec::new();
    let mut asked = String::new();
    for other in all {
        if other.query == best.query
            || (other.cost - best.cost).abs() > 0.01
            || other.columns.len() != best.columns.len()
        {
            continue;
        }
        let apart: Vec<_> = best.columns.iter().zip(&other.columns).filter(|(a, b)| a != b).collect();
        let [((at, word, mine), (other_at, _, theirs))] = apart.as_slice() else { continue };
        if at != other_at || !question.contains(word.as_str()) || mine.eq_ignore_ascii_case(theirs) {
            continue;
        }
        if options.is_empty() {
            asked.clone_from(word);
            options.push(Choice {
                label: best.words.clone(),
                question: question.replacen(word.as_str(), mine, 1),
            });
        }
        options.push(Choice {
            label: other.words.clone(),
            question: question.replacen(word.as_str(), theirs, 1),
        });
    }
    options.truncate(3);
    (options.len() > 1)
        .then(|| Outcome::Ask { question: format!("What does “{asked}” mean here?"), options })
}
