//! Prepares a tool for interpretation: its type of record, the roles of its fields, its synonyms.

use super::catalogue::{Prepared, Role, ToolField, Type};
use super::field::{field, is_id, is_question, selects};
use super::lexicon::{root, singular};
use super::types::Tool;
use super::verbs::{Class, PARTICLES, class_of, hints, phrasal, verb_groups};
use crate::Encoder;
use crate::pattern::pattern;
use crate::words::{is_stop, name_words, words};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use steward_domain::DomainName;

/// The words of a tool's name, without the server's.
fn own_words(name: &str) -> Vec<String> {
    name_words(name.rsplit('.').next().unwrap_or(name))
}

/// The types of records: the last nouns of names such as `create_task`, `list_companies`.
pub(super) fn types(tools: &[Tool]) -> Vec<Type> {
    let mut found: Vec<Type> = Vec::new();
    for tool in tools {
        let words = own_words(&tool.name);
        let basic = words.first().is_some_and(|verb| {
            verb_groups(&root(verb))
                .iter()
                .any(|(group, _)| ["create", "read", "list", "search", "delete", "update"].contains(group))
        });
        let Some(noun) = words.last().filter(|_| basic && words.len() > 1 && !is_free(&tool.input)) else {
            continue;
        };
        let (name, domain) = (singular(noun), tool.domain.clone());
        // `update_deal_stage` changes a deal: its last noun is a field.
        let fields = tool.input.get("properties").and_then(Value::as_object);
        if fields.is_some_and(|fields| fields.contains_key(noun)) && words.len() > 2 {
            continue;
        }
        if !found.iter().any(|kind| kind.name == name && kind.domain == domain) {
            found.push(Type { root: root(&name), name, domain, synonyms: BTreeSet::new() });
        }
    }
    // `list_menu` returns `dishes`: the items of a list are a type too.
    for tool in tools.iter().filter(|tool| tool.read_only && !is_free(&tool.input)) {
        let output =
            tool.output.as_ref().and_then(|output| output.get("properties")).and_then(Value::as_object);
        for (name, _) in output.into_iter().flatten().filter(|(_, schema)| lists(schema)) {
            let (name, domain) = (singular(name), tool.domain.clone());
            let known = found.iter().any(|kind| kind.name == name && kind.domain == domain);
            if !known && !super::notice::general(&name) && name_words(&name).len() == 1 {
                found.push(Type { root: root(&name), name, domain, synonyms: BTreeSet::new() });
            }
        }
    }
    found
}

/// "Lists companies (customers and prospects)": the words in brackets after the type.
pub(super) fn bracketed(description: &str, name: &str) -> Vec<String> {
    static BRACKETS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\w+) \(([^)]+)\)"));
    let pattern = &*BRACKETS;
    let behind = |noun: &str| singular(&noun.to_lowercase()) == name;
    pattern
        .captures_iter(description)
        .filter(|found| found.get(1).is_some_and(|noun| behind(noun.as_str())))
        .filter_map(|found| found.get(2))
        .flat_map(|inner| words(inner.as_str()))
        .filter(|word| !word.stop)
        .map(|word| root(&word.lower))
        .collect()
}

/// Stems of the collection: "a task of the to-do list", "into the notebook", "from the sales
/// pipeline".
pub(super) fn held(description: &str) -> Vec<String> {
    static HELD: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b(?:of|in|into|on|from|to|the) the (?:[\w-]+ )?([\w-]+)\b"));
    let pattern = &*HELD;
    pattern
        .captures_iter(description)
        .filter_map(|found| found.get(1))
        .map(|noun| root(&noun.as_str().to_lowercase()))
        .filter(|noun| noun.len() > 2)
        .collect()
}

/// Whether a tool's only argument is a question in plain language, beside those that continue a
/// conversation.
fn is_free(input: &Value) -> bool {
    let Some(fields) = input.get("properties").and_then(Value::as_object) else { return false };
    let carries = |name: &str| name.ends_with("_id") || ["session", "conversation", "thread"].contains(&name);
    let asks = fields.keys().filter(|name| is_question(name)).count();
    asks == 1 && fields.len() > 1 && fields.keys().all(|name| is_question(name) || carries(name))
}

/// The field names of each type's records, from the results of list tools.
pub(super) struct Shape {
    kind: String,
    domain: Option<DomainName>,
    fields: BTreeSet<String>,
}

pub(super) fn shapes(tools: &[Tool], types: &[Type]) -> Vec<Shape> {
    let mut found = Vec::new();
    for tool in tools.iter().filter(|tool| tool.read_only) {
        let output = tool.output.as_ref().and_then(|output| output.get("properties"));
        for (name, schema) in output.and_then(Value::as_object).into_iter().flatten() {
            let fields =
                schema.get("items").and_then(|items| items.get("properties")).and_then(Value::as_object);
            let kind = singular(name);
            let known = types.iter().any(|one| one.name == kind && one.domain == tool.domain);
            if let Some(fields) = fields.filter(|fields| known && fields.contains_key("id")) {
                let fields = fields.keys().cloned().collect();
                found.push(Shape { kind, domain: tool.domain.clone(), fields });
            }
        }
    }
    found
}

/// The type of the single record that a tool returns, by its fields.
fn gives_one(tool: &Tool, shapes: &[Shape]) -> Option<String> {
    let fields = tool.output.as_ref()?.get("properties")?.as_object()?;
    let fields: BTreeSet<String> = fields.keys().cloned().collect();
    let same = |shape: &&Shape| shape.domain == tool.domain && shape.fields == fields;
    let mut kinds: Vec<&str> = shapes.iter().filter(same).map(|shape| shape.kind.as_str()).collect();
    kinds.dedup();
    match kinds.as_slice() {
        [only] => Some((*only).to_owned()),
        _ => None,
    }
}

pub(super) fn prepare(encoder: &Encoder, tool: Tool, types: &[Type], shapes: &[Shape]) -> Prepared {
    let own = own_words(&tool.name);
    let verb = own.first().map(|verb| root(verb)).unwrap_or_default();
    let phrase = own
        .get(1)
        .filter(|word| PARTICLES.contains(&word.as_str()) && own.len() > 2)
        .map(|particle| (verb.clone(), particle.clone()));
    let told = words(&tool.description).first().map(|word| root(&word.lower)).unwrap_or_default();
    let here =
        |noun: &str| types.iter().any(|kind| kind.domain == tool.domain && kind.name == singular(noun));
    let noun = own.iter().skip(1).find(|noun| here(noun)).or_else(|| own.iter().skip(1).next_back());
    // "The book's number": the owner of the id is the type that is acted on, whatever the tool's
    // name.
    let owner = tool
        .input
        .get("properties")
        .and_then(|fields| fields.get("id"))
        .and_then(|id| id.get("description"))
        .and_then(Value::as_str);
    // "The sign-up's number" is that of a `signup`.
    let named = own.iter().skip(1).any(|noun| here(noun));
    let owner = owner.and_then(|text| {
        let joined = text.replace('-', "").to_lowercase();
        let whose = |word: &String| {
            joined.contains(&format!("{word}'s")) || joined.contains(&format!("number of the {word}"))
        };
        let all: Vec<String> =
            words(text).into_iter().chain(words(&joined)).map(|word| singular(&word.lower)).collect();
        // "The number on the menu" is less specific than a name such as `set_dish_availability`.
        all.iter()
            .find(|word| here(word) && whose(word))
            .or_else(|| all.iter().find(|word| here(word)).filter(|_| !named))
            .cloned()
    });
    // `book_client` creates a booking: its result determines its type.
    let told_id = tool.input.get("properties").is_some_and(|fields| fields.get("id").is_some());
    let made = if tool.read_only || told_id { None } else { gives_one(&tool, shapes) };
    let entity = made.or(owner).or_else(|| noun.map(|noun| singular(noun)));
    let own_group = |(group, _): &&(&'static str, Class)| *group == verb || root(group) == verb;
    // A verb with several senses is taken in its most specific one: "tag" tags, "add" creates.
    let known = verb_groups(&verb);
    let mut groups: BTreeSet<&'static str> =
        known.iter().filter(own_group).map(|(group, _)| *group).collect();
    // A phrasal verb is another verb: "check out" is not checking.
    let said = phrase.as_ref().map(|(verb, particle)| format!("{verb} {particle}"));
    if let Some(said) = &said {
        groups = phrasal(said).into_iter().collect();
    } else if groups.is_empty() {
        groups = known.iter().take(1).map(|(group, _)| *group).collect();
    }
    let input = tool.input.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required: BTreeSet<&str> = tool
        .input
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let many = input.contains_key("query") || input.contains_key("q");
    let class = groups.iter().find_map(|group| class_of(group));
    let has_id = input.keys().any(|name| is_id(name, entity.as_deref()));
    // A tool that changes something is not a read, whatever its verb; a plain verb of reading
    // counts only if nothing is declared.
    let plainly =
        ["get", "read", "list", "search", "find", "show", "view", "fetch", "query", "describ", "count"]
            .iter()
            .any(|reads| root(reads) == verb || *reads == verb);
    let reads = |class: Class| matches!(class, Class::Read | Class::List | Class::Search);
    let class = class.filter(|class| {
        !reads(*class) || tool.read_only || (!tool.destructive && plainly && phrase.is_none())
    });
    let class = match class {
        // `view_diary` returns bookings and takes no selector: it is a list.
        Some(Class::Read) if !has_id && required.is_empty() && gives_several(tool.output.as_ref()) => {
            if many { Class::Search } else { Class::List }
        }
        Some(class) if reads(class) => class,
        Some(class) if !tool.read_only => {
            // "Clear" and "strike" do not always delete.
            let weak = ["clear", "bin", "strike", "kill", "scrap"].iter().any(|word| root(word) == verb);
            if tool.destructive {
                Class::Delete
            } else if (class == Class::Delete && weak) || (class == Class::Create && has_id) {
                Class::Update
            } else if !has_id
                && class == Class::Update
                && (groups.contains("reserve") || makes(&tool, entity.as_deref(), &input, &here))
            {
                // Booking something without an id creates a booking; extending an offer to a person
                // creates an offer.
                Class::Create
            } else {
                class
            }
        }
        _ if tool.read_only => {
            if many {
                Class::Search
            } else if has_id {
                Class::Read
            } else {
                Class::List
            }
        }
        _ if tool.destructive => Class::Delete,
        _ if has_id => Class::Update,
        _ => Class::Create,
    };
    let free = is_free(&tool.input);
    let mut fields: Vec<ToolField> = Vec::new();
    for (name, schema) in &input {
        fields.push(field(
            name,
            schema,
            required.contains(name.as_str()),
            class,
            entity.as_deref(),
            has_id,
            tool.read_only,
            &tool.description,
            &own,
            groups.iter().any(|group| ["update", "rename"].contains(group)),
            &here,
        ));
    }
    // `settle_bill(id, table)`: without another selector, the related record identifies it.
    let selected = fields.iter().any(|field| field.role == Role::Selector);
    let sets = fields.iter().any(|field| !matches!(field.role, Role::Id | Role::Open));
    if has_id && !selected && class != Class::Create && (tool.read_only || class == Class::Delete || sets) {
        let belongs =
            |field: &&mut ToolField| field.role == Role::Open && !field.required && field.of.is_some();
        let mut some: Vec<&mut ToolField> = fields.iter_mut().filter(belongs).collect();
        if let [only] = some.as_mut_slice() {
            only.role = Role::Selector;
        }
    }
    // A map loses the schema's order; required fields come first, then by name, so that the order
    // is deterministic.
    fields.sort_by(|a, b| b.required.cmp(&a.required).then(a.name.cmp(&b.name)));
    let vector = encoder.embed(&format!("{}. {}", own.join(" "), tool.description));
    let gives = gives(tool.output.as_ref(), types);
    let telling = words(&tool.description)
        .into_iter()
        .filter(|word| !word.stop && word.lower.len() > 2)
        .map(|word| root(&word.lower))
        .collect();
    let hinted =
        if tool.read_only { BTreeSet::new() } else { hints(&tool.description).into_iter().collect() };
    let nouns = own
        .iter()
        .skip(1 + usize::from(phrase.is_some()))
        .filter(|word| !here(word) && Some(singular(word)) != entity && word.len() > 2 && !is_stop(word))
        .map(|word| root(word))
        .collect();
    let told = if phrase.is_some() { String::new() } else { told };
    let verb = said.unwrap_or(verb);
    Prepared {
        verb,
        phrase,
        hinted,
        nouns,
        told,
        groups,
        class,
        entity,
        gives,
        telling,
        fields,
        vector,
        free,
        tool,
    }
}

/// Whether a tool returns a record of its own type, with an id that was not an argument.
fn makes(
    tool: &Tool,
    entity: Option<&str>,
    input: &serde_json::Map<String, Value>,
    here: &dyn Fn(&str) -> bool,
) -> bool {
    let output = tool.output.as_ref().and_then(|output| output.get("properties")).and_then(Value::as_object);
    let number = output.is_some_and(|fields| fields.keys().any(|name| is_id(name, entity)));
    let named = |(name, schema): (&String, &Value)| {
        let told = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let last = name_words(name).pop().unwrap_or_default();
        Some(last.as_str()) == entity || (selects(told, false) && !here(&last))
    };
    number && !tool.idempotent && !input.iter().any(named)
}

/// Whether a schema is that of a list of records.
fn lists(schema: &Value) -> bool {
    schema.get("items").is_some_and(|items| items.get("properties").is_some())
}

fn gives_several(output: Option<&Value>) -> bool {
    let fields = output.and_then(|output| output.get("properties")).and_then(Value::as_object);
    fields.is_some_and(|fields| fields.values().any(lists))
}

/// The type of the records in a result: the name of its list.
fn gives(output: Option<&Value>, types: &[Type]) -> Option<String> {
    let fields = output?.get("properties")?.as_object()?;
    fields
        .iter()
        .filter(|(_, schema)| schema.get("items").is_some())
        .map(|(name, _)| singular(name))
        .find(|name| types.iter().any(|kind| kind.name == *name))
}
