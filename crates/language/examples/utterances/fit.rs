//! Fits the weights of the signals, so that the right tool of each row is ranked first.
//!
//! A softmax over the tools of an application, fitted by gradient descent and regularised towards
//! the current weights (`PULL`). The result "left out" is measured on an application that was
//! excluded from fitting: it estimates the accuracy on unseen applications.

use super::score::{Bench, Failure};
use serde_json::Value;
use steward_language::understand::{SCOPE, SIGNALS};

/// Regularisation strength, learning rate and number of steps.
const PULL: f32 = 0.02;
const STEP: f32 = 0.05;
const STEPS: usize = 400;

/// A row: the signals of each tool, and the indexes of the right ones.
struct Row {
    tools: Vec<Vec<f32>>,
    right: Vec<usize>,
}

fn rows(bench: &Bench) -> Vec<Row> {
    let mut found = Vec::new();
    for group in ["intent", "references"] {
        for row in bench.rows(group) {
            let all = bench.signals(&row);
            let short = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
            let wanted = |name: &str| {
                row["tool"] == short(name)
                    || row["also"].as_array().is_some_and(|also| also.iter().any(|tool| *tool == short(name)))
            };
            let right: Vec<usize> = (0..all.len()).filter(|at| wanted(&all[*at].0)).collect();
            if !right.is_empty() {
                found.push(Row { tools: all.into_iter().map(|(_, signals)| signals).collect(), right });
            }
        }
    }
    found
}

fn score(weights: &[f32], signals: &[f32]) -> f32 {
    weights.iter().zip(signals).map(|(weight, signal)| weight * signal).sum()
}

fn right(weights: &[f32], rows: &[&Row]) -> usize {
    let first = |row: &&&Row| {
        let scores: Vec<f32> = row.tools.iter().map(|tool| score(weights, tool)).collect();
        let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0);
        row.right.contains(&best)
    };
    rows.iter().filter(first).count()
}

fn learn(rows: &[&Row]) -> Vec<f32> {
    let start: Vec<f32> = SIGNALS.iter().map(|(_, weight)| *weight).collect();
    let mut weights = start.clone();
    // Each signal has its own learning rate.
    let mut seen = vec![1e-6_f32; weights.len()];
    for _ in 0..STEPS {
        let mut slope = vec![0.0_f32; weights.len()];
        for row in rows {
            let scores: Vec<f32> = row.tools.iter().map(|tool| score(&weights, tool)).collect();
            let most = scores.iter().copied().fold(f32::MIN, f32::max);
            let shares: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
            let all: f32 = shares.iter().sum();
            let good: f32 = row.right.iter().map(|at| shares[*at]).sum();
            for (at, tool) in row.tools.iter().enumerate() {
                let is = if row.right.contains(&at) { shares[at] / good.max(1e-12) } else { 0.0 };
                let pull = is - shares[at] / all;
                for (slope, signal) in slope.iter_mut().zip(tool) {
                    *slope += pull * signal / rows.len() as f32;
                }
            }
        }
        for at in 0..weights.len() {
            slope[at] -= PULL * 0.1 * (weights[at] - start[at]);
            seen[at] += slope[at] * slope[at];
            weights[at] += STEP * slope[at] / seen[at].sqrt();
            // Penalties must never become positive.
            if NEVER.contains(&SIGNALS[at].0) {
                weights[at] = weights[at].min(-0.5);
            }
        }
    }
    weights
}

/// Signals that may only count against a tool.
const NEVER: [&str; 5] =
    ["asks_but_changes", "changes_but_reads", "shows_but_changes", "reports_but_reads", "takes_away_unsaid"];

/// Fits on all applications, and on all but each one.
pub fn fit(names: &[&str], benches: &[Bench]) -> Result<(), Failure> {
    let rows: Vec<Vec<Row>> = benches.iter().map(rows).collect();
    let now: Vec<f32> = SIGNALS.iter().map(|(_, weight)| *weight).collect();
    println!("{:<12} {:>6} {:>8} {:>10}", "", "rows", "now", "left out");
    let (mut all, mut sum_now, mut sum_out) = (0, 0, 0);
    for (at, name) in names.iter().enumerate() {
        let others: Vec<&Row> =
            rows.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, rows)| rows).collect();
        let own: Vec<&Row> = rows[at].iter().collect();
        let (before, after) = (right(&now, &own), right(&learn(&others), &own));
        println!("{name:<12} {:>6} {:>8} {:>10}", own.len(), before, after);
        (all, sum_now, sum_out) = (all + own.len(), sum_now + before, sum_out + after);
    }
    println!("{:<12} {all:>6} {sum_now:>8} {sum_out:>10}", "all");
    let every: Vec<&Row> = rows.iter().flatten().collect();
    let weights = learn(&every);
    println!("learned from all of them: {} right", right(&weights, &every));
    for ((name, before), weight) in SIGNALS.iter().zip(&weights) {
        println!("    (\"{name}\", {weight:.2}),  // {before}");
    }
    scope(names, benches);
    Ok(())
}

/// In-scope and out-of-scope utterances: the signals, whether in scope, and the weight.
fn said(benches: &[Bench], at: usize) -> Vec<(Vec<f32>, bool, f32)> {
    let mut found = Vec::new();
    let bench = &benches[at];
    let mut add = |row: &Value, inside: bool, counts: f32| {
        let signals = bench.scope(row);
        if !signals.is_empty() {
            found.push((signals, inside, counts));
        }
    };
    for group in ["intent", "references", "ambiguous", "missing", "steps"] {
        bench.rows(group).iter().for_each(|row| add(row, true, 1.0));
    }
    bench
        .rows("other")
        .iter()
        .filter(|row| row["kind"] == "out_of_scope")
        .for_each(|row| add(row, false, 3.0));
    for (other, elsewhere) in benches.iter().enumerate().filter(|(other, _)| *other != at) {
        for row in elsewhere.rows("intent").iter().skip((other + at) % 6).step_by(6) {
            add(row, false, 1.0);
        }
    }
    found
}

fn belongs(weights: &[f32], rows: &[&(Vec<f32>, bool, f32)]) -> (usize, usize, usize, usize) {
    let count = |inside: bool| rows.iter().filter(|row| row.1 == inside).count();
    let right = |inside: bool| {
        rows.iter().filter(|row| row.1 == inside && (score(weights, &row.0) > 0.0) == inside).count()
    };
    (right(true), count(true), right(false), count(false))
}

fn learn_scope(rows: &[&(Vec<f32>, bool, f32)]) -> Vec<f32> {
    let mut weights: Vec<f32> = vec![0.0; SCOPE.len()];
    let mut seen = vec![1e-6_f32; weights.len()];
    let all: f32 = rows.iter().map(|row| row.2).sum();
    for _ in 0..3 * STEPS {
        let mut slope: Vec<f32> = weights.iter().map(|weight| -0.001 * weight).collect();
        for (signals, inside, counts) in rows {
            let share = 1.0 / (1.0 + (-score(&weights, signals)).exp());
            // Rejecting an in-scope request is worse than accepting an out-of-scope one.
            let (wanted, counts) = if *inside { (1.0, 5.0 * counts) } else { (0.0, *counts) };
            for (slope, signal) in slope.iter_mut().zip(signals) {
                *slope += counts * (wanted - share) * signal / all;
            }
        }
        for at in 0..weights.len() {
            seen[at] += slope[at] * slope[at];
            weights[at] += 2.0 * STEP * slope[at] / seen[at].sqrt();
        }
    }
    weights
}

fn scope(names: &[&str], benches: &[Bench]) {
    let rows: Vec<Vec<_>> = (0..benches.len()).map(|at| said(benches, at)).collect();
    println!(
        "whether it belongs here, learned without the application: right of those inside, of those outside"
    );
    for (at, name) in names.iter().enumerate() {
        let others: Vec<_> =
            rows.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, rows)| rows).collect();
        let (inside, all, outside, none) =
            belongs(&learn_scope(&others), &rows[at].iter().collect::<Vec<_>>());
        println!("{name:<12} {inside:>4}/{all:<4} {outside:>4}/{none}");
    }
    let every: Vec<_> = rows.iter().flatten().collect();
    for ((name, before), weight) in SCOPE.iter().zip(&learn_scope(&every)) {
        println!("  scope (\"{name}\", {weight:.2}),  // {before}");
    }
}
