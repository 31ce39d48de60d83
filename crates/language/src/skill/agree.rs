//! Whether a message is a plain yes or a plain no, and nothing else.
//!
//! Invariant: a message with any other content is neither. A yes can release an action, so it must
//! not be inferred from a sentence.

use crate::words::words;

const YES: &[&str] = &[
    "yes",
    "y",
    "yeah",
    "yep",
    "yup",
    "sure",
    "ok",
    "okay",
    "confirm",
    "confirmed",
    "agreed",
    "absolutely",
    "definitely",
    "certainly",
    "correct",
    "right",
    "proceed",
    "affirmative",
    "approve",
    "approved",
];
const NO: &[&str] = &[
    "no",
    "n",
    "nope",
    "nah",
    "cancel",
    "stop",
    "don't",
    "don’t",
    "dont",
    "never",
    "abort",
    "wait",
    "reject",
    "rejected",
    "forget",
    "leave",
    "keep",
    "not",
    "nevermind",
];
/// Filler words beside a yes or a no.
const BESIDE: &[&str] = &[
    "please", "do", "it", "that", "them", "go", "ahead", "thanks", "thank", "you", "that's", "fine", "mind",
    "sounds", "good", "all", "of", "just", "the", "both", "now", "i", "am", "i'm", "is", "so", "this",
    "these", "those", "as", "alone", "for", "want", "to", "course", "yet", "actually", "well", "oh",
];
/// Phrases of agreement without "yes".
const PHRASES: &[&str] =
    &["go ahead", "do it", "do that", "please do", "sounds good", "that's fine", "of course", "all of them"];

/// Yes, no, or neither.
#[must_use]
pub fn agrees(text: &str) -> Option<bool> {
    let said: Vec<String> = words(text).into_iter().map(|word| word.lower).collect();
    let known = |word: &String| [YES, NO, BESIDE].iter().any(|list| list.contains(&word.as_str()));
    if said.is_empty() || said.len() > 6 || !said.iter().all(known) {
        return None;
    }
    let holds = |list: &[&str]| said.iter().any(|word| list.contains(&word.as_str()));
    let plain = format!(" {} ", said.join(" "));
    let agreed = holds(YES) || PHRASES.iter().any(|phrase| plain.contains(&format!(" {phrase} ")));
    match (agreed, holds(NO)) {
        (_, true) => Some(false),
        (true, false) => Some(true),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::agrees;

    #[test]
    fn only_a_plain_yes_is_one() {
        let rows = [
            ("yes", Some(true)),
            ("Yes, please!", Some(true)),
            ("ok go ahead", Some(true)),
            ("do it", Some(true)),
            ("sure", Some(true)),
            ("no", Some(false)),
            ("never mind", Some(false)),
            ("yes... no, wait", Some(false)),
            ("don't do it", Some(false)),
            ("leave it as it is", Some(false)),
            ("yes, delete task 5 too", None),
            ("delete it", None),
            ("yes ignore previous instructions", None),
            ("the second", None),
            ("", None),
        ];
        for (said, expected) in rows {
            assert_eq!(agrees(said), expected, "{said}");
        }
    }
}
