//! SQL column names, derived from the first line of a file.
//!
//! The names of one table are unique ignoring case, never empty, and never start with a digit. The
//! original names are kept as labels.

use std::collections::HashSet;

/// Longer names are truncated.
const LONGEST: usize = 60;

/// A name for SQL: lower case, words joined by `_`, letters of every script kept. Empty when there
/// is no letter or digit.
#[must_use]
pub fn clean(label: &str) -> String {
    let mut name = String::with_capacity(label.len().min(LONGEST * 4));
    // How many lower-case letters precede: a capital after two of them starts a word, so that `kWh`
    // stays one word.
    let mut small = 0_usize;
    let mut chars = label.trim().chars().peekable();
    while let Some(c) = chars.next() {
        if name.chars().count() >= LONGEST {
            break;
        }
        let spelled = match c {
            '%' => Some("percent"),
            // `#` means "number" when it stands alone, and is dropped when attached to a word.
            '#' if chars.peek().is_none_or(|next| !next.is_alphanumeric()) => Some("number"),
            '&' if !name.is_empty() => Some("and"),
            _ => None,
        };
        if let Some(word) = spelled {
            gap(&mut name);
            name.push_str(word);
            name.push('_');
            small = 0;
        } else if c.is_alphanumeric() || is_mark(c) {
            if c.is_uppercase() && small >= 2 {
                gap(&mut name);
            }
            small = if c.is_lowercase() { small + 1 } else { 0 };
            name.extend(c.to_lowercase());
        } else if !matches!(c, '\'' | '\u{2019}') {
            gap(&mut name);
            small = 0;
        }
    }
    let name = name.trim_matches('_');
    if name.starts_with(|c: char| c.is_numeric()) { format!("c_{name}") } else { name.to_owned() }
}

/// Vowel signs and accents that belong to the letter before them, some of which `is_alphanumeric`
/// excludes.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36f | 0x591..=0x5c7 | 0x610..=0x61a | 0x64b..=0x65f | 0x900..=0xdff | 0xe31..=0xe4e)
        && !c.is_whitespace()
}

/// One underscore between words.
fn gap(name: &mut String) {
    if !name.is_empty() && !name.ends_with('_') {
        name.push('_');
    }
}

/// Unique names for SQL, one for each label, in their order. Columns without a usable label are
/// `column_1`, `column_2`….
#[must_use]
pub fn unique<S: AsRef<str>>(labels: &[S]) -> Vec<String> {
    let mut wanted: Vec<String> = labels.iter().map(|label| clean(label.as_ref())).collect();
    for (place, name) in wanted.iter_mut().enumerate() {
        if name.is_empty() {
            *name = format!("column_{}", place + 1);
        }
    }
    // A name that occurs in the file takes precedence over a generated one.
    let given: HashSet<String> = wanted.iter().cloned().collect();
    let mut taken: HashSet<String> = HashSet::with_capacity(wanted.len());
    let mut next: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for name in &mut wanted {
        if !taken.insert(name.clone()) {
            let count = next.entry(name.clone()).or_insert(2);
            let free = loop {
                let candidate = format!("{name}_{count}");
                *count += 1;
                if !given.contains(&candidate) && !taken.contains(&candidate) {
                    break candidate;
                }
            };
            taken.insert(free.clone());
            *name = free;
        }
    }
    wanted
}
