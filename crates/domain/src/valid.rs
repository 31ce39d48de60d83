//! `Valid<T>`: the proof that an entity's rules were checked.

use crate::error::{Invalid, Problem};
use crate::time::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use std::{borrow::Cow, fmt::Debug, ops::Deref};

/// Rules that span fields. A rule of a single field belongs in the field's type.
pub trait Check: Sized {
    /// The entity's name in error messages.
    const ENTITY: &'static str;

    /// Adds a [`Problem`] for every broken rule.
    fn check(&self, problems: &mut Vec<Problem>);

    /// Checks the rules and wraps the value, or returns all problems.
    fn validate(self) -> Result<Valid<Self>, Invalid> {
        let mut problems = Vec::new();
        self.check(&mut problems);
        if problems.is_empty() { Ok(Valid(self)) } else { Err(Invalid { entity: Self::ENTITY, problems }) }
    }
}

/// A value whose rules hold. It is read through `Deref` and cannot be changed in place: to change
/// it, unwrap it with [`Valid::into_inner`], change it, and validate again.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Valid<T>(T);

impl<T: Check> Valid<T> {
    /// The unwrapped value, which can be changed.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// Changes a copy and validates it.
    pub fn with(self, change: impl FnOnce(&mut T)) -> Result<Self, Invalid> {
        let mut draft = self.0;
        change(&mut draft);
        draft.validate()
    }
}

impl<T> Deref for Valid<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Check + Deserialize<'de>> Deserialize<'de> for Valid<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer)?.validate().map_err(serde::de::Error::custom)
    }
}

impl<T: JsonSchema> JsonSchema for Valid<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The states of an entity and the transitions between them.
pub trait States: Copy + Eq + Debug + 'static {
    /// The states that may follow. A final state has none.
    fn next(self) -> &'static [Self];

    /// Whether no state follows.
    fn is_final(self) -> bool {
        self.next().is_empty()
    }
}

/// Makes one transition of a state machine, or returns the transitions that are allowed.
pub fn step<S: States>(entity: &'static str, from: S, to: S) -> Result<S, Invalid> {
    if from.next().contains(&to) {
        return Ok(to);
    }
    let rule = match from.next() {
        [] => format!("is {from:?}, which is final"),
        ways => format!("is {from:?} and may only become {ways:?}"),
    };
    Err(Invalid { entity, problems: vec![Problem::new("status", rule, format!("{to:?}"))] })
}

/// Adds a problem unless the rule holds.
pub(crate) fn require(
    problems: &mut Vec<Problem>,
    holds: bool,
    field: &str,
    rule: &str,
    value: impl std::fmt::Display,
) {
    if !holds {
        problems.push(Problem::new(field, rule, value));
    }
}

/// Adds problems unless a time span is not negative and matches its duration. The fields are
/// `{name}_start`, `{name}_end` and `duration_ms`.
pub(crate) fn require_span(
    problems: &mut Vec<Problem>,
    name: &str,
    start: Timestamp,
    end: Timestamp,
    duration_ms: u64,
) {
    let rule = format!("must not be before {name}_start");
    require(problems, start <= end, &format!("{name}_end"), &rule, end);
    let span = end.millis_since(start);
    let rule = format!("must be the {span} ms between start and end");
    require(problems, duration_ms == span, "duration_ms", &rule, duration_ms);
}

/// Adds the problems of a part under the path of that part.
pub(crate) fn check_part<T: Check>(problems: &mut Vec<Problem>, path: &str, part: &T) {
    let mut inner = Vec::new();
    part.check(&mut inner);
    problems.extend(inner.into_iter().map(|p| Problem { field: format!("{path}.{}", p.field), ..p }));
}
