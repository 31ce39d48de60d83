//! Mechanisms of measures, groups and conditions as rows of data, each over data that it was not
//! made for.

use super::Grammar;
use super::tests::Data;
use crate::frame::Kind::{Date, Integer, Number, Text, Timestamp};

/// One table of boat trips.
fn trips() -> Data {
    Data::new(
        &[(
            "trips",
            &[
                ("trip_id", Integer, &["1", "2", "3", "4", "5", "6"]),
                ("harbour", Text, &["Kiel", "Kiel", "Oban", "Oban", "Oban", "Riga"]),
                ("skipper", Text, &["Ann", "Bo", "Ann", "Cy", "Cy", "Bo"]),
                (
                    "booked_on",
                    Date,
                    &["2023-01-01", "2023-01-05", "2023-02-01", "2023-02-03", "2024-01-01", "2024-02-01"],
                ),
                (
                    "sailed_on",
                    Date,
                    &["2023-01-03", "2023-01-06", "2023-02-05", "", "2024-01-02", "2024-02-11"],
                ),
                ("revenue", Number, &["10", "30", "20", "40", "60", "50"]),
                ("duration_hours", Number, &["1", "3", "2", "2", "4", "6"]),
                ("status", Text, &["done", "done", "done", "cancelled", "done", "done"]),
                ("guest_age", Integer, &["8", "20", "30", "41", "66", "70"]),
            ],
        )],
        &[],
    )
}

#[test]
fn two_ends_and_orders_that_are_said() {
    trips().check(
        Grammar::Measures,
        &[
            ("lowest and highest revenue", "10 60"),
            ("smallest and largest duration for each harbour", "Riga 6 6; Oban 2 4; Kiel 1 3"),
            ("average revenue per harbour, highest first", "Riga 50; Oban 40; Kiel 20"),
            ("total and average revenue", "210 35"),
            ("revenue sum by harbour", "Oban 120; Riga 50; Kiel 40"),
        ],
    );
}

#[test]
fn the_first_of_each_group() {
    trips().check(
        Grammar::Measures,
        &[
            (
                "for every harbour, name the skipper with the highest total revenue",
                "Kiel Bo 30 1; Oban Cy 100 1; Riga Bo 50 1",
            ),
            ("lowest revenue for each harbour", "Riga 50; Oban 20; Kiel 10"),
        ],
    );
}

#[test]
fn conditions_on_groups() {
    trips().check(
        Grammar::Measures,
        &[
            ("how many skippers had more than 1 trips?", "3"),
            ("how many skippers sailed from more than one harbour?", "2"),
            ("which harbours have an average duration above the overall average duration", "Riga 6"),
            ("how many trips have a duration above the average of their own harbour", "2"),
        ],
    );
}

#[test]
fn parts_of_a_whole() {
    trips().check(
        Grammar::Measures,
        &[
            (
                "what percentage of trips got cancelled in each harbour?",
                "Oban 33.333333333333336; Riga 0; Kiel 0",
            ),
            (
                "total revenue divided by total duration, per harbour",
                "Oban 15; Kiel 10; Riga 8.333333333333334",
            ),
        ],
    );
}

#[test]
fn time_that_passes() {
    trips().check(
        Grammar::Measures,
        &[
            (
                "on average how many days pass between booking and sailing, per harbour",
                "Riga 10; Oban 2.5; Kiel 1.5",
            ),
            ("first and last sailed date", "2023-01-03 2024-02-11"),
            ("how many trips have no sailed date?", "1"),
            (
                "total revenue per year and the change against the year before",
                "2023-01-01 100  ; 2024-01-01 110 10 10",
            ),
            ("by how many percent did the total revenue go up from 2023 to 2024?", "2024-01-01 110 10 10"),
        ],
    );
}

#[test]
fn brackets_and_numbers_with_a_comparative() {
    trips().check(
        Grammar::Measures,
        &[
            ("number of trips by guest age bracket: 0-17, 18-64, 65+", "0-17 1; 18-64 3; 65+ 2"),
            ("how many trips with guests aged 41 or older", "3"),
        ],
    );
}

#[test]
fn times_belong_to_what_is_measured() {
    let shop = Data::new(
        &[
            (
                "members",
                &[
                    ("id", Integer, &["1", "2"]),
                    ("name", Text, &["Ann", "Bo"]),
                    ("joined_on", Date, &["2020-01-01", "2021-01-01"]),
                ],
            ),
            (
                "orders",
                &[
                    ("id", Integer, &["1", "2", "3"]),
                    ("member_id", Integer, &["1", "1", "2"]),
                    (
                        "placed_at",
                        Timestamp,
                        &["2023-01-05 10:00:00", "2023-02-07 11:00:00", "2023-02-09 12:00:00"],
                    ),
                ],
            ),
            (
                "lines",
                &[
                    ("id", Integer, &["1", "2", "3"]),
                    ("order_id", Integer, &["1", "2", "3"]),
                    ("amount", Number, &["5", "7", "11"]),
                ],
            ),
        ],
        &[("orders", "member_id", "members", "id"), ("lines", "order_id", "orders", "id")],
    );
    shop.check(
        Grammar::Measures,
        &[
            ("monthly amount in 2023", "2023-01-01 5; 2023-02-01 18"),
            ("how many members have more than 1 orders?", "1"),
            ("on which weekday are orders placed? number of orders per weekday", "Tuesday 1; Thursday 2"),
        ],
    );
}

#[test]
fn the_word_of_a_reference_chooses_the_way() {
    let league = Data::new(
        &[
            ("teams", &[("id", Integer, &["1", "2"]), ("name", Text, &["Ash", "Birch"])]),
            (
                "matches",
                &[
                    ("id", Integer, &["1", "2"]),
                    ("home_team_id", Integer, &["1", "1"]),
                    ("away_team_id", Integer, &["2", "2"]),
                    ("home_goals", Integer, &["3", "1"]),
                ],
            ),
        ],
        &[("matches", "away_team_id", "teams", "id"), ("matches", "home_team_id", "teams", "id")],
    );
    league.check(Grammar::Measures, &[("total home goals by team", "Ash 4")]);
}
