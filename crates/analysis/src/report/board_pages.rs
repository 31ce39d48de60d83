//! A board as pictures: one PNG, or a PDF with pages for print.
//!
//! The layout is that of the HTML page on a wide screen. The rows of a table and the lines of a
//! text end where a tile would become too tall; what was left out is said. The pages of the PDF
//! are pictures: their text cannot be selected.

use super::board::{BoardInput, TileBody, TileInput};
use super::html::harmless;
use super::pdf;
use super::text::{Block, blocks};
use crate::chart::svg::{AXIS, Canvas, GRID, INK, SOFT, Type, fit, width, wrap};
use crate::chart::{NumberFormat, rasterise};
use crate::error::{Error, Result};
use crate::frame::{Frame, Kind};

/// The width of a page in units of the drawing.
const WIDTH: f64 = 1200.0;
/// The height of a page for print: that of A4 in landscape.
const PRINT_HEIGHT: f64 = 848.0;
const MARGIN: f64 = 36.0;
const GAP: f64 = 18.0;
const PAD: f64 = 18.0;
/// The size of text and the height of its lines.
const TEXT: f64 = 14.0;
const LINE: f64 = 21.0;
/// The rows of a table and the lines of a text that are drawn at most.
const MOST_ROWS: usize = 16;
const MOST_LINES: usize = 24;
/// The widest column of a table.
const MOST_COLUMN: f64 = 260.0;
/// Above this height a picture is drawn at its plain size instead of twice.
const TALL: f64 = 5_000.0;
/// The height above which no picture is made.
const TALLEST: f64 = 20_000.0;
const PROBLEM: &str = "#b3261e";

/// The board as one PNG.
pub fn board_png(input: &BoardInput<'_>) -> Result<Vec<u8>> {
    let page = pages(input, None).pop().ok_or_else(|| failed("there is nothing to draw"))?;
    picture(&page)
}

/// The board as a PDF.
pub fn board_pdf(input: &BoardInput<'_>) -> Result<Vec<u8>> {
    let pages = pages(input, Some(PRINT_HEIGHT));
    let drawn = pages.iter().map(picture).collect::<Result<Vec<_>>>()?;
    pdf::of_pictures(&drawn, input.title.trim())
}

fn failed(detail: &str) -> Error {
    Error::Export { detail: detail.to_owned() }
}

struct Page {
    svg: String,
    height: f64,
}

fn picture(page: &Page) -> Result<Vec<u8>> {
    if page.height > TALLEST {
        return Err(failed("the board is too tall for a picture. Export it as HTML"));
    }
    let scale = if page.height > TALL { 1.0 } else { 2.0 };
    rasterise(&page.svg, (WIDTH * scale) as u32).map_err(|error| failed(&error.to_string()))
}

/// The pages: as tall as needed without a limit.
fn pages(input: &BoardInput<'_>, limit: Option<f64>) -> Vec<Page> {
    let mut canvas = Canvas::default();
    let mut y = header(&mut canvas, input);
    let mut done = Vec::new();
    let finish = |canvas: Canvas, y: f64| {
        let height = limit.unwrap_or_default().max(y - GAP + MARGIN);
        Page { svg: canvas.document(WIDTH, height, &input.title, ""), height }
    };
    let mut is_fresh = true;
    for row in rows(&input.tiles) {
        let tallest =
            row.iter().map(|(tile, _, wide)| tile_into(&mut Canvas::default(), tile, 0.0, 0.0, *wide));
        let height = tallest.fold(0.0, f64::max);
        if limit.is_some_and(|limit| !is_fresh && y + height > limit - MARGIN) {
            done.push(finish(std::mem::take(&mut canvas), y));
            y = MARGIN;
        }
        is_fresh = false;
        for (tile, x, wide) in row {
            frame_around(&mut canvas, (x, y), (x + wide, y + height));
            tile_into(&mut canvas, tile, x, y, wide);
        }
        y += height + GAP;
    }
    done.push(finish(canvas, y));
    done
}

/// The name and the facts of the board. Returns the place below them.
fn header(canvas: &mut Canvas, input: &BoardInput<'_>) -> f64 {
    let title = if input.title.trim().is_empty() { "Board" } else { input.title.trim() };
    canvas.text(MARGIN, MARGIN + 26.0, &fit(title, 28.0, WIDTH - 2.0 * MARGIN), Type::new(28.0, INK).bold());
    let mut y = MARGIN + 34.0;
    for line in wrap(&input.facts.join("  ·  "), TEXT, WIDTH - 2.0 * MARGIN, 3) {
        y += LINE;
        canvas.text(MARGIN, y, &line, Type::new(TEXT, SOFT));
    }
    y + GAP
}

type Placed<'a> = (&'a TileInput<'a>, f64, f64);

/// The tiles in rows of six columns, each with its place and width.
fn rows<'a>(tiles: &'a [TileInput<'a>]) -> Vec<Vec<Placed<'a>>> {
    let column = (WIDTH - 2.0 * MARGIN + GAP) / 6.0;
    let mut rows: Vec<Vec<Placed<'a>>> = Vec::new();
    let mut used = 6;
    for tile in tiles {
        let span = match tile.width {
            "small" => 2,
            "wide" => 6,
            _ => 3,
        };
        if used + span > 6 {
            rows.push(Vec::new());
            used = 0;
        }
        let placed = (tile, MARGIN + column * f64::from(used), column * f64::from(span) - GAP);
        rows.last_mut().into_iter().for_each(|row| row.push(placed));
        used += span;
    }
    rows
}

fn frame_around(canvas: &mut Canvas, from: (f64, f64), to: (f64, f64)) {
    for (a, b) in [(from, (to.0, from.1)), ((to.0, from.1), to), (to, (from.0, to.1)), ((from.0, to.1), from)]
    {
        canvas.line(a, b, AXIS, 1.0);
    }
}

/// Draws a tile. Returns its height.
fn tile_into(canvas: &mut Canvas, tile: &TileInput<'_>, x: f64, top: f64, wide: f64) -> f64 {
    let (left, room) = (x + PAD, wide - 2.0 * PAD);
    let mut y = top + PAD;
    for line in wrap(tile.title.trim(), 17.0, room, 2) {
        y += 22.0;
        canvas.text(left, y - 6.0, &line, Type::new(17.0, INK).bold());
    }
    y += 6.0;
    match &tile.body {
        TileBody::Text(text) => y = words(canvas, text, (left, y), room),
        TileBody::Number(value) => {
            y += 40.0;
            canvas.text(left, y - 6.0, &fit(value, 36.0, room), Type::new(36.0, INK).bold());
        }
        TileBody::Chart(svg, frame) => {
            let drawn = Some(svg).filter(|svg| harmless(svg));
            let height = drawn.and_then(|svg| canvas.embed(svg, (left, y), room));
            match height {
                Some(height) => y += height,
                None => y = table(canvas, frame, (left, y), room),
            }
        }
        TileBody::Table(frame) => y = table(canvas, frame, (left, y), room),
        TileBody::Problem(why) => {
            for line in wrap(why, TEXT, room, 4) {
                y += LINE;
                canvas.text(left, y - 6.0, &line, Type::new(TEXT, PROBLEM));
            }
        }
    }
    for line in tile.notes.iter().flat_map(|note| wrap(note, 12.0, room, 2)) {
        y += 18.0;
        canvas.text(left, y - 4.0, &line, Type::new(12.0, SOFT));
    }
    y + PAD - top
}

/// Paragraphs and lists. Returns the place below them.
fn words(canvas: &mut Canvas, text: &str, (left, top): (f64, f64), room: f64) -> f64 {
    let plain = |text: &str| text.replace("**", "").replace('`', "");
    let mut lines: Vec<String> = Vec::new();
    for block in blocks(text) {
        match block {
            Block::Paragraph(text) => lines.extend(wrap(&plain(&text), TEXT, room, MOST_LINES)),
            Block::List(items) => lines.extend(
                items.iter().flat_map(|item| wrap(&format!("• {}", plain(item)), TEXT, room, MOST_LINES)),
            ),
        }
    }
    let more = lines.len() > MOST_LINES;
    lines.truncate(MOST_LINES);
    lines.extend(more.then(|| "…".to_owned()));
    let mut y = top;
    for line in lines {
        y += LINE;
        canvas.text(left, y - 6.0, &line, Type::new(TEXT, INK));
    }
    y
}

/// A table. Returns the place below it.
fn table(canvas: &mut Canvas, frame: &Frame, (left, top): (f64, f64), room: f64) -> f64 {
    let shown = frame.rows.len().min(MOST_ROWS);
    let columns: Vec<Vec<String>> = (0..frame.fields.len())
        .map(|column| {
            let format = NumberFormat::of(frame, column);
            (0..shown).map(|row| format.show(frame.cell(row, column))).collect()
        })
        .collect();
    let needed = |(field, cells): (&crate::frame::Field, &Vec<String>)| {
        let widest = cells.iter().map(|cell| width(cell, TEXT)).fold(width(&field.name, TEXT), f64::max);
        (widest + 14.0).min(MOST_COLUMN)
    };
    let natural: Vec<f64> = frame.fields.iter().zip(&columns).map(needed).collect();
    let scale = room / natural.iter().sum::<f64>().max(1.0);
    let (mut x, height) = (left, LINE * (shown as f64 + 1.0));
    for ((field, cells), natural) in frame.fields.iter().zip(&columns).zip(natural) {
        let wide = natural * scale;
        let right = matches!(field.kind, Kind::Integer | Kind::Number);
        let mut write = |y: f64, text: &str, style: Type| {
            let (at, style) = if right { (x + wide - 8.0, style.end()) } else { (x, style) };
            canvas.text(at, y - 6.0, &fit(text, TEXT, wide - 8.0), style);
        };
        write(top + LINE, &field.name, Type::new(TEXT, SOFT));
        for (row, cell) in cells.iter().enumerate() {
            write(top + LINE * (row as f64 + 2.0), cell, Type::new(TEXT, INK));
        }
        x += wide;
    }
    for row in 0..=shown {
        let y = top + LINE * (row as f64 + 1.0);
        canvas.line((left, y), (left + room, y), GRID, 1.0);
    }
    let rest = frame.rows.len() - shown;
    if rest == 0 {
        return top + height;
    }
    canvas.text(left, top + height + 16.0, &format!("{rest} more rows"), Type::new(12.0, SOFT));
    top + height + 22.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Field, Unit, Value};

    fn tile<'a>(title: &str, width: &'static str, body: TileBody<'a>) -> TileInput<'a> {
        TileInput {
            title: title.to_owned(),
            width,
            body,
            notes: vec!["Not filtered by state.".to_owned()],
            sql: None,
            sources: Vec::new(),
        }
    }

    fn frame(rows: i64) -> Frame {
        let field = |name: &str, kind| Field { name: name.to_owned(), kind, unit: Unit::Plain };
        Frame {
            name: "tile".to_owned(),
            fields: vec![field("state", Kind::Text), field("amount", Kind::Integer)],
            rows: (0..rows).map(|row| vec![Value::Text(format!("S{row}")), Value::Int(row)]).collect(),
        }
    }

    #[test]
    fn a_board_is_one_picture_or_pages_that_split_no_tile() {
        let frame = frame(40);
        let chart = "<svg viewBox=\"0 0 880 480\" width=\"880\"><rect width=\"9\" height=\"9\"/></svg>";
        let tiles = (0..6).flat_map(|_| {
            [
                tile("Total <b>", "small", TileBody::Number("1,234".to_owned())),
                tile("Rows", "medium", TileBody::Table(&frame)),
                tile("Course", "wide", TileBody::Chart(chart.to_owned(), &frame)),
                tile("Words", "wide", TileBody::Text("**Bold** words\n\n- one\n- two".to_owned())),
            ]
        });
        let input = BoardInput {
            title: "Retail & more".to_owned(),
            facts: vec!["As of now".to_owned()],
            tiles: tiles.collect(),
        };
        let [whole]: [Page; 1] = pages(&input, None).try_into().ok().expect("one page");
        assert!(whole.svg.contains("24 more rows") && whole.svg.contains("Total &lt;b&gt;"));
        assert_eq!(whole.svg.matches("viewBox=\"0 0 880 480\"").count(), 6);
        let printed = pages(&input, Some(PRINT_HEIGHT));
        assert!(printed.len() > 3, "{}", printed.len());
        let charts: usize =
            printed.iter().map(|page| page.svg.matches("viewBox=\"0 0 880 480\"").count()).sum();
        assert_eq!(charts, 6);
        let file = board_pdf(&input).expect("a PDF");
        assert!(file.starts_with(b"%PDF-1.7") && file.ends_with(b"%%EOF\n"));
        let text = String::from_utf8_lossy(&file);
        assert_eq!(text.matches("/Type /Page\n").count(), printed.len());
        let png = board_png(&input).expect("a PNG");
        assert!(png.starts_with(&[0x89, b'P', b'N', b'G']));
    }
}
