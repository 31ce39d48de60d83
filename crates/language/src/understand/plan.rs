//! Turns clauses into steps: the tool of each, its target, what must be asked first, and
//! dependencies.

use super::answer;
use super::catalogue::{Catalogue, Prepared, Role, ToolField};
use super::choose::{Candidate, ChoiceContext, choose, gibberish, service};
use super::fill::UtteranceContext;
use super::follow;
use super::ground::Ground;
use super::lexicon::{ASKS_HELP, HELP, plural};
use super::place::place;
use super::point::Scene;
use super::recall::{bridged, with_earlier};
use super::referent::{self, Referent};
use super::steps::{VERB_FITS, act_on, all_of, base_step};
use super::text::{LONGEST, Text};
use super::types::{
    Answered, Kind, NOTHING, Pick, Question, QuestionKind, RecordRef, Step, Target, TurnContext, Understood,
};
use super::unsure::{bare, tokens_within, which_new};
use super::values::days;
use super::verbs::Class;
use super::wish::{Clause, Cue, clauses, heads, is, is_remark, points_back};
use super::{Reader, literal, namesake, route, scope, talk};
use crate::skill::sure;
use std::collections::BTreeMap;
use steward_domain::{Confidence, DomainName};

/// Maximum number of steps of one utterance.
const STEPS: usize = 12;

pub(super) fn understand(reader: &Reader, said: &str, given: &TurnContext<'_>) -> Understood {
    let mut text = Text::read(said);
    let mut answered = Answered::Nothing;
    if let Some(pending) = given.pending {
        if let Some(done) = answer::answer(reader, &text, given, pending) {
            return done;
        }
        answered = Answered::Unrelated;
    }
    let read = fresh(reader, &mut text, given);
    let mut out = literal::completed(reader, &text, read);
    out.answered = answered;
    if text.cut {
        out.reasons.push(format!("only the first {LONGEST} bytes were read"));
    }
    let home = |steps: &[Step]| steps.iter().find_map(|step| step.domain.clone());
    out.changed_topic =
        matches!((home(given.before), home(&out.steps)), (Some(before), Some(now)) if before != now);
    out
}

/// The first clause with its candidate tools, for fitting the weights.
pub(super) fn first<T>(
    reader: &Reader,
    said: &str,
    given: &TurnContext<'_>,
    with: impl FnOnce(&UtteranceContext<'_>, &Clause, &ChoiceContext<'_>, &[Candidate]) -> T,
) -> Option<T> {
    let mut text = Text::read(said);
    let heads = heads(&text);
    reader.catalogue.mend(&mut text, &heads);
    let ground = Ground::read(&text, &reader.catalogue, given.world);
    let recent = bridged(given);
    let given = &TurnContext { recent: &recent, ..*given };
    let clause = clauses(&text, &reader.catalogue).into_iter().next()?;
    let routed = route::route(reader, text.slice(clause.start, clause.end).trim());
    let days = days(&text, given.today);
    let said = UtteranceContext { text: &text, catalogue: &reader.catalogue, days: &days, ground: &ground };
    let clause = &unnamed(&ground, &pointing(&text, &clause, given));
    let around = around(reader, &text, clause, given, &routed.domains, None);
    Some(with(&said, clause, &around, &choose(&said, clause, &around)))
}

/// Interprets an utterance that does not answer a question.
fn fresh(reader: &Reader, text: &mut Text, given: &TurnContext<'_>) -> Understood {
    if text.tokens.is_empty() {
        return Understood::plain(Kind::Chat, "nothing was said");
    }
    if is(&HELP, text.plain.trim()) || is(&ASKS_HELP, text.plain.trim()) {
        return Understood::plain(Kind::Help, "it asks what can be done");
    }
    if talk::is_small(reader, text) {
        return Understood::plain(Kind::Chat, "it is small talk");
    }
    if gibberish(&text.tokens) {
        return Understood::plain(Kind::Chat, "no word of it can be read");
    }
    let heads = heads(text);
    reader.catalogue.mend(text, &heads);
    if let Some(read) = literal::understand(reader, text) {
        return read;
    }
    if let Some(followed) = follow::follow(reader, text, given) {
        return followed;
    }
    let ground = Ground::read(text, &reader.catalogue, given.world);
    // "Salt, Fat, Acid, Heat" is one name: commas inside it separate nothing.
    for mention in ground.mentions.iter().filter(|mention| mention.whole && mention.several) {
        text.unpart(mention.start, mention.end);
    }
    let text = &*text;
    let mut out = Understood::plain(Kind::Act, "");
    out.reasons.clear();
    let mut shares: BTreeMap<DomainName, f32> = BTreeMap::new();
    let mut earlier: Vec<(usize, bool)> = Vec::new();
    // A remark of the speaker before the actual request.
    let mut remark: Option<(Vec<Step>, Option<Question>)> = None;
    for clause in clauses(text, &reader.catalogue).into_iter().take(STEPS) {
        let routed = route::route(reader, text.slice(clause.start, clause.end).trim());
        for (domain, share) in &routed.domains {
            let known = shares.entry(domain.clone()).or_default();
            *known = known.max(*share);
        }
        if let Some(asked) = route::asked(reader, text, &clause, &routed, &out.steps) {
            out.steps.extend(asked);
            continue;
        }
        let background = remark.as_ref().map(|(steps, _)| steps.as_slice()).unwrap_or_default();
        let told: Vec<Step> = background.iter().chain(&out.steps).cloned().collect();
        let spoken = with_earlier(given, &told);
        let given = &TurnContext { recent: &spoken, ..*given };
        let read = clause_steps(reader, text, &ground, &clause, given, &routed.domains, &out.steps);
        match read {
            Read::Steps(steps, question)
                if out.steps.is_empty()
                    && remark.is_none()
                    && (clause.why || idle(text, &clause, question.as_ref())) =>
            {
                remark = Some((steps, question));
            }
            Read::Steps(steps, question) => {
                let Some((mut steps, question)) = same_again(&mut out, steps, question) else { continue };
                drop_guess(&mut out, &mut steps, &mut earlier);
                earlier.push((out.steps.len(), clause.earlier));
                out.steps.extend(steps);
                if out.question.is_none() {
                    out.question = question;
                }
            }
            Read::Ask(question, steps) => {
                out.question = Some(question);
                out.steps.extend(steps);
                break;
            }
            Read::Outside(reason) if out.steps.is_empty() => {
                let talk = talk::is_only_said(text, &clause);
                out.kind = if talk { Kind::Chat } else { Kind::OutOfScope };
                out.reasons.push(reason);
            }
            Read::Outside(reason) => out.reasons.push(reason),
        }
    }
    if let Some((steps, question)) = remark {
        if out.steps.is_empty() && out.question.is_none() {
            (out.steps, out.question) = (steps, question);
        } else if let Some(first) = steps.first() {
            out.reasons.push(format!("\"{}\" only says why", first.said));
        }
    }
    reorder(&mut out.steps, &earlier);
    finish(reader, &mut out, &shares);
    out
}

/// Whether the clause is only a remark of the speaker, without a usable request.
fn idle(text: &Text, clause: &Clause, question: Option<&Question>) -> bool {
    matches!(question, Some(Question { why: QuestionKind::Entity | QuestionKind::Field, .. }))
        && is_remark(text, clause.start, clause.end)
}

/// "The flights are getting expensive, make that one urgent": a step guessed from a statement is
/// dropped if the next request is about the same record.
fn drop_guess(out: &mut Understood, steps: &mut [Step], earlier: &mut Vec<(usize, bool)>) {
    let at = out.steps.len().saturating_sub(1);
    let (Some(last), [next]) = (out.steps.last(), &mut *steps) else { return };
    let guessed = out.steps.len() == 1
        && out.question.is_none()
        && !last.reasons.iter().any(|reason| reason == VERB_FITS)
        && last.target.is_some();
    let same = matches!(&next.target, Some(Target::Known { .. })) && next.target == last.target;
    let of_last = matches!(&next.target, Some(Target::OfStep { step, .. }) if *step == at);
    if guessed && same && !of_last && !next.read_only && next.reasons.iter().any(|reason| reason == VERB_FITS)
    {
        // The dependency is removed.
        next.after.clear();
        out.steps.clear();
        earlier.clear();
    }
}

/// "Four tins are damaged, please write them off": a repeated request about the same record is one
/// request. Returns what is new.
fn same_again(
    out: &mut Understood,
    steps: Vec<Step>,
    question: Option<Question>,
) -> Option<(Vec<Step>, Option<Question>)> {
    let [next] = steps.as_slice() else { return Some((steps, question)) };
    let at = out.steps.len().saturating_sub(1);
    let asked = out.question.as_ref().filter(|question| question.step == at).map(|question| question.why);
    let Some(last) = out.steps.last_mut().filter(|last| last.act == next.act && last.tool().is_some()) else {
        return Some((steps, question));
    };
    // A clause with its own question is a separate request.
    let missing = |question: &Question| question.why == QuestionKind::Field;
    if question.as_ref().is_some_and(|question| !missing(question)) {
        return Some((steps, question));
    }
    let of_last =
        matches!(&next.target, Some(Target::OfStep { step, pick: Pick::It | Pick::All, .. }) if *step == at);
    let twice = last.read_only && last.target.is_none() && next.target.is_none();
    let same = twice || of_last || (next.target.is_some() && last.target == next.target);
    let agree = next
        .arguments
        .iter()
        .all(|(name, argument)| last.arguments.get(name).is_none_or(|known| known.value == argument.value));
    if !same || !agree {
        return Some((steps, question));
    }
    last.also.extend(next.also.iter().cloned());
    for (name, argument) in &next.arguments {
        last.arguments.entry(name.clone()).or_insert_with(|| argument.clone());
    }
    last.missing.retain(|name| !next.arguments.contains_key(name));
    if asked == Some(QuestionKind::Field) && last.missing.is_empty() {
        out.question = None;
    }
    None
}

/// "Before you delete it, show it": the second part is executed first.
fn reorder(steps: &mut [Step], earlier: &[(usize, bool)]) {
    if let [(0, false), (at, true)] = earlier
        && *at == 1
        && steps.len() == 2
    {
        steps.reverse();
        for step in steps.iter_mut() {
            step.after.clear();
        }
        if let Some(last) = steps.last_mut() {
            last.after = vec![0];
        }
    }
}

/// Sets the fields that depend on all steps.
pub(super) fn finish(reader: &Reader, out: &mut Understood, shares: &BTreeMap<DomainName, f32>) {
    if out.kind == Kind::OutOfScope && !out.steps.is_empty() {
        out.kind = Kind::Act;
    }
    let change = out.steps.iter().find(|step| !step.read_only).or_else(|| out.steps.first());
    out.intent = change.and_then(|step| step.intent);
    out.confidence = out
        .steps
        .iter()
        .map(|step| step.confidence)
        .fold(None, |least: Option<Confidence>, one| {
            Some(least.map_or(one, |least| if one < least { one } else { least }))
        })
        .unwrap_or_default();
    let mut domains: Vec<(DomainName, Confidence)> = Vec::new();
    for step in &out.steps {
        if let Some(domain) =
            step.domain.as_ref().filter(|domain| !domains.iter().any(|(known, _)| known == *domain))
        {
            domains.push((domain.clone(), step.confidence));
        }
    }
    let mut others: Vec<(&DomainName, f32)> = shares.iter().map(|(domain, share)| (domain, *share)).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (domain, share) in others {
        if !domains.iter().any(|(known, _)| known == domain) {
            domains.push((domain.clone(), sure(share)));
        }
    }
    out.domains = domains;
    if out.kind == Kind::OutOfScope {
        let titles: Vec<&str> = reader.domains.iter().map(|topic| topic.title.as_str()).collect();
        out.reasons.push(format!("what can be asked about: {}", titles.join(", ")));
    }
}

/// The result of interpreting a clause.
pub(super) enum Read {
    Steps(Vec<Step>, Option<Question>),
    Ask(Question, Vec<Step>),
    Outside(String),
}

fn clause_steps(
    reader: &Reader,
    text: &Text,
    ground: &Ground<'_>,
    clause: &Clause,
    given: &TurnContext<'_>,
    domains: &BTreeMap<DomainName, f32>,
    earlier: &[Step],
) -> Read {
    let catalogue = &reader.catalogue;
    let (start, end) = text.trimmed(clause.start, clause.end);
    let days = days(text, given.today);
    let said = UtteranceContext { text, catalogue, days: &days, ground };
    let (spoken, recent) = (given, bridged(given));
    let given = &TurnContext { recent: &recent, ..*given };
    let clause = &unnamed(ground, &pointing(text, clause, given));
    let before = earlier.last().filter(|_| clause.inherits).and_then(Step::tool);
    let mut around = around(reader, text, clause, given, domains, before);
    let shows = earlier.last().filter(|step| step.read_only && step.target.is_none());
    let shows = shows.and_then(Step::tool).and_then(|tool| catalogue.tool(tool));
    around.shown = shows.and_then(|tool| tool.gives.as_deref().or(tool.entity.as_deref()));
    let found = choose(&said, clause, &around);
    let strongest = clause.cues.iter().map(|cue| cue.weight).fold(0.0, f32::max);
    if let Some(question) = bare(&said, clause, &found, strongest, given, earlier) {
        return Read::Ask(question, Vec::new());
    }
    let Some(best) = found.first() else { return Read::Outside("there are no tools".into()) };
    let best = of_all(catalogue, text, clause, &found).unwrap_or(best);
    let one = about_one(&said, clause, &around, &found);
    let is_inside = one.is_some() || scope::inside(&said, best, clause, &around);
    let best = one.unwrap_or(best);
    if service(catalogue, text.plain.get(clause.start..clause.end).unwrap_or_default().trim()) || !is_inside {
        return Read::Outside(format!("{NOTHING} \"{}\" asks for", text.slice(start, end)));
    }
    let plain = text.plain.get(start..end).unwrap_or_default();
    let can = |record: &RecordRef| referent::candidate(catalogue, &found, best, record).is_some();
    // The result of an earlier step in the same message takes precedence over what the conversation
    // showed.
    let listed = referent::shown_by(catalogue, plain, earlier);
    let referent = match &listed {
        Some(listed) => Referent::Latest(listed.clone()),
        None => referent::read(catalogue, plain, spoken, &can),
    };
    let numbered = referent::numbered(catalogue, plain, spoken).filter(|_| earlier.is_empty());
    let best = numbered.and_then(|row| referent::candidate(catalogue, &found, best, row)).unwrap_or(best);
    let points = earlier.is_empty() || listed.is_some();
    let best = if points { referent::pointed_at(catalogue, &found, best, &referent) } else { best };
    let Some(tool) = catalogue.tools.get(best.at) else { return Read::Outside("there are no tools".into()) };
    if let Some(question) = which_new(catalogue, &found, tool, best, earlier.len(), text.slice(start, end)) {
        return Read::Ask(question, Vec::new());
    }
    if let Some(steps) = all_of(&said, clause, &found, best, earlier) {
        return Read::Steps(steps, None);
    }
    if let Some(read) = namesake::ask_which(&said, clause, spoken, &found, best, earlier.len()) {
        return read;
    }
    let step = base_step(catalogue, text, clause, &found, best);
    let scene = Scene { catalogue, text, clause, given, earlier, tool, referent: &referent };
    act_on(&scene, best, step)
}

/// "Assign all open repairs to Keystone": an action on all records that match, however many words
/// describe them.
fn of_all<'a>(
    catalogue: &Catalogue,
    text: &Text,
    clause: &Clause,
    found: &'a [Candidate],
) -> Option<&'a Candidate> {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let plain = text.plain.get(start..end)?;
    let all =
        ["all ", "every ", "each "].iter().any(|word| plain.contains(word)) && !plain.contains("all of them");
    let several = tokens_within(text, start, end)
        .any(|token| plural(&token.lower) && !catalogue.types_of(&token.lower).is_empty());
    let changes = |cue: &Cue| {
        cue.weight >= 4.0 && !cue.spans.is_empty() && matches!(cue.class, Some(Class::Update | Class::Delete))
    };
    if !all || !several || clause.asks || !clause.cues.iter().any(changes) {
        return None;
    }
    found.iter().find(|other| {
        catalogue
            .tools
            .get(other.at)
            .is_some_and(|tool| !tool.tool.read_only && tool.target().is_some() && other.verb >= 2.0)
    })
}

/// The context for ranking the tools of a clause.
fn around<'a>(
    reader: &'a Reader,
    text: &Text,
    clause: &Clause,
    given: &'a TurnContext<'_>,
    domains: &'a BTreeMap<DomainName, f32>,
    before: Option<&'a str>,
) -> ChoiceContext<'a> {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let plain = text.plain.get(start..end).unwrap_or_default();
    ChoiceContext {
        encoder: &reader.encoder,
        recent: given.recent,
        vector: reader.encoder.embed(text.slice(start, end)),
        domains,
        back: points_back(plain) || place(plain).is_some(),
        before,
        shown: None,
    }
}

/// "The board one, please": pointing at a record asks to see it.
fn pointing(text: &Text, clause: &Clause, given: &TurnContext<'_>) -> Clause {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let mut clause = clause.clone();
    let says = plain.contains(" is ") || plain.contains(" are ");
    let pointed = (place(plain).is_some() || plain.ends_with(" one")) && !says;
    if pointed && !given.recent.is_empty() && clause.cues.iter().all(|cue| cue.weight < 2.0) {
        clause.cues.push(Cue {
            group: "read".into(),
            class: Some(Class::Read),
            weight: 3.0,
            spans: Vec::new(),
        });
    }
    clause
}

/// "Gone Girl": a verb inside a name is not a verb.
fn unnamed(ground: &Ground<'_>, clause: &Clause) -> Clause {
    let mut clause = clause.clone();
    let inside = |(start, end): &(usize, usize)| {
        ground
            .at(*start)
            .is_some_and(|mention| mention.whole && mention.several && mention.capital && *end <= mention.end)
    };
    clause.cues.retain(|cue| cue.spans.is_empty() || !cue.spans.iter().all(inside));
    clause
}

/// "When does Ann Bell leave?": a question about a named record that no other tool answers is
/// answered by showing the record.
fn about_one<'a>(
    said: &UtteranceContext<'_>,
    clause: &Clause,
    around: &ChoiceContext<'_>,
    found: &'a [Candidate],
) -> Option<&'a Candidate> {
    let UtteranceContext { text, catalogue, .. } = *said;
    let (start, end) = text.trimmed(clause.start, clause.end);
    let named = text
        .tokens
        .iter()
        .any(|token| token.start > start && token.end <= end && token.capital && !token.quoted);
    let best = found.first()?;
    if !clause.asks || strong(clause) || !named || scope::inside(said, best, clause, around) {
        return None;
    }
    // The attribute is a word of another tool for the same type: "leave", if guests are checked
    // out.
    let spoken_of = |read: &Prepared| {
        let same = |other: &Prepared| {
            let selects =
                |field: &&ToolField| field.role == Role::Selector && other.named(&field.name).is_some();
            other.tool.domain == read.tool.domain
                && (other.entity == read.entity || read.fields.iter().any(|field| selects(&field)))
        };
        found.iter().any(|other| other.told >= 1.0 && catalogue.tools.get(other.at).is_some_and(same))
    };
    let names = found.iter().any(|other| other.filled.grounded.is_some());
    found.iter().find(|other| {
        (if names { other.filled.grounded.is_some() } else { other.filled.target.is_some() })
            && catalogue.tools.get(other.at).is_some_and(|tool| {
                tool.class == Class::Read
                    && tool.tool.read_only
                    && (scope::inside(said, other, clause, around) || spoken_of(tool))
            })
    })
}

pub(super) fn strong(clause: &Clause) -> bool {
    clause.cues.iter().any(|cue| cue.weight >= 3.8)
}
