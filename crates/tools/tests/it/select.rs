//! Selection with the bundled encoder: what shares no word with a tool is found by its meaning.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests: a panic is the failure")]

use serde_json::json;
use std::sync::Arc;
use steward_domain::{SemanticVersion, ToolName};
use steward_tools::select::{CallHistory, Entry, Index, Request};

fn entry(name: &str, description: &str, parameter: &str) -> Entry {
    let schema = json!({ "type": "object", "properties": { parameter: { "type": "string" } }, "required": [parameter] });
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

fn index() -> Index {
    let mut index = Index::new(Arc::new(steward_language::Encoder::default()));
    let entries = [
        entry("weather_forecast", "Tells the weather forecast for a city", "city"),
        entry("ride_booking", "Books a taxi ride to a destination", "destination"),
        entry("restaurant_search", "Finds restaurants in a town", "town"),
        entry("currency_exchange", "Converts an amount of money into another currency", "currency"),
        entry("song_player", "Plays a song by its title", "title"),
    ];
    let updated = index.update(&entries).unwrap();
    assert_eq!((updated.tools, updated.embedded), (5, 15));
    index
}

#[test]
fn meaning_finds_what_words_do_not() {
    let index = index();
    for (request, tool) in [
        ("Will it rain in Hamburg tomorrow?", "weather_forecast"),
        ("I need a cab to Victoria Station", "ride_booking"),
        ("Where can I eat sushi in Boston?", "restaurant_search"),
        ("I'd like to hear some music: 'Yesterday'", "song_player"),
    ] {
        let selection = index.select(&Request::new(request));
        let first = &selection.candidates[0];
        assert_eq!(first.tool.as_str(), tool, "{request}: {selection:#?}");
        assert!(first.arguments.missing.is_empty(), "{request}: {first:#?}");
        assert_eq!(selection, index.select(&Request::new(request)), "the same again");
    }
}

#[test]
fn what_no_tool_is_for_becomes_a_question() {
    let index = index();
    for request in ["Prove Fermat's last theorem", "please water the plants"] {
        let selection = index.select(&Request::new(request));
        let question = selection.question.unwrap_or_else(|| panic!("{request}: {:#?}", selection.candidates));
        assert_eq!(question.options.len(), 5);
    }
}
