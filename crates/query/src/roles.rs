//! What a column is for: measures are added up, rates are averaged, identifiers are counted,
//! categories make groups.
//!
//! Roles come from names, types and values, never from a question. An identifier or a rate is never
//! summed.

use crate::catalogue::{Catalogue, Column, Table};
use crate::frame::{Kind, Value};
use serde::{Deserialize, Serialize};
use steward_text::tokens::{looks_like_id, name_words, stem};

/// The part that a column plays in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Numbers that may be added up: amounts, counts.
    Measure,
    /// Numbers that are averaged and never added up: prices, rates, ages, scores.
    Rate,
    /// Tells rows or things apart: counted, never summed.
    Identifier,
    /// True or false, by whatever spelling.
    Flag,
    /// Few values that make groups.
    Category,
    /// Days and moments.
    Time,
    /// Calendar years as numbers.
    Year,
    /// Names and free text.
    Text,
}

impl Role {
    /// A number that can be summed or averaged.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Self::Measure | Self::Rate)
    }
}

const RATES: &str = "price rate ratio percent pct percentage share score rating age average avg mean per \
    index temperature temp latitude longitude lat lon lng margin height width depth speed expectancy density \
    level grade gpa rank \
    ranking mpg horsepower acceleration displacement probability discount percap capita elevation bmi iq \
    efficiency \
    weight length size stars position carat fare velocity pressure humidity altitude limit capacity salary \
    wage rent \
    satisfaction csat nps ctr cpc cpm roi roas interest markup quality moisture ph voltage frequency \
    heartrate pulse glucose bac angle slope \
    median peak sqm area floor radius diameter thickness purity concentration";
const AMOUNTS: &str = "sales revenue amount total quantity qty count number num profit cost units population \
    pop passengers votes points goals spend spending budget income visits clicks tip tips fee tax bytes \
    hours minutes duration \
    distance wins orders stock attendance deaths cases births crew staff employees earnings expense expenses \
    gross net \
    sold volume amt balance payment payments deposit deposits withdrawal withdrawals refund refunds charge charges \
    donation donations rain rainfall precipitation snow snowfall sunshine kwh consumption usage energy \
    output production yield \
    harvest tonnes tons impressions conversions views sessions downloads installs signups subscribers \
    followers likes \
    shares comments kills assists runs laps shots saves cards penalties fouls calls tickets bookings \
    reservations nights \
    days items pieces emissions waste mileage km miles steps calories loan debt turnover wages bill invoice \
    invoiced billed \
    paid debit credit commission bonus subsidy premium claim claims loss losses outage downtime overtime \
    absences credits";

fn has_word(words: &[String], list: &str) -> bool {
    words.iter().any(|word| list.split_whitespace().any(|known| known == word || stem(known) == stem(word)))
}

/// The role of a column of a table.
#[must_use]
pub fn role(catalogue: &Catalogue, table: &Table, column: &Column) -> Role {
    if column.kind.is_time() {
        return Role::Time;
    }
    let words = name_words(if column.label.is_empty() { &column.name } else { &column.label });
    if is_flag(column) {
        return Role::Flag;
    }
    let refers = catalogue
        .joins
        .iter()
        .any(|join| join.from.0 == table.name && join.from.1.iter().any(|name| name == &column.name));
    let key = table.primary_key.len() == 1
        && table.primary_key.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
    let code = has_word(&words, "zip postal postcode phone ssn isbn sku uuid barcode code")
        || is_running_number(&words);
    if looks_like_id(&column.name) || column.kind.is_number() && (refers || key || code) {
        return Role::Identifier;
    }
    if column.kind.is_number() {
        if is_year(column, &words) {
            return Role::Year;
        }
        if has_word(&words, RATES) {
            return Role::Rate;
        }
        if has_word(&words, AMOUNTS) || is_money(&words) || is_quantity(column, &words) {
            return Role::Measure;
        }
        // Few whole numbers are grades or sizes; the rest may be summed only when it is asked for.
        return if column.kind == Kind::Integer && column.distinct <= 12 {
            Role::Category
        } else {
            Role::Rate
        };
    }
    if column.kind == Kind::Boolean {
        return Role::Flag;
    }
    let many = column.seen.max(1);
    if column.distinct <= 60 || column.distinct * 5 <= many { Role::Category } else { Role::Text }
}

/// "episode no", "bib nr", "room number": tells things apart. "number of meetings" counts.
fn is_running_number(words: &[String]) -> bool {
    words.len() > 1
        && words.last().is_some_and(|last| matches!(last.as_str(), "no" | "nr" | "number"))
        && !has_word(words, "total avg average max min mean")
}

/// Counted in money or in millions of it.
fn is_money(words: &[String]) -> bool {
    let unit = "eur usd gbp chf mn mio mln bn dollars euros pounds";
    words.len() > 1 && words.last().is_some_and(|last| unit.split(' ').any(|known| known == last))
}

/// Whole numbers of things that a plural names: "cups", "pallets".
fn is_quantity(column: &Column, words: &[String]) -> bool {
    let plural = |word: &String| {
        word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
    };
    column.kind == Kind::Integer
        && column.distinct > 12
        && column.min.number().is_some_and(|least| least >= 0.0)
        && words.last().is_some_and(plural)
}

/// Two values that say yes and no.
fn is_flag(column: &Column) -> bool {
    if column.kind == Kind::Boolean {
        return true;
    }
    if column.distinct != 2 {
        return false;
    }
    let mut values: Vec<String> = column.values.iter().map(|(value, _)| value.to_lowercase()).collect();
    if let (Some(low), Some(high)) = (column.min.number(), column.max.number()) {
        return column.kind.is_number() && (low - 0.0).abs() < 1e-9 && (high - 1.0).abs() < 1e-9;
    }
    values.sort();
    matches!(
        values.iter().map(String::as_str).collect::<Vec<_>>().as_slice(),
        ["no", "yes"] | ["false", "true"] | ["n", "y"] | ["f", "t"] | ["0", "1"]
    )
}

/// Whole numbers that all look like years, under a name that says so.
fn is_year(column: &Column, words: &[String]) -> bool {
    let inside = |value: &Value| value.number().is_some_and(|n| (1500.0..2200.0).contains(&n));
    has_word(words, "year season yr founded opened born") && inside(&column.min) && inside(&column.max)
}
