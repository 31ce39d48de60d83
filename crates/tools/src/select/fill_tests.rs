//! Tests of filling: a request, a schema and the expected arguments.

use super::super::words::words;
use super::*;
use serde_json::json;

#[allow(clippy::needless_pass_by_value, reason = "rows of tests read better with values")]
fn filled(request: &str, properties: Json, required: &[&str]) -> Filling {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let shape = Shape::of(schema.as_object().unwrap(), &std::collections::BTreeSet::new());
    fill(&shape, &RequestText::read(request, &words(request)))
}

#[allow(clippy::needless_pass_by_value, reason = "rows of tests read better with values")]
fn check(request: &str, properties: Json, required: &[&str], expected: Json) {
    let filling = filled(request, properties, required);
    assert_eq!(Json::Object(filling.arguments.clone()), expected, "{request}: {filling:#?}");
    for mapping in &filling.mappings {
        if let Some((said, start, end)) = &mapping.said {
            assert_eq!(request.get(*start..*end), Some(said.as_str()));
        } else {
            assert_eq!(mapping.how, FillSource::Constant);
        }
    }
}

fn text(told: &str) -> Json {
    json!({ "type": "string", "description": told })
}

fn whole(told: &str) -> Json {
    json!({ "type": "integer", "description": told })
}

#[test]
fn numbers_are_assigned_by_adjacent_words() {
    check(
        "A cylinder with a height of 7 and a radius of 5",
        json!({ "radius": whole(""), "height": whole("") }),
        &["radius", "height"],
        json!({ "radius": 5, "height": 7 }),
    );
    check(
        "Solve it for a = 1, b = -3 and c = 2",
        json!({ "a": whole(""), "b": whole(""), "c": whole("") }),
        &["c", "b", "a"],
        json!({ "a": 1, "b": -3, "c": 2 }),
    );
    check(
        "The common factor of 36 and 24",
        json!({ "number1": whole(""), "number2": whole("") }),
        &["number1", "number2"],
        json!({ "number1": 36, "number2": 24 }),
    );
    check(
        "Who won from 1990 to 2000?",
        json!({ "start_year": whole(""), "end_year": whole("") }),
        &["start_year", "end_year"],
        json!({ "start_year": 1990, "end_year": 2000 }),
    );
    check(
        "Stay between 3 and 9 days",
        json!({ "max_days": whole(""), "min_days": whole("") }),
        &["min_days", "max_days"],
        json!({ "min_days": 3, "max_days": 9 }),
    );
    check(
        "It went 450 meters in 20 seconds",
        json!({ "time": whole("In seconds"), "distance": whole("In meters") }),
        &["time", "distance"],
        json!({ "time": 20, "distance": 450 }),
    );
    check(
        "Save 1,500 at a rate of 5%",
        json!({ "rate": { "type": "float" }, "amount": whole("") }),
        &["rate", "amount"],
        json!({ "rate": 0.05, "amount": 1500 }),
    );
    check("A crowd of 2.5 million", json!({ "crowd": whole("") }), &["crowd"], json!({ "crowd": 2_500_000 }));
    check("Book three seats", json!({ "seats": whole("") }), &["seats"], json!({ "seats": 3 }));
}

#[test]
fn text_values_are_quotes_names_addresses_and_ids() {
    check(
        "Play 'Let it be' by The Beatles",
        json!({ "artist": text("The artist"), "song": text("The song") }),
        &["song", "artist"],
        json!({ "song": "Let it be", "artist": "The Beatles" }),
    );
    check(
        "From Berlin to New York City",
        json!({ "destination": text(""), "origin": text("") }),
        &["destination", "origin"],
        json!({ "origin": "Berlin", "destination": "New York City" }),
    );
    check(
        "I live in mountain view",
        json!({ "location": text("The place") }),
        &["location"],
        json!({ "location": "mountain view" }),
    );
    check(
        "Rooms in Austin, TX please",
        json!({ "location": text("City and state") }),
        &["location"],
        json!({ "location": "Austin, TX" }),
    );
    check(
        "Read https://example.org/a?b=1.",
        json!({ "url": text("") }),
        &["url"],
        json!({ "url": "https://example.org/a?b=1" }),
    );
    check("Show user 12345", json!({ "user_id": text("") }), &["user_id"], json!({ "user_id": "12345" }));
    check(
        "What about ticket AB-1234?",
        json!({ "ticket_id": text("") }),
        &["ticket_id"],
        json!({ "ticket_id": "AB-1234" }),
    );
}

#[test]
fn dates_use_the_format_of_the_parameter() {
    let day = |format: &str| json!({ "date": text(&format!("The day, as {format}")) });
    for (request, format, expected) in [
        ("Meet on March 19, 2024", "YYYY-MM-DD", "2024-03-19"),
        ("Meet on the 5th of May 2023", "MM/DD/YYYY", "05/05/2023"),
        ("Meet on 2024-03-19", "DD/MM/YYYY", "19/03/2024"),
        ("It is 2023. Meet on the 12th of March", "YYYY-MM-DD", "2023-03-12"),
        ("Meet on March 19", "YYYY-MM-DD", "March 19"),
    ] {
        check(request, day(format), &["date"], json!({ "date": expected }));
    }
}

#[test]
fn choices_switches_lists_and_objects() {
    let unit = json!({ "unit": { "type": "string", "enum": ["celsius", "fahrenheit"] } });
    check("How warm, in Fahrenheit?", unit.clone(), &[], json!({ "unit": "fahrenheit" }));
    check("How warm?", unit, &[], json!({}));
    let switch = json!({ "include_details": { "type": "boolean" } });
    check("Show it with details", switch.clone(), &[], json!({ "include_details": true }));
    check("Show it without details", switch.clone(), &[], json!({ "include_details": false }));
    check("Show it", switch, &[], json!({}));
    let numbers = json!({ "numbers": { "type": "array", "items": { "type": "integer" } } });
    check("The mean of 2, 4, 6 and 8", numbers.clone(), &["numbers"], json!({ "numbers": [2, 4, 6, 8] }));
    check("Sort [3, 1, 2]", numbers, &["numbers"], json!({ "numbers": [3, 1, 2] }));
    let towns = json!({ "towns": { "type": "array", "items": { "type": "string" } } });
    check("Compare Rome, Paris and Oslo", towns, &["towns"], json!({ "towns": ["Rome", "Paris", "Oslo"] }));
    let range = json!({ "budget": { "type": "dict", "properties": { "min": whole(""), "max": whole("") } } });
    check("Something from $300 to $400", range, &["budget"], json!({ "budget": { "min": 300, "max": 400 } }));
}

#[test]
fn absent_argument_is_missing() {
    let filling =
        filled("Book a room", json!({ "city": text(""), "nights": whole("") }), &["city", "nights"]);
    assert!(filling.arguments.is_empty(), "{filling:#?}");
    assert_eq!(filling.missing, ["city", "nights"]);
    let constant = json!({ "kind": { "type": "string", "enum": ["room"] }, "page": { "type": "integer", "default": 1 } });
    check("Go on", constant, &["kind", "page"], json!({ "kind": "room", "page": 1 }));
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed(request in "\\PC{0,120}") {
        let properties = json!({ "a": text("x"), "b": { "type": "array", "items": { "type": "number" } }, "c": { "type": "object", "properties": { "d": { "type": "boolean" } } } });
        let filling = filled(&request, properties, &["a", "b", "c"]);
        for (said, start, end) in filling.mappings.iter().filter_map(|mapping| mapping.said.as_ref()) {
            proptest::prop_assert_eq!(request.get(*start..*end), Some(said.as_str()));
        }
    }
}
