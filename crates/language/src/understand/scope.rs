//! Decides whether a request is in scope, or the best tool matches only by chance.
//!
//! The weights were fitted (`eval_utterances --fit`) on utterances to an application, against
//! utterances to other applications. Results for an application are measured with weights fitted
//! without it.

use super::catalogue::Role;
use super::choose::{Candidate, ChoiceContext};
use super::fill::UtteranceContext;
use super::plan::strong;
use super::verbs::Class;
use super::wish::Clause;

/// Minimum score of a request in scope. Rejecting a valid request is worse than an unnecessary
/// question.
const FROM: f32 = -0.6;

/// The name of each signal and its weight.
pub const SCOPE: [(&str, f32); 24] = [
    ("always", -1.76),
    ("shared_name", 1.05),
    ("shared_description", 0.66),
    ("shared_fields", 0.99),
    ("near", 1.66),
    ("near_masked", 2.72),
    ("verb", 1.17),
    ("noun", 0.52),
    ("told", 0.74),
    ("evidence", 1.05),
    ("left", -3.10),
    ("firm", 3.12),
    ("named", 1.74),
    ("points_back", 3.22),
    ("type", 1.25),
    ("unknown_name", -0.47),
    ("asks", 0.17),
    ("own", 0.23),
    ("id", 0.61),
    ("value", 0.80),
    ("reads", -0.41),
    ("strong", -1.22),
    ("quotes", 0.33),
    ("plainly", 0.44),
];

/// The scope signals.
pub(super) fn signals(
    said: &UtteranceContext<'_>,
    best: &Candidate,
    clause: &Clause,
    around: &ChoiceContext<'_>,
) -> [f32; SCOPE.len()] {
    let UtteranceContext { text, catalogue, ground, .. } = *said;
    let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
    let tool = catalogue.tools.get(best.at);
    let (start, end) = text.trimmed(clause.start, clause.end);
    let tokens = || text.tokens.iter().filter(|token| token.start >= start && token.end <= end);
    let signal = |name: &str| best.signal(name);
    let telling = tokens().filter(|token| !token.stop).count() as f32;
    let firm = best.filled.firm || best.filled.grounded.as_ref().is_some_and(|found| found.firm);
    let named = best.filled.grounded.is_some() || best.filled.placed > 0;
    let day = |at: usize| said.days.iter().any(|day| day.start <= at && at < day.end);
    let unknown = tokens().any(|token| {
        token.capital
            && token.start > start
            && !token.quoted
            && ground.at(token.start).is_none()
            && !day(token.start)
    });
    let typed = tokens().any(|token| {
        catalogue
            .types_of(&token.lower)
            .iter()
            .any(|kind| tool.is_some_and(|tool| tool.tool.domain == kind.domain))
    });
    let own = tokens().any(|token| ["i", "we", "my", "our", "us"].contains(&token.lower.as_str()));
    let value = best
        .filled
        .arguments
        .keys()
        .filter_map(|name| tool?.named(name))
        .any(|field| matches!(field.role, Role::Choice | Role::Flag | Role::Email | Role::Phone));
    [
        1.0,
        signal("shared_name").min(2.0),
        signal("shared_description").min(2.0),
        signal("shared_fields").min(2.0),
        best.near,
        signal("near_masked"),
        best.verb / 5.0,
        best.noun.clamp(-2.0, 3.0) / 3.0,
        best.told / 3.0,
        best.filled.evidence.min(4.0) / 4.0,
        signal("left") / (telling + 1.0),
        flag(firm),
        flag(named && !firm),
        flag(around.back && (!around.recent.is_empty() || clause.inherits)),
        flag(typed),
        flag(unknown),
        flag(clause.asks),
        flag(own),
        flag(best.filled.id.is_some()),
        flag(value),
        flag(tool.is_some_and(|tool| tool.tool.read_only)),
        flag(strong(clause)),
        flag(text.quotes.iter().any(|quote| quote.start >= start && quote.end <= end)),
        flag(plainly(said, best, clause, around)),
    ]
}

/// Whether a request is in scope.
pub(super) fn inside(
    said: &UtteranceContext<'_>,
    best: &Candidate,
    clause: &Clause,
    around: &ChoiceContext<'_>,
) -> bool {
    if !around.back && (by_chance(said, best, clause.asks) || (clause.asks && stranger(said, best, around))) {
        return false;
    }
    // "Show me Bruno Klein": a name and an action.
    let named = said.text.tokens.windows(2).any(|pair| {
        matches!(pair, [a, b] if a.capital && b.capital && !a.quoted && a.start >= clause.start && b.end <= clause.end)
    });
    let said_so = best.verb >= 3.5 || (best.verb >= 2.0 && named && !clause.asks);
    if said_so && plainly(said, best, clause, around) {
        return true;
    }
    let signals = signals(said, best, clause, around);
    signals.iter().zip(&SCOPE).map(|(signal, (_, weight))| signal * weight).sum::<f32>() > FROM
}

/// "What's the weather like in Lisbon": only a word of some name matches, and the rest is unknown
/// here.
fn stranger(said: &UtteranceContext<'_>, best: &Candidate, around: &ChoiceContext<'_>) -> bool {
    let found = best.filled.grounded.as_ref();
    let lately = |thing: &super::types::RecordRef| {
        around.recent.iter().any(|one| one.entity_type == thing.entity_type && one.id == thing.id)
    };
    if found.is_some_and(|found| found.things.iter().any(lately)) {
        return false;
    }
    let weak = found.is_none_or(|found| !found.firm) && !best.filled.firm;
    let shared: f32 =
        ["shared_name", "shared_description", "shared_fields"].iter().map(|name| best.signal(name)).sum();
    !said.ground.world.is_empty()
        && weak
        && (found.is_some() || best.filled.placed > 0)
        && best.signal("left") >= 1.0
        && shared < 0.2
        && best.told < 1.0
        && best.noun <= 0.0
        && best.near < 0.35
        && best.verb < 3.6
}

/// If the existing records are known: lower-case words that name no record, in a request without
/// words of the tool.
fn by_chance(said: &UtteranceContext<'_>, best: &Candidate, asks: bool) -> bool {
    let small =
        |piece: &super::fill::Piece| !piece.words.contains(|c: char| c.is_uppercase() || c.is_ascii_digit());
    let quoted = |start: usize| said.text.quotes.iter().any(|quote| quote.start == start);
    let shared = ["shared_name", "shared_description", "shared_fields"]
        .iter()
        .map(|name| best.signal(name))
        .sum::<f32>();
    // "What is the weather in Paris": an unknown name with an unknown attribute.
    let stray = |piece: &super::fill::Piece| small(piece) || (asks && best.signal("left") >= 1.0);
    !said.ground.world.is_empty()
        && best.filled.grounded.is_none()
        && best.filled.placed == 0
        && best.filled.target.as_ref().is_some_and(|piece| stray(piece) && !quoted(piece.start))
        && shared < 0.2
        && best.verb < 3.0
        && best.filled.evidence < 1.5
        && best.told < 1.0
        && best.noun <= 0.0
        && best.near < 0.35
}

/// Clear evidence that a request is in scope.
fn plainly(
    said: &UtteranceContext<'_>,
    best: &Candidate,
    clause: &Clause,
    around: &ChoiceContext<'_>,
) -> bool {
    let UtteranceContext { text, catalogue, .. } = *said;
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
    let quotes = text.quotes.iter().any(|quote| quote.start >= start && quote.end <= end);
    if (something && best.score > 2.0) || (quotes && best.verb >= 2.0 && tool.target().is_some()) {
        return true;
    }
    if asked {
        // Questions with "I" and "we" are about data that is kept here; so are searches and quoted
        // names.
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
        // A name, with a word of the tool's description or "who": "who has Dune?".
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
    // A statement without a known verb: the similarity and the names are evidence for the tool.
    if best.near > 0.35 && (best.told >= 1.0 || best.filled.target.is_some()) {
        return true;
    }
    // "Ann Bell has arrived": a statement about a name, with a word of the tool's description.
    if best.told >= 1.0 && best.filled.target.is_some() && best.near > 0.1 && !tool.tool.read_only {
        return true;
    }
    best.verb >= 2.5 && (tool.target().is_some() || best.near > 0.12 || points || tool.class == Class::Search)
}
