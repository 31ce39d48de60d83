//! What the data says: sources, catalogue, planner, tools, charts, reports.
//!
//! Invariants
//! - Only this crate knows DataFusion.
//! - What runs SQL takes [`steward_policy::AdmittedSql`] and nothing else; sources are opened
//!   read-only besides.
//! - Data is never stale: a file is read again unless it is unchanged in every respect that the
//!   system tells.

pub mod blocked;
pub mod chart;
pub mod database;
mod engine;
mod error;
pub mod export;
pub mod findings;
pub mod isolation;
pub mod model_planner;
pub mod procedure;
mod profile;
pub mod reader;
pub mod repair;
pub mod report;
pub mod session;
pub mod shape;
pub mod share;
pub mod source;
pub mod statistics;
pub mod tools;

pub use error::{Error, Reported, Result};
pub use steward_query::{
    about, catalogue, frame, judge, outlook, planner, propose, query, roles, semantics, sql, verified,
};
pub use steward_text::calendar;
