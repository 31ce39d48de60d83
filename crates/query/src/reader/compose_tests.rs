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

/// Dishes, of which some have no milk in them, with the country that each comes from.
fn dishes() -> Data {
    Data::new(
        &[(
            "menu",
            &[
                ("dish_id", Integer, &["11", "12", "13", "14", "15", "16"]),
                ("country", Text, &["Peru", "Peru", "Oman", "Oman", "Oman", "Chad"]),
                ("dairy", Text, &["yes", "no", "yes", "yes", "no", "no"]),
                (
                    "listed_on",
                    Date,
                    &["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05", "2024-01-06"],
                ),
                ("price", Number, &["10", "20", "30", "50", "60", "70"]),
            ],
        )],
        &[],
    )
}

#[test]
fn keys_and_moments_are_not_averaged() {
    let sums = |sql: &str| {
        ["avg", "sum"].iter().any(|call| {
            ["dish_id", "listed_on"].iter().any(|name| sql.contains(&format!("{call}(\"menu\".\"{name}\")")))
        })
    };
    for question in ["average dish by country", "total of dishes listed", "mean listed date of dishes"] {
        let offers = dishes().offers(question);
        assert!(!offers.iter().any(|sql| sums(sql)), "{question}: {offers:?}");
    }
}

#[test]
fn a_word_for_an_operation_is_no_name_that_begins_alike() {
    let offers = dishes().offers("count by dairy");
    // A list of all columns aside.
    let named = |sql: &String| sql.contains("country") && !sql.contains("price");
    assert!(!offers.iter().any(named), "{offers:?}");
}

#[test]
fn both_values_of_a_flag_choose_none() {
    dishes().check_offers(&[("number of dishes by dairy yes/no", "yes 3; no 3")]);
}

#[test]
fn a_row_is_called_after_its_key() {
    dishes().check_offers(&[("average price of dairy and of non-dairy dishes", "no 50; yes 30")]);
}
