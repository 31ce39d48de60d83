//! What a question asks for: the noun behind "which", "how many" or "list", found among the marks.

use crate::reader::{Mark, Operator};

/// The kind of answer that a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Wanted {
    /// "How many": a number of things.
    Count,
    /// "How much", or an aggregate: a number.
    Amount,
    /// "Which", "who", "list": things by name.
    #[default]
    Thing,
    /// "Who": people by name.
    Person,
    /// "When": a time.
    Moment,
    /// "Where": a place.
    Place,
}

/// What is asked for, and by which mark.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Focus {
    pub wanted: Wanted,
    /// Position of the mark that names the thing asked for.
    pub mark: Option<usize>,
    /// The question is about one thing: "which city has", "who is".
    pub single: bool,
}

/// Finds what is asked for.
pub(super) fn focus(marks: &[Mark]) -> Focus {
    let asking = marks.iter().position(|mark| {
        matches!(mark.operator, Some(Operator::Which | Operator::Count | Operator::HowMuch | Operator::Show))
    });
    let from = asking.map_or(0, |at| at + 1);
    let first = asking.and_then(|at| marks.get(at));
    let text = first.map(|mark| mark.text.to_lowercase()).unwrap_or_default();
    let mut wanted = match first.and_then(|mark| mark.operator) {
        Some(Operator::Count) => Wanted::Count,
        Some(Operator::HowMuch) => Wanted::Amount,
        _ if text.starts_with("who") => Wanted::Person,
        _ if text.starts_with("when") => Wanted::Moment,
        _ if text.starts_with("where") => Wanted::Place,
        _ => Wanted::Thing,
    };
    let mut named = None;
    for (at, mark) in marks.iter().enumerate().skip(from) {
        match mark.operator {
            Some(Operator::Aggregate(_) | Operator::Share | Operator::Rate) if wanted == Wanted::Thing => {
                wanted = Wanted::Amount;
            }
            Some(Operator::Count) if wanted == Wanted::Thing => wanted = Wanted::Count,
            Some(_) => {}
            None => {
                named = Some(at);
                break;
            }
        }
    }
    let single = matches!(wanted, Wanted::Thing | Wanted::Person | Wanted::Moment | Wanted::Place)
        && named.and_then(|at| marks.get(at)).is_some_and(|mark| !mark.plural)
        && first.is_some_and(|mark| mark.operator == Some(Operator::Which));
    Focus { wanted, mark: named, single }
}
