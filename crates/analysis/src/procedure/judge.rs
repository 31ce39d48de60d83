//! Words chosen by rules over a p-value or a statistic.

use super::asked::{Bound, Judgement, Quantity};
use super::evaluate::{evaluate, finding};
use super::types::{Compare, Measure};
use crate::frame::{Frame, Value};

/// The word of the first rule that holds.
pub(super) fn judge(judgement: &Judgement, frame: &Frame, columns: &[String]) -> Result<Value, String> {
    let (statistic, p) = match &judgement.of {
        Measure::Test(test, _) => {
            let found = finding(*test, frame, columns)?;
            (found.statistic, found.p)
        }
        other => {
            let value = evaluate(other, frame, columns)?.number().ok_or("There is no number to judge.")?;
            (value, f64::NAN)
        }
    };
    let holds = |bound: &Bound| {
        let value = match bound.quantity {
            Quantity::P => p,
            Quantity::Statistic => statistic,
            Quantity::Size => statistic.abs(),
        };
        match bound.is {
            Compare::Equal | Compare::OneOf => value == bound.limit,
            Compare::Different => value != bound.limit,
            Compare::Less => value < bound.limit,
            Compare::AtMost => value <= bound.limit,
            Compare::More => value > bound.limit,
            Compare::AtLeast => value >= bound.limit,
        }
    };
    judgement
        .rules
        .iter()
        .find(|rule| rule.when.iter().any(|all| all.iter().all(holds)))
        .map(|rule| rule.label.clone())
        .or_else(|| judgement.otherwise.clone())
        .map(Value::Text)
        .ok_or_else(|| "No stated rule holds.".into())
}
