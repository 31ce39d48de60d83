//! User utterances become the intended calls, as listed in the rows beside this file.

mod score;

use score::{Bench, run, table};
use std::sync::Arc;
use steward_language::Encoder;

#[test]
fn what_people_say_becomes_what_they_meant() {
    let encoder = Arc::new(Encoder::default());
    let mut reports = Vec::new();
    let names = [
        "todo",
        "crm",
        "notes",
        "library",
        "fleet",
        "hotel",
        "clinic",
        "helpdesk",
        "warehouse",
        "gym",
        "rentals",
        "bistro",
        "school",
        "events",
        "recruiting",
        "salon",
        "builds",
        "second/todo",
        "second/crm",
        "second/notes",
        "second/library",
        "third/todo",
        "third/crm",
        "third/notes",
        "third/library",
    ];
    for name in names {
        let mut bench = Bench::open(name, &encoder).unwrap();
        reports.push((name.to_owned(), run(&mut bench).unwrap()));
    }
    println!("{}", table(&reports));
    for (name, report) in &reports {
        let missed = report.missed(name);
        assert!(missed.is_empty(), "{name}: {missed:#?}\n{}", report.wrong.join("\n"));
    }
}
