//! Whether a message goes on from the question before: "only 2022", "by month", "why did it drop?".
//!
//! It only decides where a message belongs, for a conversation that also has other things to do.
//! What the message means is decided by [`crate::propose`].

use crate::catalogue::Catalogue;
use crate::outlook;
use crate::planner::confidence::anchor;
use crate::planner::{FOLLOW_UP, Meaning, Outcome, Reading};
use crate::propose;
use crate::reader;
use chrono::NaiveDate;
use steward_text::tokens::tokenize;

/// Whether a message can be read as an edit of the question before: it leans on that question,
/// changes it, and every word of it that carries meaning has a part in the change.
#[must_use]
pub fn is_edit(
    message: &str,
    catalogue: &Catalogue,
    earlier: &Reading,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> bool {
    let Some(form) = &earlier.form else {
        return is_edit_of_sketch(message, catalogue, earlier, today, meaning);
    };
    let anchor = anchor(catalogue, today);
    // "why did it drop in May?" and "forecast next quarter" do something with the rows of a plain
    // question.
    let wish = outlook::outlook(message, catalogue, today, true);
    if wish.as_ref().is_some_and(|wish| wish.is_bare) {
        return true;
    }
    let plain = wish.as_ref().map_or(message, |wish| wish.question.as_str());
    let edited = reader::edits(plain, catalogue, form, anchor, meaning);
    edited.iter().any(|edit| edit.unexplained.is_empty() && (edit.form != *form || wish.is_some()))
}

/// Words that begin an edit and nothing else.
const BEGINNINGS: &[&str] = &[
    "only",
    "just",
    "without",
    "excluding",
    "except",
    "exclude",
    "by",
    "per",
    "sort",
    "filter",
    "limit",
    "top",
];

/// Whether a message begins like an edit, also when its other words are not found in the data.
#[must_use]
pub fn begins_edit(message: &str) -> bool {
    let (tokens, _) = tokenize(message);
    tokens.len() > 1 && tokens.first().is_some_and(|token| BEGINNINGS.contains(&token.word.as_str()))
}

/// The same for a question that the planner read.
fn is_edit_of_sketch(
    message: &str,
    catalogue: &Catalogue,
    earlier: &Reading,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> bool {
    let outcome = propose::read(message, catalogue, Some(earlier), today, meaning);
    let Outcome::Read(reading) = outcome else { return false };
    let first = |reading: &Reading| reading.queries.first().map(|named| named.query.clone());
    reading.reasoning.iter().any(|reason| reason == FOLLOW_UP)
        && reading.unexplained.is_empty()
        && first(&reading) != first(earlier)
}

#[cfg(test)]
#[path = "follow_up_tests.rs"]
mod tests;
