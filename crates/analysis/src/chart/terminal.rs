//! Text charts for a terminal: horizontal bars for categories, a braille plot for a series over
//! time.
//!
//! Invariant: no line is wider than requested, and text from data can never contain a control code.

use super::axis::{Scale, sane, short};
use super::data::{AxisKind, Plot, Series};
use super::draw::capital;
use super::svg::clean;
use super::{ChartKind, Spec, bars, data, lines, map, spread};
use crate::frame::{Frame, Unit};
use std::fmt::Write as _;

const ROWS: usize = 8;
const COLOURS: [u8; 8] = [32, 166, 36, 178, 75, 175, 97, 244];

/// A chart for a terminal that is `width` characters wide, if the kind is supported.
#[must_use]
pub fn terminal(spec: &Spec, frame: &Frame, width: usize, colour: bool) -> Option<String> {
    let width = width.clamp(30, 200);
    let style = TerminalStyle { width, colour };
    let (body, notes) = match spec.kind {
        ChartKind::Bar | ChartKind::GroupedBar | ChartKind::StackedBar => {
            let plot = bars::prepare(spec, frame).ok()?;
            let long = plot.along != AxisKind::Words && plot.slots.len() > 24;
            (if long { style.shape(&plot) } else { style.bars(&plot, false) }?, plot.notes)
        }
        ChartKind::Pie => {
            let (plot, _) = map::parts(spec, frame).ok()?;
            (style.bars(&plot, true)?, plot.notes)
        }
        ChartKind::Line | ChartKind::Area => {
            let plot = lines::prepare(spec, frame).ok()?;
            let words = plot.along == AxisKind::Words && plot.series.len() == 1 && plot.slots.len() <= 24;
            (if words { style.bars(&plot, false) } else { style.shape(&plot) }?, plot.notes)
        }
        ChartKind::Histogram => (style.bars(&histogram(spec, frame)?, false)?, Vec::new()),
        ChartKind::Heatmap => {
            let plot = map::prepare(spec, frame).ok()?;
            (style.shades(&plot)?, plot.notes)
        }
        ChartKind::Scatter | ChartKind::Box => return None,
    };
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.paint(&cut(&spec.title, width), "1"));
    let subtitle: Vec<String> = spec.subtitle.iter().cloned().chain(notes).collect();
    if !subtitle.is_empty() {
        let _ = writeln!(out, "{}", style.paint(&cut(&capital(&subtitle.join(" · ")), width), "2"));
    }
    out.push_str(&body);
    Some(out)
}

/// The bins of a histogram as a plot of counts.
fn histogram(spec: &Spec, frame: &Frame) -> Option<Plot> {
    let (at, along, values) = spread::measured(spec, frame).ok()?;
    let timed = matches!(along, AxisKind::Time(_));
    let bins = spread::bins(&values, data::whole(frame, at) && !timed, along)?;
    let unit = data::unit(frame, at);
    // A terminal has few lines, so neighbouring bins are merged.
    let every = bins.counts.len().div_ceil(16).max(1);
    let say = |bin: usize| spread::edge_text(bins.edge(bin), along, unit);
    let counts: Vec<f64> = bins.counts.chunks(every).map(|part| part.iter().sum::<usize>() as f64).collect();
    let slot = |bin: usize| {
        let label = format!("{} to {}", say(bin * every), say((bin + 1) * every));
        data::Slot { label, at: bins.edge(bin * every), other: false }
    };
    Some(Plot {
        along,
        slots: (0..counts.len()).map(slot).collect(),
        series: vec![Series {
            name: "rows".to_owned(),
            values: counts.into_iter().map(Some).collect(),
            other: false,
        }],
        unit: Unit::Plain,
        whole: true,
        additive: true,
        merged: 0,
        notes: Vec::new(),
    })
}

/// The width of a text in terminal columns.
fn columns(text: &str) -> usize {
    text.chars().map(cell).sum()
}

fn cell(letter: char) -> usize {
    match letter {
        '\u{0300}'..='\u{036f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{20d0}'..='\u{20ff}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' => 2,
        '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// Truncates with an ellipsis to this many columns.
fn cut(text: &str, room: usize) -> String {
    let text = clean(text);
    if columns(&text) <= room {
        return text;
    }
    let (mut out, mut used) = (String::new(), 1);
    for letter in text.chars() {
        used += cell(letter);
        if used > room {
            break;
        }
        out.push(letter);
    }
    out.push('…');
    out
}

fn pad(text: &str, room: usize, right: bool) -> String {
    let space = " ".repeat(room.saturating_sub(columns(text)));
    if right { format!("{space}{text}") } else { format!("{text}{space}") }
}

struct TerminalStyle {
    width: usize,
    colour: bool,
}

impl TerminalStyle {
    fn paint(&self, text: &str, code: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn ink(&self, text: &str, index: usize) -> String {
        let code = COLOURS.get(index % COLOURS.len()).copied().unwrap_or(32);
        self.paint(text, &format!("38;5;{code}"))
    }

    /// Horizontal bars, one line each; with several series a heading for each slot.
    fn bars(&self, plot: &Plot, shares: bool) -> Option<String> {
        let (low, high) = plot.range()?;
        let (low, high) = (low.min(0.0), high.max(0.0));
        let total: f64 = (0..plot.slots.len()).map(|slot| plot.weight(slot)).sum();
        let say = |value: f64| {
            let text = short(value, plot.unit);
            if shares && total > 0.0 { format!("{text}  {:>5.1} %", value / total * 100.0) } else { text }
        };
        let many = plot.series.len() > 1;
        let names: Vec<&str> = if many {
            plot.series.iter().map(|s| s.name.as_str()).collect()
        } else {
            plot.slots.iter().map(|s| s.label.as_str()).collect()
        };
        let name_room = names.iter().map(|n| columns(n)).max()?.min(self.width * 2 / 5);
        let said =
            plot.series.iter().flat_map(|s| s.values.iter().flatten()).map(|v| columns(&say(*v))).max()?;
        let room = self.width.saturating_sub(name_room + said + 3).max(4);
        let mut out = String::new();
        for (slot, place) in plot.slots.iter().enumerate() {
            if many {
                let _ = writeln!(out, "{}", self.paint(&cut(&place.label, self.width), "1"));
            }
            for (index, series) in plot.series.iter().enumerate() {
                let name = if many { &series.name } else { &place.label };
                let name = pad(&cut(name, name_room), name_room, many);
                let Some(value) = series.value(slot) else {
                    let _ = writeln!(out, "{name} {}", self.paint("–", "2"));
                    continue;
                };
                let bar = blocks(value, low, high, room);
                let _ = writeln!(out, "{name} {} {}", self.ink(&bar, index), pad(&say(value), said, true));
            }
        }
        Some(out)
    }

    /// One series as a braille plot with labels; several as a sparkline each.
    fn shape(&self, plot: &Plot) -> Option<String> {
        let [series] = plot.series.as_slice() else { return self.sparks(plot) };
        let (low, high) = plot.range()?;
        let scale = Scale::cover(low, high, 4, low <= 0.0 || low < 0.6 * high, plot.whole);
        let labels = scale.labels(plot.unit);
        let gutter = labels.iter().map(|l| columns(l)).max()?;
        let room = self.width.saturating_sub(gutter + 2).max(8);
        let dots = dots(plot, series, &scale, room * 2, ROWS * 4);
        let mut out = String::new();
        for row in 0..ROWS {
            let near = |tick: &f64| ((1.0 - scale.share(*tick)) * (ROWS - 1) as f64).round() as usize == row;
            let label =
                scale.ticks.iter().zip(&labels).find(|(tick, _)| near(tick)).map_or("", |(_, l)| l.as_str());
            let mark = if label.is_empty() { '│' } else { '┤' };
            let line: String = (0..room).map(|column| braille(&dots, column, row, room * 2)).collect();
            let _ = writeln!(
                out,
                "{} {mark}{}",
                pad(label, gutter, true),
                self.ink(line.trim_end_matches('\u{2800}'), 0)
            );
        }
        let _ = writeln!(out, "{} └{}", " ".repeat(gutter), "─".repeat(room));
        let (first, last) = (plot.slots.first()?, plot.slots.last()?);
        let (first, last) = (cut(&first.label, room / 2 - 1), cut(&last.label, room / 2 - 1));
        let gap = room.saturating_sub(columns(&first) + columns(&last));
        let _ = writeln!(out, "{}  {first}{}{last}", " ".repeat(gutter), " ".repeat(gap));
        Some(out)
    }

    fn sparks(&self, plot: &Plot) -> Option<String> {
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let (low, high) = plot.range()?;
        let scale = Scale::cover(low, high, 4, low <= 0.0 || low < 0.6 * high, false);
        let last = |series: &Series| {
            series.values.iter().flatten().last().map_or_else(String::new, |v| short(*v, plot.unit))
        };
        let names = plot.series.iter().map(|s| columns(&s.name)).max()?.min(self.width / 3);
        let said = plot.series.iter().map(|s| columns(&last(s))).max()?;
        let room = self.width.saturating_sub(names + said + 2).max(4).min(plot.slots.len().max(1));
        let mut out = String::new();
        for (index, series) in plot.series.iter().enumerate() {
            let level = |column: usize| {
                let (from, to) = (column * plot.slots.len() / room, (column + 1) * plot.slots.len() / room);
                let part: Vec<f64> = (from..to.max(from + 1)).filter_map(|slot| series.value(slot)).collect();
                let mean = part.iter().sum::<f64>() / part.len().max(1) as f64;
                let level = (scale.share(mean) * 7.0).round() as usize;
                if part.is_empty() { ' ' } else { LEVELS.get(level).copied().unwrap_or(' ') }
            };
            let line: String = (0..room).map(level).collect();
            let name = pad(&cut(&series.name, names), names, false);
            let _ = writeln!(out, "{name} {} {}", self.ink(&line, index), pad(&last(series), said, true));
        }
        let (first, end) = (plot.slots.first()?, plot.slots.last()?);
        let _ = writeln!(out, "{}", cut(&format!("{} to {}", first.label, end.label), self.width));
        Some(out)
    }

    /// A heat map in five shades.
    fn shades(&self, plot: &Plot) -> Option<String> {
        const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
        let (low, high) = plot.range()?;
        let names = plot.series.iter().map(|s| columns(&s.name)).max()?.min(self.width / 3);
        let each = ((self.width - names - 1) / plot.slots.len().max(1)).clamp(1, 6);
        let shown = plot.slots.len().min((self.width - names - 1) / each);
        let mut out = String::new();
        for series in &plot.series {
            let shade = |slot: usize| match series.value(slot) {
                Some(value) => {
                    let share = if high > low { (value - low) / (high - low) } else { 1.0 };
                    SHADES.get((share * 4.0).round() as usize).copied().unwrap_or(' ')
                }
                None => ' ',
            };
            let line: String = (0..shown).flat_map(|slot| std::iter::repeat_n(shade(slot), each)).collect();
            let _ = writeln!(out, "{} {}", pad(&cut(&series.name, names), names, true), self.ink(&line, 0));
        }
        let (first, end) = (plot.slots.first()?, plot.slots.get(shown.saturating_sub(1))?);
        let (low, high) = (short(low, plot.unit), short(high, plot.unit));
        let _ = writeln!(
            out,
            "{}",
            cut(&format!("{} to {} · {low} · to {high} █", first.label, end.label), self.width)
        );
        Some(out)
    }
}

/// A bar of whole and partial blocks, from zero to the value.
fn blocks(value: f64, low: f64, high: f64, room: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let span = if high > low { high - low } else { 1.0 };
    let eighths = |v: f64| sane(v / span * room as f64 * 8.0).map_or(0, |n| n.round().max(0.0) as usize);
    let zero = eighths(-low) / 8;
    if value < 0.0 {
        let length = (eighths(-value) / 8).max(1).min(zero);
        return format!(
            "{}{}{}",
            " ".repeat(zero - length),
            "█".repeat(length),
            " ".repeat(room.saturating_sub(zero))
        );
    }
    let length = eighths(value).min((room - zero.min(room)) * 8);
    let length = if value > 0.0 { length.max(1) } else { length };
    let part = PARTS.get(length % 8).copied().filter(|c| *c != ' ');
    let bar: String = std::iter::repeat_n('█', length / 8).chain(part).collect();
    pad(&format!("{}{bar}", " ".repeat(zero)), room, false)
}

/// Which dots are set: everything from the base line to the value.
fn dots(plot: &Plot, series: &Series, scale: &Scale, wide: usize, tall: usize) -> Vec<bool> {
    let mut dots = vec![false; wide * tall];
    let base = if scale.low <= 0.0 && scale.high >= 0.0 { scale.share(0.0) } else { 0.0 };
    let count = plot.slots.len();
    let level = |share: f64| ((1.0 - share) * (tall - 1) as f64).round() as usize;
    for column in 0..wide {
        let place = column as f64 / (wide - 1).max(1) as f64 * count.saturating_sub(1) as f64;
        let (left, right) = (series.value(place.floor() as usize), series.value(place.ceil() as usize));
        let (Some(left), Some(right)) = (left, right) else { continue };
        let top = level(scale.share(left + (right - left) * place.fract()));
        let base = level(base);
        for row in top.min(base)..=top.max(base) {
            if let Some(dot) = dots.get_mut(row * wide + column) {
                *dot = true;
            }
        }
    }
    dots
}

/// The braille character for two by four dots.
fn braille(dots: &[bool], column: usize, row: usize, wide: usize) -> char {
    const BITS: [(usize, usize, u32); 8] =
        [(0, 0, 1), (0, 1, 2), (0, 2, 4), (1, 0, 8), (1, 1, 16), (1, 2, 32), (0, 3, 64), (1, 3, 128)];
    let set = |(x, y, _): &&(usize, usize, u32)| {
        dots.get((row * 4 + y) * wide + column * 2 + x).copied().unwrap_or(false)
    };
    let bits: u32 = BITS.iter().filter(set).map(|(_, _, bit)| bit).sum();
    char::from_u32(0x2800 + bits).unwrap_or(' ')
}
