//! Tests of the check of figures.

use super::evidence::Evidence;
use super::figures::{MARK, check_figures};
use super::number::scan;
use serde_json::{Value, json};

fn unsupported(text: &str, said: &str, results: &[Value]) -> Vec<String> {
    let mut evidence = Evidence::default();
    evidence.add_said(said);
    results.iter().for_each(|result| evidence.add_result(result));
    check_figures(text, &evidence).unsupported
}

fn sales() -> Value {
    json!({ "rows": [
        { "region": "North", "month": "2021-01", "revenue": 1200.5, "orders": 10, "share": 0.25 },
        { "region": "South", "month": "2021-02", "revenue": 2400.0, "orders": 30, "share": 0.5 },
        { "region": "West", "month": "2021-03", "revenue": 1199.5, "orders": 17, "share": 0.25 },
    ] })
}

#[test]
fn numbers_are_read_as_people_write_them() {
    for (text, number) in [
        ("1,234.5", 1234.5),
        ("$12", 12.0),
        ("3 million", 3e6),
        ("4.5k", 4500.0),
        ("7.5%", 7.5),
        ("12 percent", 12.0),
        ("1’000", 1000.0),
    ] {
        let found = scan(text);
        assert_eq!(found.len(), 1, "{text}");
        assert!((found[0].number - number).abs() < 1e-9, "{text}: {found:?}");
    }
    assert!(scan("Q1, COVID19 and x_2 are names").is_empty());
    assert_eq!(scan("10, 200, 30").len(), 3, "a comma with a space is no group");
}

#[test]
fn what_the_cells_say_is_supported() {
    for text in [
        "North made 1,200.50 with 10 orders.",
        "North made about $1,200.",
        "South made 2.4k, half of it all: 50%.",
        "In all 4,800 were made in 3 regions, 57 orders.",
        "The mean is 1,600 per region.",
        "South made 1,199.5 more than North.",
        "South had 3 times the orders of North.",
        "South grew by 200% against North in orders.",
        "From January to March orders rose by 70%.",
        "North and South together made 3,600.5.",
        "West made 49.98% of what South made.",
        "1. North\n2. South\n3. West",
        "In March 2021 there were 17 orders.",
        "You asked for the top 99.",
    ] {
        assert_eq!(unsupported(text, "show the top 99", &[sales()]), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_the_cells_do_not_say_is_marked() {
    for (text, wanted) in [
        ("North made 1,300.50.", "1,300.50"),
        ("South grew by 38%.", "38%"),
        ("There were 58 orders.", "58"),
        ("West made 1.3 million.", "1.3 million"),
        ("That was on 2021-07-09.", "2021-07-09"),
        ("It fell by 12.5 percent.", "12.5 percent"),
    ] {
        assert_eq!(unsupported(text, "", &[sales()]), [wanted], "{text}");
    }
    let mut evidence = Evidence::default();
    evidence.add_result(&sales());
    let checked = check_figures("North 10, South 31.", &evidence);
    assert_eq!(checked.text, format!("North 10, South 31{MARK}."));
    assert_eq!(checked.figures, 2);
}

/// A small deterministic generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// 200 answers with five figures each; one of the five is invented.
#[test]
fn every_invented_figure_of_200_answers_is_caught() {
    let mut dice = Dice(20);
    let names = ["Arizona", "Texas", "Nevada", "Oregon", "Utah", "Idaho", "Maine", "Ohio"];
    let (mut caught, mut invented, mut blamed, mut told) = (0, 0, 0, 0);
    for _ in 0..200 {
        let rows: Vec<(&str, u64, u64)> =
            names.iter().map(|name| (*name, 1_000 + dice.roll(90_000), 10 + dice.roll(900))).collect();
        let result: Vec<Value> = rows
            .iter()
            .map(|(name, revenue, orders)| json!({ "state": name, "revenue": revenue, "orders": orders }))
            .collect();
        let mut evidence = Evidence::default();
        evidence.add_said("how did the states do?");
        evidence.add_result(&json!({ "rows": result }));
        let (a, b) = (dice.roll(8) as usize, dice.roll(8) as usize);
        let (one, other) = (rows[a], rows[if a == b { (b + 1) % 8 } else { b }]);
        let total: u64 = rows.iter().map(|row| row.1).sum();
        let share = one.1 as f64 / total as f64 * 100.0;
        let gap = one.1.abs_diff(other.1);
        let mut figures = [
            (format!("{} made ", one.0), grouped(one.1), format!(" with {}.", other.0)),
            (format!("{} took ", other.0), grouped(other.2), " orders.".to_owned()),
            ("The total is ".to_owned(), grouped(total), " in all.".to_owned()),
            (format!("{} has ", one.0), format!("{share:.1}%"), " of the revenue.".to_owned()),
            (format!("{} and {} are ", one.0, other.0), grouped(gap), " apart.".to_owned()),
        ];
        let lie = dice.roll(5) as usize;
        let wrong = |number: u64, dice: &mut Dice| grouped(number * (111 + dice.roll(70)) / 100 + 3);
        figures[lie].1 = match lie {
            0 => wrong(one.1, &mut dice),
            1 => wrong(other.2 + 950, &mut dice),
            2 => wrong(total, &mut dice),
            3 => format!("{:.1}%", share + 3.0 + dice.roll(40) as f64),
            _ => wrong(gap + 100_000, &mut dice),
        };
        let text: String =
            figures.iter().map(|(before, figure, after)| format!("{before}{figure}{after}\n")).collect();
        let checked = check_figures(&text, &evidence);
        invented += 1;
        caught += usize::from(checked.unsupported.contains(&figures[lie].1));
        blamed += checked.unsupported.iter().filter(|figure| **figure != figures[lie].1).count();
        told += 4;
    }
    println!("caught {caught} of {invented} invented, blamed {blamed} of {told} true");
    assert_eq!(caught, invented, "an invented figure passed");
    assert!(blamed * 50 <= told, "{blamed} of {told} true figures were marked");
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
