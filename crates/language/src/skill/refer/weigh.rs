//! Scores the candidate entities of a reference.
//!
//! Invariant: equal evidence gives equal shares, so that ambiguous references lead to a question.

use super::Recent;
use super::mention::Mention;
use crate::words::{name_words, words};

/// The weight of each kind of evidence.
const RECENT: f32 = 2.5;
const OFTEN: f32 = 0.5;
const TOPIC: f32 = 2.5;
const DESCRIBED: f32 = 4.0;
const VERB: f32 = 1.5;

/// Verbs and the types they usually act on.
const DONE_TO: &[(&[&str], &[&str])] = &[
    (
        &["complete", "finish", "done", "assign", "prioritize", "due", "tick", "overdue"],
        &["task", "todo", "ticket", "issue", "reminder", "item", "step"],
    ),
    (
        &["call", "email", "contact", "invite", "phone", "message", "meet"],
        &["person", "customer", "contact", "user", "employee", "lead", "client", "member"],
    ),
    (
        &["attend", "reschedule", "postpone", "join", "host"],
        &["meeting", "event", "appointment", "call", "reservation", "booking"],
    ),
    (&["pay", "refund", "charge", "invoice"], &["invoice", "order", "payment", "bill", "subscription"]),
    (
        &["read", "write", "edit", "summarize", "translate", "print", "quote"],
        &["note", "document", "page", "file", "report", "article", "message", "email"],
    ),
    (&["ship", "deliver", "return", "track"], &["order", "package", "parcel", "shipment", "item"]),
    (
        &["plot", "chart", "filter", "join", "sort", "average"],
        &["table", "dataset", "report", "result", "column", "query"],
    ),
];

/// The candidate entities, most likely first, with their shares and reasons.
pub(super) fn weigh(
    text: &str,
    mention: &Mention,
    fitting: &[usize],
    recent: &[Recent],
) -> Vec<(usize, f32, Vec<String>)> {
    let said = words(text);
    let outside = said.iter().filter(|word| word.end <= mention.start || word.start >= mention.end);
    let topic: Vec<&str> = outside.filter(|word| !word.stop).map(|word| word.stem.as_str()).collect();
    let mut times: Vec<u64> =
        fitting.iter().filter_map(|at| recent.get(*at)).map(|entity| entity.last).collect();
    times.sort_unstable();
    times.dedup();
    let mut points: Vec<(usize, f32, Vec<String>)> = Vec::new();
    for at in fitting {
        let Some(entity) = recent.get(*at) else { continue };
        let mut reasons = Vec::new();
        let age = times.iter().rev().position(|time| *time == entity.last).unwrap_or(0) as f32;
        let mut sum = RECENT * 0.5_f32.powf(age);
        if age == 0.0 {
            reasons.push("it was mentioned last".to_owned());
        }
        sum += OFTEN * (entity.mentions.max(1) as f32).ln();
        if entity.mentions > 1 {
            reasons.push(format!("it was mentioned {} times", entity.mentions));
        }
        let name: Vec<String> = words(entity.name.as_deref().unwrap_or_default())
            .into_iter()
            .filter(|word| !word.stop)
            .map(|word| word.stem)
            .collect();
        let holds = |stem: &str| name.iter().any(|known| known == stem);
        if topic.iter().any(|stem| holds(stem)) {
            sum += TOPIC;
            reasons.push("its name shares words with the request".to_owned());
        }
        if mention.about.iter().any(|stem| holds(stem)) {
            sum += DESCRIBED;
            reasons.push("its name is described so".to_owned());
        }
        let kind = name_words(&entity.entity_type).pop().unwrap_or_default();
        let verb = said.iter().find(|word| {
            DONE_TO.iter().any(|(verbs, kinds)| {
                kinds.contains(&kind.as_str())
                    && verbs.iter().any(|verb| crate::words::stem(verb) == word.stem)
            })
        });
        if let Some(verb) = verb {
            sum += VERB;
            reasons.push(format!("\"{}\" is said of a {}", verb.lower, entity.entity_type));
        }
        if let Some(noun) = &mention.noun {
            reasons.push(format!("it is the {noun} that is asked for"));
        }
        points.push((*at, sum, reasons));
    }
    let total: f32 = points.iter().map(|(_, sum, _)| sum.exp()).sum();
    for (_, sum, _) in &mut points {
        *sum = sum.exp() / total.max(f32::MIN_POSITIVE);
    }
    points.sort_by(|a, b| b.1.total_cmp(&a.1));
    points
}
