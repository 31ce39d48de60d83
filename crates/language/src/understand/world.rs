//! Known records: the lookups that list them, their results, and what a single lookup resolves.
//!
//! Invariant: only read-only tools without required arguments are used here.

use super::catalogue::{Catalogue, Prepared, Role};
use super::notice::notice;
use super::settle::{settle, telling, text};
use super::types::{Lookup, Noticed, SeenRecord, Settled, Step, Target};
use super::verbs::Class;
use serde_json::{Map, Value};
use std::collections::HashSet;
use steward_domain::DomainName;

/// Maximum number of known records.
const WORLD: usize = 2_000;

/// The lookups that list all records of a domain: for each type the tools without required
/// arguments.
pub(super) fn survey(catalogue: &Catalogue, domain: &DomainName) -> Vec<Lookup> {
    // A tool that takes a question in plain language needs no names.
    if catalogue.tools.iter().any(|tool| tool.free && tool.tool.domain.as_ref() == Some(domain)) {
        return Vec::new();
    }
    let shows = |tool: &&Prepared| {
        tool.tool.domain.as_ref() == Some(domain)
            && tool.tool.read_only
            && !tool.free
            && tool.class != Class::Read
            && tool.fields.iter().all(|field| !field.required)
    };
    let lookup = |tool: &Prepared| Lookup { tool: tool.tool.name.clone(), arguments: Map::new() };
    catalogue.tools.iter().filter(shows).map(lookup).collect()
}

/// The records from lookups, each once. A record that is only mentioned inside another, without an
/// id, is the record of that name that has one.
pub(super) fn gather(catalogue: &Catalogue, shown: &[(Lookup, Value)]) -> Vec<SeenRecord> {
    let mut all: Vec<SeenRecord> = Vec::new();
    let mut known: HashSet<(Option<DomainName>, String, String)> = HashSet::new();
    for (lookup, result) in shown {
        let domain = catalogue.tool(&lookup.tool).and_then(|tool| tool.tool.domain.clone());
        for thing in notice(catalogue, &lookup.tool, result) {
            if all.len() < WORLD && known.insert((domain.clone(), thing.entity_type.clone(), thing.id_text()))
            {
                all.push(SeenRecord { domain: domain.clone(), by: lookup.tool.clone(), thing });
            }
        }
    }
    let by_name = |seen: &SeenRecord| seen.thing.name.as_deref() == seen.thing.id.as_str();
    let named: HashSet<(Option<DomainName>, String, Option<String>)> = all
        .iter()
        .filter(|seen| !by_name(seen))
        .map(|seen| (seen.domain.clone(), seen.thing.entity_type.clone(), seen.thing.name.clone()))
        .collect();
    all.retain(|seen| {
        !by_name(seen)
            || !named.contains(&(
                seen.domain.clone(),
                seen.thing.entity_type.clone(),
                seen.thing.name.clone(),
            ))
    });
    all
}

/// What a lookup resolves: a tool that returns one record for exactly these words has found it.
pub(super) fn settle_by(catalogue: &Catalogue, step: &Step, lookup: &Lookup, seen: &[Noticed]) -> Settled {
    let settled = settle(catalogue, 0, step, seen);
    let (Settled::Missing { .. }, Some(Target::Named { words, entity_type })) = (&settled, &step.target)
    else {
        return settled;
    };
    let asked = catalogue.tool(&lookup.tool).filter(|tool| tool.class == Class::Read);
    let by_words = asked.and_then(|tool| tool.field(Role::Selector)).is_some_and(|field| {
        lookup.arguments.len() == 1
            && lookup.arguments.get(&field.name).and_then(Value::as_str) == Some(words)
    });
    let own: Vec<&Noticed> =
        seen.iter().filter(|thing| entity_type.is_empty() || thing.entity_type == *entity_type).collect();
    // The record must contain the words: a tool that guesses has found something else.
    let holds = |thing: &Noticed| {
        let id = thing.id_text();
        let values = thing.attributes.values().map(text).chain(thing.name.clone()).chain([id]);
        let known: HashSet<String> =
            values.flat_map(|value| crate::words::words(&value)).map(|word| word.lower).collect();
        telling(words, None).iter().all(|word| known.contains(word))
    };
    match own.as_slice() {
        [only] if by_words && holds(only) => Settled::Found { things: vec![(*only).clone()] },
        _ => settled,
    }
}
