//! Conversations as rows of data: a turn, and the rows that come of it.

use super::tests::Data;
use crate::frame::Kind::{Date, Integer, Number, Text};

pub(crate) fn ferries() -> Data {
    Data::new(
        &[(
            "ferries",
            &[
                ("id", Integer, &["1", "2", "3", "4", "5", "6"]),
                ("harbour", Text, &["Kiel", "Kiel", "Oban", "Oban", "Riga", "Riga"]),
                ("operator", Text, &["Blue", "Grey", "Blue", "Grey", "Blue", "Grey"]),
                (
                    "sailed_on",
                    Date,
                    &["2023-01-03", "2024-01-06", "2023-02-05", "2024-02-05", "2023-03-02", "2024-03-11"],
                ),
                ("revenue", Number, &["10", "30", "20", "40", "50", "90"]),
                ("tonnage", Integer, &["1", "2", "3", "4", "5", "6"]),
            ],
        )],
        &[],
    )
}

#[test]
fn a_part_is_exchanged_and_the_rest_stays() {
    ferries().check_turns(&[
        ("total revenue by harbour in 2023", "Riga 50; Oban 20; Kiel 10"),
        ("and in 2024?", "Riga 90; Oban 40; Kiel 30"),
        ("without Oban", "Riga 90; Kiel 30"),
        ("by operator instead of harbour", "Grey 120"),
    ]);
    ferries().check_turns(&[
        ("total revenue by harbour", "Riga 140; Oban 60; Kiel 40"),
        ("only the top 2", "Riga 140; Oban 60"),
        ("now the average instead of the total", "Riga 70; Oban 30"),
        ("total tonnage instead of revenue", "Riga 11; Oban 7"),
    ]);
}

#[test]
fn a_percentage_of_the_total_is_out_of_a_hundred() {
    ferries().check_turns(&[
        ("total revenue by harbour in 2024", "Riga 90; Oban 40; Kiel 30"),
        ("only Kiel and Riga", "Riga 90; Kiel 30"),
        ("as a percentage of the total", "Riga 90 75; Kiel 30 25"),
    ]);
}

#[test]
fn the_rows_are_sorted_by_what_is_named() {
    ferries().check_turns(&[
        ("total tonnage by harbour", "Riga 11; Oban 7; Kiel 3"),
        ("sort by revenue", "Riga 11 140; Oban 7 60; Kiel 3 40"),
        ("top 2", "Riga 11 140; Oban 7 60"),
    ]);
    ferries().check_turns(&[
        ("total revenue by harbour", "Riga 140; Oban 60; Kiel 40"),
        ("sort by harbour", "Kiel 40; Oban 60; Riga 140"),
    ]);
}

#[test]
fn another_value_replaces_the_one_before() {
    ferries().check_turns(&[
        ("total revenue by harbour", "Riga 140; Oban 60; Kiel 40"),
        ("only Blue ferries", "Riga 50; Oban 20; Kiel 10"),
        ("and the Grey?", "Riga 90; Oban 40; Kiel 30"),
        ("only Kiel", "30"),
        ("and Oban?", "40"),
    ]);
}

#[test]
fn another_group_keeps_the_measure() {
    ferries().check_turns(&[
        ("total tonnage by harbour", "Riga 11; Oban 7; Kiel 3"),
        ("by operator", "Grey 12; Blue 9"),
    ]);
}
