//! Words: how texts and names are cut into them, and what two forms of one word have in common.
//!
//! Invariant: a word's place in the text is kept in bytes, so that callers can
//! show where it stood.

use std::collections::BTreeSet;

/// A word of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// In lower case.
    pub lower: String,
    /// What its forms have in common.
    pub stem: String,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Whether it begins with a capital.
    pub capital: bool,
    /// Whether it says nothing about what is wanted.
    pub stop: bool,
    /// The stem as a number, for comparing it often.
    pub key: u64,
}

/// A stem as a number (FNV-1a): the same on every machine.
pub fn key(stem: &str) -> u64 {
    stem.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The words of a text, in order. Apostrophes stay inside a word and possessives go.
pub fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut begin = None;
    let mut before = ' ';
    let ends = text.char_indices().map(|(at, c)| (at, Some(c))).chain([(text.len(), None)]);
    for (at, c) in ends {
        let inside =
            c.is_some_and(|c| c.is_alphanumeric() || (matches!(c, '\'' | '’') && before.is_alphanumeric()));
        match (begin, inside) {
            (None, true) => begin = Some(at),
            (Some(from), false) => {
                push(&mut found, text, from, at);
                begin = None;
            }
            _ => {}
        }
        before = c.unwrap_or(' ');
    }
    found
}

fn push(found: &mut Vec<Word>, text: &str, start: usize, end: usize) {
    let raw = text.get(start..end).unwrap_or_default();
    let bare = raw.trim_end_matches(['\'', '’']);
    let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
    if bare.is_empty() {
        return;
    }
    let lower = bare.to_lowercase();
    let capital = bare.chars().next().is_some_and(char::is_uppercase);
    let stem = stem(&lower);
    found.push(Word {
        key: key(&stem),
        stop: is_stop(&lower),
        stem,
        lower,
        start,
        end: start + bare.len(),
        capital,
    });
}

/// The words of a name: `getUserId`, `get_user_id` and `user.get-id` are cut the same way.
pub fn name_words(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut current = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, &c) in letters.iter().enumerate() {
        if !c.is_alphanumeric() {
            found.extend((!current.is_empty()).then(|| std::mem::take(&mut current)));
            continue;
        }
        let previous = at.checked_sub(1).and_then(|at| letters.get(at)).copied().unwrap_or(' ');
        let next = letters.get(at + 1).copied().unwrap_or(' ');
        // A hump begins at "aB" and, within capitals, at the last before a small letter: "HTTPGet"
        // is "http get".
        let hump =
            c.is_uppercase() && (previous.is_lowercase() || (previous.is_uppercase() && next.is_lowercase()));
        if hump && !current.is_empty() {
            found.push(std::mem::take(&mut current));
        }
        current.extend(c.to_lowercase());
    }
    found.extend((!current.is_empty()).then_some(current));
    found
}

/// Endings that go, the longest first, each with the letters that must remain before it.
const ENDINGS: &[(&str, usize)] = &[
    ("ization", 4),
    ("ational", 4),
    ("ations", 4),
    ("ation", 4),
    ("ators", 4),
    ("ator", 4),
    ("ating", 4),
    ("ated", 4),
    ("ates", 4),
    ("ments", 4),
    ("ment", 4),
    ("ness", 4),
    ("ables", 4),
    ("able", 4),
    ("ions", 4),
    ("ion", 4),
    ("ate", 4),
    ("ings", 3),
    ("ing", 3),
    ("ies", 2),
    ("ied", 2),
    ("ers", 4),
    ("ors", 4),
    ("est", 4),
    ("es", 3),
    ("ed", 3),
    ("er", 4),
    ("or", 4),
    ("ly", 3),
    ("als", 4),
    ("al", 4),
    ("s", 3),
    ("e", 3),
    ("y", 3),
];

/// What the forms of a word have in common: `calculate`, `calculation` and `calculator` share a
/// stem. Crude on purpose: it only serves to compare words with each other.
pub fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() <= 3 || word.bytes().any(|b| b.is_ascii_digit()) {
        return word.to_owned();
    }
    for (ending, least) in ENDINGS {
        if let Some(rest) =
            word.strip_suffix(ending).filter(|rest| rest.len() >= *least && !rest.ends_with(ending))
        {
            let doubled = matches!(*ending, "ing" | "ed" | "er" | "ers").then(|| undouble(rest)).flatten();
            return doubled.unwrap_or(rest).trim_end_matches(['e', 'y', 'i']).to_owned();
        }
    }
    word.to_owned()
}

/// `runn` to `run`, but not `fill` to `fil`.
fn undouble(rest: &str) -> Option<&str> {
    let mut letters = rest.chars().rev();
    let (last, previous) = (letters.next()?, letters.next()?);
    (last == previous && !matches!(last, 'l' | 's' | 'z' | 'o' | 'e'))
        .then(|| rest.get(..rest.len() - 1))
        .flatten()
}

/// Words that say nothing about what is wanted.
pub fn is_stop(word: &str) -> bool {
    const STOP: &[&str] = &[
        "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
        "can", "could", "did", "do", "does", "for", "from", "get", "give", "given", "had", "has", "have",
        "he", "he's", "help", "her", "his", "how", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "into",
        "is", "it", "it's", "its", "just", "know", "let", "let's", "like", "me", "my", "need", "not", "of",
        "on", "one", "or", "our", "please", "she", "she's", "should", "so", "some", "such", "tell", "than",
        "that", "that's", "the", "their", "them", "then", "there", "there's", "these", "they", "they're",
        "they've", "this", "those", "to", "up", "us", "using", "want", "was", "we", "we'll", "we're",
        "we've", "were", "what", "what's", "when", "where", "which", "who", "who's", "will", "with", "would",
        "you", "your",
    ];
    STOP.binary_search(&word).is_ok()
}

/// The stems of the words that say something.
pub fn telling(text: &str) -> BTreeSet<String> {
    words(text).into_iter().filter(|word| !word.stop).map(|word| word.stem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_humps_dots_and_underscores() {
        for (name, expected) in [
            ("getUserId", "get user id"),
            ("HTTPGet", "http get"),
            ("math.hcf_2", "math hcf 2"),
            ("Music_3_LookupMusic", "music 3 lookup music"),
        ] {
            assert_eq!(name_words(name).join(" "), expected);
        }
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        for forms in [
            vec!["calculate", "calculation", "calculator", "calculating", "calculates"],
            vec!["city", "cities"],
            vec!["stop", "stopped", "stopping"],
            vec!["price", "prices", "priced"],
        ] {
            let stems: std::collections::BTreeSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{forms:?}: {stems:?}");
        }
        assert_ne!(stem("temperature"), stem("temple"));
    }

    #[test]
    fn words_know_where_they_stand() {
        let text = "What's Ann's fee, 5 €?";
        let found = words(text);
        let cut: Vec<&str> = found.iter().map(|word| text.get(word.start..word.end).unwrap()).collect();
        assert_eq!(cut, ["What", "Ann", "fee", "5"]);
    }
}
