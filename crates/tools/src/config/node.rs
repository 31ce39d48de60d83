//! A file as a tree with line numbers. JSON is a subset of YAML, so one parser reads both.
//!
//! The tree is parsed first and typed part by part afterwards. All errors of a file are found in
//! one pass, and a rule across fields or files can still name a line.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};
use std::fmt;

/// A value and its first line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: u64,
    pub(super) kind: Kind,
}

/// The kind of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Scalar(Json),
    /// The items with their index in the file, which stays when others are removed.
    List(Vec<(usize, Node)>),
    Map(Vec<Entry>),
}

/// A key, its line and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: u64,
    pub(super) value: Node,
}

/// One step of a path to a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Node {
    /// Parses a text. Returns the tree and the errors as (line, message). A duplicate key is
    /// reported and its first value is used; any other syntax error ends the parsing.
    pub(super) fn parse(text: &str) -> (Option<Self>, Vec<(u64, String)>) {
        let empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        if text.lines().all(empty) {
            return (Some(Self { line: 1, kind: Kind::Map(Vec::new()) }), Vec::new());
        }
        let first = match read(text, DuplicateKeyPolicy::Error) {
            Ok(node) => return (Some(node), Vec::new()),
            Err(problem) => problem,
        };
        // Continues after a duplicate key, to find more errors.
        let rest = read(text, DuplicateKeyPolicy::FirstWins).ok();
        (rest, vec![first])
    }

    /// The value as JSON, for serde.
    pub(super) fn json(&self) -> Json {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => items.iter().map(|(_, item)| item.json()).collect(),
            Kind::Map(entries) => {
                Json::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect())
            }
        }
    }

    /// The entries of a mapping. A null value counts as an empty mapping.
    pub(super) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            Kind::Scalar(Json::Null) => Some(&[]),
            _ => None,
        }
    }

    /// The entry with this key.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// Removes an entry.
    pub(super) fn take(&mut self, key: &str) -> Option<Entry> {
        let Kind::Map(entries) = &mut self.kind else { return None };
        let place = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(place))
    }

    /// Adds a text entry with the line of the value. A null value becomes a mapping.
    pub(super) fn put(&mut self, key: &str, text: &str) {
        if self.kind == Kind::Scalar(Json::Null) {
            self.kind = Kind::Map(Vec::new());
        }
        let line = self.line;
        if let Kind::Map(entries) = &mut self.kind {
            let value = Self { line, kind: Kind::Scalar(text.into()) };
            entries.push(Entry { key: key.to_owned(), line, value });
        }
    }

    /// The existing values on a path, each with its line. A key's own line counts, not that of its
    /// value.
    fn along<'a>(&'a self, steps: &'a [Step]) -> impl Iterator<Item = (&'a Self, u64, Step)> {
        let mut node = self;
        steps.iter().map_while(move |step| {
            let (next, line, step) = match (step, &node.kind) {
                (Step::Key(key), Kind::Map(entries)) => {
                    let entry = entries.iter().find(|entry| entry.key == *key)?;
                    (&entry.value, entry.line, step.clone())
                }
                (Step::Index(place), Kind::List(items)) => {
                    let (place, item) = items.get(*place)?;
                    (item, item.line, Step::Index(*place))
                }
                _ => return None,
            };
            node = next;
            Some((next, line, step))
        })
    }

    /// The line of the deepest existing value on a path.
    pub(super) fn line_at(&self, steps: &[Step]) -> u64 {
        self.along(steps).last().map_or(self.line, |(_, line, _)| line)
    }

    /// Whether the whole path exists.
    pub(super) fn has(&self, steps: &[Step]) -> bool {
        self.along(steps).count() == steps.len()
    }

    /// The value at the end of a path.
    pub(super) fn at<'a>(&'a self, steps: &'a [Step]) -> Option<&'a Self> {
        if steps.is_empty() {
            return Some(self);
        }
        let found = self.along(steps).nth(steps.len() - 1);
        found.map(|(node, _, _)| node)
    }

    /// The path with the item indexes of the file.
    pub(super) fn in_file(&self, steps: &[Step]) -> Vec<Step> {
        let there: Vec<Step> = self.along(steps).map(|(_, _, step)| step).collect();
        let rest = steps.iter().skip(there.len()).cloned();
        there.iter().cloned().chain(rest).collect()
    }

    /// Removes the value at the end of a path. False if it does not exist.
    pub(super) fn remove(&mut self, steps: &[Step]) -> bool {
        let [first, rest @ ..] = steps else { return false };
        match (first, &mut self.kind) {
            (Step::Key(key), Kind::Map(entries)) => {
                let Some(place) = entries.iter().position(|entry| entry.key == *key) else { return false };
                match (rest, entries.get_mut(place)) {
                    ([], _) => drop(entries.remove(place)),
                    (rest, Some(entry)) => return entry.value.remove(rest),
                    _ => return false,
                }
                true
            }
            (Step::Index(place), Kind::List(items)) => match (rest, items.get_mut(*place)) {
                ([], Some(_)) => {
                    items.remove(*place);
                    true
                }
                (rest, Some((_, item))) => item.remove(rest),
                _ => false,
            },
            _ => false,
        }
    }
}

fn read(text: &str, duplicate_keys: DuplicateKeyPolicy) -> Result<Node, (u64, String)> {
    let options = serde_saphyr::options! { duplicate_keys: duplicate_keys, with_snippet: false };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options).map(Raw::node).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        // The first line of the message is the reason. Its position is removed, because the caller
        // adds one.
        let message = error.to_string();
        let reason = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let reason = match reason.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
            Some((_, reason)) => reason,
            None => reason.split(" at line ").next().unwrap_or(reason),
        };
        let there =
            text.lines().nth(usize::try_from(line.saturating_sub(1)).unwrap_or(0)).unwrap_or_default();
        let there: String = there.trim().chars().take(60).collect();
        if let Some((_, key)) = reason.split_once("duplicate mapping key: ") {
            let key = key.split(',').next().unwrap_or(key);
            return (line, format!("the key `{key}` stands here for the second time: keep one of the two"));
        }
        (line, format!("{reason}, in `{there}`"))
    })
}

/// A value as the YAML parser returns it.
enum Raw {
    Scalar(Json),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl Raw {
    fn node(spanned: Spanned<Self>) -> Node {
        let line = spanned.referenced.line();
        let kind = match spanned.value {
            Self::Scalar(value) => Kind::Scalar(value),
            Self::List(items) => Kind::List(items.into_iter().map(Self::node).enumerate().collect()),
            Self::Map(entries) => Kind::Map(entries.into_iter().map(Self::entry).collect()),
        };
        Node { line, kind }
    }

    fn entry((key, value): (Spanned<String>, Spanned<Self>)) -> Entry {
        Entry { key: key.value, line: key.referenced.line(), value: Self::node(value) }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }
    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }
    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Json::Null))
    }
    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Json::Null))
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}
