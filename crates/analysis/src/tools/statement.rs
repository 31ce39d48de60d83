//! Distinguishes SQL from plain language.

use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// Whether a text is SQL. The whole text must parse, so that "select the five best customers from
/// Texas" is a question; a single word never is SQL.
#[must_use]
pub fn is_statement(text: &str) -> bool {
    let Ok(statements) = Parser::parse_sql(&GenericDialect {}, text) else { return false };
    let words = text.split_whitespace().count();
    match statements.as_slice() {
        [] => false,
        [Statement::Query(query)] => {
            words > 1 && query.to_string().to_lowercase().contains(" from ")
                || text.trim_start().to_lowercase().starts_with("select ")
        }
        [Statement::ShowTables { .. } | Statement::ShowVariable { .. } | Statement::ExplainTable { .. }] => {
            false
        }
        _ => words > 1,
    }
}

/// The string literals of a statement.
pub(crate) fn texts(sql: &str) -> Vec<String> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap_or_default();
    let text = |token: Token| match token {
        Token::SingleQuotedString(text) => Some(text),
        _ => None,
    };
    tokens.into_iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::is_statement;

    #[test]
    fn sql_is_told_from_language() {
        for (text, expected) in [
            ("SELECT a FROM t", true),
            ("select count(*) from t where x = 1", true),
            ("WITH x AS (SELECT 1 AS a) SELECT a FROM x", true),
            ("DROP TABLE sales", true),
            ("delete from sales", true),
            ("SELECT 1; DROP TABLE sales", true),
            ("select the five best customers from Texas", false),
            ("Create a new column called AgeGroup", false),
            ("show me the sales", false),
            ("update me on the sales of March", false),
            ("total sales by month", false),
            ("drop in sales after March?", false),
            ("", false),
        ] {
            assert_eq!(is_statement(text), expected, "{text}");
        }
    }
}
