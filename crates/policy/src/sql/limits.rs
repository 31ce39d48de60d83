//! Limits on a statement's text, kept before anything recursive sees it.

use super::dialect::Dialect;
use crate::error::Denied;
use sqlparser::tokenizer::{Token, Tokenizer};

/// Longer statements are not written by people or planners.
const MAX_LENGTH: usize = 100_000;
/// Nor are statements of more words and signs.
const MAX_TOKENS: usize = 40_000;
/// Nor are brackets deeper than this.
const MAX_BRACKETS: usize = 60;

/// The words and signs of a statement, if it is short and shallow enough to be parsed.
pub(super) fn tokens(sql: &str, dialect: Dialect) -> Result<Vec<Token>, Denied> {
    let found = sql.chars().count();
    if found > MAX_LENGTH {
        return Err(Denied::TooLong { found, limit: MAX_LENGTH });
    }
    // MySQL runs what stands in these comments, and the tokenizer may or may not take it for a
    // comment.
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
