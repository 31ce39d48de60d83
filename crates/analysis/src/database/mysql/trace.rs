//! Parses what MySQL or MariaDB reports that a statement reads.
//!
//! The optimizer trace contains every SELECT of a statement after name resolution and before
//! optimisation: columns are written with the alias of their table, and tables with their alias.
//! The server generates that text, so its format is uniform. A name in the statement can look like
//! part of it; that only adds something to check.

use std::collections::{BTreeMap, BTreeSet};

use super::super::wall::refused;
use super::{Admission, DatabaseError};

/// The field of the trace that holds a resolved SELECT.
const MARK: &str = "\"expanded_query\": \"";

/// The resolved SELECTs of a trace. The trace as a whole is not always JSON.
pub(super) fn resolved(trace: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for (start, _) in trace.match_indices(MARK) {
        let text = trace.get(start + MARK.len() - 1..)?;
        let mut escaped = false;
        let end = text.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        found.push(serde_json::from_str(text.get(..=end?.0)?).ok()?);
    }
    (!found.is_empty()).then_some(found)
}

/// Functions that have effects beyond their arguments, wait, or lock.
const REACHING: [&str; 14] = [
    "load_file",
    "sleep",
    "benchmark",
    "get_lock",
    "release_lock",
    "release_all_locks",
    "is_free_lock",
    "is_used_lock",
    "master_pos_wait",
    "master_gtid_wait",
    "source_pos_wait",
    "nextval",
    "setval",
    "lastval",
];

/// Keywords that may follow a table without being its alias.
const AFTER_TABLE: [&str; 24] = [
    "join",
    "left",
    "right",
    "inner",
    "cross",
    "natural",
    "straight_join",
    "on",
    "using",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "window",
    "union",
    "intersect",
    "except",
    "for",
    "partition",
    "use",
    "ignore",
    "force",
    "procedure",
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name with its parts, and whether all of it is unquoted.
    Name(Vec<String>, bool),
    Open,
    Close,
    Other,
}

/// Compares what was resolved with what was admitted. Returns names of relations that are not
/// admitted tables: they must not be tables.
pub(super) fn check(resolved: &[String], admitted: &Admission) -> Result<BTreeSet<String>, DatabaseError> {
    let texts: Vec<Vec<Token>> = resolved
        .iter()
        .map(|text| tokens(text))
        .collect::<Option<_>>()
        .ok_or_else(|| refused("something"))?;
    let mut aliases: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    for (table, alias) in texts.iter().flat_map(|tokens| tables(tokens)) {
        match table.as_slice() {
            [.., schema, name] if admitted.columns(schema, name).is_none() => return Err(refused("a table")),
            [.., name] => {
                if admitted.named(name).next().is_none() {
                    unknown.insert(name.clone());
                }
                aliases.entry(alias).or_default().insert(name.clone());
            }
            [] => {}
        }
    }
    let derived: BTreeSet<String> = texts.iter().flat_map(|tokens| derived(tokens)).collect();
    for tokens in &texts {
        for (place, token) in tokens.iter().enumerate() {
            let Token::Name(parts, bare) = token else { continue };
            let called = tokens.get(place + 1) == Some(&Token::Open);
            match parts.as_slice() {
                [name] if called && *bare && REACHING.contains(&name.to_lowercase().as_str()) => {
                    return Err(refused("a function"));
                }
                [_] => {}
                _ if called => return Err(refused("a function")),
                _ if follows_from(tokens, place) => {}
                [schema @ .., alias, column] => {
                    let schema = schema.last().map(String::as_str);
                    match aliases.get(alias) {
                        Some(tables) => check_column(tables, schema, column, admitted)?,
                        // No FROM uses this alias for a table, and one uses it for a query.
                        None if derived.contains(alias) => {}
                        None => drop(unknown.insert(alias.clone())),
                    }
                }
                [] => {}
            }
        }
    }
    Ok(unknown)
}

/// A column must be admitted in each of the tables that its alias may refer to.
fn check_column(
    tables: &BTreeSet<String>,
    schema: Option<&str>,
    column: &str,
    admitted: &Admission,
) -> Result<(), DatabaseError> {
    for table in tables {
        let mut known =
            admitted.named(table).filter(|(place, _)| schema.is_none_or(|schema| schema == *place));
        let is = |columns: &BTreeSet<String>| columns.iter().any(|known| known.eq_ignore_ascii_case(column));
        // A table of another schema with the name of an admitted one is not admitted.
        let elsewhere = schema.is_some() && admitted.named(table).next().is_some() && known.next().is_none();
        let mut known =
            admitted.named(table).filter(|(place, _)| schema.is_none_or(|schema| schema == *place));
        if elsewhere || !known.all(|(_, columns)| is(columns)) {
            return Err(refused("a column"));
        }
    }
    Ok(())
}

/// Whether a name stands where FROM and JOIN name a table.
fn follows_from(tokens: &[Token], place: usize) -> bool {
    let before = tokens.get(..place).unwrap_or_default();
    let word = before.iter().rev().find(|token| **token != Token::Open);
    matches!(word, Some(Token::Name(parts, true)) if matches!(parts.as_slice(), [word]
        if ["from", "join", "straight_join"].contains(&word.to_lowercase().as_str())))
}

/// Names after a closing parenthesis, which include the aliases of queries.
fn derived(tokens: &[Token]) -> impl Iterator<Item = String> {
    tokens.windows(2).filter_map(|pair| match pair {
        [Token::Close, Token::Name(parts, _)] => match parts.as_slice() {
            [name] => Some(name.clone()),
            _ => None,
        },
        _ => None,
    })
}

/// The tables in FROM and JOIN, each with its alias.
fn tables(tokens: &[Token]) -> impl Iterator<Item = (Vec<String>, String)> {
    tokens.iter().enumerate().filter_map(|(place, token)| {
        let Token::Name(parts, bare) = token else { return None };
        let word = parts.last()?;
        let query =
            *bare && parts.len() == 1 && ["select", "values", "with"].contains(&word.to_lowercase().as_str());
        if query || !follows_from(tokens, place) || (*bare && parts.len() == 1 && word == "dual") {
            return None;
        }
        let alias = match tokens.get(place + 1) {
            Some(Token::Name(next, bare)) => match next.as_slice() {
                [next] if !(*bare && AFTER_TABLE.contains(&next.to_lowercase().as_str())) => next.clone(),
                _ => word.clone(),
            },
            _ => word.clone(),
        };
        Some((parts.clone(), alias))
    })
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// The tokens of a text. None if a quote is not closed.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text;
    // Whether the next part belongs to the name before it.
    let mut joined = false;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("/*") {
            rest = after.split_once("*/")?.1;
            continue;
        }
        let (part, after, bare) = match c {
            '"' | '`' => {
                let (name, after) = quoted(rest, c)?;
                (Some(name), after, false)
            }
            '\'' => (None, text_end(rest)?, true),
            _ if is_letter(c) => {
                let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                // A decimal number is not a name of two parts.
                let fraction = word.chars().all(|c| c.is_ascii_digit())
                    && !joined
                    && after.strip_prefix('.').is_some_and(|next| {
                        !next.starts_with(|c: char| is_letter(c) && !c.is_ascii_digit())
                            && !next.starts_with(['"', '`'])
                    });
                if fraction {
                    let next = after.get(1..)?;
                    let end = next.find(|c| !is_letter(c)).unwrap_or(next.len());
                    found.push(Token::Other);
                    rest = next.get(end..)?;
                    continue;
                }
                (Some(word.to_owned()), after, true)
            }
            _ => {
                let after = rest.get(c.len_utf8()..)?;
                match c {
                    '(' => found.push(Token::Open),
                    ')' => found.push(Token::Close),
                    '.' if matches!(found.last(), Some(Token::Name(..))) => joined = true,
                    _ if c.is_whitespace() => {}
                    _ => found.push(Token::Other),
                }
                if c != '.' && !c.is_whitespace() {
                    joined = false;
                }
                rest = after;
                continue;
            }
        };
        match (part, found.last_mut()) {
            (Some(part), Some(Token::Name(parts, whole))) if joined => {
                parts.push(part);
                *whole &= bare;
            }
            (Some(part), _) => found.push(Token::Name(vec![part], bare)),
            (None, _) => found.push(Token::Other),
        }
        joined = false;
        rest = after;
    }
    Some(found)
}

/// A quoted name, in which the quote is doubled, and the rest of the text.
fn quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.get(1..)?;
    loop {
        let (part, after) = rest.split_once(mark)?;
        name.push_str(part);
        match after.strip_prefix(mark) {
            Some(more) => {
                name.push(mark);
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

/// The text after a string in single quotes.
fn text_end(text: &str) -> Option<&str> {
    let mut escaped = false;
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((place, c)) = characters.next() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '\'' {
            match characters.peek() {
                Some((_, '\'')) => drop(characters.next()),
                _ => return text.get(place + 1..),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted() -> Admission {
        let path = |table: &str| ["walls".to_owned(), table.to_owned()];
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Admission::new([
            (path("customers").as_slice(), columns(&["id", "name"])),
            (path("orders").as_slice(), columns(&["id", "customer_id", "email"])),
        ])
    }

    fn verdict(texts: &[&str]) -> Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        check(&texts, &admitted())
            .map(|unknown| unknown.into_iter().collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_admitted_passes() {
        for text in [
            "select walls.c.\"id\" AS \"id\" from customers c where walls.c.\"name\" like 'walls.c.email' limit 1",
            "/* select#1 */ select o.email AS e,1.5 + c.\"id\" from (orders o join customers c \
                on(o.customer_id = c.\"id\"))",
            "select count(0) AS \"count(*)\" from walls.customers where walls.customers.id > 1.0",
            "select max('it\\'s \"c\".\"email\"') AS m from customers c",
        ] {
            assert_eq!(verdict(&[text]), Ok(vec![]), "{text}");
        }
        // A name defined by WITH is not a table; the server is asked to confirm it.
        assert_eq!(verdict(&["select w.z AS z from (w join w a)"]), Ok(vec!["w".to_owned()]));
        // A query may have the name of a table, as one with row-level rules does.
        for name in ["q", "orders", "payroll"] {
            let text = format!(
                "select {name}.x AS x from (/* select#2 */ select c.id AS x from customers c) {name}"
            );
            assert_eq!(verdict(&[&text]), Ok(vec![]), "{text}");
        }
    }

    #[test]
    fn what_is_not_admitted_is_refused() {
        for text in [
            "select c.email AS x from customers c",
            "select walls.c.\"email\" AS x from customers c",
            "select 1 from customers where customers.\"Email\" like 'a%'",
            "select hr.c.\"id\" AS x from customers c",
            "select 1 from hr.payroll",
            "select walls.f() AS x",
            "select load_file('/etc/passwd') AS x from customers c",
            // One alias for two tables must be admitted for both.
            "select 1 from orders o where o.email = 1 and exists(select 1 from customers o)",
            "select 'unfinished",
            // A query of the same name does not hide a table.
            "select customers.email AS x from (customers join (select 1 AS email) customers)",
        ] {
            assert!(verdict(&[text]).is_err(), "{text}");
        }
        assert_eq!(verdict(&["select payroll.salary AS s from payroll"]), Ok(vec!["payroll".to_owned()]));
    }

    #[test]
    fn the_trace_gives_every_select() {
        let trace = "{ \"expanded_query\": \"select 'it\\\\'s \\\"a\\\"' AS x\" }, \"original_condition\": \"a.\"id\" = 1\", \
            { \"expanded_query\": \"select 2\" }";
        assert_eq!(resolved(trace).unwrap(), ["select 'it\\'s \"a\"' AS x", "select 2"]);
        assert_eq!(resolved("{}"), None);
    }
}
