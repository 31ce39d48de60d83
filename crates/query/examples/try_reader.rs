//! Reads questions from a file against one dumped catalogue and prints the best candidates:
//! `try_reader DUMP FILE`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a development program"
)]

use steward_query::planner::NoMeaning;
use steward_query::query::Dialect;
use steward_query::{catalogue::Catalogue, reader, sql};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (dump, file) = (arguments.next().expect("a dump"), arguments.next().expect("a file with questions"));
    let catalogue: Catalogue = serde_json::from_str(&std::fs::read_to_string(dump).unwrap()).unwrap();
    let today = chrono::NaiveDate::from_ymd_opt(2026, 12, 31).unwrap();
    for question in std::fs::read_to_string(file).unwrap().lines() {
        println!("{question}");
        for candidate in reader::propose(question, &catalogue, None, today, &NoMeaning).into_iter().take(2) {
            println!(
                "   {:.2} {:?} {} {}",
                candidate.cost,
                candidate.unexplained,
                candidate.multiplies,
                sql::write(&candidate.query, Dialect::Postgres)
            );
        }
    }
}
