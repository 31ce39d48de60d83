//! Requests and their intents.

use super::*;

#[track_caller]
fn check(text: &str, kinds: &[IntentKind], expected: Option<IntentKind>) {
    let intent = classify(text, kinds);
    assert_eq!(intent.kind, expected, "{text}: {intent:?}");
}

#[test]
fn the_seven() {
    for (text, expected) in [
        ("Add a task to buy milk", Create),
        ("please create a new customer called Ann", Create),
        ("could you remind me to call Bob tomorrow", Create),
        ("Schedule a meeting with the design team", Create),
        ("show my tasks", List),
        ("what tasks do I have today?", List),
        ("List all customers in Berlin", List),
        ("give me all open invoices", List),
        ("Show me the invoice of March", Read),
        ("open the note about the offsite", Read),
        ("what's the status of order 17", Read),
        ("Mark it done", Update),
        ("change the due date of task 4 to Friday", Update),
        ("I'd like to rename the project", Update),
        ("move the meeting to 3 pm", Update),
        ("delete the second note", Delete),
        ("can you cancel my order", Delete),
        ("get rid of the old drafts", Delete),
        ("find notes that mention the budget", Search),
        ("look for customers named Smith", Search),
        ("where is the contract with Acme", Search),
        ("how many orders came in last month", Analyze),
        ("compare sales of Q1 and Q2", Analyze),
        ("What is the average price per region?", Analyze),
        ("why did revenue drop in May", Analyze),
    ] {
        check(text, SEVEN, Some(expected));
    }
}

#[test]
fn the_four() {
    for (text, expected) in [
        ("summarize this thread", Summarize),
        ("give me a summary of the channel", Summarize),
        ("tl;dr please", Summarize),
        ("analyze the sentiment of these messages", Analyze),
        ("fetch the latest messages", Fetch),
        ("get me the report from last week", Fetch),
        ("explain how the deploy works", Explain),
        ("what does it mean that the build is red", Explain),
        ("help me understand this error", Explain),
    ] {
        check(text, FOUR, Some(expected));
    }
}

#[test]
fn what_is_denied_does_not_count() {
    check("don't delete it, archive it", SEVEN, Some(Update));
}

#[test]
fn nothing_is_guessed() {
    check("blue", ALL, None);
    check("", ALL, None);
    assert_eq!(classify("the weather", SEVEN).confidence, Confidence::default());
}

#[test]
fn two_wishes_are_less_sure_than_one() {
    let (one, two) =
        (classify("delete the note", SEVEN), classify("delete the note or update the note", SEVEN));
    assert!(one.confidence > two.confidence, "{one:?} {two:?}");
    assert!(!two.alternatives.is_empty());
    assert_eq!(one.reasons, ["the wish opens with \"delete\""]);
}
