//! Where a question names columns and tables, and in what company: what stands before and behind
//! each name.

use super::super::lexicon::{Operator, adjective};
use super::super::link::{ColumnRef, Mark, Schema};
use crate::query::Aggregate;
use crate::roles::Role;

/// What stands before a name, as far as it says what the name is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// "by", "per", "for each".
    Group,
    /// "which", "what", "who".
    Which,
    /// "show", "list".
    Show,
    /// "how many", "number of".
    Count,
    /// "how much".
    Amount,
    /// "total", "average".
    Aggregate(Aggregate),
    /// "top", "highest", "oldest".
    Extreme,
    /// A number: "5 states".
    Number,
    /// "more than", "between".
    Compare,
    /// "sorted by".
    Order,
    /// "not", "without".
    Not,
    /// "share of", "rate".
    Share,
    /// "with", "whose", "that have".
    Clause,
    /// "of", "in", "for" behind another name.
    Of,
    /// Another name, right before.
    Name,
    /// A verb or a noun that the data does not know.
    Unknown,
    /// Nothing: the question begins with it.
    Start,
}

/// What stands behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// "by", "per".
    Group,
    /// "total", "count", "average".
    Aggregate(Aggregate),
    /// "count".
    Count,
    /// "more than", "over", "=".
    Compare,
    /// A value or a number.
    Value,
    /// "rate", "share", "percentage".
    Share,
    /// Another name.
    Name,
    /// Something else.
    Other,
    /// Nothing: the question ends with it.
    End,
}

/// A column that a span may name.
#[derive(Debug, Clone)]
pub(super) struct Mention {
    /// Position of the mark.
    pub at: usize,
    pub place: ColumnRef,
    pub quality: f32,
    pub role: Role,
    pub before: Before,
    pub behind: Behind,
    pub plural: bool,
}

impl Mention {
    pub(super) fn is_group(&self) -> bool {
        matches!(self.role, Role::Category | Role::Text | Role::Identifier | Role::Year | Role::Flag)
    }
}

pub(super) fn is_extreme(mark: &Mark) -> bool {
    matches!(mark.operator, Some(Operator::Top(_) | Operator::Superlative(_) | Operator::Common(_)))
        || adjective(&mark.text.to_lowercase(), true).is_some()
        || is_unlisted_superlative(mark)
}

/// A superlative that no list knows: "saltiest", "thickest".
pub(super) fn is_unlisted_superlative(mark: &Mark) -> bool {
    const OTHER: &str = "interest request forest harvest honest contest protest suggest arrest invest digest";
    let word = mark.text.to_lowercase();
    word.len() >= 6
        && word.ends_with("est")
        && !OTHER.split(' ').any(|known| known == word)
        && mark.operator.is_none()
        && mark.values.is_empty()
        && mark.table_quality() < 0.5
        && mark.column_quality() < 0.9
}

/// A mark that names a column, a table or a value.
fn is_name(mark: &Mark) -> bool {
    mark.column_quality() >= 0.3 || mark.table_quality() >= 0.5 || mark.value_quality() >= 0.6
}

/// What stands before a mark. A name after "and" is there for what the name before it is there for.
pub(super) fn before(marks: &[Mark], at: usize) -> Before {
    let (mut at, mut of, mut joined) = (at, false, false);
    while let Some(earlier) = at.checked_sub(1) {
        at = earlier;
        let Some(mark) = marks.get(at) else { break };
        if is_extreme(mark) {
            return Before::Extreme;
        }
        match mark.operator {
            Some(Operator::Filler | Operator::Distinct | Operator::Is | Operator::Only) => continue,
            Some(Operator::Of | Operator::Since | Operator::Until) => {
                of = true;
                continue;
            }
            Some(Operator::And | Operator::Or | Operator::Versus) => {
                joined = true;
                continue;
            }
            Some(Operator::Group | Operator::Within) => return Before::Group,
            Some(Operator::Which) => return if of { Before::Of } else { Before::Which },
            Some(Operator::Show) => return Before::Show,
            Some(Operator::Count) => return Before::Count,
            Some(Operator::HowMuch) => return Before::Amount,
            Some(Operator::Aggregate(aggregate)) => return Before::Aggregate(aggregate),
            Some(Operator::Compare(_) | Operator::Between) => return Before::Compare,
            Some(Operator::Order) => return Before::Order,
            Some(Operator::Not | Operator::Missing) => return Before::Not,
            Some(Operator::Share | Operator::Rate) => return Before::Share,
            Some(Operator::Clause) => return Before::Clause,
            _ => {}
        }
        if mark.number.is_some() && mark.period.is_none() {
            return Before::Number;
        }
        if joined && is_name(mark) {
            // The list goes on: look from its first name.
            joined = false;
            continue;
        }
        if of {
            return Before::Of;
        }
        return if is_name(mark) { Before::Name } else { Before::Unknown };
    }
    if of { Before::Of } else { Before::Start }
}

pub(super) fn behind(marks: &[Mark], at: usize) -> Behind {
    for mark in marks.iter().skip(at + 1) {
        match mark.operator {
            Some(Operator::Filler | Operator::Is | Operator::Of) if mark.columns.is_empty() => continue,
            Some(Operator::Group | Operator::Within | Operator::Grain(_) | Operator::Part(_)) => {
                return Behind::Group;
            }
            Some(Operator::Aggregate(aggregate)) => return Behind::Aggregate(aggregate),
            Some(Operator::Count) => return Behind::Count,
            Some(Operator::Compare(_) | Operator::Between) => return Behind::Compare,
            Some(Operator::Share | Operator::Rate) => return Behind::Share,
            Some(_) if mark.columns.is_empty() && mark.values.is_empty() => return Behind::Other,
            _ => {}
        }
        if mark.value_quality() >= 0.6 || mark.number.is_some() {
            return Behind::Value;
        }
        return if is_name(mark) { Behind::Name } else { Behind::Other };
    }
    Behind::End
}

/// All columns that the question may name, in the order of its words.
pub(super) fn mentions(schema: &Schema, marks: &[Mark]) -> Vec<Mention> {
    let mut found = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        let best = mark.column_quality();
        if best < 0.3 || mark.value_quality() > best + 0.1 {
            continue;
        }
        let mut columns: Vec<(ColumnRef, f32)> =
            mark.columns.iter().filter(|(_, quality)| *quality >= best - 0.25).copied().collect();
        columns.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (place, quality) in columns.into_iter().take(4) {
            found.push(Mention {
                at,
                place,
                quality,
                role: schema.role(place),
                before: before(marks, at),
                behind: behind(marks, at),
                plural: mark.plural,
            });
        }
    }
    found
}
