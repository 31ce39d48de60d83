//! A small SVG writer: shapes and measured text.
//!
//! Invariant: the document is well formed for any text. All text is cleaned and escaped here and
//! only here, and every number that is written is finite.

use std::fmt::Write as _;

/// The font families: the one that the rasteriser bundles, then those of browsers.
pub(super) const FONTS: &str = "Roboto, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";
/// Titles and values.
pub(crate) const INK: &str = "#1f2933";
/// Subtitles and axis labels.
pub(crate) const SOFT: &str = "#5b6774";
/// Grid lines.
pub(crate) const GRID: &str = "#e4e8ec";
/// The baseline of an axis.
pub(crate) const AXIS: &str = "#9aa5b1";
/// The merged rest.
pub(super) const OTHER: &str = "#a8b0b9";
/// A palette for all common kinds of colour vision (after Okabe and Ito, without the pale yellow).
const PALETTE: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#7a5195", "#4d4d4d"];

/// The colour of the nth series.
pub(super) fn colour(index: usize) -> &'static str {
    PALETTE.get(index % PALETTE.len()).copied().unwrap_or(INK)
}

/// The anchor of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type {
    pub size: f64,
    pub colour: &'static str,
    pub bold: bool,
    pub anchor: Anchor,
    pub turn: f64,
}

impl Type {
    /// Regular weight, anchored at the start.
    pub(crate) fn new(size: f64, colour: &'static str) -> Self {
        Self { size, colour, bold: false, anchor: Anchor::Start, turn: 0.0 }
    }

    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(super) fn middle(self) -> Self {
        Self { anchor: Anchor::Middle, ..self }
    }

    pub(crate) fn end(self) -> Self {
        Self { anchor: Anchor::End, ..self }
    }

    pub(super) fn turned(self, degrees: f64) -> Self {
        Self { turn: degrees, ..self }
    }
}

/// A rectangle on the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

/// The elements drawn so far.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    body: String,
}

impl Canvas {
    /// The whole document, with a title and a description for screen readers.
    pub(crate) fn document(self, width: f64, height: f64, title: &str, description: &str) -> String {
        let (w, h, title, description) = (num(width), num(height), escape(title), escape(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             role=\"img\" font-family=\"{FONTS}\"><title>{title}</title><desc>{description}</desc>\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>{}</svg>",
            self.body
        )
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, style: Type) {
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if style.bold { " font-weight=\"700\"" } else { "" };
        let turn = if style.turn == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {} {})\"", num(style.turn), num(x), num(y))
        };
        let _ = write!(
            self.body,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}{weight}{turn}>{}</text>",
            num(x),
            num(y),
            num(style.size),
            style.colour,
            escape(text)
        );
    }

    /// Places another drawing, scaled to a width. Returns its height; nothing when it has no size.
    pub(crate) fn embed(&mut self, svg: &str, at: (f64, f64), width: f64) -> Option<f64> {
        let (head, body) = svg.trim().split_once('>')?;
        let (view, _) = head.split_once("viewBox=\"")?.1.split_once('"')?;
        let sizes: Vec<f64> = view.split(' ').filter_map(|part| part.parse().ok()).collect();
        let [_, _, wide, tall] = sizes.as_slice() else { return None };
        let height = width * tall / wide.max(1.0);
        let (x, y, w, h) = (num(at.0), num(at.1), num(width), num(height));
        let body = body.strip_suffix("</svg>")?;
        let _ = write!(
            self.body,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{view}\">{body}</svg>"
        );
        Some(height)
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let (x1, y1, x2, y2) = (num(from.0), num(from.1), num(to.0), num(to.1));
        let _ = write!(
            self.body,
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\" stroke-width=\"{}\"/>",
            num(width)
        );
    }

    /// A filled rectangle between two corners, in any order, with a tooltip.
    pub(super) fn rect(&mut self, a: (f64, f64), b: (f64, f64), fill: &str, tip: &str) {
        let (x, y) = (num(a.0.min(b.0)), num(a.1.min(b.1)));
        let (w, h) = (num((a.0 - b.0).abs()), num((a.1 - b.1).abs()));
        let _ = write!(self.body, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{fill}\"");
        self.close("rect", tip);
    }

    pub(super) fn circle(&mut self, at: (f64, f64), radius: f64, fill: &str, opacity: f64, tip: &str) {
        let _ = write!(
            self.body,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{fill}\"",
            num(at.0),
            num(at.1),
            num(radius)
        );
        if opacity < 1.0 {
            let _ = write!(self.body, " fill-opacity=\"{}\"", num(opacity));
        }
        self.close("circle", tip);
    }

    /// A stroked or filled outline; `data` is built with [`path`].
    pub(super) fn path(
        &mut self,
        data: &str,
        fill: &str,
        opacity: f64,
        stroke: Option<(&str, f64)>,
        tip: &str,
    ) {
        let _ = write!(self.body, "<path d=\"{data}\" fill=\"{fill}\"");
        if opacity < 1.0 {
            let _ = write!(self.body, " fill-opacity=\"{}\"", num(opacity));
        }
        if let Some((colour, width)) = stroke {
            let _ = write!(
                self.body,
                " stroke=\"{colour}\" stroke-width=\"{}\" stroke-linejoin=\"round\" stroke-linecap=\"round\"",
                num(width)
            );
        }
        self.close("path", tip);
    }

    fn close(&mut self, tag: &str, tip: &str) {
        if tip.is_empty() {
            self.body.push_str("/>");
        } else {
            let _ = write!(self.body, "><title>{}</title></{tag}>", escape(tip));
        }
    }
}

/// A polyline through points as path data.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let mut data = String::new();
    for (index, point) in points.iter().enumerate() {
        let _ = write!(data, "{}{} {}", if index == 0 { "M" } else { "L" }, num(point.0), num(point.1));
    }
    data
}

/// A coordinate: at most two decimals, and never NaN.
pub(super) fn num(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{:.2}", value.clamp(-1e6, 1e6));
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text on one line, without control characters and characters that change the text direction.
pub(crate) fn clean(text: &str) -> String {
    let plain: String = text
        .chars()
        .take(400)
        .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}'))
        .map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c })
        .collect();
    plain.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Escapes for XML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The width of a text at a font size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let text = clean(text);
    charts_rs::measure_text_width_family("Roboto", size as f32, &text)
        .map_or_else(|_| text.chars().count() as f64 * size * 0.56, |area| f64::from(area.right - area.left))
}

/// The text, truncated with an ellipsis so that it fits.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    let text = clean(text);
    if width(&text, size) <= room {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    let (mut low, mut high) = (0_usize, letters.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        let part: String = letters.iter().take(middle).collect();
        if width(&format!("{part}…"), size) <= room {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let part: String = letters.iter().take(low.max(1)).collect();
    format!("{}…", part.trim_end())
}

/// The text in at most `lines` lines; the last one is truncated if there is more.
pub(crate) fn wrap(text: &str, size: f64, room: f64, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut current = String::new();
    let text = clean(text);
    for word in text.split(' ') {
        let longer = if current.is_empty() { word.to_owned() } else { format!("{current} {word}") };
        if current.is_empty() || out.len() + 1 >= lines || width(&longer, size) <= room {
            current = longer;
        } else {
            out.push(std::mem::replace(&mut current, word.to_owned()));
        }
    }
    if !current.is_empty() {
        out.push(current);
    }
    out.iter().map(|line| fit(line, size, room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_the_document() {
        assert_eq!(escape("<b>\u{0}\u{202e}a & \"b\"</b>\n"), "&lt;b&gt; a &amp; &quot;b&quot;&lt;/b&gt;");
        assert_eq!(num(f64::NAN), "0");
        assert_eq!(num(-0.001), "0");
        assert_eq!(num(1.5), "1.5");
    }

    #[test]
    fn long_text_is_cut_to_the_room() {
        let cut = fit(&"longword".repeat(100), 12.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 100.0);
        assert_eq!(fit("short", 12.0, 100.0), "short");
        assert_eq!(wrap("one two three four five six", 12.0, 60.0, 2).len(), 2);
    }
}
