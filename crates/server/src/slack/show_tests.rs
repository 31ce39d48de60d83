//! Tests of messages and buttons.

use super::*;
use steward_domain::Timestamp;

fn call(arguments: Json) -> Waiting {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    Waiting {
        tools: Vec::new(),
        task: "018f0000-0000-7000-8000-000000000001".parse().unwrap(),
        user: UserId::new("ana").unwrap(),
        tool: "mail.send".to_owned(),
        arguments,
        provenance: serde_json::Map::new(),
        reason: "it leaves the house".to_owned(),
        digest: "d".repeat(64),
        since: Timestamp::from_micros(0),
        until: Timestamp::from_micros(1),
        approvers: Vec::new(),
        description: "Call mail.send".to_owned(),
        node: String::new(),
    }
}

fn has_buttons(post: &Post) -> bool {
    post.blocks.iter().any(|block| block["type"] == "actions")
}

#[test]
fn approval_buttons_require_all_arguments_visible() {
    let body: String = (0..400).map(|line| format!("line {line}\n")).collect();
    let post = waiting(&call(json!({ "to": "<!channel>", "body": body })));
    let shown = json!(post.blocks).to_string();
    assert!(shown.contains("line 0") && shown.contains("line 399"), "{shown}");
    assert!(shown.contains("&lt;!channel&gt;") && !shown.contains("<!channel>"), "{shown}");
    assert!(has_buttons(&post) && post.blocks.len() <= 50);
    for block in &post.blocks {
        let length =
            block.pointer("/text/text").and_then(Json::as_str).map_or(0, |text| text.chars().count());
        assert!(length <= 3000, "{length}");
    }
    let huge = waiting(&call(json!({ "body": "x".repeat(200_000) })));
    assert!(!has_buttons(&huge) && json!(huge.blocks).to_string().contains("steward approvals approve"));
}

#[test]
fn button_respects_slack_limits() {
    let place = ChannelThread { team: "T1".into(), channel: "C1".into(), thread: Some("1.1".into()) };
    let asked = Person { team: "T1".into(), user: "U1".into() };
    let option =
        |label: String| steward_runtime::converse::Offered { say: "x".repeat(5000), label, record: None };
    let question =
        Asked { text: "Which?".into(), options: (0..30).map(|n| option("é".repeat(50 + n))).collect() };
    let task = "018f0000-0000-7000-8000-000000000001".parse().unwrap();
    let block = answers(&question, task, &place, &asked).unwrap();
    let buttons = block["elements"].as_array().unwrap();
    assert_eq!(buttons.len(), 10);
    for button in buttons {
        assert!(button["text"]["text"].as_str().unwrap().chars().count() <= 75);
        let value = button["value"].as_str().unwrap();
        assert!(value.len() <= 2000);
        let bound: Choice = serde_json::from_str(value).unwrap();
        assert_eq!((bound.task, &bound.asked, &bound.place), (task, &asked, &place));
    }
    assert_eq!(answers(&Asked { text: "What?".into(), options: Vec::new() }, task, &place, &asked), None);
}

#[test]
fn progress_shows_each_step() {
    let mut progress = Progress::default();
    assert_eq!(progress.post().text, "Working on it …");
    progress.hear(ProgressEvent::Understood { steps: vec!["list <tasks>".into(), "mark it".into()] });
    progress.hear(ProgressEvent::Began { step: 0, what: "list <tasks>".into() });
    progress.hear(ProgressEvent::Ended { step: 0, well: true, took: std::time::Duration::from_millis(300) });
    assert_eq!(progress.post().text, "Working on it …\n✓ list &lt;tasks&gt; (0.3 s)\n… mark it");
}

#[test]
fn file_names_are_portable() {
    assert_eq!(file_name("Sales per Month: 2026/05", "png"), "sales_per_month_2026_05.png");
    assert_eq!(file_name("../..", "csv"), "steward.csv");
}
