//! Results in words.

use super::*;
use serde_json::json;

fn check(intent: Option<IntentKind>, result: &Value, expected: &str) {
    let told = tell(intent, Some(result), "");
    assert_eq!(told.text, expected, "{result}");
}

#[test]
fn results_become_sentences() {
    let tasks =
        json!({ "tasks": [{ "id": 1, "title": "Buy milk" }, { "id": 2, "title": "Call" }], "count": 2 });
    check(None, &tasks, "2 tasks: Buy milk, Call.");
    check(None, &json!({ "tasks": [], "count": 0 }), "There are no tasks.");
    check(
        Some(IntentKind::Create),
        &json!({ "id": 13, "title": "Buy bread", "due": "", "priority": "high" }),
        "Added 13 “Buy bread”: priority high.",
    );
    check(
        Some(IntentKind::Delete),
        &json!({ "deleted": { "id": 7, "title": "Water" } }),
        "Removed 7 “Water”.",
    );
    check(
        None,
        &json!({ "status": "COMPLETED", "answer": "Desks sell best.", "columns": ["a"], "rows": [[1]] }),
        "Desks sell best.",
    );
    check(None, &json!({ "tags": ["a", "b"] }), "2 tags.");
    check(None, &json!(42), "42");
    check(None, &json!({ "done": true, "open_tasks": 4 }), "Done yes, open tasks 4.");
}

#[test]
fn text_only_results_are_read_as_json_where_they_are() {
    let told = tell(None, None, r#"{"tasks": [{"title": "Buy milk"}]}"#);
    assert_eq!(told.text, "1 task: Buy milk.");
    assert_eq!(told.table.map(|table| table.rows.len()), Some(1));
    assert_eq!(tell(None, None, " just words \u{1b}[31m").text, "just words [31m");
    assert!(tell(None, None, "").empty);
}

#[test]
fn a_long_text_is_cut_and_a_long_list_counted() {
    let told = tell(None, None, &"x".repeat(9_000));
    assert_eq!(told.text.chars().count(), LONGEST + 1);
    let rows: Vec<Value> = (0..300).map(|id| json!({ "id": id, "title": format!("t{id}") })).collect();
    let told = tell(None, Some(&json!({ "tasks": rows })), "");
    let table = told.table.unwrap();
    assert!(table.cut && table.rows.len() == 200, "{}", told.text);
}

#[test]
fn sources_that_disagree_are_told() {
    let one =
        table(&json!([{ "product": "Oak Desk", "stock": 4 }, { "product": "Chair", "stock": 1 }])).unwrap();
    let other =
        table(&json!([{ "product": "oak desk", "stock": 7 }, { "product": "Chair", "stock": 1 }])).unwrap();
    let told = conflicts(&[("Sales", &one), ("Warehouse", &other)]);
    assert_eq!(told, ["The sources do not agree on the stock of oak desk: Sales says 4, Warehouse says 7."]);
    assert!(conflicts(&[("Sales", &one)]).is_empty());
}
