//! `sql.run`: one read-only statement, with parameters that are values and never text of the statement.

use super::{Output, Workbench};
use crate::error::{Error, Result};
use crate::query::Dialect;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `sql.run` takes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlRun {
    /// One SELECT statement. `:name` stands for a parameter.
    pub sql: String,
    /// The parameters' values.
    #[serde(default)]
    pub parameters: BTreeMap<String, Literal>,
    /// Run in the engine even if a database has all the tables.
    #[serde(default)]
    pub in_engine: bool,
    /// Keep the rows in the engine for later steps instead of handing them back.
    #[serde(default)]
    pub keep_in_engine: bool,
}

/// A parameter's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

pub(super) async fn run(bench: &Workbench, arguments: &SqlRun, result: &str) -> Result<Output> {
    let sql = bind(&arguments.sql, &arguments.parameters)?;
    let admitted = bench.admit(&sql)?;
    let dialect =
        if arguments.in_engine { Dialect::DataFusion } else { bench.session.dialect(admitted.tables()) };
    if arguments.keep_in_engine {
        let frame = bench.session.materialise(&admitted, result).await?;
        bench.remember(result, &frame);
        return Ok(Output { sql: Some(admitted.text().to_owned()), frame: Some(frame), ..Output::default() });
    }
    let ran = bench.run(&admitted, dialect, result).await?;
    bench.keep(result, &ran.frame)?;
    Ok(Output {
        sql: Some(admitted.text().to_owned()),
        cut: ran.cut,
        frame: Some(ran.frame),
        ..Output::default()
    })
}

/// Puts values in place of parameters. It works on tokens, so a parameter inside a text or a comment is left alone, and a
/// value can only ever be one literal.
fn bind(sql: &str, parameters: &BTreeMap<String, Literal>) -> Result<String> {
    if parameters.is_empty() {
        return Ok(sql.to_owned());
    }
    let wrong = |detail: String| Error::Arguments { tool: "sql.run", detail };
    let tokens =
        Tokenizer::new(&GenericDialect {}, sql).tokenize().map_err(|error| wrong(error.to_string()))?;
    let mut text = String::with_capacity(sql.len());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let name = match (&token, tokens.peek()) {
            (Token::Colon, Some(Token::Word(word))) => Some(word.value.clone()),
            (Token::Placeholder(name), _) => Some(name.trim_start_matches([':', '$', '@']).to_owned()),
            _ => None,
        };
        match name {
            Some(name) => {
                if token == Token::Colon {
                    tokens.next();
                }
                let value =
                    parameters.get(&name).ok_or_else(|| wrong(format!("there is no value for :{name}")))?;
                text.push_str(&literal(value));
            }
            None => text.push_str(&token.to_string()),
        }
    }
    Ok(text)
}

fn literal(value: &Literal) -> String {
    match value {
        Literal::Null => "NULL".to_owned(),
        Literal::Bool(b) => b.to_string(),
        Literal::Int(n) => n.to_string(),
        Literal::Float(n) => format!("{n:?}"),
        Literal::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Literal, bind};

    #[test]
    fn values_stay_values() {
        let parameters = [
            ("state".to_owned(), Literal::Text("x' OR 1=1; --".to_owned())),
            ("n".to_owned(), Literal::Int(3)),
        ];
        let bound = bind("SELECT ':n' FROM t WHERE s = :state AND n > :n", &parameters.into()).unwrap();
        assert_eq!(bound, "SELECT ':n' FROM t WHERE s = 'x'' OR 1=1; --' AND n > 3");
        assert!(bind("SELECT :missing", &[("n".to_owned(), Literal::Null)].into()).is_err());
    }
}
