//! Splits a question or a name into words with stems, numbers and quoted spans.
//!
//! The invariant: the same text gives the same tokens whether it stands in a question, a column
//! name or a value, so they can be compared.

use std::collections::HashMap;

/// One word, number or sign of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// As written.
    pub text: String,
    /// Lower case.
    pub word: String,
    /// Without its ending.
    pub stem: String,
    /// The number it writes, if it does.
    pub number: Option<f64>,
    /// Starts with a capital, not at the start of the question.
    pub capital: bool,
}

impl Token {
    /// A sign, not a word.
    pub fn is_sign(&self) -> bool {
        !self.word.chars().any(char::is_alphanumeric)
    }
}

/// Tokens and the quoted spans (first, after the last) among them.
pub fn tokenize(text: &str) -> (Vec<Token>, Vec<(usize, usize)>) {
    let chars: Vec<char> = text.chars().filter(|c| !matches!(c, '\u{feff}' | '\u{200b}')).collect();
    let at = |place: usize| chars.get(place).copied();
    let mut tokens: Vec<Token> = Vec::new();
    let mut quoted = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let mut place = 0;
    while let Some(c) = at(place) {
        if c.is_whitespace() {
            place += 1;
        } else if let Some(close) = closing(c).filter(|_| open.is_none() && opens(&chars, place)) {
            open = Some((close, tokens.len()));
            place += 1;
        } else if open.is_some_and(|(close, _)| close == c) && closes(&chars, place) {
            if let Some((_, start)) = open.take()
                && start < tokens.len()
            {
                quoted.push((start, tokens.len()));
            }
            place += 1;
        } else if c.is_alphanumeric() {
            let end = word_end(&chars, place);
            let word: String = chars.get(place..end).unwrap_or_default().iter().collect();
            push(&mut tokens, &word);
            place = end;
        } else {
            push(&mut tokens, &c.to_string());
            place += 1;
        }
    }
    (tokens, quoted)
}

fn closing(open: char) -> Option<char> {
    match open {
        '"' => Some('"'),
        '\'' => Some('\''),
        '“' => Some('”'),
        '‘' => Some('’'),
        '`' => Some('`'),
        _ => None,
    }
}

/// A quote sign opens when a word starts behind it, none ends before it, and its partner comes
/// later.
fn opens(chars: &[char], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| chars.get(before));
    let fresh = before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ',' | '=' | ':'));
    let close = chars.get(place).and_then(|c| closing(*c));
    fresh && (place + 1..chars.len()).any(|later| chars.get(later).copied() == close && closes(chars, later))
}

fn closes(chars: &[char], place: usize) -> bool {
    chars.get(place + 1).is_none_or(|c| !c.is_alphanumeric())
}

/// Where a word that starts here ends. Dots and commas stay inside numbers, an apostrophe ends a
/// word.
fn word_end(chars: &[char], start: usize) -> usize {
    let mut end = start;
    while let Some(c) = chars.get(end) {
        let inside = match c {
            '.' | ',' => {
                let digit = |place: Option<usize>| {
                    place.and_then(|place| chars.get(place)).is_some_and(char::is_ascii_digit)
                };
                let group = *c == '.' || (1..=3).all(|step| digit(Some(end + step))) && !digit(Some(end + 4));
                digit(end.checked_sub(1)) && digit(Some(end + 1)) && group
            }
            '_' => true,
            _ => c.is_alphanumeric(),
        };
        if !inside {
            break;
        }
        end += 1;
    }
    end
}

fn push(tokens: &mut Vec<Token>, text: &str) {
    let word = text.to_lowercase();
    // "doesn't" comes as "doesn", "'", "t": the "t" becomes "not", and the ending is taken from the
    // verb.
    if word == "t"
        && let [.., verb, sign] = tokens.as_mut_slice()
        && matches!(sign.word.as_str(), "'" | "’")
        && verb.word.ends_with('n')
    {
        verb.word.pop();
        verb.stem = verb.word.clone();
        "not".clone_into(&mut sign.word);
        "not".clone_into(&mut sign.stem);
        return;
    }
    let plain = word.replace(',', "");
    let number = plain
        .parse::<f64>()
        .ok()
        .filter(|n| n.is_finite() && plain.starts_with(|c: char| c.is_ascii_digit()));
    let capital = !tokens.is_empty() && text.chars().next().is_some_and(char::is_uppercase);
    tokens.push(Token {
        text: text.to_owned(),
        stem: stem(&word),
        number: number.or_else(|| spelled(&word)),
        word,
        capital,
    });
}

/// Small numbers in words.
fn spelled(word: &str) -> Option<f64> {
    let words = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    match word {
        "once" => Some(1.0),
        "twice" => Some(2.0),
        _ => words.iter().position(|known| *known == word).map(|place| place as f64),
    }
}

/// The word without its ending: "countries" and "country" become the same.
pub fn stem(word: &str) -> String {
    const ODD: [(&str, &str); 15] = [
        ("ids", "id"),
        ("people", "person"),
        ("persons", "person"),
        ("men", "man"),
        ("women", "woman"),
        ("children", "child"),
        ("mice", "mouse"),
        ("feet", "foot"),
        ("bought", "buy"),
        ("sold", "sal"),
        ("sell", "sal"),
        ("movies", "movie"),
        ("series", "series"),
        ("species", "species"),
        ("bonus", "bonus"),
    ];
    if let Some((_, base)) = ODD.iter().find(|(odd, _)| *odd == word) {
        return (*base).to_owned();
    }
    let mut base = word;
    if !word.is_ascii() || word.len() < 4 || word.chars().any(|c| c.is_ascii_digit()) {
        return word.to_owned();
    }
    let mut owned;
    if let Some(cut) = base.strip_suffix("ies").filter(|cut| cut.len() > 1) {
        owned = format!("{cut}y");
        base = &owned;
    } else if let Some(cut) = base
        .strip_suffix("es")
        .filter(|cut| cut.ends_with("ss") || cut.ends_with("sh") || cut.ends_with("ch") || cut.ends_with('x'))
    {
        base = cut;
    } else if let Some(cut) =
        base.strip_suffix('s').filter(|cut| !cut.ends_with('s') && !cut.ends_with('u') && !cut.ends_with('i'))
    {
        base = cut;
    }
    for ending in ["ing", "ed"] {
        let Some(cut) = base
            .strip_suffix(ending)
            .filter(|cut| cut.len() >= 3 && cut.chars().any(|c| "aeiouy".contains(c)))
        else {
            continue;
        };
        let mut letters: Vec<char> = cut.chars().collect();
        if let [.., before, last] = letters.as_slice()
            && before == last
            && !"lsz".contains(*last)
        {
            letters.pop();
        }
        owned = letters.into_iter().collect();
        base = &owned;
        break;
    }
    base.strip_suffix('e').filter(|cut| cut.len() >= 3).unwrap_or(base).to_owned()
}

/// Letters and digits only, in lower case; what stood between two digits becomes `_`, unless it
/// grouped thousands.
pub fn squash(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut gap = false;
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let next = || rest.clone().next().is_some_and(|c| c.is_ascii_digit());
        if c.is_alphanumeric() {
            if gap && c.is_ascii_digit() && all.ends_with(|c: char| c.is_ascii_digit()) {
                all.push('_');
            }
            all.extend(c.to_lowercase());
            gap = false;
        } else if c == '.' && before.is_ascii_digit() && next() {
            all.push('.');
        } else if c == ',' && before.is_ascii_digit() {
            let digits = rest.clone().take_while(char::is_ascii_digit).count();
            gap = digits != 3;
        } else if c != '_' {
            gap = true;
        }
        before = c;
    }
    all
}

fn extend(all: &mut String, word: &str) {
    let mut first = true;
    let plain =
        if word.starts_with(|c: char| c.is_ascii_digit()) { word.replace(',', "") } else { word.to_owned() };
    for c in plain.chars().filter(|c| c.is_alphanumeric() || *c == '.') {
        if first && c.is_ascii_digit() && all.ends_with(|c: char| c.is_ascii_digit()) {
            all.push('_');
        }
        first = false;
        all.push(c);
    }
}

/// Every run of tokens of a question, squashed, with where it stands. A last word also counts in
/// its singular form.
pub struct Spans {
    map: HashMap<String, Vec<(usize, usize)>>,
}

impl Spans {
    /// Squashes all runs of up to `longest` tokens.
    pub fn new(tokens: &[Token], longest: usize) -> Self {
        let mut map: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for start in 0..tokens.len() {
            if tokens.get(start).is_none_or(Token::is_sign) {
                continue;
            }
            let mut all = String::new();
            for (offset, token) in tokens.iter().skip(start).take(longest).enumerate() {
                if token.is_sign() {
                    continue;
                }
                let before = all.clone();
                extend(&mut all, &token.word);
                map.entry(all.clone()).or_default().push((start, start + offset + 1));
                let singular = singular(&token.word);
                if singular != token.word {
                    let mut other = before;
                    extend(&mut other, &singular);
                    map.entry(other).or_default().push((start, start + offset + 1));
                }
            }
        }
        Self { map }
    }

    /// Where a squashed text stands in the question.
    pub fn find(&self, squashed: &str) -> &[(usize, usize)] {
        self.map.get(squashed).map_or(&[], Vec::as_slice)
    }
}

/// The singular of a plural, else the word.
pub fn singular(word: &str) -> String {
    if word.len() < 4 || word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    if let Some(cut) = word.strip_suffix("ies") {
        return format!("{cut}y");
    }
    for (ending, keep) in [("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")] {
        if let Some(cut) = word.strip_suffix(ending) {
            return format!("{cut}{keep}");
        }
    }
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

/// Number of letters to change, add, drop or swap, up to `most` (else `most + 1`).
pub fn distance(left: &str, right: &str, most: usize) -> usize {
    if left.chars().count().abs_diff(right.chars().count()) > most {
        return most + 1;
    }
    strsim::osa_distance(left, right).min(most + 1)
}

/// The words of a name: split at signs, at capitals inside a word, and between letters and digits.
pub fn name_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    let chars: Vec<char> = name.chars().collect();
    for (place, c) in chars.iter().enumerate() {
        let next_small = chars.get(place + 1).is_some_and(|next| next.is_lowercase());
        let camel = c.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_small);
        let switch = before.is_ascii_digit() && c.is_alphabetic() && c.is_uppercase();
        if (camel || switch || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = *c;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Named like an identifier.
pub fn looks_like_id(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower == "id"
        || lower.ends_with("_id")
        || lower.ends_with(" id")
        || name.ends_with("ID")
        || name.ends_with("Id")
        || lower == "uuid"
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn edits_are_counted_up_to_a_limit() {
        for (a, b, most, expected) in [
            ("", "", 3, 0),
            ("a", "", 3, 1),
            ("", "abc", 3, 3),
            ("", "abc", 2, 3),
            ("kitten", "sitting", 3, 3),
            ("kitten", "sitting", 1, 2),
            ("amont", "amount", 2, 1),
            ("form", "from", 2, 1),
            ("abc", "abc", 0, 0),
        ] {
            assert_eq!(distance(a, b, most), expected, "{a} {b}");
        }
    }
}
