//! The parameters of a tool, with hints on their values from names and descriptions.

use super::super::words::{key, name_words, stem, words};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use steward_domain::JsonObject;

/// The parameters of a tool, the required ones first, in order.
#[derive(Debug, Default)]
pub(in super::super) struct Shape {
    pub(super) parameters: Vec<Parameter>,
    /// The topic of the tool. Words of the request that name it are not values.
    pub(super) topic: Vec<u64>,
}

/// The value type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Number,
    Text,
    Boolean,
    List,
    Object,
    Any,
}

/// The topic of a text parameter, from its name and description.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextHint {
    pub(super) date: bool,
    pub(super) time: bool,
    pub(super) place: bool,
    pub(super) person: bool,
    pub(super) link: bool,
    pub(super) id: bool,
    /// An opaque id.
    pub(super) opaque: bool,
    /// A town without its region.
    pub(super) town: bool,
    pub(super) formula: bool,
    pub(super) year: bool,
    /// The start or origin.
    pub(super) from: bool,
    /// The end or destination.
    pub(super) to: bool,
    pub(super) percent: bool,
    /// A rate or a fraction.
    pub(super) share: bool,
    pub(super) money: bool,
}

/// One parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) kind: Type,
    /// The item type of a list.
    pub(super) items: Type,
    /// The allowed values.
    pub(super) choices: Vec<Choice>,
    /// Values quoted in the description. Others are allowed as well.
    pub(super) quoted: Vec<Choice>,
    pub(super) default: Option<Json>,
    /// The distinctive words of the name.
    pub(super) stems: Vec<String>,
    /// The name as a single word: `a`, `x`.
    pub(super) plain: String,
    /// The stems as hashes.
    pub(super) named: Vec<u64>,
    /// Words of the description as hashes, sorted.
    pub(super) described: Vec<u64>,
    pub(super) about: TextHint,
    /// The format of a date.
    pub(super) format: DayFormat,
    /// The parameters of an object.
    pub(super) inner: Shape,
}

/// A date format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayFormat {
    Iso,
    MonthFirst,
    DayFirst,
    AsSaid,
}

/// A value of an enumeration with its words.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) value: Json,
    pub(super) stems: Vec<String>,
    pub(super) keys: Vec<u64>,
}

impl Shape {
    /// The shape of a JSON Schema. `topic` has the stems of the tool's name.
    pub(in super::super) fn of(schema: &JsonObject, topic: &BTreeSet<String>) -> Self {
        Self { topic: sorted(topic.iter().map(|stem| key(stem))), ..Self::within(schema, 0) }
    }

    fn within(schema: &JsonObject, depth: usize) -> Self {
        let Some(properties) = schema.get("properties").and_then(Json::as_object).filter(|_| depth < 2)
        else {
            return Self::default();
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let first = required.iter().filter_map(|name| properties.get_key_value(*name));
        let rest = properties.iter().filter(|(name, _)| !required.contains(&name.as_str()));
        let parameter = |(name, schema): (&String, &Json)| {
            Parameter::of(name, schema, required.contains(&name.as_str()), depth)
        };
        Self { parameters: first.chain(rest).map(parameter).collect(), topic: Vec::new() }
    }
}

impl Parameter {
    fn of(name: &str, schema: &Json, required: bool, depth: usize) -> Self {
        let description = schema.get("description").and_then(Json::as_str).unwrap_or_default();
        let kind = kind(schema);
        let items = schema.get("items");
        let listed = schema.get("enum").or_else(|| items.and_then(|items| items.get("enum")));
        let choices: Vec<Choice> =
            listed.and_then(Json::as_array).into_iter().flatten().map(Choice::of).collect();
        // A trailing digit is dropped: `charge1` and `charge2` are both charges.
        let bare = |word: String| {
            Some(word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned())
                .filter(|word| !word.is_empty())
        };
        let cut: Vec<String> = name_words(name).into_iter().filter_map(bare).collect();
        let generic = ["name", "value", "number", "id", "type", "the", "is", "of", "get", "include"];
        let mut stems: Vec<String> = cut
            .iter()
            .filter(|word| !generic.contains(&word.as_str()) && word.len() > 1)
            .map(|word| stem(word))
            .collect();
        if stems.is_empty() {
            stems = cut.iter().filter(|word| word.len() > 1).map(|word| stem(word)).collect();
        }
        let cut_description = words(description);
        let described = sorted(cut_description.iter().filter(|word| !word.stop).map(|word| word.key));
        let about = about(&cut, &cut_description.iter().map(|word| word.lower.as_str()).collect::<Vec<_>>());
        Self {
            name: name.to_owned(),
            required,
            kind,
            items: items.map_or(Type::Any, self::kind),
            quoted: if choices.is_empty() && kind == Type::Text { quoted(description) } else { Vec::new() },
            choices,
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            named: stems.iter().map(|stem| key(stem)).collect(),
            stems,
            plain: name.to_lowercase(),
            described,
            about,
            format: day_format(description, schema.get("format").and_then(Json::as_str)),
            inner: schema.as_object().map(|schema| Shape::within(schema, depth + 1)).unwrap_or_default(),
        }
    }
}

fn sorted(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl Choice {
    fn of(value: &Json) -> Self {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let stems: Vec<String> = name_words(&text).iter().map(|word| stem(word)).collect();
        Self { value: value.clone(), keys: stems.iter().map(|stem| key(stem)).collect(), stems }
    }
}

fn kind(schema: &Json) -> Type {
    let name = match schema.get("type") {
        Some(Json::String(name)) => name.as_str(),
        // Of a union, the first type other than null is used.
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).find(|name| *name != "null").unwrap_or("any")
        }
        _ => "any",
    };
    match name {
        "integer" | "int" | "long" => Type::Integer,
        "number" | "float" | "double" => Type::Number,
        "string" | "str" => Type::Text,
        "boolean" | "bool" => Type::Boolean,
        "array" | "list" | "tuple" => Type::List,
        "object" | "dict" => Type::Object,
        _ => Type::Any,
    }
}

/// Quoted values in a description.
fn quoted(description: &str) -> Vec<Choice> {
    let mut found = Vec::new();
    let mut parts = description.split(['\'', '"', '`']);
    parts.next();
    // Every second part is between quotes.
    while let Some(inside) = parts.next() {
        let plain = !inside.is_empty() && inside.len() <= 30 && inside.split(' ').count() <= 3;
        if plain && inside.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')) {
            found.push(Choice::of(&Json::from(inside)));
        }
        if parts.next().is_none() {
            break;
        }
    }
    // One quoted value is an example; several are the possible choices.
    if found.len() < 2 { Vec::new() } else { found }
}

fn about(name: &[String], description: &[&str]) -> TextHint {
    let named = |list: &[&str]| name.iter().any(|word| list.contains(&word.as_str()));
    let told = |list: &[&str]| named(list) || description.iter().any(|word| list.contains(word));
    TextHint {
        date: named(&["date", "day", "deadline", "birthday", "since", "until", "when"])
            || told(&["date", "yyyy"]),
        time: named(&["time", "hour"]),
        place: named(&[
            "location",
            "city",
            "place",
            "country",
            "region",
            "state",
            "address",
            "area",
            "where",
            "town",
            "venue",
            "destination",
            "origin",
            "departure",
            "arrival",
            "loc",
            "cities",
        ]) || told(&["city", "location"]),
        person: named(&[
            "artist", "author", "director", "directed", "actor", "cast", "player", "person", "composer",
            "writer", "by",
        ]),
        link: named(&[
            "url", "uri", "link", "email", "mail", "path", "file", "host", "hostname", "ip", "domain",
            "website",
        ]) || told(&["email", "url"]),
        id: named(&[
            "id",
            "uuid",
            "key",
            "code",
            "token",
            "identifier",
            "number",
            "zip",
            "phone",
            "password",
            "season",
            "version",
        ]),
        opaque: named(&["id", "uuid", "key", "token", "zip", "phone", "identifier"]),
        town: named(&["city", "town"]) && !told(&["state", "country", "ca", "ny"]),
        formula: named(&["function", "equation", "expression", "formula", "polynomial"]),
        year: named(&["year", "season"]),
        from: named(&[
            "from",
            "start",
            "origin",
            "source",
            "departure",
            "begin",
            "initial",
            "first",
            "lower",
            "min",
            "minimum",
        ]),
        to: named(&[
            "to",
            "end",
            "destination",
            "target",
            "arrival",
            "until",
            "final",
            "last",
            "upper",
            "max",
            "maximum",
        ]),
        share: named(&[
            "rate",
            "percent",
            "percentage",
            "ratio",
            "probability",
            "interest",
            "discount",
            "tax",
            "yield",
            "growth",
            "share",
        ]),
        money: named(&[
            "amount",
            "price",
            "cost",
            "deposit",
            "principal",
            "investment",
            "budget",
            "salary",
            "income",
            "payment",
            "loan",
            "value",
            "money",
            "revenue",
            "capital",
            "balance",
        ]),
        percent: told(&["percent", "percentage", "per cent", "%"]),
    }
}

fn day_format(description: &str, format: Option<&str>) -> DayFormat {
    let text = description.to_lowercase();
    if format == Some("date") || text.contains("yyyy-mm-dd") || text.contains("iso") {
        DayFormat::Iso
    } else if text.contains("mm/dd/yyyy") {
        DayFormat::MonthFirst
    } else if text.contains("dd/mm/yyyy") || text.contains("dd-mm-yyyy") {
        DayFormat::DayFirst
    } else {
        DayFormat::AsSaid
    }
}
