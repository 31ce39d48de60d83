//! Extracts a tool's arguments from a request, with the source text of each.
//!
//! Invariants
//! - Every value has its position in the request, or is a constant of the schema.
//! - A required value that is not in the request is reported as missing, never invented.
//! - A position in the request provides at most one argument.

mod assign;
mod request_text;
mod shape;

pub(super) use request_text::RequestText;
pub(super) use shape::Shape;

use serde_json::Value as Json;
use steward_domain::JsonObject;

/// The arguments in a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filling {
    /// The arguments for the call.
    pub arguments: JsonObject,
    /// The source of each argument, in parameter order.
    pub mappings: Vec<Mapping>,
    /// Required parameters that are not in the request.
    pub missing: Vec<String>,
    /// The number of required parameters.
    required: usize,
    /// The number of values in the request, and how many of them were assigned.
    values: (usize, usize),
}

/// The source of an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// The parameter; `outer.inner` inside an object.
    pub parameter: String,
    /// The value.
    pub value: Json,
    /// The text in the request with its start and end in bytes. `None` for a constant of the
    /// schema.
    pub said: Option<(String, usize, usize)>,
    /// How it was found.
    pub how: FillSource,
}

/// How an argument was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FillSource {
    /// A value that the schema enumerates.
    Choice,
    /// A number.
    Number,
    /// A date or a time.
    Date,
    /// Quoted text.
    Quoted,
    /// A proper name.
    Name,
    /// An address, a path, an id or a formula.
    Literal,
    /// An array or an object, as JSON or as a list.
    List,
    /// A switch whose topic the request names.
    Switch,
    /// Words after a word that introduces them.
    Phrase,
    /// The only value that the schema allows, or its default.
    Constant,
}

impl Filling {
    /// The share of required arguments that the request provides.
    pub(super) fn fit(&self) -> f32 {
        if self.required == 0 {
            return 1.0;
        }
        1.0 - self.missing.len() as f32 / self.required as f32
    }

    /// The share of values in the request that were assigned.
    pub(super) fn home(&self) -> f32 {
        let (all, placed) = self.values;
        if all == 0 { 1.0 } else { placed as f32 / all as f32 }
    }
}

/// Fills the parameters of a tool from a request.
pub(super) fn fill(shape: &Shape, said: &RequestText) -> Filling {
    let mut used = vec![false; said.spans.len()];
    let mut filling = Filling {
        required: shape.parameters.iter().filter(|one| one.required).count(),
        ..Filling::default()
    };
    let found = assign::assign(shape, said, &mut used);
    for (parameter, found) in shape.parameters.iter().zip(found) {
        match found {
            Some((value, how, place)) => {
                let said = place.map(|(start, end)| {
                    (said.text.get(start..end).unwrap_or_default().to_owned(), start, end)
                });
                filling.arguments.insert(parameter.name.clone(), value.clone());
                filling.mappings.push(Mapping { parameter: parameter.name.clone(), value, said, how });
            }
            None if parameter.required => filling.missing.push(parameter.name.clone()),
            None => {}
        }
    }
    filling.values = (used.len(), used.iter().filter(|used| **used).count());
    filling
}

#[cfg(test)]
#[path = "../fill_tests.rs"]
mod tests;
