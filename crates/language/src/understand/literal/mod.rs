//! Requests that name what they act on outright: a path, a statement of SQL, a quoted text, the
//! name of a table.
//!
//! Invariants
//! - A tool is taken only when everything that surely is data went into one of its fields.
//! - What fits two tools, or leaves a piece over, becomes a question; nothing is dropped.
//!
//! The rest of the reader knows things by records and titles. Tools over files, repositories and
//! databases have neither: what they take stands in the request, word for word.

mod fill;
mod slot;
mod span;

use super::catalogue::{Catalogue, Prepared};
use super::lexicon::root;
use super::plan::finish;
use super::steps::{ask_field, stands_for};
use super::text::Text;
use super::types::{Act, Argument, Choice, Kind, Question, QuestionKind, Step, Understood};
use super::unsure::label;
use super::verbs::{Class, verb_groups};
use super::wish::Clause;
use super::{Reader, catalogue::Role};
use crate::cosine;
use crate::skill::sure;
use crate::words::{is_stop, name_words, words};
use fill::{LiteralFill, fill};
use serde_json::json;
use slot::{Slot, slots};
use span::{Count, Literal, LiteralKind};
use std::collections::{BTreeMap, BTreeSet};

/// By how much the best tool must lead.
const LEAD: f32 = 0.45;
/// What must speak for a tool beside its fields.
const GROUNDS: f32 = 1.2;
/// How far behind a tool may be to be offered.
const NEAR: f32 = 3.0;

/// An utterance with its pieces.
struct Request {
    literals: Vec<Literal>,
    counts: Vec<Count>,
    /// Roots of the words that are no data and no small words.
    roots: BTreeSet<String>,
    /// What the first word asks for.
    head: Option<Class>,
    /// What was said with its data left out.
    masked: String,
}

/// A tool, with what it was told and what speaks for it.
struct Candidate<'a> {
    tool: &'a Prepared,
    filled: LiteralFill,
    score: f32,
    /// What the words say for it, without its fields.
    grounds: f32,
}

impl Request {
    fn read(text: &Text) -> Self {
        let literals = span::read(&text.raw);
        let counts = span::counts(&text.raw, &literals);
        let inside = |start: usize, end: usize| {
            literals.iter().any(|one| one.start < end && start < one.end)
                || counts.iter().any(|one| one.start < end && start < one.end)
        };
        let plain: Vec<_> = text.tokens.iter().filter(|token| !inside(token.start, token.end)).collect();
        let roots = plain.iter().filter(|token| !token.stop).map(|token| token.root.clone()).collect();
        let first =
            plain.iter().find(|token| !["please", "can", "could", "you"].contains(&token.lower.as_str()));
        let asks = ["what", "which", "how", "where", "when", "who", "is", "are", "does", "do"];
        let head = first.and_then(|token| {
            let asked = asks.contains(&token.lower.as_str()).then_some(Class::Read);
            asked.or_else(|| verb_groups(&token.root).first().map(|(_, class)| *class))
        });
        Self { masked: masked(&text.raw, &literals), literals, counts, roots, head }
    }

    fn is_hard(&self) -> bool {
        self.literals.iter().any(Literal::is_hard)
    }
}

/// What was said with a word for the kind of each piece in its place.
fn masked(raw: &str, literals: &[Literal]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for one in literals.iter().filter(|one| one.kind != LiteralKind::Name) {
        out.push_str(raw.get(at..one.start).unwrap_or_default());
        out.push_str(match one.kind {
            LiteralKind::Sql => "query",
            LiteralKind::Glob => "pattern",
            LiteralKind::File => "file",
            LiteralKind::Absolute => "path",
            _ => "it",
        });
        at = one.end;
    }
    out.push_str(raw.get(at..).unwrap_or_default());
    out
}

/// Reads a request with pieces that can only be data; nothing when there are none, or no tool takes
/// any of them.
pub(super) fn understand(reader: &Reader, text: &Text) -> Option<Understood> {
    let request = Request::read(text);
    if !request.is_hard() {
        return None;
    }
    let ranked = rank(reader, &request);
    let takes = |one: &&Candidate<'_>| {
        let spans = one.filled.arguments.values().filter_map(|argument| argument.span);
        let hard = |start: usize| request.literals.iter().any(|one| one.start == start && one.is_hard());
        spans.into_iter().any(|(start, _)| hard(start))
    };
    ranked.iter().find(takes)?;
    let best = ranked.first()?;
    let second = ranked.iter().skip(1).find(|other| other.filled.unused_hard == best.filled.unused_hard);
    let leads = second.is_none_or(|second| best.score - second.score >= LEAD);
    let sure = best.filled.unused_hard == 0 && best.filled.unused_quotes == 0 && best.grounds >= GROUNDS;
    if sure && leads {
        return Some(acted(reader, text, &ranked, best));
    }
    // Data that can be asked in plain words may be what is meant.
    let data = |topic: &crate::route::Topic| {
        reader.catalogue.tools.iter().all(|tool| tool.tool.domain.as_ref() != Some(&topic.name))
    };
    if reader.domains.iter().any(data) {
        return None;
    }
    Some(asked(reader, text, &ranked))
}

/// The same understanding, with what the rest of the reader could not place: a field that it asks
/// for and that was said, words to look for with where to look.
pub(super) fn completed(reader: &Reader, text: &Text, mut out: Understood) -> Understood {
    tidy_queries(&reader.catalogue, &mut out);
    let asks = out.question.as_ref().is_some_and(|question| question.why == QuestionKind::Field);
    let [step] = out.steps.as_mut_slice() else { return unless_outside(reader, text, out) };
    let Some(tool) = step.tool().and_then(|name| reader.catalogue.tool(name)).filter(|_| asks) else {
        return out;
    };
    let request = Request::read(text);
    let filled = fill(&slots(&tool.tool.input, &tool.tool.description), &request.literals, &request.counts);
    if filled.arguments.is_empty() || filled.unused_hard + filled.unused_quotes > 0 {
        return out;
    }
    // A piece that fills one field already is not the value of another.
    let is_taken = |argument: &Argument| {
        step.arguments.values().any(|known| {
            known.value == argument.value
                || matches!((known.span, argument.span), (Some(a), Some(b)) if a.0 < b.1 && b.0 < a.1)
        })
    };
    // A bare name may as well be what the request is about.
    let is_name = |argument: &Argument| {
        let mut literals = request.literals.iter().filter(|one| one.kind == LiteralKind::Name);
        argument.span.is_some_and(|(start, _)| literals.any(|one| one.start == start))
    };
    let fits = |argument: &Argument| !is_taken(argument) && !is_name(argument);
    let new: Vec<_> = filled.arguments.into_iter().filter(|(_, argument)| fits(argument)).collect();
    if new.is_empty() {
        return out;
    }
    step.arguments.extend(new);
    let known: Vec<String> = step.arguments.keys().cloned().collect();
    step.missing.retain(|name| !known.contains(name));
    if step.target_field.as_ref().is_some_and(|field| known.contains(field)) {
        step.target = None;
    }
    let clause = Clause { start: 0, end: text.raw.len(), ..Clause::default() };
    out.question = match out.steps.first() {
        Some(step) if !step.missing.is_empty() => ask_field(&reader.catalogue, step, 0, &clause),
        _ => None,
    };
    out
}

/// What seemed to belong nowhere may name a tool's fields outright.
fn unless_outside(reader: &Reader, text: &Text, out: Understood) -> Understood {
    if out.kind != Kind::OutOfScope {
        return out;
    }
    let request = Request::read(text);
    if request.literals.is_empty() {
        return out;
    }
    let ranked = rank(reader, &request);
    match ranked.as_slice() {
        [best, rest @ ..]
            if best.filled.is_complete()
                && best.filled.used > 0
                && best.grounds >= 2.0 * GROUNDS
                && rest.first().is_none_or(|second| best.score - second.score >= 2.0 * LEAD) =>
        {
            acted(reader, text, &ranked, best)
        }
        _ => out,
    }
}

/// All tools, the likeliest first.
fn rank<'a>(reader: &'a Reader, request: &Request) -> Vec<Candidate<'a>> {
    let vector = reader.encoder.embed(&request.masked);
    let mut found: Vec<Candidate<'a>> = reader
        .catalogue
        .tools
        .iter()
        .filter(|tool| !tool.free)
        .map(|tool| {
            let fields = slots(&tool.tool.input, &tool.tool.description);
            let filled = fill(&fields, &request.literals, &request.counts);
            let near = vector.as_ref().zip(tool.vector.as_ref()).map_or(0.0, |(a, b)| cosine(a, b).max(0.0));
            let grounds = spoken(request, tool, &fields) + 4.0 * near;
            let score = grounds + told(request, tool, &filled);
            Candidate { tool, filled, score, grounds }
        })
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.tool.tool.name.cmp(&b.tool.tool.name)));
    found
}

/// What the words of a request say for a tool: its verb, the words of its name, of its description
/// and of its fields.
fn spoken(request: &Request, tool: &Prepared, fields: &[Slot]) -> f32 {
    let (server, own) = tool.tool.name.split_once('.').unwrap_or(("", &tool.tool.name));
    let server: BTreeSet<String> = name_words(server).iter().map(|word| root(word)).collect();
    let names: BTreeSet<String> =
        name_words(own).iter().map(|word| root(word)).filter(|word| !server.contains(word)).collect();
    let groups = |word: &String| verb_groups(word).iter().any(|(group, _)| tool.groups.contains(group));
    let verb = if request.roots.iter().any(groups) || request.roots.contains(&tool.verb) {
        2.0
    } else if request.roots.contains(&tool.told) {
        1.5
    } else {
        0.0
    };
    let said = |word: &&String| request.roots.contains(*word);
    let named = names.iter().filter(said).count().min(3) as f32;
    let unsaid = names.iter().filter(|word| !said(word) && !groups(word)).count() as f32;
    let described: BTreeSet<String> = words(&tool.tool.description)
        .into_iter()
        .filter(|word| !word.stop)
        .map(|word| root(&word.lower))
        .filter(|word| !names.contains(word))
        .collect();
    let told = described.iter().filter(|word| request.roots.contains(*word)).count().min(4) as f32;
    let field = fields
        .iter()
        .flat_map(|slot| slot.words.iter())
        .filter(|word| request.roots.contains(&root(word)))
        .count()
        .min(2) as f32;
    let home = server.iter().filter(said).count().min(1) as f32;
    let changes = |class: Class| matches!(class, Class::Create | Class::Update | Class::Delete);
    let against = match request.head {
        Some(head) if changes(head) && tool.tool.read_only => 2.5,
        Some(head) if !changes(head) && !tool.tool.read_only && changes(tool.class) => 2.5,
        Some(Class::Delete) if tool.class != Class::Delete => 1.0,
        Some(head) if tool.class == Class::Delete && head != Class::Delete => 2.5,
        _ => 0.0,
    };
    let old = if tool.tool.description.to_lowercase().contains("deprecated") { 2.0 } else { 0.0 };
    verb + named + 0.6 * told + 0.3 * field + 1.0 * home - 0.4 * unsaid - against - old
}

/// What the fields of a tool say for it.
fn told(request: &Request, tool: &Prepared, filled: &LiteralFill) -> f32 {
    let counted = |filled: usize, weight: f32| filled as f32 * weight;
    let mut score = counted(filled.used, 1.2)
        - counted(filled.unused_hard, 4.0)
        - counted(filled.unused_quotes, 2.5)
        - counted(filled.unused_names, 0.4)
        - counted(filled.missing.len(), 2.0);
    for one in &request.literals {
        if one.kind == LiteralKind::Sql && !admits(tool, &one.text) {
            score -= 5.0;
        }
        if one.kind == LiteralKind::File && !is_of_kind(tool, &one.text) {
            score -= 2.0;
        }
    }
    score
}

/// Whether a tool takes a statement of this sort, by what its description names.
fn admits(tool: &Prepared, statement: &str) -> bool {
    let about = tool.tool.description.to_lowercase();
    let verb = statement.split_whitespace().next().unwrap_or_default().to_lowercase();
    let verb = if ["with", "pragma"].contains(&verb.as_str()) { "select" } else { verb.as_str() };
    let verbs = ["select", "insert", "update", "delete", "create", "drop", "alter"];
    let named = |verb: &&&str| words(&about).iter().any(|word| root(&word.lower) == root(verb));
    let any = verbs.iter().any(|verb| named(&verb));
    !any || named(&&verb)
}

/// Whether a tool reads files of this kind: one for pictures and sounds is not for texts.
fn is_of_kind(tool: &Prepared, file: &str) -> bool {
    let about = tool.tool.description.to_lowercase();
    let ending = file.rsplit('.').next().unwrap_or_default().to_lowercase();
    let media =
        ["png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "ico", "mp3", "wav", "ogg", "flac", "mp4", "mov"];
    let for_media = about.contains("image") || about.contains("audio");
    !for_media || media.contains(&ending.as_str())
}

fn step(text: &Text, tool: &Prepared, filled: &LiteralFill, share: f32) -> Step {
    Step {
        domain: tool.tool.domain.clone(),
        act: Act::Call { tool: tool.tool.name.clone() },
        said: text.raw.trim().to_owned(),
        intent: Some(stands_for(tool)),
        confidence: sure(share),
        arguments: filled.arguments.clone(),
        target: None,
        target_field: None,
        also: Vec::new(),
        missing: filled.missing.clone(),
        after: Vec::new(),
        destructive: tool.tool.destructive,
        read_only: tool.tool.read_only,
        alternatives: Vec::new(),
        otherwise: Vec::new(),
        reasons: vec!["what it takes is said outright".to_owned()],
    }
}

/// The step of a tool that was chosen, when the request says outright what it takes.
pub(super) fn chosen(text: &Text, tool: &Prepared) -> Option<Step> {
    let request = Request::read(text);
    let filled = fill(&slots(&tool.tool.input, &tool.tool.description), &request.literals, &request.counts);
    let says = filled.used > 0 && filled.unused_hard == 0 && filled.unused_quotes == 0;
    says.then(|| step(text, tool, &filled, 0.9))
}

fn acted(reader: &Reader, text: &Text, ranked: &[Candidate<'_>], best: &Candidate<'_>) -> Understood {
    let mut out = Understood::plain(Kind::Act, "");
    out.reasons.clear();
    let total: f32 = ranked.iter().take(8).map(|other| (other.score - best.score).exp()).sum();
    let step = step(text, best.tool, &best.filled, 1.0 / total.max(1.0));
    let clause = Clause { start: 0, end: text.raw.len(), ..Clause::default() };
    if !step.missing.is_empty() {
        out.question = ask_field(&reader.catalogue, &step, 0, &clause);
    }
    out.steps.push(step);
    finish(reader, &mut out, &BTreeMap::new());
    out
}

/// Which of several is meant.
fn asked(reader: &Reader, text: &Text, ranked: &[Candidate<'_>]) -> Understood {
    let mut out = Understood::plain(Kind::Act, "what is said outright fits no tool for certain");
    let from = ranked.first().map_or(0.0, |best| best.score) - NEAR;
    let options: Vec<Choice> = ranked
        .iter()
        .filter(|one| one.score >= from)
        .take(4)
        .map(|one| Choice::value(label(&one.tool.tool.description), json!(one.tool.tool.name)))
        .collect();
    let text_of = format!("What should I do with \"{}\"?", text.raw.trim());
    out.question = Some(Question {
        options,
        words: text.raw.trim().to_owned(),
        ..Question::open(QuestionKind::Meaning, text_of, 0)
    });
    finish(reader, &mut out, &BTreeMap::new());
    out
}

/// "Search the knowledge graph for chess": where is looked is no part of what is looked for.
fn tidy_queries(catalogue: &Catalogue, out: &mut Understood) {
    for step in &mut out.steps {
        let Some(tool) = step.tool().and_then(|name| catalogue.tool(name)) else { continue };
        let known: BTreeSet<String> = words(&tool.tool.description)
            .into_iter()
            .map(|word| word.lower)
            .chain(name_words(&tool.tool.name))
            .map(|word| root(&word))
            .collect();
        let queries: Vec<String> = tool
            .fields
            .iter()
            .filter(|field| field.role == Role::Query)
            .map(|field| field.name.clone())
            .collect();
        for name in queries {
            let Some(argument) = step.arguments.get_mut(&name) else { continue };
            let Some((place, wanted)) = argument.value.as_str().and_then(|said| said.split_once(" for "))
            else {
                continue;
            };
            let place_only =
                words(place).iter().all(|word| is_stop(&word.lower) || known.contains(&root(&word.lower)));
            if place_only && !wanted.trim().is_empty() {
                argument.value = json!(wanted.trim());
            }
        }
    }
}

#[cfg(test)]
#[path = "literal_tests.rs"]
mod tests;
