//! Written analysis instructions, read without a language model and carried out over a frame.
//!
//! `read` turns a request into typed steps and named answers, or gives `None` when the request is a
//! plain lookup that a query answers better. `run` carries them out. Nothing is guessed silently:
//! what had to be assumed is listed.

mod answers;
mod asked;
mod bins;
mod caution;
mod choose;
mod columns;
mod derive;
mod evaluate;
mod figure_list;
mod figures;
mod filters;
mod formula;
mod group;
mod judge;
mod judging;
mod likeness;
mod model;
mod models;
mod numbers;
mod outcome;
mod prepare;
mod reader;
mod rows;
mod rules;
mod run;
mod steps;
mod superlative;
mod types;
mod wants;
mod words;

#[cfg(test)]
mod check;

pub use asked::*;
pub use reader::read;
pub use run::{Report, correlated_columns, run};
pub use types::*;
