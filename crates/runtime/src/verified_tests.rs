//! Detection of changes in a verified answer's rows.

use super::*;
use steward_analysis::frame::{Field, Kind};

fn frame(rows: Vec<Vec<Value>>) -> Frame {
    let fields = vec![Field::new("state", Kind::Text), Field::new("total", Kind::Number)];
    Frame { name: "answer".to_owned(), fields, rows }
}

fn row(state: &str, total: f64) -> Vec<Value> {
    vec![Value::Text(state.to_owned()), Value::Float(total)]
}

fn kept(frame: &Frame, ordered: bool) -> VerifiedResult {
    let at = Timestamp::from_micros(0);
    let answer = VerifiedAnswer {
        id: VerifiedId(Uuid::nil()),
        user_id: UserId::new("ada").unwrap(),
        question: Question::new("total by state").unwrap(),
        paraphrases: Vec::new(),
        data: vec!["sales.csv".to_owned()],
        tables: vec!["sales".to_owned()],
        schema_fingerprint: Sha256Hex::new("0".repeat(64)).unwrap(),
        statement: VerifiedStatement::Sql("SELECT 1".to_owned()),
        origin: None,
        note: String::new(),
        created_at: at,
        updated_at: at,
    };
    result_of(&answer, frame, ordered, at).unwrap()
}

#[test]
fn the_same_rows_are_the_same_in_any_order_unless_it_counts() {
    let first = frame(vec![row("AZ", 1.0), row("TX", 2.0)]);
    let turned = frame(vec![row("TX", 2.0), row("AZ", 1.0)]);
    assert_eq!(differences(&kept(&first, false), &turned), Vec::<String>::new());
    assert_eq!(differences(&kept(&first, true), &turned), ["the same rows in another order"]);
    // The last digits of a sum depend on the order of its parts.
    let rounded = frame(vec![row("AZ", 1.0 + 1e-13), row("TX", 2.0)]);
    assert_eq!(differences(&kept(&first, false), &rounded), Vec::<String>::new());
}

#[test]
fn changed_rows_are_reported() {
    let first = kept(&frame(vec![row("AZ", 1.0), row("TX", 2.0)]), false);
    let moved = differences(&first, &frame(vec![row("AZ", 1.5), row("TX", 2.0)]));
    assert_eq!(moved, ["gone: AZ, 1", "new: AZ, 1.5"]);
    let fewer = differences(&first, &frame(vec![row("TX", 2.0)]));
    assert_eq!(fewer, ["1 rows were 2", "gone: AZ, 1"]);
    let mut renamed = frame(vec![row("AZ", 1.0), row("TX", 2.0)]);
    renamed.fields[1].name = "sum".to_owned();
    assert_eq!(differences(&first, &renamed), ["columns were state, total, are state, sum"]);
}
