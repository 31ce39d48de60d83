//! Finds the target of a step: by id, by name, by reference to the conversation or to an earlier
//! step of the same utterance.
//!
//! Invariant: only records of the type that the tool acts on are accepted. Ambiguities lead to a
//! question.

use super::catalogue::{Catalogue, Prepared, Role};
use super::fill::{Filled, Grounded};
use super::place::{ListPosition, place};
use super::record;
use super::referent::{Referent, acts_on, bare_number, thing};
use super::settle;
use super::text::Text;
use super::types::{Choice, Noticed, Pick, RecordRef, Settled, Step, Target, TurnContext};
use super::wish::Clause;
use crate::pattern::pattern;
use crate::skill::{Recent, Resolution, resolve};
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The context in which a step is built.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) text: &'a Text,
    pub(super) clause: &'a Clause,
    pub(super) given: &'a TurnContext<'a>,
    /// The steps before it.
    pub(super) earlier: &'a [Step],
    /// The tool that it calls.
    pub(super) tool: &'a Prepared,
    /// What the clause refers to in the conversation.
    pub(super) referent: &'a Referent,
}

/// The targets that a clause refers to.
pub(super) enum Referents {
    /// One step each.
    To(Vec<Target>),
    /// Ambiguous: a question and its options.
    Unclear(String, Vec<Choice>),
}

fn pick(place: Option<ListPosition>, plain: &str) -> Pick {
    let many = ["them", "those", "these", "they", "their"]
        .iter()
        .any(|word| plain.split(|c: char| !c.is_alphanumeric()).any(|said| said == *word));
    match place {
        Some(ListPosition::Nth(1)) => Pick::First,
        Some(ListPosition::Nth(number)) => Pick::Nth(number),
        Some(ListPosition::Last) => Pick::Last,
        Some(_) => Pick::All,
        None if many => Pick::All,
        None => Pick::It,
    }
}

/// The result of an earlier step of the utterance, as a target of this type.
pub(super) fn of_earlier(
    catalogue: &Catalogue,
    earlier: &[Step],
    entity: &str,
    place: Option<ListPosition>,
    plain: &str,
) -> Option<Target> {
    let fits = |step: &&Step| {
        step.tool().and_then(|tool| catalogue.tool(tool)).is_some_and(|tool| {
            tool.entity.as_deref() == Some(entity) || tool.gives.as_deref() == Some(entity)
        })
    };
    let (at, step) = earlier.iter().enumerate().rev().find(|(_, step)| fits(step))?;
    let pick = pick(place, plain);
    let same = |target: &Target| match target {
        Target::Id { entity_type, .. } | Target::Named { entity_type, .. } => {
            entity_type.is_empty() || entity_type == entity
        }
        Target::Known { .. } | Target::OfStep { .. } => true,
    };
    match &step.target {
        Some(target) if pick == Pick::It && same(target) => Some(target.clone()),
        _ => Some(Target::OfStep { step: at, pick, words: plain.trim().to_owned() }),
    }
}

/// The only record of the conversation that a text names.
fn spoken_of(words: &str, recent: &[Recent], tool: &Prepared) -> Option<Target> {
    let as_noticed = |one: &Recent| Noticed {
        entity_type: one.entity_type.clone(),
        id: json!(one.id),
        name: one.name.clone(),
        attributes: BTreeMap::new(),
    };
    let known: Vec<Noticed> = recent.iter().map(as_noticed).collect();
    match settle::among(words, tool, &known)? {
        Settled::Found { things } => {
            let ids: Vec<String> = things.iter().map(Noticed::id_text).collect();
            Some(Target::Known {
                things: recent.iter().filter(|one| ids.contains(&one.id)).map(thing).collect(),
            })
        }
        _ => None,
    }
}

/// The target of a step.
pub(super) fn target(scene: &Scene<'_>, filled: &Filled, step: &Step) -> Referents {
    let Scene { catalogue, text, clause, given, earlier, tool, referent } = *scene;
    let entity = tool.entity.clone().unwrap_or_default();
    if let Some((id, _, end)) = &filled.id {
        let plain = text.plain.get(clause.start..clause.end).unwrap_or_default();
        if let Some(unclear) = row_or_id(catalogue, plain, &settle::text(id), given, tool) {
            return unclear;
        }
        let mut ids = vec![id.clone()];
        ids.extend(further(text, clause, *end, tool));
        return Referents::To(
            ids.into_iter().map(|id| Target::Id { id, entity_type: entity.clone() }).collect(),
        );
    }
    let plain = text.plain.get(clause.start..clause.end).unwrap_or_default();
    if let Some(found) = &filled.grounded {
        let unclear = match found.things.as_slice() {
            [only] => row_or_id(catalogue, plain, &only.id, given, tool),
            _ => None,
        };
        return unclear.unwrap_or_else(|| known(found, given, tool));
    }
    let (from, to) = text.trimmed(clause.start, clause.end);
    let place = place(text.plain.get(from..to).unwrap_or_default());
    let back = pronoun(plain);
    // If the existing records are known, lower-case words beside a pronoun, a position or a type
    // word are not a name.
    let seen = given.world.iter().any(|seen| seen.thing.entity_type == entity);
    let before = |start: usize| {
        let token = text.tokens.iter().rev().find(|token| token.end <= start);
        token.map_or("", |token| token.lower.as_str())
    };
    let after_be = |start: usize| {
        ["is", "are", "was", "were", "has", "have", "been", "just", "can", "does", "cost", "be"]
            .contains(&before(start))
    };
    let definite = |start: usize| ["the", "my", "our"].contains(&before(start));
    let pointed = |start: usize| {
        let back = back.is_some_and(|at| !(definite(start) && start < clause.start + at));
        back || place.is_some() || (after_be(start) && said(text, clause, catalogue, &entity))
    };
    let small =
        |words: &str| !words.contains(char::is_uppercase) && !words.contains(|c: char| c.is_ascii_digit());
    let quoted = |start: usize| text.quotes.iter().any(|quote| quote.start == start);
    let words = filled
        .target
        .as_ref()
        .filter(|piece| !(seen && pointed(piece.start) && small(&piece.words) && !quoted(piece.start)))
        // "That note": the type word is not a name.
        .filter(|piece| {
            let only_typed = !catalogue.types_of(&piece.words.to_lowercase()).is_empty();
            !(only_typed && ["that", "this"].contains(&before(piece.start)))
        });
    // Words before a pronoun are its antecedent; words after it are something else.
    let first = words.is_some_and(|piece| back.is_none_or(|at| piece.start < clause.start + at));
    let own =
        |one: &&Recent| one.entity_type == entity && (one.domain.is_none() || one.domain == tool.tool.domain);
    let recent: Vec<Recent> = given.recent.iter().filter(own).cloned().collect();
    if (place.is_some() || (back.is_some() && !first))
        && let Some(target) = of_earlier(catalogue, earlier, &entity, place, plain)
    {
        return Referents::To(vec![target]);
    }
    match referent {
        Referent::Rows(rows) if place.is_some() || !first => {
            return match rows.iter().all(|row| acts_on(tool, row)) {
                true => Referents::To(vec![Target::Known { things: rows.clone() }]),
                false => Referents::Unclear(record::which(&entity, &[]), Vec::new()),
            };
        }
        Referent::Unclear(question, options) if place.is_some() || (back.is_some() && !first) => {
            let own =
                |choice: &&Choice| choice.record.as_ref().is_some_and(|record| record.entity_type == entity);
            let own: Vec<Choice> = options.iter().filter(own).cloned().collect();
            return match own.len() == options.len() {
                true => Referents::Unclear(question.clone(), own),
                false => Referents::Unclear(record::which(&entity, &own), own),
            };
        }
        _ => {}
    }
    if let Some(piece) = words.filter(|_| first || back.is_none()) {
        if let Some(target) = spoken_of(&piece.words, &recent, tool) {
            return Referents::To(vec![target]);
        }
        let several = step
            .alternatives
            .iter()
            .any(|(other, _)| catalogue.tool(other).is_some_and(|other| other.entity != tool.entity));
        let named =
            catalogue.types.iter().any(|kind| kind.name == entity && said(text, clause, catalogue, &entity));
        let entity_type = if several && !named && !filled.by_another { String::new() } else { entity };
        let parts = coordinated(&piece.words);
        return Referents::To(
            parts
                .into_iter()
                .map(|words| match words.parse::<u64>() {
                    // A plain number is an id.
                    Ok(number) if tool.field(Role::Id).is_some() && filled.placed == 0 => {
                        Target::Id { id: json!(number), entity_type: entity_type.clone() }
                    }
                    _ => Target::Named { words, entity_type: entity_type.clone() },
                })
                .collect(),
        );
    }
    let plain = text.plain.get(from..to).unwrap_or_default();
    let sorted = recent;
    if let Some(newest) = newest(plain, &sorted) {
        // The most recently mentioned record has another type: this one is only a guess.
        if given.recent.iter().any(|one| one.last > newest.last) {
            let options = record::options([&thing(newest)]);
            return Referents::Unclear(record::which(&entity, &options), options);
        }
        return Referents::To(vec![Target::Known { things: vec![thing(newest)] }]);
    }
    for found in resolve(&normal(plain), &sorted) {
        match found.found {
            Resolution::One(at) => {
                let things = sorted.get(at).map(thing).into_iter().collect();
                return Referents::To(vec![Target::Known { things }]);
            }
            Resolution::Several(places) => {
                let things = places.iter().filter_map(|at| sorted.get(*at)).map(thing).collect();
                return Referents::To(vec![Target::Known { things }]);
            }
            Resolution::Unclear { options, question } => {
                let records: Vec<RecordRef> =
                    options.iter().filter_map(|at| sorted.get(*at)).map(thing).collect();
                return Referents::Unclear(question, record::options(&records));
            }
            Resolution::Nothing { .. } => {}
        }
    }
    if let Some(target) = ((earlier.len() == 1 && clause.inherits) || clause.elided)
        .then(|| of_earlier(catalogue, earlier, &entity, None, plain))
        .flatten()
    {
        return Referents::To(vec![target]);
    }
    // "Print the badge": no name, and only one record of this type was mentioned last.
    let last = given.recent.iter().map(|one| one.last).max();
    let lately: Vec<&Recent> = sorted.iter().filter(|one| Some(one.last) == last).collect();
    if let ([only], false) = (lately.as_slice(), indefinite(plain)) {
        return Referents::To(vec![Target::Known { things: vec![thing(only)] }]);
    }
    Referents::Unclear(format!("Which {entity} do you mean?"), Vec::new())
}

/// Whether the reference is indefinite.
fn indefinite(plain: &str) -> bool {
    plain.split(|c: char| !c.is_alphanumeric()).any(|word| {
        ["a", "an", "any", "another", "some", "one", "other", "else", "something"].contains(&word)
    })
}

/// The target by name: a single record, all of them, or the one mentioned recently.
fn known(found: &Grounded, given: &TurnContext<'_>, tool: &Prepared) -> Referents {
    let things = &found.things;
    let entity = tool.entity.as_deref().unwrap_or_default();
    // A change to a record that is identified only by one of its values needs confirmation, even if
    // there is only one.
    let own = |thing: &RecordRef| {
        let world = given
            .world
            .iter()
            .find(|seen| seen.thing.entity_type == thing.entity_type && seen.thing.id_text() == thing.id);
        world.is_some_and(|seen| seen.thing.name.is_none())
    };
    let sure = found.by_name || tool.tool.read_only || things.iter().all(own);
    if (things.len() == 1 && sure) || found.all {
        return Referents::To(vec![Target::Known { things: things.clone() }]);
    }
    let lately: Vec<&RecordRef> = things
        .iter()
        .filter(|thing| given.recent.iter().any(|one| self::thing(one).is_same(thing)))
        .collect();
    // Names that differ only in case lead to a question, whichever was mentioned: the text does not
    // distinguish them.
    let folded = |thing: &RecordRef| thing.name.as_deref().map(str::to_lowercase);
    let twins = |one: &RecordRef| {
        things
            .iter()
            .any(|other| !other.is_same(one) && folded(other) == folded(one) && other.name != one.name)
    };
    if let ([only], false) = (lately.as_slice(), lately.iter().any(|one| twins(one))) {
        return Referents::To(vec![Target::Known { things: vec![(*only).clone()] }]);
    }
    let lately: Vec<RecordRef> = lately.into_iter().cloned().collect();
    let things = if lately.is_empty() { things } else { &lately };
    let options = record::options(things);
    Referents::Unclear(record::which(entity, &options), options)
}

/// "Number 2" after a list may be its second row or the record with that id. If these differ, ask.
fn row_or_id(
    catalogue: &Catalogue,
    plain: &str,
    id: &str,
    given: &TurnContext<'_>,
    tool: &Prepared,
) -> Option<Referents> {
    let number = bare_number(catalogue, plain.trim())?;
    let newest = given.shown.iter().map(|list| list.turn).max()?;
    let mut lists = given.shown.iter().filter(|list| list.turn == newest);
    let row = lists.find_map(|list| list.rows.get(number.checked_sub(1)?)?.as_ref())?;
    if !acts_on(tool, row) || row.id == id || number.to_string() != id {
        return None;
    }
    let mut numbered = given.shown.iter().flat_map(|list| list.rows.iter().flatten());
    let by_id = numbered.find(|other| acts_on(tool, other) && other.id == id).cloned();
    let by_id = by_id.unwrap_or_else(|| RecordRef {
        entity_type: row.entity_type.clone(),
        id: id.to_owned(),
        domain: row.domain.clone(),
        ..RecordRef::default()
    });
    let mut options = record::options([row, &by_id]);
    if let Some(choice) = options.last_mut() {
        choice.label = format!("{} {}", row.entity_type, by_id.id);
    }
    Some(Referents::Unclear(record::which(&row.entity_type, &options), options))
}

/// Whether the type itself is named.
pub(super) fn said(text: &Text, clause: &Clause, catalogue: &Catalogue, entity: &str) -> bool {
    let inside = text
        .tokens
        .iter()
        .filter(|token| token.start >= clause.start && token.end <= clause.end && !token.quoted);
    inside.into_iter().any(|token| catalogue.types_of(&token.lower).iter().any(|kind| kind.name == entity))
}

/// A plain "it", "this" or "that" is the record mentioned last, if that was a single one.
fn newest<'a>(plain: &str, recent: &'a [Recent]) -> Option<&'a Recent> {
    let last = recent.iter().map(|one| one.last).max()?;
    let several = ["them", "they", "these", "those", "both", "all"];
    let words: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).collect();
    if words.iter().any(|word| several.contains(word)) || pronoun(plain).is_none() {
        return None;
    }
    let mut latest = recent.iter().filter(|one| one.last == last);
    latest.next().filter(|_| latest.next().is_none())
}

/// Rephrases expressions that the reference skill does not handle.
pub(super) fn normal(plain: &str) -> String {
    plain
        .replace("that's", "that is")
        .replace("it's", "it is")
        .replace("that’s", "that is")
        .replace("it’s", "it is")
        .replace("she's", "she is")
        .replace("he's", "he is")
}

/// The position of the first pronoun.
fn pronoun(plain: &str) -> Option<usize> {
    static POINTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:it|its|them|him|her|his|she|he|they|their|that one|this one|these|those|that|this)\b(?P<next>\W*\w*)",
        )
    });
    for found in POINTS.captures_iter(plain) {
        let (Some(whole), Some(next)) = (found.get(0), found.name("next")) else { continue };
        let word = plain.get(whole.start()..next.start()).unwrap_or_default();
        let next = next.as_str().trim();
        // "that I wrote", "this week", "that milk task": not a pronoun.
        let alone = next.is_empty()
            || [
                "is", "was", "one", "to", "as", "from", "for", "with", "and", "or", "please", "by", "on",
                "in", "into", "done", "up", "off", "too", "again", "now", "under", "s", "can", "should",
                "at", "before",
            ]
            .contains(&next);
        if alone || !["that", "this", "these", "those"].contains(&word) {
            return Some(whole.start());
        }
    }
    None
}

/// Further ids after the first: "note 6 and note 7".
fn further(text: &Text, clause: &Clause, end: usize, tool: &Prepared) -> Vec<Value> {
    static MORE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*(?:,|and|&|, and)\s+(?:\w+ )?#?(?P<n>\d+)\b"));
    let whole = tool.field(Role::Id).is_some_and(|field| field.whole);
    let mut found = Vec::new();
    let mut at = end;
    while let Some(next) = MORE.captures(text.plain.get(at..clause.end).unwrap_or_default()) {
        let Some(digits) = next.name("n") else { break };
        at += next.get(0).map_or(usize::MAX / 2, |whole| whole.end());
        found.extend(
            digits
                .as_str()
                .parse::<u64>()
                .ok()
                .map(|number| if whole { json!(number) } else { json!(number.to_string()) }),
        );
    }
    found
}

/// "the Acme pilot and the Kestrel licences": two records, if each has its own article, or a name
/// of several words.
fn coordinated(words: &str) -> Vec<String> {
    // Two names of several words each: "Helen Brandt and Karin Lind".
    let full = |part: &str| {
        part.split(' ').count() > 1 && part.split(' ').all(|word| word.starts_with(char::is_uppercase))
    };
    let names: Vec<&str> = words.split(" and ").collect();
    if names.len() > 1 && names.iter().all(|part| full(part)) {
        return names.into_iter().map(str::to_owned).collect();
    }
    let parts: Vec<&str> = words.split(" and the ").collect();
    if parts.len() > 1 && parts.iter().all(|part| !part.trim().is_empty()) {
        parts.into_iter().map(|part| part.trim().to_owned()).collect()
    } else {
        vec![words.to_owned()]
    }
}
