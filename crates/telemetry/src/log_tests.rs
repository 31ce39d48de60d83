//! Lines of the log, as text and as JSON.

use super::*;
use serde_json::json;

fn line(format: LogFormat, said: &str, fields: Json) -> String {
    let Json::Object(fields) = fields else { panic!("no object") };
    let log = Log::new(LogFilter::parse("info,rmcp=debug").unwrap(), format);
    let place = SpanPosition { trace: [0xab; 16], span: [0xcd; 8], parent: None };
    log.line(1_700_000_000_123_456_789, (Level::INFO, "steward_tools::call"), said, Some(place), fields)
}

#[test]
fn text_is_one_line_whatever_was_said() {
    let fields = json!({ "duration_ms": 1.5, "odd": "a \"b\"\nc", "steward.outcome": "success" });
    let text = line(LogFormat::Text, "execute_tool\ncrm.find", fields);
    assert_eq!(
        text,
        "2023-11-14T22:13:20.123456Z INFO  steward_tools::call: execute_tool crm.find duration_ms=1.5 \
         odd=\"a \\\"b\\\"\\nc\" steward.outcome=success trace_id=abababababababababababababababab\n"
    );
}

#[test]
fn json_says_the_same() {
    let text = line(LogFormat::Json, "execute_tool crm.find", json!({ "steward.attempts": 2 }));
    assert_eq!(text.lines().count(), 1);
    let read: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(
        read,
        json!({
            "timestamp": "2023-11-14T22:13:20.123456Z",
            "level": "INFO",
            "target": "steward_tools::call",
            "message": "execute_tool crm.find",
            "trace_id": "abababababababababababababababab",
            "span_id": "cdcdcdcdcdcdcdcd",
            "fields": { "steward.attempts": 2 },
        })
    );
}

#[test]
fn the_level_is_the_highest_that_any_part_wants() {
    for (filter, level) in [
        ("off", LevelFilter::OFF),
        ("info", LevelFilter::INFO),
        ("info,rmcp=debug", LevelFilter::DEBUG),
        ("steward_tools=trace", LevelFilter::TRACE),
    ] {
        assert_eq!(Log::new(LogFilter::parse(filter).unwrap(), LogFormat::Text).level(), level, "{filter}");
    }
}
