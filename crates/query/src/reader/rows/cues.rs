//! Words that hint at an operation over rows.

use super::super::lexicon::{Operator, adjective};
use super::super::link::Mark;
use super::super::lists::has_word;
use crate::query::Aggregate;

/// A hint: its name and the mark that gives it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cue {
    pub name: &'static str,
    pub mark: usize,
}

const MORE: &str =
    "more higher greater larger bigger longer better later older taller heavier faster further";
const LESS: &str = "less lower fewer smaller shorter worse earlier younger lighter slower";
/// Words by themselves, with the hint that each gives.
const WORDS: [(&str, &str); 23] = [
    ("next", "next following directly immediately consecutively"),
    ("after", "after follows followed behind below succeeded subsequent beneath under"),
    ("previous", "previous preceding prior"),
    ("before", "before precedes preceded above ahead"),
    ("first", "first earliest 1st initial start begin began top"),
    ("last", "last latest final recent newest end ended bottom"),
    ("difference", "difference differ gap margin apart"),
    ("same", "same equal also tied shared shares"),
    ("often", "often times frequently appear appears appearances occurs"),
    ("listed", "listed list table chart row entries"),
    ("sum", "combined altogether together total all overall"),
    ("more", MORE),
    ("less", LESS),
    ("than", "than"),
    ("or", "or"),
    ("only", "only just sole"),
    ("besides", "besides other else another except"),
    ("each", "each per every"),
    ("run", "consecutive consecutively row straight streak"),
    ("who", "who whom whose"),
    ("when", "when year date"),
    ("where", "where location"),
    ("both", "both between and"),
];

/// All hints of a question.
pub(super) fn read(marks: &[Mark]) -> Vec<Cue> {
    let mut cues: Vec<Cue> = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        let names_something = mark.column_quality() >= 0.95 || mark.value_quality() >= 0.95;
        let mut add = |name: &'static str| cues.push(Cue { name, mark: at });
        let text = mark.text.to_lowercase();
        if !names_something {
            match mark.operator {
                Some(Operator::Count) => add("count"),
                Some(Operator::HowMuch) => add("much"),
                Some(Operator::Distinct) => add("distinct"),
                Some(Operator::Superlative(true)) => add("largest"),
                Some(Operator::Superlative(false)) => add("smallest"),
                Some(Operator::Common(true)) => add("common"),
                Some(Operator::Common(false)) => add("rare"),
                Some(Operator::Aggregate(Aggregate::Sum) | Operator::Whole) => add("total"),
                Some(Operator::Aggregate(Aggregate::Average)) => add("average"),
                Some(Operator::Aggregate(Aggregate::Max)) => add("largest"),
                Some(Operator::Aggregate(Aggregate::Min)) => add("smallest"),
                Some(Operator::Compare(_)) => add("compare"),
                Some(Operator::Not) => add("not"),
                Some(Operator::Show) => add("show"),
                Some(Operator::Which) => add("which"),
                _ => {}
            }
            if let Some(found) = adjective(&text, true) {
                add(if found.largest { "largest" } else { "smallest" });
            }
        }
        if mark.value_quality() < 0.95 {
            for (name, list) in WORDS {
                if has_word(list, &text) {
                    add(name);
                }
            }
        }
        if mark.number.is_some() {
            add("number");
        }
    }
    let opening = marks.first().map(|mark| mark.text.to_lowercase()).unwrap_or_default();
    if has_word("how", &opening) && marks.get(1).is_some_and(|mark| has_word("long old", &mark.text)) {
        cues.push(Cue { name: "long", mark: 1 });
    }
    cues
}
