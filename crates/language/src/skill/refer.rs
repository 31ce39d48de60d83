//! Reference resolution: what "it", "them", "the first one", "that task" refer to, among the
//! entities of the conversation.
//!
//! Invariants
//! - If two entities are close, the result has both as options, with a question. It never picks one
//!   at random.
//! - Only the given entities are considered; nothing is looked up.
//!
//! The evidence for an entity: how recently and how often it was mentioned, whether its type is
//! named or is the usual object of the verb, and whether the request shares words with its name.

mod mention;
mod weigh;

use super::sure;
use mention::{Mention, Shape, mentions};
use serde_json::json;
use steward_domain::{Confidence, ConversationEntity, DomainName};

/// An entity of the conversation. A list of them is in the order in which they were shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    /// `task`, `customer`, `note`, …
    pub entity_type: String,
    /// The application's id of the entity.
    pub id: String,
    /// Its title, if it has one.
    pub name: Option<String>,
    /// Number of mentions.
    pub mentions: u32,
    /// When it was last mentioned: an increasing number, such as that of the message. Entities that
    /// were shown together have the same.
    pub last: u64,
    /// Its position, from 1, in the list that was shown last. Later mentions do not change it.
    pub place: Option<usize>,
    /// The domain that it belongs to.
    pub domain: Option<DomainName>,
}

impl From<&ConversationEntity> for Recent {
    fn from(entity: &ConversationEntity) -> Self {
        Self {
            entity_type: entity.entity_type.to_string(),
            id: entity.entity_id.to_string(),
            name: entity.entity_name.as_ref().map(ToString::to_string),
            mentions: entity.mention_count,
            last: u64::try_from(entity.last_mentioned_at.micros()).unwrap_or(0),
            place: None,
            domain: None,
        }
    }
}

/// What a reference refers to; the numbers are indexes of the given list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// This one.
    One(usize),
    /// All of these.
    Several(Vec<usize>),
    /// Ambiguous: ask which of these is meant, most likely first.
    Unclear {
        /// The options.
        options: Vec<usize>,
        /// The clarifying question.
        question: String,
    },
    /// No entity matches: ask what is meant.
    Nothing {
        /// The clarifying question.
        question: String,
    },
}

/// A reference and its resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The text.
    pub said: String,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The resolution.
    pub found: Resolution,
    /// The confidence.
    pub confidence: Confidence,
    /// The reasons.
    pub reasons: Vec<String>,
}

/// Minimum confidence to choose one of several.
const CLEAR: f32 = 0.6;
/// Maximum number of options.
const OPTIONS: usize = 5;

/// The same as JSON: the text, and its resolution or the clarifying question.
#[must_use]
pub fn resolved(text: &str, recent: &[Recent]) -> serde_json::Value {
    let named = |at: &usize| {
        let entity = recent.get(*at)?;
        Some(json!({ "type": entity.entity_type, "id": entity.id, "name": entity.name }))
    };
    let document = |reference: &Reference| {
        let (stands_for, question) = match &reference.found {
            Resolution::One(at) => (vec![named(at)], None),
            Resolution::Several(all) => (all.iter().map(named).collect(), None),
            Resolution::Unclear { options, question } => {
                (options.iter().map(named).collect(), Some(question))
            }
            Resolution::Nothing { question } => (Vec::new(), Some(question)),
        };
        json!({
            "said": reference.said, "stands_for": stands_for, "question": question,
            "confidence": reference.confidence, "reasons": reference.reasons,
        })
    };
    json!({ "references": resolve(text, recent).iter().map(document).collect::<Vec<_>>() })
}

/// The references of a request. `recent` is in the order in which the entities were shown.
#[must_use]
pub fn resolve(text: &str, recent: &[Recent]) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    for mention in mentions(text, recent) {
        let (what, share, reasons) = settle(text, &mention, recent, &found);
        let said = text.get(mention.start..mention.end).unwrap_or_default().to_owned();
        found.push(Reference {
            said,
            start: mention.start,
            end: mention.end,
            found: what,
            confidence: sure(share),
            reasons,
        });
    }
    found
}

type Settled = (Resolution, f32, Vec<String>);

fn settle(text: &str, mention: &Mention, recent: &[Recent], before: &[Reference]) -> Settled {
    let fits = |entity: &Recent| mention.types.is_empty() || mention.types.contains(&entity.entity_type);
    let fitting: Vec<usize> = (0..recent.len()).filter(|at| recent.get(*at).is_some_and(fits)).collect();
    if fitting.is_empty() {
        return nothing(&mention.what());
    }
    match &mention.shape {
        Shape::Named(at) => {
            (Resolution::One(*at), 0.95, vec![format!("it is named: {}", label(recent, *at))])
        }
        Shape::Nth(place) => nth(&group(recent, &fitting), *place, recent),
        Shape::Last(count) => {
            let shown = group(recent, &fitting);
            let skip = shown.len().saturating_sub(*count);
            if shown.len() < *count {
                return unclear(&shown, recent, "fewer were shown together");
            }
            (
                Resolution::Several(shown.into_iter().skip(skip).collect()),
                0.9,
                vec![format!("the last {count} of those shown together")],
            )
        }
        Shape::First(count) => {
            let shown = group(recent, &fitting);
            if shown.len() < *count {
                return unclear(&shown, recent, "fewer were shown together");
            }
            (
                Resolution::Several(shown.into_iter().take(*count).collect()),
                0.9,
                vec![format!("the first {count} of those shown together")],
            )
        }
        Shape::Both => {
            let shown = group(recent, &fitting);
            match shown.len() {
                2 => (Resolution::Several(shown), 0.93, vec!["exactly two were shown together".into()]),
                _ if fitting.len() == 2 => {
                    (Resolution::Several(fitting), 0.85, vec!["exactly two were mentioned".into()])
                }
                _ => unclear(&shown, recent, "not exactly two were mentioned"),
            }
        }
        Shape::Other => other(&fitting, recent, before),
        Shape::Many => {
            let shown = group(recent, &fitting);
            if shown.len() > 1 {
                return (Resolution::Several(shown), 0.9, vec!["they were shown together last".into()]);
            }
            match fitting.len() {
                1 => (Resolution::Several(fitting), 0.7, vec!["only one was mentioned".into()]),
                _ => (Resolution::Several(fitting), 0.7, vec!["all that were mentioned".into()]),
            }
        }
        Shape::One => one(text, mention, &fitting, recent),
    }
}

fn one(text: &str, mention: &Mention, fitting: &[usize], recent: &[Recent]) -> Settled {
    let weighed = weigh::weigh(text, mention, fitting, recent);
    let Some((first, share, reasons)) = weighed.first() else { return nothing(&mention.what()) };
    if *share >= CLEAR {
        return (Resolution::One(*first), *share, reasons.clone());
    }
    let close: Vec<usize> =
        weighed.iter().filter(|(_, other, _)| *other * 4.0 >= *share).map(|(at, ..)| *at).collect();
    let (found, _, reasons) = unclear(&close, recent, "several fit about as well");
    (found, *share, reasons)
}

/// The entities that were last shown together: more than one of the matching ones, with the latest
/// mention.
fn group(recent: &[Recent], fitting: &[usize]) -> Vec<usize> {
    let place = |at: &usize| recent.get(*at).and_then(|entity| entity.place);
    let mut placed: Vec<usize> = fitting.iter().filter(|at| place(at).is_some()).copied().collect();
    if !placed.is_empty() {
        placed.sort_by_key(place);
        return placed;
    }
    let last = |at: &usize| recent.get(*at).map_or(0, |entity| entity.last);
    let mut times: Vec<u64> = fitting.iter().map(last).collect();
    times.sort_unstable();
    let shown = times.windows(2).rev().find_map(|pair| match pair {
        [a, b] if a == b => Some(*a),
        _ => None,
    });
    match shown {
        // An entity that was mentioned since then still belongs to its list if nothing else was
        // shown in between.
        Some(time) => {
            let since: Vec<&usize> = fitting.iter().filter(|at| last(at) > time).collect();
            fitting
                .iter()
                .filter(|at| last(at) == time || (since.len() == 1 && since.contains(at)))
                .copied()
                .collect()
        }
        None => fitting.to_vec(),
    }
}

fn nth(shown: &[usize], place: i32, recent: &[Recent]) -> Settled {
    let at = if place > 0 {
        usize::try_from(place - 1).ok()
    } else {
        usize::try_from(-place).ok().and_then(|back| shown.len().checked_sub(back))
    };
    match at.and_then(|at| shown.get(at)) {
        Some(found) => (
            Resolution::One(*found),
            0.92,
            vec![format!("by its place among {} that were shown", shown.len())],
        ),
        None => unclear(shown, recent, "fewer were shown together"),
    }
}

/// The one of a pair that is not the current one.
fn other(fitting: &[usize], recent: &[Recent], before: &[Reference]) -> Settled {
    let said = before.iter().rev().find_map(|reference| match reference.found {
        Resolution::One(at) => Some(at),
        _ => None,
    });
    let latest = fitting.iter().map(|at| recent.get(*at).map_or(0, |entity| entity.last)).max().unwrap_or(0);
    let at_hand: Vec<usize> = fitting
        .iter()
        .copied()
        .filter(|at| recent.get(*at).is_some_and(|entity| entity.last == latest))
        .collect();
    let hand = said.or(if let [only] = at_hand.as_slice() { Some(*only) } else { None });
    let Some(hand) = hand else { return unclear(fitting, recent, "it is not clear which one was at hand") };
    let kind = recent.get(hand).map(|entity| entity.entity_type.as_str());
    let shown = group(recent, fitting);
    let rest = |list: &[usize]| -> Vec<usize> {
        list.iter()
            .copied()
            .filter(|at| *at != hand && recent.get(*at).map(|entity| entity.entity_type.as_str()) == kind)
            .collect()
    };
    match rest(&shown).as_slice() {
        [only] => (Resolution::One(*only), 0.9, vec![format!("the other one than {}", label(recent, hand))]),
        [] => nothing("other one"),
        several => unclear(several, recent, "there is more than one other"),
    }
}

fn unclear(options: &[usize], recent: &[Recent], why: &str) -> Settled {
    let options: Vec<usize> = options.iter().take(OPTIONS).copied().collect();
    let names: Vec<String> = options.iter().map(|at| label(recent, *at)).collect();
    let question = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("Which one do you mean: {} or {last}?", rest.join(", "))
        }
        Some((last, _)) => format!("Do you mean {last}?"),
        None => "Which one do you mean?".into(),
    };
    (Resolution::Unclear { options, question }, 0.4, vec![why.to_owned()])
}

fn nothing(what: &str) -> Settled {
    let question = format!("Which {what} do you mean? None was mentioned yet.");
    (Resolution::Nothing { question }, 0.9, vec!["nothing that was mentioned fits".into()])
}

/// The label of an entity in a clarifying question.
fn label(recent: &[Recent], at: usize) -> String {
    let Some(entity) = recent.get(at) else { return "this".into() };
    match &entity.name {
        Some(name) => format!("the {} \"{name}\"", entity.entity_type),
        None => format!("the {} {}", entity.entity_type, entity.id),
    }
}

#[cfg(test)]
#[path = "refer_tests.rs"]
mod tests;
