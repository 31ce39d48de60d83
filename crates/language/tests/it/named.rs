//! Names are interpreted with the known records: resolution, clarifying questions, and data.

use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use steward_domain::DomainName;
use steward_language::Encoder;
use steward_language::route::Topic;
use steward_language::understand::{Lookup, Reader, SeenRecord, Target, Tool, TurnContext, Understood};

fn tool(name: &str, description: &str, fields: &Value, required: &[&str]) -> Tool {
    Tool {
        name: format!("vet.{name}"),
        domain: DomainName::new("vet").ok(),
        description: description.into(),
        input: json!({ "type": "object", "properties": fields, "required": required }),
        output: None,
        read_only: name.starts_with("list") || name.starts_with("get"),
        destructive: name.starts_with("remove"),
        idempotent: false,
        examples: Vec::new(),
    }
}

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let which = json!({ "id": { "type": "integer", "description": "The pet's number" },
        "name": { "type": "string", "description": "The pet's name, or words from it" } });
    let with = |more: Value| {
        let mut fields = which.as_object().unwrap().clone();
        fields.extend(more.as_object().unwrap().clone());
        Value::Object(fields)
    };
    let amount = json!({ "amount": { "type": "number", "description": "How much was paid" } });
    let tools = vec![
        tool(
            "list_pets",
            "Lists the pets with their owners",
            &json!({ "owner": { "type": "string", "description": "Only pets of this owner" } }),
            &[],
        ),
        tool("get_pet", "Shows one pet: breed, weight and owner", &which, &[]),
        tool("discharge_pet", "Discharges a pet that goes home", &which, &[]),
        tool("remove_pet", "Removes a pet for good", &which, &[]),
        tool("record_payment", "Records a payment that came in for a pet", &with(amount), &["amount"]),
    ];
    let topic = Topic {
        name: DomainName::new("vet").unwrap(),
        title: "Vet".into(),
        description: "Pets and owners".into(),
        intents: Vec::new(),
    };
    Reader::new(Arc::new(Encoder::default()), vec![topic], tools)
});

/// The known records.
fn world() -> Vec<SeenRecord> {
    let pets = json!({ "pets": [
        { "id": 1, "name": "Bella", "owner": "Nora Hughes" }, { "id": 2, "name": "Coco", "owner": "Tom Reed" },
        { "id": 3, "name": "Luna", "owner": "Sofia Keller" }, { "id": 4, "name": "Luna", "owner": "James \
            Whitfield" },
        { "id": 120, "name": "Max", "owner": "Tom Reed" }, { "id": 6, "name": "everything", "owner": "Ada Byrne" },
    ] });
    let lookup = READER.survey(&DomainName::new("vet").unwrap()).remove(0);
    assert_eq!(lookup, Lookup { tool: "vet.list_pets".into(), arguments: serde_json::Map::new() });
    READER.gather(&[(lookup, pets)])
}

fn read(said: &str) -> Understood {
    let world = world();
    let given = TurnContext { world: &world, ..TurnContext::on("2026-03-02".parse().unwrap()) };
    READER.understand(said, &given)
}

/// The ids that are acted on, in the order of the steps; a question is `?` with its options.
fn acted(understood: &Understood) -> String {
    if let Some(question) = &understood.question {
        let offered: Vec<String> = question.options.iter().map(|option| option.value.to_string()).collect();
        return format!("? {}", offered.join(" "));
    }
    let step = |target: &Option<Target>| match target {
        Some(Target::Known { things }) => {
            things.iter().map(|thing| thing.id.clone()).collect::<Vec<_>>().join(" ")
        }
        Some(Target::Id { id, .. }) => id.to_string(),
        Some(Target::Named { words, .. }) => format!("“{words}”"),
        _ => String::new(),
    };
    let tools = understood.steps.iter().map(|step_| {
        format!("{} {}", step_.tool().unwrap_or_default().trim_start_matches("vet."), step(&step_.target))
    });
    tools.collect::<Vec<_>>().join("; ").trim().to_owned()
}

#[test]
fn names_are_those_of_what_is_there() {
    for (said, expected) in [
        ("discharge Bella", "discharge_pet 1"),
        ("discharge bella and coco", "discharge_pet 1 2"),
        ("Coco goes home now", "discharge_pet 2"),
        ("discharge Sofia Keller's Luna", "discharge_pet 3"),
        ("what does Bella weigh?", "get_pet 1"),
        ("remove pet 2", "remove_pet 2"),
        // Two records of one name lead to a question, also if one of several is meant.
        ("discharge Luna", "? 3 4"),
        ("discharge Luna and Coco", "discharge_pet “Luna and Coco”"),
        // An unknown name is looked up, and reported as missing.
        ("discharge Rex", "discharge_pet “Rex”"),
        // A record that is identified only by one of its values needs confirmation before a change.
        ("remove Nora Hughes", "? 1"),
        // An amount is not an id, although there is a pet 120.
        ("record a payment of 120 for Bella", "record_payment 1"),
    ] {
        let understood = read(said);
        assert_eq!(acted(&understood), expected, "{said}: {understood:#?}");
    }
}

#[test]
fn what_things_are_called_is_never_a_wish() {
    // A pet is called "everything": the word keeps its meaning.
    let understood = read("remove everything");
    assert!(!acted(&understood).contains('6'), "{understood:#?}");
    let listed = read("show everything");
    assert!(listed.steps.iter().all(|step| step.read_only && step.target.is_none()), "{listed:#?}");
}

#[test]
fn a_second_wish_is_not_lost() {
    let understood = read("discharge Bella and discharge Luna");
    assert_eq!(understood.steps.len(), 2, "{understood:#?}");
    assert!(understood.question.is_some_and(|question| question.step == 1));
}

#[test]
fn the_same_words_are_read_the_same_way() {
    let first = read("record a payment of 120 for Bella");
    assert!((0..5).all(|_| read("record a payment of 120 for Bella") == first));
}
