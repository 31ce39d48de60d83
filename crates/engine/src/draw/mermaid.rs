//! Mermaid output. Nodes are numbered, so that no name is parsed as syntax.

use super::{Line, kind, lines, status};
use crate::program::NodeWork;
use crate::{NodeStatus, Program, State};
use std::fmt::Write as _;

pub(super) fn draw(program: &Program, state: Option<&State>) -> String {
    let mut out = String::from("flowchart TD\n  start((start))\n");
    for (place, node) in program.nodes.iter().enumerate() {
        let kind = kind(program, &node.work);
        let label =
            if kind == format!("agent {}", node.name) { kind } else { format!("{}<br/>{kind}", node.name) };
        let (open, close) = match node.work {
            NodeWork::Condition => ("{", "}"),
            NodeWork::Human => ("[/", "/]"),
            NodeWork::Parallel { .. } => ("[[", "]]"),
            NodeWork::Agent(_) => ("(", ")"),
            NodeWork::Map { .. } | NodeWork::Workflow(_) => ("[[", "]]"),
            NodeWork::Timer | NodeWork::Until | NodeWork::Signal => ("([", "])"),
            NodeWork::Tool(_) | NodeWork::Transform => ("[", "]"),
        };
        let class = match status(state, place) {
            None | Some(NodeStatus::Idle) => "",
            Some(NodeStatus::Running) => ":::running",
            Some(NodeStatus::Asking | NodeStatus::Waiting) => ":::asking",
            Some(NodeStatus::Done) => ":::done",
            Some(NodeStatus::Failed | NodeStatus::Cancelled | NodeStatus::Skipped) => ":::failed",
        };
        let _ = writeln!(out, "  n{place}{open}\"{}\"{close}{class}", quote(&label));
    }
    let lines = lines(program);
    if lines.iter().any(|line| line.to.is_none()) {
        out.push_str("  finish((end))\n");
    }
    for Line { from, to, label, dashed } in &lines {
        let from = from.map_or_else(|| "start".to_owned(), |place| format!("n{place}"));
        let to = to.map_or_else(|| "finish".to_owned(), |place| format!("n{place}"));
        let arrow = if *dashed { "-.->" } else { "-->" };
        let label = if label.is_empty() { String::new() } else { format!("|\"{}\"|", quote(label)) };
        let _ = writeln!(out, "  {from} {arrow}{label} {to}");
    }
    if state.is_some() {
        out.push_str(
            "  classDef running fill:#dbeafe,stroke:#2563eb\n  classDef asking fill:#fef3c7,stroke:#d97706\n",
        );
        out.push_str(
            "  classDef done fill:#dcfce7,stroke:#16a34a\n  classDef failed fill:#fee2e2,stroke:#dc2626\n",
        );
    }
    out
}

/// Mermaid parses `#…;` as a character; quotes and line breaks would close the label.
fn quote(text: &str) -> String {
    text.replace('#', "#35;").replace('"', "#quot;").replace(['\n', '\r'], " ")
}
