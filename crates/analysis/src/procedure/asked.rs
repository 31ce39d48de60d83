//! What is asked for: parts of answers, judgements by rules, and the whole procedure.
//!
//! Together with the steps and measures these types can be written to JSON and read back.

use super::types::{Compare, Condition, Measure, Step};
use serde::{Deserialize, Serialize};

/// A quantity that a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The p-value.
    P,
    /// The statistic.
    Statistic,
    /// The size of the statistic.
    Size,
}

/// One comparison of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What is compared.
    pub quantity: Quantity,
    /// How.
    pub is: Compare,
    /// With what.
    pub limit: f64,
}

/// A word and when it holds: any of the alternatives, in each of which all bounds hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The word.
    pub label: String,
    /// The alternatives.
    pub when: Vec<Vec<Bound>>,
}

/// Words chosen by a test or a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The measure that gives the statistic.
    pub of: Measure,
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// The word when no rule holds.
    pub otherwise: Option<String>,
}

/// One part of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What is measured.
    pub measure: Measure,
    /// Of which columns.
    pub columns: Vec<String>,
    /// Over which rows.
    pub conditions: Vec<Condition>,
    /// After so many steps.
    pub after: usize,
    /// Rounded to so many places.
    pub decimals: Option<usize>,
}

/// A named value that is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedFigure {
    /// Its name, from the request or made from the measure.
    pub name: String,
    /// Its parts, usually one.
    pub parts: Vec<Part>,
}

/// A read request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Procedure {
    /// What is done to the rows, in order.
    pub steps: Vec<Step>,
    /// What is asked for.
    pub answers: Vec<NamedFigure>,
    /// From 0 to 1; from 0.75 on it is right nine times in ten.
    pub confidence: f64,
    /// What the text did not say and was assumed.
    pub assumptions: Vec<String>,
    /// How the reading came about.
    pub reasoning: Vec<String>,
}
