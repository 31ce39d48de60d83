//! Tests of all kinds: every kind draws realistic data, none panics on malformed data, and
//! reductions are stated.

use super::*;
use crate::frame::{Field, Kind, Unit, Value};
use chrono::NaiveDate;

const KINDS: [ChartKind; 10] = [
    ChartKind::Line,
    ChartKind::Bar,
    ChartKind::GroupedBar,
    ChartKind::StackedBar,
    ChartKind::Area,
    ChartKind::Scatter,
    ChartKind::Histogram,
    ChartKind::Box,
    ChartKind::Heatmap,
    ChartKind::Pie,
];

fn spec(kind: ChartKind, x: &str, y: &str, series: Option<&str>) -> Spec {
    Spec {
        kind,
        title: "Title".into(),
        subtitle: None,
        x: x.into(),
        y: vec![y.into()],
        series: series.map(Into::into),
        x_title: None,
        y_title: None,
    }
}

fn table(rows: Vec<Vec<Value>>) -> Frame {
    let fields = vec![
        Field::new("day", Kind::Date),
        Field::new("name", Kind::Text),
        Field { name: "amount".into(), kind: Kind::Number, unit: Unit::Currency('$') },
        Field::new("size", Kind::Number),
    ];
    Frame { name: "t".into(), fields, rows }
}

fn row(day: u32, name: &str, amount: f64, size: f64) -> Vec<Value> {
    let date = NaiveDate::from_ymd_opt(2021, 1 + day % 12, 1).unwrap();
    vec![Value::Date(date), Value::Text(name.into()), Value::Float(amount), Value::Float(size)]
}

fn x_of(kind: ChartKind) -> &'static str {
    match kind {
        ChartKind::Line | ChartKind::Area => "day",
        ChartKind::Scatter | ChartKind::Histogram => "size",
        _ => "name",
    }
}

/// The document is well formed: tags close, and no stray ampersand or angle bracket is left.
fn well_formed(svg: &str) {
    let mut open: Vec<String> = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "stray bracket in {text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap().to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!svg.contains("NaN") && !svg.contains("inf\""));
}

#[test]
fn every_kind_draws() {
    let frame = table(
        (0..24).map(|i| row(i, ["a", "b"][(i / 12) as usize], f64::from(i * i), f64::from(i % 7))).collect(),
    );
    for kind in KINDS {
        let drawn = draw(&spec(kind, x_of(kind), "amount", None), &frame).unwrap();
        well_formed(&drawn.svg);
        assert!(drawn.png.starts_with(&[0x89, b'P', b'N', b'G']), "{kind:?}");
        let wide = u32::from_be_bytes(drawn.png[16..20].try_into().unwrap());
        assert_eq!(wide, 2 * draw::WIDTH as u32);
        assert!(drawn.vega_lite["data"]["values"].as_array().is_some_and(|v| !v.is_empty()));
    }
}

#[test]
fn nasty_tables_never_panic() {
    let nulls = || vec![Value::Null, Value::Null, Value::Null, Value::Null];
    let big = |f: f64| row(3, "x", f, -f);
    let tables = [
        vec![],
        vec![nulls()],
        vec![nulls(), nulls()],
        vec![row(1, "only", 5.0, 1.0)],
        vec![row(1, "a", f64::NAN, f64::INFINITY), row(2, "b", f64::NEG_INFINITY, f64::NAN)],
        vec![big(1e308), big(-1e308), big(1e-308), big(0.0), big(f64::MAX), big(f64::MIN)],
        vec![row(1, "<b>&\"'\u{0}\u{202e}مرحبا 東京 🙂", -3.0, 0.0), row(2, &"w".repeat(5000), 2.0, 0.0)],
        vec![vec![], vec![Value::Text("short".into())]],
        (0..200).map(|i| row(i, &format!("n{i}"), -f64::from(i), 1e17)).collect(),
    ];
    for rows in tables {
        let frame = table(rows);
        for kind in KINDS {
            for x in ["day", "name", "amount", "size", "nowhere", ""] {
                for series in [None, Some("name")] {
                    let spec = spec(kind, x, "amount", series);
                    match drawing(&spec, &frame) {
                        Ok(svg) => well_formed(&svg),
                        Err(error) => assert!(!error.to_string().is_empty()),
                    }
                    let _ = terminal(&spec, &frame, 10, true);
                }
            }
        }
    }
}

/// A small deterministic generator, so that every run tests the same tables.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn value(&mut self) -> Value {
        let number =
            [0.0, -0.0, 1.0, -1.5, 1e308, -1e308, 1e-308, f64::NAN, f64::INFINITY, 0.1, 123_456.789, 7e15];
        let text = [
            "",
            " ",
            "a",
            "2021-03",
            "2021-Q4",
            "9999-12-31",
            "<b>&",
            "\u{202e}x",
            "12",
            "Mon",
            "é\u{301}東🙂",
        ];
        let day = [
            NaiveDate::MIN,
            NaiveDate::MAX,
            NaiveDate::default(),
            NaiveDate::from_ymd_opt(2024, 2, 29).unwrap(),
        ];
        match self.roll(8) {
            0 => Value::Null,
            1 => Value::Bool(self.roll(2) == 0),
            2 => Value::Int([0, 1, -1, i64::MAX, i64::MIN, 2021, 42][self.roll(7) as usize]),
            3 => Value::Float(number[self.roll(12) as usize]),
            4 => Value::Float(self.roll(1000) as f64 / 7.0),
            5 => Value::Text(text[self.roll(11) as usize].into()),
            6 => Value::Date(day[self.roll(4) as usize]),
            _ => Value::Time(day[self.roll(4) as usize].and_hms_opt(self.roll(24) as u32, 5, 9).unwrap()),
        }
    }
}

#[test]
fn random_tables_never_panic() {
    let kinds = [Kind::Boolean, Kind::Integer, Kind::Number, Kind::Text, Kind::Date, Kind::Timestamp];
    let units = [Unit::Plain, Unit::Currency('€'), Unit::Share, Unit::Percent, Unit::Year];
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut dice = Dice(11);
    for _ in 0..rounds {
        let names = ["year", "month", "a", "avg b"];
        let field = |name: &&str, dice: &mut Dice| Field {
            name: (*name).into(),
            kind: kinds[dice.roll(6) as usize],
            unit: units[dice.roll(5) as usize],
        };
        let fields = names.iter().map(|name| field(name, &mut dice)).collect();
        // Half of the tables have one kind of value per column, the others any.
        let (count, seeds) = (dice.roll(40), [dice.0, dice.0 / 3, dice.0 / 5, dice.0 / 7]);
        let tame = dice.roll(2) == 0;
        let mut cell = |column: usize, row: u64| {
            if tame { Dice(seeds[column].wrapping_add(row % 3)).value() } else { dice.value() }
        };
        let rows = (0..count).map(|row| (0..4).map(|column| cell(column, row)).collect()).collect();
        let frame = Frame { name: String::new(), fields, rows };
        let kind = KINDS[dice.roll(10) as usize];
        let name = |dice: &mut Dice| names[dice.roll(4) as usize];
        let series = if dice.roll(2) == 0 { None } else { Some(name(&mut dice)) };
        let spec = spec(kind, name(&mut dice), name(&mut dice), series);
        if let Ok(svg) = drawing(&spec, &frame) {
            well_formed(&svg);
            assert!(vega::document(&spec, &frame).is_ok(), "{spec:?}");
        }
        let width = 10 + dice.roll(90) as usize;
        let _ = terminal(&spec, &frame, width, false);
        let found = crate::findings::findings(&frame, &crate::findings::Roles::guess(&frame));
        assert!(found.iter().all(|f| !f.text.contains("NaN") && !f.text.contains(" inf")), "{found:?}");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let frame = table(vec![row(1, "a", 1.0, 2.0), row(2, "b", -1.0, 2.0)]);
    let unknown = draw(&spec(ChartKind::Bar, "nme", "amount", None), &frame).unwrap_err().to_string();
    assert!(unknown.contains("\"nme\"") && unknown.contains("name, amount"), "{unknown}");
    let words = draw(&spec(ChartKind::Bar, "day", "name", None), &frame).unwrap_err();
    assert_eq!(words, ChartError::NotANumber { column: "name".into() });
    let pie = draw(&spec(ChartKind::Pie, "name", "amount", None), &frame).unwrap_err();
    assert_eq!(pie, ChartError::Negative { column: "amount".into() });
    let empty = draw(&spec(ChartKind::Line, "day", "amount", None), &table(vec![])).unwrap_err();
    assert!(empty.to_string().contains("no rows"));
}

#[test]
fn many_categories_become_a_few_and_other() {
    let rows =
        (0..10_000_u32).map(|i| row(i, &format!("c{i}"), if i < 30 { 1000.0 } else { 0.1 }, 0.0)).collect();
    let frame = table(rows);
    let drawn = draw(&spec(ChartKind::Bar, "name", "amount", None), &frame).unwrap();
    assert!(drawn.svg.contains("19 largest of 10,000 names"));
    assert!(drawn.svg.len() < 30_000);
    let values = drawn.vega_lite["data"]["values"].as_array().unwrap();
    let sum: f64 = values.iter().filter_map(|v| v["y"].as_f64()).sum();
    assert_eq!(values.len(), 19, "a bar of others that dwarfs the rest is not drawn");
    assert!((sum - 19_000.0).abs() < 1e-6);
    let pie = draw(&spec(ChartKind::Pie, "name", "amount", None), &frame).unwrap();
    let values = pie.vega_lite["data"]["values"].as_array().unwrap();
    let sum: f64 = values.iter().filter_map(|v| v["y"].as_f64()).sum();
    assert!((sum - 30_997.0).abs() < 1e-6, "the others are in the pie: {sum}");
}

#[test]
fn same_names_are_added_and_averages_are_not() {
    let mut frame = table(vec![row(1, "a", 10.0, 0.0), row(2, "a", 20.0, 0.0), row(1, "b", 1.0, 0.0)]);
    let total = |frame: &Frame, y: &str| {
        let drawn = draw(&spec(ChartKind::Bar, "name", y, None), frame).unwrap();
        (drawn.vega_lite["data"]["values"][0]["y"].as_f64().unwrap(), drawn.svg)
    };
    let (sum, svg) = total(&frame, "amount");
    assert_eq!(sum, 30.0);
    assert!(svg.contains("Rows with the same name added up"));
    frame.fields[2].name = "avg_amount".into();
    let (mean, svg) = total(&frame, "avg_amount");
    assert_eq!(mean, 15.0);
    assert!(svg.contains("averaged"));
}

#[test]
fn a_line_that_does_not_start_at_zero_says_so() {
    let note = "axis does not start at zero";
    let flat = table((0..12).map(|i| row(i, "a", 1000.0 + f64::from(i), 0.0)).collect());
    assert!(draw(&spec(ChartKind::Line, "day", "amount", None), &flat).unwrap().svg.contains(note));
    assert!(!draw(&spec(ChartKind::Area, "day", "amount", None), &flat).unwrap().svg.contains(note));
}

#[test]
fn terminal_lines_fit_and_carry_no_codes_from_data() {
    let frame = table(vec![
        row(1, "evil\u{1b}[31m red", 10.0, 0.0),
        row(2, &"long ".repeat(50), -5.0, 0.0),
        row(3, "東京", 3.0, 0.0),
    ]);
    for width in [30, 60, 120] {
        let text = terminal(&spec(ChartKind::Bar, "name", "amount", None), &frame, width, false).unwrap();
        assert!(!text.contains('\u{1b}') && text.contains("$10"));
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        let text = terminal(&spec(ChartKind::Line, "day", "amount", None), &frame, width, false).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        assert!(text.contains("Feb 2021") && text.contains("Apr 2021"), "{text}");
    }
}

#[test]
fn averages_are_not_stacked_and_units_are_not_mixed() {
    let day = |i: u32| NaiveDate::from_ymd_opt(2021, 1 + i % 6, 1).unwrap();
    let fields = vec![
        Field::new("day", Kind::Date),
        Field::new("name", Kind::Text),
        Field { name: "avg price".into(), kind: Kind::Number, unit: Unit::Currency('$') },
        Field::new("orders", Kind::Integer),
    ];
    let name = |i: u32| Value::Text(if i < 6 { "a" } else { "b" }.into());
    let rows =
        (0..12).map(|i| vec![Value::Date(day(i)), name(i), Value::Float(90.0), Value::Int(7)]).collect();
    let frame = Frame { name: String::new(), fields, rows };
    let stacked = spec(ChartKind::StackedBar, "day", "avg price", Some("name"));
    assert!(!drawing(&stacked, &frame).unwrap().contains(">$200<"), "the axis ends near $90, not at the sum");
    let mut both = spec(ChartKind::Line, "day", "avg price", None);
    both.y.push("orders".into());
    let svg = drawing(&both, &frame).unwrap();
    assert!(svg.contains("another unit are not drawn"));
}

#[test]
fn a_hundred_thousand_series_do_not_fill_the_memory() {
    let name = |i: u32| Value::Text(format!("s{i}"));
    let amount = |i: u32| Value::Float(if i < 3 { 500.0 } else { 1.0 });
    let rows = (0..100_000).map(|i| vec![Value::Text(format!("x{i}")), name(i), amount(i)]).collect();
    let fields =
        vec![Field::new("x", Kind::Text), Field::new("s", Kind::Text), Field::new("y", Kind::Number)];
    let frame = Frame { name: String::new(), fields, rows };
    for kind in [ChartKind::StackedBar, ChartKind::Line, ChartKind::Heatmap] {
        let svg = drawing(&spec(kind, "x", "y", Some("s")), &frame).unwrap();
        assert!(svg.contains("of 100,000 s") && svg.len() < 400_000, "{kind:?} {}", svg.len());
    }
    let plot = bars::prepare(&spec(ChartKind::StackedBar, "x", "y", Some("s")), &frame).unwrap();
    assert_eq!(plot.series.last().unwrap().name, "Other (99,993)");
}

#[test]
fn a_month_without_rows_keeps_its_place() {
    let frame = table(vec![row(0, "a", 5.0, 0.0), row(1, "a", 6.0, 0.0), row(3, "a", 7.0, 0.0)]);
    let plot = bars::prepare(&spec(ChartKind::Bar, "day", "amount", None), &frame).unwrap();
    let labels: Vec<&str> = plot.slots.iter().map(|slot| slot.label.as_str()).collect();
    assert_eq!(labels, ["Jan 2021", "Feb 2021", "Mar 2021", "Apr 2021"]);
    assert_eq!(plot.series[0].values, [Some(5.0), Some(6.0), None, Some(7.0)]);
}

#[test]
fn what_may_be_added() {
    for (name, may) in [
        ("revenue", true),
        ("unit_price", false),
        ("sum(price)", true),
        ("total amount - cost in % of total amount", false),
        ("avg total", false),
        ("count", true),
    ] {
        assert_eq!(additive(&Field::new(name, Kind::Number)), may, "{name}");
    }
}

#[test]
fn plurals() {
    for (one, many) in [
        ("category", "categories"),
        ("day", "days"),
        ("box", "boxes"),
        ("sales", "sales"),
        ("batch", "batches"),
    ] {
        assert_eq!(plural(one), many);
    }
}
