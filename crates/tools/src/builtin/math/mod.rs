//! `math.eval`: evaluates an arithmetic expression.
//!
//! Whole numbers are exact as long as they fit 128 bits; all others are 64-bit floats. The text is
//! parsed once from left to right, with limits on its length and nesting, so that no input can
//! exhaust the stack or the time.

mod functions;
mod lexer;
mod number;
mod parser;

pub use number::Number;
pub use parser::evaluate;

use super::{Builtin, VERSION, arguments, example, schema};
use crate::error::Result;
use crate::tool::{Content, Context, Output, Tool};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use steward_domain::{ApprovalMode, Idempotency, JsonObject};
use steward_policy::AdmittedCall;

/// The tool's name.
pub const NAME: &str = "math.eval";
const DESCRIPTION: &str = "Calculate an arithmetic expression: add, subtract, multiply, divide, powers, \
    remainders, factorials, percentages such as 15% of 80, square roots, logarithms, trigonometry in \
    radians, rounding, and sum, \
    mean, median, min, max and sample standard deviation (stdev) of numbers. Use it as a calculator whenever \
    a number has to be \
    worked out exactly.";
/// The maximum length of an expression.
pub const LONGEST: usize = 4000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    expression: String,
}

fn parameters() -> JsonObject {
    schema(
        json!({
            "expression": { "type": "string", "minLength": 1, "maxLength": LONGEST,
                "description": "Such as (3 + 4) * 2^10, 15% of 80, sqrt(2), mean(1, 2, 3.5). No thousands \
                    separators, no variables" },
        }),
        &["expression"],
    )
}

fn returns() -> JsonObject {
    schema(
        json!({
            "expression": { "type": "string", "description": "What was worked out" },
            "result": { "type": "string", "description": "The result in digits" },
            "value": { "type": "number", "description": "The result as a number" },
            "exact": { "type": "boolean", "description": "Whether the result is an exact whole number" },
        }),
        &["expression", "result", "value", "exact"],
    )
}

/// The tool.
pub(super) fn builtin() -> Builtin {
    Builtin {
        name: NAME,
        version: VERSION,
        description: DESCRIPTION,
        parameters: parameters(),
        returns: returns(),
        idempotency: Idempotency::ReadOnly,
        approval: ApprovalMode::Never,
        category: "math_tools",
        examples: vec![
            example("what is 17 times 23?", json!({ "expression": "17 * 23" })),
            example("how much is 15% of 80?", json!({ "expression": "15% of 80" })),
            example("square root of 2", json!({ "expression": "sqrt(2)" })),
            example("the average of 3, 5 and 10", json!({ "expression": "mean(3, 5, 10)" })),
        ],
        off: None,
        tool: Arc::new(Eval),
    }
}

struct Eval;

#[async_trait]
impl Tool for Eval {
    async fn call(&self, call: &AdmittedCall, _: &Context) -> Result<Output> {
        let asked: Arguments = arguments(call)?;
        let number = evaluate(&asked.expression)?;
        let (result, exact) = (number.to_string(), matches!(number, Number::Whole(_)));
        // JSON readers would round a large whole number, so it is given as the nearest float.
        // `result` has all digits.
        let value = match number {
            Number::Whole(whole) => match i64::try_from(whole) {
                Ok(whole) => json!(whole),
                Err(_) => json!(number.real()),
            },
            Number::Real(real) => json!(real),
        };
        let text = format!("{} = {result}", asked.expression.trim());
        let structured =
            json!({ "expression": asked.expression, "result": result, "value": value, "exact": exact });
        Ok(Output { content: vec![Content::Text { text }], structured: Some(structured) })
    }
}

#[cfg(test)]
#[path = "math_tests.rs"]
mod tests;
