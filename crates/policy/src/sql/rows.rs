//! Row-level rules: a table with rules is replaced by a query that contains only the visible rows
//! and values.
//!
//! Invariant: hidden rows and values are not part of the relation that the rest of the statement
//! reads, so no condition, join, order or error can reveal them.

use super::names::{Offered, Relation, Scope};
use super::query::{ClauseContext, QueryLevel};
use super::render::Renderer;
use super::{Dialect, limits};
use crate::access::{Mask, Table, TableRules, Verdict};
use crate::error::Denied;
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

impl Renderer<'_> {
    /// The query that replaces a table with rules, in parentheses. `place` is the rendered table
    /// name.
    pub(super) fn restricted(
        &mut self,
        table: &Table,
        place: &str,
        rules: &TableRules,
    ) -> Result<String, Denied> {
        let written = self.relation_name("rows")?;
        let offer = |column: &crate::access::Column| Offered {
            name: column.name.clone(),
            written: column.name.clone(),
            // The operator's rule may use columns that are hidden from the caller.
            verdict: Verdict::Allowed,
            origin: Some((table.name.clone(), column.name.clone())),
        };
        let columns = table.columns.iter().map(offer).collect();
        let path = vec![table.full_path().pop().unwrap_or_default()];
        let relation =
            Relation { path, written: written.clone(), columns, merged: Vec::new(), smallest: None };
        let mut list = Vec::new();
        for (column, offered) in table.columns.iter().zip(relation.columns.iter()) {
            if self.access.verdict(table, column) != Verdict::Allowed {
                continue;
            }
            let plain = self.column(&relation, offered).sql;
            let shown = match self.access.mask_of(table, column) {
                None => plain,
                Some(mask) => self.masked(&plain, mask),
            };
            list.push(format!("{shown} AS {}", self.dialect.quote(&column.name)));
        }
        if list.is_empty() {
            list.push("1 AS present".to_owned());
        }
        let filter = match &rules.rows {
            None => String::new(),
            Some(rule) => format!(" WHERE {}", self.row_rule(table, relation, rule)?),
        };
        // A condition of the statement must not be evaluated on hidden rows: an error would reveal
        // them. A LIMIT prevents the engine from merging the two queries.
        let fence = match self.dialect {
            Dialect::Postgres => " OFFSET 0",
            Dialect::Sqlite => " LIMIT -1",
            Dialect::MySql => " LIMIT 18446744073709551615",
            Dialect::DataFusion | Dialect::DuckDb => " LIMIT 9223372036854775807",
        };
        let fence = if filter.is_empty() { "" } else { fence };
        let quoted = self.dialect.quote(&written);
        let sql = format!("(SELECT {} FROM {place} AS {quoted}{filter}{fence})", list.join(", "));
        self.grow(sql.len())?;
        Ok(sql)
    }

    /// The visible part of a value.
    fn masked(&self, value: &str, mask: Mask) -> String {
        let kind = match self.dialect {
            Dialect::MySql => "CHAR",
            Dialect::Sqlite | Dialect::Postgres => "TEXT",
            Dialect::DataFusion | Dialect::DuckDb => "VARCHAR",
        };
        let text = format!("CAST({value} AS {kind})");
        match (mask, self.dialect) {
            (Mask::Empty, _) => format!("CAST(NULL AS {kind})"),
            (Mask::FirstLetter, _) => format!("substr({text}, 1, 1)"),
            (Mask::LastFour, Dialect::Sqlite) => format!("substr({text}, -4)"),
            (Mask::LastFour, _) => format!("right({text}, 4)"),
        }
    }

    /// The condition of a rule, with the caller's attributes as literals.
    fn row_rule(&mut self, table: &Table, relation: Relation, rule: &str) -> Result<String, Denied> {
        let wrong = |detail: String| Denied::Rule { table: table.name.clone(), detail };
        let condition = self.parse_rule(rule).map_err(wrong)?;
        let scope = Scope::new(self.dialect, vec![relation], None);
        let around = ClauseContext {
            named: &[],
            outer: None,
            windows: &[],
            place: QueryLevel::Inside,
            depth: 0,
            queries: 0,
        };
        let text = self.expr(&condition, &scope, around).map_err(|denied| wrong(denied.to_string()))?;
        Ok(text.operand())
    }

    fn parse_rule(&self, rule: &str) -> Result<Expr, String> {
        let tokens = limits::tokens(rule, self.dialect).map_err(|denied| denied.to_string())?;
        let mut replaced: Vec<Token> = Vec::new();
        let mut rest = tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).peekable();
        while let Some(token) = rest.next() {
            let of_caller = matches!(&token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("caller"));
            if !of_caller || rest.peek() != Some(&Token::Period) {
                replaced.push(token);
                continue;
            }
            let name = match (rest.next(), rest.next()) {
                (Some(Token::Period), Some(Token::Word(word))) => word.value,
                _ => return Err("a name is missing after `caller.`".to_owned()),
            };
            let value = self.access.rows.attributes.get(&name);
            let value = value.ok_or_else(|| format!("nothing is known of caller.{name} for this caller"))?;
            replaced.push(Token::SingleQuotedString(value.clone()));
        }
        let grammar = self.dialect.grammar();
        let mut parser = Parser::new(&*grammar).with_tokens(replaced);
        let condition = parser.parse_expr().map_err(|error| error.to_string())?;
        match parser.peek_token().token {
            Token::EOF => Ok(condition),
            other => Err(format!("{other} is left over")),
        }
    }
}
