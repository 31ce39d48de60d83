//! Strict parsing of JSON text into a valid entity.

use crate::{Check, Invalid, Problem, Valid};
use serde::de::DeserializeOwned;

/// Parses and validates; the error names the path of the field that is wrong.
pub fn parse<T: Check + DeserializeOwned>(json: &str) -> Result<Valid<T>, Invalid> {
    // Serde also accepts an array of field values for a struct; this is rejected here.
    if !json.trim_start().starts_with('{') {
        let problem = Problem::new("", "must be a JSON object", json.trim());
        return Err(Invalid { entity: T::ENTITY, problems: vec![problem] });
    }
    let reader = &mut serde_json::Deserializer::from_str(json);
    let draft: T = serde_path_to_error::deserialize(&mut *reader).map_err(|error| Invalid {
        entity: T::ENTITY,
        problems: vec![Problem::new(
            match error.path().to_string().as_str() {
                "." => String::new(),
                path => path.to_owned(),
            },
            error.inner().to_string(),
            json.lines().nth(error.inner().line().saturating_sub(1)).unwrap_or_default().trim(),
        )],
    })?;
    reader.end().map_err(|error| Invalid {
        entity: T::ENTITY,
        problems: vec![Problem::new("", "must be one JSON value and nothing after it", error)],
    })?;
    draft.validate()
}
