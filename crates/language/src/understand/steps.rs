//! Steps: one call each, with its target and what is still missing.

use super::catalogue::{Catalogue, Prepared, Role};
use super::choose::Candidate;
use super::fill::{UtteranceContext, fill};
use super::lexicon::{plural, root, singular};
use super::plan::Read;
use super::point::{self, Referents, Scene};
use super::refer::refs;
use super::text::Text;
use super::types::{Act, Choice, Pick, Question, QuestionKind, Step, Target};
use super::verbs::Class;
use super::wish::Clause;
use crate::skill::sure;
use crate::words::{is_stop, name_words};
use serde_json::json;
use std::collections::BTreeSet;
use steward_domain::IntentKind;

/// The reason if an explicit cue matches the tool's action.
pub(super) const VERB_FITS: &str = "its verb fits";
/// Maximum number of alternative tools.
const ALTERNATIVES: usize = 4;
/// Maximum score difference of an alternative tool.
const CLOSE: f32 = 3.0;

fn intent(class: Class) -> IntentKind {
    match class {
        Class::Create => IntentKind::Create,
        Class::Read => IntentKind::Read,
        Class::List => IntentKind::List,
        Class::Search => IntentKind::Search,
        Class::Update => IntentKind::Update,
        Class::Delete => IntentKind::Delete,
    }
}

/// Reporting, recording or answering something creates a report, a record or an answer, whatever it
/// belongs to.
fn makes(tool: &Prepared) -> bool {
    let has = |groups: &[&str]| groups.iter().any(|group| tool.groups.contains(group));
    // Recording a mileage sets it; recording a payment creates one.
    let sets = |noun: &str| {
        tool.fields.iter().any(|field| {
            field.role == Role::Number && field.words.iter().any(|word| root(word) == root(noun))
        })
    };
    let bare = tool.tool.name.rsplit('.').next().unwrap_or_default();
    let of_its_own = name_words(bare).iter().skip(1).any(|noun| {
        tool.entity.as_deref() != Some(singular(noun).as_str())
            && !is_stop(noun)
            && noun.len() > 2
            && !sets(noun)
    });
    tool.class == Class::Update
        && (has(&["report", "reply", "enrol"])
            || (has(&["log", "create"]) && of_its_own && !tool.tool.idempotent))
}

/// The intent of a tool.
pub(super) fn stands_for(tool: &Prepared) -> IntentKind {
    if makes(tool) { IntentKind::Create } else { intent(tool.class) }
}

pub(super) fn base_step(
    catalogue: &Catalogue,
    text: &Text,
    clause: &Clause,
    found: &[Candidate],
    best: &Candidate,
) -> Step {
    let total: f32 = found.iter().take(12).map(|other| (other.score - best.score).exp()).sum();
    let share = |score: f32| sure((score - best.score).exp() / total.max(1.0));
    let tool = catalogue.tools.get(best.at);
    let same_class = |other: &Candidate| {
        catalogue.tools.get(other.at).map(|tool| tool.class) == tool.map(|tool| tool.class)
    };
    let alternatives = found
        .iter()
        .skip(1)
        .filter(|other| best.score - other.score < CLOSE && same_class(other))
        .take(ALTERNATIVES)
        .filter_map(|other| Some((catalogue.tools.get(other.at)?.tool.name.clone(), share(other.score))))
        .collect();
    let (start, end) = text.trimmed(clause.start, clause.end);
    let mut reasons = Vec::new();
    if best.verb > 0.0 {
        reasons.push(VERB_FITS.to_owned());
    }
    if best.noun > 0.0 {
        reasons.push("what it is about is named".to_owned());
    }
    if best.filled.evidence > 0.0 {
        reasons.push("values for its fields are said".to_owned());
    }
    Step {
        domain: tool.and_then(|tool| tool.tool.domain.clone()),
        act: Act::Call { tool: tool.map(|tool| tool.tool.name.clone()).unwrap_or_default() },
        said: text.slice(start, end).to_owned(),
        intent: tool.map(stands_for),
        confidence: share(best.score),
        arguments: best.filled.arguments.clone(),
        target: None,
        target_field: None,
        also: Vec::new(),
        missing: best.filled.missing.clone(),
        after: Vec::new(),
        destructive: tool.is_some_and(|tool| tool.tool.destructive),
        read_only: tool.is_some_and(|tool| tool.tool.read_only),
        alternatives,
        otherwise: Vec::new(),
        reasons,
    }
}

/// "Delete all done tasks" lists them first.
pub(super) fn all_of(
    said: &UtteranceContext<'_>,
    clause: &Clause,
    found: &[Candidate],
    best: &Candidate,
    earlier: &[Step],
) -> Option<Vec<Step>> {
    let UtteranceContext { text, catalogue, .. } = *said;
    let tool = catalogue.tools.get(best.at)?;
    if tool.tool.read_only || tool.target().is_none() || best.filled.id.is_some() || clause.inherits {
        return None;
    }
    let (start, end) = text.trimmed(clause.start, clause.end);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let all = ["all ", "every ", "each "].iter().any(|word| plain.contains(word));
    // "Remove Ann from the contacts" is about one of them.
    let held = |at: usize| {
        let before = text.plain.get(start..at).unwrap_or_default().trim_end();
        ["from the", "from my", "from our", "in the", "in my", "in our"]
            .iter()
            .any(|lead| before.ends_with(lead))
    };
    let noun =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end && !token.quoted).any(
            |token| {
                (all || !held(token.start))
                    && plural(&token.lower)
                    && catalogue
                        .types_of(&token.lower)
                        .iter()
                        .any(|kind| Some(&kind.name) == tool.entity.as_ref())
            },
        );
    if !noun || (!all && best.filled.target.is_none()) || plain.contains(" of them") {
        return None;
    }
    let lists = |candidate: &&Candidate| {
        catalogue.tools.get(candidate.at).is_some_and(|other| {
            other.tool.read_only
                && matches!(other.class, Class::List | Class::Search)
                && other.entity == tool.entity
                && other.tool.domain == tool.tool.domain
        })
    };
    let list = found.iter().find(lists)?;
    let lister = catalogue.tools.get(list.at)?;
    let cue = clause.cues.iter().find(|cue| cue.class == Some(tool.class));
    let filled = fill(said, lister, clause, cue);
    if filled.left > 0 && !all {
        return None;
    }
    let mut first = base_step(catalogue, text, clause, found, list);
    first.arguments = filled.arguments;
    first.alternatives.clear();
    first.reasons = vec!["all of them must be known first".into()];
    first.confidence = base_step(catalogue, text, clause, found, best).confidence;
    let mut second = base_step(catalogue, text, clause, found, best);
    second.target = Some(Target::OfStep {
        step: earlier.len(),
        pick: Pick::All,
        words: text.slice(start, end).to_owned(),
    });
    second.target_field = tool.target().map(|field| field.name.clone());
    second.after = vec![earlier.len()];
    Some(vec![first, second])
}

/// Finds the target of a step, and asks for what is missing.
pub(super) fn act_on(scene: &Scene<'_>, best: &Candidate, mut step: Step) -> Read {
    let Scene { catalogue, clause, earlier, tool, .. } = *scene;
    let at = earlier.len();
    refs(scene, &best.filled, &mut step);
    let mut question = None;
    let mut steps = vec![step.clone()];
    if let Some(field) = tool.target() {
        step.target_field = Some(field.name.clone());
        match point::target(scene, &best.filled, &step) {
            Referents::To(targets) => {
                steps = targets
                    .into_iter()
                    .map(|target| {
                        let after = match &target {
                            Target::OfStep { step, .. } => vec![*step],
                            _ => Vec::new(),
                        };
                        Step { target: Some(target), after, ..step.clone() }
                    })
                    .collect();
            }
            Referents::Unclear(text, options) => {
                question = Some(Question {
                    options,
                    words: step.said.clone(),
                    ..Question::open(QuestionKind::Entity, text, at)
                });
                steps = vec![step.clone()];
            }
        }
    }
    for step in &mut steps {
        made_before(catalogue, earlier, step);
    }
    for step in &mut steps {
        let used = step.target.as_ref().is_some_and(|target| matches!(target, Target::OfStep { .. }));
        // A change that follows another change keeps its order.
        let turn = if step.read_only {
            earlier.last().is_some_and(|before| !before.read_only)
        } else {
            earlier.iter().any(|before| !before.read_only && before.domain == step.domain)
        };
        if !used && turn {
            step.after = vec![earlier.len() - 1];
        }
    }
    if question.is_none() {
        question = steps.first().and_then(|step| ask_field(catalogue, step, at, clause));
    }
    Read::Steps(steps, question)
}

/// "Create the company Orion, then add Kim at Orion": a record that an earlier step creates exists
/// by then.
fn made_before(catalogue: &Catalogue, earlier: &[Step], step: &mut Step) {
    let makes = |words: &str, kind: &str| {
        earlier.iter().position(|before| {
            let tool = before.tool().and_then(|name| catalogue.tool(name));
            let Some(tool) = tool.filter(|tool| tool.class == Class::Create) else { return false };
            let of_kind = kind.is_empty() || tool.entity.as_deref() == Some(kind);
            let title = tool.fields.iter().find(|field| field.role == Role::Title);
            let said = title.and_then(|title| before.arguments.get(&title.name)?.value.as_str());
            of_kind && said.is_some_and(|said| said.eq_ignore_ascii_case(words))
        })
    };
    let made = |target: &Target| match target {
        Target::Named { words, entity_type } => makes(words, entity_type),
        _ => None,
    };
    let mut after: Vec<usize> = step.also.iter().filter_map(|need| made(&need.target)).collect();
    step.also.retain(|need| made(&need.target).is_none());
    if let Some(at) = step.target.as_ref().and_then(made) {
        step.target = Some(Target::OfStep { step: at, pick: Pick::It, words: step.said.clone() });
        after.push(at);
    }
    step.after.extend(after.iter().filter(|at| !step.after.contains(at)).collect::<BTreeSet<_>>());
}

/// The question about what is missing: a required field, or any value to change.
pub(super) fn ask_field(catalogue: &Catalogue, step: &Step, at: usize, clause: &Clause) -> Option<Question> {
    let tool = catalogue.tool(step.tool()?)?;
    if let Some(name) = step.missing.first() {
        let field = tool.named(name)?;
        let options: Vec<Choice> = if field.choices.is_empty() {
            vec![Choice::value(name.replace('_', " "), json!(name))]
        } else {
            field
                .choices
                .iter()
                .map(|choice| Choice::value(choice.replace('_', " "), json!(choice)))
                .collect()
        };
        let text = format!("What should the {} be?", name.replace('_', " "));
        return Some(Question {
            options,
            field: Some(name.clone()),
            ..Question::open(QuestionKind::Field, text, at)
        });
    }
    let settable: Vec<_> = tool
        .fields
        .iter()
        .filter(|field| !matches!(field.role, Role::Id | Role::Selector))
        .filter(|field| !renames(clause) || field.role == Role::Title)
        .collect();
    let set = step
        .arguments
        .keys()
        .any(|name| tool.named(name).is_some_and(|field| !matches!(field.role, Role::Id | Role::Selector)));
    // Only a general update needs a value; "close" and "check in" imply it.
    let changes = tool.groups.iter().any(|group| ["update", "rename", "move", "postpone"].contains(group))
        && !["advance", "push", "bring", "send", "go"].iter().any(|verb| root(verb) == tool.verb);
    if changes && tool.class == Class::Update && tool.target().is_some() && !set && !settable.is_empty() {
        let options = settable
            .iter()
            .map(|field| Choice::value(field.name.replace('_', " "), json!(field.name)))
            .collect();
        let field = match settable.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        };
        return Some(Question {
            options,
            field,
            ..Question::open(QuestionKind::Field, "What should change?", at)
        });
    }
    None
}

fn renames(clause: &Clause) -> bool {
    clause.cues.iter().any(|cue| cue.group == "rename" && cue.weight >= 4.0)
}
