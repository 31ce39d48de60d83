//! Values of a static plan: literals, and references to results of earlier steps.
//!
//! A reference is a step's name and a path: `find.contacts[0].id`, `find.contacts[name=Anna].id`,
//! `find.rows[*].total`, `item.name`. A path into a text parses the text as JSON, because many
//! servers return JSON as text.

use crate::expression::as_text;
use serde_json::Value;
use std::collections::BTreeSet;

/// The maximum number of characters of one reference.
const LENGTH: usize = 500;

/// A value of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueTemplate {
    /// A literal of the plan.
    Literal(Value),
    /// A value of a result.
    Reference(Reference),
    /// A text concatenated from values.
    Text(Vec<ValueTemplate>),
    /// A list of values.
    List(Vec<ValueTemplate>),
    /// An object of values.
    Object(Vec<(String, ValueTemplate)>),
}

/// A path into a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    source: Source,
    path: Vec<Segment>,
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Step(String),
    Item,
    Index,
}

#[derive(Debug, Clone, PartialEq)]
enum Segment {
    Key(String),
    /// An index; negative counts from the end.
    Index(i64),
    /// All items of a list.
    Each,
    /// The items of a list whose member has this value.
    Where(String, String),
}

/// The item of a list that a step is repeated for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemScope<'a> {
    pub(crate) item: &'a Value,
    pub(crate) index: usize,
    /// Whether the list is a literal of the plan.
    pub(crate) literal: bool,
}

impl ValueTemplate {
    /// Compiles a value of a plan.
    pub(crate) fn compile(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::Array(values) => {
                let parts = values.iter().map(Self::compile).collect::<Result<Vec<_>, _>>()?;
                if parts.iter().all(|part| matches!(part, Self::Literal(_))) {
                    return Ok(Self::Literal(value.clone()));
                }
                Self::List(parts)
            }
            Value::Object(members) => {
                let only = |name: &str| members.get(name).filter(|_| members.len() == 1);
                if let Some(reference) = only("$ref") {
                    let Value::String(text) = reference else { return Err("$ref must be a text".to_owned()) };
                    return Ok(Self::Reference(Reference::parse(text)?));
                }
                if let Some(parts) = only("$text") {
                    let Value::Array(parts) = parts else { return Err("$text must be a list".to_owned()) };
                    return Ok(Self::Text(parts.iter().map(Self::compile).collect::<Result<_, _>>()?));
                }
                if members.contains_key("$ref") || members.contains_key("$text") {
                    return Err("$ref and $text stand alone in their object".to_owned());
                }
                let mut parts = Vec::with_capacity(members.len());
                for (name, member) in members {
                    parts.push((name.clone(), Self::compile(member)?));
                }
                if parts.iter().all(|(_, part)| matches!(part, Self::Literal(_))) {
                    return Ok(Self::Literal(value.clone()));
                }
                Self::Object(parts)
            }
            other => Self::Literal(other.clone()),
        })
    }

    /// Collects the steps that it reads; returns whether it reads the item of a list.
    pub(crate) fn sources(&self, steps: &mut BTreeSet<String>) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Reference(reference) => match &reference.source {
                Source::Step(step) => {
                    steps.insert(step.clone());
                    false
                }
                Source::Item | Source::Index => true,
            },
            // `count` visits all parts, even after one that reads the item.
            Self::Text(parts) | Self::List(parts) => {
                parts.iter().filter(|part| part.sources(steps)).count() > 0
            }
            Self::Object(parts) => parts.iter().filter(|(_, part)| part.sources(steps)).count() > 0,
        }
    }

    /// Whether any part comes from a result.
    pub(crate) fn reads_results(&self, item: Option<ItemScope<'_>>) -> bool {
        let mut steps = BTreeSet::new();
        let reads_item = self.sources(&mut steps);
        !steps.is_empty() || (reads_item && item.is_some_and(|item| !item.literal))
    }

    /// The value with all references resolved.
    pub(crate) fn render(
        &self,
        output: &dyn Fn(&str) -> Option<Value>,
        item: Option<ItemScope<'_>>,
    ) -> Result<Value, String> {
        Ok(match self {
            Self::Literal(value) => value.clone(),
            Self::Reference(reference) => reference.resolve(output, item)?,
            Self::Text(parts) => {
                let mut text = String::new();
                for part in parts {
                    text.push_str(&as_text(&part.render(output, item)?));
                }
                Value::String(text)
            }
            Self::List(parts) => {
                Value::Array(parts.iter().map(|part| part.render(output, item)).collect::<Result<_, _>>()?)
            }
            Self::Object(parts) => Value::Object(
                parts
                    .iter()
                    .map(|(name, part)| Ok((name.clone(), part.render(output, item)?)))
                    .collect::<Result<_, String>>()?,
            ),
        })
    }
}

impl Reference {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > LENGTH {
            return Err(format!("must be a reference of at most {LENGTH} characters"));
        }
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let (name, mut rest) = text.split_at(end);
        let source = match name {
            "" => return Err(format!("{text:?} must begin with the name of a step")),
            "item" => Source::Item,
            "index" => Source::Index,
            step => Source::Step(step.to_owned()),
        };
        let mut path = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                let (key, left) = after.split_at(end);
                match key {
                    "" => return Err(format!("{text:?} has an empty member")),
                    "*" => path.push(Segment::Each),
                    key => path.push(Segment::Key(key.to_owned())),
                }
                rest = left;
            } else {
                let inner = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                let Some((inner, left)) = inner else {
                    return Err(format!("{text:?} has a bracket that is not closed"));
                };
                path.push(bracket(inner.trim()).ok_or_else(|| format!("{text:?}: [{inner}] is no index"))?);
                rest = left;
            }
        }
        Ok(Self { source, path, text: text.to_owned() })
    }

    fn resolve(
        &self,
        output: &dyn Fn(&str) -> Option<Value>,
        item: Option<ItemScope<'_>>,
    ) -> Result<Value, String> {
        let missing = || format!("there is no {}", self.text);
        let whole = match &self.source {
            Source::Step(step) => output(step),
            Source::Item => item.map(|scope| scope.item.clone()),
            Source::Index => item.map(|scope| Value::from(scope.index)),
        };
        walk(whole.ok_or_else(missing)?, &self.path).ok_or_else(missing)
    }
}

fn bracket(inner: &str) -> Option<Segment> {
    if inner == "*" {
        return Some(Segment::Each);
    }
    if let Ok(index) = inner.parse() {
        return Some(Segment::Index(index));
    }
    let quotes: &[char] = &['"', '\''];
    match inner.split_once('=') {
        Some((key, value)) => {
            let key = key.trim().trim_matches(quotes);
            let value = value.trim().trim_start_matches('=').trim().trim_matches(quotes);
            (!key.is_empty()).then(|| Segment::Where(key.to_owned(), value.to_owned()))
        }
        None => {
            let key = inner.trim_matches(quotes);
            (key.len() + 2 == inner.len()).then(|| Segment::Key(key.to_owned()))
        }
    }
}

fn walk(value: Value, path: &[Segment]) -> Option<Value> {
    let Some((segment, rest)) = path.split_first() else { return Some(value) };
    let value = match value {
        Value::String(text) => serde_json::from_str(&text).ok()?,
        other => other,
    };
    match (segment, value) {
        (Segment::Key(key), Value::Object(mut members)) => walk(members.remove(key)?, rest),
        // A key applied to a list gives the list of that member.
        (Segment::Key(_), Value::Array(values)) => {
            values.into_iter().map(|value| walk(value, path)).collect::<Option<_>>().map(Value::Array)
        }
        (Segment::Index(index), Value::Array(values)) => {
            let place = if *index < 0 {
                values.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
            } else {
                usize::try_from(*index).ok()?
            };
            walk(values.into_iter().nth(place)?, rest)
        }
        (Segment::Each, Value::Array(values)) => {
            values.into_iter().map(|value| walk(value, rest)).collect::<Option<_>>().map(Value::Array)
        }
        (Segment::Where(key, wanted), Value::Array(values)) => {
            let fits = |value: &Value| {
                let member = value.get(key).map(|member| as_text(member).trim().to_lowercase());
                member.is_some_and(|member| member == wanted.trim().to_lowercase())
            };
            walk(Value::Array(values.into_iter().filter(fits).collect()), rest)
        }
        // Servers wrap their lists: the only list of an object is used.
        (Segment::Index(_) | Segment::Each | Segment::Where(..), Value::Object(members)) => {
            let mut lists = members.into_iter().map(|(_, member)| member).filter(Value::is_array);
            match (lists.next(), lists.next()) {
                (Some(list), None) => walk(list, path),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths() {
        let rows = json!({ "rows": [{ "id": 1, "name": "Anna" }, { "id": 2, "name": "Ben" }], "total": 2 });
        let text = Value::String(rows.to_string());
        for (path, expected) in [
            ("a", Some(rows.clone())),
            ("a.total", Some(json!(2))),
            ("a.rows[0].id", Some(json!(1))),
            ("a.rows[-1].name", Some(json!("Ben"))),
            ("a.rows[*].id", Some(json!([1, 2]))),
            ("a.rows.id", Some(json!([1, 2]))),
            ("a.rows[name=anna][0].id", Some(json!(1))),
            ("a.rows[name='Ben'].id", Some(json!([2]))),
            ("a[0].id", Some(json!(1))),
            ("a[\"total\"]", Some(json!(2))),
            ("a.rows[7].id", None),
            ("a.rows[-3].id", None),
            ("a.nothing", None),
            ("b", None),
            ("item", None),
        ] {
            let template = ValueTemplate::compile(&json!({ "$ref": path })).unwrap();
            for whole in [&rows, &text] {
                let found = template.render(&|step| (step == "a").then(|| whole.clone()), None).ok();
                if path == "a" {
                    assert_eq!(found.as_ref(), Some(whole));
                } else {
                    assert_eq!(found, expected, "{path}");
                }
            }
        }
        for broken in ["", ".a", "a.", "a[", "a[x]", "a..b"] {
            assert!(ValueTemplate::compile(&json!({ "$ref": broken })).is_err(), "{broken}");
        }
    }

    #[test]
    fn texts_lists_and_literals() {
        let output = |_: &str| Some(json!({ "name": "Ann" }));
        let value =
            json!({ "to": [{ "$ref": "a.name" }], "text": { "$text": ["Hi ", { "$ref": "a.name" }, "!"] } });
        let template = ValueTemplate::compile(&value).unwrap();
        assert!(template.reads_results(None));
        assert_eq!(template.render(&output, None).unwrap(), json!({ "to": ["Ann"], "text": "Hi Ann!" }));
        let literal = json!({ "a": [1, { "b": "x" }] });
        assert_eq!(ValueTemplate::compile(&literal).unwrap(), ValueTemplate::Literal(literal));
        assert!(ValueTemplate::compile(&json!({ "$ref": "a", "b": 1 })).is_err());
        let item = json!("x");
        let template = ValueTemplate::compile(&json!({ "$ref": "item" })).unwrap();
        for literal in [true, false] {
            let scope = ItemScope { item: &item, index: 0, literal };
            assert_eq!(template.reads_results(Some(scope)), !literal);
        }
    }
}
