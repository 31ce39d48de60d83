//! Static plans: all steps are written before any data is read, from the user's text alone.
//!
//! Invariants
//! - A tool result fills in values and decides conditions that the plan itself states. It cannot
//!   add a step, change which tool a step calls, or change a literal: after [`StaticPlan`] is
//!   compiled there is no further planning.
//! - Models that read intermediate results have no tools. An extracted value has the type that the
//!   plan requires.
//! - Steps with side effects keep the order of the list: they wait for every step before them, and
//!   every step after waits for them. Reads between two of them run in parallel.

mod reference;
mod value_type;

pub(crate) use reference::{ItemScope, ValueTemplate};
pub use value_type::{ValueType, first_json};

use crate::expression::as_text;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use steward_domain::{AgentName, JsonObject, NodeName, ToolName};

/// The name of the step that writes the answer.
pub const ANSWER_STEP: &str = "answer";
/// Names that are reserved and not allowed for steps.
const RESERVED: [&str; 4] = [ANSWER_STEP, "item", "index", "input"];
/// The maximum number of steps of one plan.
const MAX_STEPS: usize = 30;
/// The maximum number of items of a repeated step.
pub(crate) const MAX_ITEMS: usize = 50;

/// The steps, and the instruction for the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticPlan {
    /// The user's text: it proves that a value comes from the user.
    pub words: String,
    /// The steps, in order.
    pub steps: Vec<StaticStep>,
    /// The instruction for the answer.
    #[serde(default)]
    pub answer: String,
    /// The agent that extracts values. It has no tools.
    pub extractor: AgentName,
    /// The agent that writes the answer. It has no tools.
    pub writer: AgentName,
}

/// One step: a call of a tool, or an extraction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticStep {
    /// Its name; later steps refer to its result by it.
    pub id: NodeName,
    /// The tool that it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// The arguments: literals, `{"$ref": "step.path"}` and `{"$text": [...]}`.
    #[serde(default, alias = "args", alias = "parameters", skip_serializing_if = "JsonObject::is_empty")]
    pub arguments: JsonObject,
    /// The value that is extracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<Extraction>,
    /// The list for whose items the tool is called; `item` and `index` refer to the current item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<Value>,
    /// The step is skipped when this condition does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// A value that a model without tools reads out of results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extraction {
    /// The input: literals and references.
    pub from: Value,
    /// The description of the wanted value.
    #[serde(alias = "what")]
    pub instruction: String,
    /// The required type.
    #[serde(rename = "type", default)]
    pub value_type: ValueType,
}

/// A condition over a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The value that is tested.
    pub value: Value,
    /// The comparison.
    pub is: Comparison,
    /// The value that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// How a condition compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Null, an empty text or an empty list.
    Empty,
    /// Anything else.
    NotEmpty,
    /// True.
    True,
    /// False.
    False,
    /// The same value; texts are compared case-insensitively.
    Equal,
    /// Another value.
    NotEqual,
    /// A larger number, or a later text.
    More,
    /// A smaller number, or an earlier text.
    Less,
    /// A text or a list that holds the other value.
    Contains,
}

impl Comparison {
    /// Whether the comparison holds.
    pub(crate) fn holds(self, value: &Value, to: &Value) -> bool {
        let empty = match value {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Array(values) => values.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        let plain = |value: &Value| as_text(value).trim().to_lowercase();
        let order = || match (number(value), number(to)) {
            (Some(value), Some(to)) => value.total_cmp(&to),
            _ => plain(value).cmp(&plain(to)),
        };
        match self {
            Self::Empty => empty,
            Self::NotEmpty => !empty,
            Self::True => *value == Value::Bool(true) || plain(value) == "true",
            Self::False => *value == Value::Bool(false) || plain(value) == "false",
            Self::Equal => order().is_eq(),
            Self::NotEqual => !order().is_eq(),
            Self::More => order().is_gt(),
            Self::Less => order().is_lt(),
            Self::Contains => match value {
                Value::Array(values) => values.iter().any(|value| plain(value) == plain(to)),
                other => plain(other).contains(&plain(to)),
            },
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

impl StaticPlan {
    /// Problems of its form; problems that involve tools are found by compiling.
    pub(crate) fn problems(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut problem = |field: String, rule: &str| problems.push((field, rule.to_owned()));
        if self.steps.is_empty() || self.steps.len() > MAX_STEPS {
            problem("steps".to_owned(), &format!("must be 1 to {MAX_STEPS} steps"));
        }
        for (place, step) in self.steps.iter().enumerate() {
            let field = format!("steps.{}", step.id);
            if RESERVED.contains(&step.id.as_str()) || step.id.as_str().contains('.') {
                let names = RESERVED.join(", ");
                problem(format!("{field}.id"), &format!("must be none of {names} and have no dot"));
            }
            if self.steps.iter().take(place).any(|other| other.id == step.id) {
                problem(format!("{field}.id"), "must be used once");
            }
            match (&step.tool, &step.extract) {
                (Some(_), Some(_)) | (None, None) => problem(field, "must have a tool or an extract"),
                (None, Some(_)) if step.for_each.is_some() => {
                    problem(format!("{field}.for_each"), "is for tools: extract a list instead");
                }
                _ => {}
            }
        }
        problems
    }
}

/// A step of a static plan with its references resolved.
#[derive(Debug, Default)]
pub(crate) struct CompiledStep {
    pub(crate) arguments: Vec<(String, ValueTemplate)>,
    pub(crate) for_each: Option<ValueTemplate>,
    pub(crate) when: Option<(ValueTemplate, Comparison, ValueTemplate)>,
    pub(crate) extract: Option<CompiledExtraction>,
    /// Steps that must end first, without being read.
    pub(crate) after: Vec<crate::program::ProgramIndex>,
    /// Whether it may have side effects.
    pub(crate) changes: bool,
}

/// An extraction with its references resolved.
#[derive(Debug)]
pub(crate) struct CompiledExtraction {
    pub(crate) from: ValueTemplate,
    pub(crate) instruction: String,
    pub(crate) value_type: ValueType,
}
