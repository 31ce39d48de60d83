//! Tests over all kinds: every kind draws realistic data, nothing panics on nasty data, and what is cut is said.

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
                for series in [None, Some("name"), Some("size")] {
                    let spec = spec(kind, x, "amount", series);
                    match draw(&spec, &frame) {
                        Ok(drawn) => well_formed(&drawn.svg),
                        Err(error) => assert!(!error.to_string().is_empty()),
                    }
                    let _ = terminal(&spec, &frame, 10, true);
                }
            }
        }
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
