//! Words of a request: tokens with their places, stems, number words, sentences.
//!
//! Everything later works on token places, never on bytes, so no text is ever cut inside a
//! character.

pub(super) use steward_text::tokens::stem;

/// One word, number or sign of the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// As written.
    pub text: String,
    /// In lower case.
    pub lower: String,
    /// Lower case without a common ending.
    pub stem: String,
    /// Inside which pair of quotes it stands; 0 for none.
    pub quote: usize,
    /// Is it a word or a number, not a sign?
    pub word: bool,
    /// Did blank space come before it?
    pub spaced: bool,
}

impl Token {
    /// The number it is, if it is one.
    #[must_use]
    pub(super) fn number(&self) -> Option<f64> {
        self.lower.parse().ok().filter(|_| self.lower.starts_with(|c: char| c.is_ascii_digit()))
    }
}

/// Cuts text into tokens. A number keeps its decimal point, a word keeps its digits.
#[must_use]
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let characters: Vec<char> = text.chars().collect();
    let get = |place: usize| characters.get(place).copied().unwrap_or(' ');
    let mut found: Vec<Token> = Vec::new();
    let mut quotes = Quotes::default();
    let mut place = 0;
    let mut spaced = true;
    while place < characters.len() {
        let c = get(place);
        if c.is_whitespace() {
            if c == '\n' {
                quotes.close_single();
                found.push(sign("\n", 0, true));
            }
            spaced = true;
            place += 1;
            continue;
        }
        if quotes.toggle(c, place.checked_sub(1).map_or(' ', get), get(place + 1)) {
            place += 1;
            continue;
        }
        let mut end = place;
        if c.is_alphanumeric() {
            let numeric = c.is_ascii_digit();
            while get(end).is_alphanumeric() || (numeric && get(end) == '.' && get(end + 1).is_ascii_digit())
            {
                end += 1;
            }
        } else {
            end += 1;
        }
        let word: String = characters.iter().skip(place).take(end - place).collect();
        if c.is_alphanumeric() {
            found.push(Token {
                lower: word.to_lowercase(),
                stem: stem(&word.to_lowercase()),
                text: word,
                quote: quotes.open,
                word: true,
                spaced,
            });
        } else {
            found.push(sign(&word, quotes.open, spaced));
        }
        spaced = false;
        place = end;
    }
    found
}

fn sign(text: &str, quote: usize, spaced: bool) -> Token {
    Token { text: text.into(), lower: text.into(), stem: text.into(), quote, word: false, spaced }
}

/// Which pair of quotes is open.
#[derive(Default)]
struct Quotes {
    open: usize,
    count: usize,
    mark: Option<char>,
}

impl Quotes {
    /// Opens or closes at this character; false when it is no quote here (an apostrophe, or no
    /// quote at all).
    fn toggle(&mut self, c: char, before: char, after: char) -> bool {
        let mark = match c {
            '"' | '“' | '”' | '„' => '"',
            '\'' | '‘' | '’' | '`' => '\'',
            _ => return false,
        };
        if self.mark == Some(mark) {
            if mark == '\'' && after.is_alphanumeric() {
                return true;
            }
            self.mark = None;
            self.open = 0;
            return true;
        }
        let opens = mark == '"' || (!before.is_alphanumeric() && !after.is_whitespace());
        if self.mark.is_none() && opens {
            self.mark = Some(mark);
            self.count += 1;
            self.open = self.count;
        }
        true
    }

    /// A single quote never spans lines, so that a stray apostrophe does no harm.
    fn close_single(&mut self) {
        self.mark = None;
        self.open = 0;
    }
}

/// The words of a name: cut at signs, at a change of case and between letters and digits.
#[must_use]
pub(super) fn name_words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (place, c) in characters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|p| characters.get(p)).copied().unwrap_or(' ');
        let after = characters.get(place + 1).copied().unwrap_or(' ');
        let camel =
            c.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && after.is_lowercase()));
        let digit = c.is_ascii_digit() != before.is_ascii_digit() && before.is_alphanumeric();
        if (!c.is_alphanumeric() || camel || digit) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A name as one run of lower-case letters and digits.
#[must_use]
pub(super) fn key(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A small number, written in digits or as a word.
#[must_use]
pub(super) fn small_number(word: &str) -> Option<usize> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let word =
        word.trim_end_matches("st").trim_end_matches("nd").trim_end_matches("rd").trim_end_matches("th");
    WORDS.iter().position(|w| *w == word).or_else(|| word.parse().ok().filter(|n| *n <= 100))
}

/// Words that say nothing about which column or value is meant.
#[must_use]
pub(super) fn is_filler(word: &str) -> bool {
    const FILLERS: [&str; 58] = [
        "a", "an", "the", "of", "in", "on", "for", "by", "to", "and", "or", "is", "are", "was", "were", "be",
        "with", "from", "at", "as", "it", "its", "this", "that", "these", "those", "each", "all", "any",
        "there", "their", "they", "which", "what", "how", "if", "then", "than", "not", "no", "do", "does",
        "per", "who", "whose", "where", "when", "has", "have", "had", "into", "between", "using", "use",
        "both", "only", "we", "i",
    ];
    FILLERS.contains(&word)
}

/// Full forms of common abbreviations in column names.
#[must_use]
pub(super) fn expand(word: &str) -> &str {
    match word {
        "avg" | "ave" => "average",
        "num" | "no" | "nbr" | "nr" => "number",
        "pct" | "perc" => "percent",
        "percentage" => "percent",
        "temp" => "temperature",
        "qty" => "quantity",
        "amt" => "amount",
        "dept" => "department",
        "yr" => "year",
        "dob" => "birth",
        "std" | "stddev" | "stdev" => "deviation",
        "max" => "maximum",
        "min" => "minimum",
        other => other,
    }
}

/// Where sentences start and end, as ranges of token places.
#[must_use]
pub(super) fn sentences(tokens: &[Token]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (place, token) in tokens.iter().enumerate() {
        let next = tokens.get(place + 1);
        let before = place.checked_sub(1).and_then(|p| tokens.get(p));
        let short = before.is_some_and(|b| {
            ["inc", "eg", "ie", "vs", "num", "avg", "no", "corp"].contains(&b.lower.as_str())
                || (b.text.chars().count() == 1 && b.word && b.number().is_none())
        });
        let ends = match token.text.as_str() {
            "\n" | "?" | "!" | ";" => true,
            "." => {
                !short && token.quote == 0 && next.is_none_or(|n| n.spaced || n.text == "\n") && start < place
            }
            _ => false,
        };
        let list_number =
            token.text == "." && before.is_some_and(|b| b.number().is_some()) && place == start + 1;
        if ends && !list_number {
            if tokens.get(start..place).is_some_and(|part| part.iter().any(|t| t.word)) {
                found.push(start..place);
            }
            start = place + 1;
        }
    }
    if tokens.get(start..).is_some_and(|part| part.iter().any(|t| t.word)) {
        found.push(start..tokens.len());
    }
    found
}

/// The words of a stretch of tokens in lower case, joined by blanks.
#[must_use]
pub(super) fn plain(tokens: &[Token]) -> String {
    let words: Vec<&str> = tokens.iter().filter(|t| t.word).map(|t| t.lower.as_str()).collect();
    words.join(" ")
}

/// Does the text hold one of these phrases as whole words? The text is from [`plain`].
#[must_use]
pub(super) fn has_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| has(text, phrase))
}

/// Does the text hold this phrase as whole words? A trailing `*` leaves the last word open.
#[must_use]
pub(super) fn has(text: &str, phrase: &str) -> bool {
    let open = phrase.ends_with('*');
    let phrase = phrase.trim_end_matches('*');
    text.match_indices(phrase).any(|(start, _)| {
        let before =
            text.get(..start).and_then(|t| t.chars().next_back()).is_none_or(|c| !c.is_alphanumeric());
        let after = text
            .get(start + phrase.len()..)
            .and_then(|t| t.chars().next())
            .is_none_or(|c| !c.is_alphanumeric());
        before && (open || after)
    })
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn words_quotes_and_sentences() {
        let found = tokens("Don't sum 'Row A' and \"b_c\" (0.05). Then stop.");
        let quoted: Vec<&str> = found.iter().filter(|t| t.quote > 0).map(|t| t.text.as_str()).collect();
        assert_eq!(quoted, ["Row", "A", "b", "_", "c"]);
        assert!(found.iter().any(|t| t.number() == Some(0.05)));
        assert_eq!(sentences(&found).len(), 2);
    }

    #[test]
    fn stems_and_names() {
        assert_eq!(stem("fares"), stem("fare"));
        assert_eq!(stem("closing"), stem("close"));
        assert_eq!(stem("waiting"), stem("wait"));
        assert_eq!(stem("batting"), "bat");
        assert_eq!(name_words("FamilySize_2 perDEM"), ["family", "size", "2", "per", "dem"]);
        assert!(has("use the z score method", "z score") && !has("hats", "hat"));
    }
}
