//! From clauses to steps: the tool of each, what it acts on, what must be asked first, and what follows what.

use super::answer;
use super::catalogue::{Catalogue, Known, Prepared, Role};
use super::choose::{Around, Candidate, choose, gibberish, service};
use super::follow;
use super::lexicon::{CHAT, HELP};
use super::place::place;
use super::point::Scene;
use super::steps::{act_on, all_of, base_step};
use super::text::{LONGEST, Text};
use super::types::{Answered, Choice, Given, Kind, Question, Step, Understood, Why};
use super::values::days;
use super::verbs::Class;
use super::wish::{Clause, Cue, clauses, heads, points_back};
use super::{Reader, route};
use crate::skill::sure;
use regex::Regex;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use steward_domain::{Confidence, DomainName};

/// The most steps that one utterance comes to.
const STEPS: usize = 12;

pub(super) fn understand(reader: &Reader, said: &str, given: &Given<'_>) -> Understood {
    let mut text = Text::read(said);
    let mut answered = Answered::Nothing;
    if let Some(pending) = given.pending {
        if let Some(done) = answer::answer(reader, &text, given, pending) {
            return done;
        }
        answered = Answered::Unrelated;
    }
    let mut out = fresh(reader, &mut text, given);
    out.answered = answered;
    if text.cut {
        out.reasons.push(format!("only the first {LONGEST} bytes were read"));
    }
    let home = |steps: &[Step]| steps.iter().find_map(|step| step.domain.clone());
    out.changed_topic =
        matches!((home(given.before), home(&out.steps)), (Some(before), Some(now)) if before != now);
    out
}

fn is(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Reads an utterance that answers no question.
fn fresh(reader: &Reader, text: &mut Text, given: &Given<'_>) -> Understood {
    if text.tokens.is_empty() {
        return Understood::plain(Kind::Chat, "nothing was said");
    }
    if is(&HELP, text.plain.trim()) {
        return Understood::plain(Kind::Help, "it asks what can be done");
    }
    if is(&CHAT, text.plain.trim()) {
        return Understood::plain(Kind::Chat, "it is small talk");
    }
    if gibberish(&text.tokens) {
        return Understood::plain(Kind::Chat, "no word of it can be read");
    }
    let heads = heads(text);
    reader.catalogue.mend(text, &heads);
    if let Some(followed) = follow::follow(reader, text, given) {
        return followed;
    }
    let mut out = Understood::plain(Kind::Act, "");
    out.reasons.clear();
    let mut shares: BTreeMap<DomainName, f32> = BTreeMap::new();
    let mut earlier: Vec<(usize, bool)> = Vec::new();
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
        let read = clause_steps(reader, text, &clause, given, &routed.domains, &out.steps);
        match read {
            Read::Steps(steps, question) => {
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
                out.kind = Kind::OutOfScope;
                out.reasons.push(reason);
            }
            Read::Outside(reason) => out.reasons.push(reason),
        }
    }
    reorder(&mut out.steps, &earlier);
    finish(reader, &mut out, &shares);
    out
}

/// "Before you delete it, show it": what is said second is done first.
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

/// What the steps have in common.
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

/// What a clause comes to.
pub(super) enum Read {
    Steps(Vec<Step>, Option<Question>),
    Ask(Question, Vec<Step>),
    Outside(String),
}

fn clause_steps(
    reader: &Reader,
    text: &Text,
    clause: &Clause,
    given: &Given<'_>,
    domains: &BTreeMap<DomainName, f32>,
    earlier: &[Step],
) -> Read {
    let catalogue = &reader.catalogue;
    let (start, end) = text.trimmed(clause.start, clause.end);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let days = days(text, given.today);
    let around = Around {
        days: &days,
        recent: given.recent,
        vector: reader.encoder.embed(text.slice(start, end)),
        domains,
        back: points_back(plain) || place(plain).is_some(),
        before: earlier.last().filter(|_| clause.inherits).and_then(Step::tool),
    };
    // "The board one, please": to point at something is to ask to see it.
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
    let clause = &clause;
    let found = choose(text, catalogue, clause, &around);
    let strongest = clause.cues.iter().map(|cue| cue.weight).fold(0.0, f32::max);
    if let Some(question) = bare(catalogue, text, clause, &found, strongest, given, earlier) {
        return Read::Ask(question, Vec::new());
    }
    let Some(best) = found.first() else { return Read::Outside("there are no tools".into()) };
    let one = about_one(catalogue, text, clause, &around, &found);
    let is_inside = one.is_some() || inside(catalogue, best, clause, &around, text);
    let best = one.unwrap_or(best);
    if service(catalogue, text.plain.get(clause.start..clause.end).unwrap_or_default().trim()) || !is_inside {
        return Read::Outside(format!("nothing here does what \"{}\" asks for", text.slice(start, end)));
    }
    let Some(tool) = catalogue.tools.get(best.at) else { return Read::Outside("there are no tools".into()) };
    if let Some(question) = which_new(catalogue, &found, tool, best, earlier.len(), text.slice(start, end)) {
        return Read::Ask(question, Vec::new());
    }
    if let Some(steps) = all_of(catalogue, text, clause, &found, best, &days, earlier) {
        return Read::Steps(steps, None);
    }
    let step = base_step(catalogue, text, clause, &found, best);
    act_on(&Scene { catalogue, text, clause, given, earlier, tool }, best, step)
}

/// "When does Ann Bell leave?": a question about something named, which nothing else answers, is answered by showing it.
fn about_one<'a>(
    catalogue: &Catalogue,
    text: &Text,
    clause: &Clause,
    around: &Around<'_>,
    found: &'a [Candidate],
) -> Option<&'a Candidate> {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let named = text
        .tokens
        .iter()
        .any(|token| token.start > start && token.end <= end && token.capital && !token.quoted);
    let best = found.first()?;
    if !clause.asks || strong(clause) || !named || inside(catalogue, best, clause, around, text) {
        return None;
    }
    // What is asked of it is a word that a tool uses which acts on the same: "leave", where guests are checked out.
    let spoken_of = |read: &Prepared| {
        let same = |other: &Prepared| {
            let selects = |field: &&Known| field.role == Role::Selector && other.named(&field.name).is_some();
            other.tool.domain == read.tool.domain
                && (other.entity == read.entity || read.fields.iter().any(|field| selects(&field)))
        };
        found.iter().any(|other| other.told >= 1.0 && catalogue.tools.get(other.at).is_some_and(same))
    };
    found.iter().find(|other| {
        other.filled.target.is_some()
            && catalogue.tools.get(other.at).is_some_and(|tool| {
                tool.class == Class::Read
                    && tool.tool.read_only
                    && (inside(catalogue, other, clause, around, text) || spoken_of(tool))
            })
    })
}

/// Whether anything but chance speaks for the best tool.
fn inside(
    catalogue: &Catalogue,
    best: &Candidate,
    clause: &Clause,
    around: &Around<'_>,
    text: &Text,
) -> bool {
    let Some(tool) = catalogue.tools.get(best.at) else { return false };
    let (start, end) = text.trimmed(clause.start, clause.end);
    let named = text
        .tokens
        .iter()
        .any(|token| token.start > start && token.end <= end && (token.capital || token.quoted));
    let points = around.back && (!around.recent.is_empty() || clause.inherits || strong(clause));
    let values = best.filled.evidence;
    let typed = best.filled.arguments.keys().filter_map(|name| tool.named(name)).any(|field| {
        matches!(
            field.role,
            Role::Choice | Role::Flag | Role::Day | Role::Time | Role::Email | Role::Phone | Role::Number
        )
    });
    let something = (typed && values >= 1.2)
        || best.noun > 0.5
        || best.filled.id.is_some()
        || (values >= 0.8 && best.verb >= 2.0)
        || (values >= 1.5 && tool.tool.read_only)
        || values >= 2.5;
    let asked = clause.asks && !strong(clause);
    if something && best.score > 2.0 {
        return true;
    }
    if asked {
        // Who asks about "I" and "we" asks about what is kept here; so does who looks for words, or quotes a name.
        let plain = text.plain.get(start..end).unwrap_or_default();
        let own =
            plain.split(|c: char| !c.is_alphanumeric()).any(|word| ["i", "we", "my", "our"].contains(&word));
        let looks = tool.class == Class::Search
            && tool
                .fields
                .iter()
                .any(|field| field.role == Role::Query && best.filled.arguments.contains_key(&field.name));
        let quoted = best
            .filled
            .target
            .as_ref()
            .is_some_and(|piece| text.quotes.iter().any(|quote| quote.start == piece.start));
        // A name, with a word that the tool's description uses or "who": "who has Dune?".
        let who = plain.starts_with("who ") && tool.tool.description.contains("who ");
        if named
            && tool.class == Class::Read
            && best.filled.target.is_some()
            && (best.told > 0.0 || who || best.verb >= 3.8 || best.near > 0.2)
        {
            return true;
        }
        return best.near > 0.42
            || (best.verb >= 2.5 && (points || own || looks || quoted || (named && best.near > 0.25)));
    }
    if tool.class == Class::Create && best.verb >= 3.5 {
        return true;
    }
    // A statement with no verb that is known: what it means and what is named speak for the tool.
    if best.near > 0.35 && (best.told >= 1.0 || best.filled.target.is_some()) {
        return true;
    }
    // "Ann Bell has arrived": of something named, in a word that the description of the tool uses.
    if best.told >= 1.0 && best.filled.target.is_some() && best.near > 0.1 && !tool.tool.read_only {
        return true;
    }
    best.verb >= 2.5 && (tool.target().is_some() || best.near > 0.12 || points || tool.class == Class::Search)
}

fn strong(clause: &Clause) -> bool {
    clause.cues.iter().any(|cue| cue.weight >= 3.8)
}

static VAGUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:do (?:something|anything)|deal with|take care of|handle|sort out|see to) ").ok()
});

/// A few words with no wish in them: what is to be done is asked.
fn bare(
    catalogue: &Catalogue,
    text: &Text,
    clause: &Clause,
    found: &[Candidate],
    strongest: f32,
    given: &Given<'_>,
    earlier: &[Step],
) -> Option<Question> {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let vague = is(&VAGUE, plain);
    let tokens: Vec<_> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let proper = tokens.iter().all(|token| token.capital || token.lower == "and");
    let inner_stop = !proper && tokens.iter().skip(1).any(|token| token.stop);
    let typed = tokens.iter().any(|token| !catalogue.types_of(&token.lower).is_empty());
    let valued = found.first().is_some_and(|best| best.filled.evidence >= 1.5 || best.filled.id.is_some());
    let first = found.first().and_then(|best| catalogue.tools.get(best.at));
    let pointed =
        points_back(plain) || place(plain).is_some() || (!given.recent.is_empty() && plain.contains(" one"));
    let mine = tokens.first().is_some_and(|token| ["my", "our", "any"].contains(&token.lower.as_str()));
    let words = strongest < 2.0
        && tokens.len() <= 3
        && !inner_stop
        && !typed
        && !valued
        && !pointed
        && !mine
        && !clause.asks
        && earlier.is_empty();
    if !vague && !words {
        return None;
    }
    let mut options: Vec<Choice> = Vec::new();
    let acts = |tool: &Prepared| {
        if vague {
            tool.target().is_some() && tool.class != Class::Delete
        } else {
            tool.class != Class::Delete
        }
    };
    // What only shows something comes first.
    let order = |class: Class| match class {
        Class::Search => 0,
        Class::List => 1,
        Class::Read => 2,
        Class::Create => 3,
        Class::Update | Class::Delete => 4,
    };
    let home = first.and_then(|tool| tool.tool.domain.clone());
    let mut fitting: Vec<&Prepared> = found
        .iter()
        .filter_map(|candidate| catalogue.tools.get(candidate.at))
        .filter(|tool| acts(tool) && tool.tool.domain == home)
        .collect();
    fitting.sort_by_key(|tool| order(tool.class));
    for tool in fitting.into_iter().take(10) {
        options.push(Choice { label: label(&tool.tool.description), value: json!(tool.tool.name) });
    }
    let words = text.slice(start, end).to_owned();
    Some(Question {
        options,
        words,
        ..Question::open(
            Why::Meaning,
            format!("What should I do with \"{}\"?", text.slice(start, end)),
            earlier.len(),
        )
    })
}

/// The first sentence of a description, as an option.
pub(super) fn label(description: &str) -> String {
    let first = description.split(['.', ';', ':']).next().unwrap_or(description).trim();
    first.chars().take(80).collect()
}

/// "Add Fernway": when two sorts of things could be made and nothing says which, that is asked.
fn which_new(
    catalogue: &Catalogue,
    found: &[Candidate],
    tool: &Prepared,
    best: &Candidate,
    at: usize,
    said: &str,
) -> Option<Question> {
    if tool.class != Class::Create || best.noun > 0.0 || best.filled.evidence > 1.0 {
        return None;
    }
    let rivals: Vec<&Prepared> = found
        .iter()
        .filter(|other| best.score - other.score < 1.5 && other.filled.missing.is_empty())
        .filter_map(|other| catalogue.tools.get(other.at))
        .filter(|other| other.class == Class::Create && other.tool.domain == tool.tool.domain)
        .collect();
    if rivals.len() < 2 {
        return None;
    }
    let options: Vec<Choice> = rivals
        .iter()
        .map(|tool| Choice { label: label(&tool.tool.description), value: json!(tool.tool.name) })
        .collect();
    let words = said.to_owned();
    Some(Question { options, words, ..Question::open(Why::Meaning, "What should it be?", at) })
}
