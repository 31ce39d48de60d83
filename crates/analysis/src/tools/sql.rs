//! `sql.run`: one read-only statement, with parameters that are values and never text of the
//! statement.

use super::{Output, Workbench};
use crate::error::Result;
use crate::query::Dialect;
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
    let parameters: steward_policy::Parameters =
        arguments.parameters.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let admitted = if arguments.in_engine || arguments.keep_in_engine {
        bench.admit_in(&arguments.sql, Dialect::DataFusion, &parameters)?
    } else {
        bench.admit_with(&arguments.sql, &parameters)?
    };
    if arguments.keep_in_engine {
        let frame = bench.session.materialise(&admitted, result).await?;
        bench.remember(result, &frame);
        return Ok(Output { sql: Some(admitted.text().to_owned()), frame: Some(frame), ..Output::default() });
    }
    let ran = bench.run(&admitted, result).await?;
    bench.keep(result, &ran.frame)?;
    Ok(Output {
        sql: Some(admitted.text().to_owned()),
        cut: ran.cut,
        frame: Some(ran.frame),
        ..Output::default()
    })
}

impl From<Literal> for steward_policy::Literal {
    fn from(value: Literal) -> Self {
        match value {
            Literal::Null => Self::Null,
            Literal::Bool(truth) => Self::Bool(truth),
            Literal::Int(number) => Self::Int(number),
            Literal::Float(number) => Self::Float(number),
            Literal::Text(text) => Self::Text(text),
        }
    }
}
