//! Recently mentioned records: of the conversation, of earlier steps, and related ones.

use super::lexicon::same_noun;
use super::types::{SeenRecord, Step, Target, TurnContext};
use crate::skill::Recent;
use std::collections::BTreeSet;

/// Adds the targets of earlier steps as the most recently mentioned.
pub(super) fn with_earlier(given: &TurnContext<'_>, earlier: &[Step]) -> Vec<Recent> {
    let last = given.recent.iter().map(|one| one.last).max().unwrap_or(0);
    let mut all = given.recent.to_vec();
    for (at, step) in earlier.iter().enumerate() {
        let Some(Target::Known { things }) = &step.target else { continue };
        for thing in things {
            let same = |one: &Recent| super::referent::thing(one).is_same(thing);
            let last = last + 1 + at as u64;
            match all.iter_mut().find(|one| same(one)) {
                Some(known) => known.last = last,
                None => all.push(Recent {
                    entity_type: thing.entity_type.clone(),
                    id: thing.id.clone(),
                    name: thing.name.clone(),
                    mentions: 1,
                    last,
                    place: None,
                    domain: thing.domain.clone(),
                }),
            }
        }
    }
    all
}

/// The mentioned records, and known related ones: a mention of a tenant may refer to the tenant's
/// lease.
pub(super) fn bridged(given: &TurnContext<'_>) -> Vec<Recent> {
    let mut all: Vec<Recent> = given.recent.to_vec();
    let plain = |text: &str| text.trim().to_lowercase();
    let spoken: BTreeSet<&str> = given.recent.iter().map(|one| one.entity_type.as_str()).collect();
    // A record that was itself mentioned needs no relation.
    let others: Vec<&SeenRecord> =
        given.world.iter().filter(|seen| !spoken.contains(seen.thing.entity_type.as_str())).collect();
    for one in given.recent {
        let Some(name) = one.name.as_deref().map(plain).filter(|name| !name.is_empty()) else { continue };
        for seen in &others {
            let named = seen.thing.name.as_deref().is_some_and(|other| plain(other) == name);
            // The field of the relation has the name of the type: an appointment's `patient`.
            let holds = |(field, value): (&String, &serde_json::Value)| {
                same_noun(field, &one.entity_type) && value.as_str().is_some_and(|value| plain(value) == name)
            };
            let known = |other: &Recent| {
                other.entity_type == seen.thing.entity_type && other.id == seen.thing.id_text()
            };
            // A record of the same name in another application is unrelated.
            let here = one.domain.is_none() || one.domain == seen.domain;
            if here && (named || seen.thing.attributes.iter().any(holds)) && !all.iter().any(known) {
                all.push(Recent {
                    entity_type: seen.thing.entity_type.clone(),
                    id: seen.thing.id_text(),
                    name: seen.thing.name.clone().or_else(|| one.name.clone()),
                    // A position in a list belongs to the listed record.
                    place: None,
                    domain: seen.domain.clone(),
                    ..one.clone()
                });
            }
        }
    }
    all
}
