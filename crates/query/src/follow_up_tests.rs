//! Messages of a conversation, and whether they are about the answer before.

use super::is_edit;
use crate::planner::NoMeaning;
use crate::propose;
use crate::reader::follow_tests::ferries;
use chrono::NaiveDate;

/// All messages are, or are not, edits of a question.
fn check(messages: &[&str], expected: bool) {
    let data = ferries();
    let today = NaiveDate::from_ymd_opt(2025, 6, 1).unwrap();
    let considered = propose::consider("total revenue by month", data.catalogue(), None, today, &NoMeaning);
    let earlier = considered.readings(&[]).into_iter().find(|reading| reading.form.is_some()).unwrap();
    let wrong: Vec<&&str> = (messages.iter())
        .filter(|message| is_edit(message, data.catalogue(), &earlier, today, &NoMeaning) != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_part_that_changes_the_question_is_an_edit() {
    let messages = [
        "only 2024",
        "only Kiel",
        "and Oban?",
        "without Riga",
        "as a bar chart",
        "by harbour",
        "by operator instead",
        "how many are there?",
        "top 3",
        "why did it drop in February?",
        "forecast next quarter",
        "in percent of the total",
    ];
    check(&messages, true);
}

#[test]
fn a_message_about_something_else_is_no_edit() {
    let messages = [
        "thanks",
        "ok",
        "yes",
        "hello",
        "delete the task Buy milk",
        "list my notes",
        "only Mars",
        "what about Anna Reed?",
        "create a note about this",
    ];
    check(&messages, false);
}
