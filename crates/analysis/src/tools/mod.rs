//! The tools of an analysis: `sql.run`, `df.transform`, `stats.run`, `forecast.run`,
//! `change.explain`, `plot.render` and `profiler.analyze`.
//!
//! Each has a JSON Schema for its arguments and works on a [`Workbench`]: the session's tables and
//! the named results of earlier calls. Every access to data passes through policy's admission
//! first.

mod change;
mod forecast;
mod plot;
mod probe;
mod profiler;
mod sql;
mod statement;
mod stats;
mod transform;

pub use change::ChangeExplain;
pub use forecast::ForecastRun;
pub use plot::PlotRender;
pub use profiler::ProfilerAnalyze;
pub use sql::{Literal as Parameter, SqlRun};
pub use statement::is_statement;
pub(crate) use statement::texts;
pub use stats::StatsRun;
pub use transform::{DfTransform, Step};

use crate::chart::Drawn;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::query::Dialect;
use crate::session::{Ran, Session, to_policy};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use steward_policy::{Access, AdmittedSql, Denied, Draft, Limits, Parameters, admit};

/// The tools and what each is for, in the order in which plans use them.
pub const TOOLS: &[(&str, &str)] = &[
    (
        "profiler.analyze",
        "Looks a table over: types, empty cells, distinct values, quantiles, outliers, keys, joins, quality.",
    ),
    ("sql.run", "Runs one read-only SQL query over the tables of the request."),
    (
        "df.transform",
        "Filters, selects, derives, joins, groups, pivots, windows, sorts or samples an earlier result or a table.",
    ),
    (
        "stats.run",
        "Carries out statistics over an earlier result: correlation, tests, outliers, regression, missing values.",
    ),
    (
        "forecast.run",
        "Carries on a course over time: likely values with intervals, and how well the method did before.",
    ),
    (
        "change.explain",
        "Splits the change of a number between two periods over the values of columns; the parts add up.",
    ),
    ("plot.render", "Draws a chart of an earlier result: PNG, SVG and a Vega-Lite document."),
];

/// The JSON Schema of a tool's arguments.
#[must_use]
pub fn schema(tool: &str) -> Option<Json> {
    fn of<T: JsonSchema>() -> Json {
        schemars::schema_for!(T).to_value()
    }
    match tool {
        "sql.run" => Some(of::<SqlRun>()),
        "stats.run" => Some(of::<StatsRun>()),
        "forecast.run" => Some(of::<ForecastRun>()),
        "change.explain" => Some(of::<ChangeExplain>()),
        "df.transform" => Some(of::<DfTransform>()),
        "plot.render" => Some(of::<PlotRender>()),
        "profiler.analyze" => Some(of::<ProfilerAnalyze>()),
        _ => None,
    }
}

/// The result of a call.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Rows, for queries and transformations.
    pub frame: Option<Frame>,
    /// Whether there were more rows than the limit.
    pub cut: bool,
    /// A chart.
    pub drawn: Option<Drawn>,
    /// A profile.
    pub profile: Option<Json>,
    /// A text, if the tool returns one.
    pub text: Option<String>,
    /// Named values.
    pub values: Vec<(String, crate::frame::Value)>,
    /// Caveats.
    pub warnings: Vec<String>,
    /// The SQL that ran, as admitted.
    pub sql: Option<String>,
}

/// Tables, earlier results, and the caller's access rights.
pub struct Workbench {
    /// The open data.
    pub session: Session,
    /// The caller's access rights.
    pub access: Access,
    /// The limits of one statement.
    pub limits: Limits,
    results: Mutex<BTreeMap<String, Frame>>,
}

impl Workbench {
    /// A workbench over open data.
    #[must_use]
    pub fn new(mut session: Session, access: Access, limits: Limits) -> Self {
        session.restrict(&access);
        Self { session, access, limits, results: Mutex::default() }
    }

    /// Calls a tool by its name. `result` names the result for later calls.
    pub async fn call(&self, tool: &str, arguments: &Json, result: &str) -> Result<Output> {
        match tool {
            "sql.run" => sql::run(self, &read("sql.run", arguments)?, result).await,
            "df.transform" => transform::run(self, &read("df.transform", arguments)?, result).await,
            "stats.run" => stats::run(self, &read("stats.run", arguments)?, result).await,
            "forecast.run" => forecast::run(self, &read("forecast.run", arguments)?, result),
            "change.explain" => change::run(self, &read("change.explain", arguments)?, result),
            "plot.render" => plot::run(self, &read("plot.render", arguments)?),
            "profiler.analyze" => profiler::run(self, &read("profiler.analyze", arguments)?).await,
            _ => Err(Error::Arguments { tool: "call", detail: format!("there is no tool {tool}") }),
        }
    }

    /// An earlier result.
    #[must_use]
    pub fn result(&self, name: &str) -> Option<Frame> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Stores a result under its name, also for the engine.
    pub fn keep(&self, name: &str, frame: &Frame) -> Result<()> {
        if self.session.catalogue().table(name).is_some() {
            return Err(Error::Arguments {
                tool: "df.transform",
                detail: format!("{name} is the name of a table; choose another"),
            });
        }
        self.session.add_frame(name, frame)?;
        self.remember(name, frame);
        Ok(())
    }

    fn remember(&self, name: &str, frame: &Frame) {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), frame.clone());
    }

    /// Policy's view of the tables and results.
    fn schema(&self) -> steward_policy::Schema {
        let mut schema = self.session.schema();
        for (name, frame) in self.results.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let columns =
                frame.fields.iter().map(|field| steward_policy::Column::plain(&field.name)).collect();
            let has_twin = false;
            schema.tables.push(steward_policy::Table {
                name: name.clone(),
                path: Vec::new(),
                columns,
                has_twin,
            });
        }
        schema
    }

    /// Asks policy for admission, in the dialect of the source that has all the tables. If this
    /// refuses, nothing has run.
    pub fn admit(&self, sql: &str) -> Result<AdmittedSql> {
        self.admit_with(sql, &Parameters::new())
    }

    /// Asks policy for admission of a call of `sql.run`, for the engine that the call will run in.
    /// None if the arguments contain no statement.
    pub fn admit_call(&self, arguments: &Json) -> Option<Result<AdmittedSql>> {
        let sql = arguments.get("sql")?.as_str()?;
        let is_set = |name: &str| arguments.get(name).and_then(Json::as_bool) == Some(true);
        Some(if is_set("in_engine") || is_set("keep_in_engine") {
            self.admit_in(sql, Dialect::DataFusion, &Parameters::new())
        } else {
            self.admit(sql)
        })
    }

    /// The tables that an admitted statement reads, in whichever engine it ran.
    #[must_use]
    pub fn tables_read(&self, sql: &str) -> BTreeSet<String> {
        let in_engine = || self.admit_in(sql, Dialect::DataFusion, &Parameters::new());
        self.admit(sql).or_else(|_| in_engine()).map(|admitted| admitted.tables().clone()).unwrap_or_default()
    }

    /// The same, with values for the statement's parameters.
    fn admit_with(&self, sql: &str, parameters: &Parameters) -> Result<AdmittedSql> {
        let mut refused = None;
        for dialect in self.session.dialects() {
            match self.admit_in(sql, dialect, parameters) {
                Ok(admitted) => {
                    let home = self.session.dialect(admitted.tables());
                    // A statement over several sources or earlier results runs in the engine, which
                    // has all of those.
                    match refused {
                        _ if home == dialect => return Ok(admitted),
                        None if dialect == Dialect::DataFusion => return Ok(admitted),
                        _ => {}
                    }
                }
                Err(error) => {
                    refused.get_or_insert(error);
                }
            }
        }
        Err(refused.unwrap_or_else(|| Denied::Syntax { detail: "no source takes it".to_owned() }.into()))
    }

    /// Asks policy about a statement for one engine.
    fn admit_in(&self, sql: &str, dialect: Dialect, parameters: &Parameters) -> Result<AdmittedSql> {
        let mut access = self.access.clone();
        if !access.tables.is_empty() {
            let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            access.tables.extend(results.keys().map(|name| (name.clone(), BTreeSet::new())));
        }
        let draft = Draft { sql, dialect: to_policy(dialect), parameters };
        Ok(admit(&draft, &self.schema(), &access, self.limits)?)
    }

    async fn run(&self, admitted: &AdmittedSql, result: &str) -> Result<Ran> {
        let mut ran = self.session.run(admitted).await?;
        ran.frame.name = result.to_owned();
        Ok(ran)
    }
}

fn read<T: DeserializeOwned>(tool: &'static str, arguments: &Json) -> Result<T> {
    T::deserialize(arguments).map_err(|error| Error::Arguments { tool, detail: error.to_string() })
}
