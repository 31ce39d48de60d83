//! Ranks the tools for a clause: by the evidence of its verb, nouns and values, and by how much of
//! it each tool would leave unexplained.
//!
//! Invariant: the same clause and tools give the same order; ties are resolved by the tools' names.

use super::catalogue::{Catalogue, Prepared, Role};
use super::fill::{Filled, Piece, UtteranceContext, fill};
use super::ground::Mention;
use super::kinds::Kinds;
use super::lexicon::is_generic;
use super::lexis::Similarity;
use super::place::{ListPosition, place};
use super::signal::{SIGNALS, Signals, weigh};
use super::text::Token;
use super::verbs::Class;
use super::wish::{Clause, Cue};
use crate::pattern::pattern;
use crate::skill::Recent;
use crate::{Encoder, cosine};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use steward_domain::DomainName;

/// A candidate tool.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Its index in the catalogue.
    pub(super) at: usize,
    pub(super) score: f32,
    pub(super) signals: Signals,
    /// The evidence of its verb, nouns and values.
    pub(super) verb: f32,
    pub(super) noun: f32,
    pub(super) near: f32,
    /// The overlap of the clause with its description.
    pub(super) told: f32,
    pub(super) filled: Filled,
}

impl Candidate {
    /// A signal by its name.
    pub(super) fn signal(&self, name: &str) -> f32 {
        SIGNALS
            .iter()
            .zip(&self.signals)
            .find(|((known, _), _)| *known == name)
            .map_or(0.0, |(_, signal)| *signal)
    }
}

/// The context of the choice beside the words of the clause.
pub(super) struct ChoiceContext<'a> {
    pub(super) encoder: &'a Encoder,
    pub(super) recent: &'a [Recent],
    pub(super) vector: Option<Arc<[f32]>>,
    pub(super) domains: &'a BTreeMap<DomainName, f32>,
    /// Whether there is a reference to an earlier entity.
    pub(super) back: bool,
    /// The tool of the preceding clause, if this one continues its request.
    pub(super) before: Option<&'a str>,
    /// The type of record that the preceding step shows.
    pub(super) shown: Option<&'a str>,
}

const GENERIC: &[&str] = &[
    "create", "remind", "read", "list", "search", "update", "delete", "move", "postpone", "rename", "reopen",
    "raise", "lower",
];

/// The evidence of a cue for a tool.
fn speaks(cue: &Cue, tool: &Prepared) -> f32 {
    let direct = tool.groups.contains(cue.group.as_str()) || cue.group == tool.verb;
    if direct {
        return cue.weight;
    }
    if tool.hinted.contains(cue.group.as_str()) {
        return 0.8 * cue.weight;
    }
    let generic = GENERIC.contains(&cue.group.as_str());
    let plain = tool.groups.iter().any(|group| GENERIC.contains(group));
    let same = cue.class == Some(tool.class);
    let reads = |class: Class| matches!(class, Class::Read | Class::List | Class::Search);
    let share = match (same, generic, plain) {
        (true, true, true) => 0.75,
        (true, true, false) => 0.3,
        // A request for all of them may be a search without search words.
        _ if cue.class == Some(Class::List) && tool.class == Class::Search => 0.7,
        (true, false, true) if cue.group == "log" || cue.group == "complete" => 0.5,
        _ if cue.class.is_some_and(reads) && reads(tool.class) => 0.45,
        _ => 0.0,
    };
    cue.weight * share
}

/// All candidate tools, most likely first.
pub(super) fn choose(
    said: &UtteranceContext<'_>,
    clause: &Clause,
    around: &ChoiceContext<'_>,
) -> Vec<Candidate> {
    let UtteranceContext { text, catalogue, ground, .. } = *said;
    let (start, end) = text.trimmed(clause.start, clause.end);
    let tokens: Vec<&Token> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let head = tokens.first().filter(|token| !token.quoted);
    let kinds = Kinds::read(catalogue, &tokens, ground);
    let likeness = likeness(said, &tokens);
    let changes = clause
        .cues
        .iter()
        .filter(|cue| cue.weight >= 4.0 && (clause.inherits || !cue.spans.is_empty()))
        .any(|cue| matches!(cue.class, Some(Class::Create | Class::Update | Class::Delete)));
    let shows = clause
        .cues
        .iter()
        .any(|cue| cue.weight >= 4.0 && matches!(cue.class, Some(Class::Read | Class::List | Class::Search)));
    // "Delete a task" does not create one.
    let undoes = clause
        .cues
        .iter()
        .any(|cue| cue.weight >= 4.0 && !cue.spans.is_empty() && cue.class == Some(Class::Delete));
    let strongest = clause.cues.iter().map(|cue| cue.weight).fold(0.0, f32::max);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let states = !clause.asks && is_state(plain);
    let reports = !clause.asks && head.is_some_and(|head| head.capital) && is_report(&tokens);
    let tells = !clause.asks && (states || reports || is_told(said, &tokens));
    let masked = masked(said, &tokens)
        .and_then(|plain| around.encoder.embed(&plain))
        .or_else(|| around.vector.clone());
    let one = matches!(place(plain), Some(ListPosition::Nth(_) | ListPosition::Last));
    let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
    let mut found: Vec<Candidate> = Vec::new();
    for (at, tool) in catalogue.tools.iter().enumerate().filter(|(_, tool)| !tool.free) {
        let (verb, cue) = spoken_for(clause, head.copied(), tool);
        let filled = fill(said, tool, clause, cue.as_ref());
        let noun = kinds.speak(tool, &filled);
        let nearness = |vector: &Option<Arc<[f32]>>| {
            vector.as_ref().zip(tool.vector.as_ref()).map_or(0.0, |(a, b)| cosine(a, b).max(0.0))
        };
        let near = nearness(&around.vector);
        let told = kinds.told(tool);
        // Words that the description contains are not unexplained.
        let left = (filled.left as f32 - told).max(0.0);
        let reads = tool.tool.read_only;
        let grounded = filled.grounded.as_ref();
        // A number that is an existing id counts like a name.
        let numbered = filled.id.as_ref().is_some_and(|(id, ..)| is_there(said, tool, id));
        let sure = match grounded {
            None => flag(numbered),
            Some(found) if found.things.len() == 1 || found.all => 1.0,
            Some(_) => 0.6,
        };
        let by_name = numbered || grounded.is_some_and(|found| found.by_name);
        let shared = catalogue.lexis.shared(&likeness, at, tool.tool.domain.as_ref());
        // "The waffle recipe" may be one that does not exist; other lower-case words are hardly a
        // name.
        let definite = |start: usize| {
            let before = tokens.iter().rev().find(|token| token.end <= start);
            before.is_some_and(|token| ["the", "my", "our"].contains(&token.lower.as_str()))
        };
        let small = |piece: &Piece| !piece.words.starts_with(char::is_uppercase) && !definite(piece.start);
        let unknown = !ground.world.is_empty() && filled.target.as_ref().is_some_and(small);
        let signals: Signals = [
            verb,
            noun,
            near,
            // Without a verb, the semantic similarity counts more.
            near * flag(strongest < 2.5),
            told,
            filled.evidence,
            left,
            filled.missing.len() as f32,
            target(tool, &filled, &tokens, around),
            called(catalogue, tool, &tokens),
            flag(strongest < 4.0) * rare(catalogue, tool, &kinds),
            flag(around.before == Some(tool.tool.name.as_str())),
            flag(clause.asks && !reads && !changes),
            flag(reads && changes && !shows),
            flag(!reads && !changes && shows),
            // A report of what was done is not a request to see something.
            flag(reports && reads && verb < 3.8),
            if states { stated(tool, &filled) } else { 0.0 },
            tool.tool.domain.as_ref().and_then(|domain| around.domains.get(domain)).copied().unwrap_or(0.0),
            sure * flag(by_name),
            sure * flag(!by_name),
            filled.placed as f32,
            filled.unplaced as f32,
            shared.name,
            shared.description,
            shared.fields,
            nearness(&masked),
            // A remark is a request only if it mentions something of the tool.
            flag(
                tells
                    && !reads
                    && (verb > 0.0 || told > 0.0 || shared.all() > 0.15 || nearness(&masked) > 0.3),
            ),
            flag(unknown),
            flag(clause.asks && reads),
            flag(kinds.indefinite && !undoes && tool.class == Class::Create),
            flag(kinds.indefinite && !undoes && tool.target().is_some()),
            flag(one && reads && tool.target().is_none()),
            filled.absorbed as f32,
            flag(
                (grounded.is_some() || filled.placed > 0)
                    && filled.unplaced == 0
                    && filled.missing.is_empty()
                    && !reads,
            ),
            // "Ortega is here" cancels nothing.
            flag(tool.class == Class::Delete && verb <= 0.0),
        ];
        found.push(Candidate { at, score: weigh(&signals), signals, verb, noun, near, told, filled });
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
    found
}

/// Whether a record with this id is known, of the type that the tool acts on.
fn is_there(said: &UtteranceContext<'_>, tool: &Prepared, id: &serde_json::Value) -> bool {
    said.ground.world.iter().any(|seen| {
        seen.domain == tool.tool.domain
            && Some(&seen.thing.entity_type) == tool.entity.as_ref()
            && seen.thing.id == *id
    })
}

/// The evidence of the cues for a tool.
fn spoken_for(clause: &Clause, head: Option<&Token>, tool: &Prepared) -> (f32, Option<Cue>) {
    let mut verb = 0.0_f32;
    let mut cue: Option<Cue> = None;
    for one in &clause.cues {
        let weight = speaks(one, tool);
        if weight > verb {
            (verb, cue) = (weight, Some(one.clone()));
        }
    }
    if let Some(head) = head.filter(|head| head.root == tool.told || head.root == tool.verb) {
        let weight = if head.root == tool.verb { 4.5 } else { 3.8 };
        if weight > verb {
            verb = weight;
            cue = Some(Cue {
                group: tool.verb.clone(),
                class: Some(tool.class),
                weight,
                spans: vec![(head.start, head.end)],
            });
        }
    }
    (verb, cue)
}

/// The content words of a clause that are not names, each compared with the words of the tools.
fn likeness(said: &UtteranceContext<'_>, tokens: &[&Token]) -> Vec<Similarity> {
    let day = |token: &Token| said.days.iter().any(|day| token.start >= day.start && token.end <= day.end);
    let tells = |at: usize, token: &Token| {
        let name = token.capital && at > 0;
        let tiny = token.lower.len() < 2 || token.lower.starts_with(|c: char| c.is_ascii_digit());
        !(token.stop || token.quoted || name || tiny)
            && said.ground.at(token.start).is_none_or(|mention| !mention.whole && !mention.capital)
            && !day(token)
    };
    let telling = tokens.iter().enumerate().filter(|(at, token)| tells(*at, token)).take(12);
    telling.map(|(_, token)| said.catalogue.lexis.like(&token.root)).collect()
}

/// The clause without the names: what remains is the action.
fn masked(said: &UtteranceContext<'_>, tokens: &[&Token]) -> Option<String> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let mut out = String::new();
    let mut at = first.start;
    for mention in said.ground.within(first.start, last.end) {
        out.push_str(said.text.slice(at, mention.start));
        out.push_str(&kind_of(said, mention));
        at = mention.end;
    }
    if at == first.start {
        return None;
    }
    out.push_str(said.text.slice(at, last.end));
    Some(out)
}

/// The most likely type of a mention: the one with the fewest records of that name.
fn kind_of(said: &UtteranceContext<'_>, mention: &Mention) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for seen in mention.named.iter().filter_map(|at| said.ground.world.get(*at)) {
        *kinds.entry(seen.thing.entity_type.as_str()).or_default() += 1;
    }
    let fewest = kinds.iter().min_by_key(|(_, count)| **count).map(|(kind, _)| (*kind).to_owned());
    fewest
        .or_else(|| mention.valued.keys().next().map(|field| field.replace('_', " ")))
        .unwrap_or_else(|| "it".into())
}

/// "Bella is in the waiting room", "she has arrived": a statement about a named or referenced
/// record.
fn is_told(said: &UtteranceContext<'_>, tokens: &[&Token]) -> bool {
    let Some(head) = tokens.first() else { return false };
    let named = said.ground.at(head.start).map(|mention| mention.end);
    let pointed = ["it", "she", "he", "they", "that", "this", "both"].contains(&head.lower.as_str());
    // "I've just given Smokey an injection": the speaker's own action on an existing record.
    let own = ["i", "we", "i've", "we've"].contains(&head.lower.as_str())
        && tokens.iter().any(|token| said.ground.at(token.start).is_some());
    let pointed = pointed || own;
    let after = named.or(pointed.then_some(head.end));
    let Some(after) = after else { return false };
    let next = tokens.iter().find(|token| token.start >= after);
    let says = [
        "is", "are", "was", "were", "has", "have", "had", "just", "can", "got", "wants", "would", "needs",
        "will", "does", "isn't", "hasn't", "won't", "can't", "didn't", "doesn't", "never", "gets", "takes",
        "gave", "came", "left", "went", "paid", "gives",
    ];
    next.is_some_and(|next| {
        says.contains(&next.lower.as_str()) || (next.lower.ends_with("ed") && next.root != next.lower)
    }) || said.text.plain.get(head.start..).is_some_and(|plain| {
        ["she's", "he's", "it's", "they've", "i've", "we've", "they're"]
            .iter()
            .any(|start| plain.starts_with(start))
    })
}

/// "Ann Bell has just arrived": a name, and what it did.
fn is_report(tokens: &[&Token]) -> bool {
    let name = tokens.iter().take_while(|token| token.capital && !token.quoted).count();
    let said = |at: usize| tokens.get(at).map_or("", |token| token.lower.as_str());
    let more = tokens.len() > name + 1;
    name > 0
        && more
        && ["has", "have", "had", "is", "just", "already", "wants", "called"].contains(&said(name))
}

/// "The room is clean now": a statement about the state of a definite record.
fn is_state(plain: &str) -> bool {
    static STATE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:(?:the|that|this|my|our) |it\b|they\b|them\b|both\b|all (?:of (?:them|these|those)|two|three|four|five)\b|[a-z]+s? #?\d|#?\d).*\b(?:is|are|was|were|has been|have been)\b",
        )
    });
    let clause = [" that ", " which ", " who "].iter().any(|word| plain.contains(word));
    !clause && STATE.is_match(plain)
}

/// A statement of a state should be recorded by a tool that sets one of a few states; it is not a
/// request to see something.
fn stated(tool: &Prepared, filled: &Filled) -> f32 {
    let chosen =
        filled.arguments.keys().filter_map(|name| tool.named(name)).any(|field| field.role == Role::Choice);
    match tool.class {
        Class::Update if chosen && tool.target().is_some() => 2.5,
        Class::List | Class::Search if chosen => -2.5,
        _ => 0.0,
    }
}

/// A noun in the names of few tools is evidence for them: "mileage" for `record_mileage`.
fn called(catalogue: &Catalogue, tool: &Prepared, tokens: &[&Token]) -> f32 {
    let said =
        |noun: &String| tokens.iter().any(|token| token.root == *noun && !token.quoted && !token.capital);
    let shared = |noun: &String| {
        let same = |other: &&Prepared| other.tool.domain == tool.tool.domain && other.nouns.contains(noun);
        catalogue.tools.iter().filter(same).count().max(1) as f32
    };
    tool.nouns.iter().filter(|noun| said(noun)).map(|noun| 2.0 / shared(noun)).fold(0.0, f32::max)
}

/// A word that only one tool's description uses is evidence for that tool, if no verb decides.
fn rare(catalogue: &Catalogue, tool: &Prepared, kinds: &Kinds) -> f32 {
    let only = |word: &String| {
        let too = |other: &&Prepared| other.tool.domain == tool.tool.domain && other.telling.contains(word);
        tool.telling.contains(word) && catalogue.tools.iter().filter(too).count() == 1
    };
    let count = kinds.roots.iter().filter(|(word, _)| only(word)).count();
    if tool.tool.read_only { 0.0 } else { count.min(2) as f32 }
}

/// Whether a tool that acts on a record has its target.
fn target(tool: &Prepared, filled: &Filled, tokens: &[&Token], around: &ChoiceContext<'_>) -> f32 {
    let takes = tool.target().is_some();
    if !takes {
        return if filled.id.is_some() { -2.0 } else { 0.0 };
    }
    let mut score = 0.0;
    match (&filled.id, &filled.target) {
        (Some(_), _) => score += 1.5,
        _ if filled.grounded.is_some() => score += 0.8,
        (None, Some(piece)) => {
            score += 0.8;
            let before = tokens
                .iter()
                .rev()
                .find(|token| token.end <= piece.start)
                .map_or("", |token| token.lower.as_str());
            if ["a", "an", "some"].contains(&before) && tool.class != Class::Update {
                score -= 3.0;
            }
        }
        (None, None) if around.back => score += 1.0,
        (None, None) => score -= 2.0,
    }
    if around.back && filled.id.is_none() && !around.recent.is_empty() {
        let entity = tool.entity.as_deref().unwrap_or_default();
        let of = |recent: &&Recent| recent.entity_type == entity;
        let last = around.recent.iter().map(|recent| recent.last).max();
        let newest =
            around.recent.iter().any(|recent| Some(recent.last) == last && recent.entity_type == entity);
        score += if newest {
            1.0
        } else if around.recent.iter().any(|recent| of(&recent)) {
            0.4
        } else {
            -0.8
        };
    }
    // "List the deals and delete the last one" deletes a deal.
    if let Some(shown) =
        around.shown.filter(|_| around.back && filled.id.is_none() && filled.grounded.is_none())
    {
        score += if tool.entity.as_deref() == Some(shown) { 1.0 } else { -0.8 };
    }
    // An update needs a new value.
    if tool.class == Class::Update
        && filled.set == 0
        && tool.fields.iter().any(|field| field.name != "id")
        && tool.groups.contains("update")
    {
        score -= 1.2;
    }
    score
}

static SERVICE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:write|make|call|book|order|play|sing|draw|cook|build|send|give|tell|compose|draft|generate|find|get|buy|bring) (?:me|us) (?:an?|some) (?P<noun>\w+)",
    )
});

/// "Call me a taxi": a service for a person, with an unknown noun.
pub(super) fn service(catalogue: &Catalogue, plain: &str) -> bool {
    static ART: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:write|make|tell|sing|compose|draft|generate|draw|read|give)(?: me| us)? (?:an?|some|the) (?:\w+ )?(?:poem|song|story|joke|essay|haiku|limerick|riddle|picture|painting|fairy tale)\b",
        )
    });
    if ART.is_match(plain) {
        return true;
    }
    let noun =
        SERVICE.captures(plain).and_then(|found| found.name("noun").map(|noun| noun.as_str().to_owned()));
    noun.is_some_and(|noun| {
        catalogue.types_of(&noun).is_empty()
            && !is_generic(&noun)
            && !["new", "list", "overview", "reminder", "summary"].contains(&noun.as_str())
    })
}

/// Whether the text is gibberish: keyboard rows, or words without a vowel.
pub(super) fn gibberish(tokens: &[Token]) -> bool {
    let rows = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
    let odd = |token: &Token| {
        let word = token.lower.as_str();
        let letters = word.chars().all(|c| c.is_ascii_lowercase());
        word.len() > 2
            && letters
            && (rows.iter().any(|row| row.contains(word)) || !word.contains(['a', 'e', 'i', 'o', 'u', 'y']))
    };
    !tokens.is_empty() && tokens.iter().all(odd)
}
