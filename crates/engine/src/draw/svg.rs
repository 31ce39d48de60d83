//! SVG output. Nodes are placed in layers below their predecessors; back edges run at the side.

use super::{Line, kind, lines, status};
use crate::{NodeStatus, Program, State};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const WIDTH: i32 = 180;
const HEIGHT: i32 = 48;
const GAP_X: i32 = 40;
const GAP_Y: i32 = 64;
/// Space for lines that pass other nodes: back edges on the right, edges that skip rows on the
/// left.
const SIDE: i32 = 90;

/// The number of a drawn element: the start is -1, the end is one more than the last node.
type Spot = i64;

pub(super) fn draw(program: &Program, state: Option<&State>) -> String {
    let lines = lines(program);
    let end = program.nodes.len() as Spot;
    let spot = |place: Option<u32>, none: Spot| place.map_or(none, Spot::from);
    let ways: Vec<(Spot, Spot)> =
        lines.iter().map(|line| (spot(line.from, -1), spot(line.to, end))).collect();
    let layers = layers(&ways, end);
    let mut rows: BTreeMap<i32, Vec<Spot>> = BTreeMap::new();
    for (spot, layer) in &layers {
        rows.entry(*layer).or_default().push(*spot);
    }
    let widest = rows.values().map(Vec::len).max().unwrap_or(1) as i32;
    let total_width = widest * (WIDTH + GAP_X) + GAP_X + 2 * SIDE;
    let total_height = rows.len() as i32 * (HEIGHT + GAP_Y) + GAP_Y;
    let mut places: BTreeMap<Spot, (i32, i32)> = BTreeMap::new();
    for (row, spots) in rows.values().enumerate() {
        let used = spots.len() as i32 * (WIDTH + GAP_X) - GAP_X;
        for (column, spot) in spots.iter().enumerate() {
            let x = (total_width - used) / 2 + column as i32 * (WIDTH + GAP_X) + WIDTH / 2;
            places.insert(*spot, (x, GAP_Y / 2 + row as i32 * (HEIGHT + GAP_Y) + HEIGHT / 2));
        }
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total_width} {total_height}\" width=\"{total_width}\" \
         height=\"{total_height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<defs><marker \
         id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\">\
         <path d=\"M0 0L10 5L0 10z\" fill=\"#475569\"/></marker></defs>\n"
    );
    for (line, (from, to)) in lines.iter().zip(&ways) {
        if let (Some(from), Some(to)) = (places.get(from), places.get(to)) {
            arrow(&mut out, line, *from, *to, total_width);
        }
    }
    for (spot, (x, y)) in &places {
        let node = usize::try_from(*spot).ok().and_then(|place| Some((place, program.nodes.get(place)?)));
        match node {
            None => {
                let word = if *spot < 0 { "start" } else { "end" };
                let _ = writeln!(
                    out,
                    "<circle cx=\"{x}\" cy=\"{y}\" r=\"22\" fill=\"#f1f5f9\" stroke=\"#475569\"/>\
                     <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{word}</text>",
                    y + 4
                );
            }
            Some((place, node)) => {
                let (fill, stroke) = colours(status(state, place));
                let (left, top) = (x - WIDTH / 2, y - HEIGHT / 2);
                let _ = writeln!(
                    out,
                    "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"{fill}\" \
                     stroke=\"{stroke}\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"600\">{}</text>\
                     <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#475569\">{}</text>",
                    y - 4,
                    short(node.name.as_str(), 24),
                    y + 14,
                    short(&kind(program, &node.work), 26),
                );
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The layer of each element: the length of the longest path to it without back edges.
fn layers(ways: &[(Spot, Spot)], end: Spot) -> BTreeMap<Spot, i32> {
    let forward = forward(ways);
    let mut layers: BTreeMap<Spot, i32> = BTreeMap::from([(-1, 0)]);
    layers.extend(ways.iter().map(|(_, to)| (*to, 0)));
    for _ in 0..layers.len() {
        let mut changed = false;
        for (from, to) in &forward {
            let below = layers.get(from).copied().unwrap_or_default() + 1;
            if let Some(layer) = layers.get_mut(to).filter(|layer| **layer < below) {
                *layer = below;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let lowest =
        layers.iter().filter(|(spot, _)| **spot != end).map(|(_, layer)| *layer).max().unwrap_or_default();
    if let Some(last) = layers.get_mut(&end) {
        *last = lowest + 1;
    }
    layers
}

/// The edges without back edges. The search is depth-first, without recursion.
fn forward(ways: &[(Spot, Spot)]) -> Vec<(Spot, Spot)> {
    let next = |from: Spot| {
        ways.iter().filter(move |(start, _)| *start == from).map(|(_, to)| *to).collect::<Vec<_>>()
    };
    let (mut done, mut forward) = (BTreeSet::new(), Vec::new());
    let mut path: Vec<(Spot, Vec<Spot>)> = vec![(-1, next(-1))];
    while let Some((from, rest)) = path.last_mut() {
        let from = *from;
        match rest.pop() {
            Some(to) if path.iter().any(|(on_path, _)| *on_path == to) => {}
            Some(to) => {
                forward.push((from, to));
                if done.insert(to) {
                    path.push((to, next(to)));
                }
            }
            None => {
                path.pop();
            }
        }
    }
    forward
}

fn arrow(out: &mut String, line: &Line, from: (i32, i32), to: (i32, i32), width: i32) {
    let dash = if line.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
    let (x1, y1, x2, y2) = (from.0, from.1 + HEIGHT / 2, to.0, to.1 - HEIGHT / 2);
    let skips = (y2 - y1) / (HEIGHT + GAP_Y);
    let (path, label_x, label_y) = if skips > 0 && (x1 - x2).abs() < WIDTH {
        let edge = x1.min(x2) - WIDTH / 2;
        let side = (edge - 30 - 22 * skips).max(4);
        let (y1, y2) = (from.1, to.1);
        let (x1, x2) = (x1 - WIDTH / 2, x2 - WIDTH / 2);
        // The label is near the start, where it does not overlap other labels of the side.
        (format!("M{x1} {y1}C{side} {y1} {side} {y2} {x2} {y2}"), edge - 44, y1 + 28)
    } else if y2 > y1 {
        let middle = i32::midpoint(y1, y2);
        (format!("M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}"), i32::midpoint(x1, x2), middle)
    } else {
        // A back edge runs along the right side.
        let side = width - 30;
        let (y1, y2) = (from.1, to.1);
        let (x1, x2) = (from.0 + WIDTH / 2, to.0 + WIDTH / 2);
        (format!("M{x1} {y1}C{side} {y1} {side} {y2} {x2} {y2}"), side - 20, i32::midpoint(y1, y2))
    };
    let _ =
        writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#475569\"{dash} marker-end=\"url(#tip)\"/>");
    if !line.label.is_empty() {
        let label = short(&line.label, 40);
        let _ = writeln!(
            out,
            "<text x=\"{label_x}\" y=\"{label_y}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#334155\" \
             stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{label}</text>"
        );
    }
}

fn colours(status: Option<NodeStatus>) -> (&'static str, &'static str) {
    match status {
        None | Some(NodeStatus::Idle) => ("#ffffff", "#475569"),
        Some(NodeStatus::Running) => ("#dbeafe", "#2563eb"),
        Some(NodeStatus::Asking | NodeStatus::Waiting) => ("#fef3c7", "#d97706"),
        Some(NodeStatus::Done) => ("#dcfce7", "#16a34a"),
        Some(NodeStatus::Failed) => ("#fee2e2", "#dc2626"),
        Some(NodeStatus::Cancelled | NodeStatus::Skipped) => ("#f1f5f9", "#94a3b8"),
    }
}

/// Truncates a text to its box and escapes it for SVG.
fn short(text: &str, most: usize) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let cut: String =
        if text.chars().count() > most { text.chars().take(most - 1).chain(['…']).collect() } else { text };
    cut.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
