//! Data analysis: sources, catalogue, planner, tools, charts, reports.
//!
//! Invariants
//! - Only this crate uses DataFusion.
//! - Code that runs SQL accepts only [`steward_policy::AdmittedSql`]; sources are also opened
//!   read-only.
//! - Data is never stale: a file is read again unless its metadata is unchanged.

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
    about, catalogue, follow_up, frame, judge, outlook, planner, propose, query, roles, semantics, sql,
    verified,
};
pub use steward_text::calendar;
