//! Recipes' side of planning: templates of questions, and readings with new particulars.

pub use crate::planner::particulars::{adapt, adapt_plan, literals, template};
