//! Records of other types that a step refers to: the author of a book, the company of a deal.

use super::catalogue::{Catalogue, Role};
use super::fill::Filled;
use super::place::place;
use super::point::{Scene, normal, of_earlier};
use super::referent::{self, Referent, thing};
use super::types::{Argument, Need, Pick, RecordRef, Step, Target};
use super::wish::points_back;
use crate::skill::{Recent, Resolution, resolve};
use serde_json::json;

/// Resolves the records of other types that a step refers to.
pub(super) fn refs(scene: &Scene<'_>, filled: &Filled, step: &mut Step) {
    let Scene { catalogue, text, clause, given, earlier, tool, .. } = *scene;
    for (field, piece) in &filled.refs {
        let of = tool.named(field).and_then(|field| field.of.clone());
        if let Some(of) = of.filter(|_| !tool.tool.read_only) {
            step.also.push(Need {
                field: field.clone(),
                target: match piece.words.parse::<u64>() {
                    _ if filled.known.contains_key(field) => {
                        Target::Known { things: filled.known.get(field).cloned().into_iter().collect() }
                    }
                    Ok(number) => Target::Id { id: json!(number), entity_type: of },
                    Err(_) => Target::Named { words: piece.words.clone(), entity_type: of },
                },
            });
        }
    }
    let plain = text.plain.get(clause.start..clause.end).unwrap_or_default();
    let place = place(plain);
    if !points_back(plain) && place.is_none() {
        return;
    }
    let here = plain.contains(" there")
        || plain.contains("with them")
        || plain.contains("with the ")
        || plain.contains("for the ");
    let own = tool.target().is_some();
    for field in tool.fields.iter().filter(|field| field.role == Role::Open && field.of.is_some()) {
        if step.arguments.contains_key(&field.name) {
            continue;
        }
        let Some(of) = field.of.clone().filter(|_| !own && (field.required || here)) else { continue };
        // The same field of an earlier step, or the record that it created.
        if let Some(argument) = earlier
            .iter()
            .rev()
            .find_map(|before| before.arguments.get(&field.name))
            .filter(|_| place.is_none())
        {
            step.arguments.insert(field.name.clone(), argument.clone());
            step.missing.retain(|missing| *missing != field.name);
            continue;
        }
        if let Some(target) = of_earlier(catalogue, earlier, &of, place, plain) {
            let value = named_by(catalogue, earlier, &target);
            if let Some(value) = value {
                step.arguments.insert(
                    field.name.clone(),
                    Argument { value: json!(value), span: None, reason: "it was named before".into() },
                );
                step.missing.retain(|missing| *missing != field.name);
                if let Target::OfStep { step: before, .. } = target {
                    step.after = vec![before];
                } else {
                    step.also.push(Need { field: field.name.clone(), target });
                }
            } else {
                refer(step, &field.name, target, None);
            }
            continue;
        }
        let own =
            |one: &&Recent| one.entity_type == of && (one.domain.is_none() || one.domain == tool.tool.domain);
        let recent: Vec<Recent> = given.recent.iter().filter(own).cloned().collect();
        let is_of = |row: &RecordRef| row.entity_type == of;
        let pointed = match referent::read(catalogue, plain, given, &is_of) {
            Referent::Rows(rows) => rows.iter().all(is_of).then_some(Target::Known { things: rows }),
            _ => None,
        };
        let target = pointed.or_else(|| {
            let counted = place.is_some();
            let recent: &[Recent] = if counted { &[] } else { &recent };
            resolve(&normal(plain), recent).into_iter().find_map(|found| match found.found {
                Resolution::One(at) => recent.get(at).map(|one| Target::Known { things: vec![thing(one)] }),
                _ => None,
            })
        });
        if let Some(target) = target {
            refer(step, &field.name, target, None);
        }
    }
}

/// The name of a target: from the text, or from an earlier step.
fn named_by(catalogue: &Catalogue, earlier: &[Step], target: &Target) -> Option<String> {
    match target {
        Target::Named { words, .. } => Some(words.clone()),
        Target::Known { things } => things.first().and_then(|thing| thing.name.clone()),
        Target::OfStep { step, pick: Pick::It | Pick::First, .. } => {
            let before = earlier.get(*step)?;
            let tool = catalogue.tool(before.tool()?)?;
            let title = tool.fields.iter().find(|field| field.role == Role::Title)?;
            before.arguments.get(&title.name).and_then(|argument| argument.value.as_str()).map(str::to_owned)
        }
        _ => None,
    }
}

/// A value that names a record of another type, and the requirement that it exists.
fn refer(step: &mut Step, field: &str, target: Target, value: Option<String>) {
    if let Some(value) = value {
        step.arguments.entry(field.to_owned()).or_insert(Argument {
            value: json!(value),
            span: None,
            reason: "it was spoken of before".into(),
        });
        step.also.push(Need { field: field.to_owned(), target });
    } else {
        if let Target::OfStep { step: before, .. } = &target {
            step.after = vec![*before];
        }
        step.target = Some(target);
        step.target_field = Some(field.to_owned());
    }
    step.missing.retain(|missing| missing != field);
}
