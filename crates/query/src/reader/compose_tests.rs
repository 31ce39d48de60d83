//! Conditions and measures that are composed, each over data that it was not made for.

use super::tests::Data;
use crate::frame::Kind::{Date, Integer, Number, Text};

/// One table of repairs, some without a workshop, some not closed yet.
fn repairs() -> Data {
    Data::new(
        &[(
            "repairs",
            &[
                ("repair_id", Integer, &["1", "2", "3", "4", "5", "6"]),
                ("workshop", Text, &["", "", "", "Ayr", "Ayr", "Bath"]),
                (
                    "opened_on",
                    Date,
                    &["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05", "2024-01-06"],
                ),
                ("closed_on", Date, &["2024-01-05", "2024-01-08", "", "2024-01-14", "", "2024-01-16"]),
                ("cost", Number, &["10", "20", "30", "40", "50", "60"]),
            ],
        )],
        &[],
    )
}

#[test]
fn rows_without_a_value_are_no_extreme() {
    repairs().check_offers(&[("which workshop has the most repairs?", "Ayr 2")]);
}

#[test]
fn what_has_not_happened_is_an_empty_cell() {
    repairs().check_offers(&[("how many repairs have not been closed?", "2")]);
}

#[test]
fn time_between_two_named_moments() {
    repairs().check_offers(&[("how many days does a repair take on average, from opened to closed?", "7.5")]);
}

#[test]
fn a_slip_in_a_name() {
    repairs().check_offers(&[("average csot", "35")]);
}
