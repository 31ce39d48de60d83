//! Converts a tree to a typed value. Each error is reported, its value removed, and the conversion
//! continues.

use super::node::{Node, Step};
use super::problem::{Problem, meant};
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use std::path::PathBuf;
use steward_domain::Check;

/// Collects the problems of one file.
#[derive(Debug, Default)]
pub(super) struct ProblemList {
    pub(super) file: PathBuf,
    pub(super) problems: Vec<Problem>,
}

impl ProblemList {
    pub(super) fn add(&mut self, line: u64, problem: impl Into<String>) {
        self.problems.push(Problem { file: self.file.clone(), line, problem: problem.into() });
    }

    /// Converts a tree. Returns the value and the tree that it was made from, both without the
    /// invalid parts, which were reported. `None` if the rest is not a valid value. `whose` names
    /// the item in messages: ``tool `crm.find` ``.
    pub(super) fn typed<T: DeserializeOwned>(&mut self, node: &Node, whose: &str) -> Option<(T, Node)> {
        let mut rest = node.clone();
        let mut removed: Vec<Vec<Step>> = Vec::new();
        // Every iteration removes a value from the tree, so the loop ends.
        loop {
            let error = match serde_path_to_error::deserialize::<_, T>(rest.json()) {
                Ok(value) => return Some((value, rest)),
                Err(error) => error,
            };
            let message = error.inner().to_string();
            let path = steps(&error, &message, &rest);
            let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
            let ours = missing.is_some_and(|field| {
                let mut field_path = path.clone();
                field_path.push(Step::Key(field.to_owned()));
                removed.contains(&field_path)
            });
            if !ours {
                let line = rest.line_at(&path);
                let place = place(&rest.in_file(&path), &message);
                self.add(line, format!("{whose}: {place}{}", teach(&message)));
            }
            if !rest.remove(&path) {
                return None;
            }
            removed.push(path);
        }
    }

    /// Converts a tree and checks the rules across fields. Fields that were removed are not
    /// checked.
    pub(super) fn checked<T: Check + DeserializeOwned>(
        &mut self,
        node: &Node,
        whose: &str,
    ) -> Option<(T, Node)> {
        let before = self.problems.len();
        let (item, rest) = self.typed::<T>(node, whose)?;
        let whole = self.problems.len() == before;
        let mut problems = Vec::new();
        item.check(&mut problems);
        for problem in problems {
            let steps = field_steps(&problem.field);
            if whole || rest.has(&steps) {
                self.add(rest.line_at(&steps), format!("{whose}: {problem}"));
            }
        }
        Some((item, rest))
    }
}

/// The path to the value where deserialization failed.
fn steps<E>(error: &serde_path_to_error::Error<E>, message: &str, rest: &Node) -> Vec<Step> {
    let known = error.path().iter().map_while(|segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    let mut steps: Vec<Step> = known.collect();
    // Serde reports an unknown map key of an enum type only in its message, not in its path.
    let word = message.strip_prefix("unknown variant `").and_then(|rest| rest.split('`').next());
    if let Some(word) = word
        && rest.at(&steps).is_some_and(|node| node.get(word).is_some())
    {
        steps.push(Step::Key(word.to_owned()));
    }
    steps
}

/// Parses a path such as `poll.carry[2]`.
fn field_steps(field: &str) -> Vec<Step> {
    let parts = field.split(['.', '[']).map(|part| part.trim_end_matches(']'));
    parts.map(|part| part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Index)).collect()
}

/// The path prefix of a message. For an unknown field the message itself names the field.
fn place(path: &[Step], message: &str) -> String {
    let path = if message.starts_with("unknown field") {
        path.split_last().map_or(path, |(_, rest)| rest)
    } else {
        path
    };
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.push_str(&format!(".{key}")),
            Step::Index(place) => text.push_str(&format!("[{place}]")),
        }
    }
    if text.is_empty() { text } else { format!("`{text}`: ") }
}

/// Rewrites a serde message and adds advice.
fn teach(message: &str) -> String {
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    for (what, kind) in [("unknown field `", "field"), ("unknown variant `", "value")] {
        if let Some((name, known)) = message.strip_prefix(what).and_then(|rest| rest.split_once('`')) {
            let known = quoted(known);
            let near = meant(name, known.iter().map(String::as_str));
            let stop = if near.is_empty() { "." } else { "" };
            return format!("`{name}` is no known {kind}{near}{stop} Known are {}", known.join(", "));
        }
    }
    if let Some(field) = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
        return format!("`{field}` is missing: add it");
    }
    if let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|m| m.split_once(", expected "))
    {
        let wanted = match expected {
            "a string" => "a text: put it in quotes".to_owned(),
            "a boolean" => "true or false".to_owned(),
            "a sequence" => "a list".to_owned(),
            "a map" => "a mapping of `name: value`".to_owned(),
            "u8" | "u32" | "u64" | "usize" | "i64" => "a whole number that is not negative".to_owned(),
            other if other.starts_with("struct ") => "a mapping of `name: value`".to_owned(),
            other => other.to_owned(),
        };
        return format!("found {found}, but it must be {wanted}");
    }
    if let Some((found, _)) =
        message.strip_prefix("invalid value: ").and_then(|m| m.split_once(", expected "))
    {
        return format!("found {found}, but it must be a whole number that is not negative");
    }
    message.to_owned()
}
