//! Segments: sets of rows with a name, such as "large orders".

use super::{condition, rename_condition};
use crate::catalogue::Catalogue;
use crate::query::{Condition, Query};
use steward_domain::{Segment, SemanticModel};
use steward_text::tokens::{Token, tokenize};

/// Words before a segment that only lead to it.
const LEADING: &str = "of for from in with among by the our only";

/// A segment that a question names, and where.
pub(super) struct Mention<'a> {
    pub(super) name: &'a str,
    pub(super) segment: &'a Segment,
    /// The first word that belongs to it, and the one behind the last.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The segments that a question names, outside of the words from `from` to `until`. Where names
/// overlap, the longest counts.
pub(super) fn mentions<'a>(
    tokens: &[Token],
    model: &'a SemanticModel,
    (from, until): (usize, usize),
) -> Vec<Mention<'a>> {
    let mut found: Vec<Mention<'a>> = Vec::new();
    let mut named: Vec<(&str, &Segment, Vec<Token>)> = Vec::new();
    for (name, segment) in &model.segments {
        for word in std::iter::once(name).chain(&segment.synonyms) {
            named.push((name, segment, tokenize(word).0));
        }
    }
    named.sort_by_key(|(_, _, parts)| std::cmp::Reverse(parts.len()));
    for (name, segment, parts) in named.iter().filter(|(_, _, parts)| !parts.is_empty()) {
        let same = |window: &[Token]| window.iter().zip(parts).all(|(a, b)| a.stem == b.stem);
        let Some(start) = tokens.windows(parts.len()).position(same) else { continue };
        let end = start + parts.len();
        let apart = |a: usize, b: usize| end <= a || start >= b;
        if apart(from, until) && found.iter().all(|one| apart(one.start, one.end)) {
            found.push(Mention { name, segment, start, end });
        }
    }
    for one in &mut found {
        let leads = |place: usize| {
            let word = tokens.get(place).map(|token| token.word.as_str()).unwrap_or_default();
            LEADING.split_whitespace().any(|known| known == word)
        };
        while one.start > until && leads(one.start - 1) {
            one.start -= 1;
        }
    }
    found
}

/// Leaves only the rows of a segment.
pub(super) fn restrict(
    query: &mut Query,
    name: &str,
    segment: &Segment,
    catalogue: &Catalogue,
) -> Result<(), String> {
    let table = catalogue
        .table(&segment.table)
        .ok_or_else(|| format!("cannot be cut to {name}: there is no table {}", segment.table))?;
    let scope = std::iter::once((&query.table, &query.alias))
        .chain(query.joins.iter().map(|one| (&one.table, &one.alias)));
    let alias = scope
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(&segment.table))
        .map(|(_, alias)| alias.clone())
        .ok_or_else(|| format!("cannot be cut to {name}, which is about rows of {}", segment.table))?;
    let mut all: Vec<Condition> = query.filter.take().into_iter().collect();
    for filter in &segment.filters {
        let mut one = condition(filter, table)?;
        rename_condition(&mut one, &table.name, &alias);
        all.push(one);
    }
    query.filter = match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(Condition::All(all)),
    };
    Ok(())
}
