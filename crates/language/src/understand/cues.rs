//! Finds the cues for an action in a clause: its verb, phrases, statements.
//!
//! Invariant: a cue is never inside quotes.

use super::catalogue::Catalogue;
use super::text::{Text, Token};
use super::verbs::{Class, PATTERNS, class_of, verb_groups};
use super::wish::{ASKS, Clause, Cue, OPENS, is, strength};
use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

static WHETHER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:is|are|was|were|has|have|does|did) (?:it|that|this|they|she|he|the|my|any\w*|[\w ]+?) \w+")
});
/// "When is it due back": a question about a state, whatever verb it contains.
static WONDERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?:when|where|who|how (?:many|much|long|far|old)|what|which(?: \w+)?) (?:is|are|was|were|has|have|does|did|do|will)|who(?:'s|’s)|what(?:'s|’s)|when(?:'s|’s)|where(?:'s|’s))\b",
    )
});
static PASSIVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:(?:should|can|could|must|may|needs? to|has to|have to|ought to) (?:[\w#]+ ){0,3}?be|to be|gets?) (?P<v>\w+)",
    )
});
static WANTS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:wants?|wishes|would like|['’]d like|asked|asks) to (?P<v>\w+)"));

/// A clause with its cues.
pub(super) fn clause(text: &Text, catalogue: &Catalogue, from: usize, to: usize) -> Clause {
    let whole = read_cues(text, catalogue, from, to);
    // A request before a colon is complete: what follows is data.
    let colon = text.plain.get(from..to).and_then(|plain| plain.find(": ")).map(|at| from + at);
    match colon.map(|colon| read_cues(text, catalogue, from, colon)) {
        Some(before) if strength(&before) >= OPENS => Clause { end: to, ..before },
        _ => whole,
    }
}

fn read_cues(text: &Text, catalogue: &Catalogue, from: usize, to: usize) -> Clause {
    let (start, end) = text.trimmed(from, to);
    let plain = text.plain.get(start..end).unwrap_or_default();
    let mut cues: Vec<Cue> = Vec::new();
    let tokens: Vec<_> =
        text.tokens.iter().filter(|token| token.start >= start && token.end <= end).collect();
    let polite = text.plain.get(from..start).unwrap_or_default();
    for (verb, shows) in [("show me", "show"), ("tell me", "tell")] {
        if polite.trim_end().ends_with(verb) {
            push(&mut cues, &super::lexicon::root(shows), 3.0, &[]);
        }
    }
    let listed = |word: &str| super::lexicon::plural(word) && !catalogue.types_of(word).is_empty();
    // "Notes with the tag work", "open tickets": a plural noun at the start asks to see them, also
    // with a listed value before it.
    let value = tokens.first().is_some_and(|head| !head.quoted && catalogue.listed.contains(&head.lower))
        && tokens.get(1).is_some_and(|next| !next.quoted && listed(&next.lower));
    if value || tokens.first().is_some_and(|head| !head.quoted && listed(&head.lower)) {
        push(&mut cues, "list", if value { 4.0 } else { 3.0 }, &[]);
    } else if let Some(head) =
        tokens.first().filter(|head| !head.quoted && !names(catalogue, head, tokens.get(1).copied()))
    {
        push(&mut cues, &head.root, 4.0, &[(head.start, head.end)]);
        if catalogue.is_verb(&head.root) && verb_groups(&head.root).is_empty() {
            cues.push(Cue {
                group: head.root.clone(),
                class: None,
                weight: 4.5,
                spans: vec![(head.start, head.end)],
            });
        }
    }
    light(catalogue, &tokens, &mut cues);
    inner(catalogue, &tokens, is(&ASKS, plain), &mut cues);
    phrases(catalogue, &tokens, &mut cues);
    // "Repair list", "vehicle overview".
    if let [.., kind, last] = tokens.as_slice()
        && tokens.len() <= 5
        && ["list", "overview", "summary"].contains(&last.lower.as_str())
        && !last.quoted
        && !catalogue.types_of(&kind.lower).is_empty()
    {
        push(&mut cues, "list", 4.5, &[(last.start, last.end)]);
    }
    if let Some(found) = PASSIVE.captures(plain)
        && let (Some(whole), Some(verb)) = (found.get(0), found.name("v"))
    {
        let span = (start + whole.start(), start + whole.end());
        // The words between "can" and "be" are the subject.
        let head = whole.as_str().split(' ').count() <= 3;
        let span = if head { span } else { (start + verb.start(), start + verb.end()) };
        push(&mut cues, &super::lexicon::root(verb.as_str()), 5.0, &[span]);
    }
    // "He wants to reserve it": what another person wants is to be done.
    if let Some(found) = WANTS.captures(plain)
        && let Some(verb) = found.name("v")
        && !["i ", "we "].iter().any(|own| plain.starts_with(own))
    {
        push(
            &mut cues,
            &super::lexicon::root(verb.as_str()),
            4.4,
            &[(start + verb.start(), start + verb.end())],
        );
    }
    // "Crime novels": a plural type without an action.
    if cues.iter().all(|cue| cue.weight < OPENS)
        && tokens.last().is_some_and(|last| !last.quoted && listed(&last.lower))
        && tokens.len() <= 4
    {
        push(&mut cues, "list", 2.6, &[]);
    }
    // "Todo: descale kettle".
    if let Some((before, _)) = plain.split_once(": ")
        && before.split(' ').count() == 1
        && (!catalogue.types_of(before).is_empty()
            || catalogue.containers.contains(&super::lexicon::root(before)))
    {
        push(&mut cues, &super::lexicon::root("create"), 5.0, &[(start, start + before.len())]);
    }
    for (group, weight, pattern) in PATTERNS.iter() {
        let Some(found) = pattern.captures(plain) else { continue };
        // "What is" does not ask for several, whatever it ends with.
        let said = found.get(0).map_or("", |whole| whole.as_str());
        if *group == "list" && ["what is", "what was", "what has", "what does"].contains(&said) {
            continue;
        }
        // "Everything that's done" is a filter, and not a statement to record.
        let before = found.get(0).and_then(|whole| plain.get(..whole.start())).unwrap_or_default().trim_end();
        if *group == "complete" && ["that", "which", "who", "what"].iter().any(|word| before.ends_with(word))
        {
            continue;
        }
        let parts: Vec<(usize, usize)> = ["a", "b", "c"]
            .iter()
            .filter_map(|name| found.name(name))
            .map(|part| (start + part.start(), start + part.end()))
            .collect();
        let whole = found.get(0).map(|whole| (start + whole.start(), start + whole.end()));
        let spans = if parts.is_empty() { whole.into_iter().collect() } else { parts };
        cues.push(Cue { group: (*group).to_owned(), class: class_of(group), weight: *weight, spans });
    }
    // A question whether something is so changes nothing.
    if is(&WHETHER, plain) || is(&WONDERS, plain) {
        for cue in cues
            .iter_mut()
            .filter(|cue| matches!(cue.class, Some(Class::Create | Class::Update | Class::Delete)))
        {
            cue.weight *= 0.3;
        }
    }
    let asks = is(&ASKS, plain) || text.plain.get(from..to).is_some_and(|all| all.trim_end().ends_with('?'));
    Clause { start: from, end: to, cues, inherits: false, earlier: false, asks, elided: false, why: false }
}

/// "Book 8 is falling apart": a type with a number, or with a statement about it, is not a verb.
fn names(catalogue: &Catalogue, head: &Token, next: Option<&Token>) -> bool {
    let said_of = next.is_some_and(|next| {
        next.lower.parse::<u64>().is_ok() || ["is", "are", "was", "has"].contains(&next.lower.as_str())
    });
    said_of && !catalogue.types_of(&head.lower).is_empty()
}

/// Phrasal verbs in tool names, together or separated: "check out the van", "check the van out".
fn phrases(catalogue: &Catalogue, tokens: &[&Token], cues: &mut Vec<Cue>) {
    for tool in &catalogue.tools {
        let Some((verb, particle)) = &tool.phrase else { continue };
        let is = |token: &&&Token| !token.quoted && !token.capital;
        let first = tokens.iter().filter(is).find(|token| token.root == *verb);
        let Some(first) = first else { continue };
        let behind = |token: &&&Token| token.start > first.start && token.lower == *particle;
        if let Some(second) = tokens.iter().filter(is).find(behind) {
            cues.push(Cue {
                group: tool.verb.clone(),
                class: Some(tool.class),
                weight: 5.5,
                spans: vec![(first.start, first.end), (second.start, second.end)],
            });
        }
    }
}

/// "Put a hold on it", "make a reservation": the noun names the action.
fn light(catalogue: &Catalogue, tokens: &[&Token], cues: &mut Vec<Cue>) {
    let [verb, article, noun, ..] = tokens else { return };
    let small = ["put", "place", "make", "do", "take", "give", "enter"].contains(&verb.lower.as_str())
        && ["a", "an", "the"].contains(&article.lower.as_str());
    let plain = ["create", "read", "list", "search", "update", "delete", "log", "tag"];
    let done = verb_groups(&noun.root).iter().any(|(group, _)| !plain.contains(group));
    if !small || noun.quoted || noun.capital || !done || !catalogue.types_of(&noun.lower).is_empty() {
        return;
    }
    push(cues, &noun.root, 5.0, &[(verb.start, verb.end), (noun.start, noun.end)]);
}

/// "Jon returned it", "mark it as returned": the verb follows the subject.
fn inner(catalogue: &Catalogue, tokens: &[&Token], asks: bool, cues: &mut Vec<Cue>) {
    let marks = tokens.first().is_some_and(|head| ["mark", "set", "record"].contains(&head.lower.as_str()));
    let subject = tokens
        .first()
        .is_some_and(|head| head.capital || ["she", "he", "they"].contains(&head.lower.as_str()));
    for (at, token) in tokens.iter().enumerate().skip(1).filter(|(_, token)| !token.quoted && !token.capital)
    {
        let before =
            at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |before| before.lower.as_str());
        let led = marks && before == "as";
        // "Ada's loans" is a possessive and not a verb.
        if before.ends_with("'s") || before.ends_with("’s") {
            continue;
        }
        let bent = ["ed", "ing", "s"].iter().any(|end| token.lower.ends_with(end));
        // "Invoice 12 has been paid": a stated fact should be recorded.
        let stated = !asks
            && at > 1
            && token.root != token.lower
            && ["is", "are", "was", "were", "been", "got"].contains(&before);
        if !(led || stated || (subject && at <= 3 && bent)) || !catalogue.special(&token.root) {
            continue;
        }
        let mut spans = vec![(token.start, token.end)];
        if led {
            spans.extend(tokens.first().map(|head| (head.start, head.end)));
            spans.extend(tokens.get(at - 1).map(|before| (before.start, before.end)));
        }
        let weight = if led { 5.2 } else { 4.2 };
        push(cues, &token.root, weight, &spans);
        if verb_groups(&token.root).is_empty() {
            cues.push(Cue { group: token.root.clone(), class: None, weight, spans });
        }
    }
}

fn push(cues: &mut Vec<Cue>, root: &str, weight: f32, spans: &[(usize, usize)]) {
    for (group, class) in verb_groups(root) {
        cues.push(Cue { group: (*group).to_owned(), class: Some(*class), weight, spans: spans.to_vec() });
    }
}
