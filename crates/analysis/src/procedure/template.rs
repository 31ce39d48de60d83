//! Answer templates: `@name[placeholder]`, with the sentences that describe the placeholders.
//!
//! A slot keeps its name, its placeholders, the words it may take and the decimals it is rounded to.

use super::words::{small_number, tokens};

/// One slot of a template.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Slot {
    /// The name after the `@`.
    pub name: String,
    /// What stands in the brackets, cut at commas.
    pub holders: Vec<String>,
    /// The raw text in the brackets.
    pub raw: String,
    /// The text that describes it.
    pub about: String,
    /// The words it may take, if it takes words.
    pub choices: Vec<String>,
    /// Decimals, if stated.
    pub decimals: Option<usize>,
    /// Is it described as a whole number?
    pub whole: bool,
    /// What is said about each placeholder.
    pub abouts: Vec<String>,
}

/// A text cut into its template and the rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    /// Question and constraints.
    pub body: String,
    /// The slots, in order.
    pub slots: Vec<Slot>,
}

/// Cuts the template out of a text.
#[must_use]
pub(super) fn cut(text: &str) -> Request {
    let text = text.replace("\\n", "\n");
    let mut body = Vec::new();
    let mut format: Vec<String> = Vec::new();
    for line in text.lines() {
        let clean = line.trim().trim_matches(['{', '}']).trim();
        let lower = clean.to_lowercase();
        let describes = !format.is_empty()
            && (lower.starts_with("where") || lower.starts_with("if there") || clean.starts_with(['"', '“']))
            || lower.starts_with("where \"");
        if has_slot(clean) || describes {
            match clean.find('@') {
                // Words before the first slot are part of the request when they are a sentence of their own.
                Some(start) if start > 40 && !describes => {
                    body.push(clean.get(..start).unwrap_or_default().to_owned());
                    format.push(clean.get(start..).unwrap_or_default().to_owned());
                }
                _ => format.push(clean.to_owned()),
            }
        } else {
            body.push(clean.to_owned());
        }
    }
    let format = format.join("\n");
    let mut slots = parse(&format);
    describe(&mut slots, &format, &body.join("\n"));
    Request { body: body.join("\n"), slots }
}

fn has_slot(line: &str) -> bool {
    !parse(line).is_empty()
}

fn parse(text: &str) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('@') {
        let name: String = after.chars().take_while(|c| c.is_alphanumeric() || "_-. ".contains(*c)).collect();
        let tail = after.get(name.len()..).unwrap_or_default();
        rest = after;
        let Some(inner) = tail.strip_prefix('[') else { continue };
        let name = name.trim().to_owned();
        if name.is_empty() || name.contains(' ') {
            continue;
        }
        let mut depth = 1;
        let raw: String = inner
            .chars()
            .take_while(|c| {
                depth += match c {
                    '[' => 1,
                    ']' => -1,
                    _ => 0,
                };
                depth > 0
            })
            .collect();
        rest = inner.get(raw.len()..).unwrap_or_default();
        if slots.iter().any(|slot| slot.name == name) {
            continue;
        }
        let holders =
            raw.split(',').map(|h| h.trim().trim_matches(['"', '\'', '“', '”']).to_owned()).collect();
        slots.push(Slot { name, holders, raw: raw.trim().to_owned(), ..Slot::default() });
    }
    slots
}

/// Gives each slot the sentences that speak of its placeholder, the words it may take and its decimals.
fn describe(slots: &mut [Slot], format: &str, body: &str) {
    let outside = without_slots(format);
    let count = slots.len();
    let every: Vec<String> = slots.iter().flat_map(|s| s.holders.iter().chain([&s.name]).cloned()).collect();
    let pieces: Vec<String> = pieces(&outside).iter().flat_map(|piece| by_holder(piece, &every)).collect();
    for slot in slots.iter_mut() {
        let mut about: Vec<&str> = Vec::new();
        for piece in &pieces {
            let lower = piece.to_lowercase();
            let named = slot.holders.iter().chain([&slot.name]).any(|holder| {
                let holder = holder.to_lowercase();
                !holder.is_empty() && contains_word(&lower, &holder)
            });
            if named {
                about.push(piece);
            }
        }
        if about.is_empty() && count == 1 {
            about.extend(pieces.iter().map(String::as_str));
        }
        slot.about = about.join("\n");
        let of = |holder: &String| {
            let holder = holder.to_lowercase();
            let own = pieces.iter().filter(|p| contains_word(&p.to_lowercase(), &holder));
            own.cloned().collect::<Vec<_>>().join("\n")
        };
        slot.abouts = slot.holders.iter().map(of).collect();
        slot.choices = choices(&slot.about, &every);
        if slot.choices.len() < 2 && slot.raw.contains('/') && slot.holders.len() == 1 {
            slot.choices =
                slot.raw.split('/').map(|c| c.trim().trim_matches(['"', '\'']).to_owned()).collect();
        }
        let lower = format!("{} {}", slot.raw, slot.about).to_lowercase();
        slot.decimals = decimals(&slot.raw)
            .or_else(|| decimals(&slot.about))
            .or_else(|| decimals(body))
            .or_else(|| decimals(format));
        slot.whole = lower.contains("integer") || lower.contains("whole number");
        if slot.choices.len() < 2 && lower.contains("boolean") {
            slot.choices = vec!["True".into(), "False".into()];
        }
    }
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        edge(text.get(..start).and_then(|t| t.chars().next_back()))
            && edge(text.get(start + word.len()..).and_then(|t| t.chars().next()))
    })
}

/// The template text without the slots themselves.
fn without_slots(format: &str) -> String {
    let mut depth = 0;
    let mut in_name = false;
    let mut kept = String::new();
    for c in format.chars() {
        match c {
            '@' => in_name = true,
            '[' if in_name || depth > 0 => {
                depth += 1;
                in_name = false;
            }
            ']' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            _ if in_name && (c.is_alphanumeric() || "_-".contains(c)) => {}
            _ => {
                in_name = false;
                kept.push(c);
            }
        }
    }
    kept
}

/// Sentences and clauses of a description.
fn pieces(text: &str) -> Vec<String> {
    let marked = text
        .replace(". ", ".\n")
        .replace("; ", "\n")
        .replace(" where ", "\nwhere ")
        .replace(" Where ", "\nwhere ");
    marked.lines().map(|l| l.trim().to_owned()).filter(|l| l.chars().any(char::is_alphanumeric)).collect()
}

/// Cuts a description where it turns to the next placeholder; placeholders named together share what follows.
fn by_holder(piece: &str, every: &[String]) -> Vec<String> {
    let mut marks: Vec<(usize, usize)> = Vec::new();
    for holder in every.iter().filter(|h| !h.is_empty()) {
        for (start, _) in piece.match_indices(holder.as_str()) {
            let end = start + holder.len();
            let before = piece.get(..start).and_then(|t| t.chars().next_back()).unwrap_or(' ');
            let after = piece.get(end..).unwrap_or_default();
            let quoted = "\"'“‘".contains(before) && after.starts_with(['"', '\'', '”', '’']);
            let says =
                [" is ", " are ", " should ", " represents", " refers"].iter().any(|w| after.starts_with(w));
            if quoted {
                let mark = after.chars().next().map_or(0, char::len_utf8);
                marks.push((start - before.len_utf8(), end + mark));
            } else if (says && holder.chars().count() > 1
                || after.starts_with(" is rounded")
                || after.starts_with(" has "))
                && !before.is_alphanumeric()
                && before != '_'
            {
                marks.push((start, end));
            }
        }
    }
    marks.sort_unstable();
    marks.dedup_by(|a, b| a.0 < b.1);
    if marks.len() < 2 {
        return vec![piece.to_owned()];
    }
    let mut parts = Vec::new();
    let mut names = String::new();
    for (place, (start, end)) in marks.iter().enumerate() {
        let next = marks.get(place + 1).map_or(piece.len(), |(s, _)| *s);
        names.push_str(piece.get(*start..*end).unwrap_or_default());
        names.push(' ');
        let text = piece.get(*end..next).unwrap_or_default();
        let words = text.chars().filter(|c| c.is_alphanumeric()).count();
        let joins = text.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case("and")
            || words == 0
            || text.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case("or");
        if !joins || place + 1 == marks.len() {
            parts.push(format!("{names}{text}"));
            names.clear();
        }
    }
    parts
}

/// The words a value may take: quoted words of a description that are not the placeholder itself.
fn choices(about: &str, own: &[String]) -> Vec<String> {
    let lower = about.to_lowercase();
    if ![
        "either",
        "can be",
        "could be",
        "or \"",
        "or '",
        "should be \"",
        "boolean",
        "exact values",
        "must be",
        "one of",
    ]
    .iter()
    .any(|w| lower.contains(w))
    {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    let mut run = String::new();
    let mut last = 0;
    for token in tokens(about) {
        if token.quote != last {
            push_choice(&mut found, &run, own);
            run.clear();
            last = token.quote;
        }
        if token.quote > 0 {
            if token.spaced && !run.is_empty() {
                run.push(' ');
            }
            run.push_str(&token.text);
        }
    }
    push_choice(&mut found, &run, own);
    found
}

fn push_choice(found: &mut Vec<String>, run: &str, own: &[String]) {
    let run = run.trim().trim_end_matches([',', '.']);
    let holder = own.iter().any(|name| name.eq_ignore_ascii_case(run));
    if !run.is_empty() && run.chars().count() <= 60 && !holder && !found.iter().any(|f| f == run) {
        found.push(run.to_owned());
    }
}

/// Decimals stated in a text: "rounded to two decimal places", "2 decimals", "up to 3 decimal points".
#[must_use]
pub(super) fn decimals(text: &str) -> Option<usize> {
    let tokens = tokens(text);
    let words: Vec<&str> = tokens.iter().filter(|t| t.word).map(|t| t.lower.as_str()).collect();
    for (place, word) in words.iter().enumerate() {
        if word.starts_with("decimal") || *word == "digits" {
            let before = place.checked_sub(1).and_then(|p| words.get(p)).and_then(|w| small_number(w));
            if let Some(count) = before.filter(|n| *n <= 10) {
                return Some(count);
            }
        }
        if *word == "nearest" && words.get(place + 1).is_some_and(|w| w.starts_with("hundredth")) {
            return Some(2);
        }
        if *word == "nearest" && words.get(place + 1).is_some_and(|w| *w == "whole" || *w == "integer") {
            return Some(0);
        }
    }
    None
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn slots_choices_and_decimals() {
        let text = "Is it normal?\n@p[p_value] @kind[kind] where \"p_value\" is rounded to four decimal places. \
                    \"kind\" is a string that can either be \"normal\" or \"not normal\".";
        let request = cut(text);
        assert_eq!(request.body, "Is it normal?");
        assert_eq!(request.slots.len(), 2);
        assert_eq!(request.slots[0].decimals, Some(4));
        assert!(request.slots[0].choices.is_empty());
        assert_eq!(request.slots[1].choices, ["normal", "not normal"]);
    }

    #[test]
    fn several_holders_and_slashes() {
        let request = cut("@best[month, year, mean]\n@ok[yes/no]");
        assert_eq!(request.slots[0].holders, ["month", "year", "mean"]);
        assert_eq!(request.slots[1].choices, ["yes", "no"]);
        assert_eq!(decimals("up to 3 decimal points"), Some(3));
    }
}
