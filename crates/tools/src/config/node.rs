//! A file as a tree in which every value knows its line. JSON is YAML too, so there is one reader
//! for both.
//!
//! The tree is read first and given types afterwards, part by part: that is how every mistake of a
//! file is found in one go, and how a rule that spans fields, files or both can still name a line.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};
use std::fmt;

/// A value and the line it begins in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: u64,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Scalar(Json),
    /// Each with the place it had in the file, which stays when others are taken out.
    List(Vec<(usize, Node)>),
    Map(Vec<Entry>),
}

/// A key, its line, and what stands under it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: u64,
    pub(super) value: Node,
}

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Node {
    /// The tree of a text, and what is wrong with it as (line, problem). A key that stands twice is
    /// told and its first value kept; any other mistake of the syntax ends the reading.
    pub(super) fn parse(text: &str) -> (Option<Self>, Vec<(u64, String)>) {
        let empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        if text.lines().all(empty) {
            return (Some(Self { line: 1, kind: Kind::Map(Vec::new()) }), Vec::new());
        }
        let first = match read(text, DuplicateKeyPolicy::Error) {
            Ok(node) => return (Some(node), Vec::new()),
            Err(problem) => problem,
        };
        // What a repeated key hides is worth knowing as well.
        let rest = read(text, DuplicateKeyPolicy::FirstWins).ok();
        (rest, vec![first])
    }

    /// As JSON, for serde.
    pub(super) fn json(&self) -> Json {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => items.iter().map(|(_, item)| item.json()).collect(),
            Kind::Map(entries) => {
                Json::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect())
            }
        }
    }

    /// The entries of a mapping; nothing at all counts as an empty one.
    pub(super) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            Kind::Scalar(Json::Null) => Some(&[]),
            _ => None,
        }
    }

    /// What stands under a key.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// Takes an entry out.
    pub(super) fn take(&mut self, key: &str) -> Option<Entry> {
        let Kind::Map(entries) = &mut self.kind else { return None };
        let place = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(place))
    }

    /// Adds a text, as if it stood where the value begins. An empty value becomes a mapping.
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

    /// The values on the way, each with its line, as far as they are there. A key's own line
    /// counts, not that of what follows it.
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

    /// The line of the deepest value on the way that is there.
    pub(super) fn line_at(&self, steps: &[Step]) -> u64 {
        self.along(steps).last().map_or(self.line, |(_, line, _)| line)
    }

    /// Whether the whole way is there.
    pub(super) fn has(&self, steps: &[Step]) -> bool {
        self.along(steps).count() == steps.len()
    }

    /// The value at the end of the way.
    pub(super) fn at<'a>(&'a self, steps: &'a [Step]) -> Option<&'a Self> {
        if steps.is_empty() {
            return Some(self);
        }
        let found = self.along(steps).nth(steps.len() - 1);
        found.map(|(node, _, _)| node)
    }

    /// The way with the places that items had in the file.
    pub(super) fn in_file(&self, steps: &[Step]) -> Vec<Step> {
        let there: Vec<Step> = self.along(steps).map(|(_, _, step)| step).collect();
        let rest = steps.iter().skip(there.len()).cloned();
        there.iter().cloned().chain(rest).collect()
    }

    /// Takes the value at the end of the way out of the tree. False when it is not there.
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
        // The first line of the message is the reason, after or before a place that we give
        // ourselves.
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

/// A value as the YAML reader hands it over.
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
