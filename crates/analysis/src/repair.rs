//! Repairs a statement by the kind of its error, with deterministic rules.

use crate::catalogue::Catalogue;
use crate::error::Error;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Word};
use steward_domain::ErrorCategory;
use steward_text::tokens::distance;

/// Maximum edit distance of a typing error.
const MOST_EDITS: usize = 12;

/// The row limit that is added to a statement that was too large.
const SMALLER: &str = "100000";

/// A repaired statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The statement.
    pub sql: String,
    /// What was changed, for the answer and the journal.
    pub what: String,
    /// Whether the result is only part of what was asked.
    pub partial: bool,
}

/// A repair, if a rule applies. It never returns its input.
#[must_use]
pub fn repair(sql: &str, error: &Error, catalogue: &Catalogue) -> Option<Repaired> {
    let repaired = match error.category() {
        ErrorCategory::MissingColumn => nearest_name(sql, &error.to_string(), catalogue),
        ErrorCategory::SqlSyntax => dialect(sql).or_else(|| nearest_name(sql, &error.to_string(), catalogue)),
        ErrorCategory::TypeMismatch => cast_text(sql, catalogue),
        ErrorCategory::ResourceExhausted => smaller(sql),
        ErrorCategory::Denied => match error {
            Error::Denied(steward_policy::Denied::Table { .. }) => {
                nearest_name(sql, &error.to_string(), catalogue)
            }
            _ => None,
        },
        _ => None,
    };
    repaired.filter(|repaired| repaired.sql != sql)
}

fn tokens(sql: &str) -> Option<Vec<Token>> {
    Tokenizer::new(&GenericDialect {}, sql).tokenize().ok()
}

fn text(tokens: &[Token]) -> String {
    tokens.iter().map(ToString::to_string).collect()
}

/// Replaces a name that is neither table nor column by the nearest one.
fn nearest_name(sql: &str, message: &str, catalogue: &Catalogue) -> Option<Repaired> {
    let mut tokens = tokens(sql)?;
    let known: Vec<&str> = (catalogue.tables.iter())
        .flat_map(|table| {
            std::iter::once(table.name.as_str())
                .chain(table.columns.iter().map(|column| column.name.as_str()))
        })
        .collect();
    let lower = message.to_lowercase();
    // The name must occur in the error message: other names are left alone.
    let wrong = tokens.iter().position(|token| match token {
        Token::Word(word) => {
            let value = word.value.to_lowercase();
            value.chars().count() > 1 && !known.contains(&word.value.as_str()) && mentions(&lower, &value)
        }
        _ => false,
    })?;
    let Some(Token::Word(word)) = tokens.get(wrong).cloned() else { return None };
    let nearest = (known.iter())
        .map(|name| (distance(&word.value.to_lowercase(), &name.to_lowercase(), MOST_EDITS), *name))
        .filter(|(distance, name)| *distance <= word.value.chars().count().max(name.chars().count()) * 2 / 5)
        .min()?
        .1;
    let changed = Token::Word(Word { value: nearest.to_owned(), quote_style: Some('"'), ..word.clone() });
    for token in &mut tokens {
        if matches!(token, Token::Word(same) if same.value == word.value) {
            *token = changed.clone();
        }
    }
    Some(Repaired {
        sql: text(&tokens),
        what: format!("{} was taken to mean {nearest}", word.value),
        partial: false,
    })
}

fn mentions(message: &str, name: &str) -> bool {
    message.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|part| part == name)
        || (name.contains(' ') && message.contains(name))
}

/// Syntax of other dialects: backticks, brackets, `==`, `TOP n`, a semicolon at the end, curly
/// quotes, fences.
fn dialect(sql: &str) -> Option<Repaired> {
    let mut fixed = sql
        .trim()
        .trim_start_matches("```sql")
        .trim_matches('`')
        .trim()
        .trim_end_matches(';')
        .trim()
        .to_owned();
    fixed = fixed
        .replace(['\u{201c}', '\u{201d}'], "\"")
        .replace(['\u{2018}', '\u{2019}'], "'")
        .replace("==", "=");
    if fixed.contains('`') {
        fixed = fixed.replace('`', "\"");
    }
    if let Some(tokens) = tokens(&fixed) {
        fixed = text(&without_top(tokens));
    }
    Some(Repaired {
        sql: fixed,
        what: "spellings of another SQL dialect were rewritten".to_owned(),
        partial: false,
    })
}

/// `SELECT TOP 5 x` becomes `SELECT x … LIMIT 5`.
fn without_top(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::new();
    let mut limit = None;
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        if matches!(&token, Token::Word(word) if word.value.eq_ignore_ascii_case("top")) {
            let mut ahead = rest.clone().filter(|token| !matches!(token, Token::Whitespace(_)));
            if let Some(Token::Number(number, _)) = ahead.next() {
                limit = Some(number);
                for skipped in rest.by_ref() {
                    if matches!(skipped, Token::Number(..)) {
                        break;
                    }
                }
                continue;
            }
        }
        kept.push(token);
    }
    if let Some(number) = limit {
        kept.extend(tokenize_tail(&format!(" LIMIT {number}")));
    }
    kept
}

fn tokenize_tail(tail: &str) -> Vec<Token> {
    tokens(tail).unwrap_or_default()
}

/// Casts text columns inside `sum`, `avg` and the like to numbers.
fn cast_text(sql: &str, catalogue: &Catalogue) -> Option<Repaired> {
    let tokens = tokens(sql)?;
    let is_text = |name: &str| {
        let mut columns = catalogue.tables.iter().filter_map(|table| table.column(name));
        columns.next().is_some_and(|column| column.kind == crate::frame::Kind::Text)
    };
    let numeric = ["sum", "avg", "mean", "median", "stddev", "var", "corr", "abs", "round"];
    let mut changed = Vec::new();
    let mut depth: Vec<bool> = Vec::new();
    let mut before: Option<String> = None;
    let mut text = String::new();
    for token in &tokens {
        match token {
            Token::LParen => depth.push(before.take().is_some_and(|name| numeric.contains(&name.as_str()))),
            Token::RParen => {
                depth.pop();
            }
            Token::Word(word) if depth.last() == Some(&true) && is_text(&word.value) => {
                text.push_str(&format!("CAST({token} AS DOUBLE)"));
                changed.push(word.value.clone());
                continue;
            }
            Token::Word(word) => before = Some(word.value.to_lowercase()),
            Token::Whitespace(_) => {}
            _ => before = None,
        }
        text.push_str(&token.to_string());
    }
    changed.dedup();
    (!changed.is_empty()).then(|| Repaired {
        sql: text,
        what: format!("{} was read as numbers", changed.join(", ")),
        partial: false,
    })
}

/// Adds a limit to a query without one.
fn smaller(sql: &str) -> Option<Repaired> {
    let has_limit = tokens(sql)?
        .iter()
        .any(|token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case("limit")));
    let what = format!("only the first {SMALLER} rows were taken");
    (!has_limit).then(|| Repaired {
        sql: format!("{} LIMIT {SMALLER}", sql.trim_end_matches([';', ' '])),
        what,
        partial: true,
    })
}
