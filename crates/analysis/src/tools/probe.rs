//! Runs a proposed query to learn the shape of its result, before deciding which proposal answers
//! the question.
//!
//! Only small tables are probed, and none of a database server, so that the response time does not
//! grow and no server gets a query that was not chosen. A query that policy refuses is not run.

use super::Workbench;
use crate::query::{Dialect, Query};
use crate::{shape, sql};
use std::time::Duration;
use steward_query::catalogue::Catalogue;
use steward_query::judge::ResultShape;

/// Maximum total rows of a query's tables.
const SMALL: u64 = 60_000;
/// Time limit of a probe.
const PATIENCE: Duration = Duration::from_millis(1_500);

impl Workbench {
    /// The shape of a query's result, if it is cheap to compute.
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
