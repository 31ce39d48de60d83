//! What the data says: sources, catalogue, planner, tools, charts, reports.
//!
//! Invariants
//! - Only this crate knows DataFusion.
//! - What runs SQL takes [`steward_policy::AdmittedSql`] and nothing else; sources are opened read-only besides.
//! - Data is read fresh for every request.

mod calendar;
pub mod catalogue;
pub mod chart;
pub mod database;
mod engine;
mod error;
pub mod findings;
pub mod frame;
pub mod model_planner;
pub mod planner;
pub mod procedure;
mod profile;
pub mod query;
pub mod reader;
pub mod repair;
pub mod report;
pub mod session;
pub mod shape;
pub mod share;
pub mod source;
pub mod sql;
pub mod statistics;
pub mod tools;

pub use error::{Error, Result};
