//! Intent classification: create, read, update, delete, list, search, analyze; summarize, fetch,
//! explain; or any subset.
//!
//! It uses cues: the opening verb counts most, words and phrases elsewhere count less, and singular
//! or plural distinguishes reading one entity from listing several. A negated cue is ignored. It
//! does not consider the available tools; selection does.

use super::sure;
use crate::words::{Word, words};
use std::collections::HashMap;
use std::sync::LazyLock;
use steward_domain::{Confidence, IntentKind};

use IntentKind::{Analyze, Create, Delete, Explain, Fetch, List, Read, Search, Summarize, Update};

/// The intents of application requests.
pub const SEVEN: &[IntentKind] = &[Create, Read, Update, Delete, List, Search, Analyze];
/// The intents of requests about content.
pub const FOUR: &[IntentKind] = &[Summarize, Analyze, Fetch, Explain];
/// Every kind.
pub const ALL: &[IntentKind] =
    &[Create, Read, Update, Delete, List, Search, Analyze, Summarize, Fetch, Explain];

/// The result of the classification.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// The most likely kind; none if there is no cue.
    pub kind: Option<IntentKind>,
    /// The confidence.
    pub confidence: Confidence,
    /// Other possible kinds, most likely first.
    pub alternatives: Vec<(IntentKind, Confidence)>,
    /// The reasons, strongest first.
    pub reasons: Vec<String>,
}

/// The weight of a cue at the start of the request, and elsewhere.
const HEAD: f32 = 4.0;
const INSIDE: f32 = 1.2;
const PHRASE: f32 = 3.0;
/// The weight of "none of the kinds", on the same scale.
const NONE: f32 = 1.0;

/// Opening verbs of each kind. A verb may belong to several; the rest of the request decides.
const VERBS: &[(IntentKind, &[&str])] = &[
    (
        Create,
        &[
            "add", "book", "build", "compose", "create", "draft", "enter", "file", "generate", "insert",
            "invite", "log", "make", "new", "order", "plan", "post", "prepare", "record", "register",
            "remind", "reserve", "schedule", "send", "start", "submit", "upload", "write",
        ],
    ),
    (Read, &["check", "display", "get", "open", "preview", "read", "see", "show", "view"]),
    (
        Update,
        &[
            "adjust",
            "approve",
            "archive",
            "assign",
            "change",
            "close",
            "complete",
            "convert",
            "correct",
            "decrease",
            "edit",
            "extend",
            "finish",
            "fix",
            "increase",
            "lower",
            "mark",
            "merge",
            "modify",
            "move",
            "pause",
            "postpone",
            "prioritize",
            "raise",
            "reassign",
            "rename",
            "reopen",
            "replace",
            "reschedule",
            "resolve",
            "restore",
            "set",
            "shift",
            "switch",
            "tag",
            "turn",
            "update",
        ],
    ),
    (
        Delete,
        &[
            "cancel",
            "clear",
            "delete",
            "discard",
            "drop",
            "erase",
            "purge",
            "remove",
            "revoke",
            "scrap",
            "trash",
            "unassign",
            "undo",
            "unsubscribe",
            "wipe",
        ],
    ),
    (List, &["enumerate", "list"]),
    (Search, &["filter", "find", "google", "locate", "lookup", "query", "search", "seek"]),
    (
        Analyze,
        &[
            "aggregate",
            "analyse",
            "analyze",
            "assess",
            "average",
            "break",
            "calculate",
            "chart",
            "compare",
            "compute",
            "correlate",
            "count",
            "determine",
            "estimate",
            "evaluate",
            "forecast",
            "graph",
            "group",
            "measure",
            "plot",
            "predict",
            "profile",
            "project",
            "rank",
            "sum",
            "visualize",
        ],
    ),
    (Summarize, &["abridge", "condense", "digest", "recap", "shorten", "summarise", "summarize"]),
    (
        Fetch,
        &[
            "bring", "collect", "download", "export", "fetch", "gather", "grab", "import", "load", "obtain",
            "pull", "retrieve",
        ],
    ),
    (Explain, &["clarify", "define", "describe", "elaborate", "explain", "interpret", "teach"]),
];

/// Phrases, as plain words separated by one space.
const PHRASES: &[(IntentKind, &[&str])] = &[
    (Create, &["set up", "sign up", "put together", "i need a new", "jot down", "note down"]),
    (
        Read,
        &[
            "what is the status",
            "status of",
            "details of",
            "details for",
            "details about",
            "what does the",
            "when is",
            "who is",
            "look at",
            "pull up the",
        ],
    ),
    (
        Update,
        &[
            "as done",
            "as complete",
            "as completed",
            "check off",
            "tick off",
            "push back",
            "turn on",
            "turn off",
            "make it",
        ],
    ),
    (Delete, &["get rid of", "take off", "throw away", "throw out", "no longer need"]),
    (
        List,
        &[
            "show all",
            "show me all",
            "give me all",
            "what are my",
            "what are the",
            "which of",
            "all my",
            "all the",
            "all of",
            "do i have",
            "do we have",
            "are there any",
            "list of",
            "every",
        ],
    ),
    (
        Search,
        &[
            "look for",
            "look up",
            "looking for",
            "search for",
            "where is",
            "where are",
            "anything about",
            "containing",
            "that mention",
            "that mentions",
            "mentioning",
            "matching",
            "with the word",
        ],
    ),
    (
        Analyze,
        &[
            "how many",
            "how much",
            "break down",
            "breakdown",
            "trend",
            "trends",
            "average",
            "median",
            "total",
            "correlation",
            "distribution",
            "growth",
            "percentage of",
            "share of",
            "the most",
            "the least",
            "highest",
            "lowest",
            "versus",
            "over time",
            "per month",
            "per week",
            "per day",
            "per year",
            "statistics",
            "outliers",
            "insights",
            "why did",
            "why are",
            "what drives",
            "root cause",
        ],
    ),
    (
        Summarize,
        &[
            "summary",
            "tl dr",
            "tldr",
            "key points",
            "main points",
            "the gist",
            "in a nutshell",
            "in short",
            "overview",
            "highlights",
            "catch me up",
            "takeaways",
            "boil down",
            "sum up",
        ],
    ),
    (Fetch, &["pull up", "pull down", "bring up", "go get"]),
    (
        Explain,
        &[
            "what does it mean",
            "mean by",
            "what is meant",
            "how does",
            "how do",
            "help me understand",
            "walk me through",
            "tell me about",
            "meaning of",
            "why is",
            "why does",
            "reason for",
            "what is a",
            "what is an",
            "difference between",
            "in plain words",
            "in simple terms",
        ],
    ),
];

/// Words before the actual request.
const FILLERS: &[&str] = &[
    "a", "actually", "again", "alright", "also", "am", "an", "and", "are", "at", "be", "can", "could", "do",
    "for", "going", "gonna", "hello", "help", "hey", "hi", "i", "i'd", "i'll", "i'm", "if", "is", "it",
    "just", "kindly", "let", "like", "may", "me", "might", "need", "now", "ok", "okay", "please", "quickly",
    "should", "so", "thanks", "the", "then", "to", "today", "try", "us", "wanna", "want", "we", "well",
    "will", "wish", "would", "you",
];

/// Classifies among `kinds`. The score of an excluded kind goes to the nearest included one: fetch
/// to read, and vice versa.
#[must_use]
pub fn classify(text: &str, kinds: &[IntentKind]) -> Intent {
    let said = words(text);
    let mut points: Vec<(IntentKind, f32, Vec<String>)> =
        ALL.iter().map(|kind| (*kind, 0.0, Vec::new())).collect();
    let mut add = |kind: IntentKind, weight: f32, reason: String| {
        if let Some((_, sum, reasons)) = points.iter_mut().find(|(known, ..)| *known == kind) {
            *sum += weight;
            reasons.push(reason);
        }
    };
    verbs(&said, &mut add);
    phrases(&said, &mut add);
    number(&said, &mut add);
    settle(points, kinds)
}

fn verbs(said: &[Word], add: &mut impl FnMut(IntentKind, f32, String)) {
    let head = said.iter().position(|word| !FILLERS.contains(&word.lower.as_str()));
    for (at, word) in said.iter().enumerate().filter(|(at, _)| !denied(said, *at)) {
        for (kind, verb) in STEMS.get(&word.stem).into_iter().flatten() {
            if Some(at) == head && word.lower == *verb {
                add(*kind, HEAD, format!("the wish opens with \"{}\"", word.lower));
            } else if opens(said, at) {
                add(*kind, INSIDE, format!("\"{}\" is said", word.lower));
            }
        }
    }
}

/// The verbs by their stems.
static STEMS: LazyLock<HashMap<String, Vec<(IntentKind, &str)>>> = LazyLock::new(|| {
    let mut stems: HashMap<String, Vec<(IntentKind, &str)>> = HashMap::new();
    for (kind, verbs) in VERBS {
        for verb in *verbs {
            stems.entry(crate::words::stem(verb)).or_default().push((*kind, verb));
        }
    }
    stems
});

/// A word after "the" or "my" is a noun and not a verb: "the order", "my plan".
fn opens(said: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| said.get(at)).map_or("", |word| word.lower.as_str());
    !["a", "an", "the", "my", "our", "your", "this", "that", "their", "his", "her", "of", "in", "on"]
        .contains(&before)
}

fn denied(said: &[Word], at: usize) -> bool {
    let near = said.iter().take(at).rev().take(2);
    near.into_iter().any(|word| {
        ["not", "don't", "don’t", "never", "without", "dont", "avoid"].contains(&word.lower.as_str())
    })
}

fn phrases(said: &[Word], add: &mut impl FnMut(IntentKind, f32, String)) {
    let plain = format!(" {} ", said.iter().map(|word| word.lower.as_str()).collect::<Vec<_>>().join(" "));
    let head = said
        .iter()
        .find(|word| !FILLERS.contains(&word.lower.as_str()))
        .map_or("", |word| word.lower.as_str());
    for (kind, phrases) in PHRASES {
        // One phrase per kind is enough; the longest is the most specific.
        let found = phrases
            .iter()
            .filter(|phrase| plain.contains(&format!(" {phrase} ")))
            .max_by_key(|phrase| phrase.len());
        if let Some(phrase) = found {
            let opens = phrase.starts_with(head) && !head.is_empty();
            add(*kind, if opens { HEAD + PHRASE / 2.0 } else { PHRASE }, format!("\"{phrase}\" is said"));
        }
    }
}

/// Plural means list, singular means read.
fn number(said: &[Word], add: &mut impl FnMut(IntentKind, f32, String)) {
    let asks = |word: &Word| {
        ["show", "see", "view", "display", "get", "give", "what", "which", "check"]
            .contains(&word.lower.as_str())
    };
    let Some(ask) = said.iter().position(asks) else { return };
    let things: Vec<&Word> = said.iter().skip(ask + 1).filter(|word| !word.stop).collect();
    let Some(thing) = things.iter().find(|word| several(&word.lower)) else {
        if !things.is_empty() {
            add(Read, INSIDE, "one thing is asked for".into());
        }
        return;
    };
    add(List, HEAD + 0.5, format!("several are asked for: \"{}\"", thing.lower));
}

fn several(word: &str) -> bool {
    let ends = word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is", "ous"].iter().any(|end| word.ends_with(end));
    (ends && !["status", "news", "details", "yes", "does", "has", "was", "always"].contains(&word))
        || ["people", "children", "everything", "everyone"].contains(&word)
}

/// The kind that gets the score of an excluded one.
fn lend(kind: IntentKind, kinds: &[IntentKind]) -> Option<IntentKind> {
    let nearest: &[IntentKind] = match kind {
        Read | List | Search => &[Fetch, Read, List],
        Fetch => &[Read],
        Explain | Summarize => &[Read],
        Create | Update | Delete | Analyze => &[],
    };
    if kinds.contains(&kind) { Some(kind) } else { nearest.iter().find(|near| kinds.contains(near)).copied() }
}

fn settle(points: Vec<(IntentKind, f32, Vec<String>)>, kinds: &[IntentKind]) -> Intent {
    let mut sums: Vec<(IntentKind, f32, Vec<String>)> = Vec::new();
    for (kind, weight, reasons) in points {
        let Some(kind) = lend(kind, kinds).filter(|_| weight > 0.0) else { continue };
        match sums.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, sum, known)) => {
                *sum += weight;
                known.extend(reasons);
            }
            None => sums.push((kind, weight, reasons)),
        }
    }
    // Stable sort: equal kinds keep their order.
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let total = NONE.exp() + sums.iter().map(|(_, sum, _)| sum.exp()).sum::<f32>();
    let share = |sum: f32| sure(sum.exp() / total);
    let Some((kind, sum, reasons)) = sums.first() else {
        let reasons = vec!["nothing in it says what should be done".into()];
        return Intent { kind: None, confidence: Confidence::default(), alternatives: Vec::new(), reasons };
    };
    Intent {
        kind: Some(*kind),
        confidence: share(*sum),
        alternatives: sums.iter().skip(1).map(|(kind, sum, _)| (*kind, share(*sum))).collect(),
        reasons: reasons.clone(),
    }
}

#[cfg(test)]
#[path = "intent_tests.rs"]
mod tests;
