//! Parts of cells that a question names: "brel" and "gaby wagenheim" of "Jacques Brel, Gaby
//! Wagenheim".
//!
//! Only runs of two words and more are linked here. A single word is looked at when nothing else
//! explains it.

use super::lexicon::phrases_at;
use super::link::{ColumnRef, Found, Schema, ValueLink};
use crate::frame::Kind;
use crate::roles::Role;
use steward_text::tokens::Token;

/// Longest cell that is looked into, and most cells that one run may stand for.
const LONGEST: usize = 200;
const MOST: usize = 40;

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| {
            // "20th" and "20" are the same day.
            let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let ordinal = matches!(word.get(digits.len()..), Some("st" | "nd" | "rd" | "th"));
            if ordinal && !digits.is_empty() { digits.to_owned() } else { word.to_owned() }
        })
        .collect()
}

/// Links runs of words that stand in a cell as they stand in the question.
pub(super) fn link_parts(tokens: &[Token], schema: &Schema, found: &mut Found) {
    let said: Vec<(usize, Vec<String>)> = (tokens.iter().enumerate())
        .filter(|(_, token)| !token.is_sign())
        .map(|(at, token)| (at, words(&token.word)))
        .collect();
    // One entry for each word: the token it belongs to and the word.
    let said: Vec<(usize, String)> =
        said.into_iter().flat_map(|(at, words)| words.into_iter().map(move |word| (at, word))).collect();
    let plain: Vec<bool> = said.iter().map(|(at, _)| phrases_at(tokens, *at).is_empty()).collect();
    for (place, role) in schema.places() {
        let text = schema.column(place).filter(|column| column.kind == Kind::Text);
        let Some(column) = text.filter(|_| matches!(role, Role::Text | Role::Category)) else { continue };
        for (value, _) in column.values.iter().filter(|(value, _)| value.len() <= LONGEST) {
            let cell = words(value);
            if cell.len() < 2 {
                continue;
            }
            let mut start = 0;
            while start < said.len() {
                let run = longest_run(&said, start, &cell);
                let span = said.get(start).zip(said.get(start + run.max(1) - 1));
                if let Some(((from, _), (last, _))) = span.filter(|_| run >= 2) {
                    let content = plain.iter().skip(start).take(run).filter(|plain| **plain).count();
                    let edges = plain.get(start) == Some(&true) || run >= 3;
                    if content * 2 >= run && edges {
                        let share = run as f32 / cell.len() as f32;
                        let run: Vec<&str> =
                            said.iter().skip(start).take(run).map(|(_, word)| word.as_str()).collect();
                        let listed = is_listed(value, &run);
                        let quality = 0.72 + 0.2 * share.min(1.0);
                        add(found, (*from, *last + 1), place, (value, listed), quality);
                    }
                }
                start += run.max(1);
            }
        }
    }
}

/// How many words from `start` on stand in a cell in a row.
fn longest_run(said: &[(usize, String)], start: usize, cell: &[String]) -> usize {
    let run = |at: usize| {
        said.iter()
            .skip(start)
            .zip(cell.iter().skip(at))
            .take_while(|((_, said), known)| said == *known)
            .count()
    };
    (0..cell.len()).map(run).max().unwrap_or(0)
}

/// Whether a cell is a list and the words are one of its entries.
fn is_listed(cell: &str, run: &[&str]) -> bool {
    cell.split([',', ';', '/', '&', '\n']).any(|entry| words(entry) == run)
}

fn add(
    found: &mut Found,
    span: (usize, usize),
    place: ColumnRef,
    (value, listed): (&str, bool),
    quality: f32,
) {
    let links = &mut found.entry(span).or_default().values;
    match links.iter_mut().find(|link| link.place == place) {
        // A cell that is named as a whole leaves no room for those that are named in part.
        Some(link) if link.quality > 0.95 && !listed => {}
        Some(link) if link.values.len() < MOST => {
            if !link.values.iter().any(|known| known == value) {
                link.values.push(value.to_owned());
            }
            link.quality = link.quality.max(quality);
        }
        Some(_) => {}
        None => links.push(ValueLink { place, values: vec![value.to_owned()], quality }),
    }
}
