//! Runs a proposed query to see the shape of its result, before it is decided which proposal
//! answers the question.
//!
//! Only small tables are probed, and none of a database server: the answer's time does not grow,
//! and no server is asked a question that was not chosen. A query that policy refuses is not run.

use super::Workbench;
use crate::query::{Dialect, Query};
use crate::{shape, sql};
use std::time::Duration;
use steward_query::catalogue::Catalogue;
use steward_query::judge::ResultShape;

/// Rows of all tables of a query up to which it is probed.
const SMALL: u64 = 60_000;
/// A probe that takes longer is given up.
const PATIENCE: Duration = Duration::from_millis(1_500);

impl Workbench {
    /// The shape of a query's result, where it is cheap to know.
    pub async fn probe(&self, query: &Query, visible: &Catalogue) -> Option<ResultShape> {
        let mut query = query.clone();
        shape::expand_star(&mut query, visible);
        let tables = shape::tables(&query);
        let rows: Option<Vec<u64>> =
            tables.iter().map(|name| self.session.catalogue().table(name)?.rows).collect();
        if rows?.into_iter().sum::<u64>() > SMALL {
            return None;
        }
        let dialect = self.session.dialect(&tables);
        if !matches!(dialect, Dialect::Sqlite | Dialect::DataFusion) {
            return None;
        }
        let dialect = if sql::supports(&query, dialect) { dialect } else { Dialect::DataFusion };
        let text = sql::write(&query, dialect);
        let admitted = self.admit_in(&text, dialect, &steward_policy::Parameters::new()).ok()?;
        let ran = tokio::time::timeout(PATIENCE, self.session.run(&admitted)).await.ok()?.ok()?;
        Some(ResultShape::of(&ran.frame.rows))
    }
}
