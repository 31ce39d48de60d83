//! Records of several types or applications with the same name.
//!
//! Invariant: a change by an ambiguous name needs a clarifying question, unless one of the records
//! was mentioned last.

use super::catalogue::{Catalogue, Prepared};
use super::choose::Candidate;
use super::fill::UtteranceContext;
use super::plan::Read;
use super::referent::{self, means_same};
use super::steps::base_step;
use super::types::{Question, QuestionKind, RecordRef, Target, TurnContext};
use super::wish::Clause;
use super::{point, record};
use crate::skill::Recent;

/// "Delete Garden plan", if a task and a note have this name: ask which, unless one of them was
/// mentioned last.
pub(super) fn ask_which(
    said: &UtteranceContext<'_>,
    clause: &Clause,
    given: &TurnContext<'_>,
    found: &[Candidate],
    best: &Candidate,
    at: usize,
) -> Option<Read> {
    let UtteranceContext { text, catalogue, .. } = *said;
    let tool = catalogue.tools.get(best.at).filter(|tool| !tool.tool.read_only)?;
    let named = point::said(text, clause, catalogue, tool.entity.as_deref().unwrap_or_default());
    let rivals = namesakes(catalogue, found, best, named);
    let all: Vec<&Candidate> = std::iter::once(best).chain(rivals.iter().copied()).collect();
    let records = records(&all);
    let last = given.recent.iter().map(|one| one.last).max();
    let lately = |record: &&RecordRef| {
        let is_it = |one: &Recent| Some(one.last) == last && referent::thing(one).is_same(record);
        given.recent.iter().any(is_it)
    };
    let of_best = |record: &RecordRef| referent::acts_on(tool, record);
    match records.iter().filter(lately).collect::<Vec<_>>().as_slice() {
        _ if rivals.is_empty() => return None,
        [only] if of_best(only) => return None,
        [only] => {
            let fits = |rival: &&&Candidate| {
                catalogue.tools.get(rival.at).is_some_and(|tool| referent::acts_on(tool, only))
            };
            let rival = rivals.iter().find(fits)?;
            let mut step = base_step(catalogue, text, clause, found, rival);
            let field = catalogue.tools.get(rival.at).and_then(Prepared::target);
            step.target_field = field.map(|field| field.name.clone());
            step.target = Some(Target::Known { things: vec![(*only).clone()] });
            return Some(Read::Steps(vec![step], None));
        }
        _ => {}
    }
    let mut step = base_step(catalogue, text, clause, found, best);
    let tools = rivals.iter().filter_map(|rival| catalogue.tools.get(rival.at));
    step.alternatives = tools.map(|tool| (tool.tool.name.clone(), step.confidence)).collect();
    step.target_field = tool.target().map(|field| field.name.clone());
    let options = record::options(&records);
    let text = record::which("one", &options);
    let words = step.said.clone();
    let question = Question { options, words, ..Question::open(QuestionKind::Entity, text, at) };
    Some(Read::Steps(vec![step], Some(question)))
}

/// Records of other types or applications with the name of the best candidate's record, with the
/// tools that do the same to them. `named` means that the type is stated: then only records of that
/// type count.
fn namesakes<'a>(
    catalogue: &Catalogue,
    found: &'a [Candidate],
    best: &'a Candidate,
    named: bool,
) -> Vec<&'a Candidate> {
    let by_name = |candidate: &Candidate| {
        let grounded = candidate.filled.grounded.as_ref();
        grounded.is_some_and(|grounded| grounded.by_name && grounded.firm && !grounded.all)
    };
    let Some(tool) = catalogue.tools.get(best.at).filter(|_| by_name(best)) else { return Vec::new() };
    let mut kinds = vec![(&tool.entity, &tool.tool.domain)];
    let mut rivals = Vec::new();
    for other in found.iter().filter(|other| by_name(other) && means_same(catalogue, best, other)) {
        let Some(rival) = catalogue.tools.get(other.at).filter(|rival| !rival.tool.read_only) else {
            continue;
        };
        let kind = (&rival.entity, &rival.tool.domain);
        if rival.target().is_some() && !kinds.contains(&kind) && (!named || rival.entity == tool.entity) {
            kinds.push(kind);
            rivals.push(other);
        }
    }
    rivals
}

/// The records that candidates found by name.
fn records(candidates: &[&Candidate]) -> Vec<RecordRef> {
    let grounded = candidates.iter().filter_map(|candidate| candidate.filled.grounded.as_ref());
    grounded.flat_map(|grounded| grounded.things.iter().cloned()).collect()
}
