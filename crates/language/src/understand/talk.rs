//! Small talk: messages without a request.

use super::Reader;
use super::lexicon::{CHAT, POLITE};
use super::text::{Text, Token};
use super::wish::{Clause, clauses, is};
use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

/// "That's all for today".
static LEAVES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:that(?:['’]?s| is| was| will be) (?:all|it)|see you|talk (?:soon|later|tomorrow))\b")
});

/// A remark about the speaker, the listener, or the day: no request.
static REMARK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:(?:i|i'm|i’m|i've|i’ve|we|we're|we’re|you|you're|you’re|it|it's|it’s|that|that's|that’s|this|there's|there’s|what an?|how|so|such|oh|ah|hm+|well|no|yes|not|nothing|never|another|one more|almost|finally|long|busy|same|just)\b|(?:\w+\W+){0,2}\w+\W*$)",
    )
});

/// "I'm so tired today": a state of the speaker. "Ill" or "busy" may be something to record.
static FEELS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:i|we)(?:['’]m|['’]re| am| are)(?: (?:so|very|really|quite|a bit|just|rather|feeling|pretty))* (?:tired|hungry|thirsty|bored|happy|sad|stressed|exhausted|excited|nervous|sleepy|worn out|fed up)(?: (?:today|now|tonight|again|already|at the moment|this \w+))?\W*$",
    )
});

/// Whether a message has no request, at first glance.
pub(super) fn is_small(reader: &Reader, text: &Text) -> bool {
    let plain = text.plain.trim();
    if is(&CHAT, plain) || is(&FEELS, plain) {
        return true;
    }
    let Some(rest) = POLITE.find(&text.plain).map(|found| found.end()) else {
        return false;
    };
    if text.plain.get(rest..).is_some_and(|more| is(&LEAVES, more)) {
        return true;
    }
    // "Thanks, that's all for tonight": no request.
    let wants = |clause: &Clause| {
        clause.asks || clause.cues.iter().any(|cue| cue.weight >= 3.0 && !cue.spans.is_empty())
    };
    let kind = |token: &Token| {
        token.start >= rest
            && (token.capital
                || token.lower.starts_with(|c: char| c.is_ascii_digit())
                || !reader.catalogue.types_of(&token.lower).is_empty())
    };
    let more = Text::read(text.raw.get(rest..).unwrap_or_default());
    !clauses(&more, &reader.catalogue).iter().any(wants) && !text.tokens.iter().any(kind)
}

/// Whether an unusable clause is only a remark, and not a request for something else.
pub(super) fn is_only_said(text: &Text, clause: &Clause) -> bool {
    let plain = text.plain.trim();
    let wish = clause.asks || clause.cues.iter().any(|cue| cue.weight >= 3.0);
    is(&POLITE, plain) || (!wish && !plain.contains('?') && is(&REMARK, plain))
}
