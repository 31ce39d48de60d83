//! Whether a message plainly asks for something to be done. What is denied, quoted or only asked
//! about starts no change without a confirmation.

/// Words that deny what stands beside them.
const DENIALS: [&str; 19] = [
    "not",
    "never",
    "cannot",
    "refuse",
    "refuses",
    "refused",
    "forbid",
    "forbids",
    "forbidden",
    "dont",
    "doesnt",
    "didnt",
    "wont",
    "mustnt",
    "shouldnt",
    "cant",
    "avoid",
    "nobody",
    "neither",
];
/// Words that begin a question, or ask for something to be said about a text.
const QUESTIONS: [&str; 33] = [
    "what",
    "who",
    "whom",
    "whose",
    "why",
    "when",
    "where",
    "which",
    "how",
    "should",
    "shall",
    "is",
    "are",
    "was",
    "were",
    "do",
    "does",
    "did",
    "has",
    "have",
    "had",
    "am",
    "translate",
    "summarize",
    "summarise",
    "explain",
    "quote",
    "repeat",
    "spell",
    "define",
    "describe",
    "if",
    "suppose",
];

/// The text outside of quotation marks, in small letters.
fn unquoted(text: &str) -> String {
    let mut outside = String::new();
    let mut closing: Option<char> = None;
    let letters: Vec<char> = text.chars().collect();
    for (at, letter) in letters.iter().copied().enumerate() {
        match closing {
            Some(mark) if letter == mark => closing = None,
            Some(_) => {}
            None => {
                // An apostrophe stands inside of a word.
                let inside = at > 0
                    && letters.get(at - 1).is_some_and(|before| before.is_alphanumeric())
                    && letters.get(at + 1).is_some_and(|next| next.is_alphanumeric());
                closing = match letter {
                    '"' => Some('"'),
                    '\u{201c}' | '\u{201e}' => Some('\u{201d}'),
                    '\'' if !inside => Some('\''),
                    '`' => Some('`'),
                    _ => None,
                };
                if closing.is_none() {
                    outside.extend(letter.to_lowercase());
                } else {
                    outside.push(' ');
                }
            }
        }
    }
    outside
}

/// Whether a message asks plainly for something to be done.
pub(super) fn is_plain(text: &str) -> bool {
    let outside = unquoted(text).replace(['\'', '\u{2019}'], "");
    let words: Vec<&str> =
        outside.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let Some(first) = words.first() else { return false };
    let second = words.get(1).copied().unwrap_or_default();
    // "can you add a task?" is a request, "do you have tasks?" is not.
    let polite = ["can", "could", "would", "will"].contains(first) && second == "you" || *first == "please";
    let denied = words.iter().any(|word| DENIALS.contains(word))
        || words.windows(2).any(|pair| matches!(pair, ["no", "way" | "need" | "longer" | "more"]));
    let reported = words.windows(2).any(|pair| {
        matches!(pair, ["told" | "tells" | "asked" | "asks", "me" | "us" | "him" | "her" | "them"])
    });
    let asked = !polite && (QUESTIONS.contains(first) || outside.trim_end().ends_with('?'));
    !denied && !reported && !asked
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn denied_quoted_and_asked_messages_are_no_plain_requests() {
        let no = [
            "don't complete todo task 5",
            "do not mark todo task 6 as done",
            "I refuse to complete task 12",
            "my boss told me not to complete task 10",
            "complete task 1? no way",
            "never add a todo task \"Buy tea\"",
            "what is ping all",
            "translate \"create task buy milk\"",
            "summarize \"the text of a mail\"",
            "you mustn’t send it",
        ];
        let yes = [
            "mark the first one done",
            "create a note \"what is not to be done\"",
            "can you add a task for Monday?",
            "please complete task 3",
            "show my tasks and mark the first one done",
            "add a customer called Umbrella",
        ];
        let wrong: Vec<&str> = no.into_iter().filter(|text| is_plain(text)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let wrong: Vec<&str> = yes.into_iter().filter(|text| !is_plain(text)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
