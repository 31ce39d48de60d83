//! Resolves back references of a clause: a row of a list that was shown, all rows of it, or the
//! record mentioned last.
//!
//! Invariants
//! - A position ("the second one") is a row of the list that was shown last, in display order. Only
//!   a noun ("the second task") refers to an older list, namely the last one with such records.
//! - A row that was deleted, or is not a record, leads to a question. The next row never takes its
//!   place.
//! - The reference is resolved before the tool is chosen: a tool of another type is not chosen to
//!   make the text fit.

use super::catalogue::{Catalogue, Prepared};
use super::choose::Candidate;
use super::place::{ListPosition, placed};
use super::record;
use super::types::{Choice, RecordRef, ShownList, Step, TurnContext};
use super::wish::points_back;
use crate::pattern::pattern;
use crate::skill::Recent;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What a clause refers back to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Referent {
    /// None, or none that this module handles.
    Nothing,
    /// Exactly these records of one list.
    Rows(Vec<RecordRef>),
    /// The record mentioned last. Further words may still mean a related record.
    Latest(RecordRef),
    /// Ambiguous: the question and its options.
    Unclear(String, Vec<Choice>),
}

/// Minimum share of the best tool's verb score for a tool with the same meaning.
const SAME_VERB: f32 = 0.6;

/// A back reference to an earlier step of the same message: a placeholder for the records that the
/// step lists. Only the type and the domain are known yet.
pub(super) fn shown_by(catalogue: &Catalogue, plain: &str, earlier: &[Step]) -> Option<RecordRef> {
    let shows = earlier.last().filter(|step| step.read_only && step.target.is_none())?;
    let tool = catalogue.tool(shows.tool()?)?;
    let entity_type = tool.gives.clone().or_else(|| tool.entity.clone())?;
    let points = placed(plain).is_some() || points_back(plain);
    points.then(|| RecordRef { entity_type, domain: tool.tool.domain.clone(), ..RecordRef::default() })
}

/// A number without a noun: "delete number 2", "delete 2".
pub(super) fn bare_number(catalogue: &Catalogue, plain: &str) -> Option<usize> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?:\b(?:number|no|nr)\.? |^\w+ #?)(?P<n>\d{1,3})(?:\W*$|\W+(?:please|as|to|is|now)\b)")
    });
    let typed = |word: &str| !catalogue.types_of(word).is_empty();
    if plain.split(|c: char| !c.is_alphanumeric()).any(typed) {
        return None;
    }
    NUMBER.captures(plain)?.name("n")?.as_str().parse().ok()
}

/// A record of the list that was shown last, for a number without a noun: it determines the type,
/// by row or by id.
pub(super) fn numbered<'a>(
    catalogue: &Catalogue,
    plain: &str,
    given: &TurnContext<'a>,
) -> Option<&'a RecordRef> {
    bare_number(catalogue, plain)?;
    let newest = given.shown.iter().map(|list| list.turn).max()?;
    given.shown.iter().filter(|list| list.turn == newest).find_map(|list| list.rows.iter().flatten().next())
}

/// Resolves the back reference of a clause. `can` tells whether a tool with the requested action
/// acts on a record.
pub(super) fn read(
    catalogue: &Catalogue,
    plain: &str,
    given: &TurnContext<'_>,
    can: &dyn Fn(&RecordRef) -> bool,
) -> Referent {
    if let Some((place, noun)) = placed(plain) {
        let kinds: BTreeSet<&str> =
            noun.iter().flat_map(|noun| catalogue.types_of(noun)).map(|kind| kind.name.as_str()).collect();
        return by_place(place, &kinds, given, can);
    }
    if let Some(record) = that_one(catalogue, plain, given) {
        return Referent::Rows(vec![record]);
    }
    if !points_back(plain) {
        return Referent::Nothing;
    }
    let said = |words: &[&str]| plain.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word));
    if said(&["them", "they", "these", "those"]) {
        return by_place(ListPosition::All, &BTreeSet::new(), given, can);
    }
    if said(&["it", "this", "that"]) {
        return latest(given);
    }
    Referent::Nothing
}

/// "That note": the record of this type that was mentioned last, if that was a single one.
fn that_one(catalogue: &Catalogue, plain: &str, given: &TurnContext<'_>) -> Option<RecordRef> {
    let words: Vec<&str> =
        plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let noun = words.windows(2).find_map(|pair| match pair {
        ["that" | "this", noun] if !catalogue.types_of(noun).is_empty() => Some(*noun),
        _ => None,
    })?;
    let kinds: Vec<&str> = catalogue.types_of(noun).iter().map(|kind| kind.name.as_str()).collect();
    let of_kind = || given.recent.iter().filter(|one| kinds.contains(&one.entity_type.as_str()));
    let last = of_kind().map(|one| one.last).max()?;
    let mut newest = of_kind().filter(|one| one.last == last);
    let only = newest.next().filter(|_| newest.next().is_none())?;
    // A record that was removed since then may have been meant.
    given.removed.is_none_or(|removed| removed <= only.last).then(|| thing(only))
}

/// The rows of a list at a position; none if a requested row was not shown.
fn rows(list: &ShownList, place: ListPosition) -> Option<Vec<Option<&RecordRef>>> {
    let all: Vec<Option<&RecordRef>> = list.rows.iter().map(Option::as_ref).collect();
    let count = all.len();
    match place {
        ListPosition::Nth(number) => Some(vec![*number.checked_sub(1).and_then(|at| all.get(at))?]),
        ListPosition::Last => Some(vec![*all.last()?]),
        ListPosition::First(some) => (some <= count).then(|| all.into_iter().take(some).collect()),
        ListPosition::LastOf(some) => (some <= count).then(|| all.into_iter().skip(count - some).collect()),
        ListPosition::Both => (count == 2).then_some(all),
        ListPosition::All => (count > 0).then_some(all),
    }
}

fn by_place(
    place: ListPosition,
    kinds: &BTreeSet<&str>,
    given: &TurnContext<'_>,
    can: &dyn Fn(&RecordRef) -> bool,
) -> Referent {
    let of_kind = |list: &&ShownList| {
        kinds.is_empty() || list.rows.iter().flatten().any(|row| kinds.contains(row.entity_type.as_str()))
    };
    let newest = given.shown.iter().filter(of_kind).map(|list| list.turn).max();
    let mut lists: Vec<&ShownList> =
        given.shown.iter().filter(of_kind).filter(|list| Some(list.turn) == newest).collect();
    let together = matches!(place, ListPosition::All | ListPosition::Both);
    if let Some(records) = spoken_together(given, newest).filter(|_| together && kinds.is_empty()) {
        return Referent::Rows(records);
    }
    if lists.len() > 1 {
        let fitting: Vec<&ShownList> =
            lists.iter().copied().filter(|list| list.rows.iter().flatten().any(can)).collect();
        if !fitting.is_empty() {
            lists = fitting;
        }
    }
    match lists.as_slice() {
        [] if together || given.recent.is_empty() => Referent::Nothing,
        [] => {
            let of_kind = |one: &&Recent| kinds.is_empty() || kinds.contains(one.entity_type.as_str());
            let spoken: Vec<RecordRef> = given.recent.iter().filter(of_kind).map(thing).collect();
            unclear("No list was shown that it could be counted in.", &spoken)
        }
        [one] => in_list(one, place, together),
        several => {
            let picked: Vec<RecordRef> = several
                .iter()
                .flat_map(|list| rows(list, place).into_iter().flatten().flatten())
                .filter(|row| !row.removed)
                .cloned()
                .collect();
            unclear("Several lists were shown.", &picked)
        }
    }
}

fn in_list(list: &ShownList, place: ListPosition, together: bool) -> Referent {
    let left: Vec<RecordRef> = list.rows.iter().flatten().filter(|row| !row.removed).cloned().collect();
    let Some(picked) = rows(list, place) else {
        if together {
            return Referent::Nothing;
        }
        // There is no such row, and no other one is used.
        return Referent::Rows(Vec::new());
    };
    let mut found: Vec<RecordRef> = Vec::new();
    for row in picked {
        match row {
            Some(row) if !row.removed => found.push(row.clone()),
            // Deleted rows are not part of "all of them".
            Some(_) if together => {}
            Some(row) => {
                let name = row.name.as_deref().unwrap_or(&row.id);
                return unclear(&format!("\"{name}\" was removed already."), &left);
            }
            None => return unclear("That row is no record that I can act on.", &[]),
        }
    }
    if found.is_empty() { unclear("Nothing of that list is left.", &[]) } else { Referent::Rows(found) }
}

/// The records that were mentioned together after the list: "them".
fn spoken_together(given: &TurnContext<'_>, list: Option<u64>) -> Option<Vec<RecordRef>> {
    let last = given.recent.iter().map(|one| one.last).max()?;
    let newest: Vec<RecordRef> = given.recent.iter().filter(|one| one.last == last).map(thing).collect();
    let kind = |one: &RecordRef| (one.entity_type.clone(), one.domain.clone());
    let alike = newest.windows(2).all(|pair| matches!(pair, [one, other] if kind(one) == kind(other)));
    (list.is_some_and(|list| last > list) && newest.len() > 1 && alike).then_some(newest)
}

/// The record mentioned last, if that was a single one.
fn latest(given: &TurnContext<'_>) -> Referent {
    let Some(last) = given.recent.iter().map(|one| one.last).max() else { return Referent::Nothing };
    if given.removed.is_some_and(|removed| removed >= last) {
        return unclear("What was spoken of last was removed.", &[]);
    }
    let mut newest = given.recent.iter().filter(|one| one.last == last);
    match (newest.next(), newest.next()) {
        (Some(one), None) => Referent::Latest(thing(one)),
        _ => Referent::Nothing,
    }
}

fn unclear(why: &str, records: &[RecordRef]) -> Referent {
    let options = record::options(records);
    Referent::Unclear(format!("{why} {}", record::which("one", &options)), options)
}

/// A record of the conversation.
pub(super) fn thing(recent: &Recent) -> RecordRef {
    RecordRef {
        entity_type: recent.entity_type.clone(),
        id: recent.id.clone(),
        name: recent.name.clone(),
        domain: recent.domain.clone(),
        ..RecordRef::default()
    }
}

/// Whether a tool acts on records like this one.
pub(super) fn acts_on(tool: &Prepared, record: &RecordRef) -> bool {
    tool.target().is_some()
        && tool.entity.as_deref() == Some(record.entity_type.as_str())
        && (record.domain.is_none() || record.domain == tool.tool.domain)
}

/// Whether another candidate has the same meaning as the best one: its tool has the same action.
/// Tagging something "done" is not completing it.
pub(super) fn means_same(catalogue: &Catalogue, best: &Candidate, other: &Candidate) -> bool {
    let tools = (catalogue.tools.get(best.at), catalogue.tools.get(other.at));
    let (Some(one), Some(two)) = tools else { return false };
    let verb = one.verb == two.verb || !one.groups.is_disjoint(&two.groups);
    one.class == two.class && verb && other.verb >= SAME_VERB * best.verb
}

/// The candidate that performs the best one's action on these records; none if there is none.
pub(super) fn candidate<'a>(
    catalogue: &Catalogue,
    found: &'a [Candidate],
    best: &'a Candidate,
    record: &RecordRef,
) -> Option<&'a Candidate> {
    let fits = |other: &&Candidate| {
        means_same(catalogue, best, other)
            && catalogue.tools.get(other.at).is_some_and(|tool| acts_on(tool, record))
    };
    std::iter::once(best).chain(found).find(fits)
}

/// The candidate that acts on the referenced records. A tool without a target is kept.
pub(super) fn pointed_at<'a>(
    catalogue: &Catalogue,
    found: &'a [Candidate],
    best: &'a Candidate,
    referent: &Referent,
) -> &'a Candidate {
    let takes = catalogue.tools.get(best.at).is_some_and(|tool| tool.target().is_some());
    let named = best.filled.id.is_some() || best.filled.grounded.is_some();
    let record = match referent {
        Referent::Rows(rows) => rows.first(),
        Referent::Latest(record) => Some(record),
        Referent::Nothing | Referent::Unclear(..) => None,
    };
    let record = record.filter(|_| takes && !named);
    record.and_then(|record| candidate(catalogue, found, best, record)).unwrap_or(best)
}
