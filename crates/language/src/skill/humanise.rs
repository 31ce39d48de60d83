//! Translates an error for users: one plain sentence, what to do next, and who can fix it.
//!
//! Invariants
//! - Of the raw text only short and plain field names and values are shown; the raw error stays in
//!   the trace. A tool's message may contain secrets, stack traces, or misleading text.
//! - An error that is not recognised is attributed to the system, never to the user.

use super::sure;
use crate::pattern::pattern;
use crate::words::name_words;
use regex::Regex;
use std::sync::LazyLock;
use steward_domain::Confidence;

/// Who can fix an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// The user, by changing or completing the request.
    UserFixable,
    /// A later retry may succeed.
    Retryable,
    /// Only the operator of the system.
    SystemLevel,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A value is missing.
    Missing,
    /// A value is invalid.
    Invalid,
    /// The entity does not exist.
    NotFound,
    /// The entity already exists, or was changed meanwhile.
    Conflict,
    /// Permission denied.
    NotAllowed,
    /// Not authenticated.
    NotSignedIn,
    /// Timeout.
    TimedOut,
    /// Rate limit exceeded.
    TooMany,
    /// The service cannot be reached.
    Unreachable,
    /// No disk space or memory left.
    Full,
    /// The response is invalid.
    Garbled,
    /// The service reports that it has no answer.
    NoAnswer,
    /// The entity is in a state that does not allow it.
    WrongState,
    /// Something else.
    Broken,
}

/// An error translated for users.
#[derive(Debug, Clone, PartialEq)]
pub struct HumanError {
    /// The kind.
    pub trouble: ErrorKind,
    /// Who can fix it.
    pub remedy: Remedy,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do next, in one sentence.
    pub next: String,
    /// The confidence of the classification.
    pub confidence: Confidence,
    /// The reasons for the classification.
    pub reasons: Vec<String>,
}

/// In order: the first match wins. A group `field` is the name of a field.
static PATTERNS: LazyLock<Vec<(ErrorKind, f32, Regex)>> = LazyLock::new(|| {
    use ErrorKind::{
        Broken, Conflict, Full, Garbled, Invalid, Missing, NoAnswer, NotAllowed, NotFound, NotSignedIn,
        TimedOut, TooMany, Unreachable, WrongState,
    };
    const NAME: &str = r"[`'\x22]?\b(?P<field>[A-Za-z][A-Za-z0-9_.-]{0,59})\b[`'\x22]?";
    let rows = [
        (TooMany, 0.97, r"rate.?limit|too many requests|\b429\b|quota (?:exceeded|exhausted)|throttl".to_owned()),
        (TimedOut, 0.97, r"time(?:d)?[ _-]?out|deadline (?:exceeded|elapsed)|\b(?:408|504)\b|took too long|did not (?:answer|respond|reply)|no (?:answer|response) within".to_owned()),
        (NotSignedIn, 0.95, r"\b401\b|unauthenticated|unauthorized|not (?:logged|signed) in|invalid (?:token|api key|credentials)|token (?:has )?expired|authentication (?:failed|required)".to_owned()),
        (NotAllowed, 0.95, r"\b403\b|forbidden|permission|access (?:is )?denied|not (?:allowed|permitted)|insufficient (?:scope|privilege|rights)|operation not permitted".to_owned()),
        (Missing, 0.97, format!(r"(?:field|value|parameter|argument|property)[_ ](?:is[_ ])?(?:required|missing)\s*[:=]\s*{NAME}")),
        (Missing, 0.96, format!(r"(?:missing|required)(?: required)?(?: \d+)?(?: positional)? (?:fields?|parameters?|arguments?|propert(?:y|ies)|values?)\s*:?\s*{NAME}")),
        (Missing, 0.95, format!(r"{NAME}(?: field| parameter| argument)?\s*:?\s*(?:is|was)? ?(?:a )?(?:required|missing|must (?:be (?:given|provided|set|present)|not be (?:empty|blank|null)))")),
        (Missing, 0.9, format!(r"null value in column {NAME}|not null constraint failed: (?:\w+\.)?(?P<field2>\w+)")),
        (Conflict, 0.95, r"already exists|duplicate|unique constraint|\b409\b|conflict|version mismatch|was modified".to_owned()),
        (NoAnswer, 0.95, r"(?:not|un)[ _-]?answerable|knows? nothing (?:of|about)|(?:can(?: ?not|'t)|could not|unable to|do(?:es)? not know how to) (?:answer|understand)|no answer to|not (?:supported|implemented)|outside (?:of )?(?:my|its|the) (?:scope|data)".to_owned()),
        (WrongState, 0.93, r"(?:wrong|invalid|bad|illegal)[ _]state|not (?:allowed|possible) (?:in|while) (?:this|its|the)|\bis already (?:open|closed|done|paid|lent|cancelled|checked)".to_owned()),
        (NotFound, 0.95, r"\b404\b|not[ _]?found|no such|does(?: not|n't) exist|unknown (?:id|entity|record|resource|tool|name)|no (?:rows?|results?|records?) (?:found|matched)".to_owned()),
        (Invalid, 0.93, format!(r"(?:invalid|bad|malformed|illegal|wrong)(?: (?:value|type|format|input))?(?: (?:for|of|in))?(?: (?:field|parameter|argument|property))?\s*:?\s*{NAME}")),
        (Invalid, 0.9, format!(r"{NAME}\s*:?\s*(?:must (?:be|match|have)|should be|is not (?:a|an|one of)\b|expected)")),
        (Invalid, 0.85, r"invalid|validation|type mismatch|out of range|too (?:long|short|large|small)|\b(?:400|422)\b|cannot parse|malformed".to_owned()),
        (Unreachable, 0.95, r"connection (?:refused|reset|closed|aborted)|econn|unreachable|could not (?:connect|resolve)|dns|name resolution|network|broken pipe|\b(?:502|503)\b|(?:service|temporarily) unavailable|offline|no route to host".to_owned()),
        (Full, 0.93, r"no space left|disk (?:is )?full|out of memory|oom|memory (?:limit|exhausted)|resource.?exhausted|\b507\b".to_owned()),
        (Garbled, 0.85, r"unexpected (?:token|end|eof|character)|invalid json|json parse|parse error|decode|deserializ|malformed response".to_owned()),
        (Broken, 0.8, r"\b500\b|internal (?:server )?error|panic|exception|traceback|segmentation|stack overflow".to_owned()),
    ];
    let build = |(kind, sure, row): (ErrorKind, f32, String)| (kind, sure, pattern(&format!("(?i){row}")));
    rows.into_iter().map(build).collect()
});

/// Translates a raw error. `doing` is what was attempted, as "create the task"; without it the
/// sentence is about "this".
#[must_use]
pub fn humanise(raw: &str, doing: Option<&str>) -> HumanError {
    let head: String = raw.chars().take(2000).collect();
    let found = PATTERNS.iter().find_map(|(trouble, share, pattern)| {
        let captures = pattern.captures(&head)?;
        let field =
            captures.name("field").or_else(|| captures.name("field2")).map(|field| field.as_str().to_owned());
        let said = captures.get(0).map_or("", |all| all.as_str());
        Some((
            *trouble,
            *share,
            field.filter(|field| plain(field)),
            said.chars().take(60).collect::<String>(),
        ))
    });
    let Some((trouble, share, field, said)) = found else {
        let reasons = vec!["the error says nothing that is known".into()];
        return written(ErrorKind::Broken, None, doing, 0.3, reasons);
    };
    written(trouble, field.as_deref(), doing, share, vec![format!("the error says \"{}\"", said.trim())])
}

/// Words in the place of a field's name that are not one.
fn plain(field: &str) -> bool {
    let common = [
        "a",
        "an",
        "the",
        "is",
        "it",
        "this",
        "value",
        "field",
        "parameter",
        "argument",
        "input",
        "error",
        "for",
        "of",
        "in",
        "data",
        "request",
        "body",
        "type",
        "json",
    ];
    !common.contains(&field.to_lowercase().as_str()) && field.len() <= 60
}

fn written(
    trouble: ErrorKind,
    field: Option<&str>,
    doing: Option<&str>,
    share: f32,
    reasons: Vec<String>,
) -> HumanError {
    let what = doing.map_or_else(|| "do this".to_owned(), |doing| doing.trim().to_owned());
    let field = field.map(|field| name_words(field.rsplit('.').next().unwrap_or(field)).join(" "));
    let (message, next) = match (trouble, field) {
        (ErrorKind::Missing, Some(field)) => {
            (format!("To {what}, I still need the {field}."), format!("Tell me the {field}."))
        }
        (ErrorKind::Missing, None) => (
            format!("To {what}, something is still missing."),
            "Say what it should be, with all the details that you have.".into(),
        ),
        (ErrorKind::Invalid, Some(field)) => (
            format!("The {field} does not fit, so I could not {what}."),
            format!("Give another value for the {field}."),
        ),
        (ErrorKind::Invalid, None) => (
            format!("One of the values does not fit, so I could not {what}."),
            "Check the values, and say it once more.".into(),
        ),
        (ErrorKind::NotFound, _) => (
            format!("I could not {what}: it is not there."),
            "Check the name or the number, or ask me to list what there is.".into(),
        ),
        (ErrorKind::Conflict, _) => (
            format!("I could not {what}: there is already one like it, or it was changed meanwhile."),
            "Choose another name, or look at the one that is there.".into(),
        ),
        (ErrorKind::NotAllowed, _) => (
            format!("You may not {what} with the permissions you have."),
            "Ask whoever runs the system to allow it.".into(),
        ),
        (ErrorKind::NotSignedIn, _) => (
            format!("I could not {what}: the service does not accept the sign-in."),
            "Sign in again, or ask whoever runs the system to renew the access.".into(),
        ),
        (ErrorKind::TimedOut, _) => (
            format!("It took too long to {what}, so I stopped waiting."),
            "Try again in a moment, or ask for less at once.".into(),
        ),
        (ErrorKind::TooMany, _) => (
            format!("Too much was asked in a short time to {what} now."),
            "Wait a minute, then try again.".into(),
        ),
        (ErrorKind::Unreachable, _) => (
            format!("I could not {what}: the service cannot be reached."),
            "Try again in a moment; if it stays so, tell whoever runs the system.".into(),
        ),
        (ErrorKind::Full, _) => (
            format!("There was not enough room or memory to {what}."),
            "Ask for less at once, or tell whoever runs the system.".into(),
        ),
        (ErrorKind::Garbled, _) => (
            format!("I could not {what}: the service answered in a form that I cannot read."),
            "Tell whoever runs the system; the details are in the trace.".into(),
        ),
        (ErrorKind::NoAnswer, _) => (
            format!("I could not {what}: what was asked has no answer there."),
            "Ask it in other words, or say what it is about.".into(),
        ),
        (ErrorKind::WrongState, _) => (
            format!("I could not {what}: it is in a state that does not allow this."),
            "Ask me to show it, then say what fits.".into(),
        ),
        (ErrorKind::Broken, _) => (
            format!("I could not {what}: something went wrong inside the service."),
            "Tell whoever runs the system; the details are in the trace.".into(),
        ),
    };
    let remedy = match trouble {
        ErrorKind::Missing
        | ErrorKind::Invalid
        | ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::NoAnswer
        | ErrorKind::WrongState => Remedy::UserFixable,
        ErrorKind::TimedOut | ErrorKind::TooMany | ErrorKind::Unreachable => Remedy::Retryable,
        _ => Remedy::SystemLevel,
    };
    HumanError { trouble, remedy, message, next, confidence: sure(share), reasons }
}

#[cfg(test)]
#[path = "humanise_tests.rs"]
mod tests;
