//! Limits on a statement's text, enforced before any recursive code processes it.

use super::dialect::Dialect;
use crate::error::Denied;
use sqlparser::tokenizer::{Token, Tokenizer};

/// Maximum length; people and planners write no longer statements.
const MAX_LENGTH: usize = 100_000;
/// Maximum number of tokens.
const MAX_TOKENS: usize = 40_000;
/// Maximum nesting of brackets.
const MAX_BRACKETS: usize = 60;

/// The tokens of a statement, if it is short and shallow enough to be parsed.
pub(super) fn tokens(sql: &str, dialect: Dialect) -> Result<Vec<Token>, Denied> {
    let found = sql.chars().count();
    if found > MAX_LENGTH {
        return Err(Denied::TooLong { found, limit: MAX_LENGTH });
    }
    // MySQL executes the content of these comments, and the tokenizer may treat them as comments.
    if dialect == Dialect::MySql && (sql.contains("/*!") || sql.contains("/*M!")) {
        return Err(Denied::Construct { what: "a comment that a server runs as code".to_owned() });
    }
    let grammar = dialect.grammar();
    let tokens = Tokenizer::new(&*grammar, sql)
        .tokenize()
        .map_err(|error| Denied::Syntax { detail: error.to_string() })?;
    if tokens.len() > MAX_TOKENS {
        return Err(Denied::TooLong { found: tokens.len(), limit: MAX_TOKENS });
    }
    let mut depth = 0_usize;
    for token in &tokens {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_BRACKETS {
            return Err(Denied::TooDeep { limit: MAX_BRACKETS });
        }
    }
    Ok(tokens)
}
