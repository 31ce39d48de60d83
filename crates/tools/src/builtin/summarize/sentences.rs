//! Splits a text into sentences. A period ends one unless it belongs to an abbreviation, a number,
//! initials or an address.

/// Abbreviations whose period does not end a sentence, in lower case and without the period.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "vs", "etc", "eg", "e.g", "ie", "i.e", "cf", "al",
    "fig", "no", "nr", "vol", "pp", "ca", "approx", "dept", "est", "inc", "ltd", "co", "corp", "jan", "feb",
    "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mon", "tue", "wed", "thu", "fri",
    "sat", "sun", "gen", "col", "capt", "lt", "rev", "hon", "u.s", "u.k", "a.m", "p.m", "z.b", "bzw", "usw",
    "d.h", "u.a",
];
/// The maximum length of a sentence in characters. A longer one is a table or code and is cut.
const LONGEST: usize = 1000;
/// The maximum number of sentences.
const MOST: usize = 5000;

/// The sentences of a text, trimmed.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in blocks(text) {
        split_block(&block, &mut found);
        if found.len() >= MOST {
            found.truncate(MOST);
            break;
        }
    }
    found
}

/// Splits into paragraphs, headings and list items. Other lines are joined.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut current = String::new();
    let mut close = |current: &mut String| {
        if !current.trim().is_empty() {
            blocks.push(std::mem::take(current));
        }
        current.clear();
    };
    for line in text.lines() {
        let line = line.trim();
        let item = ["- ", "* ", "• ", "– "].iter().find_map(|mark| line.strip_prefix(mark));
        let heading = line.starts_with('#');
        if line.is_empty() || item.is_some() || heading {
            close(&mut current);
        }
        current.push_str(item.unwrap_or_else(|| line.trim_start_matches('#')).trim());
        current.push(' ');
        if heading {
            close(&mut current);
        }
    }
    close(&mut current);
    blocks
}

fn split_block(block: &str, found: &mut Vec<String>) {
    let chars: Vec<char> = block.chars().collect();
    let mut start = 0;
    let mut at = 0;
    while at < chars.len() {
        let ends = match chars.get(at) {
            Some('!' | '?' | '…' | '。' | '！' | '？') => true,
            Some('.') => point_ends(&chars, start, at),
            _ => at - start >= LONGEST,
        };
        at += 1;
        if ends {
            // Closing quotes, brackets and further punctuation belong to the sentence.
            while chars.get(at).is_some_and(|c| ".!?…\"'”’»)]".contains(*c)) {
                at += 1;
            }
            let next = chars.get(at);
            if next.is_none_or(|c| c.is_whitespace() || !c.is_ascii()) || at - start > LONGEST {
                push(&chars, start, at, found);
                start = at;
            }
        }
    }
    push(&chars, start, chars.len(), found);
}

fn push(chars: &[char], start: usize, end: usize, found: &mut Vec<String>) {
    let text: String = chars.get(start..end).unwrap_or_default().iter().collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().any(char::is_alphanumeric) {
        found.push(text);
    }
}

/// Whether the period at `at` ends the sentence that starts at `start`.
fn point_ends(chars: &[char], start: usize, at: usize) -> bool {
    let Some(behind) = chars.get(at + 1) else { return true };
    if !behind.is_whitespace() && !"\"'”’»)]".contains(*behind) {
        // It is inside a number, an address or an abbreviation.
        return false;
    }
    let before: String = chars.get(start..at).unwrap_or_default().iter().collect();
    let word = before.rsplit(|c: char| c.is_whitespace() || "(\"'“‘«".contains(c)).next().unwrap_or_default();
    let next = chars.get(at + 1..).unwrap_or_default().iter().find(|c| !c.is_whitespace());
    let lower_follows = next.is_some_and(|c| c.is_lowercase());
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    let abbreviation = ABBREVIATIONS.contains(&word.to_lowercase().as_str());
    // `1.` at the beginning is a list number; `No. 5` continues.
    let counting = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) && before.trim() == word;
    !(lower_follows || initial || abbreviation || counting)
}
