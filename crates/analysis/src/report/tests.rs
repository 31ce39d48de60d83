//! Both formats from one input, with text that looks like markup.

use super::*;
use crate::frame::{Field, Unit};

fn frame(rows: usize) -> Frame {
    let fields = vec![
        Field::new("na|me", Kind::Text),
        Field { name: "amount".into(), kind: Kind::Number, unit: Unit::Currency('€') },
    ];
    let row = |i: usize| vec![Value::Text(format!("<i>{i}</i> | x")), Value::Float(i as f64 * 1000.5)];
    Frame { name: "t".into(), fields, rows: (0..rows).map(row).collect() }
}

fn input(frame: &Frame) -> ReportInput<'_> {
    let evil = "<script>alert('1')</script> & \"q\"".to_owned();
    ReportInput {
        title: evil.clone(),
        question: evil.clone(),
        answer: format!("**Bold {evil}**\n\n- one\n- `a<b`\n\n{evil}"),
        findings: vec![evil.clone()],
        warnings: vec![evil.clone()],
        assumptions: vec![evil.clone()],
        tables: vec![(frame, evil.clone())],
        charts: vec![(evil.clone(), "<svg><title>t</title></svg>".into(), "chart 1).png".into())],
        sources: vec![(evil.clone(), evil.clone())],
        number_queries: Vec::new(),
        queries: vec![(evil.clone(), "SELECT '```' -- <b>".into())],
        confidence: Some(Confidence { level: Level::Medium, reasons: vec![evil.clone()] }),
        proof: vec![("hash".into(), "abc".into())],
        duration_ms: 61_500,
        generated: evil,
    }
}

#[test]
fn html_is_escaped_and_balanced() {
    let frame = frame(3);
    let page = html(&input(&frame));
    assert!(!page.contains("<script") && !page.contains("<i>") && page.contains("&lt;script&gt;"));
    assert!(page.contains("<strong>Bold &lt;script&gt;"));
    assert!(page.contains("<svg><title>t</title></svg>"));
    assert!(page.contains("Confidence: medium") && page.contains("1 min 1 s"));
    for tag in [
        "section", "table", "div", "ul", "ol", "li", "p", "figure", "dl", "pre", "main", "header", "tr", "td",
    ] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "the page loads nothing");
}

#[test]
fn markdown_keeps_tables_whole() {
    let frame = frame(3);
    let text = markdown(&input(&frame));
    assert!(!text.contains("<script") && !text.contains("<i>"));
    let row = text.lines().find(|line| line.contains("€1,000.50")).unwrap();
    assert_eq!(row, "| &lt;i>1&lt;/i> \\| x | €1,000.50 |");
    assert!(text.contains("| --- | ---: |"));
    assert!(text.contains("(chart%201%29.png)"));
    assert!(text.contains("````sql\nSELECT '```' -- <b>\n````"));
    assert!(text.contains("- one\n- `a<b`"));
}

#[test]
fn markdown_escapes_only_what_is_markup() {
    assert_eq!(plain("order_details.csv: p < 0.001 & x"), "order_details.csv: p < 0.001 & x");
    assert_eq!(plain("_a_ *b* <b> &amp; # c"), "\\_a\\_ \\*b\\* &lt;b> &amp;amp; # c");
    assert_eq!(plain("# head"), "\\# head");
    assert_eq!(plain("- item\n> quote"), "\\- item > quote");
    let same = ReportInput { title: "Why?".into(), question: "Why?".into(), ..Default::default() };
    assert_eq!(markdown(&same).matches("Why?").count(), 1);
}

#[test]
fn long_tables_are_cut_with_a_note() {
    let frame = frame(1234);
    let (page, text) = (html(&input(&frame)), markdown(&input(&frame)));
    assert_eq!(page.matches("<tr>").count(), 51);
    assert!(page.contains("Showing the first 50 of 1,234 rows."));
    assert!(text.contains("Showing the first 50 of 1,234 rows."));
}

#[test]
fn empty_parts_leave_no_heading() {
    let empty = ReportInput { title: "T".into(), ..Default::default() };
    let (page, text) = (html(&empty), markdown(&empty));
    assert!(!page.contains("<h2>") && !text.contains("## "), "{page} {text}");
    let none = frame(0);
    let bare = ReportInput { tables: vec![(&none, "Empty".into())], ..Default::default() };
    assert!(html(&bare).contains("Empty: no rows.") && markdown(&bare).contains("No rows."));
}
