//! Which tool a clause means: what its verb, its nouns and its values speak for, and how much of it each tool would leave
//! unexplained.
//!
//! Invariant: the same clause and tools give the same order; ties go by the tools' names.

use super::catalogue::{Catalogue, Prepared, Role};
use super::fill::{Filled, fill, is_determiner};
use super::lexicon::{is_generic, is_person, plural};
use super::text::{Text, Token};
use super::values::When;
use super::verbs::{Class, verb_groups};
use super::wish::{Clause, Cue};
use crate::cosine;
use crate::skill::Recent;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use steward_domain::DomainName;

/// A tool that may be meant.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Its place in the catalogue.
    pub(super) at: usize,
    pub(super) score: f32,
    /// What its verb, its nouns and its values say for it.
    pub(super) verb: f32,
    pub(super) noun: f32,
    pub(super) near: f32,
    /// What of the clause its description says, too.
    pub(super) told: f32,
    pub(super) filled: Filled,
}

/// What is weighed beside the words of the clause.
pub(super) struct Around<'a> {
    pub(super) days: &'a [When],
    pub(super) recent: &'a [Recent],
    pub(super) vector: Option<Arc<[f32]>>,
    pub(super) domains: &'a BTreeMap<DomainName, f32>,
    /// Whether something points back.
    pub(super) back: bool,
    /// The tool of the clause before, where this one goes on with its wish.
    pub(super) before: Option<&'a str>,
}

const GENERIC: &[&str] = &[
    "create", "remind", "read", "list", "search", "update", "delete", "move", "postpone", "rename", "reopen",
    "raise", "lower",
];

/// How a cue speaks for a tool.
fn speaks(cue: &Cue, tool: &Prepared) -> f32 {
    let direct = tool.groups.contains(cue.group.as_str()) || cue.group == tool.verb;
    if direct {
        return cue.weight;
    }
    if tool.hinted.contains(cue.group.as_str()) {
        return 0.8 * cue.weight;
    }
    let generic = GENERIC.contains(&cue.group.as_str());
    let plain = tool.groups.iter().any(|group| GENERIC.contains(group))
        || (tool.groups.is_empty() && tool.phrase.is_none());
    let same = cue.class == Some(tool.class);
    let reads = |class: Class| matches!(class, Class::Read | Class::List | Class::Search);
    let share = match (same, generic, plain) {
        (true, true, true) => 0.75,
        (true, true, false) => 0.3,
        (true, false, true) if cue.group == "log" || cue.group == "complete" => 0.5,
        _ if cue.class.is_some_and(reads) && reads(tool.class) => 0.45,
        _ => 0.0,
    };
    cue.weight * share
}

/// All tools that may be meant, the likeliest first.
pub(super) fn choose(
    text: &Text,
    catalogue: &Catalogue,
    clause: &Clause,
    around: &Around<'_>,
) -> Vec<Candidate> {
    let (start, end) = text.trimmed(clause.start, clause.end);
    let tokens: Vec<&Token> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let head = tokens.first().filter(|token| !token.quoted);
    let kinds = Kinds::read(catalogue, &tokens);
    let changes = clause
        .cues
        .iter()
        .filter(|cue| cue.weight >= 4.0 && (clause.inherits || !cue.spans.is_empty()))
        .any(|cue| matches!(cue.class, Some(Class::Create | Class::Update | Class::Delete)));
    let shows = clause
        .cues
        .iter()
        .any(|cue| cue.weight >= 4.0 && matches!(cue.class, Some(Class::Read | Class::List | Class::Search)));
    let strongest = clause.cues.iter().map(|cue| cue.weight).fold(0.0, f32::max);
    let states = !clause.asks && is_state(text.plain.get(start..end).unwrap_or_default());
    let reports = !clause.asks && head.is_some_and(|head| head.capital) && is_report(&tokens);
    let mut found: Vec<Candidate> = Vec::new();
    for (at, tool) in catalogue.tools.iter().enumerate().filter(|(_, tool)| !tool.free) {
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
        let filled = fill(text, catalogue, tool, clause, cue.as_ref(), around.days);
        let noun = kinds.speak(tool, &filled);
        let near =
            around.vector.as_ref().zip(tool.vector.as_ref()).map_or(0.0, |(a, b)| cosine(a, b).max(0.0));
        let told = kinds.told(tool);
        // Without a verb, what is meant counts for more.
        let meant = if strongest < 2.5 { 5.0 } else { 3.0 };
        // What the description says, too, is not left over.
        let left = (filled.left as f32 - told).max(0.0);
        let mut score = 0.8 * told + verb + noun + meant * near + filled.evidence
            - 0.7 * left
            - 1.5 * filled.missing.len() as f32;
        score += target(tool, &filled, &tokens, around);
        score += called(catalogue, tool, &tokens);
        if strongest < 4.0 {
            score += rare(catalogue, tool, &kinds);
        }
        if around.before == Some(tool.tool.name.as_str()) {
            score += 1.5;
        }
        if clause.asks && !tool.tool.read_only && !changes {
            score -= 4.0;
        }
        if tool.tool.read_only && changes && !shows {
            score -= 2.5;
        }
        if !tool.tool.read_only && !changes && shows {
            score -= 2.5;
        }
        // What somebody did is no wish to see something.
        if reports && tool.tool.read_only && verb < 3.8 {
            score -= 2.5;
        }
        if states {
            score += stated(tool, &filled);
        }
        if let Some(domain) = &tool.tool.domain {
            score += 2.5 * around.domains.get(domain).copied().unwrap_or(0.0);
        }
        found.push(Candidate { at, score, verb, noun, near, told, filled });
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
    found
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

/// "The room is clean now": of something certain it is said what it is.
fn is_state(plain: &str) -> bool {
    static STATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^(?:(?:the|that|this|my|our) |it\b|they\b|them\b|both\b|all of (?:them|these|those)\b|[a-z]+s? #?\d|#?\d).*\b(?:is|are|was|were|has been|have been)\b").ok()
    });
    let clause = [" that ", " which ", " who "].iter().any(|word| plain.contains(word));
    !clause && STATE.as_ref().is_some_and(|state| state.is_match(plain))
}

/// What something is said to be is to be noted, by a tool that sets one of a few states; it is no wish to see what is so.
fn stated(tool: &Prepared, filled: &Filled) -> f32 {
    let chosen =
        filled.arguments.keys().filter_map(|name| tool.named(name)).any(|field| field.role == Role::Choice);
    match tool.class {
        Class::Update if chosen && tool.target().is_some() => 2.5,
        Class::List | Class::Search if chosen => -2.5,
        _ => 0.0,
    }
}

/// A noun that stands in the name of few tools speaks for them: "mileage" for `record_mileage`.
fn called(catalogue: &Catalogue, tool: &Prepared, tokens: &[&Token]) -> f32 {
    let said =
        |noun: &String| tokens.iter().any(|token| token.root == *noun && !token.quoted && !token.capital);
    let shared = |noun: &String| {
        let same = |other: &&Prepared| other.tool.domain == tool.tool.domain && other.nouns.contains(noun);
        catalogue.tools.iter().filter(same).count().max(1) as f32
    };
    tool.nouns.iter().filter(|noun| said(noun)).map(|noun| 2.0 / shared(noun)).fold(0.0, f32::max)
}

/// A word that only one tool's description uses speaks for that tool, where no verb decides.
fn rare(catalogue: &Catalogue, tool: &Prepared, kinds: &Kinds) -> f32 {
    let only = |word: &String| {
        let too = |other: &&Prepared| other.tool.domain == tool.tool.domain && other.telling.contains(word);
        tool.telling.contains(word) && catalogue.tools.iter().filter(too).count() == 1
    };
    let count = kinds.roots.iter().filter(|(word, _)| only(word)).count();
    if tool.tool.read_only { 0.0 } else { count.min(2) as f32 }
}

/// Whether a tool that acts on something is told on what.
fn target(tool: &Prepared, filled: &Filled, tokens: &[&Token], around: &Around<'_>) -> f32 {
    let takes = tool.target().is_some();
    if !takes {
        return if filled.id.is_some() { -2.0 } else { 0.0 };
    }
    let mut score = 0.0;
    match (&filled.id, &filled.target) {
        (Some(_), _) => score += 1.5,
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
        let newest = around
            .recent
            .iter()
            .max_by_key(|recent| recent.last)
            .is_some_and(|newest| newest.entity_type == entity);
        score += if newest {
            1.0
        } else if around.recent.iter().any(|recent| of(&recent)) {
            0.4
        } else {
            -0.8
        };
    }
    // Changing something needs something that it is changed to.
    if tool.class == Class::Update
        && filled.set == 0
        && tool.fields.iter().any(|field| field.name != "id")
        && tool.groups.contains("update")
    {
        score -= 1.2;
    }
    score
}

/// The types of things that a clause names.
struct Kinds {
    /// In order: the type's name, its domain, whether it is in the plural.
    said: Vec<(String, Option<DomainName>, bool)>,
    several: bool,
    person: bool,
    /// "A book called …": no particular one.
    indefinite: bool,
    proper: bool,
    /// Roots of the telling words, with what else each verb among them may be.
    roots: Vec<(String, Vec<&'static str>)>,
}

impl Kinds {
    fn read(catalogue: &Catalogue, tokens: &[&Token]) -> Self {
        let mut said: Vec<(String, Option<DomainName>, bool)> = Vec::new();
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| !token.quoted) {
            // A capital in the middle belongs to a name.
            if (token.capital && at > 0) || is_determiner(&token.lower) {
                continue;
            }
            // "How many notes does each tag have" is about tags.
            let each = at
                .checked_sub(1)
                .and_then(|at| tokens.get(at))
                .is_some_and(|before| ["each", "every", "per"].contains(&before.lower.as_str()));
            // "Who is Ann" asks for one.
            let many = plural(&token.lower)
                && !(token.lower == "who"
                    && tokens.get(at + 1).is_some_and(|next| ["is", "was"].contains(&next.lower.as_str())));
            for kind in catalogue.types_of(&token.lower) {
                if each {
                    said.retain(|(name, domain, _)| *name != kind.name || *domain != kind.domain);
                    said.insert(0, (kind.name.clone(), kind.domain.clone(), true));
                }
                if !said.iter().any(|(name, domain, _)| *name == kind.name && *domain == kind.domain) {
                    said.push((kind.name.clone(), kind.domain.clone(), many));
                }
            }
        }
        let several = tokens.iter().any(|token| {
            !token.quoted
                && (is_generic(&token.lower) && plural(&token.lower)
                    || ["everything", "all", "stuff"].contains(&token.lower.as_str()))
        });
        let person = tokens
            .iter()
            .any(|token| ["he", "she", "him", "her", "his", "hers"].contains(&token.lower.as_str()));
        let proper = tokens.windows(2).any(|pair| matches!(pair, [a, b] if a.capital && b.capital && !a.quoted && !b.quoted && b.start - a.end == 1));
        let indefinite = tokens.windows(2).any(|pair| matches!(pair, [a, b] if ["a", "an", "any"].contains(&a.lower.as_str()) && !catalogue.types_of(&b.lower).is_empty()));
        let telling = |token: &&&Token| {
            !token.stop && !token.quoted && !token.capital && catalogue.types_of(&token.lower).is_empty()
        };
        let roots = tokens
            .iter()
            .filter(telling)
            .map(|token| {
                (token.root.clone(), verb_groups(&token.root).iter().map(|(group, _)| *group).collect())
            })
            .collect();
        Self { said, several, person, indefinite, proper, roots }
    }

    /// How much of the clause the description of a tool says, too.
    fn told(&self, tool: &Prepared) -> f32 {
        let plain = ["create", "read", "list", "search", "update", "delete", "move"];
        let shares = |groups: &[&'static str]| {
            tool.telling.iter().any(|word| {
                verb_groups(word).iter().any(|(group, _)| groups.contains(group) && !plain.contains(group))
            })
        };
        let said =
            self.roots.iter().filter(|(root, groups)| tool.telling.contains(root) || shares(groups)).count();
        said.min(3) as f32
    }

    fn speak(&self, tool: &Prepared, filled: &Filled) -> f32 {
        let entity = tool.entity.as_deref().unwrap_or_default();
        let is =
            |name: &String| name == entity || (tool.gives.as_ref() == Some(name) && tool.target().is_none());
        let place = self.said.iter().position(|(name, domain, _)| is(name) && *domain == tool.tool.domain);
        let of_field = tool
            .fields
            .iter()
            .any(|field| field.of.as_ref().is_some_and(|of| self.said.iter().any(|(name, ..)| name == of)));
        let named_field = tool.fields.iter().any(|field| {
            field.words.iter().any(|word| {
                self.said
                    .iter()
                    .any(|(name, ..)| name == word || plural(word) && word.starts_with(name.as_str()))
            })
        });
        let choice = filled.arguments.iter().any(|(name, argument)| {
            let listed = tool.named(name).is_some_and(|field| !field.choices.is_empty());
            listed
                && argument
                    .value
                    .as_str()
                    .is_some_and(|value| self.said.iter().any(|(kind, ..)| kind == value))
        });
        let mut points = match place {
            Some(0) => 2.5,
            Some(_) => 1.2,
            None if choice => 1.5,
            None if of_field || named_field => 0.6,
            None if !self.said.is_empty() => -2.0,
            None => 0.0,
        };
        let many = place.and_then(|place| self.said.get(place)).is_some_and(|(.., many)| *many)
            || (place.is_none() && self.several);
        let one = place.and_then(|place| self.said.get(place)).is_some_and(|(.., many)| !*many);
        let lists = matches!(tool.class, Class::List | Class::Search);
        points += match tool.class {
            _ if many && lists => 1.0,
            Class::Read if many && place.is_some() => -1.5,
            Class::List if one && filled.arguments.is_empty() => -1.0,
            Class::Read if self.indefinite => -2.0,
            Class::Read if one => 0.5,
            _ => 0.0,
        };
        if is_person(entity) {
            points += if self.person { 1.2 } else { 0.0 }
                + if self.proper && self.said.is_empty() && tool.target().is_some() { 0.6 } else { 0.0 };
        }
        points
    }
}

static SERVICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:write|make|call|book|order|play|sing|draw|cook|build|send|give|tell|compose|draft|generate|find|get|buy|bring) (?:me|us) (?:an?|some) (?P<noun>\w+)").ok()
});

/// "Call me a taxi": something that is done for a person, with a noun that nothing here knows.
pub(super) fn service(catalogue: &Catalogue, plain: &str) -> bool {
    static ART: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^(?:write|make|tell|sing|compose|draft|generate|draw|read|give)(?: me| us)? (?:an?|some|the) (?:\w+ )?(?:poem|song|story|joke|essay|haiku|limerick|riddle|picture|painting|fairy tale)\b").ok()
    });
    if ART.as_ref().is_some_and(|art| art.is_match(plain)) {
        return true;
    }
    let noun = SERVICE
        .as_ref()
        .and_then(|service| service.captures(plain))
        .and_then(|found| found.name("noun").map(|noun| noun.as_str().to_owned()));
    noun.is_some_and(|noun| {
        catalogue.types_of(&noun).is_empty()
            && !is_generic(&noun)
            && !["new", "list", "overview", "reminder", "summary"].contains(&noun.as_str())
    })
}

/// Whether words are no words: rows of the keyboard, or no vowel in them.
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
