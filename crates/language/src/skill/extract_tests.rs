//! Requests and their entities.

use super::*;
use EntityKind::*;

fn today() -> Option<NaiveDate> {
    // A Monday.
    NaiveDate::from_ymd_opt(2026, 11, 16)
}

fn shown(entity: &Entity) -> String {
    match &entity.value {
        Value::Text(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Day(day) => day.to_string(),
    }
}

#[track_caller]
fn check(text: &str, expected: &[(EntityKind, &str)]) {
    let status =
        Field { name: "status".into(), choices: ["todo", "in_progress", "done"].map(str::to_owned).to_vec() };
    let priority = Field { name: "priority".into(), choices: ["low", "high"].map(str::to_owned).to_vec() };
    let found = extract(text, &[status, priority], today());
    let pairs: Vec<(EntityKind, String)> = found.iter().map(|entity| (entity.kind, shown(entity))).collect();
    let expected: Vec<(EntityKind, String)> =
        expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
    assert_eq!(pairs, expected, "{text}");
    for pair in found.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{text}: {pair:?}");
    }
}

#[test]
fn days_and_times() {
    for (text, day) in [
        ("due 2026-12-01", "2026-12-01"),
        ("due on 1.12.2026", "2026-12-01"),
        ("due 12/01/2026", "2026-12-01"),
        ("due Dec 1st, 2027", "2027-12-01"),
        ("by the 3rd of march", "2026-03-03"),
        ("what is due today", "2026-11-16"),
        ("due tomorrow", "2026-11-17"),
        ("what happened the day before yesterday", "2026-11-14"),
        ("in 3 days", "2026-11-19"),
        ("in two weeks", "2026-11-30"),
        ("a month ago", "2026-10-16"),
        ("next friday", "2026-11-27"),
        ("this friday", "2026-11-20"),
        ("last friday", "2026-11-13"),
        ("last monday", "2026-11-09"),
    ] {
        check(text, &[(Date, day)]);
    }
    check("2026-02-30", &[(Number, "2026")]);
    check("tomorrow at 3 pm", &[(Date, "2026-11-17"), (Time, "15:00")]);
    check("from 09:30 to noon", &[(Time, "09:30"), (Time, "12:00")]);
    check("it took 45 minutes", &[(Duration, "45 minutes")]);
}

#[test]
fn without_a_today_words_stay_words() {
    let found = extract("due tomorrow", &[], None);
    assert_eq!(found.first().map(shown).as_deref(), Some("tomorrow"));
}

#[test]
fn numbers_ids_and_addresses() {
    check("raise it by 5% to $1,200", &[(Percent, "5"), (Money, "1200")]);
    check("sales above 2.5 million", &[(Number, "2500000")]);
    check("close TASK-12 and #45", &[(Id, "TASK-12"), (Id, "45")]);
    check("show order 17", &[(Id, "17")]);
    check(
        "write to ann@example.org about https://example.org/a.",
        &[(Email, "ann@example.org"), (Link, "https://example.org/a")],
    );
}

#[test]
fn titles_and_names() {
    check("add \"Buy milk\" for Ann Lee", &[(Title, "Buy milk"), (Name, "Ann Lee")]);
    check("create a task called buy milk due tomorrow", &[(Title, "buy milk"), (Date, "2026-11-17")]);
    check("make a note titled Project ideas, please", &[(Title, "Project ideas")]);
    check("rename it to 'Q3 plan'", &[(Title, "Q3 plan")]);
    check("Show the notes", &[]);
    check("Tell Anna and Bob", &[(Name, "Anna"), (Name, "Bob")]);
}

#[test]
fn values_of_the_schema() {
    check("mark it as done", &[(Choice, "done")]);
    check("everything in progress with high priority", &[(Choice, "in_progress"), (Choice, "high")]);
    let found =
        extract("high priority", &[Field { name: "priority".into(), choices: vec!["high".into()] }], None);
    assert_eq!(found.first().and_then(|entity| entity.field.clone()).as_deref(), Some("priority"));
}

#[test]
fn odd_texts_do_no_harm() {
    for text in ["", "   ", "\"", "“”", "#", "99:99", "élan’s ’", "𝒜 2026-13-01", "a\u{301}\u{301}@"]
    {
        let _ = extract(text, &[], today());
    }
    let long = "é".repeat(30_000);
    assert!(extract(&long, &[], None).is_empty());
}
