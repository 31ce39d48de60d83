//! Tests of selection with a fake encoder: a text's vector counts its stems.

use super::*;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A fake encoder: counts stems in 64 dimensions, and the texts it was given.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Embed for Counting {
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.0.fetch_add(texts.len(), Ordering::SeqCst);
        let vector = |text: &&str| {
            let mut vector = vec![0.01_f32; 64];
            for word in words(text).iter().filter(|word| !word.stop) {
                let place = word
                    .stem
                    .bytes()
                    .fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte as usize));
                vector[place % 64] += 1.0;
            }
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// An encoder that always fails.
struct Broken;

impl Embed for Broken {
    fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>> {
        Err(crate::Error::Bug { detail: "no weights".into() })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "rows of tests read better with values")]
fn entry(name: &str, description: &str, properties: serde_json::Value, required: &[&str]) -> Entry {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Entry {
        name: ToolName::new(name).unwrap(),
        version: SemanticVersion::new("1.0.0").unwrap(),
        domain: None,
        description: description.into(),
        parameter_schema: schema.as_object().unwrap().clone(),
        examples: Vec::new(),
        past: CallHistory::default(),
    }
}

fn catalogue() -> Vec<Entry> {
    let text = |told: &str| json!({ "type": "string", "description": told });
    vec![
        entry(
            "weather.now",
            "Tells the current weather and temperature of a city",
            json!({ "city": text("The city") }),
            &["city"],
        ),
        entry(
            "mail.send",
            "Sends an email message to somebody",
            json!({ "to": text("Email address of the receiver"), "subject": text("The subject line") }),
            &["to"],
        ),
        entry(
            "circle_area",
            "Calculates the area of a circle from its radius",
            json!({ "radius": { "type": "number", "description": "The radius" } }),
            &["radius"],
        ),
        entry(
            "trains.find",
            "Finds train connections between two stations",
            json!({ "from": text("First station"), "to": text("Last station") }),
            &["from", "to"],
        ),
    ]
}

fn index(entries: &[Entry]) -> (Index, Arc<Counting>) {
    let embed = Arc::new(Counting::default());
    let mut index = Index::new(embed.clone());
    index.update(entries).unwrap();
    (index, embed)
}

#[test]
fn intended_tool_ranks_first_with_arguments() {
    let (index, _) = index(&catalogue());
    for (request, tool, arguments) in [
        ("What is the weather in Paris now?", "weather.now", json!({ "city": "Paris" })),
        ("Calculate the area of a circle with a radius of 2.5", "circle_area", json!({ "radius": 2.5 })),
        ("Send an email to ann@example.org", "mail.send", json!({ "to": "ann@example.org" })),
        ("Find trains from Ulm to Bonn", "trains.find", json!({ "from": "Ulm", "to": "Bonn" })),
    ] {
        let selection = index.select(&Request::new(request));
        let first = &selection.candidates[0];
        assert_eq!(first.tool.as_str(), tool, "{request}: {selection:#?}");
        assert_eq!(serde_json::Value::Object(first.arguments.arguments.clone()), arguments, "{request}");
        assert!(!first.reasons.is_empty());
        assert!(selection.candidates.iter().all(|candidate| (0.0..=1.0).contains(&candidate.confidence)));
        assert!(selection.candidates.iter().map(|candidate| candidate.confidence).sum::<f32>() <= 1.0);
    }
}

#[test]
fn only_changed_texts_are_embedded_again() {
    let (mut index, embed) = index(&catalogue());
    let before = embed.0.load(Ordering::SeqCst);
    assert_eq!(index.update(&catalogue()).unwrap(), Updated { tools: 4, ..Updated::default() });
    assert_eq!(embed.0.load(Ordering::SeqCst), before);

    let mut entries = catalogue();
    entries[1].description = "Sends a letter by post".into();
    entries[2].past = CallHistory { successes: 5, failures: 0 };
    let updated = index.update(&entries).unwrap();
    // Two texts contain the description. The call history is in none.
    assert_eq!(updated, Updated { tools: 4, changed: 2, removed: 0, embedded: 2 });

    entries.pop();
    assert_eq!(index.update(&entries).unwrap(), Updated { tools: 3, removed: 1, ..Updated::default() });
    let selection = index.select(&Request::new("Find trains from Ulm to Bonn"));
    assert!(selection.candidates.iter().all(|candidate| candidate.tool.as_str() != "trains.find"));
}

#[test]
fn the_order_of_the_tools_does_not_matter() {
    let entries = catalogue();
    let mut reversed = entries.clone();
    reversed.reverse();
    let request = Request::new("area of the weather in the city by email");
    let (one, two) = (index(&entries).0.select(&request), index(&reversed).0.select(&request));
    assert_eq!(one, two);
    assert_eq!(one, index(&entries).0.select(&request));
}

#[test]
fn ties_are_ordered_by_name_and_version() {
    let mut twin = catalogue().remove(2);
    let mut newer = twin.clone();
    newer.version = SemanticVersion::new("2.0.0").unwrap();
    let first = twin.clone();
    twin.name = ToolName::new("area_circle").unwrap();
    let (index, _) = index(&[newer, first, twin]);
    let selection = index.select(&Request::new("circle area for radius 3"));
    let order: Vec<String> =
        selection.candidates.iter().map(|one| format!("{} {}", one.tool, one.version)).collect();
    assert_eq!(order, ["area_circle 1.0.0", "circle_area 1.0.0", "circle_area 2.0.0"]);
    let question = selection.question.expect("three that are the same are no choice");
    assert_eq!(question.options.len(), 3);
}

#[test]
fn low_confidence_asks_a_question() {
    let (index, _) = index(&catalogue());
    let selection = index.select(&Request::new("Sing me something"));
    let question = selection.question.expect("nothing fits");
    assert_eq!(question.options.len(), 4);
    assert!(question.options.iter().all(|(_, told)| !told.is_empty()));
    let sure = index.select(&Request::new("Calculate the area of a circle with a radius of 2.5"));
    assert!(sure.question.is_none(), "{sure:#?}");
    let strict =
        Request { threshold: 1.1, ..Request::new("Calculate the area of a circle with a radius of 2.5") };
    assert!(index.select(&strict).question.is_some());
}

#[test]
fn denied_tools_are_never_offered() {
    let (index, _) = index(&catalogue());
    let allowed = |name: &ToolName| name.as_str() != "circle_area";
    let request = Request { allowed: Some(&allowed), ..Request::new("area of a circle with radius 2") };
    let selection = index.select(&request);
    assert_eq!(selection.candidates.len(), 3);
    assert!(selection.candidates.iter().all(|one| one.tool.as_str() != "circle_area"));
    let question = selection.question.expect("the right one is not there");
    assert!(question.options.iter().all(|(name, _)| name.as_str() != "circle_area"));
    let none = |_: &ToolName| false;
    let nothing = index.select(&Request { allowed: Some(&none), ..Request::new("area") });
    assert!(
        nothing.candidates.is_empty() && nothing.question.is_some_and(|question| question.options.is_empty())
    );
}

#[test]
fn history_domain_and_examples_affect_the_score() {
    let base = catalogue().remove(0);
    let with = |name: &str| Entry { name: ToolName::new(name).unwrap(), ..base.clone() };
    let bad = Entry { past: CallHistory { successes: 1, failures: 9 }, ..with("x_weather") };
    let good = Entry { past: CallHistory { successes: 9, failures: 1 }, ..with("y_weather") };
    let first = |entries: &[Entry], request: &Request<'_>| {
        index(entries).0.select(request).candidates[0].tool.to_string()
    };
    assert_eq!(first(&[bad, good], &Request::new("weather in Rome")), "y_weather");

    let (ours, other) = (DomainName::new("travel").unwrap(), DomainName::new("farming").unwrap());
    let entries = [
        Entry { domain: Some(other), ..with("x_weather") },
        Entry { domain: Some(ours.clone()), ..with("y_weather") },
    ];
    assert_eq!(
        first(&entries, &Request { domain: Some(&ours), ..Request::new("weather in Rome") }),
        "y_weather"
    );

    let taught = Entry { examples: vec!["shall I take an umbrella".into()], ..with("y_weather") };
    assert_eq!(
        first(&[with("x_weather"), taught], &Request::new("shall I take an umbrella today")),
        "y_weather"
    );
}

#[test]
fn selection_without_encoder_uses_words() {
    let mut index = Index::new(Arc::new(Broken));
    assert!(index.update(&catalogue()).is_err());
    assert!(index.is_empty(), "a failed update changes nothing");
    let (index, _) = self::index(&catalogue());
    let selection = index.select_near(&Request::new("area of a circle with radius 2"), None);
    assert_eq!(selection.candidates[0].tool.as_str(), "circle_area");
}

#[test]
fn ten_thousand_tools_stay_correct() {
    let things = [
        "invoice", "train", "garden", "recipe", "patient", "engine", "student", "parcel", "camera", "bridge",
    ];
    let deeds = [
        "create",
        "delete",
        "rename",
        "archive",
        "export",
        "measure",
        "paint",
        "weigh",
        "repair",
        "translate",
    ];
    let mut entries = Vec::new();
    for number in 0..10_000 {
        let (thing, deed) = (things[number % 10], deeds[number / 10 % 10]);
        let name = format!("{deed}_{thing}_batch{}", number / 100);
        let description = format!("Can {deed} a {thing} of batch{}", number / 100);
        entries.push(entry(&name, &description, json!({ "count": { "type": "integer" } }), &["count"]));
    }
    let (index, _) = index(&entries);
    assert_eq!(index.len(), 10_000);
    for number in [0, 77, 1234, 5005, 9999] {
        let (thing, deed) = (things[number % 10], deeds[number / 10 % 10]);
        let request = format!("Please {deed} 12 {thing}s of batch{}", number / 100);
        let first = &index.select(&Request::new(&request)).candidates[0];
        assert_eq!(first.tool, entries[number].name, "{request}");
        assert_eq!(first.arguments.arguments.get("count"), Some(&json!(12)));
    }
}
