//! Filling: what a request says for a tool's arguments, with the words that said it.
//!
//! Invariants
//! - Every value comes with the place in the request that gave it, or is the schema's own constant.
//! - What is required and not said is missing: it is asked for, never invented.
//! - A place in the request gives at most one argument.

mod assign;
mod request_text;
mod shape;

pub(super) use request_text::RequestText;
pub(super) use shape::Shape;

use serde_json::Value as Json;
use steward_domain::JsonObject;

/// The arguments that a request gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filling {
    /// As the call takes them.
    pub arguments: JsonObject,
    /// Where each came from, in the order of the parameters.
    pub mappings: Vec<Mapping>,
    /// Required, but not in the request.
    pub missing: Vec<String>,
    /// How many parameters are required.
    required: usize,
    /// Values in the request, and how many of them found a place.
    values: (usize, usize),
}

/// Where an argument came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// Which argument; `outer.inner` inside an object.
    pub parameter: String,
    /// Its value.
    pub value: Json,
    /// The words of the request that gave it, with where they begin and end in bytes; nothing for a
    /// constant of the schema.
    pub said: Option<(String, usize, usize)>,
    /// How it was found.
    pub how: FillSource,
}

/// How an argument was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FillSource {
    /// One of the values that the schema names.
    Choice,
    /// A number.
    Number,
    /// A day or a time.
    Date,
    /// Words between quotes.
    Quoted,
    /// A name of a place, a person, a thing.
    Name,
    /// An address, a path, an id, a formula.
    Literal,
    /// An array or an object, written out or listed.
    List,
    /// The request names what the switch is about.
    Switch,
    /// Words after a word that announces them.
    Phrase,
    /// The only value that the schema allows, or its default.
    Constant,
}

impl Filling {
    /// What share of the required arguments the request gives.
    pub(super) fn fit(&self) -> f32 {
        if self.required == 0 {
            return 1.0;
        }
        1.0 - self.missing.len() as f32 / self.required as f32
    }

    /// What share of the request's values have a place.
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
