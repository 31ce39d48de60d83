//! An admitted statement, in the parts needed to run it.
//!
//! Invariant: it is only created from [`AdmittedSql`]. The process that holds the data receives it
//! from the one that admitted it, over a private pipe.

use crate::query::Dialect;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use steward_policy::AdmittedSql;

/// A statement that may run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) dialect: Dialect,
    pub(crate) tables: BTreeSet<String>,
    pub(crate) reads: BTreeMap<String, BTreeSet<String>>,
    pub(crate) rows: usize,
    pub(crate) seconds: u32,
}

impl Statement {
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds))
    }
}

impl From<&AdmittedSql> for Statement {
    fn from(sql: &AdmittedSql) -> Self {
        let limits = sql.limits();
        Self {
            text: sql.text().to_owned(),
            dialect: super::of_policy(sql.dialect()),
            tables: sql.tables().clone(),
            reads: sql.reads().clone(),
            rows: limits.rows.get() as usize,
            seconds: limits.timeout.get(),
        }
    }
}
