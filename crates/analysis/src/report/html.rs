//! The report as one HTML page.
//!
//! Invariant: all text goes through [`escape`], and a drawing is only included if it has nothing
//! but shapes and text.

use super::text::{Block, Piece, blocks, pieces};
use super::{MOST_ROWS, ReportInput, cell_text, cut_note, duration, formats, is_right};
use crate::frame::Frame;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
/// The allowed elements of a drawing.
const SHAPES: [&str; 10] = ["svg", "g", "title", "desc", "rect", "line", "circle", "path", "text", "tspan"];

/// Escapes text for elements and attributes, and drops what HTML does not allow.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A standalone page around an escaped body.
#[must_use]
pub fn page_around(title: &str, body: &str) -> String {
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
        'unsafe-inline'\">\n",
    );
    let title = escape(title);
    let _ = write!(out, "<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}");
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// The page.
#[must_use]
pub fn html(input: &ReportInput<'_>) -> String {
    let title = if input.title.trim().is_empty() { "Report" } else { input.title.trim() };
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
        'unsafe-inline'\">\n",
    );
    let _ =
        write!(out, "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n", escape(title));
    head(&mut out, input, title);
    answer(&mut out, input);
    if !input.findings.is_empty() {
        out.push_str("<section>\n<h2>Key findings</h2>\n<ol class=\"findings\">\n");
        for finding in &input.findings {
            let _ = writeln!(out, "<li dir=\"auto\">{}</li>", linked(finding.trim(), &input.number_queries));
        }
        out.push_str("</ol>\n</section>\n");
    }
    charts(&mut out, input);
    tables(&mut out, input);
    bullets(&mut out, "Assumptions", &input.assumptions);
    if let Some(confidence) = &input.confidence {
        bullets(&mut out, "Why this confidence", &confidence.reasons);
    }
    appendix(&mut out, input);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn head(out: &mut String, input: &ReportInput<'_>, title: &str) {
    let _ =
        write!(out, "<header>\n<p class=\"kicker\">Report</p>\n<h1 dir=\"auto\">{}</h1>\n", escape(title));
    let question = input.question.trim();
    if !question.is_empty() && question != title {
        let _ = writeln!(out, "<p class=\"question\" dir=\"auto\">{}</p>", escape(question));
    }
    out.push_str("<ul class=\"facts\">\n");
    if let Some(confidence) = &input.confidence {
        let word = confidence.level.word();
        let _ = writeln!(out, "<li class=\"pill {word}\">Confidence: {word}</li>");
    }
    if !input.generated.trim().is_empty() {
        let _ = writeln!(out, "<li>{}</li>", escape(input.generated.trim()));
    }
    let _ = write!(out, "<li>Answered in {}</li>\n</ul>\n</header>\n", duration(input.duration_ms));
}

pub(super) fn inline(text: &str) -> String {
    inline_linked(text, &[])
}

/// Text whose numbers link to the queries that they come from.
fn linked(text: &str, numbers: &[(String, usize)]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while !rest.is_empty() {
        // The first number in the text, and the longest of those that start there.
        let next = (numbers.iter())
            .filter(|(number, _)| number.contains(|c: char| c.is_ascii_digit()))
            .filter_map(|(number, query)| Some((whole_match(rest, number)?, number, query)))
            .min_by_key(|(at, number, _)| (*at, std::cmp::Reverse(number.len())));
        let Some((at, number, query)) = next else { break };
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let _ = write!(out, "{}<a href=\"#query-{}\">{}</a>", escape(before), query + 1, escape(number));
        rest = after.get(number.len()..).unwrap_or_default();
    }
    out.push_str(&escape(rest));
    out
}

/// Where a number stands in a text, not as a part of a longer one.
fn whole_match(text: &str, number: &str) -> Option<usize> {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(number).map(|(at, _)| at).find(|at| {
        let mut before = text.get(..*at).unwrap_or_default().chars().rev();
        let (last, earlier) = (before.next(), before.next());
        let continues = matches!(last, Some('.' | ',')) && earlier.is_some_and(|c| c.is_ascii_digit());
        let mut after = text.get(at + number.len()..).unwrap_or_default().chars();
        let (next, second) = (after.next(), after.next());
        let is_longer = matches!(next, Some('.' | ',')) && second.is_some_and(|c| c.is_ascii_digit());
        !is_part(last) && !continues && !is_part(next) && !is_longer
    })
}

fn inline_linked(text: &str, numbers: &[(String, usize)]) -> String {
    let piece = |piece: Piece<'_>| match piece {
        Piece::Text(text) => linked(text, numbers).replace('\n', "<br>\n"),
        Piece::Bold(text) => format!("<strong>{}</strong>", linked(text, numbers)),
        Piece::Code(text) => format!("<code>{}</code>", escape(text)),
    };
    pieces(text).into_iter().map(piece).collect()
}

fn answer(out: &mut String, input: &ReportInput<'_>) {
    if !input.answer.trim().is_empty() {
        out.push_str("<section class=\"answer\">\n<h2>Answer</h2>\n");
        for block in blocks(&input.answer) {
            match block {
                Block::Paragraph(text) => {
                    let text = inline_linked(&text, &input.number_queries);
                    let _ = writeln!(out, "<p dir=\"auto\">{text}</p>");
                }
                Block::List(items) => {
                    let items: String = items
                        .iter()
                        .map(|item| format!("<li>{}</li>\n", inline_linked(item, &input.number_queries)))
                        .collect();
                    let _ = writeln!(out, "<ul>\n{items}</ul>");
                }
            }
        }
        out.push_str("</section>\n");
    }
    if !input.warnings.is_empty() {
        out.push_str("<section class=\"note\">\n<h2>Please note</h2>\n<ul>\n");
        items(out, &input.warnings);
        out.push_str("</ul>\n</section>\n");
    }
}

fn items(out: &mut String, items: &[String]) {
    for item in items {
        let _ = writeln!(out, "<li dir=\"auto\">{}</li>", escape(item.trim()));
    }
}

fn bullets(out: &mut String, heading: &str, texts: &[String]) {
    if !texts.is_empty() {
        let _ = write!(out, "<section>\n<h2>{heading}</h2>\n<ul class=\"plain\">\n");
        items(out, texts);
        out.push_str("</ul>\n</section>\n");
    }
}

fn charts(out: &mut String, input: &ReportInput<'_>) {
    for (index, (title, svg, file)) in input.charts.iter().enumerate() {
        if index == 0 {
            let _ = write!(
                out,
                "<section>\n<h2>{}</h2>\n",
                if input.charts.len() == 1 { "Chart" } else { "Charts" }
            );
        }
        if harmless(svg) {
            let _ = writeln!(
                out,
                "<figure class=\"chart\" aria-label=\"{}\">{}</figure>",
                escape(title),
                svg.trim()
            );
        } else {
            let _ = writeln!(
                out,
                "<p class=\"small\">The chart “{}” is in the file {}.</p>",
                escape(title),
                escape(file)
            );
        }
    }
    if !input.charts.is_empty() {
        out.push_str("</section>\n");
    }
}

/// Whether a drawing has only shapes and text: no scripts, no links, no handlers, no external
/// resources.
pub(super) fn harmless(svg: &str) -> bool {
    let svg = svg.trim();
    let tag = |part: &str| {
        let Some((tag, _)) = part.split_once('>') else { return false };
        let tag = tag.trim_start_matches('/').trim_end_matches('/');
        let name = tag.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
        let inside = tag.to_lowercase();
        let handler = inside
            .split(|c: char| c.is_whitespace() || c == '"' || c == '\'' || c == '/')
            .any(|word| word.starts_with("on"));
        SHAPES.contains(&name)
            && !handler
            && !inside.contains("href")
            && !inside.contains("url(")
            && !inside.contains("style")
    };
    svg.starts_with("<svg") && svg.ends_with("</svg>") && svg.split('<').skip(1).all(tag)
}

fn tables(out: &mut String, input: &ReportInput<'_>) {
    for (index, (frame, title)) in input.tables.iter().enumerate() {
        if index == 0 {
            let _ = write!(
                out,
                "<section>\n<h2>{}</h2>\n",
                if input.tables.len() == 1 { "Data" } else { "Tables" }
            );
        }
        table(out, frame, title, index);
        if let Some(query) = query_of(input, title) {
            let _ = writeln!(out, "<p class=\"small\"><a href=\"#query-{}\">Query</a></p>", query + 1);
        }
    }
    if !input.tables.is_empty() {
        out.push_str("</section>\n");
    }
}

/// The query of a table: the one with its title, or the only one.
fn query_of(input: &ReportInput<'_>, title: &str) -> Option<usize> {
    let only = (input.queries.len() == 1).then_some(0);
    input.queries.iter().position(|(query, _)| query == title).or(only)
}

pub(super) fn table(out: &mut String, frame: &Frame, title: &str, index: usize) {
    let title = if title.trim().is_empty() { "Result" } else { title.trim() };
    if frame.rows.is_empty() || frame.fields.is_empty() {
        let _ = writeln!(out, "<p class=\"small\">{}: no rows.</p>", escape(title));
        return;
    }
    let id = index + 1;
    let _ = writeln!(
        out,
        "<div class=\"data\">\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"table-{id}\" tabindex=\"0\">\n\
         <table>\n<caption id=\"table-{id}\">{}</caption>\n<thead><tr>",
        escape(title)
    );
    for field in &frame.fields {
        let class = if is_right(field.kind) { " class=\"r\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(&field.name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let formats = formats(frame);
    for row in 0..frame.rows.len().min(MOST_ROWS) {
        out.push_str("<tr>");
        for (column, (field, format)) in frame.fields.iter().zip(&formats).enumerate() {
            let class = if is_right(field.kind) { " class=\"r\"" } else { " dir=\"auto\"" };
            let _ = write!(out, "<td{class}>{}</td>", escape(&cell_text(frame, row, column, *format)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    if let Some(note) = cut_note(frame) {
        let _ = writeln!(out, "<p class=\"small\">{note}</p>");
    }
    out.push_str("</div>\n");
}

fn appendix(out: &mut String, input: &ReportInput<'_>) {
    pairs(out, "Sources", &input.sources, "");
    for (index, (title, sql)) in input.queries.iter().enumerate() {
        if index == 0 {
            let _ = write!(
                out,
                "<section>\n<h2>{}</h2>\n",
                if input.queries.len() == 1 { "Query" } else { "Queries" }
            );
        }
        let _ = write!(
            out,
            "<h3 id=\"query-{}\">{}</h3>\n<pre><code>{}</code></pre>\n",
            index + 1,
            escape(title.trim()),
            escape(sql.trim())
        );
    }
    if !input.queries.is_empty() {
        out.push_str("</section>\n");
    }
    pairs(out, "Proof", &input.proof, " class=\"mono\"");
}

fn pairs(out: &mut String, heading: &str, pairs: &[(String, String)], class: &str) {
    if pairs.is_empty() {
        return;
    }
    let _ = write!(out, "<section>\n<h2>{heading}</h2>\n<dl>\n");
    for (name, detail) in pairs {
        let _ = writeln!(out, "<dt>{}</dt><dd{class}>{}</dd>", escape(name), escape(detail));
    }
    out.push_str("</dl>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_link_to_their_queries() {
        let numbers = [("12".to_owned(), 0), ("1,912".to_owned(), 1), ("<b>5".to_owned(), 0)];
        assert_eq!(
            linked("1,912 of 12 & 12.5, 3,12 <b>5", &numbers),
            "<a href=\"#query-2\">1,912</a> of <a href=\"#query-1\">12</a> &amp; 12.5, 3,12 \
             <a href=\"#query-1\">&lt;b&gt;5</a>"
        );
    }

    #[test]
    fn only_shapes_are_taken_in() {
        assert!(harmless("<svg><title>a onload=1 b</title><rect fill=\"#fff\"/></svg>"));
        for bad in [
            "<svg onload=\"x()\"></svg>",
            "<svg><script>x()</script></svg>",
            "<svg><a href=\"javascript:x()\">a</a></svg>",
            "<svg><rect/onclick=\"x()\"/></svg>",
            "<svg><rect fill=\"url(http://elsewhere)\"/></svg>",
            "<b>no</b>",
            "<svg></svg><img src=x>",
        ] {
            assert!(!harmless(bad), "{bad}");
        }
    }
}
