//! Resolves names to records: which lookup helps, which record is meant, and the calls of a step.
//!
//! Invariants
//! - A record matches only if every content word is found in its name; otherwise it does not exist.
//! - If several match equally well, they are offered as options.

use super::catalogue::{Catalogue, Prepared, Role};
use super::lexicon::{is_generic, root, same_field, same_noun};
use super::record;
use super::text::slip;
use super::types::{Lookup, Noticed, Pick, Question, QuestionKind, RecordRef, Settled, Step, Target};
use super::verbs::Class;
use crate::words::words;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The type of a step's target; empty if it may be of several.
fn target_type<'a>(catalogue: &'a Catalogue, step: &'a Step) -> &'a str {
    let field = step
        .tool()
        .and_then(|tool| catalogue.tool(tool))
        .and_then(|tool| tool.named(step.target_field.as_deref()?));
    match &step.target {
        Some(Target::Id { entity_type, .. } | Target::Named { entity_type, .. }) => entity_type,
        _ => field.and_then(|field| field.of.as_deref()).unwrap_or_default(),
    }
}

/// The read-only tools that return records of a type.
fn givers<'a>(catalogue: &'a Catalogue, step: &Step, kind: &str) -> Vec<&'a Prepared> {
    let alternatives: Vec<&str> = step.alternatives.iter().map(|(tool, _)| tool.as_str()).collect();
    let own = catalogue.tools.iter().any(|tool| tool.tool.read_only && tool.entity.as_deref() == Some(kind));
    let may = |tool: &&Prepared| {
        let entity = tool.entity.as_deref().unwrap_or_default();
        let gives =
            tool.gives.as_deref() == Some(kind) && !kind.is_empty() && (tool.class != Class::List || !own);
        tool.tool.read_only
            && tool.tool.domain == step.domain
            && (entity == kind
                || gives
                || (kind.is_empty()
                    && step.tool().into_iter().chain(alternatives.iter().copied()).any(|name| {
                        catalogue.tool(name).and_then(|tool| tool.entity.as_deref()) == Some(entity)
                    })))
    };
    catalogue.tools.iter().filter(may).collect()
}

pub(super) fn lookups(catalogue: &Catalogue, step: &Step) -> Vec<Lookup> {
    let kind = target_type(catalogue, step);
    let givers = givers(catalogue, step, kind);
    let mut found: Vec<Lookup> = Vec::new();
    let mut add = |tool: &Prepared, arguments: Map<String, Value>| {
        let lookup = Lookup { tool: tool.tool.name.clone(), arguments };
        if !found.contains(&lookup) {
            found.push(lookup);
        }
    };
    let one = |field: &str, value: Value| Map::from_iter([(field.to_owned(), value)]);
    match &step.target {
        Some(Target::Id { id, .. }) => {
            for tool in givers.iter().filter(|tool| tool.class == Class::Read) {
                if let Some(field) = tool.field(Role::Id) {
                    add(tool, one(&field.name, id.clone()));
                }
            }
            plain(&givers, &mut add);
        }
        Some(Target::Named { words, .. }) => {
            plain(&givers, &mut add);
            for tool in givers.iter().filter(|tool| !tool.free) {
                if let Some(field) = tool.field(Role::Query) {
                    add(tool, one(&field.name, json!(telling(words, None).join(" "))));
                    add(tool, one(&field.name, json!(words)));
                }
            }
            for tool in givers.iter().filter(|tool| tool.class == Class::Read) {
                if let Some(field) = tool.field(Role::Selector) {
                    add(tool, one(&field.name, json!(words)));
                }
            }
        }
        _ => {}
    }
    found
}

/// Tools without required arguments return all records.
fn plain(givers: &[&Prepared], add: &mut dyn FnMut(&Prepared, Map<String, Value>)) {
    for tool in givers
        .iter()
        .filter(|tool| tool.fields.iter().all(|field| !field.required) && tool.class != Class::Read)
    {
        add(tool, Map::new());
    }
}

/// The content words of a name, in lower case.
pub(super) fn telling(text: &str, tool: Option<&Prepared>) -> Vec<String> {
    let own = |word: &str| {
        tool.is_some_and(|tool| {
            tool.entity.as_deref().is_some_and(|entity| same_noun(entity, word) && root(entity).len() > 2)
                || tool.fields.iter().any(|field| {
                    !matches!(field.role, Role::Query | Role::Long)
                        && field.words.iter().any(|name| name.len() > 2 && same_field(name, word))
                })
        })
    };
    // "Mr Quinn's": titles and possessives are not part of a name.
    let plain = |word: String| word.trim_end_matches("'s").trim_end_matches("’s").to_owned();
    let addressed =
        |word: &String| ["mr", "mrs", "ms", "miss", "dr", "sir", "madam"].contains(&word.as_str());
    let said: Vec<String> =
        words(text).into_iter().filter(|word| !word.stop).map(|word| plain(word.lower)).collect();
    let bare: Vec<String> = said.iter().filter(|word| !addressed(word)).cloned().collect();
    let all = if bare.is_empty() { said } else { bare };
    let some: Vec<String> = all.iter().filter(|word| !is_generic(word) && !own(word)).cloned().collect();
    if some.is_empty() { all } else { some }
}

pub(super) fn settle(catalogue: &Catalogue, at: usize, step: &Step, seen: &[Noticed]) -> Settled {
    let missing =
        |words: &str| Settled::Missing { text: format!("There is no \"{words}\"."), words: words.to_owned() };
    let Some(target) = &step.target else { return Settled::Found { things: Vec::new() } };
    // In the type of the schema; without one, a numeric text is a number.
    let numbered = step
        .tool()
        .and_then(|tool| catalogue.tool(tool))
        .and_then(|tool| tool.field(Role::Id))
        .is_none_or(|field| field.number);
    match target {
        Target::Known { things } if things.is_empty() => Settled::Missing {
            text: "The list that was shown last has no such row.".to_owned(),
            words: step.said.clone(),
        },
        Target::Known { things } => Settled::Found {
            things: things
                .iter()
                .map(|thing| Noticed {
                    entity_type: thing.entity_type.clone(),
                    id: match thing.id.parse::<i64>() {
                        Ok(number) if numbered => json!(number),
                        _ => json!(thing.id),
                    },
                    name: thing.name.clone(),
                    attributes: BTreeMap::new(),
                })
                .collect(),
        },
        Target::Id { id, entity_type } => {
            let wanted = text(id);
            let found = seen.iter().find(|thing| {
                thing.id_text() == wanted && (entity_type.is_empty() || thing.entity_type == *entity_type)
            });
            match found {
                Some(thing) => Settled::Found { things: vec![thing.clone()] },
                None => {
                    Settled::Missing { text: format!("There is no {entity_type} {wanted}."), words: wanted }
                }
            }
        }
        Target::Named { words, entity_type } => {
            let tool = step.tool().and_then(|tool| catalogue.tool(tool));
            let fitting: Vec<&Noticed> = seen
                .iter()
                .filter(|thing| entity_type.is_empty() || thing.entity_type == *entity_type)
                .collect();
            each(words, tool, &fitting, at)
                .or_else(|| named(words, tool, &fitting, at))
                .or_else(|| {
                    let own = |thing: &&&Noticed| {
                        step.read_only
                            || tool.is_none_or(|tool| tool.entity.as_ref() == Some(&thing.entity_type))
                    };
                    let own: Vec<&Noticed> = fitting.iter().filter(own).copied().collect();
                    by_attribute(words, tool, &own, step.read_only, at)
                })
                .unwrap_or_else(|| missing(words))
        }
        Target::OfStep { pick, words, .. } => {
            picked(*pick, words, step, at, seen).unwrap_or_else(|| missing(words))
        }
    }
}

fn picked(pick: Pick, words: &str, step: &Step, at: usize, seen: &[Noticed]) -> Option<Settled> {
    let one = |thing: Option<&Noticed>| thing.map(|thing| Settled::Found { things: vec![thing.clone()] });
    match pick {
        Pick::First => one(seen.first()),
        Pick::Last => one(seen.last()),
        Pick::Nth(number) => one(number.checked_sub(1).and_then(|at| seen.get(at))),
        Pick::All => (!seen.is_empty()).then(|| Settled::Found { things: seen.to_vec() }),
        Pick::It => match seen {
            [] => None,
            [only] => one(Some(only)),
            _ => {
                let all: Vec<&Noticed> = seen.iter().collect();
                named(words, None, &all, at)
                    .filter(|settled| matches!(settled, Settled::Found { .. }))
                    .or_else(|| Some(unclear(&all, step.tool().unwrap_or_default(), at)))
            }
        },
    }
}

/// Which of some records a text names.
pub(super) fn among(said: &str, tool: &Prepared, things: &[Noticed]) -> Option<Settled> {
    let all: Vec<&Noticed> = things.iter().collect();
    named(said, Some(tool), &all, 0)
}

fn named(said: &str, tool: Option<&Prepared>, things: &[&Noticed], at: usize) -> Option<Settled> {
    let plain = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
    let whole: Vec<&&Noticed> = things
        .iter()
        .filter(|thing| thing.name.as_deref().is_some_and(|name| plain(name) == plain(said)))
        .collect();
    if let [only] = whole.as_slice() {
        return Some(Settled::Found { things: vec![(**only).clone()] });
    }
    let wanted = telling(said, tool);
    // If the whole text does not match, the names in it are looked up: "when we last talked to
    // Priya Shah".
    let names: Vec<String> =
        words(said).into_iter().filter(|word| word.capital && !word.stop).map(|word| word.lower).collect();
    matching(&wanted, things, said, at).or_else(|| {
        (!names.is_empty() && names.len() < wanted.len())
            .then(|| matching(&names, things, said, at))
            .flatten()
    })
}

/// "Emma and Gone Girl": several coordinated names.
fn each(said: &str, tool: Option<&Prepared>, things: &[&Noticed], at: usize) -> Option<Settled> {
    let parts: Vec<&str> = said
        .split(" and ")
        .flat_map(|part| part.split(", "))
        .filter(|part| !part.trim().is_empty())
        .collect();
    let plain = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
    if things.iter().any(|thing| thing.name.as_deref().is_some_and(|name| plain(name) == plain(said))) {
        return None;
    }
    let mut all = Vec::new();
    for part in parts.iter().filter(|_| parts.len() > 1) {
        match named(part, tool, things, at)? {
            Settled::Found { things } => all.extend(things),
            other => return Some(other),
        }
    }
    (!all.is_empty()).then_some(Settled::Found { things: all })
}

/// "The Le Guin": by another attribute. A change needs confirmation first, even if there is only
/// one.
fn by_attribute(
    said: &str,
    tool: Option<&Prepared>,
    things: &[&Noticed],
    read_only: bool,
    at: usize,
) -> Option<Settled> {
    let wanted = telling(said, tool);
    let holds = |thing: &&&Noticed| {
        let texts = thing.attributes.values().filter_map(Value::as_str).filter(|text| text.len() < 60);
        let known: Vec<String> = texts.flat_map(words).map(|word| word.lower).collect();
        wanted.iter().all(|word| known.iter().any(|known| alike(known, word)))
    };
    let found: Vec<&Noticed> = things.iter().filter(holds).copied().collect();
    // A record without a name is identified by its owner: "Marta Novak's" is as good as a name.
    let whole = |thing: &Noticed| {
        let plain = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
        let holds = |text: &str| {
            let known = plain(text);
            !wanted.is_empty() && wanted.iter().all(|word| known.contains(word))
        };
        thing.name.is_none() && thing.attributes.values().filter_map(Value::as_str).any(holds)
    };
    match found.as_slice() {
        [] => None,
        [only] if read_only || whole(only) => Some(Settled::Found { things: vec![(*only).clone()] }),
        several => Some(unclear(several, said, at)),
    }
}

fn matching(wanted: &[String], things: &[&Noticed], said: &str, at: usize) -> Option<Settled> {
    let plain = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
    let mut found: Vec<(&Noticed, usize)> = Vec::new();
    for thing in things {
        let name: Vec<String> = thing.name.as_deref().map(plain).unwrap_or_default();
        let missed = wanted.iter().filter(|word| !name.iter().any(|known| alike(known, word))).count();
        let close = missed == 0 || (wanted.len() >= 3 && missed == 1);
        if close && missed < wanted.len() {
            found.push((thing, missed));
        }
    }
    let least = found.iter().map(|(_, missed)| *missed).min()?;
    let best: Vec<&Noticed> =
        found.iter().filter(|(_, missed)| *missed == least).map(|(thing, _)| *thing).collect();
    match best.as_slice() {
        [only] => Some(Settled::Found { things: vec![(*only).clone()] }),
        several => Some(unclear(several, said, at)),
    }
}

/// Whether two words are inflections of one, or have edit distance 1.
fn alike(name: &str, said: &str) -> bool {
    name == said || root(name) == root(said) || (said.len() > 4 && slip(said, name))
}

fn unclear(things: &[&Noticed], said: &str, at: usize) -> Settled {
    let records: Vec<RecordRef> = things.iter().map(|thing| thing.record(None)).collect();
    let options = record::options(&records);
    let names: Vec<String> = options.iter().map(|choice| format!("\"{}\"", choice.label)).collect();
    let text = format!("Which one do you mean by \"{said}\": {}?", names.join(", "));
    Settled::Unclear {
        question: Question {
            options,
            words: said.to_owned(),
            ..Question::open(QuestionKind::Entity, text, at)
        },
    }
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The step with the tool that acts on the record found: "delete Reed" may delete a contact or a
/// deal.
pub(super) fn fit(catalogue: &Catalogue, step: &Step, found: &[Noticed]) -> Step {
    let mut step = step.clone();
    let entity = |name: &str| catalogue.tool(name).and_then(|tool| tool.entity.clone());
    let own_field = step
        .target_field
        .as_deref()
        .zip(step.tool().and_then(|tool| catalogue.tool(tool)))
        .and_then(|(field, tool)| tool.named(field))
        .is_some_and(|field| field.of.is_some());
    if let (Some(kind), Some(tool), false) =
        (found.first().map(|thing| thing.entity_type.clone()), step.tool(), own_field)
        && entity(tool).as_deref() != Some(kind.as_str())
        && let Some((other, _)) = step
            .alternatives
            .iter()
            .find(|(other, _)| entity(other).as_deref() == Some(kind.as_str()))
            .cloned()
    {
        step.reasons.push(format!("what was found is a {kind}"));
        if let Some(prepared) = catalogue.tool(&other) {
            step.destructive = prepared.tool.destructive;
            step.read_only = prepared.tool.read_only;
            step.target_field = prepared.target().map(|field| field.name.clone());
        }
        step.act = super::types::Act::Call { tool: other };
    }
    step
}

/// The arguments of each call of a step.
pub(super) fn calls(catalogue: &Catalogue, step: &Step, found: &[Noticed]) -> Vec<Map<String, Value>> {
    let base: Map<String, Value> =
        step.arguments.iter().map(|(name, argument)| (name.clone(), argument.value.clone())).collect();
    let Some(field) = step.target_field.as_deref() else { return vec![base] };
    let prepared = step.tool().and_then(|tool| catalogue.tool(tool));
    let known = match &step.target {
        Some(Target::Known { .. }) if found.is_empty() => settle(catalogue, 0, step, &[]),
        _ => Settled::Found { things: found.to_vec() },
    };
    let Settled::Found { things } = known else { return Vec::new() };
    let by_id = prepared.and_then(|tool| tool.named(field)).is_none_or(|field| field.role == Role::Id);
    let value = |thing: &Noticed| {
        if by_id {
            thing.id.clone()
        } else {
            thing.name.clone().map_or_else(|| thing.id.clone(), Value::String)
        }
    };
    let call = |thing: &Noticed| {
        let mut arguments = base.clone();
        arguments.insert(field.to_owned(), value(thing));
        arguments
    };
    things.iter().map(call).collect()
}
