//! Ellipsis: "what about Texas?", "same for last year", "and the open ones?" repeat the previous
//! step with one part changed.

use super::Reader;
use super::catalogue::Role;
use super::fill::fill_alone;
use super::plan::finish;
use super::route;
use super::text::Text;
use super::types::{Kind, Step, Target, TurnContext, Understood};
use super::wish::Clause;
use crate::pattern::pattern;
use crate::words::words;
use regex::Regex;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static FOLLOWS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:and |but |ok |okay |so )*(?:what about|how about|(?:the )?same(?: thing)?(?: (?:for|with|in|but|by))?|and(?: what about)?|now)\b\s*(?P<rest>.+?)\W*$",
    )
});

/// The understanding of an utterance that only changes a part of the previous step.
pub(super) fn follow(reader: &Reader, text: &Text, given: &TurnContext<'_>) -> Option<Understood> {
    let found = FOLLOWS.captures(&text.plain)?;
    let rest = found.name("rest")?;
    let span = (rest.start(), rest.end());
    let piece = text.slice(span.0, span.1);
    let verb = text
        .tokens
        .iter()
        .find(|token| token.start >= span.0)
        .is_some_and(|token| reader.catalogue.is_verb(&token.root) && token.lower != "open");
    if words(piece).len() > 6 || verb {
        return None;
    }
    // If several domains answered, the best match is asked first, then the others.
    let shares = route::route(reader, piece).domains;
    let share =
        |step: &Step| step.domain.as_ref().and_then(|domain| shares.get(domain)).copied().unwrap_or(0.0);
    let mut followed: Vec<Step> = Vec::new();
    let asked = given.before.iter().rev().flat_map(|step| std::iter::once(step).chain(&step.otherwise));
    for before in asked {
        let known = followed.iter().any(|step| step.act == before.act && step.domain == before.domain);
        if let (false, Some(step)) = (known, changed_step(reader, text, given, span, before)) {
            followed.push(step);
        }
    }
    followed.sort_by(|one, other| share(other).total_cmp(&share(one)));
    let mut followed = followed.into_iter();
    let mut step = followed.next()?;
    if step.read_only {
        step.otherwise = followed.filter(|other| other.read_only).collect();
    }
    let mut out = Understood::plain(Kind::Act, super::types::FOLLOWS);
    out.steps = vec![Step { missing: Vec::new(), ..step }];
    finish(reader, &mut out, &BTreeMap::new());
    Some(out)
}

/// A previous step with the changed part; none if it has no such part.
fn changed_step(
    reader: &Reader,
    text: &Text,
    given: &TurnContext<'_>,
    (start, end): (usize, usize),
    before: &Step,
) -> Option<Step> {
    let piece = text.slice(start, end);
    let mut step = before.clone();
    step.after.clear();
    step.otherwise.clear();
    if step.target.as_ref().is_some_and(|target| matches!(target, Target::OfStep { .. })) {
        return None;
    }
    let tool = before.tool().and_then(|tool| reader.catalogue.tool(tool));
    match tool.filter(|tool| !tool.free) {
        Some(tool) => {
            let clause = Clause { start, end, ..Clause::default() };
            let filled = fill_alone(text, &reader.catalogue, tool, &clause, given.today);
            let entity_type = tool.entity.clone().unwrap_or_default();
            if let Some((id, ..)) = filled.id {
                step.target = Some(Target::Id { id, entity_type });
            } else if let Some(piece) = filled.target.filter(|_| tool.target().is_some()) {
                step.target = Some(Target::Named { words: piece.words, entity_type });
            } else if filled.arguments.is_empty() {
                return None;
            }
            step.arguments.extend(filled.arguments);
        }
        None => {
            step.said = changed(&before.said, piece);
            if let Some(field) = tool.and_then(|tool| tool.field(Role::Query)) {
                let argument = step.arguments.get_mut(&field.name)?;
                argument.value = json!(step.said);
            }
        }
    }
    if tool.is_some_and(|tool| !tool.free) {
        piece.clone_into(&mut step.said);
    }
    step.reasons = vec!["it is the request before with a part changed".into()];
    Some(step)
}

/// A question with the part of the same kind replaced: a year, a time, a name; otherwise the new
/// part is appended.
fn changed(said: &str, part: &str) -> String {
    static SORTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            r"(?i)\b(?:last|this|next|previous) (?:year|month|week|quarter)\b|\b(?:today|yesterday|tomorrow)\b",
            r"\b(?:19|20)\d\d\b",
            r"(?i)\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
            r"(?i)\bq[1-4]\b",
            r"\b\d+\b",
        ]
        .iter()
        .map(|literal| pattern(literal))
        .collect()
    });
    let plain =
        part.trim().trim_start_matches("for ").trim_start_matches("in ").trim_start_matches("by ").trim();
    for sort in SORTS.iter() {
        if let (Some(old), true) = (sort.find(said), sort.is_match(plain)) {
            return format!(
                "{}{plain}{}",
                said.get(..old.start()).unwrap_or_default(),
                said.get(old.end()..).unwrap_or_default()
            );
        }
    }
    // A time replaces a time of another kind; a name replaces a name.
    let time = |text: &str| {
        SORTS.iter().take(4).find_map(|sort| sort.find(text).map(|found| (found.start(), found.end())))
    };
    if let (Some((start, end)), true) = (time(said), time(plain).is_some()) {
        return format!(
            "{}{plain}{}",
            said.get(..start).unwrap_or_default(),
            said.get(end..).unwrap_or_default()
        );
    }
    let proper = |text: &str, skip: usize| {
        words(text)
            .into_iter()
            .skip(skip)
            .filter(|word| word.capital && !word.stop)
            .map(|word| (word.start, word.end))
            .collect::<Vec<_>>()
    };
    if let ([.., (start, end)], false) = (proper(said, 1).as_slice(), proper(plain, 0).is_empty()) {
        return format!(
            "{}{plain}{}",
            said.get(..*start).unwrap_or_default(),
            said.get(*end..).unwrap_or_default()
        );
    }
    let end = said.trim_end_matches(['?', '.', '!', ' ']);
    let joint = if ["for ", "in ", "by ", "at ", "with "].iter().any(|word| part.starts_with(word)) {
        ""
    } else {
        "for "
    };
    format!("{end} {joint}{}", part.trim())
}
